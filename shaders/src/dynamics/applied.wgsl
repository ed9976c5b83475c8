// Applied forces. See applied.rs.
#import math
#import dynamics/tree
#import dynamics/force_record
#import dynamics/carried
#import dynamics/activation

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read> pull: array<real>;
@group(0) @binding(7) var<storage, read_write> momentum: array<real>;
@group(0) @binding(8) var<storage, read_write> b: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    pose: u32,
    motion: u32,
    pull: u32,
    m: u32,
    v: u32,
}

// A force along a path: how much, how it falls with length and rate, and that rate.
struct Law {
    force: real,
    stiffness: real,
    damping: real,
    speed: real,
}

// Moment and force of a fluid in a frame of a body, and the drag in them per velocity.
struct Fluid {
    moment: vec3<real>,
    force: vec3<real>,
    by_spin: vec3<real>,
    by_shift: vec3<real>,
}

// A fluid's force on a body at a point of it.
struct Drag {
    point: vec3<real>,
    turn: vec4<real>,
    fluid: Fluid,
    spin: vec3<real>,
    shift: vec3<real>,
}

// What scales a path's length and force.
fn gear(base: Bases, record: ForceRecord) -> real {
    if record.geared == 0u {
        return real(1.0);
    }
    return param_at(base.param, actuator_param(record.actuator) + PARAM_ACTUATOR_GEAR);
}

// Adds a force along a path.
fn add_along(base: Bases, path: PathRecord, impulse: real) {
    let arms = base.pull + (path.pull + 1u) * TILE;
    for (var k = 0u; k < path.dof_count; k++) {
        let at = base.v + path_dof(path, k) * TILE;
        b[at] = fma(pull[arms + k * TILE], impulse, b[at]);
    }
}

// Adds a multiple of `g g^T` to the matrix.
fn add_implicit(base: Bases, path: PathRecord, implicit: real) {
    let arms = base.pull + (path.pull + 1u) * TILE;
    for (var k = 0u; k < path.dof_count; k++) {
        let dof = dof_record(path_dof(path, k));
        let scaled = implicit * pull[arms + k * TILE];
        for (var l = 0u; l <= k; l++) {
            let chain = dof_record(path_dof(path, l)).chain;
            let at = base.m + (dof.m_begin + dof.chain - chain) * TILE;
            momentum[at] = fma(scaled, pull[arms + l * TILE], momentum[at]);
        }
    }
}

// The part of a body's weight that is carried, times h.
fn weight(base: Bases, record: ForceRecord, h: real) {
    let at = body_param(record.on);
    let fraction = param_at(base.param, record.param + PARAM_FORCE_FRACTION);
    let lift = param_at3(base.param, PARAM_GRAVITY) * (-(h * fraction * param_at(base.param, at + PARAM_BODY_MASS)));
    let point = place(base.pose, record.on, param_at3(base.param, at + PARAM_BODY_COM));
    add_wrench(base, record, point, vec3<real>(real(0.0), real(0.0), real(0.0)), lift);
}

// Adds what a moment, and a force at a point of a body, do.
fn add_wrench(base: Bases, record: ForceRecord, point: vec3<real>, moment: vec3<real>, force: vec3<real>) {
    var i = body_record(record.on).chain_dof;
    for (var n = 0u; n < dims.tree.n_v && i != NONE; n++) {
        let dof = dof_record(i);
        if carries(dof, record.on) != real(0.0) {
            b[base.v + i * TILE] +=
                dot3(force, point_motion(base.motion, i, point)) + dot3(moment, motion3(base.motion, i));
        }
        i = dof.parent;
    }
}

// The force along a path.
fn law(base: Bases, record: ForceRecord, path: PathRecord, gear: real) -> Law {
    let from_path = base.pull + path.pull * TILE;
    let length = gear * pull[from_path];
    var speed = real(0.0);
    for (var k = 0u; k < path.dof_count; k++) {
        let v = state[base.state + (dims.tree.n_q + path_dof(path, k)) * TILE];
        speed = fma(pull[from_path + (1u + k) * TILE], v, speed);
    }
    speed = gear * speed;
    if record.kind == FORCE_SPRING {
        return spring(base, record, length, speed);
    }
    return actuator(base, record, length, speed);
}

// A spring that is slack between two lengths, and a damper.
fn spring(base: Bases, record: ForceRecord, length: real, speed: real) -> Law {
    let low = param_at(base.param, record.param + PARAM_FORCE_SLACK);
    let high = param_at(base.param, record.param + PARAM_FORCE_SLACK + 1u);
    let beyond = max(length - high, real(0.0)) + min(length - low, real(0.0));
    let slack = low <= length && length <= high && low < high;
    let stiffness = select(param_at(base.param, record.param + PARAM_FORCE_STIFFNESS), real(0.0), slack);
    let damping = param_at(base.param, record.param + PARAM_FORCE_DAMPING);
    return Law(-fma(stiffness, beyond, damping * speed), stiffness, damping, speed);
}

// The force of an actuator, clamped.
fn actuator(base: Bases, record: ForceRecord, length: real, speed: real) -> Law {
    let own = actuator_param(record.actuator);
    var input = bounded_control(base.param, base.state, record);
    if record.act != NONE {
        let act = state[base.state + (act_at() + record.act) * TILE];
        let next = next_activation(base.param, record, input, act);
        input = select(act, next, record.early == 1u);
    }
    let bias = param_at3(base.param, own + PARAM_ACTUATOR_BIAS);
    let by_length = param_at(base.param, record.param + PARAM_FORCE_GAIN);
    let by_speed = param_at(base.param, record.param + PARAM_FORCE_GAIN + 1u);
    var gain = fma(by_speed, speed, fma(by_length, length, param_at(base.param, own + PARAM_ACTUATOR_GAIN)));
    var stiffness = -fma(by_length, input, bias.y);
    var damping = -fma(by_speed, input, bias.z);
    var force = fma(bias.z, speed, fma(bias.y, length, bias.x));
    if record.muscle != 0u {
        let peak = param_at(base.param, record.param + PARAM_FORCE_PEAK);
        let optimum = param_at(base.param, record.param + PARAM_FORCE_OPTIMUM);
        let size = length / optimum + param_at(base.param, record.param + PARAM_FORCE_OPTIMUM + 1u);
        let least = param_at(base.param, record.param + PARAM_FORCE_REACH);
        let most = param_at(base.param, record.param + PARAM_FORCE_REACH + 1u);
        let curves = param_at3(base.param, record.param + PARAM_FORCE_CURVES);
        if (record.muscle & MUSCLE_ACTIVE) != 0u {
            let pace = real(1.0) / max(optimum * curves.x, LEAST);
            let strength = -(peak * muscle_length(size, least, most));
            let value = muscle_velocity(speed * pace, curves.z);
            gain = strength * value.x;
            stiffness = -bias.y;
            damping = -fma(strength * value.y * pace, input, bias.z);
        }
        if (record.muscle & MUSCLE_PASSIVE) != 0u {
            force -= peak * curves.y * muscle_passive(size, most);
        }
    }
    force = fma(gain, input, force);
    let limits = own + PARAM_ACTUATOR_FORCE;
    let clamped = clamp_keep(force, param_at(base.param, limits), param_at(base.param, limits + 1u));
    let implicit = clamped <= force && force <= clamped && record.implicit == 1u;
    return Law(
        clamped,
        select(real(0.0), max(stiffness, real(0.0)), implicit),
        select(real(0.0), max(damping, real(0.0)), implicit),
        speed,
    );
}

// Active force of a muscle over its normalised length.
fn muscle_length(size: real, least: real, most: real) -> real {
    let one = real(1.0);
    let a = real(0.5) * (least + one);
    let b = real(0.5) * (one + most);
    let low = size < one;
    let away = select((size - one) / (b - one), (one - size) / (one - a), low);
    let edge = select((most - size) / (most - b), (size - least) / (a - least), low);
    let middle = a <= size && size <= b;
    let value = select(real(0.5) * edge * edge, fma(real(-0.5) * away, away, one), middle);
    return select(real(0.0), value, least <= size && size <= most);
}

// Active force of a muscle over its normalised velocity, and the slope.
fn muscle_velocity(pace: real, stretched: real) -> vec2<real> {
    let y = stretched - real(1.0);
    let inverse = real(1.0) / max(y, LEAST);
    let rising = pace + real(1.0);
    let missing = y - pace;
    let long = real(0.0) < pace;
    let value = select(rising * rising, fma(-missing * missing, inverse, stretched), long);
    let slope = select(real(2.0) * rising, real(2.0) * missing * inverse, long);
    let stopped = pace <= real(-1.0);
    let full = y < pace && long;
    return vec2<real>(
        select(select(value, stretched, full), real(0.0), stopped), select(slope, real(0.0), stopped || full),
    );
}

// Passive force of a muscle over its normalised length.
fn muscle_passive(size: real, most: real) -> real {
    let x = (size - real(1.0)) / (real(0.5) * (most - real(1.0)));
    let stretched = select(x - real(0.5), real(0.5) * x * x, x <= real(1.0));
    return select(stretched, real(0.0), size <= real(1.0));
}

// The force of a fluid on a body.
fn drag(base: Bases, record: ForceRecord) -> Drag {
    let frame = record.param + PARAM_FORCE_FRAME;
    let point = place(base.pose, record.on, param_at3(base.param, frame));
    let turn = quat_mul(orientation(base.pose, record.on), param_at4(base.param, frame + 3u));
    var angular = vec3<real>(real(0.0), real(0.0), real(0.0));
    var linear = angular;
    var i = body_record(record.on).chain_dof;
    for (var n = 0u; n < dims.tree.n_v && i != NONE; n++) {
        let dof = dof_record(i);
        if carries(dof, record.on) != real(0.0) {
            let v = state[base.state + (dims.tree.n_q + i) * TILE];
            angular += motion3(base.motion, i) * v;
            linear += point_motion(base.motion, i, point) * v;
        }
        i = dof.parent;
    }
    let back = quat_conjugate(turn);
    let spin = quat_rotate(back, angular);
    let shift = quat_rotate(back, linear);
    let through = shift - quat_rotate(back, param_at3(base.param, record.param + PARAM_FORCE_FLUID + 2u));
    return Drag(point, turn, fluid(base, record, spin, through), spin, shift);
}

// Moment and force on a body that spins and moves through a fluid, and its drag per velocity; all in its own frame.
fn fluid(base: Bases, record: ForceRecord, spin: vec3<real>, through: vec3<real>) -> Fluid {
    if record.kind == FORCE_BOX {
        return fluid_box(base, record, spin, through);
    }
    return fluid_ellipsoid(base, record, spin, through);
}

// Moment and force on a box that spins and moves through a fluid, and its drag per velocity.
fn fluid_box(base: Bases, record: ForceRecord, spin: vec3<real>, through: vec3<real>) -> Fluid {
    let density = param_at(base.param, record.param + PARAM_FORCE_FLUID);
    let viscosity = param_at(base.param, record.param + PARAM_FORCE_FLUID + 1u);
    let edge = param_at3(base.param, record.param + PARAM_FORCE_EXTENT);
    let pi = real(3.141592653589793);
    let diameter = (edge.x + edge.y + edge.z) * real(1.0 / 3.0);
    let faces = vec3<real>(edge.y * edge.z, edge.z * edge.x, edge.x * edge.y);
    let by_shift = vec3<real>(real(1.0), real(1.0), real(1.0)) * (real(3.0) * pi * diameter * viscosity)
        + abs(through) * faces * (real(0.5) * density);
    let squares = edge * edge;
    let fourth = squares * squares;
    let others = vec3<real>(fourth.y + fourth.z, fourth.z + fourth.x, fourth.x + fourth.y);
    let by_spin = vec3<real>(real(1.0), real(1.0), real(1.0)) * (pi * diameter * diameter * diameter * viscosity)
        + abs(spin) * edge * others * (density * real(1.0 / 64.0));
    return Fluid(-(by_spin * spin), -(by_shift * through), by_spin, by_shift);
}

// The same of an ellipsoid, with added mass, Magnus's and Kutta's lift.
fn fluid_ellipsoid(base: Bases, record: ForceRecord, spin: vec3<real>, through: vec3<real>) -> Fluid {
    let at = record.param;
    let density = param_at(base.param, at + PARAM_FORCE_FLUID);
    let viscosity = param_at(base.param, at + PARAM_FORCE_FLUID + 1u);
    let s = param_at3(base.param, at + PARAM_FORCE_EXTENT);
    let blunt = param_at(base.param, at + PARAM_FORCE_DRAG);
    let slender = param_at(base.param, at + PARAM_FORCE_DRAG + 1u);
    let angular = param_at(base.param, at + PARAM_FORCE_DRAG + 2u);
    let kutta = param_at(base.param, at + PARAM_FORCE_DRAG + 3u);
    let magnus = param_at(base.param, at + PARAM_FORCE_DRAG + 4u);
    let pi = real(3.141592653589793);
    // Added mass.
    let carried = param_at3(base.param, at + PARAM_FORCE_ADDED) * through * density;
    let turned = param_at3(base.param, at + PARAM_FORCE_ADDED + 3u) * spin * density;
    var force = cross3(carried, spin);
    let moment = cross3(carried, through) + cross3(turned, spin);
    // Lift of what spins.
    let volume = real(4.0 / 3.0) * pi * s.x * s.y * s.z;
    force += cross3(spin, through) * (magnus * density * volume);
    // Lift of what moves aslant, by the projection of the ellipsoid along its velocity.
    let largest = max(max(s.x, s.y), s.z);
    let smallest = min(min(s.x, s.y), s.z);
    let middle = s.x + s.y + s.z - largest - smallest;
    let faces = vec3<real>(s.y * s.z, s.z * s.x, s.x * s.y);
    let normal = faces * faces * through;
    let across = dot3(normal, normal);
    let along = dot3(normal, through);
    let speed = sqrt(dot3(through, through));
    let projected = pi * sqrt(across / max(along, LEAST));
    let cosine = along / max(speed * across, LEAST);
    let circulation = cross3(normal, through) * (kutta * density * cosine * projected);
    force += cross3(circulation, through);
    // Drag, viscous and by pressure.
    let diameter = real(2.0 / 3.0) * (s.x + s.y + s.z);
    let widest = pi * largest * middle;
    let area = fma(projected, blunt, slender * (widest - projected));
    let drag = fma(real(3.0) * pi * diameter, viscosity, density * speed * area);
    let inertia = real(8.0 / 15.0) * pi;
    let most = inertia * middle * (largest * largest * largest * largest);
    let other = vec3<real>(max(s.y, s.z), max(s.z, s.x), max(s.x, s.y));
    let own = s * (other * other * other * other) * inertia;
    let resisted = spin * (own * angular + (vec3<real>(most, most, most) - own) * slender);
    let twist = fma(
        pi * diameter * diameter * diameter, viscosity, density * sqrt(dot3(resisted, resisted)),
    );
    return Fluid(
        moment - spin * twist,
        force - through * drag,
        vec3<real>(twist, twist, twist),
        vec3<real>(drag, drag, drag),
    );
}

// Adds a fluid's force, with its drag at the end of the step.
fn add_drag(base: Bases, record: ForceRecord, drag: Drag, h: real) {
    let moment = quat_rotate(drag.turn, drag.fluid.moment + drag.fluid.by_spin * drag.spin) * h;
    let force = quat_rotate(drag.turn, drag.fluid.force + drag.fluid.by_shift * drag.shift) * h;
    add_wrench(base, record, drag.point, moment, force);
    let back = quat_conjugate(drag.turn);
    var i = body_record(record.on).chain_dof;
    for (var n = 0u; n < dims.tree.n_v && i != NONE; n++) {
        let dof = dof_record(i);
        if carries(dof, record.on) != real(0.0) {
            let spun = quat_rotate(back, motion3(base.motion, i));
            let shifted = quat_rotate(back, point_motion(base.motion, i, drag.point));
            let m = quat_rotate(drag.turn, drag.fluid.by_spin * spun) * h;
            let f = quat_rotate(drag.turn, drag.fluid.by_shift * shifted) * h;
            var j = i;
            for (var k = 0u; k < dof.chain; k++) {
                let above = dof_record(j);
                if carries(above, record.on) != real(0.0) {
                    momentum[base.m + (dof.m_begin + k) * TILE] +=
                        dot3(f, point_motion(base.motion, j, drag.point)) + dot3(m, motion3(base.motion, j));
                }
                j = above.parent;
            }
        }
        i = dof.parent;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let base = Bases(
        param_base(lane),
        tile_base(lane, n_state()),
        tile_base(lane, POSE * dims.tree.n_body),
        tile_base(lane, SPATIAL * dims.tree.n_v),
        tile_base(lane, dims.tree.n_pull),
        tile_base(lane, dims.tree.n_m),
        tile_base(lane, dims.tree.n_v),
    );
    let h = param_at(base.param, PARAM_TIMESTEP);
    for (var n = 0u; n < dims.tree.n_force; n++) {
        let record = force_record(n);
        switch record.kind {
            case FORCE_WEIGHT: { weight(base, record, h); }
            case FORCE_SPRING, FORCE_ACTUATOR: {
                let path = path_record(record.on);
                let gear = gear(base, record);
                let law = law(base, record, path, gear);
                add_along(base, path, gear * (h * fma(law.damping, law.speed, law.force)));
                if record.implicit == 1u {
                    add_implicit(base, path, gear * gear * (h * fma(h, law.stiffness, law.damping)));
                }
            }
            default: {
                let drag = drag(base, record);
                add_drag(base, record, drag, h);
            }
        }
    }
}
