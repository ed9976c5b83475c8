// dv+ by q, v and ctrl, a column of a lane an item. See answer.rs.
#import dynamics/tree
#import dynamics/derivatives/layout
#import contact/gradient/layout
#import contact/gradient/columns
#import contact/gradient/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> slope: array<real>;
@group(0) @binding(4) var<storage, read> mobility: array<real>;
@group(0) @binding(5) var<storage, read> places: array<u32>;
@group(0) @binding(6) var<storage, read_write> system: array<real>;
@group(0) @binding(7) var<storage, read_write> answer: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = dims.tree.n_v;
    let width = slope_width();
    let item = item_of(group, local, width);
    let lane = item.lane;
    let column = item.column;
    if lane >= dims.tree.lanes {
        return;
    }
    let out = tile_base(lane, n * width);
    let k_at = tile_base(lane, mobility_reals(n));
    let slope_at = slope_base(lane) + column * TILE;
    let at = system_new(vec3<u32>(n, n_input(), dims.tree.n_row), tile_place(lane, PLACE_COUNT));
    let equations = ragged_base(lane, PLACE_SYSTEM);
    // ds has no columns of v.
    let by_v = n <= column && column < 2u * n;
    let across = n + n_input();
    let solved = equations + (at.shift + select(column - n, column, column < n)) * TILE;
    if !by_v {
        substitute(equations, at, solved, across);
    }
    let run = moved(column);
    for (var i = 0u; i < n; i++) {
        var sum = real(0.0);
        for (var j = run.x; j < run.x + run.y; j++) {
            sum = fma(mobility[k_at + (i * n + j) * TILE], slope[slope_at + j * width * TILE], sum);
        }
        if !by_v {
            sum = pushed(equations, at, i, n, solved, across, sum);
        }
        answer[out + (i * width + column) * TILE] = sum;
    }
}
