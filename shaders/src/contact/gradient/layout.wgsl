// Buffers of a step's Jacobian: the twin of layout.rs. The importing kernel imports index and binds `places`.

const PLACE_BEGIN: u32 = 0u;
const PLACE_COUNT: u32 = 1u;
const PLACE_SYSTEM: u32 = 2u;
const PLACE_SHIFT: u32 = 3u;
const PLACE_SIZE: u32 = 4u;

const TOUCH_BODIES: u32 = 0u;
const TOUCH_ARM: u32 = 2u;
const TOUCH_NORMAL: u32 = 5u;
const TOUCH_DISTANCE: u32 = 8u;
const TOUCH_SLOPES: u32 = 9u;
const TOUCH_SIZE: u32 = 93u;

const SIDE_BODIES: u32 = 0u;
const SIDE_SPEED: u32 = 2u;
const SIDE_TURNED: u32 = 20u;
const SIDE_WRENCH: u32 = 56u;
const SIDE_KINK: u32 = 128u;
const SIDE_SIZE: u32 = 130u;

const KINK_MARGIN: u32 = 0u;
const KINK_CLOSED: u32 = 1u;
const KINK_SIZE: u32 = 2u;

const ROW_SHIFT_BY_Q: u32 = 0u;
const ROW_SHIFT_BY_CTRL: u32 = 3u;
const ROW_SHIFT_MARGIN: u32 = 4u;
const ROW_SHIFT_CLOSED: u32 = 5u;
const ROW_SHIFT_CONTROL: u32 = 6u;
const ROW_SHIFT_SIZE: u32 = 7u;

const VERDICT_SIZE_OF: u32 = 0u;
const VERDICT_RANK: u32 = 1u;
const VERDICT_MARGIN: u32 = 2u;
const VERDICT_CLOSED: u32 = 3u;
const VERDICT_LEFT: u32 = 4u;
const VERDICT_LARGEST: u32 = 5u;
const VERDICT_LARGEST_SHIFT: u32 = 6u;
const VERDICT_SIZE: u32 = 7u;

const UNKNOWN_FIRST: u32 = 0u;
const UNKNOWN_DIRECTION: u32 = 1u;
const UNKNOWN_EQUATION: u32 = 4u;
const UNKNOWN_DIAGONAL: u32 = 7u;
const UNKNOWN_SIZE: u32 = 8u;

// Offsets in a lane's part of `system`.
struct System {
    most: u32,
    list: u32,
    order: u32,
    factor: u32,
    push: u32,
    response: u32,
    shift: u32,
    adjoint: u32,
    scratch: u32,
}

// Sizes: n_v, n_u, n_row.
fn system_new(sizes: vec3<u32>, slots: u32) -> System {
    let n = sizes.x;
    let most = 3u * slots + sizes.z;
    let list = VERDICT_SIZE;
    let order = list + most * UNKNOWN_SIZE;
    let factor = order + 2u * most;
    let push = factor + most * most;
    let response = push + most * n;
    let shift = response + most * n;
    let adjoint = shift + most * (n + sizes.y);
    return System(most, list, order, factor, push, response, shift, adjoint, adjoint + most);
}

// Reals of a slot in `shift`.
fn slot_shift(n_v: u32) -> u32 {
    return 3u * n_v + KINK_SIZE;
}

// Reals of a lane of `mobility`.
fn mobility_reals(n_v: u32) -> u32 {
    return n_v * (n_v + 1u) + VERDICT_SIZE;
}

// Parts of a lane of `adjoint`; before them the gradient by v+.
struct Adjoint {
    impulse: u32,
    inputs: u32,
    left: u32,
    reals: u32,
}

fn adjoint_new(n_v: u32, n_u: u32) -> Adjoint {
    let width = 2u * n_v + n_u;
    let inputs = 2u * n_v;
    return Adjoint(n_v, inputs, inputs + width, inputs + 2u * width);
}

// A word of a lane's tile in `places`.
fn tile_place(lane: u32, word: u32) -> u32 {
    return places[lane / TILE * PLACE_SIZE + word];
}

// Element 0 of a lane in a buffer whose tiles begin where this word says.
fn ragged_base(lane: u32, word: u32) -> u32 {
    return tile_place(lane, word) * TILE + lane % TILE;
}
