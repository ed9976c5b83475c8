// Places of points on bodies: the twin of what carried.rs has. The importing kernel imports math and dynamics/tree, and
// binds `pose`.
// A point of a body from c.
fn place(pose_base: u32, body: u32, local: vec3<real>) -> vec3<real> {
    let c = vec3<real>(pose[pose_base], pose[pose_base + TILE], pose[pose_base + 2u * TILE]);
    if body == NONE {
        return local - c;
    }
    let at = pose_base + body * POSE * TILE;
    let position = vec3<real>(pose[at], pose[at + TILE], pose[at + 2u * TILE]);
    return position - c + quat_rotate(orientation(pose_base, body), local);
}

// Orientation of a body.
fn orientation(pose_base: u32, body: u32) -> vec4<real> {
    if body == NONE {
        return vec4<real>(real(1.0), real(0.0), real(0.0), real(0.0));
    }
    let at = pose_base + body * POSE * TILE;
    return vec4<real>(pose[at + 3u * TILE], pose[at + 4u * TILE], pose[at + 5u * TILE], pose[at + 6u * TILE]);
}
