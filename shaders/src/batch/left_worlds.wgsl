// The worlds that kernels left unsolved, one after the other in their order. See left_worlds.rs.
#import batch/world.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> unsolved: array<u32>;
@group(0) @binding(2) var<storage, read_write> left: array<u32>;

// How many each invocation found.
var<workgroup> found: array<u32, LISTERS>;

@compute @workgroup_size(LISTERS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let share = (dims.worlds + LISTERS - 1u) / LISTERS;
    let first = min(local * share, dims.worlds);
    let end = min(first + share, dims.worlds);
    var own = 0u;
    for (var world = first; world < end; world++) {
        own += select(0u, 1u, unsolved[world] == FOUND_UNSOLVED);
    }
    found[local] = own;
    workgroupBarrier();
    var count = 0u;
    for (var other = 0u; other < local; other++) {
        count += found[other];
    }
    for (var world = first; world < end; world++) {
        if unsolved[world] == FOUND_UNSOLVED {
            count += 1u;
            left[count] = world;
        }
    }
    if local == LISTERS - 1u {
        left[0] = count;
    }
}
