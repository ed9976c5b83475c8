//! Text on a picture: lines in its upper left corner, on a dark rectangle that lets the picture through.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use manyworlds_gpu::GpuDevice;
use manyworlds_gpu::wgpu::{
    self, BindGroupDescriptor, BindGroupEntry, BufferUsages, LoadOp, Operations, RenderPassColorAttachment,
    RenderPassDescriptor, StoreOp, TextureFormat, TextureUsages,
};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::device::filled;
use crate::targets::texture;
use crate::{RenderError, Size};

const HEIGHT: RasterHeight = RasterHeight::Size16;
const WEIGHT: FontWeight = FontWeight::Regular;
/// Pixels around the text.
const MARGIN: usize = 6;

/// Lines of text, drawn over a picture.
#[derive(Debug)]
pub struct Panel {
    device: Arc<GpuDevice>,
    pipeline: wgpu::RenderPipeline,
    corners: wgpu::Buffer,
    shown: Option<Shown>,
}

/// Text on the device.
#[derive(Debug)]
struct Shown {
    size: [usize; 2],
    group: wgpu::BindGroup,
}

/// `Panel` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Corners {
    corners: [f32; 4],
    pixel: [f32; 4],
}

impl Panel {
    /// For pictures of a format, without text.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn new(device: Arc<GpuDevice>, format: TextureFormat) -> Result<Self, RenderError> {
        let make = || {
            let corners = filled(&device, "panel", &[Corners::zeroed()], BufferUsages::UNIFORM);
            (pipeline(&device.device, format), corners)
        };
        let (pipeline, corners) = device.guarded(|| "preparing to write".to_owned(), make)?;
        Ok(Self { device, pipeline, corners, shown: None })
    }

    /// Writes these lines from now on. What is no letter of ASCII becomes a question mark.
    ///
    /// # Errors
    /// If the device reports an error, such as for a line that is far too long.
    pub fn write(&mut self, lines: &[String]) -> Result<(), RenderError> {
        let (size, cover) = raster(lines);
        let gpu = &self.device.device;
        let make = || {
            let [width, height] = size.map(|side| side as u32);
            let usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
            let letters = texture(gpu, "letters", [width, height], 1, TextureFormat::R8Unorm, usage);
            let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(width), rows_per_image: None };
            self.device.queue.write_texture(letters.as_image_copy(), &cover, layout, letters.size());
            let view = letters.create_view(&wgpu::TextureViewDescriptor::default());
            gpu.create_bind_group(&BindGroupDescriptor {
                label: Some("panel"),
                layout: &self.pipeline.get_bind_group_layout(0),
                entries: &[
                    BindGroupEntry { binding: 0, resource: self.corners.as_entire_binding() },
                    BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&view) },
                ],
            })
        };
        let group = self.device.guarded(|| "writing".to_owned(), make)?;
        self.shown = Some(Shown { size, group });
        Ok(())
    }

    /// Draws the text over what is on a texture of this size, letters so many times larger than 16 pixels.
    ///
    /// # Errors
    /// If the device reports an error.
    pub fn draw_on(&self, target: &wgpu::TextureView, size: Size, larger: u32) -> Result<(), RenderError> {
        let Some(shown) = &self.shown else { return Ok(()) };
        let larger = larger.max(1) as f32;
        let side = |pixels: usize, of: u32| 2.0 * larger * pixels as f32 / of as f32;
        let [right, bottom] = [side(shown.size[0], size.width) - 1.0, 1.0 - side(shown.size[1], size.height)];
        let corners = Corners { corners: [-1.0, 1.0, right, bottom], pixel: [larger; 4] };
        let draw = || {
            self.device.queue.write_buffer(&self.corners, 0, bytemuck::bytes_of(&corners));
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
                    label: Some("panel"),
                    color_attachments: &[Some(RenderPassColorAttachment {
                        view: target,
                        depth_slice: None,
                        resolve_target: None,
                        ops: Operations { load: LoadOp::Load, store: StoreOp::Store },
                    })],
                    ..RenderPassDescriptor::default()
                });
                pass.set_pipeline(&self.pipeline);
                pass.set_bind_group(0, &shown.group, &[]);
                pass.draw(0..4, 0..1);
            }
            self.device.queue.submit([encoder.finish()]);
        };
        Ok(self.device.guarded(|| "writing".to_owned(), draw)?)
    }
}

/// Width and height of lines of text with their margin, and how much of each pixel a letter covers, row by row.
fn raster(lines: &[String]) -> ([usize; 2], Vec<u8>) {
    let (across, down) = (get_raster_width(WEIGHT, HEIGHT), HEIGHT.val());
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let [width, height] = [longest * across, lines.len() * down].map(|side| side + 2 * MARGIN);
    let mut cover = vec![0; width * height];
    for (row, line) in lines.iter().enumerate() {
        for (column, letter) in line.chars().enumerate() {
            let known = |letter| get_raster(letter, WEIGHT, HEIGHT);
            let Some(letter) = known(letter).or_else(|| known('?')) else { continue };
            let (x, y) = (MARGIN + column * across, MARGIN + row * down);
            for (below, pixels) in letter.rows().enumerate() {
                let from = (y + below) * width + x;
                cover[from..from + pixels.len()].copy_from_slice(pixels);
            }
        }
    }
    ([width, height], cover)
}

fn pipeline(device: &wgpu::Device, format: TextureFormat) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::include_wgsl!("panel.wgsl"));
    let target = wgpu::ColorTargetState {
        format,
        blend: Some(wgpu::BlendState::ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::COLOR,
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("panel"),
        layout: None,
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("place"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState {
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            ..wgpu::PrimitiveState::default()
        },
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("shade"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(target)],
        }),
        multiview_mask: None,
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{HEIGHT, MARGIN, WEIGHT, get_raster_width, raster};

    #[test]
    fn letters_lie_where_their_lines_are() {
        let across = get_raster_width(WEIGHT, HEIGHT);
        let lines = ["il".to_owned(), String::new(), "W".to_owned()];
        let ([width, height], cover) = raster(&lines);
        assert_eq!([width, height], [2 * across + 2 * MARGIN, 3 * 16 + 2 * MARGIN]);
        let ink = |x: std::ops::Range<usize>, y: std::ops::Range<usize>| -> u32 {
            y.flat_map(|y| x.clone().map(move |x| (x, y))).map(|(x, y)| u32::from(cover[y * width + x])).sum()
        };
        let line = |number: usize| MARGIN + 16 * number..MARGIN + 16 * (number + 1);
        assert_eq!((ink(0..width, 0..MARGIN), ink(0..width, line(1))), (0, 0));
        let (narrow, wide) = (ink(MARGIN..MARGIN + across, line(0)), ink(MARGIN..MARGIN + across, line(2)));
        assert!(0 < narrow && narrow < wide, "{narrow} {wide}");
        assert_eq!(ink(MARGIN + across..width, line(2)), 0);
    }

    #[test]
    fn other_letters_are_question_marks() {
        assert_eq!(raster(&["\u{3bb}".to_owned()]), raster(&["?".to_owned()]));
        assert_ne!(raster(&["\u{3bb}".to_owned()]), raster(&["l".to_owned()]));
    }
}
