//! Drawing: a pass for the shadow map, a pass for the picture, a copy to the host.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use manyworlds_gpu::GpuDevice;
use manyworlds_gpu::wgpu::{
    self, BindGroupDescriptor, BindGroupEntry, BufferUsages, CompareFunction, DepthStencilState, FragmentState, LoadOp,
    MultisampleState, Operations, PrimitiveState, RenderPass, RenderPassDescriptor, RenderPipeline, ShaderStages,
    StoreOp, TextureUsages, VertexBufferLayout, VertexState, VertexStepMode,
};
use manyworlds_model::Vec3;
use nalgebra::Matrix4;

use crate::device::{depth, filled, open_device};
use crate::light::Illumination;
use crate::mesh::Vertex;
use crate::scene::{Painted, SQUARE, grid};
use crate::surfaces::Surfaces;
use crate::targets::{COLOUR, DEPTH, SAMPLES, Targets, texture};
use crate::{Arrow, Camera, Picture, Placed, RenderError, Scene, Size};

/// Pixels along an edge of the shadow map.
const SHADOW: u32 = 2048;
/// Part of the range of depths that is for arrows.
const ARROWS: f32 = 0.1;
/// Draws pictures of one scene in one size.
#[derive(Debug)]
pub struct Renderer {
    device: Arc<GpuDevice>,
    size: Size,
    scene: Scene,
    pipelines: Pipelines,
    meshes: Vec<wgpu::Buffer>,
    surfaces: Surfaces,
    targets: Targets,
    format: wgpu::TextureFormat,
}

#[derive(Debug)]
struct Pipelines {
    solid: RenderPipeline,
    shadow: RenderPipeline,
    sky: RenderPipeline,
    view: wgpu::Buffer,
    view_group: wgpu::BindGroup,
    shadow_group: wgpu::BindGroup,
    shadow_map: wgpu::TextureView,
}

/// `View` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct View {
    clip_from_world: [[f32; 4]; 4],
    light_from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    sky: [f32; 4],
    right: [f32; 4],
    up: [f32; 4],
    forward: [f32; 4],
    illumination: Illumination,
}

/// A run of instances of one mesh.
struct Run<'a> {
    mesh: &'a wgpu::Buffer,
    instances: std::ops::Range<u32>,
    casts_shadows: bool,
}

impl Renderer {
    /// On the best adapter of this machine.
    ///
    /// # Errors
    /// If there is no adapter, or its device reports an error.
    pub fn open(scene: Scene, size: Size) -> Result<Self, RenderError> {
        Self::new(open_device()?, scene, size)
    }

    /// On a device.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn new(device: Arc<GpuDevice>, scene: Scene, size: Size) -> Result<Self, RenderError> {
        Self::with_format(device, scene, size, COLOUR)
    }

    /// On a device, for pictures of a format that a window takes: [`Self::draw_on`] draws these.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn with_format(
        device: Arc<GpuDevice>,
        scene: Scene,
        size: Size,
        format: wgpu::TextureFormat,
    ) -> Result<Self, RenderError> {
        let what = || "preparing to draw".to_owned();
        let (pipelines, meshes, surfaces, targets) = device.guarded(what, || {
            let gpu = &device.device;
            let meshes = scene.meshes.iter().map(|mesh| filled(&device, "mesh", mesh, BufferUsages::VERTEX)).collect();
            let surfaces = Surfaces::new(&device, &scene.layers);
            (Pipelines::new(gpu, format, &surfaces), meshes, surfaces, Targets::new(gpu, size, format))
        })?;
        Ok(Self { device, size, scene, pipelines, meshes, surfaces, targets, format })
    }

    /// Draws pictures of another size from now on.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn resize(&mut self, size: Size) -> Result<(), RenderError> {
        let gpu = &self.device.device;
        self.targets = self.device.guarded(|| "a new size".to_owned(), || Targets::new(gpu, size, self.format))?;
        self.size = size;
        Ok(())
    }

    /// What it draws.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// A camera that shows everything that moves through all of these; if asked for, still boxes are left out that would
    /// hide it from there.
    pub fn frame(&mut self, film: &[&Placed], cut_away: bool) -> Camera {
        self.scene.frame(film, self.size, cut_away)
    }

    /// Name of the adapter.
    #[must_use]
    pub fn adapter(&self) -> &str {
        self.device.adapter_name()
    }

    /// Draws worlds of the scene, and arrows before them.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn draw(&self, worlds: &[Placed], arrows: &[Arrow], camera: &Camera) -> Result<Picture, RenderError> {
        let submission = self.device.guarded(
            || "drawing".to_owned(),
            || {
                let mut encoder = self.encode(worlds, arrows, camera, &self.targets.resolved);
                self.targets.copy(&mut encoder);
                self.device.queue.submit([encoder.finish()])
            },
        )?;
        Ok(self.targets.read(&self.device, submission)?)
    }

    /// Draws them on a texture of this renderer's size and format.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn draw_on(
        &self,
        target: &wgpu::TextureView,
        worlds: &[Placed],
        arrows: &[Arrow],
        camera: &Camera,
    ) -> Result<(), RenderError> {
        let draw = || self.device.queue.submit([self.encode(worlds, arrows, camera, target).finish()]);
        self.device.guarded(|| "drawing".to_owned(), draw)?;
        Ok(())
    }

    fn encode(
        &self,
        worlds: &[Placed],
        arrows: &[Arrow],
        camera: &Camera,
        target: &wgpu::TextureView,
    ) -> wgpu::CommandEncoder {
        let (counts, mut instances) = self.scene.instances(worlds, camera);
        let soft: Vec<_> = worlds.iter().flat_map(|placed| self.scene.soft(placed)).collect();
        let soft_meshes: Vec<_> =
            soft.iter().map(|(mesh, _)| filled(&self.device, "soft body", mesh, BufferUsages::VERTEX)).collect();
        let mut next = 0;
        let mut run = |mesh, count, casts_shadows| {
            next += count;
            Run { mesh, instances: next - count..next, casts_shadows }
        };
        // The ground is a wall as well: endless, it would leave all in the dark.
        let of = |&(mesh, count): &(usize, u32)| run(&self.meshes[mesh], count, mesh != SQUARE);
        let mut runs: Vec<Run> = counts.iter().map(of).collect();
        runs.extend(soft_meshes.iter().map(|mesh| run(mesh, 1, true)));
        instances.extend(soft.iter().map(|(_, instance)| Painted::bare(*instance)));
        let (arrow_counts, arrows) = Scene::arrows(arrows);
        let arrow_runs: Vec<Run> =
            arrow_counts.iter().map(|&(mesh, count)| run(&self.meshes[mesh], count, false)).collect();
        instances.extend(arrows);
        let instances = filled(&self.device, "instances", &instances, BufferUsages::VERTEX);

        let pipelines = &self.pipelines;
        let view = View::new(&self.scene, worlds.first(), camera, self.size);
        self.device.queue.write_buffer(&pipelines.view, 0, bytemuck::bytes_of(&view));
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
                label: Some("shadow"),
                depth_stencil_attachment: Some(depth(&pipelines.shadow_map, StoreOp::Store)),
                ..RenderPassDescriptor::default()
            });
            pass.set_pipeline(&pipelines.shadow);
            pass.set_bind_group(0, &pipelines.view_group, &[]);
            draw(&mut pass, &instances, runs.iter().filter(|run| run.casts_shadows));
        }
        {
            let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
                label: Some("picture"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &self.targets.samples,
                    depth_slice: None,
                    resolve_target: Some(target),
                    ops: Operations { load: LoadOp::Clear(wgpu::Color::BLACK), store: StoreOp::Discard },
                })],
                depth_stencil_attachment: Some(depth(&self.targets.depth, StoreOp::Discard)),
                ..RenderPassDescriptor::default()
            });
            pass.set_bind_group(0, &pipelines.view_group, &[]);
            pass.set_bind_group(1, &pipelines.shadow_group, &[]);
            pass.set_bind_group(2, &self.surfaces.group, &[]);
            pass.set_pipeline(&pipelines.solid);
            let [width, height] = [self.size.width as f32, self.size.height as f32];
            // The first depths are those of arrows, which so lie before everything else.
            pass.set_viewport(0.0, 0.0, width, height, 0.0, ARROWS);
            draw(&mut pass, &instances, arrow_runs.iter());
            pass.set_viewport(0.0, 0.0, width, height, ARROWS, 1.0);
            draw(&mut pass, &instances, runs.iter());
            pass.set_pipeline(&pipelines.sky);
            pass.draw(0..3, 0..1);
        }
        encoder
    }
}

/// Draws runs of instances, one behind the other.
fn draw<'a>(pass: &mut RenderPass, instances: &wgpu::Buffer, runs: impl Iterator<Item = &'a Run<'a>>) {
    pass.set_vertex_buffer(1, instances.slice(..));
    for run in runs {
        let vertices = run.mesh.size() / size_of::<Vertex>() as u64;
        pass.set_vertex_buffer(0, run.mesh.slice(..));
        pass.draw(0..vertices as u32, run.instances.clone());
    }
}

impl View {
    /// One number behind the other.
    pub(crate) fn numbers(&self) -> Vec<f32> {
        bytemuck::cast_slice(bytemuck::bytes_of(self)).to_vec()
    }

    /// Of a scene whose first world stands so.
    pub(crate) fn new(scene: &Scene, world: Option<&Placed>, camera: &Camera, size: Size) -> Self {
        let [right, up, back] = camera.axes();
        let half = (camera.field_of_view / 2.0).tan();
        let aspect = f64::from(size.width) / f64::from(size.height);
        let (illumination, shadows) = scene.lights.on(world, camera);
        let (light_from_world, width) =
            shadows.map_or_else(|| (Matrix4::identity(), 1.0), |shadows| (shadows.light_from_world, shadows.width));
        let [first, stride] = scene.layers.sky.map_or([-1.0, 0.0], |sky| sky.map(|layer| layer as f32));
        let matrix = |m: Matrix4<f64>| m.cast::<f32>().into();
        let four = |v: Vec3, w: f64| v.push(w).cast::<f32>().into();
        Self {
            clip_from_world: matrix(camera.clip_from_world(size)),
            light_from_world: matrix(light_from_world),
            eye: four(camera.eye, 14.0 * camera.distance()),
            sky: [first, stride, (width / f64::from(SHADOW)) as f32, 0.0],
            right: four(right * (half * aspect), 0.0),
            up: four(up * half, 0.0),
            forward: four(-back, grid(camera)),
            illumination,
        }
    }
}

impl Pipelines {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat, surfaces: &Surfaces) -> Self {
        let module = device.create_shader_module(wgpu::include_wgsl!("scene.wgsl"));
        let entry = |binding, visibility, ty| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None };
        let view_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("view"),
            entries: &[entry(
                0,
                ShaderStages::VERTEX_FRAGMENT,
                wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
            )],
        });
        let shadow_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("shadow"),
            entries: &[
                entry(
                    0,
                    ShaderStages::FRAGMENT,
                    wgpu::BindingType::Texture {
                        sample_type: wgpu::TextureSampleType::Depth,
                        view_dimension: wgpu::TextureViewDimension::D2,
                        multisampled: false,
                    },
                ),
                entry(1, ShaderStages::FRAGMENT, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison)),
            ],
        });
        let layout = |groups: &[Option<&wgpu::BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let lit = layout(&[Some(&view_layout), Some(&shadow_layout), Some(&surfaces.layout)]);
        let plain = layout(&[Some(&view_layout)]);

        let corner = wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32, 3 => Float32x2];
        let placed = wgpu::vertex_attr_array![
            4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x4, 8 => Float32x4, 9 => Float32x4,
            10 => Float32x4, 11 => Float32x4
        ];
        let buffers = [
            Some(VertexBufferLayout {
                array_stride: size_of::<Vertex>() as u64,
                step_mode: VertexStepMode::Vertex,
                attributes: &corner,
            }),
            Some(VertexBufferLayout {
                array_stride: size_of::<Painted>() as u64,
                step_mode: VertexStepMode::Instance,
                attributes: &placed,
            }),
        ];
        let pipeline = |label, layout, [vertex, fragment]: [Option<&str>; 2], buffers, compare, bias| {
            let targets = [Some(format.into())];
            // Only the picture has colours and several samples; only solids have a back.
            let cull_mode = (label == "solid").then_some(wgpu::Face::Back);
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(label),
                layout: Some(layout),
                vertex: VertexState {
                    module: &module,
                    entry_point: vertex,
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers,
                },
                primitive: PrimitiveState { cull_mode, ..PrimitiveState::default() },
                depth_stencil: Some(DepthStencilState {
                    format: DEPTH,
                    depth_write_enabled: Some(true),
                    depth_compare: Some(compare),
                    stencil: wgpu::StencilState::default(),
                    bias,
                }),
                multisample: MultisampleState {
                    count: if fragment.is_some() { SAMPLES } else { 1 },
                    ..MultisampleState::default()
                },
                fragment: fragment.map(|entry| FragmentState {
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &targets,
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let none = wgpu::DepthBiasState::default();
        // A surface does not shade itself by rounding of depths.
        let away = wgpu::DepthBiasState { constant: 2, slope_scale: 3.0, clamp: 0.0 };
        let solid = pipeline("solid", &lit, [Some("place"), Some("shade")], &buffers[..], CompareFunction::Less, none);
        let shadow =
            pipeline("shadow", &plain, [Some("place_for_light"), None], &buffers[..], CompareFunction::Less, away);
        let sky = pipeline("sky", &lit, [Some("place_sky"), Some("shade_sky")], &[], CompareFunction::LessEqual, none);

        let map = texture(
            device,
            "shadow map",
            [SHADOW; 2],
            1,
            DEPTH,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
        );
        let shadow_map = map.create_view(&wgpu::TextureViewDescriptor::default());
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("shadow"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(CompareFunction::LessEqual),
            ..wgpu::SamplerDescriptor::default()
        });
        let view = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("view"),
            size: size_of::<View>() as u64,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let view_group = device.create_bind_group(&BindGroupDescriptor {
            label: Some("view"),
            layout: &view_layout,
            entries: &[BindGroupEntry { binding: 0, resource: view.as_entire_binding() }],
        });
        let shadow_group = device.create_bind_group(&BindGroupDescriptor {
            label: Some("shadow"),
            layout: &shadow_layout,
            entries: &[
                BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&shadow_map) },
                BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) },
            ],
        });
        Self { solid, shadow, sky, view, view_group, shadow_group, shadow_map }
    }
}
