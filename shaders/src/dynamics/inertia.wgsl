// Composite rigid bodies: the branch-sparse joint-space inertia. See inertia.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> motion: array<real>;
@group(0) @binding(4) var<storage, read_write> work: array<real>;
@group(0) @binding(5) var<storage, read_write> mass: array<real>;

fn load_inertia(at: u32) -> Inertia {
    return Inertia(
        work[at],
        vec3<real>(work[at + TILE], work[at + 2u * TILE], work[at + 3u * TILE]),
        Sym3(
            vec3<real>(work[at + 4u * TILE], work[at + 5u * TILE], work[at + 6u * TILE]),
            vec3<real>(work[at + 7u * TILE], work[at + 8u * TILE], work[at + 9u * TILE]),
        ),
    );
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let param = param_base(lane);
    let n_body = dims.tree.n_body;
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    let work_base = tile_base(lane, WORK_BODY * n_body);
    let mass_base = tile_base(lane, dims.tree.n_m);
    for (var r = 0u; r < n_body; r++) {
        let b = n_body - 1u - r;
        let body = body_record(b);
        let slot = work_base + (b * WORK_BODY + WORK_INERTIA) * TILE;
        let composite = load_inertia(slot);
        if b > 0u {
            let parent = work_base + (body.parent * WORK_BODY + WORK_INERTIA) * TILE;
            for (var k = 0u; k < 10u; k++) {
                work[parent + k * TILE] += work[slot + k * TILE];
            }
        }
        for (var i = body.dof_begin; i < body.dof_begin + body.dof_count; i++) {
            let dof = dof_record(i);
            let s = load_motion(motion_base, i);
            let momentum = apply(composite, s);
            let at = mass_base + dof.m_begin * TILE;
            let armature = param_at(param, joint_param(dof.joint) + PARAM_JOINT_ARMATURE);
            mass[at] = armature + spatial_dot(s, momentum);
            var j = dof.parent;
            for (var k = 1u; k < dof.chain; k++) {
                mass[at + k * TILE] = spatial_dot(load_motion(motion_base, j), momentum);
                if dims.tree.bound == 1u && moves(dof_record(j), b) == real(0.0) {
                    mass[at + k * TILE] = real(0.0);
                }
                j = dof_parent(j);
            }
        }
    }
}
