// The contact problem of an island with its Delassus operator written out, by a workgroup: the twin of dense.rs. The
// importing kernel imports contact/local, contact/globalise and contact/island_sweep and has a buffer `work`. Functions
// that take `local` hold barriers: they are called from uniform control flow.

// Rows of a group.
const GROUP: u32 = 8u;

// What outlives a dispatch stands before the problem: proximal weight, merits, Newton steps, `s` of centred steps, rounds about
// the present centre.
const DENSE_PROXIMAL: u32 = 0u;
const DENSE_MERITS: u32 = 1u;
const DENSE_STEPS: u32 = 9u;
const DENSE_STRETCH: u32 = 10u;
const DENSE_INNER: u32 = 11u;
const DENSE_SIZE: u32 = 16u;

// Rows of slots of one direction, single rows, all rows, padded; where the state and the arrays begin in work.
struct Dense {
    slots: u32,
    rows: u32,
    n: u32,
    state: u32,
    delassus: u32,
    matrix: u32,
    lambda: u32,
    sigma: u32,
    rho: u32,
    step: u32,
    slope: u32,
    rhs: u32,
    // 1 for the rows that a step can change, else 0.
    live: u32,
    centre: u32,
    friction: u32,
    inverse: u32,
    lower: u32,
    upper: u32,
    compliance: u32,
    // Where requests give way: caps of slots and rows, and what the rows ask for.
    cap: u32,
    request: u32,
}

// Whether requests give way.
var<private> relaxes: bool;
// `s` of a centred step; zero for one on the natural map.
var<private> stretch: real;

fn padded(count: u32) -> u32 {
    return (count + GROUP - 1u) / GROUP * GROUP;
}

// Finds the arrays of a problem whose memory begins at `first`.
fn dense_place(first: u32, blocks: u32, singles: u32) -> Dense {
    let slots = padded(blocks);
    let rows = padded(singles);
    let n = 3u * slots + rows;
    let delassus = first + DENSE_SIZE;
    let matrix = delassus + n * n;
    let lambda = matrix + n * n;
    let friction = lambda + 8u * n;
    let lower = friction + 7u * slots;
    let cap = lower + 3u * rows;
    return Dense(
        slots, rows, n, first, delassus, matrix, lambda, lambda + n, lambda + 2u * n, lambda + 3u * n, lambda + 4u * n,
        lambda + 5u * n, lambda + 6u * n, lambda + 7u * n, friction, friction + slots, lower, lower + rows, lower + 2u * rows, cap,
        cap + slots + rows,
    );
}

fn of_slot(d: Dense, slot: u32, r: u32) -> u32 {
    return r * d.slots + slot;
}

fn of_row(d: Dense, row: u32) -> u32 {
    return 3u * d.slots + row;
}

// Three rows of a slot in an array.
fn load_slot(d: Dense, first: u32, slot: u32) -> vec3<real> {
    let at = first + slot;
    return vec3<real>(work[at], work[at + d.slots], work[at + 2u * d.slots]);
}

fn store_slot(d: Dense, first: u32, slot: u32, x: vec3<real>) {
    let at = first + slot;
    work[at] = x.x;
    work[at + d.slots] = x.y;
    work[at + 2u * d.slots] = x.z;
}

// Cap and requests of a slot.
fn slot_caps(d: Dense, slot: u32) -> Steps {
    return Steps(work[d.cap + slot], load_slot(d, d.request, slot));
}

// Step of a row, `s rho` of a centred one.
fn rho_of(rho: real) -> real {
    return select(rho, stretch * rho, real(0.0) < stretch);
}

// What row i is mapped from when it carries `lambda`, without its velocity.
fn origin(d: Dense, i: u32, lambda: real) -> real {
    if real(0.0) < stretch {
        return work[d.centre + i];
    }
    return lambda;
}

// What is left of a slot by the map of the step.
fn slot_left(d: Dense, slot: u32, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let rho = rho_of(work[d.rho + slot]);
    if stretch == real(0.0) {
        return slot_residual(d, slot, rho, lambda, sigma);
    }
    return lambda - slot_mapped(d, slot, rho, load_slot(d, d.centre, slot) - rho * sigma);
}

// A slot at y, mapped with the step rho.
fn slot_mapped(d: Dense, slot: u32, rho: real, y: vec3<real>) -> vec3<real> {
    if relaxes {
        return steps_project(slot_caps(d, slot), work[d.friction + slot], rho, y);
    }
    return local_project(work[d.friction + slot], y);
}

// The natural residual of a slot.
fn slot_residual(d: Dense, slot: u32, step: real, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    if relaxes {
        return steps_residual(slot_caps(d, slot), work[d.friction + slot], step, lambda, sigma);
    }
    return local_residual(work[d.friction + slot], step, lambda, sigma);
}

// A single row at y, mapped with the step rho.
fn bounded(d: Dense, k: u32, rho: real, y_in: real) -> real {
    var y = y_in;
    if relaxes {
        y = steps_climb(work[d.cap + d.slots + k], work[d.request + of_row(d, k)], rho, y);
    }
    return min(max(y, work[d.lower + k]), work[d.upper + k]);
}

// A zero problem.
fn dense_clear(d: Dense, local: u32) {
    for (var i = d.state + local; i < d.matrix; i += ISLAND_WIDTH) {
        work[i] = real(0.0);
    }
    for (var i = d.lambda + local; i < d.request + d.n; i += ISLAND_WIDTH) {
        work[i] = real(0.0);
    }
    storageBarrier();
    if local == 0u {
        work[d.state + DENSE_PROXIMAL] = PROXIMAL;
        work[d.state + DENSE_STRETCH] = STRETCH;
    }
    storageBarrier();
}

// Sum over the lanes, in a fixed order.
fn group_sum(local: u32, mine: real) -> real {
    workgroupBarrier();
    partial_square[local] = mine;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            partial_square[local] += partial_square[local + step];
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&partial_square[0]);
}

// Whether some impulse is beyond RUNAWAY.
fn runs_away(d: Dense, local: u32) -> bool {
    var beyond = real(0.0);
    for (var i = local; i < d.n; i += ISLAND_WIDTH) {
        let rho = work[d.rho + i];
        beyond += select(real(0.0), real(1.0), real(0.0) < rho && RUNAWAY * rho < abs(work[d.lambda + i]));
    }
    return real(0.0) < group_sum(local, beyond);
}

// The how manieth round: a Newton step, sweeps, or both.
fn dense_round(d: Dense, local: u32, round: u32) {
    if PATIENCE <= round {
        centred_round(d, local);
        return;
    }
    let at = d.state + DENSE_PROXIMAL;
    let proximal = work[at];
    let steps = u32(work[d.state + DENSE_STEPS]);
    linearise(d, local, proximal);
    eliminate(d, local);
    respond(d, local);
    let merit = merit_at(d, local, real(0.0));
    var bar = merit;
    for (var k = 0u; k < MEMORY; k++) {
        if k != steps % MEMORY {
            bar = max(bar, work[d.state + DENSE_MERITS + k]);
        }
    }
    let taken = advance(d, local, bar);
    if local == 0u {
        work[d.state + DENSE_MERITS + steps % MEMORY] = merit;
        work[d.state + DENSE_STEPS] = real(steps + 1u);
        work[at] = weight(proximal, taken.share, taken.merit / merit);
    }
    storageBarrier();
    if taken.share < real(1.0) {
        for (var k = 0u; k < SWEEPS; k++) {
            dense_sweep(d, local);
        }
    }
}

// A centred Newton step.
fn centred_round(d: Dense, local: u32) {
    let inner = work[d.state + DENSE_INNER];
    let present = work[d.state + DENSE_STRETCH];
    for (var i = local; i < d.n && inner == real(0.0); i += ISLAND_WIDTH) {
        work[d.centre + i] = work[d.lambda + i];
    }
    storageBarrier();
    stretch = present;
    linearise(d, local, real(0.0));
    eliminate(d, local);
    respond(d, local);
    let share = advance(d, local, merit_at(d, local, real(0.0))).share;
    let left = merit_at(d, local, real(0.0));
    let from_centre = way(d, local);
    stretch = real(0.0);
    if local == 0u {
        let failed = share == real(0.0) || inner + real(1.0) == real(INNER);
        let less = max(present * STRETCH_LESS, LEAST_STRETCH);
        let more = min(present * STRETCH_MORE, most_stretch());
        let reached = failed || left <= CENTRED * from_centre;
        work[d.state + DENSE_STRETCH] = select(present, select(more, less, failed), reached);
        work[d.state + DENSE_INNER] = select(inner + real(1.0), real(0.0), reached);
    }
    storageBarrier();
}

// Takes the largest share of the step that brings the merit under `bar`.
fn advance(d: Dense, local: u32, bar: real) -> Taken {
    var taken = Taken(real(0.0), bar);
    for (var trial = 0u; trial < N_SHARES && taken.share == real(0.0); trial++) {
        let there = merit_at(d, local, SHARES[trial]);
        if there < bar {
            taken = Taken(SHARES[trial], there);
        }
    }
    let share = taken.share;
    for (var i = local; i < d.n; i += ISLAND_WIDTH) {
        work[d.lambda + i] = fma(work[d.step + i], share, work[d.lambda + i]);
        work[d.sigma + i] = fma(work[d.slope + i], share, work[d.sigma + i]);
    }
    storageBarrier();
    return taken;
}

// Squared way from the centre over `s rho`, J.
fn way(d: Dense, local: u32) -> real {
    var sum = real(0.0);
    for (var i = local; i < d.n; i += ISLAND_WIDTH) {
        let moved = work[d.lambda + i] - work[d.centre + i];
        sum += moved * moved / some(rho_of(work[d.rho + i]));
    }
    return group_sum(local, sum);
}

// The matrix of the step and its right-hand side, for the rows that can change.
fn linearise(d: Dense, local: u32, proximal: real) {
    for (var i = local; i < d.n; i += ISLAND_WIDTH) {
        work[d.live + i] = real(0.0);
        work[d.step + i] = real(0.0);
    }
    storageBarrier();
    for (var slot = 0u; slot < d.slots; slot++) {
        linearise_slot(d, local, slot, proximal);
    }
    for (var k = 0u; k < d.rows; k++) {
        linearise_row(d, local, k, proximal);
    }
    storageBarrier();
}

fn on_diagonal(row: u32, column: u32, x: real) -> real {
    return select(real(0.0), x, row == column);
}

// Rows of a slot: `1 - P (1 - rho G) + eps`, of a centred step `1 + P s rho G`, the lanes over the columns.
fn linearise_slot(d: Dense, local: u32, slot: u32, proximal: real) {
    let zero = real(0.0);
    let one = real(1.0);
    let mu = work[d.friction + slot];
    let rho = rho_of(work[d.rho + slot]);
    let lambda = load_slot(d, d.lambda, slot);
    let at = vec3<u32>(slot, of_slot(d, slot, 1u), of_slot(d, slot, 2u));
    let begin = vec3<real>(origin(d, at.x, lambda.x), origin(d, at.y, lambda.y), origin(d, at.z, lambda.z));
    let y = begin - rho * load_slot(d, d.sigma, slot);
    let carries = abs(lambda.x) + abs(lambda.y) + abs(lambda.z);
    let alive = zero < rho && (zero < carries || zero < y.z || mu < zero);
    if local == 0u {
        store_slot(d, d.rhs, slot, slot_mapped(d, slot, rho, y) - lambda);
        if alive {
            store_slot(d, d.live, slot, vec3<real>(one, one, one));
        }
    }
    if !alive {
        return;
    }
    var p = derivative(mu, y);
    if relaxes {
        p = steps_derivative(slot_caps(d, slot), mu, rho, y);
    }
    let kept = select(one, real(0.0), real(0.0) < stretch);
    for (var j = local; j < d.n; j += ISLAND_WIDTH) {
        let g0 = work[d.delassus + at.x * d.n + j];
        let g1 = work[d.delassus + at.y * d.n + j];
        let g2 = work[d.delassus + at.z * d.n + j];
        let m0 = fma(rho * p.p00, g0, fma(rho * p.p01, g1, rho * p.p02 * g2));
        let m1 = fma(rho * p.p01, g0, fma(rho * p.p11, g1, rho * p.p12 * g2));
        let m2 = rho * p.p22 * g2;
        let own = one + proximal;
        let on0 = on_diagonal(at.x, j, own - kept * p.p00) - on_diagonal(at.y, j, kept * p.p01)
            - on_diagonal(at.z, j, kept * p.p02);
        let on1 = on_diagonal(at.y, j, own - kept * p.p11) - on_diagonal(at.x, j, kept * p.p01)
            - on_diagonal(at.z, j, kept * p.p12);
        work[d.matrix + at.x * d.n + j] = m0 + on0;
        work[d.matrix + at.y * d.n + j] = m1 + on1;
        work[d.matrix + at.z * d.n + j] = m2 + on_diagonal(at.z, j, own - kept * p.p22);
    }
}

fn linearise_row(d: Dense, local: u32, k: u32, proximal: real) {
    let i = of_row(d, k);
    let rho = rho_of(work[d.rho + i]);
    let lambda = work[d.lambda + i];
    let y = origin(d, i, lambda) - rho * work[d.sigma + i];
    let change = bounded(d, k, rho, y) - lambda;
    var free = work[d.lower + k] < y && y < work[d.upper + k];
    if relaxes {
        free = free && !steps_holds(work[d.cap + d.slots + k], work[d.request + i], rho, y);
    }
    let alive = real(0.0) < rho && (free || real(0.0) < abs(change));
    if local == 0u {
        work[d.rhs + i] = change;
        if alive {
            work[d.live + i] = real(1.0);
        }
    }
    if !alive {
        return;
    }
    let kept = select(real(0.0), rho, free);
    let own = select(real(1.0), real(0.0), free && stretch == real(0.0)) + proximal;
    for (var j = local; j < d.n; j += ISLAND_WIDTH) {
        work[d.matrix + i * d.n + j] = fma(kept, work[d.delassus + i * d.n + j], on_diagonal(i, j, own));
    }
}

fn pivot_inverse(d: Dense, k: u32) -> real {
    let pivot = work[d.matrix + k * d.n + k];
    return real(1.0) / select(pivot, LEAST_PIVOT, abs(pivot) < LEAST_PIVOT);
}

// Clears column k below row k, the lanes over the columns; the column itself is not read again.
fn clear_column(d: Dense, local: u32, k: u32) {
    let inverse = pivot_inverse(d, k);
    let top = d.matrix + k * d.n;
    for (var j = k + 1u + local; j < d.n; j += ISLAND_WIDTH) {
        let above = work[top + j];
        for (var r = k + 1u; r < d.n; r++) {
            let row = d.matrix + r * d.n;
            let factor = -(work[row + k] * inverse);
            if factor != real(0.0) && real(0.0) < work[d.live + r] {
                work[row + j] = fma(factor, above, work[row + j]);
            }
        }
    }
    for (var r = k + 1u + local; r < d.n; r += ISLAND_WIDTH) {
        if real(0.0) < work[d.live + r] {
            let factor = -(work[d.matrix + r * d.n + k] * inverse);
            work[d.rhs + r] = fma(factor, work[d.rhs + k], work[d.rhs + r]);
        }
    }
}

// Solves the live rows for the step, pivots in order.
fn eliminate(d: Dense, local: u32) {
    for (var k = 0u; k < d.n; k++) {
        if real(0.0) < work[d.live + k] {
            clear_column(d, local, k);
        }
        storageBarrier();
    }
    for (var back = 0u; back < d.n; back++) {
        let k = d.n - 1u - back;
        if real(0.0) < work[d.live + k] {
            let x = work[d.rhs + k] * pivot_inverse(d, k);
            if local == 0u {
                work[d.step + k] = x;
            }
            for (var r = local; r < k; r += ISLAND_WIDTH) {
                if real(0.0) < work[d.live + r] {
                    work[d.rhs + r] = fma(-work[d.matrix + r * d.n + k], x, work[d.rhs + r]);
                }
            }
        }
        storageBarrier();
    }
}

// Change of sigma with the whole step.
fn respond(d: Dense, local: u32) {
    for (var i = local; i < d.n; i += ISLAND_WIDTH) {
        var sum = real(0.0);
        for (var k = 0u; k < d.n; k++) {
            sum = fma(work[d.delassus + k * d.n + i], work[d.step + k], sum);
        }
        work[d.slope + i] = sum;
    }
    storageBarrier();
}

// Sum of squares of what the map of the step leaves over its rho, J, a share of the step on.
fn merit_at(d: Dense, local: u32, share: real) -> real {
    var sum = real(0.0);
    for (var slot = local; slot < d.slots; slot += ISLAND_WIDTH) {
        let lambda = load_slot(d, d.lambda, slot) + share * load_slot(d, d.step, slot);
        let sigma = load_slot(d, d.sigma, slot) + share * load_slot(d, d.slope, slot);
        let r = slot_left(d, slot, lambda, sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)) / some(rho_of(work[d.rho + slot]));
    }
    for (var k = local; k < d.rows; k += ISLAND_WIDTH) {
        let i = of_row(d, k);
        let rho = rho_of(work[d.rho + i]);
        let lambda = fma(work[d.step + i], share, work[d.lambda + i]);
        let sigma = fma(work[d.slope + i], share, work[d.sigma + i]);
        let left = lambda - bounded(d, k, rho, origin(d, i, lambda) - rho * sigma);
        sum += left * left / some(rho);
    }
    return group_sum(local, sum);
}

// Residual (number 1, in `square`) and scaled residual.
fn dense_measure(d: Dense, own: IslandRecord, local: u32) -> Residuals {
    let one = real(1.0);
    var mine = Residuals(real(0.0), real(0.0));
    for (var slot = local; slot < d.slots; slot += ISLAND_WIDTH) {
        let mu = work[d.friction + slot];
        let rho = work[d.rho + slot];
        let lambda = load_slot(d, d.lambda, slot);
        let sigma = load_slot(d, d.sigma, slot);
        let r = slot_residual(d, slot, one, lambda, sigma);
        mine.square += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
        var scaled = local_scaled_residual(mu, SLOT_STEP / some(rho), lambda, sigma);
        if relaxes {
            scaled = steps_scaled_residual(slot_caps(d, slot), mu, SLOT_STEP / some(rho), lambda, sigma);
        }
        mine.scaled = island_worse(mine.scaled, select(real(0.0), scaled, real(0.0) < rho));
    }
    for (var k = local; k < d.rows; k += ISLAND_WIDTH) {
        let i = of_row(d, k);
        let rho = some(work[d.rho + i]);
        let lambda = work[d.lambda + i];
        let compliance = work[d.compliance + k];
        let bare = work[d.sigma + i] - compliance * lambda;
        let y = (lambda - bare) / (one + compliance);
        let left = lambda - bounded(d, k, one, y);
        mine.square += left * left;
        let exact = lambda - bounded(d, k, rho, lambda - rho * work[d.sigma + i]);
        let scaled = abs(exact) * (one / rho - compliance);
        mine.scaled = island_worse(mine.scaled, select(real(0.0), scaled, real(0.0) < work[d.rho + i]));
    }
    return island_reduce(own, local, mine);
}

// Sigma follows a change of row i, the lanes over the rows.
fn push_row(d: Dense, local: u32, i: u32, change: real) {
    for (var j = local; j < d.n; j += ISLAND_WIDTH) {
        work[d.sigma + j] = fma(work[d.delassus + i * d.n + j], change, work[d.sigma + j]);
    }
}

// Every row, then every slot, solved exactly with the others held.
fn dense_sweep(d: Dense, local: u32) {
    for (var k = 0u; k < d.rows; k++) {
        let i = of_row(d, k);
        let lambda = work[d.lambda + i];
        let y = lambda - work[d.rho + i] * work[d.sigma + i];
        let next = select(lambda, bounded(d, k, work[d.rho + i], y), real(0.0) < work[d.rho + i]);
        storageBarrier();
        if local == 0u {
            work[d.lambda + i] = next;
        }
        push_row(d, local, i, next - lambda);
        storageBarrier();
    }
    for (var slot = 0u; slot < d.slots; slot++) {
        let r1 = of_slot(d, slot, 1u);
        let r2 = of_slot(d, slot, 2u);
        let block = Block(array<real, 6>(
            work[d.delassus + slot * d.n + slot],
            work[d.delassus + slot * d.n + r1],
            work[d.delassus + slot * d.n + r2],
            work[d.delassus + r1 * d.n + r1],
            work[d.delassus + r1 * d.n + r2],
            work[d.delassus + r2 * d.n + r2],
        ));
        let at = d.inverse + slot;
        let inverse = Block(array<real, 6>(
            work[at],
            work[at + d.slots],
            work[at + 2u * d.slots],
            work[at + 3u * d.slots],
            work[at + 4u * d.slots],
            work[at + 5u * d.slots],
        ));
        let lambda = load_slot(d, d.lambda, slot);
        let mu = work[d.friction + slot];
        let sigma = load_slot(d, d.sigma, slot);
        var solved: vec3<real>;
        if relaxes {
            solved = steps_solve(slot_caps(d, slot), mu, block, inverse, lambda, sigma);
        } else {
            solved = local_solve(mu, block, inverse, lambda, sigma);
        }
        let next = select(lambda, solved, real(0.0) < work[d.rho + slot]);
        let change = next - lambda;
        storageBarrier();
        if local == 0u {
            store_slot(d, d.lambda, slot, next);
        }
        push_row(d, local, slot, change.x);
        push_row(d, local, r1, change.y);
        push_row(d, local, r2, change.z);
        storageBarrier();
    }
}
