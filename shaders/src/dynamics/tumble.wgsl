// The free motion of a lone rigid body: the twin of tumble.rs. The importing kernel imports math and dynamics/tree, and
// binds `mass`.

struct LoneBody {
    mass: real,
    // Mass times the centre of mass from the body's origin, world axes.
    moment: vec3<real>,
    // About the centre of mass, body axes.
    inertia: Sym3,
    // Centre of mass from the body's origin, body axes.
    arm: vec3<real>,
    axes: Mat3,
}

struct Drift {
    linear: vec3<real>,
    angular: vec3<real>,
}

fn mass_entry(base: u32, i: u32) -> real {
    return mass[base + i * TILE];
}

fn lone_body(mass_base: u32, armature: real, orientation: vec4<real>) -> LoneBody {
    let axes = quat_matrix(orientation);
    // M_aj = e_j . (u_a x m r) for the rotation about u_a and the translation along e_j, and sum_a u_a x (u_a x m r) = -2 m r.
    let x = vec3<real>(axes.x.x, axes.y.x, axes.z.x);
    let y = vec3<real>(axes.x.y, axes.y.y, axes.z.y);
    let z = vec3<real>(axes.x.z, axes.y.z, axes.z.z);
    let cx = vec3<real>(mass_entry(mass_base, 9u), mass_entry(mass_base, 8u), mass_entry(mass_base, 7u));
    let cy = vec3<real>(mass_entry(mass_base, 14u), mass_entry(mass_base, 13u), mass_entry(mass_base, 12u));
    let cz = vec3<real>(mass_entry(mass_base, 20u), mass_entry(mass_base, 19u), mass_entry(mass_base, 18u));
    let moment = (cross3(x, cx) + cross3(y, cy) + cross3(z, cz)) * real(-0.5);
    let m = mass_entry(mass_base, 0u) - armature;
    let r = mat_t_vec(axes, moment) * (real(1.0) / m);
    let inertia = Sym3(
        vec3<real>(
            mass_entry(mass_base, 6u) - armature - m * (r.y * r.y + r.z * r.z),
            mass_entry(mass_base, 10u) - armature - m * (r.x * r.x + r.z * r.z),
            mass_entry(mass_base, 15u) - armature - m * (r.x * r.x + r.y * r.y),
        ),
        vec3<real>(
            mass_entry(mass_base, 11u) + m * r.x * r.y,
            mass_entry(mass_base, 17u) + m * r.x * r.z,
            mass_entry(mass_base, 16u) + m * r.y * r.z,
        ),
    );
    return LoneBody(m, moment, inertia, r, axes);
}

// The velocity one step of h on, when nothing acts.
fn drift(body: LoneBody, linear: vec3<real>, angular: vec3<real>, h: real) -> Drift {
    let i = body.inertia;
    let ix = vec3<real>(i.d.x, i.o.x, i.o.y);
    let iy = vec3<real>(i.o.x, i.d.y, i.o.z);
    let iz = vec3<real>(i.o.y, i.o.z, i.d.z);
    let spin = sym_vec(i, angular);
    let one = real(1.0);
    let zero = real(0.0);
    var w = angular;
    for (var k = 0u; k < TUMBLE_ITERATIONS; k++) {
        let carried = carry(w, h, spin);
        let miss = carried - sym_vec(i, w);
        let f = w * (-h);
        let sx = ix - slope_column(f, h, carried, vec3<real>(one, zero, zero));
        let sy = iy - slope_column(f, h, carried, vec3<real>(zero, one, zero));
        let sz = iz - slope_column(f, h, carried, vec3<real>(zero, zero, one));
        w += solve3(sx, sy, sz, miss);
    }
    // Whatever is left of the miss, the size of the momentum is kept.
    w = solve3(ix, iy, iz, carry(w, h, spin));
    let before = cross3(angular, body.arm);
    let after = quat_rotate(free_turn(w, h), cross3(w, body.arm));
    return Drift(linear + mat_vec(body.axes, before - after), w);
}

// A column of h [carried]x (1 + [f]x / 2 + [f]x^2 / 6), f = -h w.
fn slope_column(f: vec3<real>, h: real, carried: vec3<real>, e: vec3<real>) -> vec3<real> {
    let once = cross3(f, e);
    let turned = e + (once * real(0.5) + cross3(f, once) * real(1.0 / 6.0));
    return cross3(carried, turned) * h;
}

// exp(h w) of unit length, as the integrator makes it: what its sine and cosine lack of that would add up.
fn free_turn(w: vec3<real>, h: real) -> vec4<real> {
    return quat_normalize(quat_exp(w * h));
}

// exp(-h w) spin.
fn carry(w: vec3<real>, h: real, spin: vec3<real>) -> vec3<real> {
    return quat_rotate(quat_conjugate(free_turn(w, h)), spin);
}

// Solves a 3 x 3 system, given by its columns, by Cramer's rule.
fn solve3(a: vec3<real>, b: vec3<real>, c: vec3<real>, x: vec3<real>) -> vec3<real> {
    let bc = cross3(b, c);
    let inverse = real(1.0) / dot3(a, bc);
    return vec3<real>(dot3(x, bc), dot3(a, cross3(x, c)), dot3(a, cross3(b, x))) * inverse;
}
