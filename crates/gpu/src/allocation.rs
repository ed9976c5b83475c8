//! Making and growing of buffers on a device.

use wgpu::{BufferDescriptor, BufferUsages};

use crate::error::GpuError;
use crate::guard::Guard;

/// Smallest buffer [B]: a binding must hold an element.
pub(crate) const SMALLEST: u64 = 256;

/// A buffer that can be copied from and to.
pub(crate) fn create(
    device: &Guard,
    name: &'static str,
    bytes: u64,
    usage: BufferUsages,
) -> Result<wgpu::Buffer, GpuError> {
    let limit = device.max_binding_bytes();
    if bytes > limit {
        return Err(GpuError::TooLarge { buffer: name, bytes, limit });
    }
    let usage = if usage.contains(BufferUsages::MAP_READ) {
        usage | BufferUsages::COPY_DST
    } else {
        usage | BufferUsages::COPY_DST | BufferUsages::COPY_SRC
    };
    let descriptor = BufferDescriptor { label: Some(name), size: bytes, usage, mapped_at_creation: false };
    device.guarded(|| format!("allocating {bytes} bytes for {name}"), || device.device.create_buffer(&descriptor))
}

/// What a buffer grows to when it needs `bytes`: half as much again as it had, and less where that is too large.
pub(crate) fn grown(device: &Guard, had: u64, bytes: u64) -> u64 {
    let wanted = bytes.max((had + had / 2).min(device.max_binding_bytes()));
    wanted.max(SMALLEST).next_multiple_of(16)
}
