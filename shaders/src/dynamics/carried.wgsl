// Records of paths and applied forces: as tree.rs reads them. The importing kernel imports dynamics/tree and binds `pose`
// and `motion`.
#import dynamics/point

fn path_record(i: u32) -> PathRecord {
    let at = dims.tree.path_at + i * PATH_RECORD_SIZE;
    return PathRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u], topology[at + 7u], topology[at + 8u], topology[at + 9u], topology[at + 10u],
        topology[at + 11u], topology[at + 12u],
    );
}

fn point_record(path: PathRecord, k: u32) -> PointRecord {
    let at = path.point_at + k * POINT_RECORD_SIZE;
    return PointRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u],
    );
}

// The k-th dof that changes a path.
fn path_dof(path: PathRecord, k: u32) -> u32 {
    return topology[path.dof_at + k];
}

fn motion3(motion_base: u32, dof: u32) -> vec3<real> {
    let at = motion_base + dof * SPATIAL * TILE;
    return vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]);
}

// A point of a body from c.
fn place(pose_base: u32, body: u32, local: vec3<real>) -> vec3<real> {
    let c = vec3<real>(pose[pose_base], pose[pose_base + TILE], pose[pose_base + 2u * TILE]);
    if body == NONE {
        return local - c;
    }
    let at = pose_base + body * POSE * TILE;
    let position = vec3<real>(pose[at], pose[at + TILE], pose[at + 2u * TILE]);
    return position - c + quat_rotate(orientation(pose_base, body), local);
}

// Orientation of a body.
fn orientation(pose_base: u32, body: u32) -> vec4<real> {
    if body == NONE {
        return vec4<real>(real(1.0), real(0.0), real(0.0), real(0.0));
    }
    let at = pose_base + body * POSE * TILE;
    return vec4<real>(pose[at + 3u * TILE], pose[at + 4u * TILE], pose[at + 5u * TILE], pose[at + 6u * TILE]);
}

// 1 where a dof moves a body, else 0.
fn carries(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), dof.body <= body && body < dof.subtree_end);
}
