// The impulse of a contact in the world: the twin of force.rs. The importing kernel imports math and contact/frame and binds
// `touch` and `impulse`.

// Axes of a slot by rows: t1, t2, n.
fn axes_of(normal: vec3<real>) -> Mat3 {
    return Mat3(contact_tangent_1(normal), contact_tangent_2(normal), normal);
}

fn along_axes(axes: Mat3, x: vec3<real>) -> vec3<real> {
    return scale_add(axes.z, x.z, scale_add(axes.y, x.y, axes.x * x.x));
}

fn touch3(at: u32) -> vec3<real> {
    return vec3<real>(touch[at], touch[at + TILE], touch[at + 2u * TILE]);
}

fn slot_impulse(at: u32) -> vec3<real> {
    return vec3<real>(impulse[at], impulse[at + TILE], impulse[at + 2u * TILE]);
}
