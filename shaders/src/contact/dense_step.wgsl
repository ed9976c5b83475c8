// The matrix of a Newton step of a dense problem, and its elimination: the twin of dense_step.rs, imported by contact/dense.

// The matrix of the step and its right-hand side, for the rows that can change.
fn linearise(proximal: real) {
    let zero = real(0.0);
    live_slots = 0u;
    for (var slot = 0u; slot < dense_slots; slot++) {
        let law = slot_steps(slot);
        let lambda = load_slot(lambda_first, slot);
        let carries = abs(lambda.x) + abs(lambda.y) + abs(lambda.z);
        let normal = of_slot(slot, 2u);
        let ahead = origin(normal, lambda.z) - rho_of(law.y) * load(sigma_first, normal);
        if zero < law.y && (zero < carries || zero < ahead || law.x < zero) {
            live[live_slots] = slot;
            live_slots++;
        }
    }
    for (var at = 0u; at < live_slots; at++) {
        live[live_slots + at] = of_slot(live[at], 1u);
        live[2u * live_slots + at] = of_slot(live[at], 2u);
    }
    live_count = 3u * live_slots;
    for (var k = 0u; k < dense_rows; k++) {
        let i = of_row(k);
        let law = row_law(k);
        let lambda = load(lambda_first, i);
        let rho = rho_of(law.w);
        let y = origin(i, lambda) - rho * load(sigma_first, i);
        let free = law.x < y && y < law.y;
        if zero < law.w && (free || zero < abs(bounded(k, law, rho, y) - lambda)) {
            live[live_count] = i;
            live_count++;
        }
    }
    live_groups = padded(live_count) / GROUP;
    live_span = live_groups * TILE;
    // What pads the last group are rows of the unit matrix; what stands in their columns meets nothing.
    for (var at = live_count; at < GROUP * live_groups; at++) {
        live[at] = 0u;
        for (var j = 0u; j < live_groups; j++) {
            work[matrix_first + at * live_span + j * TILE] = all_of(zero);
        }
        store(matrix_first + at * live_span, at, real(1.0));
        store(rhs_first, at, zero);
    }
    for (var at = 0u; at < live_slots; at++) {
        slot_matrix(at, proximal);
    }
    for (var at = 3u * live_slots; at < live_count; at++) {
        row_matrix(at, proximal);
    }
}

// Four live entries of a row of G, of group j of the live rows.
fn gather_four(row: u32, j: u32) -> vec4<real> {
    let at = GROUP * j;
    return vec4<real>(
        load(row, live[at]),
        load(row, live[at + 1u]),
        load(row, live[at + 2u]),
        load(row, live[at + 3u]),
    );
}

// Rows of the slot at some place in the list.
fn slot_matrix(at: u32, proximal: real) {
    let one = real(1.0);
    let slot = live[at];
    let law = slot_steps(slot);
    let rho = rho_of(law.y);
    let lambda = load_slot(lambda_first, slot);
    let y = slot_origin(slot, lambda) - rho * load_slot(sigma_first, slot);
    let change = slot_mapped(slot, law.x, rho, y) - lambda;
    var p = derivative(law.x, y);
    if relaxes {
        p = steps_derivative(slot_caps(slot), law.x, rho, y);
    }
    let s00 = all_of(rho * p.p00);
    let s01 = all_of(rho * p.p01);
    let s02 = all_of(rho * p.p02);
    let s11 = all_of(rho * p.p11);
    let s12 = all_of(rho * p.p12);
    let s22 = all_of(rho * p.p22);
    let span = dense_slots * dense_span;
    let g = delassus_first + slot * dense_span;
    let c1 = live_slots + at;
    let c2 = live_slots + c1;
    let m0 = matrix_first + at * live_span;
    let m1 = matrix_first + c1 * live_span;
    let m2 = matrix_first + c2 * live_span;
    for (var j = 0u; j < live_groups; j++) {
        let g0 = gather_four(g, j);
        let g1 = gather_four(g + span, j);
        let g2 = gather_four(g + 2u * span, j);
        work[m0 + j * TILE] = fma(s00, g0, fma(s01, g1, s02 * g2));
        work[m1 + j * TILE] = fma(s01, g0, fma(s11, g1, s12 * g2));
        work[m2 + j * TILE] = s22 * g2;
    }
    if real(0.0) < stretch {
        // `1 + P s rho G`
        p = Derivative(real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0));
    }
    store(m0, at, load(m0, at) + one - p.p00 + proximal);
    store(m0, c1, load(m0, c1) - p.p01);
    store(m0, c2, load(m0, c2) - p.p02);
    store(m1, at, load(m1, at) - p.p01);
    store(m1, c1, load(m1, c1) + one - p.p11 + proximal);
    store(m1, c2, load(m1, c2) - p.p12);
    store(m2, c2, load(m2, c2) + one - p.p22 + proximal);
    store(rhs_first, at, change.x);
    store(rhs_first, c1, change.y);
    store(rhs_first, c2, change.z);
}

// The single row at some place in the list.
fn row_matrix(at: u32, proximal: real) {
    let i = live[at];
    let k = i - 3u * dense_slots;
    let law = row_law(k);
    let lambda = load(lambda_first, i);
    let rho = rho_of(law.w);
    let y = origin(i, lambda) - rho * load(sigma_first, i);
    var free = law.x < y && y < law.y;
    if relaxes {
        let steps = row_caps(k);
        free = free && !steps_holds(steps.x, steps.y, rho, y);
    }
    let kept = select(real(0.0), rho, free);
    let m = matrix_first + at * live_span;
    for (var j = 0u; j < live_groups; j++) {
        work[m + j * TILE] = kept * gather_four(delassus_first + i * dense_span, j);
    }
    store(m, at, load(m, at) + select(real(1.0), real(0.0), free && stretch == real(0.0)) + proximal);
    store(rhs_first, at, bounded(k, law, rho, y) - lambda);
}

// Solves the live rows for the step, into `solved`; pivots in order, four rows at a time.
fn eliminate() {
    for (var q = 0u; q < live_groups; q++) {
        let top = matrix_first + GROUP * q * live_span;
        var rhs = work[rhs_first + q * TILE];
        for (var j = 0u; j < q; j++) {
            var t = cleared(top, j, j);
            let m = load_four(matrix_first + GROUP * j * live_span + j * TILE, live_span);
            let done = work[rhs_first + j * TILE];
            let f0 = row_factors(t.a, m);
            let f1 = row_factors(t.b, m);
            let f2 = row_factors(t.c, m);
            let f3 = row_factors(t.d, m);
            factors_a[j] = f0;
            factors_b[j] = f1;
            factors_c[j] = f2;
            factors_d[j] = f3;
            rhs = dots(Four(f0, f1, f2, f3), done, rhs);
        }
        // The block on the diagonal, its pivots replaced by their inverses.
        var t = cleared(top, q, q);
        t.a.x = reciprocal(t.a.x);
        let f10 = -(t.b.x * t.a.x);
        t.b = fma(all_of(f10), t.a, t.b);
        rhs.y = fma(f10, rhs.x, rhs.y);
        t.b.y = reciprocal(t.b.y);
        let f20 = -(t.c.x * t.a.x);
        t.c = fma(all_of(f20), t.a, t.c);
        let f21 = -(t.c.y * t.b.y);
        t.c = fma(all_of(f21), t.b, t.c);
        rhs.z = fma(f21, rhs.y, fma(f20, rhs.x, rhs.z));
        t.c.z = reciprocal(t.c.z);
        let f30 = -(t.d.x * t.a.x);
        t.d = fma(all_of(f30), t.a, t.d);
        let f31 = -(t.d.y * t.b.y);
        t.d = fma(all_of(f31), t.b, t.d);
        let f32 = -(t.d.z * t.c.z);
        t.d = fma(all_of(f32), t.c, t.d);
        rhs.w = fma(f32, rhs.z, fma(f31, rhs.y, fma(f30, rhs.x, rhs.w)));
        t.d.w = reciprocal(t.d.w);
        store_four(top + q * TILE, live_span, t);
        work[rhs_first + q * TILE] = rhs;
        for (var j = q + 1u; j < live_groups; j++) {
            var u = cleared(top, q, j);
            u.b = fma(all_of(f10), u.a, u.b);
            u.c = fma(all_of(f21), u.b, fma(all_of(f20), u.a, u.c));
            u.d = fma(all_of(f32), u.c, fma(all_of(f31), u.b, fma(all_of(f30), u.a, u.d)));
            store_four(top + j * TILE, live_span, u);
        }
    }
    for (var back = 0u; back < live_groups; back++) {
        let q = live_groups - 1u - back;
        let top = matrix_first + GROUP * q * live_span;
        var sum = all_of(real(0.0));
        for (var j = q + 1u; j < live_groups; j++) {
            sum = dots(load_four(top + j * TILE, live_span), solved[j], sum);
        }
        let m = load_four(top + q * TILE, live_span);
        var x = work[rhs_first + q * TILE] - sum;
        x.w *= m.d.w;
        x.z = (x.z - m.c.w * x.w) * m.c.z;
        x.y = (x.y - fma(m.b.w, x.w, m.b.z * x.z)) * m.b.y;
        x.x = (x.x - fma(m.a.w, x.w, fma(m.a.z, x.z, m.a.y * x.y))) * m.a.x;
        solved[q] = x;
    }
}

fn reciprocal(pivot: real) -> real {
    return real(1.0) / select(pivot, LEAST_PIVOT, abs(pivot) < LEAST_PIVOT);
}

// The block of four rows from `top` and group j of columns, after `pivots` groups of pivots.
fn cleared(top: u32, pivots: u32, j: u32) -> Four {
    var t = load_four(top + j * TILE, live_span);
    for (var p = 0u; p < pivots; p++) {
        let m = load_four(matrix_first + GROUP * p * live_span + j * TILE, live_span);
        t.a = add_rows(factors_a[p], m, t.a);
        t.b = add_rows(factors_b[p], m, t.b);
        t.c = add_rows(factors_c[p], m, t.c);
        t.d = add_rows(factors_d[p], m, t.d);
    }
    return t;
}

// The factors that clear four entries of a row; m: the block on the diagonal, with the inverses of its pivots.
fn row_factors(entries: vec4<real>, m: Four) -> vec4<real> {
    var t = entries;
    let f0 = -(t.x * m.a.x);
    t = fma(all_of(f0), m.a, t);
    let f1 = -(t.y * m.b.y);
    t = fma(all_of(f1), m.b, t);
    let f2 = -(t.z * m.c.z);
    t = fma(all_of(f2), m.c, t);
    return vec4<real>(f0, f1, f2, -(t.w * m.d.w));
}
