// One contact alone: projections, residuals and the exact solve of its 3x3 problem. See local.rs for the mathematics.
// Rows are (t1, t2, n), sigma is J v + e, friction below zero marks a bilateral block.
#import dynamics/names.rs

struct Block {
    // 00 01 02 11 12 22
    g: array<real, 6>,
}

fn symmetric_times(m: Block, x: vec3<real>) -> vec3<real> {
    return vec3<real>(
        fma(m.g[0], x.x, fma(m.g[1], x.y, m.g[2] * x.z)),
        fma(m.g[1], x.x, fma(m.g[3], x.y, m.g[4] * x.z)),
        fma(m.g[2], x.x, fma(m.g[4], x.y, m.g[5] * x.z)),
    );
}

fn local_invert(m: Block) -> Block {
    let one = real(1.0);
    let trace = m.g[0] + m.g[3] + m.g[5];
    let shift = LOCAL_REGULARIZATION * trace + TINY;
    let d0 = one / (m.g[0] + shift);
    let l10 = m.g[1] * d0;
    let l20 = m.g[2] * d0;
    let d1 = one / max(m.g[3] + shift - l10 * m.g[1], shift);
    let c21 = m.g[4] - l10 * m.g[2];
    let l21 = c21 * d1;
    let d2 = one / max(m.g[5] + shift - l20 * m.g[2] - l21 * c21, shift);
    let m20 = l10 * l21 - l20;
    let solid = TINY < trace;
    let zero = real(0.0);
    return Block(array<real, 6>(
        select(zero, d0 + l10 * l10 * d1 + m20 * m20 * d2, solid),
        select(zero, -(l10 * d1) - m20 * l21 * d2, solid),
        select(zero, m20 * d2, solid),
        select(zero, d1 + l21 * l21 * d2, solid),
        select(zero, -(l21 * d2), solid),
        select(zero, d2, solid),
    ));
}

fn local_parted(mu: real, m: Block, reach: real, normal: real) -> real {
    let hardly = m.g[5] <= HARDLY * max(m.g[0], m.g[3]) || reach <= STILL;
    return select(normal, APART, real(0.0) <= mu && normal < real(0.0) && hardly);
}

fn local_project(mu: real, y: vec3<real>) -> vec3<real> {
    if mu < real(0.0) {
        return y;
    }
    let n = max(y.z, real(0.0));
    let radius = mu * n;
    let length = sqrt(fma(y.x, y.x, y.y * y.y));
    let shrink = select(real(1.0), radius / max(length, TINY), radius < length);
    return vec3<real>(y.x * shrink, y.y * shrink, n);
}

fn local_inside(mu: real, y: vec3<real>) -> bool {
    let radius = mu * y.z;
    let fits = fma(y.x, y.x, y.y * y.y) <= radius * radius;
    return (real(0.0) <= y.z && fits) || mu < real(0.0);
}

fn local_residual(mu: real, step: real, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let moved = step * sigma;
    let y = lambda - moved;
    if local_inside(mu, y) {
        return moved;
    }
    return lambda - local_project(mu, y);
}

fn local_scaled_residual(mu: real, trace: real, lambda: vec3<real>, sigma: vec3<real>) -> real {
    let rho = real(3.0) / select(real(3.0), trace, TINY < trace);
    let r = local_residual(mu, rho, lambda, sigma);
    return sqrt(fma(r.x, r.x, fma(r.y, r.y, r.z * r.z))) / rho;
}

fn local_solve(mu: real, m: Block, inverse: Block, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let stuck = lambda - symmetric_times(inverse, sigma);
    if local_inside(mu, stuck) {
        return stuck;
    }
    let free = sigma - symmetric_times(m, lambda);
    if real(0.0) <= free.z {
        return vec3<real>(real(0.0), real(0.0), real(0.0));
    }
    return local_slip(mu, m, free, lambda, sigma);
}

fn local_slip(mu: real, m: Block, free: vec3<real>, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let zero = real(0.0);
    let per_normal = real(1.0) / max(m.g[5], TINY);
    let k = vec2<real>(m.g[2] * per_normal, m.g[4] * per_normal);
    let push = -(free.z * per_normal);
    let w = vec2<real>(fma(k.x, free.z, -free.x), fma(k.y, free.z, -free.y));
    let size = m.g[0] + m.g[3] + m.g[5];
    let shift = LOCAL_REGULARIZATION * size + TINY;
    let a = m.g[0] - k.x * m.g[2] + shift;
    let b = m.g[1] - k.x * m.g[4];
    let c = m.g[3] - k.y * m.g[4] + shift;
    let opposing = -(fma(sigma.x, lambda.x, sigma.y * lambda.y));
    let ratio = max(opposing, zero) / max(fma(lambda.x, lambda.x, lambda.y * lambda.y), TINY);
    var kappa = min(ratio, LOCAL_START * size);
    var low = zero;
    var high = UNBOUNDED;
    var x: vec2<real>;
    for (var i = 0u; i <= LOCAL_SLIP_ITERATIONS; i++) {
        x = local_tangential(a, b, c, w, kappa);
        if i == LOCAL_SLIP_ITERATIONS {
            break;
        }
        let p = local_tangential(a, b, c, x, kappa);
        let normal = push - k.x * x.x - k.y * x.y;
        let square = max(fma(x.x, x.x, x.y * x.y), TINY);
        let excess = sqrt(square) - mu * normal;
        let slope = mu * (fma(k.x, p.x, k.y * p.y) + normal * fma(x.x, p.x, x.y * p.y) / square);
        if zero < excess {
            low = kappa;
        } else {
            high = kappa;
        }
        let newton = kappa + excess / select(TINY, slope, zero < slope);
        let middle = select(real(4.0) * low + size, real(0.5) * (low + high), high < UNBOUNDED);
        kappa = select(middle, newton, low <= newton && newton <= high);
    }
    let first = local_project(mu, vec3<real>(x.x, x.y, push - k.x * x.x - k.y * x.y));
    return local_project(mu, vec3<real>(first.x, first.y, push - k.x * first.x - k.y * first.y));
}

fn local_tangential(a_in: real, b: real, c_in: real, w: vec2<real>, kappa: real) -> vec2<real> {
    let a = a_in + kappa;
    let c = c_in + kappa;
    let scale = real(1.0) / max(a * c - b * b, TINY);
    return vec2<real>(scale * (c * w.x - b * w.y), scale * (a * w.y - b * w.x));
}

// Whether the impulses of three rows make sense: an unsolved step with others asks for the impossible. A contact asks for nothing
// but to separate.
fn local_is_sensible(mu: real, trace: real, lambda: vec3<real>, bias: vec3<real>) -> bool {
    let inverse_mass = local_inverse_mass(trace);
    let tangents = local_is_sensible_row(inverse_mass, lambda.x, bias.x) && local_is_sensible_row(inverse_mass, lambda.y, bias.y);
    return local_is_sensible_row(inverse_mass, lambda.z, bias.z) && (real(0.0) <= mu || tangents);
}

// The same of one row.
fn local_is_sensible_row(inverse_mass: real, lambda: real, bias: real) -> bool {
    return local_work(inverse_mass, lambda, bias) <= HOPELESS;
}

// Whether a contact costs enough to fling its bodies about.
fn local_is_costly(mu: real, trace: real, lambda: real, bias: real) -> bool {
    return real(0.0) <= mu && FLINGS < local_work(local_inverse_mass(trace), lambda, bias);
}

// Work of an impulse on what a bias asks for, by the mass that it moves, J/kg.
fn local_work(inverse_mass: real, lambda: real, bias: real) -> real {
    return -(lambda * bias) * inverse_mass;
}

// The inverse of the mass that a block moves, 1/kg: the mean of its diagonal.
fn local_inverse_mass(trace: real) -> real {
    return trace * real(1.0 / 3.0);
}
