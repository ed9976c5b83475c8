//! Proof that no motion meets the requests of an island, whatever friction does.
//!
//! Any solution has `J v >= a` where contacts and limits press, `J v = a` where things are held, a the speeds that are asked
//! for. For weights `y`, not negative on inequalities, such a v has `(J^T y) . v >= a . y`, and so (Farkas' lemma, with a
//! bound instead of zero)
//!
//! `|v|_A >= s = a . y / |J^T y|_{A^-1}`.
//!
//! Impulses that bring the motion there from the free one do work of at least half the square of s less the energy of that. They
//! do it on requests: friction takes energy, and what drives add in a step is little beside it. Where requests contradict each
//! other there are y for which s is beyond all reason. They are what the motion misses that comes closest:
//! `min 1/2 |v|_A^2 + 1/2 sum w (a - J v)_+^2` has `A v = J^T y` with `y = w (a - J v)_+`. It takes a few factorizations, each for
//! a guess of what is missed.

use manyworlds_collide::organise::Island;

use super::super::cholesky::Cholesky;
use super::super::rows::{Block, Rows};
use super::super::system::{Constraint, System};
use crate::dense::dot;
use crate::problem::{ContactProblem, Law};

/// Weights `w`, in masses of the rows.
///
/// More would prove more, where rounding allowed it.
const STIFFNESS: f64 = 1e5;
/// Guesses of what is missed.
const GUESSES: usize = 12;
/// Shares of the way to the next guess.
const SHARES: [f64; 3] = [1.0, 0.5, 0.2];

/// Whether every motion that meets the requests takes more than so much work, J. `lambda`: impulses that show what presses.
pub(super) fn is_refuted(problem: &ContactProblem, island: &Island, lambda: &[f64], most: f64) -> bool {
    let mut misses = Misses::new(problem, island);
    let mut missed = misses.pressing(lambda);
    for _ in 0..GUESSES {
        let Some(share) = misses.go(&missed) else { return false };
        if most < misses.work() {
            return true;
        }
        let now: Vec<bool> = misses.short.iter().map(|&short| short != 0.0).collect();
        if share == 0.0 || share == 1.0 && now == missed {
            return false;
        }
        missed = now;
    }
    false
}

/// What a motion of an island misses of the requests.
struct Misses<'a> {
    problem: &'a ContactProblem,
    island: &'a Island,
    requests: System<f64>,
    matrix: Cholesky<f64>,
    /// The motion, and `J v` of it.
    v: Vec<f64>,
    sigma: Vec<f64>,
    /// `a - J v` as far as it counts, m/s.
    short: Vec<f64>,
    /// `1/2 |v|_A^2 + 1/2 sum w short^2`, J.
    merit: f64,
    /// Energy of the free motion, J.
    free: f64,
}

impl<'a> Misses<'a> {
    fn new(problem: &'a ContactProblem, island: &'a Island) -> Self {
        let requests = System::<f64>::of_requests(problem, island);
        let mut matrix = Cholesky::default();
        requests.shape(&mut matrix);
        let (v, n) = (vec![0.0; requests.free_momentum().len()], requests.constraints.len());
        let (sigma, short, merit) = (vec![0.0; n], Vec::new(), f64::INFINITY);
        let mut own = Self { problem, island, requests, matrix, v, sigma, short, merit, free: 0.0 };
        own.free = own.energy(&own.requests.velocity_of(&problem.v_free));
        own
    }

    /// The requests with an impulse.
    fn pressing(&self, lambda: &[f64]) -> Vec<bool> {
        self.requests.impulses_of(lambda).iter().map(|own| own[0] != 0.0).collect()
    }

    /// `1/2 |v|_A^2`, J.
    fn energy(&self, v: &[f64]) -> f64 {
        let mut p = vec![0.0; v.len()];
        self.requests.momentum(v, &mut p);
        0.5 * dot(&p, v)
    }

    /// Goes on to the motion that comes closest if this is what it misses, or a share of the way there: which. `None`: the matrix
    /// is singular.
    fn go(&mut self, missed: &[bool]) -> Option<f64> {
        let weight = |(c, &missed): (&Constraint<f64>, &bool)| if missed { STIFFNESS * c.mass } else { 0.0 };
        let weights: Vec<f64> = self.requests.constraints.iter().zip(missed).map(weight).collect();
        let blocks: Vec<Block<f64>> = weights.iter().map(|&w| [[w, 0.0, 0.0], [0.0; 3], [0.0; 3]]).collect();
        let pushes: Vec<Rows<f64>> =
            self.requests.constraints.iter().zip(&weights).map(|(c, w)| [-w * c.e[0], 0.0, 0.0]).collect();
        let mut next = vec![0.0; self.v.len()];
        self.requests.add_impulse(&pushes, &mut next);
        self.requests.assemble_symmetric(&blocks, &mut self.matrix);
        if !self.matrix.factor() {
            return None;
        }
        self.matrix.solve(&mut next);
        let there: Vec<f64> = self.requests.relative(&next).iter().map(|own| own[0]).collect();
        let between = |from: &[f64], to: &[f64], share: f64| -> Vec<f64> {
            from.iter().zip(to).map(|(&from, &to)| (1.0 - share).mul_add(from, share * to)).collect()
        };
        for share in SHARES {
            let (v, sigma) = (between(&self.v, &next, share), between(&self.sigma, &there, share));
            let short: Vec<f64> =
                self.requests.constraints.iter().zip(&sigma).map(|(c, &sigma)| short(c, sigma)).collect();
            let missed =
                self.requests.constraints.iter().zip(&short).map(|(c, short)| STIFFNESS * c.mass * short * short);
            let merit = self.energy(&v) + 0.5 * missed.sum::<f64>();
            if merit < self.merit {
                (self.v, self.sigma, self.short, self.merit) = (v, sigma, short, merit);
                return Some(share);
            }
        }
        Some(0.0)
    }

    /// Work at least of impulses that meet the requests, J: half the square of s, less the energy that there is without.
    fn work(&self) -> f64 {
        let push = |(c, short): (&Constraint<f64>, &f64)| [STIFFNESS * c.mass * short, 0.0, 0.0];
        let y: Vec<Rows<f64>> = self.requests.constraints.iter().zip(&self.short).map(push).collect();
        let asked: f64 = self.requests.constraints.iter().zip(&y).map(|(c, y)| -c.e[0] * y[0]).sum();
        let mut p = vec![0.0; self.v.len()];
        self.requests.add_impulse(&y, &mut p);
        let mut response = vec![0.0; self.problem.n_v];
        self.requests.write_velocity(&p, &mut response);
        for &s in self.problem.plan.members_of(self.island) {
            let s = &self.problem.subsystems[s as usize];
            self.problem.solve(s, &mut response[s.begin..s.begin + s.count]);
        }
        0.5 * asked * asked.abs() / dot(&p, &self.requests.velocity_of(&response)) - self.free
    }
}

/// What a speed misses of what a row asks for, m/s.
fn short(c: &Constraint<f64>, sigma: f64) -> f64 {
    let short = -c.e[0] - sigma;
    if matches!(c.law, Law::Bilateral) { short } else { short.max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConstraintInput, ProblemInput, SideInput};

    /// Degrees of freedom of 1 kg each, and rows that press and ask for a speed.
    fn asked(n: usize, rows: &[(&[f64], f64)]) -> ContactProblem {
        let constraint = |&(jacobian, request): &(&[f64], f64)| ConstraintInput {
            law: Law::Unilateral,
            e: [-request, 0.0, 0.0],
            compliance: None,
            sides: vec![SideInput { jacobian: jacobian.to_vec(), ..SideInput::default() }],
        };
        let identity = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
        let input = ProblemInput {
            subsystems: vec![[0, n]],
            a: vec![identity],
            b: vec![0.0; n],
            constraints: rows.iter().map(constraint).collect(),
            ..ProblemInput::default()
        };
        ContactProblem::new(input).expect("a valid problem")
    }

    fn refuted(problem: &ContactProblem, most: f64) -> bool {
        is_refuted(problem, &problem.plan.islands[0], &vec![1.0; problem.n_rows], most)
    }

    #[test]
    fn walls_closer_than_what_is_between_them_are_refuted() {
        assert!(refuted(&asked(1, &[(&[1.0], 0.2), (&[-1.0], 0.2)]), 1e3));
        // One of them recedes fast enough.
        assert!(!refuted(&asked(1, &[(&[1.0], 0.2), (&[-1.0], -0.3)]), 1e3));
    }

    /// Requests that only a lever of a thousand meets: at 200 m/s and 2e4 J.
    #[test]
    fn a_bound_is_what_the_slowest_motion_takes() {
        let problem = asked(2, &[(&[1.0, 0.0], 0.1), (&[-1.0, 1e-3], 0.1)]);
        assert!(refuted(&problem, 1.9e4) && !refuted(&problem, 2.1e4));
    }

    /// Four rows about two degrees of freedom, three of which contradict each other.
    #[test]
    fn what_misses_nothing_takes_no_part() {
        let rows: [(&[f64], f64); 4] =
            [(&[1.0, 0.0], 0.1), (&[0.0, 1.0], 0.1), (&[-1.0, -1.0], 0.1), (&[1.0, 1.0], -5.0)];
        assert!(refuted(&asked(2, &rows), 1e3));
        assert!(!refuted(&asked(2, &[rows[0], rows[1], rows[3]]), 1e3));
    }
}
