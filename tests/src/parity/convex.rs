//! Cases of the kernels of CANAL and SAP, on the islands that the other island kernels are tested with. Each is given what
//! the mirrors before it leave in f64.

use manyworlds_contact::island::Chains;
use manyworlds_contact::solve::convex::ConvexPack;
use manyworlds_contact::solve::{canal, sap};
use manyworlds_contact::{CanalParams, SapParams};
use manyworlds_shaders::contact::convex::gather;
use manyworlds_shaders::contact::convex::layout::{self, ConvexDims, form, method, state, term};
use manyworlds_shaders::contact::island::{IslandDims, info, part, words};
use manyworlds_shaders::kernel::contact as k;

use super::contact::{ITERATED, ROUNDING};
use super::island::case;
use super::subadmm::Assembled;
use super::{Case, Data, EXACT};

/// The kernels on islands packed in one way: with the matrix in workgroup memory and in storage, or never written out.
fn packed(of: &Assembled, pack: &ConvexPack, written_out: bool) -> Vec<Case> {
    let IslandDims { n_islands, n_constraints, .. } = *of.islands.dims;
    // The island that the host solves is the first form's to look at.
    assert_eq!(pack.forms, [true, false, !written_out], "every other island is of one form");
    let left = |case: &Case, at: usize| case.after().expect("the mirror runs")[at].clone();
    let zeros = |n: usize, period: usize| Data::Flat { values: vec![0.0; n], period };
    let named = |name: &str, case: Case| Case { name: name.into(), ..case };

    let n_items = of.trees.len() as u32;
    let dims = &of.set.layout.dims;
    let [begins_at, columns_at] = pack.rows_at[0];
    let gather = gather::Dims {
        n_items,
        items_at: of.trees_at,
        dofs_at: pack.dims.dofs_at,
        begins_at,
        columns_at,
        n_v: dims.n_v,
        n_m: dims.n_m,
    };
    let convex_index = || Data::Words(pack.index.clone());
    let buffers = vec![of.index.clone(), convex_index(), of.momentum.clone(), zeros(pack.n_real, term::SIZE)];
    let gather = case(&k::CONVEX_GATHER, gather, n_items, buffers, &[(3, EXACT)]);
    let mut cases = Vec::new();
    // Never solved: how many steps an island takes would hang on the last bit.
    let exact =
        canal::settings::<f32>(&CanalParams { inner: 2, inner_share: 1e-30, penalty: 10.0, ..CanalParams::frozen() });
    let soft = sap::settings::<f32>(&SapParams { relative: 0.0, absolute: 0.0, ..SapParams::default() });
    // Outer iterations by themselves, for the mixing to have something to mix.
    let outer = ConvexDims { inner: 1, ..exact };
    // By rounds how many make a direction hangs on rounding, and what is mixed on that.
    let methods = [("canal", exact, 3), ("sap", soft, 3), ("canal outer", outer, 4)];
    for (name, method, iterations) in methods.into_iter().take(if written_out { 3 } else { 2 }) {
        let all = ConvexDims {
            tolerance: (-1.0_f32).to_bits(),
            tolerance_scaled: (-1.0_f32).to_bits(),
            floor: 0,
            iterations,
            ..pack.dims.with(&method)
        };
        let terms = vec![of.index.clone(), of.contact.clone(), of.con.clone(), of.impulse.clone(), left(&gather, 3)];
        let terms = named(name, case(&k::CONVEX_TERMS, all, n_constraints, terms, &[(4, ROUNDING)]));
        let buffers = |index: Data, convex: Data| {
            let infos = zeros(n_islands as usize * info::SIZE, info::SIZE);
            let (impulse, velocity) = (of.impulse.clone(), of.velocity.clone());
            vec![of.index.clone(), index, of.jac.clone(), of.con.clone(), impulse, velocity, convex, infos]
        };
        let outputs = [(4, ITERATED), (5, ITERATED), (7, EXACT)];
        let ready = buffers(convex_index(), left(&terms, 4));
        if !written_out {
            // So few rounds that a direction takes several turns.
            let all = ConvexDims { rounds: 3, iterations: 4 * iterations, ..all };
            cases.push(named(name, case(&k::CONVEX_SOLVE_ITERATIVE, all, n_islands, ready, &outputs)));
            continue;
        }
        let solve = named(name, case(&k::CONVEX_SOLVE, all, n_islands, ready, &outputs));
        // The same with the matrix of every island behind all else; the host's has none.
        let mut index = pack.index.clone();
        let Data::Flat { mut values, period } = left(&terms, 4) else { unreachable!("plain numbers") };
        for (island, own) in of.islands.islands.iter().enumerate().filter(|(_, own)| own.part == part::SOLVES) {
            let n = (own.velocity_end - own.velocity_begin) as usize;
            let at = pack.dims.places_at as usize + island * words::<[u32; 2]>();
            (index[at], index[at + 1]) = (form::LARGE, values.len() as u32);
            values.resize(values.len() + state::SIZE + n + layout::packed(n), 0.0);
        }
        let ready = buffers(Data::Words(index), Data::Flat { values, period });
        let large = named(name, case(&k::CONVEX_SOLVE_LARGE, all, n_islands, ready, &outputs));
        cases.extend([terms, solve, large]);
    }
    if written_out {
        cases.push(gather);
    }
    cases
}

pub(super) fn cases(of: &Assembled) -> Vec<Case> {
    let new = || ConvexPack::new(vec![Chains::new(&of.set.layout.tree())], method::CANAL);
    let (mut written_out, mut by_rounds) = (new(), new());
    (by_rounds.most, by_rounds.iterative) = ([0, 0], true);
    written_out.pack(of.islands, &[of.trees]);
    by_rounds.pack(of.islands, &[of.trees]);
    let mut cases = packed(of, &written_out, true);
    cases.extend(packed(of, &by_rounds, false));
    cases
}
