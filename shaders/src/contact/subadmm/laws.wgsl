// The half-iteration of a constraint, and how far the impulses are from its law: the twin of laws.rs. The importing
// kernel binds what contact/subadmm/layout and contact/island_sweep ask for.
#import contact/local
#import contact/island
#import contact/island_sweep
#import contact/subadmm/layout

// `J x` of one slack, x in a region of `velocity`.
fn slack_times(slack: SplitSlack, region: u32) -> vec3<real> {
    let zero = real(0.0);
    var y = vec3<real>(zero, zero, zero);
    let first = region * dims.n_velocity + slack.velocity;
    for (var a = 0u; a < slack.length; a++) {
        let k = split_index[slack.chain + a];
        let x = velocity[first + k];
        let j = slack.packed + slack.rows * a;
        y.x = fma(split[j], x, y.x);
        if slack.rows == 3u {
            y.y = fma(split[j + 1u], x, y.y);
            y.z = fma(split[j + 2u], x, y.z);
        }
    }
    return y;
}

// J along the chain of a slack, to where an iteration reads it.
fn slack_pack(slack: SplitSlack) {
    for (var a = 0u; a < slack.length; a++) {
        let k = split_index[slack.chain + a];
        for (var r = 0u; r < slack.rows; r++) {
            split[slack.packed + slack.rows * a + r] = island_jac[slack.jac + r * slack.count + k];
        }
    }
}

// Residuals of a constraint, by which its penalty is adapted when it is time. At the start of a solve its penalty and
// free velocity are set, and the slacks to where d is, and its J is packed.
fn law_measure(i: u32, done: u32) {
    let start = done == 0u;
    let record = split_constraint(i);
    let zero = real(0.0);
    let c = CON_SIZE * i;
    let block = record.rows == 3u;
    var bias = vec3<real>(zero, zero, zero);
    if block {
        bias = con_bias(c);
    }
    let own = constraint_at(i);
    if start {
        split[own + CONSTRAINT_PENALTY] = law_effective_mass(block, c);
        var free = bias;
        if !block {
            free.x = island_con[c + CON_ROW_BIAS];
        }
        for (var s = record.slack_begin; s < record.slack_end; s++) {
            let slack = split_slack(s);
            slack_pack(slack);
            free += slack_times(slack, REGION_FREE);
            let z = slack_times(slack, REGION_SCRATCH);
            let at = slack_at(s) + SLACK_Z;
            split[at] = z.x;
            split[at + 1u] = z.y;
            split[at + 2u] = z.z;
        }
        split[own + CONSTRAINT_FREE] = free.x;
        split[own + CONSTRAINT_FREE + 1u] = free.y;
        split[own + CONSTRAINT_FREE + 2u] = free.z;
    }
    var sigma = bias;
    var gap = zero;
    let due = !start && split[island_at(record.island) + ISLAND_NEXT] <= real(done);
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let slack = split_slack(s);
        sigma += slack_times(slack, REGION_SOLUTION);
        if !due {
            continue;
        }
        let jd = slack_times(slack, REGION_SCRATCH);
        let z = slack_at(s) + SLACK_Z;
        for (var r = 0u; r < record.rows; r++) {
            let x = jd[r] - split[z + r];
            gap = fma(x, x, gap);
        }
    }
    var kind = KIND_ROW;
    if block {
        kind = KIND_BLOCK;
    }
    let r = constraint_residual(kind, c, impulse_at(i), sigma);
    split[own + CONSTRAINT_SQUARE] = r.square;
    split[own + CONSTRAINT_SCALED] = r.scaled;
    if due {
        let mass = law_effective_mass(block, c);
        let lambda = impulse_at(i);
        var speed = zero;
        var size = zero;
        for (var k = 0u; k < record.rows; k++) {
            let free = split[own + CONSTRAINT_FREE + k];
            speed = fma(free, free, speed);
            size = fma(lambda[k], lambda[k], size);
        }
        let noise = LAWS_NOISE * LAWS_NOISE * fma(mass * mass, speed, size);
        let primal = fma(mass * mass, gap, noise);
        let dual = split[own + CONSTRAINT_CHANGE] + noise;
        split[own + CONSTRAINT_PENALTY] = law_adapted(mass, split[own + CONSTRAINT_PENALTY], primal, dual);
    }
}

// `beta sqrt(theta_p / theta_d)` where the residuals are out of balance.
fn law_adapted(mass: real, beta: real, primal: real, dual: real) -> real {
    let imbalance = real(bitcast<f32>(dims.imbalance));
    let square = imbalance * imbalance;
    if primal <= square * dual && dual <= square * primal {
        return beta;
    }
    let most = LAWS_LARGEST_ADAPTATION;
    let far = most * most * (most * most);
    var factor = most;
    if !(far * dual <= primal) {
        if far * primal <= dual {
            factor = real(1.0) / most;
        } else {
            factor = sqrt(sqrt(primal / dual));
        }
    }
    return min(max(beta * factor, LAWS_LEAST * mass), LAWS_LARGEST * mass);
}

// Effective mass of a constraint; zero for one that moves nothing, and for a row that carries nothing.
fn law_effective_mass(block: bool, c: u32) -> real {
    var mean = real(0.0);
    if block {
        let at = c + CON_DELASSUS;
        mean = (island_con[at] + island_con[at + 3u] + island_con[at + 5u]) / real(3.0);
    } else if island_con[c + CON_ROW_LOWER] < island_con[c + CON_ROW_UPPER] {
        mean = island_con[c + CON_ROW_DELASSUS];
    }
    if TINY < mean {
        return real(1.0) / mean;
    }
    return real(0.0);
}

// One half-iteration.
fn law_project(i: u32) {
    let record = split_constraint(i);
    let own = constraint_at(i);
    let beta = split[own + CONSTRAINT_PENALTY];
    if beta <= real(0.0) {
        return;
    }
    let relaxation = real(bitcast<f32>(dims.relaxation));
    let kept = real(1.0) - relaxation;
    let before = impulse_at(i);
    var sum = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let jd = slack_times(split_slack(s), REGION_SCRATCH);
        let at = slack_at(s);
        for (var r = 0u; r < record.rows; r++) {
            let was = split[at + SLACK_Z + r];
            let z = fma(relaxation, jd[r], kept * was);
            split[at + SLACK_Z + r] = z;
            split[at + SLACK_PUSH + r] = z - was;
            sum[r] += fma(beta, z, -before[r]);
        }
    }
    let free = vec3<real>(split[own + CONSTRAINT_FREE], split[own + CONSTRAINT_FREE + 1u], split[own + CONSTRAINT_FREE + 2u]);
    let count = real(record.slack_end - record.slack_begin);
    let next = law_closed_form(record.rows == 3u, CON_SIZE * i, beta, count, sum, free);
    var change = real(0.0);
    let inverse = real(1.0) / beta;
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let at = slack_at(s);
        for (var r = 0u; r < record.rows; r++) {
            let moved = next[r] - before[r];
            let z = fma(moved, inverse, split[at + SLACK_Z + r]);
            let x = fma(beta, split[at + SLACK_PUSH + r], moved);
            change = fma(x, x, change);
            split[at + SLACK_Z + r] = z;
            split[at + SLACK_PUSH + r] = fma(beta, z, next[r]);
        }
    }
    split[own + CONSTRAINT_CHANGE] = change;
    for (var r = 0u; r < record.rows; r++) {
        impulse[3u * i + r] = next[r];
    }
}

// Impulse of a law from `sum y` over `count` slacks; `free` is the bias there.
fn law_closed_form(block: bool, c: u32, beta: real, count: real, sum: vec3<real>, free: vec3<real>) -> vec3<real> {
    if block {
        let star = vec3<real>(
            -fma(beta, free.x, sum.x) / count, -fma(beta, free.y, sum.y) / count, -fma(beta, free.z, sum.z) / count,
        );
        return local_project(island_con[c + CON_FRICTION], star);
    }
    let star = -fma(beta, free.x, sum.x) / fma(beta, island_con[c + CON_ROW_COMPLIANCE], count);
    return vec3<real>(row_bounded(c, star), real(0.0), real(0.0));
}
