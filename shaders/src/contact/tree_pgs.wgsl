// Projected Gauss-Seidel for the exact contact problem of one tree, with a Newton polish between sweeps: a lane an
// invocation. See tree_pgs.rs.
#import index
#import contact/tree_layout
#import contact/local
#import contact/tree_polish

struct Dims {
    lanes: u32,
    n_v: u32,
    n_row: u32,
    sweeps: u32,
    tolerance: u32,
    polish: u32,
    spare_0: u32,
    spare_1: u32,
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

const FIRST_POLISH: u32 = 4u;
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
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        contacts += select(zero, one, zero < slot_trace(c) && zero <= constraint[c + SLOT_MU * TILE]);
        push_slot(c, load_lambda(s));
    }
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_AT_IMPULSE * TILE] != zero {
            push_row(r, row[r + ROW_AT_IMPULSE * TILE]);
        }
    }
    let per_contact = one / max(contacts, one);
    let tolerance = real(bitcast<f32>(dims.tolerance));
    let word = status[lane];
    var live = (word & STATUS_KEPT) == 0u;
    var error = zero;
    var sweeps = zero;
    var steps = zero;
    for (var k = 1u; live && k <= dims.sweeps; k++) {
        error = sqrt(sweep()) * per_contact;
        sweeps += one;
        live = !(error <= tolerance);
        let turn = k / FIRST_POLISH;
        if live && dims.polish > 0u && k % FIRST_POLISH == 0u && (turn & (turn - 1u)) == 0u {
            let polished = polish(lane, tolerance / per_contact);
            if polished.took_part {
                error = polished.error * per_contact;
                steps += polished.steps;
                live = !polished.done;
            }
        }
    }
    info[out + INFO_SWEEPS * TILE] = sweeps;
    info[out + INFO_POLISH * TILE] = steps;
    info[out + INFO_STOPPED_AT * TILE] = error;
    let converged = !live && (word & STATUS_KEPT) == 0u;
    let outcome = select(STATUS_ITERATION_LIMIT, STATUS_CONVERGED, converged);
    status[lane] = (word & ~(STATUS_CONVERGED | STATUS_ITERATION_LIMIT)) | outcome;
}
