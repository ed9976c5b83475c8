// Whether what momentum and contacts lack after a round is little enough, and whether another round may make it so; if so, what
// contacts add to the system of that. See balance.rs.
#import math
#import index
#import dynamics/names.rs
#import contact/tree_layout.rs
#import soft/body.rs
#import soft/touch
#import soft/trees

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> velocity: array<real>;
@group(0) @binding(2) var<storage, read> touch_words: array<u32>;
@group(0) @binding(3) var<storage, read_write> touches: array<real>;
@group(0) @binding(4) var<storage, read_write> matrix: array<real>;
@group(0) @binding(5) var<storage, read_write> b: array<real>;
@group(0) @binding(6) var<storage, read_write> info: array<real>;
@group(0) @binding(7) var<storage, read_write> beside: array<real>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;

struct Mapped {
    t: vec3<real>,
    // Of P 00, 01, 11; 02, 12, 22.
    p: vec3<real>,
    q: vec3<real>,
}

struct Lack {
    laws: real,
    scaled: real,
    round: real,
}

// What a contact adds to the matrix, but for its nodes' weights.
var<private> block: array<vec3<real>, 3>;

fn motion_at(at: u32) -> real {
    return velocity[at];
}

// `J v`, of nodes and the tree.
fn speed_of(touch: u32, lane: u32) -> vec3<real> {
    return relative(touch, tile_base(lane, 3u * dims.n_node)) + tree_relative(touch, tree_velocity_at(lane));
}

// `3 / trace(J diag(A)^-1 J^T)`, of a tree A itself.
fn weigh(touch: u32, matrix_base: u32) -> real {
    var trace = side_mobility(touch);
    let n = node_count(touch);
    for (var i = 0u; i < n; i++) {
        let at = matrix_base + touch_words[places_at(touch) + i * (i + 1u) / 2u + i] * BLOCK * TILE;
        var sum = real(0.0);
        for (var k = 0u; k < 3u; k++) {
            sum += real(1.0) / max(abs(matrix[at + 4u * k * TILE]), NO_DIAGONAL);
        }
        let weight = weight_at(touch, i);
        trace = fma(weight * weight, sum, trace);
    }
    return real(3.0) / trace;
}

// The impulse that the laws make of another, for a weight.
fn mapped(touch: u32, rho: real, impulse: vec3<real>, sigma: vec3<real>) -> Mapped {
    let y = scale_add(sigma + three_at(given_at(touch) + GIVEN_BIAS), -rho, impulse);
    let zero = real(0.0);
    let one = real(1.0);
    let none = vec3<real>(zero, zero, zero);
    if y.z <= zero {
        return Mapped(none, none, none);
    }
    let friction = touches[given_at(touch) + GIVEN_FRICTION];
    let length = sqrt(fma(y.y, y.y, y.x * y.x));
    let radius = friction * y.z;
    if length <= radius {
        return Mapped(y, vec3<real>(one, zero, one), vec3<real>(zero, zero, one));
    }
    let d0 = y.x / length;
    let d1 = y.y / length;
    let across = radius / length;
    return Mapped(
        vec3<real>(radius * d0, radius * d1, y.z),
        vec3<real>(across * (one - d0 * d0), -(across * (d0 * d1)), across * (one - d1 * d1)),
        vec3<real>(friction * d0, friction * d1, one),
    );
}

// `|T - lambda|^2`
fn squared(t: vec3<real>, impulse: vec3<real>) -> real {
    let left = t - impulse;
    return dot3(left, left);
}

// Over the contacts of a lane.
fn lack_of(first: u32, end: u32, lane: u32) -> Lack {
    var out = Lack(real(0.0), real(0.0), real(0.0));
    for (var touch = first; touch < end; touch++) {
        let impulse = three_at(found_at(touch));
        let sigma = speed_of(touch, lane);
        out.laws += squared(mapped(touch, real(1.0), impulse, sigma).t, impulse);
        let mass = real(3.0) / (real(3.0) / touches[given_at(touch) + GIVEN_MASS] + side_mobility(touch));
        out.scaled = max(out.scaled, sqrt(squared(mapped(touch, mass, impulse, sigma).t, impulse)) / mass);
        out.round += squared(mapped(touch, touches[work_at(touch) + WORK_RHO], impulse, sigma).t, impulse);
    }
    return out;
}

// Adds the symmetric part of `J^T W J` to the matrix; `E^-1 (T - lambda)`.
fn stiffen(touch: u32, sigma: vec3<real>, matrix_base: u32) -> vec3<real> {
    let impulse = three_at(found_at(touch));
    let work = work_at(touch);
    let rho = touches[work + WORK_RHO];
    let m = mapped(touch, rho, impulse, sigma);
    let one = real(1.0);
    let proximal = real(bitcast<f32>(dims.proximal));
    // E and its inverse, of the same form as P.
    let e00 = (one - m.p.x) + proximal;
    let e11 = (one - m.p.z) + proximal;
    let e22 = (one - m.q.z) + proximal;
    let scale = one / (e00 * e11 - m.p.y * m.p.y);
    let i00 = e11 * scale;
    let i01 = m.p.y * scale;
    let i11 = e00 * scale;
    let i22 = one / e22;
    let i02 = (i00 * m.q.x + i01 * m.q.y) * i22;
    let i12 = (i01 * m.q.x + i11 * m.q.y) * i22;
    let w00 = rho * (i00 * m.p.x + i01 * m.p.y);
    let w01 = rho * (i00 * m.p.y + i01 * m.p.z);
    let w11 = rho * (i01 * m.p.y + i11 * m.p.z);
    let w22 = rho * (i22 * m.q.z);
    let left = m.t - impulse;
    let push = vec3<real>(
        i00 * left.x + i01 * left.y + i02 * left.z,
        i01 * left.x + i11 * left.y + i12 * left.z,
        i22 * left.z,
    );
    touches[work + WORK_SLOPE] = w00;
    touches[work + WORK_SLOPE + 1u] = w01;
    touches[work + WORK_SLOPE + 2u] = w11;
    touches[work + WORK_SLOPE + 3u] = rho * (i00 * m.q.x + i01 * m.q.y + i02 * m.q.z);
    touches[work + WORK_SLOPE + 4u] = rho * (i01 * m.q.x + i11 * m.q.y + i12 * m.q.z);
    touches[work + WORK_SLOPE + 5u] = w22;
    touches[work + WORK_PUSH] = push.x;
    touches[work + WORK_PUSH + 1u] = push.y;
    touches[work + WORK_PUSH + 2u] = push.z;
    let axes = axes_at(touch);
    let first = axes.x * w00 + axes.y * w01;
    let second = axes.x * w01 + axes.y * w11;
    let third = axes.z * w22;
    for (var row = 0u; row < 3u; row++) {
        block[row] = scale_add(third, axes.z[row], scale_add(second, axes.y[row], first * axes.x[row]));
    }
    var place = places_at(touch);
    let n = node_count(touch);
    for (var i = 0u; i < n; i++) {
        for (var j = 0u; j <= i; j++) {
            let to = matrix_base + touch_words[place] * BLOCK * TILE;
            place++;
            let both = weight_at(touch, i) * weight_at(touch, j);
            for (var row = 0u; row < 3u; row++) {
                for (var column = 0u; column < 3u; column++) {
                    let entry = to + (3u * row + column) * TILE;
                    matrix[entry] = fma(both, block[row][column], matrix[entry]);
                }
            }
        }
    }
    return push;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || (status[lane] & STATUS_SETTLED) != 0u {
        return;
    }
    let n_v = 3u * dims.n_node;
    let base = tile_base(lane, n_v);
    let matrix_base = tile_base(lane, dims.n_block * BLOCK);
    let first = touch_words[lane];
    let end = touch_words[lane + 1u];
    let n_dof = dofs_of(lane);
    lack_momentum(lane, n_dof);
    for (var touch = first; touch < end; touch++) {
        if dims.round == 0u {
            touches[work_at(touch) + WORK_RHO] = weigh(touch, matrix_base);
        }
        add_pushed(touch, three_at(found_at(touch)), base);
        add_tree_pushed(touch, three_at(found_at(touch)), tree_left_at(lane));
    }
    var square = real(0.0);
    for (var i = 0u; i < n_v; i++) {
        let x = b[base + i * TILE];
        square = fma(x, x, square);
    }
    square += square_left(lane, n_dof);
    let lack = lack_of(first, end, lane);
    let left = sqrt(square);
    let laws = sqrt(lack.laws);
    let round = sqrt(square + lack.round);
    let tolerance = real(bitcast<f32>(dims.tolerance));
    let count = real(max(end - first, 1u));
    let done = dims.round > 0u && left <= tolerance && laws <= tolerance * count;
    if dims.check == 1u && !done {
        return;
    }
    let out = tile_base(lane, INFO_SIZE + n_v);
    let falls = dims.round < FREE_ROUNDS || round < info[out + SOFT_INFO_ROUND * TILE];
    info[out + SOFT_INFO_MOMENTUM * TILE] = left;
    info[out + SOFT_INFO_LAWS * TILE] = laws;
    info[out + SOFT_INFO_SCALED * TILE] = lack.scaled;
    info[out + SOFT_INFO_ROUND * TILE] = round;
    info[out + SOFT_INFO_ROUNDS * TILE] = real(dims.round);
    if done {
        status[lane] |= STATUS_CONVERGED;
        return;
    }
    if dims.last == 1u || !falls || !is_finite(round) {
        status[lane] |= STATUS_ITERATION_LIMIT;
        return;
    }
    begin_stiffened(lane, n_dof);
    for (var touch = first; touch < end; touch++) {
        let push = stiffen(touch, speed_of(touch, lane), matrix_base);
        stiffen_trees(touch, symmetric(touch), lane);
        add_pushed(touch, push, base);
        add_tree_pushed(touch, push, tree_left_at(lane));
    }
}
