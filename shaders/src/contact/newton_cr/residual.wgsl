// Preconditioned conjugate residuals without a matrix: the twin of residual.rs. The importing kernel imports contact/island,
// contact/island_sweep and contact/newton_cr/layout, binds their buffers, and calls `residual` from uniform control flow.

var<workgroup> totals: array<vec4<real>, ISLAND_WIDTH>;

// Sums over an island after a product.
struct Sums {
    along: real,
    square: real,
    cross: real,
    norm: real,
}

fn cr_vector(at: u32) -> vec3<real> {
    return vec3<real>(cr[at], cr[at + 1u], cr[at + 2u]);
}

fn cr_store(at: u32, x: vec3<real>) {
    cr[at] = x.x;
    cr[at + 1u] = x.y;
    cr[at + 2u] = x.z;
}

// What the lanes found, added up in a fixed order; the same for all of them.
fn residual_total(local: u32, mine: vec4<real>) -> vec4<real> {
    totals[local] = mine;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            totals[local] += totals[local + step];
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&totals[0]);
}

// `Y x` of a field of the terms into region SCRATCH, each degree of freedom by one lane.
fn residual_push(own: IslandRecord, local: u32, field: u32) {
    for (var k = own.velocity_begin + local; k < own.velocity_end; k += ISLAND_WIDTH) {
        let dof = dof_record(k);
        var sum = real(0.0);
        for (var item = dof.begin; item < dof.end; item++) {
            let at = dims.items_at + 2u * item;
            let y = cr_index[at] + dof.place;
            let which = cr_index[at + 1u];
            let x = TERM_SIZE * (which >> 1u) + field;
            if (which & 1u) == 0u {
                sum = fma(island_jac[y + 2u * dof.count], cr[x + 2u], sum);
                sum = fma(island_jac[y + dof.count], cr[x + 1u], sum);
            }
            sum = fma(island_jac[y], cr[x], sum);
        }
        velocity[REGION_SCRATCH * dims.n_velocity + k] = sum;
    }
    storageBarrier();
}

// `J` of region SCRATCH, of one constraint.
fn residual_relative(i: u32) -> vec3<real> {
    let zero = real(0.0);
    let region = REGION_SCRATCH * dims.n_velocity;
    let c = constraint_record(i);
    if c.kind == KIND_BLOCK {
        return block_sigma(c, vec3<real>(zero, zero, zero), region);
    }
    return vec3<real>(row_sigma(c, CON_SIZE * i, region), zero, zero);
}

// Takes what the fixed rows move from the right-hand side.
fn residual_reduce(own: IslandRecord, local: u32) {
    residual_push(own, local, TERM_X);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = TERM_SIZE * i;
        let moved = residual_relative(i);
        for (var r = 0u; r < 3u; r++) {
            let p = cr[t + TERM_PRECONDITIONER + r];
            let left = select(cr[t + TERM_R + r], cr[t + TERM_R + r] - moved[r], real(0.0) < p);
            cr[t + TERM_R + r] = left;
            cr[t + TERM_Z + r] = p * left;
        }
    }
    storageBarrier();
}

// `(G + C) z`.
fn residual_product(own: IslandRecord, local: u32) -> Sums {
    let zero = real(0.0);
    var mine = vec4<real>(zero, zero, zero, zero);
    residual_push(own, local, TERM_Z);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = TERM_SIZE * i;
        let z = cr_vector(t + TERM_Z);
        let p = cr_vector(t + TERM_PRECONDITIONER);
        let whole = fma(cr_vector(t + TERM_COMPLIANCE), z, residual_relative(i));
        let mz = select(vec3<real>(zero, zero, zero), whole, vec3<real>(zero, zero, zero) < p);
        cr_store(t + TERM_MZ, mz);
        let weighed = p * mz;
        mine += vec4<real>(
            dot(z, mz), dot(weighed, mz), dot(weighed, cr_vector(t + TERM_MD)), dot(z, cr_vector(t + TERM_R)),
        );
    }
    let sums = residual_total(local, mine);
    return Sums(sums.x, sums.y, sums.z, sums.w);
}

// Directions conjugate to those before, and the step along them.
fn residual_advance(own: IslandRecord, local: u32, along: real, step: real) {
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = TERM_SIZE * i;
        let d = cr_vector(t + TERM_Z) + along * cr_vector(t + TERM_D);
        let md = cr_vector(t + TERM_MZ) + along * cr_vector(t + TERM_MD);
        cr_store(t + TERM_D, d);
        cr_store(t + TERM_MD, md);
        cr_store(t + TERM_X, cr_vector(t + TERM_X) + step * d);
        let left = cr_vector(t + TERM_R) - step * md;
        cr_store(t + TERM_R, left);
        cr_store(t + TERM_Z, cr_vector(t + TERM_PRECONDITIONER) * left);
    }
    storageBarrier();
}

// Solves `(G + C) x = r` on the rows that are not fixed, until `|r|` in the preconditioner's norm has fallen to its share
// or, by rounding, falls no more.
fn residual(own: IslandRecord, local: u32, linear: u32) {
    let zero = real(0.0);
    residual_reduce(own, local);
    let share = setting(dims.share);
    var enough = zero;
    var norm = zero;
    var zmz = real(1.0);
    var curvature = zero;
    var along = zero;
    var running = true;
    // The first round has no direction yet.
    for (var round = 0u; round <= linear && running; round++) {
        if round > 0u {
            residual_advance(own, local, along, zmz / curvature);
        }
        let sums = residual_product(own, local);
        if round > 0u {
            along = sums.along / zmz;
        } else {
            enough = share * share * sums.norm;
        }
        curvature = fma(along * along, curvature, fma(real(2.0) * along, sums.cross, sums.square));
        zmz = sums.along;
        running = zero < zmz && zero < curvature && enough < sums.norm && (round == 0u || sums.norm < norm);
        norm = sums.norm;
    }
}
