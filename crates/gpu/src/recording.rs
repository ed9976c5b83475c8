//! A step as a readable list of named dispatches over named buffers, which does not know who executes it.

use std::ops::Range;

use manyworlds_shaders::{Kernel, Kind};

use crate::error::GpuError;

/// Words that a dispatch carries for its dims struct.
pub const DIMS_WORDS: usize = 32;
/// Storage buffers a dispatch binds at most: the portable limit.
pub const MAX_BUFFERS: usize = 8;

/// A buffer of a store, by its place in the store's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

impl BufferId {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// What a store makes a buffer of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferSpec {
    /// Its name, in messages.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// One kernel run over some items.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// What runs.
    pub kernel: &'static Kernel,
    /// Lanes, or workgroups of a kernel of fixed width.
    pub count: u32,
    dims: [u32; DIMS_WORDS],
    dims_len: usize,
    buffers: [BufferId; MAX_BUFFERS],
    buffer_count: usize,
}

impl Dispatch {
    /// Words of its dims struct.
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.dims[..self.dims_len]
    }

    /// Buffers in binding order.
    #[must_use]
    pub fn buffers(&self) -> &[BufferId] {
        &self.buffers[..self.buffer_count]
    }
}

/// What is read of a buffer after a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// These elements, in order.
    Elements(Vec<Range<usize>>),
}

/// The list: filled, run, cleared and filled again without allocating.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    dispatches: Vec<Dispatch>,
    reads: Vec<(BufferId, Part)>,
    /// Name and first dispatch.
    stages: Vec<(&'static str, usize)>,
    fault: Option<GpuError>,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.dispatches.clear();
        self.reads.clear();
        self.stages.clear();
        self.fault = None;
    }

    /// Appends a kernel over `count` lanes (or workgroups, for a kernel of fixed width), with its storage buffers in
    /// binding order. What does not fit the kernel is reported by whoever runs the recording.
    pub fn dispatch<D: bytemuck::Pod>(
        &mut self,
        kernel: &'static Kernel,
        dims: &D,
        count: u32,
        buffers: &[BufferId],
    ) -> &mut Self {
        let words: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(dims));
        let twice = (1..buffers.len()).any(|i| buffers[..i].contains(&buffers[i]));
        let reason = if buffers.len() != kernel.bindings.len() {
            Some(format!("{} buffers bound, the kernel has {}", buffers.len(), kernel.bindings.len()))
        } else if size_of::<D>() != kernel.dims_bytes as usize || words.len() > DIMS_WORDS {
            Some(format!("dims of {} bytes, the kernel's has {}", size_of::<D>(), kernel.dims_bytes))
        } else if twice {
            // On a device a buffer cannot be both read and written; on the CPU it cannot be lent twice.
            Some("a buffer is bound twice".into())
        } else {
            None
        };
        if let Some(reason) = reason {
            self.fault.get_or_insert(GpuError::Recording { kernel: kernel.name, reason });
            return self;
        }
        let mut dispatch = Dispatch {
            kernel,
            count,
            dims: [0; DIMS_WORDS],
            dims_len: words.len(),
            buffers: [BufferId(0); MAX_BUFFERS],
            buffer_count: buffers.len(),
        };
        dispatch.dims[..words.len()].copy_from_slice(words);
        dispatch.buffers[..buffers.len()].copy_from_slice(buffers);
        self.dispatches.push(dispatch);
        self
    }

    /// Names the stage of an algorithm that the dispatches from here on belong to.
    pub fn stage(&mut self, name: &'static str) -> &mut Self {
        self.stages.push((name, self.dispatches.len()));
        self
    }

    /// Stages in order, with their dispatches.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &[Dispatch])> {
        let ends = self.stages.iter().skip(1).map(|&(_, at)| at).chain([self.dispatches.len()]);
        self.stages.iter().zip(ends).map(|(&(name, begin), end)| (name, &self.dispatches[begin..end]))
    }

    /// Asks for a buffer's contents after the last dispatch, within the same submission:
    /// [`Store::read`](crate::Store::read) after the wait then costs a copy and no further submission.
    pub fn read(&mut self, buffer: BufferId) -> &mut Self {
        self.read_some(buffer, Part::Whole)
    }

    /// The same of a part, for [`Store::read_part`](crate::Store::read_part). A buffer is asked for once: the first counts.
    pub fn read_some(&mut self, buffer: BufferId, part: Part) -> &mut Self {
        if !self.reads.iter().any(|(asked, _)| *asked == buffer) {
            self.reads.push((buffer, part));
        }
        self
    }

    /// The dispatches in order.
    #[must_use]
    pub fn dispatches(&self) -> &[Dispatch] {
        &self.dispatches
    }

    /// Buffers to be read after the last dispatch.
    #[must_use]
    pub fn reads(&self) -> &[(BufferId, Part)] {
        &self.reads
    }

    /// Whether every dispatch fits its kernel and the buffers of a store.
    pub(crate) fn check(&self, specs: impl Fn(usize) -> Option<BufferSpec>) -> Result<(), GpuError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        for dispatch in &self.dispatches {
            let kernel = dispatch.kernel.name;
            for (id, binding) in dispatch.buffers().iter().zip(dispatch.kernel.bindings) {
                let Some(spec) = specs(id.at()) else {
                    return Err(GpuError::Recording { kernel, reason: format!("the store has no buffer {}", id.0) });
                };
                if (spec.kind != Kind::Index) != binding.real {
                    let reason = format!("`{}` is bound to `{}`, of the other type", spec.name, binding.name);
                    return Err(GpuError::Recording { kernel, reason });
                }
            }
        }
        Ok(())
    }
}
