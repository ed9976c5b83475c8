//! What can go wrong between a recording and a device.

/// A fault of an adapter, a device, or a recording.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GpuError {
    /// No adapter answers to the choice.
    #[error("executor gpu: no adapter for `{wanted}`; found: {found}; the executor cpu needs none")]
    NoAdapter {
        /// What was asked for.
        wanted: String,
        /// Names of the adapters there are.
        found: String,
    },
    /// The adapter lacks a feature that the precision needs.
    #[error("adapter `{adapter}` cannot compute in {precision}: it lacks 64-bit floats or integers in shaders")]
    Precision {
        /// Name of the adapter.
        adapter: String,
        /// What was asked for.
        precision: &'static str,
    },
    /// The adapter does not give a device.
    #[error("adapter `{adapter}` gives no device: {reason}")]
    NoDevice {
        /// Name of the adapter.
        adapter: String,
        /// In its words.
        reason: String,
    },
    /// A buffer larger than the device binds.
    #[error("buffer `{buffer}` would take {bytes} bytes, and the device binds {limit} at most: use smaller chunks")]
    TooLarge {
        /// Name of the buffer.
        buffer: &'static str,
        /// Its size.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The device is gone: taken away, reset by its driver, or destroyed.
    #[error("the device `{adapter}` was lost: {reason}; a new batch can go on from the last checkpoint")]
    Lost {
        /// Name of the adapter.
        adapter: String,
        /// In the device's words.
        reason: String,
    },
    /// The device reports an error.
    #[error("{what}: {reason}")]
    Device {
        /// What was attempted.
        what: String,
        /// In the device's words.
        reason: String,
    },
    /// A recording that does not fit its kernel or its store.
    #[error("recording of `{kernel}`: {reason}")]
    Recording {
        /// Name of the kernel, or of the buffer.
        kernel: &'static str,
        /// What is amiss.
        reason: String,
    },
}
