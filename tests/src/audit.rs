//! Derivatives at random states of random models, compared with differences and with each other: what is certified must be right.

mod parameters;
mod products;
mod single;

use std::collections::BTreeMap;

use manyworlds::gradcheck::Checker;
use manyworlds::{BatchOptions, Certificate, Model, State, random};

use crate::batches::{batch, largest, run, state, tight};
use crate::rigid_random;
use crate::soft_random::Scene;

pub use parameters::ways;
pub use single::Single;

use parameters::stepped;

/// Steps after which derivatives are compared: in the fall, in the first contact, and later.
const LOOKS: [usize; 3] = [40, 80, 130];
/// Differences, either way: m, m/s and so on. What differs by the first is looked at again with the second: velocities of what is
/// stiff have more noise than the residual tells.
const DIFFERENCES: [f64; 2] = [1e-6, 1e-4];
/// Inputs compared at a state.
const INPUTS: usize = 8;
/// Of steps that end faster than this, m/s or rad/s, nothing is compared: what bodies are that nothing but a huge impulse parts, whose
/// rounding is more than a difference shows.
const FASTEST: f64 = 100.0;
/// Largest error of a derivative that is certified, relative, beyond what the solver's residual hides.
const ERROR: f64 = 1e-5;

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Audit {
    /// States whose derivatives were looked at.
    pub states: u64,
    /// Those of them whose derivatives are certified, and those where all but that by q are.
    pub certified: [u64; 2],
    /// Derivatives by parameters that were compared, and those passed over because the step has a kink there.
    pub parameters: [u64; 2],
    /// Products, and Jacobians by kernels, that were compared with the host's Jacobian.
    pub products: u64,
    /// The same steps in single precision.
    pub single: Single,
    /// Certified ones that are wrong, each with its seed.
    pub wrong: Vec<String>,
    /// How often a certificate gave each reason against a derivative, with digits left out.
    pub reasons: BTreeMap<String, u64>,
}

/// Where a derivative is looked at.
struct Place<'a> {
    model: &'a Model,
    /// Of steps that are solved as closely as can be.
    options: &'a BatchOptions,
    from: &'a State,
    /// In words.
    name: &'a str,
}

/// What random scenes are made of.
#[derive(Debug, Clone, Copy)]
pub enum Scenes {
    /// Small soft bodies.
    Soft,
    /// Robots.
    Rigid,
    /// The same with tendons, muscles, fluids and so on.
    Applied,
}

impl Audit {
    /// Looks at the derivatives of the scene of a seed.
    ///
    /// # Panics
    /// If a step or a derivative fails.
    pub fn look_at(&mut self, of: Scenes, seed: u64) {
        match of {
            Scenes::Soft => {
                let mut scene = Scene::new(seed);
                let start = scene.start();
                self.look(&format!("seed {seed}, {:?}", scene.kind), &scene.model, start, seed);
            }
            Scenes::Rigid | Scenes::Applied => {
                let model = rigid_random::model(seed, matches!(of, Scenes::Applied));
                self.look(&format!("seed {seed}"), &model, rigid_random::start(&model, seed), seed);
            }
        }
    }

    /// Looks at the derivatives of a model at three states of a run from a start, which the seed draws controls for.
    fn look(&mut self, name: &str, model: &Model, start: State, seed: u64) {
        // Of steps with a residual of 1e-8 that would hide errors of 1e-2.
        let fine = BatchOptions { iterations: 200, ..tight() };
        let coarse = BatchOptions { tolerance: 1e-8, iterations: BatchOptions::default().iterations, ..fine.clone() };
        let [mut worlds, mut ahead] = [&coarse, &fine].map(|options| batch(model, 1, options));
        let [mut checker, mut again] =
            DIFFERENCES.map(|by| Checker::sampled(model, &fine, by, INPUTS).expect("a checker"));
        worlds.reset(&[(0, start)]).expect("a state");
        let mut done = 0;
        for look in LOOKS {
            worlds.step(&controls(model, seed, look)).expect("a step");
            run(&mut worlds, look - done - 1);
            done = look;
            let from = state(&mut worlds, 0);
            if largest(&stepped(&mut ahead, &from).0.v) > FASTEST {
                continue;
            }
            // The two draw the same inputs.
            let found = checker.compare_closely(&from, ERROR).expect("a comparison");
            let looked = again.compare_closely(&from, ERROR).expect("a comparison");
            self.states += 1;
            let name = &format!("{name}, step {look}");
            let Some(by_q) = self.judged(&found.jacobian.certificate) else { continue };
            for (block, other) in found.blocks.iter().zip(&looked.blocks) {
                let is_off = [block, other].iter().all(|own| own.error.is_nan() || own.error > ERROR);
                if is_off && (by_q || !block.name.ends_with("dq")) {
                    self.wrong.push(format!(
                        "{name}: {}{:?} is {:e}, the difference {:e}",
                        block.name, block.worst, block.values[0], block.values[1]
                    ));
                }
            }
            let place = Place { model, options: &fine, from: &from, name };
            self.by_parameters(&place);
            self.products(&place);
            self.in_single(&place);
        }
    }

    /// Whether a certified derivative is certified by q as well; none where it is not certified.
    fn judged(&mut self, certificate: &Certificate) -> Option<bool> {
        for reason in certificate.reasons() {
            self.doubt(reason);
        }
        if certificate.valid_but_by_q() {
            self.certified[usize::from(!certificate.valid())] += 1;
            return Some(certificate.valid());
        }
        None
    }

    /// Counts a reason against a derivative.
    fn doubt(&mut self, reason: &str) {
        let short = reason.split(" (").next().unwrap_or_default();
        *self.reasons.entry(short.replace(|c: char| c.is_ascii_digit(), "")).or_default() += 1;
    }
}

/// Random controls, within their bounds.
fn controls(model: &Model, seed: u64, look: usize) -> Vec<f64> {
    let of = |(k, actuator): (usize, &manyworlds_model::Actuator)| {
        let [low, high] = actuator.ctrl_range.unwrap_or([-1.0, 1.0]);
        0.5 * (low + high) + 0.45 * (high - low) * random::symmetric(seed, 2, look as u64, k as u64)
    };
    model.actuators.iter().enumerate().map(of).collect()
}
