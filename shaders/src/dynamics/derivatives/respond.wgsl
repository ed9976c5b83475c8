// A^-1 times the derivative of the momentum balance, in place. See respond.rs.
#import dynamics/tree
#import dynamics/small
#import dynamics/derivatives/layout

struct Dims {
    tree: TreeDims,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> factor: array<real>;
@group(0) @binding(4) var<storage, read_write> slope: array<real>;

// A dof that all entries of a column that are not zero are above or below: the last of its joint.
fn seed(column: u32) -> DofRecord {
    let n = dims.tree.n_v;
    if column < 3u * n {
        return dof_record(column % n);
    }
    let joint = joint_record(actuator_record(column - 3u * n).joint);
    let count = select(select(1u, 3u, joint.kind == JOINT_BALL), 6u, joint.kind == JOINT_FREE);
    return dof_record(joint.dof_begin + count - 1u);
}

// Whether one of two dofs moves the other.
fn related(a: DofRecord, b: DofRecord) -> bool {
    return (a.body <= b.body && b.body < a.subtree_end) || (b.body <= a.body && a.body < b.subtree_end);
}

// Solves a column, in `x` in private memory.
fn solve_column_small(factor_base: u32, column_at: u32) {
    let n = dims.tree.n_v;
    let stride = slope_width() * TILE;
    read_small();
    for (var i = 0u; i < n; i++) {
        x[i] = slope[column_at + i * stride];
    }
    solve_small(factor_base);
    for (var i = 0u; i < n; i++) {
        slope[column_at + i * stride] = x[i];
    }
}

// The same where it lies, of a tree of many dofs: a column that begins at a dof.
fn solve_column(factor_base: u32, column_at: u32, of_dof: DofRecord) {
    let n = dims.tree.n_v;
    let stride = slope_width() * TILE;
    for (var r = 0u; r < n; r++) {
        let i = n - 1u - r;
        let dof = dof_record(i);
        if !related(dof, of_dof) {
            continue;
        }
        let at = factor_base + dof.m_begin * TILE;
        let xi = slope[column_at + i * stride];
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let to = column_at + j * stride;
            slope[to] = fma(-factor[at + k * TILE], xi, slope[to]);
            j = dof_parent(j);
        }
    }
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let at = factor_base + dof.m_begin * TILE;
        var sum = slope[column_at + i * stride] * factor[at];
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            sum = fma(-factor[at + k * TILE], slope[column_at + j * stride], sum);
            j = dof_parent(j);
        }
        slope[column_at + i * stride] = sum;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    // Items: the lanes of a tile, column after column, then the next tile.
    let item = lane_index(group, local);
    let width = slope_width();
    let column = (item / TILE) % width;
    let lane = item / (TILE * width) * TILE + local;
    if lane >= dims.tree.lanes {
        return;
    }
    let factor_base = tile_base(lane, dims.tree.n_m);
    let column_at = slope_base(lane) + column * TILE;
    if is_small() {
        solve_column_small(factor_base, column_at);
    } else {
        solve_column(factor_base, column_at, seed(column));
    }
}
