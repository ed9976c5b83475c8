//! The free motion of a lone rigid body, such that its momentum in the world is kept to round-off.
//!
//! The explicit step `I w+ = I w - h w x I w` feeds a tumbling body energy and turns its momentum. Instead w+ solves
//! `exp(h w+) I w+ = I w`: since the integrator turns the body by `exp(h w+)`, the spin `R I w` in world axes is the
//! same before and after. It is the implicit Euler rule of the body-frame momentum, so energy falls, by O(h) a second.
//! The centre of mass keeps its velocity likewise: `v+ = v + R (w x r) - R+ (w+ x r)`, r from the origin to the centre.

use crate::math::{Mat3, Quat, Vec3, add, cross, dot, mat_t_vec, mat_vec, quat_conjugate, quat_exp, quat_matrix};
use crate::math::{quat_normalize, quat_rotate, scale, sub, sym_vec};
use crate::real::Real;

/// Newton steps for w+: each gains three digits and more below half a radian a step.
const TUMBLE_ITERATIONS: usize = 5;

/// Mass properties of a lone body as its joint-space inertia holds them.
#[derive(Clone, Copy)]
pub struct LoneBody<R> {
    /// kg
    pub mass: R,
    /// Mass times the centre of mass from the body's origin, world axes, kg m.
    pub moment: Vec3<R>,
    /// Inertia about the centre of mass, body axes, kg m^2.
    pub(crate) inertia: [R; 6],
    /// Centre of mass from the body's origin, body axes, m.
    pub(crate) arm: Vec3<R>,
    /// Of the body, as columns.
    pub(crate) axes: Mat3<R>,
}

impl<R: Real> LoneBody<R> {
    /// From M of the six dofs of a free joint (`mass` `[21]`), its armature and the body's orientation.
    #[inline(always)]
    #[must_use]
    pub fn new(mass: &[R], armature: R, orientation: Quat<R>) -> Self {
        let axes = quat_matrix(orientation);
        // M_aj = e_j . (u_a x m r) for the rotation about u_a and the translation along e_j, and sum_a u_a x (u_a x m r) = -2 m r.
        let mut moment = [R::lit(0.0); 3];
        for (a, at) in [6, 10, 15].into_iter().enumerate() {
            let coupling = [mass[at + 3 + a], mass[at + 2 + a], mass[at + 1 + a]];
            moment = add(moment, cross([axes[a], axes[3 + a], axes[6 + a]], coupling));
        }
        let moment = scale(moment, R::lit(-0.5));
        let total = mass[0] - armature;
        let arm = scale(mat_t_vec(&axes, moment), R::lit(1.0) / total);
        let [x, y, z] = arm;
        let m = total;
        let inertia = [
            mass[6] - armature - m * (y * y + z * z),
            mass[10] - armature - m * (x * x + z * z),
            mass[15] - armature - m * (x * x + y * y),
            mass[11] + m * x * y,
            mass[17] + m * x * z,
            mass[16] + m * y * z,
        ];
        Self { mass: total, moment, inertia, arm, axes }
    }

    /// The velocity (world linear, body angular) one step of h on, when nothing acts.
    #[inline(always)]
    #[must_use]
    pub fn drift(&self, linear: Vec3<R>, angular: Vec3<R>, h: R) -> [Vec3<R>; 2] {
        let spin = sym_vec(&self.inertia, angular);
        let mut w = angular;
        for _ in 0..TUMBLE_ITERATIONS {
            let carried = carry(w, h, spin);
            let miss = sub(carried, sym_vec(&self.inertia, w));
            w = add(w, solve3(&self.slope(w, h, carried), miss));
        }
        // Whatever is left of the miss, the size of the momentum is kept.
        let [xx, yy, zz, xy, xz, yz] = self.inertia;
        let w = solve3(&[xx, xy, xz, xy, yy, yz, xz, yz, zz], carry(w, h, spin));
        let before = cross(angular, self.arm);
        let after = quat_rotate(free_turn(w, h), cross(w, self.arm));
        [add(linear, mat_vec(&self.axes, sub(before, after))), w]
    }

    /// Derivative of `I w - exp(-h w) spin`: `I - h [carried]x (1 + [f]x / 2 + [f]x^2 / 6)`, f = -h w.
    #[inline(always)]
    fn slope(&self, w: Vec3<R>, h: R, carried: Vec3<R>) -> Mat3<R> {
        let [xx, yy, zz, xy, xz, yz] = self.inertia;
        let mut slope = [xx, xy, xz, xy, yy, yz, xz, yz, zz];
        let f = scale(w, -h);
        for k in 0..3 {
            let mut e = [R::lit(0.0); 3];
            e[k] = R::lit(1.0);
            let once = cross(f, e);
            let turned = add(e, add(scale(once, R::lit(0.5)), scale(cross(f, once), R::lit(1.0 / 6.0))));
            let column = scale(cross(carried, turned), h);
            for row in 0..3 {
                slope[3 * row + k] -= column[row];
            }
        }
        slope
    }
}

/// `exp(h w)` of unit length, as the integrator makes it: what its sine and cosine lack of that would add up.
#[inline(always)]
pub(crate) fn free_turn<R: Real>(w: Vec3<R>, h: R) -> Quat<R> {
    quat_normalize(quat_exp(scale(w, h)))
}

/// `exp(-h w) spin`.
#[inline(always)]
pub(crate) fn carry<R: Real>(w: Vec3<R>, h: R, spin: Vec3<R>) -> Vec3<R> {
    quat_rotate(quat_conjugate(free_turn(w, h)), spin)
}

/// Solves a 3 x 3 system by Cramer's rule.
#[inline(always)]
pub(crate) fn solve3<R: Real>(m: &Mat3<R>, x: Vec3<R>) -> Vec3<R> {
    let (a, b, c) = ([m[0], m[3], m[6]], [m[1], m[4], m[7]], [m[2], m[5], m[8]]);
    let bc = cross(b, c);
    let inverse = R::lit(1.0) / dot(a, bc);
    scale([dot(x, bc), dot(a, cross(x, c)), dot(a, cross(b, x))], inverse)
}
