//! Derivatives of random scenes with soft bodies, compared with differences: what is certified must be right.

use std::collections::BTreeMap;

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions, GeomParameter, Mode, Model, ModelParameter, Outputs, Parameter, State};
use manyworlds_model::Shape;

use crate::batches::{batch, run, state, summaries, tight};
use crate::soft_random::Scene;

/// Steps after which derivatives are compared: in the fall, in the first contact, and later.
const LOOKS: [usize; 3] = [40, 80, 130];
/// Differences, either way: m, m/s and so on. What differs by the first is looked at again with the second: velocities of what is
/// stiff have more noise than the residual tells.
const DIFFERENCES: [f64; 2] = [1e-6, 1e-4];
/// Inputs compared at a state.
const INPUTS: usize = 8;
/// Differences by parameters, either way, relative: the first that agrees counts, as small ones are noise and large ones reach kinks.
const RELATIVE: [f64; 4] = [1e-4, 1e-5, 1e-3, 1e-6];
/// How far one-sided differences may disagree, relative to the larger, before the step has a kink between them.
const KINK: f64 = 1e-3;
/// What steps leave of velocities, m/s and rad/s: the small box of seed 6382 turns by 1.5e-10 more or less, as its momentum is balanced.
const ROUNDING: f64 = 1e-9;
/// Largest error of a derivative that is certified, relative, beyond what the solver's residual hides.
const ERROR: f64 = 1e-5;

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Audit {
    /// States with something in contact whose derivatives were looked at.
    pub states: u64,
    /// Those of them whose derivatives are certified.
    pub certified: u64,
    /// Derivatives by parameters that were compared, and those passed over because the step has a kink there.
    pub parameters: [u64; 2],
    /// Certified ones that are wrong, each with its seed.
    pub wrong: Vec<String>,
    /// How often a certificate gave each reason against a derivative, with digits left out.
    pub reasons: BTreeMap<String, u64>,
}

impl Audit {
    /// Looks at the derivatives of a scene.
    ///
    /// # Panics
    /// If a step or a derivative fails.
    pub fn look(&mut self, seed: u64) {
        let mut scene = Scene::new(seed);
        let start = scene.start();
        // Of steps with a residual of 1e-8 that would hide errors of 1e-2.
        let fine = BatchOptions { iterations: 200, ..tight() };
        let coarse = BatchOptions { tolerance: 1e-8, iterations: BatchOptions::default().iterations, ..fine.clone() };
        let mut worlds = batch(&scene.model, 1, &coarse);
        let [mut checker, mut again] =
            DIFFERENCES.map(|by| Checker::sampled(&scene.model, &fine, by, INPUTS).expect("a checker"));
        worlds.reset(&[(0, start)]).expect("a state");
        let mut done = 0;
        for look in LOOKS {
            run(&mut worlds, look - done);
            done = look;
            let from = state(&mut worlds, 0);
            // The two draw the same inputs.
            let found = checker.compare_closely(&from, ERROR).expect("a comparison");
            let looked = again.compare_closely(&from, ERROR).expect("a comparison");
            if found.jacobian.modes.iter().all(|mode| *mode == Mode::Breaking) {
                continue;
            }
            self.states += 1;
            let certificate = &found.jacobian.certificate;
            if !certificate.valid() {
                for reason in certificate.reasons() {
                    let short = reason.split(" (").next().unwrap_or_default();
                    *self.reasons.entry(short.replace(|c: char| c.is_ascii_digit(), "")).or_default() += 1;
                }
                continue;
            }
            self.certified += 1;
            let both = found.blocks.iter().zip(&looked.blocks);
            for (block, _) in both.filter(|(a, b)| [a, b].iter().all(|own| own.error.is_nan() || own.error > ERROR)) {
                let (name, kind) = (block.name, scene.kind);
                self.wrong.push(format!(
                    "seed {seed}, {kind:?}, step {look}: {name}{:?} is {:e}, the difference {:e}",
                    block.worst, block.values[0], block.values[1]
                ));
            }
            self.by_parameters(&scene.model, &fine, &from, &format!("seed {seed}, {:?}, step {look}", scene.kind));
        }
    }

    /// Compares derivatives by the parameters of what is soft, and by the sizes of what is not.
    fn by_parameters(&mut self, model: &Model, options: &BatchOptions, from: &State, at: &str) {
        let mut options = options.clone();
        // What rests at closed gaps has no kink then.
        options.stabilisation.fraction = 1.0;
        let mut base = batch(model, 1, &options);
        base.keep_steps(true).expect("kept");
        let here = stepped(&mut base, from);
        let mut changed = batch(model, 1, &options);
        for (parameter, values) in parameters(model, &mut base) {
            let found = match base.parameter_derivatives(0, &[parameter]) {
                Ok(found) if found.certificate.valid() => found,
                Ok(_) => continue,
                Err(error) => {
                    *self.reasons.entry(error.to_string()).or_default() += 1;
                    continue;
                }
            };
            for (k, column) in found.columns.iter().enumerate() {
                let mut best: Option<Compared> = None;
                for relative in RELATIVE {
                    let by = relative * values[k];
                    let [up, down] = [by, -by].map(|by| {
                        let mut values = values.clone();
                        values[k] += by;
                        set(&mut changed, parameter, &values);
                        stepped(&mut changed, from)
                    });
                    let compared = compare(column, [&up, &here, &down], by);
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
                        "{at}: v[{i}] by number {k} of {parameter:?} is {found:e}, the difference {difference:e}"
                    ));
                }
            }
            set(&mut changed, parameter, &values);
        }
    }
}

/// Parameters of what is soft and sizes of what is not, with their numbers.
fn parameters(model: &Model, batch: &mut Batch) -> Vec<(ModelParameter, Vec<f64>)> {
    use Parameter as P;
    let mut out = Vec::new();
    for tree in (0..model.trees.len()).filter(|&tree| model.trees[tree].soft.is_some()) {
        for parameter in [P::Young, P::Poisson, P::Density, P::StiffnessDamping] {
            let values = batch.parameter(0, tree, parameter).expect("a parameter");
            if values[0] > 0.0 {
                out.push((ModelParameter::Tree { tree, parameter }, values));
            }
        }
    }
    for (geom, own) in model.geoms.iter().enumerate() {
        let values = match own.shape {
            Shape::Sphere { radius } => vec![radius],
            Shape::Capsule { radius, half_length } => vec![radius, half_length],
            Shape::Box { half } => half.as_slice().to_vec(),
            _ => continue,
        };
        out.push((ModelParameter::Size { geom }, values));
    }
    out
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
fn stepped(batch: &mut Batch, from: &State) -> (State, f64) {
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
fn compare(column: &Outputs, [up, base, down]: [&(State, f64); 3], by: f64) -> Option<Compared> {
    let (mut size, mut kink, mut most, mut worst) = (0.0_f64, 0.0_f64, 0.0, (0, 0.0, 0.0));
    let noise = up.1.max(down.1) + ROUNDING;
    for (i, &found) in column.v.iter().enumerate() {
        let [above, below] = [up.0.v[i] - base.0.v[i], base.0.v[i] - down.0.v[i]];
        size = size.max(above.abs()).max(below.abs());
        kink = kink.max((above - below).abs());
        let mean = 0.5 * (above + below);
        // What is not a number is as wrong as can be.
        let off = Some((found * by - mean).abs()).filter(|off| off.is_finite()).unwrap_or(f64::MAX);
        if off > most {
            (most, worst) = (off, (i, found, mean / by));
        }
    }
    (kink <= KINK * size + 2.0 * noise).then(|| Compared { error: (most - noise).max(0.0) / size.max(noise), worst })
}
