//! Copies of device buffers that the host maps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use wgpu::BufferUsages;

use crate::allocation::{create, grown};
use crate::error::GpuError;
use crate::guard::Guard;

const UNMAPPED: u8 = 0;
const PENDING: u8 = 1;
const MAPPED: u8 = 2;
const FAILED: u8 = 3;

/// The copy of one buffer: unmapped while the device writes it, mapped until the next recording.
#[derive(Debug, Default)]
pub(crate) struct Readback {
    buffer: Option<wgpu::Buffer>,
    /// Bytes that the last copy brought.
    len: u64,
    state: Arc<AtomicU8>,
}

impl Readback {
    /// Whether it is mapped and holds that much.
    pub(crate) fn holds(&self, bytes: u64) -> bool {
        self.state.load(Ordering::Acquire) == MAPPED && self.len >= bytes
    }

    /// Unmaps it: what it holds is about to be out of date.
    pub(crate) fn forget(&mut self) {
        if self.state.load(Ordering::Acquire) == UNMAPPED {
            return;
        }
        if let Some(buffer) = &self.buffer {
            buffer.unmap();
        }
        // A callback still under way finds a state of its own.
        self.state = Arc::default();
    }

    /// Makes room for a copy.
    pub(crate) fn prepare(&mut self, device: &Guard, name: &'static str, bytes: u64) -> Result<(), GpuError> {
        self.len = bytes;
        let had = self.buffer.as_ref().map_or(0, wgpu::Buffer::size);
        if bytes > had || self.buffer.is_none() {
            self.buffer = Some(create(device, name, grown(device, had, bytes), BufferUsages::MAP_READ)?);
        }
        Ok(())
    }

    /// Encodes the copy.
    pub(crate) fn copy_from(&self, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) {
        if let Some(to) = self.buffer.as_ref().filter(|_| self.len > 0) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, Some(self.len));
        }
    }

    /// The buffer copies go to.
    pub(crate) fn target(&self) -> Option<&wgpu::Buffer> {
        self.buffer.as_ref()
    }

    /// Asks for the mapping, which comes with the wait for the submission.
    pub(crate) fn map(&mut self) {
        let Some(buffer) = self.buffer.as_ref().filter(|_| self.len > 0) else { return };
        self.state.store(PENDING, Ordering::Release);
        let state = Arc::clone(&self.state);
        buffer.slice(..self.len).map_async(wgpu::MapMode::Read, move |result| {
            state.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
        });
    }

    /// Memory held [B].
    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.as_ref().map_or(0, wgpu::Buffer::size)
    }

    /// Copies its beginning out.
    pub(crate) fn copy_to(&self, bytes: &mut [u8]) -> Result<(), GpuError> {
        let failed = |reason: String| GpuError::Device { what: "reading back".into(), reason };
        let Some(buffer) = self.buffer.as_ref().filter(|_| self.holds(bytes.len() as u64)) else {
            return Err(failed("the buffer is not mapped".into()));
        };
        let range = 0..bytes.len() as u64;
        // Mapped ranges are of whole words, as are all our elements.
        let view = buffer.slice(range).get_mapped_range().map_err(|error| failed(error.to_string()))?;
        bytes.copy_from_slice(&view);
        Ok(())
    }
}
