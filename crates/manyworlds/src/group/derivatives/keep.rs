//! Keeps the states before steps, and forgets those that are no longer of the last step.

use manyworlds_shaders::Scalar;

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

    /// Keeps the states before a step, if they are to be kept.
    pub(in crate::group) fn keep(&mut self) -> Result<(), Error> {
        let Some(before) = &mut self.before else { return Ok(()) };
        before.whole.clear();
        before.whole.resize(self.n_world, true);
        before.states.resize(self.sets.len(), Vec::new());
        for (set, state) in self.sets.iter().zip(&mut before.states) {
            let buffer = set.step.buffers.state;
            state.resize(self.store.len(buffer), T::default());
            self.store.read(buffer, state)?;
        }
        Ok(())
    }
}
