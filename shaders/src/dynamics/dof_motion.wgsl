// The motion of a dof at c. The importing kernel imports dynamics/tree and dynamics/spatial, and binds `motion`.
fn load_motion(base: u32, dof: u32) -> Spatial {
    let at = base + dof * SPATIAL * TILE;
    return Spatial(
        vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]),
        vec3<real>(motion[at + 3u * TILE], motion[at + 4u * TILE], motion[at + 5u * TILE]),
    );
}
