//! The wgpu executor: a chunk's buffers on a device, and recordings submitted over them.

use std::ops::Range;
use std::sync::Arc;

use crate::clock::Instant;

use bytemuck::Pod;
use manyworlds_shaders::registry::GROUPS_X;
use manyworlds_shaders::{Kernel, Kind, Precision, Scalar, Width};
use rayon::prelude::*;
use wgpu::{BindGroupDescriptor, BindGroupEntry, BindingResource, BufferBinding, BufferUsages};

use crate::allocation::{SMALLEST, create, grown};
use crate::copies::{Copied, Copies};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::pipelines::{Pipeline, Variant};
use crate::readback::Readback;
use crate::recording::{BufferId, BufferSpec, DIMS_WORDS, Dispatch, Part, Recording};
use crate::store::{RoundTrips, Store, Ticket, Timings, Traffic, other_store, other_type, outside};
use crate::timestamps::Timestamps;

/// Distance of the dims blocks of a recording [B]: the portable alignment of dynamic offsets.
const DIMS_STRIDE: usize = 256;
/// Bytes of an upload that a thread copies at a time, about.
const PIECE: usize = 1 << 20;
/// The stage of all dispatches of a recording, where timestamps are missing.
const WHOLE: &str = "device";

#[derive(Debug)]
struct Held {
    spec: BufferSpec,
    buffer: wgpu::Buffer,
    /// Elements in use.
    len: usize,
    readback: Readback,
}

/// A bind group and what it was made for.
#[derive(Debug)]
struct Bound {
    kernel: &'static str,
    /// Values of the kernel's constants.
    constants: Vec<u32>,
    buffers: Vec<BufferId>,
    pipeline: Arc<Pipeline>,
    group: wgpu::BindGroup,
}

/// Buffers of a chunk on a device.
#[derive(Debug)]
pub struct GpuStore<T: Scalar> {
    device: Arc<GpuDevice>,
    precision: Precision,
    held: Vec<Held>,
    bound: Vec<Bound>,
    /// Of each dispatch of the recording being encoded, its place in `bound`.
    plan: Vec<usize>,
    uniforms: wgpu::Buffer,
    /// What `uniforms` holds.
    uniform_words: Vec<u32>,
    staged_words: Vec<u32>,
    timings: Timings,
    timestamps: Option<Timestamps>,
    timed: bool,
    traffic: Traffic,
    round_trips: RoundTrips,
    /// When the recording at work was submitted, where only that can be timed.
    submitted: Option<Instant>,
    scalar: std::marker::PhantomData<fn() -> T>,
}

impl<T: Scalar> GpuStore<T> {
    /// Empty buffers on a device.
    ///
    /// # Errors
    /// If the device cannot compute in this precision, or is out of memory.
    pub fn new(device: &Arc<GpuDevice>, specs: &[BufferSpec]) -> Result<Self, GpuError> {
        let precision = if size_of::<T>() == 8 { Precision::F64 } else { Precision::F32 };
        device.require(precision)?;
        let mut held = Vec::with_capacity(specs.len());
        for spec in specs {
            let buffer = create(device.guard(), spec.name, SMALLEST, BufferUsages::STORAGE)?;
            held.push(Held { spec: *spec, buffer, len: 0, readback: Readback::default() });
        }
        Ok(Self {
            device: Arc::clone(device),
            precision,
            held,
            bound: Vec::new(),
            plan: Vec::new(),
            uniforms: create(device.guard(), "dims", 16 * DIMS_STRIDE as u64, BufferUsages::UNIFORM)?,
            uniform_words: Vec::new(),
            staged_words: Vec::new(),
            timings: Timings::default(),
            timestamps: None,
            timed: false,
            traffic: Traffic::default(),
            round_trips: RoundTrips::default(),
            submitted: None,
            scalar: std::marker::PhantomData,
        })
    }

    /// The device it lives on.
    #[must_use]
    pub fn device(&self) -> &Arc<GpuDevice> {
        &self.device
    }

    fn element_bytes(&self, kind: Kind) -> u64 {
        if kind == Kind::Index { 4 } else { self.precision.bytes() }
    }

    fn existing(&self, id: BufferId) -> Result<&Held, GpuError> {
        let missing = || GpuError::Recording { kernel: "store", reason: format!("it has no buffer {}", id.0) };
        self.held.get(id.at()).ok_or_else(missing)
    }

    fn checked(&self, id: BufferId, integers: bool, end: usize) -> Result<&Held, GpuError> {
        let held = self.existing(id)?;
        if (held.spec.kind == Kind::Index) != integers {
            return Err(other_type(held.spec.name));
        }
        if end > held.len {
            return Err(outside(held.spec.name, end, held.len));
        }
        Ok(held)
    }

    fn write_pod<A: Pod + Sync>(
        &mut self,
        id: BufferId,
        integers: bool,
        offset: usize,
        values: &[A],
    ) -> Result<(), GpuError> {
        let pieces: Vec<&[A]> = values.chunks(PIECE / size_of::<A>()).collect();
        self.write_pods(id, integers, offset, &pieces)
    }

    /// Writes slices one behind the other, from `offset` on.
    fn write_pods<A: Pod + Sync>(
        &mut self,
        id: BufferId,
        integers: bool,
        offset: usize,
        parts: &[&[A]],
    ) -> Result<(), GpuError> {
        let count: usize = parts.iter().map(|part| part.len()).sum();
        let held = self.checked(id, integers, offset.saturating_add(count))?;
        if count == 0 {
            return Ok(());
        }
        // Some parts together, and where they begin.
        let mut runs: Vec<(usize, usize, Range<usize>)> = Vec::new();
        let mut end = offset;
        for (index, part) in parts.iter().enumerate() {
            match runs.last_mut() {
                Some((_, len, run)) if *len * size_of::<A>() < PIECE => {
                    *len += part.len();
                    run.end = index + 1;
                }
                _ => runs.push((end, part.len(), index..index + 1)),
            }
            end += part.len();
        }
        let write = |(begin, len, run): &(usize, usize, Range<usize>)| {
            let [begin, bytes] = [*begin, *len].map(|n| (n * size_of::<A>()) as u64);
            let Some(size) = wgpu::BufferSize::new(bytes) else { return Ok(()) };
            self.device.guarded(
                || format!("writing {}", held.spec.name),
                || {
                    let Some(mut view) = self.device.queue.write_buffer_with(&held.buffer, begin, size) else { return };
                    let mut at = 0;
                    for part in &parts[run.clone()] {
                        let bytes = bytemuck::cast_slice::<A, u8>(part);
                        view.slice(at..at + bytes.len()).copy_from_slice(bytes);
                        at += bytes.len();
                    }
                },
            )
        };
        // Each lies in memory of its own on its way, new to the process: one thread takes longer over that than over copying.
        if runs.len() > 2 {
            runs.par_iter().try_for_each(write)?;
        } else {
            runs.iter().try_for_each(write)?;
        }
        self.traffic.uploaded += (count * size_of::<A>()) as u64;
        // A copy read before this is out of date, whether or not anything runs in between.
        if let Some(held) = self.held.get_mut(id.at()) {
            held.readback.forget();
        }
        Ok(())
    }

    fn read_pod<A: Pod>(&mut self, id: BufferId, integers: bool, at: usize, values: &mut [A]) -> Result<(), GpuError> {
        let held = self.checked(id, integers, at.saturating_add(values.len()))?;
        if values.is_empty() {
            return Ok(());
        }
        let begin = (at * size_of::<A>()) as u64;
        if !held.readback.holds(&(begin..begin + size_of_val(values) as u64)) {
            let mut asked = Recording::new();
            let part = at..at + values.len();
            asked.read_some(id, Part::Elements(vec![part]));
            self.run(&asked)?;
        }
        self.existing(id)?.readback.copy_to(begin, bytemuck::cast_slice_mut(values))
    }

    /// The bind group of a dispatch, if there is one.
    fn bound(&self, dispatch: &Dispatch) -> Option<usize> {
        let kernel = dispatch.kernel;
        let same = |bound: &Bound| {
            bound.kernel == kernel.name
                && bound.buffers == dispatch.buffers()
                && bound.constants.iter().copied().eq(kernel.constants_in(dispatch.dims()))
        };
        self.bound.iter().position(same)
    }

    /// Makes the bind group of a dispatch.
    fn bind(&mut self, dispatch: &Dispatch) -> Result<usize, GpuError> {
        let kernel = dispatch.kernel;
        let constants = kernel.constants_in(dispatch.dims()).collect();
        let of = Variant { kernel, precision: self.precision, constants };
        let pipeline = self.device.pipeline(&of)?;
        let dims = BufferBinding {
            buffer: &self.uniforms,
            offset: 0,
            size: wgpu::BufferSize::new(u64::from(kernel.dims_bytes)),
        };
        let mut entries = vec![BindGroupEntry { binding: 0, resource: BindingResource::Buffer(dims) }];
        for (at, id) in (1..).zip(dispatch.buffers()) {
            let resource = self.existing(*id)?.buffer.as_entire_binding();
            entries.push(BindGroupEntry { binding: at, resource });
        }
        let descriptor = BindGroupDescriptor { label: Some(kernel.name), layout: &pipeline.layout, entries: &entries };
        let group = self.device.guarded(
            || format!("binding the buffers of {}", kernel.name),
            || self.device.device.create_bind_group(&descriptor),
        )?;
        let buffers = dispatch.buffers().to_vec();
        self.bound.push(Bound { kernel: kernel.name, constants: of.constants, buffers, pipeline, group });
        Ok(self.bound.len() - 1)
    }

    /// Uploads the dims of all dispatches at once, if they are not there already.
    fn upload_dims(&mut self, recording: &Recording) -> Result<(), GpuError> {
        let stride = DIMS_STRIDE / 4;
        self.staged_words.clear();
        for (at, dispatch) in recording.dispatches().iter().enumerate() {
            self.staged_words.resize(at * stride, 0);
            self.staged_words.extend_from_slice(dispatch.dims());
        }
        let words = recording.dispatches().len() * stride;
        self.staged_words.resize(words.max(DIMS_WORDS), 0);
        let bytes = (self.staged_words.len() * 4) as u64;
        if bytes > self.uniforms.size() {
            self.uniforms = create(self.device.guard(), "dims", 2 * bytes, BufferUsages::UNIFORM)?;
            self.bound.clear();
            self.uniform_words.clear();
        }
        if self.staged_words != self.uniform_words {
            let data: &[u8] = bytemuck::cast_slice(&self.staged_words);
            let data_bytes = data.len() as u64;
            self.device
                .guarded(|| "writing dims".into(), || self.device.queue.write_buffer(&self.uniforms, 0, data))?;
            self.traffic.uploaded += data_bytes;
            std::mem::swap(&mut self.staged_words, &mut self.uniform_words);
        }
        Ok(())
    }

    fn encode(&mut self, recording: &Recording) -> wgpu::CommandBuffer {
        let device = &self.device.device;
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let runs = || recording.dispatches().iter().zip(&self.plan).enumerate().filter(|(_, (d, _))| d.count > 0);
        if let Some(timestamps) = self.timestamps.as_ref().filter(|_| self.timed) {
            // Timestamps stand at the ends of a pass, so each dispatch has its own.
            for (run, (at, (dispatch, bound))) in runs().enumerate() {
                let mut pass = encoder.begin_compute_pass(&timestamps.pass(run));
                self.append(&mut pass, at, dispatch, &self.bound[*bound]);
            }
            timestamps.resolve(&mut encoder);
        } else {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (at, (dispatch, bound)) in runs() {
                self.append(&mut pass, at, dispatch, &self.bound[*bound]);
            }
        }
        for (id, _) in recording.reads() {
            let Some(held) = self.held.get(id.at()) else { continue };
            held.readback.copy_from(&mut encoder, &held.buffer);
        }
        encoder.finish()
    }

    fn append(&self, pass: &mut wgpu::ComputePass<'_>, at: usize, dispatch: &Dispatch, bound: &Bound) {
        let groups = groups(dispatch.kernel, dispatch.count, self.device.tile());
        pass.set_pipeline(&bound.pipeline.pipeline);
        pass.set_bind_group(0, &bound.group, &[(at * DIMS_STRIDE) as u32]);
        if let Some(counter) = self.device.counter() {
            pass.set_bind_group(1, &counter.group, &[]);
        }
        pass.dispatch_workgroups(groups.min(GROUPS_X), groups.div_ceil(GROUPS_X), 1);
    }

    /// Readback buffers for what the recording asks to read.
    fn prepare_reads(&mut self, recording: &Recording) -> Result<(), GpuError> {
        for (id, part) in recording.reads() {
            let held = self.existing(*id)?;
            let (len, element) = (held.len, self.element_bytes(held.spec.kind));
            let whole = 0..len;
            let parts = match part {
                Part::Whole => std::slice::from_ref(&whole),
                Part::Elements(parts) => parts,
            };
            if let Some(beyond) = parts.iter().find(|part| part.end > len) {
                return Err(outside(held.spec.name, beyond.end, len));
            }
            self.traffic.downloaded += parts.iter().map(|part| part.len() as u64 * element).sum::<u64>();
            let device = Arc::clone(&self.device);
            if let Some(held) = self.held.get_mut(id.at()) {
                let bytes = parts.iter().map(|part| part.start as u64 * element..part.end as u64 * element);
                held.readback.prepare(device.guard(), held.spec.name, bytes)?;
            }
        }
        Ok(())
    }
}

/// Workgroups of a dispatch.
fn groups(kernel: &Kernel, count: u32, tile: u32) -> u32 {
    match kernel.width {
        Width::Tile => count.div_ceil(tile),
        Width::Group | Width::Fixed(_) => count,
    }
}

impl<T: Scalar> Store<T> for GpuStore<T> {
    fn wgpu_buffer(&self, id: BufferId) -> Option<&wgpu::Buffer> {
        self.held.get(id.at()).map(|held| &held.buffer)
    }

    fn tile(&self) -> usize {
        self.device.tile() as usize
    }

    fn len(&self, id: BufferId) -> usize {
        self.held.get(id.at()).map_or(0, |held| held.len)
    }

    fn resize(&mut self, id: BufferId, len: usize) -> Result<(), GpuError> {
        let tile = self.tile();
        let device = Arc::clone(&self.device);
        let kind = self.existing(id)?.spec.kind;
        let len = if kind == Kind::Tile { len.next_multiple_of(tile) } else { len };
        let element = self.element_bytes(kind);
        let Some(held) = self.held.get_mut(id.at()) else { return Ok(()) };
        let (bytes, had) = (len as u64 * element, held.buffer.size());
        if bytes > had {
            let larger =
                create(device.guard(), held.spec.name, grown(device.guard(), had, bytes), BufferUsages::STORAGE)?;
            if held.len > 0 {
                let used = held.len as u64 * element;
                device.guarded(
                    || format!("moving {}", held.spec.name),
                    || {
                        let mut encoder = device.device.create_command_encoder(&Default::default());
                        encoder.copy_buffer_to_buffer(&held.buffer, 0, &larger, 0, Some(used));
                        device.queue.submit([encoder.finish()])
                    },
                )?;
            }
            held.buffer = larger;
            held.len = len;
            self.bound.retain(|bound| !bound.buffers.contains(&id));
        }
        if let Some(held) = self.held.get_mut(id.at()) {
            held.len = len;
        }
        Ok(())
    }

    fn write(&mut self, id: BufferId, offset: usize, values: &[T]) -> Result<(), GpuError> {
        self.write_pod(id, false, offset, values)
    }

    fn write_index(&mut self, id: BufferId, offset: usize, values: &[u32]) -> Result<(), GpuError> {
        self.write_pod(id, true, offset, values)
    }

    fn write_parts(&mut self, id: BufferId, parts: &mut dyn Iterator<Item = &[T]>) -> Result<(), GpuError> {
        self.write_pods(id, false, 0, &parts.collect::<Vec<_>>())
    }

    fn write_index_parts(&mut self, id: BufferId, parts: &mut dyn Iterator<Item = &[u32]>) -> Result<(), GpuError> {
        self.write_pods(id, true, 0, &parts.collect::<Vec<_>>())
    }

    fn read(&mut self, id: BufferId, values: &mut [T]) -> Result<(), GpuError> {
        self.read_pod(id, false, 0, values)
    }

    fn copy(&mut self, buffers: &[BufferId]) -> Result<Copies<T>, GpuError> {
        let (device, mut all) = (Arc::clone(&self.device), Vec::with_capacity(buffers.len()));
        let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for &id in buffers {
            let held = self.existing(id)?;
            let bytes = held.len as u64 * self.element_bytes(held.spec.kind);
            let buffer = create(device.guard(), held.spec.name, bytes.max(SMALLEST), BufferUsages::empty())?;
            encoder.copy_buffer_to_buffer(&held.buffer, 0, &buffer, 0, Some(bytes));
            all.push(Copied::There { buffer, len: held.len, bytes });
        }
        device.guarded(|| "copying buffers".into(), || device.queue.submit([encoder.finish()]))?;
        self.round_trips.submissions += 1;
        Ok(Copies { all })
    }

    fn load(&mut self, buffers: &[BufferId], copies: &Copies<T>) -> Result<(), GpuError> {
        let device = Arc::clone(&self.device);
        let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (at, &id) in buffers.iter().enumerate() {
            let held = self.existing(id)?;
            let Some(Copied::There { buffer, len, bytes }) = copies.all.get(at) else {
                return Err(other_store(held.spec.name));
            };
            if *bytes != *len as u64 * self.element_bytes(held.spec.kind) {
                return Err(other_store(held.spec.name));
            }
            self.resize(id, *len)?;
            if let Some(held) = self.held.get_mut(id.at()) {
                encoder.copy_buffer_to_buffer(buffer, 0, &held.buffer, 0, Some(*bytes));
                held.readback.forget();
            }
        }
        device.guarded(|| "loading buffers".into(), || device.queue.submit([encoder.finish()]))?;
        self.round_trips.submissions += 1;
        Ok(())
    }

    fn read_index(&mut self, id: BufferId, values: &mut [u32]) -> Result<(), GpuError> {
        self.read_pod(id, true, 0, values)
    }

    fn read_part(&mut self, id: BufferId, at: usize, values: &mut [T]) -> Result<(), GpuError> {
        self.read_pod(id, false, at, values)
    }

    fn prepare(&mut self, recording: &Recording) -> Result<(), GpuError> {
        let variant = |dispatch: &Dispatch| Variant {
            kernel: dispatch.kernel,
            precision: self.precision,
            constants: dispatch.kernel.constants_in(dispatch.dims()).collect(),
        };
        let mut all: Vec<Variant> = Vec::new();
        for of in recording.dispatches().iter().map(variant) {
            if !all.contains(&of) {
                all.push(of);
            }
        }
        self.device.prepare(&all)
    }

    fn submit(&mut self, recording: &Recording) -> Result<Ticket, GpuError> {
        recording.check(|at| self.held.get(at).map(|held| held.spec))?;
        self.upload_dims(recording)?;
        self.plan.clear();
        for dispatch in recording.dispatches() {
            let at = match self.bound(dispatch) {
                Some(at) => at,
                None => {
                    self.prepare(recording)?;
                    self.bind(dispatch)?
                }
            };
            self.plan.push(at);
        }
        for held in &mut self.held {
            held.readback.forget();
        }
        self.prepare_reads(recording)?;
        if self.timed && self.device.has_timestamps() {
            Timestamps::prepare(&mut self.timestamps, &self.device, recording.dispatches())?;
        }
        self.submitted = (self.timed && !self.device.has_timestamps()).then(Instant::now);
        let device = Arc::clone(&self.device);
        let submission = device.guarded(
            || "submitting".into(),
            || {
                let commands = self.encode(recording);
                let submission = device.queue.submit([commands]);
                for (id, _) in recording.reads() {
                    if let Some(held) = self.held.get_mut(id.at()) {
                        held.readback.map();
                    }
                }
                if self.timed
                    && let Some(timestamps) = &mut self.timestamps
                {
                    timestamps.map();
                }
                submission
            },
        )?;
        self.round_trips.submissions += 1;
        Ok(Ticket { submission: Some(submission) })
    }

    fn wait(&mut self, ticket: Ticket) -> Result<(), GpuError> {
        if let Some(submission) = ticket.submission {
            self.device.wait(submission)?;
            self.round_trips.waits += 1;
        }
        if let Some(since) = self.submitted.take() {
            self.timings.add(WHOLE, since.elapsed().as_secs_f64() * 1e3);
        }
        if self.timed
            && let Some(timestamps) = &mut self.timestamps
        {
            timestamps.collect(&mut self.timings)?;
        }
        Ok(())
    }

    fn time(&mut self, on: bool) {
        self.timed = on;
    }

    fn timings(&self) -> &Timings {
        &self.timings
    }

    fn clear_timings(&mut self) {
        self.timings.stages.clear();
    }

    fn bytes(&self) -> u64 {
        self.held.iter().map(|held| held.buffer.size() + held.readback.bytes()).sum::<u64>() + self.uniforms.size()
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn round_trips(&self) -> RoundTrips {
        self.round_trips
    }
}
