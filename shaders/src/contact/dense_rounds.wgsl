// The rounds in which a dense problem is solved: the twin of dense_rounds.rs, imported by contact/dense.

// The merit that a step has to come below: the present one, or unless steps are centred the largest of the last few.
fn bar_of(here: real, centred: bool, steps: u32) -> real {
    if centred {
        return here;
    }
    let place = steps % MEMORY;
    let at = state_first + DENSE_MERITS * TILE;
    work[at + place / GROUP * TILE][place % GROUP] = here;
    let merits = max(work[at], work[at + TILE]);
    return max(max(max(merits.x, merits.y), max(merits.z, merits.w)), real(0.0));
}

// Whether some impulse is beyond RUNAWAY.
fn runs_away() -> bool {
    var beyond = false;
    for (var slot = 0u; slot < dense_slots; slot++) {
        let rho = slot_steps(slot).y;
        let lambda = abs(load_slot(lambda_first, slot));
        beyond = beyond || real(0.0) < rho && RUNAWAY * rho < max(lambda.x, max(lambda.y, lambda.z));
    }
    for (var k = 0u; k < dense_rows; k++) {
        let rho = row_law(k).w;
        beyond = beyond || real(0.0) < rho && RUNAWAY * rho < abs(load(lambda_first, of_row(k)));
    }
    return beyond;
}

// A round of a solve that is not done: a Newton step, sweeps, or both. Returns the progress. Each part is called at one place:
// drivers copy a function to wherever it is called from, and take long over what comes of it (build/inlined.rs).
fn dense_round(newton: bool, before: vec4<real>) -> vec4<real> {
    let centred = newton && before.x <= real(0.0);
    var progress = before;
    var taken = Taken(real(0.0), real(0.0), real(0.0));
    if newton {
        if centred {
            centre();
        }
        newton_step(before.x);
        taken = advance(centred, u32(before.z));
        progress.z += real(1.0);
        if centred {
            recentre(taken);
        } else {
            progress.x = weight(before.x, u32(progress.z), taken.share, taken.merit / taken.here);
        }
    }
    if !centred && taken.share < real(1.0) {
        progress.w += real(sweep_or_stay(taken.merit));
    }
    progress.y = sqrt(natural());
    return progress;
}

// Sweeps after a step that left so much of the merit; returns how many. Where requests give way it is one, undone where it does not
// lessen the merit. What it starts from is kept where steps have what they need no longer.
fn sweep_or_stay(left: real) -> u32 {
    let sweeps = select(SWEEPS, 1u, relaxes);
    for (var q = 0u; q < dense_groups && relaxes; q++) {
        work[centre_first + q * TILE] = work[lambda_first + q * TILE];
        work[rhs_first + q * TILE] = work[sigma_first + q * TILE];
    }
    for (var k = 0u; k < sweeps; k++) {
        dense_sweep();
    }
    if relaxes && left <= merit(real(0.0)) {
        for (var q = 0u; q < dense_groups; q++) {
            work[lambda_first + q * TILE] = work[centre_first + q * TILE];
            work[sigma_first + q * TILE] = work[rhs_first + q * TILE];
        }
    }
    return sweeps;
}

// Steps are centred from here on; the centre is new where no step was taken about the last one.
fn centre() {
    let aim = work[state_first + DENSE_AIM * TILE];
    for (var q = 0u; q < dense_groups && aim.w == real(0.0); q++) {
        work[centre_first + q * TILE] = work[lambda_first + q * TILE];
    }
    stretch = aim.z;
}

// After a centred step: whether the next one has another centre, and how far from it.
fn recentre(taken: Taken) {
    let at = state_first + DENSE_AIM * TILE;
    var aim = work[at];
    aim.w += real(1.0);
    if taken.share == real(0.0) || aim.w == real(INNER) {
        aim.z = max(aim.z * STRETCH_LESS, LEAST_STRETCH);
        aim.w = real(0.0);
    } else if taken.merit <= CENTRED * way() {
        aim.z = min(aim.z * STRETCH_MORE, most_stretch());
        aim.w = real(0.0);
    }
    stretch = real(0.0);
    work[at] = aim;
}

// Takes the largest share of the step that brings the merit down. The first trial is of no step: it finds the present merit.
fn advance(centred: bool, steps: u32) -> Taken {
    var here = real(0.0);
    var bar = real(0.0);
    for (var trial = 0u; trial <= N_SHARES; trial++) {
        let share = select(SHARES[max(trial, 1u) - 1u], real(0.0), trial == 0u);
        let there = merit(share);
        if trial == 0u {
            here = there;
            bar = bar_of(here, centred, steps);
        } else if there < bar {
            for (var q = 0u; q < dense_groups; q++) {
                let at = q * TILE;
                work[lambda_first + at] = fma(work[step_first + at], all_of(share), work[lambda_first + at]);
                work[sigma_first + at] = fma(work[slope_first + at], all_of(share), work[sigma_first + at]);
            }
            return Taken(share, there, here);
        }
    }
    return Taken(real(0.0), here, here);
}

// Squared way from the centre over `s rho`, J.
fn way() -> real {
    var sum = real(0.0);
    for (var slot = 0u; slot < dense_slots; slot++) {
        let d = load_slot(lambda_first, slot) - load_slot(centre_first, slot);
        sum += fma(d.x, d.x, fma(d.y, d.y, d.z * d.z)) / some(rho_of(slot_steps(slot).y));
    }
    for (var k = 0u; k < dense_rows; k++) {
        let d = load(lambda_first, of_row(k)) - load(centre_first, of_row(k));
        sum += d * d / some(rho_of(row_law(k).w));
    }
    return sum;
}
