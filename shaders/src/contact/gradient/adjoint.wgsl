// From the gradient by v+ to that by impulses on the dofs, and to what each row of the lane weighs. See adjoint.rs.
#import dynamics/tree
#import dynamics/small
#import dynamics/solve
#import contact/tree_layout
#import contact/gradient/layout
#import contact/gradient/adjoint_parts
#import contact/gradient/row
#import contact/gradient/substitute

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> factor: array<real>;
@group(0) @binding(4) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read> constraint: array<real>;
@group(0) @binding(6) var<storage, read> row: array<real>;
@group(0) @binding(7) var<storage, read_write> system: array<real>;
@group(0) @binding(8) var<storage, read_write> adjoint: array<real>;

// The gradient by impulses begins at `base`.
fn load_x(base: u32, i: u32) -> real {
    return adjoint[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    adjoint[base + i * TILE] = value;
}

// `L^T z` for `B^T z = push given`; `base`: the lane's part of `system`.
fn react(base: u32, at: System, given: u32) {
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let m = unknowns_of(base);
    let factor_at = base + at.factor * TILE;
    let order = base + at.order * TILE;
    let reaction = base + at.reaction * TILE;
    let z = base + at.scratch * TILE;
    for (var k = 0u; k < m; k++) {
        let push = base + (at.push + u32(system[order + (at.most + k) * TILE]) * n) * TILE;
        var sum = zero;
        for (var i = 0u; i < n; i++) {
            sum = fma(system[push + i * TILE], adjoint[given + i * TILE], sum);
        }
        for (var c = 0u; c < k; c++) {
            sum = fma(-system[factor_at + (c * at.most + k) * TILE], system[z + c * TILE], sum);
        }
        // 1/U, or zero from the rank on.
        system[z + k * TILE] = sum * system[factor_at + (k * at.most + k) * TILE];
    }
    for (var r = 0u; r < m; r++) {
        let k = m - 1u - r;
        var sum = system[z + k * TILE];
        for (var i = k + 1u; i < m; i++) {
            sum = fma(-system[factor_at + (i * at.most + k) * TILE], system[z + i * TILE], sum);
        }
        system[z + k * TILE] = sum;
    }
    for (var i = 0u; i < at.most; i++) {
        system[reaction + i * TILE] = zero;
    }
    for (var i = 0u; i < m; i++) {
        let unknown = base + (at.list + u32(system[order + i * TILE]) * UNKNOWN_SIZE) * TILE;
        let first = u32(system[unknown + UNKNOWN_FIRST * TILE]);
        for (var k = 0u; k < 3u; k++) {
            let weight = system[unknown + (UNKNOWN_EQUATION + k) * TILE];
            if weight != zero {
                let to = reaction + (first + k) * TILE;
                system[to] = fma(weight, system[z + i * TILE], system[to]);
            }
        }
    }
}

// `A x = x`.
fn solve_impulse(factor_base: u32, base: u32) {
    if !is_small() {
        solve(factor_base, base);
        return;
    }
    read_small();
    for (var i = 0u; i < dims.tree.n_v; i++) {
        x[i] = load_x(base, i);
    }
    solve_small(factor_base);
    for (var i = 0u; i < dims.tree.n_v; i++) {
        store_x(base, i, x[i]);
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let n_row = dims.tree.n_row;
    let own = adjoint_new(n, n_input());
    let given = tile_base(lane, own.reals);
    let impulse = given + own.impulse * TILE;
    let count = tile_place(lane, PLACE_COUNT);
    let at = system_new(vec3<u32>(n, n_input(), n_row), count);
    let equations = ragged_base(lane, PLACE_SYSTEM);
    react(equations, at, given);
    for (var i = 0u; i < n; i++) {
        store_x(impulse, i, adjoint[given + i * TILE]);
    }
    let reaction = equations + at.reaction * TILE;
    for (var s = 0u; s < count; s++) {
        let slot = slot_base(lane, tile_place(lane, PLACE_BEGIN), s, slot_reals(n));
        for (var r = 0u; r < 3u; r++) {
            let weight = system[reaction + (n_row + 3u * s + r) * TILE];
            if weight == real(0.0) {
                continue;
            }
            for (var i = 0u; i < n; i++) {
                let j = constraint[slot + (SLOT_J + r * n + i) * TILE];
                store_x(impulse, i, fma(-weight, j, load_x(impulse, i)));
            }
        }
    }
    for (var r = 0u; r < n_row; r++) {
        let weight = system[reaction + r * TILE];
        if weight == real(0.0) {
            continue;
        }
        let numbers = tile_base(lane, n_row * row_stride(n, ROW_WIDTH)) + r * row_stride(n, ROW_WIDTH) * TILE;
        for (var k = 0u; k < 3u; k++) {
            let dof = row_dof(numbers, k);
            let j = row[numbers + (ROW_COEFFICIENT + ROW_TERM * k) * TILE];
            store_x(impulse, dof, fma(-weight, j, load_x(impulse, dof)));
        }
    }
    solve_impulse(tile_base(lane, dims.tree.n_m), impulse);
    for (var e = 0u; e < VERDICT_SIZE; e++) {
        adjoint[given + (own.verdict + e) * TILE] = system[equations + e * TILE];
    }
}
