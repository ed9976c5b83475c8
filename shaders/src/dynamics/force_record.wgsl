// Records of applied forces: as tree.rs reads them. The importing kernel imports dynamics/tree.
fn force_record(i: u32) -> ForceRecord {
    let at = dims.tree.path_at + dims.tree.n_path * PATH_RECORD_SIZE + i * FORCE_RECORD_SIZE;
    return ForceRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u], topology[at + 7u], topology[at + 8u], topology[at + 9u],
    );
}
