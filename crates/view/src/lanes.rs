//! Poses of a batch where its device keeps them.

use manyworlds::{Batch, Block, Error, FieldId, Model, Numbers, Precision};
use manyworlds_render::{Lanes, Seat};

/// Numbers of a pose: position and quaternion.
const POSE: usize = 7;

/// Where the device of a batch keeps the poses of a group's bodies, worlds counted from the group's first, for an observer on
/// the same device; after a reset bring them up to date first, by [`Batch::refresh`].
///
/// `None` where the host has to read them: on the CPU, in double precision, and of models with soft bodies or mocap bodies, a
/// part of which is on the host alone.
///
/// # Errors
/// If there is no such group.
pub fn lanes<'a>(batch: &'a mut Batch, group: usize, model: &Model) -> Result<Option<Vec<Lanes<'a>>>, Error> {
    let field = batch.field(group, FieldId::Pose)?;
    let by_host = !model.soft.is_empty() || !model.mocaps.is_empty() || field.precision() != Precision::F32;
    if by_host {
        return Ok(None);
    }
    let first = field.worlds().start;
    Ok(field.blocks().map(|block| of(&block, first)).collect())
}

/// Those of a block, if it is on a device.
fn of<'a>(block: &Block<'a>, first: usize) -> Option<Lanes<'a>> {
    let Numbers::Device(buffer) = block.numbers else { return None };
    let layout = &block.layout;
    let [_, width, numbers] = layout.shape;
    let seats = |tree: usize| {
        let seat = move |first: usize| Some(Seat { body: layout.column(tree, first)? / POSE, tree, first });
        (0..numbers).step_by(POSE).filter_map(seat)
    };
    Some(Lanes {
        buffer,
        worlds: layout.worlds.start - first..layout.worlds.end - first,
        trees: layout.trees,
        width,
        strides: layout.strides,
        offset: layout.offset,
        bodies: (0..layout.trees).flat_map(seats).collect(),
    })
}
