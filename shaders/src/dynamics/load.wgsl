// What contacts exert on bodies in a step. See load.rs.
#import math
#import dynamics/tree
#import contact/frame

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> pose: array<real>;
@group(0) @binding(4) var<storage, read> items: array<u32>;
@group(0) @binding(5) var<storage, read> places: array<real>;
@group(0) @binding(6) var<storage, read> impulse: array<real>;
@group(0) @binding(7) var<storage, read> island_impulse: array<real>;
@group(0) @binding(8) var<storage, read_write> load: array<real>;

fn add3(at: u32, x: vec3<real>) {
    load[at] += x.x;
    load[at + TILE] += x.y;
    load[at + 2u * TILE] += x.z;
}

fn place3(at: u32) -> vec3<real> {
    return vec3<real>(places[at], places[at + 1u], places[at + 2u]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let base = tile_base(lane, dims.n_load);
    for (var i = 0u; i < dims.n_load; i++) {
        load[base + i * TILE] = real(0.0);
    }
    let per_second = real(1.0) / param_at(param_base(lane), PARAM_TIMESTEP);
    let p = tile_base(lane, POSE * dims.tree.n_body);
    let c = vec3<real>(pose[p], pose[p + TILE], pose[p + 2u * TILE]);
    let begin = items[LANE * lane];
    for (var i = begin; i < begin + items[LANE * lane + 1u]; i++) {
        let word = LANE * dims.tree.lanes + i * LOAD_ITEM_SIZE;
        let item = LoadItem(items[word], items[word + 1u], items[word + 2u], items[word + 3u]);
        let at = item.impulse;
        var lambda: vec3<real>;
        if item.island == 1u {
            lambda = vec3<real>(island_impulse[at], island_impulse[at + 1u], island_impulse[at + 2u]);
        } else {
            lambda = vec3<real>(impulse[at], impulse[at + TILE], impulse[at + 2u * TILE]);
        }
        if item.number >= SPATIAL * dims.tree.n_body && item.along != DIRECTION {
            load[base + item.number * TILE] += lambda.z * per_second;
            continue;
        }
        let normal = place3(i * PLACE + 3u);
        let t1 = contact_tangent_1(normal);
        let t2 = contact_tangent_2(normal);
        let push = scale_add(normal, lambda.z, scale_add(t2, lambda.y, t1 * lambda.x));
        if item.along == DIRECTION {
            load[base + item.number * TILE] += dot3(push, place3(i * PLACE)) * per_second;
            continue;
        }
        let force = push * select(-per_second, per_second, item.along == 1u);
        add3(base + item.number * TILE, cross3(place3(i * PLACE) - c, force));
        add3(base + (item.number + 3u) * TILE, force);
    }
}
