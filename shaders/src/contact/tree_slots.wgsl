// A lane's slots and rows, and what the kernels that solve them share: an invocation a lane (tree_pgs) or a workgroup (tree_group). The
// importing kernel binds slots, constraint, row, impulse and velocity, sets the addresses below, and imports contact/tree_layout,
// contact/local, contact/steps and a form of the dense problem.

// Nothing to solve; written out, left to sweeps on the velocity; the same and done.
const STAGE_NONE: u32 = 0u;
const STAGE_WRITTEN: u32 = 1u;
const STAGE_LARGE: u32 = 2u;
const STAGE_WRITTEN_DONE: u32 = 3u;
const STAGE_LARGE_DONE: u32 = 4u;

// Where this lane's slots, impulses, rows and velocity begin, and how many slots its tile has.
var<private> slot_first: u32;
var<private> impulse_first: u32;
var<private> row_first: u32;
var<private> velocity_first: u32;
var<private> slot_count: u32;

fn slot_address(s: u32) -> u32 {
    return slot_first + s * slot_reals(dims.n_v) * TILE;
}

fn row_address(k: u32) -> u32 {
    return row_first + k * row_stride(dims.n_v, dims.row_width) * TILE;
}

fn load_lambda(s: u32) -> vec3<real> {
    let at = impulse_first + 3u * s * TILE;
    return vec3<real>(impulse[at], impulse[at + TILE], impulse[at + 2u * TILE]);
}

fn store_lambda(s: u32, lambda: vec3<real>) {
    let at = impulse_first + 3u * s * TILE;
    impulse[at] = lambda.x;
    impulse[at + TILE] = lambda.y;
    impulse[at + 2u * TILE] = lambda.z;
}

fn load_block(at: u32) -> Block {
    return Block(array<real, 6>(
        constraint[at],
        constraint[at + TILE],
        constraint[at + 2u * TILE],
        constraint[at + 3u * TILE],
        constraint[at + 4u * TILE],
        constraint[at + 5u * TILE],
    ));
}

fn slot_trace(c: u32) -> real {
    return constraint[c + SLOT_BLOCK * TILE] + constraint[c + (SLOT_BLOCK + 3u) * TILE]
        + constraint[c + (SLOT_BLOCK + 5u) * TILE];
}

// Whether a solution flings bodies about for the sake of a contact that hardly parts.
fn slot_flings(s: u32) -> bool {
    let c = slot_address(s);
    if !local_is_costly(constraint[c + SLOT_MU * TILE], slot_trace(c), load_lambda(s).z, constraint[c + (SLOT_BIAS + 2u) * TILE]) {
        return false;
    }
    var slides = vec2<real>(real(0.0), real(0.0));
    for (var d = 0u; d < dims.n_v; d++) {
        let by = moved(d);
        let j = c + (SLOT_J + d) * TILE;
        slides.x = fma(constraint[j], by, slides.x);
        slides.y = fma(constraint[j + dims.n_v * TILE], by, slides.y);
    }
    return FLINGS < fma(slides.x, slides.x, slides.y * slides.y);
}

// What all impulses change the velocity of a degree of freedom by.
fn moved(d: u32) -> real {
    let span = dims.n_v * TILE;
    var by = real(0.0);
    for (var s = 0u; s < slot_count; s++) {
        let y = slot_address(s) + (SLOT_J + 3u * dims.n_v + d) * TILE;
        let lambda = load_lambda(s);
        by = fma(constraint[y + 2u * span], lambda.z, fma(constraint[y + span], lambda.y, fma(constraint[y], lambda.x, by)));
    }
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if row[r + ROW_IMPULSE * TILE] != real(0.0) {
            by = fma(row[r + (row_head(dims.row_width) + d) * TILE], row[r + ROW_IMPULSE * TILE], by);
        }
    }
    return by;
}

// J v + e of a slot.
fn slot_velocity(c: u32) -> vec3<real> {
    let span = dims.n_v * TILE;
    var sigma = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var i = 0u; i < dims.n_v; i++) {
        let j = c + (SLOT_J + i) * TILE;
        let x = velocity[velocity_first + i * TILE];
        sigma.x = fma(constraint[j], x, sigma.x);
        sigma.y = fma(constraint[j + span], x, sigma.y);
        sigma.z = fma(constraint[j + 2u * span], x, sigma.z);
    }
    return sigma + vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
}

// J v + e of a row.
fn row_velocity(r: u32) -> real {
    var sigma = real(0.0);
    for (var k = 0u; k < dims.row_width; k++) {
        let x = velocity[velocity_first + u32(row[r + (ROW_DOF + ROW_TERM * k) * TILE]) * TILE];
        sigma = fma(row[r + (ROW_COEFFICIENT + ROW_TERM * k) * TILE], x, sigma);
    }
    return sigma + row[r + ROW_BIAS * TILE];
}

fn row_clamp(r: u32, x: real) -> real {
    return min(max(x, row[r + ROW_LOWER * TILE]), row[r + ROW_UPPER * TILE]);
}

fn load_column(at: u32, span: u32) -> vec3<real> {
    return vec3<real>(constraint[at], constraint[at + span], constraint[at + 2u * span]);
}

// What a slot asks for, and up to which impulse; velocity holds v_free.
fn ask(c: u32) -> Steps {
    let bias = vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
    let request = steps_requests(constraint[c + SLOT_MU * TILE], bias);
    let free = slot_velocity(c) - bias;
    let tangents = max(steps_speed_of_cap(request.x, free.x), steps_speed_of_cap(request.y, free.y));
    let speed = max(tangents, steps_speed_of_cap(request.z, free.z));
    return Steps(speed * real(3.0) / slot_trace(c), request);
}

// The same of a row, its cap and its request.
fn ask_row(r: u32) -> vec2<real> {
    let bias = row[r + ROW_BIAS * TILE];
    let compliance = row[r + ROW_COMPLIANCE * TILE];
    let request = steps_row_request(bias, compliance, row[r + ROW_LOWER * TILE], row[r + ROW_UPPER * TILE]);
    let speed = steps_speed_of_cap(request, row_velocity(r) - bias);
    return vec2<real>(speed / row[r + ROW_BLOCK * TILE], request);
}

// A lane's status after its part.
fn ended(word: u32, converged: bool, gave_way: bool, doubtful: bool) -> u32 {
    var outcome = select(STATUS_ITERATION_LIMIT, STATUS_CONVERGED, converged);
    if doubtful {
        outcome |= STATUS_DOUBTFUL;
    }
    var kept = word & ~(STATUS_CONVERGED | STATUS_ITERATION_LIMIT | STATUS_DOUBTFUL);
    if converged && relaxes {
        let asking = kept & STATUS_ASKING;
        if gave_way && (asking & STATUS_UNTIL_ASKED) == 0u {
            return kept | STATUS_ITERATION_LIMIT;
        }
        kept &= ~(STATUS_GAVE_WAY | STATUS_ASKING);
        if gave_way {
            outcome |= STATUS_RELAXED | STATUS_GAVE_WAY | (asking - STATUS_UNTIL_ASKED_ONE);
        }
    }
    return kept | outcome;
}
