// What contacts that slide add to a round, and what the round does to impulses. See slide.rs.
#import math
#import index
#import dynamics/names.rs
#import soft/body.rs
#import soft/substitute
#import soft/touch

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> topology: array<u32>;
@group(0) @binding(2) var<storage, read> factor: array<real>;
@group(0) @binding(3) var<storage, read> touch_words: array<u32>;
@group(0) @binding(4) var<storage, read_write> touches: array<real>;
@group(0) @binding(5) var<storage, read_write> b: array<real>;
@group(0) @binding(6) var<storage, read_write> beside: array<real>;
@group(0) @binding(7) var<storage, read_write> velocity: array<real>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;

// First entry of a lane's small matrix.
var<private> small: u32;

fn motion_at(at: u32) -> real {
    return b[at];
}

fn small_at(i: u32, j: u32) -> u32 {
    return small + (i * dims.n_slide + j) * TILE;
}

fn right_at(i: u32) -> u32 {
    return small_at(dims.n_slide, i);
}

// Whether the tangential impulse of a contact follows its normal one.
fn slides(touch: u32) -> bool {
    let slope = work_at(touch) + WORK_SLOPE;
    return real(0.0) < abs(touches[slope + 3u]) || real(0.0) < abs(touches[slope + 4u]);
}

// `b += J^T (W_02, W_12, 0) share`
fn push_across(touch: u32, share: real, base: u32) {
    let slope = work_at(touch) + WORK_SLOPE;
    add_pushed(touch, vec3<real>(share * touches[slope + 3u], share * touches[slope + 4u], real(0.0)), base);
}

fn clear(base: u32) {
    for (var e = 0u; e < 3u * dims.n_node; e++) {
        b[base + e * TILE] = real(0.0);
    }
}

// The small matrix and its right-hand side.
fn reply(first: u32, end: u32, factor_base: u32, base: u32) {
    var i = 0u;
    for (var touch = first; touch < end; touch++) {
        if slides(touch) {
            beside[right_at(i)] = relative(touch, base).z;
            i++;
        }
    }
    var j = 0u;
    for (var column = first; column < end; column++) {
        if !slides(column) {
            continue;
        }
        clear(base);
        push_across(column, real(1.0), base);
        solve(factor_base, base);
        i = 0u;
        for (var touch = first; touch < end; touch++) {
            if slides(touch) {
                beside[small_at(i, j)] = select(real(0.0), real(1.0), i == j) + relative(touch, base).z;
                i++;
            }
        }
        j++;
    }
}

// Solves the small system by elimination with row pivots; whether it has a solution.
fn solve_shares(n: u32) -> bool {
    var sound = true;
    for (var column = 0u; column < n; column++) {
        var pivot = column;
        for (var i = column + 1u; i < n; i++) {
            if abs(beside[small_at(pivot, column)]) < abs(beside[small_at(i, column)]) {
                pivot = i;
            }
        }
        if pivot != column {
            for (var j = column; j < n; j++) {
                let kept = beside[small_at(pivot, j)];
                beside[small_at(pivot, j)] = beside[small_at(column, j)];
                beside[small_at(column, j)] = kept;
            }
            let kept = beside[right_at(pivot)];
            beside[right_at(pivot)] = beside[right_at(column)];
            beside[right_at(column)] = kept;
        }
        // A NaN is not above it either.
        sound = sound && NO_PIVOT < abs(beside[small_at(column, column)]);
        for (var i = column + 1u; i < n; i++) {
            let share = beside[small_at(i, column)] / beside[small_at(column, column)];
            for (var j = column + 1u; j < n; j++) {
                beside[small_at(i, j)] = fma(-share, beside[small_at(column, j)], beside[small_at(i, j)]);
            }
            beside[right_at(i)] = fma(-share, beside[right_at(column)], beside[right_at(i)]);
        }
    }
    for (var back = 0u; back < n; back++) {
        let i = n - 1u - back;
        var sum = beside[right_at(i)];
        for (var j = i + 1u; j < n; j++) {
            sum = fma(-beside[small_at(i, j)], beside[right_at(j)], sum);
        }
        beside[right_at(i)] = sum / beside[small_at(i, i)];
    }
    return sound;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || (status[lane] & STATUS_SETTLED) != 0u {
        return;
    }
    let first = touch_words[lane];
    let end = touch_words[lane + 1u];
    if first == end {
        return;
    }
    let n_v = 3u * dims.n_node;
    let base = tile_base(lane, n_v);
    let factor_base = tile_base(lane, dims.n_fill * BLOCK);
    let x = tile_base(lane, n_v + dims.n_slide * (dims.n_slide + 1u));
    small = x + n_v * TILE;
    var n = 0u;
    for (var touch = first; touch < end; touch++) {
        n += select(0u, 1u, slides(touch));
    }
    if n > dims.n_slide {
        status[lane] |= STATUS_ITERATION_LIMIT;
        return;
    }
    if n > 0u {
        for (var e = 0u; e < n_v; e++) {
            beside[x + e * TILE] = b[base + e * TILE];
        }
        reply(first, end, factor_base, base);
        if !solve_shares(n) {
            status[lane] |= STATUS_ITERATION_LIMIT;
            return;
        }
        clear(base);
        var j = 0u;
        for (var touch = first; touch < end; touch++) {
            if slides(touch) {
                push_across(touch, beside[right_at(j)], base);
                j++;
            }
        }
        solve(factor_base, base);
        for (var e = 0u; e < n_v; e++) {
            let at = base + e * TILE;
            velocity[at] -= b[at];
            b[at] = beside[x + e * TILE] - b[at];
        }
    }
    for (var touch = first; touch < end; touch++) {
        let moved = relative(touch, base);
        let slope = work_at(touch) + WORK_SLOPE;
        let tangents = vec3<real>(touches[slope], touches[slope + 1u], touches[slope + 2u]);
        let push = work_at(touch) + WORK_PUSH;
        let found = found_at(touch);
        let w02 = touches[slope + 3u];
        let w12 = touches[slope + 4u];
        touches[found] += touches[push] - (tangents.x * moved.x + tangents.y * moved.y + w02 * moved.z);
        touches[found + 1u] += touches[push + 1u] - (tangents.y * moved.x + tangents.z * moved.y + w12 * moved.z);
        touches[found + 2u] += touches[push + 2u] - touches[slope + 5u] * moved.z;
    }
}
