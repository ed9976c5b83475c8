// The matrix of a Newton step of a dense problem, and its elimination, by a workgroup: the twin of dense_step.rs, imported by
// contact/dense_group.

// The matrix of the step and its right-hand side, for the rows that can change.
fn linearise(d: Dense, local: u32, proximal: real) {
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[STEP + i] = select(real(0.0), real(1.0), is_live(d, i));
    }
    workgroupBarrier();
    list_live(d, local);
    let slots = workgroupUniformLoad(&live_slots);
    let count = workgroupUniformLoad(&live_count);
    matrix_span = matrix_row(count);
    matrix_first = d.matrix;
    matrix_is_near = count * matrix_span <= NEAR;
    for (var at = local; at < slots; at += GROUP_WIDTH) {
        slot_law(d, at, slots);
    }
    workgroupBarrier();
    for (var at = 0u; at < slots; at++) {
        slot_matrix(d, local, at, slots, count, proximal);
    }
    for (var at = 3u * slots; at < count; at++) {
        row_matrix(d, local, at, count, proximal);
    }
    meet();
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[STEP + i] = real(0.0);
    }
    workgroupBarrier();
}

// Whether a step can change row i; of slots their first row says it.
fn is_live(d: Dense, i: u32) -> bool {
    let zero = real(0.0);
    let rho = rho_of(work[d.rho + i]);
    if i < d.slots {
        let lambda = held_slot(d, LAMBDA, i);
        let carries = abs(lambda.x) + abs(lambda.y) + abs(lambda.z);
        let normal = of_slot(d, i, 2u);
        let ahead = origin(d, normal, lambda.z) - rho * held[SIGMA + normal];
        return zero < rho && (zero < carries || zero < ahead || work[d.friction + i] < zero);
    }
    if i < 3u * d.slots {
        return false;
    }
    let k = i - 3u * d.slots;
    let lambda = held[LAMBDA + i];
    let y = origin(d, i, lambda) - rho * held[SIGMA + i];
    let free = work[d.lower + k] < y && y < work[d.upper + k];
    return zero < rho && (free || zero < abs(bounded(d, k, rho, y) - lambda));
}

// Lists the rows of which STEP says that they are live.
fn list_live(d: Dense, local: u32) {
    let slots = count_live(0u, d.slots);
    for (var slot = local; slot < d.slots; slot += GROUP_WIDTH) {
        if real(0.0) < held[STEP + slot] {
            let at = count_live(0u, slot);
            live[at] = slot;
            live[slots + at] = of_slot(d, slot, 1u);
            live[2u * slots + at] = of_slot(d, slot, 2u);
        }
    }
    let rows = 3u * d.slots;
    for (var i = rows + local; i < d.n; i += GROUP_WIDTH) {
        if real(0.0) < held[STEP + i] {
            live[3u * slots + count_live(rows, i)] = i;
        }
    }
    if local == 0u {
        live_slots = slots;
        live_count = 3u * slots + count_live(rows, d.n);
    }
    workgroupBarrier();
}

// How many rows STEP says are live.
fn count_live(begin: u32, end: u32) -> u32 {
    var count = 0u;
    for (var i = begin; i < end; i++) {
        count += select(0u, 1u, real(0.0) < held[STEP + i]);
    }
    return count;
}

fn on_diagonal(row: u32, column: u32, x: real) -> real {
    return select(real(0.0), x, row == column);
}

// What a slot is mapped to, less its impulse, and how that changes: 00 01 02 11 12 22 of P, from STEP on, where SLOPE follows.
fn slot_law(d: Dense, at: u32, slots: u32) {
    let slot = live[at];
    let mu = work[d.friction + slot];
    let rho = rho_of(work[d.rho + slot]);
    let lambda = held_slot(d, LAMBDA, slot);
    let rows = vec3<u32>(slot, of_slot(d, slot, 1u), of_slot(d, slot, 2u));
    let begin = vec3<real>(origin(d, rows.x, lambda.x), origin(d, rows.y, lambda.y), origin(d, rows.z, lambda.z));
    let y = begin - rho * held_slot(d, SIGMA, slot);
    let change = slot_mapped(d, slot, rho, y) - lambda;
    held[RHS + at] = change.x;
    held[RHS + slots + at] = change.y;
    held[RHS + 2u * slots + at] = change.z;
    var p = derivative(mu, y);
    if relaxes {
        p = steps_derivative(slot_caps(d, slot), mu, rho, y);
    }
    let to = STEP + 6u * at;
    held[to] = p.p00;
    held[to + 1u] = p.p01;
    held[to + 2u] = p.p02;
    held[to + 3u] = p.p11;
    held[to + 4u] = p.p12;
    held[to + 5u] = p.p22;
}

// Rows of a slot: `1 - P (1 - rho G) + eps`, of a centred step `1 + P s rho G`, the lanes over the columns, with zeros to the end of
// the last group; `at`: its place among the live ones.
fn slot_matrix(d: Dense, local: u32, at: u32, slots: u32, count: u32, proximal: real) {
    let slot = live[at];
    let rho = rho_of(work[d.rho + slot]);
    let p_first = STEP + 6u * at;
    let p = Derivative(held[p_first], held[p_first + 1u], held[p_first + 2u], held[p_first + 3u], held[p_first + 4u], held[p_first + 5u]);
    let here = vec3<u32>(at, slots + at, 2u * slots + at);
    let kept = select(real(1.0), real(0.0), real(0.0) < stretch);
    let own = real(1.0) + proximal;
    let g = d.delassus + vec3<u32>(slot, of_slot(d, slot, 1u), of_slot(d, slot, 2u)) * d.n;
    for (var j = local; j < GROUP * groups_of(count); j += GROUP_WIDTH) {
        let column = live[min(j, count - 1u)];
        let there = select(real(0.0), rho, j < count);
        let g0 = there * work[g.x + column];
        let g1 = there * work[g.y + column];
        let g2 = there * work[g.z + column];
        let m0 = fma(p.p00, g0, fma(p.p01, g1, p.p02 * g2));
        let m1 = fma(p.p01, g0, fma(p.p11, g1, p.p12 * g2));
        let m2 = p.p22 * g2;
        let on0 = on_diagonal(here.x, j, own - kept * p.p00) - on_diagonal(here.y, j, kept * p.p01)
            - on_diagonal(here.z, j, kept * p.p02);
        let on1 = on_diagonal(here.y, j, own - kept * p.p11) - on_diagonal(here.x, j, kept * p.p01)
            - on_diagonal(here.z, j, kept * p.p12);
        set_entry(here.x * matrix_span, j, m0 + on0);
        set_entry(here.y * matrix_span, j, m1 + on1);
        set_entry(here.z * matrix_span, j, m2 + on_diagonal(here.z, j, own - kept * p.p22));
    }
}

// The single row at some place among the live ones.
fn row_matrix(d: Dense, local: u32, at: u32, count: u32, proximal: real) {
    let i = live[at];
    let k = i - 3u * d.slots;
    let rho = rho_of(work[d.rho + i]);
    let lambda = held[LAMBDA + i];
    let y = origin(d, i, lambda) - rho * held[SIGMA + i];
    var free = work[d.lower + k] < y && y < work[d.upper + k];
    if relaxes {
        free = free && !steps_holds(work[d.cap + d.slots + k], work[d.request + i], rho, y);
    }
    if local == 0u {
        held[RHS + at] = bounded(d, k, rho, y) - lambda;
    }
    let kept = select(real(0.0), rho, free);
    let own = select(real(1.0), real(0.0), free && stretch == real(0.0)) + proximal;
    for (var j = local; j < GROUP * groups_of(count); j += GROUP_WIDTH) {
        let there = select(real(0.0), kept, j < count);
        let g = work[d.delassus + i * d.n + live[min(j, count - 1u)]];
        set_entry(at * matrix_span, j, fma(there, g, on_diagonal(at, j, own)));
    }
}

// Groups of columns of a matrix of some rows.
fn groups_of(count: u32) -> u32 {
    return (count + GROUP - 1u) / GROUP;
}

// Four rows by four columns.
struct Four {
    a: vec4<real>,
    b: vec4<real>,
    c: vec4<real>,
    d: vec4<real>,
}

// Four rows from `first` on by group j of columns; those beyond the last row are of the identity, where j is their own.
fn load_four(first: u32, j: u32, count: u32) -> Four {
    let zero = real(0.0);
    let one = real(1.0);
    let at = first * matrix_span + j;
    var m = Four(
        entries(at), vec4<real>(zero, one, zero, zero), vec4<real>(zero, zero, one, zero), vec4<real>(zero, zero, zero, one),
    );
    if first + 1u < count {
        m.b = entries(at + matrix_span);
    }
    if first + 2u < count {
        m.c = entries(at + 2u * matrix_span);
    }
    if first + 3u < count {
        m.d = entries(at + 3u * matrix_span);
    }
    return m;
}

fn store_four(first: u32, j: u32, count: u32, m: Four) {
    let at = first * matrix_span + j;
    set_entries(at, m.a);
    if first + 1u < count {
        set_entries(at + matrix_span, m.b);
    }
    if first + 2u < count {
        set_entries(at + 2u * matrix_span, m.c);
    }
    if first + 3u < count {
        set_entries(at + 3u * matrix_span, m.d);
    }
}

// Their right-hand sides.
fn load_rhs(first: u32, count: u32) -> vec4<real> {
    var x = vec4<real>(held[RHS + first], real(0.0), real(0.0), real(0.0));
    if first + 1u < count {
        x.y = held[RHS + first + 1u];
    }
    if first + 2u < count {
        x.z = held[RHS + first + 2u];
    }
    if first + 3u < count {
        x.w = held[RHS + first + 3u];
    }
    return x;
}

fn all_of(x: real) -> vec4<real> {
    return vec4<real>(x, x, x, x);
}

fn reciprocal(pivot: real) -> real {
    return real(1.0) / select(pivot, LEAST_PIVOT, abs(pivot) < LEAST_PIVOT);
}

// The block on the diagonal, eliminated: inverses of its pivots, and below them the factors that cleared the columns.
fn factored(block: Four) -> Four {
    var m = block;
    m.a.x = reciprocal(m.a.x);
    let b0 = -m.b.x * m.a.x;
    m.b = fma(all_of(b0), m.a, m.b);
    m.b = vec4<real>(b0, reciprocal(m.b.y), m.b.z, m.b.w);
    let c0 = -m.c.x * m.a.x;
    m.c = fma(all_of(c0), m.a, m.c);
    let c1 = -m.c.y * m.b.y;
    m.c = fma(all_of(c1), m.b, m.c);
    m.c = vec4<real>(c0, c1, reciprocal(m.c.z), m.c.w);
    let d0 = -m.d.x * m.a.x;
    m.d = fma(all_of(d0), m.a, m.d);
    let d1 = -m.d.y * m.b.y;
    m.d = fma(all_of(d1), m.b, m.d);
    let d2 = -m.d.z * m.c.z;
    m.d = vec4<real>(d0, d1, d2, reciprocal(fma(d2, m.c.w, m.d.w)));
    return m;
}

// The same elimination of their entries in another group of columns.
fn lowered(m: Four, of_others: Four) -> Four {
    var x = of_others;
    x.b = fma(all_of(m.b.x), x.a, x.b);
    x.c = fma(all_of(m.c.y), x.b, fma(all_of(m.c.x), x.a, x.c));
    x.d = fma(all_of(m.d.z), x.c, fma(all_of(m.d.y), x.b, fma(all_of(m.d.x), x.a, x.d)));
    return x;
}

// And of their right-hand sides.
fn lowered_rhs(m: Four, rhs: vec4<real>) -> vec4<real> {
    var x = rhs;
    x.y = fma(m.b.x, x.x, x.y);
    x.z = fma(m.c.y, x.y, fma(m.c.x, x.x, x.z));
    x.w = fma(m.d.z, x.z, fma(m.d.y, x.y, fma(m.d.x, x.x, x.w)));
    return x;
}

// What clears four entries of a row below.
fn row_factors(m: Four, row: vec4<real>) -> vec4<real> {
    let x = -row.x * m.a.x;
    var rest = fma(all_of(x), m.a, row);
    let y = -rest.y * m.b.y;
    rest = fma(all_of(y), m.b, rest);
    let z = -rest.z * m.c.z;
    rest = fma(all_of(z), m.c, rest);
    return vec4<real>(x, y, z, -rest.w * m.d.w);
}

// Eliminates four rows and what is below them, four columns at once: lanes meet half as often as for one column after the other.
fn clear_columns(local: u32, k: u32, count: u32) {
    let first = GROUP * k;
    let groups = groups_of(count);
    let m = factored(load_four(first, k, count));
    let rhs = lowered_rhs(m, load_rhs(first, count));
    for (var j = k + 1u + local; j < groups; j += GROUP_WIDTH) {
        store_four(first, j, count, lowered(m, load_four(first, j, count)));
    }
    meet();
    if local == 0u {
        store_four(first, k, count, m);
    }
    if local < GROUP && first + local < count {
        held[RHS + first + local] = rhs[local];
    }
    for (var r = first + GROUP + local; r < count; r += GROUP_WIDTH) {
        let row = r * matrix_span;
        let by = row_factors(m, entries(row + k));
        for (var j = k + 1u; j < groups; j++) {
            let x = load_four(first, j, count);
            let sum = fma(all_of(by.x), x.a, entries(row + j));
            set_entries(row + j, fma(all_of(by.w), x.d, fma(all_of(by.z), x.c, fma(all_of(by.y), x.b, sum))));
        }
        held[RHS + r] += fma(by.x, rhs.x, fma(by.y, rhs.y, fma(by.z, rhs.z, by.w * rhs.w)));
    }
    meet();
}

// Solves the live rows for the step, pivots in order, four rows at a time.
fn eliminate(local: u32) {
    let count = workgroupUniformLoad(&live_count);
    let groups = groups_of(count);
    for (var k = 0u; k < groups; k++) {
        clear_columns(local, k, count);
    }
    for (var back = 0u; back < groups; back++) {
        let k = groups - 1u - back;
        let first = GROUP * k;
        let m = load_four(first, k, count);
        var x = load_rhs(first, count);
        x.w *= m.d.w;
        x.z = (x.z - m.c.w * x.w) * m.c.z;
        x.y = (x.y - fma(m.b.w, x.w, m.b.z * x.z)) * m.b.y;
        x.x = (x.x - fma(m.a.w, x.w, fma(m.a.z, x.z, m.a.y * x.y))) * m.a.x;
        if local < GROUP && first + local < count {
            held[STEP + live[first + local]] = x[local];
        }
        for (var r = local; r < first; r += GROUP_WIDTH) {
            let u = entries(r * matrix_span + k);
            held[RHS + r] -= fma(u.x, x.x, fma(u.y, x.y, fma(u.z, x.z, u.w * x.w)));
        }
        workgroupBarrier();
    }
}
