// Trees and static rows of one tree set in islands: the twin of the items in island.rs. The importing kernel binds
// `island_index` and `var<uniform> dims: SetDims`.

fn tree_item(i: u32) -> TreeItem {
    let at = dims.trees_at + TREE_ITEM_SIZE * i;
    return TreeItem(island_index[at], island_index[at + 1u]);
}

fn row_item(i: u32) -> RowItem {
    let at = dims.rows_at + ROW_ITEM_SIZE * i;
    return RowItem(island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u]);
}
