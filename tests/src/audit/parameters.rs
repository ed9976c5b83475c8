//! Derivatives by parameters, compared with differences.

use manyworlds::{Batch, GeomParameter, Model, ModelParameter, Parameter, State, random};
use manyworlds_model::Shape;

use super::{Audit, ERROR, Place};
use crate::batches::{batch, largest, run, state, summaries};

/// Parameters looked at in a state, drawn from all.
const MOST: usize = 10;
/// Differences by parameters, either way, relative: the first that agrees counts, as small ones are noise and large ones reach kinks.
const RELATIVE: [f64; 4] = [1e-4, 1e-5, 1e-3, 1e-6];
/// How far one-sided differences may disagree, relative to the larger, before the step has a kink between them.
const KINK: f64 = 1e-3;
/// What steps leave of velocities, m/s and rad/s: the small box of soft scene 6382 turns by 1.5e-10 more or less, as its momentum is balanced.
const ROUNDING: f64 = 1e-9;

impl Audit {
    /// Compares derivatives by some of a model's parameters at a state.
    pub(super) fn by_parameters(&mut self, place: &Place) {
        let Place { model, from, name, .. } = *place;
        let mut options = place.options.clone();
        // What rests at closed gaps has no kink then.
        options.stabilisation.fraction = 1.0;
        let mut base = batch(model, 1, &options);
        base.keep_steps(true).expect("kept");
        let here = stepped(&mut base, from);
        let mut changed = batch(model, 1, &options);
        for (parameter, values) in parameters(model, &mut base, self.states) {
            let found = match base.parameter_derivatives(0, &[parameter]) {
                Ok(found) if found.certificate.valid() => found,
                Ok(_) => continue,
                Err(error) => {
                    self.doubt(&error.to_string());
                    continue;
                }
            };
            for way in ways(parameter, &values) {
                let size = largest(&values);
                let along = |i: usize| way.iter().zip(&found.columns).map(|(way, own)| way * own.v[i]).sum();
                let column: Vec<f64> = (0..model.n_v).map(along).collect();
                let mut best: Option<Compared> = None;
                for relative in RELATIVE {
                    let by = relative * size;
                    let [up, down] = [by, -by].map(|by| {
                        let moved: Vec<f64> = values.iter().zip(&way).map(|(x, way)| x + by * way).collect();
                        set(&mut changed, parameter, &moved);
                        stepped(&mut changed, from)
                    });
                    let compared = compare(&column, [&up, &here, &down], by);
                    let error = |of: &Option<Compared>| of.as_ref().map_or(f64::INFINITY, |own| own.error);
                    if error(&compared) < error(&best) {
                        best = compared;
                    }
                    if error(&best) <= ERROR {
                        break;
                    }
                }
                self.parameters[usize::from(best.is_none())] += 1;
                if let Some(Compared { worst: (i, found, difference), .. }) = best.filter(|best| best.error > ERROR) {
                    self.wrong.push(format!(
                        "{name}: v[{i}] by {parameter:?} along {way:?} is {found:e}, the difference {difference:e}"
                    ));
                }
            }
            set(&mut changed, parameter, &values);
        }
    }
}

/// Ways to change a parameter, a number each: of axes and quaternions those that keep their length, nearly.
#[must_use]
pub fn ways(parameter: ModelParameter, values: &[f64]) -> Vec<Vec<f64>> {
    use Parameter as P;
    let turns = matches!(parameter, ModelParameter::Tree { parameter: P::BodyOrientation(_) | P::JointAxis(_), .. });
    let way = |k: usize| {
        let along = if turns { values[k] } else { 0.0 };
        (0..values.len()).map(|i| f64::from(u8::from(i == k)) - along * values[i]).collect()
    };
    (0..values.len()).map(way).collect()
}

/// Some parameters of a model that are not zero, with their numbers.
fn parameters(model: &Model, batch: &mut Batch, which: u64) -> Vec<(ModelParameter, Vec<f64>)> {
    use Parameter as P;
    let mut all = Vec::new();
    for (tree, own) in model.trees.iter().enumerate() {
        let mut of: Vec<Parameter> = Vec::new();
        if own.soft.is_some() {
            of.extend([P::Young, P::Poisson, P::Density, P::StiffnessDamping]);
        }
        for i in 0..own.bodies.len() {
            of.extend([P::BodyPosition(i), P::BodyOrientation(i), P::BodyMass(i), P::BodyCom(i), P::BodyInertia(i)]);
            of.push(P::BodyGravityCompensation(i));
        }
        for i in 0..own.joints.len() {
            of.extend([P::JointAnchor(i), P::JointAxis(i), P::JointRange(i), P::JointStiffness(i), P::JointDamping(i)]);
            of.extend([P::JointArmature(i), P::JointFriction(i), P::JointReference(i), P::JointSpringReference(i)]);
        }
        // Of a tree those that it has.
        for i in 0..model.actuators.len() {
            of.extend([P::ActuatorGear(i), P::ActuatorGain(i), P::ActuatorBias(i), P::ActuatorForceRange(i)]);
            of.push(P::MuscleForce(i));
        }
        for i in 0..model.tendons.len() {
            of.extend([P::TendonStiffness(i), P::TendonDamping(i), P::TendonSpringRange(i), P::TendonRange(i)]);
            of.push(P::TendonFriction(i));
        }
        all.extend(of.into_iter().map(|parameter| ModelParameter::Tree { tree, parameter }));
    }
    all.extend((0..model.geoms.len()).map(|geom| ModelParameter::Size { geom }));
    let with_values = |parameter: ModelParameter| {
        let values = match parameter {
            ModelParameter::Tree { tree, parameter } => batch.parameter(0, tree, parameter).ok()?,
            ModelParameter::Size { geom } => sizes(&model.geoms[geom].shape)?,
            _ => return None,
        };
        // Bounds on each other can be moved one way alone.
        let is_closed = matches!(parameter, ModelParameter::Tree { parameter: P::TendonSpringRange(_), .. })
            && values[0] >= values[1];
        (!is_closed && values.iter().any(|x| *x != 0.0)).then_some((parameter, values))
    };
    let mut all: Vec<_> = all.into_iter().filter_map(with_values).collect();
    for place in 0..MOST.min(all.len().saturating_sub(1)) {
        let x = 0.5 + 0.5 * random::symmetric(4, which, 0, place as u64);
        let other = place + ((all.len() - place) as f64 * x) as usize;
        all.swap(place, other);
    }
    all.truncate(MOST);
    all
}

/// Sizes of a shape; none where there are none.
fn sizes(shape: &Shape) -> Option<Vec<f64>> {
    match *shape {
        Shape::Sphere { radius } => Some(vec![radius]),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            Some(vec![radius, half_length])
        }
        Shape::Box { half: sizes } | Shape::Ellipsoid { radii: sizes } => Some(sizes.as_slice().to_vec()),
        _ => None,
    }
}

/// Gives a world other numbers for one of these parameters.
fn set(batch: &mut Batch, parameter: ModelParameter, values: &[f64]) {
    match parameter {
        ModelParameter::Tree { tree, parameter } => batch.set_parameter(0, tree, parameter, values),
        ModelParameter::Size { geom } => batch.set_geom(0, geom, GeomParameter::Size, values),
        other => unreachable!("{other:?} is not changed"),
    }
    .expect("a parameter");
}

/// A step on from a state, and what its residual may do to velocities, m/s.
pub(super) fn stepped(batch: &mut Batch, from: &State) -> (State, f64) {
    batch.reset(&[(0, from.clone())]).expect("a state");
    run(batch, 1);
    (state(batch, 0), summaries(batch)[0].residual_scaled)
}

/// A derivative of velocities beside differences.
struct Compared {
    /// Relative to the largest, beyond what noise hides.
    error: f64,
    /// Where that is: what was found, and the difference.
    worst: (usize, f64, f64),
}

/// Compares a derivative of velocities with differences; none where the step has a kink.
fn compare(column: &[f64], [up, base, down]: [&(State, f64); 3], by: f64) -> Option<Compared> {
    let (mut size, mut kink, mut most, mut worst) = (0.0_f64, 0.0_f64, 0.0, (0, 0.0, 0.0));
    let noise = up.1.max(down.1) + ROUNDING;
    for (i, &found) in column.iter().enumerate() {
        let [above, below] = [up.0.v[i] - base.0.v[i], base.0.v[i] - down.0.v[i]];
        size = size.max(above.abs()).max(below.abs());
        kink = kink.max((above - below).abs());
        let mean = 0.5 * (above + below);
        // Beyond both one-sided differences. What is not a number is as wrong as can be.
        let off = (found * by - mean).abs() - 0.5 * (above - below).abs();
        let off = Some(off).filter(|off| off.is_finite()).unwrap_or(f64::MAX);
        if off > most {
            (most, worst) = (off, (i, found, mean / by));
        }
    }
    (kink <= KINK * size + 2.0 * noise).then(|| Compared { error: (most - noise).max(0.0) / size.max(noise), worst })
}
