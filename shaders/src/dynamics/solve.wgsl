// Solves `A x = x` in place by the factor: the twin of `solve` in tree.rs. The importing kernel imports
// dynamics/tree, binds `factor`, and defines `load_x(base, i)` and `store_x(base, i, value)`: where x lives.
fn solve(factor_base: u32, x_base: u32) {
    let n = dims.tree.n_v;
    for (var r = 0u; r < n; r++) {
        let i = n - 1u - r;
        let dof = dof_record(i);
        let at = factor_base + dof.m_begin * TILE;
        let xi = load_x(x_base, i);
        // A row acts on the ancestors of few bodies.
        if xi == real(0.0) {
            continue;
        }
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            store_x(x_base, j, fma(-factor[at + k * TILE], xi, load_x(x_base, j)));
            j = dof_parent(j);
        }
    }
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let at = factor_base + dof.m_begin * TILE;
        var sum = load_x(x_base, i) * factor[at];
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            sum = fma(-factor[at + k * TILE], load_x(x_base, j), sum);
            j = dof_parent(j);
        }
        store_x(x_base, i, sum);
    }
}
