// See back.rs.
#import dynamics/tree

struct Dims {
    tree: TreeDims,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> slope: array<real>;
@group(0) @binding(4) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read_write> system: array<real>;
@group(0) @binding(6) var<storage, read_write> adjoint: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    _ = slope[0];
    _ = places[0];
    _ = system[0];
    _ = adjoint[0];
    _ = topology[0];
    _ = params[0];
}
