//! Derivatives of applied forces, those of [`manyworlds_shaders::dynamics::applied`]: along tendons and other paths, carried weight,
//! the drag of a fluid.
//!
//! What one adds to the balance of momentum is `F = A v+ - b` with its own parts of A and b, and v+ held. A force along a path with
//! the moment arms g has `F = c g` with `c = a^2 (h d + h^2 k) g.v+ - a h (f + d s)`, a the gear: the law's slopes by length, rate and
//! input are those of its mirror in dual numbers, and so are those of the moment arms. What acts on bodies is in `on_bodies.rs`.

use manyworlds_shaders::Real;
use manyworlds_shaders::dynamics::applied;
use manyworlds_shaders::dynamics::tree::{ForceRecord, NONE, Params, Tree, force};

use crate::dual::Dual;
use crate::on_bodies::add_on_bodies;
use crate::placed::Placed;
use crate::pool::Pooled;
use crate::rows::Entry;

/// How the balance of momentum of a tree changes with its applied forces, right less left, v+ (`after`) held: entries to be summed, row,
/// column, entry. Columns are q `[n_v]`, v `[n_v]`, ctrl `[n_u]`, act `[n_act]` one behind the other. `frames`: what
/// [`kinematics`](manyworlds_shaders::dynamics::kinematics) makes of the state.
#[must_use]
pub fn slopes_of_applied_forces(
    tree: Tree<'_>,
    params: &[f64],
    state: &[f64],
    frames: [&[f64]; 2],
    after: &[f64],
) -> Vec<(usize, usize, f64)> {
    applied_slopes(&Placed::new(tree, params, state, frames.map(Pooled::copy)), after)
}

/// `-dF` of a tree's applied forces, as [`slopes_of_applied_forces`] gives it.
pub(crate) fn applied_slopes(placed: &Placed, after: &[f64]) -> Vec<Entry> {
    let mut out = Vec::new();
    let tree = &placed.tree;
    if tree.forces.is_empty() {
        return out;
    }
    let mut state = Dual::constants(placed.state);
    for record in tree.forces.iter().filter(|record| is_along(record)) {
        along_path(placed, record, after, &mut state, &mut out);
    }
    add_on_bodies(placed, after, &mut out);
    out
}

/// Whether it acts along a path, or on a body.
pub(crate) fn is_along(record: &ForceRecord) -> bool {
    matches!(record.kind, force::SPRING | force::ACTUATOR)
}

/// What a law depends on, as directions of dual numbers.
const LENGTH: usize = 0;
const SPEED: usize = 1;
const CONTROL: usize = 2;
const ACTIVATION: usize = 3;
/// A number of a law.
type OfLaw = Dual<5>;

fn along_path(placed: &Placed, record: &ForceRecord, after: &[f64], state: &mut [OfLaw], out: &mut Vec<Entry>) {
    let (tree, n, h) = (&placed.tree, placed.n_v(), placed.h());
    let params = Params::<OfLaw>::Shared(placed.params);
    let gear = applied::gear(tree, Params::<f64>::Shared(placed.params), record);
    let arms: Vec<(usize, f64)> = placed.arms(record.on).collect();
    let rate = |v: &[f64]| arms.iter().map(|&(dof, arm)| arm * v[dof]).sum::<f64>();
    let (speed, speed_after) = (gear * rate(placed.v()), rate(after));
    // Its control and activation: direction, place in the state, column.
    let mut inputs = Vec::new();
    if record.kind == force::ACTUATOR {
        let control = record.actuator as usize;
        inputs.push((CONTROL, tree.dims.ctrl_at() + control, 2 * n + control));
        if record.act != NONE {
            let act = record.act as usize;
            inputs.push((ACTIVATION, tree.dims.act_at() + act, 2 * n + tree.dims.n_u as usize + act));
        }
    }
    inputs.iter().for_each(|&(direction, at, _)| state[at].set_slope(direction, 1.0));
    let length = Dual::variable(gear * placed.length(record.on), LENGTH);
    let speed = Dual::variable(speed, SPEED);
    let law = applied::law_at(tree, params, record, length, speed, state);
    inputs.iter().for_each(|&(direction, at, _)| state[at].set_slope(direction, 0.0));
    let implicit = Dual::constant(h * gear * gear) * law.stiffness.mul_add(Dual::constant(h), law.damping);
    let pull = Dual::constant(h * gear) * law.damping.mul_add(law.speed, law.force);
    // c, with g.v+ held.
    let force = implicit * Dual::constant(speed_after) - pull;
    let (slopes, lengths) = (placed.arm_slopes(record.on), placed.length_slopes(record.on));
    // How g.v+ and the rate change with q.
    let [turned, turned_after] = [placed.v(), after].map(|v| {
        let by = |i: usize| arms.iter().enumerate().map(|(k, &(dof, _))| slopes[(k, i)] * v[dof]).sum::<f64>();
        (0..arms.len()).map(by).collect::<Vec<f64>>()
    });
    for (i, &(moved, arm)) in arms.iter().enumerate() {
        let by_q = gear * (force.slope(LENGTH) * lengths[i] + force.slope(SPEED) * turned[i])
            + implicit.value() * turned_after[i];
        let by_v = gear * force.slope(SPEED) * arm;
        for (k, &(dof, arm)) in arms.iter().enumerate() {
            out.push((dof, moved, -(by_q * arm + force.value() * slopes[(k, i)])));
            out.push((dof, n + moved, -by_v * arm));
        }
    }
    for (direction, _, column) in inputs {
        out.extend(arms.iter().map(|&(dof, arm)| (dof, column, -force.slope(direction) * arm)));
    }
}
