// The direction of a Newton step on an island whose matrix is never written out, by conjugate residuals, by one workgroup:
// the twin of conjugate.rs. The importing kernel imports contact/convex/evaluate and calls `convex_direction` from uniform
// control flow.

// First real of a vector.
fn conjugate_vector(p: Place, vector: u32) -> u32 {
    return p.gradient + vector * p.n;
}

// First real of a dof's row of its tree's block of the preconditioner: they lie as those of A do.
fn conjugate_row(own: IslandRecord, p: Place, row: u32) -> u32 {
    return conjugate_vector(p, CONJUGATE_SIZE) + row - dof_record(own.velocity_begin).row;
}

// The trees' own blocks of `A + J^T W J`, each row by one lane.
fn conjugate_blocks(own: IslandRecord, p: Place, local: u32) {
    let zero = real(0.0);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        let to = conjugate_row(own, p, dof.row);
        for (var l = 0u; l < dof.count; l++) {
            convex[to + l] = convex[dof.row + l];
        }
        for (var s = dof.sides_begin; s < dof.sides_end; s++) {
            let side = side_record(convex_index[s]);
            let w = term_slope(term_at(side.constraint));
            let j = side.jac;
            let c = k - dof.tree;
            if is_block(side.constraint) {
                let u = symmetric_times(w, vec3<real>(
                    island_jac[j + c], island_jac[j + side.count + c], island_jac[j + 2u * side.count + c],
                ));
                for (var l = 0u; l < side.count; l++) {
                    var x = fma(u.x, island_jac[j + l], convex[to + l]);
                    x = fma(u.y, island_jac[j + side.count + l], x);
                    convex[to + l] = fma(u.z, island_jac[j + 2u * side.count + l], x);
                }
            } else {
                let u = w.g[0] * island_jac[j + c];
                for (var l = 0u; l < side.count; l++) {
                    convex[to + l] = fma(u, island_jac[j + l], convex[to + l]);
                }
            }
        }
    }
    convex_barrier();
}

// Inverts the blocks by sweeps on their diagonals, all trees abreast. Whether every pivot is positive.
fn conjugate_invert(own: IslandRecord, p: Place, local: u32) -> bool {
    let zero = real(0.0);
    let one = real(1.0);
    var mine = zero;
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        mine = max(mine, real(dof_record(own.velocity_begin + k).count));
    }
    let widest = u32(convex_total(local, vec4<real>(mine, zero, zero, zero), true).x);
    var broken = zero;
    for (var j = 0u; j < widest; j++) {
        for (var k = local; k < p.n; k += ISLAND_WIDTH) {
            let dof = dof_record(own.velocity_begin + k);
            if j < dof.count && k - dof.tree != j {
                let to = conjugate_row(own, p, dof.row);
                let other = to + (j + dof.tree) * dof.count - k * dof.count;
                let share = convex[to + j] / convex[other + j];
                for (var l = 0u; l < dof.count; l++) {
                    if l != j {
                        convex[to + l] = fma(-share, convex[other + l], convex[to + l]);
                    }
                }
                convex[to + j] = -share;
            }
        }
        convex_barrier();
        for (var k = local; k < p.n; k += ISLAND_WIDTH) {
            let dof = dof_record(own.velocity_begin + k);
            if j < dof.count && k - dof.tree == j {
                let to = conjugate_row(own, p, dof.row);
                let pivot = convex[to + j];
                if !(zero < pivot && is_finite(pivot)) {
                    broken = one;
                }
                for (var l = 0u; l < dof.count; l++) {
                    convex[to + l] = select(convex[to + l], one, l == j) / pivot;
                }
            }
        }
        convex_barrier();
    }
    return convex_total(local, vec4<real>(broken, zero, zero, zero), true).x == zero;
}

// The preconditioner times vector `from`, to vector `to`; without a barrier.
fn conjugate_precondition(own: IslandRecord, p: Place, local: u32, begin: u32, to: u32) {
    let x = conjugate_vector(p, begin);
    let y = conjugate_vector(p, to);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        let row = conjugate_row(own, p, dof.row);
        var sum = real(0.0);
        for (var l = 0u; l < dof.count; l++) {
            sum = fma(convex[row + l], convex[x + dof.tree + l], sum);
        }
        convex[y + k] = sum;
    }
}

// `H z` to its vector, without a barrier behind it. `z^T H z`, and the square of the residual in the norm of `diag(A)^-1`.
fn conjugate_hessian(own: IslandRecord, p: Place, local: u32) -> vec4<real> {
    let zero = real(0.0);
    let z = conjugate_vector(p, CONJUGATE_Z);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let c = constraint_record(i);
        var sigma = vec3<real>(zero, zero, zero);
        for (var s = c.side_begin; s < c.side_end; s++) {
            let side = side_record(s);
            let x = z + side.velocity - own.velocity_begin;
            for (var k = 0u; k < side.count; k++) {
                sigma.x = fma(island_jac[side.jac + k], convex[x + k], sigma.x);
                if c.kind == KIND_BLOCK {
                    sigma.y = fma(island_jac[side.jac + side.count + k], convex[x + k], sigma.y);
                    sigma.z = fma(island_jac[side.jac + 2u * side.count + k], convex[x + k], sigma.z);
                }
            }
        }
        let t = term_at(i);
        store_vector(t + TERM_ALONG, symmetric_times(term_slope(t), sigma));
    }
    convex_barrier();
    var mine = vec4<real>(zero, zero, zero, zero);
    let to = conjugate_vector(p, CONJUGATE_HZ);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        var y = convex_pushed(dof, k, TERM_ALONG);
        for (var l = 0u; l < dof.count; l++) {
            y = fma(convex[dof.row + l], convex[z + dof.tree + l], y);
        }
        let r = convex[conjugate_vector(p, CONJUGATE_RESIDUAL) + k];
        mine.x = fma(convex[z + k], y, mine.x);
        mine.y += r * r / convex[dof.row + k - dof.tree];
        convex[to + k] = y;
    }
    return convex_total(local, mine, false);
}

// Begins a direction. Whether there is a preconditioner in this arithmetic.
fn conjugate_begin_direction(own: IslandRecord, p: Place, local: u32) -> bool {
    conjugate_blocks(own, p, local);
    if !conjugate_invert(own, p, local) {
        return false;
    }
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        convex[conjugate_vector(p, CONJUGATE_DIRECTION) + k] = real(0.0);
        convex[conjugate_vector(p, CONJUGATE_RESIDUAL) + k] = -convex[p.gradient + k];
    }
    convex_barrier();
    return true;
}

// Direction, residual and `z` a step along `P`; whether there is one.
fn conjugate_step(p: Place, local: u32, energy: real) -> bool {
    let zero = real(0.0);
    let hp = conjugate_vector(p, CONJUGATE_HP);
    let mhp = conjugate_vector(p, CONJUGATE_MHP);
    var mine = vec4<real>(zero, zero, zero, zero);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        mine.x = fma(convex[hp + k], convex[mhp + k], mine.x);
    }
    let square = convex_total(local, mine, false).x;
    let alpha = energy / square;
    if !(zero < energy && zero < square && is_finite(alpha)) {
        return false;
    }
    let residual = conjugate_vector(p, CONJUGATE_RESIDUAL);
    let z = conjugate_vector(p, CONJUGATE_Z);
    let direction = conjugate_vector(p, CONJUGATE_DIRECTION);
    let along = conjugate_vector(p, CONJUGATE_P);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        convex[direction + k] = fma(alpha, convex[along + k], convex[direction + k]);
        convex[residual + k] = fma(-alpha, convex[hp + k], convex[residual + k]);
        convex[z + k] = fma(-alpha, convex[mhp + k], convex[z + k]);
    }
    return true;
}

// One round; the first, which makes no step, finds the first `P`. Whether there may be more to gain.
fn conjugate_round(own: IslandRecord, p: Place, local: u32, is_first: bool) -> bool {
    let begin = select(CONJUGATE_HP, CONJUGATE_RESIDUAL, is_first);
    conjugate_precondition(own, p, local, begin, select(CONJUGATE_MHP, CONJUGATE_Z, is_first));
    let energy = convex_tell(local, p.state + STATE_ENERGY);
    if !is_first {
        if !conjugate_step(p, local, energy) {
            return false;
        }
    }
    convex_barrier();
    let sums = conjugate_hessian(own, p, local);
    let beta = select(sums.x / energy, real(0.0), is_first);
    let along = conjugate_vector(p, CONJUGATE_P);
    let hp = conjugate_vector(p, CONJUGATE_HP);
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let z = convex[conjugate_vector(p, CONJUGATE_Z) + k];
        let hz = convex[conjugate_vector(p, CONJUGATE_HZ) + k];
        convex[along + k] = select(fma(beta, convex[along + k], z), z, is_first);
        convex[hp + k] = select(fma(beta, convex[hp + k], hz), hz, is_first);
    }
    convex_store(local, p.state + STATE_ENERGY, sums.x);
    if is_first {
        convex_store(local, p.state + STATE_ENOUGH, CONJUGATE_SHARE * CONJUGATE_SHARE * sums.y);
    }
    convex_barrier();
    return is_first || convex_tell(local, p.state + STATE_ENOUGH) < sums.y;
}

// A turn.
fn convex_direction(own: IslandRecord, p: Place, local: u32) -> u32 {
    let before = u32(convex_tell(local, p.state + STATE_ROUNDS));
    var is_first = before == 0u;
    if is_first {
        if !conjugate_begin_direction(own, p, local) {
            return DIRECTION_NONE;
        }
    }
    let most = CONJUGATE_MOST * p.n;
    var rounds = before;
    var going = true;
    let end = min(before + dims.rounds, most);
    while (is_first || rounds < end) && going {
        going = conjugate_round(own, p, local, is_first);
        rounds += select(1u, 0u, is_first);
        is_first = false;
    }
    let found = !going || rounds >= most;
    convex_store(local, p.state + STATE_ROUNDS, select(real(rounds), real(0.0), found));
    if found {
        for (var k = local; k < p.n; k += ISLAND_WIDTH) {
            velocity[p.d + k] = convex[conjugate_vector(p, CONJUGATE_DIRECTION) + k];
        }
    }
    convex_barrier();
    return select(DIRECTION_UNFINISHED, DIRECTION_FOUND, found);
}
