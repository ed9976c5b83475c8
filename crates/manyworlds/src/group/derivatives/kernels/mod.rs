//! Derivatives of the last steps of many worlds at once, by kernels: of worlds whose trees are islands by themselves. Others,
//! and those about which the kernels are in doubt, are left to `manyworlds_gradients`.

mod back;
mod jacobian;

use manyworlds_contact::solve::ContactModel;
use manyworlds_gpu::BufferId;
use manyworlds_gradients::{
    Bounces, Certificate, GradientRules, LARGEST_RESIDUAL, SMALLEST_PIVOT, closed_below, is_doubtful,
};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::{
    System, mobility_reals, place, shift_reals, side, sizes, touch, verdict,
};
use manyworlds_shaders::contact::tree_layout::SLOTS;
use manyworlds_shaders::dynamics::derivatives::layout::{Act, slope_reals, work_reals};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, TreeDims, param};
use manyworlds_shaders::index::{slot_at, tile_len};

use crate::Error;
use crate::group::buffers::SetBuffers;
use crate::group::chunk::{Chunk, ChunkSet};

use crate::group::derivatives::Certificates;
use crate::group::derivatives::geometry::Geometry;
use crate::group::derivatives::request::{Request, WorldProduct};
use crate::group::seen::{Lane, Seen};
use crate::group::shared::Shared;
use crate::host::Place;
use crate::lanes::TreePlace;

/// Margins from here on stand for none.
const NO_MARGIN: f64 = 1e29;

/// What rounding allows.
struct Limits {
    /// Gaps that a step would close at less than this are closed, m/s.
    closed: f64,
    /// Pivots below this part of the largest count as none.
    pivot: f64,
    /// What may be left of the equations, relative.
    left: f64,
    /// The same of redundant ones, relative to the largest of their terms: beyond, whether they contradict each other is for the
    /// host to say, which looks at each combination of them by itself.
    redundant: f64,
}

impl Limits {
    fn of<T: Scalar>() -> Self {
        let single = T::NAME != f64::NAME;
        let closed = closed_below(single);
        if single {
            Self { closed, pivot: 1e-5, left: 2e-5, redundant: 0.0 }
        } else {
            Self { closed, pivot: SMALLEST_PIVOT, left: LARGEST_RESIDUAL, redundant: 1e-11 }
        }
    }
}

/// The buffer that a result goes to, and its reals of a lane.
type Output = (fn(&SetBuffers) -> BufferId, fn(&TreeDims) -> usize);

impl<T: Scalar> Shared<T> {
    /// Whether kernels can differentiate steps of this model by these rules.
    fn by_kernels(&self, rules: GradientRules) -> bool {
        let plain = |dims: &TreeDims| dims.n_block == 0 && dims.n_force == 0 && dims.n_path_row == 0;
        let fits = |dims: &TreeDims| plain(dims) && dims.n_v as usize <= rules.largest_dense;
        self.solver.model() == ContactModel::Exact
            && rules.bounces == Bounces::AsStepped
            && self.host.adhesion.is_none()
            && self.sets.iter().all(|set| fits(&set.layout.dims))
    }
}

/// What the host knows of the lanes of a set before the kernels run.
struct LanesBefore<T> {
    states: Seen<T>,
    poses: Seen<T>,
    impulses: Seen<T>,
    params: Seen<T>,
}

impl<T: Scalar> Chunk<T> {
    /// What is asked of some of its worlds, as far as kernels go; gives the certificates of what they wrote, and leaves the
    /// rest in `requests`. `first`: its first world in the group.
    pub(in crate::group) fn differentiate(
        &mut self,
        geometry: &Geometry,
        rules: GradientRules,
        first: usize,
        requests: &mut Vec<Request>,
    ) -> Result<Certificates, Error> {
        match requests.first().map(|request| &request.product) {
            Some(WorldProduct::Jacobian(_)) => self.jacobians(geometry, rules, first, requests),
            Some(WorldProduct::Back { .. }) => self.back(geometry, rules, first, requests),
            // No kernel has products with the Jacobian itself.
            Some(WorldProduct::Along { .. }) | None => Ok(Vec::new()),
        }
    }

    /// Linearises the last step, as far as Jacobians and products have it in common; takes those of the requests that kernels can
    /// answer out of the list, each with what speaks against its derivative. `first`: first world in the group; `result`: where
    /// what is asked for goes.
    fn linearised<'a>(
        &mut self,
        geometry: &Geometry,
        rules: GradientRules,
        first: usize,
        requests: &mut Vec<Request<'a>>,
        result: Output,
    ) -> Result<Vec<(Request<'a>, Certificate)>, Error> {
        // Kernels know nothing of mocap bodies that move.
        if !self.shared.by_kernels(rules) || self.before.is_none() || self.mocaps.moving {
            return Ok(Vec::new());
        }
        let (taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(requests).into_iter().partition(|request| self.is_alone(request.world - first));
        *requests = rest;
        self.finish()?;
        // A device may not have the room.
        if taken.is_empty() || self.lay_out(result).is_err() {
            requests.extend(taken);
            return Ok(Vec::new());
        }
        let (summaries, tolerance) = self.stored()?;
        let before = self.lanes_before()?;
        let mut touches: Vec<Vec<T>> = self.sets.iter_mut().map(|set| std::mem::take(&mut set.touch)).collect();
        for (touch, pack) in touches.iter_mut().zip(&self.host.packs) {
            let width = self.store.tile();
            // At least one slot: a device binds no empty buffer. What stands in slots without a body is not looked at.
            touch.resize(pack.n_slot.max(1) * touch::SIZE * width, T::default());
            for slot in touch.chunks_exact_mut(touch::SIZE * width) {
                slot[touch::BODIES * width..(touch::BODIES + 2) * width].fill(T::from_f64(-1.0));
            }
        }
        let mut found = Vec::with_capacity(taken.len());
        for request in taken {
            let world = request.world - first;
            let mut certificate = Certificate::default();
            self.write_contacts(geometry, &before, world, &mut touches, &mut certificate);
            if let Some(problem) = self.shared.problem(&summaries[world], tolerance) {
                certificate.add_problem(&problem);
            }
            found.push((request, certificate));
        }
        for (set, touch) in self.sets.iter_mut().zip(touches) {
            self.store.write(set.step.buffers.touch, 0, &touch)?;
            set.touch = touch;
        }
        let limits = Limits::of::<T>();
        self.recording.clear();
        for set in &self.sets {
            set.step.linearise(limits.closed, limits.pivot, &mut self.recording);
        }
        Ok(found)
    }

    fn lane_of<'a>(&'a self, from: &'a Seen<T>, lane: usize, reals: usize) -> Lane<'a, T> {
        Lane::new(from.of(&*self.store), self.store.tile(), lane, reals)
    }

    /// Time step of a lane, s.
    fn time_step(&self, set: usize, index: usize, params: &Lane<T>) -> f64 {
        if self.sets[set].dims().param_lanes == 1 {
            return params.at(param::TIMESTEP);
        }
        T::from_f64(self.shared.sets[set].params[index][param::TIMESTEP]).to_f64()
    }

    /// Whether all trees of a world are islands by themselves, the step before is known, and nothing bounces.
    fn is_alone(&self, world: usize) -> bool {
        let kept = self.before.as_ref().is_some_and(|kept| kept.has(world));
        let contacts = &self.host.worlds[world];
        kept && (0..self.shared.host.lanes.trees.len()).all(|tree| !self.host.is_shared(world, tree))
            && contacts.places.iter().all(|place| matches!(place, Place::Slot(_)))
            && contacts.contacts.iter().all(|contact| contact.restitution.to_f64() <= 0.0)
    }

    /// Frames and motions before the step, and its impulses.
    fn lanes_before(&mut self) -> Result<Vec<LanesBefore<T>>, Error> {
        let width = self.store.tile();
        self.recording.clear();
        for set in &self.sets {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let lanes = dims.lanes as usize;
            for (buffer, n) in
                [(b.before_pose, POSE * dims.n_body as usize), (b.before_motion, SPATIAL * dims.n_v as usize)]
            {
                self.store.resize(buffer, tile_len(width, lanes, n.max(1)))?;
            }
            set.step.kinematics_before(&mut self.recording);
            self.recording.read(b.before_pose).read(b.before);
        }
        self.store.run(&self.recording)?;
        let store = &mut *self.store;
        let seen = |set: &ChunkSet<T>| {
            let b = set.step.buffers;
            let [states, poses, impulses, params] =
                [b.before, b.before_pose, set.step.impulses.now, b.lane_params].map(|b| Seen::new(store, b));
            Ok(LanesBefore { states: states?, poses: poses?, impulses: impulses?, params: params? })
        };
        self.sets.iter().map(seen).collect()
    }

    /// Where the numbers of each tile lie, and room for them.
    fn lay_out(&mut self, (result, result_reals): Output) -> Result<(), Error> {
        let width = self.store.tile();
        for (set, pack) in self.sets.iter().zip(&self.host.packs) {
            let (b, dims) = (set.step.buffers, set.step.dims);
            let lanes = dims.lanes as usize;
            let (mut words, mut at) = (Vec::new(), [0, 0]);
            for slots in pack.slots.chunks_exact(SLOTS) {
                let count = slots[1] as usize;
                let system = System::new(sizes(&dims), count);
                let mut tile = [0; place::SIZE];
                tile[place::BEGIN] = slots[0];
                tile[place::COUNT] = slots[1];
                [tile[place::SYSTEM], tile[place::SHIFT]] = at.map(|at| at as u32);
                words.extend(tile);
                at = [at[0] + system.reals, at[1] + shift_reals(&dims, count)];
            }
            for (buffer, n) in [
                (b.act, Act::new(&dims).reals),
                (b.slope_work, work_reals(&dims)),
                (b.slope, slope_reals(&dims)),
                (b.mobility, mobility_reals(&dims)),
                (result(&b), result_reals(&dims)),
            ] {
                self.store.resize(buffer, tile_len(width, lanes, n))?;
            }
            // A device binds no empty buffer.
            self.store.resize(b.side, pack.n_slot.max(1) * side::SIZE * width)?;
            self.store.resize(b.touch, pack.n_slot.max(1) * touch::SIZE * width)?;
            self.store.resize(b.system, at[0].max(1) * width)?;
            self.store.resize(b.shift, at[1].max(1) * width)?;
            self.store.resize(b.places, words.len())?;
            self.store.write_index(b.places, 0, &words)?;
        }
        Ok(())
    }

    /// Frames of the bodies of a world before the step, by tree: in double precision even where the kernels' are not, as which
    /// features touch cannot be told from rounded ones.
    fn poses(&self, before: &[LanesBefore<T>], world: usize) -> Vec<Vec<f64>> {
        let of = |place: &TreePlace| {
            let (set, trees) = (&self.sets[place.set], &self.shared.sets[place.set]);
            let (dims, lane) = (set.dims(), set.lane(world, place.index));
            let before = &before[place.set];
            let n = POSE * dims.n_body as usize;
            if T::NAME == f64::NAME {
                let pose = self.lane_of(&before.poses, lane, n);
                return pose.some(0, n).collect();
            }
            let state = self.lane_of(&before.states, lane, dims.n_state());
            let state: Vec<f64> = state.some(0, dims.n_state()).collect();
            let params = self.lane_of(&before.params, lane, dims.n_param as usize);
            let own: Vec<f64>;
            let params = if dims.param_lanes == 1 {
                own = params.some(0, dims.n_param as usize).collect();
                &own
            } else {
                &trees.params[place.index]
            };
            let (mut pose, mut motion) = (vec![0.0; n], vec![0.0; SPATIAL * dims.n_v as usize]);
            kinematics(&trees.layout.tree(), Params::<f64>::Shared(params), &state, &mut pose, &mut motion);
            pose
        };
        self.shared.host.lanes.trees.iter().map(of).collect()
    }

    /// Writes what is known of the contacts of a world that carry something.
    fn write_contacts(
        &self,
        geometry: &Geometry,
        before: &[LanesBefore<T>],
        world: usize,
        touches: &mut [Vec<T>],
        certificate: &mut Certificate,
    ) {
        let (shared, width) = (&self.shared, self.store.tile());
        let own = &self.host.worlds[world];
        let own_sizes = self.sizes(world);
        let impulses: Vec<&[T]> = before.iter().map(|set| set.impulses.of(&*self.store)).collect();
        let poses = self.poses(before, world);
        // Zeros for a body that does not move.
        let pose = |body: usize| -> [f64; POSE] {
            let Some(at) = shared.host.lanes.bodies[body] else {
                return self.mocaps.of(&shared.host.mocaps, world, body).unwrap_or_default();
            };
            std::array::from_fn(|k| poses[at.tree][POSE * at.local + k])
        };
        let exact_contacts = geometry.exact(pose, &own_sizes);
        for (contact, at) in own.contacts.iter().zip(&own.places) {
            let Place::Slot(slot) = *at else { continue };
            let bodies = contact.bodies.map(|body| shared.host.lanes.bodies[body as usize]);
            let Some(first) = bodies.iter().flatten().next() else { continue };
            let tree = shared.host.lanes.trees[first.tree];
            let lane = self.sets[tree.set].lane(world, tree.index);
            let begin = self.host.packs[tree.set].begin(lane);
            let impulse = |k| impulses[tree.set][slot_at(width, lane, begin, slot as usize, 3, k)];
            if (0..3).all(|k| impulse(k).to_f64() == 0.0) {
                continue;
            }
            let exact = exact_contacts.get(contact);
            let contact = exact.clone().unwrap_or(*contact);
            let centre = &poses[first.tree];
            let mut put = |field: usize, x: f64| {
                let at = slot_at(width, lane, begin, slot as usize, touch::SIZE, field);
                touches[tree.set][at] = T::from_f64(x);
            };
            for (side, body) in bodies.iter().enumerate() {
                put(touch::BODIES + side, body.map_or(-1.0, |body| body.local as f64));
            }
            for k in 0..3 {
                put(touch::ARM + k, contact.point[k] - centre[k]);
                put(touch::NORMAL + k, contact.normal[k]);
            }
            put(touch::DISTANCE, contact.distance);
            match exact.and_then(|contact| geometry.features.slope(&contact, pose, &own_sizes)) {
                Ok(slope) => {
                    for side in 0..2 {
                        for (e, &x) in slope.side(side).as_flattened().iter().enumerate() {
                            put(touch::SLOPES + 42 * side + e, x);
                        }
                    }
                }
                Err(reason) => {
                    (touch::SLOPES..touch::SIZE).for_each(|field| put(field, 0.0));
                    certificate.add_problem_by_q(&reason);
                }
            }
        }
    }
}

/// Adds what a lane's equations say of the derivative; whether they leave no doubt.
fn judged<T: Scalar>(
    left: &[f64],
    left_shift: impl Iterator<Item = f64>,
    n: usize,
    certificate: &mut Certificate,
) -> bool {
    let largest = |most: f64, x: f64| most.max(x.abs());
    let verdict = &left[n..];
    let relative = |left: f64, of: f64| if left == 0.0 { 0.0 } else { left / of };
    let residual = verdict[verdict::LEFT]
        .max(relative(left[..n].iter().copied().fold(0.0, largest), verdict[verdict::LARGEST]))
        .max(relative(left_shift.fold(0.0, largest), verdict[verdict::LARGEST_SHIFT]));
    if verdict[verdict::MARGIN] < NO_MARGIN {
        certificate.margin = certificate.margin.min(verdict[verdict::MARGIN]);
    }
    certificate.closed += verdict[verdict::CLOSED] as usize;
    certificate.size += verdict[verdict::SIZE_OF] as usize;
    certificate.rank += verdict[verdict::RANK] as usize;
    certificate.residual = certificate.residual.max(residual);
    let Limits { left, redundant, .. } = Limits::of::<T>();
    let is_redundant = verdict[verdict::RANK] < verdict[verdict::SIZE_OF];
    residual <= if is_redundant { redundant } else { left }
        // Impulses may be shared out otherwise. Where that would only make a margin larger, it is not worth the time: the rows
        // of zeros that a planar robot's contacts have are redundant, too.
        && !is_doubtful(verdict[verdict::MARGIN], false, T::NAME != f64::NAME)
}
