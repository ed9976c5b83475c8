// Slope and kinks of the biases of gaps and of bilateral rows: the twin of kink.rs. Settings: 1/h, fraction, largest
// speed.

fn kink_slope(error: real, settings: vec3<real>, closed: real) -> real {
    let speed = error * settings.x;
    let undone = select(real(0.0), settings.y * settings.x, -settings.z < settings.y * speed);
    return select(undone, settings.x, -closed < speed);
}

// How far from its kinks the bias of a gap is, and 1 where the gap is just closed, else 0.
fn kink(error: real, settings: vec3<real>, closed: real) -> vec2<real> {
    let zero = real(0.0);
    let one = real(1.0);
    let speed = error * settings.x;
    let capped = abs(fma(settings.y, speed, settings.z));
    // All of a violation undone at once: the slope is the same on either side.
    let whole = one <= settings.y && settings.y <= one;
    let near = abs(speed) < closed;
    return vec2<real>(select(min(abs(speed), capped), capped, near || whole), select(zero, one, near && !whole));
}

fn kink_bilateral(error: real, settings: vec3<real>) -> vec2<real> {
    let size = abs(settings.y * error * settings.x);
    return vec2<real>(select(real(0.0), settings.y * settings.x, size < settings.z), abs(size - settings.z));
}
