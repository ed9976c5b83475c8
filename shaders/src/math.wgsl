// Vectors, quaternions and transcendental functions: the twin of math.rs, function by function.
// Local vec3<real> values are fine; storage never holds one (its stride would be 16 bytes).

// `v * s + t`.
fn scale_add(v: vec3<real>, s: real, t: vec3<real>) -> vec3<real> {
    return vec3<real>(fma(v.x, s, t.x), fma(v.y, s, t.y), fma(v.z, s, t.z));
}

fn dot3(a: vec3<real>, b: vec3<real>) -> real {
    return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}

fn cross3(a: vec3<real>, b: vec3<real>) -> vec3<real> {
    return vec3<real>(
        fma(a.y, b.z, -(a.z * b.y)),
        fma(a.z, b.x, -(a.x * b.z)),
        fma(a.x, b.y, -(a.y * b.x)),
    );
}

// A 3 x 3 matrix by rows (WGSL's own matrices are by columns, and not to be had in f64 everywhere).
struct Mat3 {
    x: vec3<real>,
    y: vec3<real>,
    z: vec3<real>,
}

// Symmetric: diagonal (xx, yy, zz) and off-diagonal (xy, xz, yz).
struct Sym3 {
    d: vec3<real>,
    o: vec3<real>,
}

fn mat_vec(m: Mat3, v: vec3<real>) -> vec3<real> {
    return vec3<real>(dot3(m.x, v), dot3(m.y, v), dot3(m.z, v));
}

fn mat_t_vec(m: Mat3, v: vec3<real>) -> vec3<real> {
    return vec3<real>(
        dot3(vec3<real>(m.x.x, m.y.x, m.z.x), v),
        dot3(vec3<real>(m.x.y, m.y.y, m.z.y), v),
        dot3(vec3<real>(m.x.z, m.y.z, m.z.z), v),
    );
}

fn sym_vec(s: Sym3, v: vec3<real>) -> vec3<real> {
    return vec3<real>(
        dot3(vec3<real>(s.d.x, s.o.x, s.o.y), v),
        dot3(vec3<real>(s.o.x, s.d.y, s.o.z), v),
        dot3(vec3<real>(s.o.y, s.o.z, s.d.z), v),
    );
}

// `m s m^T`.
fn sym_rotate(m: Mat3, s: Sym3) -> Sym3 {
    let sx = sym_vec(s, m.x);
    let sy = sym_vec(s, m.y);
    let sz = sym_vec(s, m.z);
    return Sym3(
        vec3<real>(dot3(m.x, sx), dot3(m.y, sy), dot3(m.z, sz)),
        vec3<real>(dot3(m.x, sy), dot3(m.x, sz), dot3(m.y, sz)),
    );
}

// Quaternions travel as vec4 (w, x, y, z): .x is w.
fn quat_matrix(q: vec4<real>) -> Mat3 {
    let w = q.x;
    let x = q.y;
    let y = q.z;
    let z = q.w;
    let x2 = x + x;
    let y2 = y + y;
    let z2 = z + z;
    let wx = w * x2;
    let wy = w * y2;
    let wz = w * z2;
    let xx = x * x2;
    let xy = x * y2;
    let xz = x * z2;
    let yy = y * y2;
    let yz = y * z2;
    let zz = z * z2;
    let one = real(1.0);
    return Mat3(
        vec3<real>(one - (yy + zz), xy - wz, xz + wy),
        vec3<real>(xy + wz, one - (xx + zz), yz - wx),
        vec3<real>(xz - wy, yz + wx, one - (xx + yy)),
    );
}

fn quat_mul(a: vec4<real>, b: vec4<real>) -> vec4<real> {
    return vec4<real>(
        a.x * b.x - a.y * b.y - a.z * b.z - a.w * b.w,
        a.x * b.y + a.y * b.x + a.z * b.w - a.w * b.z,
        a.x * b.z - a.y * b.w + a.z * b.x + a.w * b.y,
        a.x * b.w + a.y * b.z - a.z * b.y + a.w * b.x,
    );
}

fn quat_conjugate(q: vec4<real>) -> vec4<real> {
    return vec4<real>(q.x, -q.y, -q.z, -q.w);
}

// Unit length; the identity for a quaternion of (next to) no length.
fn quat_normalize(q: vec4<real>) -> vec4<real> {
    let square = fma(q.w, q.w, fma(q.z, q.z, fma(q.y, q.y, q.x * q.x)));
    if (square < real(1e-30)) {
        return vec4<real>(real(1.0), real(0.0), real(0.0), real(0.0));
    }
    let inverse = real(1.0) / sqrt(square);
    return vec4<real>(q.x * inverse, q.y * inverse, q.z * inverse, q.w * inverse);
}

// `x` between two bounds; a NaN stays one.
fn clamp_keep(x: real, low: real, high: real) -> real {
    return select(select(x, high, high < x), low, x < low);
}

fn quat_rotate(q: vec4<real>, v: vec3<real>) -> vec3<real> {
    let u = vec3<real>(q.y, q.z, q.w);
    let half = cross3(u, v);
    let t = half + half;
    return scale_add(t, q.x, v) + cross3(u, t);
}

// Rotation by `angle` (rad) about a unit axis.
fn quat_about(axis: vec3<real>, angle: real) -> vec4<real> {
    let sc = sin_cos(angle * real(0.5));
    return vec4<real>(sc.y, axis.x * sc.x, axis.y * sc.x, axis.z * sc.x);
}

// The rotation by the vector `r` (rad).
fn quat_exp(r: vec3<real>) -> vec4<real> {
    let square = dot3(r, r) * real(0.25);
    let half = sqrt(square);
    let sc = sin_cos(half);
    // sin(x)/x = 1 - x^2/6 + x^4/120 below x^2 = 1e-5, where the next term is under 1e-18.
    let small = square < real(1e-5);
    let series = fma(fma(square, real(1.0 / 120.0), real(-1.0 / 6.0)), square, real(1.0));
    let ratio = select(sc.x / select(half, real(1.0), small), series, small) * real(0.5);
    return vec4<real>(sc.y, r.x * ratio, r.y * ratio, r.z * ratio);
}

// q exp(r / 2), of unit length: an orientation turned by the vector `r` (rad, body axes); `q` may have any length.
fn quat_turn(q: vec4<real>, r: vec3<real>) -> vec4<real> {
    return quat_normalize(quat_mul(quat_normalize(q), quat_exp(r)));
}

// The rotation vector (rad) of a unit quaternion, of length at most pi.
fn quat_log(q: vec4<real>) -> vec3<real> {
    let sign = select(real(1.0), real(-1.0), q.x < real(0.0));
    let w = q.x * sign;
    let v = vec3<real>(q.y * sign, q.z * sign, q.w * sign);
    let square = dot3(v, v);
    let s = sqrt(square);
    // atan2(s, w) / s = 1 + s^2/6 + 3 s^4/40 for unit quaternions of small s.
    let small = square < real(1e-5);
    let series = fma(fma(square, real(3.0 / 40.0), real(1.0 / 6.0)), square, real(1.0));
    let ratio = select(arc_tan2(s, w) / select(s, real(1.0), small), series, small);
    return v * (ratio + ratio);
}

// (sine, cosine) of an angle (rad) up to some thousands of turns.
fn sin_cos(x: real) -> vec2<real> {
    // x = k pi/2 + r. The parts of pi/2 have few bits, so that k times each is exact in f32 as in f64 (Cody and Waite).
    let k = floor(fma(x, real(0.6366197723675814), real(0.5)));
    var r = fma(k, real(-1.5703125), x);
    r = fma(k, real(-4.837512969970703e-4), r);
    r = fma(k, real(-7.549533620476723e-8), r);
    r = fma(k, real(-2.563344151594519e-12), r);
    let z = r * r;
    var s = real(1.5896230157654656e-10);
    s = fma(s, z, real(-2.5050747762857807e-8));
    s = fma(s, z, real(2.7557313621385722e-6));
    s = fma(s, z, real(-1.984126982958954e-4));
    s = fma(s, z, real(8.333333333322118e-3));
    s = fma(s, z, real(-1.666666666666663e-1));
    var c = real(-1.1358536521387682e-11);
    c = fma(c, z, real(2.0875700841974732e-9));
    c = fma(c, z, real(-2.755731417929674e-7));
    c = fma(c, z, real(2.4801587288851704e-5));
    c = fma(c, z, real(-1.3888888888873056e-3));
    c = fma(c, z, real(4.1666666666666593e-2));
    let sine = fma(r * z, s, r);
    let cosine = fma(z * z, c, fma(z, real(-0.5), real(1.0)));
    // The quadrant, 0 to 3.
    let quadrant = fma(floor(k * real(0.25)), real(-4.0), k);
    let one = real(0.5) < quadrant && quadrant < real(1.5);
    let two = real(1.5) < quadrant && quadrant < real(2.5);
    let three = real(2.5) < quadrant;
    let odd = one || three;
    let a = select(sine, cosine, odd);
    let b = select(cosine, sine, odd);
    return vec2<real>(select(a, -a, two || three), select(b, -b, one || two));
}

// Angle of the point (x, y), in [-pi, pi]; 0 at the origin.
fn arc_tan2(y: real, x: real) -> real {
    let ax = abs(x);
    let ay = abs(y);
    let low = min(ax, ay);
    let high = max(ax, ay);
    let t = low / select(high, real(1.0), high <= real(0.0));
    // t is in [0, 1]; above 0.66 the rational function is taken about pi/4.
    let far = real(0.66) < t;
    let u = select(t, (t - real(1.0)) / (t + real(1.0)), far);
    let z = u * u;
    var p = real(-8.750608600031904e-1);
    p = fma(p, z, real(-1.615753718733365e1));
    p = fma(p, z, real(-7.500855792314705e1));
    p = fma(p, z, real(-1.2288666844901362e2));
    p = fma(p, z, real(-6.485021904942025e1));
    var q = real(1.0);
    q = fma(q, z, real(2.4858464901423063e1));
    q = fma(q, z, real(1.6502700983169885e2));
    q = fma(q, z, real(4.328810604912903e2));
    q = fma(q, z, real(4.853903996359137e2));
    q = fma(q, z, real(1.945506571482614e2));
    var angle = fma(u * z, p / q, u) + select(real(0.0), real(0.7853981633974483), far);
    angle = select(angle, real(1.5707963267948966) - angle, ax < ay);
    angle = select(angle, real(3.141592653589793) - angle, x < real(0.0));
    return select(angle, -angle, y < real(0.0));
}
