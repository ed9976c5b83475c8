//! The last step of a world, gathered from what it left in its chunk's buffers.

use std::borrow::Cow;
use std::sync::OnceLock;

use manyworlds_collide::Contact;
use manyworlds_collide::derivatives::Slope;
use manyworlds_contact::solve::ContactModel as Model;
use manyworlds_gradients::{BlockInput, ContactInput, ContactSettings, Give, closed_below};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{bias, load3, row as row_part, row_head, row_stride};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, param};
use manyworlds_shaders::index::{gather, slot_at};
use manyworlds_shaders::math::{cross, dot};

use super::geometry::Geometry;
use super::soft::{OwnSoft, contact_input};
use super::step::{OwnTree, WorldStep, carrier_of};
use crate::group::carried::CarrierTree;
use crate::group::chunk::Chunk;
use crate::group::seen::{Lane, Seen};
use crate::group::shared::Shared;
use crate::group::soft::step::SoftStep;
use crate::group::state::{State, read_motion};
use crate::host::{self, Carrier, Frames, Law, Place, SoftShape};
use crate::mocap::{Drift, Mocaps};
use crate::{Error, Summary};
/// Poses of the bodies of a world before a step.
pub(super) struct Poses<'a, T> {
    pub(super) trees: &'a [OwnTree],
    pub(super) mocaps: &'a Mocaps<T>,
    pub(super) world: usize,
}

impl<T: Scalar> Poses<'_, T> {
    /// Of a body of the model; zeros for one that does not move.
    pub(super) fn of(&self, shared: &Shared<T>, body: usize) -> [f64; POSE] {
        let Some(place) = shared.host.lanes.bodies[body] else {
            return self.mocaps.of(&shared.host.mocaps, self.world, body).unwrap_or_default();
        };
        std::array::from_fn(|k| self.trees[place.tree].frames[POSE * place.local + k])
    }
}

/// Numbers of a chunk that a step left in its buffers: where they lie, or read once.
pub(in crate::group) struct StepNumbers<'a, T: Scalar> {
    pub(super) chunk: &'a Chunk<T>,
    summaries: Cow<'a, [Summary]>,
    pub(super) sets: Vec<SetNumbers<T>>,
    islands: Seen<T>,
}

/// Those of a set of trees.
pub(super) struct SetNumbers<T> {
    /// After the step.
    pub(super) states: Seen<T>,
    /// Before it, where these were kept.
    before: Option<Seen<T>>,
    rows: Seen<T>,
    /// Impulses.
    slots: Seen<T>,
    /// By lane; none where all have the model's.
    params: Option<Seen<T>>,
}

impl<T: Scalar> Chunk<T> {
    /// What the last step left: derivatives are those of the impulses as they are stored, and so is their certificate.
    pub(in crate::group) fn step_numbers(&mut self) -> Result<StepNumbers<'_, T>, Error> {
        self.finish()?;
        self.read_ahead()?;
        let summaries = self.stored()?;
        StepNumbers::new(self, summaries.into())
    }

    /// Whether the host has to read what a step leaves.
    pub(super) fn is_on_device(&self) -> bool {
        self.store.numbers(self.islands.impulses.now).is_none()
    }

    /// Reads all of it at once: else each buffer would be a submission of its own.
    pub(super) fn read_ahead(&mut self) -> Result<(), Error> {
        if !self.is_on_device() {
            return Ok(());
        }
        self.recording.clear();
        self.recording.read(self.islands.impulses.now);
        for set in &self.sets {
            let b = set.step.buffers;
            self.recording.read(b.state).read(b.row).read(set.step.impulses.now);
            if self.knows_steps() {
                self.recording.read(b.before);
            }
            if set.step.dims.param_lanes == 1 {
                self.recording.read(b.lane_params);
            }
        }
        self.record_certificates();
        Ok(self.store.run(&self.recording)?)
    }

    /// Asks for what certificates are made of.
    pub(super) fn record_certificates(&mut self) {
        self.sets.iter().for_each(|set| _ = self.recording.read(set.step.buffers.info));
        if !self.host.islands.is_empty() {
            self.recording.read(self.islands.buffers.info).read(self.islands.buffers.status);
        }
    }

    /// Whether the states before the last step of any world are known.
    fn knows_steps(&self) -> bool {
        self.before.as_ref().is_some_and(|kept| !kept.whole.is_empty())
    }
}

impl<'a, T: Scalar> StepNumbers<'a, T> {
    pub(super) fn new(chunk: &'a mut Chunk<T>, summaries: Cow<'a, [Summary]>) -> Result<Self, Error> {
        let islands = Seen::new(&mut *chunk.store, chunk.islands.impulses.now)?;
        let kept = chunk.knows_steps();
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in &chunk.sets {
            let (b, store) = (set.step.buffers, &mut *chunk.store);
            let own_params = set.step.dims.param_lanes == 1;
            sets.push(SetNumbers {
                states: Seen::new(store, b.state)?,
                before: if kept { Some(Seen::new(store, b.before)?) } else { None },
                rows: Seen::new(store, b.row)?,
                slots: Seen::new(store, set.step.impulses.now)?,
                params: if own_params { Some(Seen::new(store, b.lane_params)?) } else { None },
            });
        }
        Ok(Self { chunk, summaries, sets, islands })
    }

    /// Inertia, factor and right-hand side of a set, where they are in double precision and need no copy.
    fn made(&self, set: usize) -> Option<[&[T]; 3]> {
        let (b, store) = (self.chunk.sets[set].step.buffers, &*self.chunk.store);
        let all = [store.numbers(b.mass)?, store.numbers(b.factor)?, store.numbers(b.b)?];
        (T::NAME == f64::NAME).then_some(all)
    }

    /// The numbers of a lane, `reals` each.
    pub(super) fn numbers<'b>(&'b self, from: &'b Seen<T>, lane: usize, reals: usize) -> Lane<'b, T> {
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
    pub(in crate::group) fn step(
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
        let mut problem = shared.problem(summary);
        let model = &shared.model;
        let (mut after, states) = (State::default(), self.sets.iter().map(|set| set.states.of(&*self.chunk.store)));
        read_motion(shared, &states.collect::<Vec<_>>(), self.chunk.store.tile(), world, &mut after);
        let mut soft = Vec::with_capacity(shared.soft.len());
        for index in 0..shared.soft.len() {
            match self.soft(shared, world, index, &trees, &after)? {
                Ok(own) => soft.push(own),
                // Nothing of the world is linearised then.
                Err(why) => return Err(Error::NoProblem { world, why }),
            }
        }
        let mut first = Vec::new();
        if !soft.is_empty() {
            first.extend(model.trees.iter().map(|tree| tree.v.start));
            self.soft_contacts(shared, geometry, world, &trees, &mut contacts)?;
        }
        let kept = self.chunk.before.as_ref().filter(|_| !lean).and_then(|kept| kept.factor(world));
        let pulls =
            |adhesion: &host::Adhesion| self.chunk.host.worlds[world].contacts.iter().any(|c| adhesion.pulls(c));
        if problem.is_none() && shared.host.adhesion.as_ref().is_some_and(pulls) {
            problem = Some("adhesion pulls on a contact: how that changes is not computed".into());
        }
        Ok(WorldStep {
            trees,
            soft,
            first,
            contacts,
            shared_out: OnceLock::new(),
            blocks,
            factor: kept.cloned(),
            problem,
            doubt: self.chunk.doubt(world, summary),
            after,
        })
    }

    /// A soft body; `after`: the state after the step. Why not, where it has no equations.
    fn soft(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        trees: &[OwnTree],
        after: &State,
    ) -> Result<Result<OwnSoft, String>, Error> {
        let (chunk, own) = (self.chunk, &shared.soft[index]);
        let set = shared.host.lanes.trees[own.tree].set;
        let host = chunk.host.packed();
        let carrier = carrier_of(shared, index).map(|tree| (tree, trees[tree].carrier(shared)));
        let step = self.soft_step(shared, world, index, carrier.as_ref().map(|(_, of)| of))?;
        let tree = &shared.model.trees[own.tree];
        let [timestep, correction, largest_correction, restitution_threshold, _] =
            host.settings(set, world).map(|x| x.to_f64());
        let settings = ContactSettings { timestep, correction, largest_correction, restitution_threshold };
        let contacts = &chunk.host.worlds[world].soft;
        let of_tree = |tree: usize| &after.v[shared.model.trees[tree].v.clone()];
        let carrier = carrier.as_ref().map(|(tree, of)| (*tree, of, of_tree(*tree)));
        Ok(OwnSoft::new(shared, index, &step, &after.v[tree.v.clone()], (contacts, settings), carrier))
    }

    /// The states of a set before the step of a world.
    fn before(&self, set: usize, world: usize) -> Result<&[T], Error> {
        let kept = self.chunk.before.as_ref().is_some_and(|kept| kept.has(world));
        let before = self.sets[set].before.as_ref().filter(|_| kept).ok_or(Error::NoGradient)?;
        Ok(before.of(&*self.chunk.store))
    }

    /// What a soft body was before the step.
    pub(super) fn soft_step(
        &self,
        shared: &Shared<T>,
        world: usize,
        index: usize,
        carrier: Option<&CarrierTree<'_>>,
    ) -> Result<SoftStep, Error> {
        let state = self.soft_before(shared, world, shared.soft[index].tree)?;
        Ok(SoftStep::new(shared, &self.chunk.host.packed(), index, world, &state, carrier))
    }

    /// The state of a soft body before the step, by its tree.
    fn soft_before(&self, shared: &Shared<T>, world: usize, tree: usize) -> Result<Vec<T>, Error> {
        let set = shared.host.lanes.trees[tree].set;
        let before = self.before(set, world)?;
        let mut state = vec![T::default(); shared.sets[set].layout.dims.n_state()];
        gather(self.chunk.store.tile(), world, before, &mut state);
        Ok(state)
    }

    /// Appends the contacts of soft bodies.
    fn soft_contacts(
        &self,
        shared: &Shared<T>,
        geometry: &Geometry,
        world: usize,
        trees: &[OwnTree],
        to: &mut Vec<ContactInput>,
    ) -> Result<(), Error> {
        let own = &self.chunk.host.worlds[world];
        let poses = Poses { trees, mocaps: &self.chunk.mocaps, world };
        let skins = self.skins(shared, &poses)?;
        let sizes = self.chunk.sizes(world);
        to.extend(own.soft.iter().zip(&own.soft_impulses).enumerate().map(|(index, (contact, &impulse))| {
            let given = (impulse, own.soft_drift(index));
            let pose = |body| poses.of(shared, body);
            contact_input(shared, geometry, contact, given, pose, &skins, &sizes)
        }));
        Ok(())
    }

    /// Where the vertices of soft bodies were before the step.
    pub(super) fn skins(&self, shared: &Shared<T>, poses: &Poses<'_, T>) -> Result<Vec<Vec<[f64; 3]>>, Error> {
        let (mut nodes, mut memory) = (Vec::new(), Vec::new());
        let one = |shape: &SoftShape| {
            let state = self.soft_before(shared, poses.world, shape.tree)?;
            let carrier = match shape.carrier {
                Carrier::Fixed(carrier) => carrier,
                Carrier::Moving(body) | Carrier::Mocap(body) => host::frame(poses.of(shared, body)),
            };
            shape.nodes(carrier, |e| state[e].to_f64(), &mut nodes);
            Ok(shape.vertices(&nodes, &mut memory).to_vec())
        };
        shared.host.soft.iter().map(one).collect()
    }

    pub(super) fn tree(&self, shared: &Shared<T>, world: usize, tree: usize, lean: bool) -> Result<OwnTree, Error> {
        let chunk = self.chunk;
        let place = shared.host.lanes.trees[tree];
        let set = &shared.sets[place.set];
        let dims = set.layout.dims;
        let lane = chunk.sets[place.set].lane(world, place.index);
        let before = self.before(place.set, world)?;
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

    fn contacts(&self, shared: &Shared<T>, geometry: &Geometry, world: usize, trees: &[OwnTree]) -> Vec<ContactInput> {
        let chunk = self.chunk;
        let all = &chunk.host.worlds[world];
        if all.contacts.is_empty() {
            return Vec::new();
        }
        let poses = Poses { trees, mocaps: &chunk.mocaps, world };
        let sizes = chunk.sizes(world);
        let mut exact_contacts = geometry.exact(|body| poses.of(shared, body), &sizes);
        let place = |body: u32| shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local));
        let input = |(index, (from, at)): (usize, (&Contact, &Place))| {
            let drift = all.drift(index);
            let bodies = from.bodies.map(place);
            let tree = bodies.iter().flatten().next().map(|body| body.0);
            let impulse = match (at, tree) {
                (&Place::Slot(slot), Some(tree)) => self.slot(trees[tree].set, trees[tree].lane, slot),
                (&Place::Island(at), _) => self.island(at),
                (Place::Slot(_), None) => [0.0; 3],
            };
            let exact = exact_contacts.get(from);
            let contact = exact.clone().unwrap_or(*from);
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
                    exact.and_then(slope).map(Slope::Fixed).map_err(Cow::Owned)
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
            for at in tree.movers(place.local) {
                let [angular, linear] = [0, 3].map(|part| load3(motion, SPATIAL * at + part));
                speed += sign * after.at(dims.v_at() + at) * (dot(normal, linear) + dot(turning, angular));
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
