//! Which contacts the sensors of a tree feel: what the kernel `load` adds up.

use manyworlds_collide::ray_meets;
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{Frame, Measures, Model, Vec3, Zone};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::load::{LoadItem, PLACE};
use manyworlds_shaders::dynamics::sensors::sensor;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL};

use super::frame;
use super::lists::LaneLists;
use super::pack::SlotPack;
use super::world::{Place, World};
use crate::lanes::LaneMap;

/// What the sensors of a tree set feel.
#[derive(Debug, Clone)]
pub(crate) struct LoadShape {
    /// Contacts of every body count, for forces between bodies.
    wrenches: bool,
    /// Zones of each tree: its frame, what is around, the number in `load`.
    zones: Vec<Vec<(Frame, Zone, u32)>>,
}

impl LoadShape {
    /// `None` where contacts do not matter.
    pub(crate) fn new(model: &Model, set: &TreeSet) -> Option<Self> {
        let sensors = set.layout.sensors().filter(|sensors| sensors.header.n_load > 0)?;
        let loads = sensors.records.iter().filter(|record| record.kind == sensor::LOAD).map(|record| record.index);
        let touch = |&index: &usize| match model.sensors[index].measures {
            Measures::Touch(frame, zone) => Some((frame, zone)),
            _ => None,
        };
        let zones = set.sensors.iter().map(|own| {
            own.iter()
                .filter_map(touch)
                .zip(loads.clone())
                .map(|((frame, zone), number)| (frame, zone, number))
                .collect()
        });
        let wrenches = sensors.records.iter().any(|record| matches!(record.kind, sensor::FORCE | sensor::TORQUE));
        Some(Self { wrenches, zones: zones.collect() })
    }
}

/// The contacts that matter to a tree set of a chunk, ready for upload.
#[derive(Debug)]
pub(crate) struct LoadPack<T> {
    set: usize,
    shape: LoadShape,
    pub(crate) lists: LaneLists<LoadItem, T, PLACE>,
}

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
        packs: &[SlotPack<T>],
        pose: impl Fn(usize, usize) -> [T; POSE],
    ) {
        let k = self.shape.zones.len();
        self.lists.clear();
        for (number, world) in worlds.iter().enumerate() {
            for (contact, &place) in world.contacts.iter().zip(&world.places) {
                for (side, body) in contact.bodies.map(|body| body as usize).into_iter().enumerate() {
                    let Some(at) = lanes.bodies[body] else { continue };
                    let tree = lanes.trees[at.tree];
                    if tree.set != self.set {
                        continue;
                    }
                    let lane = number * k + tree.index;
                    let (impulse, island) = match place {
                        Place::Slot(slot) => (packs[self.set].real_of(lane, slot as usize), 0),
                        Place::Island(constraint) => (3 * constraint as usize, 1),
                    };
                    let [[x, y, z], [u, v, w]] = [contact.point, contact.normal];
                    let feel = |lists: &mut LaneLists<LoadItem, T, PLACE>, number: u32| {
                        let item = LoadItem { number, impulse: impulse as u32, island, along: side as u32 };
                        lists.push(lane, item, [x, y, z, u, v, w]);
                    };
                    if self.shape.wrenches {
                        feel(&mut self.lists, (SPATIAL * at.local) as u32);
                    }
                    for (of, zone, load) in self.shape.zones[tree.index].iter().filter(|zone| zone.0.body == body) {
                        let sign = if side == 0 { 1.0 } else { -1.0 };
                        let stands = frame(pose(number, body)) * of.pose;
                        if ray_meets(zone, &stands, contact.point.into(), Vec3::from(contact.normal) * sign) {
                            feel(&mut self.lists, *load);
                        }
                    }
                }
            }
        }
        self.lists.pack();
    }
}
