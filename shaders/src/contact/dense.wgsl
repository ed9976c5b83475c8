// The contact problem of one island with its Delassus operator written out: the twin of dense.rs, imported by a kernel that
// has a buffer `work`. A problem lies there at dense_first, element-major in its tile; rows are numbered as in dense.rs.

const PROXIMAL: real = real(1e-3);
const TRUST: real = real(0.1);
const LEAST_PROXIMAL: real = real(1e-6);
const SHARES: u32 = 6u;
const MEMORY: u32 = 4u;
const LEAST_PIVOT: real = real(1e-12);

// Rows of a group.
const GROUP: u32 = 8u;

// What outlives a dispatch stands before the problem: proximal weight, merits, outcome.
const STATE_PROXIMAL: u32 = 0u;
const STATE_MERITS: u32 = 1u;
const STATE_ERROR: u32 = 5u;
const STATE_STEPS: u32 = 6u;
const STATE_SWEEPS: u32 = 7u;
const STATE_DONE: u32 = 8u;
// 1 once the lane's problem is written out.
const STATE_WRITTEN: u32 = 9u;
const STATE_SIZE: u32 = 10u;

// Rows of slots of one direction, single rows, all rows; padded.
var<private> dense_slots: u32;
var<private> dense_rows: u32;
var<private> dense_n: u32;
// Where the lane's state and the arrays begin in work.
var<private> state_first: u32;
var<private> delassus_first: u32;
var<private> matrix_first: u32;
var<private> lambda_first: u32;
var<private> sigma_first: u32;
var<private> rho_first: u32;
var<private> step_first: u32;
var<private> slope_first: u32;
var<private> rhs_first: u32;
// 1 for the rows that a step can change, else 0.
var<private> live_first: u32;
var<private> friction_first: u32;
var<private> inverse_first: u32;
var<private> lower_first: u32;
var<private> upper_first: u32;
var<private> compliance_first: u32;

fn padded(count: u32) -> u32 {
    return (count + GROUP - 1u) / GROUP * GROUP;
}

// Reals of a problem of that many rows at most, its state included.
fn dense_reals(most: u32) -> u32 {
    return STATE_SIZE + 2u * most * most + 17u * most;
}

// Finds the arrays of a problem whose memory begins at `first`.
fn dense_place(first: u32, slots: u32, rows: u32) {
    dense_slots = padded(slots);
    dense_rows = padded(rows);
    dense_n = 3u * dense_slots + dense_rows;
    let n = dense_n * TILE;
    state_first = first;
    delassus_first = first + STATE_SIZE * TILE;
    matrix_first = delassus_first + dense_n * n;
    lambda_first = matrix_first + dense_n * n;
    sigma_first = lambda_first + n;
    rho_first = sigma_first + n;
    step_first = rho_first + n;
    slope_first = step_first + n;
    rhs_first = slope_first + n;
    live_first = rhs_first + n;
    friction_first = live_first + n;
    inverse_first = friction_first + dense_slots * TILE;
    lower_first = inverse_first + 6u * dense_slots * TILE;
    upper_first = lower_first + dense_rows * TILE;
    compliance_first = upper_first + dense_rows * TILE;
}

fn of_slot(slot: u32, r: u32) -> u32 {
    return r * dense_slots + slot;
}

fn of_row(row: u32) -> u32 {
    return 3u * dense_slots + row;
}

fn load_slot(first: u32, slot: u32) -> vec3<real> {
    let at = first + slot * TILE;
    let span = dense_slots * TILE;
    return vec3<real>(work[at], work[at + span], work[at + 2u * span]);
}

fn store_slot(first: u32, slot: u32, x: vec3<real>) {
    let at = first + slot * TILE;
    let span = dense_slots * TILE;
    work[at] = x.x;
    work[at + span] = x.y;
    work[at + 2u * span] = x.z;
}

// to += x * other, a row of n numbers; n is a multiple of four. `to` and `other` are addresses in work.
fn add_row(to: u32, other: u32, x: real, n: u32) {
    for (var j = 0u; j < n; j += 4u) {
        let a = to + j * TILE;
        let b = other + j * TILE;
        work[a] = fma(work[b], x, work[a]);
        work[a + TILE] = fma(work[b + TILE], x, work[a + TILE]);
        work[a + 2u * TILE] = fma(work[b + 2u * TILE], x, work[a + 2u * TILE]);
        work[a + 3u * TILE] = fma(work[b + 3u * TILE], x, work[a + 3u * TILE]);
    }
}

// A problem without impulses and rows: what is not written later is zero.
fn dense_clear() {
    let n = dense_n * dense_n;
    for (var i = 0u; i < n; i += 4u) {
        let at = delassus_first + i * TILE;
        work[at] = real(0.0);
        work[at + TILE] = real(0.0);
        work[at + 2u * TILE] = real(0.0);
        work[at + 3u * TILE] = real(0.0);
    }
    let rest = 7u * dense_n + 7u * dense_slots + 3u * dense_rows;
    for (var i = 0u; i < rest; i++) {
        work[lambda_first + i * TILE] = real(0.0);
    }
}

// One round of a solve that is not done: a Newton step, a sweep, or both; what it came to goes into the state.
fn dense_round(newton: bool, round: u32, enough: real) {
    var share = real(0.0);
    if newton {
        let at = state_first + STATE_PROXIMAL * TILE;
        let merits = state_first + STATE_MERITS * TILE;
        work[merits + round % MEMORY * TILE] = newton_step(work[at]);
        var bar = real(0.0);
        for (var k = 0u; k < MEMORY; k++) {
            bar = max(bar, work[merits + k * TILE]);
        }
        share = advance(bar);
        work[state_first + STATE_STEPS * TILE] += real(1.0);
        work[at] = weight(work[at], share);
    }
    if share < real(1.0) {
        dense_sweep();
        work[state_first + STATE_SWEEPS * TILE] += real(1.0);
    }
    dense_measure(enough);
}

// The norm of the natural residual, and whether that is enough.
fn dense_measure(enough: real) {
    let error = sqrt(natural());
    work[state_first + STATE_ERROR * TILE] = error;
    work[state_first + STATE_DONE * TILE] = select(real(0.0), real(1.0), error <= enough);
}

// The step from here, and its response; returns the merit here.
fn newton_step(proximal: real) -> real {
    linearise(proximal);
    eliminate();
    for (var i = 0u; i < dense_n; i++) {
        work[slope_first + i * TILE] = real(0.0);
    }
    for (var k = 0u; k < dense_n; k++) {
        if work[live_first + k * TILE] > real(0.0) {
            add_row(slope_first, delassus_first + k * dense_n * TILE, work[step_first + k * TILE], dense_n);
        }
    }
    return merit(real(0.0));
}

fn share_of(trial: u32) -> real {
    switch trial {
        case 0u: { return real(1.0); }
        case 1u: { return real(0.6); }
        case 2u: { return real(0.36); }
        case 3u: { return real(0.2); }
        case 4u: { return real(0.1); }
        default: { return real(0.05); }
    }
}

// Takes the largest share of the step that brings the merit under `bar`; returns it, zero for none.
fn advance(bar: real) -> real {
    for (var trial = 0u; trial < SHARES; trial++) {
        let share = share_of(trial);
        if merit(share) < bar {
            add_row(lambda_first, step_first, share, dense_n);
            add_row(sigma_first, slope_first, share, dense_n);
            return share;
        }
    }
    return real(0.0);
}

// The matrix of the step and its right-hand side, for the rows that can change.
fn linearise(proximal: real) {
    let zero = real(0.0);
    let one = real(1.0);
    for (var i = 0u; i < dense_n; i++) {
        work[live_first + i * TILE] = zero;
        work[step_first + i * TILE] = zero;
    }
    for (var slot = 0u; slot < dense_slots; slot++) {
        let mu = work[friction_first + slot * TILE];
        let rho = work[rho_first + slot * TILE];
        let lambda = load_slot(lambda_first, slot);
        let y = lambda - rho * load_slot(sigma_first, slot);
        store_slot(rhs_first, slot, local_project(mu, y) - lambda);
        let carries = abs(lambda.x) + abs(lambda.y) + abs(lambda.z);
        if !(zero < rho && (zero < carries || zero < y.z || mu < zero)) {
            continue;
        }
        store_slot(live_first, slot, vec3<real>(one, one, one));
        let stick = local_inside(mu, y);
        let pressed = select(zero, one, stick || zero < y.z);
        let length = max(sqrt(fma(y.x, y.x, y.y * y.y)), real(1e-30));
        let d = vec2<real>(y.x / length, y.y / length);
        let slips = select(pressed, zero, stick);
        let across = slips * mu * y.z / length;
        let p00 = select(across * (one - d.x * d.x), one, stick);
        let p01 = select(-(across * d.x * d.y), zero, stick);
        let p02 = slips * mu * d.x;
        let p11 = select(across * (one - d.y * d.y), one, stick);
        let p12 = slips * mu * d.y;
        let span = dense_slots * dense_n * TILE;
        let g = delassus_first + slot * dense_n * TILE;
        let m = matrix_first + slot * dense_n * TILE;
        for (var j = 0u; j < dense_n; j++) {
            let at = j * TILE;
            let g0 = work[g + at];
            let g1 = work[g + span + at];
            let g2 = work[g + 2u * span + at];
            work[m + at] = fma(rho * p00, g0, fma(rho * p01, g1, rho * p02 * g2));
            work[m + span + at] = fma(rho * p01, g0, fma(rho * p11, g1, rho * p12 * g2));
            work[m + 2u * span + at] = rho * pressed * g2;
        }
        let c0 = slot * TILE;
        let c1 = of_slot(slot, 1u) * TILE;
        let c2 = of_slot(slot, 2u) * TILE;
        work[m + c0] += one - p00 + proximal;
        work[m + c1] -= p01;
        work[m + c2] -= p02;
        work[m + span + c0] -= p01;
        work[m + span + c1] += one - p11 + proximal;
        work[m + span + c2] -= p12;
        work[m + 2u * span + c2] += one - pressed + proximal;
    }
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k);
        let rho = work[rho_first + i * TILE];
        let lambda = work[lambda_first + i * TILE];
        let lower = work[lower_first + k * TILE];
        let upper = work[upper_first + k * TILE];
        let y = lambda - rho * work[sigma_first + i * TILE];
        let change = min(max(y, lower), upper) - lambda;
        work[rhs_first + i * TILE] = change;
        let free = lower < y && y < upper;
        if !(zero < rho && (free || zero < abs(change))) {
            continue;
        }
        work[live_first + i * TILE] = one;
        let kept = select(zero, rho, free);
        let m = matrix_first + i * dense_n * TILE;
        let g = delassus_first + i * dense_n * TILE;
        for (var j = 0u; j < dense_n; j++) {
            work[m + j * TILE] = kept * work[g + j * TILE];
        }
        work[m + i * TILE] += select(one, zero, free) + proximal;
    }
}

// Solves the live rows for the step, pivots in order.
fn eliminate() {
    let zero = real(0.0);
    let n = dense_n;
    for (var k = 0u; k < n; k++) {
        if work[live_first + k * TILE] <= zero {
            continue;
        }
        let top = matrix_first + k * n * TILE;
        let pivot = work[top + k * TILE];
        let inverse = real(1.0) / select(pivot, LEAST_PIVOT, abs(pivot) < LEAST_PIVOT);
        work[top + k * TILE] = inverse;
        // Whole groups: what lies before column k is not read again.
        let first = k / GROUP * GROUP;
        for (var r = k + 1u; r < n; r++) {
            if work[live_first + r * TILE] <= zero {
                continue;
            }
            let row = matrix_first + r * n * TILE;
            let entry = work[row + k * TILE];
            if entry == zero {
                continue;
            }
            let factor = -(entry * inverse);
            work[rhs_first + r * TILE] = fma(factor, work[rhs_first + k * TILE], work[rhs_first + r * TILE]);
            add_row(row + first * TILE, top + first * TILE, factor, n - first);
        }
    }
    for (var back = 0u; back < n; back++) {
        let k = n - 1u - back;
        if work[live_first + k * TILE] <= zero {
            continue;
        }
        let top = matrix_first + k * n * TILE;
        var sum = zero;
        for (var j = k + 1u; j < n; j++) {
            sum = fma(work[top + j * TILE], work[step_first + j * TILE], sum);
        }
        work[step_first + k * TILE] = (work[rhs_first + k * TILE] - sum) * work[top + k * TILE];
    }
}

// The next proximal weight after a step of which this share was taken.
fn weight(proximal: real, share: real) -> real {
    if real(1.0) <= share {
        return max(proximal * TRUST, LEAST_PROXIMAL);
    }
    if real(0.0) < share {
        return proximal;
    }
    return min(proximal / TRUST, real(1.0));
}

// Rho, or 1 where there is none.
fn some(rho: real) -> real {
    return select(real(1.0), rho, real(0.0) < rho);
}

// Sum of squares of the scaled natural map over rho, J, a share of the step on.
fn merit(share: real) -> real {
    var sum = real(0.0);
    for (var slot = 0u; slot < dense_slots; slot++) {
        let rho = work[rho_first + slot * TILE];
        let lambda = load_slot(lambda_first, slot) + share * load_slot(step_first, slot);
        let sigma = load_slot(sigma_first, slot) + share * load_slot(slope_first, slot);
        let r = local_residual(work[friction_first + slot * TILE], rho, lambda, sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)) / some(rho);
    }
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k) * TILE;
        let rho = work[rho_first + i];
        let lambda = fma(work[step_first + i], share, work[lambda_first + i]);
        let sigma = fma(work[slope_first + i], share, work[sigma_first + i]);
        let y = lambda - rho * sigma;
        let left = lambda - min(max(y, work[lower_first + k * TILE]), work[upper_first + k * TILE]);
        sum += left * left / some(rho);
    }
    return sum;
}

// Sum of squares of the natural residual, (N s)^2.
fn natural() -> real {
    let one = real(1.0);
    var sum = real(0.0);
    for (var slot = 0u; slot < dense_slots; slot++) {
        let mu = work[friction_first + slot * TILE];
        let r = local_residual(mu, one, load_slot(lambda_first, slot), load_slot(sigma_first, slot));
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
    }
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k) * TILE;
        let lambda = work[lambda_first + i];
        let compliance = work[compliance_first + k * TILE];
        let sigma = work[sigma_first + i] - compliance * lambda;
        let y = (lambda - sigma) / (one + compliance);
        let left = lambda - min(max(y, work[lower_first + k * TILE]), work[upper_first + k * TILE]);
        sum += left * left;
    }
    return sum;
}

// Every row, then every slot, solved exactly with the others held.
fn dense_sweep() {
    let zero = real(0.0);
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k);
        let rho = work[rho_first + i * TILE];
        if rho <= zero {
            continue;
        }
        let lambda = work[lambda_first + i * TILE];
        let y = lambda - rho * work[sigma_first + i * TILE];
        let next = min(max(y, work[lower_first + k * TILE]), work[upper_first + k * TILE]);
        if next != lambda {
            work[lambda_first + i * TILE] = next;
            add_row(sigma_first, delassus_first + i * dense_n * TILE, next - lambda, dense_n);
        }
    }
    for (var slot = 0u; slot < dense_slots; slot++) {
        if work[rho_first + slot * TILE] <= zero {
            continue;
        }
        let span = dense_slots * dense_n * TILE;
        let c1 = of_slot(slot, 1u) * TILE;
        let c2 = of_slot(slot, 2u) * TILE;
        let g = delassus_first + slot * dense_n * TILE;
        let block = Block(array<real, 6>(
            work[g + slot * TILE],
            work[g + c1],
            work[g + c2],
            work[g + span + c1],
            work[g + span + c2],
            work[g + 2u * span + c2],
        ));
        let inverse_at = inverse_first + slot * TILE;
        let step = dense_slots * TILE;
        let inverse = Block(array<real, 6>(
            work[inverse_at],
            work[inverse_at + step],
            work[inverse_at + 2u * step],
            work[inverse_at + 3u * step],
            work[inverse_at + 4u * step],
            work[inverse_at + 5u * step],
        ));
        let lambda = load_slot(lambda_first, slot);
        let mu = work[friction_first + slot * TILE];
        let next = local_solve(mu, block, inverse, lambda, load_slot(sigma_first, slot));
        let d = next - lambda;
        if abs(d.x) + abs(d.y) + abs(d.z) == zero {
            continue;
        }
        store_slot(lambda_first, slot, next);
        add_row(sigma_first, g, d.x, dense_n);
        add_row(sigma_first, g + span, d.y, dense_n);
        add_row(sigma_first, g + 2u * span, d.z, dense_n);
    }
}
