// The exact contact problem of one tree by Newton steps and sweeps, a workgroup a lane. See tree_group.rs.
#import index
#import contact/tree_layout
#import contact/local
#import contact/globalise
#import contact/steps
#import contact/dense_group
#import contact/tree_slots
#import contact/tree_pgs.rs
#import dynamics/names.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read_write> constraint: array<real>;
@group(0) @binding(3) var<storage, read_write> row: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> info: array<real>;
@group(0) @binding(7) var<storage, read_write> status: array<u32>;
@group(0) @binding(8) var<storage, read_write> work: array<real>;

// A subgroup of the adapter: its invocations meet at little cost.
const GROUP_WIDTH: u32 = TILE;
// Whether by Newton steps.
override newton: u32;
// Most rows of a lane's problem that is written out. No array has a length of zero.
override rows: u32 = DEVICE_ROWS;
override MOST_ROWS: u32 = max(rows, 1u);
// In single precision of 28 rows. A GPU has the more workgroups at work the less memory each takes: with room for 44 rows an H100 took
// 1.3 to 1.8 times as long over 32,768 worlds.
const NEAR_BYTES: u32 = 3264u;

// Where a lane's solve stands.
struct Lane {
    stage: u32,
    slots: u32,
    rows: u32,
    // Rounds after the first sweeps.
    rounds: u32,
    sweeps: real,
    error: real,
    // The error at which it is done.
    enough: real,
    contacts: real,
}

// Where this lane's workspace begins.
var<private> work_first: u32;
// The rows that act, in order; those beyond are not written out.
var<workgroup> acting: array<u32, MOST_ROWS>;

// v += Y^T x of a slot, the invocations over the degrees of freedom.
fn push_slot(local: u32, c: u32, x: vec3<real>) {
    let span = dims.n_v * TILE;
    for (var i = local; i < dims.n_v; i += GROUP_WIDTH) {
        let y = c + (SLOT_J + 3u * dims.n_v + i) * TILE;
        let to = velocity_first + i * TILE;
        let first = fma(constraint[y], x.x, velocity[to]);
        velocity[to] = fma(constraint[y + 2u * span], x.z, fma(constraint[y + span], x.y, first));
    }
}

fn push_single(local: u32, r: u32, x: real) {
    for (var i = local; i < dims.n_v; i += GROUP_WIDTH) {
        let to = velocity_first + i * TILE;
        velocity[to] = fma(row[r + (row_head(dims.row_width) + i) * TILE], x, velocity[to]);
    }
}

// One sweep on the velocity; the sum of squares of the natural residual as each row and slot was met.
fn sweep(local: u32) -> real {
    let zero = real(0.0);
    let one = real(1.0);
    var square = zero;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        let acts = zero < row[r + ROW_ACTIVE * TILE];
        let sigma = row_velocity(r);
        let lambda = row[r + ROW_IMPULSE * TILE];
        let compliance = row[r + ROW_COMPLIANCE * TILE];
        let left = lambda - row_clamp(r, (lambda - sigma) / (one + compliance));
        square += select(zero, left * left, acts);
        let moved = fma(compliance, lambda, sigma) / (row[r + ROW_BLOCK * TILE] + compliance);
        let next = select(lambda, row_clamp(r, lambda - moved), acts);
        storageBarrier();
        if local == 0u {
            row[r + ROW_IMPULSE * TILE] = next;
        }
        if next != lambda {
            push_single(local, r, next - lambda);
        }
        storageBarrier();
    }
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        let acts = zero < slot_trace(c);
        let mu = constraint[c + SLOT_MU * TILE];
        let sigma = slot_velocity(c);
        let now = load_lambda(s);
        let left = local_residual(mu, one, now, sigma);
        square += select(zero, fma(left.x, left.x, fma(left.y, left.y, left.z * left.z)), acts);
        let solved = local_solve(mu, load_block(c + SLOT_BLOCK * TILE), load_block(c + SLOT_INVERSE * TILE), now, sigma);
        let next = select(now, solved, acts);
        let change = next - now;
        storageBarrier();
        if local == 0u {
            store_lambda(s, next);
        }
        if abs(change.x) + abs(change.y) + abs(change.z) != zero {
            push_slot(local, c, change);
        }
        storageBarrier();
    }
    return square;
}

// v = v_free + Y lambda; v_free is what velocity holds. The invocations over the degrees of freedom.
fn start(local: u32) {
    let span = dims.n_v * TILE;
    for (var i = local; i < dims.n_v; i += GROUP_WIDTH) {
        let to = velocity_first + i * TILE;
        var v = velocity[to];
        for (var s = 0u; s < slot_count; s++) {
            let x = load_lambda(s);
            let y = slot_address(s) + (SLOT_J + 3u * dims.n_v + i) * TILE;
            v = fma(constraint[y + 2u * span], x.z, fma(constraint[y + span], x.y, fma(constraint[y], x.x, v)));
        }
        for (var k = 0u; k < dims.n_row; k++) {
            let r = row_address(k);
            v = fma(row[r + (row_head(dims.row_width) + i) * TILE], row[r + ROW_IMPULSE * TILE], v);
        }
        velocity[to] = v;
    }
    storageBarrier();
}

// Lists the rows that act; returns how many they are.
fn list_rows(local: u32) -> u32 {
    var count = 0u;
    for (var first = 0u; first < dims.n_row; first += GROUP_WIDTH) {
        let k = first + local;
        var acts = false;
        if k < dims.n_row {
            acts = real(0.0) < row[row_address(k) + ROW_ACTIVE * TILE];
        }
        partial[local] = select(real(0.0), real(1.0), acts);
        workgroupBarrier();
        var before = count;
        for (var other = 0u; other < GROUP_WIDTH; other++) {
            let one = u32(partial[other]);
            before += select(0u, one, other < local);
            count += one;
        }
        if acts && before < MOST_ROWS {
            acting[before] = k;
        }
        workgroupBarrier();
    }
    return count;
}

// How many slots to write out: up to the last that has a response.
fn count_slots(local: u32) -> u32 {
    var mine = 0u;
    for (var s = local; s < slot_count; s += GROUP_WIDTH) {
        mine = select(mine, s + 1u, real(0.0) < slot_trace(slot_address(s)));
    }
    partial[local] = real(mine);
    workgroupBarrier();
    var most = real(0.0);
    for (var other = 0u; other < GROUP_WIDTH; other++) {
        most = max(most, partial[other]);
    }
    workgroupBarrier();
    return u32(most);
}

// Contacts among the slots: those that have a response and are no blocks.
fn count_contacts(local: u32) -> real {
    var mine = real(0.0);
    for (var s = local; s < slot_count; s += GROUP_WIDTH) {
        let c = slot_address(s);
        mine += select(real(0.0), real(1.0), real(0.0) < slot_trace(c) && real(0.0) <= constraint[c + SLOT_MU * TILE]);
    }
    return group_sum(local, mine);
}

// Writes this lane's problem out; velocity holds v_free.
fn gather(d: Dense, local: u32) {
    dense_clear(d, local);
    for (var s = local; s < d.slots; s += GROUP_WIDTH) {
        gather_slot(d, s);
    }
    for (var at = local; at < d.rows; at += GROUP_WIDTH) {
        gather_row(d, at);
    }
    let pairs = d.slots * (d.slots + 1u) / 2u;
    for (var first = 0u; first < pairs; first += GROUP_WIDTH) {
        write_pairs(d, local, first + local, pairs);
    }
    for (var pair = local; pair < d.rows * d.slots; pair += GROUP_WIDTH) {
        gather_row_slot(d, pair / d.slots, pair % d.slots);
    }
    for (var pair = local; pair < d.rows * d.rows; pair += GROUP_WIDTH) {
        gather_rows(d, pair / d.rows, pair % d.rows);
    }
    storageBarrier();
    workgroupBarrier();
    dense_start(d, local);
}

// The law of a slot, its impulse, and `J v_free + e`.
fn gather_slot(d: Dense, s: u32) {
    let zero = real(0.0);
    let none = vec3<real>(zero, zero, zero);
    let c = slot_address(s);
    let trace = slot_trace(c);
    let there = zero < trace;
    let lambda = select(none, load_lambda(s), there);
    let sigma = select(none, slot_velocity(c), there);
    let rho = select(zero, SLOT_STEP / trace, there);
    for (var r = 0u; r < 3u; r++) {
        held[LAMBDA + of_slot(d, s, r)] = lambda[r];
        held[SIGMA + of_slot(d, s, r)] = sigma[r];
    }
    store_slot(d, d.rho, s, vec3<real>(rho, rho, rho));
    work[d.friction + s] = constraint[c + SLOT_MU * TILE];
    for (var e = 0u; e < 6u; e++) {
        work[d.inverse + e * d.slots + s] = constraint[c + (SLOT_INVERSE + e) * TILE];
    }
    if relaxes && there {
        let steps = ask(c);
        work[d.cap + s] = steps.cap;
        store_slot(d, d.request, s, steps.request);
    }
}

// The same of a single row, the `at`-th that acts.
fn gather_row(d: Dense, at: u32) {
    let r = row_address(acting[at]);
    let i = of_row(d, at);
    let compliance = row[r + ROW_COMPLIANCE * TILE];
    held[LAMBDA + i] = row[r + ROW_IMPULSE * TILE];
    held[SIGMA + i] = row_velocity(r);
    work[d.rho + i] = real(1.0) / (row[r + ROW_BLOCK * TILE] + compliance);
    work[d.lower + at] = row[r + ROW_LOWER * TILE];
    work[d.upper + at] = row[r + ROW_UPPER * TILE];
    work[d.compliance + at] = compliance;
    if relaxes {
        let steps = ask_row(r);
        work[d.cap + d.slots + at] = steps.x;
        work[d.request + i] = steps.y;
    }
}

// Takes what gave way from what is asked for; whether there was anything.
fn take_back(d: Dense, local: u32) -> bool {
    let tolerance = real(bitcast<f32>(dims.tolerance));
    var any = real(0.0);
    for (var s = local; s < d.slots; s += GROUP_WIDTH) {
        let c = slot_address(s);
        let trace = slot_trace(c);
        let steps = slot_caps(d, s);
        for (var r = 0u; r < 3u && real(0.0) < trace; r++) {
            let i = of_slot(d, s, r);
            let mass = real(3.0) / trace;
            let by = steps_gives_way(steps.cap, steps.request[r], mass, tolerance, held[LAMBDA + i], held[SIGMA + i]);
            if by != real(0.0) {
                constraint[c + (SLOT_BIAS + r) * TILE] += by;
                constraint[c + (SLOT_RELAXED + r) * TILE] = by;
                any = real(1.0);
            }
        }
    }
    for (var at = local; at < d.rows; at += GROUP_WIDTH) {
        let r = row_address(acting[at]);
        let i = of_row(d, at);
        let mass = real(1.0) / row[r + ROW_BLOCK * TILE];
        let cap = work[d.cap + d.slots + at];
        let by = steps_gives_way(cap, work[d.request + i], mass, tolerance, held[LAMBDA + i], held[SIGMA + i]);
        if by != real(0.0) {
            row[r + ROW_BIAS * TILE] += by;
            row[r + ROW_RELAXED * TILE] = by;
            any = real(1.0);
        }
    }
    return real(0.0) < group_sum(local, any);
}

// G of a pair of slots, and its mirror image: G is symmetric. Numbers of a lane lie a tile apart, so that each that is loaded is
// a transfer of its own: J and Y of all slots are brought into workgroup memory once, some degrees of freedom at a time.
fn write_pairs(d: Dense, local: u32, pair: u32, pairs: u32) {
    let both = slots_of(min(pair, pairs - 1u));
    let width = min(GROUP * NEAR / (6u * d.slots), dims.n_v);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var g0 = zero;
    var g1 = zero;
    var g2 = zero;
    for (var first = 0u; first < dims.n_v; first += width) {
        let count = min(width, dims.n_v - first);
        workgroupBarrier();
        for (var e = local; e < 6u * d.slots * count; e += GROUP_WIDTH) {
            let line = e / count;
            let slot = line / 6u;
            let at = SLOT_J + (line - 6u * slot) * dims.n_v + first + e - line * count;
            near[e / GROUP][e % GROUP] = constraint[slot_address(slot) + at * TILE];
        }
        workgroupBarrier();
        for (var i = 0u; i < count; i++) {
            let j = near_column(6u * both.x * count + i, count);
            let y = near_column((6u * both.y + 3u) * count + i, count);
            g0 = fma(vec3<real>(j.x, j.x, j.x), y, g0);
            g1 = fma(vec3<real>(j.y, j.y, j.y), y, g1);
            g2 = fma(vec3<real>(j.z, j.z, j.z), y, g2);
        }
    }
    if pair < pairs {
        write_pair(d, both, g0, g1, g2);
    }
}

// The pair of some number: (0, 0), (0, 1), (1, 1), (0, 2) and so on.
fn slots_of(pair: u32) -> vec2<u32> {
    var at = vec2<u32>(pair, 0u);
    while at.y < at.x {
        at.y += 1u;
        at.x -= at.y;
    }
    return at;
}

// Three numbers of `near`, `span` apart.
fn near_column(at: u32, span: u32) -> vec3<real> {
    let a = at + span;
    let b = a + span;
    return vec3<real>(near[at / GROUP][at % GROUP], near[a / GROUP][a % GROUP], near[b / GROUP][b % GROUP]);
}

fn write_pair(d: Dense, both: vec2<u32>, g0: vec3<real>, g1: vec3<real>, g2: vec3<real>) {
    let rows = d.slots * d.n;
    let at = d.delassus + both.x * d.n;
    store_slot(d, at, both.y, g0);
    store_slot(d, at + rows, both.y, g1);
    store_slot(d, at + 2u * rows, both.y, g2);
    if both.x != both.y {
        let to = d.delassus + both.y * d.n;
        store_slot(d, to, both.x, vec3<real>(g0.x, g1.x, g2.x));
        store_slot(d, to + rows, both.x, vec3<real>(g0.y, g1.y, g2.y));
        store_slot(d, to + 2u * rows, both.x, vec3<real>(g0.z, g1.z, g2.z));
    }
}

// G of the `at`-th acting row with slot s, and its mirror image.
fn gather_row_slot(d: Dense, at: u32, s: u32) {
    let span = dims.n_v * TILE;
    let r = row_address(acting[at]);
    let y_first = slot_address(s) + (SLOT_J + 3u * dims.n_v) * TILE;
    var g = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var k = 0u; k < dims.row_width; k++) {
        let y = y_first + u32(row[r + (ROW_DOF + ROW_TERM * k) * TILE]) * TILE;
        let j = row[r + (ROW_COEFFICIENT + ROW_TERM * k) * TILE];
        g = fma(vec3<real>(j, j, j), load_column(y, span), g);
    }
    let i = of_row(d, at);
    store_slot(d, d.delassus + i * d.n, s, g);
    for (var k = 0u; k < 3u; k++) {
        work[d.delassus + of_slot(d, s, k) * d.n + i] = g[k];
    }
}

// G of two acting rows, compliance included.
fn gather_rows(d: Dense, at: u32, other: u32) {
    let r = row_address(acting[at]);
    let y = row_address(acting[other]) + row_head(dims.row_width) * TILE;
    var g = select(real(0.0), row[r + ROW_COMPLIANCE * TILE], at == other);
    for (var k = 0u; k < dims.row_width; k++) {
        let dof = u32(row[r + (ROW_DOF + ROW_TERM * k) * TILE]);
        g = fma(row[r + (ROW_COEFFICIENT + ROW_TERM * k) * TILE], row[y + dof * TILE], g);
    }
    work[d.delassus + of_row(d, at) * d.n + of_row(d, other)] = g;
}

// Puts the impulses back.
fn scatter(d: Dense, local: u32) {
    for (var s = local; s < d.slots; s += GROUP_WIDTH) {
        if real(0.0) < slot_trace(slot_address(s)) {
            store_lambda(s, held_slot(d, LAMBDA, s));
        }
    }
    for (var at = local; at < d.rows; at += GROUP_WIDTH) {
        row[row_address(acting[at]) + ROW_IMPULSE * TILE] = held[LAMBDA + of_row(d, at)];
    }
    storageBarrier();
}

// Finds a lane's slots, rows, velocity and workspace.
fn place(lane: u32) {
    let tile = lane / TILE * SLOTS;
    slot_count = slots[tile + 1u];
    slot_first = slot_base(lane, slots[tile], 0u, slot_reals(dims.n_v));
    impulse_first = slot_base(lane, slots[tile], 0u, 3u);
    row_first = tile_base(lane, dims.n_row * row_stride(dims.n_v, dims.row_width));
    velocity_first = tile_base(lane, dims.n_v);
    work_first = lane * work_reals(dims.rows);
}

// What a lane of some status is to do.
fn part_of(word: u32) -> u32 {
    if (word & STATUS_APART) != 0u {
        return PART_NONE;
    }
    if (word & STATUS_GAVE_WAY) == 0u {
        return PART_SOLVES;
    }
    return select(PART_NONE, PART_RELAXES, newton > 0u);
}

fn problem(own: Lane) -> Dense {
    return dense_place(work_first, own.slots, own.rows);
}

// What a lane has to solve, before any of it is written out.
fn begin(local: u32, part: u32) -> Lane {
    let rows = list_rows(local);
    let slots = count_slots(local);
    let contacts = count_contacts(local);
    let enough = real(bitcast<f32>(dims.tolerance)) * max(contacts, real(1.0));
    let is_large = 3u * slots + rows > dims.rows;
    var stage = STAGE_NONE;
    if part == PART_SOLVES {
        stage = select(STAGE_WRITTEN, STAGE_LARGE, is_large);
    } else if part == PART_RELAXES && !is_large {
        stage = STAGE_WRITTEN;
    }
    return Lane(stage, slots, rows, 0u, real(0.0), real(0.0), enough, contacts);
}

// Writes a lane's problem out, or where it is too large starts the velocity.
fn write_out(own: Lane, local: u32) {
    if own.stage == STAGE_WRITTEN {
        gather(problem(own), local);
    } else if own.stage == STAGE_LARGE {
        start(local);
    }
}

// A round of a lane that is open; or the sweeps before the first, which are no round: both call the same functions at one place.
fn next_round(before: Lane, local: u32, is_first: bool) -> Lane {
    var own = before;
    own.rounds += select(1u, 0u, is_first);
    let first = select(min(FIRST, dims.sweeps), 0u, relaxes);
    if own.stage == STAGE_WRITTEN {
        let d = problem(own);
        let sweeps = select(select(SWEEPS, 1u, relaxes), first, is_first);
        let enough = select(real(-1.0), own.enough, is_first);
        let swept = dense_round(d, local, newton > 0u && !is_first, sweeps, enough);
        own.sweeps += real(swept.count);
        own.error = swept.error;
        if enough < swept.error {
            own.error = sqrt(natural(d, local));
            own.rounds = select(own.rounds, dims.sweeps, !is_first && runs_away(d, local));
        }
    } else {
        own.error = UNBOUNDED;
        for (var k = 0u; k < select(1u, first, is_first) && own.enough < own.error; k++) {
            own.error = sqrt(sweep(local));
            own.sweeps += real(1.0);
        }
    }
    own.stage += select(0u, 2u, own.error <= own.enough);
    return own;
}

// Whether no sweep can say that a lane is solved.
fn hopeless(local: u32) -> bool {
    var largest = real(0.0);
    for (var s = local; s < slot_count; s += GROUP_WIDTH) {
        let lambda = abs(load_lambda(s));
        largest = max(largest, max(lambda.x, max(lambda.y, lambda.z)));
    }
    for (var k = local; k < dims.n_row; k += GROUP_WIDTH) {
        largest = max(largest, abs(row[row_address(k) + ROW_IMPULSE * TILE]));
    }
    return real(0.0) < group_sum(local, select(real(0.0), real(1.0), ABSURD < largest));
}

// Whether a lane's solution flings its bodies about.
fn flings(local: u32) -> bool {
    var some = real(0.0);
    for (var s = local; s < slot_count; s += GROUP_WIDTH) {
        some += select(real(0.0), real(1.0), slot_flings(s));
    }
    return real(0.0) < group_sum(local, some);
}

// Whether the impulses of a lane make sense.
fn sensible(local: u32) -> bool {
    var odd = real(0.0);
    for (var s = local; s < slot_count; s += GROUP_WIDTH) {
        let c = slot_address(s);
        let lambda = load_lambda(s);
        let bias = vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
        let fits = local_is_sensible(constraint[c + SLOT_MU * TILE], slot_trace(c), lambda, bias);
        odd += select(real(1.0), real(0.0), fits);
    }
    for (var k = local; k < dims.n_row; k += GROUP_WIDTH) {
        let r = row_address(k);
        let is_hard = real(0.0) < row[r + ROW_ACTIVE * TILE] && row[r + ROW_COMPLIANCE * TILE] <= real(0.0);
        let fits = local_is_sensible_row(row[r + ROW_BLOCK * TILE], row[r + ROW_IMPULSE * TILE], row[r + ROW_BIAS * TILE]);
        odd += select(real(0.0), real(1.0), is_hard && !fits);
    }
    return group_sum(local, odd) == real(0.0);
}

// Puts a lane's impulses, velocity and report where they belong.
fn put_back(lane: u32, own: Lane, local: u32, word: u32) {
    var gave_way = false;
    let d = problem(own);
    if own.stage == STAGE_WRITTEN_DONE || own.stage == STAGE_WRITTEN && !relaxes {
        scatter(d, local);
        if relaxes {
            gave_way = take_back(d, local);
        }
    }
    if own.stage != STAGE_LARGE && own.stage != STAGE_LARGE_DONE {
        start(local);
    }
    let flung = STAGE_LARGE < own.stage && flings(local);
    let converged = STAGE_LARGE < own.stage && !hopeless(local) && !flung;
    var doubtful = false;
    if !converged && part_of(word) == PART_SOLVES {
        doubtful = flung || !sensible(local);
    }
    if local != 0u {
        return;
    }
    if own.stage != STAGE_NONE {
        let out = tile_base(lane, INFO_SIZE + dims.n_v);
        let is_written = own.stage == STAGE_WRITTEN || own.stage == STAGE_WRITTEN_DONE;
        info[out + INFO_SWEEPS * TILE] = own.sweeps;
        info[out + INFO_NEWTON * TILE] = select(real(0.0), real(own.rounds), is_written && newton > 0u);
        info[out + INFO_STOPPED_AT * TILE] = own.error / max(own.contacts, real(1.0));
    }
    status[lane] = ended(word, converged, gave_way, doubtful);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = group_index(group);
    if lane >= dims.lanes {
        return;
    }
    place(lane);
    let word = status[lane];
    // All have read the status before one of them writes it.
    storageBarrier();
    let part = part_of(word);
    relaxes = part == PART_RELAXES;
    var own = begin(local, part);
    write_out(own, local);
    var is_first = true;
    while (own.stage == STAGE_WRITTEN || own.stage == STAGE_LARGE) && (is_first || own.rounds < dims.sweeps) {
        own = next_round(own, local, is_first);
        is_first = false;
    }
    put_back(lane, own, local, word);
}
