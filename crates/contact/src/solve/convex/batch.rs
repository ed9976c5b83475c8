//! CANAL and SAP on the islands of a chunk of worlds.

use manyworlds_gpu::Recording;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::convex::gather;
use manyworlds_shaders::contact::convex::layout::ConvexDims;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::island_newton::Workspaces;
use manyworlds_shaders::kernel::contact as k;

use super::ConvexPack;
use crate::island::{Islands, SetItems};
use crate::solve::batch::{BatchSetup, BatchSolver, Demand, IslandSolve};

/// Degrees of freedom of an island up to which the CPU's mirrors factor its matrix as a dense one; the host's blocks take
/// more.
const CPU_DOFS: usize = 128;

/// The solver's part of a chunk.
#[derive(Debug)]
pub(in crate::solve) struct ConvexBatch {
    pack: ConvexPack,
    settings: ConvexDims,
    on_device: bool,
}

impl ConvexBatch {
    /// `settings`: those of the method.
    pub(in crate::solve) fn new(setup: BatchSetup, settings: ConvexDims) -> Self {
        let mut pack = ConvexPack::new(setup.chains.to_vec(), settings.method);
        // Of islands whose matrix is too large a device finds directions without it, which leaves the host less. On the CPU
        // the host's sparse factor is better than that.
        pack.iterative = setup.on_device;
        if !setup.on_device {
            pack.most[1] = pack.most[1].min(CPU_DOFS);
        }
        Self { pack, settings, on_device: setup.on_device }
    }
}

impl BatchSolver for ConvexBatch {
    fn pack<'a>(&mut self, islands: &Islands<'a>, set: &dyn Fn(usize) -> SetItems<'a>) {
        let trees: Vec<_> = (0..self.pack.rows_at.len()).map(|number| set(number).trees).collect();
        self.pack.pack(islands, &trees);
    }

    fn demand(&self, _: &IslandDims, _: &Workspaces) -> Demand<'_> {
        Demand { words: &self.pack.index, reals: self.pack.n_real, work: 0 }
    }

    /// Islands that are too large for a workgroup are left with what they started from.
    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let (b, pack) = (&solve.buffers, &self.pack);
        for (number, &[begins_at, columns_at]) in pack.rows_at.iter().enumerate() {
            let set = (solve.set)(number);
            let n_items = set.dims.n_trees;
            if n_items > 0 {
                let dims = gather::Dims {
                    n_items,
                    items_at: set.dims.trees_at,
                    dofs_at: pack.dims.dofs_at,
                    begins_at,
                    columns_at,
                    n_v: set.dims.n_v,
                    n_m: set.n_m,
                };
                recording.dispatch(&k::CONVEX_GATHER, &dims, n_items, &[b.index, b.words, set.momentum, b.reals]);
            }
        }
        let iterations = solve.dims.iterations;
        let all = ConvexDims {
            tolerance: solve.dims.tolerance,
            tolerance_scaled: solve.dims.tolerance_scaled,
            iterations,
            ..pack.dims.with(&self.settings)
        };
        let terms = [b.index, b.contact, b.con, b.impulse, b.reals];
        recording.dispatch(&k::CONVEX_TERMS, &all, all.n_constraints, &terms);
        let buffers = [b.index, b.words, b.jac, b.con, b.impulse, b.velocity, b.reals, b.info];
        let [written_out, by_rounds] = pack.loops;
        let kernels = [
            (&k::CONVEX_SOLVE, written_out),
            (&k::CONVEX_SOLVE_LARGE, written_out),
            (&k::CONVEX_SOLVE_ITERATIVE, by_rounds),
        ];
        for ((kernel, loops), any) in kernels.into_iter().zip(pack.forms) {
            if !any {
                continue;
            }
            let stride = if self.on_device { (LOOPS as usize / loops.max(1)).max(1) as u32 } else { iterations };
            for done in (0..iterations).step_by(stride as usize) {
                let dims = ConvexDims { done, iterations: iterations.min(done + stride), ..all };
                recording.dispatch(kernel, &dims, dims.n_islands, &buffers);
            }
        }
    }
}
