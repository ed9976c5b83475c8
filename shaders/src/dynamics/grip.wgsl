// Forces of the actuators that make bodies adhere. See grip.rs.
#import math
#import dynamics/tree

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> items: array<u32>;
@group(0) @binding(5) var<storage, read_write> grip_out: array<real>;

// The force of an actuator at a state, N.
fn grip(param: u32, actuator: u32, state_base: u32) -> real {
    let own = actuator_param(actuator);
    var limits = own + PARAM_ACTUATOR_CONTROL;
    let control = clamp_keep(
        state[state_base + (dims.tree.n_q + dims.tree.n_v + actuator) * TILE],
        param_at(param, limits),
        param_at(param, limits + 1u),
    );
    let force = fma(
        param_at(param, own + PARAM_ACTUATOR_GAIN), control, param_at(param, own + PARAM_ACTUATOR_BIAS),
    );
    limits = own + PARAM_ACTUATOR_FORCE;
    return clamp_keep(force, param_at(param, limits), param_at(param, limits + 1u));
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let param = param_base(lane);
    let state_base = tile_base(lane, n_state());
    let begin = items[LANE * lane];
    for (var i = begin; i < begin + items[LANE * lane + 1u]; i++) {
        let word = LANE * dims.tree.lanes + i * GRIP_ITEM_SIZE;
        let item = GripItem(items[word], items[word + 1u]);
        grip_out[item.number] = grip(param, item.actuator, state_base);
    }
}
