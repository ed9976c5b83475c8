//! What the last step of a world was, gathered from what the step left in its buffers: all that its derivatives need.

use std::borrow::Cow;
use std::sync::OnceLock;

use manyworlds_collide::{Contact, Side, SoftContact};
use manyworlds_contact::SapParams;
use manyworlds_contact::solve::{ContactModel as Model, Solver};
use manyworlds_gradients::{
    BlockInput, BodyChange, ContactInput, ContactModel, ContactSettings, Give, StepInput, TreeInput, TreeMade,
    closed_below,
};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{bias, load3, row as row_part, row_head, row_stride};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params, SPATIAL, TreeDims, param};
use manyworlds_shaders::index::{gather, slot_at};
use manyworlds_shaders::math::{cross, dot};

use super::geometry::Geometry;
use super::soft::{OwnSoft, contact_input};
use crate::group::State;
use crate::group::carried::CarrierTree;
use crate::group::chunk::Chunk;
use crate::group::seen::{Lane, Seen};
use crate::group::shared::Shared;
use crate::group::soft::{DIFFERENCE, SoftStep, slope};
use crate::host::{self, Frames, Law, Place};
use crate::mocap::{Drift, Mocaps};
use crate::summary::status;
use crate::{Error, Summary};

/// The contact that a solver solves, as derivatives take it.
fn contact_model(solver: &dyn Solver) -> ContactModel {
    match solver.model() {
        Model::Exact => ContactModel::Exact,
        Model::Pyramid => ContactModel::Pyramid,
        Model::Convex => {
            let SapParams { near_rigid, slip, .. } = SapParams::default();
            ContactModel::Convex { near: (near_rigid / std::f64::consts::TAU).powi(2), slip }
        }
    }
}

impl<T: Scalar> Shared<T> {
    /// What speaks against differentiating a step that ended like this; `tolerance`, N s.
    pub(super) fn problem(&self, summary: &Summary, tolerance: f64) -> Option<String> {
        if summary.failed() {
            return Some(format!("the world failed: {}", summary.status_name()));
        }
        if summary.is_relaxed() {
            return Some("the step asked for what no motion gives, and biases gave way".into());
        }
        if summary.balance > tolerance {
            // Contacts may be solved all the same: their residual alone says nothing of it.
            let left = summary.balance;
            return Some(format!("the balance of momentum of what deforms is left unsolved by {left:.1e} N s"));
        }
        if self.solver.model() != Model::Exact {
            // Only the solver knows how well it solved another contact than the certificate's.
            let unsolved = summary.status & status::CONVERGED == 0;
            return unsolved.then(|| format!("the contact solver {} did not converge", self.solver.name()));
        }
        // Of heavy bodies the scaled one counts: it is a velocity, as what is differentiated.
        let solved = [summary.residual, summary.residual_scaled].iter().any(|residual| *residual <= tolerance);
        (!solved).then(|| format!("the contact solver stopped at a residual of {:.1e} N s", summary.residual))
    }
}

/// One step of one world.
#[derive(Debug)]
pub(crate) struct WorldStep {
    trees: Vec<OwnTree>,
    /// Bodies that deform.
    soft: Vec<OwnSoft>,
    /// First dof of each tree, then of each soft body, where there are any.
    first: Vec<usize>,
    contacts: Vec<ContactInput>,
    /// The same with impulses shared out anew, where that was asked for ([`manyworlds_gradients::Linearised::shared_out`]).
    pub(super) shared_out: OnceLock<Vec<ContactInput>>,
    blocks: Vec<BlockInput>,
    /// What speaks against differentiating it.
    pub(super) problem: Option<String>,
    /// The state after it; without controls and forces, which are as before.
    pub(crate) after: State,
}

/// One tree of the world.
#[derive(Debug, Clone)]
struct OwnTree {
    /// Set, and number within it.
    set: usize,
    index: usize,
    lane: usize,
    /// Where they are not the model's.
    params: Option<Vec<f64>>,
    state: Vec<f64>,
    /// What kinematics makes of it: frames of the bodies, then motions of the dofs.
    frames: Vec<f64>,
    /// What else the step made of it, where that was to be seen: inertia, factor, right-hand side, rows ([`TreeMade`]).
    made: Option<Vec<f64>>,
    rows: Vec<f64>,
}

impl OwnTree {
    fn params<'a, T: Scalar>(&'a self, shared: &'a Shared<T>) -> &'a [f64] {
        self.params.as_deref().unwrap_or(&shared.sets[self.set].params[self.index])
    }

    /// Finds the frames.
    fn place<T: Scalar>(&mut self, shared: &Shared<T>) {
        let layout = &shared.sets[self.set].layout;
        let mut frames = vec![0.0; frames_reals(layout.dims)];
        let (pose, motion) = frames.split_at_mut(POSE * layout.dims.n_body as usize);
        kinematics(&layout.tree(), Params::<f64>::Shared(self.params(shared)), &self.state, pose, motion);
        self.frames = frames;
    }

    /// The same with another number among its parameters.
    fn moved<T: Scalar>(&self, shared: &Shared<T>, entry: usize, by: f64) -> Self {
        let mut params = self.params(shared).to_vec();
        params[entry] += by;
        let mut out = Self { params: Some(params), ..self.clone() };
        out.place(shared);
        out
    }

    /// As one that carries a soft body.
    fn carrier<'s, T: Scalar>(&self, shared: &'s Shared<T>) -> CarrierTree<'s> {
        let layout = &shared.sets[self.set].layout;
        let dims = layout.dims;
        let (pose, motion) = self.frames.split_at(POSE * dims.n_body as usize);
        let v = self.state[dims.v_at()..dims.v_at() + dims.n_v as usize].to_vec();
        CarrierTree { tree: layout.tree(), pose: pose.to_vec(), motion: motion.to_vec(), v }
    }
}

/// The tree that carries a soft body, if that moves.
fn carrier_of<T: Scalar>(shared: &Shared<T>, soft: usize) -> Option<usize> {
    match shared.host.soft[soft].carrier {
        host::Carrier::Moving(body) => shared.host.lanes.bodies[body].map(|place| place.tree),
        host::Carrier::Fixed(_) | host::Carrier::Mocap(_) => None,
    }
}

/// Numbers of [`OwnTree::frames`].
fn frames_reals(dims: TreeDims) -> usize {
    POSE * dims.n_body as usize + SPATIAL * dims.n_v as usize
}

/// Memory of a step of a world with so many contacts of a model, B; what a [`WorldStep`] takes.
pub(crate) fn step_bytes<T: Scalar>(shared: &Shared<T>, contacts: usize, own_params: bool) -> usize {
    let tree = |place: &crate::lanes::TreePlace| {
        let dims = shared.sets[place.set].layout.dims;
        let params = if own_params { dims.n_param as usize } else { 0 };
        size_of::<OwnTree>() + 8 * (dims.n_state() + frames_reals(dims) + dims.n_row as usize + params)
    };
    size_of::<WorldStep>()
        + shared.host.lanes.trees.iter().map(tree).sum::<usize>()
        + contacts * size_of::<ContactInput>()
        + shared.host.fixed.len() * size_of::<BlockInput>()
        + 8 * (shared.model.n_q + shared.model.n_v)
}

impl WorldStep {
    /// Memory it takes, B.
    pub(crate) fn bytes(&self) -> usize {
        let tree = |tree: &OwnTree| {
            let made = tree.made.as_ref().map_or(0, Vec::len);
            let numbers = made
                + tree.state.len()
                + tree.frames.len()
                + tree.rows.len()
                + tree.params.as_ref().map_or(0, Vec::len);
            size_of::<OwnTree>() + 8 * numbers
        };
        size_of::<Self>()
            + self.trees.iter().map(tree).sum::<usize>()
            + (self.contacts.len() + self.shared_out.get().map_or(0, Vec::len)) * size_of::<ContactInput>()
            + self.blocks.len() * size_of::<BlockInput>()
            + 8 * (self.after.q.len() + self.after.v.len())
    }

    /// The step, as the derivatives take it.
    pub(super) fn input<'a, T: Scalar>(&'a self, shared: &'a Shared<T>) -> StepInput<'a> {
        let tree = |tree: &'a OwnTree| {
            let layout = &shared.sets[tree.set].layout;
            let [n_body, n_v, n_m] = [layout.dims.n_body, layout.dims.n_v, layout.dims.n_m].map(|n| n as usize);
            let (pose, motion) = tree.frames.split_at(POSE * n_body);
            let made = tree.made.as_ref().map(|made| {
                let (mass, rest) = made.split_at(n_m);
                let (factor, rest) = rest.split_at(n_m);
                let (b, rows) = rest.split_at(n_v);
                TreeMade { mass, factor, b, rows }
            });
            TreeInput {
                layout,
                params: tree.params(shared),
                state: &tree.state,
                frames: [pose, motion],
                made,
                rows: &tree.rows,
            }
        };
        StepInput {
            first: self.first.clone(),
            trees: self.trees.iter().map(tree).collect(),
            sparse: self.soft.iter().map(OwnSoft::input).collect(),
            // What is rounded to single precision is where the step ended nearly.
            whole: shared.whole.as_ref().filter(|_| T::NAME == f64::NAME).map(|order| order.input(&self.after.v)),
            contacts: &self.contacts,
            blocks: &self.blocks,
            model: contact_model(shared.solver),
            single: T::NAME != f64::NAME,
            controls: self.trees.iter().map(|t| &shared.sets[t.set].actuators[t.index][..]).collect(),
        }
    }
}

/// Contacts of a step, each with the change of its point, normal and distance.
pub(crate) type ContactChanges = Vec<(usize, [f64; 7])>;

/// Poses of the bodies of a world before a step.
struct Poses<'a, T> {
    trees: &'a [OwnTree],
    mocaps: &'a Mocaps<T>,
    world: usize,
}

impl<T: Scalar> Poses<'_, T> {
    /// Of a body of the model; zeros for one that does not move.
    fn of(&self, shared: &Shared<T>, body: usize) -> [f64; POSE] {
        let Some(place) = shared.host.lanes.bodies[body] else {
            return self.mocaps.of(&shared.host.mocaps, self.world, body).unwrap_or_default();
        };
        std::array::from_fn(|k| self.trees[place.tree].frames[POSE * place.local + k])
    }
}

/// Numbers of a chunk that a step left in its buffers: where they lie, or read once.
pub(super) struct StepNumbers<'a, T: Scalar> {
    chunk: &'a Chunk<T>,
    summaries: Vec<Summary>,
    tolerance: f64,
    sets: Vec<SetNumbers<T>>,
    islands: Seen<T>,
}

/// Those of a set of trees.
struct SetNumbers<T> {
    /// After the step.
    states: Seen<T>,
    rows: Seen<T>,
    /// Impulses.
    slots: Seen<T>,
    /// By lane; none where all have the model's.
    params: Option<Seen<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// What the last step left: derivatives are those of the impulses as they are stored, and so is their certificate.
    pub(super) fn step_numbers(&mut self) -> Result<StepNumbers<'_, T>, Error> {
        let (summaries, tolerance) = self.stored()?;
        StepNumbers::new(self, summaries, tolerance)
    }
}

impl<'a, T: Scalar> StepNumbers<'a, T> {
    /// `tolerance`: residuals above it speak against a step, N s.
    fn new(chunk: &'a mut Chunk<T>, summaries: Vec<Summary>, tolerance: f64) -> Result<Self, Error> {
        chunk.finish()?;
        let islands = Seen::new(&mut *chunk.store, chunk.islands.impulses.now)?;
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in &chunk.sets {
            let (b, store) = (set.step.buffers, &mut *chunk.store);
            let own_params = set.step.dims.param_lanes == 1;
            sets.push(SetNumbers {
                states: Seen::new(store, b.state)?,
                rows: Seen::new(store, b.row)?,
                slots: Seen::new(store, set.step.impulses.now)?,
                params: if own_params { Some(Seen::new(store, b.lane_params)?) } else { None },
            });
        }
        Ok(Self { chunk, summaries, tolerance, sets, islands })
    }

    /// Inertia, factor and right-hand side of a set, where they are in double precision and need no copy.
    fn made(&self, set: usize) -> Option<[&[T]; 3]> {
        let (b, store) = (self.chunk.sets[set].step.buffers, &*self.chunk.store);
        let all = [store.numbers(b.mass)?, store.numbers(b.factor)?, store.numbers(b.b)?];
        (T::NAME == f64::NAME).then_some(all)
    }

    /// The numbers of a lane, `reals` each.
    fn numbers<'b>(&'b self, from: &'b Seen<T>, lane: usize, reals: usize) -> Lane<'b, T> {
        self.lane(from.of(&*self.chunk.store), lane, reals)
    }

    fn lane<'b>(&self, from: &'b [T], lane: usize, reals: usize) -> Lane<'b, T> {
        Lane::new(from, self.chunk.store.tile(), lane, reals)
    }

    /// Impulse of a slot of a lane.
    fn slot(&self, set: usize, lane: usize, slot: u32) -> [f64; 3] {
        let (width, begin) = (self.chunk.store.tile(), self.chunk.host.packs[set].begin(lane));
        let slots = self.sets[set].slots.of(&*self.chunk.store);
        std::array::from_fn(|k| slots[slot_at(width, lane, begin, slot as usize, 3, k)].to_f64())
    }

    /// Impulse of a constraint of an island of several trees.
    fn island(&self, at: u32) -> [f64; 3] {
        let all = self.islands.of(&*self.chunk.store);
        std::array::from_fn(|k| all.get(3 * at as usize + k).map_or(0.0, |x| x.to_f64()))
    }

    /// The last step of a world of a chunk that keeps the states before its steps; `lean`: without what can be computed
    /// again.
    pub(super) fn step(
        &self,
        shared: &Shared<T>,
        geometry: &Geometry,
        world: usize,
        lean: bool,
    ) -> Result<WorldStep, Error> {
        let rigid = (0..shared.model.trees.len()).filter(|&tree| shared.model.trees[tree].soft.is_none());
        let trees = rigid.map(|tree| self.tree(shared, world, tree, lean)).collect::<Result<Vec<_>, Error>>()?;
        let mut contacts = self.contacts(shared, geometry, world, &trees);
        let blocks = self.blocks(shared, world, &trees);
        let summary = &self.summaries[world];
        let mut problem = shared.problem(summary, self.tolerance);
        let model = &shared.model;
        let mut after = State { q: vec![0.0; model.n_q], v: vec![0.0; model.n_v], ..State::default() };
        for (tree, own) in trees.iter().zip(&model.trees) {
            let dims = shared.sets[tree.set].layout.dims;
            let state = self.numbers(&self.sets[tree.set].states, tree.lane, dims.n_state());
            let state: Vec<f64> = state.some(0, dims.ctrl_at()).collect();
            own.q.clone().zip(&state).for_each(|(to, x)| after.q[to] = *x);
            own.v.clone().zip(&state[dims.v_at()..]).for_each(|(to, x)| after.v[to] = *x);
        }
        let mut soft = Vec::with_capacity(shared.soft.len());
        for index in 0..shared.soft.len() {
            match self.soft(shared, world, index, &trees, &mut after)? {
                Ok(own) => soft.push(own),
                // Nothing of the world is linearised then.
                Err(why) => return Err(Error::NoProblem { world, why }),
            }
        }
        let mut first = Vec::new();
        if !soft.is_empty() {
            first.extend(model.trees.iter().map(|tree| tree.v.start));
            self.soft_contacts(shared, geometry, world, &trees, &mut contacts);
        }
        let pulls =
            |adhesion: &host::Adhesion| self.chunk.host.worlds[world].contacts.iter().any(|c| adhesion.pulls(c));
        if problem.is_none() && shared.host.adhesion.as_ref().is_some_and(pulls) {
            problem = Some("adhesion pulls on a contact: how that changes is not computed".into());
        }
        Ok(WorldStep { trees, soft, first, contacts, shared_out: OnceLock::new(), blocks, problem, after })
    }

    /// A soft body; its state after the step goes into `after`. Why not, where it has no equations.
    fn soft(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        trees: &[OwnTree],
        after: &mut State,
    ) -> Result<Result<OwnSoft, String>, Error> {
        let (chunk, own) = (self.chunk, &shared.soft[index]);
        let set = shared.host.lanes.trees[own.tree].set;
        let dims = shared.sets[set].layout.dims;
        let host = chunk.host.packed();
        let carrier = carrier_of(shared, index).map(|tree| (tree, trees[tree].carrier(shared)));
        let step = self.soft_step(shared, world, index, carrier.as_ref().map(|(_, of)| of))?;
        let tree = &shared.model.trees[own.tree];
        let ended = self.numbers(&self.sets[set].states, world, dims.n_state());
        tree.q.clone().zip(ended.some(0, tree.q.len())).for_each(|(to, x)| after.q[to] = x);
        tree.v.clone().zip(ended.some(dims.v_at(), tree.v.len())).for_each(|(to, x)| after.v[to] = x);
        let [timestep, correction, largest_correction, restitution_threshold, _] =
            host.settings(set, world).map(|x| x.to_f64());
        let settings = ContactSettings { timestep, correction, largest_correction, restitution_threshold };
        let contacts = &chunk.host.worlds[world].soft;
        let of_tree = |tree: usize| &after.v[shared.model.trees[tree].v.clone()];
        let carrier = carrier.as_ref().map(|(tree, of)| (*tree, of, of_tree(*tree)));
        Ok(OwnSoft::new(shared, index, &step, &after.v[tree.v.clone()], (contacts, settings), carrier))
    }

    /// What a soft body was before the step.
    fn soft_step(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        carrier: Option<&CarrierTree<'_>>,
    ) -> Result<SoftStep, Error> {
        let (chunk, own) = (self.chunk, &shared.soft[index]);
        let set = shared.host.lanes.trees[own.tree].set;
        let kept = chunk.before.as_ref().filter(|kept| kept.whole.get(world) == Some(&true));
        let before = kept.and_then(|kept| kept.states.get(set)).ok_or(Error::NoGradient)?;
        let mut state = vec![T::default(); shared.sets[set].layout.dims.n_state()];
        gather(chunk.store.tile(), world, before, &mut state);
        Ok(SoftStep::new(shared, &chunk.host.packed(), index, world, &state, carrier))
    }

    /// How the balances of a soft body, and of the tree that carries it, change with an entry of its parameters.
    pub(super) fn by_soft_parameter(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        entry: usize,
    ) -> Result<BodyChange, Error> {
        let (step, of_body, of_tree) = self.soft_between(shared, world, index)?;
        let number = entry.saturating_sub(param::HEADER);
        let [change, carrier] = step.by_parameter(&shared.soft[index].system, number, &of_body, &of_tree);
        Ok(BodyChange { body: index, change, carrier })
    }

    /// The same of all soft bodies with the time step.
    pub(super) fn by_timestep(&self, shared: &Shared<T>, world: usize) -> Result<Vec<BodyChange>, Error> {
        let one = |index: usize| {
            let (step, of_body, of_tree) = self.soft_between(shared, world, index)?;
            let own = (&*shared.soft[index].system, &shared.host.soft[index]);
            let [change, carrier] = step.by_timestep(own, &of_body, &of_tree);
            Ok(BodyChange { body: index, change, carrier })
        };
        (0..shared.soft.len()).map(one).collect()
    }

    /// The same of the soft bodies that a tree carries with an entry of its parameters, where that moves what carries them.
    /// `scale`: size of the number.
    pub(super) fn by_carrier(
        &self,
        shared: &Shared<T>,
        world: usize,
        tree: usize,
        (entry, scale): (usize, f64),
    ) -> Result<Vec<BodyChange>, Error> {
        let carried: Vec<usize> =
            (0..shared.soft.len()).filter(|&index| carrier_of(shared, index) == Some(tree)).collect();
        if carried.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.tree(shared, world, tree, true)?;
        let by = DIFFERENCE * scale;
        let ends = [by, -by].map(|by| own.moved(shared, entry, by));
        if ends.iter().all(|end| end.frames == own.frames) {
            return Ok(Vec::new());
        }
        let of_tree = self.after(shared, own.set, own.lane);
        let one = |index: usize| {
            let soft = &shared.soft[index];
            let of_body = self.after(shared, shared.host.lanes.trees[soft.tree].set, world);
            let left = |end: &OwnTree| {
                let step = self.soft_step(shared, world, index, Some(&end.carrier(shared)))?;
                Ok::<_, Error>(step.left(&soft.system, &of_body, &of_tree))
            };
            let [change, carrier] = slope(&[left(&ends[0])?, left(&ends[1])?], by);
            Ok(BodyChange { body: index, change, carrier })
        };
        carried.into_iter().map(one).collect()
    }

    /// The velocity after the step of a lane.
    fn after(&self, shared: &Shared<T>, set: usize, lane: usize) -> Vec<f64> {
        let dims = shared.sets[set].layout.dims;
        self.numbers(&self.sets[set].states, lane, dims.n_state()).some(dims.v_at(), dims.n_v as usize).collect()
    }

    /// What a soft body was before the step, and the velocities after it: its own, and that of the tree that carries it.
    fn soft_between(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
    ) -> Result<(SoftStep, Vec<f64>, Vec<f64>), Error> {
        let carrier = carrier_of(shared, index).map(|tree| self.tree(shared, world, tree, true)).transpose()?;
        let of_tree = carrier.as_ref().map_or_else(Vec::new, |tree| self.after(shared, tree.set, tree.lane));
        let carrier = carrier.as_ref().map(|tree| tree.carrier(shared));
        let step = self.soft_step(shared, world, index, carrier.as_ref())?;
        let set = shared.host.lanes.trees[shared.soft[index].tree].set;
        Ok((step, self.after(shared, set, world), of_tree))
    }

    /// Appends the contacts of soft bodies.
    fn soft_contacts(
        &self,
        shared: &Shared<T>,
        geometry: &Geometry,
        world: usize,
        trees: &[OwnTree],
        to: &mut Vec<ContactInput>,
    ) {
        let own = &self.chunk.host.worlds[world];
        let poses = Poses { trees, mocaps: &self.chunk.mocaps, world };
        let sizes = self.chunk.sizes(world);
        to.extend(own.soft.iter().zip(&own.soft_impulses).enumerate().map(|(index, (contact, &impulse))| {
            let given = (impulse, own.soft_drift(index));
            contact_input(shared, geometry, contact, given, |body| poses.of(shared, body), &sizes)
        }));
    }

    fn tree(&self, shared: &Shared<T>, world: usize, tree: usize, lean: bool) -> Result<OwnTree, Error> {
        let chunk = self.chunk;
        let place = shared.host.lanes.trees[tree];
        let set = &shared.sets[place.set];
        let dims = set.layout.dims;
        let lane = chunk.sets[place.set].lane(world, place.index);
        let kept = chunk.before.as_ref().filter(|kept| kept.whole.get(world) == Some(&true));
        let before = kept.and_then(|kept| kept.states.get(place.set)).ok_or(Error::NoGradient)?;
        let SetNumbers { rows, params, .. } = &self.sets[place.set];
        let [n_v, n_m, n_row] = [dims.n_v, dims.n_m, dims.n_row].map(|n| n as usize);
        let (head, stride) = (row_head(dims.row_width), row_stride(n_v, dims.row_width));
        let n_param = dims.n_param as usize;
        let rows = self.numbers(rows, lane, chunk.sets[place.set].n_row_real());
        let made = self.made(place.set).filter(|_| !lean).map(|[mass, factor, b]| {
            let mut all = Vec::with_capacity(2 * n_m + n_v + n_row * head);
            for (from, n) in [(mass, n_m), (factor, n_m), (b, n_v)] {
                all.extend(self.lane(from, lane, n).some(0, n));
            }
            for row in 0..n_row {
                all.extend(rows.some(row * stride, head));
            }
            all
        });
        let mut out = OwnTree {
            set: place.set,
            index: place.index,
            lane,
            params: params.as_ref().map(|params| self.numbers(params, lane, n_param).some(0, n_param).collect()),
            state: self.lane(before, lane, dims.n_state()).some(0, dims.n_state()).collect(),
            frames: Vec::new(),
            made,
            rows: (0..n_row).map(|row| rows.at(row * stride + row_part::IMPULSE)).collect(),
        };
        out.place(shared);
        Ok(out)
    }

    /// How the contacts of a geom that carry something move with each of its sizes, by contact; what stands against it.
    pub(super) fn by_size(
        &self,
        shared: &Shared<T>,
        geometry: &Geometry,
        world: usize,
        geom: usize,
        step: &WorldStep,
    ) -> Result<Vec<ContactChanges>, String> {
        let own = &self.chunk.host.worlds[world];
        let is_its = |side: &Side| matches!(side, Side::Rigid { geom: of, .. } if *of as usize == geom);
        let touches =
            |(contact, impulse): (&SoftContact, &[f64; 3])| *impulse != [0.0; 3] && contact.sides.iter().any(is_its);
        if own.soft.iter().zip(&own.soft_impulses).any(touches) {
            return Err("how its contacts with a body that deforms move with it is not known".into());
        }
        let poses = Poses { trees: &step.trees, mocaps: &self.chunk.mocaps, world };
        let sizes = self.chunk.sizes(world);
        let mut out = vec![Vec::new(); crate::geoms::size_count(&shared.model.geoms[geom].shape)];
        let exact_contacts = geometry.exact(|body| poses.of(shared, body), &sizes);
        for (index, (from, input)) in self.chunk.host.worlds[world].contacts.iter().zip(&step.contacts).enumerate() {
            let Some(side) = input.geoms.iter().position(|&own| own == geom) else { continue };
            if input.impulse == [0.0; 3] {
                continue;
            }
            let found =
                geometry.features.by_sizes(&exact_contacts.get(from)?, side, |body| poses.of(shared, body), &sizes)?;
            out.iter_mut().zip(found).for_each(|(out, change)| out.push((index, change)));
        }
        Ok(out)
    }

    fn contacts(&self, shared: &Shared<T>, geometry: &Geometry, world: usize, trees: &[OwnTree]) -> Vec<ContactInput> {
        let chunk = self.chunk;
        let all = &chunk.host.worlds[world];
        if all.contacts.is_empty() {
            return Vec::new();
        }
        let poses = Poses { trees, mocaps: &chunk.mocaps, world };
        let sizes = chunk.sizes(world);
        let exact_contacts = geometry.exact(|body| poses.of(shared, body), &sizes);
        let place = |body: u32| shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local));
        let input = |(index, (from, at)): (usize, (&Contact, &Place))| {
            let drift = all.drift(index);
            let exact = exact_contacts.get(from);
            let contact = exact.clone().unwrap_or(*from);
            let bodies = contact.bodies.map(place);
            let tree = bodies.iter().flatten().next().map(|body| body.0);
            let impulse = match (at, tree) {
                (&Place::Slot(slot), Some(tree)) => self.slot(trees[tree].set, trees[tree].lane, slot),
                (&Place::Island(at), _) => self.island(at),
                (Place::Slot(_), None) => [0.0; 3],
            };
            ContactInput {
                geoms: contact.geoms.map(|geom| geom as usize),
                bodies,
                points: [None, None],
                point: contact.point,
                normal: contact.normal,
                distance: contact.distance,
                friction: contact.friction,
                restitution: contact.restitution,
                drift: [drift.velocity.into(), drift.spin.into()],
                impulse,
                give: match shared.solver.model() {
                    Model::Convex => {
                        host::give(from.geoms.map(|geom| &shared.model.geoms[geom as usize].contact), from)
                    }
                    Model::Exact | Model::Pyramid => Give::Bias,
                },
                // One that carries nothing has no say, unless it could as well.
                slope: if impulse == [0.0; 3] && !self.is_tied(shared, trees, &contact, drift) {
                    Err(Cow::Borrowed("a contact that is just about to close"))
                } else {
                    let slope = |_| geometry.features.slope(&contact, |body| poses.of(shared, body), &sizes);
                    exact.and_then(slope).map_err(Cow::Owned)
                },
            }
        };
        all.contacts.iter().zip(&all.places).enumerate().map(input).collect()
    }

    /// Whether a contact without impulse has no speed after the step either.
    fn is_tied(&self, shared: &Shared<T>, trees: &[OwnTree], contact: &Contact, drift: Drift) -> bool {
        let mut settings = [0.0; 3];
        let mut speed = drift.along(contact.normal);
        for (sign, body) in [-1.0, 1.0].into_iter().zip(contact.bodies) {
            let Some(place) = shared.host.lanes.bodies[body as usize] else { continue };
            let own = &trees[place.tree];
            let layout = &shared.sets[own.set].layout;
            let (tree, dims) = (layout.tree(), layout.dims);
            let params = own.params(shared);
            settings =
                [1.0 / params[param::TIMESTEP], params[param::CORRECTION_FRACTION], params[param::CORRECTION_MAX]];
            let after = self.numbers(&self.sets[own.set].states, own.lane, dims.n_state());
            let (pose, motion) = own.frames.split_at(POSE * dims.n_body as usize);
            let (normal, arm) = (contact.normal, std::array::from_fn(|k| contact.point[k] - pose[k]));
            let turning = cross(arm, normal);
            let mut dof = tree.bodies[place.local].chain_dof;
            while dof != NONE {
                let at = dof as usize;
                let [angular, linear] = [0, 3].map(|part| load3(motion, SPATIAL * at + part));
                speed += sign * after.at(dims.v_at() + at) * (dot(normal, linear) + dot(turning, angular));
                dof = tree.dofs[at].parent;
            }
        }
        let [per_step, fraction, largest] = settings;
        (speed + bias(contact.distance, per_step, fraction, largest, 0.0)).abs() <= closed_below(T::NAME != f64::NAME)
    }

    /// The bilateral blocks of the world.
    fn blocks(&self, shared: &Shared<T>, world: usize, trees: &[OwnTree]) -> Vec<BlockInput> {
        let chunk = self.chunk;
        let mut out = Vec::new();
        for (id, fixed) in shared.host.fixed.iter().enumerate() {
            let Law::Block(block) = &fixed.law else { continue };
            let own = &trees[fixed.trees[0] as usize];
            let frames = match &block.frames {
                &Frames::OfTree(number) => {
                    // Parameters of a lane in the type they were computed in.
                    let lane = if chunk.sets[own.set].step.dims.param_lanes == 1 { own.lane } else { own.index };
                    chunk.host.params[own.set].frames(lane, number).map(|f| f.map(Scalar::to_f64))
                }
                Frames::Fixed(frames) => frames.map(|f| f.map(Scalar::to_f64)),
            };
            let impulse = match (chunk.host.islands.solved_at(world, id, &shared.host), &block.frames) {
                (Some(at), _) => self.island(at),
                (None, &Frames::OfTree(number)) => self.slot(own.set, own.lane, number as u32),
                // In no island at all.
                (None, Frames::Fixed(_)) => [0.0; 3],
            };
            out.push(BlockInput {
                bodies: block.bodies.map(|body| body.map(|(_, place)| (place.tree, place.local))),
                angular: block.angular,
                frames,
                impulse,
            });
        }
        out
    }
}
