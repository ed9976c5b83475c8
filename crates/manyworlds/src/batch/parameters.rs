//! Derivatives of a step by parameters of the model.

use manyworlds_dynamics::Parameter;
use manyworlds_gradients::{Certificate, Outputs, StepParameter};

use super::Batch;
use crate::Error;

/// A parameter that a step can be differentiated by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelParameter {
    /// What [`Batch::set_parameter`] sets of one tree: gravity; frame in the parent, mass, centre of mass, inertia and carried weight
    /// of a body; anchor, axis, reference, range, stiffness, damping, armature, dry friction and slack position of a joint; gear,
    /// gain, bias, control and force range and time constants of an actuator, peak force of a muscle; coefficients of a coupling;
    /// stiffness, damping, slack lengths, range and dry friction of a tendon. Of unit vectors and quaternions each
    /// number has a derivative of its own, as the step uses it: changes that keep the length are what makes sense.
    /// Of a soft body: Young's modulus, Poisson's ratio, density, damping, pressures.
    Tree {
        /// Tree of the model.
        tree: usize,
        /// Which; of several numbers each has a derivative of its own.
        parameter: Parameter,
    },
    /// A number that all trees have alike: time step, fraction and largest speed by which violations are undone.
    Every(Parameter),
    /// Sizes of a geom, in the order of [`crate::GeomParameter::Size`]; the mass and inertia of its body stay.
    Size {
        /// The geom, numbered as in the model.
        geom: usize,
    },
    /// Friction coefficient of the contacts between two geoms, as it was mixed from theirs.
    Friction {
        /// The geoms, numbered as in the model, soft bodies behind them.
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
    /// Of q+ (tangent space) and v+, `[n_v]` each, and act+, `[n_act]`, by each number, in the order asked for, per unit of the
    /// number.
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
            | P::BodyPosition(_)
            | P::BodyOrientation(_)
            | P::BodyMass(_)
            | P::BodyCom(_)
            | P::BodyGravityCompensation(_)
            | P::BodyInertia(_)
            | P::JointAnchor(_)
            | P::JointAxis(_)
            | P::JointReference(_)
            | P::JointRange(_)
            | P::JointStiffness(_)
            | P::JointDamping(_)
            | P::JointArmature(_)
            | P::JointFriction(_)
            | P::JointSpringReference(_)
            | P::ActuatorGear(_)
            | P::ActuatorGain(_)
            | P::ActuatorBias(_)
            | P::ActuatorControlRange(_)
            | P::ActuatorForceRange(_)
            | P::ActuatorTimes(_)
            | P::MuscleForce(_)
            | P::CouplingCoefficients(_)
            | P::TendonStiffness(_)
            | P::TendonDamping(_)
            | P::TendonSpringRange(_)
            | P::TendonRange(_)
            | P::TendonFriction(_)
    ) || is_of_soft(parameter)
}

/// Whether a parameter is one of a soft body that a step has a derivative by.
fn is_of_soft(parameter: Parameter) -> bool {
    use Parameter as P;
    matches!(parameter, P::Young | P::Poisson | P::Density | P::StiffnessDamping | P::MassDamping | P::Pressure(_))
}

/// Whether a parameter is one that all trees have alike and a step has a derivative by.
fn is_common(parameter: Parameter) -> bool {
    matches!(parameter, Parameter::Timestep | Parameter::CorrectionFraction | Parameter::CorrectionMax)
}

impl Batch {
    /// Derivatives of the last step of a world by parameters of the model. [`Batch::keep_steps`] comes before the step.
    ///
    /// # Errors
    /// [`Error::Index`] for a world, tree or geom that is not there; [`Error::Parameter`] for a parameter that the tree
    /// lacks, a shape without sizes or of which a contact has no known derivative, and what has none here (the threshold of
    /// bounces; of one tree alone, what all have alike); [`Error::NoGradient`] where no step was kept; a device that fails.
    pub fn parameter_derivatives(
        &mut self,
        world: usize,
        parameters: &[ModelParameter],
    ) -> Result<ParameterDerivatives, Error> {
        let rules = self.rules;
        let (group, local) = self.find(world)?;
        let group = &mut self.groups[group];
        let n_geom = group.model().geoms.len();
        let n_surface = n_geom + group.model().soft.len();
        let step = group.last_step(local)?;
        let mut numbers = Vec::new();
        for &parameter in parameters {
            let geom_of = |geom: usize| match geom < n_geom {
                false => Err(Error::Index { what: "geom", index: geom, count: n_geom }),
                true => Ok(geom),
            };
            let surface_of = |surface: usize| match surface < n_surface {
                false => Err(Error::Index { what: "geom", index: surface, count: n_surface }),
                true => Ok(surface),
            };
            let geoms_of = |[a, b]: [usize; 2]| Ok::<_, Error>([surface_of(a)?, surface_of(b)?]);
            match parameter {
                ModelParameter::Friction { geoms } => {
                    numbers.push(StepParameter::Friction { geoms: geoms_of(geoms)? });
                }
                ModelParameter::Restitution { geoms } => {
                    numbers.push(StepParameter::Restitution { geoms: geoms_of(geoms)? });
                }
                ModelParameter::Size { geom } => {
                    let found = group.by_size(local, geom_of(geom)?, &step)?;
                    if found.is_empty() {
                        let parameter = format!("size of geom {geom}");
                        return Err(Error::Parameter { parameter, message: "its shape has no sizes".into() });
                    }
                    numbers.extend(found.into_iter().map(|changes| StepParameter::Contacts { changes }));
                }
                ModelParameter::Every(parameter) => {
                    let any = is_common(parameter) && !group.model().trees.is_empty();
                    let found = if any { group.parameter(local, 0, parameter)? } else { None };
                    let Some((entries, values)) = found else {
                        let parameter = format!("{parameter:?} of every tree");
                        return Err(Error::Parameter { parameter, message: "a step has no derivative by it".into() });
                    };
                    let scale = values.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
                    let scale = if scale > 0.0 { scale } else { 1.0 };
                    let timed = parameter == Parameter::Timestep;
                    let bodies = if timed { group.by_timestep(local)? } else { Vec::new() };
                    numbers.extend(entries.map(|entry| StepParameter::Every { entry, scale, bodies: bodies.clone() }));
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
                    if let Some(body) = group.model().trees[tree].soft {
                        if !is_of_soft(parameter) {
                            return Err(refuse("a step has no derivative by it yet"));
                        }
                        for entry in entries {
                            numbers.push(StepParameter::Balance(group.by_soft_parameter(local, body, entry)?));
                        }
                        continue;
                    }
                    let largest = values.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
                    // Of zeros nothing says how large they might be.
                    let scale = if largest > 0.0 { largest } else { 1.0 };
                    for entry in entries {
                        let bodies = group.by_carrier(local, tree, (entry, scale))?;
                        numbers.push(StepParameter::Tree { tree, entry, scale, bodies });
                    }
                }
            }
        }
        let lineariser = group.lineariser();
        let linearised = lineariser.for_products(&step, rules);
        let mut certificate = linearised.certificate().clone();
        let columns = numbers.iter().map(|number| linearised.along_parameter(number, &mut certificate)).collect();
        Ok(ParameterDerivatives { columns, certificate })
    }
}
