// Records of islands and of degrees of freedom: the twin of those in layout.rs. The importing kernel binds convex_index.

struct PlaceRecord {
    form: u32,
    real_at: u32,
}

struct DofRecord {
    first: u32,
    tree: u32,
    count: u32,
    row: u32,
    sides_begin: u32,
    sides_end: u32,
}

fn place_record(island: u32) -> PlaceRecord {
    let at = dims.places_at + 2u * island;
    return PlaceRecord(convex_index[at], convex_index[at + 1u]);
}

// Of an entry of a region of `velocity`.
fn dof_record(entry: u32) -> DofRecord {
    let at = dims.dofs_at + 6u * entry;
    return DofRecord(
        convex_index[at], convex_index[at + 1u], convex_index[at + 2u], convex_index[at + 3u], convex_index[at + 4u],
        convex_index[at + 5u],
    );
}

fn dof_first(entry: u32) -> u32 {
    return convex_index[dims.dofs_at + 6u * entry];
}
