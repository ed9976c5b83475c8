// Numbers of the worlds that are left, out of the tiles of all worlds and back. See left_numbers.rs.
#import index
#import contact/tree_layout.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> left: array<u32>;
@group(0) @binding(2) var<storage, read> slots: array<u32>;
@group(0) @binding(3) var<storage, read_write> lanes: array<real>;
@group(0) @binding(4) var<storage, read_write> numbers: array<real>;

const NOWHERE: u32 = 0xffffffffu;

// Where the numbers of an item begin in the tiles: of lane item / slots of the worlds that are left, slot item % slots.
fn place(item: u32) -> u32 {
    let number = item / dims.slots;
    let slot = item % dims.slots;
    if number / dims.k >= left[0] {
        return NOWHERE;
    }
    let lane = left[1u + number / dims.k] * dims.k + number % dims.k;
    if dims.by_slot == 0u {
        return tile_base(lane, dims.n);
    }
    let tile = lane / TILE * SLOTS;
    if slot >= slots[tile + 1u] {
        return NOWHERE;
    }
    return slot_base(lane, slots[tile], slot, dims.n);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(group);
    if item >= dims.room * dims.k * dims.slots {
        return;
    }
    let begin = place(item);
    if begin == NOWHERE {
        return;
    }
    let own = dims.at + item * dims.n;
    for (var e = local; e < dims.n; e += TILE) {
        if dims.back == 0u {
            numbers[own + e] = lanes[begin + e * TILE];
        } else {
            lanes[begin + e * TILE] = numbers[own + e];
        }
    }
}
