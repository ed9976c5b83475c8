//! A model made in code: a ball dropped on the ground, at several restitutions side by side.
//!
//! `cargo run --release -p manyworlds-examples --example 03_model_in_code`

use manyworlds::model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, Pose, Shape, Vec3};
use manyworlds::{Batch, BatchOptions, Error, Model, ModelBuilder, Precision};

const RADIUS: f64 = 0.1;
const MASS: f64 = 1.0;

fn ball(restitution: f64) -> Result<Model, Error> {
    let mut builder = ModelBuilder::new(format!("ball {restitution}"));
    let contact = Contacting { restitution, ..Contacting::default() };
    builder.geom(Geom { name: "ground".into(), body: 0, pose: Pose::identity(), shape: Shape::Plane, contact });
    // A solid sphere's inertia is 2/5 m r^2.
    let inertia = Mat3::identity() * (0.4 * MASS * RADIUS * RADIUS);
    let inertial = Inertial { mass: MASS, com: Vec3::zeros(), inertia };
    let body = builder.body("ball", 0, Pose::translation(0.0, 0.0, 1.0), inertial);
    builder.joint(Joint::new("free", body, JointKind::Free));
    let shape = Shape::Sphere { radius: RADIUS };
    builder.geom(Geom { name: "ball".into(), body, pose: Pose::identity(), shape, contact });
    Ok(builder.build()?)
}

fn main() -> Result<(), Error> {
    let restitutions = [0.0, 0.5, 0.8];
    let models = restitutions.map(ball).into_iter().collect::<Result<Vec<_>, _>>()?;
    // Worlds of several models in one batch.
    let groups: Vec<_> = models.iter().map(|model| (model, 1)).collect();
    let options = BatchOptions { precision: Precision::F64, ..BatchOptions::default() };
    let mut batch = Batch::new(&groups, &options)?;

    let mut apex = [0.0_f64; 3];
    for _ in 0..500 {
        batch.step::<f64>(&[])?;
        for (world, apex) in apex.iter_mut().enumerate() {
            let state = batch.state(world)?;
            if state.v[2] > 0.0 {
                *apex = apex.max(state.q[2]);
            }
        }
    }
    let drop = 1.0 - RADIUS;
    for (restitution, apex) in restitutions.iter().zip(apex) {
        let height = (apex - RADIUS).max(0.0);
        println!("restitution {restitution}: bounced to {height:.3} m; e^2 h = {:.3} m", restitution.powi(2) * drop);
    }
    Ok(())
}
