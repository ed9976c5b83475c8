//! The contact problem of one world's last step, read back from the buffers its solver worked on.

mod build;
mod building;
mod laws;
mod reading;

use manyworlds_contact::ContactProblem;
use manyworlds_shaders::Scalar;

use super::chunk::Chunk;
use super::shared::Shared;
use super::soft::step::SoftAbout;
use crate::{Error, StepProblem};

pub(super) use build::{Responses, WorldProblem};
pub(super) use building::Building;
pub(super) use reading::{Inertia, Lanes, Reading, Sides, Worlds, fill_dense};

/// Reads one world of a chunk, its step done.
pub(super) fn problem<T: Scalar>(shared: &Shared<T>, chunk: &mut Chunk<T>, world: usize) -> Result<StepProblem, Error> {
    chunk.finish()?;
    let reading = Reading::of_last_step(shared, chunk, Sides::ByBody, world)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let SoftAbout { steps, about } = worlds.soft_about(shared, &host, world);
    let WorldProblem { problem, mut impulse, velocity, gave_way, .. } =
        worlds.world(shared, &host, world, ContactProblem::default(), Responses::Found, (&steps, about))?;
    // Those of a world that was reset are gone.
    let answer = chunk.answers.get(world).and_then(Option::as_ref);
    if let Some(answer) = answer.filter(|answer| !answer.impulse.is_empty()) {
        impulse.copy_from_slice(&answer.impulse);
    }
    let relaxed = answer.map_or(gave_way, |answer| answer.relaxed.iter().map(|of| of.how).collect());
    Ok(StepProblem { problem, impulse, velocity, relaxed })
}
