//! A device with the kernels compiled for it.

use std::sync::Arc;

use manyworlds_shaders::Precision;
use rayon::prelude::*;
use wgpu::{DeviceDescriptor, Features, Limits};

use crate::accesses::{Accesses, Counter};
use crate::adapter::{choose, features_of, tile_for};
use crate::error::GpuError;
use crate::guard::Guard;
use crate::pipelines::{Pipeline, Pipelines, Variant};

/// How a device is chosen and used.
#[derive(Debug, Clone, Default)]
pub struct DeviceOptions {
    /// Part of the adapter's name; none: the best there is.
    pub adapter: Option<String>,
    /// Lanes of a tile; none: by the adapter.
    pub tile: Option<u32>,
    /// Keep wgpu's guards against endless loops and divisions by zero, which our kernels do without.
    pub guarded_shaders: bool,
    /// Kernels count what they load and store ([`GpuDevice::accesses`]), which makes them slower.
    pub count_accesses: bool,
}

/// A device, its queue, and the pipelines compiled so far; shared by the stores on it.
#[derive(Debug)]
pub struct GpuDevice {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    tile: u32,
    timestamps: bool,
    pipelines: Pipelines,
    counter: Option<Counter>,
    guard: Guard,
}

impl GpuDevice {
    /// Opens an adapter. Limits are the portable defaults but for the sizes of buffers, which are the adapter's.
    ///
    /// # Errors
    /// If there is no such adapter, or it gives no device.
    pub fn open(options: &DeviceOptions) -> Result<Arc<Self>, GpuError> {
        let adapter = choose(options.adapter.as_deref())?;
        let info = adapter.get_info();
        let wanted = features_of(Precision::F64) | Features::TIMESTAMP_QUERY | Features::PIPELINE_CACHE;
        let sizes = adapter.limits();
        // Sums are one buffer more than kernels have.
        let portable = Limits::default().max_storage_buffers_per_shader_stage;
        let storage = if options.count_accesses { sizes.max_storage_buffers_per_shader_stage } else { portable };
        let descriptor = DeviceDescriptor {
            label: Some("manyworlds"),
            required_features: adapter.features() & wanted,
            required_limits: Limits {
                max_storage_buffers_per_shader_stage: storage,
                max_buffer_size: sizes.max_buffer_size,
                max_storage_buffer_binding_size: sizes.max_storage_buffer_binding_size,
                ..Limits::default()
            },
            ..DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| GpuError::NoDevice { adapter: info.name.clone(), reason: error.to_string() })?;
        let opened = Self::wrap(device, queue, info, options);
        opened.guard.listen();
        Ok(Arc::new(opened))
    }

    /// Uses a device and queue that exist already, with whatever features and limits they have. Its handler of
    /// uncaptured errors stays as it is: what is done here is under error scopes.
    #[must_use]
    pub fn from_existing(device: wgpu::Device, queue: wgpu::Queue) -> Arc<Self> {
        let info = device.adapter_info();
        Arc::new(Self::wrap(device, queue, info, &DeviceOptions::default()))
    }

    fn wrap(device: wgpu::Device, queue: wgpu::Queue, info: wgpu::AdapterInfo, options: &DeviceOptions) -> Self {
        let tile = options.tile.unwrap_or_else(|| tile_for(&info));
        let timestamps = device.features().contains(Features::TIMESTAMP_QUERY);
        let pipelines = Pipelines::new(&device, &info, options.guarded_shaders);
        let counter = options.count_accesses.then(|| Counter::new(&device));
        let guard = Guard::new(&device, &queue, &info);
        Self { device, queue, info, tile, timestamps, pipelines, counter, guard }
    }

    /// Name of the adapter.
    #[must_use]
    pub fn adapter_name(&self) -> &str {
        &self.info.name
    }

    /// Whether the adapter is a program rather than hardware.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Lanes of a tile, which are also the invocations of a workgroup of lane kernels.
    #[must_use]
    pub fn tile(&self) -> u32 {
        self.tile
    }

    /// Whether dispatches can be timed one by one on the device.
    #[must_use]
    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Whether kernels can run in this precision.
    ///
    /// # Errors
    /// If the device lacks a feature for it.
    pub fn require(&self, precision: Precision) -> Result<(), GpuError> {
        if self.device.features().contains(features_of(precision)) {
            return Ok(());
        }
        Err(GpuError::Precision { adapter: self.info.name.clone(), precision: precision.name() })
    }

    /// What kernels loaded and stored since the last call, by kernel; call it before one of them moves 4 GiB. Empty where they do not
    /// count ([`DeviceOptions::count_accesses`]).
    ///
    /// # Errors
    /// If the device reports one.
    pub fn accesses(&self) -> Result<Vec<Accesses>, GpuError> {
        self.counter.as_ref().map_or(Ok(Vec::new()), |counter| counter.take(&self.guard))
    }

    pub(crate) fn counter(&self) -> Option<&Counter> {
        self.counter.as_ref()
    }

    /// The pipeline of a kernel with these values of its constants, compiled at its first use.
    pub(crate) fn pipeline(&self, of: &Variant) -> Result<Arc<Pipeline>, GpuError> {
        if let Some(found) = self.pipelines.find(of) {
            return Ok(found);
        }
        self.require(of.precision)?;
        let what = || format!("compiling {} in {}", of.kernel.name, of.precision.name());
        let pipeline =
            self.guarded(what, || self.pipelines.build(&self.device, self.tile, self.counter.as_ref(), of))?;
        Ok(self.pipelines.keep(of, pipeline))
    }

    /// Compiles what is missing of these, several at once, and keeps the driver's part of it for the next run.
    pub(crate) fn prepare(&self, all: &[Variant]) -> Result<(), GpuError> {
        let missing: Vec<&Variant> = all.iter().filter(|of| self.pipelines.find(of).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        tracing::info!("compiling {} kernels for {}", missing.len(), self.info.name);
        missing.par_iter().try_for_each(|of| self.pipeline(of).map(|_| ()))?;
        self.pipelines.save();
        Ok(())
    }

    /// Runs `f` under error scopes; what the device reports becomes an error, and so does what nobody caught earlier.
    ///
    /// # Errors
    /// If the device reports one, now or earlier.
    pub fn guarded<A>(&self, what: impl Fn() -> String, f: impl FnOnce() -> A) -> Result<A, GpuError> {
        self.guard.guarded(what, f)
    }

    /// Blocks until a submission is done.
    ///
    /// # Errors
    /// If the device is lost, or reports an error.
    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        self.guard.wait(submission)
    }

    /// Largest storage binding `[B]`.
    #[must_use]
    pub fn max_binding_bytes(&self) -> u64 {
        self.guard.max_binding_bytes()
    }

    /// The device under error scopes.
    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }
}
