//! Which contacts adhere: what the kernel `adhere` shares the forces of actuators out to.

use std::collections::BTreeMap;

use manyworlds_collide::Contact;
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{Model, Transmission};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::adhere::{AdhereItem, PLACE};
use manyworlds_shaders::dynamics::grip::GripItem;
use manyworlds_shaders::dynamics::tree::POSE;

use super::lists::LaneLists;
use super::world::World;
use crate::lanes::LaneMap;

/// Surfaces that are no further apart than this touch, m: what rests on another is at a distance of zero but for the
/// solver's tolerance and rounding.
const TOUCHING: f64 = 1e-5;

/// What adheres in a model.
#[derive(Debug)]
pub(crate) struct Adhesion {
    /// Bodies of the actuators, in the order of those.
    bodies: Vec<u32>,
    /// Of each tree set and tree in it: its actuators, and their number among `bodies`.
    grips: Vec<Vec<Vec<[u32; 2]>>>,
    /// Of each geom its part of how far it reaches, m: those of two are added.
    reach: Vec<f64>,
    /// Of explicit pairs how far it reaches, m.
    pairs: BTreeMap<[u32; 2], f64>,
}

impl Adhesion {
    /// `None` where nothing adheres.
    pub(crate) fn new(model: &Model, sets: &[TreeSet]) -> Option<Self> {
        let adhering: Vec<(usize, u32)> = model
            .actuators
            .iter()
            .enumerate()
            .filter_map(|(number, actuator)| match actuator.transmission {
                Transmission::Adhesion(body) => Some((number, body as u32)),
                _ => None,
            })
            .collect();
        if adhering.is_empty() {
            return None;
        }
        let number = |actuator: usize| adhering.partition_point(|&(known, _)| known < actuator) as u32;
        let of_tree = |(own, all): (&Vec<u32>, &Vec<usize>)| {
            own.iter().map(|&local| [local, number(all[local as usize])]).collect()
        };
        let of_set = |set: &TreeSet| set.adhesion.iter().zip(&set.actuators).map(of_tree).collect();
        let pair = |pair: &manyworlds_model::ExplicitPair| {
            let mut geoms = pair.geoms.map(|geom| geom as u32);
            geoms.sort_unstable();
            (geoms, pair.margin + pair.gap)
        };
        Some(Self {
            grips: sets.iter().map(of_set).collect(),
            reach: model.geoms.iter().map(|geom| geom.contact.reach()).collect(),
            pairs: model.pairs.iter().map(pair).collect(),
            bodies: adhering.into_iter().map(|(_, body)| body).collect(),
        })
    }

    /// Forces of a world.
    pub(crate) fn len(&self) -> usize {
        self.bodies.len()
    }

    /// What the kernel `grip` reads of a tree set in `n_world` worlds.
    pub(crate) fn grip_items(&self, set: usize, n_world: usize) -> Vec<u32> {
        let trees = &self.grips[set];
        let (mut lanes, mut items) = (Vec::new(), Vec::new());
        for world in 0..n_world {
            for own in trees {
                lanes.extend([items.len() as u32, own.len() as u32]);
                items.extend(
                    own.iter()
                        .map(|&[actuator, number]| GripItem { actuator, number: (world * self.len()) as u32 + number }),
                );
            }
        }
        lanes.extend(bytemuck::cast_slice::<_, u32>(&items));
        lanes
    }

    /// Whether a contact of a body that adheres is one that adheres.
    fn is_close(&self, contact: &Contact) -> bool {
        let of_geoms = || contact.geoms.iter().map(|&geom| self.reach[geom as usize]).sum();
        let reach: f64 = self.pairs.get(&contact.geoms).copied().unwrap_or_else(of_geoms);
        contact.distance <= reach.max(TOUCHING)
    }

    /// The forces that pull on a contact, by number.
    fn on<'a>(&'a self, contact: &'a Contact) -> impl Iterator<Item = usize> + 'a {
        let close = self.is_close(contact);
        let of = move |(_, body): &(usize, &u32)| close && contact.bodies.contains(*body);
        self.bodies.iter().enumerate().filter(of).map(|(number, _)| number)
    }

    /// Whether anything pulls on a contact.
    pub(crate) fn pulls(&self, contact: &Contact) -> bool {
        self.on(contact).next().is_some()
    }
}

/// The contacts that adhere of a tree set of a chunk, ready for upload.
#[derive(Debug)]
pub(crate) struct AdhesionPack<T> {
    set: usize,
    pub(crate) lists: LaneLists<AdhereItem, T, PLACE>,
    /// Contacts of each force of the world at hand.
    counts: Vec<u32>,
}

impl<T: Scalar> AdhesionPack<T> {
    pub(crate) fn new(adhesion: &Adhesion, set: usize, n_world: usize) -> Self {
        Self { set, lists: LaneLists::new(adhesion.grips[set].len() * n_world), counts: Vec::new() }
    }

    /// Lists the contacts of all worlds. `origin`: of the first body of a tree of a world.
    pub(crate) fn pack(
        &mut self,
        adhesion: &Adhesion,
        worlds: &[World],
        lanes: &LaneMap,
        origin: impl Fn(usize, usize) -> [T; POSE],
    ) {
        let k = adhesion.grips[self.set].len();
        self.lists.clear();
        for (world, own) in worlds.iter().enumerate() {
            self.counts.clear();
            self.counts.resize(adhesion.len(), 0);
            for contact in &own.contacts {
                adhesion.on(contact).for_each(|number| self.counts[number] += 1);
            }
            for contact in &own.contacts {
                for number in adhesion.on(contact) {
                    for (side, body) in contact.bodies.into_iter().enumerate() {
                        let Some(at) = lanes.bodies[body as usize] else { continue };
                        let tree = lanes.trees[at.tree];
                        if tree.set != self.set {
                            continue;
                        }
                        let c = origin(world, at.tree);
                        let arm: [f64; 3] = std::array::from_fn(|i| contact.point[i] - c[i].to_f64());
                        let ([x, y, z], [u, v, w]) = (arm, contact.normal);
                        let share = 1.0 / f64::from(self.counts[number]);
                        let number = (world * adhesion.len() + number) as u32;
                        let item = AdhereItem { body: at.local as u32, number, against: side as u32 };
                        self.lists.push(world * k + tree.index, item, [x, y, z, u, v, w, share]);
                    }
                }
            }
        }
        self.lists.pack();
    }
}
