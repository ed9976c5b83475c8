// Activations. See activation.rs. The importing kernel imports math and dynamics/tree and binds `state`.

// The control of an actuator within its bounds.
fn bounded_control(param: u32, state_base: u32, record: ForceRecord) -> real {
    let limits = actuator_param(record.actuator) + PARAM_ACTUATOR_CONTROL;
    let control = state[state_base + (dims.tree.n_q + dims.tree.n_v + record.actuator) * TILE];
    return clamp_keep(control, param_at(param, limits), param_at(param, limits + 1u));
}

// The activation at the end of a step that begins with `act`; without dynamics the control.
fn next_activation(param: u32, record: ForceRecord, control: real, act: real) -> real {
    if record.act == NONE {
        return control;
    }
    let h = param_at(param, PARAM_TIMESTEP);
    let times = param_at3(param, record.param + PARAM_FORCE_TIMES);
    let time = max(times.x, LEAST_TIME);
    var next = act;
    switch record.dynamics {
        case RATE_INTEGRATOR: { next = fma(h, control, act); }
        case RATE_FILTER: { next = fma(h / time, control - act, act); }
        case RATE_FILTER_EXACT: { next = fma(decayed(h / time), control - act, act); }
        default: { next = muscle_activation(times, h, control, act); }
    }
    let limits = record.param + PARAM_FORCE_RANGE;
    return clamp_keep(next, param_at(param, limits), param_at(param, limits + 1u));
}

// `1 - exp(-x)` for x not below zero.
fn decayed(x: real) -> real {
    let part = min(x, FOREVER) * real(0.00390625);
    var sum = real(1.0);
    for (var k = 0u; k < TERMS; k++) {
        sum = fma(-part * (real(1.0) / real(TERMS + 1u - k)), sum, real(1.0));
    }
    sum = part * sum;
    for (var k = 0u; k < DOUBLINGS; k++) {
        sum = sum * (real(2.0) - sum);
    }
    return sum;
}

// A filter that rises and falls in different times.
fn muscle_activation(times: vec3<real>, h: real, control: real, act: real) -> real {
    let slow = fma(real(1.5), clamp_keep(act, real(0.0), real(1.0)), real(0.5));
    let rising = times.x * slow;
    let falling = times.y / slow;
    let excess = clamp_keep(control, real(0.0), real(1.0)) - act;
    let smooth_change = LEAST_TIME <= times.z;
    let width = select(real(1.0), times.z, smooth_change);
    let x = clamp_keep(excess / width + real(0.5), real(0.0), real(1.0));
    let ramp = x * x * x * fma(x, fma(x, real(6.0), real(-15.0)), real(10.0));
    let part = select(select(real(0.0), real(1.0), real(0.0) < excess), ramp, smooth_change);
    let time = fma(part, rising - falling, falling);
    return fma(h / max(time, LEAST_TIME), excess, act);
}
