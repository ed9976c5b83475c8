// What stands beside the factor in a round, and what the round does to impulses. See slide.rs.
#import math
#import index
#import dynamics/names.rs
#import soft/body.rs
#import soft/substitute
#import soft/touch
#import soft/trees

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
    return small + (j * dims.n_slide + i) * TILE;
}

// Of the right-hand side, and of the solution.
fn right_at(i: u32) -> u32 {
    return small_at(i, dims.n_slide);
}

// Whether the tangential impulse of a contact follows its normal one.
fn slides(touch: u32) -> bool {
    let slope = work_at(touch) + WORK_SLOPE;
    return real(0.0) < abs(touches[slope + 3u]) || real(0.0) < abs(touches[slope + 4u]);
}

// `(W_02, W_12, 0)`, times a share.
fn across(touch: u32, share: real) -> vec3<real> {
    let slope = work_at(touch) + WORK_SLOPE;
    return vec3<real>(share * touches[slope + 3u], share * touches[slope + 4u], real(0.0));
}

fn clear(base: u32) {
    for (var e = 0u; e < 3u * dims.n_node; e++) {
        b[base + e * TILE] = real(0.0);
    }
}

// A column of B, added to `b`.
fn push_column(lane: u32, j: u32, base: u32) {
    for (var touch = touch_words[lane]; touch < touch_words[lane + 1u]; touch++) {
        let column = column_of(touch);
        let n = side_count(touch);
        if column <= j && j < column + n {
            let push = weighed(symmetric(touch), side_column(side_at(touch), n, j - column));
            add_pushed(touch, push, base);
        }
    }
}

// `-B^T x` and `V x` for x in `b`: a column of the small matrix, or its right-hand side.
fn read_column(lane: u32, j: u32, base: u32) {
    let n_dof = dofs_of(lane);
    for (var i = 0u; i < n_dof; i++) {
        beside[small_at(i, j)] = real(0.0);
    }
    var row = n_dof;
    for (var touch = touch_words[lane]; touch < touch_words[lane + 1u]; touch++) {
        let moved = relative(touch, base);
        add_tree_pushed(touch, -weighed(symmetric(touch), moved), small_at(0u, j));
        if slides(touch) {
            beside[small_at(row, j)] = moved.z;
            row++;
        }
    }
}

// Adds to a column of a tree what is there without nodes: of C and V_t.
fn add_direct(lane: u32, j: u32) {
    let n_dof = dofs_of(lane);
    for (var i = 0u; i < n_dof; i++) {
        beside[small_at(i, j)] += beside[stiffened_at(lane, i, j)];
    }
    var row = n_dof;
    for (var touch = touch_words[lane]; touch < touch_words[lane + 1u]; touch++) {
        if !slides(touch) {
            continue;
        }
        let column = column_of(touch);
        let n = side_count(touch);
        if column <= j && j < column + n {
            beside[small_at(row, j)] -= side_column(side_at(touch), n, j - column).z;
        }
        row++;
    }
}

// The small matrix and its right-hand side.
fn fill_small(lane: u32, factor_base: u32, base: u32) {
    let n_dof = dofs_of(lane);
    read_column(lane, dims.n_slide, base);
    for (var i = 0u; i < n_dof; i++) {
        beside[right_at(i)] += beside[tree_left_at(lane) + i * TILE];
    }
    for (var j = 0u; j < n_dof; j++) {
        clear(base);
        push_column(lane, j, base);
        solve(factor_base, base);
        read_column(lane, j, base);
        add_direct(lane, j);
    }
    var j = n_dof;
    for (var touch = touch_words[lane]; touch < touch_words[lane + 1u]; touch++) {
        if !slides(touch) {
            continue;
        }
        clear(base);
        add_pushed(touch, across(touch, real(1.0)), base);
        solve(factor_base, base);
        read_column(lane, j, base);
        add_tree_pushed(touch, across(touch, real(1.0)), small_at(0u, j));
        beside[small_at(j, j)] += real(1.0);
        j++;
    }
}

// `B y + U s`, added to `b`.
fn push_shares(lane: u32, base: u32) {
    var row = dofs_of(lane);
    for (var touch = touch_words[lane]; touch < touch_words[lane + 1u]; touch++) {
        var push = weighed(symmetric(touch), tree_relative(touch, right_at(0u)));
        if slides(touch) {
            push += across(touch, beside[right_at(row)]);
            row++;
        }
        add_pushed(touch, push, base);
    }
}

// Trees' velocities, with y.
fn move_trees(lane: u32) {
    for (var i = 0u; i < dofs_of(lane); i++) {
        beside[tree_velocity_at(lane) + i * TILE] += beside[right_at(i)];
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
    let x = tile_base(lane, beside_reals());
    small = x + n_v * TILE;
    var n = dofs_of(lane);
    for (var touch = first; touch < end; touch++) {
        n += select(0u, 1u, slides(touch));
    }
    // Whatever trees touch in other lanes.
    if n - dofs_of(lane) > dims.n_slide - dims.n_dof {
        status[lane] |= STATUS_ITERATION_LIMIT;
        return;
    }
    if n > 0u {
        for (var e = 0u; e < n_v; e++) {
            beside[x + e * TILE] = b[base + e * TILE];
        }
        fill_small(lane, factor_base, base);
        if !solve_shares(n) {
            status[lane] |= STATUS_ITERATION_LIMIT;
            return;
        }
        clear(base);
        push_shares(lane, base);
        move_trees(lane);
        solve(factor_base, base);
        for (var e = 0u; e < n_v; e++) {
            let at = base + e * TILE;
            velocity[at] -= b[at];
            b[at] = beside[x + e * TILE] - b[at];
        }
    }
    for (var touch = first; touch < end; touch++) {
        let moved = relative(touch, base) + tree_relative(touch, right_at(0u));
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
