//! What derivatives need of the step before: the states it started from.

use manyworlds_shaders::Scalar;

use super::chunk::Chunk;
use crate::Error;

/// The states before a step.
#[derive(Debug, Default)]
pub(crate) struct Kept<T> {
    /// By set; empty before the first step.
    pub(super) states: Vec<Vec<T>>,
    /// By world: nothing of it was changed since.
    pub(super) whole: Vec<bool>,
}

impl<T> Kept<T> {
    /// A world is no longer what the step made of it.
    fn touch(&mut self, world: usize) {
        if let Some(whole) = self.whole.get_mut(world) {
            *whole = false;
        }
    }
}

impl<T: Scalar> Chunk<T> {
    /// The step of a world is no longer one that could be differentiated.
    pub(super) fn touch(&mut self, world: usize) {
        if let Some(before) = &mut self.before {
            before.touch(world);
        }
    }

    /// No step that is kept is the one that led here.
    pub(super) fn forget_kept(&mut self) {
        if let Some(before) = &mut self.before {
            before.whole.clear();
        }
    }

    /// Keeps the states before a step, if they are to be kept.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
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
