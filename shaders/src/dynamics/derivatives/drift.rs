//! Derivative of the free motion of a lone body: of [`LoneBody::drift`], by the implicit equation it solves.
//!
//! `I w+ = exp(-h w+) I w` gives `(I - h [s]x J) dw+ = exp(-h w+) I dw`, s = exp(-h w+) I w and J the left Jacobian at
//! -h w+. The linear velocity is `v + R (w x r - E (w+ x r))` with E = exp(h w+).

use super::turn::right;
use crate::dynamics::tumble::{LoneBody, carry, free_turn, solve3};
use crate::math::{Mat3, Vec3, add, cross, mat_vec, quat_conjugate, quat_rotate, scale, sub, sym_vec, zero};
use crate::real::Real;

/// Three columns of a derivative, each the change by a unit step along an axis.
type Columns<R> = [Vec3<R>; 3];

/// How the velocity after a free step changes.
#[derive(Clone, Copy)]
pub struct DriftDerivative<R> {
    /// Of the linear velocity (world axes) by a turn of the body (body axes).
    pub linear_turn: Columns<R>,
    /// Of the linear velocity by the angular velocity (body axes).
    pub linear_angular: Columns<R>,
    /// Of the angular velocity by the angular velocity, both in body axes.
    pub angular_angular: Columns<R>,
}

impl<R: Real> LoneBody<R> {
    /// Derivative of [`LoneBody::drift`]; `angular` the angular velocity before, `after` the one it led to.
    #[must_use]
    pub fn drift_derivative(&self, angular: Vec3<R>, after: Vec3<R>, h: R) -> DriftDerivative<R> {
        let turn = free_turn(after, h);
        let back = quat_conjugate(turn);
        let carried = carry(after, h, sym_vec(&self.inertia, angular));
        let forward = right(scale(after, h));
        let [xx, yy, zz, xy, xz, yz] = self.inertia;
        let mut slope: Mat3<R> = [xx, xy, xz, xy, yy, yz, xz, yz, zz];
        // The left Jacobian at -h w is the right one at h w.
        for k in 0..3 {
            let column = scale(cross(carried, [forward[k], forward[3 + k], forward[6 + k]]), h);
            for row in 0..3 {
                slope[3 * row + k] -= column[row];
            }
        }
        let whirl = cross(after, self.arm);
        let left_over = sub(cross(angular, self.arm), quat_rotate(turn, whirl));
        let mut out =
            DriftDerivative { linear_turn: [zero(); 3], linear_angular: [zero(); 3], angular_angular: [zero(); 3] };
        for k in 0..3 {
            let mut e = zero();
            e[k] = R::lit(1.0);
            let spun = solve3(&slope, quat_rotate(back, sym_vec(&self.inertia, e)));
            let turned = cross(mat_vec(&forward, scale(spun, h)), whirl);
            let moved = quat_rotate(turn, add(turned, cross(spun, self.arm)));
            out.angular_angular[k] = spun;
            out.linear_angular[k] = mat_vec(&self.axes, sub(cross(e, self.arm), moved));
            out.linear_turn[k] = mat_vec(&self.axes, cross(e, left_over));
        }
        out
    }
}
