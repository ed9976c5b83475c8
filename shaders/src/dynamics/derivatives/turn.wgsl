// Derivatives of rotations: the twin of turn.rs. The importing kernel imports math.

// The matrix 1 + p [r]x + q [r]x^2, by rows.
fn turn_matrix(r: vec3<real>, p: real, q: real) -> Mat3 {
    let zero = real(0.0);
    let one = real(1.0);
    let x = turn_column(r, p, q, vec3<real>(one, zero, zero));
    let y = turn_column(r, p, q, vec3<real>(zero, one, zero));
    let z = turn_column(r, p, q, vec3<real>(zero, zero, one));
    return Mat3(vec3<real>(x.x, y.x, z.x), vec3<real>(x.y, y.y, z.y), vec3<real>(x.z, y.z, z.z));
}

fn turn_column(r: vec3<real>, p: real, q: real, e: vec3<real>) -> vec3<real> {
    let once = cross3(r, e);
    return scale_add(cross3(r, once), q, scale_add(once, p, e));
}

// Coefficients of the Jacobian: (1 - cos t) / t^2 and (t - sin t) / t^3.
fn turn_coefficients(square: real) -> vec2<real> {
    let small = square < TURN_SMALL;
    let one = real(1.0);
    let safe = select(square, one, small);
    let t = sqrt(safe);
    let sc = sin_cos(t);
    var a = real(1.0 / 3628800.0);
    a = fma(a, square, real(-1.0 / 40320.0));
    a = fma(a, square, real(1.0 / 720.0));
    a = fma(a, square, real(-1.0 / 24.0));
    a = fma(a, square, real(0.5));
    var b = real(1.0 / 39916800.0);
    b = fma(b, square, real(-1.0 / 362880.0));
    b = fma(b, square, real(1.0 / 5040.0));
    b = fma(b, square, real(-1.0 / 120.0));
    b = fma(b, square, real(1.0 / 6.0));
    return vec2<real>(select((one - sc.y) / safe, a, small), select((t - sc.x) / (safe * t), b, small));
}

// Right Jacobian of the exponential: exp(r + dr) = exp(r) exp(J dr).
fn turn_right(r: vec3<real>) -> Mat3 {
    let c = turn_coefficients(dot3(r, r));
    return turn_matrix(r, -c.x, c.y);
}

// Its inverse: how the logarithm of a rotation changes with a turn in body axes.
fn turn_right_inverse(r: vec3<real>) -> Mat3 {
    let square = dot3(r, r);
    let ab = turn_coefficients(square);
    let small = square < TURN_SMALL;
    let one = real(1.0);
    let safe = select(square, one, small);
    var series = real(1.0 / 1209600.0);
    series = fma(series, square, real(1.0 / 30240.0));
    series = fma(series, square, real(1.0 / 720.0));
    series = fma(series, square, real(1.0 / 12.0));
    let c = select((one - (one - ab.y * square) / (ab.x + ab.x)) / safe, series, small);
    return turn_matrix(r, real(0.5), c);
}
