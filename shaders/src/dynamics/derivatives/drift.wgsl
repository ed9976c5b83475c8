// Derivative of the free motion of a lone body: the twin of drift.rs. The importing kernel imports math, dynamics/tree,
// dynamics/tumble and dynamics/derivatives/turn.

// One column of the derivative: the change by a unit step along an axis.
struct DriftColumn {
    // Of the linear velocity (world axes) by a turn of the body (body axes).
    linear_turn: vec3<real>,
    // Of the linear velocity by the angular velocity (body axes).
    linear_angular: vec3<real>,
    // Of the angular velocity by the angular velocity, both in body axes.
    angular_angular: vec3<real>,
}

// `angular`: the angular velocity before, `after` the one it led to.
fn drift_derivative(body: LoneBody, angular: vec3<real>, after: vec3<real>, h: real) -> array<DriftColumn, 3> {
    let turn = free_turn(after, h);
    let back = quat_conjugate(turn);
    let carried = carry(after, h, sym_vec(body.inertia, angular));
    // The left Jacobian at -h w is the right one at h w.
    let forward = turn_right(after * h);
    let i = body.inertia;
    let x = vec3<real>(i.d.x, i.o.x, i.o.y) - cross3(carried, vec3<real>(forward.x.x, forward.y.x, forward.z.x)) * h;
    let y = vec3<real>(i.o.x, i.d.y, i.o.z) - cross3(carried, vec3<real>(forward.x.y, forward.y.y, forward.z.y)) * h;
    let z = vec3<real>(i.o.y, i.o.z, i.d.z) - cross3(carried, vec3<real>(forward.x.z, forward.y.z, forward.z.z)) * h;
    let whirl = cross3(after, body.arm);
    let left_over = cross3(angular, body.arm) - quat_rotate(turn, whirl);
    var out: array<DriftColumn, 3>;
    for (var k = 0u; k < 3u; k++) {
        let zero = real(0.0);
        let one = real(1.0);
        let e = vec3<real>(select(zero, one, k == 0u), select(zero, one, k == 1u), select(zero, one, k == 2u));
        let spun = solve3(x, y, z, quat_rotate(back, sym_vec(body.inertia, e)));
        let turned = cross3(mat_vec(forward, spun * h), whirl);
        let moved = quat_rotate(turn, turned + cross3(spun, body.arm));
        out[k] = DriftColumn(
            mat_vec(body.axes, cross3(e, left_over)),
            mat_vec(body.axes, cross3(e, body.arm) - moved),
            spun,
        );
    }
    return out;
}
