//! SubADMM's state of one island and its iteration.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::UNBOUNDED;
use manyworlds_shaders::contact::local;

use super::params::{Penalty, SubAdmmParams};
use crate::dense;
use crate::problem::{ContactProblem, Law};

/// Effective masses below this are taken for those of constraints that move nothing.
const TINY: f64 = 1e-30;
/// Largest factor of one adaptation: residuals early on say little.
const LARGEST_ADAPTATION: f64 = 10.0;
/// Residuals below this part of the impulse, and of the momentum that the constraint's velocity at the start stands for, say
/// nothing. Kernels have a thousand times as much, for single precision.
const NOISE: f64 = 1e-9;
/// Least and largest penalty, in effective masses.
const BOUNDS: [f64; 2] = [1e-2, 1e4];

/// A subsystem: `A_j`, its factored left side, right-hand side and velocity.
struct Subsystem<T> {
    /// First entry in the problem's velocity.
    begin: usize,
    /// `A_j`, `[n, n]`.
    a: Vec<T>,
    /// Cholesky factor of `A_j + sum beta J^T J`, `[n, n]`.
    factor: Vec<T>,
    /// `b_j`, kg m/s.
    b: Vec<T>,
    /// `v_j`, m/s.
    v: Vec<T>,
}

/// What a constraint sees of one subsystem (or of one body, where the problem splits them), and its slack.
struct Slack<T> {
    /// Which of the island's subsystems.
    subsystem: usize,
    /// `J_ij`, `[rows, n]`.
    jacobian: Vec<T>,
    /// `z_ij`, m/s.
    z: [T; 3],
    /// `J_ij v_j` of the present iteration, m/s.
    jv: [T; 3],
}

struct Constraint<T> {
    law: Law,
    e: [T; 3],
    /// First entry in the problem's impulses.
    row: usize,
    slacks: Vec<Slack<T>>,
    /// Effective mass, kg.
    mass: T,
    /// Penalty, kg.
    beta: T,
    /// `lambda_i = -u_ij`, N s.
    lambda: [T; 3],
    /// Squares of primal and dual residual, J: `mass |J v - z|^2`, `|beta (z - z before)|^2 / mass`.
    residuals: [T; 2],
    /// `|J v + e|` at the start, m/s.
    speed: T,
}

impl<T: Scalar> Constraint<T> {
    /// The residuals, and what counts as nothing added to both.
    fn weighed(&self) -> [T; 2] {
        let size = self.mass * self.speed * self.speed + dot(&self.lambda, &self.lambda) / self.mass;
        self.residuals.map(|x| x + T::lit(NOISE * NOISE) * size)
    }
}

/// One island.
pub(super) struct IslandState<T> {
    subsystems: Vec<Subsystem<T>>,
    constraints: Vec<Constraint<T>>,
    relaxation: T,
    imbalance: T,
    penalty: Penalty,
    /// Iterations until the penalties may change.
    wait: u32,
    /// Length of the next wait.
    next_wait: u32,
}

fn cast<T: Scalar>(x: f64) -> T {
    T::from_f64(x.clamp(-UNBOUNDED, UNBOUNDED))
}

fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::lit(0.0), |sum, (&a, &b)| sum + a * b)
}

impl<T: Scalar> IslandState<T> {
    /// Starts from the impulses of the problem's warm start and the velocity that they give. `None` when a subsystem's
    /// matrix cannot be factored in this arithmetic.
    pub(super) fn new(problem: &ContactProblem, island: &Island, params: &SubAdmmParams) -> Option<Self> {
        let start = problem.velocity(&problem.warm_start);
        let plan = &problem.plan;
        let members = plan.members_of(island);
        let list = |x: &[f64]| x.iter().map(|&x| cast::<T>(x)).collect::<Vec<T>>();
        let subsystems: Vec<_> = members
            .iter()
            .map(|&s| {
                let s = &problem.subsystems[s as usize];
                let own = s.begin..s.begin + s.count;
                let a = list(problem.block(s));
                Subsystem {
                    begin: s.begin,
                    factor: a.clone(),
                    a,
                    b: list(&problem.b[own.clone()]),
                    v: list(&start[own]),
                }
            })
            .collect();
        let ids = plan.constraints_of(island);
        let mut constraints: Vec<_> = ids
            .iter()
            .map(|&i| {
                let c = &problem.constraints[i as usize];
                let rows = c.law.rows();
                let slack = |subsystem: usize, offset: usize, source: &[f64]| {
                    // Members are ascending.
                    let own = members.partition_point(|&m| (m as usize) < subsystem);
                    let n = problem.subsystems[subsystem].count;
                    let jacobian = list(&source[offset..offset + rows * n]);
                    Slack { subsystem: own, jacobian, z: [T::lit(0.0); 3], jv: [T::lit(0.0); 3] }
                };
                let slacks = if c.parts.is_empty() {
                    let sides = &problem.sides[c.sides.clone()];
                    sides.iter().map(|s| slack(s.subsystem, s.offset, &problem.jacobian)).collect()
                } else {
                    let parts = &problem.parts[c.parts.clone()];
                    parts.iter().map(|p| slack(p.subsystem, p.offset, &problem.part_jacobian)).collect()
                };
                let g = &c.delassus;
                let mean = if rows == 3 { (g[0] + g[3] + g[5]) / 3.0 } else { g[0] };
                let mass = cast(if mean > TINY { 1.0 / mean } else { 1.0 });
                let mut lambda = [T::lit(0.0); 3];
                (0..rows).for_each(|r| lambda[r] = cast(problem.warm_start[c.row + r]));
                let (residuals, speed) = ([T::lit(0.0); 2], T::lit(0.0));
                Constraint {
                    law: c.law,
                    e: c.e.map(cast),
                    row: c.row,
                    slacks,
                    mass,
                    beta: mass,
                    lambda,
                    residuals,
                    speed,
                }
            })
            .collect();
        if params.penalty == Penalty::Uniform && !constraints.is_empty() {
            let sum: f64 = constraints.iter().map(|c| c.mass.to_f64().ln()).sum();
            let mean = cast((sum / constraints.len() as f64).exp());
            constraints.iter_mut().for_each(|c| (c.mass, c.beta) = (mean, mean));
        }
        let mut own = Self {
            subsystems,
            constraints,
            relaxation: cast(params.relaxation),
            imbalance: cast(params.imbalance),
            penalty: params.penalty,
            wait: params.adapt_after,
            next_wait: longer(params.adapt_after),
        };
        own.measure_slacks();
        for c in &mut own.constraints {
            c.slacks.iter_mut().for_each(|s| s.z = s.jv);
            let sigma: [T; 3] = std::array::from_fn(|r| c.slacks.iter().fold(c.e[r], |sum, s| sum + s.z[r]));
            c.speed = dot(&sigma, &sigma).sqrt();
        }
        own.factor().then_some(own)
    }

    /// `A_j + sum_i beta_i J_ij^T J_ij`, factored. False on breakdown.
    fn factor(&mut self) -> bool {
        for s in &mut self.subsystems {
            s.factor.copy_from_slice(&s.a);
        }
        for c in &self.constraints {
            for slack in &c.slacks {
                let s = &mut self.subsystems[slack.subsystem];
                let n = s.b.len();
                for row in slack.jacobian.chunks_exact(n) {
                    // Most degrees of freedom of a tree do not move a contact.
                    for i in (0..n).filter(|&i| row[i] != T::lit(0.0)) {
                        let x = c.beta * row[i];
                        for j in 0..=i {
                            s.factor[i * n + j] += x * row[j];
                        }
                    }
                }
            }
        }
        self.subsystems
            .iter_mut()
            .all(|s| dense::factor(s.b.len(), &mut s.factor, &mut vec![T::lit(0.0); s.b.len()]).is_ok())
    }

    /// `J_ij v_j` of every slack.
    fn measure_slacks(&mut self) {
        for slack in self.constraints.iter_mut().flat_map(|c| &mut c.slacks) {
            let v = &self.subsystems[slack.subsystem].v;
            for (out, row) in slack.jv.iter_mut().zip(slack.jacobian.chunks_exact(v.len())) {
                *out = dot(row, v);
            }
        }
    }

    /// One iteration: subsystems (Lee 2024, eq. 30), constraints and multipliers (eqs. 40, 41), penalties. False when a
    /// number is not finite any more.
    #[must_use]
    pub(super) fn step(&mut self) -> bool {
        self.solve_subsystems();
        self.measure_slacks();
        self.solve_constraints();
        if !self.constraints.iter().flat_map(|c| c.residuals).all(Scalar::is_finite) {
            return false;
        }
        self.wait -= 1;
        if self.wait > 0 {
            return true;
        }
        self.wait = self.next_wait;
        self.next_wait = longer(self.next_wait);
        self.adapt();
        self.factor()
    }

    /// `v_j <- (A_j + sum beta J^T J)^-1 (b_j + sum J^T (beta z - u))`, `u = -lambda`.
    fn solve_subsystems(&mut self) {
        for s in &mut self.subsystems {
            s.v.copy_from_slice(&s.b);
        }
        for c in &self.constraints {
            for slack in &c.slacks {
                let v = &mut self.subsystems[slack.subsystem].v;
                for (r, row) in slack.jacobian.chunks_exact(v.len()).enumerate() {
                    let x = c.beta * slack.z[r] + c.lambda[r];
                    v.iter_mut().zip(row).for_each(|(v, &j)| *v += j * x);
                }
            }
        }
        for s in &mut self.subsystems {
            dense::solve(s.b.len(), &s.factor, &mut s.v);
        }
    }

    /// `y = beta J v + u`, `lambda` by the closed form of the law, `z = (y + lambda) / beta`, `u = -lambda`.
    fn solve_constraints(&mut self) {
        let (zero, kept) = (T::lit(0.0), T::lit(1.0) - self.relaxation);
        for c in &mut self.constraints {
            let (rows, beta, before) = (c.law.rows(), c.beta, c.lambda);
            let count = T::lit(c.slacks.len() as f64);
            let mut sum = [zero; 3];
            for s in &c.slacks {
                for r in 0..rows {
                    sum[r] += beta * (self.relaxation * s.jv[r] + kept * s.z[r]) - before[r];
                }
            }
            c.lambda = closed_form(c.law, beta, count, sum, c.e);
            let [mut gap, mut change] = [zero; 2];
            for s in &mut c.slacks {
                for r in 0..rows {
                    let relaxed = self.relaxation * s.jv[r] + kept * s.z[r];
                    let z = relaxed + (c.lambda[r] - before[r]) / beta;
                    gap += (s.jv[r] - z) * (s.jv[r] - z);
                    change += (z - s.z[r]) * (z - s.z[r]);
                    s.z[r] = z;
                }
            }
            c.residuals = [c.mass * gap, beta * beta * change / c.mass];
        }
    }

    /// `beta <- beta sqrt(theta_p / theta_d)` of each constraint by its own residuals (Lee 2024, eq. 43, has one for all).
    fn adapt(&mut self) {
        let zero = T::lit(0.0);
        let add = |sum: [T; 2], x: [T; 2]| [sum[0] + x[0], sum[1] + x[1]];
        let all = self.constraints.iter().map(Constraint::weighed).fold([zero; 2], add);
        let square = self.imbalance * self.imbalance;
        for c in &mut self.constraints {
            let [primal, dual] = if self.penalty == Penalty::Uniform { all } else { c.weighed() };
            if primal > square * dual || dual > square * primal {
                let most = T::lit(LARGEST_ADAPTATION);
                // Infinite where there is no dual residual.
                let factor = (primal / dual).sqrt().sqrt().min(most).max(T::lit(1.0) / most);
                c.beta = (c.beta * factor).max(T::lit(BOUNDS[0]) * c.mass).min(T::lit(BOUNDS[1]) * c.mass);
            }
        }
    }

    /// Writes the impulses where the problem has them.
    pub(super) fn impulses(&self, lambda: &mut [f64]) {
        for c in &self.constraints {
            for r in 0..c.law.rows() {
                lambda[c.row + r] = c.lambda[r].to_f64();
            }
        }
    }

    /// Writes the velocities where the problem has them.
    pub(super) fn velocity(&self, v: &mut [f64]) {
        for s in &self.subsystems {
            v[s.begin..s.begin + s.v.len()].iter_mut().zip(&s.v).for_each(|(v, x)| *v = x.to_f64());
        }
    }
}

/// The wait after one.
fn longer(wait: u32) -> u32 {
    wait.saturating_add(wait.div_ceil(4))
}

/// Impulse of a law from `sum = sum_j y_ij` over `count` slacks (Lee 2024, eqs. 14-18 and 41).
fn closed_form<T: Scalar>(law: Law, beta: T, count: T, sum: [T; 3], e: [T; 3]) -> [T; 3] {
    let zero = T::lit(0.0);
    let star: [T; 3] = std::array::from_fn(|r| -(sum[r] + beta * e[r]) / count);
    match law {
        Law::Contact { mu } => local::project(cast(mu), &star),
        Law::Block => star,
        Law::Bilateral => [star[0], zero, zero],
        Law::Unilateral => [star[0].max(zero), zero, zero],
        Law::Soft { k, b, lo, hi } => {
            let (k, b) = (cast::<T>(k), cast::<T>(b));
            let free = -(b * sum[0] + beta * k * e[0]) / (b * count + beta);
            [free.min(cast(hi)).max(cast(lo)), zero, zero]
        }
        Law::Box { lo, hi } => [star[0].min(cast(hi)).max(cast(lo)), zero, zero],
    }
}
