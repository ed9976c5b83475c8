//! What the last step found of each pair, which this one tries first: near pairs mostly stay parted by the same direction, or
//! stay deep in each other.
//!
//! A hint saves the search for what it says and changes no result: a direction that still parts two shapes far enough proves
//! that they have no contact, and where two are deep in each other the way out is looked for in any case. So states need not
//! carry hints along, and a world may lose its hints at any time.

use super::Vector;

/// What was found of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hint {
    /// No contact: this direction, from the first shape to the second, parts them; unit, in the world.
    Parted(Vector),
    /// They were deep in each other.
    Deep,
}

/// Hints of one world.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// Of the step before, by the pairs' numbers, ascending.
    before: Vec<(u32, Hint)>,
    /// The first of `before` that is not behind the pair at hand.
    at: usize,
    /// Of the step at hand.
    now: Vec<(u32, Hint)>,
}

impl Hints {
    /// Begins a step.
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.clear();
        self.at = 0;
    }

    /// What the step before found of a pair; pairs come in the order of their numbers.
    pub(super) fn of(&mut self, pair: u32) -> Option<Hint> {
        while self.before.get(self.at).is_some_and(|&(other, _)| other < pair) {
            self.at += 1;
        }
        self.before.get(self.at).filter(|&&(other, _)| other == pair).map(|&(_, hint)| hint)
    }

    /// Leaves word of a pair to the next step.
    pub(super) fn leave(&mut self, pair: u32, hint: Option<Hint>) {
        self.now.extend(hint.map(|hint| (pair, hint)));
    }
}
