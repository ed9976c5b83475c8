// How well the equations of a lane are solved: the twin of check.rs, for system.wgsl.

// Largest entry of `B x - 1` for the solution x, of a factor of full rank.
fn residual(own: Own, local: u32, m: u32) -> real {
    let n = dims.n_v;
    let x = own.system + own.at.scratch * TILE;
    let pushed = x + own.at.most * TILE;
    for (var i = local; i < m; i += WIDTH) {
        system[x + i * TILE] = real(1.0);
    }
    storageBarrier();
    for (var k = 0u; k + 1u < m; k++) {
        for (var i = k + 1u + local; i < m; i += WIDTH) {
            let to = x + i * TILE;
            system[to] = fma(-system[factor_at(own, i, k)], system[x + k * TILE], system[to]);
        }
        storageBarrier();
    }
    for (var back = 0u; back < m; back++) {
        let k = m - 1u - back;
        if local == 0u {
            system[x + k * TILE] *= system[factor_at(own, k, k)];
        }
        storageBarrier();
        for (var i = local; i < k; i += WIDTH) {
            let to = x + i * TILE;
            system[to] = fma(-system[factor_at(own, i, k)], system[x + k * TILE], system[to]);
        }
        storageBarrier();
    }
    for (var d = local; d < n; d += WIDTH) {
        var sum = real(0.0);
        for (var i = 0u; i < m; i++) {
            sum = fma(system[push_row(own, u32(system[column_of(own, i)])) + d * TILE], system[x + i * TILE], sum);
        }
        system[pushed + d * TILE] = sum;
    }
    storageBarrier();
    var worst = real(0.0);
    for (var i = local; i < m; i += WIDTH) {
        let u = u32(system[column_of(own, i)]);
        var left = fma(system[unknown_at(own, u) + UNKNOWN_DIAGONAL * TILE], system[x + i * TILE], real(-1.0));
        for (var d = 0u; d < n; d++) {
            left = fma(system[response_row(own, u) + d * TILE], system[pushed + d * TILE], left);
        }
        worst = max(worst, abs(left));
    }
    return group_max(local, worst);
}

// Whether an unknown's equation is not along its own direction.
fn is_askew(own: Own, u: u32) -> bool {
    let at = unknown_at(own, u);
    var askew = false;
    for (var k = 0u; k < 3u; k++) {
        askew = askew || system[at + (UNKNOWN_DIRECTION + k) * TILE] != system[at + (UNKNOWN_EQUATION + k) * TILE];
    }
    return askew;
}

// What one combination of impulses that the equations leave free changes of the velocities, relative; made in column c
// of the factor.
fn change_of(own: Own, rank: u32, c: u32, largest: real) -> real {
    var most = real(1.0);
    for (var r = 0u; r < rank; r++) {
        let i = rank - 1u - r;
        var known = -system[factor_at(own, i, c)];
        for (var k = i + 1u; k < rank; k++) {
            known = fma(-system[factor_at(own, i, k)], system[factor_at(own, k, c)], known);
        }
        let x = known * system[factor_at(own, i, i)];
        system[factor_at(own, i, c)] = x;
        most = max(most, abs(x));
    }
    var change = real(0.0);
    let free = push_row(own, u32(system[column_of(own, c)]));
    for (var d = 0u; d < dims.n_v; d++) {
        var moved = system[free + d * TILE];
        for (var r = 0u; r < rank; r++) {
            let i = rank - 1u - r;
            let at = push_row(own, u32(system[column_of(own, i)]));
            moved = fma(system[factor_at(own, i, c)], system[at + d * TILE], moved);
        }
        change = max(change, abs(moved));
    }
    return change / max(largest * most, real(1e-30));
}

// How much the combinations of impulses that the equations leave free change the velocities, relative to what any of
// them changes. Nothing, where every equation is along its own direction: B is symmetric there.
fn freedom(own: Own, local: u32, m: u32, rank: u32) -> real {
    var askew = real(0.0);
    for (var u = local; u < m; u += WIDTH) {
        askew = max(askew, select(real(0.0), real(1.0), is_askew(own, u)));
    }
    if group_max(local, askew) <= real(0.0) {
        return real(0.0);
    }
    var largest = real(0.0);
    for (var e = local; e < m * dims.n_v; e += WIDTH) {
        largest = max(largest, abs(system[own.system + (own.at.push + e) * TILE]));
    }
    largest = group_max(local, largest);
    var worst = real(0.0);
    for (var c = rank + local; c < m; c += WIDTH) {
        worst = max(worst, change_of(own, rank, c, largest));
    }
    return group_max(local, worst);
}

// How often the equations with a pivot are taken for nothing to be left of the impulses in one without: in its row of the
// factor.
fn take(own: Own, rank: u32, k: u32) {
    for (var r = 0u; r < rank; r++) {
        let i = rank - 1u - r;
        var taken = -system[factor_at(own, k, i)];
        for (var c = i + 1u; c < rank; c++) {
            taken = fma(-system[factor_at(own, c, i)], system[factor_at(own, k, c)], taken);
        }
        system[factor_at(own, k, i)] = taken;
    }
}

// What the equations without a pivot then say of what goes in, relative to the most that any equation says: they contradict
// each other by that.
fn contradiction(own: Own, local: u32, m: u32, rank: u32, largest: vec2<real>) -> real {
    for (var k = rank + local; k < m; k += WIDTH) {
        take(own, rank, k);
    }
    storageBarrier();
    let n = dims.n_v;
    let across = 2u * n + dims.n_input;
    var worst = real(0.0);
    for (var e = local; e < (m - rank) * across; e += WIDTH) {
        let k = rank + e / across;
        let c = e % across;
        let of_rows = n <= c;
        let width = select(n, across - n, of_rows);
        let asked = own.system + select(own.at.response + c, own.at.shift + c - n, of_rows) * TILE;
        var said = system[asked + k * width * TILE];
        for (var i = 0u; i < rank; i++) {
            said = fma(system[factor_at(own, k, i)], system[asked + i * width * TILE], said);
        }
        worst = max(worst, abs(said) / max(select(largest.x, largest.y, of_rows), real(1e-30)));
    }
    return group_max(local, worst);
}
