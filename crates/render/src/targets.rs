//! What a picture is drawn into, and how it comes back.

use std::sync::mpsc;

use manyworlds_gpu::wgpu::{
    self, BufferDescriptor, BufferUsages, COPY_BYTES_PER_ROW_ALIGNMENT, CommandEncoder, Extent3d, TextureDescriptor,
    TextureDimension, TextureFormat, TextureUsages, TextureView,
};
use manyworlds_gpu::{GpuDevice, GpuError};

use crate::{Picture, Size};

pub(crate) const COLOUR: TextureFormat = TextureFormat::Rgba8UnormSrgb;
pub(crate) const DEPTH: TextureFormat = TextureFormat::Depth32Float;
/// Samples of a pixel.
pub(crate) const SAMPLES: u32 = 4;

/// Textures of one size, and the buffer that the host reads.
#[derive(Debug)]
pub(crate) struct Targets {
    size: Size,
    pub(crate) samples: TextureView,
    pub(crate) depth: TextureView,
    pub(crate) resolved: TextureView,
    texture: wgpu::Texture,
    read: wgpu::Buffer,
}

/// A texture of one sample or several.
pub(crate) fn texture(
    device: &wgpu::Device,
    label: &str,
    size: [u32; 2],
    samples: u32,
    format: TextureFormat,
    usage: TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&TextureDescriptor {
        label: Some(label),
        size: Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: samples,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

impl Targets {
    pub(crate) fn new(device: &wgpu::Device, size: Size, format: TextureFormat) -> Self {
        let sides = [size.width, size.height];
        let attached = TextureUsages::RENDER_ATTACHMENT;
        let samples = texture(device, "samples", sides, SAMPLES, format, attached);
        let depth = texture(device, "depth", sides, SAMPLES, DEPTH, attached);
        let resolved = texture(device, "picture", sides, 1, format, attached | TextureUsages::COPY_SRC);
        let read = device.create_buffer(&BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row(size)) * u64::from(size.height),
            usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        Self { size, samples: view(&samples), depth: view(&depth), resolved: view(&resolved), texture: resolved, read }
    }

    /// Encodes the copy that [`Self::read`] reads.
    pub(crate) fn copy(&self, encoder: &mut CommandEncoder) {
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row(self.size)), rows_per_image: None };
        let to = wgpu::TexelCopyBufferInfo { buffer: &self.read, layout };
        encoder.copy_texture_to_buffer(self.texture.as_image_copy(), to, self.texture.size());
    }

    /// Waits for the copy and takes it.
    pub(crate) fn read(&self, device: &GpuDevice, submission: wgpu::SubmissionIndex) -> Result<Picture, GpuError> {
        let failed = |reason: String| GpuError::Device { what: "reading the picture".into(), reason };
        let (send, receive) = mpsc::channel();
        self.read.slice(..).map_async(wgpu::MapMode::Read, move |done| {
            // Whoever waits for it may have gone with an error of its own.
            let _ = send.send(done);
        });
        device.wait(submission)?;
        receive.recv().map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
        let mut pixels = Vec::with_capacity(self.size.bytes());
        {
            let view = self.read.slice(..).get_mapped_range().map_err(|e| failed(e.to_string()))?;
            for line in view.chunks_exact(row(self.size) as usize) {
                pixels.extend_from_slice(&line[..4 * self.size.width as usize]);
            }
        }
        self.read.unmap();
        Ok(Picture { size: self.size, pixels })
    }
}

/// Bytes of a row of the copy.
fn row(size: Size) -> u32 {
    (4 * size.width).next_multiple_of(COPY_BYTES_PER_ROW_ALIGNMENT)
}
