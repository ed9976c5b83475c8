//! What both executors' stores do: named buffers that a recording runs over.

use std::ops::AddAssign;

use manyworlds_shaders::Scalar;
use wgpu::SubmissionIndex;

use crate::copies::Copies;
use crate::error::GpuError;
use crate::recording::{BufferId, Recording};

/// A recording under way.
#[derive(Debug)]
#[must_use = "results are there after `wait`"]
pub struct Ticket {
    /// None where the work is already done.
    pub(crate) submission: Option<SubmissionIndex>,
}

/// Named buffers, and the executor that runs recordings over them. Numbers lie in tiles of [`Store::tile`] lanes.
pub trait Store<T: Scalar>: Send + Sync {
    /// Lanes of a tile.
    fn tile(&self) -> usize;

    /// Number of elements (of all lanes) in a buffer.
    fn len(&self, buffer: BufferId) -> usize;

    /// Whether a buffer holds nothing.
    fn is_empty(&self, buffer: BufferId) -> bool {
        self.len(buffer) == 0
    }

    /// Makes a buffer hold `len` elements (of a tile buffer rounded up to whole tiles). The elements that were there
    /// keep their values. Capacity grows by steps and never shrinks.
    ///
    /// # Errors
    /// If the device does not have the memory or does not bind as much.
    fn resize(&mut self, buffer: BufferId, len: usize) -> Result<(), GpuError>;

    /// Writes numbers from `offset` on; they must fit.
    ///
    /// # Errors
    /// If they do not, or the buffer holds integers.
    fn write(&mut self, buffer: BufferId, offset: usize, values: &[T]) -> Result<(), GpuError>;

    /// Writes integers from `offset` on; they must fit.
    ///
    /// # Errors
    /// If they do not, or the buffer holds numbers.
    fn write_index(&mut self, buffer: BufferId, offset: usize, values: &[u32]) -> Result<(), GpuError>;

    /// Writes the numbers of several slices, one behind the other from the first element on; they must fit.
    ///
    /// # Errors
    /// As of [`Self::write`].
    fn write_parts(&mut self, buffer: BufferId, parts: &mut dyn Iterator<Item = &[T]>) -> Result<(), GpuError>;

    /// The same of integers.
    ///
    /// # Errors
    /// As of [`Self::write_index`].
    fn write_index_parts(&mut self, buffer: BufferId, parts: &mut dyn Iterator<Item = &[u32]>) -> Result<(), GpuError>;

    /// Reads the first `values.len()` numbers. Without a copy that the last recording asked for by
    /// [`Recording::read`], a submission of its own.
    ///
    /// # Errors
    /// If there are not as many, or the device fails.
    fn read(&mut self, buffer: BufferId, values: &mut [T]) -> Result<(), GpuError>;

    /// Reads `values.len()` numbers from `at` on, as [`Self::read`] does after a recording that asked for them by
    /// [`Recording::read_some`].
    ///
    /// # Errors
    /// As there.
    fn read_part(&mut self, buffer: BufferId, at: usize, values: &mut [T]) -> Result<(), GpuError>;

    /// Copies what some buffers hold, without a way through the host.
    ///
    /// # Errors
    /// If one does not exist, or the device does not have the memory.
    fn copy(&mut self, buffers: &[BufferId]) -> Result<Copies<T>, GpuError>;

    /// Makes buffers hold what was copied, one by one, from a store of the same executor, tile and device.
    ///
    /// # Errors
    /// If they are of other kinds or of another executor, or as of [`Self::resize`].
    fn load(&mut self, buffers: &[BufferId], copies: &Copies<T>) -> Result<(), GpuError>;

    /// The numbers of a buffer where they lie; none where the host has to read them.
    fn numbers(&self, _: BufferId) -> Option<&[T]> {
        None
    }

    /// [`Self::numbers`], to write.
    fn numbers_mut(&mut self, _: BufferId) -> Option<&mut [T]> {
        None
    }

    /// The device's buffer, where the numbers lie in one; it moves when the buffer grows.
    fn wgpu_buffer(&self, _: BufferId) -> Option<&wgpu::Buffer> {
        None
    }

    /// Reads the first `values.len()` integers, as [`Self::read`] does.
    ///
    /// # Errors
    /// As there.
    fn read_index(&mut self, buffer: BufferId, values: &mut [u32]) -> Result<(), GpuError>;

    /// Makes ready what a recording needs before it can start, such as compiled kernels, several at once.
    ///
    /// # Errors
    /// If the device fails.
    fn prepare(&mut self, _: &Recording) -> Result<(), GpuError> {
        Ok(())
    }

    /// Starts a recording; the host is free until it waits. The CPU store does all of it here.
    ///
    /// # Errors
    /// If the recording does not fit, or the device fails.
    fn submit(&mut self, recording: &Recording) -> Result<Ticket, GpuError>;

    /// Waits for one recording, and for none that was submitted after it.
    ///
    /// # Errors
    /// If the device fails.
    fn wait(&mut self, ticket: Ticket) -> Result<(), GpuError>;

    /// [`Self::submit`] and [`Self::wait`].
    ///
    /// # Errors
    /// As theirs.
    fn run(&mut self, recording: &Recording) -> Result<(), GpuError> {
        let ticket = self.submit(recording)?;
        self.wait(ticket)
    }

    /// Turns the timing of dispatches on or off. A device without timestamps gets one stage, `device`: from the start
    /// of a recording until the host has waited for it.
    fn time(&mut self, on: bool);

    /// What the dispatches took so far, by kernel.
    fn timings(&self) -> &Timings;

    /// Forgets the timings so far.
    fn clear_timings(&mut self);

    /// Memory held `[B]`.
    fn bytes(&self) -> u64;

    /// What was copied between the host's arrays and the buffers so far.
    fn traffic(&self) -> Traffic;

    /// How often work was handed to a device and waited for so far; never where the executor is the host itself.
    fn round_trips(&self) -> RoundTrips {
        RoundTrips::default()
    }
}

/// How often work was handed to a device, and how often the host waited for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Recordings submitted.
    pub submissions: u64,
    /// Waits for one of them.
    pub waits: u64,
}

impl RoundTrips {
    /// Those since an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { submissions: self.submissions - earlier.submissions, waits: self.waits - earlier.waits }
    }
}

impl AddAssign for RoundTrips {
    fn add_assign(&mut self, other: Self) {
        self.submissions += other.submissions;
        self.waits += other.waits;
    }
}

/// Bytes copied between the host's arrays and the buffers of a store: uploads and readbacks of a device, copies within
/// main memory on the CPU. What is read or written in place is no copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Into buffers.
    pub uploaded: u64,
    /// Out of buffers.
    pub downloaded: u64,
}

impl Traffic {
    /// What was copied since an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { uploaded: self.uploaded - earlier.uploaded, downloaded: self.downloaded - earlier.downloaded }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.uploaded += other.uploaded;
        self.downloaded += other.downloaded;
    }
}

/// Milliseconds by kernel, summed over dispatches.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    /// Name of the kernel and its milliseconds, in order of first use.
    pub stages: Vec<(&'static str, f64)>,
}

impl Timings {
    /// Adds to a stage.
    pub fn add(&mut self, name: &'static str, milliseconds: f64) {
        match self.stages.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += milliseconds,
            None => self.stages.push((name, milliseconds)),
        }
    }
}

pub(crate) fn outside(buffer: &'static str, end: usize, len: usize) -> GpuError {
    GpuError::Recording { kernel: buffer, reason: format!("elements up to {end} of a buffer of {len}") }
}

pub(crate) fn other_store(buffer: &'static str) -> GpuError {
    GpuError::Recording { kernel: buffer, reason: "what was copied is of another executor, kind or number".into() }
}

pub(crate) fn other_type(buffer: &'static str) -> GpuError {
    GpuError::Recording { kernel: buffer, reason: "numbers where it holds integers, or the reverse".into() }
}
