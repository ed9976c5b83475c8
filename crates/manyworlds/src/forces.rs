//! Forces of a model at a state, for people and outside checks.

use manyworlds_dynamics::{Settings, compile};
use manyworlds_model::Model;
use manyworlds_soft::SoftSystem;

use crate::Error;
use crate::group::State;

/// Damping of soft bodies is taken over so short a time, s.
const MOMENT: f64 = 1e-7;

/// Generalized forces at a state, none taken implicitly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forces {
    /// Springs, dampers, gravity compensation, fluid, and what soft bodies do in themselves, `[n_v]`.
    pub passive: Vec<f64>,
    /// Actuators, `[n_v]`, and gravity compensation of joints that count it here ([`manyworlds_model::Joint::lifted_by_actuators`]);
    /// without adhesion, which hangs on contacts: [`crate::Inspection::adhesion`].
    pub actuator: Vec<f64>,
    /// Length of each tendon, m, or rad for those of joints.
    pub tendons: Vec<f64>,
}

impl Forces {
    /// Those of a model at a state; empty parts of the state are zeros, an empty `q` is the initial position.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Dynamics`].
    pub fn at(model: &Model, state: &State) -> Result<Self, Error> {
        let part = |what, list: &[f64], default: Vec<f64>| match list.len() {
            0 => Ok(default),
            found if found == default.len() => Ok(list.to_vec()),
            found => Err(Error::Length { what, world: None, expected: default.len(), found }),
        };
        let mut q = part("q", &state.q, model.initial_q())?;
        model.normalize_quaternions(&mut q);
        let v = part("v", &state.v, vec![0.0; model.n_v])?;
        let ctrl = part("ctrl", &state.ctrl, vec![0.0; model.actuators.len()])?;
        let act = part("act", &state.act, vec![0.0; model.n_act()])?;
        let mut out = Self {
            passive: vec![0.0; model.n_v],
            actuator: vec![0.0; model.n_v],
            tendons: vec![0.0; model.tendons.len()],
        };
        for set in compile(model, &Settings::default())? {
            if set.is_soft() {
                continue;
            }
            for (index, &number) in set.trees.iter().enumerate() {
                let tree = &model.trees[number];
                let mut own = [&q[tree.q.clone()], &v[tree.v.clone()]].concat();
                own.extend(set.actuators[index].iter().map(|&a| ctrl[a]));
                own.extend(tree.v.clone().map(|_| 0.0));
                own.extend(set.activations[index].iter().map(|&a| act[a]));
                let found = set.forces_at(model, index, &own);
                out.passive[tree.v.clone()].copy_from_slice(&found.passive);
                out.actuator[tree.v.clone()].copy_from_slice(&found.actuator);
                set.tendons[index].iter().zip(found.tendons).for_each(|(&to, length)| out.tendons[to] = length);
            }
        }
        for soft in &model.soft {
            let system = SoftSystem::new(soft)?;
            let (q, v) = (&q[soft.q.clone()], &v[soft.v.clone()]);
            let before: Vec<f64> = q.iter().zip(v).map(|(q, v)| q - MOMENT * v).collect();
            let passive = &mut out.passive[soft.v.clone()];
            system.force(system.params(), MOMENT, &before, q, passive);
            let drag = system.params().material.mass_damping;
            let mass = system.mass(system.params());
            passive.iter_mut().zip(mass.iter().zip(v)).for_each(|(force, (m, v))| *force -= drag * m * v);
        }
        Ok(out)
    }
}
