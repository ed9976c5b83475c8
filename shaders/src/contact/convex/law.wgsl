// Impulse of a constraint and how it changes with the velocity: the twin of law.rs. The importing kernel imports
// contact/local, contact/island and contact/convex/layout, and binds island_con and convex.

struct Response {
    lambda: vec3<real>,
    slope: Block,
}

// `lambda` and `-d lambda / d(J v)` at `sigma = J v`: c is the constraint's first real in `island_con`, t in `convex`.
fn law_impulse(block: bool, c: u32, t: u32, sigma: vec3<real>) -> Response {
    if block {
        return law_contact(island_con[c + CON_FRICTION], t, sigma);
    }
    return law_row(c, t, sigma.x);
}

// A row between bounds, its weight in series with its compliance.
fn law_row(c: u32, t: u32, sigma: real) -> Response {
    let zero = real(0.0);
    let beta = convex[t + TERM_BETA_N];
    let whole = fma(beta, convex[t + TERM_ROW_COMPLIANCE], real(1.0));
    let x = (convex[t + TERM_BEFORE] - beta * (sigma + convex[t + TERM_BIAS])) / whole;
    let lower = island_con[c + CON_ROW_LOWER];
    let upper = island_con[c + CON_ROW_UPPER];
    let slope = select(zero, beta / whole, lower < x && x < upper);
    let lambda = vec3<real>(min(max(x, lower), upper), zero, zero);
    return Response(lambda, Block(array<real, 6>(slope, zero, zero, zero, zero, zero)));
}

// The projection on the cone in the metric `diag(1 / beta)`; a bilateral block is projected on nothing.
fn law_contact(mu: real, t: u32, sigma: vec3<real>) -> Response {
    let zero = real(0.0);
    let one = real(1.0);
    let beta_t = convex[t + TERM_BETA_T];
    let beta_n = convex[t + TERM_BETA_N];
    let x = vec3<real>(
        convex[t + TERM_BEFORE] - beta_t * (sigma.x + convex[t + TERM_BIAS]),
        convex[t + TERM_BEFORE + 1u] - beta_t * (sigma.y + convex[t + TERM_BIAS + 1u]),
        convex[t + TERM_BEFORE + 2u] - beta_n * (sigma.z + convex[t + TERM_BIAS + 2u]),
    );
    let s = sqrt(beta_n / beta_t);
    let m = mu * s;
    let y = vec3<real>(s * x.x, s * x.y, x.z);
    let length = sqrt(fma(y.x, y.x, y.y * y.y));
    if mu < zero || (zero <= y.z && length <= m * y.z) {
        return Response(x, Block(array<real, 6>(beta_t, zero, zero, beta_t, zero, beta_n)));
    }
    if m * length <= -y.z {
        return Response(vec3<real>(zero, zero, zero), Block(array<real, 6>(zero, zero, zero, zero, zero, zero)));
    }
    // Slips; without friction, and above the cone, the direction does not matter.
    var d = vec2<real>(zero, zero);
    var ratio = zero;
    if zero < length {
        d = vec2<real>(y.x / length, y.y / length);
        ratio = y.z / length;
    }
    let scale = one / fma(m, m, one);
    let n = scale * fma(m, length, y.z);
    let across = m * ratio;
    let w = scale * beta_t;
    let turn = across * w;
    let same = (m * m) * w;
    let mixed = scale * m * beta_n / s;
    let radius = mu * n;
    return Response(vec3<real>(radius * d.x, radius * d.y, n), Block(array<real, 6>(
        fma(turn, one - d.x * d.x, same), -(turn * (d.x * d.y)), mixed * d.x, fma(turn, one - d.y * d.y, same), mixed * d.y,
        scale * beta_n,
    )));
}
