//! Temporal Gauss-Seidel on the islands of a chunk of worlds: a step's free motion let in by parts (Macklin et al. 2019,
//! "Small steps in physics simulation").

use manyworlds_gpu::Recording;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::island_newton::Workspaces;
use manyworlds_shaders::contact::{island_pgs, island_tgs};
use manyworlds_shaders::kernel::contact as k;

use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, Demand, IslandSolve, LoneTrees};

pub(super) const FORM: BatchForm =
    BatchForm { lone_trees: LoneTrees::AsIslands, dense: false, most_iterations: u32::MAX, make };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    Box::new(SubstepBatch { substeps: setup.substeps, on_device: setup.on_device })
}

/// The solver's part of a chunk.
#[derive(Debug)]
struct SubstepBatch {
    substeps: u32,
    on_device: bool,
}

impl BatchSolver for SubstepBatch {
    fn demand(&self, islands: &IslandDims, _: &Workspaces) -> Demand<'_> {
        Demand { work: 3 * islands.n_constraints as usize, ..Demand::default() }
    }

    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let b = &solve.buffers;
        let all = island_tgs::Dims::new(&solve.dims, self.substeps, solve.dims.iterations / self.substeps);
        // A part begins with as much as a sweep.
        let stride = if self.on_device { island_pgs::SWEEPS / 2 } else { all.iterations };
        for done in (0..all.iterations).step_by(stride as usize) {
            let dims = island_tgs::Dims { done, iterations: all.iterations.min(done + stride), ..all };
            let buffers = [b.index, b.jac, b.con, b.impulse, b.velocity, b.work, b.info];
            recording.dispatch(&k::ISLAND_TGS, &dims, dims.n_islands, &buffers);
        }
    }
}
