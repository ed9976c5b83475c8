//! Derivatives of the end of a step for activations: each follows its own control, whatever the bodies do.

use manyworlds_shaders::dynamics::activate::activate;
use manyworlds_shaders::dynamics::tree::{NONE, Params, param};

use crate::dual::Dual;
use crate::tree::TreeInput;

/// What an activation depends on, as directions of dual numbers.
const ACTIVATION: usize = 0;
const CONTROL: usize = 1;
const TIME: usize = 2;

/// How an activation after the step changes. The numbers of it and of its control are those of the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActivationSlopes {
    pub(crate) activation: usize,
    pub(crate) control: usize,
    /// By itself before the step.
    pub(crate) by_activation: f64,
    pub(crate) by_control: f64,
    /// By the time step, 1/s.
    pub(crate) by_time: f64,
}

/// Those of a tree. `controls` and `activations`: numbers of its own in the world.
pub(crate) fn activation_slopes(input: &TreeInput, controls: &[usize], activations: &[usize]) -> Vec<ActivationSlopes> {
    let (tree, dims) = (input.layout.tree(), input.layout.dims);
    if dims.n_act == 0 {
        return Vec::new();
    }
    let (mut params, mut state) = (Dual::<4>::constants(input.params), Dual::constants(input.state));
    params[param::TIMESTEP].set_slope(TIME, 1.0);
    // No activation depends on another's control: all of them are one direction.
    state[dims.ctrl_at()..dims.tau_at()].iter_mut().for_each(|x| x.set_slope(CONTROL, 1.0));
    state[dims.act_at()..].iter_mut().for_each(|x| x.set_slope(ACTIVATION, 1.0));
    activate(&tree, Params::Lanes(&params), &mut state, &[0]);
    let own = tree.forces.iter().filter(|record| record.act != NONE);
    own.map(|record| {
        let own = state[dims.act_at() + record.act as usize];
        ActivationSlopes {
            activation: activations[record.act as usize],
            control: controls[record.actuator as usize],
            by_activation: own.slope(ACTIVATION),
            by_control: own.slope(CONTROL),
            by_time: own.slope(TIME),
        }
    })
    .collect()
}
