// The direction of a Newton step on an island whose matrix is written out, by one workgroup: the twin of direct.rs. The
// importing kernel imports contact/convex/evaluate and contact/convex/matrix, and calls `convex_direction` from uniform
// control flow.

// What a constraint gives to the rows of the matrix that are a lane's own.
fn convex_add(own: IslandRecord, i: u32, local: u32) {
    let zero = real(0.0);
    let w = term_slope(term_at(i));
    var acts = false;
    for (var e = 0u; e < 6u; e++) {
        acts = acts || w.g[e] != zero;
    }
    if !acts {
        return;
    }
    let c = constraint_record(i);
    let block = c.kind == KIND_BLOCK;
    for (var s = c.side_begin; s < c.side_end; s++) {
        let a = side_record(s);
        let first = a.velocity - own.velocity_begin;
        for (var k = (local + ISLAND_WIDTH - first % ISLAND_WIDTH) % ISLAND_WIDTH; k < a.count; k += ISLAND_WIDTH) {
            var u = vec3<real>(w.g[0] * island_jac[a.jac + k], zero, zero);
            if block {
                u = symmetric_times(w, vec3<real>(
                    island_jac[a.jac + k], island_jac[a.jac + a.count + k], island_jac[a.jac + 2u * a.count + k],
                ));
            }
            if u.x == zero && u.y == zero && u.z == zero {
                continue;
            }
            let row = first + k;
            for (var t = c.side_begin; t < c.side_end; t++) {
                let b = side_record(t);
                let begin = b.velocity - own.velocity_begin;
                if first < begin {
                    continue;
                }
                let end = min(b.count, row + 1u - begin);
                for (var j = 0u; j < end; j++) {
                    let at = row_at(row) + begin + j;
                    var x = fma(u.x, island_jac[b.jac + j], matrix_load(at));
                    if block {
                        x = fma(u.y, island_jac[b.jac + b.count + j], x);
                        x = fma(u.z, island_jac[b.jac + 2u * b.count + j], x);
                    }
                    matrix_store(at, x);
                }
            }
        }
    }
}

// `A + J^T W J` and the right-hand side, each row by one lane.
fn convex_assemble(own: IslandRecord, p: Place, local: u32) {
    for (var i = local; i < p.n; i += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + i);
        for (var j = dof.first; j < dof.tree; j++) {
            matrix_store(row_at(i) + j, real(0.0));
        }
        for (var j = dof.tree; j <= i; j++) {
            matrix_store(row_at(i) + j, convex[dof.row + j - dof.tree]);
        }
        matrix_store(row_at(p.n) + i, -convex[p.gradient + i]);
    }
    for (var i = own.constraint_begin; i < own.constraint_end; i++) {
        convex_add(own, i, local);
    }
    matrix_barrier();
}

// The direction, to region SOLUTION.
fn convex_direction(own: IslandRecord, p: Place, local: u32) -> u32 {
    convex_assemble(own, p, local);
    if !matrix_factor(own.velocity_begin, p.n, local) {
        return DIRECTION_NONE;
    }
    matrix_back(own.velocity_begin, p.n, local, p.d);
    convex_barrier();
    return DIRECTION_FOUND;
}
