//! Which contacts the sensors of a tree feel: what the kernel `load` adds up.

use manyworlds_collide::ray_meets;
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{Frame, Measures, Model, OfContact, Pose, Vec3, Zone};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::load::{DIRECTION, LoadItem, PLACE};
use manyworlds_shaders::dynamics::sensors::sensor;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL};

use super::frame;
use super::lists::LaneLists;
use super::pack::SlotPack;
use super::picks::Picker;
use super::world::{Place, World};
use crate::lanes::LaneMap;

/// What the sensors of a tree set feel.
#[derive(Debug, Clone)]
pub(crate) struct LoadShape {
    /// Contacts of every body count, for forces between bodies.
    wrenches: bool,
    /// Zones of each tree: its frame, what is around, the number in `load`.
    zones: Vec<Vec<(Frame, Zone, u32)>>,
    /// Sensors of each tree that show forces of contacts.
    forces: Vec<Vec<Forces>>,
}

/// A sensor that shows forces of contacts.
#[derive(Debug, Clone)]
struct Forces {
    picker: Picker,
    /// Its first number in `load`: three for each slot.
    first: u32,
}

impl LoadShape {
    /// `None` where contacts do not matter.
    pub(crate) fn new(model: &Model, set: &TreeSet) -> Option<Self> {
        let sensors = set.layout.sensors().filter(|sensors| sensors.header.n_load > 0)?;
        let loads = || sensors.records.iter().filter(|record| record.kind == sensor::LOAD).map(|record| record.index);
        let (mut zones, mut forces) = (Vec::new(), Vec::new());
        for own in &set.sensors {
            let mut loads = loads();
            let (mut touched, mut shown) = (Vec::new(), Vec::new());
            for &sensor in own {
                match &model.sensors[sensor].measures {
                    Measures::Touch(frame, zone) => touched.extend(loads.next().map(|number| (*frame, *zone, number))),
                    Measures::Contacts(pick, what) if what.contains(&OfContact::Force) => {
                        let first = loads.next();
                        // The rest of its numbers stand behind that one.
                        loads.by_ref().take(3 * pick.slots - 1).for_each(drop);
                        shown.extend(first.map(|first| Forces { picker: Picker::new(model, pick), first }));
                    }
                    _ => {}
                }
            }
            zones.push(touched);
            forces.push(shown);
        }
        let wrenches = sensors.records.iter().any(|record| matches!(record.kind, sensor::FORCE | sensor::TORQUE));
        Some(Self { wrenches, zones, forces })
    }
}

/// The contacts that matter to a tree set of a chunk, ready for upload.
#[derive(Debug)]
pub(crate) struct LoadPack<T> {
    set: usize,
    shape: LoadShape,
    pub(crate) lists: Lists<T>,
}

/// The contacts that matter, by lane.
type Lists<T> = LaneLists<LoadItem, T, PLACE>;

impl<T: Scalar> LoadPack<T> {
    pub(crate) fn new(set: usize, shape: LoadShape, n_world: usize) -> Self {
        let lists = LaneLists::new(shape.zones.len() * n_world);
        Self { set, shape, lists }
    }

    /// Lists the contacts of all worlds. `pose`: of a body of a world.
    pub(crate) fn pack(
        &mut self,
        worlds: &[World],
        lanes: &LaneMap,
        packs: &[SlotPack],
        pose: impl Fn(usize, usize) -> [f64; POSE],
    ) {
        self.lists.clear();
        let impulse = |lane: usize, place: Place| match place {
            Place::Slot(slot) => (packs[self.set].real_of(lane, slot as usize) as u32, 0),
            Place::Island(constraint) => (3 * constraint, 1),
        };
        for (number, world) in worlds.iter().enumerate() {
            let pose = |body: usize| frame(pose(number, body));
            self.shape.sides((self.set, number), world, lanes, impulse, pose, &mut self.lists);
            self.shape.shown(number, world, impulse, pose, &mut self.lists);
        }
        self.lists.pack();
    }
}

impl LoadShape {
    /// Lists which contacts push on bodies and zones of a tree set in a world.
    fn sides<T: Scalar>(
        &self,
        (set, number): (usize, usize),
        world: &World,
        lanes: &LaneMap,
        impulse: impl Fn(usize, Place) -> (u32, u32),
        pose: impl Fn(usize) -> Pose,
        lists: &mut Lists<T>,
    ) {
        for (contact, &place) in world.contacts.iter().zip(&world.places) {
            for (side, body) in contact.bodies.map(|body| body as usize).into_iter().enumerate() {
                let Some(at) = lanes.bodies[body] else { continue };
                let tree = lanes.trees[at.tree];
                if tree.set != set {
                    continue;
                }
                let lane = number * self.zones.len() + tree.index;
                let (impulse, island) = impulse(lane, place);
                let [[x, y, z], [u, v, w]] = [contact.point, contact.normal];
                let mut feel = |number: u32| {
                    lists.push(lane, LoadItem { number, impulse, island, along: side as u32 }, [x, y, z, u, v, w]);
                };
                if self.wrenches {
                    feel((SPATIAL * at.local) as u32);
                }
                for (of, zone, load) in self.zones[tree.index].iter().filter(|zone| zone.0.body == body) {
                    let sign = if side == 0 { 1.0 } else { -1.0 };
                    let stands = pose(body) * of.pose;
                    if ray_meets(zone, &stands, contact.point.into(), Vec3::from(contact.normal) * sign) {
                        feel(*load);
                    }
                }
            }
        }
    }

    /// Lists the contacts of a world whose forces sensors show, along the directions in which they do.
    fn shown<T: Scalar>(
        &self,
        number: usize,
        world: &World,
        impulse: impl Fn(usize, Place) -> (u32, u32),
        pose: impl Fn(usize) -> Pose,
        lists: &mut Lists<T>,
    ) {
        for (index, forces) in self.forces.iter().enumerate() {
            let lane = number * self.forces.len() + index;
            for Forces { picker, first } in forces {
                let picked = picker.pick(&world.contacts, &pose);
                for (place, &(contact, flipped)) in picked.shown.iter().enumerate() {
                    let (impulse, island) = impulse(lane, world.places[contact]);
                    let contact = &world.contacts[contact];
                    let [u, v, w] = contact.normal;
                    let (slot, axes) = picker.force(place, contact, flipped);
                    for (k, axis) in axes.into_iter().enumerate() {
                        let number = first + (3 * slot + k) as u32;
                        let item = LoadItem { number, impulse, island, along: DIRECTION };
                        lists.push(lane, item, [axis.x, axis.y, axis.z, u, v, w]);
                    }
                }
            }
        }
    }
}
