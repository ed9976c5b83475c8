// Records of islands and of degrees of freedom: the twin of those in layout.rs. The importing kernel binds convex_index.

fn place_record(island: u32) -> PlaceRecord {
    let at = dims.places_at + PLACE_RECORD_SIZE * island;
    return PlaceRecord(convex_index[at], convex_index[at + 1u]);
}

// Of an entry of a region of `velocity`.
fn dof_record(entry: u32) -> DofRecord {
    let at = dims.dofs_at + DOF_RECORD_SIZE * entry;
    return DofRecord(
        convex_index[at], convex_index[at + 1u], convex_index[at + 2u], convex_index[at + 3u], convex_index[at + 4u],
        convex_index[at + 5u],
    );
}

fn dof_first(entry: u32) -> u32 {
    return convex_index[dims.dofs_at + DOF_RECORD_SIZE * entry + DOF_RECORD_FIRST];
}
