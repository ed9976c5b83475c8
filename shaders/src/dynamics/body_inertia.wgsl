// The spatial inertia of a body: the twin of `inertia_at` in bias.rs. The importing kernel imports math, dynamics/tree and
// dynamics/spatial, and binds `pose`.
fn pose3(at: u32) -> vec3<real> {
    return vec3<real>(pose[at], pose[at + TILE], pose[at + 2u * TILE]);
}

// Spatial inertia of a body at c in world axes.
fn inertia_at(param: u32, b: u32, pose_base: u32, c: vec3<real>) -> Inertia {
    let at = body_param(b);
    let p = pose_base + b * POSE * TILE;
    let axes = quat_matrix(vec4<real>(pose[p + 3u * TILE], pose[p + 4u * TILE], pose[p + 5u * TILE], pose[p + 6u * TILE]));
    let mass = param_at(param, at + PARAM_BODY_MASS);
    let arm = mat_vec(axes, param_at3(param, at + PARAM_BODY_COM)) + (pose3(p) - c);
    let i = at + PARAM_BODY_INERTIA;
    let turned = sym_rotate(axes, Sym3(param_at3(param, i), param_at3(param, i + 3u)));
    let h = arm * mass;
    let square = h * arm;
    return Inertia(
        mass,
        h,
        Sym3(
            vec3<real>(
                turned.d.x + (square.y + square.z),
                turned.d.y + (square.x + square.z),
                turned.d.z + (square.x + square.y),
            ),
            vec3<real>(
                fma(-h.x, arm.y, turned.o.x),
                fma(-h.x, arm.z, turned.o.y),
                fma(-h.y, arm.z, turned.o.z),
            ),
        ),
    );
}
