// Where the numbers of the derivatives' kernels lie in a lane: the twin of layout.rs. The importing kernel imports
// dynamics/tree.
const DERIVATIVE_BODY: u32 = 46u;
const DERIVATIVE_DOF: u32 = 18u;

fn slope_width() -> u32 {
    return 3u * dims.tree.n_v + dims.tree.n_u;
}

fn slope_base(lane: u32) -> u32 {
    return tile_base(lane, dims.tree.n_v * slope_width());
}

fn act_base(lane: u32) -> u32 {
    return tile_base(lane, dims.tree.n_v + SPATIAL * dims.tree.n_body);
}

fn derivative_work_base(lane: u32) -> u32 {
    return tile_base(lane, (1u + DERIVATIVE_DOF) * dims.tree.n_v + DERIVATIVE_BODY * dims.tree.n_body);
}
