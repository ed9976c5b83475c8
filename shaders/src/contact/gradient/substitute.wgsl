// Solves by the factor of a lane's equations, a column at a time: the twin of substitute.rs. The importing
// kernel imports contact/gradient/layout and binds `system` read_write. `base`: a lane's part of it.

// How many unknowns a lane has.
fn unknowns_of(base: u32) -> u32 {
    return u32(system[base + VERDICT_SIZE_OF * TILE]);
}

// Solves a column in place that begins at `x` and has a number every `width`.
fn substitute(base: u32, at: System, x: u32, width: u32) {
    let m = unknowns_of(base);
    let factor_at = base + at.factor * TILE;
    for (var i = 1u; i < m; i++) {
        var sum = system[x + i * width * TILE];
        for (var k = 0u; k < i; k++) {
            sum = fma(-system[factor_at + (i * at.most + k) * TILE], system[x + k * width * TILE], sum);
        }
        system[x + i * width * TILE] = sum;
    }
    for (var r = 0u; r < m; r++) {
        let i = m - 1u - r;
        var sum = system[x + i * width * TILE];
        for (var k = i + 1u; k < m; k++) {
            sum = fma(-system[factor_at + (i * at.most + k) * TILE], system[x + k * width * TILE], sum);
        }
        // No pivot, no part in the solution.
        system[x + i * width * TILE] = sum * system[factor_at + (i * at.most + i) * TILE];
    }
}

// What a solved column takes of the velocity of dof i, of n.
fn pushed(base: u32, at: System, i: u32, n: u32, x: u32, width: u32, start: real) -> real {
    let m = unknowns_of(base);
    var sum = start;
    for (var k = 0u; k < m; k++) {
        sum = fma(-system[base + (at.push + k * n + i) * TILE], system[x + k * width * TILE], sum);
    }
    return sum;
}
