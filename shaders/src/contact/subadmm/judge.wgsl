// Which islands are solved, and which penalties are to change; a workgroup an island.
#import index
#import contact/subadmm/verdict

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> split_index: array<u32>;
@group(0) @binding(2) var<storage, read_write> split: array<real>;
@group(0) @binding(3) var<storage, read_write> island_info: array<real>;

var<workgroup> rests: u32;

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    if local == 0u {
        rests = select(0u, 1u, split_rests(island));
    }
    if workgroupUniformLoad(&rests) != 0u {
        return;
    }
    let stopped = island_judge(island, local, dims.done);
}
