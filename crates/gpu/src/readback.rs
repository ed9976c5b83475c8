//! Copies of device buffers that the host maps.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rayon::prelude::*;
use wgpu::BufferUsages;

use crate::allocation::{create, grown};
use crate::error::GpuError;
use crate::guard::Guard;

/// Bytes that a thread copies at a time.
const PIECE: usize = 1 << 18;

const UNMAPPED: u8 = 0;
const PENDING: u8 = 1;
const MAPPED: u8 = 2;
const FAILED: u8 = 3;

/// The copy of one buffer: unmapped while the device writes it, mapped until the next recording.
#[derive(Debug, Default)]
pub(crate) struct Readback {
    buffer: Option<wgpu::Buffer>,
    /// What of the buffer the last copy brought, in order, and where it stands in the copy, in bytes.
    parts: Vec<(Range<u64>, u64)>,
    state: Arc<AtomicU8>,
}

impl Readback {
    /// Where some bytes of the buffer stand in it; none unless it is mapped and holds them.
    fn find(&self, bytes: &Range<u64>) -> Option<Range<usize>> {
        if self.state.load(Ordering::Acquire) != MAPPED {
            return None;
        }
        let after = self.parts.partition_point(|(part, _)| part.start <= bytes.start);
        let (part, at) = self.parts.get(after.checked_sub(1)?)?;
        let begin = (at + bytes.start - part.start) as usize;
        (bytes.end <= part.end).then(|| begin..begin + (bytes.end - bytes.start) as usize)
    }

    /// Whether it is mapped and holds these bytes of the buffer.
    pub(crate) fn holds(&self, bytes: &Range<u64>) -> bool {
        self.find(bytes).is_some()
    }

    /// Bytes that the last copy brought.
    fn len(&self) -> u64 {
        self.parts.last().map_or(0, |(part, at)| at + part.end - part.start)
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

    /// Makes room for a copy of some parts of the buffer, which are in order, and forgets the last one.
    pub(crate) fn prepare(
        &mut self,
        device: &Guard,
        name: &'static str,
        parts: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<(), GpuError> {
        self.parts.clear();
        let mut at = 0;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let size = part.end - part.start;
            self.parts.push((part, at));
            at += size;
        }
        let bytes = self.len();
        let had = self.buffer.as_ref().map_or(0, wgpu::Buffer::size);
        if bytes > had || self.buffer.is_none() {
            self.buffer = Some(create(device, name, grown(device, had, bytes), BufferUsages::MAP_READ)?);
        }
        Ok(())
    }

    /// Encodes the copy.
    pub(crate) fn copy_from(&self, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) {
        let Some(to) = &self.buffer else { return };
        for (part, at) in &self.parts {
            encoder.copy_buffer_to_buffer(from, part.start, to, *at, Some(part.end - part.start));
        }
    }

    /// The buffer copies go to.
    pub(crate) fn target(&self) -> Option<&wgpu::Buffer> {
        self.buffer.as_ref()
    }

    /// Asks for the mapping, which comes with the wait for the submission.
    pub(crate) fn map(&mut self) {
        let len = self.len();
        let Some(buffer) = self.buffer.as_ref().filter(|_| len > 0) else { return };
        self.state.store(PENDING, Ordering::Release);
        let state = Arc::clone(&self.state);
        buffer.slice(..len).map_async(wgpu::MapMode::Read, move |result| {
            state.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
        });
    }

    /// Memory held [B].
    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.as_ref().map_or(0, wgpu::Buffer::size)
    }

    /// Copies bytes of the buffer from `at` on out.
    pub(crate) fn copy_to(&self, at: u64, bytes: &mut [u8]) -> Result<(), GpuError> {
        let failed = |reason: String| GpuError::Device { what: "reading back".into(), reason };
        let Some((buffer, place)) = self.buffer.as_ref().zip(self.find(&(at..at + bytes.len() as u64))) else {
            return Err(failed("the buffer is not mapped".into()));
        };
        // All that is mapped: parts of it would have to begin at multiples of eight bytes.
        let view = buffer.slice(..self.len()).get_mapped_range().map_err(|error| failed(error.to_string()))?;
        let from = view.get(place).ok_or_else(|| failed("less is mapped than was copied".into()))?;
        if bytes.len() <= 4 * PIECE {
            bytes.copy_from_slice(from);
        } else {
            // One thread copies tens of megabytes slower than a GPU steps the worlds that they are of.
            bytes.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from));
        }
        Ok(())
    }
}
