// The trees of one set that touch a soft body, to its lanes; an invocation a tree. See gather.rs.
#import index
#import dynamics/tree
#import soft/gather.rs
#import soft/trees.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> momentum: array<real>;
@group(0) @binding(4) var<storage, read> b: array<real>;
@group(0) @binding(5) var<storage, read> state: array<real>;
@group(0) @binding(6) var<storage, read> touch_words: array<u32>;
@group(0) @binding(7) var<storage, read_write> beside: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let record = dims.items_at + MET_ITEM_SIZE * item;
    let lane = touch_words[record + MET_ITEM_LANE];
    let column = touch_words[record + MET_ITEM_COLUMN];
    let n_v = dims.tree.n_v;
    let room = dims.room;
    let to = tile_at(touch_words[record + MET_ITEM_SOFT], dims.n_beside, dims.n_beside - room * (2u * room + 3u));
    // Rows as a whole: other trees stood elsewhere in the step before.
    for (var at = column * room; at < (column + n_v) * room; at++) {
        beside[to + at * TILE] = real(0.0);
    }
    let m = tile_base(lane, dims.tree.n_m);
    let v = tile_at(lane, n_state(), dims.tree.n_q);
    for (var i = 0u; i < n_v; i++) {
        let dof = dof_record(i);
        var j = i;
        for (var k = 0u; k < dof.chain; k++) {
            let x = momentum[m + (dof.m_begin + k) * TILE];
            beside[to + ((column + i) * room + column + j) * TILE] = x;
            beside[to + ((column + j) * room + column + i) * TILE] = x;
            j = dof_parent(j);
        }
        beside[to + (2u * room * room + column + i) * TILE] = b[tile_at(lane, n_v, i)];
        beside[to + ((2u * room + 1u) * room + column + i) * TILE] = state[v + i * TILE];
    }
}
