//! The contact problem of one world's last step, read back from the buffers its solver worked on.

use std::ops::Range;

use manyworlds_contact::problem::{Compliance, ProblemBuilder, ProblemError};
use manyworlds_contact::solve::Solver;
use manyworlds_contact::{ContactProblem, Law};
use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::Store;
use manyworlds_model::Model;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{UNBOUNDED, con};
use manyworlds_shaders::contact::tree_layout::{row, row_head, row_stride, slot, slot_reals};
use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::tree::{NONE, POSE, Params, SPATIAL, Tree};
use manyworlds_shaders::index::{gather, slot_at, tile_at};

use super::chunk::Chunk;
use super::inspect::fill_dense;
use super::seen::{Seen, whole};
use super::shared::Shared;
use super::soft::{Linearised, SoftAbout, SoftStep};
use super::subsystems::{Subsystem, Subsystems};
use crate::host::{self, Packed, Place, SideTree};
use crate::{Error, StepProblem};

/// Where the impulses of a constraint stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// Three numbers of a slot of a set: the first, and how far the next is.
    Slot { set: usize, at: usize, stride: usize },
    /// One number of a row of a set, and the constraint of an island that it also is.
    Row { set: usize, at: usize, constraint: Option<usize> },
    /// Three numbers of a constraint of an island.
    Island { constraint: usize },
    /// Those of a contact of soft bodies, which the host keeps.
    Soft { contact: usize },
}

/// The problem of one world with what its constraints carry and where that stands.
pub(super) struct WorldProblem {
    pub(super) problem: ContactProblem,
    /// `[n_rows]`
    pub(super) impulse: Vec<f64>,
    /// By constraint.
    pub(super) homes: Vec<Home>,
    /// `[n_v]`
    velocity: Vec<f64>,
}

impl WorldProblem {
    /// Where the impulses of each constraint stand, and which rows they are.
    pub(super) fn homes_of_rows(&self) -> Vec<(Home, Range<usize>)> {
        let rows = self.problem.constraints.iter().map(|c| c.row..c.row + c.law.rows());
        self.homes.iter().copied().zip(rows).collect()
    }
}

/// Reads one world of a chunk, its step done.
pub(super) fn problem<T: Scalar>(shared: &Shared<T>, chunk: &mut Chunk<T>, world: usize) -> Result<StepProblem, Error> {
    chunk.finish()?;
    let reading = Reading::of_last_step(shared, chunk, Sides::ByBody, world)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let SoftAbout { steps, about } = worlds.soft_about(shared, &host, world);
    let WorldProblem { problem, mut impulse, velocity, .. } =
        worlds.world(shared, &host, world, ContactProblem::default(), Responses::Found, (&steps, about))?;
    // Those of a world that was reset are gone.
    let answer = chunk.answers.get(world).and_then(Option::as_ref);
    if let Some(answer) = answer.filter(|answer| !answer.impulse.is_empty()) {
        impulse.copy_from_slice(&answer.impulse);
    }
    let relaxed = answer.into_iter().flat_map(|answer| &answer.relaxed).map(|of| of.how).collect();
    Ok(StepProblem { problem, impulse, velocity, relaxed })
}

/// How a problem has the sides of its constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    /// Of a tree as a whole.
    Whole,
    /// Bodies of a tree told apart: in problems that are written to files.
    ByBody,
}

/// The buffers of a chunk that its problems are made of.
pub(super) struct Reading<T> {
    width: usize,
    sides_as: Sides,
    sets: Vec<SetBuffers<Seen<T>>>,
    islands: Option<IslandBuffers<Seen<T>>>,
}

/// Those of one set.
pub(super) struct SetBuffers<N> {
    momentum: N,
    b: N,
    velocity: N,
    pub(super) motion: N,
    pub(super) pose: N,
    pub(super) state: N,
    row: N,
    constraint: N,
    impulse: N,
}

/// Those of islands of several trees, where there are any.
struct IslandBuffers<N> {
    jac: N,
    con: N,
    impulse: N,
}

impl<T: Scalar> Reading<T> {
    /// Of a step that is done. Where the state of a world that it began with was kept, with that, and frames and motions of then:
    /// what stands in the buffers is already what it ended with.
    pub(super) fn of_last_step(
        shared: &Shared<T>,
        chunk: &mut Chunk<T>,
        sides_as: Sides,
        world: usize,
    ) -> Result<Self, Error> {
        let mut reading = Self::new(chunk, sides_as)?;
        let Chunk { before, sets, store, .. } = chunk;
        let Some(kept) = before.as_ref().filter(|kept| kept.whole.get(world) == Some(&true)) else {
            return Ok(reading);
        };
        for (number, (to, state)) in reading.sets.iter_mut().zip(&kept.states).enumerate() {
            to.state = Seen::Read(state.clone());
            let (set, b, width) = (&shared.sets[number], sets[number].step.buffers, store.tile());
            if set.is_soft() {
                continue;
            }
            let dims = sets[number].step.dims;
            let own_params = if dims.param_lanes == 1 { Some(whole(&mut **store, b.lane_params)?) } else { None };
            let (mut poses, mut motions) = (whole(&mut **store, b.pose)?, whole(&mut **store, b.motion)?);
            for index in 0..set.trees.len() {
                let lane = world * set.trees.len() + index;
                let read = |numbers: &[T], n: usize| -> Vec<f64> {
                    let mut own = vec![T::default(); n];
                    gather(width, lane, numbers, &mut own);
                    own.into_iter().map(Scalar::to_f64).collect()
                };
                let params = own_params.as_ref().map(|all| read(all, dims.n_param as usize));
                let params = Params::<f64>::Shared(params.as_deref().unwrap_or(&set.params[index]));
                let mut pose = vec![0.0; POSE * dims.n_body as usize];
                let mut motion = vec![0.0; SPATIAL * dims.n_v as usize];
                kinematics(&set.layout.tree(), params, &read(state, dims.n_state()), &mut pose, &mut motion);
                for (all, own) in [(&mut poses, pose), (&mut motions, motion)] {
                    let n = own.len();
                    own.iter().enumerate().for_each(|(e, &x)| all[tile_at(width, lane, n, e)] = T::from_f64(x));
                }
            }
            (to.pose, to.motion) = (Seen::Read(poses), Seen::Read(motions));
        }
        Ok(reading)
    }

    pub(super) fn new(chunk: &mut Chunk<T>, sides_as: Sides) -> Result<Self, Error> {
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in 0..chunk.sets.len() {
            let (b, impulses) = (chunk.sets[set].step.buffers, chunk.sets[set].step.impulses);
            let mut read = |buffer| Seen::new(&mut *chunk.store, buffer);
            sets.push(SetBuffers {
                momentum: read(b.momentum)?,
                b: read(b.b)?,
                velocity: read(b.velocity)?,
                motion: read(b.motion)?,
                pose: read(b.pose)?,
                state: read(b.state)?,
                row: read(b.row)?,
                constraint: read(b.constraint)?,
                impulse: read(impulses.now)?,
            });
        }
        let (b, impulses) = (chunk.islands.buffers, chunk.islands.impulses);
        let islands = if chunk.host.islands.is_empty() {
            None
        } else {
            let mut read = |buffer| Seen::new(&mut *chunk.store, buffer);
            let impulse = read(impulses.now)?;
            Some(IslandBuffers { jac: read(b.jac)?, con: read(b.con)?, impulse })
        };
        Ok(Self { width: chunk.store.tile(), sides_as, sets, islands })
    }

    /// Where the numbers are now.
    pub(super) fn of<'a>(&'a self, store: &'a dyn Store<T>) -> Worlds<'a, T> {
        let set = |set: &'a SetBuffers<Seen<T>>| SetBuffers {
            momentum: set.momentum.of(store),
            b: set.b.of(store),
            velocity: set.velocity.of(store),
            motion: set.motion.of(store),
            pose: set.pose.of(store),
            state: set.state.of(store),
            row: set.row.of(store),
            constraint: set.constraint.of(store),
            impulse: set.impulse.of(store),
        };
        let islands = |b: &'a IslandBuffers<Seen<T>>| IslandBuffers {
            jac: b.jac.of(store),
            con: b.con.of(store),
            impulse: b.impulse.of(store),
        };
        Worlds {
            width: self.width,
            sides_as: self.sides_as,
            sets: self.sets.iter().map(set).collect(),
            islands: self.islands.as_ref().map_or(IslandBuffers { jac: &[], con: &[], impulse: &[] }, islands),
        }
    }
}

/// The worlds of a chunk, by the buffers that their problems are made of.
pub(super) struct Worlds<'a, T> {
    pub(super) width: usize,
    sides_as: Sides,
    pub(super) sets: Vec<SetBuffers<&'a [T]>>,
    islands: IslandBuffers<&'a [T]>,
}

/// A constraint of three rows on its way into a problem.
struct Block<'a> {
    law: Law,
    compliance: Option<Compliance>,
    at: At<'a>,
}

/// Where its numbers are.
#[derive(Clone, Copy)]
enum At<'a> {
    /// In a slot of a tree that is an island by itself.
    Slot { tree: TreeAt, begin: usize, slot: usize, bodies: [u32; 2] },
    /// In an island of several trees, its number and sides there.
    Island(usize, &'a [SideTree]),
}

/// A tree of a world: its set, its place in the world's list of that, and its lane.
#[derive(Clone, Copy)]
struct TreeAt {
    set: usize,
    index: usize,
    lane: usize,
}

/// What the trees of a world are without constraints.
pub(super) struct Inertia {
    /// `A` of each, row-major, nothing of soft bodies.
    pub(super) matrices: Vec<f64>,
    /// Where each tree's begins, and where the last one's ends.
    pub(super) begins: Vec<usize>,
    /// `[n_v]`
    pub(super) b: Vec<f64>,
    /// Parent of each degree of freedom, -1 at a root.
    parent: Vec<i64>,
}

/// The responses `A^-1 J^T` of a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Responses {
    /// None.
    Without,
    /// Found by the problem's own factors.
    Found,
    /// Those of the kernels where they are in double precision: to find them takes a tenth to a third of a relaxed step.
    Taken,
}

/// A problem on its way, with what its constraints carry.
pub(super) struct Building<'s> {
    pub(super) builder: ProblemBuilder,
    model: &'s Model,
    subsystems: &'s Subsystems,
    pub(super) impulse: Vec<f64>,
    pub(super) homes: Vec<Home>,
    /// Whether the kernels' responses are taken.
    responds: bool,
    /// The side at hand, `[rows, count]`, and where responses are taken its response.
    side: Vec<f64>,
}

impl Responses {
    /// What a solver asks for.
    pub(super) fn of(solver: &dyn Solver) -> Self {
        if solver.responds() { Self::Found } else { Self::Without }
    }
}

impl<T: Scalar> Worlds<'_, T> {
    /// The problem of one world, in the memory of another; `soft`: the steps of its soft bodies
    /// about some velocity.
    pub(super) fn world(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        memory: ContactProblem,
        responses: Responses,
        soft: (&[SoftStep], Vec<Linearised>),
    ) -> Result<WorldProblem, Error> {
        let fault = |error: ProblemError| Error::NoProblem { world, why: error.to_string() };
        let builder = self.begin(shared, world, memory, soft).map_err(fault)?;
        let builder = if responses == Responses::Without { builder.without_responses() } else { builder };
        // In single precision they would not be those of the blocks.
        let responds = responses == Responses::Taken
            && T::NAME == "f64"
            && self.sides_as == Sides::Whole
            && shared.soft.is_empty();
        let building = self.constrain(shared, host, world, builder, responds).map_err(fault)?;
        let Building { builder, impulse, homes, .. } = building;
        let problem = builder.finish(Vec::new()).map_err(fault)?;
        let velocity = self.after(shared, world);
        Ok(WorldProblem { problem, impulse, homes, velocity })
    }

    /// The constraints of one world alone, in the memory of another problem; what sparse blocks are needed for is not there.
    pub(super) fn constraints(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        memory: ContactProblem,
    ) -> Result<WorldProblem, Error> {
        let fault = |error: ProblemError| Error::NoProblem { world, why: error.to_string() };
        let spans = &shared.subsystems.spans;
        let zeros = vec![0.0; shared.model.n_v];
        let mut builder = ProblemBuilder::reusing(memory, spans, zeros, Vec::new()).map_err(fault)?;
        let Inertia { matrices, begins, .. } = self.inertia(shared, world);
        for subsystem in &shared.subsystems.all {
            match subsystem {
                Subsystem::Tree(tree) => builder.block(&matrices[begins[*tree]..begins[tree + 1]]),
                _ => builder.open_block(),
            }
            .map_err(fault)?;
        }
        let building = self.constrain(shared, host, world, builder, false).map_err(fault)?;
        let Building { builder, impulse, homes, .. } = building;
        Ok(WorldProblem { problem: builder.constraints(), impulse, homes, velocity: Vec::new() })
    }

    /// Adds the constraints of one world to the blocks of its subsystems.
    fn constrain<'s>(
        &self,
        shared: &'s Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        mut builder: ProblemBuilder,
        responds: bool,
    ) -> Result<Building<'s>, ProblemError> {
        let sides = host.islands.sides_of(world);
        let mut blocks = self.slots(shared, host, world);
        blocks.extend(self.of_islands(shared, host, world, &sides));
        // Contacts first, then what holds.
        blocks.sort_by_key(|block| !matches!(block.law, Law::Contact { .. }));
        let widest = shared.sets.iter().map(|set| set.layout.dims.n_v as usize).max().unwrap_or(0);
        builder.reserve(blocks.len(), 6 * widest * blocks.len());
        let (impulse, homes) = (Vec::with_capacity(3 * blocks.len()), Vec::with_capacity(blocks.len()));
        let (model, subsystems) = (&*shared.model, &shared.subsystems);
        let mut building = Building { builder, model, subsystems, impulse, homes, responds, side: Vec::new() };
        let (contacts, held) = blocks.split_at(blocks.partition_point(|b| matches!(b.law, Law::Contact { .. })));
        for block in contacts {
            self.block(shared, block, &mut building)?;
        }
        self.soft_contacts(shared, host, world, &mut building)?;
        for block in held {
            self.block(shared, block, &mut building)?;
        }
        for (set, own) in shared.sets.iter().enumerate() {
            for index in 0..own.trees.len() {
                let tree = TreeAt { set, index, lane: world * own.trees.len() + index };
                self.rows(shared, host, world, tree, &mut building)?;
            }
        }
        Ok(building)
    }

    /// The velocity that a world's step ended with, `[n_v]`.
    pub(super) fn after(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        self.by_dof(shared, world, |set, own| (own.velocity, set.layout.dims.n_v as usize, 0))
    }

    /// The velocity of a world before its step, `[n_v]`.
    pub(super) fn before(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        let dims = |set: &TreeSet| set.layout.dims;
        self.by_dof(shared, world, |set, own| (own.state, dims(set).n_state(), dims(set).v_at()))
    }

    /// Positions of a world, `[n_q]`.
    pub(super) fn q(&self, shared: &Shared<T>, world: usize) -> Vec<f64> {
        let mut all = vec![0.0; shared.model.n_q];
        for (set, own) in shared.sets.iter().zip(&self.sets) {
            for (j, &tree) in set.trees.iter().enumerate() {
                let lane = world * set.trees.len() + j;
                for (i, to) in all[shared.model.trees[tree].q.clone()].iter_mut().enumerate() {
                    *to = own.state[tile_at(self.width, lane, set.layout.dims.n_state(), i)].to_f64();
                }
            }
        }
        all
    }

    /// A number a degree of freedom: a buffer, its numbers a lane, and which of them is the first.
    fn by_dof<'b>(
        &'b self,
        shared: &Shared<T>,
        world: usize,
        of: impl Fn(&TreeSet, &'b SetBuffers<&'b [T]>) -> (&'b [T], usize, usize),
    ) -> Vec<f64> {
        let mut all = vec![0.0; shared.model.n_v];
        for (set, own) in shared.sets.iter().zip(&self.sets) {
            let (numbers, n, first) = of(set, own);
            for (j, &tree) in set.trees.iter().enumerate() {
                let lane = world * set.trees.len() + j;
                for (i, to) in all[shared.model.trees[tree].v.clone()].iter_mut().enumerate() {
                    *to = numbers[tile_at(self.width, lane, n, first + i)].to_f64();
                }
            }
        }
        all
    }

    /// A problem of this world's trees, without constraints yet.
    fn begin(
        &self,
        shared: &Shared<T>,
        world: usize,
        memory: ContactProblem,
        (steps, about): (&[SoftStep], Vec<Linearised>),
    ) -> Result<ProblemBuilder, ProblemError> {
        let model = &shared.model;
        let Inertia { matrices, begins, mut b, parent } = self.inertia(shared, world);
        for (own, about) in shared.soft.iter().zip(&about) {
            b[model.trees[own.tree].v.clone()].copy_from_slice(&about.b);
        }
        let block = |tree: usize| &matrices[begins[tree]..begins[tree + 1]];
        let mut joined = Vec::new();
        for subsystem in &shared.subsystems.all {
            if let Subsystem::Joined(of) = subsystem {
                let b = &mut b[model.trees[of.tree].v.clone()];
                joined.push(of.assemble((block(of.tree).to_vec(), b), steps, &about));
            }
        }
        let mut builder = ProblemBuilder::reusing(memory, &shared.subsystems.spans, b, parent)?;
        let (mut about, mut joined) = (about.into_iter().map(Some).collect::<Vec<_>>(), joined.into_iter());
        for subsystem in &shared.subsystems.all {
            let (matrix, ordering) = match subsystem {
                Subsystem::Tree(tree) => {
                    builder.block(block(*tree))?;
                    continue;
                }
                Subsystem::Soft(soft) => {
                    (about[*soft].take().map(|about| about.matrix), shared.soft[*soft].system.ordering())
                }
                Subsystem::Joined(of) => (joined.next(), &of.ordering),
            };
            builder.sparse_block(matrix.unwrap_or_default(), ordering.clone())?;
        }
        Ok(builder)
    }

    /// `A` and `b` of the trees of a world.
    pub(super) fn inertia(&self, shared: &Shared<T>, world: usize) -> Inertia {
        let model = &shared.model;
        let mut parent = vec![-1; model.n_v];
        let ends = model.trees.iter().scan(0, |end, tree| {
            *end += if tree.soft.is_some() { 0 } else { tree.v.len() * tree.v.len() };
            Some(*end)
        });
        let begins: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let mut matrices = vec![0.0; begins[model.trees.len()]];
        let mut entries = Vec::new();
        for (set, own) in shared.sets.iter().zip(&self.sets).filter(|(set, _)| !set.is_soft()) {
            let (tree, n) = (set.layout.tree(), set.layout.dims.n_v as usize);
            entries.resize(set.layout.dims.n_m as usize, T::default());
            for (j, &of) in set.trees.iter().enumerate() {
                let begin = model.trees[of].v.start;
                for (i, dof) in tree.dofs.iter().enumerate() {
                    if dof.parent != NONE {
                        parent[begin + i] = (begin + dof.parent as usize) as i64;
                    }
                }
                gather(self.width, world * set.trees.len() + j, own.momentum, &mut entries);
                fill_dense(&tree, &entries, 0, n, &mut matrices[begins[of]..begins[of + 1]]);
            }
        }
        let b = self.by_dof(shared, world, |set, own| (own.b, set.layout.dims.n_v as usize, 0));
        Inertia { matrices, begins, b, parent }
    }

    /// Blocks and contacts that trees of a world solve by themselves: of each set its blocks, then its contacts.
    fn slots(&self, shared: &Shared<T>, host: &Packed<'_, T>, world: usize) -> Vec<Block<'static>> {
        let mut all = Vec::new();
        let mut alone = vec![None; shared.model.trees.len()];
        for (set, own) in shared.sets.iter().enumerate() {
            let tree = own.layout.tree();
            for (index, &of) in own.trees.iter().enumerate() {
                if host.is_shared(world, of) {
                    continue;
                }
                let at = TreeAt { set, index, lane: world * own.trees.len() + index };
                let begin = host.packs[set].begin(at.lane);
                alone[of] = Some((at, begin));
                for (slot, block) in tree.blocks.iter().enumerate() {
                    let at = At::Slot { tree: at, begin, slot, bodies: [block.body_a, block.body_b] };
                    all.push(Block { law: self.law(shared, at), compliance: None, at });
                }
            }
            let contacts = &host.worlds[world];
            for (index, (contact, &place)) in contacts.contacts.iter().zip(&contacts.places).enumerate() {
                let bodies = contact.bodies.map(|b| shared.host.lanes.bodies[b as usize]);
                if let (Place::Slot(slot), Some(body)) = (place, bodies.iter().flatten().next())
                    && let Some((tree, begin)) = alone[body.tree]
                    && tree.set == set
                {
                    let bodies = bodies.map(|b| b.map_or(NONE, |b| b.local as u32));
                    let at = At::Slot { tree, begin, slot: slot as usize, bodies };
                    let compliance = compliance(shared, host, world, index);
                    all.push(Block { law: self.law(shared, at), compliance, at });
                }
            }
        }
        all
    }

    /// Contacts and blocks of a world that islands of several trees solve; `sides` are all of theirs.
    fn of_islands<'b>(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        sides: &'b [SideTree],
    ) -> Vec<Block<'b>> {
        let number = |sides: &[SideTree]| sides.first().map(|side| side.constraint);
        let block = |sides: &'b [SideTree]| {
            let at = At::Island(sides[0].constraint, sides);
            Block { law: self.law(shared, at), compliance: None, at }
        };
        let groups: Vec<&[SideTree]> = sides.chunk_by(|a, b| a.constraint == b.constraint).collect();
        let mut all: Vec<Block<'b>> = groups.iter().map(|sides| block(sides)).collect();
        let own = &host.worlds[world];
        for (index, &place) in own.places.iter().enumerate() {
            if let Place::Island(at) = place
                && let Ok(found) = groups.binary_search_by_key(&Some(at as usize), |sides| number(sides))
            {
                all[found].compliance = compliance(shared, host, world, index);
            }
        }
        all
    }

    /// A number of a slot.
    fn slot(&self, shared: &Shared<T>, tree: TreeAt, begin: usize, slot: usize, f: usize) -> f64 {
        let n = slot_reals(shared.sets[tree.set].layout.dims.n_v as usize);
        self.sets[tree.set].constraint[slot_at(self.width, tree.lane, begin, slot, n, f)].to_f64()
    }

    /// The law of three rows by what their friction says.
    fn law(&self, shared: &Shared<T>, at: At<'_>) -> Law {
        let friction = match at {
            At::Slot { tree, begin, slot, .. } => self.slot(shared, tree, begin, slot, slot::MU),
            At::Island(number, _) => self.islands.con[con::SIZE * number + con::FRICTION].to_f64(),
        };
        block_law(friction)
    }

    /// Puts a constraint of three rows into a problem.
    fn block(&self, shared: &Shared<T>, block: &Block<'_>, to: &mut Building<'_>) -> Result<(), ProblemError> {
        match block.at {
            At::Slot { tree: at, begin, slot, bodies } => {
                let own = &shared.sets[at.set];
                let read = |f| self.slot(shared, at, begin, slot, f);
                to.builder.constraint(block.law, std::array::from_fn(|k| read(slot::BIAS + k)), block.compliance)?;
                let tree = own.trees[at.index];
                if self.sides_as == Sides::ByBody {
                    to.parts(&own.layout.tree(), tree, bodies, |k| read(slot::J + k))?;
                } else {
                    to.whole(tree, (0..to.numbers(own.layout.dims.n_v)).map(|k| read(slot::J + k)))?;
                }
                let first = slot_at(self.width, at.lane, begin, slot, 3, 0);
                let impulse = self.sets[at.set].impulse[first..].iter().step_by(self.width);
                to.impulse.extend(impulse.take(3).map(|x| x.to_f64()));
                to.homes.push(Home::Slot { set: at.set, at: first, stride: self.width });
            }
            At::Island(constraint, sides) => {
                let e = std::array::from_fn(|k| self.islands.con[con::SIZE * constraint + con::BIAS + k].to_f64());
                to.builder.constraint(block.law, e, block.compliance)?;
                for side in sides {
                    let own = &shared.sets[side.set];
                    let j = &self.islands.jac[side.jac..][..to.numbers(own.layout.dims.n_v)];
                    let tree = own.trees[side.lane % own.trees.len()];
                    if self.sides_as == Sides::ByBody {
                        to.parts(&own.layout.tree(), tree, side.bodies, |k| j[k].to_f64())?;
                    } else {
                        to.whole(tree, j.iter().map(|x| x.to_f64()))?;
                    }
                }
                to.impulse.extend(self.islands.impulse[3 * constraint..][..3].iter().map(|x| x.to_f64()));
                to.homes.push(Home::Island { constraint });
            }
        }
        Ok(())
    }

    /// Puts the rows of a tree that could act into a problem, solved by it or by its island.
    fn rows(
        &self,
        shared: &Shared<T>,
        host: &Packed<'_, T>,
        world: usize,
        at: TreeAt,
        to: &mut Building<'_>,
    ) -> Result<(), ProblemError> {
        let (set, numbers) = (&shared.sets[at.set], self.sets[at.set].row);
        let (tree, n_v) = (set.layout.tree(), set.layout.dims.n_v as usize);
        let (stride, of) = (row_stride(n_v, set.layout.dims.row_width), set.trees[at.index]);
        let n_real = set.layout.dims.n_row as usize * stride;
        let is_shared = host.is_shared(world, of);
        for (i, record) in tree.rows.iter().enumerate() {
            let place = |f: usize| tile_at(self.width, at.lane, n_real, i * stride + f);
            let read = |f: usize| numbers[place(f)].to_f64();
            if read(row::ACTIVE) == 0.0 {
                continue;
            }
            let law = row_law(read(row::COMPLIANCE), read(row::LOWER), read(row::UPPER));
            to.builder.constraint(law, [read(row::BIAS), 0.0, 0.0], None)?;
            let mut side = std::mem::take(&mut to.side);
            side.clear();
            side.resize(n_v, 0.0);
            for (k, &dof) in tree.row_dofs(record).iter().enumerate() {
                side[dof as usize] += read(row::COEFFICIENT + row::TERM * k);
            }
            if to.responds {
                let y = row_head(set.layout.dims.row_width);
                side.extend((y..y + n_v).map(read));
            }
            to.responding(of, &side)?;
            to.side = side;
            to.impulse.push(read(row::IMPULSE));
            let constraint = if is_shared { host.islands.row_of(at.set, set.trees.len(), at.lane, i) } else { None };
            to.homes.push(Home::Row { set: at.set, at: place(row::IMPULSE), constraint });
        }
        Ok(())
    }
}

impl Building<'_> {
    /// Adds what the constraint at hand sees of a tree of the model: of all its degrees of freedom, or of those named.
    pub(super) fn add(
        &mut self,
        tree: usize,
        part: Option<Option<usize>>,
        dofs: &[u32],
        jacobian: &[f64],
    ) -> Result<(), ProblemError> {
        let (subsystem, first) = self.subsystems.place(tree);
        if !self.subsystems.is_sparse(subsystem) {
            return self.builder.side(subsystem, part, jacobian);
        }
        let first = first as u32;
        let dofs: Vec<u32> = if dofs.is_empty() {
            (first..first + self.model.trees[tree].v.len() as u32).collect()
        } else {
            dofs.iter().map(|dof| first + dof).collect()
        };
        self.builder.sparse_side(subsystem, part, &dofs, jacobian)
    }

    /// Numbers of a side of three rows.
    fn numbers(&self, n_v: u32) -> usize {
        if self.responds { 6 * n_v as usize } else { 3 * n_v as usize }
    }

    /// `J`, `[3, n_v]`, of one tree, and where responses are taken `Y` as well.
    fn whole(&mut self, tree: usize, numbers: impl Iterator<Item = f64>) -> Result<(), ProblemError> {
        let mut side = std::mem::take(&mut self.side);
        side.clear();
        side.extend(numbers);
        self.responding(tree, &side)?;
        self.side = side;
        Ok(())
    }

    /// Adds a side of a whole tree, with the response behind it where responses are taken.
    fn responding(&mut self, tree: usize, numbers: &[f64]) -> Result<(), ProblemError> {
        let (j, y) = numbers.split_at(if self.responds { numbers.len() / 2 } else { numbers.len() });
        self.add(tree, None, &[], j)?;
        if self.responds { self.builder.response(y) } else { Ok(()) }
    }

    /// The same by the bodies that it is about. Dofs that move both bodies move neither relative to
    /// the other and are zero in `J`; so each part is that of its body relative to where the two chains meet.
    fn parts(
        &mut self,
        tree: &Tree,
        number: usize,
        bodies: [u32; 2],
        j: impl Fn(usize) -> f64,
    ) -> Result<(), ProblemError> {
        let n_v = tree.dofs.len();
        for body in bodies.into_iter().filter(|&body| body != NONE) {
            let mut jacobian = std::mem::take(&mut self.side);
            jacobian.clear();
            for r in 0..3 {
                jacobian.extend(
                    tree.dofs
                        .iter()
                        .enumerate()
                        .map(|(i, dof)| if dof.body <= body && body < dof.subtree_end { j(r * n_v + i) } else { 0.0 }),
                );
            }
            self.add(number, Some(Some(body as usize)), &[], &jacobian)?;
            self.side = jacobian;
        }
        Ok(())
    }
}

/// How a contact of a world gives way over a step.
fn compliance<T: Scalar>(shared: &Shared<T>, host: &Packed<'_, T>, world: usize, index: usize) -> Option<Compliance> {
    let contact = &host.worlds[world].contacts[index];
    let drift = host.worlds[world].drift(index).along(contact.normal);
    let tree = contact.bodies.iter().find_map(|&b| shared.host.lanes.bodies[b as usize])?.tree;
    let geoms = contact.geoms.map(|geom| &shared.model.geoms[geom as usize].contact);
    let compliance = host::compliance(geoms, host.timestep(world, tree), contact)?;
    Some(Compliance { v_hat: compliance.v_hat - drift, ..compliance })
}

/// The law of three rows by what their friction says.
fn block_law(friction: f64) -> Law {
    if friction < 0.0 { Law::Block } else { Law::Contact { mu: friction } }
}

/// The law of a row `J v + e + c lambda = 0` between bounds.
fn row_law(compliance: f64, lower: f64, upper: f64) -> Law {
    let open = |x: f64| if x.abs() >= UNBOUNDED { f64::INFINITY.copysign(x) } else { x };
    let (lo, hi) = (open(lower), open(upper));
    if compliance > 0.0 {
        let b = compliance.recip();
        return Law::Soft { k: b, b, lo, hi };
    }
    match (lo, hi) {
        (f64::NEG_INFINITY, f64::INFINITY) => Law::Bilateral,
        (0.0, f64::INFINITY) => Law::Unilateral,
        _ => Law::Box { lo, hi },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_the_law_of_their_bounds() {
        assert_eq!(row_law(0.0, -1e30, 1e30), Law::Bilateral);
        // As f32 has it.
        assert_eq!(row_law(0.0, 0.0, f64::from(1e30_f32)), Law::Unilateral);
        assert_eq!(row_law(0.0, -0.5, 0.5), Law::Box { lo: -0.5, hi: 0.5 });
        let soft = Law::Soft { k: 4.0, b: 4.0, lo: -2.0, hi: f64::INFINITY };
        assert_eq!(row_law(0.25, -2.0, 1e30), soft);
        assert_eq!(block_law(-1.0), Law::Block);
        assert_eq!(block_law(0.0), Law::Contact { mu: 0.0 });
    }
}
