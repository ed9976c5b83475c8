//! The contact problem of a world from what its buffers hold.

use std::ops::Range;

use manyworlds_contact::problem::{Compliance, ProblemBuilder, ProblemError};
use manyworlds_contact::solve::Solver;
use manyworlds_contact::{ContactProblem, Law, Relaxation};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::con;
use manyworlds_shaders::contact::tree_layout::{row, row_head, row_stride, slot, slot_reals};
use manyworlds_shaders::dynamics::tree::NONE;

use super::super::home::Home;
use super::super::shared::Shared;
use super::super::soft::step::{Linearised, SoftStep};
use super::super::subsystems::Subsystem;
use super::building::Building;
use super::laws::{block_law, row_law};
use super::reading::{Inertia, Sides, Worlds};
use crate::Error;
use crate::host::{self, Packed, Place, SideTree};

/// The problem of one world with what its constraints carry and where that stands.
pub(in crate::group) struct WorldProblem {
    pub(in crate::group) problem: ContactProblem,
    /// `[n_rows]`
    pub(in crate::group) impulse: Vec<f64>,
    /// By constraint.
    pub(in crate::group) homes: Vec<Home>,
    /// Biases that gave way to kernels.
    pub(in crate::group) gave_way: Vec<Relaxation>,
    /// `[n_v]`
    pub(super) velocity: Vec<f64>,
}

impl WorldProblem {
    /// Where the impulses of each constraint stand, and which rows they are.
    pub(in crate::group) fn homes_of_rows(&self) -> Vec<(Home, Range<usize>)> {
        let rows = self.problem.constraints.iter().map(|c| c.row..c.row + c.law.rows());
        self.homes.iter().copied().zip(rows).collect()
    }
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

/// The responses `A^-1 J^T` of a problem.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::group) enum Responses {
    /// None.
    Without,
    /// Found by the problem's own factors.
    Found,
    /// Those of the kernels where they are in double precision: to find them takes a tenth to a third of a relaxed step.
    Taken,
}

impl Responses {
    /// What a solver asks for.
    pub(in crate::group) fn of(solver: &dyn Solver) -> Self {
        if solver.responds() { Self::Found } else { Self::Without }
    }
}

impl<T: Scalar> Worlds<'_, T> {
    /// The problem of one world, in the memory of another; `soft`: the steps of its soft bodies
    /// about some velocity.
    pub(in crate::group) fn world(
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
        let Building { builder, impulse, homes, gave_way, .. } = building;
        let problem = builder.finish(Vec::new()).map_err(fault)?;
        let velocity = self.after(shared, world);
        Ok(WorldProblem { problem, impulse, homes, gave_way, velocity })
    }

    /// The constraints of one world alone, in the memory of another problem; what sparse blocks are needed for is not there.
    pub(in crate::group) fn constraints(
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
        let Building { builder, impulse, homes, gave_way, .. } = building;
        Ok(WorldProblem { problem: builder.constraints(), impulse, homes, gave_way, velocity: Vec::new() })
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
        let (gave_way, side) = (Vec::new(), Vec::new());
        let mut building = Building { builder, model, subsystems, impulse, homes, gave_way, responds, side };
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
                let begin = self.lanes.first_slot(&host.packs[set], set, own.trees.len(), at.lane);
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

    /// The numbers of a slot from its first one on, one each [`Lanes::stride`](super::reading::Lanes::stride).
    fn slot(&self, shared: &Shared<T>, tree: TreeAt, begin: usize, slot: usize) -> &[T] {
        let set = &shared.sets[tree.set];
        let n = slot_reals(set.layout.dims.n_v as usize);
        &self.sets[tree.set].constraint[self.lanes.slot(set.trees.len(), tree.lane, begin, slot, n)..]
    }

    /// The law of three rows by what their friction says.
    fn law(&self, shared: &Shared<T>, at: At<'_>) -> Law {
        let friction = match at {
            At::Slot { tree, begin, slot, .. } => {
                self.slot(shared, tree, begin, slot)[slot::MU * self.lanes.stride()].to_f64()
            }
            At::Island(number, _) => self.islands.con[con::SIZE * number + con::FRICTION].to_f64(),
        };
        block_law(friction)
    }

    /// Puts a constraint of three rows into a problem.
    fn block(&self, shared: &Shared<T>, block: &Block<'_>, to: &mut Building<'_>) -> Result<(), ProblemError> {
        match block.at {
            At::Slot { tree: at, begin, slot, bodies } => {
                let own = &shared.sets[at.set];
                let numbers = self.slot(shared, at, begin, slot);
                let read = |f: usize| numbers[f * self.lanes.stride()].to_f64();
                let three = |field: usize| std::array::from_fn(|k| read(field + k));
                let e = to.asked(three(slot::BIAS), three(slot::RELAXED));
                to.builder.constraint(block.law, e, block.compliance)?;
                let tree = own.trees[at.index];
                if self.sides_as == Sides::ByBody {
                    to.parts(&own.layout.tree(), tree, bodies, |k| read(slot::J + k))?;
                } else {
                    let all = numbers[slot::J * self.lanes.stride()..].iter().step_by(self.lanes.stride());
                    to.whole(tree, all.take(to.numbers(own.layout.dims.n_v)).map(|x| x.to_f64()))?;
                }
                let first = self.lanes.slot(own.trees.len(), at.lane, begin, slot, 3);
                let impulse = self.sets[at.set].impulse[first..].iter().step_by(self.lanes.stride());
                to.impulse.extend(impulse.take(3).map(|x| x.to_f64()));
                to.homes.push(Home::Slot { set: at.set, lane: at.lane, slot });
            }
            At::Island(constraint, sides) => {
                let numbers = &self.islands.con[con::SIZE * constraint..];
                let three = |field: usize| std::array::from_fn(|k| numbers[field + k].to_f64());
                let e = to.asked(three(con::BIAS), three(con::RELAXED));
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
        let (k, is_shared) = (set.trees.len(), host.is_shared(world, of));
        for (i, record) in tree.rows.iter().enumerate() {
            let read = |f: usize| numbers[self.lanes.element(k, at.lane, n_real, i * stride + f)].to_f64();
            if read(row::ACTIVE) == 0.0 {
                continue;
            }
            let law = row_law(read(row::COMPLIANCE), read(row::LOWER), read(row::UPPER));
            let e = to.asked([read(row::BIAS), 0.0, 0.0], [read(row::RELAXED), 0.0, 0.0]);
            to.builder.constraint(law, e, None)?;
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
            to.homes.push(Home::Row { set: at.set, lane: at.lane, row: i, constraint });
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
