// The modes of a lane's constraints, their unknowns and the factor of B, a workgroup a lane. See system.rs.
#import index
#import math
#import contact/tree_layout
#import contact/gradient/layout
#import contact/gradient/row
#import contact/gradient/modes
#import contact/gradient/eliminate
#import contact/gradient/check
#import dynamics/names.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> constraint: array<real>;
@group(0) @binding(3) var<storage, read> row: array<real>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> shift: array<real>;
@group(0) @binding(7) var<storage, read_write> system: array<real>;

const WIDTH: u32 = 32u;

// Functions that take `local` and call these hold barriers: they are called from uniform control flow.
var<workgroup> partial: array<real, WIDTH>;
var<workgroup> counts: array<u32, WIDTH>;
var<workgroup> total: u32;

fn group_max(local: u32, mine: real) -> real {
    partial[local] = mine;
    workgroupBarrier();
    for (var step = WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            partial[local] = max(partial[local], partial[local + step]);
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&partial[0]);
}

fn group_sum(local: u32, mine: real) -> real {
    partial[local] = mine;
    workgroupBarrier();
    for (var step = WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            partial[local] += partial[local + step];
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&partial[0]);
}

// First elements of a lane in the buffers; how many slots its tile has; where the parts of its system are.
struct Own {
    constraint: u32,
    row: u32,
    impulse: u32,
    velocity: u32,
    shift: u32,
    system: u32,
    slots: u32,
    at: System,
}

fn own_new(lane: u32) -> Own {
    let n = dims.n_v;
    let begin = tile_place(lane, PLACE_BEGIN);
    let slots = tile_place(lane, PLACE_COUNT);
    return Own(
        slot_base(lane, begin, 0u, slot_reals(n)),
        tile_base(lane, dims.n_row * row_stride(n, ROW_WIDTH)),
        slot_base(lane, begin, 0u, 3u),
        tile_base(lane, n),
        ragged_base(lane, PLACE_SHIFT),
        ragged_base(lane, PLACE_SYSTEM),
        slots,
        system_new(vec3<u32>(n, dims.n_input, dims.n_row), slots),
    );
}

// What is gathered by rows of the lane: J, `J A^-1` and ds.
const OF_JACOBIAN: u32 = 0u;
const OF_RESPONSE: u32 = 1u;
const OF_SHIFT: u32 = 2u;

// An entry of one of these, of three rows a slot. A contact has no ds by ctrl.
fn slot_entry(own: Own, what: u32, first: u32, column: u32) -> real {
    let n = dims.n_v;
    if what == OF_SHIFT {
        let at = own.shift + (first / 3u * slot_shift(n) + first % 3u * n + min(column, n - 1u)) * TILE;
        return select(real(0.0), shift[at], column < n);
    }
    let in_slot = SLOT_J + (first % 3u + select(0u, 3u, what == OF_RESPONSE)) * n + column;
    return constraint[own.constraint + (first / 3u * slot_reals(n) + in_slot) * TILE];
}

fn row_entry(own: Own, what: u32, r: u32, column: u32) -> real {
    let n = dims.n_v;
    let at = own.row + r * row_stride(n, ROW_WIDTH) * TILE;
    if what == OF_RESPONSE {
        return row[at + (row_head(ROW_WIDTH) + column) * TILE];
    }
    let moved = own.shift + (own.slots * slot_shift(n) + r * ROW_SHIFT_SIZE) * TILE;
    if column >= n {
        let control = n + u32(shift[moved + ROW_SHIFT_CONTROL * TILE]);
        return select(real(0.0), shift[moved + ROW_SHIFT_BY_CTRL * TILE], column == control);
    }
    var sum = real(0.0);
    for (var d = 0u; d < 3u; d++) {
        if row_dof(at, d) == column {
            if what == OF_SHIFT {
                sum += shift[moved + (ROW_SHIFT_BY_Q + d) * TILE];
            } else {
                sum += row[at + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
            }
        }
    }
    return sum;
}

// An entry of what an unknown's equation, or its direction, makes of one of these; `part`: where that stands in the
// list.
fn combined(own: Own, what: u32, u: u32, part: u32, column: u32) -> real {
    let at = unknown_at(own, u);
    let first = u32(system[at + UNKNOWN_FIRST * TILE]);
    var sum = real(0.0);
    for (var k = 0u; k < 3u; k++) {
        let weight = system[at + (part + k) * TILE];
        if weight != real(0.0) {
            if first < dims.n_row {
                sum = fma(row_entry(own, what, first, column), weight, sum);
            } else {
                sum = fma(slot_entry(own, what, first - dims.n_row + k, column), weight, sum);
            }
        }
    }
    return sum;
}

// L J and (A^-1 J^T R)^T by unknown.
fn gather_unknowns(own: Own, local: u32, m: u32) {
    let n = dims.n_v;
    for (var e = local; e < m * n; e += WIDTH) {
        let to = own.system + e * TILE;
        system[to + own.at.response * TILE] = combined(own, OF_JACOBIAN, e / n, UNKNOWN_EQUATION, e % n);
        system[to + own.at.push * TILE] = combined(own, OF_RESPONSE, e / n, UNKNOWN_DIRECTION, e % n);
    }
    storageBarrier();
}

// What goes in, in the order of the factor; the largest entries of `L J A^-1` and of `L ds`.
fn write_ordered(own: Own, local: u32, m: u32) -> vec2<real> {
    let n = dims.n_v;
    let width = n + dims.n_input;
    var largest = vec2<real>(real(0.0), real(0.0));
    for (var e = local; e < m * n; e += WIDTH) {
        let x = combined(own, OF_RESPONSE, u32(system[row_of(own, e / n)]), UNKNOWN_EQUATION, e % n);
        largest.x = max(largest.x, abs(x));
        system[own.system + (own.at.response + e) * TILE] = x;
    }
    for (var e = local; e < m * width; e += WIDTH) {
        let x = combined(own, OF_SHIFT, u32(system[row_of(own, e / width)]), UNKNOWN_EQUATION, e % width);
        largest.y = max(largest.y, abs(x));
        system[own.system + (own.at.shift + e) * TILE] = x;
    }
    return vec2<real>(group_max(local, largest.x), group_max(local, largest.y));
}

// The directions of the unknowns that have a pivot in the order of the factor's columns.
fn order_push(own: Own, local: u32, m: u32, rank: u32) {
    let n = dims.n_v;
    for (var e = local; e < m * n; e += WIDTH) {
        var push = real(0.0);
        if e / n < rank {
            push = combined(own, OF_RESPONSE, u32(system[column_of(own, e / n)]), UNKNOWN_DIRECTION, e % n);
        }
        system[own.system + (own.at.push + e) * TILE] = push;
    }
}

@compute @workgroup_size(WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = group_index(group);
    if lane >= dims.lanes {
        return;
    }
    let own = own_new(lane);
    let m = list_unknowns(own, local);
    if m == 0u {
        return;
    }
    gather_unknowns(own, local, m);
    let first = assemble(own, local, m);
    storageBarrier();
    let rank = eliminate(own, local, m, first);
    var left = real(0.0);
    if rank == m {
        left = residual(own, local, m);
    } else {
        left = freedom(own, local, m, rank);
    }
    storageBarrier();
    // Columns without a pivot.
    for (var e = local; e < m * (m - rank); e += WIDTH) {
        system[factor_at(own, e / (m - rank), rank + e % (m - rank))] = real(0.0);
    }
    var largest = vec2<real>(real(0.0), real(0.0));
    if dims.whole == 1u || rank < m {
        largest = write_ordered(own, local, m);
    }
    if dims.whole == 1u {
        order_push(own, local, m, rank);
    }
    if rank < m {
        storageBarrier();
        left = max(left, contradiction(own, local, m, rank, largest));
    }
    if local == 0u {
        system[own.system + VERDICT_RANK * TILE] = real(rank);
        system[own.system + VERDICT_LEFT * TILE] = left;
    }
}
