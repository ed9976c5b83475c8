// The end of a step for activations. See activate.rs.
#import math
#import dynamics/tree
#import dynamics/force_record
#import dynamics/activation

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read_write> state: array<real>;
@group(0) @binding(4) var<storage, read> status: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    if (status[lane] & (STATUS_STOPPED | STATUS_HELD)) != 0u {
        return;
    }
    let param = param_base(lane);
    let base = tile_base(lane, n_state());
    for (var i = 0u; i < dims.tree.n_force; i++) {
        let record = force_record(i);
        if record.act != NONE {
            let at = base + (act_at() + record.act) * TILE;
            let control = bounded_control(param, base, record);
            state[at] = next_activation(param, record, control, state[at]);
        }
    }
}
