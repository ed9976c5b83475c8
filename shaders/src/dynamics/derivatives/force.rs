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

use super::layout::{Act, DERIVATIVE_BODY, DERIVATIVE_DOF, slope_reals, width, work_reals};
use super::transport::{cross_force, cross_motion, relative, runs};
use crate::args::Args;
use crate::dynamics::bias::{Spatial, apply, inertia_at, load_spatial, store_spatial};
use crate::dynamics::carried::moves_body;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{DofRecord, NONE, POSE, Params, SPATIAL, Tree, nth, nth_mut, param, tile_params};
use crate::math::{add, cross, dot, load3, scale, scale_add, sym_vec, zero};
use crate::real::Real;

/// Offsets in a body's part of the scratch.
mod body {
    /// Inertia of the subtree, 10.
    pub(super) const INERTIA: usize = 0;
    /// B of the subtree: its angular part, row-major, 9, and the linear momentum, 3.
    pub(super) const B: usize = 10;
    /// Force of the subtree, 6.
    pub(super) const FORCE: usize = 22;
    /// Forces fixed in the world on the subtree, 6.
    pub(super) const FIXED: usize = 28;
    /// Twist, 6.
    pub(super) const TWIST: usize = 34;
    /// Acceleration less gravity, 6.
    pub(super) const ACCELERATION: usize = 40;
}

/// Offsets in a dof's part of the scratch, behind those of the bodies.
mod dof {
    /// psi, 6.
    pub(super) const PSI: usize = 0;
    /// psi', 6.
    pub(super) const PSI_DOT: usize = 6;
    /// `psi + V_after x S`, 6.
    pub(super) const RATE: usize = 12;
}

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

/// Everything of bodies and dofs that the derivatives are made of; the parts of `work` where it lies.
#[inline(always)]
fn recurse<'w, R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    fixed: &[R],
    work: &'w mut [R],
) -> (&'w [R], &'w [R]) {
    let (acceleration, work) = work.split_at_mut(tree.dofs.len());
    let (bodies, dofs) = work.split_at_mut(DERIVATIVE_BODY * tree.bodies.len());
    outward(tree, params, pose, motion, velocity, acceleration, fixed, bodies, dofs);
    inward(tree, bodies);
    (bodies, dofs)
}

/// Sums over subtrees of what each body contributes.
#[inline(always)]
fn inward<R: Real>(tree: &Tree, bodies: &mut [R]) {
    for b in (1..tree.bodies.len()).rev() {
        let parent = tree.bodies[b].parent as usize * DERIVATIVE_BODY;
        for k in 0..body::TWIST {
            let own = bodies[b * DERIVATIVE_BODY + k];
            bodies[parent + k] += own;
        }
    }
}

/// Reals of a dof in the scratch of [`product`]: sums of three vectors over dofs behind it, and one over those before it.
const SUMS: usize = 4 * SPATIAL;

/// The same times a row `weight` `[n_v]` from the left, O(n): adds `scale weight^T` times the derivatives to `by_q` and `by_v`
/// `[n_v]`. For hosts; it has no kernel.
pub fn product<R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    fixed: &[R],
    scale: R,
    work: &mut [R],
    sums: &mut [R],
    weight: &[R],
    [by_q, by_v]: [&mut [R]; 2],
) {
    let n = tree.dofs.len();
    let (bodies, dofs) = recurse(tree, params, pose, motion, velocity, fixed, work);
    sums.fill(R::lit(0.0));
    let first_of = |i: usize| run_of(tree, &tree.dofs[i], i).0;
    // What moves before a run, times the weights.
    for i in 0..n {
        let first = first_of(i);
        if first == i
            && let Some(last) = tree.mover_before(i)
        {
            let above = first_of(last);
            let mut moved = load_spatial(sums, above * SUMS + 3 * SPATIAL);
            for k in above..=last {
                let s = load_spatial(motion, k * SPATIAL);
                moved = [scale_add(s[0], weight[k], moved[0]), scale_add(s[1], weight[k], moved[1])];
            }
            store_spatial(sums, i * SUMS + 3 * SPATIAL, moved);
        }
    }
    let accumulate = |sums: &mut [R], to: usize, times: R, x: Spatial<R>| {
        let sum = load_spatial(sums, to);
        store_spatial(sums, to, [scale_add(x[0], times, sum[0]), scale_add(x[1], times, sum[1])]);
    };
    for i in (0..n).rev() {
        let record = &tree.dofs[i];
        let row = Row::new(&bodies[record.body as usize * DERIVATIVE_BODY..][..DERIVATIVE_BODY], motion, dofs, i);
        let (first, count) = run_of(tree, record, i);
        for (k, x) in [row.momentum, row.transposed, row.swept].into_iter().enumerate() {
            accumulate(sums, first * SUMS + k * SPATIAL, weight[i], x);
        }
        let before = load_spatial(sums, first * SUMS + 3 * SPATIAL);
        by_q[i] = scale.mul_add(inner(before, row.turned), by_q[i]);
        by_v[i] = scale.mul_add(inner(before, row.sped), by_v[i]);
        if first < i {
            continue;
        }
        // All rows of the run and behind it are summed.
        let sum = |k: usize| load_spatial(sums, first * SUMS + k * SPATIAL);
        let behind = Row { momentum: sum(0), transposed: sum(1), swept: sum(2), ..row };
        for j in first..first + count {
            let [q, v] = behind.entry(motion, dofs, j);
            by_q[j] = scale.mul_add(q, by_q[j]);
            by_v[j] = scale.mul_add(v, by_v[j]);
        }
        if let Some(last) = tree.mover_before(first) {
            let above = first_of(last);
            for (k, x) in [behind.momentum, behind.transposed, behind.swept].into_iter().enumerate() {
                accumulate(sums, above * SUMS + k * SPATIAL, R::lit(1.0), x);
            }
        }
    }
}

/// Reals of the scratch `sums` of [`product`].
#[must_use]
pub fn sums_reals(n_v: usize) -> usize {
    SUMS * n_v
}

/// The run of dofs that turn together with a dof: first, and how many.
#[inline(always)]
fn run_of(tree: &Tree, record: &DofRecord, i: usize) -> (usize, usize) {
    let [one, other] = runs(&tree.joints[record.joint as usize]);
    if i < other.0 { one } else { other }
}

/// What a dof contributes to its row and, for the dofs before it, to its column.
struct Row<R> {
    /// `I S`.
    momentum: Spatial<R>,
    /// `B^T S`.
    transposed: Spatial<R>,
    /// `S x* f` of the forces fixed in the world.
    swept: Spatial<R>,
    /// `S x* f + I psi' + B psi`.
    turned: Spatial<R>,
    /// `I (psi + V_after x S) + B S`.
    sped: Spatial<R>,
}

impl<R: Real> Row<R> {
    #[inline(always)]
    fn new(own: &[R], motion: &[R], dofs: &[R], i: usize) -> Self {
        let inertia: [R; 10] = std::array::from_fn(|k| own[body::INERTIA + k]);
        let b = &own[body::B..body::FORCE];
        let s = load_spatial(motion, i * SPATIAL);
        let at = &dofs[i * DERIVATIVE_DOF..(i + 1) * DERIVATIVE_DOF];
        let (psi, psi_dot, rate) =
            (load_spatial(at, dof::PSI), load_spatial(at, dof::PSI_DOT), load_spatial(at, dof::RATE));
        let force = load_spatial(own, body::FORCE);
        let turned = sum(cross_force(s, force), sum(apply(&inertia, psi_dot), matrix_vector(b, psi)));
        Self {
            momentum: apply(&inertia, s),
            transposed: vector_matrix(b, s),
            swept: cross_force(s, load_spatial(own, body::FIXED)),
            turned,
            sped: sum(apply(&inertia, rate), matrix_vector(b, s)),
        }
    }

    /// The entries of the row by q and by v of a dof that is not behind its own.
    #[inline(always)]
    fn entry(&self, motion: &[R], dofs: &[R], j: usize) -> [R; 2] {
        let s = load_spatial(motion, j * SPATIAL);
        let at = &dofs[j * DERIVATIVE_DOF..(j + 1) * DERIVATIVE_DOF];
        let load = |k: usize| load_spatial(at, k);
        let turned = inner(self.momentum, load(dof::PSI_DOT)) + inner(self.transposed, load(dof::PSI));
        let by_v = inner(self.momentum, load(dof::RATE)) + inner(self.transposed, s);
        [turned - inner(s, self.swept), by_v]
    }
}

/// Twists, accelerations, psi and what each body alone contributes to the subtrees.
fn outward<R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    acceleration: &[R],
    fixed: &[R],
    bodies: &mut [R],
    dofs: &mut [R],
) {
    let c = load3(pose, 0);
    let rising = scale(params.at3(param::GRAVITY), R::lit(-1.0));
    let per_step = R::lit(1.0) / params.at(param::TIMESTEP);
    for b in 0..tree.bodies.len() {
        let record = &tree.bodies[b];
        let (mut v, mut a) = ([zero(), zero()], [zero(), rising]);
        if b > 0 {
            let p = record.parent as usize * DERIVATIVE_BODY;
            v = load_spatial(bodies, p + body::TWIST);
            a = load_spatial(bodies, p + body::ACCELERATION);
        }
        let first = record.joint_begin as usize;
        for joint in &tree.joints[first..first + record.joint_count as usize] {
            for (first, count) in runs(joint) {
                let moved = relative(motion, velocity, first, count);
                let after = sum(v, moved);
                for i in first..first + count {
                    let s = load_spatial(motion, i * SPATIAL);
                    let at = &mut dofs[i * DERIVATIVE_DOF..(i + 1) * DERIVATIVE_DOF];
                    let psi = cross_motion(v, s);
                    store_spatial(at, dof::PSI, psi);
                    store_spatial(at, dof::PSI_DOT, sum(cross_motion(a, s), cross_motion(v, psi)));
                    store_spatial(at, dof::RATE, sum(psi, cross_motion(after, s)));
                }
                a = sum(a, sum(cross_motion(v, moved), relative(motion, acceleration, first, count)));
                v = after;
            }
        }
        let inertia = inertia_at(params, b, pose, c);
        let slot = &mut bodies[b * DERIVATIVE_BODY..(b + 1) * DERIVATIVE_BODY];
        store_spatial(slot, body::TWIST, v);
        store_spatial(slot, body::ACCELERATION, a);
        slot[body::INERTIA..body::INERTIA + 10].copy_from_slice(&inertia);
        let momentum = apply(&inertia, v);
        store_spatial(slot, body::FORCE, sum(apply(&inertia, a), cross_force(v, momentum)));
        for k in 0..SPATIAL {
            slot[body::FIXED + k] = fixed[b * SPATIAL + k] * per_step;
        }
        // By Jacobi's identity B u is (w x (2 J - tr J) a + 2 h x (a x v), 2 a x p) for u = (a, .): J and h of the inertia,
        // w and v of the twist, p the linear momentum. The linear part of u adds nothing.
        let [_, hx, hy, hz, xx, yy, zz, xy, xz, yz] = inertia;
        let (h, two, trace) = ([hx, hy, hz], R::lit(2.0), xx + yy + zz);
        let doubled = [two * xx - trace, two * yy - trace, two * zz - trace, two * xy, two * xz, two * yz];
        for k in 0..3 {
            let mut e = zero();
            e[k] = R::lit(1.0);
            let column = scale_add(cross(h, cross(e, v[1])), two, cross(v[0], sym_vec(&doubled, e)));
            for row in 0..3 {
                slot[body::B + 3 * row + k] = column[row];
            }
            slot[body::B + 9 + k] = momentum[1][k];
        }
    }
}

#[inline(always)]
fn sum<R: Real>(a: Spatial<R>, b: Spatial<R>) -> Spatial<R> {
    [add(a[0], b[0]), add(a[1], b[1])]
}

#[inline(always)]
fn inner<R: Real>(a: Spatial<R>, b: Spatial<R>) -> R {
    dot(a[0], b[0]) + dot(a[1], b[1])
}

/// `B u`.
#[inline(always)]
fn matrix_vector<R: Real>(b: &[R], u: Spatial<R>) -> Spatial<R> {
    let row = |r: usize| dot(load3(b, 3 * r), u[0]);
    [[row(0), row(1), row(2)], scale(cross(u[0], load3(b, 9)), R::lit(2.0))]
}

/// `B^T u`.
#[inline(always)]
fn vector_matrix<R: Real>(b: &[R], u: Spatial<R>) -> Spatial<R> {
    let mut out = scale(cross(load3(b, 9), u[1]), R::lit(2.0));
    for r in 0..3 {
        out = scale_add(load3(b, 3 * r), u[0][r], out);
    }
    [out, zero()]
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
