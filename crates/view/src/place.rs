//! Where everything of a world is.

use manyworlds::kinematics::motions_with;
use manyworlds::model::{Pose, Quat};
use manyworlds::{Batch, Error, FieldId, Model};
use manyworlds_render::Placed;
use nalgebra::Quaternion;

/// Where everything of a world of a batch of one model is now.
///
/// # Errors
/// What the batch refuses.
pub fn placed(batch: &mut Batch, world: usize, model: &Model) -> Result<Placed, Error> {
    let q = batch.state(world)?.q;
    let mut numbers = vec![0.0; 7 * model.mocaps.len() * batch.len()];
    if !model.mocaps.is_empty() {
        batch.read(0, FieldId::Mocap, &mut numbers)?;
    }
    let own = numbers.chunks_exact(7).skip(world * model.mocaps.len());
    let mocap: Vec<Pose> = own.take(model.mocaps.len()).map(pose).collect();
    Ok(placed_at(model, q, &mocap))
}

/// Where everything of a model is in a position.
#[must_use]
pub fn placed_at(model: &Model, q: Vec<f64>, mocap: &[Pose]) -> Placed {
    let mut bodies = Vec::new();
    motions_with(model, &q, &vec![0.0; model.n_v], mocap, &mut bodies);
    Placed { poses: bodies.iter().map(|body| body.pose).collect(), q }
}

/// Of position and quaternion; one of no length is no rotation, as in a step.
fn pose(numbers: &[f64]) -> Pose {
    let quaternion = Quaternion::new(numbers[3], numbers[4], numbers[5], numbers[6]);
    let turn = Quat::try_new(quaternion, 1e-14).unwrap_or_else(Quat::identity);
    Pose::from_parts([numbers[0], numbers[1], numbers[2]].into(), turn)
}
