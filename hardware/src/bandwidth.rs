//! What the adapter's memory does: a kernel that copies one buffer to another, read and written bytes counted. A driver's own
//! copies can be five times slower.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use manyworlds_gpu::{DeviceOptions, GpuDevice};

use crate::child;

use manyworlds::wgpu;

/// Bytes of each buffer: far more than a cache holds.
const BYTES: u64 = 512 << 20;
/// Copies in a submission, and submissions of which the fastest counts.
const COPIES: u32 = 16;
const ROUNDS: usize = 5;
/// Invocations of a workgroup, and workgroups of a dispatch at most.
const WIDTH: u32 = 256;
const GROUPS: u32 = 65_535;

const COPY: &str = "
@group(0) @binding(0) var<storage, read> from_here: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> to_there: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < arrayLength(&from_here); i += 256u * groups.x) {
        to_there[i] = from_here[i];
    }
}";

/// In a process of its own: prints GB/s.
///
/// # Errors
/// If there is no device, or it fails.
pub(crate) fn part() -> Result<()> {
    let device = GpuDevice::open(&DeviceOptions::default())?;
    let limits = device.device.limits();
    let bytes = BYTES.min(limits.max_buffer_size).min(limits.max_storage_buffer_binding_size) / 16 * 16;
    let buffer = || {
        let usage = wgpu::BufferUsages::STORAGE;
        device.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage,
            mapped_at_creation: false,
        })
    };
    let module = device.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("copy"),
        source: wgpu::ShaderSource::Wgsl(COPY.into()),
    });
    let pipeline = device.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("copy"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let buffers = [buffer(), buffer()];
    let [from, to] =
        [0, 1].map(|binding| wgpu::BindGroupEntry { binding, resource: buffers[binding as usize].as_entire_binding() });
    let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[from, to],
    });
    let groups = (bytes / 16 / u64::from(WIDTH)).clamp(1, u64::from(GROUPS)) as u32;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut encoder = device.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            for _ in 0..COPIES {
                pass.dispatch_workgroups(groups, 1, 1);
            }
        }
        let clock = Instant::now();
        device.queue.submit([encoder.finish()]);
        if let Err(error) = device.device.poll(wgpu::PollType::wait_indefinitely()) {
            bail!("waiting for copies: {error}");
        }
        best = best.min(clock.elapsed().as_secs_f64());
    }
    println!("{}", 2.0 * (u64::from(COPIES) * bytes) as f64 / best / 1e9);
    Ok(())
}

/// Measures it, GB/s.
pub(crate) fn run(limit: Duration) -> Result<f64> {
    let mut command = child::part()?;
    command.args(["part", "bandwidth"]);
    child::json(&mut command, limit).context("the adapter's bandwidth")
}
