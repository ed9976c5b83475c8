//! The window of `view`: a simulation in real time, a camera and bodies moved by the mouse.

use std::sync::Arc;
use std::time::{Duration, Instant};

use manyworlds::GpuDevice;
use manyworlds::model::Vec3;
use manyworlds::wgpu;
use manyworlds_render::{Camera, Panel, Renderer, Scene, Size, Viewpoint};
use manyworlds_view::{ContactColour, Marks, Moment, Pace, Scale, Worlds};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, KeyEvent, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowId};

use super::overlay::Overlay;
use super::{ViewArgs, drawn, seen};
use crate::failure::Failure;

/// Longest time for steps between two pictures: where the machine is slower than real time, so is the simulation.
const MOST: Duration = Duration::from_millis(40);
/// Turn of the camera by a drag across the window's height, rad.
const TURN: f64 = 3.0;

/// What the window's system sends.
///
/// # Errors
/// Why there is no window: most often there is no display.
pub(super) fn events() -> Result<EventLoop<()>, String> {
    EventLoop::new().map_err(|error| error.to_string())
}

/// Shows a simulation until its window is closed.
pub(super) fn run(
    events: EventLoop<()>,
    args: &ViewArgs,
    mut simulation: Worlds,
    viewpoint: Option<Viewpoint>,
) -> Result<(), Failure> {
    let mut viewer = Viewer {
        args,
        overlay: Overlay::new(&mut simulation),
        overlaid: !args.plain,
        simulation,
        viewpoint,
        shown: None,
        camera: Camera::looking(Vec3::new(1.0, -1.0, 1.0), Vec3::zeros(), 1.0),
        framed: false,
        marks: args.marks.marks(),
        scale: None,
        paused: args.paused,
        pace: Pace::default(),
        before: Instant::now(),
        cursor: [0.0; 2],
        drag: None,
        moments: Vec::new(),
        failure: None,
    };
    events.run_app(&mut viewer).map_err(|error| Failure::Input(format!("the window: {error}")))?;
    viewer.failure.map_or(Ok(()), Err)
}

/// A window and what is shown in it.
struct Viewer<'a> {
    args: &'a ViewArgs,
    simulation: Worlds,
    /// The camera of the file that is seen through, until the mouse takes over.
    viewpoint: Option<Viewpoint>,
    shown: Option<Shown>,
    camera: Camera,
    /// Whether the camera has looked for what there is to see.
    framed: bool,
    overlay: Overlay,
    /// Whether it is shown.
    overlaid: bool,
    marks: Marks,
    /// What arrows stand for: all that was shown since contacts are.
    scale: Option<Scale>,
    paused: bool,
    pace: Pace,
    before: Instant,
    /// Where the mouse is: x and y from -1 to 1, to the right and upward.
    cursor: [f64; 2],
    drag: Option<Drag>,
    moments: Vec<Moment>,
    failure: Option<Failure>,
}

/// What a pressed button of the mouse does.
#[derive(Clone, Copy)]
enum Drag {
    Orbit,
    Pan,
    /// Of a body.
    Pull,
}

/// A window that is drawn on.
struct Shown {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    configuration: wgpu::SurfaceConfiguration,
    device: Arc<GpuDevice>,
    renderer: Renderer,
    panel: Panel,
}

impl Shown {
    fn open(events: &ActiveEventLoop, simulation: &Worlds, size: Size) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Input(format!("the window: {error}"));
        let attributes = Window::default_attributes()
            .with_title(simulation.model().name.clone())
            .with_inner_size(PhysicalSize::new(size.width, size.height));
        let window = Arc::new(events.create_window(attributes).map_err(|e| failed(&e))?);
        let mut descriptor = wgpu::InstanceDescriptor::new_with_display_handle(Box::new(events.owned_display_handle()));
        descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
        let instance = wgpu::Instance::new(descriptor);
        let surface = instance.create_surface(Arc::clone(&window)).map_err(|e| failed(&e))?;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: Some(&surface),
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&options)).map_err(|e| failed(&e))?;
        let (device, queue) =
            pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).map_err(|e| failed(&e))?;
        let actual = window.inner_size();
        let mut configuration = surface
            .get_default_config(&adapter, actual.width.max(1), actual.height.max(1))
            .ok_or_else(|| failed(&"the adapter cannot draw on it"))?;
        // Colours are computed as intensities; the format turns them into bytes of sRGB.
        let formats = surface.get_capabilities(&adapter).formats;
        if let Some(format) = formats.into_iter().find(wgpu::TextureFormat::is_srgb) {
            configuration.format = format;
        }
        configuration.present_mode = wgpu::PresentMode::Fifo;
        surface.configure(&device, &configuration);
        let device = GpuDevice::from_existing(device, queue);
        let size = Size { width: configuration.width, height: configuration.height };
        let renderer =
            Renderer::with_format(Arc::clone(&device), Scene::new(simulation.model()), size, configuration.format)?;
        let panel = Panel::new(Arc::clone(&device), configuration.format)?;
        Ok(Self { window, surface, configuration, device, renderer, panel })
    }

    fn resize(&mut self, size: PhysicalSize<u32>) -> Result<(), Failure> {
        // A window that is put away has no size.
        if size.width == 0 || size.height == 0 {
            return Ok(());
        }
        let [width, height] = [size.width, size.height].map(|side| side.min(Size::MOST));
        (self.configuration.width, self.configuration.height) = (width, height);
        self.surface.configure(&self.device.device, &self.configuration);
        Ok(self.renderer.resize(Size { width, height })?)
    }

    fn size(&self) -> Size {
        Size { width: self.configuration.width, height: self.configuration.height }
    }
}

impl Viewer<'_> {
    /// Steps for as long as passed since the last picture.
    fn advance(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        let passed = std::mem::replace(&mut self.before, now).elapsed().as_secs_f64();
        if self.paused {
            return Ok(());
        }
        self.pace.pass(passed);
        while self.pace.due(self.simulation.time_step()) {
            self.simulation.step()?;
            if now.elapsed() > MOST {
                self.pace.forget();
            }
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Failure> {
        if self.overlaid {
            self.write()?;
        }
        let Some(shown) = &mut self.shown else { return Ok(()) };
        self.moments = self.simulation.moments(self.marks.contacts.is_some())?;
        if !std::mem::replace(&mut self.framed, true) {
            let all: Vec<_> = self.moments.iter().map(|moment| &moment.placed).collect();
            self.camera = shown.renderer.frame(&all, self.viewpoint.is_none());
        }
        if let Some(colour) = self.marks.contacts {
            let (tolerance, reach) = (self.simulation.tolerance(), self.camera.radius);
            let now = Scale::of(colour, tolerance, self.moments.iter(), reach);
            self.scale = Some(now.and(self.scale.as_ref()));
        }
        let camera = seen(self.viewpoint.as_ref(), &self.moments, &self.camera);
        let (placed, mut arrows) =
            drawn(&self.simulation, &self.moments, self.marks, self.scale.as_ref(), self.camera.radius);
        arrows.extend(self.simulation.spring(&placed, self.camera.radius));
        let texture = match shown.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(texture) | wgpu::CurrentSurfaceTexture::Suboptimal(texture) => texture,
            wgpu::CurrentSurfaceTexture::Outdated => return shown.resize(shown.window.inner_size()),
            wgpu::CurrentSurfaceTexture::Timeout | wgpu::CurrentSurfaceTexture::Occluded => return Ok(()),
            lost => return Err(Failure::Input(format!("the window: {lost:?}"))),
        };
        let view = texture.texture.create_view(&wgpu::TextureViewDescriptor::default());
        shown.renderer.draw_on(&view, &placed, &arrows, &camera)?;
        if self.overlaid {
            // Letters are as large as the display's other text.
            shown.panel.draw_on(&view, shown.size(), shown.window.scale_factor().round() as u32)?;
        }
        shown.device.queue.present(texture);
        Ok(())
    }

    /// Writes the overlay anew when it is time.
    fn write(&mut self) -> Result<(), Failure> {
        let state = if self.paused { "paused".to_owned() } else { format!("{}x", self.pace.speed) };
        let lines = self.overlay.lines(&mut self.simulation, &state)?;
        if let (Some(lines), Some(shown)) = (lines, &mut self.shown) {
            shown.panel.write(&lines)?;
        }
        Ok(())
    }

    /// A key that was pressed.
    fn key(&mut self, events: &ActiveEventLoop, key: &Key) -> Result<(), Failure> {
        match key.as_ref() {
            Key::Named(NamedKey::Escape) | Key::Character("q") => events.exit(),
            Key::Named(NamedKey::Space) => self.paused = !self.paused,
            Key::Named(NamedKey::ArrowRight) => {
                self.paused = true;
                self.simulation.step()?;
            }
            Key::Character("+" | "=") => self.pace.speed = (self.pace.speed * 2.0).min(64.0),
            Key::Character("-") => self.pace.speed = (self.pace.speed / 2.0).max(1.0 / 64.0),
            Key::Character("c") => {
                self.marks.contacts = ContactColour::after(self.marks.contacts);
                self.scale = None;
            }
            Key::Character("m") => self.marks.centres = !self.marks.centres,
            Key::Character("j") => self.marks.axes = !self.marks.axes,
            Key::Character("i") => {
                self.overlaid = !self.overlaid;
                self.overlay.stale();
            }
            Key::Character("r") => {
                self.drag = None;
                self.pace.forget();
                self.simulation.restart()?;
            }
            Key::Character("s") => self.next_solver()?,
            _ => {}
        }
        Ok(())
    }

    /// Goes on under the next solver.
    fn next_solver(&mut self) -> Result<(), Failure> {
        let names: Vec<_> = manyworlds::contact::SOLVERS.iter().map(|solver| solver.name()).collect();
        let now = names.iter().position(|name| *name == self.simulation.batches()[0].0).unwrap_or(0);
        self.drag = None;
        self.simulation.switch(&[names[(now + 1) % names.len()].to_owned()])?;
        self.overlay = Overlay::new(&mut self.simulation);
        Ok(())
    }

    /// What a press of the left button takes hold of: the nearest body under the mouse, or the camera.
    fn take(&mut self) -> Drag {
        let Some(shown) = &self.shown else { return Drag::Orbit };
        let camera = seen(self.viewpoint.as_ref(), &self.moments, &self.camera);
        let placed: Vec<_> = self.moments.iter().map(|moment| moment.placed.clone()).collect();
        let taken = self.simulation.take(shown.renderer.scene(), &placed, &camera, self.cursor, shown.size());
        if taken { Drag::Pull } else { Drag::Orbit }
    }

    /// The mouse moved: what it holds moves along.
    fn moved(&mut self, to: [f64; 2]) {
        let Some(shown) = &self.shown else { return };
        let size = shown.size();
        let by = [to[0] - self.cursor[0], to[1] - self.cursor[1]].map(|x| x / 2.0);
        let aspect = f64::from(size.width) / f64::from(size.height);
        self.cursor = to;
        if matches!(self.drag, Some(Drag::Orbit | Drag::Pan)) {
            self.own_camera();
        }
        match self.drag {
            None => {}
            Some(Drag::Orbit) => self.camera = self.camera.orbited(TURN * aspect * by[0], TURN * by[1]),
            Some(Drag::Pan) => self.camera = self.camera.panned(-aspect * by[0], -by[1]),
            Some(Drag::Pull) => {
                let camera = seen(self.viewpoint.as_ref(), &self.moments, &self.camera);
                self.simulation.drag(&camera, to, size);
            }
        }
    }

    /// From a camera of the file to one that the mouse moves.
    fn own_camera(&mut self) {
        if self.viewpoint.is_some() && !self.moments.is_empty() {
            let camera = seen(self.viewpoint.as_ref(), &self.moments, &self.camera);
            self.camera = Camera::looking(camera.eye, camera.middle, camera.radius);
            self.viewpoint = None;
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, event: WindowEvent) -> Result<(), Failure> {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => {
                if let Some(shown) = &mut self.shown {
                    shown.resize(size)?;
                }
            }
            WindowEvent::RedrawRequested => {
                self.advance()?;
                self.draw()?;
            }
            WindowEvent::KeyboardInput {
                event: KeyEvent { logical_key, state: ElementState::Pressed, .. }, ..
            } => {
                self.key(events, &logical_key)?;
            }
            WindowEvent::CursorMoved { position, .. } => {
                if let Some(size) = self.shown.as_ref().map(Shown::size) {
                    let across = |at: f64, side: u32| 2.0 * at / f64::from(side) - 1.0;
                    self.moved([across(position.x, size.width), -across(position.y, size.height)]);
                }
            }
            WindowEvent::MouseInput { state: ElementState::Released, .. } => {
                self.drag = None;
                self.simulation.let_go();
            }
            WindowEvent::MouseInput { button: MouseButton::Left, .. } => self.drag = Some(self.take()),
            WindowEvent::MouseInput { .. } => self.drag = Some(Drag::Pan),
            WindowEvent::MouseWheel { delta, .. } => {
                let lines = match delta {
                    MouseScrollDelta::LineDelta(_, lines) => f64::from(lines),
                    MouseScrollDelta::PixelDelta(pixels) => pixels.y / 40.0,
                };
                self.own_camera();
                self.camera = self.camera.zoomed(0.9_f64.powf(lines));
            }
            _ => {}
        }
        Ok(())
    }
}

impl ApplicationHandler for Viewer<'_> {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.shown.is_some() {
            return;
        }
        events.set_control_flow(ControlFlow::Poll);
        match Shown::open(events, &self.simulation, self.args.size) {
            Ok(shown) => self.shown = Some(shown),
            Err(failure) => {
                self.failure = Some(failure);
                events.exit();
            }
        }
        self.before = Instant::now();
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let Err(failure) = Viewer::window_event(self, events, event) {
            self.failure = Some(failure);
            events.exit();
        }
    }

    fn about_to_wait(&mut self, _: &ActiveEventLoop) {
        // Drawing waits for the display, and so does this loop.
        if let Some(shown) = &self.shown {
            shown.window.request_redraw();
        }
    }
}
