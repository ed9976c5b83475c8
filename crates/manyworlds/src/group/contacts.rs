//! All contacts of all worlds after a step: their impulses, as forces on bodies are found from them, and how well each is solved.

use manyworlds_collide::Side;
use manyworlds_contact::{ContactProblem, residual};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::index::slot_at;

use super::chunk::Chunk;
use super::home::Home;
use super::problem::{Reading, Sides, WorldProblem};
use super::seen::Seen;
use super::shared::Shared;
use crate::host::Place;
use crate::{ContactImpulse, Error, SolvedContact};

/// What is known of a contact from its geometry.
struct Geometry {
    world: usize,
    bodies: [usize; 2],
    point: [f64; 3],
    normal: [f64; 3],
    distance: f64,
}

impl Geometry {
    /// With its impulse in world axes, from its parts in the contact's frame.
    fn with(self, parts: [f64; 3]) -> ContactImpulse {
        let Self { world, bodies, point, normal, distance } = self;
        let [t1, t2] = tangents(normal);
        let impulse = std::array::from_fn(|k| t1[k] * parts[0] + t2[k] * parts[1] + normal[k] * parts[2]);
        ContactImpulse { world, bodies, point, impulse, distance }
    }
}

/// Appends those of a chunk that did something; its first world has number `first`.
pub(super) fn impulses<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    first: usize,
    out: &mut Vec<ContactImpulse>,
) -> Result<(), Error> {
    each(shared, chunk, first, |geometry, parts, _| {
        if parts != [0.0; 3] {
            out.push(geometry.with(parts));
        }
    })
}

/// Appends all of a chunk whose first world has number `first`.
pub(super) fn solved<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    first: usize,
    out: &mut Vec<SolvedContact>,
) -> Result<(), Error> {
    let mut found: Vec<(ContactImpulse, Home)> = Vec::new();
    each(shared, chunk, first, |geometry, parts, home| found.push((geometry.with(parts), home)))?;
    let now = Reading::new(chunk, Sides::Whole)?;
    let mut memory = ContactProblem::default();
    for of_world in found.chunk_by(|a, b| a.0.world == b.0.world) {
        let world = of_world[0].0.world - first;
        let kept = chunk.before.as_ref().is_some_and(|kept| kept.has(world));
        let own = if kept { Some(Reading::of_last_step(shared, chunk, Sides::Whole, world)?) } else { None };
        let (worlds, host) = (own.as_ref().unwrap_or(&now).of(&*chunk.store), chunk.host.packed());
        let WorldProblem { mut problem, mut impulse, homes, mut gave_way, .. } =
            worlds.constraints(shared, &host, world, std::mem::take(&mut memory))?;
        // What the host solved, before it was rounded, and where biases gave way.
        if let Some(answer) = chunk.answers.get(world).and_then(Option::as_ref) {
            if !answer.impulse.is_empty() {
                impulse.copy_from_slice(&answer.impulse);
            }
            gave_way = answer.relaxed.iter().map(|of| of.how).collect();
        }
        problem.relax(&gave_way);
        let residuals: Vec<f64> = residual::by_constraint(&problem, &impulse, &worlds.after(shared, world)).collect();
        out.extend(of_world.iter().map(|&(contact, home)| {
            let own = homes.iter().position(|of| *of == home);
            SolvedContact { contact, residual: own.map_or(0.0, |constraint| residuals[constraint]) }
        }));
        memory = problem;
    }
    Ok(())
}

/// Goes through the contacts of a chunk whose first world has number `first`: what they are, their impulses in their own frames,
/// and where these stand.
fn each<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    first: usize,
    mut found: impl FnMut(Geometry, [f64; 3], Home),
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
            let home = match *place {
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
                    Home::Slot { set: of.set, lane, slot: slot as usize }
                }
                Place::Island(at) => {
                    let numbers = &of_islands.of(&*chunk.store)[3 * at as usize..3 * at as usize + 3];
                    parts.iter_mut().zip(numbers).for_each(|(part, x)| *part = x.to_f64());
                    Home::Island { constraint: at as usize }
                }
            };
            let geometry = Geometry {
                world: first + world,
                bodies: contact.bodies.map(|b| b as usize),
                point: contact.point,
                normal: contact.normal,
                distance: contact.distance,
            };
            found(geometry, parts, home);
        }
        for (index, (contact, parts)) in of_world.soft.iter().zip(&of_world.soft_impulses).enumerate() {
            let bodies = contact.sides.map(|side| match side {
                Side::Rigid { body, .. } => body as usize,
                Side::Soft { soft, .. } => shared.model.bodies.len() + soft as usize,
            });
            let geometry = Geometry {
                world: first + world,
                bodies,
                point: contact.point,
                normal: contact.normal,
                distance: contact.distance,
            };
            found(geometry, *parts, Home::Soft { contact: index });
        }
    }
    Ok(())
}
