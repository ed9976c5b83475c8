//! The impulses of all contacts of all worlds after a step, as forces on bodies are found from them.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::index::slot_at;

use super::chunk::Chunk;
use super::seen::Seen;
use super::shared::Shared;
use crate::host::Place;
use crate::{ContactImpulse, Error};

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
            let normal = contact.normal.map(Scalar::to_f64);
            let [t1, t2] = tangents(normal);
            out.push(ContactImpulse {
                world: first + world,
                bodies: contact.bodies.map(|b| b as usize),
                point: contact.point.map(Scalar::to_f64),
                impulse: std::array::from_fn(|k| t1[k] * parts[0] + t2[k] * parts[1] + normal[k] * parts[2]),
            });
        }
    }
    Ok(())
}
