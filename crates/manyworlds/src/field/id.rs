//! What numbers of worlds there are.

use crate::Error;

/// Numbers of the worlds of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldId {
    /// Generalized position, `[worlds, n_q]`.
    Position,
    /// Generalized velocity, `[worlds, n_v]`.
    Velocity,
    /// Controls, `[worlds, actuators]`.
    Control,
    /// Applied generalized force, `[worlds, n_v]`, N or N m.
    Force,
    /// Activations of actuators with dynamics, in the order of the actuators, `[worlds, activations]`.
    Activation,
    /// Position and quaternion (w, x, y, z) of each mocap body in the world's frame, `[worlds, mocap bodies, 7]`. In main
    /// memory whatever the executor. What stands on them and what they touch follow in the next step: they push by where they are,
    /// and contacts see the velocity and spin that brought them there since the last step, so friction drags what lies on one.
    /// After a reset, and before the first step, they have none.
    Mocap,
    /// Position and quaternion (w, x, y, z) of each body in the world's frame, `[worlds, bodies, 7]`.
    Pose,
    /// Angular and linear velocity of each body, in world axes, at the first body of its tree, before the last step,
    /// `[worlds, bodies, 6]`.
    Twist,
    /// What kernels found out about each tree by itself in the last step, `[worlds, trees, 9]`: residual, scaled residual,
    /// sweeps, Newton steps, deepest penetration, contacts, rows that could act, the residual the solver
    /// stopped at, contacts left out as nothing moves their bodies apart.
    /// [`Batch::summaries`](crate::Batch::summaries) has the certificates of whole worlds, whoever solved them.
    Certificate,
    /// What the sensors show, in the order of the model's, `[worlds, readings]`; where each begins says
    /// [`Model::readings`](crate::Model::readings). Of the state that the last step began with, and of what that step did, as
    /// MuJoCo's `sensordata` after `mj_step`; zeros before the first step. What is not of one tree alone (frames between trees or
    /// of mocap bodies, bounds, zones, energies, time, actuators with states of their own) the host computes by the model's own
    /// parameters; on a device that takes a readback of the state in each step.
    Sensor,
}

impl FieldId {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Position,
        Self::Velocity,
        Self::Control,
        Self::Force,
        Self::Activation,
        Self::Mocap,
        Self::Pose,
        Self::Twist,
        Self::Certificate,
        Self::Sensor,
    ];
    /// The parts of a state, in the order of [`crate::State`].
    pub const STATE: [Self; 5] = [Self::Position, Self::Velocity, Self::Control, Self::Force, Self::Activation];
    /// Those that may be written: the parts of a state, and poses of mocap bodies.
    pub const WRITABLE: [Self; 6] =
        [Self::Position, Self::Velocity, Self::Control, Self::Force, Self::Activation, Self::Mocap];

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Position => "q",
            Self::Velocity => "v",
            Self::Control => "controls",
            Self::Force => "tau",
            Self::Activation => "act",
            Self::Mocap => "mocap",
            Self::Pose => "poses",
            Self::Twist => "twists",
            Self::Certificate => "certificates",
            Self::Sensor => "sensors",
        }
    }

    pub(crate) fn writable(self) -> Result<(), Error> {
        if Self::WRITABLE.contains(&self) {
            return Ok(());
        }
        Err(Error::Option {
            option: "field",
            expected: "q, v, controls, tau, act or mocap to be written",
            found: self.name().into(),
        })
    }
}
