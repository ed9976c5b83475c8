// Residuals of constraints; an invocation a constraint of any island.
#import index
#import contact/subadmm/laws

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> split_index: array<u32>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> island_con: array<real>;
@group(0) @binding(5) var<storage, read_write> impulse: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> split: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = lane_index(group, local);
    if i >= dims.n_constraints || split_rests(split_index[dims.splits_at + SPLIT_CONSTRAINT_SIZE * i + SPLIT_CONSTRAINT_ISLAND]) {
        return;
    }
    law_measure(i, dims.done);
}
