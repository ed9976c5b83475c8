//! The shortest way round a sphere or an endless cylinder, between two points outside: the rules of MuJoCo 4's
//! `mju_wrap`, so that lengths are the same. All in the obstacle's frame.

use crate::math::{Vec3, atan2, cross, dot, scale, scale_add, sin_cos, zero};
use crate::real::{Mask, Real};

/// Lengths and squares below this count as none.
const TINY: f64 = 1e-15;
/// Newton steps for a way along the inside at most.
const INSIDE_ITERATIONS: usize = 20;
/// Where they begin: the sine of the largest angle.
const INSIDE_START: f64 = 0.9999999;
/// Angle at which they end, rad.
const INSIDE_TOLERANCE: f64 = 1e-6;
/// Angle that is good enough where single precision gets no closer, rad.
const INSIDE_CLOSE: f64 = 1e-4;
/// Badness of a way that crosses itself.
const CROSSED: f64 = 10000.0;

/// A way in the plane: where it meets the circle and leaves it.
#[derive(Clone, Copy)]
struct Round<R: Real> {
    wraps: R::Mask,
    first: [R; 2],
    second: [R; 2],
    length: R,
}

/// A way round an obstacle: where it meets it and leaves it, and the length between.
#[derive(Clone, Copy)]
pub(crate) struct Wrapped<R: Real> {
    pub(crate) wraps: R::Mask,
    pub(crate) first: Vec3<R>,
    pub(crate) second: Vec3<R>,
    pub(crate) length: R,
}

#[inline(always)]
fn dot2<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[1].mul_add(b[1], a[0] * b[0])
}

/// Vector product in the plane.
#[inline(always)]
fn product2<R: Real>(a: [R; 2], b: [R; 2]) -> R {
    a[0].mul_add(b[1], -(a[1] * b[0]))
}

/// Unit length, or as it is where there is none.
#[inline(always)]
fn unit2<R: Real>(a: [R; 2]) -> [R; 2] {
    let inverse = R::lit(1.0) / dot2(a, a).sqrt().max(R::lit(TINY));
    [a[0] * inverse, a[1] * inverse]
}

#[inline(always)]
pub(crate) fn unit<R: Real>(a: Vec3<R>) -> Vec3<R> {
    scale(a, R::lit(1.0) / dot(a, a).sqrt().max(R::lit(TINY)))
}

/// Whether the segments from p1 to p2 and from p3 to p4 meet.
#[inline(always)]
fn crosses<R: Real>(p1: [R; 2], p2: [R; 2], p3: [R; 2], p4: [R; 2]) -> R::Mask {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let (a, b, c) = ([p2[0] - p1[0], p2[1] - p1[1]], [p4[0] - p3[0], p4[1] - p3[1]], [p1[0] - p3[0], p1[1] - p3[1]]);
    let det = product2(a, b);
    let parallel = det.abs().lt(R::lit(TINY));
    let inverse = one / R::select(parallel, one, det);
    let (s, t) = (product2(b, c) * inverse, product2(a, c) * inverse);
    !parallel & zero.le(s) & s.le(one) & zero.le(t) & t.le(one)
}

/// Angle in [-pi/2, pi/2] of a sine.
#[inline(always)]
fn arc_sine<R: Real>(x: R) -> R {
    atan2(x, (-x).mul_add(x, R::lit(1.0)).max(R::lit(0.0)).sqrt())
}

/// The two ways round the outside: the shorter, or the longer where the centre lies between the straight line and a side point,
/// so that the line would have to cross the ray from the centre away from that point.
#[inline(always)]
fn round_outside<R: Real>(e0: [R; 2], e1: [R; 2], side: [R; 2], sided: bool, radius: R) -> Round<R> {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let (square0, square1, square) = (dot2(e0, e0), dot2(e1, e1), radius * radius);
    let along = [e1[0] - e0[0], e1[1] - e0[1]];
    let dd = dot2(along, along);
    let mut wraps = square.le(square0) & square.le(square1) & R::lit(TINY).le(dd);
    // The point of the straight line that is nearest to the centre.
    let a = (-dot2(along, e0) / dd.max(R::lit(TINY))).max(zero).min(one);
    let nearest = [a.mul_add(along[0], e0[0]), a.mul_add(along[1], e0[1])];
    let across = product2(e0, e1);
    let mut beyond = zero.lt(zero);
    if sided {
        beyond = (product2(e0, side) * across).lt(zero) & (product2(side, e1) * across).lt(zero);
    }
    wraps = wraps & (dot2(nearest, nearest).le(square) | beyond);
    let (root0, root1) = ((square0 - square).max(zero).sqrt() * radius, (square1 - square).max(zero).sqrt() * radius);
    let (inverse0, inverse1) = (one / square0.max(R::lit(TINY)), one / square1.max(R::lit(TINY)));
    let mut best = Round { wraps, first: e0, second: e1, length: zero };
    let (mut most, mut turns) = (zero, zero);
    for k in 0..2 {
        let sign = R::lit(if k == 0 { 1.0 } else { -1.0 });
        let first = [
            (sign * e0[1]).mul_add(root0, e0[0] * square) * inverse0,
            (sign * e0[0]).mul_add(-root0, e0[1] * square) * inverse0,
        ];
        let second = [
            (sign * e1[1]).mul_add(-root1, e1[0] * square) * inverse1,
            (sign * e1[0]).mul_add(root1, e1[1] * square) * inverse1,
        ];
        let apart = [first[0] - second[0], first[1] - second[1]];
        let mut good = -dot2(apart, apart);
        if sided {
            // Both ways are as long where the line goes through the centre.
            let toward = dot2(unit2([first[0] + second[0], first[1] + second[1]]), side);
            let longer = sign * across;
            good = R::select(across.abs().lt(R::lit(TINY)), toward, R::select(beyond, longer, -longer));
        }
        let crossed = crosses(e0, first, e1, second);
        good = R::select(crossed, -R::lit(CROSSED), good);
        // The first is taken where it is better, not where both are alike.
        let better = if k == 0 { zero.le(zero) } else { most.le(good) };
        let select2 = |yes: [R; 2], no: [R; 2]| [R::select(better, yes[0], no[0]), R::select(better, yes[1], no[1])];
        best.first = select2(first, best.first);
        best.second = select2(second, best.second);
        most = R::select(better, good, most);
        turns = R::select(better, sign, turns);
    }
    best.wraps = wraps & !crosses(e0, best.first, e1, best.second);
    // The angle between them in the sense in which the way goes round.
    let (sine, cosine) = (product2(best.first, best.second), dot2(best.first, best.second));
    let angle = atan2(sine.abs(), cosine);
    let long = zero.lt(turns * sine);
    best.length = radius * R::select(long, R::lit(std::f64::consts::TAU) - angle, angle);
    best
}

/// The point of the inside at which a way touches, by Newton steps for `asin(A z) + asin(B z) - 2 asin(z) + G = 0`.
#[inline(always)]
fn round_inside<R: Real>(e0: [R; 2], e1: [R; 2], radius: R) -> Round<R> {
    let (zero, one, tiny) = (R::lit(0.0), R::lit(1.0), R::lit(TINY));
    let (len0, len1) = (dot2(e0, e0).sqrt(), dot2(e1, e1).sqrt());
    let along = [e1[0] - e0[0], e1[1] - e0[1]];
    let dd = dot2(along, along);
    let mut wraps = radius.lt(len0) & radius.lt(len1) & tiny.lt(radius);
    let a = -dot2(along, e0) / dd.max(tiny);
    let nearest = [a.mul_add(along[0], e0[0]), a.mul_add(along[1], e0[1])];
    let within = tiny.lt(dd) & zero.lt(a) & a.lt(one);
    wraps = wraps & !(within & dot2(nearest, nearest).sqrt().le(radius));
    let cosine = (dot2(e0, e0) + dot2(e1, e1) - dd) / (len0 * len1 * R::lit(2.0)).max(tiny);
    wraps = wraps & (tiny - one).le(cosine);
    let (sa, sb) = (radius / len0.max(tiny), radius / len1.max(tiny));
    let gap = atan2((-cosine).mul_add(cosine, one).max(zero).sqrt(), cosine);
    let excess = |z: R| arc_sine(sa * z) + arc_sine(sb * z) - R::lit(2.0) * arc_sine(z) + gap;
    let slope = |s: R, z: R| s / (-(s * z)).mul_add(s * z, one).max(zero).sqrt().max(tiny);
    let mut z = R::lit(INSIDE_START);
    let mut f = excess(z);
    let mut sound = cosine.le(one - tiny) & f.le(zero);
    for _ in 0..INSIDE_ITERATIONS {
        let going = sound & R::lit(INSIDE_TOLERANCE).lt(f.abs());
        let df = slope(sa, z) + slope(sb, z) - R::lit(2.0) * slope(one, z);
        let falls = df.le(-tiny);
        let next = z - f / R::select(falls, df, -one);
        let left = next.le(z);
        sound = sound & (!going | (falls & left));
        z = R::select(going & falls & left, next, z);
        f = excess(z);
        sound = sound & f.le(R::lit(INSIDE_CLOSE));
    }
    sound = sound & f.abs().le(R::lit(INSIDE_CLOSE));
    // Turned from the one end or the other, by the sense in which the second lies.
    let ahead = zero.lt(product2(e0, e1));
    let from = unit2([R::select(ahead, e0[0], e1[0]), R::select(ahead, e0[1], e1[1])]);
    let (sin, cos) = sin_cos(arc_sine(z) - arc_sine(R::select(ahead, sa, sb) * z));
    let middle = unit2([e0[0] + e1[0], e0[1] + e1[1]]);
    let touch = [
        radius * R::select(sound, (-sin).mul_add(from[1], cos * from[0]), middle[0]),
        radius * R::select(sound, cos.mul_add(from[1], sin * from[0]), middle[1]),
    ];
    Round { wraps, first: touch, second: touch, length: zero }
}

/// The way from p0 to p1 round a sphere, or a cylinder along z; `side` where there is a side point.
#[inline(always)]
pub(crate) fn wrap<R: Real>(
    p0: Vec3<R>,
    p1: Vec3<R>,
    side: Vec3<R>,
    sided: bool,
    cylinder: bool,
    radius: R,
) -> Wrapped<R> {
    let (none, one, tiny) = (R::lit(0.0), R::lit(1.0), R::lit(TINY));
    let apart = tiny.le(dot(p0, p0).sqrt()) & tiny.le(dot(p1, p1).sqrt());
    let (mut x, mut y) = ([one, none, none], [none, one, none]);
    if !cylinder {
        x = unit(p0);
        let normal = cross(p0, p1);
        let straight = dot(normal, normal).sqrt().lt(tiny);
        // In line with the centre: any plane, the one that MuJoCo takes.
        let (ax, ay, az) = (x[0].abs(), x[1].abs(), x[2].abs());
        let second = ax.lt(ay) & az.lt(ay);
        let third = ax.lt(az) & ay.lt(az);
        let other = [R::select(second | third, one, none), R::select(second, none, one), R::select(third, none, one)];
        let spare = cross(x, other);
        let n = unit([
            R::select(straight, spare[0], normal[0]),
            R::select(straight, spare[1], normal[1]),
            R::select(straight, spare[2], normal[2]),
        ]);
        y = unit(cross(n, x));
    }
    let (e0, e1) = ([dot(p0, x), dot(p0, y)], [dot(p1, x), dot(p1, y)]);
    let toward = unit2([dot(side, x), dot(side, y)]);
    let mut way = round_outside(e0, e1, [toward[0] * radius, toward[1] * radius], sided, radius);
    if sided {
        let inside = dot(side, side).sqrt().lt(radius);
        if inside.any() {
            let inner = round_inside(e0, e1, radius);
            let choose = |yes: R, no: R| R::select(inside, yes, no);
            way.wraps = (inside & inner.wraps) | (!inside & way.wraps);
            way.first = [choose(inner.first[0], way.first[0]), choose(inner.first[1], way.first[1])];
            way.second = [choose(inner.second[0], way.second[0]), choose(inner.second[1], way.second[1])];
            way.length = choose(inner.length, way.length);
        }
    }
    let mut first = scale_add(y, way.first[1], scale_add(x, way.first[0], zero()));
    let mut second = scale_add(y, way.second[1], scale_add(x, way.second[0], zero()));
    let mut length = way.length;
    if cylinder {
        // Rises evenly along the whole way.
        let leg = |p: Vec3<R>, w: Vec3<R>| {
            let d = [p[0] - w[0], p[1] - w[1]];
            dot2(d, d).sqrt()
        };
        let (l0, l1) = (leg(p0, first), leg(p1, second));
        let rate = (p1[2] - p0[2]) / (l0 + length + l1).max(tiny);
        first[2] = rate.mul_add(l0, p0[2]);
        second[2] = rate.mul_add(l0 + length, p0[2]);
        let rise = second[2] - first[2];
        length = rise.mul_add(rise, length * length).sqrt();
    }
    Wrapped { wraps: apart & way.wraps, first, second, length }
}
