//! Randomised smoothing: gradients of the expected loss of a rollout whose start and controls are perturbed at random, the
//! worlds of a batch as samples (H. J. T. Suh et al., *Do Differentiable Simulators Give Better Policy Gradients?*, 2022).
//!
//! Of `F(x) = E f(x + s w)`, `w` standard normal, entry by entry with deviations `s`, two estimates:
//!
//! * the first-order batched gradient (FoBG, definition 3), `mean of grad f(x + s w_i)`. Where `f` is continuous it is that
//!   of `F`, also where `f` itself is flat about `x`; a jump of `f` (a contact made or missed) it does not see.
//! * the zeroth-order batched gradient (ZoBG, definition 2), `mean of (f(x + s w_i) - b_i) w_i / s`, with the mean of the other
//!   samples for the baseline `b_i`. It is that of `F` whatever `f` is, with more variance.

use manyworlds_gradients::{Inputs, Outputs};

use super::{Batch, RolloutGradient};
use crate::tangent::moved;
use crate::{Error, State, random};

/// How a rollout is perturbed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Smoothing {
    /// Standard deviations: of q in its tangent space, v and tau at the start, `[n_v]` each, and of the controls, `[n_u]`,
    /// which are perturbed in every step anew. Empty parts and zeros are not perturbed.
    pub spread: Inputs,
    /// Of what is drawn: the same seed draws the same perturbations for the same number of worlds.
    pub seed: u64,
}

/// A mean over samples and how well it is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimate {
    /// By q and v at the start, tau, `[n_v]` each, the controls of each step, `[steps][n_u]`, and activations at the start,
    /// `[n_act]`.
    pub mean: Inputs,
    /// Standard errors of the means, likewise: standard deviation of the samples over the root of their number.
    pub standard_error: Inputs,
}

/// Gradients of the expected loss of a perturbed rollout.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SmoothedGradient {
    /// The expected loss and its standard error.
    pub loss: [f64; 2],
    /// The first-order batched gradient.
    pub first_order: Estimate,
    /// The zeroth-order batched gradient; zero by what is not perturbed, of which it knows nothing.
    pub zeroth_order: Estimate,
    /// Samples whose loss is finite; the others are left out.
    pub samples: usize,
    /// Samples with a step whose derivative is not valid ([`super::WorldGradient::doubtful`]).
    pub doubtful: usize,
}

/// The parts of [`Inputs`] by number.
fn parts(of: &Inputs) -> [&Vec<f64>; 5] {
    [&of.q, &of.v, &of.tau, &of.ctrl, &of.act]
}

fn parts_mut(of: &mut Inputs) -> [&mut Vec<f64>; 5] {
    [&mut of.q, &mut of.v, &mut of.tau, &mut of.ctrl, &mut of.act]
}

/// Samples summed up entry by entry, with their squares.
struct Sums {
    count: f64,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    fn new(n: usize) -> Self {
        Self { count: 0.0, first: vec![0.0; n], second: vec![0.0; n] }
    }

    fn add(&mut self, sample: impl Iterator<Item = f64>) {
        self.count += 1.0;
        for ((first, second), x) in self.first.iter_mut().zip(&mut self.second).zip(sample) {
            // Welford's update: no difference of large numbers.
            let off = x - *first;
            *first += off / self.count;
            *second += off * (x - *first);
        }
    }

    /// Means and their standard errors.
    fn done(self) -> [Vec<f64>; 2] {
        let degrees = (self.count - 1.0).max(1.0) * self.count.max(1.0);
        let errors = self.second.iter().map(|s| (s / degrees).sqrt()).collect();
        [self.first, errors]
    }
}

impl Batch {
    /// Gradients of the expected loss of `steps` steps from a state, start and controls perturbed at random, with standard
    /// errors; each world is a sample. `controls` are those of one world, `[steps][n_u]`; empty: those of the state in every
    /// step. Empty parts of the state are the model's initial q, and zeros. `memory` and `loss` are as in
    /// [`Batch::rollout`] and [`Batch::backward`]. Afterwards the batch is as it was before the call.
    ///
    /// Gradients by q are those in the tangent spaces of the samples: by rotations they are those of the expected loss to
    /// first order in the spread.
    ///
    /// # Errors
    /// [`Error::Option`] for a batch of several groups, less than two worlds, a spread below zero, and as
    /// [`Batch::rollout`]; [`Error::Length`] or [`Error::NotFinite`] for wrong numbers; a device that fails.
    pub fn smoothed_gradient(
        &mut self,
        start: &State,
        steps: usize,
        controls: &[f64],
        smoothing: &Smoothing,
        memory: usize,
        loss: impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync,
    ) -> Result<SmoothedGradient, Error> {
        let nominal = self.nominal(start, steps, controls, smoothing)?;
        let (now, steps_now) = (self.checkpoint()?, self.steps);
        let found = self.sampled(&nominal, steps, smoothing, memory, &loss);
        // Whatever happened.
        let restored = self.restore(&now);
        self.steps = steps_now;
        let found = found?;
        restored?;
        Ok(found)
    }

    /// What is perturbed: q and v at the start, tau, controls of every step; checked.
    fn nominal(&self, start: &State, steps: usize, controls: &[f64], smoothing: &Smoothing) -> Result<Inputs, Error> {
        let wrong = |option, expected, found: usize| Error::Option { option, expected, found: found.to_string() };
        if self.n_groups() != 1 {
            return Err(wrong("groups", "1: each world is a sample", self.n_groups()));
        }
        if self.len() < 2 {
            return Err(wrong("worlds", "at least 2 samples", self.len()));
        }
        let model = self.model(0)?;
        let (n_v, n_u, n_act) = (model.n_v, model.actuators.len(), model.n_act());
        let filled = |part: &[f64], otherwise: Vec<f64>| if part.is_empty() { otherwise } else { part.to_vec() };
        let every = filled(&start.ctrl, vec![0.0; n_u]);
        let out = Inputs {
            q: filled(&start.q, model.initial_q()),
            v: filled(&start.v, vec![0.0; n_v]),
            tau: filled(&start.tau, vec![0.0; n_v]),
            ctrl: filled(controls, every.repeat(steps)),
            act: filled(&start.act, vec![0.0; n_act]),
        };
        let spread = &smoothing.spread;
        for (what, part, expected) in [
            ("q", &out.q, model.n_q),
            ("v", &out.v, n_v),
            ("tau", &out.tau, n_v),
            ("controls", &out.ctrl, steps * n_u),
            ("activations", &out.act, n_act),
            ("spread of q", &spread.q, n_v),
            ("spread of v", &spread.v, n_v),
            ("spread of tau", &spread.tau, n_v),
            ("spread of controls", &spread.ctrl, n_u),
            ("spread of activations", &spread.act, n_act),
        ] {
            let absent = part.is_empty() && what.starts_with("spread");
            if !absent && part.len() != expected {
                return Err(Error::Length { what, world: None, expected, found: part.len() });
            }
            if let Some(index) = part.iter().position(|x| !x.is_finite()) {
                return Err(Error::NotFinite { what, world: None, index, found: part[index] });
            }
        }
        if let Some(below) = parts(spread).into_iter().flatten().find(|x| **x < 0.0) {
            return Err(Error::Option {
                option: "spread",
                expected: "standard deviations, not below zero",
                found: below.to_string(),
            });
        }
        Ok(out)
    }

    fn sampled(
        &mut self,
        nominal: &Inputs,
        steps: usize,
        smoothing: &Smoothing,
        memory: usize,
        loss: &(impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync),
    ) -> Result<SmoothedGradient, Error> {
        let model = self.model(0)?;
        let (n_v, n_u) = (model.n_v, model.actuators.len());
        let [q, v, tau] = [(); 3].map(|()| vec![0.0; n_v]);
        let zeros = Inputs { q, v, tau, ctrl: vec![0.0; steps * n_u], act: vec![0.0; model.n_act()] };
        // Deviations of all that is perturbed, controls of every step.
        let mut spread = zeros.clone();
        for (to, from) in parts_mut(&mut spread).into_iter().zip(parts(&smoothing.spread)) {
            let n = from.len().max(1);
            to.chunks_mut(n).filter(|_| !from.is_empty()).for_each(|to| to.copy_from_slice(from));
        }
        // Standard normal, by world.
        let draw = |world: usize| {
            let mut out = zeros.clone();
            for (number, part) in parts_mut(&mut out).into_iter().enumerate() {
                for (entry, x) in part.iter_mut().enumerate() {
                    *x = random::normal(smoothing.seed, world as u64, number as u64, entry as u64);
                }
            }
            out
        };
        let mut states = Vec::with_capacity(self.len());
        let mut controls = vec![0.0; steps * self.n_controls()];
        for world in 0..self.len() {
            let mut at = draw(world);
            for (x, s) in parts_mut(&mut at).into_iter().zip(parts(&spread)) {
                x.iter_mut().zip(s).for_each(|(x, s)| *x *= s);
            }
            let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
            let (q, v) = (moved(model, &nominal.q, &at.q), sum(&nominal.v, &at.v));
            let (tau, act) = (sum(&nominal.tau, &at.tau), sum(&nominal.act, &at.act));
            states.push((world, State { q, v, tau, ctrl: Vec::new(), act }));
            for (step, own) in sum(&nominal.ctrl, &at.ctrl).chunks(n_u.max(1)).enumerate() {
                let first = step * self.n_controls() + world * n_u;
                controls[first..first + n_u].copy_from_slice(own);
            }
        }
        self.reset(&states)?;
        let rollout = self.rollout(steps, &controls, memory)?;
        let found = self.backward(&rollout, loss)?;
        Ok(estimates(&found, &spread, draw))
    }
}

/// Both gradients from those of the samples and what they were perturbed by, over `spread`.
fn estimates(found: &RolloutGradient, spread: &Inputs, draw: impl Fn(usize) -> Inputs) -> SmoothedGradient {
    let used: Vec<usize> = (0..found.worlds.len()).filter(|&world| found.worlds[world].loss.is_finite()).collect();
    let n: usize = parts(spread).into_iter().map(Vec::len).sum();
    let mut losses = Sums::new(1);
    used.iter().for_each(|&world| losses.add(std::iter::once(found.worlds[world].loss)));
    let [loss, loss_error] = losses.done();
    let (mut first, mut zeroth) = (Sums::new(n), Sums::new(n));
    // Against the mean of the others: theirs and its own differ by this factor.
    let others = used.len() as f64 / (used.len() as f64 - 1.0).max(1.0);
    for &world in &used {
        let own = &found.worlds[world];
        first.add([&own.q, &own.v, &own.tau, &own.ctrl, &own.act].into_iter().flatten().copied());
        let off = (own.loss - loss[0]) * others;
        let drawn = draw(world);
        let pairs = parts(&drawn).into_iter().zip(parts(spread)).flat_map(|(w, s)| w.iter().zip(s));
        zeroth.add(pairs.map(|(w, s)| if *s > 0.0 { off * w / s } else { 0.0 }));
    }
    let shaped = |numbers: Vec<f64>| {
        let (mut out, mut rest) = (spread.clone(), &numbers[..]);
        for part in parts_mut(&mut out) {
            let (own, others) = rest.split_at(part.len());
            part.copy_from_slice(own);
            rest = others;
        }
        out
    };
    let estimate = |sums: Sums| {
        let [mean, standard_error] = sums.done().map(shaped);
        Estimate { mean, standard_error }
    };
    SmoothedGradient {
        loss: [loss[0], loss_error[0]],
        first_order: estimate(first),
        zeroth_order: estimate(zeroth),
        samples: used.len(),
        doubtful: used.iter().filter(|&&world| found.worlds[world].doubtful > 0).count(),
    }
}
