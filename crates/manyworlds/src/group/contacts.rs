//! The impulses of all contacts of all worlds after a step, as forces on bodies are found from them.

use manyworlds_collide::Side;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::index::slot_at;

use super::chunk::Chunk;
use super::seen::Seen;
use super::shared::Shared;
use crate::host::Place;
use crate::{ContactImpulse, Error};

/// In world axes, from its parts in the contact's frame.
fn impulse(world: usize, bodies: [usize; 2], point: [f64; 3], normal: [f64; 3], parts: [f64; 3]) -> ContactImpulse {
    let [t1, t2] = tangents(normal);
    let impulse = std::array::from_fn(|k| t1[k] * parts[0] + t2[k] * parts[1] + normal[k] * parts[2]);
    ContactImpulse { world, bodies, point, impulse }
}

/// Appends those of a chunk whose first world has number `first`.
pub(super) fn impulses<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    first: usize,
    out: &mut Vec<ContactImpulse>,
) -> Result<(), Error> {
    chunk.finish()?;
    let mut by_set = Vec::with_capacity(chunk.sets.len());
    for set in &chunk.sets {
        by_set.push(Seen::new(&mut *chunk.store, set.step.impulses.now)?);
    }
    let of_islands = Seen::new(&mut *chunk.store, chunk.islands.impulses.now)?;
    let tile = chunk.store.tile();
    let lanes = &shared.host.lanes;
    for (world, of_world) in chunk.host.worlds.iter().enumerate() {
        for (contact, place) in of_world.contacts.iter().zip(&of_world.places) {
            let mut parts = [0.0; 3];
            match *place {
                Place::Slot(slot) => {
                    let bodies = contact.bodies.map(|b| lanes.bodies[b as usize]);
                    let Some(body) = bodies.iter().flatten().next() else { continue };
                    let of = lanes.trees[body.tree];
                    let lane = chunk.sets[of.set].lane(world, of.index);
                    let begin = chunk.host.packs[of.set].begin(lane);
                    let numbers = by_set[of.set].of(&*chunk.store);
                    for (r, part) in parts.iter_mut().enumerate() {
                        *part = numbers[slot_at(tile, lane, begin, slot as usize, 3, r)].to_f64();
                    }
                }
                Place::Island(at) => {
                    let numbers = &of_islands.of(&*chunk.store)[3 * at as usize..3 * at as usize + 3];
                    parts.iter_mut().zip(numbers).for_each(|(part, x)| *part = x.to_f64());
                }
            }
            if parts == [0.0; 3] {
                continue;
            }
            let bodies = contact.bodies.map(|b| b as usize);
            out.push(impulse(first + world, bodies, contact.point, contact.normal, parts));
        }
        for (contact, parts) in
            of_world.soft.iter().zip(&of_world.soft_impulses).filter(|(_, parts)| **parts != [0.0; 3])
        {
            let bodies = contact.sides.map(|side| match side {
                Side::Rigid { body, .. } => body as usize,
                Side::Soft { soft, .. } => shared.model.bodies.len() + soft as usize,
            });
            out.push(impulse(first + world, bodies, contact.point, contact.normal, *parts));
        }
    }
    Ok(())
}
