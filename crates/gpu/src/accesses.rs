//! What kernels load from storage buffers and store there, counted by the kernels themselves.
//!
//! The time of a memory-bound kernel on a GPU is what it moves by the adapter's bandwidth. A device that counts
//! ([`DeviceOptions::count_accesses`](crate::DeviceOptions)) compiles every kernel with each index of a storage buffer going through
//! a function that adds the entry's bytes to a sum; what the kernel computes stays the same. Caches are not seen: an entry that is
//! loaded twice counts twice.

use std::fmt::Write as _;

use manyworlds_shaders::registry::KERNELS;
use manyworlds_shaders::{Kernel, Precision};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry,
    BindingType, BufferBindingType, BufferDescriptor, BufferUsages, ShaderStages,
};

use crate::error::GpuError;
use crate::guard::Guard;
use crate::readback::Readback;

/// What a kernel moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accesses {
    /// [`Kernel::name`]
    pub kernel: &'static str,
    /// Bytes loaded from storage buffers.
    pub loaded: u64,
    /// Bytes stored there.
    pub stored: u64,
}

/// The sums on a device: loaded and stored by kernel, in the order of the registry.
#[derive(Debug)]
pub(crate) struct Counter {
    buffer: wgpu::Buffer,
    pub(crate) layout: BindGroupLayout,
    pub(crate) group: BindGroup,
}

impl Counter {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let label = Some("accesses");
        let buffer = device.create_buffer(&BufferDescriptor {
            label,
            size: KERNELS.len() as u64 * 8,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let entry = BindGroupLayoutEntry {
            binding: 0,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only: false },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries: &[entry] });
        let entries = [BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }];
        let group = device.create_bind_group(&BindGroupDescriptor { label, layout: &layout, entries: &entries });
        Self { buffer, layout, group }
    }

    /// The sums since the last call, which must come before one of them passes 4 GiB.
    pub(crate) fn take(&self, device: &Guard) -> Result<Vec<Accesses>, GpuError> {
        let mut words = vec![0_u32; 2 * KERNELS.len()];
        let mut read = Readback::default();
        read.prepare(device, "accesses", std::iter::once(0..size_of_val(&words[..]) as u64))?;
        let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        read.copy_from(&mut encoder, &self.buffer);
        encoder.clear_buffer(&self.buffer, 0, None);
        let what = || "reading what kernels accessed".into();
        let submission = device.guarded(what, || device.queue.submit([encoder.finish()]))?;
        read.map();
        device.wait(submission)?;
        read.copy_to(0, bytemuck::cast_slice_mut(&mut words))?;
        let sums = KERNELS.iter().zip(words.as_chunks::<2>().0);
        let all = sums.map(|(kernel, &[loaded, stored])| Accesses {
            kernel: kernel.name,
            loaded: u64::from(loaded),
            stored: u64::from(stored),
        });
        Ok(all.filter(|own| own.loaded + own.stored > 0).collect())
    }
}

/// How an entry of a storage buffer is used.
#[derive(Debug, Clone, Copy)]
enum Use {
    Load,
    Store,
    Change,
}

/// The head of every kernel's `main`.
const MAIN: &str = "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32)";

/// The WGSL of a kernel that counts, without the prelude. One whose `main` has another head counts nothing.
pub(crate) fn counting(kernel: &Kernel, precision: Precision) -> String {
    let source = kernel.wgsl;
    let slot = KERNELS.iter().position(|other| other.name == kernel.name);
    let attributes = source.find(MAIN).and_then(|head| Some((source[..head].rfind("@compute")?, head)));
    let (Some(slot), Some((attributes, head))) = (slot, attributes) else { return source.to_owned() };
    let mut out = String::with_capacity(2 * source.len());
    rewrite(&source[..attributes], kernel, &mut out);
    out.push_str("fn uncounted(group: vec3<u32>, local: u32)");
    rewrite(&source[head + MAIN.len()..], kernel, &mut out);
    for (format, bytes) in [("real", precision.bytes()), ("word", 4)] {
        let _ = write!(
            out,
            "\nfn load_{format}(i: u32) -> u32 {{ bytes_loaded += {bytes}u; return i; }}\n\
             fn store_{format}(i: u32) -> u32 {{ bytes_stored += {bytes}u; return i; }}\n\
             fn change_{format}(i: u32) -> u32 {{ bytes_loaded += {bytes}u; bytes_stored += {bytes}u; return i; }}\n"
        );
    }
    let _ = write!(
        out,
        "var<private> bytes_loaded: u32;\nvar<private> bytes_stored: u32;\n\
         @group(1) @binding(0) var<storage, read_write> accesses: array<atomic<u32>>;\n\
         {}{MAIN} {{\n    uncounted(group, local);\n    atomicAdd(&accesses[{}], bytes_loaded);\n    \
         atomicAdd(&accesses[{}], bytes_stored);\n}}\n",
        &source[attributes..head],
        2 * slot,
        2 * slot + 1,
    );
    out
}

/// Appends WGSL with every index of a storage buffer counted.
fn rewrite(source: &str, kernel: &Kernel, out: &mut String) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = source;
    while let Some(begin) = rest.find(is_name) {
        let (before, from) = rest.split_at(begin);
        let end = from.find(|c| !is_name(c)).unwrap_or(from.len());
        let (name, after) = from.split_at(end);
        out.push_str(before);
        let is_member = out.ends_with('.');
        out.push_str(name);
        rest = after;
        let Some(binding) = kernel.bindings.iter().find(|binding| binding.name == name && !is_member) else { continue };
        let Some(index) = after.strip_prefix('[').and_then(bracketed) else { continue };
        let then = &after[index.len() + 2..];
        let how = match used(then) {
            Use::Load => "load",
            Use::Store => "store",
            Use::Change => "change",
        };
        let format = if binding.real { "real" } else { "word" };
        let _ = write!(out, "[{how}_{format}(");
        rewrite(index, kernel, out);
        out.push_str(")]");
        rest = then;
    }
    out.push_str(rest);
}

/// What stands before the bracket that closes one that was opened before.
fn bracketed(text: &str) -> Option<&str> {
    let mut depth = 1;
    let end = text.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth == 0
    });
    end.map(|(at, _)| &text[..at])
}

/// What is done with an entry, by what follows it.
fn used(then: &str) -> Use {
    let then = then.trim_start();
    let two = then.get(..2).unwrap_or_default();
    if then.starts_with('=') && two != "==" {
        return Use::Store;
    }
    let changes = ["+=", "-=", "*=", "/=", "|=", "&=", "^=", "++", "--"];
    if changes.contains(&two) { Use::Change } else { Use::Load }
}

#[cfg(test)]
mod tests {
    use manyworlds_shaders::Precision;
    use manyworlds_shaders::registry::KERNELS;

    use super::{bracketed, counting, used};

    #[test]
    fn every_kernel_counts_every_index_of_its_buffers() {
        for kernel in KERNELS {
            let text = counting(kernel, Precision::F32);
            assert!(text.contains("fn uncounted(") && text.contains("atomicAdd"), "{}", kernel.name);
            for binding in kernel.bindings {
                let indexed = format!("{}[", binding.name);
                let stands_alone = |at: usize| {
                    let before = text[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
                };
                for (at, _) in text.match_indices(&indexed).filter(|&(at, _)| stands_alone(at)) {
                    let index = &text[at + indexed.len()..];
                    assert!(["load_", "store_", "change_"].iter().any(|f| index.starts_with(f)), "{}", kernel.name);
                }
            }
        }
    }

    #[test]
    fn an_entry_is_loaded_stored_or_changed() {
        assert_eq!(bracketed("a[b[0]] + 1] = 2"), Some("a[b[0]] + 1"));
        for (then, how) in
            [(" = x;", "Store"), (" == x", "Load"), (" += x;", "Change"), ("++;", "Change"), (".x", "Load")]
        {
            assert_eq!(format!("{:?}", used(then)), how, "{then}");
        }
    }
}
