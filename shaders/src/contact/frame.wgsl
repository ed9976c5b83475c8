// Two unit tangents with t1 x t2 = n, from the unit normal alone. See frame.rs.
fn contact_tangent_1(n: vec3<real>) -> vec3<real> {
    let s = select(real(1.0), real(-1.0), n.z < real(-0.5));
    let a = real(-1.0) / (s + n.z);
    let b = n.x * n.y * a;
    return vec3<real>(fma(s * n.x * n.x, a, real(1.0)), s * b, -(s * n.x));
}

fn contact_tangent_2(n: vec3<real>) -> vec3<real> {
    let s = select(real(1.0), real(-1.0), n.z < real(-0.5));
    let a = real(-1.0) / (s + n.z);
    let b = n.x * n.y * a;
    return vec3<real>(b, fma(n.y * n.y, a, s), -n.y);
}
