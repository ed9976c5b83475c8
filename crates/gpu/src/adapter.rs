//! The adapters of this machine, and the choice of one.

use manyworlds_shaders::Precision;
use wgpu::{Backends, DeviceType, Features, Instance, InstanceDescriptor};

use crate::error::GpuError;

/// What a precision needs of a device beyond the defaults.
pub(crate) fn features_of(precision: Precision) -> Features {
    match precision {
        Precision::F32 => Features::empty(),
        Precision::F64 => Features::SHADER_F64 | Features::SHADER_INT64,
    }
}

/// An adapter as `manyworlds info` lists it.
#[derive(Debug, Clone)]
pub struct AdapterReport {
    /// Its name.
    pub name: String,
    /// Vulkan, Metal or Dx12.
    pub backend: String,
    /// Discrete, integrated, virtual, CPU or other.
    pub kind: String,
    /// Driver and its version.
    pub driver: String,
    /// Precisions that its shaders compute in.
    pub precisions: Vec<&'static str>,
    /// Largest storage binding `[B]`.
    pub max_binding_bytes: u64,
    /// Largest buffer `[B]`.
    pub max_buffer_bytes: u64,
    /// Workgroup memory `[B]`.
    pub max_workgroup_bytes: u32,
    /// Lanes of a tile that the GPU executor uses on it.
    pub tile: u32,
}

/// An instance that probes the backends with compute shaders of 64 bits and nothing else (EGL prints on bare machines).
pub(crate) fn instance() -> Instance {
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    Instance::new(descriptor)
}

/// Adapters, hardware first: discrete, integrated, virtual, other, software.
pub(crate) fn ranked(instance: &Instance) -> Vec<wgpu::Adapter> {
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::all()));
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    });
    adapters
}

/// Lanes of a tile: a subgroup on hardware; on a software adapter eight, its vector width.
pub(crate) fn tile_for(info: &wgpu::AdapterInfo) -> u32 {
    if info.device_type == DeviceType::Cpu { 8 } else { 32 }
}

/// The adapters of this machine, best first.
#[must_use]
pub fn adapters() -> Vec<AdapterReport> {
    ranked(&instance()).iter().map(report).collect()
}

fn report(adapter: &wgpu::Adapter) -> AdapterReport {
    let info = adapter.get_info();
    let limits = adapter.limits();
    let able = |precision: &Precision| adapter.features().contains(features_of(*precision));
    AdapterReport {
        backend: format!("{:?}", info.backend),
        kind: match info.device_type {
            DeviceType::DiscreteGpu => "discrete",
            DeviceType::IntegratedGpu => "integrated",
            DeviceType::VirtualGpu => "virtual",
            DeviceType::Cpu => "software",
            DeviceType::Other => "other",
        }
        .into(),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
        precisions: Precision::ALL
            .iter()
            .filter(|precision| able(precision))
            .map(|precision| precision.name())
            .collect(),
        max_binding_bytes: limits.max_storage_buffer_binding_size,
        max_buffer_bytes: limits.max_buffer_size,
        max_workgroup_bytes: limits.max_compute_workgroup_storage_size,
        tile: tile_for(&info),
        name: info.name,
    }
}

/// The best adapter, or the best whose name contains `wanted` (case ignored).
pub(crate) fn choose(wanted: Option<&str>) -> Result<wgpu::Adapter, GpuError> {
    let adapters = ranked(&instance());
    let names: Vec<_> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
    let matches = |name: &str| wanted.is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()));
    adapters.into_iter().find(|adapter| matches(&adapter.get_info().name)).ok_or_else(|| GpuError::NoAdapter {
        wanted: wanted.unwrap_or("auto").to_string(),
        found: if names.is_empty() { "none".into() } else { names.join(", ") },
    })
}
