//! SubADMM on the islands of a chunk of worlds.

use manyworlds_gpu::Recording;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::island::{IslandDims, kind};
use manyworlds_shaders::contact::island_newton::Workspaces;
use manyworlds_shaders::contact::subadmm::layout::SplitDims;
use manyworlds_shaders::contact::subadmm::{CHECK_EVERY, FUSED_MOST, gather};
use manyworlds_shaders::kernel::contact as k;

use super::{SplitPack, SubAdmmParams};
use crate::island::{Islands, SetItems};
use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, Demand, IslandSolve, LoneTrees};

pub(super) const FORM: BatchForm =
    BatchForm { lone_trees: LoneTrees::AsIslands, dense: false, most_iterations: u32::MAX, make };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    // Devices have a form of its own for many constraints: a dispatch a half-iteration.
    let fused_most = if setup.on_device { FUSED_MOST } else { u32::MAX };
    Box::new(SplitBatch { pack: SplitPack::new(setup.chains.to_vec(), fused_most), on_device: setup.on_device })
}

/// The solver's part of a chunk.
#[derive(Debug)]
struct SplitBatch {
    pack: SplitPack,
    on_device: bool,
}

impl BatchSolver for SplitBatch {
    fn pack<'a>(&mut self, islands: &Islands<'a>, set: &dyn Fn(usize) -> SetItems<'a>) {
        let sets: Vec<_> = (0..self.pack.items_at.len()).map(set).collect();
        let trees: Vec<_> = sets.iter().map(|set| set.trees).collect();
        // A set's sides and rows stand in the order in which constraints have them as sides.
        let mut met = vec![[0; 2]; sets.len()];
        self.pack.pack(islands, &trees, |side, set, chains, add| {
            let (own, [sides, rows]) = (&sets[set], &mut met[set]);
            let of = islands.constraints[islands.sides[side].constraint as usize].kind;
            if of == kind::BLOCK {
                chains.of_side(&own.sides[*sides]).into_iter().flatten().for_each(add);
                *sides += 1;
            } else {
                chains.of_row(own.rows[*rows].row).iter().copied().for_each(add);
                *rows += 1;
            }
        });
    }

    fn demand(&self, _: &IslandDims, _: &Workspaces) -> Demand<'_> {
        Demand { words: &self.pack.index, reals: self.pack.n_real, work: 0 }
    }

    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let (b, pack) = (&solve.buffers, &self.pack);
        for (number, &items_at) in pack.items_at.iter().enumerate() {
            let set = (solve.set)(number);
            let n_items = set.dims.n_trees;
            if n_items > 0 {
                let dims = gather::Dims { n_items, items_at, trees_at: pack.dims.trees_at, n_m: set.n_m };
                recording.dispatch(&k::SUBADMM_GATHER, &dims, n_items, &[b.words, set.momentum, b.reals]);
            }
        }
        let params = SubAdmmParams::default();
        let all = SplitDims {
            tolerance: solve.dims.tolerance,
            tolerance_scaled: solve.dims.tolerance_scaled,
            relaxation: (params.relaxation as f32).to_bits(),
            imbalance: (params.imbalance as f32).to_bits(),
            adapt_after: params.adapt_after,
            iterations: solve.dims.iterations,
            ..pack.dims
        };
        let [fused, wide] = pack.forms;
        if fused {
            self.fused(&all, solve, recording);
        }
        if wide {
            self.wide(&SplitDims { wide: 1, ..all }, solve, recording);
        }
    }
}

impl SplitBatch {
    /// Islands that a workgroup solves.
    fn fused(&self, all: &SplitDims, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let b = &solve.buffers;
        let turns = if self.on_device {
            let [iteration, check] = self.pack.loops;
            (LOOPS as usize / (CHECK_EVERY as usize * iteration + check).max(1)).max(1) as u32
        } else {
            all.iterations.div_ceil(CHECK_EVERY)
        };
        for done in (0..all.iterations).step_by((turns * CHECK_EVERY) as usize) {
            let dims = SplitDims { done, iterations: all.iterations.min(done + turns * CHECK_EVERY), ..*all };
            let buffers = [b.index, b.words, b.jac, b.con, b.impulse, b.velocity, b.reals, b.info];
            recording.dispatch(&k::SUBADMM_FUSED, &dims, dims.n_islands, &buffers);
        }
    }

    /// Larger ones: a dispatch a half-iteration.
    fn wide(&self, all: &SplitDims, solve: &IslandSolve<'_>, recording: &mut Recording) {
        let b = &solve.buffers;
        let trees = [b.words, b.jac, b.impulse, b.velocity, b.reals];
        let laws = [b.index, b.words, b.jac, b.con, b.impulse, b.velocity, b.reals];
        for done in 0..=all.iterations {
            let dims = SplitDims { done, ..*all };
            if done > 0 {
                recording.dispatch(&k::SUBADMM_SOLVE, &dims, dims.n_trees, &trees);
                recording.dispatch(&k::SUBADMM_PROJECT, &dims, dims.n_constraints, &laws);
            }
            if done % CHECK_EVERY == 0 || done == all.iterations {
                recording
                    .dispatch(&k::SUBADMM_VELOCITY, &dims, dims.n_trees, &trees)
                    .dispatch(&k::SUBADMM_MEASURE, &dims, dims.n_constraints, &laws)
                    .dispatch(&k::SUBADMM_JUDGE, &dims, dims.n_islands, &[b.words, b.reals, b.info])
                    .dispatch(&k::SUBADMM_FACTOR, &dims, dims.n_trees, &trees);
            }
        }
    }
}
