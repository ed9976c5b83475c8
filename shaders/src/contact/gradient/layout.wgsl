// Buffers of a step's Jacobian: the twin of layout.rs. The importing kernel imports index and binds `places`.

// Offsets in a lane's part of `system`.
struct System {
    most: u32,
    list: u32,
    order: u32,
    factor: u32,
    push: u32,
    response: u32,
    shift: u32,
    reaction: u32,
    scratch: u32,
}

// Sizes: n_v, n_input, n_row.
fn system_new(sizes: vec3<u32>, slots: u32) -> System {
    let n = sizes.x;
    let most = 3u * slots + sizes.z;
    let list = VERDICT_SIZE;
    let order = list + most * UNKNOWN_SIZE;
    let factor = order + 2u * most;
    let push = factor + most * most;
    let response = push + most * n;
    let shift = response + most * n;
    let reaction = shift + most * (n + sizes.y);
    return System(most, list, order, factor, push, response, shift, reaction, reaction + most);
}

// Reals of a slot in `shift`.
fn slot_shift(n_v: u32) -> u32 {
    return 3u * n_v + KINK_SIZE;
}

// Reals of a lane of `mobility`.
fn mobility_reals(n_v: u32) -> u32 {
    return n_v * n_v + VERDICT_SIZE;
}

// A word of a lane's tile in `places`.
fn tile_place(lane: u32, word: u32) -> u32 {
    return places[lane / TILE * PLACE_SIZE + word];
}

// Element 0 of a lane in a buffer whose tiles begin where this word says.
fn ragged_base(lane: u32, word: u32) -> u32 {
    return tile_place(lane, word) * TILE + lane % TILE;
}
