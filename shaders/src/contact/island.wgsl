// What every island kernel reads: the twin of island.rs. The importing kernel imports contact/local, binds
// `island_index`, and those of `island_jac`, `island_con`, `impulse`, `velocity` that the functions it calls name.
#import contact/group.rs

fn island_record(i: u32) -> IslandRecord {
    let at = i * ISLAND_RECORD_SIZE;
    return IslandRecord(
        island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u], island_index[at + 4u],
        island_index[at + 5u], island_index[at + 6u], island_index[at + 7u], island_index[at + 8u], island_index[at + 9u],
    );
}

fn constraint_record(i: u32) -> ConstraintRecord {
    let at = dims.constraints_at + i * CONSTRAINT_RECORD_SIZE;
    return ConstraintRecord(
        island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u], island_index[at + 4u],
    );
}

fn side_record(i: u32) -> SideRecord {
    let at = dims.sides_at + i * SIDE_RECORD_SIZE;
    return SideRecord(island_index[at], island_index[at + 1u], island_index[at + 2u], island_index[at + 3u]);
}

// Where a colour of an island ends, as a constraint.
fn colour_end(colour: u32) -> u32 {
    return island_index[dims.colours_at + colour];
}
