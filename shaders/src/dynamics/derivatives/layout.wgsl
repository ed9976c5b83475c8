// Where the numbers of the derivatives' kernels lie in a lane: the twin of layout.rs. The importing kernel imports
// dynamics/tree.

fn slope_width() -> u32 {
    return 2u * dims.tree.n_v + n_input();
}

fn slope_base(lane: u32) -> u32 {
    return tile_base(lane, dims.tree.n_v * slope_width());
}

// The parts of act: v+ at 0, impulses on bodies, twists, psi, sums.
fn act_fixed() -> u32 {
    return dims.tree.n_v;
}

fn act_twist() -> u32 {
    return act_fixed() + SPATIAL * dims.tree.n_body;
}

fn act_psi() -> u32 {
    return act_twist() + SPATIAL * dims.tree.n_body;
}

fn act_sums() -> u32 {
    return act_psi() + SPATIAL * dims.tree.n_v;
}

fn act_base(lane: u32) -> u32 {
    return tile_base(lane, act_sums() + SPATIAL * SPATIAL * dims.tree.n_body);
}

fn derivative_work_base(lane: u32) -> u32 {
    return tile_base(lane, (1u + DERIVATIVE_DOF + SUMS) * dims.tree.n_v + DERIVATIVE_BODY * dims.tree.n_body);
}
