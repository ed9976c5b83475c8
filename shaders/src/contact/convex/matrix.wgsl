// The matrix of a Newton step by one workgroup: the twin of matrix.rs. The importing kernel says where the matrix lies by
// `matrix_load`, `matrix_store` and `matrix_barrier`, binds convex_index, and calls these from uniform control flow.

var<workgroup> matrix_broken: u32;

// First entry of a row.
fn row_at(i: u32) -> u32 {
    return i * (i + 1u) / 2u;
}

// Cholesky factor within the envelope, column by column, lanes over rows, and `L^-1` of the right-hand side. Whether every
// pivot is positive in this arithmetic.
fn matrix_factor(entry: u32, n: u32, local: u32) -> bool {
    var positive = true;
    for (var j = 0u; j < n; j++) {
        let begin_j = dof_first(entry + j);
        let other = row_at(j);
        // Rows stay with their lane.
        let turn = (local + ISLAND_WIDTH - j % ISLAND_WIDTH) % ISLAND_WIDTH;
        for (var i = j + turn; i <= n; i += ISLAND_WIDTH) {
            var begin = 0u;
            if i < n {
                begin = dof_first(entry + i);
            }
            if begin <= j {
                let own = row_at(i);
                var x = matrix_load(own + j);
                for (var k = max(begin, begin_j); k < j; k++) {
                    x = fma(-matrix_load(own + k), matrix_load(other + k), x);
                }
                matrix_store(own + j, x);
            }
        }
        matrix_barrier();
        let pivot = matrix_load(other + j);
        positive = positive && real(0.0) < pivot && is_finite(pivot);
        let scale = real(1.0) / sqrt(pivot);
        for (var i = j + turn; i <= n; i += ISLAND_WIDTH) {
            var begin = 0u;
            if i < n {
                begin = dof_first(entry + i);
            }
            if j < i && begin <= j {
                let at = row_at(i) + j;
                matrix_store(at, matrix_load(at) * scale);
            }
        }
        matrix_barrier();
    }
    if local == 0u {
        matrix_broken = select(1u, 0u, positive);
    }
    return workgroupUniformLoad(&matrix_broken) == 0u;
}

// The solution into the velocities from `to` on.
fn matrix_back(entry: u32, n: u32, local: u32, to: u32) {
    let y = row_at(n);
    for (var step = 0u; step < n; step++) {
        let k = n - 1u - step;
        let own = row_at(k);
        let x = matrix_load(y + k) / sqrt(matrix_load(own + k));
        for (var j = dof_first(entry + k) + local; j < k; j += ISLAND_WIDTH) {
            matrix_store(y + j, fma(-matrix_load(own + j), x, matrix_load(y + j)));
        }
        if local == 0u {
            velocity[to + k] = x;
        }
        matrix_barrier();
    }
}
