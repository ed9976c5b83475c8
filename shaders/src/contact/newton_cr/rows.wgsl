// The rows of a Newton step that one constraint has: the twin of rows.rs. The importing kernel imports contact/island,
// contact/newton_cr/layout and contact/newton_cr/ncp, and binds island_con.

struct Row {
    // `(G + c) dlambda = x`; else `dlambda = x`.
    solved: bool,
    c: real,
    x: real,
}

fn row_fixed(x: real) -> Row {
    return Row(false, real(0.0), x);
}

// Scaling of an impulse beside a velocity, 1/kg.
fn row_scale(own: real) -> real {
    let uniform_scale = setting(dims.scale);
    return select(max(own, ROWS_LEAST_SCALE), uniform_scale, real(0.0) < uniform_scale);
}

// A complementary pair linearised.
fn row_pair(a: real, lambda: real, own: real) -> Row {
    let r = row_scale(own);
    let f = ncp(a, r * lambda);
    if f.by_a <= ROWS_FLAT {
        return row_fixed(-(f.phi / (f.by_b * r)));
    }
    return Row(true, f.by_b * r / f.by_a, -(f.phi / f.by_a));
}

// Those of a block at `hat = J v + e`.
fn rows_block(c: u32, lambda: vec3<real>, hat: vec3<real>) -> array<Row, 3> {
    let zero = real(0.0);
    let mu = island_con[c + CON_FRICTION];
    if mu < zero {
        return array<Row, 3>(Row(true, zero, -hat.x), Row(true, zero, -hat.y), Row(true, zero, -hat.z));
    }
    let g = c + CON_DELASSUS;
    let normal = row_pair(hat.z, lambda.z, island_con[g + 5u]);
    let limit = mu * lambda.z;
    if limit <= zero {
        return array<Row, 3>(row_fixed(-lambda.x), row_fixed(-lambda.y), normal);
    }
    let r = row_scale((island_con[g] + island_con[g + 3u]) / real(2.0));
    let slip = sqrt(fma(hat.x, hat.x, hat.y * hat.y));
    let carried = sqrt(fma(lambda.x, lambda.x, lambda.y * lambda.y));
    let w = ncp_friction(slip, limit, carried, r);
    return array<Row, 3>(
        Row(true, w, -fma(w, lambda.x, hat.x)), Row(true, w, -fma(w, lambda.y, hat.y)), normal,
    );
}

// That of a single row at `hat = J v + e`, without its compliance.
fn rows_single(c: u32, lambda: real, hat: real) -> Row {
    let zero = real(0.0);
    let compliance = island_con[c + CON_ROW_COMPLIANCE];
    let lower = island_con[c + CON_ROW_LOWER];
    let upper = island_con[c + CON_ROW_UPPER];
    let own = island_con[c + CON_ROW_DELASSUS];
    if compliance <= zero && lower == zero && UNBOUNDED <= upper {
        return row_pair(hat, lambda, own);
    }
    var wanted = lambda - hat / row_scale(own);
    if zero < compliance {
        wanted = -(hat / compliance);
    }
    if wanted <= lower {
        return row_fixed(lower - lambda);
    }
    if upper <= wanted {
        return row_fixed(upper - lambda);
    }
    return Row(true, compliance, -fma(compliance, lambda, hat));
}
