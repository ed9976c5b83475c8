// Velocity and acceleration along a chain: the twin of `add_joint` in bias.rs. The importing kernel imports math,
// dynamics/tree, dynamics/spatial and dynamics/dof_motion, and binds `state` and `motion`.
struct Moving {
    v: Spatial,
    a: Spatial,
}

// Adds the velocity of a joint's dofs to v, and that of their motions to a.
fn add_joint(joint: JointRecord, motion_base: u32, velocity_base: u32, before: Moving) -> Moving {
    var v = before.v;
    var a = before.a;
    var dof = joint.dof_begin;
    if joint.kind == JOINT_FREE {
        // Axes fixed in the world: nothing to add to a.
        let at = velocity_base + dof * TILE;
        v.linear += vec3<real>(state[at], state[at + TILE], state[at + 2u * TILE]);
        dof += 3u;
    }
    let count = select(1u, 3u, joint.kind <= JOINT_BALL);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var relative = Spatial(zero, zero);
    for (var i = dof; i < dof + count; i++) {
        let s = load_motion(motion_base, i);
        let speed = state[velocity_base + i * TILE];
        relative = Spatial(scale_add(s.angular, speed, relative.angular), scale_add(s.linear, speed, relative.linear));
    }
    a.angular += cross3(v.angular, relative.angular);
    a.linear += cross3(v.angular, relative.linear) + cross3(v.linear, relative.angular);
    return Moving(Spatial(v.angular + relative.angular, v.linear + relative.linear), a);
}
