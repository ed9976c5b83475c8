//! The device that draws, and what passes are given on it.

use std::sync::Arc;

use bytemuck::Pod;
use manyworlds_gpu::wgpu::{self, BufferUsages, LoadOp, Operations, RenderPassDepthStencilAttachment, StoreOp};
use manyworlds_gpu::{DeviceOptions, GpuDevice, GpuError};

use crate::RenderError;

/// The best adapter of this machine.
pub(crate) fn open_device() -> Result<Arc<GpuDevice>, RenderError> {
    GpuDevice::open(&DeviceOptions::default()).map_err(|error| match error {
        GpuError::NoAdapter { found, .. } => RenderError::NoAdapter(format!("found: {found}")),
        error => error.into(),
    })
}

/// A depth attachment, cleared to what is farthest.
pub(crate) fn depth(view: &wgpu::TextureView, store: StoreOp) -> RenderPassDepthStencilAttachment<'_> {
    RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(Operations { load: LoadOp::Clear(1.0), store }),
        stencil_ops: None,
    }
}

/// A buffer with this in it; of nothing it holds one zero element, since a buffer of no bytes cannot be bound.
pub(crate) fn filled<T: Pod>(device: &GpuDevice, label: &str, data: &[T], usage: BufferUsages) -> wgpu::Buffer {
    let none = [T::zeroed()];
    let bytes: &[u8] = bytemuck::cast_slice(if data.is_empty() { &none } else { data });
    let buffer = device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.len() as u64,
        usage: usage | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    device.queue.write_buffer(&buffer, 0, bytes);
    buffer
}
