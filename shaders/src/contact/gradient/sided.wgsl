// Rows and matrices of a side times motions: the twin of sided.rs. The importing kernel imports dynamics/spatial and binds
// `side` and `act`.

fn load_side(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(side[at], side[at + TILE], side[at + 2u * TILE]),
        vec3<real>(side[at + 3u * TILE], side[at + 4u * TILE], side[at + 5u * TILE]),
    );
}

fn load_act(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(act[at], act[at + TILE], act[at + 2u * TILE]),
        vec3<real>(act[at + 3u * TILE], act[at + 4u * TILE], act[at + 5u * TILE]),
    );
}

fn dot6(row: Spatial, s: Spatial, start: real) -> real {
    let r = row.angular;
    let l = row.linear;
    let angular = fma(r.z, s.angular.z, fma(r.y, s.angular.y, fma(r.x, s.angular.x, start)));
    return fma(l.z, s.linear.z, fma(l.y, s.linear.y, fma(l.x, s.linear.x, angular)));
}

// A row of a matrix in `side` times s.
fn side_dot(w: u32, row: u32, s: Spatial, start: real) -> real {
    return dot6(load_side(w + row * SPATIAL * TILE), s, start);
}

// A body given as a number; NONE: the ground.
fn body_number(body: real) -> u32 {
    return select(u32(max(body, real(0.0))), NONE, body < real(0.0));
}
