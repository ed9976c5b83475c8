//! Poses of bodies as frames, four side by side: one after the other each waits for its own sums.

use parry3d_f64::math::{Matrix, Vector};
use wide::f64x4;

use crate::NonFinite;

/// Bodies computed side by side.
const WIDTH: usize = 4;
/// Numbers of a pose: position xyz, quaternion wxyz.
const POSE: usize = 7;

/// Where a body is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// m
    pub(super) origin: Vector,
    /// Its axes, as columns.
    pub(super) axes: Matrix,
}

/// The frames of some bodies, in their order, in place of what was there. `rounded`: rotations are of unit length only to
/// what single precision leaves, and are scaled to it.
#[inline]
pub(super) fn frames(
    bodies: &[u32],
    poses: impl Fn(usize) -> [f64; POSE],
    rounded: bool,
    out: &mut Vec<Frame>,
) -> Result<(), NonFinite> {
    out.clear();
    for some in bodies.chunks(WIDTH) {
        // Those that are missing are the last one again.
        let body = |k: usize| some[k.min(some.len() - 1)] as usize;
        // Written out, so that numbers stay in registers.
        let (a, b, c, d) = (poses(body(0)), poses(body(1)), poses(body(2)), poses(body(3)));
        let of = |e: usize| f64x4::from([a[e], b[e], c[e], d[e]]);
        let pose = [of(0), of(1), of(2), of(3), of(4), of(5), of(6)];
        // Zero for numbers, NaN for infinities and NaNs.
        let nothing = pose.iter().fold(f64x4::ZERO, |sum, &x| sum + x * f64x4::ZERO).to_array();
        if let Some(k) = nothing.iter().position(|&x| x != 0.0) {
            return Err(NonFinite { body: body(k) });
        }
        let [x, y, z, qw, qx, qy, qz] = pose;
        let [qw, qx, qy, qz] = if rounded { unit([qw, qx, qy, qz]) } else { [qw, qx, qy, qz] };
        let axes = axes(qw, qx, qy, qz);
        let origin = [x, y, z].map(f64x4::to_array);
        let axes = axes.map(|column| column.map(f64x4::to_array));
        for k in 0..some.len() {
            let vector = |of: &[[f64; WIDTH]; 3]| Vector::new(of[0][k], of[1][k], of[2][k]);
            let axes = Matrix::from_cols(vector(&axes[0]), vector(&axes[1]), vector(&axes[2]));
            out.push(Frame { origin: vector(&origin), axes });
        }
    }
    Ok(())
}

/// Quaternions scaled to unit length.
#[inline(always)]
fn unit(q: [f64x4; 4]) -> [f64x4; 4] {
    let square = q.iter().fold(f64x4::ZERO, |sum, &x| sum + x * x);
    let one = f64x4::ONE;
    // 1 / sqrt(square) to the second order, as near one as kernels leave it: that is exact, and costs no root.
    let near = (square - one).abs().simd_lt(f64x4::splat(1e-5));
    let mut scale = f64x4::splat(1.5) - f64x4::HALF * square;
    if !near.all() {
        scale = near.select(scale, one / square.sqrt());
    }
    q.map(|x| x * scale)
}

/// The columns of the rotation matrices of unit quaternions.
#[inline(always)]
fn axes(w: f64x4, x: f64x4, y: f64x4, z: f64x4) -> [[f64x4; 3]; 3] {
    let one = f64x4::ONE;
    let (x2, y2, z2) = (x + x, y + y, z + z);
    let (xx, xy, xz, yy, yz, zz) = (x * x2, x * y2, x * z2, y * y2, y * z2, z * z2);
    let (wx, wy, wz) = (w * x2, w * y2, w * z2);
    [[one - (yy + zz), xy + wz, xz - wy], [xy - wz, one - (xx + zz), yz + wx], [xz + wy, yz - wx, one - (xx + yy)]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use parry3d_f64::math::Rotation;

    /// Seven bodies, the last three of them alone in the second four.
    #[test]
    fn each_is_what_it_is_alone() {
        let pose = |body: usize| {
            let angle = 0.3 + body as f64;
            let q = Rotation::from_axis_angle(Vector::new(1.0, angle, -2.0).normalize(), angle);
            [angle, -angle, 2.0 * angle, q.w, q.x, q.y, q.z]
        };
        let bodies: Vec<u32> = (1..8).collect();
        let mut found = Vec::new();
        frames(&bodies, pose, false, &mut found).expect("finite poses");
        assert_eq!(found.len(), bodies.len());
        for (&body, frame) in bodies.iter().zip(&found) {
            let [x, y, z, w, i, j, k] = pose(body as usize);
            assert_eq!(frame.origin, Vector::new(x, y, z));
            assert_eq!(frame.axes, Matrix::from_quat(Rotation::from_xyzw(i, j, k, w)));
        }
    }

    #[test]
    fn rounded_rotations_are_scaled() {
        let mut found = Vec::new();
        for length in [1.0 + 3e-7, 1.1] {
            let pose = |_| [0.0, 0.0, 0.0, 0.6 * length, 0.0, 0.8 * length, 0.0];
            frames(&[1], pose, true, &mut found).expect("finite poses");
            let x = found[0].axes.x_axis;
            assert!((x - Vector::new(-0.28, 0.0, -0.96)).length() < 1e-12, "{length}: {x}");
        }
    }

    #[test]
    fn the_body_without_a_finite_pose_is_named() {
        for x in [f64::NAN, f64::INFINITY] {
            let pose = |body| [0.0, 0.0, if body == 6 { x } else { 0.0 }, 1.0, 0.0, 0.0, 0.0];
            let error = frames(&[2, 3, 4, 5, 6], pose, false, &mut Vec::new()).expect_err("a pose that is not finite");
            assert_eq!(error, NonFinite { body: 6 });
        }
    }
}
