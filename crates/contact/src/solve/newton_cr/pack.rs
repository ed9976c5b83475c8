//! What the kernel needs to know of the islands beside their own records: what touches each degree of freedom, and how far
//! the linear solver may go. Everything is rebuilt each step in buffers that are kept.

use bytemuck::cast_slice;
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::group::ISLAND_WIDTH;
use manyworlds_shaders::contact::island::{IslandRecord, kind};
use manyworlds_shaders::contact::newton_cr::LEAST_LINEAR;
use manyworlds_shaders::contact::newton_cr::layout::{DofRecord, ItemRecord, ResidualDims, state, term};

use crate::island::Islands;

/// Rounds of a lane for a sum over an island.
const SUM: usize = 8;

/// Records for `cr_index`, ready for upload.
#[derive(Debug, Default)]
pub struct ResidualPack {
    /// `cr_index`
    pub index: Vec<u32>,
    /// Sizes; tolerances, iterations and settings are the caller's.
    pub dims: ResidualDims,
    /// Reals of `cr`.
    pub n_real: usize,
    /// Rounds through its loops that a lane makes for one Newton step at most, in the island where it makes most.
    pub loops: usize,
    dofs: Vec<DofRecord>,
    items: Vec<ItemRecord>,
}

impl ResidualPack {
    /// Packs what the islands of a chunk hold. `linear`: iterations of the linear solver in a Newton step at most.
    pub fn pack(&mut self, all: &Islands, linear: u32) {
        self.dofs.clear();
        self.dofs.resize(all.dims.n_velocity as usize, DofRecord::default());
        self.items.clear();
        self.items.resize(all.sides.len(), ItemRecord::default());
        self.touch(all);
        self.index.clear();
        self.loops = 0;
        for island in all.islands {
            let (iteration, rest) = loops(all, island, &self.dofs);
            let room = (LOOPS as usize).saturating_sub(rest) / iteration;
            let own = linear.min(room as u32);
            let fits = own >= linear.min(LEAST_LINEAR);
            self.index.push(if fits { own } else { 0 });
            if fits {
                self.loops = self.loops.max(rest + own as usize * iteration);
            }
        }
        let dofs_at = self.index.len();
        self.index.extend_from_slice(cast_slice(&self.dofs));
        let items_at = self.index.len();
        self.index.extend_from_slice(cast_slice(&self.items));
        self.dims = ResidualDims {
            n_islands: all.dims.n_islands,
            colours_at: all.dims.colours_at,
            constraints_at: all.dims.constraints_at,
            sides_at: all.dims.sides_at,
            n_constraints: all.dims.n_constraints,
            n_velocity: all.dims.n_velocity,
            dofs_at: dofs_at as u32,
            items_at: items_at as u32,
            ..ResidualDims::default()
        };
        self.n_real = term::SIZE * all.constraints.len() + state::SIZE * all.islands.len();
    }

    /// What touches each tree, in the order of the constraints.
    fn touch(&mut self, all: &Islands) {
        for side in all.sides {
            self.dofs[side.velocity as usize].end += 1;
        }
        let mut next = 0;
        for dof in &mut self.dofs {
            let count = dof.end;
            (dof.begin, dof.end) = (next, next);
            next += count;
        }
        for side in all.sides {
            let block = all.constraints[side.constraint as usize].kind == kind::BLOCK;
            let rows = if block { 3 } else { 1 };
            let tree = &mut self.dofs[side.velocity as usize];
            self.items[tree.end as usize] = ItemRecord {
                response: side.jac + rows * side.count,
                constraint: 2 * side.constraint + u32::from(!block),
            };
            tree.end += 1;
            tree.count = side.count;
        }
        let mut at = 0;
        while at < self.dofs.len() {
            let tree = self.dofs[at];
            // Every tree of an island is touched.
            let count = (tree.count as usize).max(1);
            for (place, dof) in self.dofs[at..].iter_mut().take(count).enumerate() {
                *dof = DofRecord { place: place as u32, ..tree };
            }
            at += count;
        }
    }
}

/// Rounds of a lane for one iteration of the linear solver, and for the rest of a Newton step, at most.
fn loops(all: &Islands, island: &IslandRecord, dofs: &[DofRecord]) -> (usize, usize) {
    let constraints = &all.constraints[island.constraint_begin as usize..island.constraint_end as usize];
    let dofs = &dofs[island.velocity_begin as usize..island.velocity_end as usize];
    let turns = |count: usize| count.div_ceil(ISLAND_WIDTH);
    let touching = dofs.iter().map(|dof| (dof.end - dof.begin) as usize).max().unwrap_or(0);
    let columns = |side_begin: u32, side_end: u32| {
        all.sides[side_begin as usize..side_end as usize].iter().map(|side| 1 + side.count as usize).sum::<usize>()
    };
    let widest = constraints.iter().map(|c| columns(c.side_begin, c.side_end)).max().unwrap_or(0);
    let push = turns(dofs.len()) * (1 + touching);
    let relative = turns(constraints.len()) * (1 + widest);
    let advance = turns(constraints.len());
    (push + relative + advance + SUM, 3 * push + 2 * relative + 20 * advance + 4 * SUM)
}

#[cfg(test)]
mod tests {
    use manyworlds_shaders::contact::island::Islands as Found;

    use super::*;
    use crate::island::Ragged;
    use crate::problem::ContactProblem;
    use crate::samples::{problem, random, stack};
    use manyworlds_shaders::contact::island_newton::Room;

    fn packed(problem: &ContactProblem) -> (ResidualPack, Ragged<f64>) {
        let ragged = Ragged::<f64>::new(problem, Room::None);
        let found = Found::new(&ragged.dims, &ragged.index);
        let all =
            Islands { dims: &ragged.dims, islands: found.islands, constraints: found.constraints, sides: found.sides };
        let mut pack = ResidualPack::default();
        pack.pack(&all, 300);
        (pack, ragged)
    }

    /// Every dof knows the sides on its tree, in the order of the constraints, and no other.
    #[test]
    fn dofs_know_what_touches_them() {
        for seed in 0..5 {
            let (pack, ragged) = packed(&problem(random(seed, 6, 14, true)));
            let found = Found::new(&ragged.dims, &ragged.index);
            for (entry, dof) in pack.dofs.iter().enumerate() {
                let first = entry as u32 - dof.place;
                let wanted: Vec<_> = found.sides.iter().filter(|side| side.velocity == first).collect();
                let own = &pack.items[dof.begin as usize..dof.end as usize];
                assert!(!wanted.is_empty() && wanted.len() == own.len(), "{entry}");
                for (side, item) in wanted.iter().zip(own) {
                    let block = found.constraints[side.constraint as usize].kind == kind::BLOCK;
                    assert_eq!(item.constraint, 2 * side.constraint + u32::from(!block));
                    assert_eq!(item.response, side.jac + side.count * if block { 3 } else { 1 });
                    assert_eq!(dof.count, side.count);
                }
                assert!(own.is_sorted_by_key(|item| item.constraint));
            }
        }
    }

    #[test]
    fn large_islands_have_fewer_iterations_and_larger_ones_none() {
        let of = |bodies: usize| packed(&problem(stack(&vec![1.0; bodies], 0.5))).0;
        assert_eq!(of(5).index[0], 300);
        let large = of(60);
        assert!((LEAST_LINEAR..300).contains(&large.index[0]), "{}", large.index[0]);
        assert!(large.loops <= LOOPS as usize);
        assert_eq!(of(1000).index[0], 0);
    }
}
