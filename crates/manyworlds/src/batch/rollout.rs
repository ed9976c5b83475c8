//! Gradients of a loss over many steps: forward with checkpoints, backward from the end with the steps computed anew.

use manyworlds_gradients::{Certificate, Inputs, Outputs};
use manyworlds_model::Model;
use rayon::prelude::*;

use super::{Batch, KeptStep};
use crate::{Error, State};

/// Steps of a batch that can be gone through backwards.
#[derive(Debug, Clone)]
pub struct Rollout {
    steps: usize,
    /// `[steps][n_controls]`; empty: they stayed as they were.
    controls: Vec<f64>,
    /// Batches before steps, by step.
    checkpoints: Vec<(usize, Vec<u8>)>,
    /// B
    memory: usize,
    /// Most that one step of the batch takes to be kept, B.
    step_bytes: usize,
}

impl Rollout {
    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Memory of its checkpoints, B.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.checkpoints.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// Gradient of one world's loss.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldGradient {
    /// The loss: the sum of what was given by step.
    pub loss: f64,
    /// By q at the start, in its tangent space, `[n_v]`.
    pub q: Vec<f64>,
    /// By v at the start, `[n_v]`.
    pub v: Vec<f64>,
    /// By activations at the start, `[n_act]`.
    pub act: Vec<f64>,
    /// By tau, which acted in all steps, `[n_v]`.
    pub tau: Vec<f64>,
    /// By the controls of each step, `[steps][n_u]`.
    pub ctrl: Vec<f64>,
    /// Least distance of a step to a switch of modes, as [`Certificate::margin`].
    pub margin: f64,
    /// Steps in which something acts at a gap just closed, as [`Certificate::closed`].
    pub closed: usize,
    /// Steps whose derivative is not valid. Their part of the chain is taken as it is, zero where it is not finite.
    pub doubtful: usize,
    /// What spoke against them, each reason once.
    pub problems: Vec<String>,
}

/// Gradients of a rollout.
#[derive(Debug, Clone)]
pub struct RolloutGradient {
    /// By world.
    pub worlds: Vec<WorldGradient>,
    /// Steps computed anew, less than one for each step of the rollout only if there was memory for more.
    pub recomputed: usize,
    /// Most memory that checkpoints and kept steps took together, B.
    pub peak_bytes: usize,
}

/// Problems of a world that are listed; more say nothing new.
const LISTED: usize = 8;

impl WorldGradient {
    fn new(model: &Model, steps: usize) -> Self {
        let zeros = |n: usize| vec![0.0; n];
        let (n_v, n_u) = (model.n_v, model.actuators.len());
        Self {
            loss: 0.0,
            q: zeros(n_v),
            v: zeros(n_v),
            act: zeros(model.n_act()),
            tau: zeros(n_v),
            ctrl: zeros(steps * n_u),
            margin: f64::INFINITY,
            closed: 0,
            doubtful: 0,
            problems: Vec::new(),
        }
    }

    /// Goes from after a step to before it.
    fn step_back(&mut self, step: usize, inputs: Inputs, certificate: Certificate) {
        let Inputs { q, v, tau, ctrl, act } = inputs;
        self.margin = self.margin.min(certificate.margin);
        self.closed += usize::from(certificate.closed > 0);
        self.doubtful += usize::from(!certificate.valid());
        for problem in certificate.reasons() {
            if self.problems.len() < LISTED && !self.problems.contains(problem) {
                self.problems.push(problem.clone());
            }
        }
        (self.q, self.v, self.act) = (q, v, act);
        self.tau.iter_mut().zip(tau).for_each(|(sum, x)| *sum += x);
        let n_u = ctrl.len();
        self.ctrl[step * n_u..(step + 1) * n_u].copy_from_slice(&ctrl);
    }
}

/// How many of `units` steps to advance before the next checkpoint when there is room for `slots` more, so that as few as
/// possible are computed again (A. Griewank and A. Walther, *Algorithm 799: Revolve*, 2000).
fn advance(units: usize, slots: usize) -> usize {
    // Units that can be gone through from a checkpoint, with s more, if none is advanced over more than r times.
    let reach =
        |s: usize, r: usize| (1..=s + 1).fold(1_u64, |b, k| (b * (r + k) as u64 / k as u64).min(1 << 40)) as usize;
    let mut repetitions = 1;
    while reach(slots, repetitions) < units {
        repetitions += 1;
    }
    let least = units - reach(slots - 1, repetitions).min(units);
    let fair = if repetitions >= 2 { reach(slots, repetitions - 2) } else { 1 };
    least.max(fair).clamp(1, units - 1)
}

impl Batch {
    /// Takes `steps` steps and remembers what [`Batch::backward`] needs: checkpoints now and then. `controls` holds those of
    /// [`Batch::step`] for every step, `[steps][n_controls]`; empty, they stay as they are. Steps are kept from now on, as by
    /// [`Batch::keep_steps`].
    ///
    /// `memory`, B, is what checkpoints and kept steps may take together, here and on the way back; with less of it more
    /// steps are computed anew there. About the square root of `steps` of both is enough to compute each step just once
    /// more.
    ///
    /// # Errors
    /// [`Error::Option`] for no steps, and for too little memory;
    /// [`Error::Length`] or [`Error::NotFinite`] for wrong controls; a device that fails.
    pub fn rollout<C: Copy + Into<f64>>(
        &mut self,
        steps: usize,
        controls: &[C],
        memory: usize,
    ) -> Result<Rollout, Error> {
        if steps == 0 {
            return Err(Error::Option { option: "steps", expected: "at least 1", found: "0".into() });
        }
        let expected = steps * self.n_controls();
        if !controls.is_empty() && controls.len() != expected {
            return Err(Error::Length { what: "controls", world: None, expected, found: controls.len() });
        }
        let controls: Vec<f64> = controls.iter().map(|&c| c.into()).collect();
        self.keep_steps(true)?;
        let mut out = Rollout { steps, controls, checkpoints: Vec::new(), memory, step_bytes: 0 };
        let mut stride = steps;
        for step in 0..steps {
            if step % stride == 0 {
                out.checkpoints.push((step, self.checkpoint()?));
            }
            self.step_of(&out, step)?;
            let (by, rules) = (self.derivatives_by, self.rules);
            let bytes = self.groups.iter().map(|group| group.taken_bytes(by, rules)).sum();
            out.step_bytes = out.step_bytes.max(bytes);
            if step == 0 {
                // Half of what is left beside a few steps and the batch itself.
                let (step, own) = (out.step_bytes, out.bytes());
                let most = memory.saturating_sub(2 * step + own) / 2 / own;
                stride = steps.div_ceil(most.min(steps.isqrt()).max(1));
            }
        }
        let largest = out.checkpoints.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
        let needed = out.bytes() + largest + out.step_bytes;
        if needed > memory {
            return Err(Error::Option {
                option: "memory",
                expected: "enough for the checkpoints of the batch and one kept step",
                found: format!("{memory} B, of {needed} B"),
            });
        }
        Ok(out)
    }

    fn step_of(&mut self, rollout: &Rollout, step: usize) -> Result<(), Error> {
        let n = rollout.controls.len() / rollout.steps;
        self.step(&rollout.controls[step * n..(step + 1) * n])
    }

    /// Gradients, by world, of the sum over the steps of a rollout of what `loss` gives: called with a step (0 after the
    /// first), a world, its state after that step (q, v and act), and zeros to put the gradient of the loss by that state into
    /// (q in its tangent space). Worlds take turns in any order, on any thread.
    ///
    /// The steps are computed anew in pieces, from the last to the first, each differentiated by one transposed solve. The
    /// results do not depend on the memory given. Afterwards the batch is as it was before the call.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] for a rollout of another batch, a device that fails.
    pub fn backward(
        &mut self,
        rollout: &Rollout,
        loss: impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync,
    ) -> Result<RolloutGradient, Error> {
        let (now, steps_now) = (self.checkpoint()?, self.steps);
        let found = self.sweep(rollout, now.len(), &loss);
        // Whatever happened.
        let restored = self.restore(&now);
        self.steps = steps_now;
        let found = found?;
        restored?;
        Ok(found)
    }

    /// `aside`: memory of the batch put aside, B.
    fn sweep(
        &mut self,
        rollout: &Rollout,
        aside: usize,
        loss: &(impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync),
    ) -> Result<RolloutGradient, Error> {
        let worlds = self.groups.iter().flat_map(|group| {
            let model = group.model();
            (0..group.len()).map(|_| WorldGradient::new(model, rollout.steps))
        });
        let mut out = RolloutGradient { worlds: worlds.collect(), recomputed: 0, peak_bytes: 0 };
        let largest = rollout.checkpoints.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(1).max(1);
        // Half of what is left for kept steps, the rest for checkpoints between those there are.
        let left = rollout.memory.saturating_sub(rollout.bytes() + aside);
        let piece = ((left / 2) / rollout.step_bytes.max(1)).max(1);
        let slots = left.saturating_sub(piece * rollout.step_bytes) / largest;
        let mut end = rollout.steps;
        for (begin, bytes) in rollout.checkpoints.iter().rev() {
            let mut extra: Vec<(usize, Vec<u8>)> = Vec::new();
            while end > *begin {
                let (mut at, from) = extra.last().map_or((*begin, bytes), |(at, bytes)| (*at, bytes));
                self.restore(from)?;
                while end - at > piece {
                    let units = (end - at).div_ceil(piece);
                    let free = slots - extra.len();
                    let go = piece * if free == 0 { units - 1 } else { advance(units, free) };
                    for step in at..at + go {
                        self.step_of(rollout, step)?;
                    }
                    at += go;
                    out.recomputed += go;
                    if free > 0 && end - at > piece {
                        extra.push((at, self.checkpoint()?));
                    }
                }
                let mut tape = Vec::with_capacity(end - at);
                for step in at..end {
                    self.step_of(rollout, step)?;
                    tape.push(self.kept_step()?);
                }
                out.recomputed += end - at;
                let held: usize = extra.iter().map(|(_, bytes)| bytes.len()).sum();
                let kept: usize = tape.iter().map(KeptStep::bytes).sum();
                out.peak_bytes = out.peak_bytes.max(rollout.bytes() + aside + held + kept);
                back_through(&tape, at, &mut out.worlds, loss)?;
                end = at;
                extra.retain(|(at, _)| *at < end);
            }
        }
        Ok(out)
    }
}

/// Through some steps, the first of which has number `first`, backwards.
fn back_through(
    tape: &[KeptStep],
    first: usize,
    worlds: &mut [WorldGradient],
    loss: &(impl Fn(usize, usize, &State, &mut Outputs) -> f64 + Sync),
) -> Result<(), Error> {
    for (index, kept) in tape.iter().enumerate().rev() {
        let step = first + index;
        let states: Vec<&State> = kept.after().collect();
        let before = |(world, (gradient, after)): (usize, (&mut WorldGradient, &State))| {
            let zeros = |like: &[f64]| vec![0.0; like.len()];
            let WorldGradient { q, v, act, .. } = gradient;
            let mut own = Outputs { q: zeros(q), v: zeros(v), act: zeros(act) };
            let added = loss(step, world, after, &mut own);
            for (sum, own) in [(&mut *q, own.q), (&mut *v, own.v), (&mut *act, own.act)] {
                sum.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
            }
            let outputs = Outputs { q: std::mem::take(q), v: std::mem::take(v), act: std::mem::take(act) };
            gradient.loss += added;
            outputs
        };
        let outputs: Vec<Outputs> = worlds.par_iter_mut().zip(states).enumerate().map(before).collect();
        let found = kept.back_from(&outputs)?;
        let gradients = worlds.iter_mut().zip(found);
        gradients.for_each(|(gradient, (inputs, certificate))| gradient.step_back(step, inputs, certificate));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::advance;

    /// Steps taken to go through `units` backwards from a checkpoint before them.
    fn cost(units: usize, slots: usize) -> usize {
        if units == 1 {
            return 1;
        }
        if slots == 0 {
            return units * (units + 1) / 2;
        }
        let go = advance(units, slots);
        go + cost(units - go, slots - 1) + cost(go, slots)
    }

    /// The least by trying all.
    fn best(units: usize, slots: usize) -> usize {
        let mut table = vec![vec![0; slots + 1]; units + 1];
        for u in 1..=units {
            table[u][0] = u * (u + 1) / 2;
            for s in 1..=slots {
                table[u][s] = (1..u).map(|go| go + table[u - go][s - 1] + table[go][s]).min().unwrap_or(1);
            }
        }
        table[units][slots]
    }

    #[test]
    fn few_steps_are_computed_again() {
        for (units, slots) in [(2, 1), (5, 1), (10, 2), (10, 3), (40, 3), (40, 40), (56, 5), (100, 4)] {
            assert_eq!(cost(units, slots), best(units, slots), "{units} units, {slots} checkpoints");
        }
    }
}
