// Warm start: the impulse that each slot's feature had one step ago; zero for a new one. See tree_warm.rs.
#import index
#import contact/tree_layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> contact_map: array<u32>;
@group(0) @binding(3) var<storage, read> impulse_in: array<real>;
@group(0) @binding(4) var<storage, read_write> impulse_out: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let at = lane / TILE * SLOTS;
    for (var s = 0u; s < slots[at + 1u]; s++) {
        let warm = contact_map[slot_base(lane, slots[at], s, MAP_SIZE) + MAP_WARM * TILE];
        let to = slot_base(lane, slots[at], s, 3u);
        var x = vec3<real>(real(0.0), real(0.0), real(0.0));
        if warm > 0u {
            let before = slot_base(lane, slots[at + 2u], warm - 1u, 3u);
            x = vec3<real>(impulse_in[before], impulse_in[before + TILE], impulse_in[before + 2u * TILE]);
        }
        let sound = is_finite(x.x) && is_finite(x.y) && is_finite(x.z);
        impulse_out[to] = select(real(0.0), x.x, sound);
        impulse_out[to + TILE] = select(real(0.0), x.y, sound);
        impulse_out[to + 2u * TILE] = select(real(0.0), x.z, sound);
    }
}
