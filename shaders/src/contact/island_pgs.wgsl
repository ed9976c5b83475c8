// Projected Gauss-Seidel, a workgroup an island: colours in order, lanes over the constraints of a colour.
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
@group(0) @binding(6) var<storage, read_write> island_info: array<real>;

var<workgroup> before_stopped: u32;

// Solves one constraint with the others held. Returns the residuals that it had.
fn visit(i: u32, region: u32) -> Residuals {
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    let lambda = impulse_at(i);
    if record.kind == KIND_BLOCK {
        let mu = island_con[c + CON_FRICTION];
        let block = con_block(c + CON_DELASSUS);
        let sigma = block_sigma(record, con_bias(c), region);
        let r = local_residual(mu, real(1.0), lambda, sigma);
        let next = local_solve(mu, block, con_block(c + CON_INVERSE), lambda, sigma);
        let d = next - lambda;
        block_apply(record, d, region);
        impulse[3u * i] = next.x;
        impulse[3u * i + 1u] = next.y;
        impulse[3u * i + 2u] = next.z;
        let length = sqrt(fma(d.x, d.x, fma(d.y, d.y, d.z * d.z)));
        let trace = block.g[0] + block.g[3] + block.g[5];
        return Residuals(fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)), length * trace / real(3.0));
    }
    if row_is_idle(c, lambda.x) {
        return Residuals(real(0.0), real(0.0));
    }
    let sigma = row_sigma(record, c, region);
    let r = row_residual(c, real(1.0), lambda.x, sigma);
    let next = row_solve(c, lambda.x, sigma);
    row_apply(record, next - lambda.x, region);
    impulse[3u * i] = next;
    return Residuals(r * r, abs(next - lambda.x) * island_con[c + CON_ROW_DELASSUS]);
}

fn sweep(own: IslandRecord, local: u32, region: u32) -> Residuals {
    var mine = Residuals(real(0.0), real(0.0));
    var begin = own.constraint_begin;
    for (var colour = own.colour_begin; colour < own.colour_end; colour++) {
        let end = colour_end(colour);
        for (var i = begin + local; i < end; i += ISLAND_WIDTH) {
            let r = visit(i, region);
            mine.square += r.square;
            mine.scaled = island_worse(mine.scaled, r.scaled);
        }
        begin = end;
        storageBarrier();
    }
    return island_reduce(own, local, mine);
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = island_record(island);
    let region = REGION_SOLUTION * dims.n_velocity;
    // Of the dispatch before: nothing left to do.
    if local == 0u {
        before_stopped = select(0u, 1u, dims.done > 0u && real(0.0) < island_info[INFO_SIZE * island + INFO_STOPPED]);
    }
    if workgroupUniformLoad(&before_stopped) != 0u {
        return;
    }
    if own.part != PART_SOLVES {
        island_recompute(own, local, region);
        if local == 0u && dims.done == 0u {
            island_info[INFO_SIZE * island + INFO_ITERATIONS] = real(0.0);
            island_info[INFO_SIZE * island + INFO_STOPPED] = select(real(0.0), real(1.0), own.part == PART_NONE);
        }
        return;
    }
    // Looks converged: the sweep says so, and the residual of the impulses alone decides.
    var check = true;
    var done = dims.done;
    var running = true;
    var stopped = false;
    for (var turn = 0u; turn <= 2u * (dims.iterations - dims.done) + 1u && running; turn++) {
        if check {
            island_recompute(own, local, region);
            let r = island_measure(own, local, region);
            let hopeless = !(is_finite(r.square) && is_finite(r.scaled));
            stopped = island_solved(r) || hopeless;
            running = !(stopped || done >= dims.iterations);
            check = false;
        } else {
            let r = sweep(own, local, region);
            done += 1u;
            check = island_solved(r) || done >= dims.iterations;
        }
    }
    if local == 0u {
        // Newton steps may have come between.
        let before = select(real(0.0), island_info[INFO_SIZE * island + INFO_ITERATIONS], dims.done > 0u);
        island_info[INFO_SIZE * island + INFO_ITERATIONS] = before + real(done - dims.done);
        island_info[INFO_SIZE * island + INFO_STOPPED] = select(real(0.0), real(1.0), stopped);
    }
}
