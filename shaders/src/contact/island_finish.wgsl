// Delassus block, bias, friction and warm start of every constraint; an invocation a constraint.
#import index
#import math
#import contact/frame
#import contact/local
#import contact/island

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> island_contact: array<real>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> impulse_in: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read_write> island_con: array<real>;
@group(0) @binding(7) var<storage, read_write> impulse_out: array<real>;

// G_ii = sum J Y^T over the sides.
fn delassus(record: ConstraintRecord) -> Block {
    var g = array<real, 6>(real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0));
    for (var s = record.side_begin; s < record.side_end; s++) {
        let side = side_record(s);
        let n = side.count;
        for (var k = 0u; k < n; k++) {
            let at = side.jac + k;
            let a = vec3<real>(island_jac[at], island_jac[at + n], island_jac[at + 2u * n]);
            let b = vec3<real>(island_jac[at + 3u * n], island_jac[at + 4u * n], island_jac[at + 5u * n]);
            g[0] = fma(a.x, b.x, g[0]);
            g[1] = fma(a.x, b.y, g[1]);
            g[2] = fma(a.x, b.z, g[2]);
            g[3] = fma(a.y, b.y, g[3]);
            g[4] = fma(a.y, b.z, g[4]);
            g[5] = fma(a.z, b.z, g[5]);
        }
    }
    return Block(g);
}

// Largest entry of the normal's Jacobian.
fn reach(record: ConstraintRecord) -> real {
    var most = real(0.0);
    for (var s = record.side_begin; s < record.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            most = max(most, abs(island_jac[side.jac + 2u * side.count + k]));
        }
    }
    return most;
}

// Relative normal velocity before the step.
fn normal_speed(record: ConstraintRecord) -> real {
    let region = REGION_SCRATCH * dims.n_velocity;
    var speed = real(0.0);
    for (var s = record.side_begin; s < record.side_end; s++) {
        let side = side_record(s);
        for (var k = 0u; k < side.count; k++) {
            speed = fma(island_jac[side.jac + 2u * side.count + k], velocity[region + side.velocity + k], speed);
        }
    }
    return speed;
}

fn contact3(at: u32) -> vec3<real> {
    return vec3<real>(island_contact[at], island_contact[at + 1u], island_contact[at + 2u]);
}

fn store_block(at: u32, m: Block) {
    for (var k = 0u; k < 6u; k++) {
        island_con[at + k] = m.g[k];
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = lane_index(group, local);
    if i >= dims.n_constraints {
        return;
    }
    let zero = real(0.0);
    let record = constraint_record(i);
    let c = CON_SIZE * i;
    var start = vec3<real>(zero, zero, zero);
    if record.previous != 0u {
        let before = 3u * (record.previous - 1u);
        start = vec3<real>(impulse_in[before], impulse_in[before + 1u], impulse_in[before + 2u]);
    }
    if record.kind != KIND_BLOCK {
        start.x = min(max(island_con[c + CON_ROW_WARM], island_con[c + CON_ROW_LOWER]), island_con[c + CON_ROW_UPPER]);
    }
    impulse_out[3u * i] = start.x;
    impulse_out[3u * i + 1u] = start.y;
    impulse_out[3u * i + 2u] = start.z;
    if record.kind != KIND_BLOCK {
        return;
    }
    let at = CONTACT_SIZE * i;
    let h = island_contact[at + CONTACT_TIMESTEP];
    let per_step = real(1.0) / h;
    let fraction = island_contact[at + CONTACT_CORRECTION_FRACTION];
    let largest = island_contact[at + CONTACT_CORRECTION_MAX];
    let mu = island_contact[at + CONTACT_FRICTION];
    let block = delassus(record);
    if mu < zero {
        for (var k = 0u; k < 3u; k++) {
            let speed = fraction * island_contact[at + CONTACT_NORMAL + k] * per_step;
            island_con[c + CON_BIAS + k] = min(max(speed, -largest), largest);
        }
    } else {
        let phi = island_contact[at + CONTACT_DISTANCE];
        let rho = island_contact[at + CONTACT_RESTITUTION];
        var normal = phi * per_step;
        if phi < zero {
            let beyond = min(phi + island_contact[at + CONTACT_CORRECTION_SLOP], zero);
            normal = max(fraction * (beyond * per_step), -largest);
        }
        let axis = contact3(at + CONTACT_NORMAL);
        let drift = contact3(at + CONTACT_DRIFT);
        let drifting = dot3(axis, drift);
        if zero < rho {
            let speed = normal_speed(record) + drifting;
            // Fast enough, and there within the step.
            if speed < -island_contact[at + CONTACT_RESTITUTION_THRESHOLD] && fma(h, speed, phi) < zero {
                normal = rho * speed;
            }
        }
        normal += drifting;
        // Compliant contact has an answer to everything.
        if island_contact[at + CONTACT_COMPLIANCE] < zero {
            normal = local_parted(mu, block, reach(record), normal);
        }
        island_con[c] = dot3(contact_tangent_1(axis), drift);
        island_con[c + 1u] = dot3(contact_tangent_2(axis), drift);
        island_con[c + 2u] = normal;
    }
    for (var r = 0u; r < 3u; r++) {
        island_con[c + CON_RELAXED + r] = zero;
    }
    island_con[c + CON_FRICTION] = mu;
    store_block(c + CON_DELASSUS, block);
    store_block(c + CON_INVERSE, local_invert(block));
}
