//! Applied forces: weight that is carried, springs and dampers along tendons, actuators that are no simple drive of a joint,
//! and the drag of a fluid. Added to what [`momentum`](super::momentum) made, where a tree has any.
//!
//! Along a path with the moment arms g, `b += h (f + d s) g` and `A += (h d + h^2 k) g g^T`, where s is the rate of its length
//! and d and k are how f falls with rate and length: taken at the end of the step where f is within its bounds, as other
//! springs and drives are. A fluid's drag is a matrix times the velocity; the matrix is that of the start of the step, the
//! velocity that of its end. Lift and what a fluid's added mass does are those of the start.

use crate::args::Args;
use crate::dynamics::activation::{bounded_control, next_activation};
use crate::dynamics::carried::{moves_body, orientation, place};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    ForceRecord, NONE, POSE, Params, PathRecord, SPATIAL, Tree, actuator_param, body_param, force, muscle, nth,
    nth_mut, param, point_motion, tile_params,
};
use crate::math::{Quat, Vec3, add, clamp, cross, dot, load3, quat_conjugate, quat_mul, quat_rotate, scale, sub, zero};
use crate::real::Real;

/// Divisors below this count as this.
const LEAST: f64 = 1e-15;

/// A force along a path: how much, how it falls with length and rate, and that rate.
#[derive(Debug, Clone, Copy)]
pub struct Law<R> {
    /// Before the gear.
    pub force: R,
    /// By length.
    pub stiffness: R,
    /// By rate.
    pub damping: R,
    /// The rate, times the gear.
    pub speed: R,
}

/// A fluid's force on a body at a point of it, in a frame of it: moment and force, and the drag in them per velocity.
struct Drag<R> {
    point: Vec3<R>,
    turn: Quat<R>,
    moment: Vec3<R>,
    force: Vec3<R>,
    by_spin: Vec3<R>,
    by_shift: Vec3<R>,
    spin: Vec3<R>,
    shift: Vec3<R>,
}

/// `state`, `pose`, `motion`, `pull` `[n_pull]` to `momentum` `[n_m]` and `b` `[n_v]` of one tile of lanes.
pub fn applied<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    pose: &[R],
    motion: &[R],
    pull: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    for record in tree.forces {
        add_force(tree, params, record, state, pose, motion, pull, momentum, b);
    }
}

/// What one force of the tree adds.
#[inline(always)]
fn add_force<R: Real>(
    tree: &Tree,
    params: Params<R>,
    record: &ForceRecord,
    state: &[R],
    pose: &[R],
    motion: &[R],
    pull: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    let h = params.at(param::TIMESTEP);
    match record.kind {
        force::WEIGHT => weight(tree, params, record, pose, motion, h, b),
        force::SPRING | force::ACTUATOR => {
            let path = &tree.paths[record.on as usize];
            let gear = gear(tree, params, record);
            let law = law(tree, params, record, path, gear, state, pull);
            let impulse = h * law.damping.mul_add(law.speed, law.force);
            add_along(tree, path, gear * impulse, pull, b);
            if record.implicit == 1 {
                let implicit = h * h.mul_add(law.stiffness, law.damping);
                add_implicit(tree, path, gear * gear * implicit, pull, momentum);
            }
        }
        _ => {
            let drag = drag(tree, params, record, state, pose, motion);
            add_drag(tree, record, &drag, motion, h, momentum, b);
        }
    }
}

/// Adds applied forces at a state as they are: `passive` ones, those of actuators, and what compensates gravity; `[n_v]` each. For
/// hosts; it has no kernel.
pub fn applied_at<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    pose: &[R],
    motion: &[R],
    pull: &[R],
    [passive, active, lift]: [&mut [R]; 3],
) {
    for record in tree.forces {
        match record.kind {
            force::WEIGHT => weight(tree, params, record, pose, motion, R::lit(1.0), lift),
            force::SPRING | force::ACTUATOR => {
                let path = &tree.paths[record.on as usize];
                let gear = gear(tree, params, record);
                let law = law(tree, params, record, path, gear, state, pull);
                let out = if record.kind == force::SPRING { &mut *passive } else { &mut *active };
                add_along(tree, path, gear * law.force, pull, out);
            }
            _ => {
                let drag = drag(tree, params, record, state, pose, motion);
                let (moment, force) = (quat_rotate(drag.turn, drag.moment), quat_rotate(drag.turn, drag.force));
                add_wrench(tree, record, motion, drag.point, moment, force, passive);
            }
        }
    }
}

/// Forces of actuators along their paths at a state, before the gear, by number of the actuator; others stay as they are. For
/// hosts; it has no kernel.
pub fn actuators_at<R: Real>(tree: &Tree, params: Params<R>, state: &[R], pull: &[R], out: &mut [R]) {
    for record in tree.forces.iter().filter(|record| record.kind == force::ACTUATOR) {
        let path = &tree.paths[record.on as usize];
        let law = law(tree, params, record, path, gear(tree, params, record), state, pull);
        out[record.actuator as usize] = law.force;
    }
}

/// What scales a path's length and force.
#[inline(always)]
pub fn gear<R: Real>(tree: &Tree, params: Params<R>, record: &ForceRecord) -> R {
    if record.geared == 0 {
        return R::lit(1.0);
    }
    params.at(actuator_param(tree.dims, record.actuator as usize) + param::ACTUATOR_GEAR)
}

/// Adds a force along a path.
#[inline(always)]
fn add_along<R: Real>(tree: &Tree, path: &PathRecord, impulse: R, pull: &[R], b: &mut [R]) {
    let arms = &pull[path.pull as usize + 1..];
    for (k, &i) in tree.path_dofs(path).iter().enumerate() {
        b[i as usize] = arms[k].mul_add(impulse, b[i as usize]);
    }
}

/// Adds a multiple of `g g^T` to the matrix: dofs of a path that has such a part are parents of one another.
#[inline(always)]
fn add_implicit<R: Real>(tree: &Tree, path: &PathRecord, implicit: R, pull: &[R], momentum: &mut [R]) {
    let arms = &pull[path.pull as usize + 1..];
    let dofs = tree.path_dofs(path);
    for (k, &i) in dofs.iter().enumerate() {
        let dof = &tree.dofs[i as usize];
        let scaled = implicit * arms[k];
        for (l, &j) in dofs[..=k].iter().enumerate() {
            let at = (dof.m_begin + dof.chain - tree.dofs[j as usize].chain) as usize;
            momentum[at] = scaled.mul_add(arms[l], momentum[at]);
        }
    }
}

/// The part of a body's weight that is carried, times h.
#[inline(always)]
fn weight<R: Real>(tree: &Tree, params: Params<R>, record: &ForceRecord, pose: &[R], motion: &[R], h: R, b: &mut [R]) {
    let at = body_param(record.on as usize);
    let fraction = params.at(record.param as usize + param::FORCE_FRACTION);
    let lift = scale(params.at3(param::GRAVITY), -(h * fraction * params.at(at + param::BODY_MASS)));
    let point = place(pose, record.on, params.at3(at + param::BODY_COM));
    add_wrench(tree, record, motion, point, zero(), lift, b);
}

/// Adds what a moment, and a force at a point of a body, do.
#[inline(always)]
fn add_wrench<R: Real>(
    tree: &Tree,
    record: &ForceRecord,
    motion: &[R],
    point: Vec3<R>,
    moment: Vec3<R>,
    force: Vec3<R>,
    b: &mut [R],
) {
    let mut i = tree.bodies[record.on as usize].chain_dof;
    while i != NONE {
        let dof = &tree.dofs[i as usize];
        let at = i as usize;
        if moves_body(dof, record.on) {
            let work = dot(force, point_motion(motion, at, point)) + dot(moment, load3(motion, at * SPATIAL));
            b[at] += work;
        }
        i = dof.parent;
    }
}

/// The force along a path.
#[inline(always)]
fn law<R: Real>(
    tree: &Tree,
    params: Params<R>,
    record: &ForceRecord,
    path: &PathRecord,
    gear: R,
    state: &[R],
    pull: &[R],
) -> Law<R> {
    let length = gear * pull[path.pull as usize];
    let mut speed = R::lit(0.0);
    for (k, &i) in tree.path_dofs(path).iter().enumerate() {
        speed = pull[path.pull as usize + 1 + k].mul_add(state[tree.dims.v_at() + i as usize], speed);
    }
    law_at(tree, params, record, length, gear * speed, state)
}

/// The force along a path of this length that grows at this speed, both times the gear.
#[inline(always)]
pub fn law_at<R: Real>(
    tree: &Tree,
    params: Params<R>,
    record: &ForceRecord,
    length: R,
    speed: R,
    state: &[R],
) -> Law<R> {
    if record.kind == force::SPRING {
        return spring(params, record, length, speed);
    }
    actuator(tree, params, record, length, speed, state)
}

/// A spring that is slack between two lengths, and a damper.
#[inline(always)]
fn spring<R: Real>(params: Params<R>, record: &ForceRecord, length: R, speed: R) -> Law<R> {
    let at = record.param as usize;
    let zero = R::lit(0.0);
    let (low, high) = (params.at(at + param::FORCE_SLACK), params.at(at + param::FORCE_SLACK + 1));
    let beyond = (length - high).max(zero) + (length - low).min(zero);
    let slack = low.le(length) & length.le(high) & low.lt(high);
    let stiffness = R::select(slack, zero, params.at(at + param::FORCE_STIFFNESS));
    let damping = params.at(at + param::FORCE_DAMPING);
    Law { force: -(stiffness.mul_add(beyond, damping * speed)), stiffness, damping, speed }
}

/// The force of an actuator, clamped; what falls with length and rate counts as falling where it is not.
#[inline(always)]
fn actuator<R: Real>(tree: &Tree, params: Params<R>, record: &ForceRecord, length: R, speed: R, state: &[R]) -> Law<R> {
    let zero = R::lit(0.0);
    let (at, own) = (record.param as usize, actuator_param(tree.dims, record.actuator as usize));
    let mut input = bounded_control(tree, params, record, state);
    if record.act != NONE {
        let act = state[tree.dims.act_at() + record.act as usize];
        let next = next_activation(params, record, input, act);
        input = if record.early == 1 { next } else { act };
    }
    let [constant, position, velocity] = params.at3(own + param::ACTUATOR_BIAS);
    let by_length = params.at(at + param::FORCE_GAIN);
    let by_speed = params.at(at + param::FORCE_GAIN + 1);
    let mut gain = by_speed.mul_add(speed, by_length.mul_add(length, params.at(own + param::ACTUATOR_GAIN)));
    let mut stiffness = -by_length.mul_add(input, position);
    let mut damping = -by_speed.mul_add(input, velocity);
    let mut force = velocity.mul_add(speed, position.mul_add(length, constant));
    if record.muscle != 0 {
        let peak = params.at(at + param::FORCE_PEAK);
        let optimum = params.at(at + param::FORCE_OPTIMUM);
        let size = length / optimum + params.at(at + param::FORCE_OPTIMUM + 1);
        let (least, most) = (params.at(at + param::FORCE_REACH), params.at(at + param::FORCE_REACH + 1));
        let [fastest, passive, stretched] = params.at3(at + param::FORCE_CURVES);
        if record.muscle & muscle::ACTIVE != 0 {
            let pace = R::lit(1.0) / (optimum * fastest).max(R::lit(LEAST));
            let strength = -(peak * muscle_length(size, least, most));
            let [value, slope] = muscle_velocity(speed * pace, stretched);
            gain = strength * value;
            stiffness = -position;
            damping = -(strength * slope * pace).mul_add(input, velocity);
        }
        if record.muscle & muscle::PASSIVE != 0 {
            force -= peak * passive * muscle_passive(size, most);
        }
    }
    force = gain.mul_add(input, force);
    let limits = own + param::ACTUATOR_FORCE;
    let clamped = clamp(force, params.at(limits), params.at(limits + 1));
    let within = clamped.le(force) & force.le(clamped);
    let implicit = R::lit(if record.implicit == 1 { 1.0 } else { 0.0 });
    Law {
        force: clamped,
        stiffness: R::select(within, stiffness.max(zero), zero) * implicit,
        damping: R::select(within, damping.max(zero), zero) * implicit,
        speed,
    }
}

/// Active force of a muscle over its normalised length.
#[inline(always)]
fn muscle_length<R: Real>(size: R, least: R, most: R) -> R {
    let (zero, one, half) = (R::lit(0.0), R::lit(1.0), R::lit(0.5));
    let (a, b) = (half * (least + one), half * (one + most));
    // Halves of parabolas: upwards to a, over the top to b, and down.
    let low = size.lt(one);
    let away = R::select(low, (one - size) / (one - a), (size - one) / (b - one));
    let edge = R::select(low, (size - least) / (a - least), (most - size) / (most - b));
    let middle = a.le(size) & size.le(b);
    let value = R::select(middle, (-half * away).mul_add(away, one), half * edge * edge);
    R::select(least.le(size) & size.le(most), value, zero)
}

/// Active force of a muscle over its normalised velocity, and the slope.
#[inline(always)]
fn muscle_velocity<R: Real>(pace: R, stretched: R) -> [R; 2] {
    let (zero, one, two) = (R::lit(0.0), R::lit(1.0), R::lit(2.0));
    let y = stretched - one;
    let inverse = one / y.max(R::lit(LEAST));
    let rising = pace + one;
    let missing = y - pace;
    let long = zero.lt(pace);
    let value = R::select(long, (-missing * missing).mul_add(inverse, stretched), rising * rising);
    let slope = R::select(long, two * missing * inverse, two * rising);
    let (stopped, full) = (pace.le(-one), y.lt(pace) & long);
    let value = R::select(full, stretched, value);
    [R::select(stopped, zero, value), R::select(stopped | full, zero, slope)]
}

/// Passive force of a muscle over its normalised length.
#[inline(always)]
fn muscle_passive<R: Real>(size: R, most: R) -> R {
    let (zero, one, half) = (R::lit(0.0), R::lit(1.0), R::lit(0.5));
    let x = (size - one) / (half * (most - one));
    R::select(size.le(one), zero, R::select(x.le(one), half * x * x, x - half))
}

/// The force of a fluid on a body.
#[inline(always)]
fn drag<R: Real>(
    tree: &Tree,
    params: Params<R>,
    record: &ForceRecord,
    state: &[R],
    pose: &[R],
    motion: &[R],
) -> Drag<R> {
    let frame = record.param as usize + param::FORCE_FRAME;
    let point = place(pose, record.on, params.at3(frame));
    let turn = quat_mul(orientation(pose, record.on), params.at4(frame + 3));
    let (mut angular, mut linear) = (zero(), zero());
    let mut i = tree.bodies[record.on as usize].chain_dof;
    while i != NONE {
        let dof = &tree.dofs[i as usize];
        let at = i as usize;
        if moves_body(dof, record.on) {
            let v = state[tree.dims.v_at() + at];
            angular = add(angular, scale(load3(motion, at * SPATIAL), v));
            linear = add(linear, scale(point_motion(motion, at, point), v));
        }
        i = dof.parent;
    }
    let into = |x: Vec3<R>| quat_rotate(quat_conjugate(turn), x);
    let (spin, shift) = (into(angular), into(linear));
    let wind = into(params.at3(record.param as usize + param::FORCE_FLUID + 2));
    let through = sub(shift, wind);
    let [moment, force, by_spin, by_shift] = fluid(params, record, spin, through);
    Drag { point, turn, moment, force, by_spin, by_shift, spin, shift }
}

/// Moment and force on a body that spins and moves through a fluid, and its drag per velocity; all in its own frame.
#[inline(always)]
pub fn fluid<R: Real>(params: Params<R>, record: &ForceRecord, spin: Vec3<R>, through: Vec3<R>) -> [Vec3<R>; 4] {
    if record.kind == force::BOX {
        return fluid_box(params, record, spin, through);
    }
    fluid_ellipsoid(params, record, spin, through)
}

/// Moment and force on a box that spins and moves through a fluid, and its drag per velocity (MuJoCo's inertia-box model).
#[inline(always)]
fn fluid_box<R: Real>(params: Params<R>, record: &ForceRecord, spin: Vec3<R>, through: Vec3<R>) -> [Vec3<R>; 4] {
    let at = record.param as usize;
    let (density, viscosity) = (params.at(at + param::FORCE_FLUID), params.at(at + param::FORCE_FLUID + 1));
    let edge = params.at3(at + param::FORCE_EXTENT);
    let pi = R::lit(std::f64::consts::PI);
    let diameter = (edge[0] + edge[1] + edge[2]) * R::lit(1.0 / 3.0);
    let (mut by_spin, mut by_shift) = (zero(), zero());
    for k in 0..3 {
        let (a, b) = (edge[(k + 1) % 3], edge[(k + 2) % 3]);
        let pressure = R::lit(0.5) * density * a * b * through[k].abs();
        by_shift[k] = (R::lit(3.0) * pi * diameter).mul_add(viscosity, pressure);
        let (a4, b4) = (a * a * a * a, b * b * b * b);
        let pressure = density * edge[k] * (a4 + b4) * spin[k].abs() * R::lit(1.0 / 64.0);
        by_spin[k] = (pi * diameter * diameter * diameter).mul_add(viscosity, pressure);
    }
    let against = |by: Vec3<R>, v: Vec3<R>| [-(by[0] * v[0]), -(by[1] * v[1]), -(by[2] * v[2])];
    [against(by_spin, spin), against(by_shift, through), by_spin, by_shift]
}

/// The same of an ellipsoid, with added mass, Magnus's and Kutta's lift (MuJoCo's ellipsoid model).
#[inline(always)]
fn fluid_ellipsoid<R: Real>(params: Params<R>, record: &ForceRecord, spin: Vec3<R>, through: Vec3<R>) -> [Vec3<R>; 4] {
    let at = record.param as usize;
    let (density, viscosity) = (params.at(at + param::FORCE_FLUID), params.at(at + param::FORCE_FLUID + 1));
    let s = params.at3(at + param::FORCE_EXTENT);
    let [blunt, slender, angular] = params.at3(at + param::FORCE_DRAG);
    let (kutta, magnus) = (params.at(at + param::FORCE_DRAG + 3), params.at(at + param::FORCE_DRAG + 4));
    let (pi, least) = (R::lit(std::f64::consts::PI), R::lit(LEAST));
    let times = |a: Vec3<R>, b: Vec3<R>| [a[0] * b[0], a[1] * b[1], a[2] * b[2]];
    // Added mass.
    let carried = scale(times(params.at3(at + param::FORCE_ADDED), through), density);
    let turned = scale(times(params.at3(at + param::FORCE_ADDED + 3), spin), density);
    let mut force = cross(carried, spin);
    let moment = add(cross(carried, through), cross(turned, spin));
    // Lift of what spins.
    let volume = R::lit(4.0 / 3.0) * pi * s[0] * s[1] * s[2];
    force = add(force, scale(cross(spin, through), magnus * density * volume));
    // Lift of what moves aslant, by the projection of the ellipsoid along its velocity.
    let largest = s[0].max(s[1]).max(s[2]);
    let smallest = s[0].min(s[1]).min(s[2]);
    let middle = s[0] + s[1] + s[2] - largest - smallest;
    let faces = [s[1] * s[2], s[2] * s[0], s[0] * s[1]];
    let squares = times(faces, faces);
    let normal = times(squares, through);
    let (across, along) = (dot(normal, normal), dot(normal, through));
    let speed = dot(through, through).sqrt();
    let projected = pi * (across / along.max(least)).sqrt();
    let cosine = along / (speed * across).max(least);
    let circulation = scale(cross(normal, through), kutta * density * cosine * projected);
    force = add(force, cross(circulation, through));
    // Drag, viscous and by pressure.
    let diameter = R::lit(2.0 / 3.0) * (s[0] + s[1] + s[2]);
    let widest = pi * largest * middle;
    let area = projected.mul_add(blunt, slender * (widest - projected));
    let drag = (R::lit(3.0) * pi * diameter).mul_add(viscosity, density * speed * area);
    let fourth = largest * largest * largest * largest;
    let inertia = R::lit(8.0 / 15.0) * pi;
    let most = inertia * middle * fourth;
    let mut resisted = zero();
    for k in 0..3 {
        let other = s[(k + 1) % 3].max(s[(k + 2) % 3]);
        let own = inertia * s[k] * (other * other * other * other);
        resisted[k] = spin[k] * angular.mul_add(own, slender * (most - own));
    }
    let twist = (pi * diameter * diameter * diameter).mul_add(viscosity, density * dot(resisted, resisted).sqrt());
    [sub(moment, scale(spin, twist)), sub(force, scale(through, drag)), [twist, twist, twist], [drag, drag, drag]]
}

/// Adds a fluid's force, with its drag at the end of the step.
#[inline(always)]
fn add_drag<R: Real>(
    tree: &Tree,
    record: &ForceRecord,
    drag: &Drag<R>,
    motion: &[R],
    h: R,
    momentum: &mut [R],
    b: &mut [R],
) {
    let times = |a: Vec3<R>, b: Vec3<R>| [a[0] * b[0], a[1] * b[1], a[2] * b[2]];
    let out = |x: Vec3<R>| scale(quat_rotate(drag.turn, x), h);
    let into = |x: Vec3<R>| quat_rotate(quat_conjugate(drag.turn), x);
    let moment = out(add(drag.moment, times(drag.by_spin, drag.spin)));
    let force = out(add(drag.force, times(drag.by_shift, drag.shift)));
    add_wrench(tree, record, motion, drag.point, moment, force, b);
    let mut i = tree.bodies[record.on as usize].chain_dof;
    while i != NONE {
        let dof = &tree.dofs[i as usize];
        if moves_body(dof, record.on) {
            let moment = out(times(drag.by_spin, into(load3(motion, i as usize * SPATIAL))));
            let force = out(times(drag.by_shift, into(point_motion(motion, i as usize, drag.point))));
            let mut j = i;
            for k in 0..dof.chain {
                let above = &tree.dofs[j as usize];
                if moves_body(above, record.on) {
                    let at = j as usize;
                    let work =
                        dot(force, point_motion(motion, at, drag.point)) + dot(moment, load3(motion, at * SPATIAL));
                    momentum[(dof.m_begin + k) as usize] += work;
                }
                j = above.parent;
            }
        }
        i = dof.parent;
    }
}

/// Buffers: topology, params, state, pose, motion, pull, momentum, b.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion, pull, momentum, b] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        applied(
            &tree,
            tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(motion.tile(), t, SPATIAL as u32 * dims.n_v),
            nth(pull.tile(), t, dims.n_pull),
            nth_mut(momentum.tile_mut(), t, dims.n_m),
            nth_mut(b.tile_mut(), t, dims.n_v),
        );
    }
}
