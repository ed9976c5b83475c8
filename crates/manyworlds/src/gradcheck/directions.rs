//! Products with the Jacobian of a step against differences of the step along random directions: what is left to compare
//! where a world is too large for a Jacobian.

use std::time::Instant;

use manyworlds_contact::ContactModel;

use super::{Checker, KINK, LEAST, ROUNDING, WIDTHS};
use crate::tangent::{between, moved};
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
    /// As [`super::Comparison::whole`].
    pub whole: bool,
    /// As [`super::Comparison::residual`].
    pub residual: f64,
    /// Time of the step, of one world alone, us.
    pub step_us: f64,
    /// Least time of a product with the transposed Jacobian, us.
    pub back_us: f64,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

fn product(a: &[f64], b: &[f64]) -> [f64; 2] {
    let terms = a.iter().zip(b).map(|(a, b)| a * b);
    terms.fold([0.0; 2], |[sum, size], x| [sum + x, size + x.abs()])
}

impl Checker<'_> {
    /// Compares products at a state, along as many directions as inputs are compared otherwise: of q, v, tau and ctrl in
    /// turn, all entries of one of them at once. What differs by more than `tolerance` is differenced again five times as
    /// far, then a fifth as far; the smallest error counts.
    ///
    /// # Errors
    /// As [`crate::Batch::reset`].
    pub fn compare_directions(&mut self, state: &State, tolerance: f64) -> Result<Directions, Error> {
        self.compared += 1;
        let mut found = self.along_directions(state, self.step)?;
        for ratio in WIDTHS {
            if found.ahead <= tolerance {
                break;
            }
            let other = self.along_directions(state, ratio * self.step)?;
            // What is at a kink that far away was compared at a shorter distance alone.
            if other.kinks <= found.kinks && other.ahead < found.ahead {
                (found.ahead, found.kinks) = (other.ahead, other.kinks);
            }
        }
        Ok(found)
    }

    fn along_directions(&mut self, state: &State, step: f64) -> Result<Directions, Error> {
        let (model, n_v, n_u) = (self.model, self.model.n_v, self.model.actuators.len());
        let single = &mut self.worlds.single;
        single.reset(&[(0, state.clone())])?;
        let state = &single.state(0)?;
        let clock = Instant::now();
        single.step::<f64>(&[])?;
        let step_us = clock.elapsed().as_secs_f64() * 1e6;
        let base = single.state(0)?;
        let draw = |n: usize, which: u64| -> Vec<f64> {
            (0..n).map(|i| random::symmetric(which, self.compared, 0, i as u64)).collect()
        };
        let parts = if n_u > 0 { 4 } else { 3 };
        let mut out: Option<Directions> = None;
        let (mut directions, mut products, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..self.inputs {
            let part = index % parts;
            let own = |k: usize| draw(if k == 3 { n_u } else { n_v }, index as u64);
            let of = |k: usize| if k == part { own(k) } else { Vec::new() };
            let inputs = Inputs { q: of(0), v: of(1), tau: of(2), ctrl: of(3) };
            let (ahead, mut certificate) = single.along(0, &inputs)?;
            let outputs = Outputs { q: draw(n_v, 1000 + index as u64), v: draw(n_v, 2000 + index as u64) };
            let clock = Instant::now();
            let (back, own) = single.back(0, &outputs)?;
            let back_us = clock.elapsed().as_secs_f64() * 1e6;
            let there = [product(&outputs.q, &ahead.q), product(&outputs.v, &ahead.v)];
            let behind = [&back.q, &back.v, &back.tau, &back.ctrl][part];
            let here = product([&inputs.q, &inputs.v, &inputs.tau, &inputs.ctrl][part], behind);
            let size = (there[0][1] + there[1][1]).max(here[1]);
            let apart = (there[0][0] + there[1][0] - here[0]).abs();
            let error = if size > 0.0 { apart / size } else { apart };
            certificate.add_problems_of(&own);
            certificate.residual = certificate.residual.max(own.residual);
            let sum = out.get_or_insert_with(|| Directions {
                certificate: certificate.clone(),
                ahead: 0.0,
                back: 0.0,
                kinks: 0,
                count: self.inputs,
                whole: false,
                residual: 0.0,
                step_us,
                back_us: f64::INFINITY,
            });
            sum.certificate.add_problems_of(&certificate);
            sum.certificate.residual = sum.certificate.residual.max(certificate.residual);
            sum.back = if error <= sum.back { sum.back } else { error };
            sum.back_us = sum.back_us.min(back_us);
            // Forces and controls are changed by as much as changes the velocity by the step.
            let faster = largest(&ahead.v);
            let by = if part < 2 || faster <= LEAST { step } else { step / faster };
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                let mut changed = state.clone();
                let direction = [&inputs.q, &inputs.v, &inputs.tau, &inputs.ctrl][part];
                let scaled: Vec<f64> = direction.iter().map(|x| sign * by * x).collect();
                let to = match part {
                    0 => {
                        changed.q = moved(model, &state.q, &scaled);
                        None
                    }
                    1 => Some(&mut changed.v),
                    2 => Some(&mut changed.tau),
                    _ => Some(&mut changed.ctrl),
                };
                to.into_iter().for_each(|to| to.iter_mut().zip(&scaled).for_each(|(to, x)| *to += x));
                states.push((2 * index + side, changed));
            }
            directions.push((part, by));
            products.push(ahead);
        }
        let Some(mut out) = out else {
            return Err(Error::Option { option: "directions", expected: "at least 1", found: "0".into() });
        };
        out.whole = out.certificate.closed > 0 && self.is_whole(state, &base)?;
        let worlds = self.whole.as_mut().filter(|_| out.whole).unwrap_or(&mut self.worlds);
        let batch = &mut worlds.batch;
        batch.reset(&states)?;
        batch.step::<f64>(&[])?;
        let mut summaries = Vec::new();
        batch.summaries(&mut summaries)?;
        out.residual = match manyworlds_contact::solver(&self.options.solver)?.model() {
            ContactModel::Exact => summaries.iter().fold(0.0, |worst: f64, s| worst.max(s.residual_scaled)),
            ContactModel::Convex | ContactModel::Pyramid => self.options.tolerance,
        };
        let h = self.options.dt.unwrap_or(model.options.timestep);
        let noise = out.residual + ROUNDING * base.v.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        let without_q = out.certificate.fails_by_q_alone();
        for (index, ((part, by), ahead)) in directions.into_iter().zip(&products).enumerate() {
            if part == 0 && without_q {
                out.count -= 1;
                continue;
            }
            let [up, down] = [batch.state(2 * index)?, batch.state(2 * index + 1)?];
            let away = |s: &State| {
                (between(model, &base.q, &s.q), s.v.iter().zip(&base.v).map(|(a, b)| a - b).collect::<Vec<_>>())
            };
            let (up, down) = (away(&up), away(&down));
            let pairs = [(&up.0, &down.0, &ahead.q), (&up.1, &down.1, &ahead.v)];
            let kinked = pairs.iter().any(|(up, down, _)| {
                let size = largest(up).max(largest(down)).max(step);
                up.iter().zip(down.iter()).any(|(u, d)| (u + d).abs() > KINK * size)
            });
            if kinked {
                out.kinks += 1;
                continue;
            }
            // What an input of one does to what is free.
            let natural = [[1.0, 1.0 / h], [h, 1.0], [0.0; 2], [0.0; 2]][part];
            for (which, (up, down, exact)) in pairs.into_iter().enumerate() {
                let floor = noise / by * if which == 0 { h } else { 1.0 };
                let scale = largest(exact).max(natural[which]);
                let scale = if scale > LEAST { scale } else { 1.0 };
                for ((up, down), exact) in up.iter().zip(down).zip(exact) {
                    let beyond = ((up - down) / (2.0 * by) - exact).abs() - floor;
                    let error = if beyond < 0.0 { 0.0 } else { beyond / scale };
                    // A NaN counts as the worst.
                    out.ahead = if error <= out.ahead { out.ahead } else { error };
                }
            }
        }
        Ok(out)
    }
}
