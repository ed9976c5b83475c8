// Temporal Gauss-Seidel, a workgroup an island: colours in order, lanes over the constraints of a colour.
#import index
#import contact/local
#import contact/island
#import contact/island_sweep

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_jac: array<real>;
@group(0) @binding(3) var<storage, read> island_con: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> island_work: array<real>;
@group(0) @binding(7) var<storage, read_write> island_info: array<real>;

var<workgroup> before_stopped: u32;

// Inverse of the number of parts.
fn tgs_share() -> real {
    return real(1.0) / real(dims.substeps);
}

fn scaled_block(at: u32, factor: real) -> Block {
    var block = con_block(at);
    for (var e = 0u; e < 6u; e++) {
        block.g[e] *= factor;
    }
    return block;
}

// A constraint moves the velocity by `d`.
fn push(record: ConstraintRecord, d: vec3<real>, region: u32) {
    if record.kind == KIND_BLOCK {
        block_apply(record, d, region);
    } else {
        row_apply(record, d.x, region);
    }
}

// Lets in the next part: free motion, and impulses as they were.
fn begin_part(own: IslandRecord, local: u32, region: u32) {
    let share = tgs_share();
    for (var k = own.velocity_begin + local; k < own.velocity_end; k += ISLAND_WIDTH) {
        let part = velocity[REGION_FREE * dims.n_velocity + k] - velocity[REGION_SCRATCH * dims.n_velocity + k];
        velocity[region + k] = fma(share, part, velocity[region + k]);
    }
    storageBarrier();
    var begin = own.constraint_begin;
    for (var colour = own.colour_begin; colour < own.colour_end; colour++) {
        let end = colour_end(colour);
        for (var i = begin + local; i < end; i += ISLAND_WIDTH) {
            push(constraint_record(i), share * impulse_at(i), region);
        }
        begin = end;
        storageBarrier();
    }
}

// Solves one constraint with the others held.
fn visit(i: u32, region: u32) {
    let share = tgs_share();
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    let lambda = impulse_at(i);
    var next = lambda;
    if record.kind == KIND_BLOCK {
        let sigma = block_sigma(record, con_bias(c), region);
        let block = scaled_block(c + CON_DELASSUS, share);
        let inverse = scaled_block(c + CON_INVERSE, real(dims.substeps));
        next = local_solve(island_con[c + CON_FRICTION], block, inverse, lambda, sigma);
    } else {
        next.x = row_solve_share(c, share, lambda.x, row_sigma(record, c, region));
    }
    impulse[3u * i] = next.x;
    impulse[3u * i + 1u] = next.y;
    impulse[3u * i + 2u] = next.z;
    push(record, share * (next - lambda), region);
}

fn sweep(own: IslandRecord, local: u32, region: u32) {
    var begin = own.constraint_begin;
    for (var colour = own.colour_begin; colour < own.colour_end; colour++) {
        let end = colour_end(colour);
        for (var i = begin + local; i < end; i += ISLAND_WIDTH) {
            visit(i, region);
        }
        begin = end;
        storageBarrier();
    }
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = island_record(island);
    let region = REGION_SOLUTION * dims.n_velocity;
    if local == 0u {
        before_stopped = select(0u, 1u, dims.done > 0u && real(0.0) < island_info[INFO_SIZE * island + INFO_STOPPED]);
    }
    if workgroupUniformLoad(&before_stopped) != 0u {
        return;
    }
    var stopped = false;
    if dims.done == 0u {
        island_recompute(own, local, region);
        stopped = island_solved(island_measure(own, local, region));
        if !stopped {
            for (var k = own.velocity_begin + local; k < own.velocity_end; k += ISLAND_WIDTH) {
                velocity[region + k] = velocity[REGION_SCRATCH * dims.n_velocity + k];
            }
            for (var i = 3u * own.constraint_begin + local; i < 3u * own.constraint_end; i += ISLAND_WIDTH) {
                island_work[i] = real(0.0);
            }
        }
    }
    for (var turn = dims.done; turn < dims.iterations && !stopped; turn++) {
        if turn % dims.sweeps == 0u {
            begin_part(own, local, region);
        }
        sweep(own, local, region);
        if (turn + 1u) % dims.sweeps == 0u {
            for (var i = 3u * own.constraint_begin + local; i < 3u * own.constraint_end; i += ISLAND_WIDTH) {
                island_work[i] = fma(tgs_share(), impulse[i], island_work[i]);
            }
            storageBarrier();
        }
    }
    if dims.iterations == dims.substeps * dims.sweeps && !stopped {
        for (var i = 3u * own.constraint_begin + local; i < 3u * own.constraint_end; i += ISLAND_WIDTH) {
            impulse[i] = island_work[i];
        }
        storageBarrier();
        island_recompute(own, local, region);
    }
    if local == 0u {
        island_info[INFO_SIZE * island + INFO_ITERATIONS] = select(real(dims.iterations), real(0.0), stopped);
        island_info[INFO_SIZE * island + INFO_STOPPED] = select(real(0.0), real(1.0), stopped);
    }
}
