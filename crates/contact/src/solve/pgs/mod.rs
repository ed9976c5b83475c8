//! Projected Gauss-Seidel on one problem: the kernels `contact/island_pgs` and `contact/island_certify`, by their mirrors.

use std::time::Instant;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::info;
use manyworlds_shaders::contact::island_certify::island_certify;
use manyworlds_shaders::contact::island_pgs::island_pgs;
use manyworlds_shaders::dynamics::tree::status;

use super::{Outcome, Precision, SolveSettings, SolveStatus, Solver};
use crate::island::Ragged;
use crate::problem::ContactProblem;

/// See [`manyworlds_shaders::contact::island_pgs`].
#[derive(Debug)]
pub(super) struct Pgs;

impl Solver for Pgs {
    fn name(&self) -> &'static str {
        "pgs"
    }

    fn steps_batches(&self) -> bool {
        true
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        match settings.precision {
            Precision::F32 => run::<f32>(problem, settings),
            Precision::F64 => run::<f64>(problem, settings),
        }
    }
}

fn run<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
    let mut ragged = Ragged::<T>::new(problem);
    let scaled = if settings.precision == Precision::F32 { settings.tolerance } else { 0.0 };
    ragged.dims.tolerance = (settings.tolerance as f32).to_bits();
    ragged.dims.tolerance_scaled = (scaled as f32).to_bits();
    ragged.dims.iterations = settings.iterations;
    let fresh = settings.history.then(|| ragged.clone());
    let start = Instant::now();
    sweep(&mut ragged);
    let elapsed = start.elapsed();
    let r = &mut ragged;
    island_certify(
        &r.dims,
        &r.index,
        &r.contact,
        &r.jac,
        &r.con,
        &r.impulse,
        &mut r.velocity,
        &mut r.info,
        &mut r.status,
    );
    let iterations = r.info.chunks_exact(info::SIZE).map(|i| i[info::ITERATIONS].to_f64() as u32).max().unwrap_or(0);
    let any = |bit: u32| r.status.iter().any(|s| s & bit != 0);
    let status = if any(status::NON_FINITE) {
        SolveStatus::NonFinite
    } else if any(status::ITERATION_LIMIT) {
        SolveStatus::IterationLimit
    } else {
        SolveStatus::Converged
    };
    Outcome {
        status,
        iterations,
        v: ragged.v(problem),
        lambda: ragged.lambda(problem),
        elapsed,
        trace: fresh.map(|fresh| trace(problem, fresh, iterations)).unwrap_or_default(),
    }
}

fn sweep<T: Scalar>(r: &mut Ragged<T>) {
    island_pgs(&r.dims, &r.index, &r.jac, &r.con, &mut r.impulse, &mut r.velocity, &mut r.info);
}

/// Impulses after each sweep: a sweep depends on the impulses alone, so the solve is repeated one sweep a call.
fn trace<T: Scalar>(problem: &ContactProblem, mut ragged: Ragged<T>, iterations: u32) -> Vec<Vec<f64>> {
    ragged.dims.iterations = 1;
    (ragged.dims.tolerance, ragged.dims.tolerance_scaled) = (0, 0);
    let mut trace = vec![ragged.lambda(problem)];
    for _ in 0..iterations {
        sweep(&mut ragged);
        trace.push(ragged.lambda(problem));
    }
    trace
}
