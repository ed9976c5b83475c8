//! The CPU executor: mirrors run over a chunk's buffers, one thread a chunk, without allocating.

use std::sync::Arc;

use crate::clock::Instant;

use manyworlds_shaders::{Args, Buffer, Kind, LANES, Scalar};

use crate::copies::{Copied, Copies};
use crate::error::GpuError;
use crate::passing::Passing;
use crate::recording::{BufferId, BufferSpec, Dispatch, Recording};
use crate::store::{Store, Ticket, Timings, Traffic, other_store, other_type, outside};

/// Buffers of a chunk in main memory.
#[derive(Debug, Clone)]
pub struct CpuStore<T: Scalar> {
    specs: Vec<BufferSpec>,
    buffers: Vec<Buffer<T>>,
    /// Whether tiles have one lane.
    lone: bool,
    /// Buffers that it has for the time of a recording only.
    passing: Option<Arc<Passing<T>>>,
    /// Of each buffer that is one of these, how long it is then.
    lengths: Vec<Option<usize>>,
    timings: Timings,
    timed: bool,
    traffic: Traffic,
}

impl<T: Scalar> CpuStore<T> {
    /// Empty buffers.
    #[must_use]
    pub fn new(specs: &[BufferSpec]) -> Self {
        Self {
            specs: specs.to_vec(),
            buffers: specs.iter().map(|spec| Buffer::new(spec.kind)).collect(),
            lone: false,
            passing: None,
            lengths: vec![None; specs.len()],
            timings: Timings::default(),
            timed: false,
            traffic: Traffic::default(),
        }
    }

    /// The same for few lanes: in tiles of one, where the precision has mirrors for that. What a lane does is the same to the bit.
    #[must_use]
    pub fn lone(specs: &[BufferSpec]) -> Self {
        Self { lone: T::LONE_MIRROR_OF.is_some(), ..Self::new(specs) }
    }

    /// With buffers that it shares with others.
    #[must_use]
    pub fn sharing(mut self, passing: Arc<Passing<T>>) -> Self {
        for id in passing.ids() {
            self.lengths[id.at()] = Some(0);
        }
        Self { passing: Some(passing), ..self }
    }

    /// Gets the buffers that are shared, or gives them back.
    fn exchange(&mut self, with: &Passing<T>, buffers: &mut [Buffer<T>]) {
        for (id, buffer) in with.ids().iter().zip(buffers) {
            std::mem::swap(&mut self.buffers[id.at()], buffer);
        }
    }

    /// Runs a recording that was checked.
    fn dispatch(&mut self, recording: &Recording) -> Result<(), GpuError> {
        // One look at the clock a kernel: small worlds feel a second one.
        let mut since = self.timed.then(Instant::now);
        for dispatch in recording.dispatches().iter().filter(|dispatch| dispatch.count > 0) {
            self.call(dispatch)?;
            if let Some(since) = &mut since {
                let now = Instant::now();
                self.timings.add(dispatch.kernel.name, now.duration_since(*since).as_secs_f64() * 1e3);
                *since = now;
            }
        }
        Ok(())
    }

    /// A buffer, for hosts that read in place.
    #[must_use]
    pub fn buffer(&self, id: BufferId) -> Option<&Buffer<T>> {
        self.buffers.get(id.at())
    }

    /// A buffer, for hosts that write in place.
    pub fn buffer_mut(&mut self, id: BufferId) -> Option<&mut Buffer<T>> {
        self.buffers.get_mut(id.at())
    }

    fn existing(&mut self, id: BufferId) -> Result<(&'static str, &mut Buffer<T>), GpuError> {
        match (self.specs.get(id.at()), self.buffers.get_mut(id.at())) {
            (Some(spec), Some(buffer)) => Ok((spec.name, buffer)),
            _ => Err(missing(id)),
        }
    }

    /// Lends the bound buffers, all different, to the mirror.
    fn call(&mut self, dispatch: &Dispatch) -> Result<(), GpuError> {
        macro_rules! lend {
            ($($n:literal)*) => {
                match dispatch.buffers().len() {
                    $($n => {
                        let ids: [usize; $n] = std::array::from_fn(|i| dispatch.buffers()[i].at());
                        let Ok(mut buffers) = self.buffers.get_disjoint_mut(ids) else {
                            let reason = "a buffer is bound twice, or missing".into();
                            return Err(GpuError::Recording { kernel: dispatch.kernel.name, reason });
                        };
                        let (kernel, dims, count) = (dispatch.kernel, dispatch.dims(), dispatch.count);
                        match T::LONE_MIRROR_OF.filter(|_| self.lone) {
                            Some(mirror_of) => mirror_of(kernel)(&mut Args { dims, count, buffers: &mut buffers }),
                            None => T::mirror_of(kernel)(&mut Args { dims, count, buffers: &mut buffers }),
                        }
                    })*
                    // Recordings admit no other number.
                    _ => {}
                }
            };
        }
        lend!(1 2 3 4 5 6 7 8);
        Ok(())
    }
}

fn missing(id: BufferId) -> GpuError {
    GpuError::Recording { kernel: "store", reason: format!("it has no buffer {}", id.0) }
}

fn span<'a, A>(name: &'static str, all: &'a mut [A], offset: usize, count: usize) -> Result<&'a mut [A], GpuError> {
    let len = all.len();
    all.get_mut(offset..offset.saturating_add(count)).ok_or_else(|| outside(name, offset.saturating_add(count), len))
}

impl<T: Scalar> Store<T> for CpuStore<T> {
    fn tile(&self) -> usize {
        if self.lone { 1 } else { LANES }
    }

    fn len(&self, id: BufferId) -> usize {
        match self.lengths.get(id.at()) {
            Some(&Some(len)) => len,
            _ => self.buffers.get(id.at()).map_or(0, Buffer::len),
        }
    }

    fn resize(&mut self, id: BufferId, len: usize) -> Result<(), GpuError> {
        match self.lengths.get_mut(id.at()) {
            Some(Some(own)) => *own = len,
            _ => self.existing(id)?.1.resize(len),
        }
        Ok(())
    }

    fn write(&mut self, id: BufferId, offset: usize, values: &[T]) -> Result<(), GpuError> {
        let (name, buffer) = self.existing(id)?;
        if buffer.kind() == Kind::Index {
            return Err(other_type(name));
        }
        span(name, buffer.scalars_mut(), offset, values.len())?.copy_from_slice(values);
        self.traffic.uploaded += size_of_val(values) as u64;
        Ok(())
    }

    fn write_index(&mut self, id: BufferId, offset: usize, values: &[u32]) -> Result<(), GpuError> {
        let (name, buffer) = self.existing(id)?;
        if buffer.kind() != Kind::Index {
            return Err(other_type(name));
        }
        span(name, buffer.index_mut(), offset, values.len())?.copy_from_slice(values);
        self.traffic.uploaded += size_of_val(values) as u64;
        Ok(())
    }

    fn write_parts(&mut self, id: BufferId, parts: &mut dyn Iterator<Item = &[T]>) -> Result<(), GpuError> {
        let mut at = 0;
        for part in parts {
            self.write(id, at, part)?;
            at += part.len();
        }
        Ok(())
    }

    fn write_index_parts(&mut self, id: BufferId, parts: &mut dyn Iterator<Item = &[u32]>) -> Result<(), GpuError> {
        let mut at = 0;
        for part in parts {
            self.write_index(id, at, part)?;
            at += part.len();
        }
        Ok(())
    }

    fn read(&mut self, id: BufferId, values: &mut [T]) -> Result<(), GpuError> {
        let (name, buffer) = self.existing(id)?;
        if buffer.kind() == Kind::Index {
            return Err(other_type(name));
        }
        values.copy_from_slice(span(name, buffer.scalars_mut(), 0, values.len())?);
        self.traffic.downloaded += size_of_val(values) as u64;
        Ok(())
    }

    fn read_part(&mut self, id: BufferId, at: usize, values: &mut [T]) -> Result<(), GpuError> {
        let (name, buffer) = self.existing(id)?;
        if buffer.kind() == Kind::Index {
            return Err(other_type(name));
        }
        values.copy_from_slice(span(name, buffer.scalars_mut(), at, values.len())?);
        self.traffic.downloaded += size_of_val(values) as u64;
        Ok(())
    }

    fn copy(&mut self, buffers: &[BufferId]) -> Result<Copies<T>, GpuError> {
        let one = |&id: &BufferId| Ok(Copied::Here(self.buffer(id).ok_or_else(|| missing(id))?.clone()));
        Ok(Copies { all: buffers.iter().map(one).collect::<Result<_, GpuError>>()? })
    }

    fn load(&mut self, buffers: &[BufferId], copies: &Copies<T>) -> Result<(), GpuError> {
        for (at, &id) in buffers.iter().enumerate() {
            let (name, buffer) = self.existing(id)?;
            match (buffer, copies.all.get(at)) {
                (Buffer::Tile(to), Some(Copied::Here(Buffer::Tile(from)))) => to.clone_from(from),
                (Buffer::Real(to), Some(Copied::Here(Buffer::Real(from)))) => to.clone_from(from),
                (Buffer::Index(to), Some(Copied::Here(Buffer::Index(from)))) => to.clone_from(from),
                _ => return Err(other_store(name)),
            }
        }
        Ok(())
    }

    fn numbers(&self, buffer: BufferId) -> Option<&[T]> {
        self.buffer(buffer).map(Buffer::scalars)
    }

    fn numbers_mut(&mut self, buffer: BufferId) -> Option<&mut [T]> {
        self.buffer_mut(buffer).map(Buffer::scalars_mut)
    }

    fn read_index(&mut self, id: BufferId, values: &mut [u32]) -> Result<(), GpuError> {
        let (name, buffer) = self.existing(id)?;
        if buffer.kind() != Kind::Index {
            return Err(other_type(name));
        }
        values.copy_from_slice(span(name, buffer.index_mut(), 0, values.len())?);
        self.traffic.downloaded += size_of_val(values) as u64;
        Ok(())
    }

    fn submit(&mut self, recording: &Recording) -> Result<Ticket, GpuError> {
        recording.check(|at| self.specs.get(at).copied())?;
        let bound =
            || recording.dispatches().iter().flat_map(Dispatch::buffers).any(|id| self.lengths[id.at()].is_some());
        match self.passing.clone().filter(|_| bound()) {
            None => self.dispatch(recording)?,
            Some(passing) => {
                let new = |id: &BufferId| Buffer::new(self.specs[id.at()].kind);
                let mut buffers = passing.take().unwrap_or_else(|| passing.ids().iter().map(new).collect());
                for (buffer, id) in buffers.iter_mut().zip(passing.ids()) {
                    buffer.resize(self.lengths[id.at()].unwrap_or(0).max(buffer.len()));
                }
                self.exchange(&passing, &mut buffers);
                let done = self.dispatch(recording);
                self.exchange(&passing, &mut buffers);
                passing.give_back(buffers);
                done?;
            }
        }
        Ok(Ticket { submission: None })
    }

    fn wait(&mut self, _: Ticket) -> Result<(), GpuError> {
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
        self.buffers.iter().map(|buffer| buffer.bytes() as u64).sum()
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }
}
