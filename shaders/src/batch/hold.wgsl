// Holds lanes back from moving. See hold.rs.
#import index
#import dynamics/names.rs
#import batch/world.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> unsolved: array<u32>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;

// Whether the lanes of a world are held, by its word in `unsolved`.
fn holds(held: u32, word: u32) -> bool {
    return held != WHOM_NOBODY && (word == FOUND_UNSOLVED) == (held == WHOM_UNSOLVED);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let held = select(0u, STATUS_HELD, holds(dims.whom, unsolved[lane / dims.k]));
    status[lane] = (status[lane] & ~STATUS_HELD) | held;
}
