// The branch-sparse factor A = L^T D L, and the free velocity. See factor.rs.
#import dynamics/tree
#import dynamics/solve
#import dynamics/small

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> momentum: array<real>;
@group(0) @binding(4) var<storage, read> b: array<real>;
@group(0) @binding(5) var<storage, read_write> factor: array<real>;
@group(0) @binding(6) var<storage, read_write> v_free: array<real>;
@group(0) @binding(7) var<storage, read_write> velocity: array<real>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;

fn load_x(base: u32, i: u32) -> real {
    return v_free[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    v_free[base + i * TILE] = value;
}

// Entries at most of a small tree that is factored in private memory.
const MOST_ENTRIES: u32 = 512u;
var<private> entries: array<real, MOST_ENTRIES>;

// `eliminate` and `solve` with the factor in `entries` and the free velocity in `x`.
fn eliminate_small(base: u32, v_base: u32) -> bool {
    let n_v = dims.tree.n_v;
    for (var e = 0u; e < dims.tree.n_m; e++) {
        entries[e] = momentum[base + e * TILE];
    }
    read_small();
    for (var i = 0u; i < n_v; i++) {
        x[i] = b[v_base + i * TILE];
    }
    var sound = true;
    for (var r = 0u; r < n_v; r++) {
        let i = n_v - 1u - r;
        let at = begins[i];
        let chain = chains[i];
        let diagonal = momentum[base + at * TILE];
        let positive = diagonal * SMALLEST_PIVOT < entries[at];
        sound = sound && positive;
        let pivot = select(select(real(1.0), diagonal, real(0.0) < diagonal), entries[at], positive);
        let inverse = real(1.0) / pivot;
        let xi = x[i];
        var j = parents[i];
        for (var k = 1u; k < chain; k++) {
            let ratio = entries[at + k] * inverse;
            let to = begins[j];
            for (var m = k; m < chain; m++) {
                entries[to + m - k] = fma(-ratio, entries[at + m], entries[to + m - k]);
            }
            entries[at + k] = ratio;
            x[j] = fma(-ratio, xi, x[j]);
            j = parents[j];
        }
        entries[at] = inverse;
    }
    for (var i = 0u; i < n_v; i++) {
        let at = begins[i];
        let chain = chains[i];
        var sum = x[i] * entries[at];
        var j = parents[i];
        for (var k = 1u; k < chain; k++) {
            sum = fma(-entries[at + k], x[j], sum);
            j = parents[j];
        }
        x[i] = sum;
        v_free[v_base + i * TILE] = sum;
        velocity[v_base + i * TILE] = sum;
    }
    for (var e = 0u; e < dims.tree.n_m; e++) {
        factor[base + e * TILE] = entries[e];
    }
    return sound;
}

// Factors in place; whether every pivot was positive.
fn eliminate(base: u32) -> bool {
    var sound = true;
    for (var r = 0u; r < dims.tree.n_v; r++) {
        let dof = dof_record(dims.tree.n_v - 1u - r);
        let at = base + dof.m_begin * TILE;
        let diagonal = momentum[at];
        let positive = diagonal * SMALLEST_PIVOT < factor[at];
        sound = sound && positive;
        let pivot = select(select(real(1.0), diagonal, real(0.0) < diagonal), factor[at], positive);
        let inverse = real(1.0) / pivot;
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let ratio = factor[at + k * TILE] * inverse;
            let ancestor = dof_record(j);
            // The ancestor's row, from its diagonal to the root, less `ratio` times ours.
            let to = base + ancestor.m_begin * TILE;
            for (var m = k; m < dof.chain; m++) {
                let target_at = to + (m - k) * TILE;
                factor[target_at] = fma(-ratio, factor[at + m * TILE], factor[target_at]);
            }
            factor[at + k * TILE] = ratio;
            j = ancestor.parent;
        }
        factor[at] = inverse;
    }
    return sound;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let factor_base = tile_base(lane, dims.tree.n_m);
    let v_base = tile_base(lane, dims.tree.n_v);
    var sound = true;
    if is_small() && dims.tree.n_m <= MOST_ENTRIES {
        sound = eliminate_small(factor_base, v_base);
    } else {
        for (var i = 0u; i < dims.tree.n_m; i++) {
            factor[factor_base + i * TILE] = momentum[factor_base + i * TILE];
        }
        sound = eliminate(factor_base);
        for (var i = 0u; i < dims.tree.n_v; i++) {
            v_free[v_base + i * TILE] = b[v_base + i * TILE];
        }
        solve(factor_base, v_base);
        for (var i = 0u; i < dims.tree.n_v; i++) {
            velocity[v_base + i * TILE] = v_free[v_base + i * TILE];
        }
    }
    status[lane] = (status[lane] & STATUS_KEPT) | select(STATUS_BREAKDOWN, 0u, sound);
}
