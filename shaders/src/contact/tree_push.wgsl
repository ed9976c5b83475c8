// b + J^T lambda, behind the numbers of info. See tree_push.rs.
#import index
#import contact/tree_layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<real>;
@group(0) @binding(3) var<storage, read> constraint: array<real>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read> row: array<real>;
@group(0) @binding(6) var<storage, read_write> info: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let n_v = dims.n_v;
    let p = tile_base(lane, INFO_SIZE + n_v) + INFO_SIZE * TILE;
    let b_base = tile_base(lane, n_v);
    for (var i = 0u; i < n_v; i++) {
        info[p + i * TILE] = b[b_base + i * TILE];
    }
    let at = lane / TILE * SLOTS;
    for (var s = 0u; s < slots[at + 1u]; s++) {
        let j = slot_base(lane, slots[at], s, slot_reals(n_v)) + SLOT_J * TILE;
        let l = slot_base(lane, slots[at], s, 3u);
        let lambda = vec3<real>(impulse[l], impulse[l + TILE], impulse[l + 2u * TILE]);
        for (var i = 0u; i < n_v; i++) {
            let to = p + i * TILE;
            let first = fma(constraint[j + i * TILE], lambda.x, info[to]);
            let second = fma(constraint[j + (n_v + i) * TILE], lambda.y, first);
            info[to] = fma(constraint[j + (2u * n_v + i) * TILE], lambda.z, second);
        }
    }
    let stride = row_stride(n_v, dims.row_width);
    let row_base = tile_base(lane, dims.n_row * stride);
    for (var r = 0u; r < dims.n_row; r++) {
        let source = row_base + r * stride * TILE;
        for (var k = 0u; k < dims.row_width; k++) {
            let to = p + u32(row[source + (ROW_DOF + ROW_TERM * k) * TILE]) * TILE;
            info[to] = fma(row[source + (ROW_COEFFICIENT + ROW_TERM * k) * TILE], row[source + ROW_IMPULSE * TILE], info[to]);
        }
    }
}
