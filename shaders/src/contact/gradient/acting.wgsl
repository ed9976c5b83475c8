// v+, the impulses on bodies, twists and psi: what the derivative of the dynamics holds. See acting.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/derivatives/layout
#import dynamics/derivatives/transport
#import contact/frame
#import contact/gradient/layout
#import contact/gradient/force

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> motion: array<real>;
@group(0) @binding(4) var<storage, read> velocity: array<real>;
@group(0) @binding(5) var<storage, read> places: array<u32>;
@group(0) @binding(6) var<storage, read> touch: array<real>;
@group(0) @binding(7) var<storage, read> impulse: array<real>;
@group(0) @binding(8) var<storage, read_write> act: array<real>;

fn act3(at: u32) -> vec3<real> {
    return vec3<real>(act[at], act[at + TILE], act[at + 2u * TILE]);
}

fn store_act3(at: u32, x: vec3<real>) {
    act[at] = x.x;
    act[at + TILE] = x.y;
    act[at + 2u * TILE] = x.z;
}

fn load_act(at: u32) -> Spatial {
    return Spatial(act3(at), act3(at + 3u * TILE));
}

fn store_act(at: u32, s: Spatial) {
    store_act3(at, s.angular);
    store_act3(at + 3u * TILE, s.linear);
}

// Twists of the bodies and psi of the dofs with v+.
fn transport(motion_base: u32, velocity_base: u32, base: u32) {
    let twist = base + act_twist() * TILE;
    let psi = base + act_psi() * TILE;
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var b = 0u; b < dims.tree.n_body; b++) {
        let record = body_record(b);
        var v = Spatial(zero, zero);
        if b > 0u {
            v = load_act(twist + record.parent * SPATIAL * TILE);
        }
        for (var k = 0u; k < record.joint_count; k++) {
            let both = runs(joint_record(record.joint_begin + k));
            for (var half = 0u; half < 2u; half++) {
                let run = select(both.zw, both.xy, half == 0u);
                var moved = Spatial(zero, zero);
                for (var i = run.x; i < run.x + run.y; i++) {
                    let s = load_motion(motion_base, i);
                    let speed = velocity[velocity_base + i * TILE];
                    store_act(psi + i * SPATIAL * TILE, cross_motion(v, s));
                    moved = Spatial(
                        scale_add(s.angular, speed, moved.angular), scale_add(s.linear, speed, moved.linear),
                    );
                }
                v = spatial_sum(v, moved);
            }
        }
        store_act(twist + b * SPATIAL * TILE, v);
    }
}

// Adds the impulse of a slot, times a sign, to a body; -1: the ground.
fn push_body(fixed: u32, body: real, sign: real, moment: vec3<real>, f: vec3<real>) {
    if body < real(0.0) {
        return;
    }
    let at = fixed + u32(body) * SPATIAL * TILE;
    store_act3(at, act3(at) + moment * sign);
    store_act3(at + 3u * TILE, act3(at + 3u * TILE) + f * sign);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let base = act_base(lane);
    let fixed = base + act_fixed() * TILE;
    let velocity_base = tile_base(lane, n);
    transport(tile_base(lane, SPATIAL * n), velocity_base, base);
    for (var i = 0u; i < n; i++) {
        act[base + i * TILE] = velocity[velocity_base + i * TILE];
    }
    for (var i = 0u; i < SPATIAL * dims.tree.n_body; i++) {
        act[fixed + i * TILE] = real(0.0);
    }
    let begin = tile_place(lane, PLACE_BEGIN);
    for (var s = 0u; s < tile_place(lane, PLACE_COUNT); s++) {
        let at = slot_base(lane, begin, s, TOUCH_SIZE);
        let f = along_axes(axes_of(touch3(at + TOUCH_NORMAL * TILE)), slot_impulse(slot_base(lane, begin, s, 3u)));
        let turning = cross3(touch3(at + TOUCH_ARM * TILE), f);
        push_body(fixed, touch[at], real(-1.0), turning, f);
        push_body(fixed, touch[at + TILE], real(1.0), turning, f);
    }
}
