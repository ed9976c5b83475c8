//! What the convex solvers need to know of the islands beside their own records: where the matrix of each lies, and which
//! of its entries are there. Everything is rebuilt each step in buffers that are kept.

use bytemuck::cast_slice;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::convex::layout::{ConvexDims, DofRecord, PlaceRecord, form, method, mixing, packed, state, term};
use manyworlds_shaders::contact::convex::{MOST_DOFS, MOST_GROUP, TRIALS, WIDTH};
use manyworlds_shaders::contact::island::{IslandRecord, TreeItem};
use manyworlds_shaders::contact::island_newton::WORLD_REALS;
use manyworlds_shaders::dynamics::tree::NONE;

use crate::subadmm::{Chains, Islands};

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
    /// Whether some islands have their matrix in workgroup memory, or none at all, and whether some have it in `convex`.
    pub forms: [bool; 2],
    /// Rounds through its loops that a lane of a workgroup makes for one Newton step at most.
    pub loops: usize,
    chains: Vec<Chains>,
    /// One of [`method`].
    method: u32,
    /// Words of `index` that are the same in every step.
    fixed: usize,
    places: Vec<PlaceRecord>,
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
        Self { fixed: index.len(), index, rows_at, chains, method, ..Self::default() }
    }

    /// Packs what the islands of a chunk hold. `trees`: by set, its trees in islands.
    pub fn pack(&mut self, all: &Islands, trees: &[&[TreeItem]]) {
        self.index.truncate(self.fixed);
        self.places.clear();
        self.dofs.clear();
        self.dofs.resize(all.dims.n_velocity as usize, DofRecord { row: NONE, ..DofRecord::default() });
        for (items, chains) in trees.iter().zip(&self.chains) {
            let count = chains.n_v() as u32;
            for item in *items {
                for k in 0..count {
                    let record = DofRecord { first: item.velocity, tree: item.velocity, count, row: NONE };
                    self.dofs[(item.velocity + k) as usize] = record;
                }
            }
        }
        (self.n_real, self.forms, self.loops) = (0, [false; 2], 0);
        let (mut world, mut world_real) = (u32::MAX, 0);
        for island in all.islands {
            if island.world != world {
                (world, world_real) = (island.world, self.n_real);
            }
            let place = self.place(all, island, world_real);
            self.forms[usize::from(place.form == form::LARGE)] = true;
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

    /// Where an island's numbers are to lie: nowhere, if it is too large for a workgroup or for what its world has left.
    fn place(&mut self, all: &Islands, island: &IslandRecord, world_real: usize) -> PlaceRecord {
        let first = island.velocity_begin;
        self.envelope(all, island);
        let dofs = &mut self.dofs[first as usize..island.velocity_end as usize];
        let n = dofs.len();
        let large = n > MOST_GROUP;
        let mut next = self.n_real;
        // Of a tree each dof has a row.
        let begin = next + dofs.iter().map(|dof| dof.count as usize).sum::<usize>();
        let end = begin + state::SIZE + n + if large { packed(n) } else { 0 };
        let loops = loops(all, island, dofs);
        let fits = n <= MOST_DOFS && loops <= LOOPS as usize && end - world_real <= WORLD_REALS;
        for dof in &mut *dofs {
            (dof.first, dof.tree) = (dof.first - first, dof.tree - first);
            if fits {
                dof.row = next as u32;
                next += dof.count as usize;
            }
        }
        if !fits {
            return PlaceRecord { form: form::NONE, real: 0 };
        }
        self.n_real = end;
        self.loops = self.loops.max(loops);
        PlaceRecord { form: if large { form::LARGE } else { form::GROUP }, real: begin as u32 }
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

/// Rounds of a lane for one Newton step and a look at the residuals, at most.
fn loops(all: &Islands, island: &IslandRecord, dofs: &[DofRecord]) -> usize {
    let n = dofs.len();
    let constraints = &all.constraints[island.constraint_begin as usize..island.constraint_end as usize];
    let turns = |count: usize| count.div_ceil(WIDTH);
    let (mut assembly, mut widest, mut n_sides) = (0, 0, 0);
    for c in constraints {
        let sides = &all.sides[c.side_begin as usize..c.side_end as usize];
        let columns: usize = sides.iter().map(|side| 1 + side.count as usize).sum();
        assembly += 7 + sides.iter().map(|side| 1 + turns(side.count as usize) * columns).sum::<usize>();
        widest = widest.max(columns);
        n_sides += sides.len();
    }
    let laws = turns(constraints.len());
    let tree = dofs.iter().map(|dof| dof.count as usize).max().unwrap_or(0);
    let evaluation = 8 * laws + turns(n) * (constraints.len() + 4 * n_sides + 2 * tree);
    let factor: usize = (0..n).map(|j| turns(n + 1 - j) * (j + 2)).sum();
    let back = n * (1 + turns(n));
    let search = TRIALS * (laws + 6);
    let look = 8 * widest * laws + 4 * constraints.len();
    // CANAL evaluates again when its multipliers change.
    assembly + turns(n) * n + 2 * evaluation + factor + back + search + look
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::island::Ragged;
    use crate::samples::{problem, stack};
    use manyworlds_shaders::contact::island::Islands as Found;

    fn packed_stack(bodies: usize) -> ConvexPack {
        let problem = problem(stack(&vec![1.0; bodies], 0.5));
        let ragged = Ragged::<f64>::new(&problem, false);
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
        pack.pack(&all, &trees.chunks(1).collect::<Vec<_>>());
        pack
    }

    #[test]
    fn forms_go_by_size() {
        for (bodies, wanted) in
            [(9, form::GROUP), (10, form::LARGE), (21, form::LARGE), (22, form::NONE), (100, form::NONE)]
        {
            let pack = packed_stack(bodies);
            assert_eq!(pack.places[0].form, wanted, "{bodies} bodies");
            assert!(pack.loops <= LOOPS as usize);
        }
    }

    #[test]
    fn a_column_has_a_narrow_envelope() {
        let pack = packed_stack(8);
        for (i, dof) in pack.dofs.iter().enumerate() {
            assert_eq!((dof.tree as usize, dof.count), (i / 6 * 6, 6));
            assert_eq!(dof.first as usize, (i / 6 * 6).saturating_sub(6));
        }
    }
}
