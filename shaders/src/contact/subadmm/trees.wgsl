// The half-iteration of a tree, its factor, and the velocity that its impulses give: the twin of trees.rs. The importing
// kernel binds split_index, island_jac, impulse, velocity and split.
#import contact/subadmm/layout
#import contact/island.rs

// `v = v_free + sum Y lambda`. At the start of a solve d is that velocity less the free one.
fn tree_velocity(t: u32, start: bool) {
    let tree = split_tree(t);
    let solution = REGION_SOLUTION * dims.n_velocity + tree.velocity;
    let d = REGION_SCRATCH * dims.n_velocity + tree.velocity;
    for (var i = 0u; i < tree.n_v; i++) {
        velocity[solution + i] = velocity[tree.velocity + i];
    }
    for (var at = tree.list_begin; at < tree.list_end; at++) {
        let slack = split_slack(split_index[at]);
        if slack.first == 0u {
            continue;
        }
        for (var r = 0u; r < slack.rows; r++) {
            let y = slack.jac + (slack.rows + r) * tree.n_v;
            let lambda = impulse[3u * slack.constraint + r];
            for (var i = 0u; i < tree.n_v; i++) {
                velocity[solution + i] = fma(island_jac[y + i], lambda, velocity[solution + i]);
            }
        }
    }
    if start {
        for (var i = 0u; i < tree.n_v; i++) {
            velocity[d + i] = velocity[solution + i] - velocity[tree.velocity + i];
        }
    }
}

// `L^T D L = A + sum beta J^T J` with the present penalties, and what they make of the slacks.
fn tree_factor(t: u32) {
    let tree = split_tree(t);
    let own = island_at(tree.island);
    if split[own + ISLAND_REFACTOR] <= real(0.0) {
        return;
    }
    let n_m = split_index[tree.begins + tree.n_v];
    let mass = tree.matrix;
    let matrix = tree.matrix + n_m;
    for (var i = 0u; i < n_m; i++) {
        split[matrix + i] = split[mass + i];
    }
    for (var at = tree.list_begin; at < tree.list_end; at++) {
        let number = split_index[at];
        let slack = split_slack(number);
        let beta = split[constraint_at(slack.constraint) + CONSTRAINT_PENALTY];
        if beta <= real(0.0) {
            continue;
        }
        let state = slack_at(number);
        for (var r = 0u; r < slack.rows; r++) {
            let lambda = impulse[3u * slack.constraint + r];
            split[state + SLACK_PUSH + r] = fma(beta, split[state + SLACK_Z + r], lambda);
        }
        for (var a = 0u; a < slack.length; a++) {
            let x = slack.packed + slack.rows * a;
            let to = matrix + split_index[tree.begins + split_index[slack.chain + a]] - a;
            for (var b = a; b < slack.length; b++) {
                let y = slack.packed + slack.rows * b;
                var product = split[x] * split[y];
                if slack.rows == 3u {
                    product = fma(split[x + 1u], split[y + 1u], product);
                    product = fma(split[x + 2u], split[y + 2u], product);
                }
                split[to + b] = fma(beta, product, split[to + b]);
            }
        }
    }
    tree_eliminate(tree, mass, matrix);
}

// Factors in place.
fn tree_eliminate(tree: SplitTree, mass: u32, matrix: u32) {
    for (var left = tree.n_v; left > 0u; left--) {
        let i = left - 1u;
        let begin = split_index[tree.begins + i];
        let chain = split_index[tree.begins + left] - begin;
        let row = matrix + begin;
        let inverse = real(1.0) / max(split[row], SMALLEST_PIVOT * split[mass + begin]);
        for (var k = 1u; k < chain; k++) {
            let ratio = split[row + k] * inverse;
            let ancestor = split_index[tree.columns + begin + k];
            let to = matrix + split_index[tree.begins + ancestor] - k;
            for (var m = k; m < chain; m++) {
                split[to + m] = fma(-ratio, split[row + m], split[to + m]);
            }
            split[row + k] = ratio;
        }
        split[row] = inverse;
    }
}

// `d <- (A + sum beta J^T J)^-1 sum J^T (beta z + lambda)`.
fn tree_solve(t: u32) {
    let tree = split_tree(t);
    let d = REGION_SCRATCH * dims.n_velocity + tree.velocity;
    for (var i = 0u; i < tree.n_v; i++) {
        velocity[d + i] = real(0.0);
    }
    for (var at = tree.list_begin; at < tree.list_end; at++) {
        let number = split_index[at];
        let slack = split_slack(number);
        if split[constraint_at(slack.constraint) + CONSTRAINT_PENALTY] <= real(0.0) {
            continue;
        }
        let push = slack_at(number) + SLACK_PUSH;
        if slack.rows == 3u {
            let p = vec3<real>(split[push], split[push + 1u], split[push + 2u]);
            for (var a = 0u; a < slack.length; a++) {
                let i = split_index[slack.chain + a];
                let j = slack.packed + 3u * a;
                velocity[d + i] += fma(split[j], p.x, fma(split[j + 1u], p.y, split[j + 2u] * p.z));
            }
        } else {
            let p = split[push];
            for (var a = 0u; a < slack.length; a++) {
                let i = split_index[slack.chain + a];
                velocity[d + i] = fma(split[slack.packed + a], p, velocity[d + i]);
            }
        }
    }
    let l = tree.matrix + split_index[tree.begins + tree.n_v];
    for (var left = tree.n_v; left > 0u; left--) {
        let x = velocity[d + left - 1u];
        let end = split_index[tree.begins + left];
        for (var at = split_index[tree.begins + left - 1u] + 1u; at < end; at++) {
            let k = d + split_index[tree.columns + at];
            velocity[k] = fma(-split[l + at], x, velocity[k]);
        }
    }
    for (var i = 0u; i < tree.n_v; i++) {
        let begin = split_index[tree.begins + i];
        let end = split_index[tree.begins + i + 1u];
        var x = velocity[d + i] * split[l + begin];
        for (var at = begin + 1u; at < end; at++) {
            x = fma(-split[l + at], velocity[d + split_index[tree.columns + at]], x);
        }
        velocity[d + i] = x;
    }
}
