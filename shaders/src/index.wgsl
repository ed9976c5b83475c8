// Where the elements of a lane lie: the twin of index.rs.

// The lane of an invocation, or with a workgroup of fixed width the number of the workgroup: groups lie in rows of
// GROUPS_X. Kernels return where it is not below their count, as the last row and the last tile overhang.
fn lane_index(group: vec3<u32>, local: u32) -> u32 {
    return (group.y * GROUPS_X + group.x) * TILE + local;
}
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * GROUPS_X + group.x;
}
// Element 0 of a lane, n elements a lane; element e is e * TILE further.
fn tile_base(lane: u32, n: u32) -> u32 {
    return (lane / TILE) * n * TILE + lane % TILE;
}
fn tile_at(lane: u32, n: u32, e: u32) -> u32 {
    return tile_base(lane, n) + e * TILE;
}
// Field 0 of a slot, n fields a slot; begin: the first slot of the lane's tile. Field f is f * TILE further.
fn slot_base(lane: u32, begin: u32, slot: u32, n: u32) -> u32 {
    return (begin + slot) * n * TILE + lane % TILE;
}
