// What the kernel reads beside the islands' own records: the twin of layout.rs. The importing kernel binds cr_index.

struct ResidualDims {
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
    most: u32,
    dofs_at: u32,
    items_at: u32,
    function: u32,
    scale: u32,
    damping: u32,
    share: u32,
    shift: u32,
}

const MINIMUM_MAP: u32 = 0u;
const FISCHER_BURMEISTER: u32 = 1u;

const TERM_COMPLIANCE: u32 = 0u;
const TERM_PRECONDITIONER: u32 = 3u;
const TERM_X: u32 = 6u;
const TERM_R: u32 = 9u;
const TERM_Z: u32 = 12u;
const TERM_D: u32 = 15u;
const TERM_MD: u32 = 18u;
const TERM_MZ: u32 = 21u;
const TERM_BEST: u32 = 24u;
const TERM_SIZE: u32 = 27u;

const STATE_BEST: u32 = 0u;
const STATE_LAST: u32 = 1u;
const STATE_SHARE: u32 = 2u;
const STATE_SIZE: u32 = 3u;

struct DofRecord {
    begin: u32,
    end: u32,
    place: u32,
    count: u32,
}

// Of an entry of a region of `velocity`.
fn dof_record(entry: u32) -> DofRecord {
    let at = dims.dofs_at + 4u * entry;
    return DofRecord(cr_index[at], cr_index[at + 1u], cr_index[at + 2u], cr_index[at + 3u]);
}

// A number of the uniform.
fn setting(bits: u32) -> real {
    return real(bitcast<f32>(bits));
}
