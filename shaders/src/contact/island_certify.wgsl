// Residuals, penetration and status of every island, from the problem and the impulses alone; a workgroup an island.
#import index
#import contact/local
#import contact/island
#import contact/island_sweep

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_contact: array<real>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> island_con: array<real>;
@group(0) @binding(5) var<storage, read> impulse: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> island_info: array<real>;
@group(0) @binding(8) var<storage, read_write> island_status: array<u32>;

// Whether the impulses of a constraint make sense.
fn is_sensible(k: u32) -> bool {
    let c = CON_SIZE * k;
    let lambda = impulse_at(k);
    if constraint_record(k).kind == KIND_ROW {
        let is_hard = island_con[c + CON_ROW_COMPLIANCE] <= real(0.0);
        return !is_hard || local_is_sensible_row(island_con[c + CON_ROW_DELASSUS], lambda.x, island_con[c + CON_ROW_BIAS]);
    }
    let bias = vec3<real>(island_con[c], island_con[c + 1u], island_con[c + 2u]);
    return local_is_sensible(island_con[c + CON_FRICTION], con_trace(c), lambda, bias);
}

// Whether a solution flings the bodies of a contact about, which hardly part: what it changes along it between two velocities.
fn flings(k: u32, region: u32) -> bool {
    let c = CON_SIZE * k;
    if !local_is_costly(island_con[c + CON_FRICTION], con_trace(c), impulse_at(k).z, island_con[c + CON_BIAS + 2u]) {
        return false;
    }
    let record = constraint_record(k);
    let none = vec3<real>(real(0.0), real(0.0), real(0.0));
    let slides = block_sigma(record, none, region) - block_sigma(record, none, REGION_FREE * dims.n_velocity);
    return FLINGS < fma(slides.x, slides.x, slides.y * slides.y);
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = island_record(island);
    let region = REGION_SCRATCH * dims.n_velocity;
    island_recompute(own, local, region);
    let r = island_measure(own, local, region);
    if local != 0u {
        return;
    }
    var deepest = real(0.0);
    var largest = real(0.0);
    var left_out = real(0.0);
    var sensible = true;
    var gave_way = false;
    var flung = false;
    for (var k = own.constraint_begin; k < own.constraint_end; k++) {
        let lambda = abs(impulse_at(k));
        largest = max(largest, max(lambda.x, max(lambda.y, lambda.z)));
        sensible = sensible && is_sensible(k);
        let rows = select(1u, 3u, constraint_record(k).kind == KIND_BLOCK);
        for (var r = 0u; r < rows; r++) {
            gave_way = gave_way || island_con[CON_SIZE * k + CON_RELAXED + r] != real(0.0);
        }
        if constraint_record(k).kind == KIND_BLOCK && island_con[CON_SIZE * k + CON_FRICTION] >= real(0.0) {
            left_out += select(real(0.0), real(1.0), APART <= island_con[CON_SIZE * k + CON_BIAS + 2u]);
            deepest = max(deepest, -island_contact[CONTACT_SIZE * k + CONTACT_DISTANCE]);
            flung = flung || flings(k, region);
        }
    }
    let at = INFO_SIZE * island;
    island_info[at + INFO_RESIDUAL] = r.square;
    island_info[at + INFO_SCALED] = r.scaled;
    island_info[at + INFO_PENETRATION] = deepest;
    island_info[at + INFO_LEFT_OUT] = left_out;
    island_info[at + INFO_CONTACTS] = real(own.n_contacts);
    var solved = island_solved(r);
    if dims.by_solver == 1u {
        solved = island_info[at + INFO_STOPPED] == real(1.0);
    }
    var status = STATUS_ITERATION_LIMIT | select(STATUS_DOUBTFUL, 0u, sensible && !flung);
    if !(is_finite(r.square) && is_finite(r.scaled)) {
        status = STATUS_NON_FINITE;
    } else if solved && !flung && largest <= ABSURD {
        status = STATUS_CONVERGED;
        if gave_way {
            status = select(STATUS_CONVERGED | STATUS_RELAXED, STATUS_ITERATION_LIMIT, own.part == PART_ASKS);
        }
    }
    island_status[island] = status;
}
