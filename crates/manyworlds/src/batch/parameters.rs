//! Derivatives of a step by parameters of the model.

use manyworlds_dynamics::Parameter;
use manyworlds_gradients::{Certificate, Outputs, StepParameter};

use super::Batch;
use crate::Error;

/// A parameter that a step can be differentiated by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelParameter {
    /// What [`Batch::set_parameter`] sets of one tree: gravity, mass, centre of mass and inertia of a body; stiffness,
    /// damping, armature, dry friction and slack position of a joint; gear, gain, bias and force range of an actuator;
    /// coefficients of a coupling.
    Tree {
        /// Tree of the model.
        tree: usize,
        /// Which; of several numbers each has a derivative of its own.
        parameter: Parameter,
    },
    /// Friction coefficient of the contacts between two geoms, as it was mixed from theirs.
    Friction {
        /// The geoms, numbered as in the model.
        geoms: [usize; 2],
    },
    /// Restitution coefficient of the contacts between two geoms, likewise.
    Restitution {
        /// The geoms, numbered as in the model.
        geoms: [usize; 2],
    },
}

/// Derivatives of a step by parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDerivatives {
    /// Of q+ (tangent space) and v+, `[n_v]` each, by each number, in the order asked for, per unit of the number.
    pub columns: Vec<Outputs>,
    /// How far to trust them.
    pub certificate: Certificate,
}

/// Whether a step has a derivative by a parameter of a tree that is known here.
fn differentiable(parameter: Parameter) -> bool {
    use Parameter as P;
    matches!(
        parameter,
        P::Gravity
            | P::BodyMass(_)
            | P::BodyCom(_)
            | P::BodyInertia(_)
            | P::JointStiffness(_)
            | P::JointDamping(_)
            | P::JointArmature(_)
            | P::JointFriction(_)
            | P::JointSpringReference(_)
            | P::ActuatorGear(_)
            | P::ActuatorGain(_)
            | P::ActuatorBias(_)
            | P::ActuatorForceRange(_)
            | P::CouplingCoefficients(_)
    )
}

impl Batch {
    /// Derivatives of the last step of a world by parameters of the model. [`Batch::keep_steps`] comes before the step.
    ///
    /// # Errors
    /// [`Error::Index`] for a world, tree or geom that is not there; [`Error::Parameter`] for a parameter that the tree
    /// lacks or that has no derivative here (frames of links, anchors, axes and ranges of joints, the time step, the
    /// correction of violations); [`Error::NoGradient`] where no step was kept; a device that fails.
    pub fn parameter_derivatives(
        &mut self,
        world: usize,
        parameters: &[ModelParameter],
    ) -> Result<ParameterDerivatives, Error> {
        let (group, local) = self.find(world)?;
        let group = &mut self.groups[group];
        let n_geom = group.model().geoms.len();
        let mut numbers = Vec::new();
        for &parameter in parameters {
            let geoms_of = |geoms: [usize; 2]| match geoms.into_iter().find(|&geom| geom >= n_geom) {
                Some(index) => Err(Error::Index { what: "geom", index, count: n_geom }),
                None => Ok(geoms),
            };
            match parameter {
                ModelParameter::Friction { geoms } => {
                    numbers.push(StepParameter::Friction { geoms: geoms_of(geoms)? });
                }
                ModelParameter::Restitution { geoms } => {
                    numbers.push(StepParameter::Restitution { geoms: geoms_of(geoms)? });
                }
                ModelParameter::Tree { tree, parameter } => {
                    let refuse = |message: &str| {
                        let parameter = format!("{parameter:?} of tree {tree}");
                        Error::Parameter { parameter, message: message.into() }
                    };
                    let count = group.model().trees.len();
                    if tree >= count {
                        return Err(Error::Index { what: "tree", index: tree, count });
                    }
                    if !differentiable(parameter) {
                        return Err(refuse("a step has no derivative by it yet"));
                    }
                    let found = group.parameter(local, tree, parameter)?;
                    let (entries, values) = found.ok_or_else(|| refuse("the tree has no such part"))?;
                    // Of zeros nothing says how large they might be.
                    let largest = values.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
                    let scale = if largest > 0.0 { largest } else { 1.0 };
                    numbers.extend(entries.map(|entry| StepParameter::Tree { tree, entry, scale }));
                }
            }
        }
        let step = group.last_step(local)?;
        let reverse = group.reverse();
        let linearised = reverse.linearised(&step);
        Ok(ParameterDerivatives {
            columns: numbers.iter().map(|number| linearised.along_parameter(number)).collect(),
            certificate: linearised.certificate().clone(),
        })
    }
}
