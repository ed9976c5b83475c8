// The Newton steps of a dispatch on one island, and CANAL's outer iterations around them, by one workgroup: the twin of
// iterate.rs. The importing kernel imports contact/convex/evaluate, contact/convex/canal, contact/convex/sap and what has
// `convex_newton`, and calls `convex_rests`, then `convex_solve`, from uniform control flow.

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
        let newton = convex_newton(own, p, local);
        if dims.method == METHOD_SAP {
            step = convex_compliant(own, p, local, newton);
        } else {
            step = convex_exact(own, p, local, newton);
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
