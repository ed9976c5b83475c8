//! What derivatives need of the step before: the states it started from.

/// The states before a step.
#[derive(Debug, Default)]
pub(crate) struct Kept<T> {
    /// By set; empty before the first step.
    pub(super) states: Vec<Vec<T>>,
    /// By world: nothing of it was changed since.
    pub(super) whole: Vec<bool>,
}

impl<T> Kept<T> {
    /// A world is no longer what the step made of it: that step has no derivative any more.
    pub(super) fn forget(&mut self, world: usize) {
        if let Some(whole) = self.whole.get_mut(world) {
            *whole = false;
        }
    }
}
