//! Steps of all worlds that are gone back through one by one, in loops of a trainer's own.

use std::sync::Arc;

use manyworlds_gradients::{Certificate, GradientRules, Inputs, Outputs};
use rayon::prelude::*;

use super::Batch;
use super::derivatives::check_outputs;
use crate::group::{Lineariser, WorldStep};
use crate::{Error, State};

/// One step of every world of a batch, kept to go back through it later, whatever happens to the batch meanwhile: what a
/// policy that looks at states needs, which [`Batch::backward`] cannot know of.
pub struct KeptStep {
    /// By group: what its steps are linearised with, and the steps of its worlds.
    groups: Vec<(Arc<dyn Lineariser>, Vec<WorldStep>)>,
    rules: GradientRules,
}

impl std::fmt::Debug for KeptStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptStep").field("worlds", &self.len()).finish_non_exhaustive()
    }
}

impl KeptStep {
    fn steps(&self) -> impl Iterator<Item = &WorldStep> {
        self.groups.iter().flat_map(|(_, steps)| steps)
    }

    /// Number of worlds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|(_, steps)| steps.len()).sum()
    }

    /// Whether there is no world.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory it takes, B.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.steps().map(WorldStep::bytes).sum()
    }

    /// States of all worlds after the step, q, v and act.
    pub fn after(&self) -> impl Iterator<Item = &State> {
        self.steps().map(|step| &step.after)
    }

    /// Gradients of a loss by what went into the step, from those by the states after it, world by world, and how far to
    /// trust each: products with transposed Jacobians, side by side on all threads. An empty part of an output stands for
    /// zeros. What is not finite is given as zero, and flagged.
    ///
    /// A world that was reset after the step starts a chain of its own: give zeros for it.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::NotFinite`] for wrong outputs.
    pub fn back(&self, outputs: &[Outputs]) -> Result<Vec<(Inputs, Certificate)>, Error> {
        let expected = self.len();
        if outputs.len() != expected {
            return Err(Error::Length { what: "gradients by states", world: None, expected, found: outputs.len() });
        }
        for (world, (output, state)) in outputs.iter().zip(self.after()).enumerate() {
            check_outputs(world, output, [state.v.len(), state.act.len()])?;
        }
        let mut rest = outputs;
        let mut out = Vec::with_capacity(expected);
        for (lineariser, steps) in &self.groups {
            let (own, others) = rest.split_at(steps.len());
            rest = others;
            let pairs = steps.par_iter().zip(own);
            out.par_extend(pairs.map(|(step, output)| lineariser.for_products(step, self.rules).back(output)));
        }
        Ok(out)
    }
}

impl Batch {
    /// The last step of every world, kept for [`KeptStep::back`]. [`Batch::keep_steps`] comes before the step;
    /// [`Batch::set_gradient_rules`] is heeded as it is now.
    ///
    /// # Errors
    /// [`Error::NoGradient`] where no step was kept, as after a reset; a device that fails.
    pub fn kept_step(&mut self) -> Result<KeptStep, Error> {
        let mut groups = Vec::with_capacity(self.groups.len());
        for group in &mut self.groups {
            let all: Vec<usize> = (0..group.len()).collect();
            let steps = group.last_steps(&all, true)?;
            groups.push((group.lineariser(), steps));
        }
        Ok(KeptStep { groups, rules: self.rules })
    }
}
