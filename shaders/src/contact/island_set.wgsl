// Trees and static rows of one tree set in islands: the twin of the items in island.rs. The importing kernel binds
// `island_index` and `var<uniform> dims: SetDims`.

struct SetDims {
    n_trees: u32,
    trees_at: u32,
    n_rows: u32,
    rows_at: u32,
    n_velocity: u32,
    n_v: u32,
    v_at: u32,
    n_state: u32,
    row_at: u32,
    n_row_real: u32,
}

struct TreeItem {
    lane: u32,
    velocity: u32,
}

struct RowItem {
    lane: u32,
    row: u32,
    constraint: u32,
    jac: u32,
}

fn tree_item(i: u32) -> TreeItem {
    let at = dims.trees_at + 2u * i;
    return TreeItem(island_index[at], island_index[at + 1u]);
}

fn row_item(i: u32) -> RowItem {
    let at = dims.rows_at + 4u * i;
    return RowItem(island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u]);
}
