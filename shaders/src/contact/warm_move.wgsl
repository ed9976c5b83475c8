// Warm start of constraints that were solved elsewhere in the step before; an invocation a constraint. See warm_move.rs.
#import index

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> moves: array<u32>;
@group(0) @binding(2) var<storage, read> impulse_in: array<real>;
@group(0) @binding(3) var<storage, read_write> impulse_out: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let at = dims.items_at + 2u * item;
    let before = moves[at];
    let after = moves[at + 1u];
    let x = vec3<real>(
        impulse_in[before],
        impulse_in[before + dims.stride_in],
        impulse_in[before + 2u * dims.stride_in],
    );
    // What broke down must not do so again.
    let sound = is_finite(x.x) && is_finite(x.y) && is_finite(x.z);
    impulse_out[after] = select(real(0.0), x.x, sound);
    impulse_out[after + dims.stride_out] = select(real(0.0), x.y, sound);
    impulse_out[after + 2u * dims.stride_out] = select(real(0.0), x.z, sound);
}
