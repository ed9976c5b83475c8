// Newton steps with conjugate residuals on all islands of a chunk, a workgroup an island. See mod.rs.
#import index
#import contact/local
#import contact/island
#import contact/island_sweep
#import contact/newton_cr/layout
#import contact/newton_cr/ncp
#import contact/newton_cr/rows
#import contact/newton_cr/residual

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> cr_index: array<u32>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> island_con: array<real>;
@group(0) @binding(5) var<storage, read_write> impulse: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> cr: array<real>;
@group(0) @binding(8) var<storage, read_write> island_info: array<real>;

const STOPPED_BROKEN: i32 = -1;
const STOPPED_NOT: i32 = 0;
const STOPPED_SOLVED: i32 = 1;

// Iterations of the linear solver plus one, or none for an island that is to be left alone.
var<workgroup> told: u32;

// The velocity that the impulses give, into region SOLUTION: as by `island_recompute`, each degree of freedom by one lane.
fn velocities(own: IslandRecord, local: u32) {
    for (var k = own.velocity_begin + local; k < own.velocity_end; k += ISLAND_WIDTH) {
        let dof = dof_record(k);
        var sum = velocity[REGION_FREE * dims.n_velocity + k];
        for (var item = dof.begin; item < dof.end; item++) {
            let at = dims.items_at + 2u * item;
            let y = cr_index[at] + dof.place;
            let which = cr_index[at + 1u];
            let x = 3u * (which >> 1u);
            if (which & 1u) == 0u {
                sum = fma(island_jac[y + 2u * dof.count], impulse[x + 2u], sum);
                sum = fma(island_jac[y + dof.count], impulse[x + 1u], sum);
            }
            sum = fma(island_jac[y], impulse[x], sum);
        }
        velocity[REGION_SOLUTION * dims.n_velocity + k] = sum;
    }
    storageBarrier();
}

// One row of the linear system into the term of its constraint.
fn store_row(t: u32, r: u32, row: Row, g: real) {
    let zero = real(0.0);
    let compliance = select(zero, fma(setting(dims.shift), g, row.c), row.solved);
    let whole = compliance + g;
    cr[t + TERM_COMPLIANCE + r] = compliance;
    cr[t + TERM_PRECONDITIONER + r] = select(zero, real(1.0) / whole, row.solved && zero < whole);
    cr[t + TERM_X + r] = select(row.x, zero, row.solved);
    cr[t + TERM_R + r] = select(zero, row.x, row.solved);
    cr[t + TERM_D + r] = zero;
    cr[t + TERM_MD + r] = zero;
}

// The residuals (number 1 and the scaled one) at the impulses, and the rows of a step from there.
fn assess(own: IslandRecord, local: u32) -> Residuals {
    let zero = real(0.0);
    let region = REGION_SOLUTION * dims.n_velocity;
    var mine = Residuals(zero, zero);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let record = constraint_record(i);
        let c = CON_SIZE * i;
        let t = TERM_SIZE * i;
        let lambda = impulse_at(i);
        var r: Residuals;
        if record.kind == KIND_BLOCK {
            let hat = block_sigma(record, con_bias(c), region);
            r = constraint_residual(KIND_BLOCK, c, lambda, hat);
            let rows = rows_block(c, lambda, hat);
            let g = c + CON_DELASSUS;
            store_row(t, 0u, rows[0], island_con[g]);
            store_row(t, 1u, rows[1], island_con[g + 3u]);
            store_row(t, 2u, rows[2], island_con[g + 5u]);
        } else {
            let sigma = row_sigma(record, c, region);
            r = constraint_residual(KIND_ROW, c, lambda, vec3<real>(sigma, zero, zero));
            store_row(t, 0u, rows_single(c, lambda.x, sigma + island_con[c + CON_ROW_BIAS]), island_con[c + CON_ROW_DELASSUS]);
            store_row(t, 1u, row_fixed(zero), zero);
            store_row(t, 2u, row_fixed(zero), zero);
        }
        mine.square += r.square;
        mine.scaled = island_worse(mine.scaled, r.scaled);
    }
    storageBarrier();
    return island_reduce(own, local, mine);
}

// Takes in what a step came to; the lanes all find the same.
fn note(own: IslandRecord, local: u32, state: u32, residual: real, first: bool) {
    let before = cr[state + STATE_LAST];
    let best = cr[state + STATE_BEST];
    let better = first || residual < best;
    storageBarrier();
    if local == 0u {
        let fell = !first && residual < FELL * before;
        cr[state + STATE_SHARE] = select(setting(dims.damping), real(1.0), fell);
        cr[state + STATE_LAST] = residual;
        cr[state + STATE_BEST] = select(best, residual, better);
    }
    if better {
        for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
            cr_store(TERM_SIZE * i + TERM_BEST, impulse_at(i));
        }
    }
    storageBarrier();
}

// A share of the step into the impulses.
fn take(own: IslandRecord, local: u32, state: u32) {
    let share = cr[state + STATE_SHARE];
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        for (var r = 0u; r < 3u; r++) {
            impulse[3u * i + r] = fma(share, cr[TERM_SIZE * i + TERM_X + r], impulse[3u * i + r]);
        }
    }
    storageBarrier();
}

// Back to the best impulses.
fn restore(own: IslandRecord, local: u32) {
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        for (var r = 0u; r < 3u; r++) {
            impulse[3u * i + r] = cr[TERM_SIZE * i + TERM_BEST + r];
        }
    }
    storageBarrier();
    velocities(own, local);
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let out = INFO_SIZE * island;
    if local == 0u {
        let rests = dims.done > 0u && island_info[out + INFO_STOPPED] != real(0.0);
        told = select(cr_index[island] + 1u, 0u, rests);
    }
    let given = workgroupUniformLoad(&told);
    if given == 0u {
        return;
    }
    let linear = given - 1u;
    let own = island_record(island);
    let state = TERM_SIZE * dims.n_constraints + STATE_SIZE * island;
    let last = select(dims.done, dims.iterations, linear > 0u);
    var stopped = STOPPED_NOT;
    var steps = 0u;
    var running = true;
    for (var turn = dims.done; turn <= last && running; turn++) {
        velocities(own, local);
        let r = assess(own, local);
        if turn > dims.done || turn == 0u {
            note(own, local, state, r.square, turn == 0u);
        }
        if !(is_finite(r.square) && is_finite(r.scaled)) {
            stopped = STOPPED_BROKEN;
        } else if island_solved(r) {
            stopped = STOPPED_SOLVED;
        }
        running = stopped == STOPPED_NOT && turn < last;
        if running {
            residual(own, local, linear);
            take(own, local, state);
            steps += 1u;
        }
    }
    if stopped == STOPPED_BROKEN || (stopped == STOPPED_NOT && dims.done + steps >= dims.most) {
        restore(own, local);
    }
    if local == 0u {
        let before = select(island_info[out + INFO_ITERATIONS], real(0.0), dims.done == 0u);
        island_info[out + INFO_ITERATIONS] = before + real(steps);
        island_info[out + INFO_STOPPED] = real(stopped);
    }
}
