// Motion of a world point per unit of a dof's speed: the twin of `point_motion` in tree.rs. The importing kernel
// imports math and dynamics/tree and binds `motion`.
fn point_motion(motion_base: u32, dof: u32, offset: vec3<real>) -> vec3<real> {
    let at = motion_base + dof * SPATIAL * TILE;
    let angular = vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]);
    let linear = vec3<real>(motion[at + 3u * TILE], motion[at + 4u * TILE], motion[at + 5u * TILE]);
    return linear + cross3(angular, offset);
}
