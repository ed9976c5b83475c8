// A Newton step on one island by one workgroup: the twin of newton.rs. The importing kernel imports
// contact/convex/evaluate and contact/convex/matrix, and calls `convex_newton` from uniform control flow.

const TRIALS: u32 = 60u;
// Share of the first slope that a line search leaves at most.
const SEARCH_EXACT: real = real(1e-6);

struct Newton {
    whole: bool,
    sums: Sums,
    decrement: real,
}

struct Slope {
    value: real,
    slope: real,
}

// What a constraint gives to the rows of the matrix that are a lane's own.
fn convex_add(own: IslandRecord, i: u32, local: u32) {
    let zero = real(0.0);
    let w = term_slope(term_at(i));
    var acts = false;
    for (var e = 0u; e < 6u; e++) {
        acts = acts || w.g[e] != zero;
    }
    if !acts {
        return;
    }
    let c = constraint_record(i);
    let block = c.kind == KIND_BLOCK;
    for (var s = c.side_begin; s < c.side_end; s++) {
        let a = side_record(s);
        let first = a.velocity - own.velocity_begin;
        for (var k = (local + ISLAND_WIDTH - first % ISLAND_WIDTH) % ISLAND_WIDTH; k < a.count; k += ISLAND_WIDTH) {
            var u = vec3<real>(w.g[0] * island_jac[a.jac + k], zero, zero);
            if block {
                u = symmetric_times(w, vec3<real>(
                    island_jac[a.jac + k], island_jac[a.jac + a.count + k], island_jac[a.jac + 2u * a.count + k],
                ));
            }
            if u.x == zero && u.y == zero && u.z == zero {
                continue;
            }
            let row = first + k;
            for (var t = c.side_begin; t < c.side_end; t++) {
                let b = side_record(t);
                let begin = b.velocity - own.velocity_begin;
                if first < begin {
                    continue;
                }
                let end = min(b.count, row + 1u - begin);
                for (var j = 0u; j < end; j++) {
                    let at = row_at(row) + begin + j;
                    var x = fma(u.x, island_jac[b.jac + j], matrix_load(at));
                    if block {
                        x = fma(u.y, island_jac[b.jac + b.count + j], x);
                        x = fma(u.z, island_jac[b.jac + 2u * b.count + j], x);
                    }
                    matrix_store(at, x);
                }
            }
        }
    }
}

// `A + J^T W J` and the right-hand side, each row by one lane.
fn convex_assemble(own: IslandRecord, p: Place, local: u32) {
    for (var i = local; i < p.n; i += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + i);
        for (var j = dof.first; j < dof.tree; j++) {
            matrix_store(row_at(i) + j, real(0.0));
        }
        for (var j = dof.tree; j <= i; j++) {
            matrix_store(row_at(i) + j, convex[dof.row + j - dof.tree]);
        }
        matrix_store(row_at(p.n) + i, -convex[p.gradient + i]);
    }
    for (var i = own.constraint_begin; i < own.constraint_end; i++) {
        convex_add(own, i, local);
    }
    matrix_barrier();
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

// One Newton step, where the matrix is whole in this arithmetic.
fn convex_newton(own: IslandRecord, p: Place, local: u32) -> Newton {
    let zero = real(0.0);
    convex_assemble(own, p, local);
    if !matrix_factor(own.velocity_begin, p.n, local) {
        return Newton(false, Sums(zero, zero, zero, zero), zero);
    }
    matrix_back(own.velocity_begin, p.n, local, p.d);
    convex_barrier();
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
        convex_relative(own, local, REGION_SCRATCH * dims.n_velocity, TERM_SIGMA);
    }
    return Newton(true, convex_evaluate(own, p, local), select(zero, -sums.x, descends));
}
