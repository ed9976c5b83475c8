//! What is done on a device, under error scopes.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use wgpu::ErrorFilter;

use crate::error::GpuError;

/// A device and its queue, and what has gone wrong on them.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// The adapter's name.
    adapter: String,
    /// The first error that no scope caught.
    uncaught: Arc<Mutex<Option<String>>>,
    /// Why the device is gone, once it is.
    lost: Arc<OnceLock<String>>,
}

impl Guard {
    pub(crate) fn new(device: &wgpu::Device, queue: &wgpu::Queue, info: &wgpu::AdapterInfo) -> Self {
        let (uncaught, lost) = (Arc::default(), Arc::default());
        Self { device: device.clone(), queue: queue.clone(), adapter: info.name.clone(), uncaught, lost }
    }

    /// Takes note of what no scope catches, in the place of whoever did so before.
    pub(crate) fn listen(&self) {
        let uncaught = Arc::clone(&self.uncaught);
        self.device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            lock(&uncaught).get_or_insert_with(|| error.to_string());
        }));
        let lost = Arc::clone(&self.lost);
        self.device.set_device_lost_callback(move |reason, message| {
            // A device is lost once; a second reason says nothing new.
            let _ = lost.set(if message.is_empty() { format!("{reason:?}") } else { message });
        });
    }

    /// Largest storage binding `[B]`.
    pub(crate) fn max_binding_bytes(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// Runs `f` under error scopes; what the device reports becomes an error, and so does what nobody caught earlier.
    pub(crate) fn guarded<A>(&self, what: impl Fn() -> String, f: impl FnOnce() -> A) -> Result<A, GpuError> {
        let memory = self.device.push_error_scope(ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(ErrorFilter::Internal);
        let validation = self.device.push_error_scope(ErrorFilter::Validation);
        let value = f();
        // All three are popped whatever the first says: a scope left open would swallow later errors.
        let errors = [
            pollster::block_on(validation.pop()),
            pollster::block_on(internal.pop()),
            pollster::block_on(memory.pop()),
        ];
        let earlier = lock(&self.uncaught).take();
        match errors.into_iter().flatten().next().map(|error| error.to_string()).or(earlier) {
            Some(reason) => Err(self.failed(what(), reason)),
            None => Ok(value),
        }
    }

    /// An error of the device: that it is gone, if it is.
    fn failed(&self, what: String, reason: String) -> GpuError {
        // What is known of its end is told when it is asked.
        let _ = self.device.poll(wgpu::PollType::Poll);
        match self.lost.get() {
            Some(reason) => GpuError::Lost { adapter: self.adapter.clone(), reason: reason.clone() },
            None => GpuError::Device { what, reason },
        }
    }

    /// Blocks until a submission is done.
    pub(crate) fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
        match self.guarded(|| "waiting".into(), || self.device.poll(wait))? {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed("waiting".into(), error.to_string())),
        }
    }
}

/// A lock that a panic elsewhere does not poison: what it guards is only ever replaced whole.
pub(crate) fn lock<A>(mutex: &Mutex<A>) -> MutexGuard<'_, A> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
