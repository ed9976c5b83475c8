//! Device time of each dispatch, from timestamps at the ends of its pass.

use wgpu::{BufferUsages, ComputePassDescriptor, ComputePassTimestampWrites, QuerySetDescriptor, QueryType};

use crate::allocation::create;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::readback::Readback;
use crate::recording::Dispatch;
use crate::store::Timings;

/// Dispatches of a recording that can be timed: 4096 queries a set are portable, two a dispatch.
const MOST: usize = 2048;

/// The queries of one recording at a time.
#[derive(Debug)]
pub(crate) struct Timestamps {
    queries: wgpu::QuerySet,
    capacity: usize,
    resolved: wgpu::Buffer,
    readback: Readback,
    /// Kernels of the timed dispatches.
    names: Vec<&'static str>,
    nanoseconds: f64,
    pending: bool,
}

impl Timestamps {
    /// Makes room for the queries of a recording.
    pub(crate) fn prepare(
        slot: &mut Option<Self>,
        device: &GpuDevice,
        dispatches: &[Dispatch],
    ) -> Result<(), GpuError> {
        let count = dispatches.len().clamp(1, MOST);
        if slot.as_ref().is_none_or(|timestamps| timestamps.capacity < count) {
            let descriptor = QuerySetDescriptor { label: None, ty: QueryType::Timestamp, count: 2 * count as u32 };
            let bytes = 16 * count as u64;
            *slot = Some(Self {
                queries: device.guarded(|| "making queries".into(), || device.device.create_query_set(&descriptor))?,
                capacity: count,
                resolved: create(device.guard(), "timestamps", bytes, BufferUsages::QUERY_RESOLVE)?,
                readback: Readback::default(),
                names: Vec::new(),
                nanoseconds: f64::from(device.queue.get_timestamp_period()),
                pending: false,
            });
        }
        let Some(timestamps) = slot else { return Ok(()) };
        timestamps.readback.forget();
        timestamps.readback.prepare(device.guard(), "timestamps", std::iter::once(0..16 * count as u64))?;
        timestamps.names.clear();
        let run = dispatches.iter().filter(|dispatch| dispatch.count > 0);
        timestamps.names.extend(run.take(MOST).map(|dispatch| dispatch.kernel.name));
        Ok(())
    }

    /// The pass of a dispatch: the `at`-th of those that run.
    pub(crate) fn pass(&self, at: usize) -> ComputePassDescriptor<'_> {
        let writes = (at < self.names.len()).then(|| ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * at as u32),
            end_of_pass_write_index: Some(2 * at as u32 + 1),
        });
        ComputePassDescriptor { label: None, timestamp_writes: writes }
    }

    /// Encodes the copy of the queries that passes wrote.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let Some(to) = self.readback.target().filter(|_| !self.names.is_empty()) else { return };
        encoder.resolve_query_set(&self.queries, 0..2 * self.names.len() as u32, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, to, 0, Some(16 * self.names.len() as u64));
    }

    /// Asks for the mapping.
    pub(crate) fn map(&mut self) {
        self.pending = true;
        self.readback.map();
    }

    /// Adds what the recording took.
    pub(crate) fn collect(&mut self, timings: &mut Timings) -> Result<(), GpuError> {
        if !std::mem::take(&mut self.pending) || self.names.is_empty() {
            return Ok(());
        }
        let mut ticks = vec![[0_u64; 2]; self.names.len()];
        self.readback.copy_to(0, bytemuck::cast_slice_mut(&mut ticks))?;
        for (name, [start, end]) in self.names.iter().zip(ticks) {
            timings.add(name, end.saturating_sub(start) as f64 * self.nanoseconds * 1e-6);
        }
        Ok(())
    }
}
