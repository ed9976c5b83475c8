// CANAL's outer iterations on one island by one workgroup: the twin of canal.rs. The importing kernel imports
// contact/convex/evaluate, contact/convex/mixing and contact/convex/newton, and calls these from uniform control flow.

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
        convex_store(local, p.state + STATE_PENALTY, next);
        convex_store(local, p.state + STATE_STIFFEST, max(next, real(1.0)));
        convex_weigh(own, local, next / penalty);
    }
    let moved = convex_total(local, vec4<real>(convex_mix(own, p, local), zero, zero, zero), true).x;
    convex_store(local, p.state + STATE_GAP, widest);
    convex_store(local, p.state + STATE_MOVED, moved);
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

// CANAL: whether the impulses solve the island.
fn convex_certified(own: IslandRecord, local: u32) -> bool {
    let region = REGION_SOLUTION * dims.n_velocity;
    island_recompute(own, local, region);
    return island_solved(island_measure(own, local, region));
}

// CANAL: what a Newton step comes to, and the multipliers' update if the inner problem wants no other; before the first step
// whether the impulses to start from do.
fn convex_exact(own: IslandRecord, p: Place, local: u32, begins: bool, decrement: real, sums: Sums) -> u32 {
    var outer = real(0.0);
    if !begins {
        if !is_finite(sums.error) {
            return STEP_BROKEN;
        }
        let inner = convex_tell(local, p.state + STATE_INNER) + real(1.0);
        convex_store(local, p.state + STATE_INNER, inner);
        let error = min(sums.error, decrement);
        let share = setting(dims.inner_share);
        let roundoff = convex_roundoff(p, local, sums);
        let solved = error <= share * share * sums.outer || error <= roundoff;
        if inner < real(dims.inner) && !solved {
            return STEP_RUNNING;
        }
        outer = convex_tell(local, p.state + STATE_OUTER) + real(1.0);
        convex_store(local, p.state + STATE_INNER, real(0.0));
        convex_store(local, p.state + STATE_OUTER, outer);
        convex_publish(own, local);
    }
    if convex_certified(own, local) {
        return STEP_SOLVED;
    }
    if begins {
        return STEP_RUNNING;
    }
    if real(dims.outer) <= outer {
        return STEP_BROKEN;
    }
    convex_update(own, p, local);
    return STEP_UPDATED;
}
