// Complete pivoting by a workgroup: the twin of eliminate.rs, for system.wgsl.

fn factor_at(own: Own, i: u32, j: u32) -> u32 {
    return own.system + (own.at.factor + i * own.at.most + j) * TILE;
}

// Unknown whose equation stands in row i of the factor; that stands in column i.
fn row_of(own: Own, i: u32) -> u32 {
    return own.system + (own.at.order + i) * TILE;
}

fn column_of(own: Own, i: u32) -> u32 {
    return own.system + (own.at.order + own.at.most + i) * TILE;
}

fn push_row(own: Own, u: u32) -> u32 {
    return own.system + (own.at.push + u * dims.n_v) * TILE;
}

fn response_row(own: Own, u: u32) -> u32 {
    return own.system + (own.at.response + u * dims.n_v) * TILE;
}

// The largest entry that an invocation has seen, the first in the order of rows: its size, and its row and column.
struct Pivot {
    size: real,
    row: u32,
    column: u32,
}

fn pivot_larger(best: Pivot, i: u32, j: u32, x: real) -> Pivot {
    if best.size < abs(x) {
        return Pivot(abs(x), i, j);
    }
    return best;
}

// Four entries of B, from column j on; the largest so far.
fn multiply(own: Own, m: u32, i: u32, j: u32, largest: Pivot) -> Pivot {
    let equation = response_row(own, i);
    let columns = min(vec4<u32>(j, j + 1u, j + 2u, j + 3u), vec4<u32>(m - 1u));
    let push = vec4<u32>(own.system) + (vec4<u32>(own.at.push) + columns * dims.n_v) * TILE;
    var sum = vec4<real>(real(0.0), real(0.0), real(0.0), real(0.0));
    for (var d = 0u; d < dims.n_v; d++) {
        let a = system[equation + d * TILE];
        let at = push + d * TILE;
        let b = vec4<real>(system[at.x], system[at.y], system[at.z], system[at.w]);
        sum = fma(vec4<real>(a, a, a, a), b, sum);
    }
    var best = largest;
    for (var c = 0u; c < 4u && j + c < m; c++) {
        var x = sum[c];
        if i == j + c {
            x += system[unknown_at(own, i) + UNKNOWN_DIAGONAL * TILE];
        }
        system[factor_at(own, i, j + c)] = x;
        best = pivot_larger(best, i, j + c, x);
    }
    return best;
}

// B, and the largest of an invocation's entries.
fn assemble(own: Own, local: u32, m: u32) -> Pivot {
    let quads = (m + 3u) / 4u;
    var best = Pivot(real(0.0), NONE, NONE);
    for (var e = local; e < m * quads; e += WIDTH) {
        best = multiply(own, m, e / quads, e % quads * 4u, best);
    }
    for (var i = local; i < m; i += WIDTH) {
        system[row_of(own, i)] = real(i);
        system[column_of(own, i)] = real(i);
    }
    return best;
}

// The largest of all invocations' entries, of equal ones the first in the order of rows.
fn group_pivot(local: u32, m: u32, mine: Pivot) -> Pivot {
    let size = group_max(local, mine.size);
    counts[local] = select(NONE, mine.row * m + mine.column, mine.size == size && mine.row != NONE);
    workgroupBarrier();
    if local == 0u {
        total = NONE;
        for (var k = 0u; k < WIDTH; k++) {
            total = min(total, counts[k]);
        }
    }
    let place = workgroupUniformLoad(&total);
    return Pivot(size, place / m, place % m);
}

fn exchange(a: u32, b: u32) {
    let x = system[a];
    system[a] = system[b];
    system[b] = x;
}

// Brings the pivot to row and column k.
fn bring(own: Own, local: u32, m: u32, k: u32, pivot: Pivot) {
    for (var c = local; c < m && pivot.row != k; c += WIDTH) {
        exchange(factor_at(own, k, c), factor_at(own, pivot.row, c));
    }
    storageBarrier();
    for (var r = local; r < m && pivot.column != k; r += WIDTH) {
        exchange(factor_at(own, r, k), factor_at(own, r, pivot.column));
    }
    if local == 0u {
        exchange(row_of(own, k), row_of(own, pivot.row));
        exchange(column_of(own, k), column_of(own, pivot.column));
    }
    storageBarrier();
}

// Four entries of row i less its share of row k, from column j on; the largest so far.
fn clear(own: Own, m: u32, k: u32, i: u32, j: u32, largest: Pivot) -> Pivot {
    let times = -system[factor_at(own, i, k)];
    var best = largest;
    for (var c = j; c < min(j + 4u, m); c++) {
        let at = factor_at(own, i, c);
        let x = fma(times, system[factor_at(own, k, c)], system[at]);
        system[at] = x;
        best = pivot_larger(best, i, c, x);
    }
    return best;
}

// Complete pivoting; the rank. Every entry is looked at as the next pivot when it is made.
fn eliminate(own: Own, local: u32, m: u32, first: Pivot) -> u32 {
    var mine = first;
    var pivot = group_pivot(local, m, mine);
    let least = pivot.size * real(bitcast<f32>(dims.smallest));
    var rank = 0u;
    for (var k = 0u; k < m && least < pivot.size; k++) {
        rank += 1u;
        bring(own, local, m, k, pivot);
        let per = real(1.0) / system[factor_at(own, k, k)];
        for (var i = k + 1u + local; i < m; i += WIDTH) {
            system[factor_at(own, i, k)] *= per;
        }
        storageBarrier();
        if local == 0u {
            system[factor_at(own, k, k)] = per;
        }
        let quads = (m - k + 2u) / 4u;
        mine = Pivot(real(0.0), NONE, NONE);
        for (var e = local; e < (m - k - 1u) * quads; e += WIDTH) {
            mine = clear(own, m, k, k + 1u + e / quads, k + 1u + e % quads * 4u, mine);
        }
        storageBarrier();
        pivot = group_pivot(local, m, mine);
    }
    return rank;
}
