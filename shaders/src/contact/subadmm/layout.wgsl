// What every SubADMM kernel reads: the twin of layout.rs. The importing kernel binds `split_index` and `split`, and the
// uniform `dims` of type SplitDims.

struct SplitDims {
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
    n_trees: u32,
    trees_at: u32,
    splits_at: u32,
    slacks_at: u32,
    n_slacks: u32,
    islands_at: u32,
    slack_real: u32,
    constraint_real: u32,
    island_real: u32,
    relaxation: u32,
    imbalance: u32,
    adapt_after: u32,
    wide: u32,
}

struct SplitTree {
    island: u32,
    velocity: u32,
    n_v: u32,
    begins: u32,
    columns: u32,
    matrix: u32,
    list_begin: u32,
    list_end: u32,
    lane: u32,
}

struct SplitConstraint {
    slack_begin: u32,
    slack_end: u32,
    island: u32,
    rows: u32,
}

struct SplitSlack {
    constraint: u32,
    velocity: u32,
    jac: u32,
    count: u32,
    chain: u32,
    length: u32,
    rows: u32,
    first: u32,
    packed: u32,
}

struct SplitIsland {
    tree_begin: u32,
    tree_end: u32,
    constraint_begin: u32,
    constraint_end: u32,
    n_contacts: u32,
    wide: u32,
}

const SLACK_Z: u32 = 0u;
const SLACK_PUSH: u32 = 3u;
const SLACK_SIZE: u32 = 6u;

const SPLIT_PENALTY: u32 = 0u;
const SPLIT_FREE: u32 = 1u;
const SPLIT_CHANGE: u32 = 4u;
const SPLIT_SQUARE: u32 = 5u;
const SPLIT_SCALED: u32 = 6u;
const SPLIT_SIZE: u32 = 8u;

const ISLAND_NEXT: u32 = 0u;
const ISLAND_WAIT: u32 = 1u;
const ISLAND_REFACTOR: u32 = 2u;
const ISLAND_STOPPED: u32 = 3u;
const ISLAND_SIZE: u32 = 4u;

fn split_tree(i: u32) -> SplitTree {
    let at = dims.trees_at + i * 9u;
    return SplitTree(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u], split_index[at + 6u], split_index[at + 7u], split_index[at + 8u],
    );
}

fn split_constraint(i: u32) -> SplitConstraint {
    let at = dims.splits_at + i * 4u;
    return SplitConstraint(split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u]);
}

fn split_slack(i: u32) -> SplitSlack {
    let at = dims.slacks_at + i * 9u;
    return SplitSlack(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u], split_index[at + 6u], split_index[at + 7u], split_index[at + 8u],
    );
}

fn split_island(i: u32) -> SplitIsland {
    let at = dims.islands_at + i * 6u;
    return SplitIsland(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u],
    );
}

fn slack_at(i: u32) -> u32 {
    return dims.slack_real + SLACK_SIZE * i;
}

fn constraint_at(i: u32) -> u32 {
    return dims.constraint_real + SPLIT_SIZE * i;
}

fn island_at(i: u32) -> u32 {
    return dims.island_real + ISLAND_SIZE * i;
}

// Whether a dispatch is to leave an island alone.
fn split_rests(i: u32) -> bool {
    let of_others = dims.wide == 1u && split_index[dims.islands_at + i * 6u + 5u] == 0u;
    return of_others || dims.done > 0u && real(0.0) < split[island_at(i) + ISLAND_STOPPED];
}
