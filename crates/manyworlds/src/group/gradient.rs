//! What a step of a world was, kept for its derivatives by `manyworlds_gradients`.

use std::borrow::Cow;

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{Contact, Precision as CollidePrecision};
use manyworlds_gpu::Store;
use manyworlds_gradients::{BlockInput, ContactInput, Linearised, StepInput, TreeInput};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{row as row_part, row_stride};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL};
use manyworlds_shaders::index::{gather, slot_at};

use super::State;
use super::chunk::Chunk;
use super::shared::Shared;
use crate::host::{Frames, Law, Place};
use crate::{Error, Summary};

/// One step of one world.
#[derive(Debug)]
pub(crate) struct WorldStep {
    trees: Vec<OwnTree>,
    contacts: Vec<ContactInput>,
    blocks: Vec<BlockInput>,
    /// What speaks against differentiating it.
    problem: Option<String>,
    /// The state after it; without controls and forces, which are as before.
    pub(crate) after: State,
}

/// One tree of the world.
#[derive(Debug)]
struct OwnTree {
    /// Set, and number within it.
    set: usize,
    index: usize,
    lane: usize,
    /// Where they are not the model's.
    params: Option<Vec<f64>>,
    state: Vec<f64>,
    rows: Vec<f64>,
}

impl OwnTree {
    fn params<'a, T: Scalar + CollidePrecision>(&'a self, shared: &'a Shared<T>) -> &'a [f64] {
        self.params.as_deref().unwrap_or(&shared.sets[self.set].params[self.index])
    }
}

/// Memory of a step of a world with so many contacts of a model, B; what [`WorldStep::new`] takes.
pub(crate) fn step_bytes<T: Scalar + CollidePrecision>(shared: &Shared<T>, contacts: usize, own_params: bool) -> usize {
    let tree = |place: &crate::lanes::TreePlace| {
        let dims = shared.sets[place.set].layout.dims;
        let params = if own_params { dims.n_param as usize } else { 0 };
        size_of::<OwnTree>() + 8 * (dims.n_state() + dims.n_row as usize + params)
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
            let numbers = tree.state.len() + tree.rows.len() + tree.params.as_ref().map_or(0, Vec::len);
            size_of::<OwnTree>() + 8 * numbers
        };
        size_of::<Self>()
            + self.trees.iter().map(tree).sum::<usize>()
            + self.contacts.len() * size_of::<ContactInput>()
            + self.blocks.len() * size_of::<BlockInput>()
            + 8 * (self.after.q.len() + self.after.v.len())
    }

    /// The step, as the derivatives take it.
    fn linearised<'a, T: Scalar + CollidePrecision>(&'a self, shared: &'a Shared<T>) -> Linearised<'a> {
        let tree = |tree: &'a OwnTree| TreeInput {
            layout: &shared.sets[tree.set].layout,
            params: tree.params(shared),
            state: &tree.state,
            rows: &tree.rows,
        };
        let mut out = Linearised::new(&StepInput {
            trees: self.trees.iter().map(tree).collect(),
            contacts: &self.contacts,
            blocks: &self.blocks,
            controls: self.trees.iter().map(|t| &shared.sets[t.set].actuators[t.index][..]).collect(),
        });
        out.add_problem(self.problem.clone());
        out
    }
}

/// What goes back through steps of worlds of a group, apart from the worlds themselves.
pub(crate) trait Reverse: Send + Sync {
    /// A step, linearised.
    fn linearised<'a>(&'a self, step: &'a WorldStep) -> Linearised<'a>;
}

impl<T: Scalar + CollidePrecision> Reverse for Shared<T> {
    fn linearised<'a>(&'a self, step: &'a WorldStep) -> Linearised<'a> {
        step.linearised(self)
    }
}

/// Numbers of a chunk that a step left, read once.
pub(super) struct Remains<T> {
    summaries: Vec<Summary>,
    tolerance: f64,
    /// By set: states after it, rows, impulses of slots, parameters by lane.
    states: Vec<Vec<T>>,
    rows: Vec<Vec<T>>,
    slots: Vec<Vec<T>>,
    params: Vec<Vec<T>>,
    islands: Vec<T>,
}

impl<T: Scalar + CollidePrecision> Remains<T> {
    /// `tolerance`: residuals above it speak against a step, N s.
    pub(super) fn new<S: Store<T>>(
        chunk: &mut Chunk<T, S>,
        summaries: Vec<Summary>,
        tolerance: f64,
    ) -> Result<Self, Error> {
        chunk.finish()?;
        let read = |store: &mut S, buffer| -> Result<Vec<T>, Error> {
            let mut all = vec![T::default(); store.len(buffer)];
            store.read(buffer, &mut all)?;
            Ok(all)
        };
        let mut out = Self {
            summaries,
            tolerance,
            states: Vec::new(),
            rows: Vec::new(),
            slots: Vec::new(),
            params: Vec::new(),
            islands: read(&mut chunk.store, chunk.islands.buffers.impulses(!chunk.islands.odd)[1])?,
        };
        for set in &chunk.sets {
            let b = set.step.buffers;
            out.states.push(read(&mut chunk.store, b.state)?);
            out.rows.push(read(&mut chunk.store, b.row)?);
            out.slots.push(read(&mut chunk.store, b.impulses(!set.step.odd)[1])?);
            out.params.push(if set.step.dims.param_lanes == 1 {
                read(&mut chunk.store, b.lane_params)?
            } else {
                Vec::new()
            });
        }
        Ok(out)
    }

    /// Impulse of a slot of a lane.
    fn slot<S: Store<T>>(&self, chunk: &Chunk<T, S>, set: usize, lane: usize, slot: u32) -> [f64; 3] {
        let (width, begin) = (chunk.store.tile(), chunk.host.packs[set].begin(lane));
        std::array::from_fn(|k| self.slots[set][slot_at(width, lane, begin, slot as usize, 3, k)].to_f64())
    }

    /// Impulse of a constraint of an island of several trees.
    fn island(&self, at: u32) -> [f64; 3] {
        std::array::from_fn(|k| self.islands.get(3 * at as usize + k).map_or(0.0, |x| x.to_f64()))
    }

    /// The last step of a world of a chunk that keeps the states before its steps.
    pub(super) fn step<S: Store<T>>(
        &self,
        shared: &Shared<T>,
        geometry: &ContactGeometry,
        chunk: &mut Chunk<T, S>,
        world: usize,
    ) -> Result<WorldStep, Error> {
        let trees = (0..shared.model.trees.len())
            .map(|tree| self.tree(shared, chunk, world, tree))
            .collect::<Result<Vec<_>, Error>>()?;
        let contacts = self.contacts(shared, geometry, chunk, world, &trees);
        let blocks = self.blocks(shared, chunk, world, &trees);
        let summary = &self.summaries[world];
        let problem = if summary.failed() {
            Some(format!("the world failed: {}", summary.status_name()))
        } else if ![summary.residual, summary.residual_scaled].iter().any(|residual| *residual <= self.tolerance) {
            // Of heavy bodies the scaled one counts: it is a velocity, as what is differentiated.
            Some(format!("the contact solver stopped at a residual of {:.1e} N s", summary.residual))
        } else {
            None
        };
        let model = &shared.model;
        let mut after = State { q: vec![0.0; model.n_q], v: vec![0.0; model.n_v], ..State::default() };
        for (tree, own) in trees.iter().zip(&model.trees) {
            let dims = shared.sets[tree.set].layout.dims;
            let mut state = vec![T::default(); dims.n_state()];
            gather(chunk.store.tile(), tree.lane, &self.states[tree.set], &mut state);
            own.q.clone().zip(&state).for_each(|(to, x)| after.q[to] = x.to_f64());
            own.v.clone().zip(&state[dims.v_at()..]).for_each(|(to, x)| after.v[to] = x.to_f64());
        }
        Ok(WorldStep { trees, contacts, blocks, problem, after })
    }

    fn tree<S: Store<T>>(
        &self,
        shared: &Shared<T>,
        chunk: &Chunk<T, S>,
        world: usize,
        tree: usize,
    ) -> Result<OwnTree, Error> {
        let place = shared.host.lanes.trees[tree];
        let set = &shared.sets[place.set];
        let (dims, width) = (set.layout.dims, chunk.store.tile());
        let lane = chunk.sets[place.set].lane(world, place.index);
        let kept = chunk.before.as_ref().filter(|kept| kept.whole.get(world) == Some(&true));
        let before = kept.and_then(|kept| kept.states.get(place.set)).ok_or(Error::NoGradient)?;
        let take = |from: &[T], n: usize| -> Vec<f64> {
            let mut values = vec![T::default(); n];
            gather(width, lane, from, &mut values);
            values.into_iter().map(Scalar::to_f64).collect()
        };
        let all = &self.params[place.set];
        let stride = row_stride(dims.n_v as usize);
        let numbers = take(&self.rows[place.set], chunk.sets[place.set].n_row_real());
        Ok(OwnTree {
            set: place.set,
            index: place.index,
            lane,
            params: (!all.is_empty()).then(|| take(all, dims.n_param as usize)),
            state: take(before, dims.n_state()),
            rows: (0..dims.n_row as usize).map(|i| numbers[i * stride + row_part::IMPULSE]).collect(),
        })
    }

    fn contacts<S: Store<T>>(
        &self,
        shared: &Shared<T>,
        geometry: &ContactGeometry,
        chunk: &Chunk<T, S>,
        world: usize,
        trees: &[OwnTree],
    ) -> Vec<ContactInput> {
        let all = &chunk.host.worlds[world];
        if all.contacts.is_empty() {
            return Vec::new();
        }
        let poses: Vec<Vec<f64>> = trees
            .iter()
            .map(|tree| {
                let (layout, params) = (&shared.sets[tree.set].layout, tree.params(shared));
                let dims = layout.dims;
                let mut pose = vec![0.0; POSE * dims.n_body as usize];
                let mut motion = vec![0.0; SPATIAL * dims.n_v as usize];
                kinematics(&layout.tree(), Params::<f64>::Shared(params), &tree.state, &mut pose, &mut motion);
                pose
            })
            .collect();
        let place = |body: u32| shared.host.lanes.bodies[body as usize].map(|place| (place.tree, place.local));
        let pose = |body: usize| -> [f64; POSE] {
            let Some(place) = shared.host.lanes.bodies[body] else { return [0.0; POSE] };
            std::array::from_fn(|k| poses[place.tree][POSE * place.local + k])
        };
        let sizes = |geoms: &crate::geoms::GeomOverrides<T>| -> Vec<[f64; 3]> {
            geoms.of(world).sizes.iter().map(|size| size.map(Scalar::to_f64)).collect()
        };
        let sizes = chunk.geoms.as_ref().map_or_else(Vec::new, sizes);
        let input = |(from, at): (&Contact<T>, &Place)| {
            let contact = Contact {
                geoms: from.geoms,
                bodies: from.bodies,
                point: from.point.map(Scalar::to_f64),
                normal: from.normal.map(Scalar::to_f64),
                distance: from.distance.to_f64(),
                friction: from.friction.to_f64(),
                restitution: from.restitution.to_f64(),
                feature: from.feature,
            };
            let bodies = contact.bodies.map(place);
            let tree = bodies.iter().flatten().next().map(|body| body.0);
            let impulse = match (at, tree) {
                (&Place::Slot(slot), Some(tree)) => self.slot(chunk, trees[tree].set, trees[tree].lane, slot),
                (&Place::Island(at), _) => self.island(at),
                (Place::Slot(_), None) => [0.0; 3],
            };
            ContactInput {
                geoms: contact.geoms.map(|geom| geom as usize),
                bodies,
                point: contact.point,
                normal: contact.normal,
                distance: contact.distance,
                friction: contact.friction,
                restitution: contact.restitution,
                impulse,
                // One that carries nothing has no say, unless it is just about to.
                slope: if impulse == [0.0; 3] {
                    Err(Cow::Borrowed("a contact that is just about to close"))
                } else {
                    geometry.slope(&contact, pose, &sizes).map_err(Cow::Owned)
                },
            }
        };
        all.contacts.iter().zip(&all.places).map(input).collect()
    }

    /// The bilateral blocks of the world.
    fn blocks<S: Store<T>>(
        &self,
        shared: &Shared<T>,
        chunk: &mut Chunk<T, S>,
        world: usize,
        trees: &[OwnTree],
    ) -> Vec<BlockInput> {
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
                (None, &Frames::OfTree(number)) => self.slot(chunk, own.set, own.lane, number as u32),
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
