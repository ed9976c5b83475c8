//! What buffers held at some time, kept where nothing changes it.

use manyworlds_shaders::{Buffer, Scalar};

/// Copies of some buffers of a store, made by [`crate::Store::copy`]: in main memory, or on the device.
#[derive(Debug)]
pub struct Copies<T: Scalar> {
    /// In the order that was asked for.
    pub(crate) all: Vec<Copied<T>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) enum Copied<T: Scalar> {
    Here(Buffer<T>),
    /// So many elements, and bytes.
    There {
        buffer: wgpu::Buffer,
        len: usize,
        bytes: u64,
    },
}

impl<T: Scalar> Copies<T> {
    /// Memory they take `[B]`.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |copied: &Copied<T>| match copied {
            Copied::Here(buffer) => buffer.bytes(),
            Copied::There { bytes, .. } => *bytes as usize,
        };
        self.all.iter().map(bytes).sum()
    }
}
