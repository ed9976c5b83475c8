// J, bias and friction of every slot. See tree_jacobian.rs.
#import math
#import dynamics/tree
#import dynamics/point
#import contact/tree_layout
#import contact/frame

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> pose: array<real>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> contact: array<real>;
@group(0) @binding(6) var<storage, read> contact_map: array<u32>;
@group(0) @binding(7) var<storage, read> slots: array<u32>;
@group(0) @binding(8) var<storage, read_write> constraint: array<real>;

struct Frame {
    position: vec3<real>,
    orientation: vec4<real>,
}

fn block_frame(param: u32, pose_base: u32, body: u32, at: u32) -> Frame {
    let position = param_at3(param, at);
    let orientation = param_at4(param, at + 3u);
    if body == NONE {
        return Frame(position, orientation);
    }
    let p = pose_base + body * POSE * TILE;
    let q = vec4<real>(pose[p + 3u * TILE], pose[p + 4u * TILE], pose[p + 5u * TILE], pose[p + 6u * TILE]);
    let origin = vec3<real>(pose[p], pose[p + TILE], pose[p + 2u * TILE]);
    return Frame(origin + quat_rotate(q, position), quat_mul(q, orientation));
}

fn contact3(at: u32, f: u32) -> vec3<real> {
    let source = at + f * TILE;
    return vec3<real>(contact[source], contact[source + TILE], contact[source + 2u * TILE]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let zero = real(0.0);
    let one = real(1.0);
    let param = param_base(lane);
    let per_step = one / param_at(param, PARAM_TIMESTEP);
    let fraction = param_at(param, PARAM_CORRECTION_FRACTION);
    let largest = param_at(param, PARAM_CORRECTION_MAX);
    let threshold = param_at(param, PARAM_RESTITUTION_THRESHOLD);
    let slop = param_at(param, PARAM_CORRECTION_SLOP);
    let pose_base = tile_base(lane, dims.tree.n_body * POSE);
    let motion_base = tile_base(lane, n_v * SPATIAL);
    let c = vec3<real>(pose[pose_base], pose[pose_base + TILE], pose[pose_base + 2u * TILE]);
    let tile = lane / TILE * SLOTS;
    for (var s = 0u; s < slots[tile + 1u]; s++) {
        let out = slot_base(lane, slots[tile], s, slot_reals(n_v));
        let words = slot_base(lane, slots[tile], s, MAP_SIZE);
        for (var f = 0u; f < SLOT_J; f++) {
            constraint[out + f * TILE] = zero;
        }
        var bodies = vec2<u32>(contact_map[words + MAP_BODY_A * TILE], contact_map[words + MAP_BODY_B * TILE]);
        var t1 = vec3<real>(one, zero, zero);
        var t2 = vec3<real>(zero, one, zero);
        var n = vec3<real>(zero, zero, one);
        var point = c;
        var rotation = false;
        var held = one;
        if s < dims.tree.n_block {
            let record = block_record(s);
            let a = block_frame(param, pose_base, record.body_a, record.param + PARAM_BLOCK_FRAME_A);
            let b = block_frame(param, pose_base, record.body_b, record.param + PARAM_BLOCK_FRAME_B);
            held = select(zero, one, contact_map[words] == MAP_BLOCK);
            bodies = vec2<u32>(record.body_a, record.body_b);
            point = b.position;
            rotation = record.kind == BLOCK_ROTATION;
            var error = b.position - a.position;
            if rotation {
                error = quat_log(quat_mul(b.orientation, quat_conjugate(a.orientation)));
            }
            error = held * error;
            constraint[out] = bilateral_bias(error.x, per_step, fraction, largest);
            constraint[out + TILE] = bilateral_bias(error.y, per_step, fraction, largest);
            constraint[out + 2u * TILE] = bilateral_bias(error.z, per_step, fraction, largest);
            constraint[out + SLOT_MU * TILE] = -held;
        } else {
            let record = slot_base(lane, slots[tile], s, CONTACT_SIZE);
            n = contact3(record, CONTACT_NORMAL);
            t1 = contact_tangent_1(n);
            t2 = contact_tangent_2(n);
            point = contact3(record, CONTACT_POINT);
            let distance = contact[record + CONTACT_DISTANCE * TILE];
            let drift = contact3(record, CONTACT_DRIFT);
            constraint[out + SLOT_BIAS * TILE] = dot3(t1, drift);
            constraint[out + (SLOT_BIAS + 1u) * TILE] = dot3(t2, drift);
            constraint[out + SLOT_DRIFT * TILE] = dot3(n, drift);
            constraint[out + (SLOT_BIAS + 2u) * TILE] = position_bias(distance, per_step, fraction, largest, slop);
            constraint[out + SLOT_DISTANCE * TILE] = distance;
            constraint[out + SLOT_MU * TILE] = max(contact[record + CONTACT_FRICTION * TILE], zero);
            constraint[out + SLOT_RESTITUTION * TILE] = contact[record + CONTACT_RESTITUTION * TILE];
            constraint[out + SLOT_BOUNCE * TILE] = min(-threshold, -(distance * per_step));
        }
        let offset = point - c;
        for (var i = 0u; i < n_v; i++) {
            let dof = dof_record(i);
            let weight = held * (moves(dof, bodies.y) - moves(dof, bodies.x));
            var u = point_motion(motion_base, i, offset);
            if rotation {
                let at = motion_base + i * SPATIAL * TILE;
                u = vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]);
            }
            let j = out + (SLOT_J + i) * TILE;
            constraint[j] = weight * dot3(t1, u);
            constraint[j + n_v * TILE] = weight * dot3(t2, u);
            constraint[j + 2u * n_v * TILE] = weight * dot3(n, u);
        }
    }
}
