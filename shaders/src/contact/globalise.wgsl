// How Newton's method is held to what leads on: the constants and rules of dense.rs, for both of its twins.

const PROXIMAL: real = real(1e-3);
const TRUST: real = real(0.1);
const LEAST_PROXIMAL: real = real(1e-6);
const SHARES: u32 = 6u;
const MEMORY: u32 = 4u;
const LEAST_PIVOT: real = real(1e-12);

fn share_of(trial: u32) -> real {
    switch trial {
        case 0u: { return real(1.0); }
        case 1u: { return real(0.6); }
        case 2u: { return real(0.36); }
        case 3u: { return real(0.2); }
        case 4u: { return real(0.1); }
        default: { return real(0.05); }
    }
}

// The next proximal weight after a step of which this share was taken.
fn weight(proximal: real, share: real) -> real {
    if real(1.0) <= share {
        return max(proximal * TRUST, LEAST_PROXIMAL);
    }
    if real(0.0) < share {
        return proximal;
    }
    return min(proximal / TRUST, real(1.0));
}

// Rho, or 1 where there is none.
fn some(rho: real) -> real {
    return select(real(1.0), rho, real(0.0) < rho);
}
