//! One solver on one problem: how far it gets, in how many iterations and how long.

use std::time::Duration;

use manyworlds_contact::{ContactProblem, Precision, Quality, Solution, SolveSettings, quality, solve};
use serde::Serialize;

use crate::failure::Failure;

/// What single precision is asked for at best.
const SINGLE: f64 = 1e-6;
/// Repeats of one solve end when they have taken this long.
const ENOUGH: Duration = Duration::from_millis(100);

/// What each solver may spend.
pub(super) struct Budget {
    pub(super) tolerance: f64,
    pub(super) iterations: u32,
    pub(super) repeats: u32,
}

impl Budget {
    /// Refuses numbers without meaning.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.repeats == 0 {
            return Err(Failure::Input("--repeats: expected at least 1, found 0".into()));
        }
        self.settings(Precision::F64, 1).validate().map_err(|error| Failure::Input(format!("--{error}")))
    }

    /// The tolerance that a precision is held to.
    pub(super) fn tolerance(&self, precision: Precision) -> f64 {
        match precision {
            Precision::F32 => self.tolerance.max(SINGLE),
            Precision::F64 => self.tolerance,
        }
    }

    fn settings(&self, precision: Precision, iterations: u32) -> SolveSettings {
        SolveSettings { precision, tolerance: self.tolerance(precision), iterations, ..SolveSettings::default() }
    }

    /// Whether a solution is as good as was asked for: in f32 by its scaled residual, too.
    fn met(&self, precision: Precision, quality: &Quality) -> bool {
        let best = match precision {
            Precision::F32 => quality.residual.min(quality.residual_scaled),
            Precision::F64 => quality.residual,
        };
        best <= self.tolerance(precision)
    }
}

/// A solver on a problem.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) solver: &'static str,
    pub(super) precision: &'static str,
    pub(super) status: &'static str,
    /// Whether the residual, recomputed from the impulses in f64, is within the tolerance.
    pub(super) solved: bool,
    pub(super) iterations: u32,
    pub(super) residual: f64,
    pub(super) residual_scaled: f64,
    pub(super) momentum_error: f64,
    pub(super) complementarity_error: f64,
    pub(super) microseconds: f64,
    /// Solves that were stopped after 0, 1, 2, 3, 4, 6, 8, 11 ... iterations.
    pub(super) curve: Vec<Point>,
}

/// A solve that was stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Point {
    pub(super) iterations: u32,
    pub(super) microseconds: f64,
    pub(super) residual: f64,
    pub(super) residual_scaled: f64,
}

/// Measures one solver on one problem, with its curve if that is wanted.
pub(super) fn measure(
    problem: &ContactProblem,
    solver: &'static str,
    precision: Precision,
    budget: &Budget,
    curve: bool,
) -> Result<Run, Failure> {
    let (end, microseconds) = shortest(problem, solver, precision, budget, budget.iterations)?;
    let mut points = Vec::new();
    if curve {
        let start = quality(problem, &problem.warm_start, &problem.v_free);
        points.push(point(0, 0.0, &start));
        for stop in stops(end.iterations) {
            let (stopped, microseconds) = shortest(problem, solver, precision, budget, stop)?;
            points.push(point(stop, microseconds, &stopped.quality));
        }
        if end.iterations > 0 {
            points.push(point(end.iterations, microseconds, &end.quality));
        }
        // Solves that are stopped may try something else before they give up: one that went on and took less time has
        // been here, too.
        for i in (1..points.len()).rev() {
            points[i - 1].microseconds = points[i - 1].microseconds.min(points[i].microseconds);
        }
    }
    let q = &end.quality;
    Ok(Run {
        solver,
        precision: match precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        },
        status: end.status.name(),
        solved: budget.met(precision, q),
        iterations: end.iterations,
        residual: q.residual,
        residual_scaled: q.residual_scaled,
        momentum_error: q.momentum_error,
        complementarity_error: q.complementarity_error,
        microseconds,
        curve: points,
    })
}

fn point(iterations: u32, microseconds: f64, quality: &Quality) -> Point {
    let &Quality { residual, residual_scaled, .. } = quality;
    Point { iterations, microseconds, residual, residual_scaled }
}

/// A solve and its shortest time, µs.
fn shortest(
    problem: &ContactProblem,
    solver: &str,
    precision: Precision,
    budget: &Budget,
    iterations: u32,
) -> Result<(Solution, f64), Failure> {
    let settings = budget.settings(precision, iterations);
    let run = || solve(problem, solver, &settings).map_err(|error| Failure::Input(error.to_string()));
    let solution = run()?;
    let (mut least, mut spent) = (solution.elapsed, solution.elapsed);
    for _ in 1..budget.repeats {
        if spent >= ENOUGH {
            break;
        }
        let elapsed = run()?.elapsed;
        least = least.min(elapsed);
        spent += elapsed;
    }
    Ok((solution, least.as_secs_f64() * 1e6))
}

/// Numbers of iterations below the last, half a power of two apart.
fn stops(last: u32) -> impl Iterator<Item = u32> {
    let all = (0..).map(|k| f64::exp2(0.5 * f64::from(k)).round() as u32);
    let mut before = 0;
    all.take_while(move |&n| n < last).filter(move |&n| std::mem::replace(&mut before, n) != n)
}

#[cfg(test)]
mod tests {
    use super::stops;

    #[test]
    fn stops_are_half_a_power_apart() {
        assert_eq!(stops(30).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 8, 11, 16, 23]);
        assert_eq!(stops(1).count(), 0);
        assert_eq!(stops(0).count(), 0);
    }
}
