//! Buffers of the CPU executor that hold nothing between recordings: what a device needs once a lane, a thread needs once.

use std::sync::{Mutex, PoisonError};

use manyworlds_shaders::{Buffer, Scalar};

use crate::recording::BufferId;

/// Memory that stores lend each other for the time of a recording.
#[derive(Debug)]
pub struct Passing<T: Scalar> {
    ids: Vec<BufferId>,
    /// Those that no store has at the moment, in the order of `ids`.
    free: Mutex<Vec<Vec<Buffer<T>>>>,
}

impl<T: Scalar> Passing<T> {
    /// Of these buffers; recordings write them before they read them.
    #[must_use]
    pub fn new(ids: Vec<BufferId>) -> Self {
        Self { ids, free: Mutex::default() }
    }

    /// Memory that no store has at the moment `[B]`.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.all().iter().flatten().map(|buffer| buffer.bytes() as u64).sum()
    }

    pub(crate) fn ids(&self) -> &[BufferId] {
        &self.ids
    }

    /// Some that are free; none yet where a store is the first to ask.
    pub(crate) fn take(&self) -> Option<Vec<Buffer<T>>> {
        self.all().pop()
    }

    pub(crate) fn give_back(&self, buffers: Vec<Buffer<T>>) {
        self.all().push(buffers);
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Vec<Buffer<T>>>> {
        // They hold nothing that a thread which panicked could have left half done.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
