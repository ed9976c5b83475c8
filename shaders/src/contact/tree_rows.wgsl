// Static rows: limits, dry friction, force-limited drives and couplings. See tree_rows.rs.
#import math
#import dynamics/tree
#import dynamics/solve
#import dynamics/small
#import contact/tree_layout
#import contact/row_law

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> factor: array<real>;
@group(0) @binding(5) var<storage, read> pull: array<real>;
@group(0) @binding(6) var<storage, read_write> row: array<real>;

fn load_x(base: u32, i: u32) -> real {
    return row[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    row[base + i * TILE] = value;
}

// What stands at `y` to its response, in place.
fn solve_row(factor_base: u32, y: u32) {
    if !is_small() {
        solve(factor_base, y);
        return;
    }
    for (var i = 0u; i < dims.tree.n_v; i++) {
        x[i] = row[y + i * TILE];
    }
    solve_small(factor_base);
    for (var i = 0u; i < dims.tree.n_v; i++) {
        row[y + i * TILE] = x[i];
    }
}

// Y of a row of one dof: the response to a unit of it, which a row before this may have, times J. Rows begin at `first`, this at r.
fn respond_alone(record: RowRecord, factor_base: u32, first: u32, r: u32, y: u32) {
    let n_v = dims.tree.n_v;
    let width = dims.tree.row_width;
    let j = row[r + ROW_COEFFICIENT * TILE];
    let like = first + record.like * row_stride(n_v, width) * TILE;
    if record.like != NONE && real(0.0) < row[like + ROW_ACTIVE * TILE] {
        let unit = like + row_head(width) * TILE;
        for (var i = 0u; i < n_v; i++) {
            row[y + i * TILE] = row[unit + i * TILE] * j;
        }
        return;
    }
    for (var i = 0u; i < n_v; i++) {
        row[y + i * TILE] = real(0.0);
    }
    row[y + row_record_dof(record, 0u) * TILE] = real(1.0);
    solve_row(factor_base, y);
    for (var i = 0u; i < n_v; i++) {
        row[y + i * TILE] *= j;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let zero = real(0.0);
    let lanes = Bases(param_base(lane), tile_base(lane, n_state()), tile_base(lane, dims.tree.n_pull));
    let factor_base = tile_base(lane, dims.tree.n_m);
    let width = dims.tree.row_width;
    let stride = row_stride(n_v, width);
    let first = tile_base(lane, dims.tree.n_row * stride);
    if is_small() {
        read_small();
    }
    for (var k = 0u; k < dims.tree.n_row; k++) {
        let record = row_record(k);
        let law = row_law(record, lanes);
        let r = first + k * stride * TILE;
        // A limit that changed sides starts anew.
        var kept = true;
        if record.kind == ROW_LIMIT || record.kind == ROW_TENDON_LIMIT {
            var along = zero;
            for (var d = 0u; d < record.count; d++) {
                let old = row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
                along = fma(coefficient(lanes, record, law.factors, d), old, along);
            }
            kept = zero < along;
        }
        let before = row[r + ROW_IMPULSE * TILE];
        let sound = is_finite(before) && kept && law.is_active;
        let counts = select(zero, real(1.0), law.is_active);
        row[r + ROW_IMPULSE * TILE] = select(zero, min(max(before, law.lower), law.upper), sound);
        row[r + ROW_BIAS * TILE] = select(zero, law.bias, law.is_active);
        row[r + ROW_RELAXED * TILE] = zero;
        row[r + ROW_COMPLIANCE * TILE] = law.compliance;
        row[r + ROW_LOWER * TILE] = law.lower;
        row[r + ROW_UPPER * TILE] = law.upper;
        row[r + ROW_ACTIVE * TILE] = counts;
        row[r + ROW_BLOCK * TILE] = zero;
        for (var d = 0u; d < width; d++) {
            var j = zero;
            var dof = 0u;
            if d < record.count {
                j = select(zero, coefficient(lanes, record, law.factors, d), law.is_active);
                dof = row_record_dof(record, d);
            }
            row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE] = j;
            row[r + (ROW_DOF + ROW_TERM * d) * TILE] = real(dof);
        }
        if !law.is_active {
            continue;
        }
        let y = r + row_head(width) * TILE;
        if record.count == 1u {
            respond_alone(record, factor_base, first, r, y);
        } else {
            for (var i = 0u; i < n_v; i++) {
                row[y + i * TILE] = zero;
            }
            for (var d = 0u; d < record.count; d++) {
                row[y + row_record_dof(record, d) * TILE] += row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
            }
            solve_row(factor_base, y);
        }
        var block = zero;
        for (var d = 0u; d < record.count; d++) {
            let j = row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
            block = fma(j, row[y + row_record_dof(record, d) * TILE], block);
        }
        row[r + ROW_BLOCK * TILE] = block;
    }
}
