// What every SubADMM kernel reads: the twin of layout.rs. The importing kernel binds `split_index` and `split`, and the
// uniform `dims` of type SplitDims.

fn split_tree(i: u32) -> SplitTree {
    let at = dims.trees_at + i * SPLIT_TREE_SIZE;
    return SplitTree(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u], split_index[at + 6u], split_index[at + 7u], split_index[at + 8u],
    );
}

fn split_constraint(i: u32) -> SplitConstraint {
    let at = dims.splits_at + i * SPLIT_CONSTRAINT_SIZE;
    return SplitConstraint(split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u]);
}

fn split_slack(i: u32) -> SplitSlack {
    let at = dims.slacks_at + i * SPLIT_SLACK_SIZE;
    return SplitSlack(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u], split_index[at + 6u], split_index[at + 7u], split_index[at + 8u],
    );
}

fn split_island(i: u32) -> SplitIsland {
    let at = dims.islands_at + i * SPLIT_ISLAND_SIZE;
    return SplitIsland(
        split_index[at], split_index[at + 1u], split_index[at + 2u], split_index[at + 3u], split_index[at + 4u],
        split_index[at + 5u], split_index[at + 6u],
    );
}

fn slack_at(i: u32) -> u32 {
    return dims.slack_real + SLACK_SIZE * i;
}

fn constraint_at(i: u32) -> u32 {
    return dims.constraint_real + CONSTRAINT_SIZE * i;
}

fn island_at(i: u32) -> u32 {
    return dims.island_real + ISLAND_SIZE * i;
}

// Whether a dispatch is to leave an island alone.
fn split_rests(i: u32) -> bool {
    let of_others = dims.wide == 1u && split_index[dims.islands_at + i * SPLIT_ISLAND_SIZE + SPLIT_ISLAND_WIDE] == 0u;
    return of_others || dims.done > 0u && real(0.0) < split[island_at(i) + ISLAND_STOPPED];
}
