// The half-iteration of a constraint, and how far the impulses are from its law: the twin of laws.rs. The importing
// kernel binds what contact/subadmm/layout and contact/island_sweep ask for.
#import contact/local
#import contact/island
#import contact/island_sweep
#import contact/subadmm/layout

const LAWS_TINY: real = real(1e-30);

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

// Residuals of a constraint. At the start of a solve its weight and free velocity are set, and the slacks to where d
// is, and its J is packed.
fn law_measure(i: u32, start: bool) {
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
        split[own + SPLIT_WEIGHT] = law_weight(block, c);
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
        split[own + SPLIT_FREE] = free.x;
        split[own + SPLIT_FREE + 1u] = free.y;
        split[own + SPLIT_FREE + 2u] = free.z;
    }
    var sigma = bias;
    var gap = zero;
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let slack = split_slack(s);
        sigma += slack_times(slack, REGION_SOLUTION);
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
    split[own + SPLIT_PRIMAL] = split[own + SPLIT_WEIGHT] * gap;
    split[own + SPLIT_SQUARE] = r.square;
    split[own + SPLIT_SCALED] = r.scaled;
}

// Effective mass of a constraint; zero for one that moves nothing, and for a row that carries nothing.
fn law_weight(block: bool, c: u32) -> real {
    var mean = real(0.0);
    if block {
        let at = c + CON_DELASSUS;
        mean = (island_con[at] + island_con[at + 3u] + island_con[at + 5u]) / real(3.0);
    } else if island_con[c + CON_ROW_LOWER] < island_con[c + CON_ROW_UPPER] {
        mean = island_con[c + CON_ROW_DELASSUS];
    }
    if LAWS_TINY < mean {
        return real(1.0) / mean;
    }
    return real(0.0);
}

// One half-iteration.
fn law_project(i: u32) {
    let record = split_constraint(i);
    let own = constraint_at(i);
    let weight = split[own + SPLIT_WEIGHT];
    if weight <= real(0.0) {
        return;
    }
    let beta = split[island_at(record.island) + ISLAND_SCALE] * weight;
    let relaxation = real(bitcast<f32>(dims.relaxation));
    let kept = real(1.0) - relaxation;
    let before = impulse_at(i);
    var sum = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let jd = slack_times(split_slack(s), REGION_SCRATCH);
        let at = slack_at(s) + SLACK_Z;
        for (var r = 0u; r < record.rows; r++) {
            let z = fma(relaxation, jd[r], kept * split[at + r]);
            split[at + r] = z;
            sum[r] += fma(beta, z, -before[r]);
        }
    }
    let free = vec3<real>(split[own + SPLIT_FREE], split[own + SPLIT_FREE + 1u], split[own + SPLIT_FREE + 2u]);
    let count = real(record.slack_end - record.slack_begin);
    let next = law_closed_form(record.rows == 3u, CON_SIZE * i, beta, count, sum, free);
    for (var s = record.slack_begin; s < record.slack_end; s++) {
        let at = slack_at(s);
        for (var r = 0u; r < record.rows; r++) {
            let z = split[at + SLACK_Z + r] + (next[r] - before[r]) / beta;
            split[at + SLACK_Z + r] = z;
            split[at + SLACK_PUSH + r] = fma(beta, z, next[r]);
        }
    }
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
