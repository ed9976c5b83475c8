//! How high does a dropped ball bounce, and how much higher if it is dropped from higher up: the derivative of the height at
//! the top of the bounce by the height of the drop, `rho^2` with restitution rho.
//!
//! The derivative of the steps as they are computed says 1: a ball that starts higher is higher by as much in every step,
//! and bounces no sooner. [`Bounces::AtImpact`] differentiates the time of impact as well (after K. Werling et al. 2021,
//! section 6).
//!
//! `cargo run --release -p manyworlds-examples --example 07_bounce [-- FIGURE.svg]`

use manyworlds::model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, Pose, Shape, Vec3};
use manyworlds::{Batch, BatchOptions, Bounces, Error, Executor, GradientRules, Model, ModelBuilder, Precision, State};
use manyworlds_examples::chart::{Panel, draw_if_asked};

const RADIUS: f64 = 0.1;
const GRAVITY: f64 = 9.81;
/// Height of a bounce that is aimed at, m.
const WANTED: f64 = 0.3;
/// Memory of the checkpoints, B.
const MEMORY: usize = 64 << 20;

fn ball(restitution: f64) -> Result<Model, Error> {
    let mut builder = ModelBuilder::new("ball");
    let contact = Contacting { restitution, ..Contacting::default() };
    builder.geom(Geom { name: "ground".into(), body: 0, pose: Pose::identity(), shape: Shape::Plane, contact });
    let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() * (0.4 * RADIUS * RADIUS) };
    let body = builder.body("ball", 0, Pose::identity(), inertial);
    builder.joint(Joint::new("free", body, JointKind::Free));
    let shape = Shape::Sphere { radius: RADIUS };
    builder.geom(Geom { name: "ball".into(), body, pose: Pose::identity(), shape, contact });
    Ok(builder.build()?)
}

/// The height of the ball's lowest point at the top of its bounce, m, and its derivative by the height of the drop.
fn bounce(restitution: f64, drop: f64, dt: f64, bounces: Bounces) -> Result<(f64, f64), Error> {
    let model = ball(restitution)?;
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, dt: Some(dt), ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    batch.set_gradient_rules(GradientRules { bounces, ..GradientRules::default() });
    let q = vec![0.0, 0.0, RADIUS + drop, 1.0, 0.0, 0.0, 0.0];
    batch.reset(&[(0, State { q, v: vec![0.0; 6], ..State::default() })])?;
    // It falls, and rises as long as its speed lasts.
    let speed = (2.0 * GRAVITY * drop).sqrt();
    let steps = ((1.0 + restitution) * speed / GRAVITY / dt).round() as usize;
    let rollout = batch.rollout::<f64>(steps, &[], MEMORY)?;
    let found = batch.backward(&rollout, |step, _, state, out| {
        if step + 1 < steps {
            return 0.0;
        }
        out.q[2] = 1.0;
        state.q[2] - RADIUS
    })?;
    Ok((found.worlds[0].loss, found.worlds[0].q[2]))
}

/// Errors of the bounce's height, m, by iteration of Newton's method on the drop's, for a bounce to 0.3 m with restitution
/// 0.7. With the derivative as stepped, 1 in the place of `rho^2`, the iteration only creeps.
fn wanted(bounces: Bounces, iterations: usize) -> Result<Vec<f64>, Error> {
    let (mut drop, mut errors) = (1.0, Vec::new());
    for _ in 0..iterations {
        let (height, slope) = bounce(0.7, drop, 1e-3, bounces)?;
        errors.push((height - WANTED).abs());
        drop -= (height - WANTED) / slope;
    }
    Ok(errors)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("restitution  height  rho^2 h  d height / d drop: as stepped, at impact, rho^2");
    for restitution in [0.5_f64, 0.7, 0.9] {
        let (height, plain) = bounce(restitution, 1.0, 1e-3, Bounces::AsStepped)?;
        let (_, impact) = bounce(restitution, 1.0, 1e-3, Bounces::AtImpact)?;
        let square = restitution * restitution;
        println!("{restitution:11}  {height:6.3}  {square:7.3}  {plain:33.4}, {impact:9.4}, {square:5.3}");
    }
    let lines = [Bounces::AsStepped, Bounces::AtImpact].map(|bounces| wanted(bounces, 16));
    let [plain, impact] = lines;
    let lines = [("as stepped", plain?), ("at impact", impact?)];
    draw_if_asked(&[Panel::of_iterations(
        "bounce to 0.3 m: Newton on the drop",
        "error of the height, m",
        true,
        &lines,
    )])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Bounces, bounce, wanted};

    #[test]
    fn a_drop_is_found_sooner_by_the_time_of_impact() {
        let [plain, impact] =
            [Bounces::AsStepped, Bounces::AtImpact].map(|bounces| wanted(bounces, 5).expect("a drop").pop());
        let (plain, impact) = (plain.expect("an error"), impact.expect("an error"));
        assert!(impact < 1e-3 && plain > 0.01, "{impact}, {plain}");
    }

    #[test]
    fn the_derivative_tends_to_that_of_a_bounce() {
        for restitution in [0.5, 0.9] {
            let square = restitution * restitution;
            let (_, plain) = bounce(restitution, 1.0, 1e-3, Bounces::AsStepped).expect("a bounce");
            assert!((plain - 1.0).abs() < 1e-6, "as stepped: {plain}");
            let errors = [4e-3, 1e-3, 2.5e-4].map(|dt| {
                let (_, found) = bounce(restitution, 1.0, dt, Bounces::AtImpact).expect("a bounce");
                (found - square).abs()
            });
            assert!(errors[0] < 0.03 && errors[2] < 0.003 && errors[2] < errors[0], "{restitution}: {errors:?}");
        }
    }
}
