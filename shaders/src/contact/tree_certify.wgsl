// How good the impulses of a step are, from themselves. See tree_certify.rs.
#import dynamics/tree
#import dynamics/solve
#import dynamics/small
#import contact/tree_layout
#import contact/local

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> slots: array<u32>;
@group(0) @binding(4) var<storage, read> factor: array<real>;
@group(0) @binding(5) var<storage, read> constraint: array<real>;
@group(0) @binding(6) var<storage, read> impulse: array<real>;
@group(0) @binding(7) var<storage, read> row: array<real>;
@group(0) @binding(8) var<storage, read_write> info: array<real>;

fn load_x(base: u32, i: u32) -> real {
    return info[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    info[base + i * TILE] = value;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let zero = real(0.0);
    let one = real(1.0);
    let out = tile_base(lane, INFO_SIZE + n_v);
    let v = out + INFO_SIZE * TILE;
    if is_small() {
        read_small();
        for (var i = 0u; i < n_v; i++) {
            x[i] = info[v + i * TILE];
        }
        solve_small(tile_base(lane, dims.tree.n_m));
        for (var i = 0u; i < n_v; i++) {
            info[v + i * TILE] = x[i];
        }
    } else {
        solve(tile_base(lane, dims.tree.n_m), v);
    }

    var square = zero;
    var scaled = zero;
    var depth = zero;
    var contacts = zero;
    var active_rows = zero;
    var left_out = zero;
    let tile = lane / TILE * SLOTS;
    for (var s = 0u; s < slots[tile + 1u]; s++) {
        let c = slot_base(lane, slots[tile], s, slot_reals(n_v));
        let l = slot_base(lane, slots[tile], s, 3u);
        let lambda = vec3<real>(impulse[l], impulse[l + TILE], impulse[l + 2u * TILE]);
        var sigma = vec3<real>(zero, zero, zero);
        for (var i = 0u; i < n_v; i++) {
            let j = c + (SLOT_J + i) * TILE;
            let vi = info[v + i * TILE];
            sigma.x = fma(constraint[j], vi, sigma.x);
            sigma.y = fma(constraint[j + n_v * TILE], vi, sigma.y);
            sigma.z = fma(constraint[j + 2u * n_v * TILE], vi, sigma.z);
        }
        sigma += vec3<real>(constraint[c], constraint[c + TILE], constraint[c + 2u * TILE]);
        let mu = constraint[c + SLOT_MU * TILE];
        let trace = constraint[c + SLOT_BLOCK * TILE] + constraint[c + (SLOT_BLOCK + 3u) * TILE]
            + constraint[c + (SLOT_BLOCK + 5u) * TILE];
        let r = local_residual(mu, one, lambda, sigma);
        square += fma(r.x, r.x, fma(r.y, r.y, r.z * r.z));
        scaled = max(scaled, local_scaled_residual(mu, trace, lambda, sigma));
        depth = max(depth, -constraint[c + SLOT_DISTANCE * TILE]);
        contacts += select(zero, one, zero < trace && zero <= mu);
        left_out += select(zero, one, APART <= constraint[c + (SLOT_BIAS + 2u) * TILE]);
    }
    let stride = row_stride(n_v, dims.tree.row_width);
    let row_base = tile_base(lane, dims.tree.n_row * stride);
    for (var k = 0u; k < dims.tree.n_row; k++) {
        let r = row_base + k * stride * TILE;
        if row[r + ROW_ACTIVE * TILE] <= zero {
            continue;
        }
        active_rows += one;
        var sigma = zero;
        for (var d = 0u; d < dims.tree.row_width; d++) {
            let vd = info[v + u32(row[r + (ROW_DOF + ROW_TERM * d) * TILE]) * TILE];
            sigma = fma(row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE], vd, sigma);
        }
        sigma += row[r + ROW_BIAS * TILE];
        let lambda = row[r + ROW_IMPULSE * TILE];
        let compliance = row[r + ROW_COMPLIANCE * TILE];
        let lower = row[r + ROW_LOWER * TILE];
        let upper = row[r + ROW_UPPER * TILE];
        let left = lambda - min(max((lambda - sigma) / (one + compliance), lower), upper);
        square += left * left;
        let whole = row[r + ROW_BLOCK * TILE] + compliance;
        let moved = lambda - fma(compliance, lambda, sigma) / whole;
        scaled = max(scaled, abs(lambda - min(max(moved, lower), upper)) * whole);
    }
    info[out + INFO_RESIDUAL * TILE] = sqrt(square) / max(contacts, one);
    info[out + INFO_SCALED * TILE] = scaled;
    info[out + INFO_PENETRATION * TILE] = depth;
    info[out + INFO_CONTACTS * TILE] = contacts;
    info[out + INFO_ROWS * TILE] = active_rows;
    info[out + INFO_LEFT_OUT * TILE] = left_out;
}
