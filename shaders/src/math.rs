//! Vectors, quaternions and the transcendental functions that kernels need, alike in WGSL (`math.wgsl`) and here.
//!
//! WGSL lets `sin`, `atan2` and friends be wrong by 2^-11, and in f64 they are not to be had at all, so both sides use
//! the same polynomials (S. L. Moshier, *Cephes*, `sin.c` and `atan.c`), good to about two units in the last place.

use crate::real::{Mask, Real};

/// A vector; world axes unless said otherwise.
pub type Vec3<R> = [R; 3];
/// A quaternion (w, x, y, z).
pub type Quat<R> = [R; 4];
/// A 3 x 3 matrix, row-major.
pub type Mat3<R> = [R; 9];

/// Three zeros.
#[inline(always)]
#[must_use]
pub fn zero<R: Real>() -> Vec3<R> {
    [R::lit(0.0); 3]
}

/// Three consecutive numbers of a slice.
#[inline(always)]
#[must_use]
pub fn load3<R: Real>(from: &[R], at: usize) -> Vec3<R> {
    let s = &from[at..at + 3];
    [s[0], s[1], s[2]]
}

/// Writes three consecutive numbers.
#[inline(always)]
pub fn store3<R: Real>(to: &mut [R], at: usize, v: Vec3<R>) {
    to[at..at + 3].copy_from_slice(&v);
}

/// Sum.
#[inline(always)]
#[must_use]
pub fn add<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Difference.
#[inline(always)]
#[must_use]
pub fn sub<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// `v * s`.
#[inline(always)]
#[must_use]
pub fn scale<R: Real>(v: Vec3<R>, s: R) -> Vec3<R> {
    [v[0] * s, v[1] * s, v[2] * s]
}

/// `v * s + t`.
#[inline(always)]
#[must_use]
pub fn scale_add<R: Real>(v: Vec3<R>, s: R, t: Vec3<R>) -> Vec3<R> {
    [v[0].mul_add(s, t[0]), v[1].mul_add(s, t[1]), v[2].mul_add(s, t[2])]
}

/// Scalar product.
#[inline(always)]
#[must_use]
pub fn dot<R: Real>(a: Vec3<R>, b: Vec3<R>) -> R {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// Vector product.
#[inline(always)]
#[must_use]
pub fn cross<R: Real>(a: Vec3<R>, b: Vec3<R>) -> Vec3<R> {
    [a[1].mul_add(b[2], -(a[2] * b[1])), a[2].mul_add(b[0], -(a[0] * b[2])), a[0].mul_add(b[1], -(a[1] * b[0]))]
}

/// `m v`.
#[inline(always)]
#[must_use]
pub fn mat_vec<R: Real>(m: &Mat3<R>, v: Vec3<R>) -> Vec3<R> {
    [dot([m[0], m[1], m[2]], v), dot([m[3], m[4], m[5]], v), dot([m[6], m[7], m[8]], v)]
}

/// `m^T v`.
#[inline(always)]
#[must_use]
pub fn mat_t_vec<R: Real>(m: &Mat3<R>, v: Vec3<R>) -> Vec3<R> {
    [dot([m[0], m[3], m[6]], v), dot([m[1], m[4], m[7]], v), dot([m[2], m[5], m[8]], v)]
}

/// `s v` of a symmetric matrix given as (xx, yy, zz, xy, xz, yz).
#[inline(always)]
#[must_use]
pub fn sym_vec<R: Real>(s: &[R; 6], v: Vec3<R>) -> Vec3<R> {
    [dot([s[0], s[3], s[4]], v), dot([s[3], s[1], s[5]], v), dot([s[4], s[5], s[2]], v)]
}

/// `m s m^T` of a symmetric matrix given, and returned, as (xx, yy, zz, xy, xz, yz).
#[inline(always)]
#[must_use]
pub fn sym_rotate<R: Real>(m: &Mat3<R>, s: &[R; 6]) -> [R; 6] {
    let x = [m[0], m[1], m[2]];
    let y = [m[3], m[4], m[5]];
    let z = [m[6], m[7], m[8]];
    let sx = sym_vec(s, x);
    let sy = sym_vec(s, y);
    let sz = sym_vec(s, z);
    [dot(x, sx), dot(y, sy), dot(z, sz), dot(x, sy), dot(x, sz), dot(y, sz)]
}

/// Rotation matrix of a unit quaternion.
#[inline(always)]
#[must_use]
pub fn quat_matrix<R: Real>(q: Quat<R>) -> Mat3<R> {
    let [w, x, y, z] = q;
    let (x2, y2, z2) = (x + x, y + y, z + z);
    let (wx, wy, wz) = (w * x2, w * y2, w * z2);
    let (xx, xy, xz) = (x * x2, x * y2, x * z2);
    let (yy, yz, zz) = (y * y2, y * z2, z * z2);
    let one = R::lit(1.0);
    [one - (yy + zz), xy - wz, xz + wy, xy + wz, one - (xx + zz), yz - wx, xz - wy, yz + wx, one - (xx + yy)]
}

/// Hamilton product.
#[inline(always)]
#[must_use]
pub fn quat_mul<R: Real>(a: Quat<R>, b: Quat<R>) -> Quat<R> {
    [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
}

/// The inverse of a unit quaternion.
#[inline(always)]
#[must_use]
pub fn quat_conjugate<R: Real>(q: Quat<R>) -> Quat<R> {
    [q[0], -q[1], -q[2], -q[3]]
}

/// Unit length; the identity for a quaternion of (next to) no length.
#[inline(always)]
#[must_use]
pub fn quat_normalize<R: Real>(q: Quat<R>) -> Quat<R> {
    let square = q[3].mul_add(q[3], q[2].mul_add(q[2], q[1].mul_add(q[1], q[0] * q[0])));
    let tiny = square.lt(R::lit(1e-30));
    let inverse = R::lit(1.0) / R::select(tiny, R::lit(1.0), square).sqrt();
    [
        R::select(tiny, R::lit(1.0), q[0] * inverse),
        R::select(tiny, R::lit(0.0), q[1] * inverse),
        R::select(tiny, R::lit(0.0), q[2] * inverse),
        R::select(tiny, R::lit(0.0), q[3] * inverse),
    ]
}

/// `x` between two bounds; a NaN stays one (`min` and `max` would swallow it).
#[inline(always)]
#[must_use]
pub fn clamp<R: Real>(x: R, low: R, high: R) -> R {
    R::select(x.lt(low), low, R::select(high.lt(x), high, x))
}

/// `v` rotated by a unit quaternion.
#[inline(always)]
#[must_use]
pub fn quat_rotate<R: Real>(q: Quat<R>, v: Vec3<R>) -> Vec3<R> {
    let u = [q[1], q[2], q[3]];
    let t = cross(u, v);
    let t = add(t, t);
    add(scale_add(t, q[0], v), cross(u, t))
}

/// Rotation by `angle` (rad) about a unit axis.
#[inline(always)]
#[must_use]
pub fn quat_about<R: Real>(axis: Vec3<R>, angle: R) -> Quat<R> {
    let (sin, cos) = sin_cos(angle * R::lit(0.5));
    [cos, axis[0] * sin, axis[1] * sin, axis[2] * sin]
}

/// Quaternion exponential: the rotation by the vector `r` (rad).
#[inline(always)]
#[must_use]
pub fn quat_exp<R: Real>(r: Vec3<R>) -> Quat<R> {
    let square = dot(r, r) * R::lit(0.25);
    let half = square.sqrt();
    let (sin, cos) = sin_cos(half);
    // sin(x)/x = 1 - x^2/6 + x^4/120 below x^2 = 1e-5, where the next term is under 1e-18.
    let small = square.lt(R::lit(1e-5));
    let series = (square.mul_add(R::lit(1.0 / 120.0), R::lit(-1.0 / 6.0))).mul_add(square, R::lit(1.0));
    let ratio = R::select(small, series, sin / R::select(small, R::lit(1.0), half)) * R::lit(0.5);
    [cos, r[0] * ratio, r[1] * ratio, r[2] * ratio]
}

/// `q exp(r / 2)`, of unit length: an orientation turned by the vector `r` (rad, body axes); `q` may have any length.
#[inline(always)]
#[must_use]
pub fn quat_turn<R: Real>(q: Quat<R>, r: Vec3<R>) -> Quat<R> {
    quat_normalize(quat_mul(quat_normalize(q), quat_exp(r)))
}

/// Quaternion logarithm: the rotation vector (rad) of a unit quaternion, of length at most pi.
#[inline(always)]
#[must_use]
pub fn quat_log<R: Real>(q: Quat<R>) -> Vec3<R> {
    let sign = R::select(q[0].lt(R::lit(0.0)), R::lit(-1.0), R::lit(1.0));
    let (w, v) = (q[0] * sign, scale([q[1], q[2], q[3]], sign));
    let square = dot(v, v);
    let sin = square.sqrt();
    // atan2(s, w) / s = 1 + s^2/6 + 3 s^4/40 for unit quaternions of small s.
    let small = square.lt(R::lit(1e-5));
    let series = (square.mul_add(R::lit(3.0 / 40.0), R::lit(1.0 / 6.0))).mul_add(square, R::lit(1.0));
    let ratio = R::select(small, series, atan2(sin, w) / R::select(small, R::lit(1.0), sin));
    scale(v, ratio + ratio)
}

/// Sine and cosine of an angle (rad) up to some thousands of turns.
#[inline(always)]
#[must_use]
pub fn sin_cos<R: Real>(x: R) -> (R, R) {
    // x = k pi/2 + r. The parts of pi/2 have few bits, so that k times each is exact in f32 as in f64 (Cody and Waite).
    let k = x.mul_add(R::lit(std::f64::consts::FRAC_2_PI), R::lit(0.5)).floor();
    let mut r = k.mul_add(R::lit(-1.5703125), x);
    r = k.mul_add(R::lit(-4.837_512_969_970_703e-4), r);
    r = k.mul_add(R::lit(-7.549_533_620_476_723e-8), r);
    r = k.mul_add(R::lit(-2.563_344_151_594_519e-12), r);
    let z = r * r;
    let s = polynomial(
        z,
        [
            1.589_623_015_765_465_6e-10,
            -2.505_074_776_285_780_7e-8,
            2.755_731_362_138_572_2e-6,
            -1.984_126_982_958_954e-4,
            8.333_333_333_322_118e-3,
            -1.666_666_666_666_663e-1,
        ],
    );
    let c = polynomial(
        z,
        [
            -1.135_853_652_138_768_2e-11,
            2.087_570_084_197_473e-9,
            -2.755_731_417_929_674e-7,
            2.480_158_728_885_170_4e-5,
            -1.388_888_888_887_305_6e-3,
            4.166_666_666_666_659_3e-2,
        ],
    );
    let sin = (r * z).mul_add(s, r);
    let cos = (z * z).mul_add(c, z.mul_add(R::lit(-0.5), R::lit(1.0)));
    // The quadrant, 0 to 3.
    let quadrant = (k * R::lit(0.25)).floor().mul_add(R::lit(-4.0), k);
    let one = R::lit(0.5).lt(quadrant) & quadrant.lt(R::lit(1.5));
    let two = R::lit(1.5).lt(quadrant) & quadrant.lt(R::lit(2.5));
    let three = R::lit(2.5).lt(quadrant);
    let odd = one | three;
    let (s, c) = (R::select(odd, cos, sin), R::select(odd, sin, cos));
    (R::select(two | three, -s, s), R::select(one | two, -c, c))
}

/// Angle of the point (x, y), in [-pi, pi]; 0 at the origin.
#[inline(always)]
#[must_use]
pub fn atan2<R: Real>(y: R, x: R) -> R {
    let (ax, ay) = (x.abs(), y.abs());
    let (low, high) = (ax.min(ay), ax.max(ay));
    let origin = high.le(R::lit(0.0));
    let t = low / R::select(origin, R::lit(1.0), high);
    // t is in [0, 1]; above 0.66 the rational function is taken about pi/4.
    let far = R::lit(0.66).lt(t);
    let u = R::select(far, (t - R::lit(1.0)) / (t + R::lit(1.0)), t);
    let z = u * u;
    let p = polynomial(
        z,
        [
            -8.750_608_600_031_904e-1,
            -1.615_753_718_733_365e1,
            -7.500_855_792_314_705e1,
            -1.228_866_684_490_136_2e2,
            -6.485_021_904_942_025e1,
        ],
    );
    let q = polynomial(
        z,
        [
            1.0,
            2.485_846_490_142_306_3e1,
            1.650_270_098_316_988_5e2,
            4.328_810_604_912_903e2,
            4.853_903_996_359_137e2,
            1.945_506_571_482_614e2,
        ],
    );
    let angle = (u * z).mul_add(p / q, u) + R::select(far, R::lit(std::f64::consts::FRAC_PI_4), R::lit(0.0));
    let angle = R::select(ax.lt(ay), R::lit(std::f64::consts::FRAC_PI_2) - angle, angle);
    let angle = R::select(x.lt(R::lit(0.0)), R::lit(std::f64::consts::PI) - angle, angle);
    R::select(y.lt(R::lit(0.0)), -angle, angle)
}

/// Horner's rule, highest power first.
#[inline(always)]
fn polynomial<R: Real, const N: usize>(x: R, coefficients: [f64; N]) -> R {
    let mut sum = R::lit(coefficients[0]);
    for k in 1..N {
        sum = sum.mul_add(x, R::lit(coefficients[k]));
    }
    sum
}

/// Whether a number is neither infinite nor a NaN.
#[inline(always)]
#[must_use]
pub fn finite<R: Real>(x: R) -> R::Mask {
    // Infinity times zero is a NaN, and a NaN fails every comparison.
    (x * R::lit(0.0)).abs().le(R::lit(0.0))
}

/// Whether no lane has anything but zero.
#[inline(always)]
#[must_use]
pub fn is_zero<R: Real>(x: R) -> bool {
    // A NaN is something.
    !(!x.abs().le(R::lit(0.0))).any()
}

#[cfg(test)]
mod tests {
    use super::{atan2, finite, quat_exp, quat_log, quat_mul, quat_normalize, quat_rotate, sin_cos};
    use crate::real::{F64x8, Mask, Real};

    /// Two units in the last place of numbers about 1.
    const ULPS_F64: f64 = 4.5e-16;
    /// As above.
    const ULPS_F32: f64 = 2.4e-7;

    #[test]
    fn sine_and_cosine_match_the_library() {
        for i in -20_000..20_000 {
            let x = f64::from(i) * 1.234_567e-3;
            let (s, c) = sin_cos(x);
            assert!((s - x.sin()).abs() < ULPS_F64 && (c - x.cos()).abs() < ULPS_F64, "{x}: {s} {c}");
            let y = x as f32;
            let (s, c) = sin_cos(y);
            let exact = f64::from(y).sin_cos();
            assert!((f64::from(s) - exact.0).abs() < ULPS_F32 && (f64::from(c) - exact.1).abs() < ULPS_F32, "{y}");
        }
    }

    #[test]
    fn the_angle_of_a_point_matches_the_library() {
        for i in 0..10_000 {
            let angle = (f64::from(i) - 5_000.0) * 6.283e-4;
            let (y, x) = (3.0 * angle.sin(), 3.0 * angle.cos());
            assert!((atan2(y, x) - y.atan2(x)).abs() < 2.0 * ULPS_F64, "{angle}");
            let (y, x) = (y as f32, x as f32);
            assert!((f64::from(atan2(y, x)) - f64::from(y).atan2(f64::from(x))).abs() < 2.0 * ULPS_F32, "{angle}");
        }
        assert_eq!(atan2(0.0, 0.0), 0.0);
    }

    #[test]
    fn exponential_and_logarithm_are_inverse() {
        for size in [0.0, 1e-9, 1e-4, 2e-3, 7e-3, 0.5, 3.0] {
            let r = [0.6 * size, -0.48 * size, 0.64 * size];
            let back = quat_log(quat_exp(r));
            for k in 0..3 {
                assert!((back[k] - r[k]).abs() < 1e-14, "{size}: {back:?}");
            }
        }
    }

    #[test]
    fn rotations_compose() {
        let (a, b) = (quat_exp([0.3, -1.0, 0.2]), quat_exp([-0.7, 0.1, 2.0]));
        let v = [1.0, -2.0, 0.5];
        let (once, twice) = (quat_rotate(quat_mul(a, b), v), quat_rotate(a, quat_rotate(b, v)));
        for k in 0..3 {
            assert!((once[k] - twice[k]).abs() < 1e-14);
        }
        assert_eq!(quat_normalize([0.0; 4]), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_pack_has_the_bits_of_its_scalars() {
        let mut x = F64x8::lit(0.0);
        for lane in 0..8 {
            x.set_lane(lane, lane as f64 * 1.7 - 5.0);
        }
        let (s, c) = sin_cos(x);
        let a = atan2(s, x);
        for lane in 0..8 {
            let (s1, c1) = sin_cos(x.lane(lane));
            assert_eq!((s.lane(lane), c.lane(lane)), (s1, c1));
            assert_eq!(a.lane(lane), atan2(s1, x.lane(lane)));
        }
    }

    #[test]
    fn infinities_and_nans_are_told_apart_from_numbers() {
        assert!(finite(1e300) && finite(0.0_f32) && !finite(f64::INFINITY) && !finite(f32::NAN));
        let mut x = F64x8::lit(1.0);
        x.set_lane(3, f64::NAN);
        let mask = finite(x);
        assert!(mask.lane(2) && !mask.lane(3));
    }
}
