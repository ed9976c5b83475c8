//! Sensors of a tree: records and parameters.

use manyworlds_model::{
    Frame, Instrument, Measures, OfContact, OfFrame, OfMotion, OfNearest, OfSubtree, Pose, Sensor, Transmission,
};
use manyworlds_shaders::dynamics::sensors::{SensorHeader, SensorRecord, sensor};
use manyworlds_shaders::dynamics::tree::{NONE, SPATIAL, param};

use crate::error::TreeError;
use crate::forces::{Plan, frame, push_pose};
use crate::rows;
use crate::view::TreeView;

/// A record with its parameters.
struct Entry {
    record: SensorRecord,
    params: Vec<f64>,
}

/// All of a tree.
#[derive(Default)]
pub(crate) struct SensorPlan {
    entries: Vec<Entry>,
    header: SensorHeader,
    /// A contact load is needed for each body.
    wrenches: bool,
    /// Touch sensors so far.
    touches: u32,
}

fn record(kind: u32, at: u32, count: u32) -> SensorRecord {
    SensorRecord { kind, at, count, body: NONE, other: NONE, index: 0, actuator: NONE, dof: 0, param: 0 }
}

impl SensorPlan {
    /// Paths of actuators that only sensors look at are added to those of the forces.
    pub(crate) fn new(tree: &TreeView, plan: &mut Plan) -> Self {
        let mut own = Self::default();
        for &number in &tree.sensors {
            let sensor = &tree.model.sensors[number];
            let (at, count) = (own.header.n_reading, sensor.measures.len(tree.model) as u32);
            own.sensor(tree, plan, sensor, tree.model.is_seen_from_outside(number), [at, count]);
            own.header.n_reading += count;
        }
        own.header.n_sensor = own.entries.len() as u32;
        if own.wrenches || own.touches > 0 {
            own.header.n_load = (SPATIAL * tree.tree.bodies.len()) as u32 + own.touches;
        }
        own
    }

    fn push(&mut self, record: SensorRecord, params: Vec<f64>) {
        self.entries.push(Entry { record, params });
    }

    /// `outside`: the host knows what it shows.
    fn sensor(&mut self, tree: &TreeView, plan: &mut Plan, of: &Sensor, outside: bool, [at, count]: [u32; 2]) {
        let model = tree.model;
        let plain = |kind| record(kind, at, count);
        match &of.measures {
            _ if outside => {
                let index = self.header.n_given;
                self.header.n_given += count;
                self.push(SensorRecord { index, ..plain(sensor::GIVEN) }, Vec::new());
                if let Measures::Contacts(pick, what) = &of.measures {
                    self.contact_forces(tree, at, pick.slots, what);
                }
            }
            Measures::Joint(motion, joint) => {
                let joint = &model.joints[*joint];
                let (kind, index) = match motion {
                    OfMotion::Velocity => (sensor::VELOCITY, tree.dof(joint)),
                    OfMotion::Position => {
                        let kind = if count == 4 { sensor::QUATERNION } else { sensor::POSITION };
                        (kind, (joint.q_start - tree.tree.q.start) as u32)
                    }
                };
                self.push(SensorRecord { index, ..plain(kind) }, Vec::new());
            }
            Measures::JointActuatorForce(joint) => {
                let dof = tree.dof(&model.joints[*joint]);
                for number in 0..tree.actuators.len() as u32 {
                    let path = plan.path_of(tree, number);
                    if let Some(place) = plan.paths[path as usize].dofs.iter().position(|&d| d == dof) {
                        let on =
                            SensorRecord { index: path, actuator: number, dof: place as u32, ..plain(sensor::EFFORT) };
                        self.push(on, Vec::new());
                    }
                }
            }
            Measures::Tendon(motion, tendon) => {
                let index = plan.tendons.iter().position(|known| known == tendon).unwrap_or(0) as u32;
                self.push(SensorRecord { index, ..plain(along(*motion)) }, Vec::new());
            }
            Measures::TendonActuatorForce(tendon) => {
                for (number, &actuator) in tree.actuators.iter().enumerate() {
                    if model.actuators[actuator].transmission == Transmission::Tendon(*tendon) {
                        let index = plan.path_of(tree, number as u32);
                        let on = SensorRecord { index, actuator: number as u32, ..plain(sensor::ACTUATOR) };
                        self.push(on, Vec::new());
                    }
                }
            }
            Measures::Actuator(motion, actuator) => self.actuator(tree, plan, *actuator, plain(along(*motion))),
            Measures::ActuatorForce(actuator) => self.actuator(tree, plan, *actuator, plain(sensor::ACTUATOR)),
            Measures::Frame(what, own, reference) => {
                let kind = match what {
                    OfFrame::Position => sensor::PLACE,
                    OfFrame::Orientation => sensor::TURN,
                    OfFrame::Axis(_) => sensor::AXIS,
                    OfFrame::LinearVelocity => sensor::LINEAR,
                    OfFrame::AngularVelocity => sensor::ANGULAR,
                    OfFrame::LinearAcceleration => sensor::WORLD_ACCELERATION,
                    OfFrame::AngularAcceleration => sensor::TURNING,
                };
                let axis = if let OfFrame::Axis(axis) = what { *axis } else { 0 };
                let world = Frame { body: 0, pose: Pose::identity() };
                let reference = reference.as_ref().unwrap_or(&world);
                let mut params = Vec::with_capacity(2 * 7);
                push_pose(&frame(tree, own.body, &own.pose), &mut params);
                push_pose(&frame(tree, reference.body, &reference.pose), &mut params);
                let [body, other] = [own.body, reference.body].map(|body| tree.body(body));
                self.push(SensorRecord { body, other, index: axis, ..plain(kind) }, params);
            }
            Measures::Instrument(what, own) => {
                let kind = match what {
                    Instrument::Velocimeter => sensor::OWN_LINEAR,
                    Instrument::Gyro => sensor::OWN_ANGULAR,
                    Instrument::Accelerometer => sensor::ACCELERATION,
                    Instrument::Force => sensor::FORCE,
                    Instrument::Torque => sensor::TORQUE,
                };
                self.wrenches |= matches!(what, Instrument::Force | Instrument::Torque);
                self.push(SensorRecord { body: tree.body(own.body), ..plain(kind) }, own_frame(tree, own));
            }
            Measures::Magnetometer(own, field) => {
                let mut params = own_frame(tree, own);
                params.truncate(param::SENSOR_OTHER);
                params.extend(field.iter());
                self.push(SensorRecord { body: tree.body(own.body), ..plain(sensor::FIELD) }, params);
            }
            Measures::Subtree(what, body) => {
                let kind = match what {
                    OfSubtree::Centre => sensor::CENTRE,
                    OfSubtree::Velocity => sensor::DRIFT,
                    OfSubtree::AngularMomentum => sensor::SPIN,
                };
                self.push(SensorRecord { body: tree.body(*body), ..plain(kind) }, Vec::new());
            }
            Measures::LimitForce(of) => {
                let row = rows::limit(tree, plan, *of);
                row.into_iter().for_each(|index| self.push(SensorRecord { index, ..plain(sensor::BOUND) }, Vec::new()));
            }
            // The host's.
            Measures::Limit(..)
            | Measures::Inside(..)
            | Measures::Range(..)
            | Measures::Projection(..)
            | Measures::Nearest(..)
            | Measures::Contacts(..)
            | Measures::Energy(_)
            | Measures::Clock => {}
            Measures::Touch(..) => {
                self.load(tree, plain(sensor::LOAD));
            }
        }
        let whole = match of.measures {
            Measures::Frame(what, ..) => matches!(what, OfFrame::Axis(_) | OfFrame::Orientation),
            Measures::Joint(..) => count == 4,
            Measures::Nearest(what, _) => what != OfNearest::Distance,
            Measures::Contacts(..) | Measures::Clock => true,
            _ => false,
        };
        if of.cutoff > 0.0 && !whole {
            let late =
                self.entries.last().is_some_and(|entry| entry.record.at == at && entry.record.kind >= sensor::LATE);
            let mut params = vec![0.0; param::SENSOR_CUTOFF];
            params.push(of.cutoff);
            self.push(plain(if late { sensor::CUT_LATE } else { sensor::CUT }), params);
        }
    }

    /// What shows the next number of the loads behind those of bodies.
    fn load(&mut self, tree: &TreeView, of: SensorRecord) {
        let index = (SPATIAL * tree.tree.bodies.len()) as u32 + self.touches;
        self.touches += 1;
        self.push(SensorRecord { index, count: 1, ..of }, Vec::new());
    }

    /// The forces among what is shown of contacts, which only the solution knows; three numbers of the loads for each slot.
    fn contact_forces(&mut self, tree: &TreeView, mut at: u32, slots: usize, what: &[OfContact]) {
        for of in std::iter::repeat_n(what, slots).flatten() {
            let numbers = at..at + of.width() as u32;
            at = numbers.end;
            if *of == OfContact::Force {
                numbers.for_each(|at| self.load(tree, record(sensor::LOAD, at, 1)));
            }
        }
    }

    fn actuator(&mut self, tree: &TreeView, plan: &mut Plan, actuator: usize, of: SensorRecord) {
        if let Some(number) = tree.actuators.iter().position(|&known| known == actuator) {
            let index = plan.path_of(tree, number as u32);
            self.push(SensorRecord { index, actuator: number as u32, ..of }, Vec::new());
        }
    }

    /// Puts the parameters behind what is there, from `at` on; returns where they end.
    pub(crate) fn place(&mut self, mut at: usize) -> usize {
        for entry in &mut self.entries {
            entry.record.param = at as u32;
            at += param::SENSOR;
        }
        at
    }

    /// Appends header and records to the topology; returns where they begin, `None` without any sensor.
    pub(crate) fn append(&self, topology: &mut Vec<u32>) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let at = topology.len() as u32;
        topology.extend(bytemuck::cast_slice::<_, u32>(&[self.header]));
        self.entries.iter().for_each(|entry| topology.extend(bytemuck::cast_slice::<_, u32>(&[entry.record])));
        Some(at)
    }

    /// Appends the parameters, in the order of [`Self::place`].
    pub(crate) fn params(&self, params: &mut Vec<f64>) {
        for entry in &self.entries {
            let start = params.len();
            params.extend(&entry.params);
            params.resize(start + param::SENSOR, 0.0);
        }
    }
}

fn along(motion: OfMotion) -> u32 {
    match motion {
        OfMotion::Position => sensor::LENGTH,
        OfMotion::Velocity => sensor::RATE,
    }
}

/// Parameters of a sensor that only looks at its own frame.
fn own_frame(tree: &TreeView, own: &Frame) -> Vec<f64> {
    let mut params = Vec::with_capacity(2 * 7);
    push_pose(&frame(tree, own.body, &own.pose), &mut params);
    push_pose(&Pose::identity(), &mut params);
    params
}

/// That every sensor can be computed.
pub(crate) fn check(model: &manyworlds_model::Model) -> Result<(), TreeError> {
    for (index, sensor) in model.sensors.iter().enumerate() {
        let of = |message| TreeError::Binding { what: "sensor", index, name: sensor.name.clone(), message };
        model.tree_of_sensor(index).map_err(of)?;
    }
    Ok(())
}
