// Laws whose requests give way. See steps.rs for the mathematics. The importing kernel imports contact/local and
// contact/globalise, which has the derivative's form.
#import contact/local

struct Steps {
    // Largest impulse that is spent on a request, N s.
    cap: real,
    // What the rows ask for, m/s.
    request: vec3<real>,
}

// The speeds that a contact or block asks for by its bias.
fn steps_requests(mu: real, bias: vec3<real>) -> vec3<real> {
    let zero = real(0.0);
    if mu < zero {
        return -bias;
    }
    return vec3<real>(zero, zero, max(-bias.z, zero));
}

// The same of a row between bounds.
fn steps_row_request(bias: real, compliance: real, lower: real, upper: real) -> real {
    let zero = real(0.0);
    let asks = compliance <= zero && UNBOUNDED <= upper;
    let both = lower <= -UNBOUNDED;
    return select(select(zero, max(-bias, zero), asks && lower == zero), -bias, asks && both);
}

// What a request costs by the mass that it moves.
fn steps_speed_of_cap(request: real, free: real) -> real {
    let zero = real(0.0);
    let against = select(-free, free, request < zero);
    return select(zero, fma(real(2.0), abs(request), max(against, zero)), zero < abs(request));
}

// A row's impulse at y, before its bounds.
fn steps_climb(cap: real, request: real, rho: real, y: real) -> real {
    let sign = select(real(1.0), real(-1.0), request < real(0.0));
    let forward = sign * y;
    return sign * (min(forward, cap) + max(forward - cap - rho * abs(request), real(0.0)));
}

// Whether a row's impulse is its cap.
fn steps_holds(cap: real, request: real, rho: real, y: real) -> bool {
    let forward = select(y, -y, request < real(0.0));
    return cap < forward && forward <= cap + rho * abs(request);
}

// Whether y is beyond the cap, seen along the request.
fn steps_beyond(cap: real, request: real, y: real) -> bool {
    return cap < select(y, -y, request < real(0.0));
}

// By how much a request gives way.
fn steps_gives_way(cap: real, request: real, mass: real, tolerance: real, lambda: real, sigma: real) -> real {
    let zero = real(0.0);
    let backward = request < zero;
    let misses = tolerance < abs(sigma) && steps_beyond(cap, request, lambda - sigma);
    let by = min(max(select(-sigma, sigma, backward), zero), abs(request));
    let some = (steps_beyond(cap, request, lambda - mass * sigma) || misses) && LEAST_RELAXED < by;
    return select(zero, select(by, -by, backward), some);
}

// The normal's impulse.
fn steps_normal(s: Steps, rho: real, y: vec3<real>) -> real {
    return steps_climb(s.cap, s.request.z, rho, y.z);
}

// The strict map of y = lambda - rho sigma.
fn steps_project(s: Steps, mu: real, rho: real, y: vec3<real>) -> vec3<real> {
    if mu < real(0.0) {
        let t0 = steps_climb(s.cap, s.request.x, rho, y.x);
        let t1 = steps_climb(s.cap, s.request.y, rho, y.y);
        return vec3<real>(t0, t1, steps_normal(s, rho, y));
    }
    let n = max(steps_normal(s, rho, y), real(0.0));
    let radius = mu * n;
    let length = sqrt(fma(y.x, y.x, y.y * y.y));
    let shrink = select(real(1.0), radius / max(length, TINY), radius < length);
    return vec3<real>(y.x * shrink, y.y * shrink, n);
}

// Natural residual.
fn steps_residual(s: Steps, mu: real, step: real, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let y = lambda - step * sigma;
    let t = steps_project(s, mu, step, y);
    return select(lambda - t, step * sigma, t == y);
}

// Scaled residual, m/s.
fn steps_scaled_residual(s: Steps, mu: real, trace: real, lambda: vec3<real>, sigma: vec3<real>) -> real {
    let rho = real(3.0) / select(real(3.0), trace, TINY < trace);
    let r = steps_residual(s, mu, rho, lambda, sigma);
    return sqrt(fma(r.x, r.x, fma(r.y, r.y, r.z * r.z))) / rho;
}

// Impulse that solves this constraint, the others held; without a cap by its law as it is. That one is called at one place, see
// build/inlined.rs.
fn steps_solve(s: Steps, mu: real, m: Block, inverse: Block, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let capped = s.cap < UNBOUNDED;
    if capped && mu < real(0.0) {
        let r0 = real(1.0) / max(m.g[0], TINY);
        let b0 = steps_climb(s.cap, s.request.x, r0, lambda.x - r0 * sigma.x);
        let d0 = b0 - lambda.x;
        let r1 = real(1.0) / max(m.g[3], TINY);
        let b1 = steps_climb(s.cap, s.request.y, r1, lambda.y - r1 * fma(m.g[1], d0, sigma.y));
        let d1 = b1 - lambda.y;
        let r2 = real(1.0) / max(m.g[5], TINY);
        let s2 = fma(m.g[2], d0, fma(m.g[4], d1, sigma.z));
        return vec3<real>(b0, b1, steps_climb(s.cap, s.request.z, r2, lambda.z - r2 * s2));
    }
    // The request as it is pursued, then as it has given way altogether.
    for (var given = 0u; given < select(1u, 2u, capped); given++) {
        let asked = vec3<real>(sigma.x, sigma.y, fma(real(given), s.request.z, sigma.z));
        let next = local_solve(mu, m, inverse, lambda, asked);
        if !capped || select(s.cap <= next.z, next.z <= s.cap, given == 0u) {
            return next;
        }
    }
    let change = s.cap - lambda.z;
    let rho = real(1.0) / max(m.g[0] + m.g[3], TINY);
    let x = lambda.x - rho * fma(m.g[2], change, sigma.x);
    let y = lambda.y - rho * fma(m.g[4], change, sigma.y);
    return local_project(mu, vec3<real>(x, y, s.cap));
}

// Derivative of the strict map.
fn steps_derivative(s: Steps, mu: real, rho: real, y: vec3<real>) -> Derivative {
    let zero = real(0.0);
    let one = real(1.0);
    let slope = select(one, zero, steps_holds(s.cap, s.request.z, rho, y.z));
    if mu < zero {
        let p0 = select(one, zero, steps_holds(s.cap, s.request.x, rho, y.x));
        let p1 = select(one, zero, steps_holds(s.cap, s.request.y, rho, y.y));
        return Derivative(p0, zero, zero, p1, zero, slope);
    }
    let p = derivative(mu, vec3<real>(y.x, y.y, steps_normal(s, rho, y)));
    return Derivative(p.p00, p.p01, p.p02 * slope, p.p11, p.p12 * slope, p.p22 * slope);
}
