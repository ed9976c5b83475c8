// The matrix of a Newton step of a dense problem, and its elimination, by a workgroup: the twin of dense_step.rs, imported by
// contact/dense_group.

// The matrix of the step and its right-hand side, for the rows that can change.
fn linearise(d: Dense, local: u32, proximal: real) {
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[STEP + i] = select(real(0.0), real(1.0), is_live(d, i));
    }
    workgroupBarrier();
    if local == 0u {
        list_live(d);
    }
    workgroupBarrier();
    for (var i = local; i < d.n; i += GROUP_WIDTH) {
        held[STEP + i] = real(0.0);
    }
    let slots = workgroupUniformLoad(&live_slots);
    let count = workgroupUniformLoad(&live_count);
    matrix_span = matrix_row(count);
    matrix_first = d.matrix;
    matrix_is_near = count * matrix_span <= NEAR;
    for (var at = 0u; at < slots; at++) {
        slot_matrix(d, local, at, slots, count, proximal);
    }
    for (var at = 3u * slots; at < count; at++) {
        row_matrix(d, local, at, count, proximal);
    }
    meet();
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
fn list_live(d: Dense) {
    var slots = 0u;
    for (var slot = 0u; slot < d.slots; slot++) {
        if real(0.0) < held[STEP + slot] {
            live[slots] = slot;
            slots++;
        }
    }
    for (var at = 0u; at < slots; at++) {
        live[slots + at] = of_slot(d, live[at], 1u);
        live[2u * slots + at] = of_slot(d, live[at], 2u);
    }
    var count = 3u * slots;
    for (var i = 3u * d.slots; i < d.n; i++) {
        if real(0.0) < held[STEP + i] {
            live[count] = i;
            count++;
        }
    }
    live_slots = slots;
    live_count = count;
}

fn on_diagonal(row: u32, column: u32, x: real) -> real {
    return select(real(0.0), x, row == column);
}

// Rows of a slot: `1 - P (1 - rho G) + eps`, of a centred step `1 + P s rho G`, the lanes over the columns; `at`: its place among
// the live ones.
fn slot_matrix(d: Dense, local: u32, at: u32, slots: u32, count: u32, proximal: real) {
    let slot = live[at];
    let mu = work[d.friction + slot];
    let rho = rho_of(work[d.rho + slot]);
    let lambda = held_slot(d, LAMBDA, slot);
    let rows = vec3<u32>(slot, of_slot(d, slot, 1u), of_slot(d, slot, 2u));
    let begin = vec3<real>(origin(d, rows.x, lambda.x), origin(d, rows.y, lambda.y), origin(d, rows.z, lambda.z));
    let y = begin - rho * held_slot(d, SIGMA, slot);
    let here = vec3<u32>(at, slots + at, 2u * slots + at);
    if local == 0u {
        let change = slot_mapped(d, slot, rho, y) - lambda;
        held[RHS + here.x] = change.x;
        held[RHS + here.y] = change.y;
        held[RHS + here.z] = change.z;
    }
    var p = derivative(mu, y);
    if relaxes {
        p = steps_derivative(slot_caps(d, slot), mu, rho, y);
    }
    let kept = select(real(1.0), real(0.0), real(0.0) < stretch);
    let own = real(1.0) + proximal;
    let g = d.delassus + rows * d.n;
    for (var j = local; j < count; j += GROUP_WIDTH) {
        let column = live[j];
        let g0 = work[g.x + column];
        let g1 = work[g.y + column];
        let g2 = work[g.z + column];
        let m0 = fma(rho * p.p00, g0, fma(rho * p.p01, g1, rho * p.p02 * g2));
        let m1 = fma(rho * p.p01, g0, fma(rho * p.p11, g1, rho * p.p12 * g2));
        let m2 = rho * p.p22 * g2;
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
    for (var j = local; j < count; j += GROUP_WIDTH) {
        let g = work[d.delassus + i * d.n + live[j]];
        set_entry(at * matrix_span, j, fma(kept, g, on_diagonal(at, j, own)));
    }
}

fn pivot_inverse(k: u32) -> real {
    let pivot = entry(k * matrix_span, k);
    return real(1.0) / select(pivot, LEAST_PIVOT, abs(pivot) < LEAST_PIVOT);
}

// Clears column k below row k, the lanes over the rows, by groups from that of column k on; what stands before it in a row is not
// read again.
fn clear_column(local: u32, k: u32, count: u32) {
    let inverse = pivot_inverse(k);
    let top = k * matrix_span;
    let groups = (count + GROUP - 1u) / GROUP;
    for (var r = k + 1u + local; r < count; r += GROUP_WIDTH) {
        let row = r * matrix_span;
        let factor = -(entry(row, k) * inverse);
        if factor != real(0.0) {
            let all = vec4<real>(factor, factor, factor, factor);
            for (var j = k / GROUP; j < groups; j++) {
                set_entries(row + j, fma(all, entries(top + j), entries(row + j)));
            }
            held[RHS + r] = fma(factor, held[RHS + k], held[RHS + r]);
        }
    }
}

// Solves the live rows for the step, pivots in order.
fn eliminate(local: u32) {
    let count = workgroupUniformLoad(&live_count);
    for (var k = 0u; k < count; k++) {
        clear_column(local, k, count);
        meet();
    }
    for (var back = 0u; back < count; back++) {
        let k = count - 1u - back;
        let x = held[RHS + k] * pivot_inverse(k);
        if local == 0u {
            held[STEP + live[k]] = x;
        }
        for (var r = local; r < k; r += GROUP_WIDTH) {
            held[RHS + r] = fma(-entry(r * matrix_span, k), x, held[RHS + r]);
        }
        workgroupBarrier();
    }
}
