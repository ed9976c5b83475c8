// Where an island's numbers lie, sums over its lanes, and its impulses and gradient at a velocity, by one workgroup: the
// twin of evaluate.rs. The importing kernel imports contact/local, contact/island, contact/island_sweep,
// contact/convex/layout and contact/convex/law, binds all their buffers, and calls these from uniform control flow.

const STEP_RUNNING: u32 = 0u;
const STEP_SOLVED: u32 = 1u;
const STEP_BROKEN: u32 = 2u;
// It goes on with other multipliers: impulses and gradient are to be found anew.
const STEP_UPDATED: u32 = 3u;

var<workgroup> totals: array<vec4<real>, ISLAND_WIDTH>;
var<workgroup> told: real;

// Where an island's numbers are.
struct Place {
    n: u32,
    // First real of its state.
    state: u32,
    gradient: u32,
    // First real of its velocity, and of its direction.
    v: u32,
    d: u32,
    free: u32,
}

// Sums over an island: `|lambda - before|^2 / beta`, and squares of the gradient, of `A v` and of `J^T lambda`, J.
struct Sums {
    outer: real,
    error: real,
    momentum: real,
    pushed: real,
}

fn convex_barrier() {
    storageBarrier();
    workgroupBarrier();
}

// What the lanes found, added up in a fixed order, or the largest of it; the same for all of them. (One lane going through
// all of it has fewer barriers, but takes llvmpipe minutes to compile.)
fn convex_total(local: u32, mine: vec4<real>, largest: bool) -> vec4<real> {
    workgroupBarrier();
    totals[local] = mine;
    workgroupBarrier();
    for (var step = ISLAND_WIDTH / 2u; step > 0u; step /= 2u) {
        if local < step {
            let a = totals[local];
            let b = totals[local + step];
            if largest {
                totals[local] = max(a, b);
            } else {
                totals[local] = a + b;
            }
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&totals[0]);
}

// A number that one lane reads for all.
fn convex_tell(local: u32, at: u32) -> real {
    if local == 0u {
        told = convex[at];
    }
    return workgroupUniformLoad(&told);
}

fn is_block(i: u32) -> bool {
    return constraint_record(i).kind == KIND_BLOCK;
}

fn convex_store(local: u32, at: u32, x: real) {
    if local == 0u {
        convex[at] = x;
    }
}

fn term_vector(at: u32) -> vec3<real> {
    return vec3<real>(convex[at], convex[at + 1u], convex[at + 2u]);
}

fn store_vector(at: u32, x: vec3<real>) {
    convex[at] = x.x;
    convex[at + 1u] = x.y;
    convex[at + 2u] = x.z;
}

fn term_slope(t: u32) -> Block {
    let at = t + TERM_SLOPE;
    return Block(array<real, 6>(
        convex[at], convex[at + 1u], convex[at + 2u], convex[at + 3u], convex[at + 4u], convex[at + 5u],
    ));
}

// `J x` of every constraint to `field` of its term, x in a region.
fn convex_relative(own: IslandRecord, local: u32, region: u32, field: u32) {
    let zero = real(0.0);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let c = constraint_record(i);
        var sigma = vec3<real>(zero, zero, zero);
        if c.kind == KIND_BLOCK {
            sigma = block_sigma(c, sigma, region);
        } else {
            sigma.x = row_sigma(c, CON_SIZE * i, region);
        }
        store_vector(term_at(i) + field, sigma);
    }
    convex_barrier();
}

// `J^T x` of dof k of the island, x a field of the terms.
fn convex_pushed(dof: DofRecord, k: u32, field: u32) -> real {
    var sum = real(0.0);
    for (var s = dof.sides_begin; s < dof.sides_end; s++) {
        let side = side_record(convex_index[s]);
        let rows = select(1u, 3u, is_block(side.constraint));
        for (var r = 0u; r < rows; r++) {
            let j = island_jac[side.jac + r * side.count + k - dof.tree];
            sum = fma(j, convex[term_at(side.constraint) + field + r], sum);
        }
    }
    return sum;
}

// Impulses, slopes and gradient at the velocity.
fn convex_evaluate(own: IslandRecord, p: Place, local: u32) -> Sums {
    let zero = real(0.0);
    var mine = vec4<real>(zero, zero, zero, zero);
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i);
        let response = law_impulse(is_block(i), CON_SIZE * i, t, term_vector(t + TERM_SIGMA));
        let d = response.lambda - term_vector(t + TERM_BEFORE);
        mine.x += fma(d.z, d.z, fma(d.y, d.y, d.x * d.x)) / convex[t + TERM_BETA_N];
        store_vector(t + TERM_LAMBDA, response.lambda);
        for (var e = 0u; e < 6u; e++) {
            convex[t + TERM_SLOPE + e] = response.slope.g[e];
        }
    }
    convex_barrier();
    for (var k = local; k < p.n; k += ISLAND_WIDTH) {
        let dof = dof_record(own.velocity_begin + k);
        let pushed = convex_pushed(dof, k, TERM_LAMBDA);
        var missed = zero;
        var momentum = zero;
        for (var j = 0u; j < dof.count; j++) {
            let a = convex[dof.row + j];
            let v = velocity[p.v + dof.tree + j];
            missed = fma(a, v - velocity[p.free + dof.tree + j], missed);
            momentum = fma(a, v, momentum);
        }
        let weight = real(1.0) / convex[dof.row + k - dof.tree];
        let g = missed - pushed;
        convex[p.gradient + k] = g;
        mine.y += g * g * weight;
        mine.z += momentum * momentum * weight;
        mine.w += pushed * pushed * weight;
    }
    convex_barrier();
    let sums = convex_total(local, mine, false);
    return Sums(sums.x, sums.y, sums.z, sums.w);
}

// What round-off leaves of the error, J.
fn convex_roundoff(p: Place, local: u32, sums: Sums) -> real {
    return setting(dims.floor) * convex_tell(local, p.state + STATE_STIFFEST) * max(sums.momentum, sums.pushed);
}

// The impulses to where all the world reads them.
fn convex_publish(own: IslandRecord, local: u32) {
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        let t = term_at(i) + TERM_LAMBDA;
        for (var r = 0u; r < 3u; r++) {
            impulse[3u * i + r] = convex[t + r];
        }
    }
    convex_barrier();
}
