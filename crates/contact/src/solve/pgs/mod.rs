//! Projected Gauss-Seidel on one problem, alone or followed by Newton steps: the kernels `contact/island_pgs`,
//! `contact/island_newton` and `contact/island_certify`, by their mirrors.

mod batch;
mod substeps;

use manyworlds_gpu::Instant;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{IslandDims, Islands, info};
use manyworlds_shaders::contact::island_certify::island_certify;
use manyworlds_shaders::contact::island_newton::{FIRST, ROUNDS, Room, island_newton};
use manyworlds_shaders::contact::island_pgs::island_pgs;
use manyworlds_shaders::dynamics::tree::status;

use super::{BatchForm, Outcome, Precision, SolveSettings, SolveStatus, Solver};
use crate::island::Ragged;
use crate::problem::ContactProblem;
pub(super) use batch::{DenseNewton, NEWTON};

/// See [`manyworlds_shaders::contact::island_pgs`].
#[derive(Debug)]
pub(super) struct Pgs;

impl Solver for Pgs {
    fn name(&self) -> &'static str {
        "pgs"
    }

    fn batch(&self, substeps: u32) -> Option<BatchForm> {
        Some(if substeps > 1 { substeps::FORM } else { batch::SWEEPS })
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        match settings.precision {
            Precision::F32 => run::<f32>(problem, settings, false),
            Precision::F64 => run::<f64>(problem, settings, false),
        }
    }
}

/// Solves one problem by sweeps; with `newton`, islands that are small enough by Newton steps after the first few.
pub(super) fn run<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings, newton: bool) -> Outcome {
    let room = if newton { Room::of_mirrors::<T>() } else { Room::None };
    let mut ragged = Ragged::<T>::new(problem, room);
    let scaled = if settings.precision == Precision::F32 { settings.tolerance } else { 0.0 };
    ragged.dims.tolerance = (settings.tolerance as f32).to_bits();
    ragged.dims.tolerance_scaled = (scaled as f32).to_bits();
    ragged.dims.iterations = settings.iterations;
    let fresh = settings.history.then(|| ragged.clone());
    let start = Instant::now();
    solve(&mut ragged);
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
        outer: 0,
        stage: None,
        v: ragged.v(problem),
        lambda: ragged.lambda(problem),
        elapsed,
        trace: fresh.map(|fresh| trace(problem, fresh, iterations)).unwrap_or_default(),
    }
}

fn solve<T: Scalar>(r: &mut Ragged<T>) {
    let iterations = r.dims.iterations;
    sweep(r, 0, FIRST.min(iterations));
    if FIRST < iterations {
        newton(r, (iterations - FIRST).min(ROUNDS));
        sweep(r, FIRST, iterations);
    }
}

fn sweep<T: Scalar>(r: &mut Ragged<T>, done: u32, iterations: u32) {
    let dims = IslandDims { done, iterations, ..r.dims };
    island_pgs(&dims, &r.index, &r.jac, &r.con, &mut r.impulse, &mut r.velocity, &mut r.info);
}

fn newton<T: Scalar>(r: &mut Ragged<T>, iterations: u32) {
    let dims = IslandDims { done: 0, iterations, ..r.dims };
    island_newton(&dims, &r.index, &r.jac, &mut r.con, &mut r.impulse, &mut r.velocity, &mut r.info);
}

/// Has sweeps leave alone the islands that Newton takes, or not.
fn hold<T: Scalar>(r: &mut Ragged<T>, held: bool) {
    let all = Islands::new(&r.dims, &r.index);
    for (_, own) in all.islands.iter().zip(r.info.chunks_exact_mut(info::SIZE)).filter(|(island, _)| island.has_work())
    {
        own[info::STOPPED] = T::lit(if held { 1.0 } else { 0.0 });
    }
}

/// Impulses after each iteration. A sweep depends on the impulses alone, so the solve is repeated one sweep a call; Newton
/// carries more, and is repeated from where it begins.
fn trace<T: Scalar>(problem: &ContactProblem, mut ragged: Ragged<T>, iterations: u32) -> Vec<Vec<f64>> {
    (ragged.dims.tolerance, ragged.dims.tolerance_scaled) = (0, 0);
    let mut trace = vec![ragged.lambda(problem)];
    for _ in 0..FIRST.min(iterations) {
        sweep(&mut ragged, 0, 1);
        trace.push(ragged.lambda(problem));
    }
    let rounds = ROUNDS.min(ragged.dims.iterations.saturating_sub(FIRST));
    for round in 1..=rounds.min(iterations.saturating_sub(FIRST)) {
        // Only islands too large for Newton are swept meanwhile.
        hold(&mut ragged, true);
        sweep(&mut ragged, FIRST, FIRST + 1);
        hold(&mut ragged, false);
        let mut stepped = ragged.clone();
        newton(&mut stepped, round);
        trace.push(stepped.lambda(problem));
        if round == rounds {
            ragged = stepped;
        }
    }
    for _ in FIRST + rounds..iterations {
        sweep(&mut ragged, FIRST, FIRST + 1);
        trace.push(ragged.lambda(problem));
    }
    trace
}
