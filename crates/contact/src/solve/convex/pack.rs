//! What the convex solvers need to know of the islands beside their own records: where the matrix of each lies, and which
//! of its entries are there. Everything is rebuilt each step in buffers that are kept.

use bytemuck::cast_slice;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::convex::layout::{
    ConvexDims, DofRecord, PlaceRecord, conjugate, form, method, mixing, packed, state, term,
};
use manyworlds_shaders::contact::convex::{MOST_DOFS, MOST_GROUP, TRIALS};
use manyworlds_shaders::contact::group::ISLAND_WIDTH;
use manyworlds_shaders::contact::island::{IslandRecord, SideRecord, TreeItem, part};
use manyworlds_shaders::contact::island_newton::WORLD_REALS;
use manyworlds_shaders::dynamics::tree::NONE;

use crate::island::{Chains, Islands};

/// Rounds of conjugate residuals in a turn at most, and at least, or the island is not the kernels'.
const ROUNDS: usize = 64;
const LEAST_ROUNDS: usize = 8;

/// Records for `convex_index`, ready for upload.
#[derive(Debug, Default)]
pub struct ConvexPack {
    /// `convex_index`
    pub index: Vec<u32>,
    /// Sizes; tolerances, iterations and settings are the caller's.
    pub dims: ConvexDims,
    /// By set: first words of where each dof's row of the branch-sparse matrix begins, and of the dofs of its entries.
    pub rows_at: Vec<[u32; 2]>,
    /// Reals of `convex`.
    pub n_real: usize,
    /// Whether some islands have their matrix in workgroup memory, or none at all; whether some have it in `convex`; whether
    /// some have it nowhere.
    pub forms: [bool; 3],
    /// Rounds through its loops that a lane of a workgroup makes at most: for a Newton step with the matrix written out, for
    /// a turn without.
    pub loops: [usize; 2],
    /// Degrees of freedom up to which an island's matrix lies in workgroup memory, and up to which it is written out. Never
    /// more than the default; less to have a form for what another would take.
    pub most: [usize; 2],
    /// Whether larger islands are the kernels' too, or are left as they are.
    pub iterative: bool,
    chains: Vec<Chains>,
    /// One of [`method`].
    method: u32,
    /// Words of `index` that are the same in every step.
    fixed: usize,
    /// Turns of looking for a direction of so many rounds.
    rounds: usize,
    places: Vec<PlaceRecord>,
    /// By entry of a region of `velocity`: where the next side of its tree is to be listed.
    listed: Vec<u32>,
    dofs: Vec<DofRecord>,
}

impl ConvexPack {
    /// For trees of these sets. With [`method::CANAL`] there is also room for the mixing of shifts.
    #[must_use]
    pub fn new(chains: Vec<Chains>, method: u32) -> Self {
        let mut index = Vec::new();
        let mut rows_at = Vec::with_capacity(chains.len());
        for chains in &chains {
            let at = index.len() as u32;
            index.extend_from_slice(&chains.begins);
            index.extend_from_slice(&chains.columns);
            rows_at.push([at, at + chains.begins.len() as u32]);
        }
        let most = [MOST_GROUP, MOST_DOFS];
        Self { fixed: index.len(), index, rows_at, chains, method, most, ..Self::default() }
    }

    /// Packs what the islands of a chunk hold. `trees`: by set, its trees in islands.
    pub fn pack(&mut self, all: &Islands, trees: &[&[TreeItem]]) {
        self.index.truncate(self.fixed);
        self.places.clear();
        self.dofs.clear();
        self.dofs.resize(all.dims.n_velocity as usize, DofRecord { row: NONE, ..DofRecord::default() });
        let sides = &all.sides[..all.constraints.last().map_or(0, |c| c.side_end as usize)];
        self.count_sides(sides, all.dims.n_velocity);
        for (items, chains) in trees.iter().zip(&self.chains) {
            let count = chains.n_v() as u32;
            for item in *items {
                let [sides_begin, sides_end] = [0, 1].map(|next| self.listed[item.velocity as usize + next]);
                let (first, tree) = (item.velocity, item.velocity);
                let record = DofRecord { first, tree, count, row: NONE, sides_begin, sides_end };
                self.dofs[item.velocity as usize..][..count as usize].fill(record);
            }
        }
        self.list_sides(sides);
        (self.n_real, self.forms, self.loops, self.rounds) = (0, [false; 3], [0; 2], ROUNDS);
        let (mut world, mut world_real) = (u32::MAX, 0);
        for island in all.islands {
            if island.world != world {
                (world, world_real) = (island.world, self.n_real);
            }
            let place = self.place(all, island, world_real);
            self.forms[place.form.saturating_sub(form::GROUP) as usize] = true;
            self.places.push(place);
        }
        let places_at = self.index.len();
        self.index.extend_from_slice(cast_slice(&self.places));
        let dofs_at = self.index.len();
        self.index.extend_from_slice(cast_slice(&self.dofs));
        self.dims = ConvexDims {
            n_islands: all.dims.n_islands,
            colours_at: all.dims.colours_at,
            constraints_at: all.dims.constraints_at,
            sides_at: all.dims.sides_at,
            n_constraints: all.dims.n_constraints,
            n_velocity: all.dims.n_velocity,
            places_at: places_at as u32,
            dofs_at: dofs_at as u32,
            constraint_real: self.n_real as u32,
            rounds: self.rounds as u32,
            mixing_real: (self.n_real + term::SIZE * all.constraints.len()) as u32,
            ..ConvexDims::default()
        };
        let mixed = if self.method == method::CANAL { mixing::SIZE } else { 0 };
        self.n_real += (term::SIZE + mixed) * all.constraints.len();
    }

    /// First real in `convex` of A of the tree that has its velocities from this entry on; none in an island that is left as
    /// it is.
    #[must_use]
    pub fn matrix_at(&self, velocity: u32) -> Option<usize> {
        let row = self.dofs[velocity as usize].row;
        (row != NONE).then_some(row as usize)
    }

    /// Where an island's numbers are to lie: nowhere, if the host solves it, or if it is too large for a workgroup or for what
    /// its world has left.
    fn place(&mut self, all: &Islands, island: &IslandRecord, world_real: usize) -> PlaceRecord {
        let first = island.velocity_begin;
        self.envelope(all, island);
        let dofs = &mut self.dofs[first as usize..island.velocity_end as usize];
        let n = dofs.len();
        let mut next = self.n_real;
        // Of a tree each dof has a row.
        let blocks = dofs.iter().map(|dof| dof.count as usize).sum::<usize>();
        let begin = next + blocks;
        let counts = Counts::new(all, island, dofs);
        let [group, large] = self.most;
        let mut found = None;
        if n <= large && island.part == part::SOLVES {
            let (form, matrix) = if n <= group { (form::GROUP, 0) } else { (form::LARGE, packed(n)) };
            let (loops, end) = (counts.written_out(dofs), begin + state::SIZE + n + matrix);
            if loops <= LOOPS as usize && end - world_real <= WORLD_REALS {
                self.loops[0] = self.loops[0].max(loops);
                found = Some((form, end));
            }
        }
        if found.is_none() && self.iterative && island.part == part::SOLVES {
            let end = begin + state::SIZE + conjugate::SIZE * n + blocks;
            let (fixed, round) = counts.by_rounds(dofs);
            let rounds = self.rounds.min((LOOPS as usize).saturating_sub(fixed) / round);
            if rounds >= LEAST_ROUNDS && end - world_real <= WORLD_REALS {
                self.rounds = rounds;
                self.loops[1] = self.loops[1].max(fixed + rounds * round);
                found = Some((form::ITERATIVE, end));
            }
        }
        for dof in &mut *dofs {
            (dof.first, dof.tree) = (dof.first - first, dof.tree - first);
            if found.is_some() {
                dof.row = next as u32;
                next += dof.count as usize;
            }
        }
        let Some((form, end)) = found else { return PlaceRecord { form: form::NONE, real: 0 } };
        self.n_real = end;
        PlaceRecord { form, real: begin as u32 }
    }

    /// Where the sides of every tree are to be listed in `index`: by the first entry of the tree, with the end behind it.
    fn count_sides(&mut self, sides: &[SideRecord], n_velocity: u32) {
        self.listed.clear();
        self.listed.resize(n_velocity as usize + 1, 0);
        for side in sides {
            self.listed[side.velocity as usize + 1] += 1;
        }
        let mut next = self.index.len() as u32;
        for at in &mut self.listed {
            next += *at;
            *at = next;
        }
    }

    /// Lists them, by constraint.
    fn list_sides(&mut self, sides: &[SideRecord]) {
        self.index.resize(self.index.len() + sides.len(), 0);
        for (number, side) in sides.iter().enumerate() {
            let at = &mut self.listed[side.velocity as usize];
            self.index[*at as usize] = number as u32;
            *at += 1;
        }
    }

    /// The first column of every row: constraints couple all their trees.
    fn envelope(&mut self, all: &Islands, island: &IslandRecord) {
        for c in &all.constraints[island.constraint_begin as usize..island.constraint_end as usize] {
            let sides = &all.sides[c.side_begin as usize..c.side_end as usize];
            let Some(least) = sides.iter().map(|side| side.velocity).min() else { continue };
            for side in sides {
                let own = &mut self.dofs[side.velocity as usize..(side.velocity + side.count) as usize];
                own.iter_mut().for_each(|dof| dof.first = dof.first.min(least));
            }
        }
    }
}

/// What the rounds of a lane are counted by.
struct Counts {
    /// Turns over the constraints of an island, and over its dofs.
    laws: usize,
    dofs: usize,
    /// Dofs of the widest tree, and sides of the one that has most.
    tree: usize,
    sides: usize,
    /// Colours at most.
    colours: usize,
    /// Columns of the constraint that has most, and of all together as the matrix is assembled.
    widest: usize,
    assembly: usize,
}

impl Counts {
    fn new(all: &Islands, island: &IslandRecord, dofs: &[DofRecord]) -> Self {
        let constraints = &all.constraints[island.constraint_begin as usize..island.constraint_end as usize];
        let (mut assembly, mut widest) = (0, 0);
        for c in constraints {
            let sides = &all.sides[c.side_begin as usize..c.side_end as usize];
            let columns: usize = sides.iter().map(|side| 1 + side.count as usize).sum();
            assembly += 7 + sides.iter().map(|side| 1 + turns(side.count as usize) * columns).sum::<usize>();
            widest = widest.max(columns);
        }
        Self {
            laws: turns(constraints.len()),
            dofs: turns(dofs.len()),
            tree: dofs.iter().map(|dof| dof.count as usize).max().unwrap_or(0),
            sides: dofs.iter().map(|dof| (dof.sides_end - dof.sides_begin) as usize).max().unwrap_or(0),
            colours: constraints.len(),
            widest,
            assembly,
        }
    }

    /// What every step has: evaluation (of CANAL's another when its multipliers change), line search, a look at the
    /// residuals.
    fn step(&self) -> usize {
        let evaluation = 8 * self.laws + self.dofs * (4 * self.sides + 2 * self.tree);
        let look = 8 * self.widest * self.laws + 4 * self.colours;
        2 * evaluation + TRIALS * (self.laws + 6) + look
    }

    /// One Newton step with the matrix written out.
    fn written_out(&self, dofs: &[DofRecord]) -> usize {
        let n = dofs.len();
        // Of a row only what is within the envelope; its first column is still counted over all islands.
        let within = |j: usize| j + 2 - (dofs[j].first - dofs[0].first) as usize;
        let factor: usize = (0..n).map(|j| turns(n + 1 - j) * within(j)).sum();
        let back = n * (1 + self.dofs);
        self.assembly + self.dofs * n + factor + back + self.step()
    }

    /// Beginning and end of a Newton step without the matrix, and one round of its directions.
    fn by_rounds(&self, dofs: &[DofRecord]) -> (usize, usize) {
        let blocks = self.dofs * (self.tree + self.sides * (1 + self.tree));
        let inverse = self.tree * (2 * self.dofs + self.tree * turns(dofs.len())) + 2 * self.dofs * self.tree;
        let round = self.widest * self.laws + self.dofs * (4 * self.sides + 2 * self.tree + 6) + 12;
        (blocks + inverse + 2 * round + self.step(), round)
    }
}

fn turns(count: usize) -> usize {
    count.div_ceil(ISLAND_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::island::Ragged;
    use crate::samples::{problem, stack};
    use manyworlds_shaders::contact::island::Islands as Found;
    use manyworlds_shaders::contact::island_newton::Room;

    fn packed_stack(bodies: usize, iterative: bool) -> ConvexPack {
        let problem = problem(stack(&vec![1.0; bodies], 0.5));
        let ragged = Ragged::<f64>::new(&problem, Room::None);
        let found = Found::new(&ragged.dims, &ragged.index);
        let all =
            Islands { dims: &ragged.dims, islands: found.islands, constraints: found.constraints, sides: found.sides };
        let chains: Vec<_> = problem.subsystems.iter().map(|s| Chains::dense(s.count)).collect();
        let mut velocity = 0;
        let place = |&s: &u32| {
            let item = TreeItem { lane: 0, velocity };
            velocity += problem.subsystems[s as usize].count as u32;
            item
        };
        let trees: Vec<_> = problem.plan.members.iter().map(place).collect();
        let mut pack = ConvexPack::new(chains, method::SAP);
        pack.iterative = iterative;
        pack.pack(&all, &trees.chunks(1).collect::<Vec<_>>());
        pack
    }

    #[test]
    fn forms_go_by_size() {
        for (bodies, iterative, wanted) in [
            (9, true, form::GROUP),
            (10, true, form::LARGE),
            (32, true, form::LARGE),
            (33, true, form::ITERATIVE),
            (33, false, form::NONE),
            (100, true, form::ITERATIVE),
        ] {
            let pack = packed_stack(bodies, iterative);
            assert_eq!(pack.places[0].form, wanted, "{bodies} bodies");
            assert!(pack.loops.iter().all(|&loops| loops <= LOOPS as usize));
        }
    }

    /// Every dof has the sides of its tree, each once.
    #[test]
    fn sides_are_listed() {
        let pack = packed_stack(3, false);
        let sides = |k: usize| &pack.index[pack.dofs[k].sides_begin as usize..pack.dofs[k].sides_end as usize];
        let mut all: Vec<u32> = [0, 6, 12].iter().flat_map(|&k| sides(k).to_vec()).collect();
        assert_eq!(sides(6), sides(11));
        // Four contacts with the ground, and with each neighbour.
        assert_eq!([0, 6, 12].map(|k| sides(k).len()), [8, 8, 4]);
        assert!(sides(6).is_sorted());
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(i, &side)| i == side as usize));
    }

    #[test]
    fn a_column_has_a_narrow_envelope() {
        let pack = packed_stack(8, false);
        for (i, dof) in pack.dofs.iter().enumerate() {
            assert_eq!((dof.tree as usize, dof.count), (i / 6 * 6, 6));
            assert_eq!(dof.first as usize, (i / 6 * 6).saturating_sub(6));
        }
    }
}
