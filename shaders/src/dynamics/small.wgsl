// Trees of few dofs: their structure and one vector in private memory, which costs a fraction of a buffer's. The importing
// kernel imports dynamics/tree and binds `factor`; wider trees go by dynamics/solve.wgsl.

// Dofs at most: a vector of four right-hand sides thrice is 6 kB in f64, of 8 kB that every device has.
const SMALL_DOFS: u32 = 64u;
// Of each dof its parent, its entries in the factor and how many there are.
var<private> parents: array<u32, SMALL_DOFS>;
var<private> begins: array<u32, SMALL_DOFS>;
var<private> chains: array<u32, SMALL_DOFS>;
var<private> x: array<real, SMALL_DOFS>;

fn is_small() -> bool {
    return dims.tree.n_v <= SMALL_DOFS;
}

// Reads the structure of a small tree.
fn read_small() {
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let dof = dof_record(i);
        parents[i] = dof.parent;
        begins[i] = dof.m_begin;
        chains[i] = dof.chain;
    }
}

// `solve` for what `x` holds.
fn solve_small(factor_base: u32) {
    let n = dims.tree.n_v;
    for (var r = 0u; r < n; r++) {
        let i = n - 1u - r;
        let at = factor_base + begins[i] * TILE;
        let xi = x[i];
        if xi == real(0.0) {
            continue;
        }
        var j = parents[i];
        for (var k = 1u; k < chains[i]; k++) {
            x[j] = fma(-factor[at + k * TILE], xi, x[j]);
            j = parents[j];
        }
    }
    for (var i = 0u; i < n; i++) {
        let at = factor_base + begins[i] * TILE;
        var sum = x[i] * factor[at];
        var j = parents[i];
        for (var k = 1u; k < chains[i]; k++) {
            sum = fma(-factor[at + k * TILE], x[j], sum);
            j = parents[j];
        }
        x[i] = sum;
    }
}
