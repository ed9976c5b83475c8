// Factors of the left sides whose penalty changed; an invocation a tree of any island.
#import index
#import contact/subadmm/trees

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> split_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_jac: array<real>;
@group(0) @binding(3) var<storage, read> impulse: array<real>;
@group(0) @binding(4) var<storage, read_write> velocity: array<real>;
@group(0) @binding(5) var<storage, read_write> split: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let t = lane_index(group, local);
    if t >= dims.n_trees || split_rests(split_index[dims.trees_at + SPLIT_TREE_SIZE * t + SPLIT_TREE_ISLAND]) {
        return;
    }
    tree_factor(t);
}
