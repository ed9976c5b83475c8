//! What derivatives of the inverse dynamics are made of: numbers of bodies, summed over subtrees, and of dofs. See [`super::force`].

use super::layout::{DERIVATIVE_BODY, DERIVATIVE_DOF};
use super::transport::{cross_force, cross_motion, relative, runs};
use crate::dynamics::bias::{Spatial, apply, inertia_at, load_spatial, store_spatial};
use crate::dynamics::tree::{DofRecord, Params, SPATIAL, Tree, param};
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

/// Everything of bodies and dofs that the derivatives are made of; the parts of `work` where it lies.
#[inline(always)]
pub(super) fn recurse<'w, R: Real>(
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

/// The run of dofs that turn together with a dof: first, and how many.
#[inline(always)]
pub(super) fn run_of(tree: &Tree, record: &DofRecord, i: usize) -> (usize, usize) {
    let [one, other] = runs(&tree.joints[record.joint as usize]);
    if i < other.0 { one } else { other }
}

/// What a dof contributes to its row and, for the dofs before it, to its column.
pub(super) struct Row<R> {
    /// `I S`.
    pub(super) momentum: Spatial<R>,
    /// `B^T S`.
    pub(super) transposed: Spatial<R>,
    /// `S x* f` of the forces fixed in the world.
    pub(super) swept: Spatial<R>,
    /// `S x* f + I psi' + B psi`.
    pub(super) turned: Spatial<R>,
    /// `I (psi + V_after x S) + B S`.
    pub(super) sped: Spatial<R>,
}

impl<R: Real> Row<R> {
    #[inline(always)]
    pub(super) fn new(own: &[R], motion: &[R], dofs: &[R], i: usize) -> Self {
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
    pub(super) fn entry(&self, motion: &[R], dofs: &[R], j: usize) -> [R; 2] {
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
pub(super) fn inner<R: Real>(a: Spatial<R>, b: Spatial<R>) -> R {
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
