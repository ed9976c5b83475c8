//! Parameters that a world may have of its own: domain randomisation; and derivatives of steps by them.

use manyworlds::{Error, GeomParameter, Model, ModelParameter, Parameter};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{given_or_empty, reals, with_real};
use crate::batch::Batch;
use crate::errors::raised;
use crate::record::record;

/// What a parameter is one of.
enum Kind {
    /// All trees have it alike.
    Every(Parameter),
    Body(fn(usize) -> Parameter),
    Joint(fn(usize) -> Parameter),
    Actuator(fn(usize) -> Parameter),
    Tendon(fn(usize) -> Parameter),
    Geom(GeomParameter),
    Soft(Parameter),
    /// Of a region of a soft body.
    Region(fn(usize) -> Parameter),
}

/// Parameters by the names that Python has for them.
const PARAMETERS: [(&str, Kind); 38] = [
    ("timestep", Kind::Every(Parameter::Timestep)),
    ("gravity", Kind::Every(Parameter::Gravity)),
    ("correction_fraction", Kind::Every(Parameter::CorrectionFraction)),
    ("correction_max", Kind::Every(Parameter::CorrectionMax)),
    ("body_position", Kind::Body(Parameter::BodyPosition)),
    ("body_orientation", Kind::Body(Parameter::BodyOrientation)),
    ("body_mass", Kind::Body(Parameter::BodyMass)),
    ("body_com", Kind::Body(Parameter::BodyCom)),
    ("body_gravity_compensation", Kind::Body(Parameter::BodyGravityCompensation)),
    ("body_inertia", Kind::Body(Parameter::BodyInertia)),
    ("joint_anchor", Kind::Joint(Parameter::JointAnchor)),
    ("joint_axis", Kind::Joint(Parameter::JointAxis)),
    ("joint_stiffness", Kind::Joint(Parameter::JointStiffness)),
    ("joint_damping", Kind::Joint(Parameter::JointDamping)),
    ("joint_armature", Kind::Joint(Parameter::JointArmature)),
    ("joint_friction", Kind::Joint(Parameter::JointFriction)),
    ("joint_range", Kind::Joint(Parameter::JointRange)),
    ("actuator_gear", Kind::Actuator(Parameter::ActuatorGear)),
    ("actuator_gain", Kind::Actuator(Parameter::ActuatorGain)),
    ("actuator_bias", Kind::Actuator(Parameter::ActuatorBias)),
    ("actuator_force_range", Kind::Actuator(Parameter::ActuatorForceRange)),
    ("actuator_times", Kind::Actuator(Parameter::ActuatorTimes)),
    ("muscle_force", Kind::Actuator(Parameter::MuscleForce)),
    ("tendon_stiffness", Kind::Tendon(Parameter::TendonStiffness)),
    ("tendon_damping", Kind::Tendon(Parameter::TendonDamping)),
    ("tendon_spring_range", Kind::Tendon(Parameter::TendonSpringRange)),
    ("tendon_range", Kind::Tendon(Parameter::TendonRange)),
    ("tendon_friction", Kind::Tendon(Parameter::TendonFriction)),
    ("geom_size", Kind::Geom(GeomParameter::Size)),
    ("geom_friction", Kind::Geom(GeomParameter::Friction)),
    ("geom_restitution", Kind::Geom(GeomParameter::Restitution)),
    ("soft_young", Kind::Soft(Parameter::Young)),
    ("soft_poisson", Kind::Soft(Parameter::Poisson)),
    ("soft_density", Kind::Soft(Parameter::Density)),
    ("soft_stiffness_damping", Kind::Soft(Parameter::StiffnessDamping)),
    ("soft_mass_damping", Kind::Soft(Parameter::MassDamping)),
    ("soft_friction", Kind::Soft(Parameter::SurfaceFriction)),
    ("soft_pressure", Kind::Region(Parameter::Pressure)),
];

/// A parameter of a model.
enum Found {
    /// Of these trees.
    Trees(Vec<usize>, Parameter),
    Geom(usize, GeomParameter),
}

/// A number, from a number or a name.
fn index(what: &str, given: Option<&Bound<'_, PyAny>>, names: &[&str]) -> PyResult<usize> {
    let Some(given) = given else {
        return Err(PyTypeError::new_err(format!("of: expected the name or number of a {what}, found none")));
    };
    if let Ok(name) = given.extract::<String>() {
        let found = names.iter().position(|n| !n.is_empty() && *n == name);
        return found.ok_or_else(|| PyValueError::new_err(format!("of: there is no {what} \"{name}\"")));
    }
    let number: usize =
        given.extract().map_err(|_| PyTypeError::new_err(format!("of: expected the name or number of a {what}")))?;
    if number < names.len() {
        return Ok(number);
    }
    Err(PyIndexError::new_err(format!("of: {what} {number}: there are {}", names.len())))
}

fn find(model: &Model, name: &str, of: Option<&Bound<'_, PyAny>>) -> PyResult<Found> {
    let Some((_, kind)) = PARAMETERS.iter().find(|(n, _)| *n == name) else {
        let known: Vec<_> = PARAMETERS.iter().map(|(n, _)| *n).collect();
        let known = known.join(", ");
        return Err(PyValueError::new_err(format!("parameter: expected one of {known}, found \"{name}\"")));
    };
    let fixed = |what: &str| PyValueError::new_err(format!("{name}: that {what} never moves"));
    match kind {
        Kind::Every(parameter) => match of {
            None => Ok(Found::Trees((0..model.trees.len()).collect(), *parameter)),
            Some(_) => Err(PyTypeError::new_err(format!("of: {name} is that of the whole world"))),
        },
        Kind::Body(parameter) => {
            let names: Vec<_> = model.bodies.iter().map(|b| b.name.as_str()).collect();
            let body = index("body", of, &names)?;
            let tree = model.bodies[body].tree.ok_or_else(|| fixed("body"))?;
            Ok(Found::Trees(vec![tree], parameter(body - model.trees[tree].bodies.start)))
        }
        Kind::Joint(parameter) => {
            let names: Vec<_> = model.joints.iter().map(|j| j.name.as_str()).collect();
            let joint = index("joint", of, &names)?;
            let tree = model.trees.iter().position(|t| t.joints.contains(&joint)).ok_or_else(|| fixed("joint"))?;
            Ok(Found::Trees(vec![tree], parameter(joint - model.trees[tree].joints.start)))
        }
        Kind::Actuator(parameter) => {
            let names: Vec<_> = model.actuators.iter().map(|a| a.name.as_str()).collect();
            let actuator = index("actuator", of, &names)?;
            let tree_of = |a: usize| tree_of_bodies(model, model.bodies_of(&model.actuators[a].transmission));
            let (tree, number) = number_in_tree(actuator, tree_of).ok_or_else(|| fixed("actuator"))?;
            Ok(Found::Trees(vec![tree], parameter(number)))
        }
        Kind::Tendon(parameter) => {
            let names: Vec<_> = model.tendons.iter().map(|t| t.name.as_str()).collect();
            let tendon = index("tendon", of, &names)?;
            let tree_of = |t: usize| tree_of_bodies(model, model.bodies_of_path(&model.tendons[t].path));
            let (tree, number) = number_in_tree(tendon, tree_of).ok_or_else(|| fixed("tendon"))?;
            Ok(Found::Trees(vec![tree], parameter(number)))
        }
        Kind::Geom(parameter) => {
            let names: Vec<_> = model.geoms.iter().map(|g| g.name.as_str()).collect();
            Ok(Found::Geom(index("geom", of, &names)?, *parameter))
        }
        Kind::Soft(parameter) => Ok(Found::Trees(vec![soft_tree(model, of)?], *parameter)),
        Kind::Region(parameter) => {
            let Some((body, region)) = of.and_then(|of| of.extract::<(Bound<'_, PyAny>, usize)>().ok()) else {
                return Err(PyTypeError::new_err(format!("of: {name}: expected (soft body, number of a region)")));
            };
            Ok(Found::Trees(vec![soft_tree(model, Some(&body))?], parameter(region)))
        }
    }
}

/// The tree of one of the model's, and its number among those of that tree.
fn number_in_tree(index: usize, tree_of: impl Fn(usize) -> Option<usize>) -> Option<(usize, usize)> {
    let tree = tree_of(index)?;
    Some((tree, (0..index).filter(|&other| tree_of(other) == Some(tree)).count()))
}

/// The tree that some of these bodies are in.
fn tree_of_bodies(model: &Model, bodies: Vec<usize>) -> Option<usize> {
    bodies.into_iter().find_map(|body| model.bodies[body].tree)
}

/// The tree of a soft body.
fn soft_tree(model: &Model, of: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    let names: Vec<_> = model.soft.iter().map(|soft| soft.name.as_str()).collect();
    let soft = index("soft body", of, &names)?;
    let found = model.trees.iter().position(|tree| tree.soft == Some(soft));
    found.ok_or_else(|| PyValueError::new_err("that soft body never moves"))
}

/// What a derivative is by.
fn derived(model: &Model, name: &str, of: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<ModelParameter>> {
    let pair: Option<fn([usize; 2]) -> ModelParameter> = match name {
        "geom_friction" => Some(|geoms| ModelParameter::Friction { geoms }),
        "geom_restitution" => Some(|geoms| ModelParameter::Restitution { geoms }),
        _ => None,
    };
    if let Some(parameter) = pair {
        let Some((a, b)) = of.and_then(|of| of.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok()) else {
            return Err(PyTypeError::new_err(format!("of: {name}: expected two geoms, whose contacts have it")));
        };
        let geoms = model.geoms.iter().map(|geom| geom.name.as_str());
        let names: Vec<_> = geoms.chain(model.soft.iter().map(|soft| soft.name.as_str())).collect();
        return Ok(vec![parameter([index("geom", Some(&a), &names)?, index("geom", Some(&b), &names)?])]);
    }
    Ok(match find(model, name, of)? {
        Found::Geom(geom, _) => vec![ModelParameter::Size { geom }],
        Found::Trees(
            _,
            parameter @ (Parameter::Timestep | Parameter::CorrectionFraction | Parameter::CorrectionMax),
        ) => {
            vec![ModelParameter::Every(parameter)]
        }
        Found::Trees(trees, parameter) => {
            trees.into_iter().map(|tree| ModelParameter::Tree { tree, parameter }).collect()
        }
    })
}

/// Values of a parameter for some worlds.
pub(crate) struct Override {
    found: Found,
    width: usize,
    /// `[worlds][width]`
    numbers: Vec<f64>,
}

impl Override {
    /// From what Python gave.
    pub(crate) fn new(
        model: &Model,
        parameter: &str,
        of: Option<&Bound<'_, PyAny>>,
        values: &Bound<'_, PyAny>,
        worlds: usize,
    ) -> PyResult<Self> {
        let found = find(model, parameter, of)?;
        let shape = values.py().import("numpy")?.call_method1("shape", (values,))?.extract::<Vec<usize>>()?;
        let width = shape.get(1).copied().unwrap_or(1);
        Ok(Self { found, width, numbers: given_or_empty(Some(values), &[worlds, width], "values")? })
    }

    /// Gives them to these worlds.
    pub(crate) fn apply(&self, batch: &mut manyworlds::Batch, worlds: &[usize]) -> Result<(), Error> {
        for (&world, row) in worlds.iter().zip(self.numbers.chunks_exact(self.width.max(1))) {
            match &self.found {
                Found::Trees(trees, parameter) => {
                    for &tree in trees {
                        batch.set_parameter(world, tree, *parameter, row)?;
                    }
                }
                Found::Geom(geom, parameter) => batch.set_geom(world, *geom, *parameter, row)?,
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Batch {
    /// Names of the parameters that `set_parameter` takes.
    #[classattr]
    fn parameters() -> Vec<&'static str> {
        PARAMETERS.iter().map(|(name, _)| *name).collect()
    }

    /// Gives worlds a parameter of their own: domain randomisation.
    ///
    /// parameter: one of `Batch.parameters`; of: name or number of the body, joint, actuator, geom or soft body, of
    /// "soft_pressure" with the number of its region (None for "timestep", "gravity", "correction_fraction",
    /// "correction_max"); values `(number of worlds, numbers of the parameter)`, SI units;
    /// worlds: their numbers, all of one model; all worlds of the batch when None.
    ///
    /// Number of values: gravity, position, com, anchor, axis and bias 3, orientation 4 (a quaternion), inertia 6 (xx, yy, zz,
    /// xy, xz, yz about the centre of mass), ranges 2, gear 6, size 1 to 3 by shape, all others 1.
    #[pyo3(signature = (parameter, of, values, worlds=None))]
    fn set_parameter(
        &self,
        py: Python<'_>,
        parameter: &str,
        of: Option<&Bound<'_, PyAny>>,
        values: &Bound<'_, PyAny>,
        worlds: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let worlds = worlds.unwrap_or_else(|| (0..self.worlds() as i64).collect());
        let worlds = worlds.into_iter().map(|world| self.world(world)).collect::<PyResult<Vec<_>>>()?;
        let Some(&(first, group)) = worlds.first() else { return Ok(()) };
        if let Some((other, _)) = worlds.iter().find(|(_, other)| *other != group) {
            return Err(PyValueError::new_err(format!("worlds: {first} and {other} are of different models")));
        }
        let worlds: Vec<usize> = worlds.into_iter().map(|(world, _)| world).collect();
        let new = Override::new(&self.model(group), parameter, of, values, worlds.len())?;
        self.with(py, |batch| new.apply(batch, &worlds))
    }

    /// Derivatives of the last step of one world by parameters: a record of dq, dv `(n_v, numbers)`, q+ in its tangent space, and
    /// dact `(n_act, numbers)`; valid, problems and margin as `jacobian` has them.
    ///
    /// parameters: a list of names, or pairs of name and `of`, as `set_parameter` takes them; those of several numbers have a
    /// column each. "geom_friction" and "geom_restitution" are those of the contacts of two geoms: `("geom_friction", ("ball",
    /// "floor"))`. Of gravity each tree has columns of its own. `keep_steps(True)` comes before the step, else RuntimeError;
    /// ValueError for a parameter by which steps have no derivative.
    fn parameter_derivatives<'py>(
        &self,
        py: Python<'py>,
        world: i64,
        parameters: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (world, group) = self.world(world)?;
        let model = self.model(group);
        let mut wanted = Vec::new();
        for given in parameters {
            if let Ok(name) = given.extract::<String>() {
                wanted.extend(derived(&model, &name, None)?);
            } else if let Ok((name, of)) = given.extract::<(String, Bound<'_, PyAny>)>() {
                wanted.extend(derived(&model, &name, Some(&of))?);
            } else {
                return Err(PyTypeError::new_err("parameters: expected names, or pairs of a name and what has it"));
            }
        }
        let found = self.with(py, |batch| batch.parameter_derivatives(world, &wanted))?;
        let parts = PyDict::new(py);
        type Column = fn(&manyworlds::Outputs) -> &[f64];
        let columns: [(&str, usize, Column); 3] =
            [("dq", model.n_v, |of| &of.q), ("dv", model.n_v, |of| &of.v), ("dact", model.n_act(), |of| &of.act)];
        for (name, rows, column) in columns {
            let row = |i: usize| found.columns.iter().map(move |of| column(of)[i]);
            let numbers: Vec<f64> = (0..rows).flat_map(row).collect();
            let shape = [rows, found.columns.len()];
            parts.set_item(name, with_real!(self.precision(), T => reals::<T>(py, &shape, &numbers))?)?;
        }
        parts.set_item("valid", found.certificate.valid())?;
        parts.set_item("problems", found.certificate.reasons().cloned().collect::<Vec<_>>())?;
        parts.set_item("margin", found.certificate.margin)?;
        record(&parts)
    }

    /// A parameter of one world, as `set_parameter` takes it, as a list of numbers; not of geoms.
    #[pyo3(signature = (parameter, of, world))]
    fn parameter(
        &self,
        py: Python<'_>,
        parameter: &str,
        of: Option<&Bound<'_, PyAny>>,
        world: i64,
    ) -> PyResult<Vec<f64>> {
        let (world, group) = self.world(world)?;
        match find(&self.model(group), parameter, of)? {
            Found::Trees(trees, found) => {
                let tree = *trees.first().ok_or_else(|| PyValueError::new_err("the model has nothing that moves"))?;
                self.with(py, |batch| batch.parameter(world, tree, found))
            }
            Found::Geom(geom, parameter) => Err(raised(Error::Parameter {
                parameter: format!("{parameter:?} of geom {geom}"),
                message: "geoms' parameters cannot be read back".into(),
            })),
        }
    }
}
