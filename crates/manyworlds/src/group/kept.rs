//! What is known of the step before: which of the states that it began with, in the buffers `before`, are still its, and of worlds with
//! soft bodies its last factor.

use std::sync::Arc;

use manyworlds_contact::solve::whole::StepFactor;

/// Memory that factors of the worlds of a group may take, B: the first worlds have theirs.
const MOST_FACTORS: usize = 1 << 30;

/// Whose states are still those of the step that led here, and factors.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// By world: nothing of it was changed since. Empty before the first step.
    pub(super) whole: Vec<bool>,
    /// Where they are to be kept.
    factors: Option<Factors>,
}

/// The last factors of the steps of worlds.
#[derive(Debug)]
struct Factors {
    /// The number that the first world has in its group.
    first: usize,
    /// By world; shorter where the last ones have none.
    all: Vec<Option<Arc<StepFactor>>>,
}

impl Kept {
    /// Whether the step that led a world here is known.
    pub(super) fn has(&self, world: usize) -> bool {
        self.whole.get(world) == Some(&true)
    }

    /// Keeps factors from the next step on, or no longer; `first`: the number that the first world has in its group.
    pub(super) fn keep_factors(&mut self, first: Option<usize>) {
        self.factors = first.map(|first| Factors { first, all: Vec::new() });
    }

    /// Whether factors are kept.
    pub(super) fn keeps_factors(&self) -> bool {
        self.factors.is_some()
    }

    /// Before a step.
    pub(super) fn begin(&mut self, n_world: usize) {
        self.whole.clear();
        self.whole.resize(n_world, true);
        if let Some(factors) = &mut self.factors {
            factors.all.clear();
        }
    }

    /// A world is no longer what the step made of it: that step has no derivative any more.
    pub(super) fn forget(&mut self, world: usize) {
        if let Some(whole) = self.whole.get_mut(world) {
            *whole = false;
        }
    }

    /// Keeps the factor that the step of a world ended with, if there is room for it. Which worlds have room depends on their numbers
    /// and sizes alone.
    pub(super) fn keep_factor(&mut self, world: usize, factor: StepFactor) {
        let Some(Factors { first, all }) = &mut self.factors else { return };
        if (*first + world + 1).saturating_mul(factor.factor.bytes()) <= MOST_FACTORS {
            all.resize(all.len().max(world + 1), None);
            all[world] = Some(Arc::new(factor));
        }
    }

    /// What [`Self::keep_factor`] kept.
    pub(super) fn factor(&self, world: usize) -> Option<&Arc<StepFactor>> {
        self.factors.as_ref()?.all.get(world)?.as_ref()
    }
}
