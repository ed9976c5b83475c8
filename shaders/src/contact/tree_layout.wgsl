// Buffers of the tree path: the twin of tree_layout.rs.

fn slot_reals(n_v: u32) -> u32 {
    return SLOT_J + 6u * n_v;
}

fn row_head(width: u32) -> u32 {
    return ROW_COEFFICIENT + ROW_TERM * width;
}

fn row_stride(n_v: u32, width: u32) -> u32 {
    return row_head(width) + n_v;
}

fn work_reals(rows: u32) -> u32 {
    return 24u + 2u * rows * rows + 14u * rows;
}

fn position_bias(error: real, per_step: real, fraction: real, largest: real, slop: real) -> real {
    let undone = fraction * (min(error + slop, real(0.0)) * per_step);
    return select(max(undone, -largest), error * per_step, real(0.0) <= error);
}

fn bilateral_bias(error: real, per_step: real, fraction: real, largest: real) -> real {
    return min(max(fraction * error * per_step, -largest), largest);
}
