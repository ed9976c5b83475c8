// The exact contact problem of one tree by Newton steps and sweeps, a lane an invocation. See tree_pgs.rs.
#import index
#import contact/tree_layout
#import contact/local
#import contact/globalise
#import contact/steps
#import contact/dense
#import contact/tree_slots
#import dynamics/names.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read_write> constraint: array<real>;
@group(0) @binding(3) var<storage, read_write> row: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> info: array<real>;
@group(0) @binding(7) var<storage, read_write> status: array<u32>;
@group(0) @binding(8) var<storage, read_write> work: array<vec4<real>>;

// What of a solve a dispatch does, and whether by Newton steps. A pipeline has no code for the rest: a software adapter
// would run it without effect.
override phases: u32;
override newton: u32;

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

fn push_row(r: u32, x: real) {
    for (var i = 0u; i < dims.n_v; i++) {
        let to = velocity_first + i * TILE;
        velocity[to] = fma(row[r + (row_head(dims.row_width) + i) * TILE], x, velocity[to]);
    }
}

// One sweep; the sum of squares of the natural residual as each row and slot was met.
fn sweep() -> real {
    let zero = real(0.0);
    let one = real(1.0);
    var square = zero;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_ACTIVE * TILE] <= zero {
            continue;
        }
        let sigma = row_velocity(r);
        let lambda = row[r + ROW_IMPULSE * TILE];
        let compliance = row[r + ROW_COMPLIANCE * TILE];
        let left = lambda - row_clamp(r, (lambda - sigma) / (one + compliance));
        square += left * left;
        let moved = fma(compliance, lambda, sigma) / (row[r + ROW_BLOCK * TILE] + compliance);
        let next = row_clamp(r, lambda - moved);
        if next != lambda {
            row[r + ROW_IMPULSE * TILE] = next;
            push_row(r, next - lambda);
        }
    }
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        if slot_trace(c) <= zero {
            continue;
        }
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
        if row[r + ROW_IMPULSE * TILE] != real(0.0) {
            push_row(r, row[r + ROW_IMPULSE * TILE]);
        }
    }
}

// Writes this lane's problem out; velocity holds v_free.
fn gather() {
    let zero = real(0.0);
    for (var s = 0u; s < dense_slots; s++) {
        let c = slot_address(s);
        let trace = slot_trace(c);
        let there = zero < trace;
        let none = vec3<real>(zero, zero, zero);
        store_slot(lambda_first, s, select(none, load_lambda(s), there));
        store_slot(sigma_first, s, select(none, slot_velocity(c), there));
        let inverse = load_block(c + SLOT_INVERSE * TILE);
        let law = slot_law_first + 3u * s * TILE;
        work[law] = vec4<real>(inverse.g[0], inverse.g[1], inverse.g[2], inverse.g[3]);
        let rho = select(zero, SLOT_STEP / trace, there);
        work[law + TILE] = vec4<real>(inverse.g[4], inverse.g[5], constraint[c + SLOT_MU * TILE], rho);
        if relaxes {
            var caps = all_of(zero);
            if there {
                let steps = ask(c);
                caps = vec4<real>(steps.cap, steps.request);
            }
            work[law + 2u * TILE] = caps;
        }
    }
    for (var s = 0u; s < dense_slots; s += 2u) {
        for (var t = s; t < dense_slots; t += 2u) {
            gather_slots(s, t);
        }
    }
    var at = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_ACTIVE * TILE] <= zero {
            continue;
        }
        let compliance = row[r + ROW_COMPLIANCE * TILE];
        let rho = real(1.0) / (row[r + ROW_BLOCK * TILE] + compliance);
        let law = vec4<real>(row[r + ROW_LOWER * TILE], row[r + ROW_UPPER * TILE], compliance, rho);
        work[row_law_first + 2u * at * TILE] = law;
        if relaxes {
            work[row_law_first + (2u * at + 1u) * TILE] = vec4<real>(ask_row(r), real(0.0), real(0.0));
        }
        store(lambda_first, of_row(at), row[r + ROW_IMPULSE * TILE]);
        store(sigma_first, of_row(at), row_velocity(r));
        for (var s = 0u; s < dense_slots; s++) {
            gather_row_slot(r, of_row(at), s);
        }
        gather_row(r, of_row(at), compliance);
        at++;
    }
    for (; at < dense_rows; at++) {
        let i = of_row(at);
        work[row_law_first + 2u * at * TILE] = all_of(zero);
        work[row_law_first + (2u * at + 1u) * TILE] = all_of(zero);
        store(lambda_first, i, zero);
        store(sigma_first, i, zero);
        for (var j = 0u; j < dense_n; j++) {
            store(delassus_first + i * dense_span, j, zero);
            store(delassus_first + j * dense_span, i, zero);
        }
    }
    dense_start();
}

// Takes what gave way from what is asked for; whether there was anything.
fn note() -> bool {
    let tolerance = real(bitcast<f32>(dims.tolerance));
    var any = false;
    for (var s = 0u; s < dense_slots; s++) {
        let c = slot_address(s);
        let trace = slot_trace(c);
        let steps = slot_caps(s);
        for (var r = 0u; r < 3u && real(0.0) < trace; r++) {
            let lambda = load(lambda_first, of_slot(s, r));
            let sigma = load(sigma_first, of_slot(s, r));
            let mass = real(3.0) / trace;
            let by = steps_gives_way(steps.cap, steps.request[r], mass, tolerance, lambda, sigma);
            if by != real(0.0) {
                constraint[c + (SLOT_BIAS + r) * TILE] += by;
                constraint[c + (SLOT_RELAXED + r) * TILE] = by;
                any = true;
            }
        }
    }
    var at = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_ACTIVE * TILE] <= real(0.0) {
            continue;
        }
        let steps = row_caps(at);
        let lambda = load(lambda_first, of_row(at));
        let sigma = load(sigma_first, of_row(at));
        let mass = real(1.0) / row[r + ROW_BLOCK * TILE];
        let by = steps_gives_way(steps.x, steps.y, mass, tolerance, lambda, sigma);
        if by != real(0.0) {
            row[r + ROW_BIAS * TILE] += by;
            row[r + ROW_RELAXED * TILE] = by;
            any = true;
        }
        at++;
    }
    return any;
}

// G of slots s and s + 1 with slots t and t + 1, and its mirror image: G is symmetric. Where there is no second slot the
// first stands in for it.
fn gather_slots(s: u32, t: u32) {
    let span = dims.n_v * TILE;
    let s1 = min(s + 1u, dense_slots - 1u);
    let t1 = min(t + 1u, dense_slots - 1u);
    let a_first = slot_address(s) + SLOT_J * TILE;
    let b_first = slot_address(s1) + SLOT_J * TILE;
    let c_first = slot_address(t) + SLOT_J * TILE + 3u * span;
    let d_first = slot_address(t1) + SLOT_J * TILE + 3u * span;
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var ac = Three(zero, zero, zero);
    var ad = ac;
    var bc = ac;
    var bd = ac;
    for (var i = 0u; i < dims.n_v; i++) {
        let at = i * TILE;
        let a = load_column(a_first + at, span);
        let b = load_column(b_first + at, span);
        if all(a == zero) && all(b == zero) {
            continue;
        }
        let c = load_column(c_first + at, span);
        let d = load_column(d_first + at, span);
        ac = add_outer(a, c, ac);
        ad = add_outer(a, d, ad);
        bc = add_outer(b, c, bc);
        bd = add_outer(b, d, bd);
    }
    // Called at one place, see build/inlined.rs.
    for (var pair = 0u; pair < 4u; pair++) {
        var g = ac;
        if pair == 1u {
            g = ad;
        } else if pair == 2u {
            g = bc;
        } else if pair == 3u {
            g = bd;
        }
        store_pair(select(s, s1, pair > 1u), select(t, t1, pair % 2u == 1u), g);
    }
}

struct Three {
    a: vec3<real>,
    b: vec3<real>,
    c: vec3<real>,
}

// to + x y^T
fn add_outer(x: vec3<real>, y: vec3<real>, to: Three) -> Three {
    return Three(
        fma(vec3<real>(x.x, x.x, x.x), y, to.a),
        fma(vec3<real>(x.y, x.y, x.y), y, to.b),
        fma(vec3<real>(x.z, x.z, x.z), y, to.c),
    );
}

// G of slot s with slot t, and its mirror image.
fn store_pair(s: u32, t: u32, g: Three) {
    let rows = dense_slots * dense_span;
    let at = delassus_first + s * dense_span;
    store_slot(at, t, g.a);
    store_slot(at + rows, t, g.b);
    store_slot(at + 2u * rows, t, g.c);
    if s != t {
        let to = delassus_first + t * dense_span;
        store_slot(to, s, vec3<real>(g.a.x, g.b.x, g.c.x));
        store_slot(to + rows, s, vec3<real>(g.a.y, g.b.y, g.c.y));
        store_slot(to + 2u * rows, s, vec3<real>(g.a.z, g.b.z, g.c.z));
    }
}

// G of row number i with slot s, and its mirror image.
fn gather_row_slot(r: u32, i: u32, s: u32) {
    let span = dims.n_v * TILE;
    let y_first = slot_address(s) + (SLOT_J + 3u * dims.n_v) * TILE;
    var g = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var d = 0u; d < dims.row_width; d++) {
        let y = y_first + u32(row[r + (ROW_DOF + ROW_TERM * d) * TILE]) * TILE;
        let j = row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
        g = fma(vec3<real>(j, j, j), load_column(y, span), g);
    }
    store_slot(delassus_first + i * dense_span, s, g);
    let column = delassus_first + s * dense_span;
    let rows = dense_slots * dense_span;
    store(column, i, g.x);
    store(column + rows, i, g.y);
    store(column + 2u * rows, i, g.z);
}

// G of row number i with the rows, its compliance included.
fn gather_row(r: u32, i: u32, compliance: real) {
    var at = of_row(0u);
    for (var l = 0u; l < dims.n_row; l++) {
        let y = row_address(l);
        if row[y + ROW_ACTIVE * TILE] <= real(0.0) {
            continue;
        }
        var g = real(0.0);
        for (var d = 0u; d < dims.row_width; d++) {
            let dof = u32(row[r + (ROW_DOF + ROW_TERM * d) * TILE]);
            let response = row[y + (row_head(dims.row_width) + dof) * TILE];
            g = fma(row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE], response, g);
        }
        store(delassus_first + i * dense_span, at, g + select(real(0.0), compliance, at == i));
        at++;
    }
}

// Puts the impulses back.
fn scatter() {
    for (var s = 0u; s < dense_slots; s++) {
        if real(0.0) < slot_trace(slot_address(s)) {
            store_lambda(s, load_slot(lambda_first, s));
        }
    }
    var at = 0u;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if real(0.0) < row[r + ROW_ACTIVE * TILE] {
            row[r + ROW_IMPULSE * TILE] = load(lambda_first, of_row(at));
            at++;
        }
    }
}

// Finds a lane's slots, rows and velocity, and its workspace; returns where that begins.
fn place(lane: u32) -> u32 {
    let tile = lane / TILE * SLOTS;
    slot_count = slots[tile + 1u];
    slot_first = slot_base(lane, slots[tile], 0u, slot_reals(dims.n_v));
    impulse_first = slot_base(lane, slots[tile], 0u, 3u);
    row_first = tile_base(lane, dims.n_row * row_stride(dims.n_v, dims.row_width));
    velocity_first = tile_base(lane, dims.n_v);
    return tile_base(lane, dense_memory(dims.rows));
}

// What a lane is to do.
fn part_of(lane: u32) -> u32 {
    let word = status[lane];
    if (word & STATUS_APART) != 0u {
        return PART_NONE;
    }
    if (word & STATUS_GAVE_WAY) == 0u {
        return PART_SOLVES;
    }
    return select(PART_NONE, PART_RELAXES, newton > 0u);
}

// Where a lane's solve stands, after `place`; finds its problem.
fn resume(lane: u32, first: u32) -> u32 {
    relaxes = part_of(lane) == PART_RELAXES;
    let size = work[first + DENSE_SIZE * TILE];
    dense_place(first, u32(size.x), u32(size.y));
    return u32(size.w);
}

// Writes a lane's problem out, or where it is too large starts the velocity; and the first sweeps.
fn prepare(lane: u32) {
    let zero = real(0.0);
    let one = real(1.0);
    let first = place(lane);
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
        n_row += select(0u, 1u, zero < row[row_address(k) + ROW_ACTIVE * TILE]);
    }
    dense_place(first, n_slot, n_row);
    let enough = real(bitcast<f32>(dims.tolerance)) * max(contacts, one);
    var stage = STAGE_NONE;
    let is_large = dense_n > min(dims.rows, DEVICE_ROWS);
    let part = part_of(lane);
    relaxes = part == PART_RELAXES;
    if part == PART_SOLVES {
        stage = select(STAGE_WRITTEN, STAGE_LARGE, is_large);
    } else if relaxes && !is_large {
        stage = STAGE_WRITTEN;
    }
    let written = stage == STAGE_WRITTEN;
    if written {
        gather();
    } else if stage == STAGE_LARGE {
        start();
    }
    var error = zero;
    var sweeps = zero;
    for (var k = 0u; k < min(FIRST, dims.sweeps) && !relaxes; k++) {
        if stage == STAGE_WRITTEN {
            error = sqrt(dense_sweep());
        } else if stage == STAGE_LARGE {
            error = sqrt(sweep());
        } else {
            break;
        }
        sweeps += one;
        stage += select(0u, 2u, error <= enough);
    }
    if stage == STAGE_WRITTEN {
        error = sqrt(natural());
        stage += select(0u, 2u, error <= enough);
    }
    work[first + DENSE_MERITS * TILE] = all_of(zero);
    work[first + (DENSE_MERITS + 1u) * TILE] = all_of(zero);
    work[first + DENSE_PROGRESS * TILE] = vec4<real>(first_proximal(), error, zero, sweeps);
    work[first + DENSE_SIZE * TILE] = vec4<real>(real(n_slot), real(n_row), zero, real(stage));
    work[first + DENSE_AIM * TILE] = vec4<real>(enough, contacts, STRETCH, zero);
}

// Whether a lane has rounds left to go.
fn is_open(lane: u32) -> bool {
    let stage = resume(lane, place(lane));
    let rounds = work[state_first + DENSE_SIZE * TILE].z;
    return (stage == STAGE_WRITTEN || stage == STAGE_LARGE) && rounds < real(dims.sweeps);
}

// A round of the lane that `is_open` found; whether there is another to go.
fn advance_lane() -> bool {
    let at = state_first + DENSE_PROGRESS * TILE;
    var size = work[state_first + DENSE_SIZE * TILE];
    var progress = work[at];
    var hopeless = false;
    if size.w == real(STAGE_WRITTEN) {
        progress = dense_round(newton > 0u, progress);
        hopeless = runs_away();
    } else {
        progress.y = sqrt(sweep());
        progress.w += real(1.0);
    }
    work[at] = progress;
    let done = progress.y <= work[state_first + DENSE_AIM * TILE].x;
    size.z = select(size.z + real(1.0), real(dims.sweeps), hopeless);
    size.w += select(real(0.0), real(2.0), done);
    work[state_first + DENSE_SIZE * TILE] = size;
    return !done && size.z < real(dims.sweeps);
}

// Whether no sweep can say that a lane is solved.
fn hopeless() -> bool {
    var largest = real(0.0);
    for (var s = 0u; s < slot_count; s++) {
        let lambda = abs(load_lambda(s));
        largest = max(largest, max(lambda.x, max(lambda.y, lambda.z)));
    }
    for (var k = 0u; k < dims.n_row; k++) {
        largest = max(largest, abs(row[row_address(k) + ROW_IMPULSE * TILE]));
    }
    return ABSURD < largest;
}

// Whether a lane's solution flings its bodies about.
fn flings() -> bool {
    for (var s = 0u; s < slot_count; s++) {
        if slot_flings(s) {
            return true;
        }
    }
    return false;
}

// Whether the impulses of a lane make sense.
fn sensible() -> bool {
    for (var s = 0u; s < slot_count; s++) {
        let c = slot_address(s);
        let lambda = load_lambda(s);
        let bias = vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
        if !local_is_sensible(constraint[c + SLOT_MU * TILE], slot_trace(c), lambda, bias) {
            return false;
        }
    }
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        let is_hard = real(0.0) < row[r + ROW_ACTIVE * TILE] && row[r + ROW_COMPLIANCE * TILE] <= real(0.0);
        if is_hard && !local_is_sensible_row(row[r + ROW_BLOCK * TILE], row[r + ROW_IMPULSE * TILE], row[r + ROW_BIAS * TILE]) {
            return false;
        }
    }
    return true;
}

// Puts a lane's impulses, velocity and report where they belong.
fn finish(lane: u32) {
    let first = place(lane);
    let stage = resume(lane, first);
    var gave_way = false;
    if stage == STAGE_WRITTEN_DONE || stage == STAGE_WRITTEN && !relaxes {
        scatter();
        gave_way = relaxes && note();
    }
    if stage != STAGE_LARGE && stage != STAGE_LARGE_DONE {
        start();
    }
    if stage != STAGE_NONE {
        let out = tile_base(lane, INFO_SIZE + dims.n_v);
        let progress = work[first + DENSE_PROGRESS * TILE];
        let contacts = work[first + DENSE_AIM * TILE].y;
        info[out + INFO_SWEEPS * TILE] = progress.w;
        info[out + INFO_NEWTON * TILE] = progress.z;
        info[out + INFO_STOPPED_AT * TILE] = progress.y / max(contacts, real(1.0));
    }
    let flung = STAGE_LARGE < stage && flings();
    let converged = STAGE_LARGE < stage && !hopeless() && !flung;
    let doubtful = !converged && part_of(lane) == PART_SOLVES && (flung || !sensible());
    status[lane] = ended(status[lane], converged, gave_way, doubtful);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = lane_index(group, local);
    if (phases & PHASE_PREPARE) != 0u && index < dims.lanes {
        prepare(index);
    }
    if (phases & PHASE_ROUNDS) != 0u && index < min(dims.stride, dims.lanes) {
        var lane = index;
        var open = is_open(lane);
        for (var k = 0u; k < dims.budget; k++) {
            for (var next = lane + dims.stride; !open && next < dims.lanes; next += dims.stride) {
                lane = next;
                open = is_open(lane);
            }
            if !open {
                break;
            }
            open = advance_lane();
        }
    }
    if (phases & PHASE_FINISH) != 0u && index < dims.lanes {
        finish(index);
    }
}
