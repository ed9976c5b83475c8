// What derivatives of the inverse dynamics are made of: the twin of recursion.rs. The importing kernel imports math,
// dynamics/tree, dynamics/spatial, dynamics/dof_motion, dynamics/body_inertia and dynamics/derivatives/transport, and binds
// `state`, `pose`, `motion`, `act` and `work`.

// First elements of a lane in the buffers; of `work` those of the bodies and of the dofs.
struct Bases {
    param: u32,
    velocity: u32,
    pose: u32,
    motion: u32,
    act: u32,
    work: u32,
    bodies: u32,
    dofs: u32,
}

fn work3(at: u32) -> vec3<real> {
    return vec3<real>(work[at], work[at + TILE], work[at + 2u * TILE]);
}

fn store_work3(at: u32, x: vec3<real>) {
    work[at] = x.x;
    work[at + TILE] = x.y;
    work[at + 2u * TILE] = x.z;
}

fn load_work(at: u32) -> Spatial {
    return Spatial(work3(at), work3(at + 3u * TILE));
}

fn store_work(at: u32, s: Spatial) {
    store_work3(at, s.angular);
    store_work3(at + 3u * TILE, s.linear);
}

fn load_inertia(at: u32) -> Inertia {
    return Inertia(work[at], work3(at + TILE), Sym3(work3(at + 4u * TILE), work3(at + 7u * TILE)));
}

fn store_inertia(at: u32, i: Inertia) {
    work[at] = i.mass;
    store_work3(at + TILE, i.h);
    store_work3(at + 4u * TILE, i.about.d);
    store_work3(at + 7u * TILE, i.about.o);
}

fn body_at(base: Bases, b: u32, field: u32) -> u32 {
    return base.bodies + (b * DERIVATIVE_BODY + field) * TILE;
}

fn dof_at(base: Bases, i: u32, field: u32) -> u32 {
    return base.dofs + (i * DERIVATIVE_DOF + field) * TILE;
}

// The velocity of a dof; that of a lone body is in its drift.
fn speed_of(base: Bases, i: u32) -> real {
    return select(state[base.velocity + i * TILE], real(0.0), dims.tree.lone == 1u);
}

// Sums over subtrees of what each body contributes.
fn inward(base: Bases) {
    for (var r = 1u; r < dims.tree.n_body; r++) {
        let b = dims.tree.n_body - r;
        let own = body_at(base, b, 0u);
        let parent = body_at(base, body_record(b).parent, 0u);
        for (var k = 0u; k < BODY_TWIST; k++) {
            work[parent + k * TILE] += work[own + k * TILE];
        }
    }
}

// The run of dofs that turn together with a dof: first, and how many.
fn run_of(joint: JointRecord, i: u32) -> vec2<u32> {
    let both = runs(joint);
    return select(both.zw, both.xy, i < both.z);
}

// What a dof contributes to its row and, for the dofs before it, to its column.
struct Row {
    // I S.
    momentum: Spatial,
    // B^T S.
    transposed: Spatial,
    // S x* f of the forces fixed in the world.
    swept: Spatial,
    // S x* f + I psi' + B psi.
    turned: Spatial,
    // I (psi + V_after x S) + B S.
    sped: Spatial,
}

fn row_new(base: Bases, body: u32, i: u32) -> Row {
    let inertia = load_inertia(body_at(base, body, BODY_INERTIA));
    let b = body_at(base, body, BODY_B);
    let s = load_motion(base.motion, i);
    let psi = load_work(dof_at(base, i, DOF_PSI));
    let psi_dot = load_work(dof_at(base, i, DOF_PSI_DOT));
    let rate = load_work(dof_at(base, i, DOF_RATE));
    let force = load_work(body_at(base, body, BODY_FORCE));
    let turned = spatial_sum(cross_force(s, force), spatial_sum(apply(inertia, psi_dot), matrix_vector(b, psi)));
    return Row(
        apply(inertia, s),
        vector_matrix(b, s),
        cross_force(s, load_work(body_at(base, body, BODY_FIXED))),
        turned,
        spatial_sum(apply(inertia, rate), matrix_vector(b, s)),
    );
}

// The entries of the row by q and by v of a dof that is not behind its own.
fn entry(base: Bases, row: Row, j: u32) -> vec2<real> {
    let s = load_motion(base.motion, j);
    let turned = spatial_dot(row.momentum, load_work(dof_at(base, j, DOF_PSI_DOT)))
        + spatial_dot(row.transposed, load_work(dof_at(base, j, DOF_PSI)));
    let by_v = spatial_dot(row.momentum, load_work(dof_at(base, j, DOF_RATE))) + spatial_dot(row.transposed, s);
    return vec2<real>(turned - spatial_dot(s, row.swept), by_v);
}

// Twists, accelerations, psi and what each body alone contributes to the subtrees.
fn outward(base: Bases) {
    let c = pose3(base.pose);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    let rising = param_at3(base.param, PARAM_GRAVITY) * real(-1.0);
    let per_step = real(1.0) / param_at(base.param, PARAM_TIMESTEP);
    for (var b = 0u; b < dims.tree.n_body; b++) {
        let record = body_record(b);
        var v = Spatial(zero, zero);
        var a = Spatial(zero, rising);
        if b > 0u {
            v = load_work(body_at(base, record.parent, BODY_TWIST));
            a = load_work(body_at(base, record.parent, BODY_ACCELERATION));
        }
        for (var k = 0u; k < record.joint_count; k++) {
            let both = runs(joint_record(record.joint_begin + k));
            for (var half = 0u; half < 2u; half++) {
                let run = select(both.zw, both.xy, half == 0u);
                var moved = Spatial(zero, zero);
                var driven = Spatial(zero, zero);
                for (var i = run.x; i < run.x + run.y; i++) {
                    let s = load_motion(base.motion, i);
                    let speed = speed_of(base, i);
                    let rate = work[base.work + i * TILE];
                    moved = Spatial(scale_add(s.angular, speed, moved.angular), scale_add(s.linear, speed, moved.linear));
                    driven = Spatial(scale_add(s.angular, rate, driven.angular), scale_add(s.linear, rate, driven.linear));
                }
                let after = spatial_sum(v, moved);
                for (var i = run.x; i < run.x + run.y; i++) {
                    let s = load_motion(base.motion, i);
                    let psi = cross_motion(v, s);
                    store_work(dof_at(base, i, DOF_PSI), psi);
                    store_work(dof_at(base, i, DOF_PSI_DOT), spatial_sum(cross_motion(a, s), cross_motion(v, psi)));
                    store_work(dof_at(base, i, DOF_RATE), spatial_sum(psi, cross_motion(after, s)));
                }
                a = spatial_sum(a, spatial_sum(cross_motion(v, moved), driven));
                v = after;
            }
        }
        let inertia = inertia_at(base.param, b, base.pose, c);
        store_work(body_at(base, b, BODY_TWIST), v);
        store_work(body_at(base, b, BODY_ACCELERATION), a);
        store_inertia(body_at(base, b, BODY_INERTIA), inertia);
        let momentum = apply(inertia, v);
        store_work(body_at(base, b, BODY_FORCE), spatial_sum(apply(inertia, a), cross_force(v, momentum)));
        for (var k = 0u; k < SPATIAL; k++) {
            let fixed = act[base.act + (dims.tree.n_v + b * SPATIAL + k) * TILE];
            work[body_at(base, b, BODY_FIXED + k)] = fixed * per_step;
        }
        // By Jacobi's identity B u is (w x (2 J - tr J) a + 2 h x (a x v), 2 a x p) for u = (a, .): J and h of the inertia,
        // w and v of the twist, p the linear momentum. The linear part of u adds nothing.
        let two = real(2.0);
        let d = inertia.about.d;
        let trace = d.x + d.y + d.z;
        let doubled = Sym3(d * two - vec3<real>(trace, trace, trace), inertia.about.o * two);
        for (var k = 0u; k < 3u; k++) {
            let one = real(1.0);
            let none = real(0.0);
            let e = vec3<real>(select(none, one, k == 0u), select(none, one, k == 1u), select(none, one, k == 2u));
            let column = scale_add(
                cross3(inertia.h, cross3(e, v.linear)), two, cross3(v.angular, sym_vec(doubled, e)),
            );
            let at = body_at(base, b, BODY_B + k);
            work[at] = column.x;
            work[at + 3u * TILE] = column.y;
            work[at + 6u * TILE] = column.z;
        }
        store_work3(body_at(base, b, BODY_B + 9u), momentum.linear);
    }
}

// B u.
fn matrix_vector(b: u32, u: Spatial) -> Spatial {
    let a = u.angular;
    return Spatial(
        vec3<real>(dot3(work3(b), a), dot3(work3(b + 3u * TILE), a), dot3(work3(b + 6u * TILE), a)),
        cross3(a, work3(b + 9u * TILE)) * real(2.0),
    );
}

// B^T u.
fn vector_matrix(b: u32, u: Spatial) -> Spatial {
    var out = cross3(work3(b + 9u * TILE), u.linear) * real(2.0);
    out = scale_add(work3(b), u.angular.x, out);
    out = scale_add(work3(b + 3u * TILE), u.angular.y, out);
    out = scale_add(work3(b + 6u * TILE), u.angular.z, out);
    return Spatial(out, vec3<real>(real(0.0), real(0.0), real(0.0)));
}

// Those of a lane; `act_at`: where it begins in `act`, `work_at` in `work`.
fn bases_of(lane: u32, act_at: u32, work_at: u32) -> Bases {
    let bodies = work_at + dims.tree.n_v * TILE;
    return Bases(
        param_base(lane),
        tile_base(lane, n_state()) + dims.tree.n_q * TILE,
        tile_base(lane, POSE * dims.tree.n_body),
        tile_base(lane, SPATIAL * dims.tree.n_v),
        act_at,
        work_at,
        bodies,
        bodies + DERIVATIVE_BODY * dims.tree.n_body * TILE,
    );
}
