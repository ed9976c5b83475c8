// ds of the contacts by q. See shifts.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/derivatives/layout
#import contact/gradient/layout
#import contact/gradient/sided

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> act: array<real>;
@group(0) @binding(6) var<storage, read> side: array<real>;
@group(0) @binding(7) var<storage, read_write> shift: array<real>;

// ds of a slot by q.
fn slot_ds(motions: u32, psis: u32, record: u32, bodies: vec2<u32>, out: u32) {
    let n = dims.tree.n_v;
    let zero = real(0.0);
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let weights = vec2<real>(moves(dof, bodies.x), moves(dof, bodies.y));
        var sum = vec3<real>(zero, zero, zero);
        // Zeros for a dof that moves neither.
        if zero < weights.x + weights.y {
            let s = load_motion(motions, i);
            let psi = load_act(psis + i * SPATIAL * TILE);
            let apart = weights.y - weights.x;
            let speed = record + SIDE_SPEED * TILE;
            sum = vec3<real>(
                side_dot(speed, 0u, psi, zero), side_dot(speed, 1u, psi, zero), side_dot(speed, 2u, psi, zero),
            ) * apart;
            for (var own = 0u; own < 2u; own++) {
                let turned = record + (SIDE_TURNED + 18u * own) * TILE;
                let by = vec3<real>(
                    side_dot(turned, 0u, s, zero), side_dot(turned, 1u, s, zero), side_dot(turned, 2u, s, zero),
                );
                sum = scale_add(by, select(weights.x, weights.y, own == 1u), sum);
            }
        }
        shift[out + i * TILE] = sum.x;
        shift[out + (n + i) * TILE] = sum.y;
        shift[out + (2u * n + i) * TILE] = sum.z;
    }
    shift[out + (3u * n + KINK_MARGIN) * TILE] = side[record + (SIDE_KINK + KINK_MARGIN) * TILE];
    shift[out + (3u * n + KINK_CLOSED) * TILE] = side[record + (SIDE_KINK + KINK_CLOSED) * TILE];
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let motions = tile_base(lane, SPATIAL * n);
    let psis = act_base(lane) + act_psi() * TILE;
    let begin = tile_place(lane, PLACE_BEGIN);
    let first = ragged_base(lane, PLACE_SHIFT);
    for (var s = 0u; s < tile_place(lane, PLACE_COUNT); s++) {
        let record = slot_base(lane, begin, s, SIDE_SIZE);
        let bodies = vec2<u32>(body_number(side[record]), body_number(side[record + TILE]));
        // Of a contact that carries nothing no more is said.
        if bodies.x != NONE || bodies.y != NONE {
            slot_ds(motions, psis, record, bodies, first + s * slot_shift(n) * TILE);
        }
    }
}
