// Passes over one island by one workgroup: the twin of those in island.rs. The importing kernel imports contact/local and
// contact/island, binds island_jac, island_con, impulse and velocity, says how wide its workgroups are (ISLAND_WIDTH, a
// power of two), and calls `island_recompute` and `island_measure` from uniform control flow, as they hold barriers.
#import contact/island_laws

var<workgroup> partial_square: array<real, ISLAND_WIDTH>;
var<workgroup> partial_scaled: array<real, ISLAND_WIDTH>;

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
        } else {
            sigma.x = row_sigma(record, region);
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
