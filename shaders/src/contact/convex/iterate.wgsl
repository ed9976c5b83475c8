// Newton steps on one island, and CANAL's outer iterations around them, by one workgroup: the twin of iterate.rs. The
// importing kernel imports contact/local, contact/island, contact/island_sweep, contact/convex/layout, contact/convex/law
// and contact/convex/matrix, binds all their buffers, and calls `convex_solve` from uniform control flow.

const TRIALS: u32 = 60u;
// Share of the first slope that a line search leaves at most.
const SEARCH_EXACT: real = real(1e-6);
// No gap has been found yet.
const FAR: real = real(3.4e38);

const STEP_RUNNING: u32 = 0u;
const STEP_SOLVED: u32 = 1u;
const STEP_BROKEN: u32 = 2u;

var<workgroup> totals: array<vec4<real>, ISLAND_WIDTH>;
var<workgroup> told: real;

// Where an island's numbers are.
struct Place {
    n: u32,
    // First real of its state.
    state: u32,
    gradient: u32,
    // First real of its velocity, and of its direction.
    v: u32,
    d: u32,
    free: u32,
}

// Sums over an island: `|lambda - before|^2 / beta`, and squares of the gradient, of `A v` and of `J^T lambda`, J.
struct Sums {
    outer: real,
    error: real,
    momentum: real,
    pushed: real,
}

struct Newton {
    whole: bool,
    sums: Sums,
    decrement: real,
}

struct Slope {
    value: real,
    slope: real,
}

fn convex_barrier() {
    storageBarrier();
    workgroupBarrier();
}

// What the lanes found, added up in a fixed order, or the largest of it; the same for all of them. (One lane going through
// all of it has fewer barriers, but takes llvmpipe minutes to compile.)
fn convex_total(local: u32, mine: vec4<real>, largest: bool) -> vec4<real> {
    workgroupBarrier();
    totals[local] = mine;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            let a = totals[local];
            let b = totals[local + step];
            if largest {
                totals[local] = max(a, b);
            } else {
                totals[local] = a + b;
            }
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&totals[0]);
}

// A number that one lane reads for all.
fn convex_tell(local: u32, at: u32) -> real {
    if local == 0u {
        told = convex[at];
    }
    return workgroupUniformLoad(&told);
}

fn convex_note(local: u32, at: u32, x: real) {
    if local == 0u {
        convex[at] = x;
    }
}

fn is_block(i: u32) -> bool {
    return constraint_record(i).kind == KIND_BLOCK;
}

fn term_vector(at: u32) -> vec3<real> {
    return vec3<real>(convex[at], convex[at + 1u], convex[at + 2u]);
}

fn store_vector(at: u32, x: vec3<real>) {
    convex[at] = x.x;
    convex[at + 1u] = x.y;
    convex[at + 2u] = x.z;
}

fn term_slope(t: u32) -> Block {
    let at = t + TERM_SLOPE;
    return Block(array<real, 6>(
        convex[at], convex[at + 1u], convex[at + 2u], convex[at + 3u], convex[at + 4u], convex[at + 5u],
    ));
}

// `J x` of every constraint to `field` of its term, x in a region.
fn convex_relative(own: IslandRecord, local: u32, region: u32, field: u32) {
    let zero = real(0.0);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let c = constraint_record(i);
        var sigma = vec3<real>(zero, zero, zero);
        if c.kind == KIND_BLOCK {
            sigma = block_sigma(c, sigma, region);
        } else {
            sigma.x = row_sigma(c, region);
        }
        store_vector(term_at(i) + field, sigma);
    }
    convex_barrier();
}

// `J^T lambda` of one dof.
fn convex_pushed(own: IslandRecord, entry: u32) -> real {
    var sum = real(0.0);
    for (var i = own.constraint_begin; i < own.constraint_end; i++) {
        let c = constraint_record(i);
        let rows = select(1u, 3u, c.kind == KIND_BLOCK);
        for (var s = c.side_begin; s < c.side_end; s++) {
            let side = side_record(s);
            let k = entry - side.velocity;
            if k < side.count {
                for (var r = 0u; r < rows; r++) {
                    sum = fma(island_jac[side.jac + r * side.count + k], convex[term_at(i) + TERM_LAMBDA + r], sum);
                }
            }
        }
    }
    return sum;
}

// Impulses, slopes and gradient at the velocity.
fn convex_evaluate(own: IslandRecord, p: Place, local: u32) -> Sums {
    let zero = real(0.0);
    var mine = vec4<real>(zero, zero, zero, zero);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        let response = law_impulse(is_block(i), CON_SIZE * i, t, term_vector(t + TERM_SIGMA));
        let d = response.lambda - term_vector(t + TERM_BEFORE);
        mine.x += fma(d.z, d.z, fma(d.y, d.y, d.x * d.x)) / convex[t + TERM_BETA_N];
        store_vector(t + TERM_LAMBDA, response.lambda);
        for (var e = 0u; e < 6u; e++) {
            convex[t + TERM_SLOPE + e] = response.slope.g[e];
        }
    }
    convex_barrier();
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        let pushed = convex_pushed(own, own.velocity_begin + k);
        var missed = zero;
        var momentum = zero;
        for (var j = 0u; j < dof.count; j++) {
            let a = convex[dof.row + j];
            let v = velocity[p.v + dof.tree + j];
            missed = fma(a, v - velocity[p.free + dof.tree + j], missed);
            momentum = fma(a, v, momentum);
        }
        let weight = real(1.0) / convex[dof.row + k - dof.tree];
        let g = missed - pushed;
        convex[p.gradient + k] = g;
        mine.y += g * g * weight;
        mine.z += momentum * momentum * weight;
        mine.w += pushed * pushed * weight;
    }
    convex_barrier();
    let sums = convex_total(local, mine, false);
    return Sums(sums.x, sums.y, sums.z, sums.w);
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

// Freezes the De Saxce shift at the slacks, in the terms' place for `J d`. The largest change that a lane made.
fn convex_shift(own: IslandRecord, local: u32) -> real {
    var moved = real(0.0);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let c = CON_SIZE * i;
        if is_block(i) && real(0.0) <= island_con[c + CON_FRICTION] {
            let t = term_at(i);
            let x = convex[t + TERM_ALONG] + island_con[c + CON_BIAS];
            let y = convex[t + TERM_ALONG + 1u] + island_con[c + CON_BIAS + 1u];
            let next = fma(island_con[c + CON_FRICTION], sqrt(x * x + y * y), island_con[c + CON_BIAS + 2u]);
            moved = max(moved, abs(next - convex[t + TERM_BIAS + 2u]));
            convex[t + TERM_BIAS + 2u] = next;
        }
    }
    return moved;
}

// CANAL: multipliers, slacks, shift and penalty for the next outer iteration.
fn convex_update(own: IslandRecord, p: Place, local: u32) {
    let zero = real(0.0);
    var gap = zero;
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        let lambda = term_vector(t + TERM_LAMBDA);
        let beta = convex[t + TERM_BETA_N];
        let d = (lambda - term_vector(t + TERM_BEFORE)) / beta;
        gap = max(gap, max(abs(d.x), max(abs(d.y), abs(d.z))));
        store_vector(t + TERM_ALONG, term_vector(t + TERM_SIGMA) + d);
        store_vector(t + TERM_BEFORE, lambda);
    }
    let widest = convex_total(local, vec4<real>(gap, zero, zero, zero), true).x;
    let before = convex_tell(local, p.state + STATE_GAP);
    let moved_before = convex_tell(local, p.state + STATE_MOVED);
    // No penalty helps against a gap that the last change of the shift made.
    if setting(dims.decrease) * before < widest && moved_before < widest {
        let penalty = convex_tell(local, p.state + STATE_PENALTY);
        let next = min(penalty * setting(dims.growth), setting(dims.penalty_most));
        convex_note(local, p.state + STATE_PENALTY, next);
        convex_note(local, p.state + STATE_STIFFEST, max(next, real(1.0)));
        convex_weigh(own, local, next / penalty);
    }
    let moved = convex_total(local, vec4<real>(convex_shift(own, local), zero, zero, zero), true).x;
    convex_note(local, p.state + STATE_GAP, widest);
    convex_note(local, p.state + STATE_MOVED, moved);
    convex_barrier();
}

// All weights times a factor.
fn convex_weigh(own: IslandRecord, local: u32, factor: real) {
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        let beta = convex[t + TERM_BETA_N] * factor;
        convex[t + TERM_BETA_N] = beta;
        if is_block(i) {
            convex[t + TERM_BETA_T] = beta;
        }
    }
}

// What round-off leaves of the error, J.
fn convex_roundoff(p: Place, local: u32, sums: Sums) -> real {
    return setting(dims.floor) * convex_tell(local, p.state + STATE_STIFFEST) * max(sums.momentum, sums.pushed);
}

// SAP: whether the gradient is small enough.
fn convex_judge(p: Place, local: u32, sums: Sums) -> u32 {
    let scale = max(sums.momentum, sums.pushed);
    let roundoff = convex_roundoff(p, local, sums);
    if !(is_finite(sums.error) && is_finite(sums.momentum) && is_finite(sums.pushed)) {
        return STEP_BROKEN;
    }
    let bar = fma(setting(dims.relative), sqrt(scale), setting(dims.absolute));
    return select(STEP_RUNNING, STEP_SOLVED, sums.error <= bar * bar || sums.error <= roundoff);
}

// The impulses to where all the world reads them.
fn convex_publish(own: IslandRecord, local: u32) {
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i) + TERM_LAMBDA;
        for (var r = 0u; r < 3u; r++) {
            impulse[3u * i + r] = convex[t + r];
        }
    }
    convex_barrier();
}

// CANAL: whether the impulses solve the island.
fn convex_certified(own: IslandRecord, local: u32) -> bool {
    let region = REGION_SOLUTION * dims.n_velocity;
    island_recompute(own, local, region);
    return island_solved(island_measure(own, local, region));
}

// From the velocity that the impulses to start from give.
fn convex_begin(own: IslandRecord, p: Place, local: u32) -> u32 {
    let zero = real(0.0);
    island_recompute(own, local, REGION_SOLUTION * dims.n_velocity);
    convex_barrier();
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        velocity[p.v + k] = velocity[p.d + k];
    }
    convex_barrier();
    convex_relative(own, local, REGION_SCRATCH * dims.n_velocity, TERM_SIGMA);
    var stiffest = real(1.0);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        var beta = convex[t + TERM_BETA_N];
        if is_block(i) {
            beta = max(beta, convex[t + TERM_BETA_T]);
        }
        stiffest = max(stiffest, beta * convex[t + TERM_MEAN]);
        store_vector(t + TERM_ALONG, term_vector(t + TERM_SIGMA));
    }
    let canal = dims.method == METHOD_CANAL;
    var moved = zero;
    if canal {
        moved = convex_shift(own, local);
    }
    let most = convex_total(local, vec4<real>(stiffest, moved, zero, zero), true);
    convex_note(local, p.state + STATE_PENALTY, min(setting(dims.penalty), setting(dims.penalty_most)));
    convex_note(local, p.state + STATE_GAP, FAR);
    convex_note(local, p.state + STATE_MOVED, most.y);
    convex_note(local, p.state + STATE_INNER, zero);
    convex_note(local, p.state + STATE_OUTER, zero);
    convex_note(local, p.state + STATE_STIFFEST, most.x);
    convex_barrier();
    if canal && convex_certified(own, local) {
        return STEP_SOLVED;
    }
    let sums = convex_evaluate(own, p, local);
    if canal {
        return STEP_RUNNING;
    }
    let judged = convex_judge(p, local, sums);
    if judged == STEP_SOLVED {
        convex_publish(own, local);
    }
    return judged;
}

// SAP: a Newton step.
fn convex_compliant(own: IslandRecord, p: Place, local: u32) -> u32 {
    let step = convex_newton(own, p, local);
    if !step.whole {
        return STEP_BROKEN;
    }
    let judged = convex_judge(p, local, step.sums);
    if judged == STEP_BROKEN {
        return judged;
    }
    convex_publish(own, local);
    // No descent is left where round-off is all there is.
    return select(judged, STEP_SOLVED, step.decrement <= real(0.0));
}

// CANAL: a Newton step, and the multipliers' update if the inner problem wants no other.
fn convex_exact(own: IslandRecord, p: Place, local: u32) -> u32 {
    let step = convex_newton(own, p, local);
    if !(step.whole && is_finite(step.sums.error)) {
        return STEP_BROKEN;
    }
    let inner = convex_tell(local, p.state + STATE_INNER) + real(1.0);
    convex_note(local, p.state + STATE_INNER, inner);
    let error = min(step.sums.error, step.decrement);
    let share = setting(dims.inner_share);
    let roundoff = convex_roundoff(p, local, step.sums);
    let solved = error <= share * share * step.sums.outer || error <= roundoff;
    if inner < real(dims.inner) && !solved {
        return STEP_RUNNING;
    }
    let outer = convex_tell(local, p.state + STATE_OUTER) + real(1.0);
    convex_note(local, p.state + STATE_INNER, real(0.0));
    convex_note(local, p.state + STATE_OUTER, outer);
    convex_publish(own, local);
    if convex_certified(own, local) {
        return STEP_SOLVED;
    }
    if real(dims.outer) <= outer {
        return STEP_BROKEN;
    }
    convex_update(own, p, local);
    convex_evaluate(own, p, local);
    return STEP_RUNNING;
}

// The Newton steps of a dispatch.
fn convex_solve(island: u32, own: IslandRecord, state: u32, local: u32) {
    let n = own.velocity_end - own.velocity_begin;
    let p = Place(
        n,
        state,
        state + STATE_SIZE,
        REGION_SCRATCH * dims.n_velocity + own.velocity_begin,
        REGION_SOLUTION * dims.n_velocity + own.velocity_begin,
        REGION_FREE * dims.n_velocity + own.velocity_begin,
    );
    var step = STEP_RUNNING;
    if dims.done == 0u {
        step = convex_begin(own, p, local);
    }
    var done = dims.done;
    for (var turn = dims.done; turn < dims.iterations && step == STEP_RUNNING; turn++) {
        if dims.method == METHOD_SAP {
            step = convex_compliant(own, p, local);
        } else {
            step = convex_exact(own, p, local);
        }
        done += 1u;
    }
    if step == STEP_RUNNING {
        convex_publish(own, local);
    }
    island_recompute(own, local, REGION_SOLUTION * dims.n_velocity);
    if local == 0u {
        let out = INFO_SIZE * island;
        let before = select(island_info[out + INFO_ITERATIONS], real(0.0), dims.done == 0u);
        island_info[out + INFO_ITERATIONS] = before + real(done - dims.done);
        island_info[out + INFO_STOPPED] = real(step);
    }
}

// Whether a dispatch is to leave an island alone: one of another form, or one that stopped. Of `FORM_GROUP` it also sees to
// islands of no form, of which nothing is to be done.
fn convex_rests(island: u32, own: IslandRecord, form: u32, own_form: u32, local: u32) -> bool {
    if form == FORM_NONE && own_form == FORM_GROUP && dims.done == 0u {
        island_recompute(own, local, REGION_SOLUTION * dims.n_velocity);
        if local == 0u {
            island_info[INFO_SIZE * island + INFO_ITERATIONS] = real(0.0);
            island_info[INFO_SIZE * island + INFO_STOPPED] = real(0.0);
        }
    }
    if local == 0u {
        let stopped = dims.done > 0u && real(0.0) < island_info[INFO_SIZE * island + INFO_STOPPED];
        told = select(real(0.0), real(1.0), form != own_form || stopped);
    }
    return real(0.0) < workgroupUniformLoad(&told);
}
