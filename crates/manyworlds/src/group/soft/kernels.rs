//! Steps of soft bodies by kernels.

use std::ops::Range;

use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::param;
use manyworlds_shaders::index::{tile_at, tile_len};
use manyworlds_shaders::kernel::soft::{BALANCE, ELEMENTS, FACTOR, GATHER, SCATTER, SIDES, SLIDE, START};
use manyworlds_shaders::soft::body::{BLOCK, SoftDims, soft};
use manyworlds_shaders::soft::touch::{Parts, words_of_lanes};
use manyworlds_shaders::soft::trees::{beside_reals, velocity_at};
use manyworlds_shaders::soft::{gather, scatter, sides};
use manyworlds_soft::SoftLayout;

use super::super::buffers::SetBuffers;
use super::super::carried::Ridden;
use super::super::chunk::{Chunk, ChunkSet};
use super::super::record::SetStep;
use super::super::shared::Shared;
use super::read::parameters;
use super::room::TouchRoom;
use super::touches::{OfSet, Touches};
use crate::Error;
use crate::host::{Carrier, Packed};

/// Rounds of Newton's method at most; what takes longer wants a line search, which the host has.
const ROUNDS: u32 = 12;

/// Proximal weight of the contacts of the first round, what each round shrinks it by, and the least in either precision: in f32 less
/// would leave nothing of the matrix that it is added to, in f64 rounds go astray where more contacts push than nodes can tell apart.
const PROXIMAL: [f64; 2] = [1e-3, 0.1];
const LEAST_PROXIMAL: [f64; 2] = [1e-3, 1e-6];

/// A soft body of a chunk, as far as the recording of its step needs to know it.
#[derive(Debug, Clone)]
pub(in crate::group) struct SoftKernels {
    /// Among the soft bodies of the model.
    pub(super) index: usize,
    /// Without its contacts.
    pub(super) dims: SoftDims,
    pub(super) room: TouchRoom,
    /// Its contacts.
    pub(super) touches: Touches,
    /// The least proximal weight of these.
    least_proximal: f64,
    /// Its parameters are not those of the host any more.
    stale: bool,
}

impl SoftKernels {
    /// Of the soft body that a tree of the model is, if kernels step it, of so many worlds.
    pub(in crate::group) fn new<T: Scalar>(shared: &Shared<T>, tree: usize, lanes: u32) -> Option<Self> {
        shared.form?;
        let index = shared.soft.iter().position(|soft| soft.tree == tree)?;
        let (own, room) = (shared.soft[index].layout.as_ref()?.dims, shared.soft[index].room?);
        let ridden = matches!(shared.host.soft[index].carrier, Carrier::Mocap(_));
        let n_param = own.n_param + if ridden { soft::RIDE as u32 } else { 0 };
        // Of all bodies together it is that of the batch.
        let tolerance = ((shared.tolerance / (shared.soft.len() as f64).sqrt()) as f32).to_bits();
        let dims = SoftDims { lanes, n_param, tolerance, ridden: ridden.into(), n_term: room.n_term, ..own };
        let least_proximal = LEAST_PROXIMAL[usize::from(T::NAME == f64::NAME)];
        Some(Self { index, dims, room, touches: Touches::default(), least_proximal, stale: true })
    }

    /// Buffers that hold nothing between steps.
    pub(in crate::group) fn passing(b: &SetBuffers) -> [BufferId; 4] {
        [b.soft_matrix, b.soft_b, b.soft_factor, b.beside]
    }

    /// Reals of a lane of the largest of its buffers.
    pub(in crate::group) fn most_reals(layout: &SoftLayout) -> usize {
        BLOCK * layout.dims.n_fill as usize
    }

    /// What kernels know of it, with its contacts.
    pub(super) fn dims(&self) -> SoftDims {
        self.touches.dims(self.dims, self.room)
    }

    /// Where impulses of contacts lie in their buffer.
    pub(super) fn impulses(&self) -> Range<usize> {
        let parts = Parts::new(&self.dims());
        parts.found..parts.work
    }

    /// A step as far as kernels go. Without `rounds` every world is the host's.
    pub(in crate::group) fn record<T: Scalar>(
        &self,
        b: &SetBuffers,
        sets: &[ChunkSet<T>],
        rounds: bool,
        recording: &mut Recording,
    ) {
        let dims = self.dims();
        let lanes = dims.lanes;
        let (topology, rest, params) = (b.soft_topology, b.soft_rest, b.soft_params);
        let buffers = [topology, rest, params, b.state, b.soft_begin, b.velocity, b.info, b.status];
        recording.dispatch(&START, &dims, lanes, &buffers);
        for of in &self.touches.of_sets {
            self.bring_trees(*of, b, &sets[of.set].step, recording);
        }
        let mut proximal = PROXIMAL[0];
        for round in (0..=ROUNDS).filter(|_| rounds) {
            let last = round == ROUNDS;
            let dims = SoftDims { round, last: last.into(), proximal: (proximal as f32).to_bits(), ..dims };
            proximal = (proximal * PROXIMAL[1]).max(self.least_proximal);
            let (matrix, right) = (b.soft_matrix, b.soft_b);
            // The first round begins anyway, and there is none behind the last.
            let looks: &[u32] = if round == 0 { &[0] } else { &[1, 0] };
            for &check in looks {
                let dims = SoftDims { check, ..dims };
                let buffers = [topology, rest, params, b.soft_begin, b.velocity, b.status, matrix, right];
                recording.dispatch(&ELEMENTS, &dims, lanes, &buffers);
                let buffers = [b.velocity, b.touch_words, b.touches, matrix, right, b.info, b.beside, b.status];
                recording.dispatch(&BALANCE, &dims, lanes, &buffers);
            }
            if last {
                break;
            }
            let buffers = [topology, matrix, right, b.soft_factor, b.velocity, b.status];
            recording.dispatch(&FACTOR, &dims, lanes, &buffers);
            if dims.n_touch > 0 {
                Self::slide(dims, b, recording);
            }
        }
        for of in &self.touches.of_sets {
            self.take_trees_back(*of, b, &sets[of.set].step, recording);
        }
    }

    /// What is recorded once there are contacts, so that it is compiled before.
    pub(in crate::group) fn foresee<T: Scalar>(&self, b: &SetBuffers, sets: &[ChunkSet<T>], recording: &mut Recording) {
        Self::slide(self.dims(), b, recording);
        if let Some(set) = sets.iter().position(|set| !set.step.dims.is_soft()) {
            let of = OfSet { set, met: [0, 1], sides: [0, 1] };
            self.bring_trees(of, b, &sets[set].step, recording);
            self.take_trees_back(of, b, &sets[set].step, recording);
        }
    }

    fn slide(dims: SoftDims, b: &SetBuffers, recording: &mut Recording) {
        let (topology, factor) = (b.soft_topology, b.soft_factor);
        let buffers = [topology, factor, b.touch_words, b.touches, b.soft_b, b.beside, b.velocity, b.status];
        recording.dispatch(&SLIDE, &dims, dims.lanes, &buffers);
    }

    /// Brings the trees of a set that touch it to its lanes, and makes their sides.
    fn bring_trees(&self, of: OfSet, b: &SetBuffers, set: &SetStep, recording: &mut Recording) {
        let dims = self.dims();
        let (tree, own, params) = (set.dims, &set.buffers, set.params());
        let [items_at, n_items] = of.met;
        let n_beside = beside_reals(&dims) as u32;
        let gathered = gather::Dims { tree, n_items, items_at, n_beside, room: dims.n_dof };
        let buffers = [own.topology, params, own.momentum, own.b, own.state, b.touch_words, b.beside];
        recording.dispatch(&GATHER, &gathered, n_items, &buffers);
        let [items_at, n_items] = of.sides;
        let buffers = [own.topology, params, own.motion, own.factor, b.touch_words, b.touches];
        recording.dispatch(&SIDES, &sides::Dims { tree, n_items, items_at }, n_items, &buffers);
    }

    /// Takes their velocities back.
    fn take_trees_back(&self, of: OfSet, b: &SetBuffers, set: &SetStep, recording: &mut Recording) {
        let dims = self.dims();
        let [items_at, n_items] = of.met;
        let [n_beside, velocity_at] = [beside_reals(&dims), velocity_at(&dims)].map(|n| n as u32);
        let scattered = scatter::Dims { n_v: set.dims.n_v, n_items, items_at, n_beside, velocity_at };
        let buffers = [b.touch_words, b.beside, b.status, set.buffers.velocity];
        recording.dispatch(&SCATTER, &scattered, n_items, &buffers);
    }
}

/// Parameters of a soft body of a world, by its number, as kernels read them.
fn numbers<T: Scalar>(shared: &Shared<T>, host: &Packed<'_, T>, index: usize, world: usize) -> Vec<f64> {
    let (own, shape) = (&shared.soft[index], &shared.host.soft[index]);
    let (params, actuators) = parameters(shared, host, index, world);
    let h = host.timestep(world, own.tree);
    let gravity = host.gravity(shared.host.lanes.trees[own.tree].set, world).map(|x| x.to_f64());
    let ride = host.worlds[world].rides.get(index);
    let turn = match (shape.carrier, ride) {
        (Carrier::Fixed(pose), _) => pose.rotation,
        (_, Some(ride)) => ride.pose.rotation,
        (_, None) => Default::default(),
    };
    let gravity = turn.inverse() * manyworlds_model::Vec3::from(gravity);
    let mut out = SoftLayout::params(&params, h, gravity.into());
    for own in actuators.chunks_exact(param::ACTUATOR) {
        let [gear, gain, bias] = [param::ACTUATOR_GEAR, param::ACTUATOR_GAIN, param::ACTUATOR_BIAS].map(|at| own[at]);
        out.extend([gear, gain, bias]);
        out.extend(&own[param::ACTUATOR_CONTROL..param::ACTUATOR_CONTROL + 2]);
        out.extend(&own[param::ACTUATOR_FORCE..param::ACTUATOR_FORCE + 2]);
    }
    if let (Carrier::Mocap(_), Some(ride)) = (shape.carrier, ride) {
        let still = [0.0, 1.0].into_iter().flat_map(|on| (0..9).map(move |k| if k % 4 == 0 { on } else { 0.0 }));
        match Ridden::new(ride, h) {
            Some(ridden) => out.extend(ridden.numbers()),
            None => out.extend(still.chain([0.0; 3])),
        }
    }
    out
}

impl<T: Scalar> Chunk<T> {
    /// Buffers of the soft bodies that kernels step, and what is alike in all worlds.
    pub(in crate::group) fn allocate_soft(&mut self) -> Result<(), Error> {
        let width = self.store.tile();
        for set in &self.sets {
            let Some(SoftKernels { index, dims, .. }) = &set.step.soft else { continue };
            let Some(layout) = &self.shared.soft[*index].layout else { continue };
            let b = set.step.buffers;
            let [n_block, n_fill] = [dims.n_block, dims.n_fill].map(|n| n as usize * BLOCK);
            for (buffer, n) in [
                (b.soft_params, dims.n_param as usize),
                (b.soft_begin, dims.n_begin() as usize),
                (b.soft_matrix, n_block),
                (b.soft_b, dims.n_v() as usize),
                (b.soft_factor, n_fill),
            ] {
                self.store.resize(buffer, tile_len(width, dims.lanes as usize, n.max(1)))?;
            }
            let rest: Vec<T> = layout.rest.iter().map(|&x| T::from_f64(x)).collect();
            self.store.resize(b.soft_topology, layout.topology.len())?;
            self.store.write_index(b.soft_topology, 0, &layout.topology)?;
            self.store.resize(b.soft_rest, rest.len())?;
            self.store.write(b.soft_rest, 0, &rest)?;
            // Nothing touches it yet.
            self.store.resize(b.touch_words, words_of_lanes(dims.lanes as usize))?;
            self.store.resize(b.touches, 1)?;
            self.store.resize(b.beside, tile_len(width, dims.lanes as usize, 1))?;
        }
        self.write_soft_params()
    }

    /// Uploads parameters of soft bodies where they have changed, and how their mocap bodies move.
    pub(in crate::group) fn write_soft_params(&mut self) -> Result<(), Error> {
        let width = self.store.tile();
        for set in &mut self.sets {
            let Some(own) = set.step.soft.as_mut().filter(|own| own.stale || own.dims.ridden == 1) else { continue };
            own.stale = false;
            let (host, n) = (self.host.packed(), own.dims.n_param as usize);
            let lanes = own.dims.lanes as usize;
            let mut values = vec![T::default(); tile_len(width, lanes, n)];
            let mut of_world = Vec::new();
            for lane in 0..lanes.next_multiple_of(width) {
                // Lanes of padding repeat the last one's, so that they compute nothing extraordinary.
                if lane < lanes {
                    of_world = numbers(&self.shared, &host, own.index, lane);
                }
                for (e, &x) in of_world.iter().enumerate() {
                    values[tile_at(width, lane, n, e)] = T::from_f64(x);
                }
                own.dims.damped |= u32::from(of_world[soft::DAMPING] > 0.0);
                let pressures = &of_world[soft::HEADER..own.dims.control_param()];
                own.dims.pressed |= u32::from(pressures.iter().any(|&pressure| pressure != 0.0));
            }
            self.store.write(set.step.buffers.soft_params, 0, &values)?;
        }
        Ok(())
    }

    /// Parameters of a set are not what they were.
    pub(in crate::group) fn params_changed(&mut self, set: usize) {
        if let Some(soft) = &mut self.sets[set].step.soft {
            soft.stale = true;
        }
    }
}
