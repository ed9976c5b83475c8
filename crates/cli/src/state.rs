//! Where a world starts: a state file `{"q": [], "v": [], "ctrl": [], "tau": [], "act": [], "mocap_pos": [], "mocap_quat": []}`,
//! each part optional, over a keyframe, over the model's initial state.

use std::path::PathBuf;

use manyworlds::model::{JointKind, Keyframe, Model};
use manyworlds::{Batch, FieldId};
use serde::Deserialize;

use crate::args::{RunArgs, read};
use crate::failure::Failure;

/// What a state file gives; `None` is what it leaves to the model.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct State {
    /// Generalized position, `n_q`.
    pub(crate) q: Option<Vec<f64>>,
    /// Generalized velocity, `n_v`.
    pub(crate) v: Option<Vec<f64>>,
    /// Controls, one per actuator.
    pub(crate) ctrl: Option<Vec<f64>>,
    /// Generalized forces, `n_v`, N and N m.
    pub(crate) tau: Option<Vec<f64>>,
    /// Activations, one per actuator that has dynamics.
    pub(crate) act: Option<Vec<f64>>,
    /// Positions of the mocap bodies, in order, m.
    pub(crate) mocap_pos: Option<Vec<[f64; 3]>>,
    /// Their quaternions (w, x, y, z).
    pub(crate) mocap_quat: Option<Vec<[f64; 4]>>,
    /// Keys that mean nothing here.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

impl State {
    /// Reads a file and checks it against the model; without a file everything is left to the model.
    pub(crate) fn read(path: Option<&PathBuf>, model: &Model) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let state: Self = serde_json::from_str(&read(path)?).map_err(|error| Failure::file(path, error))?;
        for key in state.other.keys() {
            tracing::warn!(
                "{}: \"{key}\" is none of q, v, ctrl, tau, act, mocap_pos, mocap_quat and is not read",
                path.display()
            );
        }
        state.check(model).map_err(|problem| Failure::file(path, problem))?;
        Ok(state)
    }

    /// Lengths, finite numbers, quaternions that are rotations.
    fn check(&self, model: &Model) -> Result<(), String> {
        let parts = [
            ("q", &self.q, model.n_q, "n_q"),
            ("v", &self.v, model.n_v, "n_v"),
            ("ctrl", &self.ctrl, model.actuators.len(), "the number of actuators"),
            ("tau", &self.tau, model.n_v, "n_v"),
            ("act", &self.act, model.n_act(), "the number of activations"),
        ];
        for (name, part, expected, what) in parts {
            let Some(part) = part else { continue };
            if part.len() != expected {
                let found = part.len();
                return Err(format!(
                    "\"{name}\": expected {expected} numbers ({what} of {}), found {found}",
                    model.name
                ));
            }
            if let Some(i) = part.iter().position(|x| !x.is_finite()) {
                return Err(format!("\"{name}\"[{i}]: expected a finite number, found {}", part[i]));
            }
        }
        let mocaps = [
            ("mocap_pos", self.mocap_pos.as_ref().map(|all| (all.len(), all.as_flattened()))),
            ("mocap_quat", self.mocap_quat.as_ref().map(|all| (all.len(), all.as_flattened()))),
        ];
        for (name, part) in mocaps {
            let Some((found, numbers)) = part else { continue };
            let expected = model.mocaps.len();
            if found != expected {
                return Err(format!("\"{name}\": expected {expected} mocap bodies of {}, found {found}", model.name));
            }
            if let Some(i) = numbers.iter().position(|x| !x.is_finite()) {
                return Err(format!("\"{name}\": expected finite numbers, found {}", numbers[i]));
            }
        }
        self.q.as_ref().map_or(Ok(()), |q| check_quaternions(q, model))
    }
}

/// A complete state of one world, what acts on it, and the poses of its mocap bodies, one behind the other.
pub(crate) struct Start(pub(crate) manyworlds::State, pub(crate) Vec<f64>);

impl Start {
    /// The file's parts, then the keyframe's, then the model's initial position and zeros.
    pub(crate) fn new(state: State, keyframe: Option<&Keyframe>, model: &Model) -> Self {
        let zeros = |n| vec![0.0; n];
        let n_u = model.actuators.len();
        let mocap = |number: usize| {
            let given = keyframe.and_then(|keyframe| keyframe.mocap.get(number));
            let pose = given.unwrap_or(&model.bodies[model.mocaps[number]].pose);
            let (at, q) =
                (pose.translation.vector.into(), [pose.rotation.w, pose.rotation.i, pose.rotation.j, pose.rotation.k]);
            let at: [f64; 3] = state.mocap_pos.as_ref().map_or(at, |all| all[number]);
            let q = state.mocap_quat.as_ref().map_or(q, |all| all[number]);
            at.into_iter().chain(q)
        };
        let mocaps = (0..model.mocaps.len()).flat_map(mocap).collect();
        let start = manyworlds::State {
            q: state.q.or_else(|| Some(keyframe?.q.clone())).unwrap_or_else(|| model.initial_q()),
            v: state.v.or_else(|| Some(keyframe?.v.clone())).unwrap_or_else(|| zeros(model.n_v)),
            ctrl: state.ctrl.or_else(|| Some(keyframe?.ctrl.clone())).unwrap_or_else(|| zeros(n_u)),
            tau: state.tau.unwrap_or_else(|| zeros(model.n_v)),
            act: state.act.or_else(|| Some(keyframe?.act.clone())).unwrap_or_else(|| zeros(model.n_act())),
        };
        Self(start, mocaps)
    }

    /// Of one world that a user looks at: controls are zero where neither the file nor `--keyframe` says otherwise.
    pub(crate) fn of_one(path: Option<&PathBuf>, spec: &str, run: &RunArgs, model: &Model) -> Result<Self, Failure> {
        let mut state = State::read(path, model)?;
        if run.keyframe.is_none() && state.ctrl.is_none() {
            state.ctrl = Some(vec![0.0; model.actuators.len()]);
        }
        Ok(Self::new(state, run.keyframe(spec, model)?, model))
    }

    /// Puts every world there.
    pub(crate) fn apply(&self, batch: &mut Batch) -> Result<(), Failure> {
        let states: Vec<_> = (0..batch.len()).map(|world| (world, self.0.clone())).collect();
        batch.reset(&states)?;
        if !self.1.is_empty() {
            for group in 0..batch.n_groups() {
                batch.write(group, FieldId::Mocap, &self.1.repeat(batch.worlds(group).len()))?;
            }
        }
        Ok(())
    }
}

/// A quaternion may be off by rounding, not by more: whoever writes (x, y, z, w) or zeros should hear of it.
const QUATERNION_SLACK: f64 = 1e-3;

fn check_quaternions(q: &[f64], model: &Model) -> Result<(), String> {
    for joint in &model.joints {
        let start = match joint.kind {
            JointKind::Free => joint.q_start + 3,
            JointKind::Ball => joint.q_start,
            _ => continue,
        };
        let norm = q[start..start + 4].iter().map(|x| x * x).sum::<f64>().sqrt();
        if (norm - 1.0).abs() > QUATERNION_SLACK {
            return Err(format!(
                "\"q\"[{start}..{}]: expected a unit quaternion (w, x, y, z) for joint \"{}\", found norm {norm}",
                start + 4,
                joint.name
            ));
        }
    }
    Ok(())
}
