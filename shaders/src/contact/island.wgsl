// What every island kernel reads: the twin of island.rs. The importing kernel imports contact/local, binds
// `island_index`, and those of `island_jac`, `island_con`, `impulse`, `velocity` that the functions it calls name.

const KIND_BLOCK: u32 = 0u;
const KIND_ROW: u32 = 1u;

const CON_BIAS: u32 = 0u;
const CON_FRICTION: u32 = 3u;
const CON_DELASSUS: u32 = 4u;
const CON_INVERSE: u32 = 10u;
const CON_ROW_BIAS: u32 = 0u;
const CON_ROW_COMPLIANCE: u32 = 1u;
const CON_ROW_LOWER: u32 = 2u;
const CON_ROW_UPPER: u32 = 3u;
const CON_ROW_DELASSUS: u32 = 4u;
const CON_ROW_WARM: u32 = 5u;
const CON_SIZE: u32 = 16u;

const INFO_RESIDUAL: u32 = 0u;
const INFO_SCALED: u32 = 1u;
const INFO_ITERATIONS: u32 = 2u;
const INFO_PENETRATION: u32 = 3u;
const INFO_CONTACTS: u32 = 4u;
const INFO_STOPPED: u32 = 5u;
const INFO_SIZE: u32 = 8u;

const REGION_FREE: u32 = 0u;
const REGION_SOLUTION: u32 = 1u;
const REGION_SCRATCH: u32 = 2u;

// No workspace.
const NO_WORK: u32 = 0xffffffffu;

const ISLAND_TINY: real = real(1e-30);

struct IslandDims {
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
    by_solver: u32,
}

struct IslandRecord {
    constraint_begin: u32,
    constraint_end: u32,
    colour_begin: u32,
    colour_end: u32,
    velocity_begin: u32,
    velocity_end: u32,
    n_contacts: u32,
    world: u32,
    work: u32,
}

struct ConstraintRecord {
    kind: u32,
    side_begin: u32,
    side_end: u32,
    previous: u32,
    place: u32,
}

struct SideRecord {
    velocity: u32,
    count: u32,
    jac: u32,
    constraint: u32,
}

fn island_record(i: u32) -> IslandRecord {
    let at = i * 9u;
    return IslandRecord(
        island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u], island_index[at + 4u],
        island_index[at + 5u], island_index[at + 6u], island_index[at + 7u], island_index[at + 8u],
    );
}

fn constraint_record(i: u32) -> ConstraintRecord {
    let at = dims.constraints_at + i * 5u;
    return ConstraintRecord(
        island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u], island_index[at + 4u],
    );
}

fn side_record(i: u32) -> SideRecord {
    let at = dims.sides_at + i * 4u;
    return SideRecord(island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u]);
}

// Where a colour of an island ends, as a constraint.
fn colour_end(colour: u32) -> u32 {
    return island_index[dims.colours_at + colour];
}
