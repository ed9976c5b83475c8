// The Newton steps of a dispatch on one island, and CANAL's outer iterations around them, by one workgroup: the twin of
// iterate.rs. The importing kernel imports contact/convex/evaluate, contact/convex/canal, contact/convex/sap and what has
// `convex_newton`, and calls `convex_turn`, then `convex_solve`, from uniform control flow.

// To the velocity that the impulses to start from give.
fn convex_begin(own: IslandRecord, p: Place, local: u32) {
    island_recompute(own, local, REGION_SOLUTION * dims.n_velocity);
    convex_barrier();
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        velocity[p.v + k] = velocity[p.d + k];
    }
    convex_barrier();
}

// What a solve begins with, once the constraints' velocities are known.
fn convex_reset(own: IslandRecord, p: Place, local: u32) {
    let zero = real(0.0);
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
    var moved = zero;
    if dims.method == METHOD_CANAL {
        moved = convex_shift(own, p, local);
    }
    let most = convex_total(local, vec4<real>(stiffest, moved, zero, zero), true);
    convex_store(local, p.state + STATE_PENALTY, min(setting(dims.penalty), setting(dims.penalty_most)));
    convex_store(local, p.state + STATE_GAP, FAR);
    convex_store(local, p.state + STATE_MOVED, most.y);
    convex_store(local, p.state + STATE_INNER, zero);
    convex_store(local, p.state + STATE_ROUNDS, zero);
    convex_store(local, p.state + STATE_OUTER, zero);
    convex_store(local, p.state + STATE_STIFFEST, most.x);
    convex_barrier();
}

// Impulses and gradient at a new velocity, after a Newton step or before the first, and what they come to.
fn convex_settle(own: IslandRecord, p: Place, local: u32, begins: bool, decrement: real) -> u32 {
    convex_relative(own, local, REGION_SCRATCH * dims.n_velocity, TERM_SIGMA);
    if begins {
        convex_reset(own, p, local);
    }
    var step = STEP_RUNNING;
    var again = true;
    while again {
        let sums = convex_evaluate(own, p, local);
        again = false;
        if step == STEP_UPDATED {
            // With other multipliers nothing is judged before the next Newton step.
            step = STEP_RUNNING;
        } else if dims.method == METHOD_SAP {
            step = convex_compliant(own, p, local, begins, decrement, sums);
        } else {
            step = convex_exact(own, p, local, begins, decrement, sums);
            again = step == STEP_UPDATED;
        }
    }
    return step;
}

// The Newton steps of a dispatch; of an island of which nothing is to be done the velocity. Each part is called at one place: drivers
// copy a function to wherever it is called from, and take long over what comes of it (build/inlined.rs).
fn convex_solve(island: u32, own: IslandRecord, state: u32, is_idle: bool, local: u32) {
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
    var done = dims.done;
    var begins = dims.done == 0u;
    while !is_idle && step == STEP_RUNNING && (begins || done < dims.iterations) {
        var newton = Newton(DIRECTION_FOUND, real(1.0));
        if begins {
            convex_begin(own, p, local);
        } else {
            newton = convex_newton(own, p, local);
            done += 1u;
        }
        if newton.direction == DIRECTION_FOUND {
            step = convex_settle(own, p, local, begins, newton.decrement);
        } else if newton.direction == DIRECTION_NONE {
            step = STEP_BROKEN;
        }
        begins = false;
    }
    if !is_idle && step == STEP_RUNNING {
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

// What a dispatch is to do with an island.
const TURN_RESTS: u32 = 0u;
// One of no form, of which nothing is to be done but to find its velocity.
const TURN_IDLE: u32 = 1u;
const TURN_SOLVES: u32 = 2u;

// One of another form rests, and one that stopped. Of `FORM_GROUP` are also those of no form.
fn convex_turn(island: u32, form: u32, own_form: u32, local: u32) -> u32 {
    if local == 0u {
        let stopped = dims.done > 0u && real(0.0) < island_info[INFO_SIZE * island + INFO_STOPPED];
        var turn = select(TURN_SOLVES, TURN_RESTS, form != own_form || stopped);
        if form == FORM_NONE && own_form == FORM_GROUP && dims.done == 0u {
            turn = TURN_IDLE;
        }
        told = real(turn);
    }
    return u32(workgroupUniformLoad(&told));
}
