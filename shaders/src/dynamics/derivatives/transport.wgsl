// Products of spatial vectors, and dofs that move together: the twin of what transport.rs shares. The importing kernel
// imports math, dynamics/tree and dynamics/spatial.

// The runs of dofs of a joint that move together: (first, how many) of each; a free joint has two.
fn runs(joint: JointRecord) -> vec4<u32> {
    let first = joint.dof_begin;
    if joint.kind == JOINT_FREE {
        return vec4<u32>(first, 3u, first + 3u, 3u);
    }
    if joint.kind == JOINT_BALL {
        return vec4<u32>(first, 3u, first + 3u, 0u);
    }
    return vec4<u32>(first, 1u, first + 1u, 0u);
}

// Motion times motion.
fn cross_motion(a: Spatial, b: Spatial) -> Spatial {
    return Spatial(cross3(a.angular, b.angular), cross3(a.angular, b.linear) + cross3(a.linear, b.angular));
}

// Motion times force.
fn cross_force(a: Spatial, f: Spatial) -> Spatial {
    return Spatial(cross3(a.angular, f.angular) + cross3(a.linear, f.linear), cross3(a.angular, f.linear));
}

fn spatial_sum(a: Spatial, b: Spatial) -> Spatial {
    return Spatial(a.angular + b.angular, a.linear + b.linear);
}
