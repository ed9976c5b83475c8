//! CANAL's state of one island and its iteration.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::super::law::{Map, impulse};
use super::super::sparse::BlockMatrix;
use super::super::subadmm::Penalty;
use super::super::system::{Block, Rows, System, cast};
use super::params::CanalParams;
use super::search::root;
use crate::problem::{ContactProblem, Law};

/// Round-offs that momentum is known to.
const ROUNDOFF: f64 = 16.0;

/// One island.
pub(in crate::solve) struct IslandState<T> {
    system: System<T>,
    matrix: BlockMatrix<T>,
    params: CanalParams,
    /// Largest penalty in this arithmetic.
    most: T,
    /// Squared share of momentum that is round-off.
    floor: T,
    /// Velocity, `[n_v]`.
    v: Vec<T>,
    /// `J v`, m/s.
    sigma: Vec<Rows<T>>,
    /// `-u`: impulses of the last outer iteration, N s.
    before: Vec<Rows<T>>,
    /// Bias with the frozen De Saxce shift `mu |z_t + e_t|`, m/s.
    bias: Vec<Rows<T>>,
    /// Impulses at `v` and their derivatives.
    lambda: Vec<Rows<T>>,
    slopes: Vec<Block<T>>,
    /// `A v - b - J^T lambda`, kg m/s.
    gradient: Vec<T>,
    /// Penalty of the weights.
    penalty: T,
    /// Largest `|J v - z|` of the last outer iteration, m/s.
    gap: T,
    /// Largest change of the shift before the present one, m/s.
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
        let system = System::new(problem, island);
        let v = system.velocity_of(&problem.velocity(lambda));
        let before = system.impulses_of(lambda);
        let double = T::NAME == "f64";
        let most = if double { params.penalty_max } else { params.penalty_max.min(CanalParams::MOST_SINGLE) };
        let epsilon = if double { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let mut own = Self {
            matrix: system.matrix(true),
            params: *params,
            most: cast(most),
            floor: cast((ROUNDOFF * epsilon).powi(2)),
            sigma: system.relative(&v),
            bias: system.constraints.iter().map(|c| c.e).collect(),
            lambda: before.clone(),
            slopes: Vec::new(),
            gradient: Vec::new(),
            penalty: cast(params.penalty.min(most)),
            gap: T::lit(f64::from(f32::MAX)),
            moved: T::lit(0.0),
            inner: 0,
            outer: 0,
            v,
            before,
            system,
        };
        let z = own.sigma.clone();
        own.shift(&z);
        own.evaluate();
        own
    }

    fn beta(&self, i: usize) -> T {
        self.penalty * weight(self.params.weights, self.system.constraints[i].mass)
    }

    /// Freezes the De Saxce shift at the slacks `z`.
    fn shift(&mut self, z: &[Rows<T>]) {
        self.moved = T::lit(0.0);
        for ((c, bias), z) in self.system.constraints.iter().zip(&mut self.bias).zip(z) {
            if let Law::Contact { mu } = c.law {
                let (x, y) = (z[0] + c.e[0], z[1] + c.e[1]);
                let next = c.e[2] + cast::<T>(mu) * (x * x + y * y).sqrt();
                self.moved = self.moved.max((next - bias[2]).abs());
                bias[2] = next;
            }
        }
    }

    /// Impulses, slopes and gradient at `v`.
    fn evaluate(&mut self) {
        let at = |i: usize| {
            let law = self.system.constraints[i].law;
            impulse(Map::Proximal, law, self.beta(i), self.before[i], self.sigma[i], self.bias[i])
        };
        (self.lambda, self.slopes) = (0..self.sigma.len()).map(at).unzip();
        self.gradient = self.system.gradient(&self.v, &self.lambda);
    }

    /// One Newton step of the inner problem; then, if that was its last, the multipliers' update.
    #[must_use]
    pub(in crate::solve) fn step(&mut self) -> Step {
        let Some(d) = self.direction() else { return Step::Broken };
        let decrement = self.search(&d);
        self.evaluate();
        self.inner += 1;
        let error = self.system.energy(&self.gradient);
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

    /// `-(A + beta J^T P J)^-1 gradient`
    fn direction(&mut self) -> Option<Vec<T>> {
        let scaled = |i: usize| {
            let beta = self.beta(i);
            self.slopes[i].map(|row| row.map(|p| beta * p))
        };
        let w: Vec<Block<T>> = (0..self.slopes.len()).map(scaled).collect();
        self.system.assemble(&w, &mut self.matrix);
        if !self.matrix.factor() {
            return None;
        }
        let mut d: Vec<T> = self.gradient.iter().map(|&g| -g).collect();
        self.matrix.solve(&mut d);
        Some(d)
    }

    /// Moves `v` to the zero of the derivative along `d`; returns how fast the objective fell at first, J: about twice
    /// what it was above its least.
    fn search(&mut self, d: &[T]) -> T {
        let zero = T::lit(0.0);
        let along = self.system.relative(d);
        let inner = |a: &[T], b: &[T]| a.iter().zip(b).fold(zero, |sum, (&a, &b)| sum + a * b);
        let start = inner(&self.gradient, d);
        let curvature = inner(&self.system.momentum(d), d);
        // At the floor of round-off the direction need not descend.
        if !(start < zero && start.is_finite()) {
            return zero;
        }
        let t = root(start, |t| {
            let (mut value, mut slope) = (start + t * curvature, curvature);
            for (i, c) in self.system.constraints.iter().enumerate() {
                let (a, beta) = (along[i], self.beta(i));
                let sigma = std::array::from_fn(|r| self.sigma[i][r] + t * a[r]);
                let (lambda, p) = impulse(Map::Proximal, c.law, beta, self.before[i], sigma, self.bias[i]);
                for r in 0..3 {
                    value -= (lambda[r] - self.lambda[i][r]) * a[r];
                    slope += beta * a[r] * (p[r][0] * a[0] + p[r][1] * a[1] + p[r][2] * a[2]);
                }
            }
            (value, slope)
        });
        self.v.iter_mut().zip(d).for_each(|(v, &d)| *v += t * d);
        self.sigma = self.system.relative(&self.v);
        -start
    }

    /// Whether the inner problem is solved well enough for the outer one, or as well as it can be: of an impulse,
    /// round-off in `J v` leaves beta times as much. `error`: what the gradient bounds it by, or what the last step was
    /// worth, J.
    fn inner_solved(&self, error: T) -> bool {
        let (mut outer, mut stiffest) = (T::lit(0.0), T::lit(1.0));
        for (i, (next, before)) in self.lambda.iter().zip(&self.before).enumerate() {
            let square = (0..3).fold(T::lit(0.0), |sum, r| sum + (next[r] - before[r]) * (next[r] - before[r]));
            outer += square / self.beta(i);
            let mass = self.system.constraints[i].mass;
            if T::lit(0.0) < mass {
                stiffest = stiffest.max(self.beta(i) / mass);
            }
        }
        let share = cast::<T>(self.params.inner_share);
        let mut pushed = vec![T::lit(0.0); self.v.len()];
        self.system.add_impulse(&self.lambda, &mut pushed);
        let momentum = self.system.energy(&self.system.momentum(&self.v)).max(self.system.energy(&pushed));
        error <= share * share * outer || error <= self.floor * stiffest * momentum
    }

    /// Multipliers, slacks, shift and penalty for the next outer iteration: `u = -lambda`,
    /// `beta z = beta J v + u + lambda`.
    pub(in crate::solve) fn update(&mut self) {
        let mut gap = T::lit(0.0);
        let z: Vec<Rows<T>> = (0..self.sigma.len())
            .map(|i| {
                let beta = self.beta(i);
                std::array::from_fn(|r| {
                    let d = (self.lambda[i][r] - self.before[i][r]) / beta;
                    gap = gap.max(d.abs());
                    self.sigma[i][r] + d
                })
            })
            .collect();
        self.before.clone_from(&self.lambda);
        // No penalty helps against a gap that the last change of the shift made.
        if cast::<T>(self.params.decrease) * self.gap < gap && self.moved < gap {
            self.penalty = (self.penalty * cast(self.params.growth)).min(self.most);
        }
        self.gap = gap;
        self.shift(&z);
        self.evaluate();
    }

    /// Writes the impulses where the problem has them.
    pub(in crate::solve) fn impulses(&self, lambda: &mut [f64]) {
        self.system.write_impulses(&self.lambda, lambda);
    }

    /// Writes the velocity where the problem has it.
    pub(in crate::solve) fn velocity(&self, v: &mut [f64]) {
        self.system.write_velocity(&self.v, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{problem, random};

    /// `1/2 v^T A v - b^T v + sum |lambda_i(v)|^2 / (2 beta_i)`: cones, bilateral and unilateral rows.
    fn objective(state: &IslandState<f64>) -> f64 {
        let p = state.system.momentum(&state.v);
        let free = state.system.gradient(&vec![0.0; p.len()], &vec![[0.0; 3]; state.lambda.len()]);
        let smooth: f64 = p.iter().zip(&free).zip(&state.v).map(|((p, f), v)| (0.5 * p + f) * v).sum();
        let square = |(i, l): (usize, &Rows<f64>)| l.iter().map(|x| x * x).sum::<f64>() / (2.0 * state.beta(i));
        smooth + state.lambda.iter().enumerate().map(square).sum::<f64>()
    }

    #[test]
    fn the_gradient_is_the_objectives() {
        for seed in 0..10 {
            let mut input = random(seed, 4, 7, true);
            input.constraints.retain(|c| !matches!(c.law, Law::Soft { .. } | Law::Box { .. }));
            let p = problem(input);
            for island in &p.plan.islands {
                let params = CanalParams { penalty: 5.0, ..Default::default() };
                let mut state = IslandState::<f64>::new(&p, island, &p.warm_start, &params);
                assert_eq!(state.step(), Step::Inner, "one step hardly solves it");
                state.update();
                let exact = state.gradient.clone();
                for k in 0..exact.len() {
                    let mut at = |d: f64| {
                        state.v[k] += d;
                        state.sigma = state.system.relative(&state.v);
                        state.evaluate();
                        let value = objective(&state);
                        state.v[k] -= d;
                        value
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    assert!((slope - exact[k]).abs() < 1e-6 * (1.0 + slope.abs()), "{seed} {k}: {slope} {}", exact[k]);
                }
            }
        }
    }
}
