//! Steps of all worlds that are gone back through one by one, in loops of a trainer's own.

use manyworlds_gradients::{Certificate, GradientRules, Inputs, Outputs};

use super::Batch;
use super::derivatives::check_outputs;
use crate::group::{Request, TakenSteps, WorldProduct};
use crate::{Error, State};

/// One step of every world of a batch, kept to go back through it later, whatever happens to the batch meanwhile: what a
/// policy that looks at states needs, which [`Batch::backward`] cannot know of.
pub struct KeptStep {
    groups: Vec<Box<dyn TakenSteps>>,
    rules: GradientRules,
}

impl std::fmt::Debug for KeptStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptStep").field("worlds", &self.len()).finish_non_exhaustive()
    }
}

impl KeptStep {
    /// Number of worlds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.len()).sum()
    }

    /// Whether there is no world.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory it takes, B.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.groups.iter().map(|group| group.bytes()).sum()
    }

    /// States of all worlds after the step, q, v and act.
    pub fn after(&self) -> impl Iterator<Item = &State> {
        self.groups.iter().flat_map(|group| (0..group.len()).map(|world| group.after(world)))
    }

    /// Gradients of a loss by what went into the step, from those by the states after it, world by world, and how far to
    /// trust each: products with transposed Jacobians, as of [`Batch::differentiate`] and by whom that would have asked
    /// when the step was kept. An empty part of an output stands for zeros. What is not finite is given as zero, and flagged.
    ///
    /// A world that was reset after the step starts a chain of its own: give zeros for it.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::NotFinite`] for wrong outputs; a device that fails.
    pub fn back(&self, outputs: &[Outputs]) -> Result<Vec<(Inputs, Certificate)>, Error> {
        let expected = self.len();
        if outputs.len() != expected {
            return Err(Error::Length { what: "gradients by states", world: None, expected, found: outputs.len() });
        }
        for (world, (output, state)) in outputs.iter().zip(self.after()).enumerate() {
            check_outputs(world, output, [state.v.len(), state.act.len()])?;
        }
        self.back_from(outputs)
    }

    /// [`Self::back`] of as many outputs as there are worlds.
    pub(super) fn back_from(&self, outputs: &[Outputs]) -> Result<Vec<(Inputs, Certificate)>, Error> {
        let mut rest = outputs;
        let mut out = Vec::with_capacity(self.len());
        for group in &self.groups {
            let (own, others) = rest.split_at(group.len());
            rest = others;
            let zeros = |n: usize| vec![0.0; n];
            let room = |world: usize| {
                let (State { v, act, .. }, n_u) = (group.after(world), group.n_controls());
                let [q, v, tau] = [(); 3].map(|()| zeros(v.len()));
                Inputs { q, v, tau, ctrl: zeros(n_u), act: zeros(act.len()) }
            };
            let mut inputs: Vec<Inputs> = (0..group.len()).map(room).collect();
            let pairs = own.iter().zip(&mut inputs).enumerate();
            let requests = pairs.map(|(world, (from, to))| request(world, from, to)).collect();
            let mut certificates = group.differentiate(self.rules, requests)?;
            certificates.sort_unstable_by_key(|&(world, _)| world);
            out.extend(inputs.into_iter().zip(certificates.into_iter().map(|(_, certificate)| certificate)));
        }
        Ok(out)
    }
}

/// The product of one world of a group.
fn request<'a>(world: usize, from: &'a Outputs, to: &'a mut Inputs) -> Request<'a> {
    let Inputs { q, v, tau, ctrl, act } = to;
    let product = WorldProduct::Back { from: [&from.q, &from.v, &from.act], to: [q, v, tau, ctrl, act] };
    Request { order: world, world, product }
}

impl Batch {
    /// The last step of every world, kept for [`KeptStep::back`]. [`Batch::keep_steps`] comes before the step;
    /// [`Batch::set_gradient_rules`] and [`Batch::set_derivatives_by`] are heeded as they are now.
    ///
    /// # Errors
    /// [`Error::NoGradient`] where no step was kept, as after a reset; a device that fails.
    pub fn kept_step(&mut self) -> Result<KeptStep, Error> {
        let (by, rules) = (self.derivatives_by, self.rules);
        let groups = self.groups.iter_mut().map(|group| group.take(by, rules)).collect::<Result<_, Error>>()?;
        Ok(KeptStep { groups, rules })
    }
}
