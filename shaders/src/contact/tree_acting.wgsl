// Which static rows of a tree can act in a step from the state that it begins with. See tree_acting.rs.
#import math
#import dynamics/tree
#import contact/tree_layout
#import contact/row_law

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pull: array<real>;
@group(0) @binding(5) var<storage, read_write> acting: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let lanes = Bases(param_base(lane), tile_base(lane, n_state()), tile_base(lane, dims.tree.n_pull));
    let n = (dims.tree.n_row + BITS - 1u) / BITS;
    let first = tile_base(lane, n);
    for (var word = 0u; word < n; word++) {
        var bits = 0u;
        for (var k = word * BITS; k < min(dims.tree.n_row, (word + 1u) * BITS); k++) {
            if row_law(row_record(k), lanes).is_active {
                bits |= 1u << (k % BITS);
            }
        }
        acting[first + word * TILE] = bits;
    }
}
