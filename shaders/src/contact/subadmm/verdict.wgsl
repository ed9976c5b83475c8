// Whether an island is solved, and when its penalties change next: the twin of verdict.rs, by one workgroup. The
// importing kernel binds split_index, split and island_info, and calls `island_judge` from uniform control flow.
#import contact/subadmm/layout
#import contact/group.rs
#import contact/island.rs

const VERDICT_RESIDUAL: u32 = 0u;
const VERDICT_SCALED: u32 = 1u;

var<workgroup> verdict: array<real, 2u * ISLAND_WIDTH>;
var<workgroup> verdict_stopped: u32;

// Larger of two, a NaN never swallowed.
fn verdict_worse(a: real, b: real) -> real {
    return select(a, b, !(b <= a) || !is_finite(b));
}

// Adds up the residuals of an island after `done` iterations. Whether nothing is left to do.
fn island_judge(number: u32, local: u32, done: u32) -> bool {
    let record = split_island(number);
    var square = real(0.0);
    var scaled = real(0.0);
    for (var i = record.constraint_begin + local; i < record.constraint_end; i += ISLAND_WIDTH) {
        let c = constraint_at(i);
        square += split[c + CONSTRAINT_SQUARE];
        scaled = verdict_worse(scaled, split[c + CONSTRAINT_SCALED]);
    }
    workgroupBarrier();
    verdict[2u * local + VERDICT_RESIDUAL] = square;
    verdict[2u * local + VERDICT_SCALED] = scaled;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            let to = 2u * local;
            let other = 2u * (local + step);
            verdict[to + VERDICT_RESIDUAL] += verdict[other + VERDICT_RESIDUAL];
            verdict[to + VERDICT_SCALED] = verdict_worse(verdict[to + VERDICT_SCALED], verdict[other + VERDICT_SCALED]);
        }
        workgroupBarrier();
    }
    if local == 0u {
        let stopped = island_verdict(number, record.n_contacts, done);
        verdict_stopped = select(0u, 1u, stopped);
    }
    return workgroupUniformLoad(&verdict_stopped) != 0u;
}

// What the sums, in `verdict`, mean.
fn island_verdict(number: u32, n_contacts: u32, done: u32) -> bool {
    let one = real(1.0);
    let residual = sqrt(verdict[VERDICT_RESIDUAL]) / real(max(n_contacts, 1u));
    let scaled = verdict[VERDICT_SCALED];
    let near = residual <= real(bitcast<f32>(dims.tolerance));
    let solved = near || scaled <= real(bitcast<f32>(dims.tolerance_scaled));
    // What is not finite will not become so.
    let stopped = solved || !(is_finite(residual) && is_finite(scaled));
    let own = island_at(number);
    let outcome = INFO_SIZE * number;
    island_info[outcome + INFO_ITERATIONS] = real(done);
    island_info[outcome + INFO_STOPPED] = select(real(0.0), one, stopped);
    split[own + ISLAND_STOPPED] = select(real(0.0), one, stopped);
    let wait = real(dims.adapt_after);
    if done == 0u {
        split[own + ISLAND_NEXT] = wait;
        split[own + ISLAND_WAIT] = verdict_longer(wait);
        split[own + ISLAND_REFACTOR] = one;
        return stopped;
    }
    split[own + ISLAND_REFACTOR] = real(0.0);
    if real(done) < split[own + ISLAND_NEXT] {
        return stopped;
    }
    split[own + ISLAND_NEXT] = real(done) + split[own + ISLAND_WAIT];
    split[own + ISLAND_WAIT] = verdict_longer(split[own + ISLAND_WAIT]);
    split[own + ISLAND_REFACTOR] = one;
    return stopped;
}

// The next wait.
fn verdict_longer(wait: real) -> real {
    return wait * real(1.25);
}
