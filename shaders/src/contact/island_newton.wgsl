// Newton steps on the islands that sweeps have not solved, a workgroup an island. See island_newton.rs.
#import index
#import contact/local
#import contact/island
#import contact/island_sweep
#import contact/globalise
#import contact/steps
#import contact/dense_group

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_jac: array<real>;
@group(0) @binding(3) var<storage, read_write> island_con: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> island_info: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;

const GROUP_WIDTH: u32 = ISLAND_WIDTH;
const MOST_ROWS: u32 = DEVICE_ROWS;
// In single precision of 44 rows.
const NEAR_BYTES: u32 = 8704u;

var<workgroup> skipped: u32;

// The problem's place: how many blocks and rows the island has says its size.
fn place(own: IslandRecord) -> Dense {
    var blocks = 0u;
    for (var i = own.constraint_begin; i < own.constraint_end; i++) {
        blocks += select(0u, 1u, is_block(constraint_record(i)));
    }
    return dense_place(own.work, blocks, own.constraint_end - own.constraint_begin - blocks);
}

fn is_block(c: ConstraintRecord) -> bool {
    return c.kind == KIND_BLOCK;
}

// Row r of a constraint in the dense problem.
fn dense_row(d: Dense, c: ConstraintRecord, r: u32) -> u32 {
    if is_block(c) {
        return of_slot(d, c.place, r);
    }
    return of_row(d, c.place);
}

fn rows_of(c: ConstraintRecord) -> u32 {
    return select(1u, 3u, is_block(c));
}

// `share / response`, or none for a constraint that moves nothing.
fn step_of(share: real, response: real) -> real {
    return select(real(0.0), share / response, real(0.0) < response);
}

// One constraint without its Delassus rows.
fn gather(d: Dense, i: u32, region: u32) {
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    let lambda = impulse_at(i);
    if is_block(record) {
        let slot = record.place;
        let block = con_block(c + CON_DELASSUS);
        let rho = step_of(SLOT_STEP, block.g[0] + block.g[3] + block.g[5]);
        store_slot(d, d.lambda, slot, lambda);
        store_slot(d, d.sigma, slot, block_sigma(record, con_bias(c), region));
        store_slot(d, d.rho, slot, vec3<real>(rho, rho, rho));
        work[d.friction + slot] = island_con[c + CON_FRICTION];
        for (var e = 0u; e < 6u; e++) {
            work[d.inverse + e * d.slots + slot] = island_con[c + CON_INVERSE + e];
        }
        return;
    }
    let k = record.place;
    let row = of_row(d, k);
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    let sigma = row_sigma(record, c, region) + island_con[c + CON_ROW_BIAS];
    work[d.lambda + row] = lambda.x;
    work[d.sigma + row] = fma(compliance, lambda.x, sigma);
    work[d.rho + row] = step_of(real(1.0), island_con[c + CON_ROW_DELASSUS] + compliance);
    work[d.lower + k] = island_con[c + CON_ROW_LOWER];
    work[d.upper + k] = island_con[c + CON_ROW_UPPER];
    work[d.compliance + k] = compliance;
}

// What a constraint asks for, and up to which impulse.
fn ask(d: Dense, i: u32) {
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    let region = REGION_FREE * dims.n_velocity;
    let zero = real(0.0);
    if is_block(record) {
        let request = steps_requests(island_con[c + CON_FRICTION], con_bias(c));
        let free = block_sigma(record, vec3<real>(zero, zero, zero), region);
        let tangents = max(steps_speed_of_cap(request.x, free.x), steps_speed_of_cap(request.y, free.y));
        let speed = max(tangents, steps_speed_of_cap(request.z, free.z));
        store_slot(d, d.request, record.place, request);
        work[d.cap + record.place] = speed * mass_of(c, true);
        return;
    }
    let lower = island_con[c + CON_ROW_LOWER];
    let upper = island_con[c + CON_ROW_UPPER];
    let request = steps_row_request(island_con[c + CON_ROW_BIAS], island_con[c + CON_ROW_COMPLIANCE], lower, upper);
    let speed = steps_speed_of_cap(request, row_sigma(record, c, region));
    work[d.request + of_row(d, record.place)] = request;
    work[d.cap + d.slots + record.place] = speed * mass_of(c, false);
}

// Takes what gave way of a constraint from what it asks for.
fn note(d: Dense, i: u32) {
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    let cap = work[d.cap + record.place + select(d.slots, 0u, is_block(record))];
    let mass = mass_of(c, is_block(record));
    let tolerance = real(bitcast<f32>(dims.tolerance));
    for (var r = 0u; r < rows_of(record); r++) {
        let at = dense_row(d, record, r);
        let by = steps_gives_way(cap, work[d.request + at], mass, tolerance, held[LAMBDA + at], held[SIGMA + at]);
        island_con[c + CON_BIAS + r] += by;
        island_con[c + CON_RELAXED + r] = by;
    }
}

// Adds what two sides on the same tree give to G, and its mirror image.
fn add_pair(d: Dense, a: SideRecord, of_a: ConstraintRecord, b: SideRecord, of_b: ConstraintRecord, same: bool) {
    for (var r = 0u; r < rows_of(of_a); r++) {
        let i = dense_row(d, of_a, r);
        for (var s = 0u; s < rows_of(of_b); s++) {
            let k = dense_row(d, of_b, s);
            let j_at = a.jac + r * a.count;
            let y_at = b.jac + (rows_of(of_b) + s) * b.count;
            var x = real(0.0);
            for (var e = 0u; e < a.count; e++) {
                x = fma(island_jac[j_at + e], island_jac[y_at + e], x);
            }
            work[d.delassus + i * d.n + k] += x;
            if !same {
                work[d.delassus + k * d.n + i] += x;
            }
        }
    }
}

// `G = J A^-1 J^T` by pairs of constraints that share a tree, and the compliances.
fn gather_delassus(d: Dense, own: IslandRecord, local: u32) {
    let count = own.constraint_end - own.constraint_begin;
    for (var pair = local; pair < count * count; pair += ISLAND_WIDTH) {
        let i = own.constraint_begin + pair / count;
        let k = own.constraint_begin + pair % count;
        if k < i {
            continue;
        }
        let first = constraint_record(i);
        let second = constraint_record(k);
        for (var s = first.side_begin; s < first.side_end; s++) {
            let a = side_record(s);
            for (var t = second.side_begin; t < second.side_end; t++) {
                let b = side_record(t);
                if a.velocity == b.velocity {
                    add_pair(d, a, first, b, second, i == k);
                }
            }
        }
        if i == k && !is_block(first) {
            let row = of_row(d, first.place);
            work[d.delassus + row * d.n + row] += island_con[CON_SIZE * i + CON_ROW_COMPLIANCE];
        }
    }
}

// The mass that a constraint moves, kg.
fn mass_of(c: u32, is_of_three: bool) -> real {
    if is_of_three {
        return step_of(real(3.0), con_trace(c));
    }
    return step_of(real(1.0), island_con[c + CON_ROW_DELASSUS]);
}

// Residual (number 1, in `square`) and scaled residual.
fn dense_measure(d: Dense, own: IslandRecord, local: u32) -> Residuals {
    let one = real(1.0);
    var mine = Residuals(real(0.0), real(0.0));
    for (var slot = local; slot < d.slots; slot += ISLAND_WIDTH) {
        let mu = work[d.friction + slot];
        let rho = work[d.rho + slot];
        let lambda = held_slot(d, LAMBDA, slot);
        let sigma = held_slot(d, SIGMA, slot);
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
        let lambda = held[LAMBDA + i];
        let sigma = held[SIGMA + i];
        let left = row_left(d, k, lambda, sigma);
        mine.square += left * left;
        let exact = lambda - bounded(d, k, rho, lambda - rho * sigma);
        let scaled = abs(exact) * (one / rho - work[d.compliance + k]);
        mine.scaled = island_worse(mine.scaled, select(real(0.0), scaled, real(0.0) < work[d.rho + i]));
    }
    return island_reduce(own, local, mine);
}

// Puts an impulse back.
fn scatter(d: Dense, i: u32) {
    let record = constraint_record(i);
    for (var r = 0u; r < rows_of(record); r++) {
        impulse[3u * i + r] = held[LAMBDA + dense_row(d, record, r)];
    }
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = island_record(island);
    let out = INFO_SIZE * island;
    if local == 0u {
        skipped = select(0u, 1u, own.work == NONE || real(0.0) < island_info[out + INFO_STOPPED]);
    }
    if workgroupUniformLoad(&skipped) != 0u {
        return;
    }
    let region = REGION_SOLUTION * dims.n_velocity;
    let d = place(own);
    relaxes = own.part == PART_RELAXES || own.part == PART_ASKS;
    if dims.done == 0u {
        island_recompute(own, local, region);
        for (var i = d.delassus + local; i < d.matrix; i += ISLAND_WIDTH) {
            work[i] = real(0.0);
        }
        dense_clear(d, local);
        for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
            gather(d, i, region);
            if relaxes {
                ask(d, i);
            }
        }
        gather_delassus(d, own, local);
        storageBarrier();
    }
    dense_load(d, local);
    var rounds = dims.done;
    var stopped = false;
    var solved = false;
    var running = true;
    for (var turn = dims.done; turn <= dims.iterations && running; turn++) {
        let r = dense_measure(d, own, local);
        let hopeless = !(is_finite(r.square) && is_finite(r.scaled)) || runs_away(d, local);
        solved = island_solved(Residuals(r.square / AIM, r.scaled / AIM)) && !hopeless;
        stopped = solved || hopeless;
        running = !(stopped || rounds >= dims.iterations);
        if running {
            dense_round(d, local, true, select(SWEEPS, 1u, relaxes), real(-1.0));
            rounds += 1u;
        }
    }
    dense_save(d, local);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        if relaxes && solved {
            note(d, i);
        }
        if solved || !relaxes {
            scatter(d, i);
        }
    }
    storageBarrier();
    island_recompute(own, local, region);
    if local == 0u {
        island_info[out + INFO_ITERATIONS] += real(rounds - dims.done);
        island_info[out + INFO_STOPPED] = select(real(0.0), real(1.0), stopped);
    }
}
