// What each constraint adds to the objective: its weights, and where its impulse begins; an invocation a constraint.
#import index
#import contact/island
#import contact/convex/layout
#import dynamics/names.rs
#import contact/local.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_contact: array<real>;
@group(0) @binding(3) var<storage, read> island_con: array<real>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read_write> convex: array<real>;

const TERMS_TAU: real = real(6.283185307179586476925286766559);

// `|W_ii|_F / 3` of a block, `G_ii` of a row; 1 of what moves nothing.
fn rms(block: bool, c: u32) -> real {
    var w = island_con[c + CON_ROW_DELASSUS];
    if block {
        let g = c + CON_DELASSUS;
        let square = island_con[g] * island_con[g] + island_con[g + 3u] * island_con[g + 3u]
            + island_con[g + 5u] * island_con[g + 5u];
        let twice = island_con[g + 1u] * island_con[g + 1u] + island_con[g + 2u] * island_con[g + 2u]
            + island_con[g + 4u] * island_con[g + 4u];
        w = sqrt(square + twice + twice) / real(3.0);
    }
    return select(real(1.0), w, real(0.0) < w);
}

// SAP's weights of a constraint and its normal bias.
fn compliant(block: bool, c: u32, given: u32, to: u32) {
    let one = real(1.0);
    let zero = real(0.0);
    let w = rms(block, c);
    let period = setting(dims.near_rigid) / TERMS_TAU;
    let near = w * (period * period);
    let stick = setting(dims.stiction) / w;
    if block {
        let held = island_con[c + CON_FRICTION] < zero;
        convex[to + TERM_BETA_T] = select(stick, one / near, held);
        convex[to + TERM_BETA_N] = one / near;
        if !held && zero <= island_contact[given + CONTACT_COMPLIANCE] {
            convex[to + TERM_BETA_N] = one / max(near, island_contact[given + CONTACT_COMPLIANCE]);
            convex[to + TERM_BIAS + 2u] = -island_contact[given + CONTACT_SEPARATION];
        }
        return;
    }
    let below = island_con[c + CON_ROW_LOWER];
    let above = island_con[c + CON_ROW_UPPER];
    let saturates = above < UNBOUNDED || (-UNBOUNDED < below && below != zero);
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    convex[to + TERM_ROW_COMPLIANCE] = zero;
    var beta = one / near;
    if zero < compliance {
        beta = one / compliance;
    } else if saturates {
        beta = stick;
    }
    convex[to + TERM_BETA_N] = beta;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = lane_index(group, local);
    if i >= dims.n_constraints {
        return;
    }
    let one = real(1.0);
    let zero = real(0.0);
    let block = constraint_record(i).kind == KIND_BLOCK;
    let c = CON_SIZE * i;
    let to = term_at(i);
    for (var e = 0u; e < TERM_SIZE; e++) {
        convex[to + e] = zero;
    }
    var mean = island_con[c + CON_ROW_DELASSUS];
    if block {
        let g = c + CON_DELASSUS;
        mean = (island_con[g] + island_con[g + 3u] + island_con[g + 5u]) / real(3.0);
    }
    let moves = TINY < mean;
    convex[to + TERM_MEAN] = select(zero, mean, moves);
    for (var r = 0u; r < select(1u, 3u, block); r++) {
        convex[to + TERM_BIAS + r] = island_con[c + CON_BIAS + r];
    }
    if dims.method == METHOD_SAP {
        compliant(block, c, CONTACT_SIZE * i, to);
        return;
    }
    for (var r = 0u; r < 3u; r++) {
        convex[to + TERM_BEFORE + r] = impulse[3u * i + r];
    }
    let penalty = min(setting(dims.penalty), setting(dims.penalty_most));
    let beta = penalty * select(one, one / mean, moves);
    convex[to + TERM_BETA_N] = beta;
    convex[to + TERM_BETA_T] = select(island_con[c + CON_ROW_COMPLIANCE], beta, block);
}
