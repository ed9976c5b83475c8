// What the kernel reads beside the islands' own records: the twin of layout.rs. The importing kernel binds cr_index.

// Of an entry of a region of `velocity`.
fn dof_record(entry: u32) -> DofRecord {
    let at = dims.dofs_at + 4u * entry;
    return DofRecord(cr_index[at], cr_index[at + 1u], cr_index[at + 2u], cr_index[at + 3u]);
}

// A number of the uniform.
fn setting(bits: u32) -> real {
    return real(bitcast<f32>(bits));
}
