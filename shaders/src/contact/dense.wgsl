// The contact problem of one island with its Delassus operator written out: the twin of dense.rs, imported by a kernel that
// has a buffer `work` of groups of four numbers. Rows are numbered as in dense.rs but without gaps: the first tangents of
// all slots, the second tangents, the normals, the single rows; what pads the last group is a row without a law.
//
// Loads and stores cost more than the arithmetic on what they bring, so everything goes by groups of four columns, and
// elimination by blocks of four rows and four columns, each of which is loaded and stored once. Numbers see the same
// operations in the same order as in dense.rs.
#import contact/group.rs
#import contact/dense_rounds
#import contact/dense_step

// Rows of a group.
const GROUP: u32 = 4u;

// What outlives a dispatch stands before the problem, in groups: the merits of the last steps, in two groups;
const DENSE_MERITS: u32 = 0u;
// proximal weight, error, Newton steps, sweeps;
const DENSE_PROGRESS: u32 = 2u;
// slots, single rows, rounds after the first sweeps, stage;
const DENSE_SIZE: u32 = 3u;
// the error at which it is done, contacts, `s` of centred steps, rounds about the present centre.
const DENSE_AIM: u32 = 4u;
const DENSE_GROUPS: u32 = 5u;

// Slots, single rows with those that pad, all rows, and groups of these.
var<private> dense_slots: u32;
var<private> dense_rows: u32;
var<private> dense_n: u32;
var<private> dense_groups: u32;
// Distance of rows of a matrix.
var<private> dense_span: u32;
// Where the lane's state and the arrays begin in work.
var<private> state_first: u32;
var<private> delassus_first: u32;
var<private> matrix_first: u32;
var<private> lambda_first: u32;
var<private> sigma_first: u32;
var<private> step_first: u32;
var<private> slope_first: u32;
var<private> rhs_first: u32;
var<private> centre_first: u32;
// Three groups a slot: inverse of its block (six numbers), friction, rho; where requests give way cap and requests.
var<private> slot_law_first: u32;
// Two groups a single row: lower, upper, compliance, rho; where requests give way cap and request.
var<private> row_law_first: u32;
// Whether requests give way.
var<private> relaxes: bool;
// `s` of a centred step; zero for one on the natural map.
var<private> stretch: real;
// Rows that a step can change, how many they and their slots are, their groups, and the distance of rows of their matrix.
var<private> live: array<u32, DEVICE_ROWS>;
var<private> live_count: u32;
var<private> live_slots: u32;
var<private> live_groups: u32;
var<private> live_span: u32;
// Factors of each of four rows, by group of pivots; and a vector by groups: the step, or sigma during a sweep. Several short arrays:
// see dynamics/small.wgsl.
var<private> factors_a: array<vec4<real>, DEVICE_ROWS / GROUP>;
var<private> factors_b: array<vec4<real>, DEVICE_ROWS / GROUP>;
var<private> factors_c: array<vec4<real>, DEVICE_ROWS / GROUP>;
var<private> factors_d: array<vec4<real>, DEVICE_ROWS / GROUP>;
var<private> solved: array<vec4<real>, DEVICE_ROWS / GROUP>;

struct Four {
    a: vec4<real>,
    b: vec4<real>,
    c: vec4<real>,
    d: vec4<real>,
}

struct SlotLaw {
    inverse: Block,
    mu: real,
    rho: real,
}

fn padded(count: u32) -> u32 {
    return (count + GROUP - 1u) / GROUP * GROUP;
}

// Groups of the memory of a problem of that many rows at most, a multiple of eight, its state included.
fn dense_memory(most: u32) -> u32 {
    return work_reals(most) / GROUP;
}

// Finds the arrays of a problem whose memory begins at `first`.
fn dense_place(first: u32, slots: u32, rows: u32) {
    dense_slots = slots;
    dense_n = padded(3u * slots + rows);
    dense_rows = dense_n - 3u * slots;
    dense_groups = dense_n / GROUP;
    dense_span = dense_groups * TILE;
    state_first = first;
    delassus_first = first + DENSE_GROUPS * TILE;
    matrix_first = delassus_first + dense_n * dense_span;
    lambda_first = matrix_first + dense_n * dense_span;
    sigma_first = lambda_first + dense_span;
    step_first = sigma_first + dense_span;
    slope_first = step_first + dense_span;
    rhs_first = slope_first + dense_span;
    centre_first = rhs_first + dense_span;
    slot_law_first = centre_first + dense_span;
    row_law_first = slot_law_first + 3u * dense_slots * TILE;
}

fn of_slot(slot: u32, r: u32) -> u32 {
    return r * dense_slots + slot;
}

fn of_row(row: u32) -> u32 {
    return 3u * dense_slots + row;
}

fn load(first: u32, i: u32) -> real {
    return work[first + i / GROUP * TILE][i % GROUP];
}

fn store(first: u32, i: u32, x: real) {
    work[first + i / GROUP * TILE][i % GROUP] = x;
}

fn load_slot(first: u32, slot: u32) -> vec3<real> {
    return vec3<real>(load(first, slot), load(first, of_slot(slot, 1u)), load(first, of_slot(slot, 2u)));
}

fn store_slot(first: u32, slot: u32, x: vec3<real>) {
    store(first, slot, x.x);
    store(first, of_slot(slot, 1u), x.y);
    store(first, of_slot(slot, 2u), x.z);
}

fn slot_law(slot: u32) -> SlotLaw {
    let a = work[slot_law_first + 3u * slot * TILE];
    let b = work[slot_law_first + (3u * slot + 1u) * TILE];
    return SlotLaw(Block(array<real, 6>(a.x, a.y, a.z, a.w, b.x, b.y)), b.z, b.w);
}

// Friction and rho of a slot.
fn slot_steps(slot: u32) -> vec2<real> {
    return work[slot_law_first + (3u * slot + 1u) * TILE].zw;
}

// Cap and requests of a slot.
fn slot_caps(slot: u32) -> Steps {
    let x = work[slot_law_first + (3u * slot + 2u) * TILE];
    return Steps(x.x, x.yzw);
}

fn row_law(row: u32) -> vec4<real> {
    return work[row_law_first + 2u * row * TILE];
}

// Cap and request of a single row.
fn row_caps(row: u32) -> vec2<real> {
    return work[row_law_first + (2u * row + 1u) * TILE].xy;
}

// Step of a row, `s rho` of a centred one.
fn rho_of(rho: real) -> real {
    return select(rho, stretch * rho, real(0.0) < stretch);
}

// What row i is mapped from when it carries `lambda`, without its velocity.
fn origin(i: u32, lambda: real) -> real {
    if real(0.0) < stretch {
        return load(centre_first, i);
    }
    return lambda;
}

// The same of a slot.
fn slot_origin(slot: u32, lambda: vec3<real>) -> vec3<real> {
    if real(0.0) < stretch {
        return load_slot(centre_first, slot);
    }
    return lambda;
}

// What is left of a slot by the map of the step; `law`: its friction and rho.
fn slot_left(slot: u32, law: vec2<real>, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    let rho = rho_of(law.y);
    if stretch == real(0.0) {
        return slot_residual(slot, law.x, rho, lambda, sigma);
    }
    return lambda - slot_mapped(slot, law.x, rho, load_slot(centre_first, slot) - rho * sigma);
}

// A slot at y, mapped with the step rho.
fn slot_mapped(slot: u32, mu: real, rho: real, y: vec3<real>) -> vec3<real> {
    if relaxes {
        return steps_project(slot_caps(slot), mu, rho, y);
    }
    return local_project(mu, y);
}

// The natural residual of a slot.
fn slot_residual(slot: u32, mu: real, step: real, lambda: vec3<real>, sigma: vec3<real>) -> vec3<real> {
    if relaxes {
        return steps_residual(slot_caps(slot), mu, step, lambda, sigma);
    }
    return local_residual(mu, step, lambda, sigma);
}

// A single row at y, mapped with the step rho.
fn bounded(k: u32, law: vec4<real>, rho: real, y_in: real) -> real {
    var y = y_in;
    if relaxes {
        let steps = row_caps(k);
        y = steps_climb(steps.x, steps.y, rho, y);
    }
    return min(max(y, law.x), law.y);
}

// A group of four rows of a matrix; `first`: that of the first row, `span`: their distance.
fn load_four(first: u32, span: u32) -> Four {
    return Four(work[first], work[first + span], work[first + 2u * span], work[first + 3u * span]);
}

fn store_four(first: u32, span: u32, x: Four) {
    work[first] = x.a;
    work[first + span] = x.b;
    work[first + 2u * span] = x.c;
    work[first + 3u * span] = x.d;
}

fn all_of(x: real) -> vec4<real> {
    return vec4<real>(x, x, x, x);
}

// to + f m, pivots in order.
fn add_rows(f: vec4<real>, m: Four, to: vec4<real>) -> vec4<real> {
    return fma(all_of(f.w), m.d, fma(all_of(f.z), m.c, fma(all_of(f.y), m.b, fma(all_of(f.x), m.a, to))));
}

fn dots(m: Four, x: vec4<real>, to: vec4<real>) -> vec4<real> {
    return fma(
        vec4<real>(m.a.w, m.b.w, m.c.w, m.d.w),
        all_of(x.w),
        fma(
            vec4<real>(m.a.z, m.b.z, m.c.z, m.d.z),
            all_of(x.z),
            fma(
                vec4<real>(m.a.y, m.b.y, m.c.y, m.d.y),
                all_of(x.y),
                fma(vec4<real>(m.a.x, m.b.x, m.c.x, m.d.x), all_of(x.x), to),
            ),
        ),
    );
}

// G times what `solved` holds, four rows from row 4 q on.
fn respond(q: u32, to: vec4<real>) -> vec4<real> {
    var sum = to;
    let first = delassus_first + GROUP * q * dense_span;
    for (var j = 0u; j < dense_groups; j++) {
        sum = dots(load_four(first + j * TILE, dense_span), solved[j], sum);
    }
    return sum;
}

// sigma holds J v + e without any impulse: adds that of the impulses.
fn dense_start() {
    for (var j = 0u; j < dense_groups; j++) {
        solved[j] = work[lambda_first + j * TILE];
    }
    for (var q = 0u; q < dense_groups; q++) {
        work[sigma_first + q * TILE] = respond(q, work[sigma_first + q * TILE]);
    }
}

// The step from here, and its response; returns the merit here.
fn newton_step(proximal: real) {
    linearise(proximal);
    eliminate();
    let zero = all_of(real(0.0));
    for (var q = 0u; q < dense_groups; q++) {
        work[step_first + q * TILE] = zero;
    }
    for (var at = 0u; at < live_count; at++) {
        store(step_first, live[at], solved[at / GROUP][at % GROUP]);
    }
    for (var q = 0u; q < dense_groups; q++) {
        solved[q] = work[step_first + q * TILE];
    }
    for (var q = 0u; q < dense_groups; q++) {
        work[slope_first + q * TILE] = respond(q, zero);
    }
}

// Sum of squares of what the map of the step leaves over its rho, J, a share of the step on.
fn merit(share: real) -> real {
    var sum = real(0.0);
    for (var slot = 0u; slot < dense_slots; slot++) {
        let law = slot_steps(slot);
        let lambda = load_slot(lambda_first, slot) + share * load_slot(step_first, slot);
        let sigma = load_slot(sigma_first, slot) + share * load_slot(slope_first, slot);
        let r = slot_left(slot, law, lambda, sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)) / some(rho_of(law.y));
    }
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k);
        let law = row_law(k);
        let lambda = fma(load(step_first, i), share, load(lambda_first, i));
        let sigma = fma(load(slope_first, i), share, load(sigma_first, i));
        let rho = rho_of(law.w);
        let left = lambda - bounded(k, law, rho, origin(i, lambda) - rho * sigma);
        sum += left * left / some(rho);
    }
    return sum;
}

// Sum of squares of the natural residual, (N s)^2.
fn natural() -> real {
    var sum = real(0.0);
    for (var slot = 0u; slot < dense_slots; slot++) {
        let lambda = load_slot(lambda_first, slot);
        let r = slot_residual(slot, slot_steps(slot).x, real(1.0), lambda, load_slot(sigma_first, slot));
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
    }
    for (var k = 0u; k < dense_rows; k++) {
        let left = row_residual(k, row_law(k), load(lambda_first, of_row(k)), load(sigma_first, of_row(k)));
        sum += left * left;
    }
    return sum;
}

// Natural residual of a single row; sigma with its compliance.
fn row_residual(k: u32, law: vec4<real>, lambda: real, sigma: real) -> real {
    let y = (lambda - (sigma - law.z * lambda)) / (real(1.0) + law.z);
    return lambda - bounded(k, law, real(1.0), y);
}

// Every row, then every slot, solved exactly with the others held; the sum of squares of the natural residual as each was
// met.
fn dense_sweep() -> real {
    let zero = real(0.0);
    var square = zero;
    // sigma, while it changes.
    for (var j = 0u; j < dense_groups; j++) {
        solved[j] = work[sigma_first + j * TILE];
    }
    for (var k = 0u; k < dense_rows; k++) {
        let law = row_law(k);
        if law.w <= zero {
            continue;
        }
        let i = of_row(k);
        let lambda = load(lambda_first, i);
        let sigma = solved[i / GROUP][i % GROUP];
        let left = row_residual(k, law, lambda, sigma);
        square += left * left;
        let next = bounded(k, law, law.w, lambda - law.w * sigma);
        if next != lambda {
            store(lambda_first, i, next);
            let d = all_of(next - lambda);
            let g = delassus_first + i * dense_span;
            for (var j = 0u; j < dense_groups; j++) {
                solved[j] = fma(work[g + j * TILE], d, solved[j]);
            }
        }
    }
    for (var slot = 0u; slot < dense_slots; slot++) {
        let law = slot_law(slot);
        if law.rho <= zero {
            continue;
        }
        let span = dense_slots * dense_span;
        let g = delassus_first + slot * dense_span;
        let c1 = of_slot(slot, 1u);
        let c2 = of_slot(slot, 2u);
        let block = Block(array<real, 6>(
            load(g, slot),
            load(g, c1),
            load(g, c2),
            load(g + span, c1),
            load(g + span, c2),
            load(g + 2u * span, c2),
        ));
        let lambda = load_slot(lambda_first, slot);
        let sigma = vec3<real>(
            solved[slot / GROUP][slot % GROUP],
            solved[c1 / GROUP][c1 % GROUP],
            solved[c2 / GROUP][c2 % GROUP],
        );
        let r = slot_residual(slot, law.mu, real(1.0), lambda, sigma);
        square += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
        var steps = Steps(UNBOUNDED, vec3<real>(zero, zero, zero));
        if relaxes {
            steps = slot_caps(slot);
        }
        let next = steps_solve(steps, law.mu, block, law.inverse, lambda, sigma);
        let d = next - lambda;
        if abs(d.x) + abs(d.y) + abs(d.z) == zero {
            continue;
        }
        store_slot(lambda_first, slot, next);
        for (var j = 0u; j < dense_groups; j++) {
            let at = j * TILE;
            let second = fma(work[g + span + at], all_of(d.y), fma(work[g + at], all_of(d.x), solved[j]));
            solved[j] = fma(work[g + 2u * span + at], all_of(d.z), second);
        }
    }
    for (var j = 0u; j < dense_groups; j++) {
        work[sigma_first + j * TILE] = solved[j];
    }
    return square;
}
