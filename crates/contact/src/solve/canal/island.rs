//! CANAL's state of one island and its iteration.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::super::convex::{Convex, Term};
use super::super::rows::{Rows, cast};
use super::super::sparse::BlockMatrix;
use super::super::subadmm::Penalty;
use super::super::system::{Constraint, System};
use super::params::CanalParams;
use super::shift::Mixing;
use super::strict::Strict;
use crate::problem::{ContactProblem, Law};

/// One island. Its terms hold `before = -u`, impulses of the last outer iteration, and, except in strict steps, the bias
/// with the frozen De Saxce shift `mu |z_t + e_t|`.
pub(in crate::solve) struct IslandState<T> {
    convex: Convex<T>,
    params: CanalParams,
    /// Largest penalty in this arithmetic.
    most: T,
    /// Penalty of the weights.
    penalty: T,
    /// Largest `|J v - z|` of the last outer iteration, m/s.
    gap: T,
    /// Steps by the strict map, while they serve in this outer iteration, and the matrix of theirs.
    strict: Option<Strict<T>>,
    strict_matrix: Option<BlockMatrix<T>>,
    /// The frozen De Saxce shifts, by contact, m/s; while strict steps are tried, those to freeze if these fail.
    shift: Vec<f64>,
    /// How they go on.
    mixing: Mixing,
    /// Largest change of the shift when it was frozen last, m/s: all of it after strict steps.
    moved: T,
    /// Newton steps of the present inner problem.
    inner: u32,
    /// Outer iterations so far.
    pub(in crate::solve) outer: u32,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solve) enum Step {
    /// The inner problem goes on.
    Inner,
    /// It is solved, or has had its share: the multipliers were updated.
    Outer,
    /// A number is not finite, or the matrix singular in this arithmetic.
    Broken,
}

/// Penalty of a constraint that moves nothing is 1: any would do.
fn weight<T: Scalar>(weights: Penalty, mass: T) -> T {
    if weights == Penalty::Uniform || mass <= T::lit(0.0) { T::lit(1.0) } else { mass }
}

impl<T: Scalar> IslandState<T> {
    /// Starts from impulses of the problem, `[n_rows]`, and the velocity that they give.
    pub(in crate::solve) fn new(
        problem: &ContactProblem,
        island: &Island,
        lambda: &[f64],
        params: &CanalParams,
    ) -> Self {
        let system = System::without_responses(problem, island);
        let v = system.velocity_of(&problem.velocity(lambda));
        let most = if T::NAME == "f64" { params.penalty_max } else { params.penalty_max.min(CanalParams::MOST_SINGLE) };
        let rows: usize = system.constraints.iter().map(|c| c.law.rows()).sum();
        let redundancy = match (params.strict, params.weights) {
            (true, Penalty::PerConstraint) => (rows as f64 / v.len().max(1) as f64).max(1.0),
            _ => 1.0,
        };
        let penalty = cast((params.penalty / redundancy).min(most));
        let term = |(c, before): (&Constraint<T>, Rows<T>)| {
            let beta = [penalty * weight(params.weights, c.mass); 3];
            Term { law: c.law, cap: c.cap, beta, before, bias: c.e }
        };
        let terms = system.constraints.iter().zip(system.impulses_of(lambda)).map(term).collect();
        let mut own = Self {
            convex: Convex::new(system, terms, v),
            params: *params,
            most: cast(most),
            penalty,
            gap: T::lit(f64::from(f32::MAX)),
            strict: None,
            strict_matrix: None,
            shift: Vec::new(),
            mixing: Mixing::default(),
            moved: T::lit(0.0),
            inner: 0,
            outer: 0,
        };
        own.shift = own.shifts(&own.convex.sigma);
        own.freeze();
        own
    }

    /// The De Saxce shifts of slacks `z`, by contact, m/s.
    fn shifts(&self, z: &[Rows<T>]) -> Vec<f64> {
        let of = |(c, z): (&Constraint<T>, &Rows<T>)| {
            let Law::Contact { mu } = c.law else { return None };
            let (x, y) = (z[0] + c.e[0], z[1] + c.e[1]);
            Some(mu * (x * x + y * y).sqrt().to_f64())
        };
        self.convex.system.constraints.iter().zip(z).filter_map(of).collect()
    }

    /// Freezes the shifts.
    fn freeze(&mut self) {
        self.moved = T::lit(0.0);
        let Convex { system, terms, .. } = &mut self.convex;
        let contacts = system.constraints.iter().zip(terms).filter(|(c, _)| matches!(c.law, Law::Contact { .. }));
        for ((c, term), &shift) in contacts.zip(&self.shift) {
            let next = c.e[2] + cast::<T>(shift);
            self.moved = self.moved.max((next - term.bias[2]).abs());
            term.bias[2] = next;
        }
        self.convex.evaluate();
    }

    /// One Newton step of the inner problem; then, if that was its last, the multipliers' update.
    #[must_use]
    pub(in crate::solve) fn step(&mut self) -> Step {
        self.inner += 1;
        let mut decrement = T::lit(f64::from(f32::MAX));
        if let Some(mut strict) = self.strict.take() {
            let matrix = self.strict_matrix.get_or_insert_with(|| self.convex.system.matrix());
            if !strict.step(&mut self.convex, matrix) {
                strict.give_up(&mut self.convex);
                self.freeze();
                return Step::Inner;
            }
            self.strict = Some(strict);
        } else {
            let Some(worth) = self.convex.step() else { return Step::Broken };
            decrement = worth;
        }
        let error = self.convex.error();
        if !error.is_finite() {
            return Step::Broken;
        }
        if self.inner < self.params.inner && !self.inner_solved(error.min(decrement)) {
            return Step::Inner;
        }
        self.inner = 0;
        self.outer += 1;
        Step::Outer
    }

    /// Whether the inner problem is solved well enough for the outer one, or as well as it can be. `error`: what the
    /// gradient bounds it by, or what the last step was worth, J.
    fn inner_solved(&self, error: T) -> bool {
        let mut outer = T::lit(0.0);
        for (next, term) in self.convex.lambda.iter().zip(&self.convex.terms) {
            let square =
                (0..3).fold(T::lit(0.0), |sum, r| sum + (next[r] - term.before[r]) * (next[r] - term.before[r]));
            outer += square / term.beta[0];
        }
        let share = cast::<T>(self.params.inner_share);
        error <= share * share * outer || error <= self.convex.roundoff(self.convex.scale())
    }

    /// Multipliers, slacks, shift and penalty for the next outer iteration: `u = -lambda`,
    /// `beta z = beta J v + u + lambda`.
    pub(in crate::solve) fn update(&mut self) {
        let mut gap = T::lit(0.0);
        let Convex { terms, lambda, sigma, .. } = &mut self.convex;
        let slack = |((term, lambda), sigma): ((&mut Term<T>, &Rows<T>), &Rows<T>)| -> Rows<T> {
            let z = std::array::from_fn(|r| {
                let d = (lambda[r] - term.before[r]) / term.beta[r];
                gap = gap.max(d.abs());
                sigma[r] + d
            });
            term.before = *lambda;
            z
        };
        let z: Vec<Rows<T>> = terms.iter_mut().zip(lambda.iter()).zip(sigma.iter()).map(slack).collect();
        // No penalty helps against a gap that the last change of the shift made.
        if cast::<T>(self.params.decrease) * self.gap < gap && self.moved < gap {
            let next = (self.penalty * cast(self.params.growth)).min(self.most);
            let factor = next / self.penalty;
            terms.iter_mut().for_each(|term| term.beta = term.beta.map(|beta| beta * factor));
            self.penalty = next;
        }
        self.gap = gap;
        let image = self.shifts(&z);
        self.shift = match self.strict.take() {
            // No shift was frozen that could have missed its image.
            Some(_) => {
                self.mixing = Mixing::default();
                image
            }
            None => self.mixing.next(&self.shift, &image),
        };
        if self.params.strict {
            self.moved = T::lit(0.0);
            self.strict = Some(Strict::new(&mut self.convex));
        } else {
            self.freeze();
        }
    }

    /// Writes the impulses where the problem has them.
    pub(in crate::solve) fn impulses(&self, lambda: &mut [f64]) {
        self.convex.system.write_impulses(self.convex.lambda.iter().copied(), lambda);
    }

    /// Writes the velocity where the problem has it.
    pub(in crate::solve) fn velocity(&self, v: &mut [f64]) {
        self.convex.system.write_velocity(&self.convex.v, v);
    }
}
