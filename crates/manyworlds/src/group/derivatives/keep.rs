//! Keeps the states before steps, and forgets those that are no longer of the last step.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::batch::keep;
use manyworlds_shaders::kernel::batch::KEEP;

use crate::Error;
use crate::group::chunk::Chunk;

impl<T: Scalar> Chunk<T> {
    /// The step of a world is no longer one that could be differentiated.
    pub(in crate::group) fn forget_step(&mut self, world: usize) {
        if let Some(before) = &mut self.before {
            before.forget(world);
        }
    }

    /// No step that is kept is the one that led here.
    pub(in crate::group) fn forget_kept(&mut self) {
        if let Some(before) = &mut self.before {
            before.whole.clear();
        }
    }

    /// Makes room for the states before a step, if they are to be kept.
    pub(in crate::group) fn keep(&mut self) -> Result<(), Error> {
        let Some(before) = &mut self.before else { return Ok(()) };
        before.begin(self.n_world);
        for set in &self.sets {
            let b = set.step.buffers;
            let n = self.store.len(b.state);
            self.store.resize(b.before, n)?;
        }
        Ok(())
    }

    /// Copies them, where they are to be kept.
    pub(in crate::group) fn record_keeping(&mut self) {
        if self.before.is_none() {
            return;
        }
        self.recording.stage("keep");
        for set in &self.sets {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let sizes = keep::Dims { lanes: dims.lanes, n: dims.n_state() as u32 };
            self.recording.dispatch(&KEEP, &sizes, dims.lanes, &[b.state, b.before]);
        }
    }
}
