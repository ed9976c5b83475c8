// Records of paths: as tree.rs reads them. The importing kernel imports dynamics/tree.
fn path_record(i: u32) -> PathRecord {
    let at = dims.tree.path_at + i * PATH_RECORD_SIZE;
    return PathRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u], topology[at + 7u], topology[at + 8u], topology[at + 9u], topology[at + 10u],
        topology[at + 11u], topology[at + 12u],
    );
}

// The k-th dof that changes a path.
fn path_dof(path: PathRecord, k: u32) -> u32 {
    return topology[path.dof_at + k];
}
