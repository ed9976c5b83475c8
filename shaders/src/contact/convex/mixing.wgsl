// CANAL's De Saxce shift from one outer iteration to the next, by one workgroup: the twin of mixing.rs. The importing
// kernel imports contact/convex/evaluate, and calls these from uniform control flow.

// What an island finds of the newest differences: the square of the residual, the newest difference of residuals times
// each, and each times the residual.
struct Products {
    square: real,
    newest: array<real, WINDOW>,
    residual: array<real, WINDOW>,
}

// Whether a constraint has a shift.
fn mixing_shifts(i: u32) -> bool {
    return is_block(i) && real(0.0) <= island_con[CON_SIZE * i + CON_FRICTION];
}

// Where a slot has a constraint's number.
fn mixing_slot(slot: u32, i: u32) -> u32 {
    return dims.mixing_real + slot * dims.n_constraints + i;
}

// The bias with the shift at the slacks z, which are in the terms' place for `J d`.
fn mixing_image(i: u32) -> real {
    let c = CON_SIZE * i;
    let t = term_at(i);
    let x = convex[t + TERM_ALONG] + island_con[c + CON_BIAS];
    let y = convex[t + TERM_ALONG + 1u] + island_con[c + CON_BIAS + 1u];
    return fma(island_con[c + CON_FRICTION], sqrt(x * x + y * y), island_con[c + CON_BIAS + 2u]);
}

// Freezes a bias. The larger of its change and `moved`.
fn mixing_freeze(i: u32, next: real, moved: real) -> real {
    let at = term_at(i) + TERM_BIAS + 2u;
    let change = abs(next - convex[at]);
    convex[at] = next;
    return max(moved, change);
}

// Freezes the shift at the slacks and forgets all that was learnt. The largest change that a lane made.
fn convex_shift(own: IslandRecord, p: Place, local: u32) -> real {
    var moved = real(0.0);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        if mixing_shifts(i) {
            moved = mixing_freeze(i, mixing_image(i), moved);
        }
    }
    convex_store(local, p.state + STATE_NEWEST, real(0.0));
    convex_store(local, p.state + STATE_LEARNT, real(0.0));
    convex_store(local, p.state + STATE_DISTANCE, real(-1.0));
    return moved;
}

// Writes the differences of image and residual to a slot.
fn mixing_learn(own: IslandRecord, local: u32, newest: u32) -> Products {
    let zero = real(0.0);
    var square = zero;
    var along: array<real, WINDOW>;
    var across: array<real, WINDOW>;
    for (var k = 0u; k < WINDOW; k++) {
        along[k] = zero;
        across[k] = zero;
    }
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        if !mixing_shifts(i) {
            continue;
        }
        let image = mixing_image(i);
        let residual = image - convex[term_at(i) + TERM_BIAS + 2u];
        let at_image = mixing_slot(MIXING_IMAGE, i);
        let at_residual = mixing_slot(MIXING_RESIDUAL, i);
        let difference = residual - convex[at_residual];
        convex[mixing_slot(MIXING_IMAGES + newest, i)] = image - convex[at_image];
        convex[mixing_slot(MIXING_RESIDUALS + newest, i)] = difference;
        convex[at_image] = image;
        convex[at_residual] = residual;
        square = fma(residual, residual, square);
        for (var k = 0u; k < WINDOW; k++) {
            let other = convex[mixing_slot(MIXING_RESIDUALS + k, i)];
            along[k] = fma(other, difference, along[k]);
            across[k] = fma(other, residual, across[k]);
        }
    }
    let a = convex_total(local, vec4<real>(along[0], along[1], along[2], along[3]), false);
    let b = convex_total(local, vec4<real>(across[0], across[1], across[2], across[3]), false);
    let c = convex_total(local, vec4<real>(along[4], across[4], square, zero), false);
    return Products(
        c.z,
        array<real, WINDOW>(a.x, a.y, a.z, a.w, c.x),
        array<real, WINDOW>(b.x, b.y, b.z, b.w, c.y),
    );
}

fn mixing_back(newest: u32, k: u32) -> u32 {
    return (newest + WINDOW - k) % WINDOW;
}

// Shares of the differences that make the residual less them least, by elimination from the newest to the oldest, by one
// lane; what is noise beside the newer ones or the largest has no share.
fn mixing_combine(p: Place, newest: u32, learnt: u32, residual: array<real, WINDOW>) {
    let zero = real(0.0);
    let noise = setting(dims.noise);
    var right = residual;
    // The factor times its pivots, their inverses, and the right-hand side.
    var c: array<real, WINDOW * WINDOW>;
    var inverse: array<real, WINDOW>;
    var y: array<real, WINDOW>;
    var gamma: array<real, WINDOW>;
    for (var k = 0u; k < WINDOW; k++) {
        inverse[k] = zero;
        gamma[k] = zero;
    }
    var least = zero;
    for (var k = 0u; k < learnt; k++) {
        least = max(least, convex[p.state + STATE_GRAM + (WINDOW + 1u) * mixing_back(newest, k)]);
    }
    least *= MIXING_INEXACT;
    for (var k = 0u; k < learnt; k++) {
        let row = p.state + STATE_GRAM + WINDOW * mixing_back(newest, k);
        for (var j = 0u; j <= k; j++) {
            var x = convex[row + mixing_back(newest, j)];
            for (var m = 0u; m < j; m++) {
                x = fma(-(c[WINDOW * k + m] * inverse[m]), c[WINDOW * j + m], x);
            }
            c[WINDOW * k + j] = x;
        }
        let whole = convex[row + mixing_back(newest, k)];
        var x = right[mixing_back(newest, k)];
        for (var j = 0u; j < k; j++) {
            x = fma(-(c[WINDOW * k + j] * inverse[j]), y[j], x);
        }
        y[k] = x;
        let pivot = c[WINDOW * k + k];
        if max(noise * whole, least) < pivot && is_finite(pivot) {
            inverse[k] = real(1.0) / pivot;
        }
    }
    for (var step = 0u; step < learnt; step++) {
        let k = learnt - 1u - step;
        if zero < inverse[k] {
            var left = y[k];
            for (var j = k + 1u; j < learnt; j++) {
                left = fma(-c[WINDOW * j + k], gamma[j], left);
            }
            gamma[k] = left * inverse[k];
        }
    }
    for (var k = 0u; k < WINDOW; k++) {
        convex[p.state + STATE_GAMMA + mixing_back(newest, k)] = gamma[k];
    }
}

// Freezes the shift that is to come next, from the present one and that at the slacks. The largest change that a lane made.
fn convex_mix(own: IslandRecord, p: Place, local: u32) -> real {
    let zero = real(0.0);
    let before = convex_tell(local, p.state + STATE_DISTANCE);
    var newest = u32(convex_tell(local, p.state + STATE_NEWEST));
    var learnt = u32(convex_tell(local, p.state + STATE_LEARNT));
    let next = (newest + 1u) % WINDOW;
    var sums = mixing_learn(own, local, next);
    if before < sums.square {
        // Another set of contacts slides, what was learnt of the old one misleads; or nothing was learnt yet.
        learnt = 0u;
    } else {
        newest = next;
        learnt = min(learnt + 1u, WINDOW);
    }
    if local == 0u {
        if learnt > 0u {
            for (var k = 0u; k < WINDOW; k++) {
                convex[p.state + STATE_GRAM + WINDOW * newest + k] = sums.newest[k];
                convex[p.state + STATE_GRAM + WINDOW * k + newest] = sums.newest[k];
            }
        }
        mixing_combine(p, newest, learnt, sums.residual);
        convex[p.state + STATE_NEWEST] = real(newest);
        convex[p.state + STATE_LEARNT] = real(learnt);
        convex[p.state + STATE_DISTANCE] = sums.square;
    }
    convex_barrier();
    var moved = zero;
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        if !mixing_shifts(i) {
            continue;
        }
        let image = convex[mixing_slot(MIXING_IMAGE, i)];
        var mixed = image;
        for (var k = 0u; k < WINDOW; k++) {
            let gamma = convex[p.state + STATE_GAMMA + k];
            if gamma != zero {
                mixed = fma(-gamma, convex[mixing_slot(MIXING_IMAGES + k, i)], mixed);
            }
        }
        let next = select(image, max(mixed, island_con[CON_SIZE * i + CON_BIAS + 2u]), is_finite(mixed));
        moved = mixing_freeze(i, next, moved);
    }
    return moved;
}
