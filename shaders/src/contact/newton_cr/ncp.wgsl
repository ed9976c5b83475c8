// NCP functions and their generalised derivatives, and the fixed point of friction: the twin of ncp.rs.

struct Ncp {
    phi: real,
    by_a: real,
    by_b: real,
}

// At the origin the derivatives are (0, 1).
fn ncp(a: real, b: real) -> Ncp {
    let zero = real(0.0);
    let one = real(1.0);
    if dims.function == FUNCTION_MINIMUM_MAP {
        if a < b {
            return Ncp(a, one, zero);
        }
        return Ncp(b, zero, one);
    }
    let length = sqrt(fma(a, a, b * b));
    if length <= zero {
        return Ncp(zero, zero, one);
    }
    return Ncp(a + b - length, one - a / length, one - b / length);
}

// `W` of the fixed point `sigma_t + W lambda_t = 0`, 1/kg.
fn ncp_friction(slip: real, limit: real, carried: real, r: real) -> real {
    let zero = real(0.0);
    let b = r * (limit - carried);
    if dims.function == FUNCTION_MINIMUM_MAP {
        return select((slip - b) / limit, zero, slip <= b);
    }
    let length = sqrt(fma(slip, slip, b * b));
    let below = slip + r * limit - length;
    // What slips fast has `W = |sigma_t| / (mu lambda_n)`, the limit of this.
    return select(r * (length - b) / below, slip / limit, below <= zero);
}
