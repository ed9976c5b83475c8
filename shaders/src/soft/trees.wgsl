// The trees that touch a soft body: the twin of trees.rs. The importing kernel binds, read_write, `beside` and `touches`, and imports soft/touch.
#import soft/body.rs

// Reals of a lane of `beside`.
fn beside_reals() -> u32 {
    return 3u * dims.n_node + dims.n_slide * (dims.n_slide + 1u) + dims.n_dof * (2u * dims.n_dof + 3u);
}

// An entry of A of a lane's trees.
fn tree_matrix_at(lane: u32, i: u32, j: u32) -> u32 {
    let first = 3u * dims.n_node + dims.n_slide * (dims.n_slide + 1u);
    return tile_at(lane, beside_reals(), first + i * dims.n_dof + j);
}

// The same with contacts.
fn stiffened_at(lane: u32, i: u32, j: u32) -> u32 {
    return tree_matrix_at(lane, dims.n_dof + i, j);
}

fn tree_momentum_at(lane: u32) -> u32 {
    return tree_matrix_at(lane, 2u * dims.n_dof, 0u);
}

fn tree_velocity_at(lane: u32) -> u32 {
    return tree_momentum_at(lane) + dims.n_dof * TILE;
}

fn tree_left_at(lane: u32) -> u32 {
    return tree_velocity_at(lane) + dims.n_dof * TILE;
}

// What momentum lacks of a lane's trees, which have n degrees of freedom, without contacts.
fn lack_momentum(lane: u32, n: u32) {
    for (var i = 0u; i < n; i++) {
        var sum = beside[tree_momentum_at(lane) + i * TILE];
        for (var j = 0u; j < n; j++) {
            sum = fma(-beside[tree_matrix_at(lane, i, j)], beside[tree_velocity_at(lane) + j * TILE], sum);
        }
        beside[tree_left_at(lane) + i * TILE] = sum;
    }
}

// The sum of its squares.
fn square_left(lane: u32, n: u32) -> real {
    var square = real(0.0);
    for (var i = 0u; i < n; i++) {
        let x = beside[tree_left_at(lane) + i * TILE];
        square = fma(x, x, square);
    }
    return square;
}

// Begins the matrix with contacts.
fn begin_stiffened(lane: u32, n: u32) {
    for (var i = 0u; i < n; i++) {
        for (var j = 0u; j < n; j++) {
            beside[stiffened_at(lane, i, j)] = beside[tree_matrix_at(lane, i, j)];
        }
    }
}

// Adds `J^T W J` of a contact to it, of W the symmetric part 00, 01, 11, 22.
fn stiffen_trees(touch: u32, w: vec4<real>, lane: u32) {
    let n = side_count(touch);
    let side = side_at(touch);
    let column = column_of(touch);
    for (var i = 0u; i < n; i++) {
        let push = weighed(w, side_column(side, n, i));
        for (var j = 0u; j < n; j++) {
            let other = side_column(side, n, j);
            let at = stiffened_at(lane, column + i, column + j);
            beside[at] = fma(push.z, other.z, fma(push.y, other.y, fma(push.x, other.x, beside[at])));
        }
    }
}

// The symmetric part of W of a contact: 00, 01, 11, 22.
fn symmetric(touch: u32) -> vec4<real> {
    let slope = work_at(touch) + WORK_SLOPE;
    return vec4<real>(touches[slope], touches[slope + 1u], touches[slope + 2u], touches[slope + 5u]);
}

// `W x`, of W the symmetric part 00, 01, 11, 22.
fn weighed(w: vec4<real>, x: vec3<real>) -> vec3<real> {
    return vec3<real>(fma(w.x, x.x, w.y * x.y), fma(w.y, x.x, w.z * x.y), w.w * x.z);
}
