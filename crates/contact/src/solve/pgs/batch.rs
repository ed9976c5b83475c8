//! Sweeps, alone or with Newton steps, on the islands of a chunk of worlds.

use manyworlds_gpu::Recording;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::island_newton::{self, Workspaces};
use manyworlds_shaders::contact::island_pgs;
use manyworlds_shaders::kernel::contact as k;

use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, Demand, IslandSolve, LoneTrees};

/// Sweeps.
pub(super) const SWEEPS: BatchForm =
    BatchForm { lone_trees: LoneTrees::ByLane { newton: false }, dense: false, most_iterations: u32::MAX, make };

/// A few sweeps; Newton steps; more sweeps for islands that are too large for those, or withstand them.
pub(in crate::solve) const NEWTON: BatchForm =
    BatchForm { lone_trees: LoneTrees::ByLane { newton: true }, dense: true, ..SWEEPS };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    Box::new(SweepBatch { newton: DenseNewton { on_device: setup.on_device } })
}

/// The solver's part of a chunk.
#[derive(Debug)]
struct SweepBatch {
    newton: DenseNewton,
}

impl BatchSolver for SweepBatch {
    fn demand(&self, _: &IslandDims, workspaces: &Workspaces) -> Demand<'_> {
        Demand { work: self.newton.work(workspaces), ..Demand::default() }
    }

    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let (b, iterations) = (&solve.buffers, solve.dims.iterations);
        let sweep = |recording: &mut Recording, begin: u32, end: u32| {
            for done in (begin..end).step_by(island_pgs::SWEEPS as usize) {
                let dims = IslandDims { iterations: end.min(done + island_pgs::SWEEPS), done, ..solve.dims };
                let buffers = [b.index, b.jac, b.con, b.impulse, b.velocity, b.info];
                recording.dispatch(&k::ISLAND_PGS, &dims, dims.n_islands, &buffers);
            }
        };
        if solve.workspaces.reals == 0 {
            sweep(recording, 0, iterations);
            return;
        }
        let first = iterations.min(island_newton::FIRST);
        sweep(recording, 0, first);
        self.newton.record(solve, island_newton::ROUNDS.min(iterations - first), recording);
        sweep(recording, first, iterations);
    }
}

/// Newton steps on the strict map, on Delassus operators that are written out, of islands that are not solved yet.
#[derive(Debug)]
pub(in crate::solve) struct DenseNewton {
    pub(in crate::solve) on_device: bool,
}

impl DenseNewton {
    /// Numbers of the workspace.
    pub(in crate::solve) fn work(&self, workspaces: &Workspaces) -> usize {
        // Mirrors have a workspace a thread; a device binds no empty buffer.
        if self.on_device { workspaces.reals.max(1) } else { 0 }
    }

    /// Appends so many steps at most.
    pub(in crate::solve) fn record(&self, solve: &IslandSolve<'_>, rounds: u32, recording: &mut Recording) {
        let b = &solve.buffers;
        let stride = if self.on_device { solve.workspaces.rounds() } else { rounds.max(1) };
        for done in (0..rounds).step_by(stride as usize) {
            let dims = IslandDims { iterations: rounds.min(done + stride), done, ..solve.dims };
            let buffers = [b.index, b.jac, b.con, b.impulse, b.velocity, b.info, b.work];
            recording.dispatch(&k::ISLAND_NEWTON, &dims, dims.n_islands, &buffers);
        }
    }
}
