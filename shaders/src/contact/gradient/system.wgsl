// The modes of a lane's constraints, their unknowns and the factor of B, a workgroup a lane. See system.rs.
#import index
#import math
#import contact/tree_layout
#import contact/gradient/layout

struct Dims {
    lanes: u32,
    n_v: u32,
    n_u: u32,
    n_row: u32,
    smallest: u32,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> constraint: array<real>;
@group(0) @binding(3) var<storage, read> row: array<real>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> shift: array<real>;
@group(0) @binding(7) var<storage, read_write> system: array<real>;

const WIDTH: u32 = 32u;
// No entry.
const NOWHERE: u32 = 0xffffffffu;

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
        tile_base(lane, dims.n_row * row_stride(n)),
        slot_base(lane, begin, 0u, 3u),
        tile_base(lane, n),
        ragged_base(lane, PLACE_SHIFT),
        ragged_base(lane, PLACE_SYSTEM),
        slots,
        system_new(vec3<u32>(n, dims.n_u, dims.n_row), slots),
    );
}

// What a constraint says of its mode, and its unknowns: none, one of a row or of a contact without friction, two of one
// that slides, three of one that sticks.
struct Mode {
    count: u32,
    margin: real,
    closed: real,
    mu: real,
    // Direction of friction.
    drag: vec2<real>,
    // Of the last unknown.
    diagonal: real,
}

fn contact(own: Own, s: u32) -> Mode {
    let n = dims.n_v;
    let zero = real(0.0);
    let one = real(1.0);
    let at = own.constraint + s * slot_reals(n) * TILE;
    let block = at + SLOT_BLOCK * TILE;
    let trace = constraint[block] + constraint[block + 3u * TILE] + constraint[block + 5u * TILE];
    let delassus = trace * real(1.0 / 3.0);
    var sigma = vec3<real>(constraint[at], constraint[at + TILE], constraint[at + 2u * TILE]);
    for (var i = 0u; i < n; i++) {
        let j = at + (SLOT_J + i) * TILE;
        let v = velocity[own.velocity + i * TILE];
        sigma.x = fma(constraint[j], v, sigma.x);
        sigma.y = fma(constraint[j + n * TILE], v, sigma.y);
        sigma.z = fma(constraint[j + 2u * n * TILE], v, sigma.z);
    }
    let l = own.impulse + s * 3u * TILE;
    let lambda = vec3<real>(impulse[l], impulse[l + TILE], impulse[l + 2u * TILE]);
    let y = scale_add(lambda, delassus, sigma * -one);
    let exists = zero < delassus;
    let acts = exists && zero < y.z && zero < lambda.z;
    let mu = constraint[at + SLOT_MU * TILE];
    let rough = zero < mu;
    // Distance to the cone's surface along its normal.
    let inside = fma(mu, y.z, -sqrt(fma(y.x, y.x, y.y * y.y))) / sqrt(fma(mu, mu, one));
    let kinks = own.shift + (s * slot_shift(n) + 3u * n) * TILE;
    var margin = UNBOUNDED;
    if exists && !acts {
        margin = abs(y.z);
    } else if acts {
        margin = min(y.z, shift[kinks + KINK_MARGIN * TILE]);
        margin = min(margin, select(margin, abs(inside), rough));
    }
    let slip = sqrt(fma(sigma.x, sigma.x, sigma.y * sigma.y));
    let per = one / select(one, slip, zero < slip);
    let drag = select(vec2<real>(zero, zero), sigma.xy * -per, zero < slip);
    let sticks = rough && zero <= inside;
    let count = select(select(1u, 2u, rough), 3u, sticks);
    return Mode(
        select(0u, count, acts),
        margin,
        select(zero, shift[kinks + KINK_CLOSED * TILE], acts),
        mu,
        drag,
        slip / select(one, mu * lambda.z, rough && acts),
    );
}

fn row_dof(at: u32, d: u32) -> u32 {
    return u32(row[at + (ROW_AT_DOF + d) * TILE]);
}

fn row_mode(own: Own, r: u32) -> Mode {
    let zero = real(0.0);
    let at = own.row + r * row_stride(dims.n_v) * TILE;
    let lambda = row[at + ROW_AT_IMPULSE * TILE];
    let lower = row[at + ROW_AT_LOWER * TILE];
    let upper = row[at + ROW_AT_UPPER * TILE];
    var sigma = row[at + ROW_AT_BIAS * TILE];
    for (var d = 0u; d < 3u; d++) {
        sigma = fma(row[at + (ROW_AT_COEFFICIENT + d) * TILE], velocity[own.velocity + row_dof(at, d) * TILE], sigma);
    }
    let delassus = row[at + ROW_AT_BLOCK * TILE];
    let compliance = row[at + ROW_AT_COMPLIANCE * TILE];
    let is_active = zero < row[at + ROW_AT_ACTIVE * TILE];
    // One that leaves its bound of zero without impulse, as a limit that is not reached, has no say.
    let idle = lambda <= zero && zero <= lambda && lower <= zero && zero <= lower && zero <= upper;
    let leaves = is_active && idle && zero < sigma;
    let acts = is_active && !leaves;
    // `sigma + c lambda` is what the law holds at zero.
    let y = fma(delassus, lambda, -sigma);
    let whole = delassus + compliance;
    let below = y - whole * lower;
    let above = whole * upper - y;
    let held = acts && zero < below && zero < above;
    let kinks = own.shift + (own.slots * slot_shift(dims.n_v) + r * ROW_SHIFT_SIZE) * TILE;
    var margin = select(UNBOUNDED, sigma, leaves);
    if acts {
        margin = min(margin, min(abs(below), abs(above)));
    }
    if held {
        margin = min(margin, shift[kinks + ROW_SHIFT_MARGIN * TILE]);
    }
    let closed = select(zero, shift[kinks + ROW_SHIFT_CLOSED * TILE], held);
    return Mode(select(0u, 1u, held), margin, closed, zero, vec2<real>(zero, zero), compliance);
}

fn unknown_at(own: Own, u: u32) -> u32 {
    return own.system + (own.at.list + u * UNKNOWN_SIZE) * TILE;
}

fn put3(at: u32, x: vec3<real>) {
    system[at] = x.x;
    system[at + TILE] = x.y;
    system[at + 2u * TILE] = x.z;
}

fn put_unknown(own: Own, u: u32, first: u32, direction: vec3<real>, equation: vec3<real>, diagonal: real) {
    let at = unknown_at(own, u);
    system[at + UNKNOWN_FIRST * TILE] = real(first);
    put3(at + UNKNOWN_DIRECTION * TILE, direction);
    put3(at + UNKNOWN_EQUATION * TILE, equation);
    system[at + UNKNOWN_DIAGONAL * TILE] = diagonal;
}

// The unknowns of a constraint, from number u on.
fn put_unknowns(own: Own, item: u32, mode: Mode, u: u32) {
    let zero = real(0.0);
    let one = real(1.0);
    let x = vec3<real>(one, zero, zero);
    let y = vec3<real>(zero, one, zero);
    let z = vec3<real>(zero, zero, one);
    let is_row = item >= own.slots;
    let first = select(dims.n_row + 3u * item, item - own.slots, is_row);
    if mode.count == 0u {
        return;
    }
    if is_row {
        put_unknown(own, u, first, x, x, mode.diagonal);
    } else if mode.count == 3u {
        put_unknown(own, u, first, x, x, zero);
        put_unknown(own, u + 1u, first, y, y, zero);
        put_unknown(own, u + 2u, first, z, z, zero);
    } else {
        put_unknown(own, u, first, vec3<real>(mode.drag * mode.mu, one), z, zero);
        if mode.count == 2u {
            let across = vec3<real>(-mode.drag.y, mode.drag.x, zero);
            put_unknown(own, u + 1u, first, across, across, mode.diagonal);
        }
    }
}

// The list of unknowns, in the order of slots and rows; how many there are.
fn list_unknowns(own: Own, local: u32) -> u32 {
    let items = own.slots + dims.n_row;
    var listed = 0u;
    var margin = UNBOUNDED;
    var closed = real(0.0);
    for (var first = 0u; first < items; first += WIDTH) {
        let item = first + local;
        var mode = Mode(0u, UNBOUNDED, real(0.0), real(0.0), vec2<real>(real(0.0), real(0.0)), real(0.0));
        if item < own.slots {
            mode = contact(own, item);
        } else if item < items {
            mode = row_mode(own, item - own.slots);
        }
        margin = min(margin, mode.margin);
        closed += mode.closed;
        counts[local] = mode.count;
        workgroupBarrier();
        var before = listed;
        for (var k = 0u; k < WIDTH; k++) {
            before += select(0u, counts[k], k < local);
            listed += counts[k];
        }
        workgroupBarrier();
        put_unknowns(own, item, mode, before);
    }
    margin = -group_max(local, -margin);
    closed = group_sum(local, closed);
    if local == 0u {
        total = listed;
        for (var e = 0u; e < VERDICT_SIZE; e++) {
            system[own.system + e * TILE] = real(0.0);
        }
        system[own.system + VERDICT_SIZE_OF * TILE] = real(listed);
        system[own.system + VERDICT_MARGIN * TILE] = margin;
        system[own.system + VERDICT_CLOSED * TILE] = closed;
    }
    storageBarrier();
    return workgroupUniformLoad(&total);
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
    let at = own.row + r * row_stride(n) * TILE;
    if what == OF_RESPONSE {
        return row[at + (ROW_AT_Y + column) * TILE];
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
                sum += row[at + (ROW_AT_COEFFICIENT + d) * TILE];
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

fn factor_at(own: Own, i: u32, j: u32) -> u32 {
    return own.system + (own.at.factor + i * own.at.most + j) * TILE;
}

// Unknown whose equation stands in row i of the factor; that stands in column i.
fn row_of(own: Own, i: u32) -> u32 {
    return own.system + (own.at.order + i) * TILE;
}

fn column_of(own: Own, i: u32) -> u32 {
    return own.system + (own.at.order + own.at.most + i) * TILE;
}

fn push_row(own: Own, u: u32) -> u32 {
    return own.system + (own.at.push + u * dims.n_v) * TILE;
}

fn response_row(own: Own, u: u32) -> u32 {
    return own.system + (own.at.response + u * dims.n_v) * TILE;
}

// The largest entry that an invocation has seen, the first in the order of rows: its size, and its row and column.
struct Pivot {
    size: real,
    row: u32,
    column: u32,
}

fn pivot_larger(best: Pivot, i: u32, j: u32, x: real) -> Pivot {
    if best.size < abs(x) {
        return Pivot(abs(x), i, j);
    }
    return best;
}

// Four entries of B, from column j on; the largest so far.
fn multiply(own: Own, m: u32, i: u32, j: u32, largest: Pivot) -> Pivot {
    let equation = response_row(own, i);
    let columns = min(vec4<u32>(j, j + 1u, j + 2u, j + 3u), vec4<u32>(m - 1u));
    let push = vec4<u32>(own.system) + (vec4<u32>(own.at.push) + columns * dims.n_v) * TILE;
    var sum = vec4<real>(real(0.0), real(0.0), real(0.0), real(0.0));
    for (var d = 0u; d < dims.n_v; d++) {
        let a = system[equation + d * TILE];
        let at = push + d * TILE;
        let b = vec4<real>(system[at.x], system[at.y], system[at.z], system[at.w]);
        sum = fma(vec4<real>(a, a, a, a), b, sum);
    }
    var best = largest;
    for (var c = 0u; c < 4u && j + c < m; c++) {
        var x = sum[c];
        if i == j + c {
            x += system[unknown_at(own, i) + UNKNOWN_DIAGONAL * TILE];
        }
        system[factor_at(own, i, j + c)] = x;
        best = pivot_larger(best, i, j + c, x);
    }
    return best;
}

// B, and the largest of an invocation's entries.
fn assemble(own: Own, local: u32, m: u32) -> Pivot {
    let quads = (m + 3u) / 4u;
    var best = Pivot(real(0.0), NOWHERE, NOWHERE);
    for (var e = local; e < m * quads; e += WIDTH) {
        best = multiply(own, m, e / quads, e % quads * 4u, best);
    }
    for (var i = local; i < m; i += WIDTH) {
        system[row_of(own, i)] = real(i);
        system[column_of(own, i)] = real(i);
    }
    return best;
}

// The largest of all invocations' entries, of equal ones the first in the order of rows.
fn group_pivot(local: u32, m: u32, mine: Pivot) -> Pivot {
    let size = group_max(local, mine.size);
    counts[local] = select(NOWHERE, mine.row * m + mine.column, mine.size == size && mine.row != NOWHERE);
    workgroupBarrier();
    if local == 0u {
        total = NOWHERE;
        for (var k = 0u; k < WIDTH; k++) {
            total = min(total, counts[k]);
        }
    }
    let place = workgroupUniformLoad(&total);
    return Pivot(size, place / m, place % m);
}

fn exchange(a: u32, b: u32) {
    let x = system[a];
    system[a] = system[b];
    system[b] = x;
}

// Brings the pivot to row and column k.
fn bring(own: Own, local: u32, m: u32, k: u32, pivot: Pivot) {
    for (var c = local; c < m && pivot.row != k; c += WIDTH) {
        exchange(factor_at(own, k, c), factor_at(own, pivot.row, c));
    }
    storageBarrier();
    for (var r = local; r < m && pivot.column != k; r += WIDTH) {
        exchange(factor_at(own, r, k), factor_at(own, r, pivot.column));
    }
    if local == 0u {
        exchange(row_of(own, k), row_of(own, pivot.row));
        exchange(column_of(own, k), column_of(own, pivot.column));
    }
    storageBarrier();
}

// Four entries of row i less its share of row k, from column j on; the largest so far.
fn clear(own: Own, m: u32, k: u32, i: u32, j: u32, largest: Pivot) -> Pivot {
    let times = -system[factor_at(own, i, k)];
    var best = largest;
    for (var c = j; c < min(j + 4u, m); c++) {
        let at = factor_at(own, i, c);
        let x = fma(times, system[factor_at(own, k, c)], system[at]);
        system[at] = x;
        best = pivot_larger(best, i, c, x);
    }
    return best;
}

// Complete pivoting; the rank. Every entry is looked at as the next pivot when it is made.
fn eliminate(own: Own, local: u32, m: u32, first: Pivot) -> u32 {
    var mine = first;
    var pivot = group_pivot(local, m, mine);
    let least = pivot.size * real(bitcast<f32>(dims.smallest));
    var rank = 0u;
    for (var k = 0u; k < m && least < pivot.size; k++) {
        rank += 1u;
        bring(own, local, m, k, pivot);
        let per = real(1.0) / system[factor_at(own, k, k)];
        for (var i = k + 1u + local; i < m; i += WIDTH) {
            system[factor_at(own, i, k)] *= per;
        }
        storageBarrier();
        if local == 0u {
            system[factor_at(own, k, k)] = per;
        }
        let quads = (m - k + 2u) / 4u;
        mine = Pivot(real(0.0), NOWHERE, NOWHERE);
        for (var e = local; e < (m - k - 1u) * quads; e += WIDTH) {
            mine = clear(own, m, k, k + 1u + e / quads, k + 1u + e % quads * 4u, mine);
        }
        storageBarrier();
        pivot = group_pivot(local, m, mine);
    }
    return rank;
}

// Largest entry of `B x - 1` for the solution x, of a factor of full rank.
fn residual(own: Own, local: u32, m: u32) -> real {
    let n = dims.n_v;
    let x = own.system + own.at.scratch * TILE;
    let pushed = x + own.at.most * TILE;
    for (var i = local; i < m; i += WIDTH) {
        system[x + i * TILE] = real(1.0);
    }
    storageBarrier();
    for (var k = 0u; k + 1u < m; k++) {
        for (var i = k + 1u + local; i < m; i += WIDTH) {
            let to = x + i * TILE;
            system[to] = fma(-system[factor_at(own, i, k)], system[x + k * TILE], system[to]);
        }
        storageBarrier();
    }
    for (var back = 0u; back < m; back++) {
        let k = m - 1u - back;
        if local == 0u {
            system[x + k * TILE] *= system[factor_at(own, k, k)];
        }
        storageBarrier();
        for (var i = local; i < k; i += WIDTH) {
            let to = x + i * TILE;
            system[to] = fma(-system[factor_at(own, i, k)], system[x + k * TILE], system[to]);
        }
        storageBarrier();
    }
    for (var d = local; d < n; d += WIDTH) {
        var sum = real(0.0);
        for (var i = 0u; i < m; i++) {
            sum = fma(system[push_row(own, u32(system[column_of(own, i)])) + d * TILE], system[x + i * TILE], sum);
        }
        system[pushed + d * TILE] = sum;
    }
    storageBarrier();
    var worst = real(0.0);
    for (var i = local; i < m; i += WIDTH) {
        let u = u32(system[column_of(own, i)]);
        var left = fma(system[unknown_at(own, u) + UNKNOWN_DIAGONAL * TILE], system[x + i * TILE], real(-1.0));
        for (var d = 0u; d < n; d++) {
            left = fma(system[response_row(own, u) + d * TILE], system[pushed + d * TILE], left);
        }
        worst = max(worst, abs(left));
    }
    return group_max(local, worst);
}

// Whether an unknown's equation is not along its own direction.
fn is_askew(own: Own, u: u32) -> bool {
    let at = unknown_at(own, u);
    var askew = false;
    for (var k = 0u; k < 3u; k++) {
        askew = askew || system[at + (UNKNOWN_DIRECTION + k) * TILE] != system[at + (UNKNOWN_EQUATION + k) * TILE];
    }
    return askew;
}

// What one combination of impulses that the equations leave free changes of the velocities, relative; made in column c
// of the factor.
fn change_of(own: Own, rank: u32, c: u32, largest: real) -> real {
    var most = real(1.0);
    for (var r = 0u; r < rank; r++) {
        let i = rank - 1u - r;
        var known = -system[factor_at(own, i, c)];
        for (var k = i + 1u; k < rank; k++) {
            known = fma(-system[factor_at(own, i, k)], system[factor_at(own, k, c)], known);
        }
        let x = known * system[factor_at(own, i, i)];
        system[factor_at(own, i, c)] = x;
        most = max(most, abs(x));
    }
    var change = real(0.0);
    let free = push_row(own, u32(system[column_of(own, c)]));
    for (var d = 0u; d < dims.n_v; d++) {
        var moved = system[free + d * TILE];
        for (var r = 0u; r < rank; r++) {
            let i = rank - 1u - r;
            let at = push_row(own, u32(system[column_of(own, i)]));
            moved = fma(system[factor_at(own, i, c)], system[at + d * TILE], moved);
        }
        change = max(change, abs(moved));
    }
    return change / max(largest * most, real(1e-30));
}

// How much the combinations of impulses that the equations leave free change the velocities, relative to what any of
// them changes. Nothing, where every equation is along its own direction: B is symmetric there.
fn freedom(own: Own, local: u32, m: u32, rank: u32) -> real {
    var askew = real(0.0);
    for (var u = local; u < m; u += WIDTH) {
        askew = max(askew, select(real(0.0), real(1.0), is_askew(own, u)));
    }
    if group_max(local, askew) <= real(0.0) {
        return real(0.0);
    }
    var largest = real(0.0);
    for (var e = local; e < m * dims.n_v; e += WIDTH) {
        largest = max(largest, abs(system[own.system + (own.at.push + e) * TILE]));
    }
    largest = group_max(local, largest);
    var worst = real(0.0);
    for (var c = rank + local; c < m; c += WIDTH) {
        worst = max(worst, change_of(own, rank, c, largest));
    }
    return group_max(local, worst);
}

// What goes in, in the order of the factor.
fn gather_ordered(own: Own, local: u32, m: u32, rank: u32) {
    let n = dims.n_v;
    let width = n + dims.n_u;
    var largest = real(0.0);
    for (var e = local; e < m * n; e += WIDTH) {
        let i = e / n;
        let to = own.system + e * TILE;
        let response = combined(own, OF_RESPONSE, u32(system[row_of(own, i)]), UNKNOWN_EQUATION, e % n);
        largest = max(largest, abs(response));
        system[to + own.at.response * TILE] = response;
        var push = real(0.0);
        if i < rank {
            push = combined(own, OF_RESPONSE, u32(system[column_of(own, i)]), UNKNOWN_DIRECTION, e % n);
        }
        system[to + own.at.push * TILE] = push;
    }
    var largest_shift = real(0.0);
    for (var e = local; e < m * width; e += WIDTH) {
        let x = combined(own, OF_SHIFT, u32(system[row_of(own, e / width)]), UNKNOWN_EQUATION, e % width);
        largest_shift = max(largest_shift, abs(x));
        system[own.system + (own.at.shift + e) * TILE] = x;
    }
    largest = group_max(local, largest);
    largest_shift = group_max(local, largest_shift);
    if local == 0u {
        system[own.system + VERDICT_LARGEST * TILE] = largest;
        system[own.system + VERDICT_LARGEST_SHIFT * TILE] = largest_shift;
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
    if local == 0u {
        system[own.system + VERDICT_RANK * TILE] = real(rank);
        system[own.system + VERDICT_LEFT * TILE] = left;
    }
    gather_ordered(own, local, m, rank);
}
