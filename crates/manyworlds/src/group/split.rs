//! SubADMM of the islands of a chunk as a recording.

use manyworlds_contact::SubAdmmParams;
use manyworlds_contact::subadmm::SplitPack;
use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::subadmm::layout::SplitDims;
use manyworlds_shaders::contact::subadmm::{CHECK_EVERY, gather};
use manyworlds_shaders::kernel::contact as k;

use super::chunk::ChunkSet;
use super::record::IslandStep;
use crate::host::IslandPack;

impl IslandStep {
    /// From free velocity and the impulses to start from, to impulses and the velocity that they give.
    pub(super) fn split<T: Scalar>(
        &self,
        dims: &IslandDims,
        sets: &[ChunkSet<T>],
        pack: &IslandPack<T>,
        split: &SplitPack,
        recording: &mut Recording,
    ) {
        let b = &self.buffers;
        for ((set, part), &items_at) in sets.iter().zip(&pack.sets).zip(&split.items_at) {
            let (n_items, n_m) = (part.dims.n_trees, set.dims().n_m);
            if n_items > 0 {
                let dims = gather::Dims { n_items, items_at, trees_at: split.dims.trees_at, n_m };
                let momentum = set.step.buffers.momentum;
                recording.dispatch(&k::SUBADMM_GATHER, &dims, n_items, &[b.split_index, momentum, b.split]);
            }
        }
        let params = SubAdmmParams::default();
        let all = SplitDims {
            tolerance: dims.tolerance,
            tolerance_scaled: dims.tolerance_scaled,
            relaxation: (params.relaxation as f32).to_bits(),
            imbalance: (params.imbalance as f32).to_bits(),
            adapt_after: params.adapt_after,
            iterations: self.iterations,
            ..split.dims
        };
        let [fused, wide] = split.forms;
        if fused {
            self.fused(&all, split, recording);
        }
        if wide {
            self.wide(&SplitDims { wide: 1, ..all }, recording);
        }
    }

    /// Islands that a workgroup solves.
    fn fused(&self, all: &SplitDims, split: &SplitPack, recording: &mut Recording) {
        let b = &self.buffers;
        let [_, impulse] = b.impulses(self.odd);
        let turns = if self.spread {
            let [iteration, check] = split.loops;
            (LOOPS as usize / (CHECK_EVERY as usize * iteration + check).max(1)).max(1) as u32
        } else {
            self.iterations.div_ceil(CHECK_EVERY)
        };
        for done in (0..self.iterations).step_by((turns * CHECK_EVERY) as usize) {
            let dims = SplitDims { done, iterations: self.iterations.min(done + turns * CHECK_EVERY), ..*all };
            let buffers = [b.index, b.split_index, b.jac, b.con, impulse, b.velocity, b.split, b.info];
            recording.dispatch(&k::SUBADMM_FUSED, &dims, dims.n_islands, &buffers);
        }
    }

    /// Larger ones: a dispatch a half-iteration.
    fn wide(&self, all: &SplitDims, recording: &mut Recording) {
        let b = &self.buffers;
        let [_, impulse] = b.impulses(self.odd);
        let trees = [b.split_index, b.jac, impulse, b.velocity, b.split];
        let laws = [b.index, b.split_index, b.jac, b.con, impulse, b.velocity, b.split];
        for done in 0..=self.iterations {
            let dims = SplitDims { done, ..*all };
            if done > 0 {
                recording.dispatch(&k::SUBADMM_SOLVE, &dims, dims.n_trees, &trees);
                recording.dispatch(&k::SUBADMM_PROJECT, &dims, dims.n_constraints, &laws);
            }
            if done % CHECK_EVERY == 0 || done == self.iterations {
                recording
                    .dispatch(&k::SUBADMM_VELOCITY, &dims, dims.n_trees, &trees)
                    .dispatch(&k::SUBADMM_MEASURE, &dims, dims.n_constraints, &laws)
                    .dispatch(&k::SUBADMM_JUDGE, &dims, dims.n_islands, &[b.split_index, b.split, b.info])
                    .dispatch(&k::SUBADMM_FACTOR, &dims, dims.n_trees, &trees);
            }
        }
    }
}
