// From the gradient by impulses on the dofs, and what each row of the lane weighs, to those by q, v and ctrl, a column of a
// lane an item. See back.rs.
#import dynamics/tree
#import dynamics/derivatives/layout
#import contact/tree_layout
#import contact/gradient/layout
#import contact/gradient/adjoint_parts
#import contact/gradient/row
#import contact/gradient/columns

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> slope: array<real>;
@group(0) @binding(4) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read> row: array<real>;
@group(0) @binding(6) var<storage, read> shift: array<real>;
@group(0) @binding(7) var<storage, read> system: array<real>;
@group(0) @binding(8) var<storage, read_write> adjoint: array<real>;

// What a row of the tree says of a column of q (`by_q`) or of a control; `numbers`: the row's, `moved`: its ds.
fn row_entry(numbers: u32, moved: u32, by_q: bool, column: u32) -> real {
    if !by_q {
        let own = u32(shift[moved + ROW_SHIFT_CONTROL * TILE]) == column;
        return select(real(0.0), shift[moved + ROW_SHIFT_BY_CTRL * TILE], own);
    }
    var sum = real(0.0);
    for (var k = 0u; k < 3u; k++) {
        if row_dof(numbers, k) == column {
            sum += shift[moved + (ROW_SHIFT_BY_Q + k) * TILE];
        }
    }
    return sum;
}

// `-ds^T (L^T z)` of a column of q, or of a control or an activation, added to a number.
fn by_rows(lane: u32, by_q: bool, column: u32, start: real) -> real {
    let n = dims.tree.n_v;
    let n_row = dims.tree.n_row;
    let count = tile_place(lane, PLACE_COUNT);
    let at = system_new(vec3<u32>(n, n_input(), n_row), count);
    let reaction = ragged_base(lane, PLACE_SYSTEM) + at.reaction * TILE;
    let moved = ragged_base(lane, PLACE_SHIFT);
    var sum = start;
    // A contact has no ds by ctrl.
    for (var r = 0u; by_q && r < 3u * count; r++) {
        let weight = system[reaction + (n_row + r) * TILE];
        if weight != real(0.0) {
            sum = fma(-weight, shift[moved + (r / 3u * slot_shift(n) + r % 3u * n + column) * TILE], sum);
        }
    }
    let stride = row_stride(n, ROW_WIDTH);
    for (var r = 0u; r < n_row; r++) {
        let weight = system[reaction + r * TILE];
        if weight != real(0.0) {
            let numbers = tile_base(lane, n_row * stride) + r * stride * TILE;
            let own = moved + (count * slot_shift(n) + r * ROW_SHIFT_SIZE) * TILE;
            sum = fma(-weight, row_entry(numbers, own, by_q, column), sum);
        }
    }
    return sum;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = dims.tree.n_v;
    let width = slope_width();
    let item = item_of(group, local, width);
    let lane = item.lane;
    let column = item.column;
    if lane >= dims.tree.lanes {
        return;
    }
    let own = adjoint_new(n, n_input());
    let base = tile_base(lane, own.reals);
    let slope_at = slope_base(lane) + column * TILE;
    let run = moved(column);
    let by_q = column < n;
    let out = base + (own.inputs + column) * TILE;
    var sum = real(0.0);
    // There stands what the inverse dynamics and the motion of the contacts' impulses add.
    if column < 2u * n {
        sum = adjoint[out];
    }
    for (var j = run.x; j < run.x + run.y; j++) {
        sum = fma(slope[slope_at + j * width * TILE], adjoint[base + (own.impulse + j) * TILE], sum);
    }
    // ds has no columns of v.
    if by_q || 2u * n <= column {
        sum = by_rows(lane, by_q, select(column - 2u * n, column, by_q), sum);
    }
    adjoint[out] = sum;
}
