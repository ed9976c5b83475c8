//! Poses that a batch keeps on the observer's device: shapes are placed there, without a way over the host.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use manyworlds_gpu::wgpu::{self, BindGroupDescriptor, BindGroupEntry, BufferUsages};

use crate::Placed;
use crate::device::filled;
use crate::instance::{Fixture, Placement};

/// Poses of some bodies in some worlds, in a buffer of the observer's device, in single precision.
///
/// A pose is position and quaternion (w, x, y, z). The `i`-th of a world's `trees` lanes is lane
/// `L = (world - worlds.start) * trees + i`, and its number `e` stands at
/// `offset + (L / width) * strides[0] + (L % width) * strides[1] + e * strides[2]`.
#[derive(Debug, Clone)]
pub struct Lanes<'a> {
    /// Where they lie: a storage buffer.
    pub buffer: &'a wgpu::Buffer,
    /// Whose poses they are.
    pub worlds: Range<usize>,
    /// Lanes of a world.
    pub trees: usize,
    /// Lanes of a tile.
    pub width: usize,
    /// Distances from tile to tile, from lane to lane and from number to number.
    pub strides: [usize; 3],
    /// The first number.
    pub offset: usize,
    /// Bodies, with the lane of each and the first of its numbers there.
    pub bodies: Vec<Seat>,
}

/// Where a body's pose is among the lanes of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Of the model.
    pub body: usize,
    /// Which of the world's lanes.
    pub tree: usize,
    /// The first of its seven numbers.
    pub first: usize,
}

/// `Dims` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Dims {
    first_world: u32,
    worlds: u32,
    first_tile: u32,
    trees: u32,
    width: u32,
    strides: [u32; 3],
    offset: u32,
    items: u32,
    shapes: u32,
    padding: u32,
}

/// `Item` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Item {
    shape: u32,
    tree: u32,
    first: u32,
    padding: u32,
}

/// Invocations of a workgroup, and workgroups along an axis at most.
const GROUP: u32 = 64;
const MOST: u32 = 65535;

/// Places all shapes of some worlds.
#[derive(Debug)]
pub(crate) struct Composer {
    pipeline: wgpu::ComputePipeline,
    /// On which bodies the shapes are.
    bodies: Vec<usize>,
    shapes: wgpu::Buffer,
}

impl Composer {
    pub(crate) fn new(device: &manyworlds_gpu::GpuDevice, fixtures: &[Fixture]) -> Self {
        let module = device.device.create_shader_module(wgpu::include_wgsl!("compose.wgsl"));
        let pipeline = device.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("compose"),
            layout: None,
            module: &module,
            entry_point: Some("compose"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let placements: Vec<Placement> = fixtures.iter().map(|fixture| fixture.placement).collect();
        let shapes = filled(device, "shapes", &placements, BufferUsages::STORAGE);
        Self { pipeline, bodies: fixtures.iter().map(|fixture| fixture.body).collect(), shapes }
    }

    /// Encodes the placing of all shapes of these worlds, and gives the buffer that has them, world by world. `still` has the
    /// poses of the bodies that no lanes have.
    pub(crate) fn encode(
        &self,
        device: &manyworlds_gpu::GpuDevice,
        encoder: &mut wgpu::CommandEncoder,
        lanes: &[Lanes],
        still: &Placed,
        worlds: &Range<usize>,
    ) -> wgpu::Buffer {
        let bytes = (worlds.len() * self.bodies.len()).max(1) * size_of::<Placement>();
        let placements = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("placements"),
            size: bytes as u64,
            usage: BufferUsages::VERTEX | BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let numbers: Vec<f32> = still
            .poses
            .iter()
            .flat_map(|pose| {
                let (at, turn) = (pose.translation.vector, pose.rotation);
                [at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k].map(|x| x as f32)
            })
            .collect();
        let stands = filled(device, "poses", &numbers, BufferUsages::STORAGE);
        let moved = |body: usize| lanes.iter().any(|lanes| lanes.bodies.iter().any(|seat| seat.body == body));
        let seat = |body: usize| Seat { body, tree: 0, first: 7 * body };
        let bodies = (0..still.poses.len()).filter(|&body| !moved(body)).map(seat).collect();
        // A single lane that all worlds share.
        let strides = [0, 0, 1];
        let still = Lanes { buffer: &stands, worlds: worlds.clone(), trees: 1, width: 1, strides, offset: 0, bodies };
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        for lanes in lanes.iter().chain([&still]) {
            let some = lanes.worlds.start.max(worlds.start)..lanes.worlds.end.min(worlds.end);
            let of = |seat: &Seat| {
                let own = self.bodies.iter().enumerate().filter(|(_, body)| **body == seat.body);
                let Seat { tree, first, .. } = *seat;
                let item = move |shape: usize| Item {
                    shape: shape as u32,
                    tree: tree as u32,
                    first: first as u32,
                    padding: 0,
                };
                own.map(move |(shape, _)| item(shape)).collect::<Vec<_>>()
            };
            let items: Vec<Item> = lanes.bodies.iter().flat_map(of).collect();
            if some.is_empty() || items.is_empty() {
                continue;
            }
            let dims = Dims {
                first_world: (some.start - lanes.worlds.start) as u32,
                worlds: some.len() as u32,
                first_tile: (some.start - worlds.start) as u32,
                trees: lanes.trees as u32,
                width: lanes.width as u32,
                strides: lanes.strides.map(|n| n as u32),
                offset: lanes.offset as u32,
                items: items.len() as u32,
                shapes: self.bodies.len() as u32,
                padding: 0,
            };
            let buffers = [
                &filled(device, "dims", &[dims], BufferUsages::UNIFORM),
                &filled(device, "items", &items, BufferUsages::STORAGE),
                &self.shapes,
                lanes.buffer,
                &placements,
            ];
            let entries = (0..).zip(&buffers);
            let group = device.device.create_bind_group(&BindGroupDescriptor {
                label: Some("compose"),
                layout: &self.pipeline.get_bind_group_layout(0),
                entries: &entries
                    .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                    .collect::<Vec<_>>(),
            });
            pass.set_bind_group(0, &group, &[]);
            let groups = (dims.worlds * dims.items).div_ceil(GROUP);
            pass.dispatch_workgroups(groups.min(MOST), groups.div_ceil(MOST), 1);
        }
        drop(pass);
        placements
    }
}
