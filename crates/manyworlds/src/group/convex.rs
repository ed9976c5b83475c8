//! CANAL and SAP on the islands of a chunk as a recording.

use manyworlds_contact::convex::{self, ConvexPack};
use manyworlds_contact::solve::Kernels;
use manyworlds_contact::{CanalParams, SapParams};
use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::convex::gather;
use manyworlds_shaders::contact::convex::layout::ConvexDims;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::kernel::contact as k;

use super::chunk::ChunkSet;
use super::record::IslandStep;
use crate::host::IslandPack;

impl IslandStep {
    /// From free velocity and the impulses to start from, to impulses and the velocity that they give. Islands that are too
    /// large for a workgroup are left with what they started from.
    pub(super) fn convex<T: Scalar>(
        &self,
        kernels: Kernels,
        dims: &IslandDims,
        sets: &[ChunkSet<T>],
        pack: &IslandPack<T>,
        convex: &ConvexPack,
        recording: &mut Recording,
    ) {
        let b = &self.buffers;
        for ((set, part), &[begins_at, columns_at]) in sets.iter().zip(&pack.sets).zip(&convex.rows_at) {
            let n_items = part.dims.n_trees;
            if n_items > 0 {
                let dims = gather::Dims {
                    n_items,
                    items_at: part.dims.trees_at,
                    dofs_at: convex.dims.dofs_at,
                    begins_at,
                    columns_at,
                    n_v: set.dims().n_v,
                    n_m: set.dims().n_m,
                };
                let momentum = set.step.buffers.momentum;
                recording.dispatch(&k::CONVEX_GATHER, &dims, n_items, &[b.index, b.convex_index, momentum, b.convex]);
            }
        }
        let settings = if kernels == Kernels::Sap {
            convex::sap::<T>(&SapParams::within(f64::from(self.tolerance)))
        } else {
            convex::canal::<T>(&CanalParams::frozen())
        };
        let all = ConvexDims {
            tolerance: dims.tolerance,
            tolerance_scaled: dims.tolerance_scaled,
            iterations: self.iterations,
            ..convex.dims.with(&settings)
        };
        let [_, impulse] = b.impulses(self.odd);
        let terms = [b.index, b.contact, b.con, impulse, b.convex];
        recording.dispatch(&k::CONVEX_TERMS, &all, all.n_constraints, &terms);
        let buffers = [b.index, b.convex_index, b.jac, b.con, impulse, b.velocity, b.convex, b.info];
        let [written_out, by_rounds] = convex.loops;
        let kernels = [
            (&k::CONVEX_SOLVE, written_out),
            (&k::CONVEX_SOLVE_LARGE, written_out),
            (&k::CONVEX_SOLVE_ITERATIVE, by_rounds),
        ];
        for ((kernel, loops), any) in kernels.into_iter().zip(convex.forms) {
            if !any {
                continue;
            }
            let stride = if self.spread { (LOOPS as usize / loops.max(1)).max(1) as u32 } else { self.iterations };
            for done in (0..self.iterations).step_by(stride as usize) {
                let dims = ConvexDims { done, iterations: self.iterations.min(done + stride), ..all };
                recording.dispatch(kernel, &dims, dims.n_islands, &buffers);
            }
        }
    }
}
