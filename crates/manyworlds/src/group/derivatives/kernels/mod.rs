//! Derivatives of the last steps of many worlds at once, by kernels: of worlds whose trees are islands by themselves. Others,
//! and those about which the kernels are in doubt, are left to `manyworlds_gradients`.

mod applied;
mod back;
mod blocks;
mod jacobian;
mod through;

use std::borrow::Cow;

use manyworlds_contact::solve::ContactModel;
use manyworlds_gpu::{BufferId, Store, Ticket};
use manyworlds_gradients::{
    ActivationSlopes, Bounces, Certificate, GradientRules, LARGEST_RESIDUAL, SMALLEST_PIVOT, activation_slopes,
    closed_below, is_doubtful, largest_contradiction,
};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::layout::{
    Adjoint, System, answer_reals, mobility_reals, place, shift_reals, side, sizes, touch, verdict,
};
use manyworlds_shaders::contact::tree_layout::SLOTS;
use manyworlds_shaders::dynamics::derivatives::layout::{Act, slope_reals, work_reals};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, Tree, TreeDims, param};
use manyworlds_shaders::index::{slot_at, tile_len};

use self::applied::applied_reals;
use self::blocks::Stretch;
pub(in crate::group) use self::through::{ChunkRequests, through};
use crate::Error;
use crate::group::buffers::SetBuffers;
use crate::group::chunk::{Chunk, ChunkSet};
use crate::group::derivatives::geometry::Geometry;
use crate::group::derivatives::request::WorldProduct;
use crate::group::seen::{Lane, Seen};
use crate::group::shared::Shared;
use crate::host::Place;
use crate::lanes::TreePlace;

/// Margins from here on stand for none.
const NO_MARGIN: f64 = 1e29;

/// Buffers of a set in which kernels leave nothing that is read behind them.
pub(in crate::group) fn passing(b: &SetBuffers, dims: &TreeDims) -> Vec<BufferId> {
    let mut out = vec![b.act, b.slope_work, b.side, b.shift, b.system];
    // The host begins it with what applied forces are by.
    out.extend((applied_reals(dims) == 0).then_some(b.slope));
    out
}

/// What rounding allows.
struct Limits {
    /// Gaps that a step would close at less than this are closed, m/s.
    closed: f64,
    /// Pivots below this part of the largest count as none.
    pivot: f64,
    /// What may be left of the equations, relative to the largest of their terms.
    left: f64,
    /// The same of redundant ones, which is what they contradict each other by: beyond, what is nearest to all of them is for the host to
    /// find, since it is off from what solves some by as much.
    redundant: f64,
}

impl Limits {
    fn of<T: Scalar>() -> Self {
        let single = T::NAME != f64::NAME;
        let closed = closed_below(single);
        if single {
            Self { closed, pivot: 1e-5, left: 2e-5, redundant: largest_contradiction(true) }
        } else {
            Self { closed, pivot: SMALLEST_PIVOT, left: LARGEST_RESIDUAL, redundant: 1e-9 }
        }
    }
}

/// What kernels compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::group::derivatives) enum Kind {
    Jacobian,
    Back,
}

impl Kind {
    /// That of what is asked for; none where no kernel has it, as of products with the Jacobian itself.
    fn of(product: &WorldProduct) -> Option<Self> {
        match product {
            WorldProduct::Jacobian(_) => Some(Self::Jacobian),
            WorldProduct::Back { .. } => Some(Self::Back),
            WorldProduct::Along { .. } => None,
        }
    }

    /// The buffer that it goes to, and its reals of a lane.
    fn result(self, b: &SetBuffers, dims: &TreeDims) -> (BufferId, usize) {
        match self {
            Self::Jacobian => (b.answer, answer_reals(dims)),
            Self::Back => (b.adjoint, Adjoint::new(dims).reals),
        }
    }

    /// Reals of a lane that the host writes there first.
    fn given_reals(self, dims: &TreeDims) -> usize {
        match self {
            Self::Jacobian => 0,
            Self::Back => Adjoint::new(dims).reals,
        }
    }
}

impl<T: Scalar> Shared<T> {
    /// Whether kernels can differentiate steps of this model by these rules.
    fn by_kernels(&self, rules: GradientRules) -> bool {
        let plain = |dims: &TreeDims| [dims.n_block, dims.n_path_row, dims.bound] == [0; 3];
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
    /// Frames of the bodies, in double precision; else they are found again from the states.
    poses: Option<Seen<T>>,
    impulses: Seen<T>,
    /// After the step.
    velocity: Seen<T>,
    /// Where lanes have their own.
    params: Option<Seen<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// Whether kernels take products of a kind of the last step of any world, by these rules.
    pub(in crate::group::derivatives) fn takes(&self, kind: Kind, rules: GradientRules) -> bool {
        // An escape compares two adjoints, and kernels know nothing of mocap bodies that move.
        let escapes = kind == Kind::Back && rules.escape;
        !escapes && self.shared.by_kernels(rules) && self.before.is_some() && !self.mocaps.moving
    }

    fn lane_of<'a>(&'a self, from: &'a Seen<T>, lane: usize, reals: usize) -> Lane<'a, T> {
        Lane::new(from.of(&*self.store), self.store.tile(), lane, reals)
    }

    /// Time step of a tree of a world, s.
    fn time_step(&self, before: &[LanesBefore<T>], place: &TreePlace, world: usize) -> f64 {
        let set = &self.sets[place.set];
        match &before[place.set].params {
            Some(params) => {
                let lane = set.lane(world, place.index);
                self.lane_of(params, lane, set.dims().n_param as usize).at(param::TIMESTEP)
            }
            None => T::from_f64(self.shared.sets[place.set].params[place.index][param::TIMESTEP]).to_f64(),
        }
    }

    /// Whether all trees of a world are islands by themselves, the step before is known, and nothing bounces.
    pub(in crate::group::derivatives) fn is_alone(&self, world: usize) -> bool {
        let kept = self.before.as_ref().is_some_and(|kept| kept.has(world));
        let contacts = &self.host.worlds[world];
        kept && self.host.packed().is_apart(world)
            && contacts.places.iter().all(|place| matches!(place, Place::Slot(_)))
            && contacts.contacts.iter().all(|contact| contact.restitution.to_f64() <= 0.0)
    }

    /// Starts kernels that find frames and motions before the step, and reads what the host has to know of it; `certificates`: also
    /// how it ended.
    fn look_back(&mut self, certificates: bool) -> Result<Ticket, Error> {
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
            self.recording.read(b.before).read(b.velocity).read(set.step.impulses.now);
            if T::NAME == f64::NAME {
                self.recording.read(b.before_pose);
            }
            if dims.param_lanes == 1 {
                self.recording.read(b.lane_params);
            }
        }
        if certificates {
            self.record_certificates();
        }
        Ok(self.store.submit(&self.recording)?)
    }

    /// What was read.
    fn lanes_before(&mut self) -> Result<Vec<LanesBefore<T>>, Error> {
        let store = &mut *self.store;
        let lanes = |set: &ChunkSet<T>| {
            let b = set.step.buffers;
            let own_params = set.step.dims.param_lanes == 1;
            Ok(LanesBefore {
                states: Seen::new(store, b.before)?,
                poses: if T::NAME == f64::NAME { Some(Seen::new(store, b.before_pose)?) } else { None },
                impulses: Seen::new(store, set.step.impulses.now)?,
                velocity: Seen::new(store, b.velocity)?,
                params: if own_params { Some(Seen::new(store, b.lane_params)?) } else { None },
            })
        };
        self.sets.iter().map(lanes).collect()
    }

    /// Where the numbers of each tile lie, and room for them.
    fn lay_out(&mut self, kind: Kind) -> Result<(), Error> {
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
                kind.result(&b, &dims),
            ] {
                self.store.resize(buffer, tile_len(width, lanes, n))?;
            }
            if kind == Kind::Jacobian {
                self.store.resize(b.mobility, tile_len(width, lanes, mobility_reals(&dims)))?;
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

    /// Frames of the bodies of a tree of a world before the step: in double precision even where the kernels' are not, as which
    /// features touch cannot be told from rounded ones.
    fn poses(&self, before: &[LanesBefore<T>], world: usize, place: &TreePlace) -> Vec<f64> {
        match &before[place.set].poses {
            Some(poses) => {
                let set = &self.sets[place.set];
                let (lane, n) = (set.lane(world, place.index), POSE * set.dims().n_body as usize);
                self.lane_of(poses, lane, n).some(0, n).collect()
            }
            None => self.found_again(before, world, place, |_, _, _, [pose, _]| pose.to_vec()),
        }
    }

    /// Makes something of a tree of a world before the step: of its parameters and state, and of frames and motions found again.
    fn found_again<A>(
        &self,
        before: &[LanesBefore<T>],
        world: usize,
        place: &TreePlace,
        make: impl Fn(&Tree, &[f64], &[f64], [&[f64]; 2]) -> A,
    ) -> A {
        let (tree, [params, state]) = self.tree_before(before, world, place);
        let dims = tree.dims;
        let (mut pose, mut motion) = (vec![0.0; POSE * dims.n_body as usize], vec![0.0; SPATIAL * dims.n_v as usize]);
        kinematics(&tree, Params::<f64>::Shared(&params), &state, &mut pose, &mut motion);
        make(&tree, &params, &state, [&pose, &motion])
    }

    /// A tree of a world before the step: its structure, parameters and state.
    fn tree_before(
        &self,
        before: &[LanesBefore<T>],
        world: usize,
        place: &TreePlace,
    ) -> (Tree<'_>, [Cow<'_, [f64]>; 2]) {
        let (set, trees, before) = (&self.sets[place.set], &self.shared.sets[place.set], &before[place.set]);
        let (dims, lane) = (set.dims(), set.lane(world, place.index));
        let all = |from: &Seen<T>, n: usize| -> Cow<'_, [f64]> { self.lane_of(from, lane, n).some(0, n).collect() };
        let params = match &before.params {
            Some(params) => all(params, dims.n_param as usize),
            None => Cow::Borrowed(&trees.params[place.index][..]),
        };
        (trees.layout.tree(), [params, all(&before.states, dims.n_state())])
    }

    /// How activations of a tree of a world after the step change, by their numbers in the world.
    fn activations(&self, before: &[LanesBefore<T>], world: usize, place: &TreePlace) -> Vec<ActivationSlopes> {
        if self.sets[place.set].dims().n_act == 0 {
            return Vec::new();
        }
        let own = &self.shared.sets[place.set];
        let (tree, [params, state]) = self.tree_before(before, world, place);
        activation_slopes(&tree, &params, &state, [&own.actuators[place.index], &own.activations[place.index]])
    }

    /// Writes what is known of the contacts of a world that carry something.
    fn write_contacts(
        &self,
        geometry: &Geometry,
        before: &[LanesBefore<T>],
        world: usize,
        touches: &mut [Stretch<T>],
        certificate: &mut Certificate,
    ) {
        let (shared, width) = (&self.shared, self.store.tile());
        let own = &self.host.worlds[world];
        if own.contacts.is_empty() {
            return;
        }
        let own_sizes = self.sizes(world);
        let impulses: Vec<&[T]> = before.iter().map(|set| set.impulses.of(&*self.store)).collect();
        let trees = &shared.host.lanes.trees;
        let poses: Vec<Vec<f64>> = trees.iter().map(|place| self.poses(before, world, place)).collect();
        // Zeros for a body that does not move.
        let pose = |body: usize| -> [f64; POSE] {
            let Some(at) = shared.host.lanes.bodies[body] else {
                return self.mocaps.of(&shared.host.mocaps, world, body).unwrap_or_default();
            };
            std::array::from_fn(|k| poses[at.tree][POSE * at.local + k])
        };
        let mut exact_contacts = geometry.exact(pose, &own_sizes);
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
                let to = &mut touches[tree.set];
                to.reals[slot_at(width, lane, begin - to.first, slot as usize, touch::SIZE, field)] = T::from_f64(x);
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

/// What the kernels left of a set.
struct Results<T> {
    /// Of Jacobians.
    mobility: Option<Seen<T>>,
    /// What was asked for.
    result: Seen<T>,
}

impl<T: Scalar> Results<T> {
    fn new(store: &mut dyn Store<T>, kind: Kind, b: &SetBuffers, dims: &TreeDims) -> Result<Self, Error> {
        let mobility = match kind {
            Kind::Jacobian => Some(Seen::new(store, b.mobility)?),
            Kind::Back => None,
        };
        Ok(Self { mobility, result: Seen::new(store, kind.result(b, dims).0)? })
    }
}

/// Adds what a lane's equations say of the derivative; whether they leave no doubt.
fn judged<T: Scalar>(verdict: [f64; verdict::SIZE], certificate: &mut Certificate) -> bool {
    let residual = verdict[verdict::LEFT];
    if verdict[verdict::MARGIN] < NO_MARGIN {
        certificate.margin = certificate.margin.min(verdict[verdict::MARGIN]);
    }
    certificate.closed += verdict[verdict::CLOSED] as usize;
    certificate.size += verdict[verdict::SIZE_OF] as usize;
    certificate.rank += verdict[verdict::RANK] as usize;
    certificate.residual = certificate.residual.max(residual);
    let (Limits { left, redundant, .. }, single) = (Limits::of::<T>(), T::NAME != f64::NAME);
    let (margin, is_redundant) = (verdict[verdict::MARGIN], verdict[verdict::RANK] < verdict[verdict::SIZE_OF]);
    let most = match is_redundant {
        false => left,
        // Of those that contradict each other by more the host looks for other impulses near a switch, as below.
        true if is_doubtful(margin, true, single) => redundant.min(LARGEST_RESIDUAL),
        true => redundant,
    };
    // Impulses may be shared out otherwise. Where that would only make a margin larger, it is not worth the time: the rows
    // of zeros that a planar robot's contacts have are redundant, too.
    residual <= most && !is_doubtful(margin, false, single)
}
