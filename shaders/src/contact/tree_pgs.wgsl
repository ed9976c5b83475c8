// The exact contact problem of one tree by Newton steps and sweeps, a lane an invocation. See tree_pgs.rs.
#import index
#import contact/tree_layout
#import contact/local
#import contact/dense

struct Dims {
    lanes: u32,
    n_v: u32,
    n_row: u32,
    sweeps: u32,
    tolerance: u32,
    rows: u32,
    newton: u32,
    begin: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> constraint: array<real>;
@group(0) @binding(3) var<storage, read_write> row: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> info: array<real>;
@group(0) @binding(7) var<storage, read_write> status: array<u32>;
@group(0) @binding(8) var<storage, read_write> work: array<real>;

// Sweeps of every lane before any is written out.
const FIRST: u32 = 4u;
const STATUS_CONVERGED: u32 = 1u;
const STATUS_ITERATION_LIMIT: u32 = 2u;
const STATUS_KEPT: u32 = 88u;

// Where this lane's slots, impulses, rows and velocity begin, and how many slots its tile has.
var<private> slot_first: u32;
var<private> impulse_first: u32;
var<private> row_first: u32;
var<private> velocity_first: u32;
var<private> slot_count: u32;

fn slot_address(s: u32) -> u32 {
    return slot_first + s * slot_reals(dims.n_v) * TILE;
}

fn row_address(k: u32) -> u32 {
    return row_first + k * row_stride(dims.n_v) * TILE;
}

fn load_lambda(s: u32) -> vec3<real> {
    let at = impulse_first + 3u * s * TILE;
    return vec3<real>(impulse[at], impulse[at + TILE], impulse[at + 2u * TILE]);
}

fn store_lambda(s: u32, lambda: vec3<real>) {
    let at = impulse_first + 3u * s * TILE;
    impulse[at] = lambda.x;
    impulse[at + TILE] = lambda.y;
    impulse[at + 2u * TILE] = lambda.z;
}

fn load_block(at: u32) -> Block {
    return Block(array<real, 6>(
        constraint[at],
        constraint[at + TILE],
        constraint[at + 2u * TILE],
        constraint[at + 3u * TILE],
        constraint[at + 4u * TILE],
        constraint[at + 5u * TILE],
    ));
}

fn slot_trace(c: u32) -> real {
    return constraint[c + SLOT_BLOCK * TILE] + constraint[c + (SLOT_BLOCK + 3u) * TILE]
        + constraint[c + (SLOT_BLOCK + 5u) * TILE];
}

// J v + e of a slot.
fn slot_velocity(c: u32) -> vec3<real> {
    let span = dims.n_v * TILE;
    var sigma = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var i = 0u; i < dims.n_v; i++) {
        let j = c + (SLOT_J + i) * TILE;
        let x = velocity[velocity_first + i * TILE];
        sigma.x = fma(constraint[j], x, sigma.x);
        sigma.y = fma(constraint[j + span], x, sigma.y);
        sigma.z = fma(constraint[j + 2u * span], x, sigma.z);
    }
    return sigma + vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
}

// v += Y^T x of a slot.
fn push_slot(c: u32, x: vec3<real>) {
    let span = dims.n_v * TILE;
    for (var i = 0u; i < dims.n_v; i++) {
        let y = c + (SLOT_J + 3u * dims.n_v + i) * TILE;
        let to = velocity_first + i * TILE;
        let first = fma(constraint[y], x.x, velocity[to]);
        velocity[to] = fma(constraint[y + 2u * span], x.z, fma(constraint[y + span], x.y, first));
    }
}

// J v + e of a row.
fn row_velocity(r: u32) -> real {
    var sigma = real(0.0);
    for (var k = 0u; k < 3u; k++) {
        let x = velocity[velocity_first + u32(row[r + (ROW_AT_DOF + k) * TILE]) * TILE];
        sigma = fma(row[r + (ROW_AT_COEFFICIENT + k) * TILE], x, sigma);
    }
    return sigma + row[r + ROW_AT_BIAS * TILE];
}

fn push_row(r: u32, x: real) {
    for (var i = 0u; i < dims.n_v; i++) {
        let to = velocity_first + i * TILE;
        velocity[to] = fma(row[r + (ROW_AT_Y + i) * TILE], x, velocity[to]);
    }
}

fn row_clamp(r: u32, x: real) -> real {
    return min(max(x, row[r + ROW_AT_LOWER * TILE]), row[r + ROW_AT_UPPER * TILE]);
}

// One sweep; the sum of squares of the natural residual as each row and slot was met.
fn sweep() -> real {
    let zero = real(0.0);
    let one = real(1.0);
    var square = zero;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_AT_ACTIVE * TILE] <= zero {
            continue;
        }
        let sigma = row_velocity(r);
        let lambda = row[r + ROW_AT_IMPULSE * TILE];
        let compliance = row[r + ROW_AT_COMPLIANCE * TILE];
        let left = lambda - row_clamp(r, (lambda - sigma) / (one + compliance));
        square += left * left;
        let moved = fma(compliance, lambda, sigma) / (row[r + ROW_AT_BLOCK * TILE] + compliance);
        let next = row_clamp(r, lambda - moved);
        if next != lambda {
            row[r + ROW_AT_IMPULSE * TILE] = next;
            push_row(r, next - lambda);
        }
    }
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        let mu = constraint[c + SLOT_MU * TILE];
        let sigma = slot_velocity(c);
        let now = load_lambda(s);
        let left = local_residual(mu, one, now, sigma);
        square += fma(left.x, left.x, fma(left.y, left.y, left.z * left.z));
        let g = load_block(c + SLOT_BLOCK * TILE);
        let next = local_solve(mu, g, load_block(c + SLOT_INVERSE * TILE), now, sigma);
        let change = next - now;
        if abs(change.x) + abs(change.y) + abs(change.z) != zero {
            store_lambda(s, next);
            push_slot(c, change);
        }
    }
    return square;
}

// v = v_free + Y lambda; v_free is what velocity holds.
fn start() {
    for (var s = 0u; s < slot_count; s++) {
        push_slot(slot_address(s), load_lambda(s));
    }
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_AT_IMPULSE * TILE] != real(0.0) {
            push_row(r, row[r + ROW_AT_IMPULSE * TILE]);
        }
    }
}

// Writes the problem of `slots` slots and this lane's active rows out; v is that of the warm start.
fn gather(slots: u32) {
    dense_clear();
    for (var s = 0u; s < slots; s++) {
        let c = slot_address(s);
        let trace = slot_trace(c);
        if trace <= real(0.0) {
            continue;
        }
        let rho = real(3.0) / trace;
        store_slot(lambda_first, s, load_lambda(s));
        store_slot(sigma_first, s, slot_velocity(c));
        store_slot(rho_first, s, vec3<real>(rho, rho, rho));
        work[friction_first + s * TILE] = constraint[c + SLOT_MU * TILE];
        for (var e = 0u; e < 6u; e++) {
            work[inverse_first + (e * dense_slots + s) * TILE] = constraint[c + (SLOT_INVERSE + e) * TILE];
        }
        for (var t = 0u; t < slots; t++) {
            gather_pair(s, t);
        }
    }
    var at = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_AT_ACTIVE * TILE] <= real(0.0) {
            continue;
        }
        let i = of_row(at) * TILE;
        let lambda = row[r + ROW_AT_IMPULSE * TILE];
        let compliance = row[r + ROW_AT_COMPLIANCE * TILE];
        work[lambda_first + i] = lambda;
        work[sigma_first + i] = fma(compliance, lambda, row_velocity(r));
        work[rho_first + i] = real(1.0) / (row[r + ROW_AT_BLOCK * TILE] + compliance);
        work[lower_first + at * TILE] = row[r + ROW_AT_LOWER * TILE];
        work[upper_first + at * TILE] = row[r + ROW_AT_UPPER * TILE];
        work[compliance_first + at * TILE] = compliance;
        for (var s = 0u; s < slots; s++) {
            gather_row_slot(r, of_row(at), s);
        }
        var other = 0u;
        for (var l = 0u; l < dims.n_row; l++) {
            let y = row_address(l);
            if row[y + ROW_AT_ACTIVE * TILE] <= real(0.0) {
                continue;
            }
            var g = real(0.0);
            for (var d = 0u; d < 3u; d++) {
                let dof = u32(row[r + (ROW_AT_DOF + d) * TILE]);
                g = fma(row[r + (ROW_AT_COEFFICIENT + d) * TILE], row[y + (ROW_AT_Y + dof) * TILE], g);
            }
            work[delassus_first + of_row(at) * dense_n * TILE + of_row(other) * TILE] = g;
            other++;
        }
        work[delassus_first + of_row(at) * dense_n * TILE + i] += compliance;
        at++;
    }
}

// G of slot s with slot t.
fn gather_pair(s: u32, t: u32) {
    let span = dims.n_v * TILE;
    let j_first = slot_address(s) + SLOT_J * TILE;
    let y_first = slot_address(t) + (SLOT_J + 3u * dims.n_v) * TILE;
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var g0 = zero;
    var g1 = zero;
    var g2 = zero;
    for (var d = 0u; d < dims.n_v; d++) {
        let j = j_first + d * TILE;
        let j0 = constraint[j];
        let j1 = constraint[j + span];
        let j2 = constraint[j + 2u * span];
        if j0 == real(0.0) && j1 == real(0.0) && j2 == real(0.0) {
            continue;
        }
        let at = y_first + d * TILE;
        let y = vec3<real>(constraint[at], constraint[at + span], constraint[at + 2u * span]);
        g0 = fma(vec3<real>(j0, j0, j0), y, g0);
        g1 = fma(vec3<real>(j1, j1, j1), y, g1);
        g2 = fma(vec3<real>(j2, j2, j2), y, g2);
    }
    let rows = dense_slots * dense_n * TILE;
    let at = delassus_first + s * dense_n * TILE;
    store_slot(at, t, g0);
    store_slot(at + rows, t, g1);
    store_slot(at + 2u * rows, t, g2);
}

// G of row number i with slot s, and its mirror image: G is symmetric.
fn gather_row_slot(r: u32, i: u32, s: u32) {
    let span = dims.n_v * TILE;
    let y_first = slot_address(s) + (SLOT_J + 3u * dims.n_v) * TILE;
    var g = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var d = 0u; d < 3u; d++) {
        let y = y_first + u32(row[r + (ROW_AT_DOF + d) * TILE]) * TILE;
        let j = row[r + (ROW_AT_COEFFICIENT + d) * TILE];
        let response = vec3<real>(constraint[y], constraint[y + span], constraint[y + 2u * span]);
        g = fma(vec3<real>(j, j, j), response, g);
    }
    store_slot(delassus_first + i * dense_n * TILE, s, g);
    let column = delassus_first + i * TILE;
    let step = dense_n * TILE;
    work[column + of_slot(s, 0u) * step] = g.x;
    work[column + of_slot(s, 1u) * step] = g.y;
    work[column + of_slot(s, 2u) * step] = g.z;
}

// Puts the impulses back.
fn scatter(slots: u32) {
    for (var s = 0u; s < slots; s++) {
        if real(0.0) < slot_trace(slot_address(s)) {
            store_lambda(s, load_slot(lambda_first, s));
        }
    }
    var at = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if real(0.0) < row[r + ROW_AT_ACTIVE * TILE] {
            row[r + ROW_AT_IMPULSE * TILE] = work[lambda_first + of_row(at) * TILE];
            at++;
        }
    }
}

// A sweep on the velocity, unless one has met the tolerance.
fn velocity_round(enough: real) {
    if real(0.0) < work[state_first + STATE_DONE * TILE] {
        return;
    }
    let error = sqrt(sweep());
    work[state_first + STATE_ERROR * TILE] = error;
    work[state_first + STATE_DONE * TILE] = select(real(0.0), real(1.0), error <= enough);
    work[state_first + STATE_SWEEPS * TILE] += real(1.0);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let zero = real(0.0);
    let one = real(1.0);
    let tile = lane / TILE * SLOTS;
    slot_count = slots[tile + 1u];
    slot_first = slot_base(lane, slots[tile], 0u, slot_reals(dims.n_v));
    impulse_first = slot_base(lane, slots[tile], 0u, 3u);
    row_first = tile_base(lane, dims.n_row * row_stride(dims.n_v));
    velocity_first = tile_base(lane, dims.n_v);
    let out = tile_base(lane, INFO_SIZE + dims.n_v);

    var contacts = zero;
    var n_slot = 0u;
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        if zero < slot_trace(c) {
            contacts += select(zero, one, zero <= constraint[c + SLOT_MU * TILE]);
            n_slot = s + 1u;
        }
    }
    var n_row = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        n_row += select(0u, 1u, zero < row[row_address(k) + ROW_AT_ACTIVE * TILE]);
    }
    // v_free stands before the problem.
    let free = tile_base(lane, dims.n_v + dense_reals(dims.rows));
    dense_place(free + dims.n_v * TILE, n_slot, n_row);
    let large = dense_n > dims.rows;
    let running = (status[lane] & STATUS_KEPT) == 0u;
    let enough = real(bitcast<f32>(dims.tolerance)) * max(contacts, one);

    if dims.begin == 0u {
        for (var i = 0u; i < STATE_SIZE; i++) {
            work[state_first + i * TILE] = zero;
        }
        work[state_first + STATE_PROXIMAL * TILE] = PROXIMAL;
        for (var i = 0u; i < dims.n_v; i++) {
            work[free + i * TILE] = velocity[velocity_first + i * TILE];
        }
        start();
        for (var k = 0u; running && k < min(FIRST, dims.sweeps); k++) {
            velocity_round(enough);
        }
        if running && !large && work[state_first + STATE_DONE * TILE] == zero {
            gather(n_slot);
            dense_measure(enough);
            work[state_first + STATE_WRITTEN * TILE] = one;
        }
    }
    for (var round = dims.begin; round < dims.end; round++) {
        if !running || zero < work[state_first + STATE_DONE * TILE] {
            break;
        }
        if large {
            velocity_round(enough);
        } else {
            dense_round(dims.newton > 0u, round, enough);
        }
    }
    if dims.end < dims.sweeps {
        return;
    }
    if running {
        info[out + INFO_SWEEPS * TILE] = work[state_first + STATE_SWEEPS * TILE];
        info[out + INFO_NEWTON * TILE] = work[state_first + STATE_STEPS * TILE];
        info[out + INFO_STOPPED_AT * TILE] = work[state_first + STATE_ERROR * TILE] / max(contacts, one);
    }
    if zero < work[state_first + STATE_WRITTEN * TILE] {
        scatter(n_slot);
    }
    if !large {
        for (var i = 0u; i < dims.n_v; i++) {
            velocity[velocity_first + i * TILE] = work[free + i * TILE];
        }
        start();
    }
    let converged = running && zero < work[state_first + STATE_DONE * TILE];
    let outcome = select(STATUS_ITERATION_LIMIT, STATUS_CONVERGED, converged);
    status[lane] = (status[lane] & ~(STATUS_CONVERGED | STATUS_ITERATION_LIMIT)) | outcome;
}
