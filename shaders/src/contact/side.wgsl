// The side of a tree in a contact or bilateral block: the twin of side.rs. The importing kernel imports math, dynamics/tree and
// dynamics/point, binds `motion` and `factor`, and has `side_word`, where items lie, `load_x` and
// `store_x`, where J and Y lie.
#import contact/island.rs
#import dynamics/solve

fn side_item(at: u32) -> SideItem {
    return SideItem(
        side_word(at), side_word(at + 1u), side_word(at + 2u), side_word(at + 3u), side_word(at + 4u), side_word(at + 5u),
    );
}

fn moves_body(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), body != NONE && dof.body <= body && body < dof.subtree_end);
}

// `[2][3][n_v]` from `jac` on, J then Y. `axes`: the directions of its rows; `offset` leads to its point from where motions are taken.
fn side(item: SideItem, axes: Mat3, offset: vec3<real>) {
    let motion_at = tile_base(item.lane, SPATIAL * dims.tree.n_v);
    let n_v = dims.tree.n_v;
    let jac = item.jac;
    for (var i = 0u; i < n_v; i++) {
        let dof = dof_record(i);
        let weight = moves_body(dof, item.body_b) - moves_body(dof, item.body_a);
        var u = point_motion(motion_at, i, offset);
        if item.angular != 0u {
            let s = motion_at + i * SPATIAL * TILE;
            u = vec3<real>(motion[s], motion[s + TILE], motion[s + 2u * TILE]);
        }
        let x = weight * mat_vec(axes, u);
        store_x(jac, i, x.x);
        store_x(jac + n_v, i, x.y);
        store_x(jac + 2u * n_v, i, x.z);
        store_x(jac + 3u * n_v, i, x.x);
        store_x(jac + 4u * n_v, i, x.y);
        store_x(jac + 5u * n_v, i, x.z);
    }
    let factor_at = tile_base(item.lane, dims.tree.n_m);
    for (var r = 3u; r < 6u; r++) {
        solve(factor_at, jac + r * n_v);
    }
}
