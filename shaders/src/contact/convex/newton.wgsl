// A Newton step on one island by one workgroup: the twin of newton.rs. The importing kernel imports
// contact/convex/evaluate, and contact/convex/direct or contact/convex/conjugate, and calls `convex_newton` from uniform
// control flow.
#import contact/convex/mod.rs

// What a turn of looking for a direction comes to: the matrix is not positive in this arithmetic; the next turn goes on; it
// is in region SOLUTION.
const DIRECTION_NONE: u32 = 0u;
const DIRECTION_UNFINISHED: u32 = 1u;
const DIRECTION_FOUND: u32 = 2u;

struct Newton {
    direction: u32,
    decrement: real,
}

struct Slope {
    value: real,
    slope: real,
}

// Derivative of the objective along the direction, a share t of it on, and its slope.
fn convex_along(own: IslandRecord, local: u32, start: real, curvature: real, share: real) -> Slope {
    let zero = real(0.0);
    var mine = vec4<real>(zero, zero, zero, zero);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        let a = term_vector(t + TERM_ALONG);
        let sigma = term_vector(t + TERM_SIGMA) + share * a;
        let response = law_impulse(is_block(i), CON_SIZE * i, t, sigma);
        mine.x -= dot(response.lambda - term_vector(t + TERM_LAMBDA), a);
        mine.y += dot(symmetric_times(response.slope, a), a);
    }
    let sums = convex_total(local, mine, false);
    return Slope(fma(share, curvature, start) + sums.x, curvature + sums.y);
}

// Root of the derivative, by Newton within a bracket that is doubled until it is one, else by bisection.
fn convex_search(own: IslandRecord, local: u32, start: real, curvature: real) -> real {
    let zero = real(0.0);
    let two = real(2.0);
    let enough = SEARCH_EXACT * abs(start);
    var low = zero;
    var high = zero;
    var bracketed = false;
    var t = real(1.0);
    var found = false;
    for (var trial = 0u; trial < TRIALS && !found; trial++) {
        let at = convex_along(own, local, start, curvature, t);
        found = abs(at.value) <= enough && is_finite(at.value);
        if !found {
            if at.value < zero {
                low = t;
            } else {
                // What is not finite is too far.
                high = t;
                bracketed = true;
            }
            let newton = t - at.value / at.slope;
            var next = two * t;
            if bracketed {
                let within = is_finite(newton) && low < newton && newton < high;
                next = select((low + high) / two, newton, within);
            } else if is_finite(newton) && t < newton {
                next = newton;
            }
            found = next == t;
            t = next;
        }
    }
    // The bracket's lower end: never past the root.
    return select(select(t, low, zero < low), t, found);
}

// One Newton step, without what is to be found where it leads.
fn convex_newton(own: IslandRecord, p: Place, local: u32) -> Newton {
    let zero = real(0.0);
    let direction = convex_direction(own, p, local);
    if direction != DIRECTION_FOUND {
        return Newton(direction, zero);
    }
    convex_relative(own, local, REGION_SOLUTION * dims.n_velocity, TERM_ALONG);
    var mine = vec4<real>(zero, zero, zero, zero);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        var momentum = zero;
        for (var j = 0u; j < dof.count; j++) {
            momentum = fma(convex[dof.row + j], velocity[p.d + dof.tree + j], momentum);
        }
        mine.x = fma(convex[p.gradient + k], velocity[p.d + k], mine.x);
        mine.y = fma(momentum, velocity[p.d + k], mine.y);
    }
    let sums = convex_total(local, mine, false);
    // At the floor of round-off the direction need not descend.
    let descends = sums.x < zero && is_finite(sums.x);
    if descends {
        let t = convex_search(own, local, sums.x, sums.y);
        for (var k = local; k < p.n; k += ISLAND_WIDTH) {
            velocity[p.v + k] = fma(t, velocity[p.d + k], velocity[p.v + k]);
        }
        convex_barrier();
    }
    return Newton(DIRECTION_FOUND, select(zero, -sums.x, descends));
}
