// Which worlds their kernels left unsolved, by the trees that are islands by themselves. See unsolved_lanes.rs.
#import index
#import dynamics/names.rs
#import batch/world.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> status: array<u32>;
@group(0) @binding(2) var<storage, read_write> unsolved: array<u32>;

// What one lane's status says of its world.
fn of_lane(word: u32) -> u32 {
    var bits = 0u;
    let wanted = (word & (dims.wanted | STATUS_GAVE_WAY)) != 0u;
    if (word & (STATUS_ITERATION_LIMIT | dims.apart)) == STATUS_ITERATION_LIMIT && wanted {
        bits |= FOUND_UNSOLVED;
    }
    if (word & (STATUS_STOPPED | STATUS_BREAKDOWN)) != 0u {
        bits |= FOUND_BROKEN;
    }
    return bits;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let world = lane_index(group, local);
    if world >= dims.worlds {
        return;
    }
    var bits = 0u;
    if dims.first == 0u {
        bits = unsolved[world];
    }
    for (var j = 0u; j < dims.k; j++) {
        bits |= of_lane(status[world * dims.k + j]);
    }
    unsolved[world] = bits;
}
