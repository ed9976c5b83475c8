// See row_shifts.rs.
#import dynamics/tree

struct Dims {
    tree: TreeDims,
    closed: u32,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> row: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> places: array<u32>;
@group(0) @binding(7) var<storage, read_write> shift: array<real>;
@group(0) @binding(8) var<storage, read_write> slope: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    _ = state[0];
    _ = row[0];
    _ = velocity[0];
    _ = places[0];
    _ = shift[0];
    _ = slope[0];
    _ = topology[0];
    _ = params[0];
}
