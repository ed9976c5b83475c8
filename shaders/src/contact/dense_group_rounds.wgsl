// The rounds in which a dense problem is solved by a workgroup: the twin of dense_rounds.rs, imported by contact/dense_group.

// The merit that a step has to come below: the present one, or unless steps are centred the largest of the last few.
fn bar_of(d: Dense, here: real, centred: bool, steps: u32) -> real {
    var bar = here;
    for (var k = 0u; k < MEMORY && !centred; k++) {
        if k != steps % MEMORY {
            bar = max(bar, work[d.state + DENSE_MERITS + k]);
        }
    }
    return bar;
}

// Whether some impulse is beyond RUNAWAY.
fn runs_away(d: Dense, local: u32) -> bool {
    var beyond = real(0.0);
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        let rho = work[d.rho + i];
        beyond += select(real(0.0), real(1.0), real(0.0) < rho && RUNAWAY * rho < abs(held[LAMBDA + i]));
    }
    return real(0.0) < group_sum(local, beyond);
}

// Sweeps that were taken, and the error that the last of them met.
struct Swept {
    count: u32,
    error: real,
}

// A round: a Newton step, sweeps, or both; `sweeps` at most, until one meets an error of no more than `enough`. Each part is called
// at one place, as in dense_rounds.wgsl.
fn dense_round(d: Dense, local: u32, newton: bool, sweeps: u32, enough: real) -> Swept {
    let at = d.state + DENSE_PROXIMAL;
    let proximal = of_first(local, work[at]);
    let centred = newton && proximal <= real(0.0);
    var taken = Taken(real(0.0), real(0.0), real(0.0));
    if newton {
        let steps = u32(work[d.state + DENSE_STEPS]);
        if centred {
            centre(d, local);
        }
        newton_step(d, local, proximal);
        taken = advance(d, local, centred, steps);
        if centred {
            recentre(d, local, taken);
        } else if local == 0u {
            work[d.state + DENSE_MERITS + steps % MEMORY] = taken.here;
            work[d.state + DENSE_STEPS] = real(steps + 1u);
            work[at] = weight(proximal, steps + 1u, taken.share, taken.merit / taken.here);
        }
        storageBarrier();
    }
    if centred || real(1.0) <= taken.share {
        return Swept(0u, UNBOUNDED);
    }
    return sweep_or_stay(d, local, taken.merit, sweeps, enough);
}

// Sweeps after a step that left so much of the merit. Where requests give way they are undone where they do not lessen the merit. What
// they start from is kept where steps have what they need no longer.
fn sweep_or_stay(d: Dense, local: u32, left: real, most: u32, enough: real) -> Swept {
    var swept = Swept(0u, UNBOUNDED);
    for (var i = local; i < d.n && relaxes; i += GROUP_WIDTH) {
        held[CENTRE + i] = held[LAMBDA + i];
        held[RHS + i] = held[SIGMA + i];
    }
    for (; swept.count < most && enough < swept.error; swept.count++) {
        swept.error = sqrt(dense_sweep(d, local));
    }
    if relaxes {
        let after = merit_at(d, local, real(0.0));
        for (var i = local; i < d.n && left <= after; i += GROUP_WIDTH) {
            held[LAMBDA + i] = held[CENTRE + i];
            held[SIGMA + i] = held[RHS + i];
        }
        workgroupBarrier();
    }
    return swept;
}

// Steps are centred from here on; the centre is new where no step was taken about the last one.
fn centre(d: Dense, local: u32) {
    let inner = work[d.state + DENSE_INNER];
    for (var i = local; i < d.n && inner == real(0.0); i += GROUP_WIDTH) {
        held[CENTRE + i] = held[LAMBDA + i];
    }
    stretch = work[d.state + DENSE_STRETCH];
    workgroupBarrier();
}

// After a centred step: whether the next one has another centre, and how far from it.
fn recentre(d: Dense, local: u32, taken: Taken) {
    let from_centre = way(d, local);
    let present = stretch;
    stretch = real(0.0);
    if local == 0u {
        let inner = work[d.state + DENSE_INNER] + real(1.0);
        let failed = taken.share == real(0.0) || inner == real(INNER);
        let less = max(present * STRETCH_LESS, LEAST_STRETCH);
        let more = min(present * STRETCH_MORE, most_stretch());
        let reached = failed || taken.merit <= CENTRED * from_centre;
        work[d.state + DENSE_STRETCH] = select(present, select(more, less, failed), reached);
        work[d.state + DENSE_INNER] = select(inner, real(0.0), reached);
    }
}

// Takes the largest share of the step that brings the merit down. The first trial is of no step: it finds the present merit.
fn advance(d: Dense, local: u32, centred: bool, steps: u32) -> Taken {
    var taken = Taken(real(0.0), real(0.0), real(0.0));
    var bar = real(0.0);
    for (var trial = 0u; trial <= N_SHARES && taken.share == real(0.0); trial++) {
        let share = select(SHARES[max(trial, 1u) - 1u], real(0.0), trial == 0u);
        let there = merit_at(d, local, share);
        if trial == 0u {
            taken = Taken(real(0.0), there, there);
            bar = bar_of(d, there, centred, steps);
        } else if there < bar {
            taken.share = share;
            taken.merit = there;
        }
    }
    let share = taken.share;
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[LAMBDA + i] = fma(held[STEP + i], share, held[LAMBDA + i]);
        held[SIGMA + i] = fma(held[SLOPE + i], share, held[SIGMA + i]);
    }
    workgroupBarrier();
    return taken;
}

// Squared way from the centre over `s rho`, J.
fn way(d: Dense, local: u32) -> real {
    var sum = real(0.0);
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        let moved = held[LAMBDA + i] - held[CENTRE + i];
        sum += moved * moved / some(rho_of(work[d.rho + i]));
    }
    return group_sum(local, sum);
}
