//! How twists change with the configuration while joint velocities are held.
//!
//! With S_j the motion of dof j and V before, V after the twists before and after its joint's dofs (a free joint's
//! translations and rotations count as two joints), a body behind dof j has `dV/dq_j = S_j x V + psi`,
//! `psi = V_before x S_j`, and `dV/dv_j = S_j`; of its acceleration, `dpsi + dS` is what dv_j adds directly,
//! `dS = V_after x S_j` (S. Singh, R. Russell, P. Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics
//! using Spatial Vector Algebra, 2022).

use crate::dynamics::bias::{Spatial, load_spatial, store_spatial};
use crate::dynamics::tree::{JointRecord, SPATIAL, Tree, joint};
use crate::math::{add, cross, scale_add, zero};
use crate::real::Real;

/// Runs of dofs of a joint that move together: (first, how many); a free joint has two.
#[inline(always)]
#[must_use]
pub fn runs(record: &JointRecord) -> [(usize, usize); 2] {
    let first = record.dof_begin as usize;
    match record.kind {
        joint::FREE => [(first, 3), (first + 3, 3)],
        joint::BALL => [(first, 3), (first + 3, 0)],
        _ => [(first, 1), (first + 1, 0)],
    }
}

/// Motion times motion: `a x b`.
#[inline(always)]
#[must_use]
pub fn cross_motion<R: Real>(a: Spatial<R>, b: Spatial<R>) -> Spatial<R> {
    [cross(a[0], b[0]), add(cross(a[0], b[1]), cross(a[1], b[0]))]
}

/// Motion times force: `a x* f`.
#[inline(always)]
#[must_use]
pub fn cross_force<R: Real>(a: Spatial<R>, f: Spatial<R>) -> Spatial<R> {
    [add(cross(a[0], f[0]), cross(a[1], f[1])), cross(a[0], f[1])]
}

/// Sum of motions of a run of dofs, each times a number.
#[inline(always)]
#[must_use]
pub fn relative<R: Real>(motion: &[R], values: &[R], first: usize, count: usize) -> Spatial<R> {
    let mut sum = [zero(), zero()];
    for i in first..first + count {
        let s = load_spatial(motion, i * SPATIAL);
        sum = [scale_add(s[0], values[i], sum[0]), scale_add(s[1], values[i], sum[1])];
    }
    sum
}

/// `motion` and joint velocities `[n_v]` to `twist` [n_body, 6] and `psi` [n_v, 6] of one tile of lanes, all at c.
pub fn transport<R: Real>(tree: &Tree, motion: &[R], velocity: &[R], twist: &mut [R], psi: &mut [R]) {
    for b in 0..tree.bodies.len() {
        let body = &tree.bodies[b];
        let mut v = [zero(), zero()];
        if b > 0 {
            v = load_spatial(twist, body.parent as usize * SPATIAL);
        }
        let first = body.joint_begin as usize;
        for record in &tree.joints[first..first + body.joint_count as usize] {
            for (first, count) in runs(record) {
                for i in first..first + count {
                    store_spatial(psi, i * SPATIAL, cross_motion(v, load_spatial(motion, i * SPATIAL)));
                }
                let moved = relative(motion, velocity, first, count);
                v = [add(v[0], moved[0]), add(v[1], moved[1])];
            }
        }
        store_spatial(twist, b * SPATIAL, v);
    }
}
