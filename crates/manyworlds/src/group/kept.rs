//! What is known of the step before: the states that it began with, which stand in the buffers `before`.

/// Which of them are still those of the step that led here.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// By world: nothing of it was changed since. Empty before the first step.
    pub(super) whole: Vec<bool>,
}

impl Kept {
    /// Whether the step that led a world here is known.
    pub(super) fn has(&self, world: usize) -> bool {
        self.whole.get(world) == Some(&true)
    }

    /// A world is no longer what the step made of it: that step has no derivative any more.
    pub(super) fn forget(&mut self, world: usize) {
        if let Some(whole) = self.whole.get_mut(world) {
            *whole = false;
        }
    }
}
