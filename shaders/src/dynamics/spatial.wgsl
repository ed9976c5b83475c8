// Spatial vectors and inertias at c: the twin of what bias.rs and inertia.rs share. The importing kernel imports math.
struct Spatial {
    angular: vec3<real>,
    linear: vec3<real>,
}

// Mass, mass * (centre - c), inertia about c.
struct Inertia {
    mass: real,
    h: vec3<real>,
    about: Sym3,
}

// `I s`: momentum of a motion.
fn apply(inertia: Inertia, s: Spatial) -> Spatial {
    return Spatial(
        sym_vec(inertia.about, s.angular) + cross3(inertia.h, s.linear),
        s.linear * inertia.mass - cross3(inertia.h, s.angular),
    );
}

fn spatial_dot(a: Spatial, b: Spatial) -> real {
    return dot3(a.angular, b.angular) + dot3(a.linear, b.linear);
}
