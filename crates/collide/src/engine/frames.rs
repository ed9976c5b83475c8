//! Poses of bodies as frames, of all worlds side by side.

use parry3d_f64::math::{Matrix, Vector};
use wide::f64x4;

use super::vectors::Vectors;
use crate::{ABREAST, NonFinite};

/// Numbers of a pose: position xyz, quaternion wxyz.
const POSE: usize = 7;

/// Where a body is in each world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames {
    /// m
    pub(super) origin: Vectors,
    /// Its axes, as columns.
    pub(super) axes: [Vectors; 3],
}

impl Frames {
    /// A vector of the body's frame in the world.
    #[inline(always)]
    pub(super) fn turn(&self, v: Vector) -> Vectors {
        let [x, y, z] = self.axes;
        x * f64x4::splat(v.x) + y * f64x4::splat(v.y) + z * f64x4::splat(v.z)
    }

    /// The columns of a matrix of the body's frame in the world.
    #[inline(always)]
    pub(super) fn turn_axes(&self, axes: &Matrix) -> [Vectors; 3] {
        [axes.x_axis, axes.y_axis, axes.z_axis].map(|axis| self.turn(axis))
    }
}

/// The frames of some bodies, in their order, in place of what was there. `rounded`: rotations are of unit length only to
/// what single precision leaves, and are scaled to it. Says of each world which body's pose is the first that is not finite.
#[inline]
pub(super) fn frames(
    bodies: &[u32],
    poses: impl Fn(usize) -> [[f64; ABREAST]; POSE],
    rounded: bool,
    out: &mut Vec<Frames>,
) -> [Result<(), NonFinite>; ABREAST] {
    out.clear();
    let mut found = [Ok(()); ABREAST];
    out.extend(bodies.iter().map(|&body| {
        let pose = poses(body as usize).map(f64x4::from);
        // Zero for numbers, NaN for infinities and NaNs.
        let nothing = pose.iter().fold(f64x4::ZERO, |sum, &x| sum + x * f64x4::ZERO);
        let broken = nothing.is_nan().to_bitmask();
        if broken != 0 {
            let failed = Err(NonFinite { body: body as usize });
            let lanes = found.iter_mut().enumerate().filter(|(k, own)| broken >> k & 1 != 0 && own.is_ok());
            lanes.for_each(|(_, own)| *own = failed);
        }
        let [x, y, z, qw, qx, qy, qz] = pose;
        let [qw, qx, qy, qz] = if rounded { unit([qw, qx, qy, qz]) } else { [qw, qx, qy, qz] };
        Frames { origin: Vectors::new(x, y, z), axes: axes(qw, qx, qy, qz) }
    }));
    found
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
fn axes(w: f64x4, x: f64x4, y: f64x4, z: f64x4) -> [Vectors; 3] {
    let one = f64x4::ONE;
    let (x2, y2, z2) = (x + x, y + y, z + z);
    let (xx, xy, xz, yy, yz, zz) = (x * x2, x * y2, x * z2, y * y2, y * z2, z * z2);
    let (wx, wy, wz) = (w * x2, w * y2, w * z2);
    [
        Vectors::new(one - (yy + zz), xy + wz, xz - wy),
        Vectors::new(xy - wz, one - (xx + zz), yz + wx),
        Vectors::new(xz + wy, yz - wx, one - (xx + yy)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use parry3d_f64::math::Rotation;

    fn of(vectors: Vectors, lane: usize) -> Vector {
        Vector::new(vectors.x.to_array()[lane], vectors.y.to_array()[lane], vectors.z.to_array()[lane])
    }

    fn in_lanes(pose: impl Fn(usize) -> [f64; POSE]) -> [[f64; ABREAST]; POSE] {
        std::array::from_fn(|e| std::array::from_fn(|lane| pose(lane)[e]))
    }

    #[test]
    fn each_is_what_it_is_alone() {
        let pose = |body: usize, lane: usize| {
            let angle = 0.3 + body as f64 + 0.1 * lane as f64;
            let q = Rotation::from_axis_angle(Vector::new(1.0, angle, -2.0).normalize(), angle);
            [angle, -angle, 2.0 * angle, q.w, q.x, q.y, q.z]
        };
        let bodies: Vec<u32> = (1..8).collect();
        let mut found = Vec::new();
        let finite = frames(&bodies, |body| in_lanes(|lane| pose(body, lane)), false, &mut found);
        assert_eq!((finite, found.len()), ([Ok(()); ABREAST], bodies.len()));
        for (&body, frame) in bodies.iter().zip(&found) {
            for lane in 0..ABREAST {
                let [x, y, z, w, i, j, k] = pose(body as usize, lane);
                let axes = Matrix::from_quat(Rotation::from_xyzw(i, j, k, w));
                assert_eq!(of(frame.origin, lane), Vector::new(x, y, z));
                let columns = [axes.x_axis, axes.y_axis, axes.z_axis];
                assert_eq!(frame.axes.map(|axis| of(axis, lane)), columns);
                let arm = Vector::new(0.1, -0.2, 0.3);
                assert_eq!(of(frame.turn(arm), lane), axes * arm);
            }
        }
    }

    #[test]
    fn rounded_rotations_are_scaled() {
        let mut found = Vec::new();
        let lengths = [1.0 + 3e-7, 1.1, 1.0, 0.9];
        let pose = |lane: usize| [0.0, 0.0, 0.0, 0.6 * lengths[lane], 0.0, 0.8 * lengths[lane], 0.0];
        let finite = frames(&[1], |_| in_lanes(pose), true, &mut found);
        assert_eq!(finite, [Ok(()); ABREAST]);
        for (lane, length) in lengths.into_iter().enumerate() {
            let x = of(found[0].axes[0], lane);
            assert!((x - Vector::new(-0.28, 0.0, -0.96)).length() < 1e-12, "{length}: {x}");
        }
    }

    #[test]
    fn the_body_without_a_finite_pose_is_named() {
        for x in [f64::NAN, f64::INFINITY] {
            let broken = |body, lane| (lane == 2 && body >= 5) || (lane == 3 && body == 6);
            let pose = |body, lane| [0.0, 0.0, if broken(body, lane) { x } else { 0.0 }, 1.0, 0.0, 0.0, 0.0];
            let found = frames(&[2, 3, 4, 5, 6], |body| in_lanes(|lane| pose(body, lane)), false, &mut Vec::new());
            assert_eq!(found, [Ok(()), Ok(()), Err(NonFinite { body: 5 }), Err(NonFinite { body: 6 })]);
        }
    }
}
