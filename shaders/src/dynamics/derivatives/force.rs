//! Derivatives of the inverse dynamics `tau = M(q) a + c(q, v) - J^T f` with respect to q (tangent space) and v, for given
//! accelerations a and forces f that are fixed in the world, by recursion over the tree: O(n depth).
//!
//! Source: J. Carpentier and N. Mansard, *Analytical Derivatives of Rigid Body Dynamics Algorithms*, 2018, in the form of
//! S. Singh, R. Russell and P. Wensing, 2022. All vectors are in world axes at c, which stands for a point fixed in the
//! world. For a body with inertia I, twist V and acceleration a (less gravity), `f = I a + V x* I V`. Behind dof j,
//! `df/dq_j = S_j x* f + I psi'_j + B psi_j` with `B u = V x* I u - I (V x u) + u x* I V`, psi_j as in
//! [`super::transport`] and `psi'_j = a_before x S_j + V_before x psi_j`; `df/dv_j = I (psi_j + V_after x S_j) + B S_j`.
//! Dof i at or behind j takes its motion along, so that its row loses the term `S_j x* f`; but forces fixed in the world
//! stay where they are, and its motion moves in them: `(S_j x S_i) . f`.

use super::layout::{Act, DERIVATIVE_BODY, slope_reals, width, work_reals};
use super::recursion::{Row, inner, recurse, run_of};
use crate::args::Args;
use crate::dynamics::bias::load_spatial;
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree, nth, nth_mut, param, tile_params};
use crate::real::Real;

/// One tile of lanes. Every entry of the derivatives of the inverse dynamics, by q and by v, goes to `add(row, column, entries)`,
/// to be summed. `velocity` `[n_v]`; `fixed` [n_body, 6]: impulse on each body, fixed in the world, (moment, force) at c;
/// `work`: begins with the accelerations `[n_v]`. Forces are impulses per step.
pub fn force<R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    fixed: &[R],
    work: &mut [R],
    add: &mut impl FnMut(usize, usize, [R; 2]),
) {
    let n = tree.dofs.len();
    let (bodies, dofs) = recurse(tree, params, pose, motion, velocity, fixed, work);
    for i in 0..n {
        let record = &tree.dofs[i];
        let own = &bodies[record.body as usize * DERIVATIVE_BODY..][..DERIVATIVE_BODY];
        let row = Row::new(own, motion, dofs, i);
        let (first, count) = run_of(tree, record, i);
        for j in first..first + count {
            add(i, j, row.entry(motion, dofs, j));
        }
        let mut j = tree.dofs[first].parent;
        while j != NONE {
            let above = j as usize;
            if tree.dims.bound == 0 || moves_body(&tree.dofs[above], record.body) {
                add(i, above, row.entry(motion, dofs, above));
                let s = load_spatial(motion, above * SPATIAL);
                add(above, i, [inner(s, row.turned), inner(s, row.sped)]);
            }
            j = tree.dofs[above].parent;
        }
    }
}

/// Buffers: topology, params, state, pose, motion, act, work, slope. The velocity of a lone body is in its drift.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion, act, work, slope] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (state, pose, motion, act) = (state.tile(), pose.tile(), motion.tile(), act.tile());
    let (work, slope) = (work.tile_mut(), slope.tile_mut());
    let still = [R::lit(0.0); 6];
    let (n, width, act_at) = (dims.n_v as usize, width(dims), Act::new(dims));
    for t in 0..tiles {
        let params = tile_params(dims, params, t);
        let slope = nth_mut(slope, t, slope_reals(dims) as u32);
        let scale = -params.at(param::TIMESTEP);
        let state = nth(state, t, dims.n_state() as u32);
        self::force(
            &tree,
            params,
            nth(pose, t, POSE as u32 * dims.n_body),
            nth(motion, t, SPATIAL as u32 * dims.n_v),
            if dims.lone == 1 { &still } else { &state[dims.v_at()..dims.ctrl_at()] },
            &nth(act, t, act_at.reals as u32)[act_at.fixed..act_at.twist],
            nth_mut(work, t, work_reals(dims) as u32),
            &mut |row, column, [by_q, by_v]| {
                let at = row * width + column;
                slope[at] = scale.mul_add(by_q, slope[at]);
                slope[at + n] = scale.mul_add(by_v, slope[at + n]);
            },
        );
    }
}
