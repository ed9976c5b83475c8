// `A b = b` by the factor of a body's matrix: the twin of substitute.rs. The importing kernel binds `topology`, `factor` and, read_write,
// `b`.

// First degree of freedom at a position, in lanes' elements of `b`.
fn dof_at(position: u32) -> u32 {
    return 3u * topology[dims.plan_at + position] * TILE;
}

fn begin(column: u32) -> u32 {
    return topology[dims.plan_at + dims.n_node + column];
}

fn row_at(at: u32) -> u32 {
    return topology[dims.plan_at + 2u * dims.n_node + 1u + at];
}

// `A b = b`.
fn solve(base: u32, b_base: u32) {
    for (var j = 0u; j < dims.n_node; j++) {
        let x = b_base + dof_at(j);
        let c = base + begin(j) * BLOCK * TILE;
        let x0 = b[x] * factor[c];
        let x1 = fma(-factor[c + 3u * TILE], x0, b[x + TILE]) * factor[c + 4u * TILE];
        let left = fma(-factor[c + 7u * TILE], x1, fma(-factor[c + 6u * TILE], x0, b[x + 2u * TILE]));
        let x2 = left * factor[c + 8u * TILE];
        b[x] = x0;
        b[x + TILE] = x1;
        b[x + 2u * TILE] = x2;
        for (var at = begin(j) + 1u; at < begin(j + 1u); at++) {
            let to = b_base + dof_at(row_at(at));
            for (var row = 0u; row < 3u; row++) {
                let l = base + (at * BLOCK + 3u * row) * TILE;
                let taken = fma(factor[l + 2u * TILE], x2, fma(factor[l + TILE], x1, factor[l] * x0));
                b[to + row * TILE] -= taken;
            }
        }
    }
    for (var r = 0u; r < dims.n_node; r++) {
        let j = dims.n_node - 1u - r;
        let x = b_base + dof_at(j);
        var sums = vec3<real>(b[x], b[x + TILE], b[x + 2u * TILE]);
        for (var at = begin(j) + 1u; at < begin(j + 1u); at++) {
            let below = b_base + dof_at(row_at(at));
            for (var row = 0u; row < 3u; row++) {
                let minus = -b[below + row * TILE];
                let l = base + (at * BLOCK + 3u * row) * TILE;
                sums.x = fma(minus, factor[l], sums.x);
                sums.y = fma(minus, factor[l + TILE], sums.y);
                sums.z = fma(minus, factor[l + 2u * TILE], sums.z);
            }
        }
        let c = base + begin(j) * BLOCK * TILE;
        let x2 = sums.z * factor[c + 8u * TILE];
        let x1 = fma(-factor[c + 7u * TILE], x2, sums.y) * factor[c + 4u * TILE];
        let x0 = fma(-factor[c + 6u * TILE], x2, fma(-factor[c + 3u * TILE], x1, sums.x)) * factor[c];
        b[x] = x0;
        b[x + TILE] = x1;
        b[x + 2u * TILE] = x2;
    }
}
