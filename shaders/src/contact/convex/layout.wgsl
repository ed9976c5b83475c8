// What every kernel of the convex solvers reads: the twin of layout.rs, whose records are in contact/convex/records.

struct ConvexDims {
    n_islands: u32,
    colours_at: u32,
    constraints_at: u32,
    sides_at: u32,
    n_constraints: u32,
    n_velocity: u32,
    iterations: u32,
    tolerance: u32,
    tolerance_scaled: u32,
    done: u32,
    places_at: u32,
    dofs_at: u32,
    constraint_real: u32,
    mixing_real: u32,
    method: u32,
    floor: u32,
    penalty: u32,
    penalty_most: u32,
    growth: u32,
    decrease: u32,
    inner_share: u32,
    inner: u32,
    outer: u32,
    noise: u32,
    rounds: u32,
    near_rigid: u32,
    stiction: u32,
    relative: u32,
    absolute: u32,
}

const METHOD_CANAL: u32 = 0u;
const METHOD_SAP: u32 = 1u;

const FORM_NONE: u32 = 0u;
const FORM_GROUP: u32 = 1u;
const FORM_LARGE: u32 = 2u;
const FORM_ITERATIVE: u32 = 3u;

const TERM_BETA_T: u32 = 0u;
const TERM_ROW_COMPLIANCE: u32 = 0u;
const TERM_BETA_N: u32 = 1u;
const TERM_BEFORE: u32 = 2u;
const TERM_BIAS: u32 = 5u;
const TERM_SIGMA: u32 = 8u;
const TERM_LAMBDA: u32 = 11u;
const TERM_SLOPE: u32 = 14u;
const TERM_ALONG: u32 = 20u;
const TERM_MEAN: u32 = 23u;
const TERM_SIZE: u32 = 24u;

const STATE_PENALTY: u32 = 0u;
const STATE_GAP: u32 = 1u;
const STATE_MOVED: u32 = 2u;
const STATE_INNER: u32 = 3u;
const STATE_OUTER: u32 = 4u;
const STATE_STIFFEST: u32 = 5u;
const STATE_NEWEST: u32 = 6u;
const STATE_LEARNT: u32 = 7u;
const STATE_DISTANCE: u32 = 8u;
const STATE_GAMMA: u32 = 9u;
const STATE_GRAM: u32 = 14u;
const STATE_ROUNDS: u32 = 39u;
const STATE_ENERGY: u32 = 40u;
const STATE_ENOUGH: u32 = 41u;
const STATE_SIZE: u32 = 48u;

const CONJUGATE_RESIDUAL: u32 = 1u;
const CONJUGATE_Z: u32 = 2u;
const CONJUGATE_P: u32 = 3u;
const CONJUGATE_HZ: u32 = 4u;
const CONJUGATE_HP: u32 = 5u;
const CONJUGATE_MHP: u32 = 6u;
const CONJUGATE_DIRECTION: u32 = 7u;
const CONJUGATE_SIZE: u32 = 8u;

const WINDOW: u32 = 5u;
const MIXING_IMAGE: u32 = 0u;
const MIXING_RESIDUAL: u32 = 1u;
const MIXING_IMAGES: u32 = 2u;
const MIXING_RESIDUALS: u32 = 7u;

// First real of a constraint in `convex`.
fn term_at(constraint: u32) -> u32 {
    return dims.constraint_real + TERM_SIZE * constraint;
}

// A number of the uniform.
fn setting(bits: u32) -> real {
    return real(bitcast<f32>(bits));
}
