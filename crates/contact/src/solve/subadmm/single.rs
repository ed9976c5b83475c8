//! The kernels' form of SubADMM on one problem, by their mirrors.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{Islands as Found, TreeItem, info, kind};
use manyworlds_shaders::contact::subadmm::fused::fused;
use manyworlds_shaders::contact::subadmm::layout::SplitDims;
use manyworlds_shaders::dynamics::tree::NONE;

use super::SplitPack;
use crate::island::{Chains, Islands, Ragged};
use crate::solve::{SolverParams, SubAdmmParams};
use crate::{ContactProblem, Precision, SolveError, SolveSettings};
use manyworlds_shaders::contact::island_newton::Room;

/// What has a slack of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitting {
    /// Each subsystem that a constraint touches (Lee 2024, eq. 30): its matrix is factored dense.
    Subsystems,
    /// Each body, or rather each branch of dofs (eq. 31): its matrix is factored along the branches that the problem names
    /// as `parent`, dense where it names none.
    Bodies,
}

/// A problem laid out for the kernels.
#[derive(Debug, Clone)]
pub struct SingleProblem<T: Scalar> {
    ragged: Ragged<T>,
    split_index: Vec<u32>,
    split: Vec<T>,
    dims: SplitDims,
}

impl<T: Scalar> SingleProblem<T> {
    /// Lays it out, from its warm start.
    #[must_use]
    pub fn new(problem: &ContactProblem, splitting: Splitting) -> Self {
        let ragged = Ragged::<T>::new(problem, Room::None);
        let members: Vec<usize> = problem.plan.members.iter().map(|&s| s as usize).collect();
        let chains: Vec<Chains> = members.iter().map(|&s| chains(problem, s, splitting)).collect();
        // Every member is a set of its own.
        let mut velocity = 0;
        let trees: Vec<TreeItem> = members
            .iter()
            .map(|&s| {
                let item = TreeItem { lane: 0, velocity };
                velocity += problem.subsystems[s].count as u32;
                item
            })
            .collect();
        let sets: Vec<&[TreeItem]> = trees.chunks(1).collect();
        let found = Found::new(&ragged.dims, &ragged.index);
        let all =
            Islands { dims: &ragged.dims, islands: found.islands, constraints: found.constraints, sides: found.sides };
        let mut pack = SplitPack::new(chains, u32::MAX);
        pack.pack(&all, &sets, |number, _, chains, add| {
            let side = &found.sides[number];
            let n = side.count as usize;
            let rows = if found.constraints[side.constraint as usize].kind == kind::BLOCK { 3 } else { 1 };
            let j = &ragged.jac[side.jac as usize..][..rows * n];
            let moves = |dof: &u32| (0..rows).any(|r| j[r * n + *dof as usize].to_f64() != 0.0);
            let dofs: Vec<u32> = (0..n as u32).filter(moves).collect();
            chains.of_dofs(&dofs).into_iter().for_each(add);
        });
        let mut split = vec![T::default(); pack.n_real];
        for (tree, (&s, item)) in pack.trees().iter().zip(members.iter().zip(&trees)) {
            debug_assert_eq!(tree.velocity, item.velocity);
            let s = &problem.subsystems[s];
            let begins = &pack.index[tree.begins as usize..][..=s.count];
            let columns = &pack.index[tree.columns as usize..];
            for i in 0..s.count {
                for at in begins[i] as usize..begins[i + 1] as usize {
                    let x = problem.block(s)[i * s.count + columns[at] as usize];
                    split[tree.matrix as usize + at] = T::from_f64(x);
                }
            }
        }
        Self { dims: pack.dims, split_index: pack.index, split, ragged }
    }

    /// Iterates from where it is laid out. Returns the iterations of the island that took most.
    ///
    /// # Errors
    /// A setting or a parameter without meaning.
    pub fn solve(&mut self, settings: &SolveSettings, params: &SubAdmmParams) -> Result<u32, SolveError> {
        settings.validate()?;
        params.validate()?;
        let scaled = if settings.precision == Precision::F32 { settings.tolerance } else { 0.0 };
        let dims = SplitDims {
            tolerance: (settings.tolerance as f32).to_bits(),
            tolerance_scaled: (scaled as f32).to_bits(),
            iterations: settings.iterations,
            relaxation: (params.relaxation as f32).to_bits(),
            imbalance: (params.imbalance as f32).to_bits(),
            adapt_after: params.adapt_after,
            ..self.dims
        };
        let r = &mut self.ragged;
        let split = &mut self.split;
        fused(&dims, &self.split_index, &r.jac, &r.con, &mut r.impulse, &mut r.velocity, split, &mut r.info);
        let most = |own: &[T]| own[info::ITERATIONS].to_f64() as u32;
        Ok(r.info.chunks_exact(info::SIZE).map(most).max().unwrap_or(0))
    }

    /// Impulses in the problem's order, N s, `[n_rows]`.
    #[must_use]
    pub fn lambda(&self, problem: &ContactProblem) -> Vec<f64> {
        self.ragged.lambda(problem)
    }

    /// The velocity that they give, `[n_v]`.
    #[must_use]
    pub fn v(&self, problem: &ContactProblem) -> Vec<f64> {
        self.ragged.v(problem)
    }
}

/// Chains of one subsystem.
fn chains(problem: &ContactProblem, subsystem: usize, splitting: Splitting) -> Chains {
    let s = &problem.subsystems[subsystem];
    if splitting == Splitting::Subsystems || problem.parent.is_empty() {
        return Chains::dense(s.count);
    }
    let own = &problem.parent[s.begin..s.begin + s.count];
    let parents: Vec<u32> = own.iter().map(|&p| u32::try_from(p).map_or(NONE, |p| p - s.begin as u32)).collect();
    Chains::of_parents(&parents)
}
