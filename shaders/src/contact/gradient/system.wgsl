// See system.rs.
#import index

struct Dims {
    lanes: u32,
    n_v: u32,
    n_u: u32,
    n_row: u32,
    smallest: u32,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> places: array<u32>;
@group(0) @binding(2) var<storage, read> constraint: array<real>;
@group(0) @binding(3) var<storage, read> row: array<real>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> shift: array<real>;
@group(0) @binding(7) var<storage, read_write> system: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    _ = places[0];
    _ = constraint[0];
    _ = row[0];
    _ = impulse[0];
    _ = velocity[0];
    _ = shift[0];
    _ = system[0];
}
