//! Which contacts the sensors of a tree feel: what the kernel `load` adds up.

use manyworlds_collide::ray_meets;
use manyworlds_dynamics::TreeSet;
use manyworlds_model::{Frame, Measures, Model, Vec3, Zone};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::load::{LANE, LoadItem, PLACE};
use manyworlds_shaders::dynamics::sensors::sensor;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL};

use super::frame;
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
    /// Of each lane.
    lanes: Vec<Vec<(LoadItem, [T; PLACE])>>,
    /// As the kernel reads it: of each lane where it begins and how many it has, then all.
    pub(crate) items: Vec<u32>,
    /// `[items][PLACE]`
    pub(crate) places: Vec<T>,
}

impl<T: Scalar> LoadPack<T> {
    pub(crate) fn new(set: usize, shape: LoadShape, n_world: usize) -> Self {
        let lanes = vec![Vec::new(); shape.zones.len() * n_world];
        Self { set, shape, lanes, items: Vec::new(), places: Vec::new() }
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
        self.lanes.iter_mut().for_each(Vec::clear);
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
                    let item = |number: u32| {
                        let [[x, y, z], [u, v, w]] = [contact.point, contact.normal];
                        let place = [x, y, z, u, v, w].map(T::from_f64);
                        (LoadItem { number, impulse: impulse as u32, island, along: side as u32 }, place)
                    };
                    if self.shape.wrenches {
                        self.lanes[lane].push(item((SPATIAL * at.local) as u32));
                    }
                    for (of, zone, load) in self.shape.zones[tree.index].iter().filter(|zone| zone.0.body == body) {
                        let sign = if side == 0 { 1.0 } else { -1.0 };
                        let stands = frame(pose(number, body)) * of.pose;
                        if ray_meets(zone, &stands, contact.point.into(), Vec3::from(contact.normal) * sign) {
                            self.lanes[lane].push(item(*load));
                        }
                    }
                }
            }
        }
        self.items.clear();
        self.places.clear();
        self.items.resize(LANE * self.lanes.len(), 0);
        let mut begin = 0;
        for (lane, own) in self.lanes.iter().enumerate() {
            self.items[LANE * lane..LANE * (lane + 1)].copy_from_slice(&[begin, own.len() as u32]);
            begin += own.len() as u32;
            for (item, place) in own {
                self.items.extend(bytemuck::cast_slice::<_, u32>(&[*item]));
                self.places.extend(place);
            }
        }
        // A device binds no empty buffer.
        self.places.resize(self.places.len().max(1), T::default());
    }
}
