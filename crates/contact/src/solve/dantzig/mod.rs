//! Dantzig's direct solver for the boxed linear complementarity problem (Baraff 1994; Werling 2021, A.1), in f64.
//!
//! Problem: `w = G lambda + q` with `lambda` of each row between bounds, `w` zero inside of them and pointing outward at
//! them; a contact's friction is a pyramid, `|lambda_t1|, |lambda_t2| <= mu lambda_n` each by itself. Optimality is judged
//! as by number 1 of the certificate with the pyramid in the cone's place; number 1 itself also measures how far a pyramid
//! is from a cone: up to 41 % of friction along its edges.
//!
//! First the index sets of the warm start are tried, which one factorization turns into impulses; where they are wrong,
//! rows are driven one by one, normal impulses before friction. Where pivoting with friction breaks down, which it may,
//! sweeps of projected Gauss-Seidel on the pyramid go on, and their index sets are tried now and then. Islands of more than
//! 400 rows are only swept, those of more than 5000 left alone. Impulses of redundant rows are those of least norm.

mod lcp;
mod pivot;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::iterate::timed;
use super::{ContactModel, Outcome, SolveSettings, SolveStatus, Solver};
use crate::problem::ContactProblem;
use lcp::Lcp;
use pivot::Pivot;

/// Islands of more rows are only swept: pivots cost their cube.
const MOST_PIVOTED: usize = 400;
/// Islands of more rows are left as they are: the matrix would take gigabytes.
const MOST_DENSE: usize = 5000;
/// Sweeps before the index sets are tried again; then twice as many.
const SWEEPS: u32 = 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Dantzig;

impl Solver for Dantzig {
    fn name(&self) -> &'static str {
        "dantzig"
    }

    fn model(&self) -> ContactModel {
        ContactModel::Pyramid
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        timed(settings, |trace| run(problem, settings, trace))
    }
}

/// One island while it is solved.
struct Search<'a> {
    lcp: &'a Lcp,
    lambda: Vec<f64>,
    residual: f64,
    iterations: u32,
}

impl<'a> Search<'a> {
    /// From impulses within their bounds.
    fn new(lcp: &'a Lcp, lambda: Vec<f64>) -> Self {
        Self { lcp, residual: lcp.residual(&lambda), lambda, iterations: 0 }
    }

    /// Takes impulses that are better than those so far.
    fn offer(&mut self, mut lambda: Vec<f64>) {
        self.lcp.clamp(&mut lambda);
        let residual = self.lcp.residual(&lambda);
        if residual < self.residual {
            (self.lambda, self.residual) = (lambda, residual);
        }
    }

    /// Index sets of the warm start, then pivots, then sweeps. An iteration is a factorization or a sweep.
    fn run(&mut self, settings: &SolveSettings) {
        let most = settings.iterations;
        if self.residual <= settings.tolerance || most == 0 {
            return;
        }
        let pivots = self.lcp.n <= MOST_PIVOTED;
        if pivots {
            self.guess();
            if self.residual > settings.tolerance {
                self.drive(most - self.iterations);
            }
        }
        let (mut lambda, mut sweeps) = (self.lambda.clone(), SWEEPS);
        while self.residual > settings.tolerance && self.iterations < most {
            let own = sweeps.min(most - self.iterations);
            (0..own).for_each(|_| self.lcp.sweep(&mut lambda));
            self.iterations += own;
            self.offer(lambda.clone());
            if pivots && self.residual > settings.tolerance && self.iterations < most {
                self.guess();
            }
            sweeps *= 2;
        }
    }

    /// Drives all rows.
    fn drive(&mut self, most: u32) {
        let mut pivot = Pivot::new(self.lcp);
        if pivot.run(most) {
            pivot.settled().into_iter().for_each(|lambda| self.offer(lambda));
        }
        self.iterations += pivot.pivots;
        self.offer(pivot.lambda);
    }

    /// One factorization, with the index sets that the impulses so far look like.
    fn guess(&mut self) {
        let mut pivot = Pivot::new(self.lcp);
        pivot.guess(&self.lambda);
        pivot.settled().into_iter().for_each(|lambda| self.offer(lambda));
        self.iterations += 1;
    }
}

/// All islands, one after the other. A trace has the start and the end: pivots on their way solve parts of the problem.
fn run(problem: &ContactProblem, settings: &SolveSettings, mut trace: Option<&mut Vec<Vec<f64>>>) -> Outcome {
    let mut lambda = problem.warm_start.clone();
    let (mut status, mut iterations) = (SolveStatus::Converged, 0);
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    for island in &problem.plan.islands {
        let ids = problem.plan.constraints_of(island);
        let rows: usize = ids.iter().map(|&i| problem.constraints[i as usize].law.rows()).sum();
        if rows > MOST_DENSE {
            status = SolveStatus::IterationLimit;
            continue;
        }
        let lcp = Lcp::new(problem, island);
        let mut search = Search::new(&lcp, lcp.read(&lambda));
        search.run(settings);
        if !search.residual.is_finite() {
            status = SolveStatus::NonFinite;
        } else if search.residual > settings.tolerance && status != SolveStatus::NonFinite {
            status = SolveStatus::IterationLimit;
        }
        iterations = iterations.max(search.iterations);
        lcp.write(&search.lambda, &mut lambda);
    }
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    let v = problem.velocity(&lambda);
    Outcome { status, iterations, outer: 0, stage: None, v, lambda, elapsed: Duration::ZERO, trace: Vec::new() }
}
