// Contacts of a lane: the twin of touch.rs. The importing kernel binds `touch_words` and, read_write, `touches` and `b`, and has
// `motion_at`: what `relative` is asked of.
#import math
#import soft/body.rs
#import soft/touch.rs

// First word of a contact.
fn word_at(touch: u32) -> u32 {
    return dims.lanes + 1u + touch * (1u + dims.n_term + dims.n_term * (dims.n_term + 1u) / 2u);
}

// First word of its blocks.
fn places_at(touch: u32) -> u32 {
    return word_at(touch) + 1u + dims.n_term;
}

fn node_at(touch: u32, term: u32) -> u32 {
    return touch_words[word_at(touch) + 1u + term];
}

fn given_at(touch: u32) -> u32 {
    return touch * (GIVEN_WEIGHTS + dims.n_term);
}

fn weight_at(touch: u32, term: u32) -> real {
    return touches[given_at(touch) + GIVEN_WEIGHTS + term];
}

fn found_at(touch: u32) -> u32 {
    return dims.n_touch * (GIVEN_WEIGHTS + dims.n_term) + 3u * touch;
}

fn work_at(touch: u32) -> u32 {
    return dims.n_touch * (GIVEN_WEIGHTS + dims.n_term + 3u) + WORK_SIZE * touch;
}

fn three_at(at: u32) -> vec3<real> {
    return vec3<real>(touches[at], touches[at + 1u], touches[at + 2u]);
}

fn axes_of(touch: u32) -> Mat3 {
    let at = given_at(touch) + GIVEN_AXES;
    return Mat3(three_at(at), three_at(at + 3u), three_at(at + 6u));
}

// `J x`
fn relative(touch: u32, base: u32) -> vec3<real> {
    var moved = vec3<real>(real(0.0), real(0.0), real(0.0));
    let n = touch_words[word_at(touch)];
    for (var i = 0u; i < n; i++) {
        let at = base + 3u * node_at(touch, i) * TILE;
        moved = scale_add(vec3<real>(motion_at(at), motion_at(at + TILE), motion_at(at + 2u * TILE)), weight_at(touch, i), moved);
    }
    return mat_vec(axes_of(touch), moved);
}

// `b += J^T x`
fn add_pushed(touch: u32, x: vec3<real>, base: u32) {
    let push = mat_t_vec(axes_of(touch), x);
    let n = touch_words[word_at(touch)];
    for (var i = 0u; i < n; i++) {
        let at = base + 3u * node_at(touch, i) * TILE;
        let weight = weight_at(touch, i);
        b[at] = fma(weight, push.x, b[at]);
        b[at + TILE] = fma(weight, push.y, b[at + TILE]);
        b[at + 2u * TILE] = fma(weight, push.z, b[at + 2u * TILE]);
    }
}
