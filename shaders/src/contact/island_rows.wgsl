// Static rows of the trees of one set as constraints of their islands; an invocation a row.
#import index
#import contact/island_set
#import contact/tree_layout
#import contact/island.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> row: array<real>;
@group(0) @binding(2) var<storage, read> island_index: array<u32>;
@group(0) @binding(3) var<storage, read_write> island_jac: array<real>;
@group(0) @binding(4) var<storage, read_write> island_con: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = lane_index(group, local);
    if index >= dims.n_rows {
        return;
    }
    let item = row_item(index);
    let n_v = dims.n_v;
    let at = tile_at(item.lane, dims.n_row_real, item.row * row_stride(n_v, dims.row_width));
    let zero = real(0.0);
    // A row that cannot act is one that carries nothing.
    let acts = zero < row[at + ROW_ACTIVE * TILE];
    let c = CON_SIZE * item.constraint;
    island_con[c + CON_ROW_BIAS] = row[at + ROW_BIAS * TILE];
    island_con[c + CON_RELAXED] = real(0.0);
    island_con[c + CON_ROW_COMPLIANCE] = select(zero, row[at + ROW_COMPLIANCE * TILE], acts);
    island_con[c + CON_ROW_LOWER] = select(zero, row[at + ROW_LOWER * TILE], acts);
    island_con[c + CON_ROW_UPPER] = select(zero, row[at + ROW_UPPER * TILE], acts);
    island_con[c + CON_ROW_DELASSUS] = row[at + ROW_BLOCK * TILE];
    island_con[c + CON_ROW_WARM] = row[at + ROW_IMPULSE * TILE];
    for (var i = 0u; i < n_v; i++) {
        island_jac[item.jac + i] = zero;
        island_jac[item.jac + n_v + i] = select(zero, row[at + (row_head(dims.row_width) + i) * TILE], acts);
    }
    var count = 0u;
    var alone = vec2<real>(zero, zero);
    for (var k = 0u; k < dims.row_width; k++) {
        let dof = u32(row[at + (ROW_DOF + ROW_TERM * k) * TILE]);
        let coefficient = row[at + (ROW_COEFFICIENT + ROW_TERM * k) * TILE];
        island_jac[item.jac + dof] += coefficient;
        if acts && coefficient != zero {
            count++;
            alone = vec2<real>(real(dof + 1u), coefficient);
        }
    }
    alone = select(vec2<real>(zero, zero), alone, count == 1u);
    island_con[c + CON_ROW_DOF] = alone.x;
    island_con[c + CON_ROW_COEFFICIENT] = alone.y;
}
