// SubADMM on an island that a workgroup solves: lanes over its trees and constraints in turn.
#import index
#import contact/subadmm/laws
#import contact/subadmm/trees
#import contact/subadmm/verdict
#import contact/subadmm/mod.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> split_index: array<u32>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> island_con: array<real>;
@group(0) @binding(5) var<storage, read_write> impulse: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> split: array<real>;
@group(0) @binding(8) var<storage, read_write> island_info: array<real>;

var<workgroup> before_stopped: u32;

// Where the impulses stand, and what follows from it. Whether nothing is left to do.
fn fused_check(island: u32, own: SplitIsland, local: u32, done: u32) -> bool {
    let start = done == 0u;
    for (var t = own.tree_begin + local; t < own.tree_end; t += ISLAND_WIDTH) {
        tree_velocity(t, start);
    }
    storageBarrier();
    for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
        law_measure(i, done);
    }
    storageBarrier();
    let stopped = island_judge(island, local, done);
    storageBarrier();
    if !stopped {
        for (var t = own.tree_begin + local; t < own.tree_end; t += ISLAND_WIDTH) {
            tree_factor(t);
        }
    }
    storageBarrier();
    return stopped;
}

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = split_island(island);
    if local == 0u {
        before_stopped = select(0u, 1u, own.wide == 1u || split_rests(island));
    }
    if workgroupUniformLoad(&before_stopped) != 0u {
        return;
    }
    var running = true;
    if dims.done == 0u {
        running = !fused_check(island, own, local, 0u);
    }
    running = running && own.part == PART_SOLVES;
    for (var done = dims.done; done < dims.iterations && running; done++) {
        for (var t = own.tree_begin + local; t < own.tree_end; t += ISLAND_WIDTH) {
            tree_solve(t);
        }
        storageBarrier();
        for (var i = own.constraint_begin + local; i < own.constraint_end; i += ISLAND_WIDTH) {
            law_project(i);
        }
        storageBarrier();
        let now = done + 1u;
        if now % CHECK_EVERY == 0u || now == dims.iterations {
            running = !fused_check(island, own, local, now);
        }
    }
}
