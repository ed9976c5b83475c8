//! What the commands that draw share: what they show beside shapes, and how large a film may be.

use clap::Args;
use manyworlds::{Batch, Model};
use manyworlds_render::Size;
use manyworlds_view::{ContactColour, Marks, Moment, placed};

use crate::failure::Failure;

/// What is shown beside shapes.
#[derive(Args)]
pub(crate) struct MarkArgs {
    /// Draws contacts as arrows along their impulses, coloured by penetration, or with =residual by how badly each is solved
    #[arg(
        long,
        value_name = "penetration|residual",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "penetration"
    )]
    pub(crate) contacts: Option<ContactColour>,
    /// Draws centres of mass: small balls those of bodies, large ones those of trees of several bodies
    #[arg(long)]
    centres_of_mass: bool,
    /// Draws axes of joints: hinges blue, slides green, the three of balls in red, green and blue
    #[arg(long)]
    joint_axes: bool,
}

impl MarkArgs {
    pub(crate) fn marks(&self) -> Marks {
        Marks { contacts: self.contacts, centres: self.centres_of_mass, axes: self.joint_axes }
    }
}

/// How the first world of a batch is now, with the contacts of the last step if these are to be shown.
pub(crate) fn moment(batch: &mut Batch, model: &Model, contacts: bool) -> Result<Moment, Failure> {
    let mut found = Vec::new();
    if contacts {
        batch.solved_contacts(&mut found)?;
    }
    Ok(Moment { placed: placed(batch, 0, model)?, contacts: found })
}

/// Memory that the pictures of a film may take, B.
const MOST_BYTES: u64 = 4 << 30;

/// Refuses a film that takes too much memory, by the option that makes it long.
pub(crate) fn fits(option: &str, value: &str, count: u64, size: Size) -> Result<(), Failure> {
    if count.saturating_mul(size.bytes() as u64) <= MOST_BYTES {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{option} {value}: a film of {count} pictures of this size takes too much memory; make it shorter or take a \
         smaller --size"
    )))
}
