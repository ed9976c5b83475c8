// The contact problem of one island or lane with its Delassus operator written out, by a workgroup: the twin of dense.rs. The
// importing kernel imports contact/local, contact/globalise and contact/steps, has a buffer `work` of reals, and says by
// GROUP_WIDTH how many invocations its workgroup has, by MOST_ROWS how many rows a problem has at most, by NEAR_BYTES how much
// workgroup memory the matrix of a step may take. Functions that take `local` hold barriers: they are called from uniform
// control flow.
//
// What rounds read and write again and again is held in workgroup memory: impulses, velocities, the step, and the matrix of the
// step where it fits. The operator and the laws are read from `work`, by neighbours side by side.
#import contact/group.rs
#import contact/dense_group_rounds
#import contact/dense_group_step

// What outlives a dispatch stands before the problem: proximal weight, merits, Newton steps, `s` of centred steps, rounds about
// the present centre.
const DENSE_PROXIMAL: u32 = 0u;
const DENSE_MERITS: u32 = 1u;
const DENSE_STEPS: u32 = 9u;
const DENSE_STRETCH: u32 = 10u;
const DENSE_INNER: u32 = 11u;
const DENSE_SIZE: u32 = 16u;

// Slots, single rows, all rows; where the state and the arrays begin in work.
struct Dense {
    slots: u32,
    rows: u32,
    n: u32,
    state: u32,
    delassus: u32,
    matrix: u32,
    lambda: u32,
    sigma: u32,
    centre: u32,
    rho: u32,
    // What the rows ask for, where requests give way.
    request: u32,
    friction: u32,
    inverse: u32,
    lower: u32,
    upper: u32,
    compliance: u32,
    // Where requests give way: caps of slots and rows.
    cap: u32,
}

// Where the vectors of a problem begin in `held`.
const LAMBDA: u32 = 0u;
override SIGMA: u32 = MOST_ROWS;
override CENTRE: u32 = 2u * MOST_ROWS;
override STEP: u32 = 3u * MOST_ROWS;
override SLOPE: u32 = 4u * MOST_ROWS;
// By the places of the live rows.
override RHS: u32 = 5u * MOST_ROWS;
// Named: naga 30 takes no array whose length is an expression before another overridable constant.
override HELD: u32 = 6u * MOST_ROWS;
var<workgroup> held: array<real, HELD>;

// Columns of a group.
const GROUP: u32 = 4u;
// The matrix of a step by rows of groups, where it fits.
const NEAR: u32 = NEAR_BYTES / (GROUP * REAL_BYTES);
var<workgroup> near: array<vec4<real>, NEAR>;

// Rows that a step can change: first tangents of slots, second tangents, normals, single rows. How many slots and rows they are.
var<workgroup> live: array<u32, MOST_ROWS>;
var<workgroup> live_slots: u32;
var<workgroup> live_count: u32;

var<workgroup> partial: array<real, GROUP_WIDTH>;

// Where the matrix begins in work unless it is near, and the distance of its rows in groups.
var<private> matrix_is_near: bool;
var<private> matrix_first: u32;
var<private> matrix_span: u32;
// Whether requests give way.
var<private> relaxes: bool;
// `s` of a centred step; zero for one on the natural map.
var<private> stretch: real;

// Finds the arrays of a problem whose memory begins at `first`.
fn dense_place(first: u32, slots: u32, rows: u32) -> Dense {
    let n = 3u * slots + rows;
    let delassus = first + DENSE_SIZE;
    let matrix = delassus + n * n;
    let lambda = matrix + GROUP * n * matrix_row(n);
    let friction = lambda + 5u * n;
    let lower = friction + 7u * slots;
    return Dense(
        slots, rows, n, first, delassus, matrix, lambda, lambda + n, lambda + 2u * n, lambda + 3u * n, lambda + 4u * n, friction,
        friction + slots, lower, lower + rows, lower + 2u * rows, lower + 3u * rows,
    );
}

// Distance of rows of a matrix of n rows, in groups: an odd one, for memory has an even number of banks.
fn matrix_row(n: u32) -> u32 {
    return (n + GROUP - 1u) / GROUP | 1u;
}

fn of_slot(d: Dense, slot: u32, r: u32) -> u32 {
    return r * d.slots + slot;
}

fn of_row(d: Dense, row: u32) -> u32 {
    return 3u * d.slots + row;
}

// Three rows of a slot in a vector.
fn held_slot(d: Dense, first: u32, slot: u32) -> vec3<real> {
    let at = first + slot;
    return vec3<real>(held[at], held[at + d.slots], held[at + 2u * d.slots]);
}

// The same in work.
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

// Four entries of a row of the matrix of a step; `at`: their group, from the matrix's beginning.
fn entries(at: u32) -> vec4<real> {
    if matrix_is_near {
        return near[at];
    }
    let first = matrix_first + GROUP * at;
    return vec4<real>(work[first], work[first + 1u], work[first + 2u], work[first + 3u]);
}

fn set_entries(at: u32, x: vec4<real>) {
    if matrix_is_near {
        near[at] = x;
        return;
    }
    let first = matrix_first + GROUP * at;
    for (var j = 0u; j < GROUP; j++) {
        work[first + j] = x[j];
    }
}

// Sets the entry in some column of the row that begins at group `row`.
fn set_entry(row: u32, column: u32, x: real) {
    if matrix_is_near {
        near[row + column / GROUP][column % GROUP] = x;
    } else {
        work[matrix_first + GROUP * row + column] = x;
    }
}

// Every lane has seen what the others did to the matrix.
fn meet() {
    workgroupBarrier();
    if !matrix_is_near {
        storageBarrier();
    }
}

// Step of a row, `s rho` of a centred one.
fn rho_of(rho: real) -> real {
    return select(rho, stretch * rho, real(0.0) < stretch);
}

// What row i is mapped from when it carries `lambda`, without its velocity.
fn origin(d: Dense, i: u32, lambda: real) -> real {
    if real(0.0) < stretch {
        return held[CENTRE + i];
    }
    return lambda;
}

// What is left of a slot by the map of the step.
fn slot_left(d: Dense, slot: u32, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let rho = rho_of(work[d.rho + slot]);
    if stretch == real(0.0) {
        return slot_residual(d, slot, rho, lambda, sigma);
    }
    return lambda - slot_mapped(d, slot, rho, held_slot(d, CENTRE, slot) - rho * sigma);
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

// A zero problem but for its operator.
fn dense_clear(d: Dense, local: u32) {
    for (var i = d.state + local; i < d.delassus; i += GROUP_WIDTH) {
        work[i] = real(0.0);
    }
    for (var i = d.lambda + local; i < d.cap + d.slots + d.rows; i += GROUP_WIDTH) {
        work[i] = real(0.0);
    }
    storageBarrier();
    if local == 0u {
        work[d.state + DENSE_PROXIMAL] = first_proximal();
        work[d.state + DENSE_STRETCH] = STRETCH;
    }
    storageBarrier();
}

// Takes up what the dispatch before left.
fn dense_load(d: Dense, local: u32) {
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[LAMBDA + i] = work[d.lambda + i];
        held[SIGMA + i] = work[d.sigma + i];
        held[CENTRE + i] = work[d.centre + i];
    }
    workgroupBarrier();
}

// Leaves it to the next one.
fn dense_save(d: Dense, local: u32) {
    workgroupBarrier();
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        work[d.lambda + i] = held[LAMBDA + i];
        work[d.sigma + i] = held[SIGMA + i];
        work[d.centre + i] = held[CENTRE + i];
    }
}

// Sum over the lanes, in a fixed order.
fn group_sum(local: u32, mine: real) -> real {
    workgroupBarrier();
    partial[local] = mine;
    workgroupBarrier();
    for (var step = GROUP_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            partial[local] += partial[local + step];
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&partial[0]);
}

// What the first lane has, for all of them.
fn of_first(local: u32, mine: real) -> real {
    workgroupBarrier();
    if local == 0u {
        partial[0] = mine;
    }
    workgroupBarrier();
    return workgroupUniformLoad(&partial[0]);
}

// The step from here, and its response.
fn newton_step(d: Dense, local: u32, proximal: real) {
    linearise(d, local, proximal);
    eliminate(local);
    respond(d, local);
}

// Change of sigma with the whole step, the lanes over the rows.
fn respond(d: Dense, local: u32) {
    let count = workgroupUniformLoad(&live_count);
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        var sum = real(0.0);
        for (var at = 0u; at < count; at++) {
            let row = live[at];
            sum = fma(work[d.delassus + row * d.n + i], held[STEP + row], sum);
        }
        held[SLOPE + i] = sum;
    }
    workgroupBarrier();
}

// Sum of squares of what the map of the step leaves over its rho, J, a share of the step on.
fn merit_at(d: Dense, local: u32, share: real) -> real {
    var sum = real(0.0);
    for (var slot = local; slot < d.slots; slot += GROUP_WIDTH) {
        let lambda = held_slot(d, LAMBDA, slot) + share * held_slot(d, STEP, slot);
        let sigma = held_slot(d, SIGMA, slot) + share * held_slot(d, SLOPE, slot);
        let r = slot_left(d, slot, lambda, sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)) / some(rho_of(work[d.rho + slot]));
    }
    for (var k = local; k < d.rows; k += GROUP_WIDTH) {
        let i = of_row(d, k);
        let rho = rho_of(work[d.rho + i]);
        let lambda = fma(held[STEP + i], share, held[LAMBDA + i]);
        let sigma = fma(held[SLOPE + i], share, held[SIGMA + i]);
        let left = lambda - bounded(d, k, rho, origin(d, i, lambda) - rho * sigma);
        sum += left * left / some(rho);
    }
    return group_sum(local, sum);
}

// Natural residual of a single row; sigma with its compliance.
fn row_left(d: Dense, k: u32, lambda: real, sigma: real) -> real {
    let compliance = work[d.compliance + k];
    let y = (lambda - (sigma - compliance * lambda)) / (real(1.0) + compliance);
    return lambda - bounded(d, k, real(1.0), y);
}

// Sum of squares of the natural residual, (N s)^2.
fn natural(d: Dense, local: u32) -> real {
    var sum = real(0.0);
    for (var slot = local; slot < d.slots; slot += GROUP_WIDTH) {
        let r = slot_residual(d, slot, real(1.0), held_slot(d, LAMBDA, slot), held_slot(d, SIGMA, slot));
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
    }
    for (var k = local; k < d.rows; k += GROUP_WIDTH) {
        let i = of_row(d, k);
        let left = row_left(d, k, held[LAMBDA + i], held[SIGMA + i]);
        sum += left * left;
    }
    return group_sum(local, sum);
}

// Sigma of the impulses: adds what they give to `J v + e` without any.
fn dense_start(d: Dense, local: u32) {
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        var sum = held[SIGMA + i];
        for (var k = 0u; k < d.n; k++) {
            sum = fma(work[d.delassus + k * d.n + i], held[LAMBDA + k], sum);
        }
        held[SIGMA + i] = sum;
    }
    workgroupBarrier();
}

// Sigma follows a change of row i, the lanes over the rows.
fn push_row(d: Dense, local: u32, i: u32, change: real) {
    for (var j = local; j < d.n; j += GROUP_WIDTH) {
        held[SIGMA + j] = fma(work[d.delassus + i * d.n + j], change, held[SIGMA + j]);
    }
}

// Every row, then every slot, solved exactly with the others held; the sum of squares of the natural residual as each was met.
fn dense_sweep(d: Dense, local: u32) -> real {
    var square = real(0.0);
    for (var k = 0u; k < d.rows; k++) {
        let i = of_row(d, k);
        let rho = work[d.rho + i];
        let lambda = held[LAMBDA + i];
        let sigma = held[SIGMA + i];
        let left = select(real(0.0), row_left(d, k, lambda, sigma), real(0.0) < rho);
        square += left * left;
        let next = select(lambda, bounded(d, k, rho, lambda - rho * sigma), real(0.0) < rho);
        workgroupBarrier();
        if local == 0u {
            held[LAMBDA + i] = next;
        }
        push_row(d, local, i, next - lambda);
        workgroupBarrier();
    }
    for (var slot = 0u; slot < d.slots; slot++) {
        square += sweep_slot(d, local, slot);
    }
    return square;
}

// A slot of a sweep; the square of its natural residual.
fn sweep_slot(d: Dense, local: u32, slot: u32) -> real {
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
    let lambda = held_slot(d, LAMBDA, slot);
    let sigma = held_slot(d, SIGMA, slot);
    let mu = work[d.friction + slot];
    let acts = real(0.0) < work[d.rho + slot];
    let r = slot_residual(d, slot, real(1.0), lambda, sigma);
    var steps = Steps(UNBOUNDED, vec3<real>(real(0.0), real(0.0), real(0.0)));
    if relaxes {
        steps = slot_caps(d, slot);
    }
    let next = select(lambda, steps_solve(steps, mu, block, inverse, lambda, sigma), acts);
    let change = next - lambda;
    workgroupBarrier();
    if local == 0u {
        held[LAMBDA + slot] = next.x;
        held[LAMBDA + r1] = next.y;
        held[LAMBDA + r2] = next.z;
    }
    push_row(d, local, slot, change.x);
    push_row(d, local, r1, change.y);
    push_row(d, local, r2, change.z);
    workgroupBarrier();
    return select(real(0.0), fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)), acts);
}
