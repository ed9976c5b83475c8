//! Packing islands of several trees into the flat records that the island kernels read, by world, then island, then
//! colour. Everything is rebuilt each step in buffers that are kept.

use std::ops::Range;

use bytemuck::{Pod, cast_slice};
use manyworlds_collide::Contact;
use manyworlds_collide::organise::{self, Plan};
use manyworlds_contact::island::{Islands, SetItems};
use manyworlds_contact::solve::{BatchSolver, Before};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{
    ConstraintRecord, Counts, IslandDims, IslandRecord, RowItem, SetDims, SideItem, SideRecord, TreeItem, UNBOUNDED,
    contact, kind, part,
};
use manyworlds_shaders::contact::island_newton::{Room, Workspaces};
use manyworlds_shaders::contact::tree_layout::row_stride;
use manyworlds_shaders::contact::warm_move::MoveItem;
use manyworlds_shaders::dynamics::tree::NONE;

use super::fixed::{Frames, Law};
use super::pack::SlotPack;
use super::params::LaneParams;
use super::world::{Place, World};
use super::{HostModel, POSE, SetShape};
use crate::lanes::BodyPlace;

/// Stands for a constraint of the model that its own tree solved, in the slot of its number.
const IN_TREE: u32 = u32::MAX;

/// Worlds that are so far from each other at most are read and written with those in between.
const NEAR: usize = 8;

/// The islands of a chunk, ready for upload.
#[derive(Debug)]
pub(crate) struct IslandPack<T> {
    /// `island_index`
    pub(crate) index: Vec<u32>,
    /// `island_contact`
    pub(crate) contact: Vec<T>,
    /// Sizes; tolerances and iteration limit are the caller's.
    pub(crate) dims: IslandDims,
    /// Reals of `island_jac`.
    pub(crate) n_jac: usize,
    /// Of islands whose Delassus operators are written out; what `island_work` holds on a device.
    pub(crate) workspaces: Workspaces,
    pub(crate) sets: Vec<SetPart>,
    pub(crate) islands: Vec<IslandRecord>,
    pub(crate) constraints: Vec<ConstraintRecord>,
    pub(crate) sides: Vec<SideRecord>,
    /// `warm_move`'s records: impulses that islands take over from trees, and trees from islands.
    pub(crate) moves: Vec<u32>,
    /// Constraints of the island at hand.
    counts: Counts,
    colours: Vec<u32>,
    /// First velocity of each tree of the world at hand.
    place: Vec<u32>,
    /// By world and constraint of the model: its place in this step's impulses plus one, or [`IN_TREE`]; 0: neither.
    /// Rows keep their impulses with their tree, wherever they are solved: theirs is always 0.
    fixed: Vec<u32>,
    /// The same of the step before.
    fixed_before: Vec<u32>,
}

/// A side of a constraint: one tree.
pub(crate) struct SideTree {
    /// Tree set.
    pub(crate) set: usize,
    /// Its lane.
    pub(crate) lane: usize,
    /// The constraint, of the chunk's.
    pub(crate) constraint: usize,
    /// First real in `island_jac`.
    pub(crate) jac: usize,
    /// Bodies within the tree, or [`NONE`]; J is that of the second less that of the first.
    pub(crate) bodies: [u32; 2],
}

/// Where what islands of some worlds have stands.
#[derive(Debug, Default)]
pub(crate) struct IslandParts {
    pub(crate) islands: Vec<Range<usize>>,
    pub(crate) constraints: Vec<Range<usize>>,
    /// Reals of `island_jac`.
    pub(crate) jac: Vec<Range<usize>>,
}

/// What of one tree set is in islands.
#[derive(Debug, Default)]
pub(crate) struct SetPart {
    pub(crate) dims: SetDims,
    /// First word of the set's [`SideItem`]s, and how many there are.
    pub(crate) items_at: u32,
    pub(crate) n_items: u32,
    /// First word in `moves` of the impulses that go from the set's trees to islands, and how many.
    pub(crate) to_islands: [u32; 2],
    /// The same from islands to the set's trees.
    pub(crate) to_trees: [u32; 2],
    trees: Vec<TreeItem>,
    rows: Vec<RowItem>,
    items: Vec<SideItem>,
    leaving: Vec<MoveItem>,
    joining: Vec<MoveItem>,
}

impl SetPart {
    fn new(shape: &SetShape) -> Self {
        let d = &shape.dims;
        let dims = SetDims {
            n_v: d.n_v,
            v_at: d.v_at() as u32,
            n_state: d.n_state() as u32,
            n_row_real: d.n_row * row_stride(d.n_v as usize, d.row_width) as u32,
            row_width: d.row_width,
            ..SetDims::default()
        };
        Self { dims, ..Self::default() }
    }

    fn items(&self) -> SetItems<'_> {
        SetItems { dims: &self.dims, trees: &self.trees, rows: &self.rows, sides: &self.items }
    }

    fn clear(&mut self) {
        self.trees.clear();
        self.rows.clear();
        self.items.clear();
        self.leaving.clear();
        self.joining.clear();
        (self.to_islands, self.to_trees) = ([0; 2], [0; 2]);
    }
}

/// Where a constraint's settings stand in its part of `island_contact`, in the order of [`LaneParams::settings`].
const SETTINGS: Range<usize> = contact::TIMESTEP..contact::CORRECTION_SLOP + 1;

/// What packing looks up of a step.
pub(crate) struct Step<'a, T: Scalar, P> {
    pub(crate) model: &'a HostModel<T>,
    /// By set: slots of this step and the one before.
    pub(crate) packs: &'a [SlotPack],
    /// By set.
    pub(crate) params: &'a [LaneParams<T>],
    /// Of a body of a world.
    pub(crate) pose: P,
}

impl<T: Scalar, P> Step<'_, T, P> {
    /// Settings of the contacts of a tree.
    fn settings(&self, world: usize, tree: usize) -> [T; 5] {
        let (set, lane) = self.model.lane(world, tree);
        self.params[set].settings(lane)
    }
}

/// Velocity at a constraint: of `b` less that of `a`, bodies of one tree or two.
struct Sides {
    bodies: [Option<BodyPlace>; 2],
    angular: bool,
}

impl<T: Scalar> IslandPack<T> {
    pub(crate) fn new(model: &HostModel<T>, n_world: usize, room: Room) -> Self {
        let n_fixed = n_world * model.fixed.len();
        Self {
            index: Vec::new(),
            contact: Vec::new(),
            dims: IslandDims::default(),
            n_jac: 0,
            workspaces: Workspaces::new(room),
            counts: Counts::default(),
            sets: model.sets.iter().map(SetPart::new).collect(),
            islands: Vec::new(),
            constraints: Vec::new(),
            sides: Vec::new(),
            moves: Vec::new(),
            colours: Vec::new(),
            place: vec![0; model.lanes.trees.len()],
            fixed: vec![0; n_fixed],
            fixed_before: vec![0; n_fixed],
        }
    }

    /// Whether no tree of the chunk is in an island with another.
    pub(crate) fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    /// Makes this step's places of the model's own constraints those of the step before. Call when it was solved.
    pub(crate) fn remember(&mut self) {
        std::mem::swap(&mut self.fixed, &mut self.fixed_before);
    }

    /// Forgets the impulses of one world's last step.
    pub(crate) fn forget(&mut self, world: usize, model: &HostModel<T>) {
        let n = model.fixed.len();
        self.fixed_before[world * n..(world + 1) * n].fill(0);
    }

    /// Where the model's own constraints were solved in the step before, by world: what a checkpoint keeps.
    pub(crate) fn before(&mut self) -> &mut [u32] {
        &mut self.fixed_before
    }

    /// Where a constraint of the model was solved in the step before, among those of islands of several trees; `None`: by
    /// its tree.
    pub(crate) fn solved_at(&self, world: usize, fixed: usize, model: &HostModel<T>) -> Option<u32> {
        match self.fixed_before[world * model.fixed.len() + fixed] {
            0 | IN_TREE => None,
            at => Some(at - 1),
        }
    }

    /// Whether such a place, read from a checkpoint, can be: in the tree, or among so many constraints of islands.
    pub(crate) fn is_place(at: u32, n_constraint: usize) -> bool {
        at == IN_TREE || at as usize <= n_constraint
    }

    /// Whether a constraint of the model was solved by its tree in the step before.
    pub(crate) fn was_in_tree(&self, world: usize, fixed: usize, model: &HostModel<T>) -> bool {
        self.fixed_before[world * model.fixed.len() + fixed] == IN_TREE
    }

    /// What the sides of the contacts and blocks of one world are about, by constraint.
    pub(crate) fn sides_of(&self, world: usize) -> Vec<SideTree> {
        // Everything stands by world.
        let first = self.islands.partition_point(|island| (island.world as usize) < world);
        let own = self.islands[first..].iter().take_while(|island| island.world as usize == world);
        let range = own.fold(None, |range: Option<Range<u32>>, island| {
            let begin = range.map_or(island.constraint_begin, |range| range.start);
            Some(begin..island.constraint_end)
        });
        let range = range.unwrap_or_default();
        let mut all = Vec::new();
        for (set, part) in self.sets.iter().enumerate() {
            let first = part.items.partition_point(|item| item.constraint < range.start);
            let own = part.items[first..].iter().take_while(|item| item.constraint < range.end);
            all.extend(own.map(|item| SideTree {
                set,
                lane: item.lane as usize,
                constraint: item.constraint as usize,
                jac: item.jac as usize,
                bodies: [item.body_a, item.body_b],
            }));
        }
        // Those of one set are in order already.
        all.sort_by_key(|side| side.constraint);
        all
    }

    /// Where what islands of some worlds have stands, which are in order. Worlds between two that are near each other come with them:
    /// many small parts take longer than a few larger ones.
    pub(crate) fn parts_of(&self, worlds: &[usize]) -> IslandParts {
        let mut parts = IslandParts::default();
        for run in worlds.chunk_by(|before, world| world - before <= NEAR) {
            let ([begin, ..], [.., last]) = (run, run) else { continue };
            // Everything stands by world.
            let [first, end] =
                [*begin, last + 1].map(|to| self.islands.partition_point(|own| (own.world as usize) < to));
            let (Some(begins), Some(ends)) = (self.islands.get(first), self.islands[first..end].last()) else {
                continue;
            };
            let constraints = begins.constraint_begin as usize..ends.constraint_end as usize;
            let side = |constraint: usize| {
                self.constraints.get(constraint).map_or(self.sides.len(), |own| own.side_begin as usize)
            };
            let jac = |side: usize| self.sides.get(side).map_or(self.n_jac, |own| own.jac as usize);
            parts.jac.push(jac(side(constraints.start))..jac(side(constraints.end)));
            parts.islands.push(first..end);
            parts.constraints.push(constraints);
        }
        parts
    }

    /// The constraint as which a static row of a lane is in an island; the set has `k` trees a world.
    pub(crate) fn row_of(&self, set: usize, k: usize, lane: usize, row: usize) -> Option<usize> {
        // Rows stand by world, those of one world by island.
        let rows = &self.sets[set].rows;
        let begin = lane / k * k;
        let own = rows[rows.partition_point(|item| (item.lane as usize) < begin)..].iter();
        own.take_while(|item| (item.lane as usize) < begin + k)
            .find(|item| (item.lane as usize, item.row as usize) == (lane, row))
            .map(|item| item.constraint as usize)
    }

    /// Leaves no island.
    pub(crate) fn clear(&mut self) {
        self.islands.clear();
        self.constraints.clear();
        self.sides.clear();
        self.colours.clear();
        self.contact.clear();
        self.moves.clear();
        self.sets.iter_mut().for_each(SetPart::clear);
        self.n_jac = 0;
        self.workspaces.clear();
        self.dims = IslandDims::default();
    }

    /// Packs the islands of all worlds, gives their contacts their places, and finds out which impulses change sides.
    pub(crate) fn pack<'p, P: Fn(usize, usize) -> [T; POSE]>(
        &mut self,
        step: &Step<'_, T, P>,
        worlds: &mut [World],
        plan: impl Fn(usize) -> &'p Plan,
    ) {
        self.clear();
        self.fixed.fill(0);
        let model = step.model;
        if !model.has_islands() && model.blocks.is_empty() {
            // No world has any.
            self.assemble();
            return;
        }
        for (index, world) in worlds.iter_mut().enumerate() {
            let plan = plan(index);
            if !plan.islands.is_empty() {
                self.world(step, index, world, plan);
            }
            if step.model.lanes.trees.len() > 1 {
                self.return_contacts(step, index, world);
            }
            self.return_blocks(step, index, plan);
        }
        self.assemble();
    }

    /// Packs what a solver needs to know of the islands beside these records.
    pub(crate) fn pack_for(&self, solver: &mut dyn BatchSolver) {
        let all =
            Islands { dims: &self.dims, islands: &self.islands, constraints: &self.constraints, sides: &self.sides };
        solver.pack(&all, &|set| self.sets[set].items());
    }

    /// Contacts that a tree solves by itself again.
    fn return_contacts<P>(&mut self, step: &Step<'_, T, P>, index: usize, world: &World) {
        let matched = world.contacts.iter().zip(&world.places).zip(&world.warm);
        for ((contact, &place), &warm) in matched {
            if let (Place::Slot(slot), Some(Place::Island(at))) = (place, warm)
                && let Some(tree) = step.model.trees_of(contact).into_iter().flatten().next()
            {
                self.join(step, index, tree as usize, slot, at);
            }
        }
    }

    /// Blocks that a tree solves by itself, again or as before.
    fn return_blocks<P>(&mut self, step: &Step<'_, T, P>, index: usize, plan: &Plan) {
        let first = index * step.model.fixed.len();
        for block in &step.model.blocks {
            if plan.island_of.get(block.tree).is_some_and(|&island| island != organise::NONE) {
                continue;
            }
            self.fixed[first + block.fixed] = IN_TREE;
            let before = self.fixed_before[first + block.fixed];
            if before != 0 && before != IN_TREE {
                self.join(step, index, block.tree, block.number, before - 1);
            }
        }
    }

    /// The impulse of constraint `at` of the step before goes to a slot of a tree.
    fn join<P>(&mut self, step: &Step<'_, T, P>, index: usize, tree: usize, slot: u32, at: u32) {
        let (set, lane) = step.model.lane(index, tree);
        let to = step.packs[set].real_of(lane, slot as usize) as u32;
        self.sets[set].joining.push(MoveItem { from: 3 * at, to });
    }

    /// The impulse of a slot of a tree of the step before goes to constraint `at`.
    fn leave<P>(&mut self, step: &Step<'_, T, P>, index: usize, tree: usize, slot: u32, at: u32) {
        let (set, lane) = step.model.lane(index, tree);
        let from = step.packs[set].real_before(lane, slot as usize) as u32;
        self.sets[set].leaving.push(MoveItem { from, to: 3 * at });
    }

    /// Whether requests may give way to the kernels in some island.
    pub(crate) fn relaxes(&self) -> bool {
        self.islands.iter().any(IslandRecord::relaxes)
    }

    /// Trees of a set in such islands: the lane and the island.
    pub(crate) fn relaxing(&self, set: usize) -> impl Iterator<Item = (usize, usize)> {
        self.sets[set].trees.iter().filter_map(|item| {
            // Islands stand in the order of their velocities.
            let island = self.islands.partition_point(|island| island.velocity_begin <= item.velocity) - 1;
            self.islands[island].relaxes().then_some((item.lane as usize, island))
        })
    }

    /// One world.
    fn world<P: Fn(usize, usize) -> [T; POSE]>(
        &mut self,
        step: &Step<'_, T, P>,
        index: usize,
        world: &mut World,
        plan: &Plan,
    ) {
        let model = step.model;
        let first = self.constraints.len() as u32;
        let first_colour = self.colours.len() as u32;
        let n_contact = world.contacts.len();
        self.workspaces.begin_world();
        for island in &plan.islands {
            let velocity_begin = self.dims.n_velocity;
            for &tree in plan.members_of(island) {
                let (set, lane) = model.lane(index, tree as usize);
                let (part, lane) = (&mut self.sets[set], lane as u32);
                self.place[tree as usize] = self.dims.n_velocity;
                part.trees.push(TreeItem { lane, velocity: self.dims.n_velocity });
                self.dims.n_velocity += part.dims.n_v;
            }
            let mut n_contacts = 0;
            self.counts = Counts::default();
            for &id in plan.constraints_of(island) {
                let id = id as usize;
                if id < n_contact {
                    self.contact(step, index, world, id);
                    n_contacts += 1;
                } else {
                    self.fixed(step, index, world.fixed[id - n_contact] as usize);
                }
            }
            let n_v = self.dims.n_velocity - velocity_begin;
            let work = self.workspaces.place(self.counts, n_v as usize);
            let gave_way = plan.members_of(island).iter().any(|tree| world.gave_way.contains(tree));
            let part = match (gave_way, world.before) {
                (false, _) => part::SOLVES,
                (true, Before::Relaxed { ask: false }) if work != NONE => part::RELAXES,
                (true, Before::Relaxed { ask: true }) if work != NONE => part::ASKS,
                (true, _) => part::NONE,
            };
            self.islands.push(IslandRecord {
                constraint_begin: first + island.constraints.start,
                constraint_end: first + island.constraints.end,
                colour_begin: first_colour + island.colours.start,
                colour_end: first_colour + island.colours.end,
                velocity_begin,
                velocity_end: self.dims.n_velocity,
                n_contacts,
                world: index as u32,
                work,
                part,
            });
        }
        self.colours.extend(plan.colours.iter().map(|end| first + end));
    }

    fn contact<P>(&mut self, step: &Step<'_, T, P>, index: usize, world: &mut World, id: usize) {
        let Contact { bodies, point, normal, distance, friction, restitution, .. } = world.contacts[id];
        let bodies = bodies.map(|body| step.model.lanes.bodies[body as usize]);
        let constraint = self.constraints.len() as u32;
        let mut previous = 0;
        match (world.warm[id], bodies.iter().flatten().next()) {
            (Some(Place::Island(at)), _) => previous = at + 1,
            // A contact that its tree solved is one with the ground: it has one tree only.
            (Some(Place::Slot(slot)), Some(body)) => self.leave(step, index, body.tree, slot, constraint),
            _ => {}
        }
        world.places[id] = Place::Island(constraint);
        self.block(step.model, index, previous, &Sides { bodies, angular: false });
        let mut numbers = [T::default(); contact::SIZE];
        numbers[contact::POINT..contact::POINT + 3].copy_from_slice(&point.map(T::from_f64));
        numbers[contact::NORMAL..contact::NORMAL + 3].copy_from_slice(&normal.map(T::from_f64));
        numbers[contact::DISTANCE] = T::from_f64(distance);
        // Friction below zero means a block that holds.
        numbers[contact::FRICTION] = T::from_f64(friction.max(0.0));
        numbers[contact::RESTITUTION] = T::from_f64(restitution);
        if let Some(body) = bodies.iter().flatten().next() {
            numbers[SETTINGS].copy_from_slice(&step.settings(index, body.tree));
        }
        let h = numbers[contact::TIMESTEP].to_f64();
        let soft = step.model.surfaces.as_ref().and_then(|of| of.compliance(&world.contacts[id], h));
        numbers[contact::COMPLIANCE] = T::from_f64(soft.map_or(-1.0, |soft| soft.r_n.min(UNBOUNDED)));
        let drift = world.drift(id);
        let separation = soft.map_or(0.0, |soft| soft.v_hat) - drift.along(normal);
        numbers[contact::SEPARATION] = T::from_f64(separation);
        numbers[contact::DRIFT..contact::DRIFT + 3].copy_from_slice(&<[f64; 3]>::from(drift.velocity).map(T::from_f64));
        self.contact.extend(numbers);
    }

    /// A constraint of the model itself.
    fn fixed<P: Fn(usize, usize) -> [T; POSE]>(&mut self, step: &Step<'_, T, P>, index: usize, id: usize) {
        let model = step.model;
        let constraint = self.constraints.len() as u32;
        let mut numbers = [T::default(); contact::SIZE];
        let fixed = &model.fixed[id];
        let tree = fixed.trees[0] as usize;
        let (set, lane) = model.lane(index, tree);
        match &fixed.law {
            &Law::Row(row) => {
                let (part, lane) = (&mut self.sets[set], lane as u32);
                let (jac, count) = (self.n_jac as u32, part.dims.n_v);
                part.rows.push(RowItem { lane, row, constraint, jac });
                let side_begin = self.sides.len() as u32;
                self.sides.push(SideRecord { velocity: self.place[tree], count, jac, constraint });
                self.constraints.push(ConstraintRecord {
                    kind: kind::ROW,
                    side_begin,
                    side_end: side_begin + 1,
                    previous: 0,
                    place: self.counts.next(kind::ROW),
                });
                self.n_jac += 2 * count as usize;
            }
            Law::Block(block) => {
                let at = index * model.fixed.len() + id;
                let mut previous = self.fixed_before[at];
                let frames = match &block.frames {
                    &Frames::OfTree(number) => {
                        if previous == IN_TREE {
                            previous = 0;
                            self.leave(step, index, tree, number as u32, constraint);
                        }
                        step.params[set].frames(lane, number)
                    }
                    Frames::Fixed(frames) => *frames,
                };
                self.fixed[at] = constraint + 1;
                let (point, error) = block.error(frames, |body| (step.pose)(index, body));
                let bodies = block.bodies.map(|body| body.map(|(_, place)| place));
                self.block(model, index, previous, &Sides { bodies, angular: block.angular });
                numbers[contact::POINT..contact::POINT + 3].copy_from_slice(&point);
                numbers[contact::NORMAL..contact::NORMAL + 3].copy_from_slice(&error);
                numbers[contact::FRICTION] = T::from_f64(-1.0);
                numbers[SETTINGS].copy_from_slice(&step.settings(index, tree));
            }
        }
        self.contact.extend(numbers);
    }

    /// Three rows: their record, and a side for each tree.
    fn block(&mut self, model: &HostModel<T>, index: usize, previous: u32, sides: &Sides) {
        let constraint = self.constraints.len() as u32;
        let side_begin = self.sides.len() as u32;
        let local = |body: Option<BodyPlace>| body.map_or(NONE, |body| body.local as u32);
        let angular = u32::from(sides.angular);
        let mut side = |tree: usize, body_a: u32, body_b: u32| {
            let (set, lane) = model.lane(index, tree);
            let (part, lane) = (&mut self.sets[set], lane as u32);
            let (jac, count) = (self.n_jac as u32, part.dims.n_v);
            part.items.push(SideItem { lane, body_a, body_b, angular, constraint, jac });
            self.sides.push(SideRecord { velocity: self.place[tree], count, jac, constraint });
            self.n_jac += 6 * count as usize;
        };
        let [a, b] = sides.bodies;
        match (a, b) {
            (Some(first), Some(second)) if first.tree == second.tree => side(first.tree, local(a), local(b)),
            _ => {
                if let Some(body) = a {
                    side(body.tree, local(a), NONE);
                }
                if let Some(body) = b {
                    side(body.tree, NONE, local(b));
                }
            }
        }
        let side_end = self.sides.len() as u32;
        let place = self.counts.next(kind::BLOCK);
        self.constraints.push(ConstraintRecord { kind: kind::BLOCK, side_begin, side_end, previous, place });
    }

    /// All records one after the other into `index`.
    fn assemble(&mut self) {
        let index = &mut self.index;
        index.clear();
        let mut put = |words: &[u32]| {
            let at = index.len() as u32;
            index.extend_from_slice(words);
            at
        };
        put(words(&self.islands));
        self.dims.colours_at = put(&self.colours);
        self.dims.constraints_at = put(words(&self.constraints));
        self.dims.sides_at = put(words(&self.sides));
        self.dims.n_islands = self.islands.len() as u32;
        self.dims.n_constraints = self.constraints.len() as u32;
        for part in &mut self.sets {
            part.dims.trees_at = put(words(&part.trees));
            part.dims.rows_at = put(words(&part.rows));
            part.items_at = put(words(&part.items));
            part.n_items = part.items.len() as u32;
            part.dims.n_trees = part.trees.len() as u32;
            part.dims.n_rows = part.rows.len() as u32;
            part.dims.n_velocity = self.dims.n_velocity;
            for (items, [at, count]) in [(&part.leaving, &mut part.to_islands), (&part.joining, &mut part.to_trees)] {
                (*at, *count) = (self.moves.len() as u32, items.len() as u32);
                self.moves.extend_from_slice(words(items));
            }
        }
    }
}

fn words<R: Pod>(records: &[R]) -> &[u32] {
    cast_slice(records)
}
