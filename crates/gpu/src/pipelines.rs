//! Kernels compiled for a device: each once, and the driver's part of it kept on disk where wgpu can.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use manyworlds_shaders::registry::prelude;
use manyworlds_shaders::{Kernel, Precision};
use wgpu::{
    BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipelineDescriptor,
    Features, PipelineCacheDescriptor, PipelineCompilationOptions, PipelineLayoutDescriptor, ShaderModuleDescriptor,
    ShaderRuntimeChecks, ShaderStages,
};

use crate::accesses::{Counter, counting};
use crate::guard::lock;

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// What a pipeline is compiled for.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) kernel: &'static Kernel,
    pub(crate) precision: Precision,
    /// Values of [`Kernel::constants`].
    pub(crate) constants: Vec<u32>,
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        self.kernel.name == other.kernel.name && self.precision == other.precision && self.constants == other.constants
    }
}

/// The pipelines of a device.
#[derive(Debug)]
pub(crate) struct Pipelines {
    made: Mutex<Vec<(Variant, Arc<Pipeline>)>>,
    guarded: bool,
    stored: Option<Stored>,
}

/// What a driver made of pipelines, from one run to the next.
#[derive(Debug)]
struct Stored {
    cache: wgpu::PipelineCache,
    path: PathBuf,
}

impl Pipelines {
    /// None yet. `guarded`: keep wgpu's guards against endless loops and divisions by zero.
    pub(crate) fn new(device: &wgpu::Device, info: &wgpu::AdapterInfo, guarded: bool) -> Self {
        Self { made: Mutex::default(), guarded, stored: Stored::open(device, info) }
    }

    /// One that was compiled already.
    pub(crate) fn find(&self, of: &Variant) -> Option<Arc<Pipeline>> {
        let made = lock(&self.made);
        made.iter().find(|(other, _)| other == of).map(|(_, found)| Arc::clone(found))
    }

    /// Takes in a new one; if somebody else was quicker, that one stays.
    pub(crate) fn keep(&self, of: &Variant, pipeline: Pipeline) -> Arc<Pipeline> {
        let mut made = lock(&self.made);
        if let Some((_, found)) = made.iter().find(|(other, _)| other == of) {
            return Arc::clone(found);
        }
        let pipeline = Arc::new(pipeline);
        made.push((of.clone(), Arc::clone(&pipeline)));
        pipeline
    }

    /// Keeps the driver's part for the next run. A cache that cannot be written is no fault: the next run takes longer.
    pub(crate) fn save(&self) {
        if let Some(stored) = &self.stored
            && let Err(error) = stored.save()
        {
            tracing::debug!("pipelines are not kept in {}: {error}", stored.path.display());
        }
    }

    /// Compiles a kernel for tiles of so many lanes, to count what it accesses where there is a counter.
    pub(crate) fn build(&self, device: &wgpu::Device, tile: u32, counter: Option<&Counter>, of: &Variant) -> Pipeline {
        let kernel = of.kernel;
        let label = Some(kernel.name);
        let entry = |binding, ty, has_dynamic_offset| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        };
        let mut entries = vec![entry(0, BufferBindingType::Uniform, true)];
        for (at, binding) in (1..).zip(kernel.bindings) {
            entries.push(entry(at, BufferBindingType::Storage { read_only: !binding.write }, false));
        }
        let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries: &entries });
        let mut groups = vec![Some(&layout)];
        groups.extend(counter.map(|counter| Some(&counter.layout)));
        let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &groups,
            immediate_size: 0,
        });
        let wgsl = match counter {
            Some(_) => counting(kernel, of.precision).into(),
            None => Cow::Borrowed(kernel.wgsl),
        };
        let source = prelude(of.precision, tile) + &wgsl;
        let names = kernel.constants.iter().map(|(name, _)| *name);
        let constants: Vec<_> = names.zip(of.constants.iter().map(|&value| f64::from(value))).collect();
        let module =
            self.shader(device, ShaderModuleDescriptor { label, source: wgpu::ShaderSource::Wgsl(source.into()) });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: PipelineCompilationOptions {
                constants: &constants,
                // Kernels write it before they read it: zeros would cost each workgroup a pass through up to 16 kB.
                zero_initialize_workgroup_memory: false,
            },
            cache: self.stored.as_ref().map(|stored| &stored.cache),
        });
        Pipeline { pipeline, layout }
    }

    /// Accesses outside a buffer or array stay guarded. A counter in every loop, which wgpu adds as WGSL from strangers
    /// may never end, is left out, and so is a test of every integer divisor.
    fn shader(&self, device: &wgpu::Device, descriptor: ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
        if self.guarded {
            return device.create_shader_module(descriptor);
        }
        let checks =
            ShaderRuntimeChecks { force_loop_bounding: false, int_div_checks: false, ..ShaderRuntimeChecks::checked() };
        // SAFETY: the source is one of this workspace's kernels. Their loops count up to a u32 bound, and they divide
        // integers by TILE and by sizes that are at least one.
        unsafe { device.create_shader_module_trusted(descriptor, checks) }
    }
}

impl Stored {
    /// What an earlier run kept, or nothing yet; none where the device or the system has no place for it.
    fn open(device: &wgpu::Device, info: &wgpu::AdapterInfo) -> Option<Self> {
        if !device.features().contains(Features::PIPELINE_CACHE) {
            return None;
        }
        let path = folder()?.join(wgpu::util::pipeline_cache_key(info)?);
        let data = std::fs::read(&path).ok();
        let descriptor = PipelineCacheDescriptor { label: Some("manyworlds"), data: data.as_deref(), fallback: true };
        // SAFETY: the file is in the user's own cache folder and only ever written below, from the same device's cache;
        // wgpu and the driver check its header and take nothing that another driver made.
        let cache = unsafe { device.create_pipeline_cache(&descriptor) };
        Some(Self { cache, path })
    }

    /// Writes beside the file and moves it there: who reads meanwhile finds the old one or the new one, whole.
    fn save(&self) -> std::io::Result<()> {
        let Some(data) = self.cache.get_data() else { return Ok(()) };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let beside = self.path.with_extension(std::process::id().to_string());
        std::fs::write(&beside, data)?;
        std::fs::rename(beside, &self.path)
    }
}

/// Where the user's programs keep what they can make again.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("manyworlds"))
}
