//! Textures on the device.

use manyworlds_gpu::GpuDevice;
use manyworlds_gpu::wgpu::{
    self, BindGroupEntry, BindGroupLayoutEntry, Extent3d, ShaderStages, TextureUsages, TextureViewDimension,
};

use crate::texture::{Layers, halved};

/// Samples along the direction in which a texture is seen at the flattest.
const ANISOTROPY: u16 = 8;

/// All textures of a scene, and how they are bound.
#[derive(Debug)]
pub(crate) struct Surfaces {
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) group: wgpu::BindGroup,
}

impl Surfaces {
    /// Uploads them, with smaller ones of each for what is far.
    pub(crate) fn new(device: &GpuDevice, layers: &Layers) -> Self {
        let gpu = &device.device;
        let plain = Layers::plain();
        let layers = if layers.count() == 0 { &plain } else { layers };
        let texture = gpu.create_texture(&wgpu::TextureDescriptor {
            label: Some("textures"),
            size: Extent3d { width: layers.side, height: layers.side, depth_or_array_layers: layers.count() },
            mip_level_count: layers.side.ilog2() + 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8UnormSrgb,
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            view_formats: &[],
        });
        for (number, pixels) in (0..).zip(layers.pixels.chunks_exact(4 * (layers.side * layers.side) as usize)) {
            let mut pixels = pixels.to_vec();
            for level in 0..=layers.side.ilog2() {
                let side = layers.side >> level;
                let to = wgpu::TexelCopyTextureInfo {
                    texture: &texture,
                    mip_level: level,
                    origin: wgpu::Origin3d { x: 0, y: 0, z: number },
                    aspect: wgpu::TextureAspect::All,
                };
                let layout =
                    wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * side), rows_per_image: None };
                let size = Extent3d { width: side, height: side, depth_or_array_layers: 1 };
                device.queue.write_texture(to, &pixels, layout, size);
                if side > 1 {
                    pixels = halved(&pixels, side as usize);
                }
            }
        }
        let view = texture.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(TextureViewDimension::D2Array),
            ..wgpu::TextureViewDescriptor::default()
        });
        // Those on planes repeat. Sides of a cube end at its edges, where Mesa's software adapter mixes up layers of pixels side by
        // side if there are several samples.
        let ways = [(wgpu::AddressMode::Repeat, ANISOTROPY), (wgpu::AddressMode::ClampToEdge, 1)];
        let samplers = ways.map(|(mode, anisotropy_clamp)| {
            gpu.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("textures"),
                address_mode_u: mode,
                address_mode_v: mode,
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                mipmap_filter: wgpu::MipmapFilterMode::Linear,
                anisotropy_clamp,
                ..wgpu::SamplerDescriptor::default()
            })
        });
        let entry = |binding, ty| BindGroupLayoutEntry { binding, visibility: ShaderStages::FRAGMENT, ty, count: None };
        let sampled = wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: true },
            view_dimension: TextureViewDimension::D2Array,
            multisampled: false,
        };
        let layout = gpu.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("textures"),
            entries: &[
                entry(0, sampled),
                entry(1, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)),
                entry(2, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)),
            ],
        });
        let group = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("textures"),
            layout: &layout,
            entries: &[
                BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) },
                BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&samplers[0]) },
                BindGroupEntry { binding: 2, resource: wgpu::BindingResource::Sampler(&samplers[1]) },
            ],
        });
        Self { layout, group }
    }
}
