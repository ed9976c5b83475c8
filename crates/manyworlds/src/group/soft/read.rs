//! Soft bodies as a world's buffers have them.

use manyworlds_dynamics::{pressure_of, soft_param};
use manyworlds_model::{Pose, Vec3};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, param};
use manyworlds_soft::SoftParams;

use super::super::carried::{Carried, CarrierTree, Ridden};
use super::super::chunk::Chunk;
use super::super::problem::{Reading, Sides, Worlds};
use super::super::shared::Shared;
use super::step::{Soft, SoftAbout, SoftStep, parameter};
use crate::host::{Carrier, Packed, SoftShape, frame};
use crate::kinematics::motions_with;
use crate::{Error, SoftReport};

/// The soft bodies of a world as they are now.
pub(in crate::group) fn report<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    world: usize,
) -> Result<Vec<SoftReport>, Error> {
    if shared.soft.is_empty() {
        return Ok(Vec::new());
    }
    chunk.finish()?;
    let reading = Reading::new(chunk, Sides::Whole)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let steps = worlds.soft(shared, &host, world);
    // Frames in the buffers are those that the last step began with.
    let (mut motions, model) = (Vec::new(), &shared.model);
    if shared.host.soft.iter().any(|shape| !matches!(shape.carrier, Carrier::Fixed(_))) {
        let mocaps: Vec<Pose> = chunk.mocaps.of_world(&shared.host.mocaps, world).collect();
        motions_with(model, &worlds.q(shared, world), &vec![0.0; model.n_v], &mocaps, &mut motions);
    }
    let one = |((own, step), shape): ((&Soft, &SoftStep), &SoftShape)| {
        let mut nodes = Vec::new();
        let carrier = match shape.carrier {
            Carrier::Fixed(pose) => pose,
            Carrier::Moving(body) | Carrier::Mocap(body) => motions[body].pose,
        };
        shape.nodes(carrier, |i| step.q[i], &mut nodes);
        let vertices = shape.vertices(&nodes, &mut Vec::new()).to_vec();
        let energy = own.system.energy(&step.params, &step.q);
        SoftReport { nodes, vertices, volume: own.system.volume(&step.q), energy }
    };
    Ok(shared.soft.iter().zip(&steps).zip(&shared.host.soft).map(one).collect())
}

/// What a soft body of a world, by its number, has of its own: parameters, without what controls add, and numbers of actuators.
pub(super) fn parameters<T: Scalar>(
    shared: &Shared<T>,
    host: &Packed<'_, T>,
    index: usize,
    world: usize,
) -> (SoftParams, Vec<f64>) {
    let soft = &shared.soft[index];
    let own = host.soft_params(shared.host.lanes.trees[soft.tree].set, world);
    let mut params = soft.system.params().clone();
    let (numbers, actuators) = own.split_at(soft_param::PRESSURE + params.pressures.len());
    for (number, x) in numbers.iter().enumerate().filter(|&(number, _)| number != soft_param::FRICTION) {
        *parameter(&mut params, number) = x.to_f64();
    }
    (params, actuators.iter().map(|x| x.to_f64()).collect())
}

impl SoftStep {
    /// Of a soft body by its number, from a lane's state. `tree`: that of a carrier that moves.
    pub(in crate::group) fn new<T: Scalar>(
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        index: usize,
        world: usize,
        state: &[T],
        tree: Option<&CarrierTree<'_>>,
    ) -> Self {
        let (soft, shape) = (&shared.soft[index], &shared.host.soft[index]);
        let set = shared.host.lanes.trees[soft.tree].set;
        let dims = &shared.sets[set].layout.dims;
        let n = dims.n_v as usize;
        let part = |at: usize| -> Vec<f64> { state[at..at + n].iter().map(|x| x.to_f64()).collect() };
        let (mut params, actuators) = parameters(shared, host, index, world);
        let records = shared.sets[set].layout.tree().actuators;
        let each = records.iter().zip(actuators.chunks_exact(param::ACTUATOR)).zip(&state[dims.ctrl_at()..]);
        let controls = each.map(|((record, actuator), control)| {
            let region = record.joint as usize;
            let [pressure, slope] = pressure_of(actuator, control.to_f64());
            params.pressures[region] += pressure;
            (region, slope)
        });
        let controls = controls.collect();
        let gravity = Vec3::from(host.gravity(set, world).map(|x| x.to_f64()));
        let (q, v, tau) = (part(0), part(dims.v_at()), part(dims.tau_at()));
        let h = host.timestep(world, soft.tree);
        let (mut carried, mut ridden) = (None, None);
        let carrier = match shape.carrier {
            Carrier::Fixed(carrier) => carrier,
            Carrier::Moving(body) => {
                let place = shared.host.lanes.bodies[body].zip(tree);
                place.map_or_else(Pose::identity, |(place, tree)| {
                    let masses = soft.system.node_masses(&params);
                    carried = Some(Carried::new(tree, place.local, &shape.rest, (&masses, &shape.dofs), (&q, &v)));
                    tree.frame(place.local)
                })
            }
            Carrier::Mocap(_) => {
                let ride = &host.worlds[world].rides[index];
                ridden = Ridden::new(ride, h);
                ride.pose
            }
        };
        let begin = ridden.as_ref().map_or_else(|| v.clone(), |of| of.begin(&shape.rest, &shape.dofs, [&q, &v]));
        let turn = carrier.rotation;
        let gravity = turn.inverse() * gravity;
        let mass = soft.system.mass(&params);
        Self { h, params, q, v, begin, mass, tau, gravity, turn, carried, ridden, controls }
    }
}

impl<T: Scalar> Worlds<'_, T> {
    /// The soft bodies of a world at the start of its step.
    pub(in crate::group) fn soft(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Vec<SoftStep> {
        let of = |(index, (soft, shape)): (usize, (&Soft, &SoftShape))| {
            let place = shared.host.lanes.trees[soft.tree];
            let dims = &shared.sets[place.set].layout.dims;
            let mut state = vec![T::default(); dims.n_state()];
            self.lanes.gather(1, world, self.sets[place.set].state, &mut state);
            let tree = match shape.carrier {
                Carrier::Fixed(_) | Carrier::Mocap(_) => None,
                Carrier::Moving(body) => {
                    shared.host.lanes.bodies[body].map(|place| self.carrier(shared, world, place.tree))
                }
            };
            SoftStep::new(shared, host, index, world, &state, tree.as_ref())
        };
        shared.soft.iter().zip(&shared.host.soft).enumerate().map(of).collect()
    }

    /// A tree that carries a soft body.
    fn carrier<'s>(&self, shared: &'s Shared<T>, world: usize, tree: usize) -> CarrierTree<'s> {
        let place = shared.host.lanes.trees[tree];
        let (set, own) = (&shared.sets[place.set], &self.sets[place.set]);
        let dims = &set.layout.dims;
        let n = dims.n_v as usize;
        let read = |numbers: &[T], n: usize| self.lane(shared, world, tree, numbers, n);
        CarrierTree {
            tree: set.layout.tree(),
            pose: read(own.pose, POSE * dims.n_body as usize),
            motion: read(own.motion, SPATIAL * n),
            v: read(own.state, dims.n_state())[dims.v_at()..dims.v_at() + n].to_vec(),
        }
    }

    /// The steps of the soft bodies of a world, and these about the velocity that it ended with.
    pub(in crate::group) fn soft_about(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> SoftAbout {
        if shared.soft.is_empty() {
            return SoftAbout::default();
        }
        let after = self.after(shared, world);
        let steps = self.soft(shared, host, world);
        let each = steps.iter().zip(&shared.soft);
        let about = each
            .map(|(step, soft)| step.about(&soft.system, &after[shared.model.trees[soft.tree].v.clone()], false))
            .collect();
        SoftAbout { steps, about }
    }

    /// Numbers of a tree of a world.
    pub(super) fn lane(&self, shared: &Shared<T>, world: usize, tree: usize, numbers: &[T], n: usize) -> Vec<f64> {
        let place = shared.host.lanes.trees[tree];
        let mut own = vec![T::default(); n];
        let k = shared.sets[place.set].trees.len();
        self.lanes.gather(k, world * k + place.index, numbers, &mut own);
        own.into_iter().map(Scalar::to_f64).collect()
    }

    /// World frame of a body of a tree, by its number there.
    pub(super) fn pose(&self, shared: &Shared<T>, world: usize, tree: usize, local: usize) -> [f64; POSE] {
        let place = shared.host.lanes.trees[tree];
        let set = &shared.sets[place.set];
        let k = set.trees.len();
        let (numbers, n) = (self.sets[place.set].pose, POSE * set.layout.dims.n_body as usize);
        let (begin, stride) = (self.lanes.element(k, world * k + place.index, n, POSE * local), self.lanes.stride());
        std::array::from_fn(|e| numbers[begin + stride * e].to_f64())
    }

    /// World frame of a body of the model that is in a tree.
    pub(super) fn frame(&self, shared: &Shared<T>, world: usize, body: usize) -> Pose {
        let place = shared.host.lanes.bodies[body];
        place.map_or_else(Pose::identity, |at| frame(self.pose(shared, world, at.tree, at.local)))
    }
}
