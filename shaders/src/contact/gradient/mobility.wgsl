// K, what impulses on the dofs add to v+, a column of a lane an item. See mobility.rs.
#import dynamics/tree
#import dynamics/small
#import dynamics/solve
#import contact/gradient/layout
#import contact/gradient/columns
#import contact/gradient/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> factor: array<real>;
@group(0) @binding(4) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read_write> system: array<real>;
@group(0) @binding(6) var<storage, read_write> mobility: array<real>;

// A column of `mobility` that begins at `base`.
fn load_x(base: u32, i: u32) -> real {
    return mobility[base + i * dims.tree.n_v * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    mobility[base + i * dims.tree.n_v * TILE] = value;
}

// A column of `A^-1`.
fn inverse(factor_base: u32, column: u32, base: u32) {
    let n = dims.tree.n_v;
    if is_small() {
        read_small();
        for (var i = 0u; i < n; i++) {
            x[i] = select(real(0.0), real(1.0), i == column);
        }
        solve_small(factor_base);
        for (var i = 0u; i < n; i++) {
            store_x(base, i, x[i]);
        }
        return;
    }
    for (var i = 0u; i < n; i++) {
        store_x(base, i, select(real(0.0), real(1.0), i == column));
    }
    solve(factor_base, base);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = dims.tree.n_v;
    let item = item_of(group, local, n);
    let lane = item.lane;
    let column = item.column;
    if lane >= dims.tree.lanes {
        return;
    }
    let base = tile_base(lane, mobility_reals(n));
    let own = base + column * TILE;
    inverse(tile_base(lane, dims.tree.n_m), column, own);
    let at = system_new(vec3<u32>(n, n_input(), dims.tree.n_row), tile_place(lane, PLACE_COUNT));
    let equations = ragged_base(lane, PLACE_SYSTEM);
    let solved = equations + (at.response + column) * TILE;
    substitute(equations, at, solved, n);
    for (var i = 0u; i < n; i++) {
        store_x(own, i, pushed(equations, at, i, n, solved, n, load_x(own, i)));
    }
    if column == 0u {
        for (var e = 0u; e < VERDICT_SIZE; e++) {
            mobility[base + (n * n + e) * TILE] = system[equations + e * TILE];
        }
    }
}
