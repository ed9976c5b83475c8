// Newton steps on islands whose matrix is never written out, a workgroup an island. See mod.rs.
#import index
#import contact/local
#import contact/island
#import contact/island_sweep
#import contact/convex/layout
#import contact/convex/records
#import contact/convex/law
#import contact/convex/evaluate
#import contact/convex/conjugate
#import contact/convex/newton
#import contact/convex/mixing
#import contact/convex/canal
#import contact/convex/sap
#import contact/convex/iterate

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> convex_index: array<u32>;
@group(0) @binding(3) var<storage, read> island_jac: array<real>;
@group(0) @binding(4) var<storage, read> island_con: array<real>;
@group(0) @binding(5) var<storage, read_write> impulse: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> convex: array<real>;
@group(0) @binding(8) var<storage, read_write> island_info: array<real>;

@compute @workgroup_size(ISLAND_WIDTH)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let island = group_index(group);
    if island >= dims.n_islands {
        return;
    }
    let own = island_record(island);
    let place = place_record(island);
    let turn = convex_turn(island, place.form, FORM_ITERATIVE, local);
    if turn == TURN_RESTS {
        return;
    }
    convex_solve(island, own, place.real, turn == TURN_IDLE, local);
}
