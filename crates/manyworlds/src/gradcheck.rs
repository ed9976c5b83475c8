//! Derivatives of a step against central differences of the step itself.

mod differences;
mod directions;

use manyworlds_gpu::Instant;

use manyworlds_contact::ContactModel;
use manyworlds_model::Model;

use crate::tangent::{between, moved};
use crate::{Batch, BatchOptions, Certificate, Error, Jacobian, Outputs, State, random};

use differences::{Differences, Entry, Input, settle};

pub use directions::Directions;

/// One derivative of a step, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// As in [`Jacobian`]: `dv_dq` and so on.
    pub name: &'static str,
    /// Largest difference of an entry beyond what residual and rounding of the steps can make of it, over the largest
    /// entry of the block, or, where constraints hold all of it near zero, over what the input would do without them: 1 for
    /// velocities by velocities and positions by positions, a time step for positions by velocities, one over it for
    /// velocities by positions, the response of the free mass to forces and controls.
    pub error: f64,
    /// Row and column of that entry.
    pub worst: [usize; 2],
    /// The analytic derivative there, and the central difference.
    pub values: [f64; 2],
}

/// The derivatives of one step, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The analytic ones; where `whole`, those of the steps that are differenced.
    pub jacobian: Jacobian,
    /// Every block.
    pub blocks: Vec<Block>,
    /// Inputs at which the step has a kink within the differences' reach (the two one-sided differences disagree): not
    /// compared. Entries of q, v, tau, ctrl and act.
    pub kinks: [usize; 5],
    /// Inputs compared, likewise.
    pub inputs: [usize; 5],
    /// Of each input that was compared, the error that residual and rounding of its steps could hide, relative as errors are.
    pub hidden: Vec<f64>,
    /// Gaps are just closed, and the differences are those of steps that undo violations whole, which have no kink there
    /// ([`crate::Certificate::closed`]); the step itself is the same. So are its derivatives, but for what else undoes
    /// violations: couplings, limits.
    pub whole: bool,
    /// Largest residual of a solve of a differenced step, m/s; under a solver of another contact than exact its tolerance.
    pub residual: f64,
    /// Time of the step, of one world alone, us.
    pub step_us: f64,
    /// Time of its derivative, us.
    pub jacobian_us: f64,
}

impl Comparison {
    /// The largest error of a block.
    #[must_use]
    pub fn error(&self) -> f64 {
        // `max` would swallow a NaN.
        self.blocks.iter().fold(0.0, |worst, block| if block.error <= worst { worst } else { block.error })
    }
}

/// How far the one-sided differences may disagree, relative to the largest entry of the column and one, before the step
/// counts as having a kink there.
const KINK: f64 = 1e-3;

/// A block whose largest entry is below this counts as zeros: its errors are absolute.
const LEAST: f64 = 1e-12;

/// A force or control that constraints hold back to less than this part of its free response is changed by what the free
/// response asks for.
const HELD: f64 = 1e-3;

/// Rounding of a velocity after a step, relative to the largest and one.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Of worlds with more degrees of freedom than this two are stepped at a time: those that are not asked for again would go on from
/// where they are, for nothing.
const MOST_ABREAST: usize = 1000;

/// Velocities after two steps agree to this, relative to the largest and one.
const SAME: f64 = 1e-9;

/// Worlds of a comparison.
struct Worlds {
    /// The step itself.
    single: Batch,
    /// The steps from changed states, some at a time.
    batch: Batch,
}

impl Worlds {
    /// `inputs`: how many are compared.
    fn new(model: &Model, options: &BatchOptions, inputs: usize) -> Result<Self, Error> {
        let mut single = Batch::new(&[(model, 1)], options)?;
        single.keep_steps(true)?;
        let abreast = if model.n_v > MOST_ABREAST { 1 } else { inputs.max(1) };
        Ok(Self { single, batch: Batch::new(&[(model, 2 * abreast)], options)? })
    }

    /// The state after a step from a state.
    fn step(&mut self, state: &State) -> Result<State, Error> {
        self.single.reset(&[(0, state.clone())])?;
        self.single.step::<f64>(&[])?;
        self.single.state(0)
    }
}

/// Compares derivatives with differences.
pub struct Checker<'m> {
    model: &'m Model,
    options: BatchOptions,
    worlds: Worlds,
    /// The same where violations are undone whole; made when first needed.
    whole: Option<Worlds>,
    step: f64,
    /// Inputs compared at a state.
    inputs: usize,
    /// States compared so far: other inputs are drawn at each.
    compared: u64,
}

impl<'m> Checker<'m> {
    /// Prepares comparisons with differences of `step` either way: rad, m, m/s or
    /// rad/s; of forces and controls as much as changes the velocity by that.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn new(model: &'m Model, options: &BatchOptions, step: f64) -> Result<Self, Error> {
        Self::sampled(model, options, step, usize::MAX)
    }

    /// The same with at most `most` inputs compared at a state, drawn anew for each: of large models all of them take long.
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub fn sampled(model: &'m Model, options: &BatchOptions, step: f64, most: usize) -> Result<Self, Error> {
        let inputs = widths(model).iter().sum::<usize>().min(most);
        let worlds = Worlds::new(model, options, inputs)?;
        Ok(Self { model, options: options.clone(), worlds, whole: None, step, inputs, compared: 0 })
    }

    /// The inputs compared at the next state, in order.
    fn draw(&mut self) -> Vec<usize> {
        let all = widths(self.model).iter().sum::<usize>();
        let mut drawn: Vec<usize> = (0..all).collect();
        for place in 0..self.inputs.min(all.saturating_sub(1)) {
            let x = 0.5 + 0.5 * random::symmetric(0, 1, self.compared, place as u64);
            drawn.swap(place, place + ((all - place) as f64 * x) as usize);
        }
        drawn.truncate(self.inputs);
        drawn.sort_unstable();
        self.compared += 1;
        drawn
    }

    /// Whether a step from a state is the same where violations are undone whole.
    fn is_whole(&mut self, state: &State, after: &State) -> Result<bool, Error> {
        if self.whole.is_none() {
            let mut options = self.options.clone();
            options.stabilisation.fraction = 1.0;
            self.whole = Some(Worlds::new(self.model, &options, self.inputs)?);
        }
        let Some(worlds) = &mut self.whole else { return Ok(false) };
        let found = worlds.step(state)?;
        let scale = after.v.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        Ok(found.v.iter().zip(&after.v).all(|(a, b)| (a - b).abs() <= SAME * scale))
    }

    /// The worlds of the step itself, or those that [`Self::is_whole`] made.
    fn worlds(&mut self, whole: bool) -> &mut Worlds {
        self.whole.as_mut().filter(|_| whole).unwrap_or(&mut self.worlds)
    }

    /// What is known of the derivative at a state without differences: of products where directions are to be compared, else
    /// of the Jacobian.
    ///
    /// # Errors
    /// As [`Batch::reset`].
    pub fn look(&mut self, state: &State, directions: bool) -> Result<Certificate, Error> {
        self.worlds.step(state)?;
        let single = &mut self.worlds.single;
        if !directions {
            return Ok(single.jacobian(0)?.certificate);
        }
        let n_v = self.model.n_v;
        let draw = |which: u64| (0..n_v).map(|i| random::symmetric(which, 0, 0, i as u64)).collect();
        Ok(single.back(0, &Outputs { q: draw(0), v: draw(1), act: Vec::new() })?.1)
    }

    /// Compares at a state.
    ///
    /// # Errors
    /// As [`Batch::reset`].
    pub fn compare(&mut self, state: &State) -> Result<Comparison, Error> {
        let inputs = self.draw();
        Ok(self.differences(state, &inputs, self.step)?.comparison())
    }

    /// The same, and inputs whose error is above `tolerance`, or that look kinked, are differenced again, five times as far and
    /// then a fifth as far: there the solver leaves so much less of the differences, here there are fewer kinks, while a wrong
    /// derivative stays wrong. Each entry has its smallest error; where second differences do not grow as those of a smooth step
    /// do, the input has a kink.
    ///
    /// # Errors
    /// As [`Batch::reset`].
    pub fn compare_closely(&mut self, state: &State, tolerance: f64) -> Result<Comparison, Error> {
        let inputs = self.draw();
        let step = self.step;
        let mut found = self.differences(state, &inputs, step)?;
        settle(&mut found.inputs, tolerance, |again, ratio| Ok(self.differences(state, again, ratio * step)?.inputs))?;
        Ok(found.comparison())
    }

    /// The states after steps from some states, and the largest residual of these steps, m/s.
    fn steps(&mut self, states: Vec<State>, whole: bool) -> Result<(Vec<State>, f64), Error> {
        let batch = &mut self.worlds(whole).batch;
        let (mut after, mut residual, mut summaries) = (Vec::with_capacity(states.len()), 0.0, Vec::new());
        let mut states = states.into_iter();
        while states.len() > 0 {
            let some: Vec<(usize, State)> = states.by_ref().take(batch.len()).enumerate().collect();
            batch.reset(&some)?;
            batch.step::<f64>(&[])?;
            batch.summaries(&mut summaries)?;
            residual = summaries[..some.len()].iter().fold(residual, |worst: f64, s| worst.max(s.residual_scaled));
            for world in 0..some.len() {
                after.push(batch.state(world)?);
            }
        }
        // Of another contact than the certificate's, the residual is how far apart the two are: the solver's own is at
        // most what it was asked for.
        Ok(match manyworlds_contact::solver(&self.options.solver)?.model() {
            ContactModel::Exact => (after, residual),
            ContactModel::Convex | ContactModel::Pyramid => (after, self.options.tolerance),
        })
    }

    fn differences(&mut self, state: &State, inputs: &[usize], step: f64) -> Result<Differences, Error> {
        let (model, n_v) = (self.model, self.model.n_v);
        let single = &mut self.worlds.single;
        single.reset(&[(0, state.clone())])?;
        // Whole: forces and controls too.
        let state = &single.state(0)?;
        let clock = Instant::now();
        single.step::<f64>(&[])?;
        let step_us = clock.elapsed().as_secs_f64() * 1e6;
        let clock = Instant::now();
        let mut jacobian = single.jacobian(0)?;
        let jacobian_us = clock.elapsed().as_secs_f64() * 1e6;
        let base = single.state(0)?;
        let largest = |block: &[f64]| block.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // An input without effect but rounding may change by any amount.
        let per_velocity = |block: &[f64], free: f64| {
            let own = largest(block);
            step / Some(if own > HELD * free { own } else { free }).filter(|&x| x > LEAST).unwrap_or(1.0)
        };
        let [by_force, by_control] = jacobian.free;
        let [by_tau, by_ctrl, by_act] =
            [(&jacobian.dv_dtau, by_force), (&jacobian.dv_dctrl, by_control), (&jacobian.dv_dact, by_control)]
                .map(|(block, free)| per_velocity(block, free));
        let steps = [step, step, by_tau, by_ctrl, by_act];
        let mut states = Vec::with_capacity(2 * inputs.len());
        for &input in inputs {
            for sign in [1.0, -1.0] {
                let mut changed = state.clone();
                let (part, k) = part_of(model, input);
                let by = sign * steps[part];
                match part {
                    0 => {
                        let mut d = vec![0.0; n_v];
                        d[k] = by;
                        changed.q = moved(model, &state.q, &d);
                    }
                    1 => changed.v[k] += by,
                    2 => changed.tau[k] += by,
                    3 => changed.ctrl[k] += by,
                    _ => changed.act[k] += by,
                }
                states.push(changed);
            }
        }
        let whole = jacobian.certificate.closed > 0 && self.is_whole(state, &base)?;
        if whole {
            // Couplings and joint limits, too, undo their violations whole there.
            let certificate = jacobian.certificate;
            jacobian = Jacobian { certificate, ..self.worlds(whole).single.jacobian(0)? };
        }
        let (after, residual) = self.steps(states, whole)?;
        let Jacobian { dq_dq, dq_dv, dq_dtau, dq_dctrl, dq_dact, dact_dctrl, dact_dact, .. } = &jacobian;
        let Jacobian { dv_dq, dv_dv, dv_dtau, dv_dctrl, dv_dact, .. } = &jacobian;
        // Activations follow their controls alone.
        let nothing = &vec![0.0; model.n_act() * n_v];
        let blocks = [
            [dq_dq, dq_dv, dq_dtau, dq_dctrl, dq_dact],
            [dv_dq, dv_dv, dv_dtau, dv_dctrl, dv_dact],
            [nothing, nothing, nothing, dact_dctrl, dact_dact],
        ];
        // A block that is all zeros has no scale of its own, and differences round.
        let scale = |block: &[f64]| if largest(block) > LEAST { largest(block) } else { 1.0 };
        let h = self.options.dt.unwrap_or(model.options.timestep);
        // What the inputs do to what is free, where constraints may hold them.
        let natural = [
            [1.0, h, h * by_force, h * by_control, h * by_control],
            [1.0 / h, 1.0, by_force, by_control, by_control],
            [0.0; 5],
        ];
        let held = jacobian.certificate.size > 0;
        let scales: [[f64; 5]; 3] = std::array::from_fn(|which| {
            std::array::from_fn(|part| {
                let own = scale(blocks[which][part]);
                if held { own.max(natural[which][part]) } else { own }
            })
        });
        let noise = noise(residual, &base);
        let mut found = Vec::with_capacity(inputs.len());
        for (place, &input) in inputs.iter().enumerate() {
            let (part, column) = part_of(model, input);
            let width = widths(model)[part];
            let [up, down] = [&after[2 * place], &after[2 * place + 1]];
            let [up, down] = [up, down].map(|s| away(model, &base, s));
            let pairs = up.iter().zip(&down);
            let per = 1.0 / steps[part];
            // Activations know nothing of the solver, which leaves its rounding in the others.
            let least = [step, step, steps[part].min(step)];
            let kinked = pairs.clone().zip(least).any(|((up, down), least)| {
                let largest = up.iter().chain(down).fold(least, |m: f64, x| m.max(x.abs()));
                up.iter().zip(down).any(|(u, d)| (u + d).abs() > KINK * largest)
            });
            let second = up[1].iter().zip(&down[1]).fold(0.0, |most: f64, (u, d)| most.max((u + d).abs()));
            let mut errors = [Entry::default(); 3];
            for ((which, worst), (up, down)) in errors.iter_mut().enumerate().zip(pairs) {
                let analytic = blocks[which][part];
                // No solver has a part in activations.
                let floor = per * [h * noise, noise, ROUNDING][which];
                let scale = scales[which][part];
                worst.hidden = floor / scale;
                for row in 0..up.len() {
                    let (exact, difference) = (analytic[row * width + column], 0.5 * per * (up[row] - down[row]));
                    let beyond = (exact - difference).abs() - floor;
                    // `max` would swallow a NaN.
                    let error = if beyond < 0.0 { 0.0 } else { beyond / scale };
                    // A NaN counts as the worst.
                    if error > worst.error || error.is_nan() {
                        *worst = Entry { error, at: [row, column], values: [exact, difference], ..*worst };
                    }
                }
            }
            let off = steps[part] * (errors[1].values[0] - errors[1].values[1]).abs();
            found.push(Input { index: input, part, kinked, second, off, errors });
        }
        Ok(Differences { jacobian, inputs: found, whole, residual, us: [step_us, jacobian_us] })
    }
}

/// How many inputs a step has of each kind: entries of q, v, tau, ctrl and act.
fn widths(model: &Model) -> [usize; 5] {
    [model.n_v, model.n_v, model.n_v, model.actuators.len(), model.n_act()]
}

/// Which part an input is of, and its place there.
fn part_of(model: &Model, input: usize) -> (usize, usize) {
    let (mut part, mut rest, widths) = (0, input, widths(model));
    while part + 1 < widths.len() && rest >= widths[part] {
        rest -= widths[part];
        part += 1;
    }
    (part, rest)
}

/// How far q (in its tangent space), v and act of a state are from another's.
fn away(model: &Model, from: &State, to: &State) -> [Vec<f64>; 3] {
    let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
    [between(model, &from.q, &to.q), difference(&to.v, &from.v), difference(&to.act, &from.act)]
}

/// What is not the input's doing in a velocity after a step, m/s; `residual`: the worst of the steps that are compared, for a step's
/// own is no bound on its error where masses are very unlike.
fn noise(residual: f64, base: &State) -> f64 {
    residual + ROUNDING * base.v.iter().fold(1.0, |m: f64, x| m.max(x.abs()))
}
