// Contacts of a lane: the twin of touch.rs. The importing kernel binds `touch_words` and, read_write, `touches`, `b` and `beside`, and has
// `motion_at`: what `relative` is asked of.
#import math
#import soft/body.rs
#import soft/touch.rs

// First word of a contact.
fn word_at(touch: u32) -> u32 {
    return 2u * dims.lanes + 1u + touch * (HEAD_SIZE + dims.n_term + dims.n_term * (dims.n_term + 1u) / 2u);
}

// Degrees of freedom of the trees that touch a lane's body.
fn dofs_of(lane: u32) -> u32 {
    return touch_words[dims.lanes + 1u + lane];
}

fn node_count(touch: u32) -> u32 {
    return touch_words[word_at(touch) + HEAD_NODES];
}

// First degree of freedom of its tree among those of the lane's trees, and how many that has.
fn column_of(touch: u32) -> u32 {
    return touch_words[word_at(touch) + HEAD_COLUMN];
}

fn side_count(touch: u32) -> u32 {
    return touch_words[word_at(touch) + HEAD_DOFS];
}

// First word of its blocks.
fn places_at(touch: u32) -> u32 {
    return word_at(touch) + HEAD_SIZE + dims.n_term;
}

fn node_at(touch: u32, term: u32) -> u32 {
    return touch_words[word_at(touch) + HEAD_SIZE + term];
}

fn given_at(touch: u32) -> u32 {
    return touch * (GIVEN_WEIGHTS + dims.n_term);
}

fn weight_at(touch: u32, term: u32) -> real {
    return touches[given_at(touch) + GIVEN_WEIGHTS + term];
}

fn found_at(touch: u32) -> u32 {
    return dims.n_touch * (GIVEN_WEIGHTS + dims.n_term) + dims.n_side * FRAME_SIZE + 3u * touch;
}

fn work_at(touch: u32) -> u32 {
    return found_at(dims.n_touch) + WORK_SIZE * touch;
}

// Of its side.
fn side_at(touch: u32) -> u32 {
    let side = touch_words[word_at(touch) + HEAD_SIDE];
    return work_at(dims.n_touch) + side * (TREE_SIDE_JACOBIAN + 6u * dims.side_dofs);
}

// `trace(J A^-1 J^T)` of its side.
fn side_mobility(touch: u32) -> real {
    if side_count(touch) == 0u {
        return real(0.0);
    }
    return touches[side_at(touch) + TREE_SIDE_MOBILITY];
}

fn three_at(at: u32) -> vec3<real> {
    return vec3<real>(touches[at], touches[at + 1u], touches[at + 2u]);
}

fn axes_at(touch: u32) -> Mat3 {
    let at = given_at(touch) + GIVEN_AXES;
    return Mat3(three_at(at), three_at(at + 3u), three_at(at + 6u));
}

// `J x`
fn relative(touch: u32, base: u32) -> vec3<real> {
    var moved = vec3<real>(real(0.0), real(0.0), real(0.0));
    let n = node_count(touch);
    for (var i = 0u; i < n; i++) {
        let at = base + 3u * node_at(touch, i) * TILE;
        moved = scale_add(vec3<real>(motion_at(at), motion_at(at + TILE), motion_at(at + 2u * TILE)), weight_at(touch, i), moved);
    }
    return mat_vec(axes_at(touch), moved);
}

// `b += J^T x`
fn add_pushed(touch: u32, x: vec3<real>, base: u32) {
    let push = mat_t_vec(axes_at(touch), x);
    let n = node_count(touch);
    for (var i = 0u; i < n; i++) {
        let at = base + 3u * node_at(touch, i) * TILE;
        let weight = weight_at(touch, i);
        b[at] = fma(weight, push.x, b[at]);
        b[at + TILE] = fma(weight, push.y, b[at + TILE]);
        b[at + 2u * TILE] = fma(weight, push.z, b[at + 2u * TILE]);
    }
}

// A degree of freedom's column of J of its side, which has n.
fn side_column(side: u32, n: u32, i: u32) -> vec3<real> {
    let at = side + TREE_SIDE_JACOBIAN + i;
    return vec3<real>(touches[at], touches[at + n], touches[at + 2u * n]);
}

// `J x` of the tree's side; `base`: where the lane's trees have x in `beside`.
fn tree_relative(touch: u32, base: u32) -> vec3<real> {
    var moved = vec3<real>(real(0.0), real(0.0), real(0.0));
    let n = side_count(touch);
    let side = side_at(touch);
    let first = base + column_of(touch) * TILE;
    for (var i = 0u; i < n; i++) {
        moved = scale_add(side_column(side, n, i), beside[first + i * TILE], moved);
    }
    return moved;
}

// `J^T x` of it, added to `beside` from `base` on.
fn add_tree_pushed(touch: u32, x: vec3<real>, base: u32) {
    let n = side_count(touch);
    let side = side_at(touch);
    let first = base + column_of(touch) * TILE;
    for (var i = 0u; i < n; i++) {
        let j = side_column(side, n, i);
        let at = first + i * TILE;
        beside[at] = fma(j.z, x.z, fma(j.y, x.y, fma(j.x, x.x, beside[at])));
    }
}
