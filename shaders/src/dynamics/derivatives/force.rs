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

use super::transport::{cross_force, cross_motion, relative, runs};
use crate::dynamics::bias::{Spatial, apply, inertia_at, load_spatial, store_spatial};
use crate::dynamics::tree::{DofRecord, NONE, Params, SPATIAL, Tree, param};
use crate::math::{add, cross, dot, load3, scale, scale_add, sym_vec, zero};
use crate::real::Real;

/// Offsets in a body's part of the scratch of [`force_derivatives`].
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
    /// Reals of a body.
    pub(super) const SIZE: usize = 46;
}

/// Offsets in a dof's part of the scratch, behind those of the bodies.
mod dof {
    /// psi, 6.
    pub(super) const PSI: usize = 0;
    /// psi', 6.
    pub(super) const PSI_DOT: usize = 6;
    /// `psi + V_after x S`, 6.
    pub(super) const RATE: usize = 12;
    /// Reals of a dof.
    pub(super) const SIZE: usize = 18;
}

/// Reals of scratch that [`force_derivatives`] takes.
#[must_use]
pub fn scratch_reals(n_body: usize, n_v: usize) -> usize {
    body::SIZE * n_body + dof::SIZE * n_v
}

/// One tile of lanes. `velocity` and `acceleration` `[n_v]`, `fixed` [n_body, 6]: force on each body, fixed in the world,
/// (moment, force) at c. `dq` and `dv` [n_v, n_v] get d tau_i / d q_j and d tau_i / d v_j at `i * n_v + j`.
pub fn force_derivatives<R: Real>(
    tree: &Tree,
    params: Params<R>,
    pose: &[R],
    motion: &[R],
    velocity: &[R],
    acceleration: &[R],
    fixed: &[R],
    scratch: &mut [R],
    dq: &mut [R],
    dv: &mut [R],
) {
    let (n, n_body) = (tree.dofs.len(), tree.bodies.len());
    let (bodies, dofs) = scratch.split_at_mut(body::SIZE * n_body);
    outward(tree, params, pose, motion, velocity, acceleration, fixed, bodies, dofs);
    for b in (1..n_body).rev() {
        let parent = tree.bodies[b].parent as usize * body::SIZE;
        for k in 0..body::TWIST {
            let own = bodies[b * body::SIZE + k];
            bodies[parent + k] += own;
        }
    }
    dq[..n * n].fill(R::lit(0.0));
    dv[..n * n].fill(R::lit(0.0));
    for i in 0..n {
        let record = &tree.dofs[i];
        let own = &bodies[record.body as usize * body::SIZE..][..body::SIZE];
        let row = Row::new(own, motion, dofs, i);
        let (first, count) = run_of(tree, record, i);
        let mut fill = |j: usize| {
            let s = load_spatial(motion, j * SPATIAL);
            let at = &dofs[j * dof::SIZE..(j + 1) * dof::SIZE];
            let load = |k: usize| load_spatial(at, k);
            let turned = inner(row.momentum, load(dof::PSI_DOT)) + inner(row.transposed, load(dof::PSI));
            dq[i * n + j] = turned - inner(s, row.swept);
            dv[i * n + j] = inner(row.momentum, load(dof::RATE)) + inner(row.transposed, s);
        };
        (first..first + count).for_each(&mut fill);
        let mut j = tree.dofs[first].parent;
        while j != NONE {
            let above = j as usize;
            fill(above);
            j = tree.dofs[above].parent;
        }
        let mut j = tree.dofs[first].parent;
        while j != NONE {
            let above = j as usize;
            let s = load_spatial(motion, above * SPATIAL);
            dq[above * n + i] = inner(s, row.turned);
            dv[above * n + i] = inner(s, row.sped);
            j = tree.dofs[above].parent;
        }
    }
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
        let at = &dofs[i * dof::SIZE..(i + 1) * dof::SIZE];
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
    for b in 0..tree.bodies.len() {
        let record = &tree.bodies[b];
        let (mut v, mut a) = ([zero(), zero()], [zero(), rising]);
        if b > 0 {
            let p = record.parent as usize * body::SIZE;
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
                    let at = &mut dofs[i * dof::SIZE..(i + 1) * dof::SIZE];
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
        let slot = &mut bodies[b * body::SIZE..(b + 1) * body::SIZE];
        store_spatial(slot, body::TWIST, v);
        store_spatial(slot, body::ACCELERATION, a);
        slot[body::INERTIA..body::INERTIA + 10].copy_from_slice(&inertia);
        let momentum = apply(&inertia, v);
        store_spatial(slot, body::FORCE, sum(apply(&inertia, a), cross_force(v, momentum)));
        slot[body::FIXED..body::FIXED + 6].copy_from_slice(&fixed[b * SPATIAL..(b + 1) * SPATIAL]);
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
