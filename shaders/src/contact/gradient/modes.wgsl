// Modes of constraints and their unknowns: the twin of modes.rs, for system.wgsl.

// What a constraint says of its mode, and its unknowns: none, one of a row or of a contact without friction, two of one
// that slides, three of one that sticks.
struct Mode {
    count: u32,
    margin: real,
    closed: real,
    mu: real,
    // Direction of friction.
    drag: vec2<real>,
    // Of the last unknown: its entry of D, and what its equation is weighed with.
    diagonal: real,
    scale: real,
}

fn contact(own: Own, s: u32) -> Mode {
    let n = dims.n_v;
    let zero = real(0.0);
    let one = real(1.0);
    let at = own.constraint + s * slot_reals(n) * TILE;
    let block = at + SLOT_BLOCK * TILE;
    let trace = constraint[block] + constraint[block + 3u * TILE] + constraint[block + 5u * TILE];
    let delassus = trace * real(1.0 / 3.0);
    var sigma = vec3<real>(constraint[at], constraint[at + TILE], constraint[at + 2u * TILE]);
    for (var i = 0u; i < n; i++) {
        let j = at + (SLOT_J + i) * TILE;
        let v = velocity[own.velocity + i * TILE];
        sigma.x = fma(constraint[j], v, sigma.x);
        sigma.y = fma(constraint[j + n * TILE], v, sigma.y);
        sigma.z = fma(constraint[j + 2u * n * TILE], v, sigma.z);
    }
    let l = own.impulse + s * 3u * TILE;
    let lambda = vec3<real>(impulse[l], impulse[l + TILE], impulse[l + 2u * TILE]);
    let y = scale_add(lambda, delassus, sigma * -one);
    let exists = zero < delassus;
    let acts = exists && zero < y.z && zero < lambda.z;
    let mu = constraint[at + SLOT_MU * TILE];
    let rough = zero < mu;
    // Distance to the cone's surface along its normal.
    let along = sqrt(fma(y.x, y.x, y.y * y.y));
    let inside = fma(mu, y.z, -along) / sqrt(fma(mu, mu, one));
    let kinks = own.shift + (s * slot_shift(n) + 3u * n) * TILE;
    var margin = UNBOUNDED;
    if exists && !acts {
        margin = abs(y.z);
    } else if acts {
        margin = min(y.z, shift[kinks + KINK_MARGIN * TILE]);
        margin = min(margin, select(margin, abs(inside), rough));
    }
    let slip = sqrt(fma(sigma.x, sigma.x, sigma.y * sigma.y));
    let fast = SLOW < slip;
    let length = select(along, slip, fast);
    let per = one / select(one, length, zero < length);
    let drag = select(vec2<real>(zero, zero), select(y.xy, -sigma.xy, fast) * per, zero < length);
    let sticks = rough && zero <= inside;
    let alpha = slip / select(one, mu * lambda.z, rough && acts);
    // Small impulses must not make the other equations look like rounding.
    let scale = delassus / select(one, delassus + alpha, exists);
    let count = select(select(1u, 2u, rough), 3u, sticks);
    return Mode(
        select(0u, count, acts),
        margin,
        select(zero, shift[kinks + KINK_CLOSED * TILE], acts),
        mu,
        drag,
        scale * alpha,
        scale,
    );
}

fn row_mode(own: Own, r: u32) -> Mode {
    let zero = real(0.0);
    let at = own.row + r * row_stride(dims.n_v, ROW_WIDTH) * TILE;
    let lambda = row[at + ROW_IMPULSE * TILE];
    let lower = row[at + ROW_LOWER * TILE];
    let upper = row[at + ROW_UPPER * TILE];
    var sigma = row[at + ROW_BIAS * TILE];
    for (var d = 0u; d < 3u; d++) {
        sigma = fma(row[at + (ROW_COEFFICIENT + ROW_TERM * d) * TILE], velocity[own.velocity + row_dof(at, d) * TILE], sigma);
    }
    let delassus = row[at + ROW_BLOCK * TILE];
    let compliance = row[at + ROW_COMPLIANCE * TILE];
    let is_active = zero < row[at + ROW_ACTIVE * TILE];
    // One that leaves its bound of zero without impulse, as a limit that is not reached, has no say.
    let idle = lambda <= zero && zero <= lambda && lower <= zero && zero <= lower && zero <= upper;
    let leaves = is_active && idle && zero < sigma;
    let acts = is_active && !leaves;
    // `sigma + c lambda` is what the law holds at zero.
    let y = fma(delassus, lambda, -sigma);
    let whole = delassus + compliance;
    let below = y - whole * lower;
    let above = whole * upper - y;
    let held = acts && zero < below && zero < above;
    let kinks = own.shift + (own.slots * slot_shift(dims.n_v) + r * ROW_SHIFT_SIZE) * TILE;
    var margin = select(UNBOUNDED, sigma, leaves);
    if acts {
        margin = min(margin, min(abs(below), abs(above)));
    }
    if held {
        margin = min(margin, shift[kinks + ROW_SHIFT_MARGIN * TILE]);
    }
    let closed = select(zero, shift[kinks + ROW_SHIFT_CLOSED * TILE], held);
    return Mode(select(0u, 1u, held), margin, closed, zero, vec2<real>(zero, zero), compliance, zero);
}

fn unknown_at(own: Own, u: u32) -> u32 {
    return own.system + (own.at.list + u * UNKNOWN_SIZE) * TILE;
}

fn put3(at: u32, x: vec3<real>) {
    system[at] = x.x;
    system[at + TILE] = x.y;
    system[at + 2u * TILE] = x.z;
}

fn put_unknown(own: Own, u: u32, first: u32, direction: vec3<real>, equation: vec3<real>, diagonal: real) {
    let at = unknown_at(own, u);
    system[at + UNKNOWN_FIRST * TILE] = real(first);
    put3(at + UNKNOWN_DIRECTION * TILE, direction);
    put3(at + UNKNOWN_EQUATION * TILE, equation);
    system[at + UNKNOWN_DIAGONAL * TILE] = diagonal;
}

// The unknowns of a constraint, from number u on.
fn put_unknowns(own: Own, item: u32, mode: Mode, u: u32) {
    let zero = real(0.0);
    let one = real(1.0);
    let x = vec3<real>(one, zero, zero);
    let y = vec3<real>(zero, one, zero);
    let z = vec3<real>(zero, zero, one);
    let is_row = item >= own.slots;
    let first = select(dims.n_row + 3u * item, item - own.slots, is_row);
    if mode.count == 0u {
        return;
    }
    if is_row {
        put_unknown(own, u, first, x, x, mode.diagonal);
    } else if mode.count == 3u {
        put_unknown(own, u, first, x, x, zero);
        put_unknown(own, u + 1u, first, y, y, zero);
        put_unknown(own, u + 2u, first, z, z, zero);
    } else {
        put_unknown(own, u, first, vec3<real>(mode.drag * mode.mu, one), z, zero);
        if mode.count == 2u {
            let across = vec3<real>(-mode.drag.y, mode.drag.x, zero);
            put_unknown(own, u + 1u, first, across, across * mode.scale, mode.diagonal);
        }
    }
}

// The list of unknowns, in the order of slots and rows; how many there are.
fn list_unknowns(own: Own, local: u32) -> u32 {
    let items = own.slots + dims.n_row;
    var listed = 0u;
    var margin = UNBOUNDED;
    var closed = real(0.0);
    for (var first = 0u; first < items; first += WIDTH) {
        let item = first + local;
        var mode = Mode(0u, UNBOUNDED, real(0.0), real(0.0), vec2<real>(real(0.0), real(0.0)), real(0.0), real(0.0));
        if item < own.slots {
            mode = contact(own, item);
        } else if item < items {
            mode = row_mode(own, item - own.slots);
        }
        margin = min(margin, mode.margin);
        closed += mode.closed;
        counts[local] = mode.count;
        workgroupBarrier();
        var before = listed;
        for (var k = 0u; k < WIDTH; k++) {
            before += select(0u, counts[k], k < local);
            listed += counts[k];
        }
        workgroupBarrier();
        put_unknowns(own, item, mode, before);
    }
    margin = -group_max(local, -margin);
    closed = group_sum(local, closed);
    if local == 0u {
        total = listed;
        for (var e = 0u; e < VERDICT_SIZE; e++) {
            system[own.system + e * TILE] = real(0.0);
        }
        system[own.system + VERDICT_SIZE_OF * TILE] = real(listed);
        system[own.system + VERDICT_MARGIN * TILE] = margin;
        system[own.system + VERDICT_CLOSED * TILE] = closed;
    }
    storageBarrier();
    return workgroupUniformLoad(&total);
}
