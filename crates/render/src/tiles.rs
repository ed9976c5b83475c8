//! Camera observations: many worlds at once, a tile of one texture each, with colours, distances and what is seen where.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc;

use bytemuck::{Pod, Zeroable};
use manyworlds_gpu::wgpu::{
    self, BufferUsages, LoadOp, Operations, RenderPassColorAttachment, RenderPassDescriptor, StoreOp, TextureFormat,
    TextureUsages, VertexBufferLayout, VertexStepMode,
};
use manyworlds_gpu::{GpuDevice, GpuError};
use manyworlds_model::Model;

use crate::device::{depth, filled, open_device};
use crate::device_poses::{Composer, Lanes};
use crate::instance::Placement;
use crate::light::SUN;
use crate::mesh::Vertex;
use crate::scene::{Detail, grid};
use crate::targets::{COLOUR, DEPTH, texture};
use crate::{Camera, Placed, RenderError, Scene, Size};

/// Largest side of the texture of tiles, pixels: more worlds take turns.
const SIDE: u32 = 2048;
/// Formats of what is observed, four bytes a pixel each.
const FORMATS: [TextureFormat; 3] = [COLOUR, TextureFormat::R32Float, TextureFormat::R32Sint];
/// Intensities where nothing is.
const HORIZON: wgpu::Color = wgpu::Color { r: 0.72, g: 0.80, b: 0.88, a: 1.0 };

/// Draws observations of worlds of one model.
#[derive(Debug)]
pub struct Observer {
    device: Arc<GpuDevice>,
    size: Size,
    scene: Scene,
    meshes: Vec<Indexed>,
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
    /// For as many worlds as were observed last.
    sheet: Option<Sheet>,
    /// Made when poses come from the device.
    composer: Option<Composer>,
}

/// What cameras see: a picture a world, rows from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    /// Of each picture.
    pub size: Size,
    /// Red, green and blue, `[worlds][height][width][3]`.
    pub rgb: Vec<u8>,
    /// Distance along the camera's axis, m, infinite where nothing is, `[worlds][height][width]`.
    pub depth: Vec<f32>,
    /// Geom of the model, soft bodies numbered behind them; -1 where nothing is, `[worlds][height][width]`.
    pub segmentation: Vec<i32>,
}

/// `View` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct View {
    clip_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    light: [f32; 4],
}

/// Instances of one mesh in one tile.
struct Run<'a> {
    tile: u32,
    mesh: &'a Indexed,
    placements: &'a wgpu::Buffer,
    instances: Range<u32>,
}

/// A mesh whose triangles share corners: each corner is placed once.
#[derive(Debug)]
struct Indexed {
    corners: wgpu::Buffer,
    indices: wgpu::Buffer,
}

impl Indexed {
    fn new(device: &GpuDevice, mesh: &[Vertex]) -> Self {
        let mut known = HashMap::new();
        let mut corners: Vec<Vertex> = Vec::new();
        let number = |vertex: &Vertex| {
            let bytes: [u8; size_of::<Vertex>()] = bytemuck::cast(*vertex);
            *known.entry(bytes).or_insert_with(|| {
                corners.push(*vertex);
                corners.len() as u32 - 1
            })
        };
        let indices: Vec<u32> = mesh.iter().map(number).collect();
        Self {
            corners: filled(device, "corners", &corners, BufferUsages::VERTEX),
            indices: filled(device, "triangles", &indices, BufferUsages::INDEX),
        }
    }
}

/// Textures of tiles side by side, and the buffers that the host reads.
#[derive(Debug)]
struct Sheet {
    columns: u32,
    rows: u32,
    textures: [wgpu::Texture; 3],
    views: [wgpu::TextureView; 3],
    depth: wgpu::TextureView,
    read: [wgpu::Buffer; 3],
}

impl Observer {
    /// On the best adapter of this machine.
    ///
    /// # Errors
    /// If there is no adapter, or its device reports an error; if a picture is too large.
    pub fn open(model: &Model, size: Size) -> Result<Self, RenderError> {
        Self::new(open_device()?, model, size)
    }

    /// On a device.
    ///
    /// # Errors
    /// If the device reports an error, or a picture is too large.
    pub fn new(device: Arc<GpuDevice>, model: &Model, size: Size) -> Result<Self, RenderError> {
        if size.width.max(size.height) > SIDE || size.width.min(size.height) == 0 {
            return Err(RenderError::Size { found: format!("{}x{}", size.width, size.height), most: SIDE });
        }
        let scene = Scene::with_detail(model, Detail::Coarse);
        let what = || "preparing to observe".to_owned();
        let (meshes, (pipeline, layout)) = device.guarded(what, || {
            let meshes = scene.meshes.iter().map(|mesh| Indexed::new(&device, mesh)).collect();
            (meshes, pipeline(&device.device))
        })?;
        Ok(Self { device, size, scene, meshes, pipeline, layout, sheet: None, composer: None })
    }

    /// A camera that shows everything that moves in these worlds.
    #[must_use]
    pub fn frame(&self, worlds: &[Placed]) -> Camera {
        let points: Vec<_> = worlds.iter().flat_map(|placed| self.scene.outline(placed)).collect();
        Camera::framing(&points, self.size)
    }

    /// What it draws.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Name of the adapter.
    #[must_use]
    pub fn adapter(&self) -> &str {
        self.device.adapter_name()
    }

    /// What each camera sees of its world.
    ///
    /// # Errors
    /// If the device reports an error.
    ///
    /// # Panics
    /// If there are not as many cameras as worlds.
    pub fn observe(&mut self, worlds: &[Placed], cameras: &[Camera]) -> Result<Observations, RenderError> {
        assert_eq!(worlds.len(), cameras.len(), "a camera for each world");
        self.sheets(worlds.len(), |observer, some| observer.draw(&worlds[some.clone()], &cameras[some]))
    }

    /// What each camera sees of its world, where a batch on the same device keeps the poses: none goes to the host. `still`
    /// has the poses of bodies that no lanes have, the same in all worlds; worlds of lanes are counted as the cameras.
    ///
    /// # Errors
    /// [`RenderError::Soft`] if the model has soft bodies, whose surfaces the host makes, or if the device reports an error.
    pub fn observe_lanes(
        &mut self,
        lanes: &[Lanes],
        still: &Placed,
        cameras: &[Camera],
    ) -> Result<Observations, RenderError> {
        if self.scene.has_soft() {
            return Err(RenderError::Soft);
        }
        if self.composer.is_none() {
            let fixtures = self.scene.fixtures();
            let composer = || Composer::new(&self.device, &fixtures);
            self.composer = Some(self.device.guarded(|| "preparing to place shapes".to_owned(), composer)?);
        }
        self.sheets(cameras.len(), |observer, some| observer.draw_lanes(lanes, still, some.clone(), &cameras[some]))
    }

    /// Draws worlds sheet by sheet, and reads them.
    fn sheets(
        &mut self,
        worlds: usize,
        draw: impl Fn(&Self, Range<usize>) -> Result<wgpu::SubmissionIndex, RenderError>,
    ) -> Result<Observations, RenderError> {
        let pixels = self.size.bytes() / 4;
        let mut out = Observations {
            size: self.size,
            rgb: vec![0; 3 * pixels * worlds],
            depth: vec![0.0; pixels * worlds],
            segmentation: vec![0; pixels * worlds],
        };
        let most = (SIDE / self.size.width) as usize * (SIDE / self.size.height) as usize;
        for first in (0..worlds).step_by(most) {
            let some = first..(first + most).min(worlds);
            let columns = (SIDE / self.size.width).min(some.len() as u32);
            let rows = (some.len() as u32).div_ceil(columns);
            if self.sheet.as_ref().is_none_or(|sheet| (sheet.columns, sheet.rows) != (columns, rows)) {
                let new = || Sheet::new(&self.device.device, self.size, columns, rows);
                self.sheet = Some(self.device.guarded(|| "tiles".to_owned(), new)?);
            }
            let submission = draw(self, some.clone())?;
            self.read(submission, some, &mut out)?;
        }
        Ok(out)
    }

    /// Draws at most a sheet of worlds.
    fn draw(&self, worlds: &[Placed], cameras: &[Camera]) -> Result<wgpu::SubmissionIndex, RenderError> {
        let mut placements = Vec::new();
        // Runs of one mesh in one tile.
        let mut runs: Vec<(u32, usize, Range<u32>)> = Vec::new();
        let mut soft = Vec::new();
        for (tile, (placed, camera)) in (0_u32..).zip(worlds.iter().zip(cameras)) {
            for (mesh, what, instance) in self.scene.seen(placed, camera, self.size) {
                let at = placements.len() as u32;
                placements.push(Placement { instance, tile, what });
                match runs.last_mut() {
                    Some((of, with, run)) if (*of, *with) == (tile, mesh) => run.end = at + 1,
                    _ => runs.push((tile, mesh, at..at + 1)),
                }
            }
            for (number, (mesh, instance)) in self.scene.soft(placed).into_iter().enumerate() {
                let at = placements.len() as u32;
                let what = (self.scene.n_geoms() + number) as i32;
                placements.push(Placement { instance, tile, what });
                runs.push((tile, self.meshes.len() + soft.len(), at..at + 1));
                soft.push(mesh);
            }
        }
        let submit = || {
            let soft: Vec<_> = soft.iter().map(|mesh| Indexed::new(&self.device, mesh)).collect();
            let placements = filled(&self.device, "placements", &placements, BufferUsages::VERTEX);
            let run = |(tile, mesh, instances): (u32, usize, Range<u32>)| {
                let mesh = self.meshes.get(mesh).unwrap_or_else(|| &soft[mesh - self.meshes.len()]);
                Run { tile, mesh, placements: &placements, instances }
            };
            let encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            self.encode(encoder, cameras, runs.into_iter().map(run))
        };
        Ok(self.device.guarded(|| "observing".to_owned(), submit)?)
    }

    /// Draws at most a sheet of worlds whose poses the device has; grounds go with the cameras, which the host has.
    fn draw_lanes(
        &self,
        lanes: &[Lanes],
        still: &Placed,
        worlds: Range<usize>,
        cameras: &[Camera],
    ) -> Result<wgpu::SubmissionIndex, RenderError> {
        let Some(composer) = &self.composer else { unreachable!("made before") };
        let grounds: Vec<Placement> = (0..)
            .zip(cameras)
            .flat_map(|(tile, camera)| {
                let place = move |(what, instance)| Placement { instance, tile, what };
                self.scene.grounds(still, camera).map(place)
            })
            .collect();
        let runs = self.scene.runs();
        let count = |ground: bool| runs.iter().filter(|run| run.2 == ground).map(|run| run.1).sum::<u32>();
        let per_world = [count(false), count(true)];
        let submit = || {
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let solids = composer.encode(&self.device, &mut encoder, lanes, still, &worlds);
            let grounds = filled(&self.device, "grounds", &grounds, BufferUsages::VERTEX);
            let of_tile = |tile: u32| {
                let mut next = per_world.map(|n| n * tile);
                let (runs, solids, grounds) = (&runs, &solids, &grounds);
                runs.iter().map(move |&(mesh, count, ground)| {
                    let first = next[usize::from(ground)];
                    next[usize::from(ground)] += count;
                    let placements = if ground { grounds } else { solids };
                    Run { tile, mesh: &self.meshes[mesh], placements, instances: first..first + count }
                })
            };
            self.encode(encoder, cameras, (0..worlds.len() as u32).flat_map(of_tile))
        };
        Ok(self.device.guarded(|| "observing".to_owned(), submit)?)
    }

    /// Encodes runs tile by tile, and submits them.
    fn encode<'a>(
        &self,
        mut encoder: wgpu::CommandEncoder,
        cameras: &[Camera],
        runs: impl Iterator<Item = Run<'a>>,
    ) -> wgpu::SubmissionIndex {
        let Some(sheet) = &self.sheet else { unreachable!("made before") };
        let views: Vec<View> = cameras.iter().map(|camera| View::new(camera, self.size)).collect();
        let views = filled(&self.device, "views", &views, BufferUsages::STORAGE);
        let group = self.device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("views"),
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: views.as_entire_binding() }],
        });
        let clear = |number: usize, colour| {
            Some(RenderPassColorAttachment {
                view: &sheet.views[number],
                depth_slice: None,
                resolve_target: None,
                ops: Operations { load: LoadOp::Clear(colour), store: StoreOp::Store },
            })
        };
        let nothing = wgpu::Color { r: -1.0, ..wgpu::Color::BLACK };
        {
            let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
                label: Some("tiles"),
                color_attachments: &[clear(0, HORIZON), clear(1, wgpu::Color::BLACK), clear(2, nothing)],
                depth_stencil_attachment: Some(depth(&sheet.depth, StoreOp::Discard)),
                ..RenderPassDescriptor::default()
            });
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &group, &[]);
            let mut before = None;
            for Run { tile, mesh, placements, instances } in runs {
                if before.replace(tile) != Some(tile) {
                    // Nothing is drawn outside of its tile.
                    let [x, y] = sheet.corner(tile, self.size);
                    let Size { width, height } = self.size;
                    pass.set_viewport(x as f32, y as f32, width as f32, height as f32, 0.0, 1.0);
                    pass.set_scissor_rect(x, y, width, height);
                }
                pass.set_vertex_buffer(0, mesh.corners.slice(..));
                pass.set_vertex_buffer(1, placements.slice(..));
                pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
                pass.draw_indexed(0..(mesh.indices.size() / 4) as u32, 0, instances);
            }
        }
        sheet.copy(&mut encoder);
        self.device.queue.submit([encoder.finish()])
    }

    /// Waits, and takes the tiles apart.
    fn read(
        &self,
        submission: wgpu::SubmissionIndex,
        worlds: Range<usize>,
        out: &mut Observations,
    ) -> Result<(), RenderError> {
        let Some(sheet) = &self.sheet else { return Ok(()) };
        let failed = |reason: String| GpuError::Device { what: "reading observations".into(), reason };
        let (send, receive) = mpsc::channel();
        for buffer in &sheet.read {
            let send = send.clone();
            buffer.slice(..).map_async(wgpu::MapMode::Read, move |done| {
                // Whoever waits for it may have gone with an error of its own.
                let _ = send.send(done);
            });
        }
        self.device.wait(submission)?;
        for _ in &sheet.read {
            receive.recv().map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
        }
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let pitch = sheet.pitch(self.size) as usize;
        for (kind, buffer) in sheet.read.iter().enumerate() {
            {
                let bytes = buffer.slice(..).get_mapped_range().map_err(|e| failed(e.to_string()))?;
                for world in worlds.clone() {
                    let [x, y] = sheet.corner((world - worlds.start) as u32, self.size);
                    for row in 0..height {
                        let line = &bytes[(y as usize + row) * pitch + 4 * x as usize..][..4 * width];
                        let to = (world * height + row) * width;
                        let numbers = line.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
                        match kind {
                            0 => {
                                let to = &mut out.rgb[3 * to..3 * (to + width)];
                                to.chunks_exact_mut(3).zip(numbers).for_each(|(to, b)| to.copy_from_slice(&b[..3]));
                            }
                            1 => out.depth[to..to + width]
                                .iter_mut()
                                .zip(numbers)
                                .for_each(|(to, b)| *to = f32::from_le_bytes(b)),
                            _ => out.segmentation[to..to + width]
                                .iter_mut()
                                .zip(numbers)
                                .for_each(|(to, b)| *to = i32::from_le_bytes(b)),
                        }
                    }
                }
            }
            buffer.unmap();
        }
        let pixels = width * height;
        let some = worlds.start * pixels..worlds.end * pixels;
        for (depth, what) in out.depth[some.clone()].iter_mut().zip(&out.segmentation[some]) {
            if *what < 0 {
                *depth = f32::INFINITY;
            }
        }
        Ok(())
    }
}

impl Sheet {
    fn new(device: &wgpu::Device, size: Size, columns: u32, rows: u32) -> Self {
        let sides = [columns * size.width, rows * size.height];
        let drawn = TextureUsages::RENDER_ATTACHMENT;
        let textures =
            FORMATS.map(|format| texture(device, "tiles", sides, 1, format, drawn | TextureUsages::COPY_SRC));
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let views = [0, 1, 2].map(|number: usize| view(&textures[number]));
        let depth = view(&texture(device, "depth", sides, 1, DEPTH, drawn));
        let read = FORMATS.map(|_| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("tiles"),
                size: u64::from(pitch(columns * size.width)) * u64::from(sides[1]),
                usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
                mapped_at_creation: false,
            })
        });
        Self { columns, rows, textures, views, depth, read }
    }

    /// Upper left pixel of a tile.
    fn corner(&self, tile: u32, size: Size) -> [u32; 2] {
        [tile % self.columns * size.width, tile / self.columns * size.height]
    }

    /// Bytes of a row of a copy.
    fn pitch(&self, size: Size) -> u32 {
        pitch(self.columns * size.width)
    }

    fn copy(&self, encoder: &mut wgpu::CommandEncoder) {
        for (texture, buffer) in self.textures.iter().zip(&self.read) {
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(pitch(texture.width())),
                rows_per_image: None,
            };
            let to = wgpu::TexelCopyBufferInfo { buffer, layout };
            encoder.copy_texture_to_buffer(texture.as_image_copy(), to, texture.size());
        }
    }
}

/// Bytes of a row of so many pixels in a copy.
fn pitch(width: u32) -> u32 {
    (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)
}

impl View {
    fn new(camera: &Camera, size: Size) -> Self {
        let to_light = manyworlds_model::Vec3::from(SUN).normalize();
        Self {
            clip_from_world: camera.clip_from_world(size).cast::<f32>().into(),
            eye: camera.eye.push(14.0 * camera.distance()).cast::<f32>().into(),
            light: to_light.push(grid(camera)).cast::<f32>().into(),
        }
    }
}

fn pipeline(device: &wgpu::Device) -> (wgpu::RenderPipeline, wgpu::BindGroupLayout) {
    let module = device.create_shader_module(wgpu::include_wgsl!("tiles.wgsl"));
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("views"),
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::VERTEX,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: true },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        }],
    });
    let whole = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("tiles"),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let corner = wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32];
    let placed = wgpu::vertex_attr_array![
        3 => Float32x4, 4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x4, 8 => Uint32, 9 => Sint32
    ];
    let buffers = [
        Some(VertexBufferLayout {
            array_stride: size_of::<Vertex>() as u64,
            step_mode: VertexStepMode::Vertex,
            attributes: &corner,
        }),
        Some(VertexBufferLayout {
            array_stride: size_of::<Placement>() as u64,
            step_mode: VertexStepMode::Instance,
            attributes: &placed,
        }),
    ];
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("tiles"),
        layout: Some(&whole),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("place"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &buffers,
        },
        primitive: wgpu::PrimitiveState { cull_mode: Some(wgpu::Face::Back), ..wgpu::PrimitiveState::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Less),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("shade"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &FORMATS.map(|format| Some(format.into())),
        }),
        multiview_mask: None,
        cache: None,
    });
    (pipeline, layout)
}
