// What both balances of momentum take from joints and drives. See effort.rs; what reads positions stands in the kernels,
// for it stands in other buffers there.

// First elements of a lane in params, momentum and b.
struct Targets {
    param: u32,
    m: u32,
    v: u32,
}

// Rotation vector from a reference to an orientation, body axes.
fn turned(orientation: vec4<real>, reference: vec4<real>) -> vec3<real> {
    return quat_log(quat_mul(quat_conjugate(reference), orientation));
}

// Adds an actuator's impulse to b, and its implicit gain to the matrix, along its gear.
fn spread(base: Targets, joint: JointRecord, gear: u32, impulse: real, implicit: real) {
    let first = joint.dof_begin;
    for (var k = 0u; k < dof_count(joint.kind); k++) {
        let g = param_at(base.param, gear + k);
        let at_b = base.v + (first + k) * TILE;
        b[at_b] = fma(g, impulse, b[at_b]);
        let row = base.m + dof_record(first + k).m_begin * TILE;
        for (var l = 0u; l <= k; l++) {
            let entry = row + l * TILE;
            momentum[entry] = fma(implicit * g, param_at(base.param, gear + k - l), momentum[entry]);
        }
    }
}
