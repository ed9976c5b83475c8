// Where the rows of a tree act. The importing kernel binds `row`.

fn row_dof(at: u32, d: u32) -> u32 {
    return u32(row[at + (ROW_DOF + ROW_TERM * d) * TILE]);
}
