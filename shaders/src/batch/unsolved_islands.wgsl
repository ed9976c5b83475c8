// Which worlds their kernels left unsolved, by the islands of several trees. See unsolved_islands.rs.
#import index
#import dynamics/names.rs
#import contact/island.rs
#import batch/world.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_status: array<u32>;
@group(0) @binding(3) var<storage, read_write> unsolved: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let world = lane_index(group, local);
    if world >= dims.worlds {
        return;
    }
    // The first island of this world: islands stand by world.
    var low = 0u;
    var high = dims.n_islands;
    for (var round = 0u; round < 32u && low < high; round++) {
        let middle = (low + high) / 2u;
        if island_index[middle * ISLAND_RECORD_SIZE + ISLAND_RECORD_WORLD] < world {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    for (var island = low; island < dims.n_islands; island++) {
        if island_index[island * ISLAND_RECORD_SIZE + ISLAND_RECORD_WORLD] != world {
            break;
        }
        let word = island_status[island];
        let solves = island_index[island * ISLAND_RECORD_SIZE + ISLAND_RECORD_PART] == PART_SOLVES;
        if (word & STATUS_ITERATION_LIMIT) != 0u && ((word & dims.wanted) != 0u || !solves) {
            unsolved[world] |= FOUND_UNSOLVED;
        }
    }
}
