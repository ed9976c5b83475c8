//! Products with the Jacobian of a step against differences of the step along random directions: what is left to compare
//! where a world is too large for a Jacobian.

use manyworlds_gpu::Instant;

use super::differences::{Entry, Input, settle};
use super::{Checker, KINK, LEAST, ROUNDING, away, noise, widths};
use crate::tangent::moved;
use crate::{Certificate, Error, Inputs, Outputs, State, random};

/// Products along some directions, compared.
#[derive(Debug, Clone)]
pub struct Directions {
    /// Of the products, the worst of them.
    pub certificate: Certificate,
    /// Largest difference of an entry of a product (JVP) from the central difference, beyond what residual and rounding of the
    /// steps can make of it, over the product's largest entry, or over what the input would do without constraints where that
    /// is more.
    pub ahead: f64,
    /// Largest difference of `w . J d` by the product with the transposed Jacobian (VJP) from that by the one with the
    /// Jacobian, over the sum of its terms' sizes.
    pub back: f64,
    /// Directions along which the step has a kink: not compared.
    pub kinks: usize,
    /// Directions; of states without a derivative by q those of q are not compared.
    pub count: usize,
    /// As [`super::Comparison::hidden`].
    pub hidden: Vec<f64>,
    /// As [`super::Comparison::whole`].
    pub whole: bool,
    /// As [`super::Comparison::residual`].
    pub residual: f64,
    /// Time of the step, of one world alone, us.
    pub step_us: f64,
    /// Least time of a product with the transposed Jacobian, us.
    pub back_us: f64,
}

/// Differences of positions, of those of velocities: a gap's change counts by the time step.
const POSITIONS: f64 = 0.1;

/// A direction, and the product along it.
struct Direction {
    /// Of q, v, tau, ctrl or act: 0 to 4.
    part: usize,
    along: Vec<f64>,
    ahead: Outputs,
}

impl Direction {
    /// How far it is differenced for a difference of velocities.
    fn width(&self, step: f64) -> f64 {
        // Forces and controls are changed by as much as changes the velocity by the step.
        let faster = largest(&self.ahead.v);
        match self.part {
            0 => POSITIONS * step,
            1 => step,
            _ if faster <= LEAST => step,
            _ => step / faster,
        }
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

fn product(a: &[f64], b: &[f64]) -> [f64; 2] {
    let terms = a.iter().zip(b).map(|(a, b)| a * b);
    terms.fold([0.0; 2], |[sum, size], x| [sum + x, size + x.abs()])
}

impl Checker<'_> {
    /// Compares products at a state, along as many directions as inputs are compared otherwise: of q, v, tau, ctrl and act in
    /// turn, all entries of one of them at once. Directions that differ by more than `tolerance`, or that look kinked, are
    /// differenced again as those of [`Self::compare_closely`].
    ///
    /// # Errors
    /// As [`crate::Batch::reset`].
    pub fn compare_directions(&mut self, state: &State, tolerance: f64) -> Result<Directions, Error> {
        self.compared += 1;
        let single = &mut self.worlds.single;
        single.reset(&[(0, state.clone())])?;
        let state = &single.state(0)?;
        let clock = Instant::now();
        single.step::<f64>(&[])?;
        let step_us = clock.elapsed().as_secs_f64() * 1e6;
        let base = single.state(0)?;
        let Some((mut directions, mut out)) = self.products(false)? else {
            return Err(Error::Option { option: "directions", expected: "at least 1", found: "0".into() });
        };
        out.whole = out.certificate.closed > 0 && self.is_whole(state, &base)?;
        if out.whole
            && let Some((same, of_whole)) = self.products(true)?
        {
            // Couplings and joint limits, too, undo their violations whole there.
            directions = same;
            out = Directions { certificate: out.certificate, whole: true, ..of_whole };
        }
        out.step_us = step_us;
        if out.certificate.fails_by_q_alone() {
            directions.retain(|direction| direction.part > 0);
        }
        out.count = directions.len();
        let every: Vec<usize> = (0..directions.len()).collect();
        let step = self.step;
        let mut found = self.along(state, &base, &directions, &every, step, &mut out)?;
        settle(&mut found, tolerance, |again, ratio| {
            self.along(state, &base, &directions, again, ratio * step, &mut out)
        })?;
        out.kinks = found.iter().filter(|input| input.kinked).count();
        out.hidden = found.iter().filter(|input| !input.kinked).map(Input::hidden).collect();
        // A NaN counts as the worst.
        let worst = |worst: f64, input: &Input| if input.error() <= worst { worst } else { input.error() };
        out.ahead = found.iter().filter(|input| !input.kinked).fold(0.0, worst);
        Ok(out)
    }

    /// Products with the Jacobian of the last step, and its transpose, beside each other; none of no direction. `whole`: of the
    /// step that undoes violations whole.
    fn products(&mut self, whole: bool) -> Result<Option<(Vec<Direction>, Directions)>, Error> {
        let widths = widths(self.model);
        let [n_v, _, _, n_u, n_act] = widths;
        let (compared, inputs) = (self.compared, self.inputs);
        let single = &mut self.worlds(whole).single;
        let draw = |n: usize, which: u64| -> Vec<f64> {
            (0..n).map(|i| random::symmetric(which, compared, 0, i as u64)).collect()
        };
        let parts = 3 + usize::from(n_u > 0) + usize::from(n_act > 0);
        let mut out: Option<Directions> = None;
        let mut directions = Vec::new();
        for index in 0..inputs {
            let part = index % parts;
            let along = draw(widths[part], index as u64);
            let of = |k: usize| if k == part { along.clone() } else { Vec::new() };
            let inputs = Inputs { q: of(0), v: of(1), tau: of(2), ctrl: of(3), act: of(4) };
            let (ahead, mut certificate) = single.along(0, &inputs)?;
            let [q, v, act] = [(n_v, 1000), (n_v, 2000), (n_act, 3000)].map(|(n, which)| draw(n, which + index as u64));
            let outputs = Outputs { q, v, act };
            let clock = Instant::now();
            let (back, own) = single.back(0, &outputs)?;
            let back_us = clock.elapsed().as_secs_f64() * 1e6;
            let pairs = [(&outputs.q, &ahead.q), (&outputs.v, &ahead.v), (&outputs.act, &ahead.act)];
            let [there, there_size] = pairs.into_iter().fold([0.0; 2], |[sum, size], (a, b)| {
                let [own, own_size] = product(a, b);
                [sum + own, size + own_size]
            });
            let here = product(&along, [&back.q, &back.v, &back.tau, &back.ctrl, &back.act][part]);
            let size = there_size.max(here[1]);
            let apart = (there - here[0]).abs();
            // What is held has products that only rounding makes.
            let error = if size > LEAST { apart / size } else { apart };
            certificate.add_problems_of(&own);
            certificate.residual = certificate.residual.max(own.residual);
            let sum = out.get_or_insert_with(|| Directions {
                certificate: certificate.clone(),
                ahead: 0.0,
                back: 0.0,
                kinks: 0,
                count: 0,
                hidden: Vec::new(),
                whole: false,
                residual: 0.0,
                step_us: 0.0,
                back_us: f64::INFINITY,
            });
            sum.certificate.add_problems_of(&certificate);
            sum.certificate.residual = sum.certificate.residual.max(certificate.residual);
            sum.back = if error <= sum.back { sum.back } else { error };
            sum.back_us = sum.back_us.min(back_us);
            directions.push(Direction { part, along, ahead });
        }
        Ok(out.map(|out| (directions, out)))
    }

    /// Differences along some of the directions, against their products.
    fn along(
        &mut self,
        state: &State,
        base: &State,
        directions: &[Direction],
        which: &[usize],
        step: f64,
        out: &mut Directions,
    ) -> Result<Vec<Input>, Error> {
        let model = self.model;
        let mut states = Vec::with_capacity(2 * which.len());
        for &index in which {
            let direction = &directions[index];
            for sign in [1.0, -1.0] {
                let mut changed = state.clone();
                let scaled: Vec<f64> = direction.along.iter().map(|x| sign * direction.width(step) * x).collect();
                let to = match direction.part {
                    0 => {
                        changed.q = moved(model, &state.q, &scaled);
                        None
                    }
                    1 => Some(&mut changed.v),
                    2 => Some(&mut changed.tau),
                    3 => Some(&mut changed.ctrl),
                    _ => Some(&mut changed.act),
                };
                to.into_iter().for_each(|to| to.iter_mut().zip(&scaled).for_each(|(to, x)| *to += x));
                states.push(changed);
            }
        }
        let (after, residual) = self.steps(states, out.whole)?;
        out.residual = out.residual.max(residual);
        let noise = noise(residual, base);
        let h = self.options.dt.unwrap_or(model.options.timestep);
        let compare = |(&index, sides): (&usize, &[State])| {
            let Direction { part, ahead, .. } = &directions[index];
            let by = directions[index].width(step);
            let [up, down] = [0, 1].map(|side| away(model, base, &sides[side]));
            let pairs = up.iter().zip(&down).zip([&ahead.q, &ahead.v, &ahead.act]);
            let kinked = pairs.clone().any(|((up, down), _)| {
                let size = largest(up).max(largest(down)).max(by);
                up.iter().zip(down).any(|(u, d)| (u + d).abs() > KINK * size)
            });
            let second = up[1].iter().zip(&down[1]).fold(0.0, |most: f64, (u, d)| most.max((u + d).abs()));
            // What an input of one does to what is free.
            let natural = [[1.0, 1.0 / h, 0.0], [h, 1.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]][*part];
            let mut errors = [Entry::default(); 3];
            for (which, (((up, down), exact), worst)) in pairs.zip(&mut errors).enumerate() {
                // No solver has a part in activations.
                let floor = [noise * h, noise, ROUNDING][which] / by;
                let scale = largest(exact).max(natural[which]);
                let scale = if scale > LEAST { scale } else { 1.0 };
                worst.hidden = floor / scale;
                for (row, ((up, down), exact)) in up.iter().zip(down).zip(exact).enumerate() {
                    let difference = (up - down) / (2.0 * by);
                    let beyond = (difference - exact).abs() - floor;
                    let error = if beyond < 0.0 { 0.0 } else { beyond / scale };
                    // A NaN counts as the worst.
                    if error > worst.error || error.is_nan() {
                        *worst = Entry { error, at: [row, 0], values: [*exact, difference], ..*worst };
                    }
                }
            }
            let off = by * (errors[1].values[0] - errors[1].values[1]).abs();
            Input { index, part: *part, kinked, second, off, errors }
        };
        Ok(which.iter().zip(after.chunks_exact(2)).map(compare).collect())
    }
}
