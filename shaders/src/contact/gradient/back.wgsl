// From the gradient by impulses on the dofs, and the adjoint of the equations, to those by q, v and ctrl, a column of a
// lane an item. See back.rs.
#import dynamics/tree
#import dynamics/derivatives/layout
#import contact/gradient/layout
#import contact/gradient/columns
#import contact/gradient/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> slope: array<real>;
@group(0) @binding(4) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read_write> system: array<real>;
@group(0) @binding(6) var<storage, read_write> adjoint: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let width = slope_width();
    let item = item_of(group, local, width);
    let lane = item.lane;
    let column = item.column;
    if lane >= dims.tree.lanes {
        return;
    }
    let own = adjoint_new(n, n_input());
    let base = tile_base(lane, own.reals);
    let slope_at = slope_base(lane) + column * TILE;
    let run = moved(column);
    var sum = zero;
    for (var j = run.x; j < run.x + run.y; j++) {
        sum = fma(slope[slope_at + j * width * TILE], adjoint[base + (own.impulse + j) * TILE], sum);
    }
    var left = zero;
    // ds has no columns of v.
    if column < n || 2u * n <= column {
        let at = system_new(vec3<u32>(n, n_input(), dims.tree.n_row), tile_place(lane, PLACE_COUNT));
        let equations = ragged_base(lane, PLACE_SYSTEM);
        let across = n + n_input();
        let shift = equations + (at.shift + select(column - n, column, column < n)) * TILE;
        descend(equations, at, shift, across);
        for (var k = 0u; k < unknowns_of(equations); k++) {
            let x = system[shift + k * across * TILE];
            sum = fma(-system[equations + (at.adjoint + k) * TILE], x, sum);
            let per = system[equations + (at.factor + k * at.most + k) * TILE];
            // No pivot: nothing may be left of the equation.
            if per <= zero && zero <= per {
                left = max(left, abs(x));
            }
        }
    }
    adjoint[base + (own.inputs + column) * TILE] = sum;
    adjoint[base + (own.left + column) * TILE] = left;
}
