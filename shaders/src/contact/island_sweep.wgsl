// Passes over one island by one workgroup: the twin of the functions below the records in island.rs. The importing
// kernel imports contact/local and contact/island, binds island_jac, island_con, impulse and velocity, and calls
// `island_recompute` and `island_measure` from uniform control flow, as they hold barriers.

var<workgroup> partial_square: array<real, ISLAND_WIDTH>;
var<workgroup> partial_scaled: array<real, ISLAND_WIDTH>;

struct Residuals {
    square: real,
    scaled: real,
}

// `e + J v` of a block, v in the region that begins at `region`.
fn block_sigma(c: ConstraintRecord, e: vec3<real>, region: u32) -> vec3<real> {
    var sigma = e;
    for (var s = c.side_begin; s < c.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            let x = velocity[region + side.velocity + k];
            let at = side.jac + k;
            sigma.x = fma(island_jac[at], x, sigma.x);
            sigma.y = fma(island_jac[at + side.count], x, sigma.y);
            sigma.z = fma(island_jac[at + 2u * side.count], x, sigma.z);
        }
    }
    return sigma;
}

// `v += Y d` of a block.
fn block_apply(c: ConstraintRecord, d: vec3<real>, region: u32) {
    // Most of what does not act now did not before.
    if d.x == real(0.0) && d.y == real(0.0) && d.z == real(0.0) {
        return;
    }
    for (var s = c.side_begin; s < c.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            let to = region + side.velocity + k;
            let at = side.jac + 3u * side.count + k;
            let y0 = island_jac[at];
            let y1 = island_jac[at + side.count];
            let y2 = island_jac[at + 2u * side.count];
            velocity[to] = fma(y0, d.x, fma(y1, d.y, fma(y2, d.z, velocity[to])));
        }
    }
}

// `J v` of a row, whose numbers stand at `at`.
fn row_sigma(c: ConstraintRecord, at: u32, region: u32) -> real {
    let dof = u32(island_con[at + CON_ROW_DOF]);
    if dof > 0u {
        return island_con[at + CON_ROW_COEFFICIENT] * velocity[region + side_record(c.side_begin).velocity + dof - 1u];
    }
    var sigma = real(0.0);
    for (var s = c.side_begin; s < c.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            sigma = fma(island_jac[side.jac + k], velocity[region + side.velocity + k], sigma);
        }
    }
    return sigma;
}

// `v += Y d` of a row.
fn row_apply(c: ConstraintRecord, d: real, region: u32) {
    if d == real(0.0) {
        return;
    }
    for (var s = c.side_begin; s < c.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            let to = region + side.velocity + k;
            velocity[to] = fma(island_jac[side.jac + side.count + k], d, velocity[to]);
        }
    }
}

// Whether a row cannot act in this step, and carries nothing.
fn row_is_idle(c: u32, lambda: real) -> bool {
    return island_con[c + CON_ROW_LOWER] == real(0.0) && island_con[c + CON_ROW_UPPER] == real(0.0) && lambda == real(0.0);
}

fn row_bounded(c: u32, x: real) -> real {
    return min(max(x, island_con[c + CON_ROW_LOWER]), island_con[c + CON_ROW_UPPER]);
}

fn row_solve(c: u32, lambda: real, sigma: real) -> real {
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    let whole = max(island_con[c + CON_ROW_DELASSUS] + compliance, TINY);
    return row_bounded(c, lambda - fma(compliance, lambda, sigma + island_con[c + CON_ROW_BIAS]) / whole);
}

// The same with a share of G.
fn row_solve_share(c: u32, share: real, lambda: real, sigma: real) -> real {
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    let whole = max(fma(share, island_con[c + CON_ROW_DELASSUS], compliance), TINY);
    return row_bounded(c, lambda - fma(compliance, lambda, sigma + island_con[c + CON_ROW_BIAS]) / whole);
}

fn row_residual(c: u32, step: real, lambda: real, sigma: real) -> real {
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    let fault = fma(compliance, lambda, sigma + island_con[c + CON_ROW_BIAS]);
    let moved = step * fault / fma(step, compliance, real(1.0));
    let y = lambda - moved;
    if island_con[c + CON_ROW_LOWER] <= y && y <= island_con[c + CON_ROW_UPPER] {
        return moved;
    }
    return lambda - row_bounded(c, y);
}

fn con_bias(c: u32) -> vec3<real> {
    return vec3<real>(island_con[c], island_con[c + 1u], island_con[c + 2u]);
}

// Trace of a block's own part of the Delassus operator.
fn con_trace(c: u32) -> real {
    return island_con[c + CON_DELASSUS] + island_con[c + CON_DELASSUS + 3u] + island_con[c + CON_DELASSUS + 5u];
}

fn con_block(at: u32) -> Block {
    return Block(array<real, 6>(
        island_con[at], island_con[at + 1u], island_con[at + 2u], island_con[at + 3u], island_con[at + 4u],
        island_con[at + 5u],
    ));
}

fn impulse_at(i: u32) -> vec3<real> {
    return vec3<real>(impulse[3u * i], impulse[3u * i + 1u], impulse[3u * i + 2u]);
}

// Larger of two, a NaN never swallowed.
fn island_worse(a: real, b: real) -> real {
    return select(a, b, !(b <= a) || !is_finite(b));
}

// Velocity that the impulses give, `v = v_free + sum Y lambda`, into a region.
fn island_recompute(own: IslandRecord, local: u32, region: u32) {
    for (var k = own.velocity_begin + local; k < own.velocity_end; k += ISLAND_WIDTH) {
        velocity[region + k] = velocity[REGION_FREE * dims.n_velocity + k];
    }
    storageBarrier();
    var begin = own.constraint_begin;
    for (var colour = own.colour_begin; colour < own.colour_end; colour++) {
        let end = colour_end(colour);
        for (var i = begin + local; i < end; i += ISLAND_WIDTH) {
            let c = constraint_record(i);
            let lambda = impulse_at(i);
            if c.kind == KIND_BLOCK {
                block_apply(c, lambda, region);
            } else {
                row_apply(c, lambda.x, region);
            }
        }
        begin = end;
        storageBarrier();
    }
}

// Sum of squares of the natural residual (step 1), and scaled residual, of one constraint.
fn constraint_residual(kind: u32, c: u32, lambda: vec3<real>, sigma: vec3<real>) -> Residuals {
    let one = real(1.0);
    if kind == KIND_BLOCK {
        let mu = island_con[c + CON_FRICTION];
        let r = local_residual(mu, one, lambda, sigma);
        let square = fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
        return Residuals(square, local_scaled_residual(mu, con_trace(c), lambda, sigma));
    }
    let r = row_residual(c, one, lambda.x, sigma.x);
    let g = island_con[c + CON_ROW_DELASSUS];
    var rho = one;
    if TINY < g {
        rho = one / g;
    }
    return Residuals(r * r, abs(row_residual(c, rho, lambda.x, sigma.x)) / rho);
}

// Adds up what the lanes found, in a fixed order; the same for all of them. The residual is number 1, the scaled one
// the largest.
fn island_reduce(own: IslandRecord, local: u32, mine: Residuals) -> Residuals {
    workgroupBarrier();
    partial_square[local] = mine.square;
    partial_scaled[local] = mine.scaled;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            partial_square[local] += partial_square[local + step];
            partial_scaled[local] = island_worse(partial_scaled[local], partial_scaled[local + step]);
        }
        workgroupBarrier();
    }
    let square = workgroupUniformLoad(&partial_square[0]);
    let scaled = workgroupUniformLoad(&partial_scaled[0]);
    return Residuals(sqrt(square) / real(max(own.n_contacts, 1u)), scaled);
}

// Residual (number 1, in `square`) and scaled residual of the island at the velocity of a region.
fn island_measure(own: IslandRecord, local: u32, region: u32) -> Residuals {
    var mine = Residuals(real(0.0), real(0.0));
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let record = constraint_record(i);
        let c = CON_SIZE * i;
        var sigma = vec3<real>(real(0.0), real(0.0), real(0.0));
        if record.kind == KIND_BLOCK {
            sigma = block_sigma(record, con_bias(c), region);
        } else if row_is_idle(c, impulse[3u * i]) {
            continue;
        } else {
            sigma.x = row_sigma(record, c, region);
        }
        let r = constraint_residual(record.kind, c, impulse_at(i), sigma);
        mine.square += r.square;
        mine.scaled = island_worse(mine.scaled, r.scaled);
    }
    return island_reduce(own, local, mine);
}

fn island_solved(r: Residuals) -> bool {
    return r.square <= real(bitcast<f32>(dims.tolerance)) || r.scaled <= real(bitcast<f32>(dims.tolerance_scaled));
}
