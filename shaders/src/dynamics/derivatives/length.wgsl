// How the length of an actuator changes: the twin of what effort.rs shares. The importing kernel imports math,
// dynamics/tree and dynamics/derivatives/turn and binds `state`; bases are those of a lane.

fn orientation_at(state_base: u32, q: u32) -> vec4<real> {
    let at = state_base + q * TILE;
    return quat_normalize(vec4<real>(state[at], state[at + TILE], state[at + 2u * TILE], state[at + 3u * TILE]));
}

// By the first three dofs of its joint (tangent space); with others it does not.
fn length_slope(param: u32, state_base: u32, joint: JointRecord, gear: u32) -> vec3<real> {
    let zero = real(0.0);
    if joint.kind == JOINT_FREE {
        return vec3<real>(zero, zero, zero);
    }
    if joint.kind == JOINT_BALL {
        let turn = turn_right_inverse(quat_log(orientation_at(state_base, joint.q_begin)));
        let g = param_at3(param, gear);
        return scale_add(turn.z, g.z, scale_add(turn.y, g.y, turn.x * g.x));
    }
    return vec3<real>(param_at(param, gear), zero, zero);
}
