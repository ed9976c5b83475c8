// What the inverse dynamics add to the gradient by q and v. See momentum.rs and dynamics/derivatives/product.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/body_inertia
#import dynamics/derivatives/layout
#import dynamics/derivatives/transport
#import dynamics/derivatives/recursion
#import contact/gradient/layout.rs
#import contact/gradient/adjoint_parts

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read> act: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;
@group(0) @binding(8) var<storage, read_write> adjoint: array<real>;

// Sum k of a dof: three over dofs behind it, one over those before it.
fn sum_at(base: Bases, i: u32, k: u32) -> u32 {
    return base.dofs + (DERIVATIVE_DOF * dims.tree.n_v + i * SUMS + k * SPATIAL) * TILE;
}

fn accumulate(at: u32, times: real, x: Spatial) {
    let sum = load_work(at);
    store_work(at, Spatial(scale_add(x.angular, times, sum.angular), scale_add(x.linear, times, sum.linear)));
}

// The last dof before one that moves its body as well.
fn mover_before(i: u32) -> u32 {
    let own = dof_record(i);
    var dof = own.parent;
    for (var k = 0u; k < dims.tree.n_v && dims.tree.bound == 1u && dof != NONE; k++) {
        if moves(dof_record(dof), own.body) != real(0.0) {
            break;
        }
        dof = dof_parent(dof);
    }
    return dof;
}

fn run_at(i: u32) -> vec2<u32> {
    return run_of(joint_record(dof_record(i).joint), i);
}

// What moves before each run, times the weights.
fn move_runs(base: Bases, weights: u32) {
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let last = mover_before(i);
        if run_at(i).x != i || last == NONE {
            continue;
        }
        let above = run_at(last).x;
        var moved = load_work(sum_at(base, above, 3u));
        for (var k = above; k <= last; k++) {
            let s = load_motion(base.motion, k);
            let w = adjoint[weights + k * TILE];
            moved = Spatial(scale_add(s.angular, w, moved.angular), scale_add(s.linear, w, moved.linear));
        }
        store_work(sum_at(base, i, 3u), moved);
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let base = bases_of(lane, act_base(lane), derivative_work_base(lane));
    let own = adjoint_new(n, n_input());
    let weights = tile_base(lane, own.reals) + own.impulse * TILE;
    let by_q = tile_base(lane, own.reals) + own.inputs * TILE;
    let by_v = by_q + n * TILE;
    let scale = -param_at(base.param, PARAM_TIMESTEP);
    outward(base);
    inward(base);
    for (var e = 0u; e < SUMS * n; e++) {
        work[sum_at(base, 0u, 0u) + e * TILE] = zero;
    }
    for (var i = 0u; i < n; i++) {
        adjoint[by_v + i * TILE] = zero;
    }
    move_runs(base, weights);
    for (var r = 0u; r < n; r++) {
        let i = n - 1u - r;
        let row = row_new(base, dof_record(i).body, i);
        let run = run_at(i);
        let first = run.x;
        let w = adjoint[weights + i * TILE];
        accumulate(sum_at(base, first, 0u), w, row.momentum);
        accumulate(sum_at(base, first, 1u), w, row.transposed);
        accumulate(sum_at(base, first, 2u), w, row.swept);
        let before = load_work(sum_at(base, first, 3u));
        let q = by_q + i * TILE;
        let v = by_v + i * TILE;
        adjoint[q] = fma(scale, spatial_dot(before, row.turned), adjoint[q]);
        adjoint[v] = fma(scale, spatial_dot(before, row.sped), adjoint[v]);
        if first < i {
            continue;
        }
        // All rows of the run and behind it are summed.
        let behind = Row(
            load_work(sum_at(base, first, 0u)),
            load_work(sum_at(base, first, 1u)),
            load_work(sum_at(base, first, 2u)),
            row.turned,
            row.sped,
        );
        for (var j = first; j < first + run.y; j++) {
            let by = entry(base, behind, j);
            adjoint[by_q + j * TILE] = fma(scale, by.x, adjoint[by_q + j * TILE]);
            adjoint[by_v + j * TILE] = fma(scale, by.y, adjoint[by_v + j * TILE]);
        }
        let last = mover_before(first);
        if last != NONE {
            let above = run_at(last).x;
            accumulate(sum_at(base, above, 0u), real(1.0), behind.momentum);
            accumulate(sum_at(base, above, 1u), real(1.0), behind.transposed);
            accumulate(sum_at(base, above, 2u), real(1.0), behind.swept);
        }
    }
}
