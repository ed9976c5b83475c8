// What Newton's method goes by: the constants and rules of dense.rs, for both of its twins. The importing kernel imports
// contact/local.
#import contact/dense.rs
#import contact/dense_rounds.rs
#import contact/dense_step.rs
#import contact/eliminate.rs

// How far a step was taken: its share, zero for not at all, and the merit there.
struct Taken {
    share: real,
    merit: real,
    // What the merit was before.
    here: real,
}

// Whether numbers have no more than seven digits.
fn is_single() -> bool {
    return real(1.0) + real(1e-10) <= real(1.0);
}

// The largest `s` of centred steps in this precision.
fn most_stretch() -> real {
    return select(MOST_STRETCH, MOST_STRETCH_SINGLE, is_single());
}

// The proximal weight of the first step in this precision.
fn first_proximal() -> real {
    return select(PROXIMAL, PROXIMAL_SINGLE, is_single());
}

// The smallest proximal weight in this precision.
fn least_proximal() -> real {
    return select(LEAST_PROXIMAL, LEAST_PROXIMAL_SINGLE, is_single());
}

// The next proximal weight after so many steps, of the last of which this share was taken; left: the share of the merit that it
// left. None where steps are to be centred from now on, which takes so many steps at least.
fn weight(proximal: real, steps: u32, share: real, left: real) -> real {
    let whole = real(1.0) <= share;
    // A smaller weight may help where this one still shrinks.
    let leads = whole && left < real(1.0) && (left < LEADS || least_proximal() < proximal);
    if PATIENCE <= steps && !leads {
        return real(0.0);
    }
    if whole {
        let stalled = STALLED < left && left < real(1.0);
        return max(proximal * select(SHRINK, SHRINK_STALLED, stalled), least_proximal());
    }
    let careful = max(proximal, CAREFUL);
    return select(min(careful * GROW, real(1.0)), careful, real(0.0) < share);
}

// Rho, or 1 where there is none.
fn some(rho: real) -> real {
    return select(real(1.0), rho, real(0.0) < rho);
}

// Derivative of the strict map T at y: symmetric but for the normal's row, which has the diagonal alone.
struct Derivative {
    p00: real,
    p01: real,
    p02: real,
    p11: real,
    p12: real,
    p22: real,
}

fn derivative(mu: real, y: vec3<real>) -> Derivative {
    let zero = real(0.0);
    let one = real(1.0);
    let stick = local_inside(mu, y);
    let pressed = select(zero, one, stick || zero < y.z);
    let length = max(sqrt(fma(y.x, y.x, y.y * y.y)), real(1e-30));
    let d = vec2<real>(y.x / length, y.y / length);
    let slips = select(pressed, zero, stick);
    let across = slips * mu * y.z / length;
    return Derivative(
        select(across * (one - d.x * d.x), one, stick),
        select(-(across * d.x * d.y), zero, stick),
        slips * mu * d.x,
        select(across * (one - d.y * d.y), one, stick),
        slips * mu * d.y,
        pressed,
    );
}
