// What kernels share whose items are columns of lanes: the lanes of a tile, column after column, then the next tile.
// The importing kernel imports dynamics/tree.

struct Item {
    lane: u32,
    column: u32,
}

// The item of an invocation, of so many columns.
fn item_of(group: vec3<u32>, local: u32, columns: u32) -> Item {
    let item = lane_index(group, local);
    return Item(item / (TILE * columns) * TILE + local, item / TILE % columns);
}

// The dofs that a column of `slope` has entries at: first, and how many. A control moves those of one joint alone, but for
// that of an applied force, as an activation is; that of a row is in ds.
fn moved(column: u32) -> vec2<u32> {
    let n = dims.tree.n_v;
    if column < 2u * n || 2u * n + dims.tree.n_u <= column {
        return vec2<u32>(0u, n);
    }
    let actuator = actuator_record(column - 2u * n);
    if actuator.mode == DRIVE_APPLIED {
        return vec2<u32>(0u, n);
    }
    let joint = joint_record(actuator.joint);
    return vec2<u32>(joint.dof_begin, select(dof_count(joint.kind), 0u, actuator.mode == DRIVE_ROW));
}
