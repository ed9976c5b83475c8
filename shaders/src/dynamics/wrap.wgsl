// The shortest way round a sphere or an endless cylinder. See wrap.rs.

// Where a way in the plane meets the circle and leaves it.
struct Round {
    wraps: bool,
    first: vec2<real>,
    second: vec2<real>,
    length: real,
}

struct Wrapped {
    wraps: bool,
    first: vec3<real>,
    second: vec3<real>,
    length: real,
}

fn dot2(a: vec2<real>, b: vec2<real>) -> real {
    return fma(a.y, b.y, a.x * b.x);
}

// Vector product in the plane.
fn product2(a: vec2<real>, b: vec2<real>) -> real {
    return fma(a.x, b.y, -(a.y * b.x));
}

fn unit2(a: vec2<real>) -> vec2<real> {
    return a * (real(1.0) / max(sqrt(dot2(a, a)), TINY));
}

fn unit(a: vec3<real>) -> vec3<real> {
    return a * (real(1.0) / max(sqrt(dot3(a, a)), TINY));
}

// Whether the segments from p1 to p2 and from p3 to p4 meet.
fn crosses(p1: vec2<real>, p2: vec2<real>, p3: vec2<real>, p4: vec2<real>) -> bool {
    let a = p2 - p1;
    let b = p4 - p3;
    let c = p1 - p3;
    let det = product2(a, b);
    let parallel = abs(det) < TINY;
    let inverse = real(1.0) / select(det, real(1.0), parallel);
    let s = product2(b, c) * inverse;
    let t = product2(a, c) * inverse;
    return !parallel && real(0.0) <= s && s <= real(1.0) && real(0.0) <= t && t <= real(1.0);
}

// Angle in [-pi/2, pi/2] of a sine.
fn arc_sine(x: real) -> real {
    return arc_tan2(x, sqrt(max(fma(-x, x, real(1.0)), real(0.0))));
}

// The two ways round the outside: the shorter, or the longer where the centre lies between the straight line and a side point.
fn round_outside(e0: vec2<real>, e1: vec2<real>, side: vec2<real>, sided: bool, radius: real) -> Round {
    let square0 = dot2(e0, e0);
    let square1 = dot2(e1, e1);
    let square = radius * radius;
    let along = e1 - e0;
    let dd = dot2(along, along);
    var wraps = square <= square0 && square <= square1 && TINY <= dd;
    let a = min(max(-dot2(along, e0) / max(dd, TINY), real(0.0)), real(1.0));
    let nearest = vec2<real>(fma(a, along.x, e0.x), fma(a, along.y, e0.y));
    let across = product2(e0, e1);
    var beyond = false;
    if sided {
        beyond = product2(e0, side) * across < real(0.0) && product2(side, e1) * across < real(0.0);
    }
    wraps = wraps && (dot2(nearest, nearest) <= square || beyond);
    let root0 = sqrt(max(square0 - square, real(0.0))) * radius;
    let root1 = sqrt(max(square1 - square, real(0.0))) * radius;
    let inverse0 = real(1.0) / max(square0, TINY);
    let inverse1 = real(1.0) / max(square1, TINY);
    var best = Round(wraps, e0, e1, real(0.0));
    var most = real(0.0);
    var turns = real(0.0);
    for (var k = 0u; k < 2u; k++) {
        let sign = select(real(-1.0), real(1.0), k == 0u);
        let first = vec2<real>(
            fma(sign * e0.y, root0, e0.x * square) * inverse0,
            fma(sign * e0.x, -root0, e0.y * square) * inverse0,
        );
        let second = vec2<real>(
            fma(sign * e1.y, -root1, e1.x * square) * inverse1,
            fma(sign * e1.x, root1, e1.y * square) * inverse1,
        );
        let apart = first - second;
        var good = -dot2(apart, apart);
        if sided {
            let toward = dot2(unit2(first + second), side);
            let longer = sign * across;
            good = select(select(-longer, longer, beyond), toward, abs(across) < TINY);
        }
        if crosses(e0, first, e1, second) {
            good = -CROSSED;
        }
        if k == 0u || most <= good {
            best.first = first;
            best.second = second;
            most = good;
            turns = sign;
        }
    }
    best.wraps = wraps && !crosses(e0, best.first, e1, best.second);
    let sine = product2(best.first, best.second);
    let angle = arc_tan2(abs(sine), dot2(best.first, best.second));
    let long = real(0.0) < turns * sine;
    best.length = radius * select(angle, real(6.283185307179586) - angle, long);
    return best;
}

// The point of the inside at which a way touches.
fn round_inside(e0: vec2<real>, e1: vec2<real>, radius: real) -> Round {
    let len0 = sqrt(dot2(e0, e0));
    let len1 = sqrt(dot2(e1, e1));
    let along = e1 - e0;
    let dd = dot2(along, along);
    var wraps = radius < len0 && radius < len1 && TINY < radius;
    let a = -dot2(along, e0) / max(dd, TINY);
    let nearest = vec2<real>(fma(a, along.x, e0.x), fma(a, along.y, e0.y));
    let within = TINY < dd && real(0.0) < a && a < real(1.0);
    wraps = wraps && !(within && sqrt(dot2(nearest, nearest)) <= radius);
    let cosine = (dot2(e0, e0) + dot2(e1, e1) - dd) / max(len0 * len1 * real(2.0), TINY);
    wraps = wraps && TINY - real(1.0) <= cosine;
    let sa = radius / max(len0, TINY);
    let sb = radius / max(len1, TINY);
    let gap = arc_tan2(sqrt(max(fma(-cosine, cosine, real(1.0)), real(0.0))), cosine);
    var z = INSIDE_START;
    var f = inside_excess(sa, sb, gap, z);
    var sound = cosine <= real(1.0) - TINY && f <= real(0.0);
    for (var k = 0u; k < INSIDE_ITERATIONS; k++) {
        let going = sound && INSIDE_TOLERANCE < abs(f);
        let df = inside_slope(sa, z) + inside_slope(sb, z) - real(2.0) * inside_slope(real(1.0), z);
        let falls = df <= -TINY;
        let next = z - f / select(real(-1.0), df, falls);
        let left = next <= z;
        sound = sound && (!going || (falls && left));
        z = select(z, next, going && falls && left);
        f = inside_excess(sa, sb, gap, z);
        sound = sound && f <= INSIDE_CLOSE;
    }
    sound = sound && abs(f) <= INSIDE_CLOSE;
    let ahead = real(0.0) < product2(e0, e1);
    let start = unit2(select(e1, e0, ahead));
    let turn = sin_cos(arc_sine(z) - arc_sine(select(sb, sa, ahead) * z));
    let middle = unit2(e0 + e1);
    let turned = vec2<real>(fma(-turn.x, start.y, turn.y * start.x), fma(turn.y, start.y, turn.x * start.x));
    let touch = select(middle, turned, sound) * radius;
    return Round(wraps, touch, touch, real(0.0));
}

fn inside_excess(sa: real, sb: real, gap: real, z: real) -> real {
    return arc_sine(sa * z) + arc_sine(sb * z) - real(2.0) * arc_sine(z) + gap;
}

fn inside_slope(s: real, z: real) -> real {
    return s / max(sqrt(max(fma(-(s * z), s * z, real(1.0)), real(0.0))), TINY);
}

// The way from p0 to p1 round a sphere, or a cylinder along z.
fn wrap(p0: vec3<real>, p1: vec3<real>, side: vec3<real>, sided: bool, cylinder: bool, radius: real) -> Wrapped {
    let apart = TINY <= sqrt(dot3(p0, p0)) && TINY <= sqrt(dot3(p1, p1));
    var x = vec3<real>(real(1.0), real(0.0), real(0.0));
    var y = vec3<real>(real(0.0), real(1.0), real(0.0));
    if !cylinder {
        x = unit(p0);
        var normal = cross3(p0, p1);
        if sqrt(dot3(normal, normal)) < TINY {
            // In line with the centre: any plane, the one that MuJoCo takes.
            let size = abs(x);
            let second = size.x < size.y && size.z < size.y;
            let third = size.x < size.z && size.y < size.z;
            let other = vec3<real>(
                select(real(0.0), real(1.0), second || third),
                select(real(1.0), real(0.0), second),
                select(real(1.0), real(0.0), third),
            );
            normal = cross3(x, other);
        }
        y = unit(cross3(unit(normal), x));
    }
    let e0 = vec2<real>(dot3(p0, x), dot3(p0, y));
    let e1 = vec2<real>(dot3(p1, x), dot3(p1, y));
    let toward = unit2(vec2<real>(dot3(side, x), dot3(side, y)));
    var way = round_outside(e0, e1, toward * radius, sided, radius);
    if sided && sqrt(dot3(side, side)) < radius {
        way = round_inside(e0, e1, radius);
    }
    var first = scale_add(y, way.first.y, x * way.first.x);
    var second = scale_add(y, way.second.y, x * way.second.x);
    var length = way.length;
    if cylinder {
        // Rises evenly along the whole way.
        let d0 = p0.xy - first.xy;
        let d1 = p1.xy - second.xy;
        let l0 = sqrt(dot2(d0, d0));
        let l1 = sqrt(dot2(d1, d1));
        let rate = (p1.z - p0.z) / max(l0 + length + l1, TINY);
        first.z = fma(rate, l0, p0.z);
        second.z = fma(rate, l0 + length, p0.z);
        let rise = second.z - first.z;
        length = sqrt(fma(rise, rise, length * length));
    }
    return Wrapped(apart && way.wraps, first, second, length);
}
