// Derivatives of the inverse dynamics by recursion over the tree. See force.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/body_inertia
#import dynamics/derivatives/layout
#import dynamics/derivatives/transport
#import dynamics/derivatives/recursion

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read> act: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;
@group(0) @binding(8) var<storage, read_write> slope: array<real>;

// Adds an entry by q and by v.
fn add_entry(slope_at: u32, i: u32, j: u32, scale: real, by: vec2<real>) {
    let n = dims.tree.n_v;
    let at = slope_at + (i * slope_width() + j) * TILE;
    slope[at] = fma(scale, by.x, slope[at]);
    slope[at + n * TILE] = fma(scale, by.y, slope[at + n * TILE]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let base = bases_of(lane, act_base(lane), derivative_work_base(lane));
    let slope_at = slope_base(lane);
    let scale = -param_at(base.param, PARAM_TIMESTEP);
    outward(base);
    inward(base);
    for (var i = 0u; i < n; i++) {
        let record = dof_record(i);
        let row = row_new(base, record.body, i);
        let run = run_of(joint_record(record.joint), i);
        for (var j = run.x; j < run.x + run.y; j++) {
            add_entry(slope_at, i, j, scale, entry(base, row, j));
        }
        var above = dof_parent(run.x);
        // No more dofs than there are: bounded, for the compilers' sake.
        for (var k = 0u; k < n && above != NONE; k++) {
            if dims.tree.bound == 0u || moves(dof_record(above), record.body) != real(0.0) {
                add_entry(slope_at, i, above, scale, entry(base, row, above));
                let s = load_motion(base.motion, above);
                add_entry(slope_at, above, i, scale, vec2<real>(spatial_dot(s, row.turned), spatial_dot(s, row.sped)));
            }
            above = dof_parent(above);
        }
    }
}
