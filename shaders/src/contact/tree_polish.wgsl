// A few Newton steps on the natural map, between sweeps: the twin of tree_polish.rs, imported by tree_pgs.wgsl, whose
// buffers and helpers it uses. A lane numbers its own rows: slots up to its last one, then its active static rows.

const PROXIMAL: real = real(1e-3);
const TRUST: real = real(0.1);
const LEAST_PROXIMAL: real = real(1e-6);
const POLISH_STEPS: u32 = 8u;
const LEAST_PIVOT: real = real(1e-12);

struct Polished {
    error: real,
    steps: real,
    done: bool,
    took_part: bool,
}

// Rows of slots, all rows, and where the matrix, the step, the velocity, its change and that of v begin.
var<private> polish_slots: u32;
var<private> polish_n: u32;
var<private> matrix_first: u32;
var<private> step_first: u32;
var<private> sigma_first: u32;
var<private> slope_first: u32;
var<private> change_first: u32;
var<private> proximal: real;

fn matrix_at(i: u32, j: u32) -> u32 {
    return matrix_first + (i * polish_n + j) * TILE;
}

fn load_work(first: u32, i: u32) -> vec3<real> {
    let at = first + i * TILE;
    return vec3<real>(work[at], work[at + TILE], work[at + 2u * TILE]);
}

fn store_work(first: u32, i: u32, x: vec3<real>) {
    let at = first + i * TILE;
    work[at] = x.x;
    work[at + TILE] = x.y;
    work[at + 2u * TILE] = x.z;
}

fn is_active(r: u32) -> bool {
    return real(0.0) < row[r + ROW_AT_ACTIVE * TILE];
}

fn slot_scale(c: u32) -> real {
    let trace = slot_trace(c);
    return real(3.0) / select(real(3.0), trace, real(0.0) < trace);
}

fn row_scale(r: u32) -> real {
    return real(1.0) / (row[r + ROW_AT_BLOCK * TILE] + row[r + ROW_AT_COMPLIANCE * TILE]);
}

// J y of row r with what lies at `y` in constraint.
fn row_times_slot(r: u32, y: u32) -> real {
    var sum = real(0.0);
    for (var k = 0u; k < 3u; k++) {
        let x = constraint[y + u32(row[r + (ROW_AT_DOF + k) * TILE]) * TILE];
        sum = fma(row[r + (ROW_AT_COEFFICIENT + k) * TILE], x, sum);
    }
    return sum;
}

fn row_times_row(r: u32, y: u32) -> real {
    var sum = real(0.0);
    for (var k = 0u; k < 3u; k++) {
        let x = row[y + u32(row[r + (ROW_AT_DOF + k) * TILE]) * TILE];
        sum = fma(row[r + (ROW_AT_COEFFICIENT + k) * TILE], x, sum);
    }
    return sum;
}

// Numbers the rows; whether they are few enough.
fn polish_begin(lane: u32) -> bool {
    polish_slots = 0u;
    for (var s = 0u; s < slot_count; s++) {
        if real(0.0) < slot_trace(slot_address(s)) {
            polish_slots = s + 1u;
        }
    }
    polish_n = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        polish_n += select(0u, 1u, is_active(row_address(k)));
    }
    let most = dims.polish;
    matrix_first = tile_base(lane, most * most + 3u * most + dims.n_v);
    step_first = matrix_first + polish_n * polish_n * TILE;
    sigma_first = step_first + polish_n * TILE;
    slope_first = sigma_first + polish_n * TILE;
    change_first = slope_first + polish_n * TILE;
    return polish_n <= most;
}

fn polish(lane: u32, enough: real) -> Polished {
    if !polish_begin(lane) {
        return Polished(real(0.0), real(0.0), false, false);
    }
    var error = real(0.0);
    var steps = real(0.0);
    proximal = PROXIMAL;
    for (var k = 0u; k < POLISH_STEPS; k++) {
        polish_velocity();
        delassus();
        linearise();
        eliminate();
        respond();
        let before = merit(real(0.0));
        var share = real(1.0);
        for (var trial = 0u; trial < 3u; trial++) {
            if merit(share) < before {
                break;
            }
            share = select(share * real(0.5), real(0.0), trial == 2u);
        }
        take(share);
        error = sqrt(natural(share));
        steps += real(1.0);
        if error <= enough {
            return Polished(error, steps, true, true);
        }
        if real(1.0) <= share {
            proximal = max(proximal * TRUST, LEAST_PROXIMAL);
        } else if share <= real(0.0) {
            proximal = min(proximal / TRUST, real(1.0));
        }
    }
    return Polished(error, steps, false, true);
}

fn polish_velocity() {
    for (var s = 0u; s < polish_slots; s++) {
        store_work(sigma_first, 3u * s, slot_velocity(slot_address(s)));
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            let lambda = row[r + ROW_AT_IMPULSE * TILE];
            work[sigma_first + i * TILE] = fma(row[r + ROW_AT_COMPLIANCE * TILE], lambda, row_velocity(r));
            i++;
        }
    }
}

// G = J A^-1 J^T of all rows.
fn delassus() {
    let span = dims.n_v * TILE;
    for (var s = 0u; s < polish_slots; s++) {
        for (var t = 0u; t <= s; t++) {
            let y = slot_address(t) + (SLOT_J + 3u * dims.n_v) * TILE;
            for (var a = 0u; a < 3u; a++) {
                let j = slot_address(s) + (SLOT_J + a * dims.n_v) * TILE;
                var g = vec3<real>(real(0.0), real(0.0), real(0.0));
                for (var i = 0u; i < dims.n_v; i++) {
                    let x = constraint[j + i * TILE];
                    g.x = fma(x, constraint[y + i * TILE], g.x);
                    g.y = fma(x, constraint[y + span + i * TILE], g.y);
                    g.z = fma(x, constraint[y + 2u * span + i * TILE], g.z);
                }
                for (var b = 0u; b < 3u; b++) {
                    work[matrix_at(3u * s + a, 3u * t + b)] = g[b];
                    work[matrix_at(3u * t + b, 3u * s + a)] = g[b];
                }
            }
        }
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if !is_active(r) {
            continue;
        }
        for (var s = 0u; s < polish_slots; s++) {
            for (var b = 0u; b < 3u; b++) {
                let g = row_times_slot(r, slot_address(s) + (SLOT_J + (3u + b) * dims.n_v) * TILE);
                work[matrix_at(i, 3u * s + b)] = g;
                work[matrix_at(3u * s + b, i)] = g;
            }
        }
        var j = 3u * polish_slots;
        for (var l = 0u; l < dims.n_row; l++) {
            let other = row_address(l);
            if is_active(other) {
                work[matrix_at(i, j)] = row_times_row(r, other + ROW_AT_Y * TILE);
                j++;
            }
        }
        i++;
    }
}

// Turns G into the matrix of the step, and writes its right-hand side.
fn linearise() {
    let zero = real(0.0);
    let one = real(1.0);
    for (var s = 0u; s < polish_slots; s++) {
        let c = slot_address(s);
        let at = 3u * s;
        let mu = constraint[c + SLOT_MU * TILE];
        let rho = slot_scale(c);
        let lambda = load_lambda(s);
        let y = lambda - rho * load_work(sigma_first, at);
        store_work(step_first, at, local_project(mu, y) - lambda);
        let stick = local_inside(mu, y);
        let pressed = select(zero, one, stick || zero < y.z);
        let length = max(sqrt(fma(y.x, y.x, y.y * y.y)), LOCAL_TINY);
        let d0 = y.x / length;
        let d1 = y.y / length;
        let slips = select(pressed, zero, stick);
        let across = slips * mu * y.z / length;
        let p00 = select(across * (one - d0 * d0), one, stick);
        let p11 = select(across * (one - d1 * d1), one, stick);
        let p01 = select(-(across * d0 * d1), zero, stick);
        let p02 = slips * mu * d0;
        let p12 = slips * mu * d1;
        for (var j = 0u; j < polish_n; j++) {
            let m0 = matrix_at(at, j);
            let m1 = matrix_at(at + 1u, j);
            let m2 = matrix_at(at + 2u, j);
            let g = rho * vec3<real>(work[m0], work[m1], work[m2]);
            work[m0] = fma(p00, g.x, fma(p01, g.y, p02 * g.z));
            work[m1] = fma(p01, g.x, fma(p11, g.y, p12 * g.z));
            work[m2] = pressed * g.z;
        }
        work[matrix_at(at, at)] += one - p00 + proximal;
        work[matrix_at(at, at + 1u)] -= p01;
        work[matrix_at(at, at + 2u)] -= p02;
        work[matrix_at(at + 1u, at)] -= p01;
        work[matrix_at(at + 1u, at + 1u)] += one - p11 + proximal;
        work[matrix_at(at + 1u, at + 2u)] -= p12;
        work[matrix_at(at + 2u, at + 2u)] += one - pressed + proximal;
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if !is_active(r) {
            continue;
        }
        let lambda = row[r + ROW_AT_IMPULSE * TILE];
        let scale = row_scale(r);
        let y = lambda - scale * work[sigma_first + i * TILE];
        work[step_first + i * TILE] = row_clamp(r, y) - lambda;
        let free = row[r + ROW_AT_LOWER * TILE] < y && y < row[r + ROW_AT_UPPER * TILE];
        let kept = select(zero, scale, free);
        for (var j = 0u; j < polish_n; j++) {
            work[matrix_at(i, j)] = kept * work[matrix_at(i, j)];
        }
        work[matrix_at(i, i)] += fma(kept, row[r + ROW_AT_COMPLIANCE * TILE], select(one, zero, free) + proximal);
        i++;
    }
}

// Solves for the step in place, rows in order.
fn eliminate() {
    let n = polish_n;
    for (var k = 0u; k < n; k++) {
        let diagonal = work[matrix_at(k, k)];
        let pivot = real(1.0) / select(diagonal, LEAST_PIVOT, abs(diagonal) < LEAST_PIVOT);
        work[matrix_at(k, k)] = pivot;
        let x = work[step_first + k * TILE];
        for (var i = k + 1u; i < n; i++) {
            let entry = work[matrix_at(i, k)];
            if entry == real(0.0) {
                continue;
            }
            let factor = -(entry * pivot);
            for (var j = k + 1u; j < n; j++) {
                work[matrix_at(i, j)] = fma(factor, work[matrix_at(k, j)], work[matrix_at(i, j)]);
            }
            work[step_first + i * TILE] = fma(factor, x, work[step_first + i * TILE]);
        }
    }
    for (var r = 0u; r < n; r++) {
        let k = n - 1u - r;
        var sum = work[step_first + k * TILE];
        for (var j = k + 1u; j < n; j++) {
            sum = fma(-work[matrix_at(k, j)], work[step_first + j * TILE], sum);
        }
        work[step_first + k * TILE] = sum * work[matrix_at(k, k)];
    }
}

// What the whole step changes: v, and every row's velocity.
fn respond() {
    let span = dims.n_v * TILE;
    for (var i = 0u; i < dims.n_v; i++) {
        work[change_first + i * TILE] = real(0.0);
    }
    for (var s = 0u; s < polish_slots; s++) {
        let d = load_work(step_first, 3u * s);
        for (var i = 0u; i < dims.n_v; i++) {
            let y = slot_address(s) + (SLOT_J + 3u * dims.n_v + i) * TILE;
            let to = change_first + i * TILE;
            let first = fma(constraint[y], d.x, work[to]);
            work[to] = fma(constraint[y + 2u * span], d.z, fma(constraint[y + span], d.y, first));
        }
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            for (var l = 0u; l < dims.n_v; l++) {
                let to = change_first + l * TILE;
                work[to] = fma(row[r + (ROW_AT_Y + l) * TILE], work[step_first + i * TILE], work[to]);
            }
            i++;
        }
    }
    for (var s = 0u; s < polish_slots; s++) {
        var slope = vec3<real>(real(0.0), real(0.0), real(0.0));
        for (var l = 0u; l < dims.n_v; l++) {
            let j = slot_address(s) + (SLOT_J + l) * TILE;
            let x = work[change_first + l * TILE];
            slope.x = fma(constraint[j], x, slope.x);
            slope.y = fma(constraint[j + span], x, slope.y);
            slope.z = fma(constraint[j + 2u * span], x, slope.z);
        }
        store_work(slope_first, 3u * s, slope);
    }
    i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            var slope = real(0.0);
            for (var d = 0u; d < 3u; d++) {
                let x = work[change_first + u32(row[r + (ROW_AT_DOF + d) * TILE]) * TILE];
                slope = fma(row[r + (ROW_AT_COEFFICIENT + d) * TILE], x, slope);
            }
            work[slope_first + i * TILE] = fma(row[r + ROW_AT_COMPLIANCE * TILE], work[step_first + i * TILE], slope);
            i++;
        }
    }
}

// Sum of squares of the scaled natural map, a share of the step on.
fn merit(share: real) -> real {
    var sum = real(0.0);
    for (var s = 0u; s < polish_slots; s++) {
        let c = slot_address(s);
        let rho = slot_scale(c);
        let lambda = load_lambda(s) + share * load_work(step_first, 3u * s);
        let sigma = load_work(sigma_first, 3u * s) + share * load_work(slope_first, 3u * s);
        let r = local_residual(constraint[c + SLOT_MU * TILE], rho, lambda, sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z)) / rho;
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            let lambda = fma(share, work[step_first + i * TILE], row[r + ROW_AT_IMPULSE * TILE]);
            let sigma = fma(share, work[slope_first + i * TILE], work[sigma_first + i * TILE]);
            let scale = row_scale(r);
            let left = lambda - row_clamp(r, lambda - scale * sigma);
            sum += left * left / scale;
            i++;
        }
    }
    return sum;
}

// Adds the share of the step to the impulses and the velocity.
fn take(share: real) {
    if share <= real(0.0) {
        return;
    }
    for (var s = 0u; s < polish_slots; s++) {
        store_lambda(s, load_lambda(s) + share * load_work(step_first, 3u * s));
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            let to = r + ROW_AT_IMPULSE * TILE;
            row[to] = fma(share, work[step_first + i * TILE], row[to]);
            i++;
        }
    }
    for (var l = 0u; l < dims.n_v; l++) {
        let to = velocity_first + l * TILE;
        velocity[to] = fma(share, work[change_first + l * TILE], velocity[to]);
    }
}

// Sum of squares of the natural residual where the share of the step has led.
fn natural(share: real) -> real {
    let one = real(1.0);
    var sum = real(0.0);
    for (var s = 0u; s < polish_slots; s++) {
        let sigma = load_work(sigma_first, 3u * s) + share * load_work(slope_first, 3u * s);
        let r = local_residual(constraint[slot_address(s) + SLOT_MU * TILE], one, load_lambda(s), sigma);
        sum += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
    }
    var i = 3u * polish_slots;
    for (var k = 0u; k < dims.n_row; k++) {
        let r = row_address(k);
        if is_active(r) {
            let lambda = row[r + ROW_AT_IMPULSE * TILE];
            let compliance = row[r + ROW_AT_COMPLIANCE * TILE];
            let moved = fma(share, work[slope_first + i * TILE], work[sigma_first + i * TILE]) - compliance * lambda;
            let left = lambda - row_clamp(r, (lambda - moved) / (one + compliance));
            sum += left * left;
            i++;
        }
    }
    return sum;
}
