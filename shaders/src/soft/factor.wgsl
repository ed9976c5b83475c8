// A = L L^T by blocks, as a plan says, and the correction v += A^-1 b. See factor.rs.
#import index
#import dynamics/names.rs
#import soft/body.rs
#import soft/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> topology: array<u32>;
@group(0) @binding(2) var<storage, read> matrix: array<real>;
@group(0) @binding(3) var<storage, read_write> b: array<real>;
@group(0) @binding(4) var<storage, read_write> factor: array<real>;
@group(0) @binding(5) var<storage, read_write> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> status: array<u32>;

var<private> own: array<real, BLOCK>;
var<private> pivots: array<real, 6>;

// Whether every pivot was positive. One that is not is taken as the diagonal it came from, so that the lane goes on,
// flagged.
fn eliminate(matrix_base: u32, base: u32) -> bool {
    var sound = true;
    var word = dims.plan_at + 2u * dims.n_node + 1u + dims.n_fill;
    for (var j = 0u; j < dims.n_node; j++) {
        let first = begin(j);
        let end = begin(j + 1u);
        for (var at = first; at < end; at++) {
            let place = topology[word];
            let count = topology[word + 1u];
            word += 2u;
            for (var e = 0u; e < BLOCK; e++) {
                own[e] = real(0.0);
                if place != NO_BLOCK {
                    own[e] = matrix[matrix_base + (place * BLOCK + e) * TILE];
                }
            }
            let diagonal = vec3<real>(own[0], own[4], own[8]);
            subtract_products(base, word, count);
            word += 2u * count;
            if at == first {
                let positive = pivot(diagonal);
                sound = sound && positive;
            } else {
                divide();
            }
            for (var e = 0u; e < BLOCK; e++) {
                factor[base + (at * BLOCK + e) * TILE] = own[e];
            }
        }
    }
    return sound;
}

// `own -= sum X Y^T`.
fn subtract_products(base: u32, word: u32, count: u32) {
    for (var row = 0u; row < 3u; row++) {
        var sums = vec3<real>(own[3u * row], own[3u * row + 1u], own[3u * row + 2u]);
        for (var p = 0u; p < count; p++) {
            let x = base + (topology[word + 2u * p] * BLOCK + 3u * row) * TILE;
            let y = base + topology[word + 2u * p + 1u] * BLOCK * TILE;
            for (var k = 0u; k < 3u; k++) {
                let minus = -factor[x + k * TILE];
                sums.x = fma(minus, factor[y + k * TILE], sums.x);
                sums.y = fma(minus, factor[y + (3u + k) * TILE], sums.y);
                sums.z = fma(minus, factor[y + (6u + k) * TILE], sums.z);
            }
        }
        own[3u * row] = sums.x;
        own[3u * row + 1u] = sums.y;
        own[3u * row + 2u] = sums.z;
    }
}

// The Cholesky factor of a block on the diagonal, the inverses of its pivots in their places: into `own` and, as
// (00, 11, 22, 10, 20, 21), into `pivots`. `diagonal`: what pivots came from.
fn pivot(diagonal: vec3<real>) -> bool {
    let first = inverse_root(diagonal.x, own[0]);
    let i0 = first.inverse;
    let l10 = own[3] * i0;
    let l20 = own[6] * i0;
    let second = inverse_root(diagonal.y, fma(-l10, l10, own[4]));
    let i1 = second.inverse;
    let l21 = fma(-l20, l10, own[7]) * i1;
    let third = inverse_root(diagonal.z, fma(-l21, l21, fma(-l20, l20, own[8])));
    let i2 = third.inverse;
    let zero = real(0.0);
    own = array<real, BLOCK>(i0, zero, zero, l10, i1, zero, l20, l21, i2);
    pivots = array<real, 6>(i0, i1, i2, l10, l20, l21);
    return first.sound && second.sound && third.sound;
}

struct Root {
    sound: bool,
    inverse: real,
}

// Whether a pivot is positive, and the inverse of its root.
fn inverse_root(diagonal: real, pivot: real) -> Root {
    let one = real(1.0);
    let usable = real(0.0) < diagonal;
    let positive = diagonal * SMALLEST_PIVOT < pivot && usable;
    return Root(positive, one / sqrt(select(select(one, diagonal, usable), pivot, positive)));
}

// `X C^-T` of a block below the diagonal block C.
fn divide() {
    for (var row = 0u; row < 3u; row++) {
        let x0 = own[3u * row] * pivots[0];
        let x1 = fma(-x0, pivots[3], own[3u * row + 1u]) * pivots[1];
        let x2 = fma(-x1, pivots[5], fma(-x0, pivots[4], own[3u * row + 2u])) * pivots[2];
        own[3u * row] = x0;
        own[3u * row + 1u] = x1;
        own[3u * row + 2u] = x2;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || (status[lane] & STATUS_SETTLED) != 0u {
        return;
    }
    let base = tile_base(lane, dims.n_fill * BLOCK);
    let n = 3u * dims.n_node;
    let b_base = tile_base(lane, n);
    let sound = eliminate(tile_base(lane, dims.n_block * BLOCK), base);
    solve(base, b_base);
    for (var i = 0u; i < n; i++) {
        velocity[b_base + i * TILE] += b[b_base + i * TILE];
    }
    status[lane] |= select(STATUS_ITERATION_LIMIT, 0u, sound);
}
