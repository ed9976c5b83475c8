//! Contacts of soft bodies of some worlds as their kernels read them: those with what is in no tree, and those with trees that nothing
//! else holds. A world that has others is the host's.

use std::ops::Range;

use manyworlds_collide::{Side, SoftContact};
use manyworlds_contact::solve::Before;
use manyworlds_dynamics::soft_param;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::tree_acting::acts;
use manyworlds_shaders::dynamics::tree::{POSE, SPEED};
use manyworlds_shaders::index::tile_at;
use manyworlds_shaders::soft::touch::{frame, given, given_stride, head, word_stride};

use super::super::chunk::ChunkSet;
use super::super::shared::Shared;
use super::contacts::{along, normal_bias};
use crate::host::{Carrier, Packed, SoftShape};
use crate::lanes::BodyPlace;

/// What contacts of a chunk's worlds are packed from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T: Scalar> {
    pub(super) shared: &'a Shared<T>,
    pub(super) host: &'a Packed<'a, T>,
    pub(super) sets: &'a [ChunkSet<T>],
    /// Lanes of a tile.
    pub(super) width: usize,
}

impl<T: Scalar> Source<'_, T> {
    /// Lane and numbers of a set that a tree has in a world.
    fn lane(&self, world: usize, tree: usize) -> (usize, &ChunkSet<T>) {
        let place = self.shared.host.lanes.trees[tree];
        let set = &self.sets[place.set];
        (set.lane(world, place.index), set)
    }

    /// Velocity of a degree of freedom of a soft body as the step begins.
    fn speed(&self, world: usize, shape: &SoftShape, dof: usize) -> f64 {
        let (lane, set) = self.lane(world, shape.tree);
        let dims = set.dims();
        set.poses[tile_at(self.width, lane, dims.n_state(), dims.v_at() + dof)].to_f64()
    }

    /// Origin of a body of a tree.
    fn origin(&self, world: usize, body: BodyPlace) -> [f64; 3] {
        let (lane, set) = self.lane(world, body.tree);
        let n = POSE * set.dims().n_body as usize;
        [0, 1, 2].map(|k| set.poses[tile_at(self.width, lane, n, POSE * body.local + k)].to_f64())
    }

    /// Velocity of a point of it as the step begins.
    fn point_speed(&self, world: usize, body: BodyPlace, point: [f64; 3]) -> [f64; 3] {
        let (lane, set) = self.lane(world, body.tree);
        let n = SPEED * set.dims().n_body as usize;
        let [x, y, z, wx, wy, wz] =
            std::array::from_fn(|k| set.speeds[tile_at(self.width, lane, n, SPEED * body.local + k)].to_f64());
        let origin = self.origin(world, body);
        let [rx, ry, rz] = [0, 1, 2].map(|k| point[k] - origin[k]);
        [x + wy * rz - wz * ry, y + wz * rx - wx * rz, z + wx * ry - wy * rx]
    }

    /// Whether nothing but contacts of soft bodies acts on a tree: no contact of its own, no row or block, and no body that it carries.
    fn is_free(&self, world: usize, tree: usize) -> bool {
        let (lane, set) = self.lane(world, tree);
        let dims = set.dims();
        let carries = |shape: &SoftShape| {
            matches!(shape.carrier, Carrier::Moving(body)
                if self.shared.host.lanes.bodies[body].is_some_and(|place| place.tree == tree))
        };
        let row_acts =
            |row| set.acting.is_empty() || acts(&set.acting, self.width, dims.n_row as usize, lane, row as usize);
        dims.n_block == 0
            && !(0..dims.n_row).any(row_acts)
            && !self.host.is_shared(world, tree)
            && self.host.worlds[world].contacts_of(tree).is_empty()
            && !self.shared.host.soft.iter().any(carries)
    }
}

/// A tree that touches a soft body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    pub(super) world: u32,
    /// Of the model.
    pub(super) tree: u32,
    /// Its first degree of freedom among those of the body's trees.
    pub(super) column: u32,
}

/// The side of a tree in a contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeSide {
    pub(super) world: u32,
    pub(super) body: BodyPlace,
}

/// The contacts of a body in a run of worlds.
pub(super) struct OfBody<T> {
    /// First contact, tree and side of the world at hand.
    begin: [usize; 3],
    /// Degrees of freedom of the trees of the world at hand.
    dofs: u32,
    /// End of each world.
    pub(super) ends: Vec<u32>,
    /// Degrees of freedom of trees, of each world.
    pub(super) n_dof: Vec<u32>,
    /// Numbers among the contacts of a world.
    pub(super) contacts: Vec<u32>,
    pub(super) words: Vec<u32>,
    pub(super) given: Vec<T>,
    pub(super) impulses: Vec<T>,
    pub(super) met: Vec<Met>,
    pub(super) sides: Vec<TreeSide>,
    pub(super) frames: Vec<T>,
    /// Nodes of the contact at hand, by their place in the order of elimination, and their weights.
    terms: Vec<(u32, usize, f64)>,
}

impl<T> Default for OfBody<T> {
    fn default() -> Self {
        Self {
            begin: [0; 3],
            dofs: 0,
            ends: Vec::new(),
            n_dof: Vec::new(),
            contacts: Vec::new(),
            words: Vec::new(),
            given: Vec::new(),
            impulses: Vec::new(),
            met: Vec::new(),
            sides: Vec::new(),
            frames: Vec::new(),
            terms: Vec::new(),
        }
    }
}

impl<T: Scalar> OfBody<T> {
    /// Forgets all worlds, but keeps the memory.
    fn clear(&mut self) {
        (self.begin, self.dofs) = ([0; 3], 0);
        self.ends.clear();
        self.n_dof.clear();
        self.contacts.clear();
        self.words.clear();
        self.given.clear();
        self.impulses.clear();
        self.met.clear();
        self.sides.clear();
        self.frames.clear();
    }

    /// Ends the world at hand; without its contacts, where there are some that kernels do not know.
    fn close(&mut self, known: bool, n_term: usize) {
        if !known {
            let [contacts, met, sides] = self.begin;
            self.contacts.truncate(contacts);
            self.words.truncate(contacts * word_stride(n_term));
            self.given.truncate(contacts * given_stride(n_term));
            self.impulses.truncate(3 * contacts);
            self.met.truncate(met);
            self.sides.truncate(sides);
            self.frames.truncate(frame::SIZE * sides);
            self.dofs = 0;
        }
        self.begin = [self.contacts.len(), self.met.len(), self.sides.len()];
        self.ends.push(self.contacts.len() as u32);
        self.n_dof.push(std::mem::take(&mut self.dofs));
    }

    /// Trees that touch it in the world at hand.
    fn trees(&self) -> impl Iterator<Item = u32> + '_ {
        self.met[self.begin[1]..].iter().map(|met| met.tree)
    }

    /// The first degree of freedom of a tree in the world at hand, which may be new there. `None`: something else acts on it.
    fn column(&mut self, from: Source<'_, T>, world: usize, tree: usize, n: u32) -> Option<u32> {
        if let Some(met) = self.met[self.begin[1]..].iter().find(|met| met.tree as usize == tree) {
            return Some(met.column);
        }
        let column = self.dofs;
        self.met.push(Met { world: world as u32, tree: tree as u32, column });
        self.dofs += n;
        from.is_free(world, tree).then_some(column)
    }

    /// Appends a contact of a body, by its number among those of its world. `None`: its kernels do not know such.
    fn add(&mut self, from: Source<'_, T>, world: usize, index: usize, contact: &SoftContact) -> Option<()> {
        let [Side::Rigid { body, .. }, Side::Soft { soft, vertices, weights }] = contact.sides else { return None };
        let Source { shared, host, .. } = from;
        let (own, shape) = (&shared.soft[soft as usize], &shared.host.soft[soft as usize]);
        let (layout, room, of_world) = (own.layout.as_ref()?, own.room?, &host.worlds[world]);
        let carrier = match shape.carrier {
            Carrier::Fixed(pose) => pose.rotation,
            Carrier::Mocap(_) => of_world.rides[soft as usize].pose.rotation,
            Carrier::Moving(_) => return None,
        };
        let [t1, t2] = tangents(contact.normal);
        let world_axes = [t1, t2, contact.normal];
        let axes = along(carrier, world_axes);
        let follows = shape.follows(vertices, weights).into_iter();
        let terms = &mut self.terms;
        terms.clear();
        terms.extend(follows.map(|(dof, weight)| (layout.blocks.place(dof as usize / 3), dof as usize / 3, weight)));
        let n_term = room.n_term as usize;
        if terms.is_empty() || terms.len() > n_term {
            return None;
        }
        terms.sort_unstable_by_key(|&(place, ..)| place);
        let mut first = [0; head::SIZE];
        first[head::NODES] = terms.len() as u32;
        let tree = shared.host.lanes.bodies[body as usize];
        if let Some(place) = tree {
            let n = from.lane(world, place.tree).1.dims().n_v;
            first[head::SIDE] = self.sides.len() as u32;
            first[head::DOFS] = n;
            first[head::COLUMN] = self.column(from, world, place.tree, n)?;
            let root = from.origin(world, BodyPlace { local: 0, ..place });
            let offset = [0, 1, 2].map(|k| contact.point[k] - root[k]);
            self.frames.extend(world_axes.as_flattened().iter().chain(&offset).map(|&x| T::from_f64(x)));
            self.sides.push(TreeSide { world: world as u32, body: place });
        }
        if !room.holds(self.contacts.len() + 1 - self.begin[0], self.dofs) {
            return None;
        }
        let (terms, begin) = (&self.terms, self.words.len());
        self.words.extend(first);
        self.words.extend(terms.iter().map(|&(_, node, _)| node as u32));
        self.words.resize(begin + head::SIZE + n_term, 0);
        for (i, a) in terms.iter().enumerate() {
            for b in &terms[..=i] {
                self.words.push(layout.blocks.between(a.0, b.0)?);
            }
        }
        self.words.resize(begin + word_stride(n_term), 0);
        let speed = |&(_, node, weight): &(u32, usize, f64)| -> f64 {
            (0..3).map(|k| weight * axes[2][k] * from.speed(world, shape, 3 * node + k)).sum()
        };
        let drift = of_world.soft_drift(index);
        let drift = world_axes.map(|axis| drift.along(axis));
        let of_tree = tree.map_or([0.0; 3], |place| from.point_speed(world, place, contact.point));
        let approach = terms.iter().map(speed).sum::<f64>() + drift[2]
            - (0..3).map(|k| contact.normal[k] * of_tree[k]).sum::<f64>();
        let bias = [drift[0], drift[1], drift[2] + normal_bias(shared, host, world, contact, approach)];
        let set = shared.host.lanes.trees[shape.tree].set;
        let density = host.soft_params(set, world)[soft_param::DENSITY].to_f64();
        let mobility = terms.iter().map(|&(_, node, weight)| weight.powi(2) / (density * layout.rest[node]));
        let begin = self.given.len();
        self.given.resize(begin + given_stride(n_term), T::default());
        let mut put = |at: usize, x: f64| self.given[begin + at] = T::from_f64(x);
        axes.as_flattened().iter().enumerate().for_each(|(i, &x)| put(given::AXES + i, x));
        bias.into_iter().enumerate().for_each(|(i, x)| put(given::BIAS + i, x));
        put(given::FRICTION, contact.friction);
        put(given::MASS, mobility.sum::<f64>().recip());
        terms.iter().enumerate().for_each(|(i, term)| put(given::WEIGHTS + i, term.2));
        self.impulses.extend(of_world.soft_impulses[index].map(T::from_f64));
        self.contacts.push(index as u32);
        Some(())
    }
}

/// The contacts of a run of worlds. It is filled anew at every step: memory that a process takes and gives back costs more than
/// what is written into it.
#[derive(Default)]
pub(in crate::group) struct Run<T> {
    /// By soft body.
    pub(super) bodies: Vec<OfBody<T>>,
    /// Whether kernels know all of a world.
    pub(super) known: Vec<bool>,
}

impl<T: Scalar> Run<T> {
    /// Takes in the contacts of some worlds, instead of those that it has.
    pub(super) fn fill(&mut self, from: Source<'_, T>, worlds: Range<usize>) {
        let soft = &from.shared.soft;
        self.bodies.resize_with(soft.len(), OfBody::default);
        self.bodies.iter_mut().for_each(OfBody::clear);
        self.known.clear();
        for world in worlds {
            let known = self.add(from, world).is_some();
            for (body, soft) in self.bodies.iter_mut().zip(soft) {
                body.close(known, soft.room.map_or(0, |room| room.n_term as usize));
            }
            self.known.push(known);
        }
    }

    /// Appends the contacts of a world. `None`: there are some that kernels do not know.
    fn add(&mut self, from: Source<'_, T>, world: usize) -> Option<()> {
        let own = &from.host.worlds[world];
        // What gave way is the host's: it knows what to ask next.
        if !own.soft.is_empty() && (from.shared.whole.is_none() || own.before != Before::Solved) {
            return None;
        }
        for (index, contact) in own.soft.iter().enumerate() {
            let Side::Soft { soft, .. } = contact.sides[1] else { return None };
            self.bodies[soft as usize].add(from, world, index, contact)?;
        }
        // Two bodies that share a tree have one problem.
        let alone = |(at, body): (usize, &OfBody<T>)| {
            body.trees().all(|tree| self.bodies[..at].iter().all(|other| other.trees().all(|its| its != tree)))
        };
        self.bodies.iter().enumerate().all(alone).then_some(())
    }
}
