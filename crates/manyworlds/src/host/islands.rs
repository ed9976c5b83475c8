//! Packing islands of several trees into the flat records that the island kernels read, by world, then island, then
//! colour. Everything is rebuilt each step in buffers that are kept.

use bytemuck::{Pod, cast_slice};
use manyworlds_collide::organise::Plan;
use manyworlds_collide::{Contact, Precision};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{
    ConstraintRecord, IslandDims, IslandRecord, RowItem, SetDims, SideItem, SideRecord, TreeItem, contact, kind,
};
use manyworlds_shaders::contact::tree_layout::row_stride;
use manyworlds_shaders::dynamics::tree::NONE;

use super::fixed::Law;
use super::world::{Place, World};
use super::{HostModel, POSE, SetShape};
use crate::lanes::BodyPlace;

/// Numbers of the model that the island kernels need: the head of `island_contact`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    /// s
    pub(crate) timestep: f64,
    pub(crate) correction_fraction: f64,
    /// m/s
    pub(crate) correction_max: f64,
    /// m/s
    pub(crate) restitution_threshold: f64,
}

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
    pub(crate) sets: Vec<SetPart>,
    pub(crate) islands: Vec<IslandRecord>,
    pub(crate) constraints: Vec<ConstraintRecord>,
    pub(crate) sides: Vec<SideRecord>,
    colours: Vec<u32>,
    /// First velocity of each tree of the world at hand.
    place: Vec<u32>,
    /// By world and constraint of the model: its place in this step's impulses plus one; 0: not in an island.
    fixed: Vec<u32>,
    /// The same of the step before.
    fixed_before: Vec<u32>,
}

/// What of one tree set is in islands.
#[derive(Debug, Default)]
pub(crate) struct SetPart {
    pub(crate) dims: SetDims,
    /// First word of the set's [`SideItem`]s, and how many there are.
    pub(crate) items_at: u32,
    pub(crate) n_items: u32,
    trees: Vec<TreeItem>,
    rows: Vec<RowItem>,
    items: Vec<SideItem>,
}

impl SetPart {
    fn new(shape: &SetShape) -> Self {
        let d = &shape.dims;
        let dims = SetDims {
            n_v: d.n_v,
            v_at: d.v_at() as u32,
            n_state: d.n_state() as u32,
            row_at: d.row_at,
            n_row_real: d.n_row * row_stride(d.n_v as usize) as u32,
            ..SetDims::default()
        };
        Self { dims, ..Self::default() }
    }

    fn clear(&mut self) {
        self.trees.clear();
        self.rows.clear();
        self.items.clear();
    }
}

/// Velocity at a constraint: of `b` less that of `a`, bodies of one tree or two.
struct Sides {
    bodies: [Option<BodyPlace>; 2],
    angular: bool,
}

impl<T: Scalar + Precision> IslandPack<T> {
    pub(crate) fn new(model: &HostModel<T>, n_world: usize) -> Self {
        let n_fixed = n_world * model.fixed.len();
        let h = &model.header;
        let head = [h.timestep, h.correction_fraction, h.correction_max, h.restitution_threshold];
        let mut contact: Vec<T> = head.map(T::from_f64).to_vec();
        contact.resize(contact::HEADER, T::default());
        Self {
            index: Vec::new(),
            contact,
            dims: IslandDims::default(),
            n_jac: 0,
            sets: model.sets.iter().map(SetPart::new).collect(),
            islands: Vec::new(),
            constraints: Vec::new(),
            sides: Vec::new(),
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

    /// Where the model's own constraints were solved in the step before, plus one, by world: what a checkpoint keeps.
    pub(crate) fn before(&mut self) -> &mut [u32] {
        &mut self.fixed_before
    }

    /// Leaves no island.
    pub(crate) fn clear(&mut self) {
        self.islands.clear();
        self.constraints.clear();
        self.sides.clear();
        self.colours.clear();
        self.contact.truncate(contact::HEADER);
        self.sets.iter_mut().for_each(SetPart::clear);
        self.n_jac = 0;
        self.dims = IslandDims::default();
    }

    /// Packs the islands of all worlds and gives their contacts their places. `pose`: of a body of a world.
    pub(crate) fn pack<'p>(
        &mut self,
        model: &HostModel<T>,
        worlds: &mut [World<T>],
        plan: impl Fn(usize) -> &'p Plan,
        pose: impl Fn(usize, usize) -> [T; POSE],
    ) {
        self.clear();
        self.fixed.fill(0);
        for (index, world) in worlds.iter_mut().enumerate() {
            let plan = plan(index);
            if !plan.islands.is_empty() {
                self.world(model, index, world, plan, |body| pose(index, body));
            }
        }
        self.assemble();
    }

    /// One world.
    fn world(
        &mut self,
        model: &HostModel<T>,
        index: usize,
        world: &mut World<T>,
        plan: &Plan,
        pose: impl Fn(usize) -> [T; POSE],
    ) {
        let first = self.constraints.len() as u32;
        let first_colour = self.colours.len() as u32;
        let n_contact = world.contacts.len();
        for island in &plan.islands {
            let velocity_begin = self.dims.n_velocity;
            for &tree in &plan.members[island.members.start as usize..island.members.end as usize] {
                let place = model.lanes.trees[tree as usize];
                let part = &mut self.sets[place.set];
                let lane = (index * model.sets[place.set].trees.len() + place.index) as u32;
                self.place[tree as usize] = self.dims.n_velocity;
                part.trees.push(TreeItem { lane, velocity: self.dims.n_velocity });
                self.dims.n_velocity += part.dims.n_v;
            }
            let mut n_contacts = 0;
            for &id in &plan.constraints[island.constraints.start as usize..island.constraints.end as usize] {
                let id = id as usize;
                if id < n_contact {
                    self.contact(model, index, world, id);
                    n_contacts += 1;
                } else {
                    self.fixed(model, index, id - n_contact, &pose);
                }
            }
            self.islands.push(IslandRecord {
                constraint_begin: first + island.constraints.start,
                constraint_end: first + island.constraints.end,
                colour_begin: first_colour + island.colours.start,
                colour_end: first_colour + island.colours.end,
                velocity_begin,
                velocity_end: self.dims.n_velocity,
                n_contacts,
                world: index as u32,
            });
        }
        self.colours.extend(plan.colours.iter().map(|end| first + end));
    }

    fn contact(&mut self, model: &HostModel<T>, index: usize, world: &mut World<T>, id: usize) {
        let Contact { bodies, point, normal, distance, friction, restitution, .. } = world.contacts[id];
        let previous = match world.warm[id] {
            Some(Place::Island(at)) => at + 1,
            _ => 0,
        };
        world.places[id] = Place::Island(self.constraints.len() as u32);
        let bodies = bodies.map(|body| model.lanes.bodies[body as usize]);
        self.block(model, index, previous, &Sides { bodies, angular: false });
        let [[px, py, pz], [nx, ny, nz], zero] = [point, normal, [T::default(); 3]];
        // Friction below zero means a block that holds.
        let friction = friction.max(T::default());
        self.contact.extend([px, py, pz, nx, ny, nz, distance, friction, restitution, zero[0], zero[1], zero[2]]);
    }

    /// A constraint of the model itself.
    fn fixed(&mut self, model: &HostModel<T>, index: usize, id: usize, pose: impl Fn(usize) -> [T; POSE]) {
        let at = index * model.fixed.len() + id;
        let previous = self.fixed_before[at];
        let constraint = self.constraints.len() as u32;
        self.fixed[at] = constraint + 1;
        let mut numbers = [T::default(); contact::SIZE];
        let fixed = &model.fixed[id];
        match &fixed.law {
            &Law::Row(row) => {
                let tree = fixed.trees[0] as usize;
                let place = model.lanes.trees[tree];
                let part = &mut self.sets[place.set];
                let lane = (index * model.sets[place.set].trees.len() + place.index) as u32;
                let (jac, count) = (self.n_jac as u32, part.dims.n_v);
                part.rows.push(RowItem { lane, row, constraint, jac });
                let side_begin = self.sides.len() as u32;
                self.sides.push(SideRecord { velocity: self.place[tree], count, jac, constraint });
                self.constraints.push(ConstraintRecord {
                    kind: kind::ROW,
                    side_begin,
                    side_end: side_begin + 1,
                    previous,
                });
                self.n_jac += 2 * count as usize;
            }
            Law::Block(block) => {
                let (point, error) = block.error(pose);
                let bodies = block.bodies.map(|body| body.map(|(_, place)| place));
                self.block(model, index, previous, &Sides { bodies, angular: block.angular });
                numbers[contact::POINT..contact::POINT + 3].copy_from_slice(&point);
                numbers[contact::NORMAL..contact::NORMAL + 3].copy_from_slice(&error);
                numbers[contact::FRICTION] = T::from_f64(-1.0);
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
            let place = model.lanes.trees[tree];
            let part = &mut self.sets[place.set];
            let lane = (index * model.sets[place.set].trees.len() + place.index) as u32;
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
        self.constraints.push(ConstraintRecord { kind: kind::BLOCK, side_begin, side_end, previous });
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
        }
    }
}

fn words<R: Pod>(records: &[R]) -> &[u32] {
    cast_slice(records)
}
