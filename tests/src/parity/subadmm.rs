//! Cases of SubADMM's kernels, on the islands that the other island kernels are tested with. Each is given what the mirrors
//! before it leave in f64.

use manyworlds_contact::island::{Chains, Islands};
use manyworlds_contact::solve::subadmm::SplitPack;
use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::contact::island::{IslandDims, RowItem, SideItem, TreeItem, info, kind};
use manyworlds_shaders::contact::subadmm::gather;
use manyworlds_shaders::contact::subadmm::layout::{SplitDims, slack};
use manyworlds_shaders::kernel::contact as k;

use super::contact::{ITERATED, ROUNDING};
use super::island::case;
use super::{Case, Data, EXACT};

/// The islands of a case and what their assembly leaves.
pub(super) struct Assembled<'a> {
    pub(super) set: &'a TreeSet,
    pub(super) islands: &'a Islands<'a>,
    pub(super) trees: &'a [TreeItem],
    /// Their first word in `index`.
    pub(super) trees_at: u32,
    pub(super) rows: &'a [RowItem],
    pub(super) items: &'a [SideItem],
    /// Of the trees, by lane.
    pub(super) momentum: Data,
    pub(super) index: Data,
    pub(super) contact: Data,
    pub(super) jac: Data,
    pub(super) con: Data,
    pub(super) impulse: Data,
    pub(super) velocity: Data,
}

pub(super) fn cases(of: &Assembled) -> Vec<Case> {
    let IslandDims { n_islands, .. } = *of.islands.dims;
    let mut pack = SplitPack::new(vec![Chains::new(&of.set.layout.tree())], 1);
    let (mut items, mut rows) = (of.items.iter(), of.rows.iter());
    pack.pack(of.islands, &[of.trees], |side, _, chains, add| {
        let constraint = of.islands.sides[side].constraint as usize;
        if of.islands.constraints[constraint].kind == kind::BLOCK {
            let item = items.next().expect("an item a side");
            chains.of_side(item).into_iter().flatten().for_each(add);
        } else {
            let row = rows.next().expect("an item a row");
            chains.of_row(row.row).iter().copied().for_each(add);
        }
    });
    let split_index = || Data::Words(pack.index.clone());
    let left = |case: &Case, at: usize| case.after().expect("the mirror runs")[at].clone();
    let zeros = |n: usize, period: usize| Data::Flat { values: vec![0.0; n], period };
    let infos = || zeros(n_islands as usize * info::SIZE, info::SIZE);

    let n_items = of.trees.len() as u32;
    let dims =
        gather::Dims { n_items, items_at: pack.items_at[0], trees_at: pack.dims.trees_at, n_m: of.set.layout.dims.n_m };
    let split = zeros(pack.n_real, slack::SIZE);
    let gather =
        case(&k::SUBADMM_GATHER, dims, n_items, vec![split_index(), of.momentum.clone(), split], &[(2, EXACT)]);

    // Never solved: how many iterations an island takes would hang on the last bit; and the penalty changes.
    let first = SplitDims {
        iterations: 12,
        tolerance: (-1.0_f32).to_bits(),
        tolerance_scaled: (-1.0_f32).to_bits(),
        relaxation: 1.5_f32.to_bits(),
        imbalance: 1.0_f32.to_bits(),
        adapt_after: 1,
        wide: 1,
        ..pack.dims
    };
    let later = SplitDims { done: 1, ..first };
    let trees =
        |impulse: Data, velocity: Data, split: Data| vec![split_index(), of.jac.clone(), impulse, velocity, split];
    let laws = |impulse: Data, velocity: Data, split: Data| {
        vec![of.index.clone(), split_index(), of.jac.clone(), of.con.clone(), impulse, velocity, split]
    };
    let (n_trees, n_constraints) = (first.n_trees, first.n_constraints);

    let at_rest = trees(of.impulse.clone(), of.velocity.clone(), left(&gather, 2));
    let velocity = case(&k::SUBADMM_VELOCITY, first, n_trees, at_rest, &[(3, ROUNDING)]);
    let started = laws(of.impulse.clone(), left(&velocity, 3), left(&gather, 2));
    let measure = case(&k::SUBADMM_MEASURE, first, n_constraints, started, &[(6, ROUNDING)]);
    let judged = vec![split_index(), left(&measure, 6), infos()];
    let judge = case(&k::SUBADMM_JUDGE, first, n_islands, judged, &[(1, ROUNDING), (2, EXACT)]);
    let factored = trees(of.impulse.clone(), left(&velocity, 3), left(&judge, 1));
    let factor = case(&k::SUBADMM_FACTOR, first, n_trees, factored, &[(4, ROUNDING)]);
    let solved = trees(of.impulse.clone(), left(&velocity, 3), left(&factor, 4));
    let solve = case(&k::SUBADMM_SOLVE, later, n_trees, solved, &[(3, ROUNDING)]);
    let projected = laws(of.impulse.clone(), left(&solve, 3), left(&factor, 4));
    let project = case(&k::SUBADMM_PROJECT, later, n_constraints, projected, &[(4, ROUNDING), (6, ROUNDING)]);

    let named = |name: &str, case: Case| Case { name: name.into(), ..case };
    let again = trees(left(&project, 4), left(&solve, 3), left(&project, 6));
    let again = named("later", case(&k::SUBADMM_VELOCITY, later, n_trees, again, &[(3, ROUNDING)]));
    let remeasured = laws(left(&project, 4), left(&again, 3), left(&project, 6));
    let remeasured = named("later", case(&k::SUBADMM_MEASURE, later, n_constraints, remeasured, &[(6, ITERATED)]));
    let rejudged = vec![split_index(), left(&remeasured, 6), infos()];
    let rejudged = named("later", case(&k::SUBADMM_JUDGE, later, n_islands, rejudged, &[(1, ITERATED), (2, EXACT)]));

    let mut alone = pack.index.clone();
    for island in 0..n_islands as usize {
        alone[pack.dims.islands_at as usize + 6 * island + 5] = 0;
    }
    let mut all = laws(of.impulse.clone(), of.velocity.clone(), left(&gather, 2));
    all[1] = Data::Words(alone);
    all.push(infos());
    let fused = SplitDims { wide: 0, ..first };
    let fused = case(&k::SUBADMM_FUSED, fused, n_islands, all, &[(4, ITERATED), (5, ITERATED), (7, EXACT)]);
    vec![gather, velocity, measure, judge, factor, solve, project, again, remeasured, rejudged, fused]
}
