// Buffers of the tree path: the twin of tree_layout.rs.

const SLOTS: u32 = 4u;

const CONTACT_POINT: u32 = 0u;
const CONTACT_NORMAL: u32 = 3u;
const CONTACT_DISTANCE: u32 = 6u;
const CONTACT_FRICTION: u32 = 7u;
const CONTACT_RESTITUTION: u32 = 8u;
const CONTACT_SIZE: u32 = 12u;

const MAP_KIND: u32 = 0u;
const MAP_BODY_A: u32 = 1u;
const MAP_BODY_B: u32 = 2u;
const MAP_WARM: u32 = 3u;
const MAP_SIZE: u32 = 4u;
const MAP_BLOCK_KIND: u32 = 2u;

const SLOT_BIAS: u32 = 0u;
const SLOT_MU: u32 = 3u;
const SLOT_RESTITUTION: u32 = 4u;
const SLOT_BOUNCE: u32 = 5u;
const SLOT_BLOCK: u32 = 6u;
const SLOT_INVERSE: u32 = 12u;
const SLOT_DISTANCE: u32 = 18u;
const SLOT_J: u32 = 19u;

const ROW_AT_BIAS: u32 = 0u;
const ROW_AT_COMPLIANCE: u32 = 1u;
const ROW_AT_LOWER: u32 = 2u;
const ROW_AT_UPPER: u32 = 3u;
const ROW_AT_ACTIVE: u32 = 4u;
const ROW_AT_BLOCK: u32 = 5u;
const ROW_AT_IMPULSE: u32 = 6u;
const ROW_AT_COEFFICIENT: u32 = 7u;
const ROW_AT_DOF: u32 = 10u;
const ROW_AT_Y: u32 = 13u;

const INFO_RESIDUAL: u32 = 0u;
const INFO_SCALED: u32 = 1u;
const INFO_SWEEPS: u32 = 2u;
const INFO_NEWTON: u32 = 3u;
const INFO_PENETRATION: u32 = 4u;
const INFO_CONTACTS: u32 = 5u;
const INFO_ROWS: u32 = 6u;
const INFO_STOPPED_AT: u32 = 7u;
const INFO_SIZE: u32 = 8u;

// Stands for an infinite bound.
const UNBOUNDED: real = real(1e30);

fn slot_reals(n_v: u32) -> u32 {
    return SLOT_J + 6u * n_v;
}

fn row_stride(n_v: u32) -> u32 {
    return ROW_AT_Y + n_v;
}

fn position_bias(error: real, per_step: real, fraction: real, largest: real, slop: real) -> real {
    let undone = fraction * (min(error + slop, real(0.0)) * per_step);
    return select(max(undone, -largest), error * per_step, real(0.0) <= error);
}

fn bilateral_bias(error: real, per_step: real, fraction: real, largest: real) -> real {
    return min(max(fraction * error * per_step, -largest), largest);
}
