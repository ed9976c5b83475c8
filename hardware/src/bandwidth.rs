//! What the adapter's memory does: copies between two buffers, read and written bytes counted.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use manyworlds_gpu::{DeviceOptions, GpuDevice};

use crate::child;

use manyworlds::wgpu;

/// Bytes of each buffer: far more than a cache holds.
const BYTES: u64 = 256 << 20;
/// Copies in a submission, and submissions of which the fastest counts.
const COPIES: u64 = 16;
const ROUNDS: usize = 5;

/// In a process of its own: prints GB/s.
///
/// # Errors
/// If there is no device, or it fails.
pub(crate) fn part() -> Result<()> {
    let device = GpuDevice::open(&DeviceOptions::default())?;
    let bytes = BYTES.min(device.device.limits().max_buffer_size);
    let buffer = |usage| {
        let descriptor = wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
        device.device.create_buffer(&descriptor)
    };
    let (from, to) = (buffer(wgpu::BufferUsages::COPY_SRC), buffer(wgpu::BufferUsages::COPY_DST));
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..COPIES {
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, bytes);
        }
        let clock = Instant::now();
        device.queue.submit([encoder.finish()]);
        if let Err(error) = device.device.poll(wgpu::PollType::wait_indefinitely()) {
            bail!("waiting for copies: {error}");
        }
        best = best.min(clock.elapsed().as_secs_f64());
    }
    println!("{}", 2.0 * (COPIES * bytes) as f64 / best / 1e9);
    Ok(())
}

/// Measures it, GB/s.
pub(crate) fn run(limit: Duration) -> Result<f64> {
    let mut command = child::part()?;
    command.args(["part", "bandwidth"]);
    child::json(&mut command, limit).context("the adapter's bandwidth")
}
