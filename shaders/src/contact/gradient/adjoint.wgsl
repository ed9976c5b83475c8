// From the gradient by v+ to that by impulses on the dofs, and to the adjoint of the equations. See adjoint.rs.
#import dynamics/tree
#import contact/gradient/layout
#import contact/gradient/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> mobility: array<real>;
@group(0) @binding(5) var<storage, read_write> system: array<real>;
@group(0) @binding(6) var<storage, read_write> adjoint: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let own = adjoint_new(n, n_input());
    let given = tile_base(lane, own.reals);
    let k_at = tile_base(lane, mobility_reals(n));
    for (var c = 0u; c < n; c++) {
        var sum = zero;
        for (var i = 0u; i < n; i++) {
            sum = fma(mobility[k_at + (i * n + c) * TILE], adjoint[given + i * TILE], sum);
        }
        adjoint[given + (own.impulse + c) * TILE] = sum;
    }
    let at = system_new(vec3<u32>(n, n_input(), dims.tree.n_row), tile_place(lane, PLACE_COUNT));
    let equations = ragged_base(lane, PLACE_SYSTEM);
    let m = unknowns_of(equations);
    let factor = equations + at.factor * TILE;
    let y = equations + at.adjoint * TILE;
    for (var k = 0u; k < m; k++) {
        var sum = zero;
        for (var i = 0u; i < n; i++) {
            sum = fma(system[equations + (at.push + k * n + i) * TILE], adjoint[given + i * TILE], sum);
        }
        for (var c = 0u; c < k; c++) {
            sum = fma(-system[factor + (c * at.most + k) * TILE], system[y + c * TILE], sum);
        }
        // 1/U, or zero from the rank on.
        system[y + k * TILE] = sum * system[factor + (k * at.most + k) * TILE];
    }
}
