// Records of paths and applied forces: as tree.rs reads them. The importing kernel imports math and dynamics/tree, and
// binds `pose` and `motion`.
#import dynamics/point
#import dynamics/body_frame
#import dynamics/path_record

fn point_record(path: PathRecord, k: u32) -> PointRecord {
    let at = path.point_at + k * POINT_RECORD_SIZE;
    return PointRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u],
    );
}

fn motion3(motion_base: u32, dof: u32) -> vec3<real> {
    let at = motion_base + dof * SPATIAL * TILE;
    return vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]);
}

// 1 where a dof moves a body, else 0.
fn carries(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), dof.body <= body && body < dof.subtree_end);
}
