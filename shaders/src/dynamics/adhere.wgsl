// Adhesion. See adhere.rs.
#import math
#import dynamics/tree
#import dynamics/point

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> motion: array<real>;
@group(0) @binding(4) var<storage, read> items: array<u32>;
@group(0) @binding(5) var<storage, read> places: array<real>;
@group(0) @binding(6) var<storage, read> grip: array<real>;
@group(0) @binding(7) var<storage, read_write> b: array<real>;
@group(0) @binding(8) var<storage, read_write> adhesion: array<real>;

fn place3(at: u32) -> vec3<real> {
    return vec3<real>(places[at], places[at + 1u], places[at + 2u]);
}

// The pulls of one lane.
fn adhere(lane: u32, h: real) {
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    let v = tile_base(lane, dims.tree.n_v);
    let begin = items[LANE * lane];
    for (var k = begin; k < begin + items[LANE * lane + 1u]; k++) {
        let word = LANE * dims.tree.lanes + k * ADHERE_ITEM_SIZE;
        let item = AdhereItem(items[word], items[word + 1u], items[word + 2u]);
        let pull = grip[item.number] * places[k * PLACE + 6u];
        let force = place3(k * PLACE + 3u) * select(pull, -pull, item.against == 1u);
        let point = place3(k * PLACE);
        var i = body_record(item.body).chain_dof;
        for (var n = 0u; n < dims.tree.n_v && i != NONE; n++) {
            let dof = dof_record(i);
            if dof.body <= item.body && item.body < dof.subtree_end {
                let work = dot3(force, point_motion(motion_base, i, point));
                let at = v + i * TILE;
                adhesion[at] += work;
                b[at] = fma(h, work, b[at]);
            }
            i = dof.parent;
        }
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let v = tile_base(lane, dims.tree.n_v);
    for (var i = 0u; i < dims.tree.n_v; i++) {
        adhesion[v + i * TILE] = real(0.0);
    }
    adhere(lane, param_at(param_base(lane), PARAM_TIMESTEP));
}
