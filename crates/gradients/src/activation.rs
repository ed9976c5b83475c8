//! Derivatives of the end of a step for activations: each follows its own control, whatever the bodies do.

use manyworlds_shaders::dynamics::activate::activate;
use manyworlds_shaders::dynamics::tree::{NONE, Params, Tree};

use crate::dual::Dual;
use crate::tree::Forward;

/// What an activation depends on, as directions of dual numbers.
const ACTIVATION: usize = 0;
const CONTROL: usize = 1;

/// How an activation after the step changes.
#[derive(Debug, Clone, Copy)]
pub struct ActivationSlopes {
    /// Its number.
    pub activation: usize,
    /// That of its control.
    pub control: usize,
    /// By itself before the step.
    pub by_activation: f64,
    /// By its control.
    pub by_control: f64,
}

impl ActivationSlopes {
    /// Adds what a gradient by the activations after the step says of controls and of activations before it. Parts may be empty.
    pub fn add_back(&self, after: &[f64], [by_ctrl, by_act]: [&mut [f64]; 2]) {
        let Some(after) = after.get(self.activation) else { return };
        let [control, activation] = [by_ctrl.get_mut(self.control), by_act.get_mut(self.activation)];
        control.into_iter().for_each(|to| *to += after * self.by_control);
        activation.into_iter().for_each(|to| *to += after * self.by_activation);
    }

    /// Writes its entries of `[n_act, n_u]` and `[n_act, n_act]`; either may be empty.
    pub fn write(&self, [n_u, n_act]: [usize; 2], [dact_dctrl, dact_dact]: [&mut [f64]; 2]) {
        let by_control = dact_dctrl.get_mut(self.activation * n_u + self.control);
        by_control.into_iter().for_each(|to| *to = self.by_control);
        let by_itself = dact_dact.get_mut(self.activation * (n_act + 1));
        by_itself.into_iter().for_each(|to| *to = self.by_activation);
    }
}

/// Those of a tree with these parameters, in this state. `controls` and `activations`: what its own are called.
#[must_use]
pub fn activation_slopes(
    tree: &Tree,
    params: &[f64],
    state: &[f64],
    [controls, activations]: [&[usize]; 2],
) -> Vec<ActivationSlopes> {
    let dims = tree.dims;
    if dims.n_act == 0 {
        return Vec::new();
    }
    let mut state = Dual::<3>::constants(state);
    // No activation depends on another's control: all of them are one direction.
    state[dims.ctrl_at()..dims.tau_at()].iter_mut().for_each(|x| x.set_slope(CONTROL, 1.0));
    state[dims.act_at()..].iter_mut().for_each(|x| x.set_slope(ACTIVATION, 1.0));
    activate(tree, Params::Shared(params), &mut state, &[0]);
    let own = tree.forces.iter().filter(|record| record.act != NONE);
    own.map(|record| {
        let own = state[dims.act_at() + record.act as usize];
        ActivationSlopes {
            activation: activations[record.act as usize],
            control: controls[record.actuator as usize],
            by_activation: own.slope(ACTIVATION),
            by_control: own.slope(CONTROL),
        }
    })
    .collect()
}

/// How the activations of a tree after the step change with an entry of its parameters, `[n_act]`.
pub(crate) fn activations_by(forward: &Forward, entry: usize) -> Vec<f64> {
    let (mut params, mut state) = (Dual::<2>::constants(forward.params), Dual::constants(forward.state));
    params[entry].set_slope(0, 1.0);
    activate(&forward.tree, Params::Lanes(&params), &mut state, &[0]);
    state[forward.tree.dims.act_at()..].iter().map(|act| act.slope(0)).collect()
}
