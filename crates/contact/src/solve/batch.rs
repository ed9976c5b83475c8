//! A solver in batches of worlds: which islands its kernels solve, what it packs for them each step, and its dispatches.

use std::fmt::Debug;
use std::sync::Arc;

use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::contact::island::{IslandDims, SetDims};
use manyworlds_shaders::contact::island_newton::Workspaces;

use super::Precision;
use crate::island::{Chains, Islands, SetItems};

/// How a tree that is an island by itself is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneTrees {
    /// By a lane of its own: sweeps of projected Gauss-Seidel; with `newton` Newton steps, too.
    ByLane {
        /// Newton steps and sweeps, or sweeps alone.
        newton: bool,
    },
    /// As every other island.
    AsIslands,
}

/// What a solver's kernels do in batches.
#[derive(Debug, Clone, Copy)]
pub struct BatchForm {
    /// How trees that are islands by themselves are solved.
    pub lone_trees: LoneTrees,
    /// Whether the Delassus operators of islands that are small enough are written out.
    pub dense: bool,
    /// Iterations of the kernels at most, whatever the batch allows: for solvers that do better on the host from then on.
    pub most_iterations: u32,
    /// Makes the solver's part of a chunk of worlds.
    pub make: fn(BatchSetup) -> Box<dyn BatchSolver>,
}

/// What a solver's part of a chunk is made for.
#[derive(Debug, Clone)]
pub struct BatchSetup {
    /// Branches of the trees of every set.
    pub chains: Arc<[Chains]>,
    /// Arithmetic of the kernels.
    pub precision: Precision,
    /// Whether kernels run on a device: a workgroup an island, a workspace an island in a buffer, and a solve spread over
    /// dispatches. On the CPU a thread has one workspace and a solve is one call.
    pub on_device: bool,
    /// Most iterations of a solve.
    pub iterations: u32,
    /// Residual (number 1) at which an island is solved, N s.
    pub tolerance: f32,
    /// Parts in which the free motion of a step is let in.
    pub substeps: u32,
}

/// What a solver needs in its buffers for the islands it packed last.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand<'a> {
    /// For its buffer of words.
    pub words: &'a [u32],
    /// Numbers of its buffer of reals.
    pub reals: usize,
    /// Numbers of the workspace.
    pub work: usize,
}

/// Buffers of the islands of a chunk, in the layouts that `contact/island` says, and the solver's own.
#[derive(Debug, Clone, Copy)]
pub struct SolveBuffers {
    /// Records.
    pub index: BufferId,
    /// What the host knows of each constraint.
    pub contact: BufferId,
    /// Jacobians and responses.
    pub jac: BufferId,
    /// Laws.
    pub con: BufferId,
    /// Impulses: those to start from, and the solution.
    pub impulse: BufferId,
    /// Free velocity, solution, scratch.
    pub velocity: BufferId,
    /// What the solver says of each island.
    pub info: BufferId,
    /// The solver's own words.
    pub words: BufferId,
    /// The solver's own numbers.
    pub reals: BufferId,
    /// Workspace.
    pub work: BufferId,
}

/// A tree set, as far as its trees are in islands.
#[derive(Debug, Clone, Copy)]
pub struct SetSolve {
    /// Sizes.
    pub dims: SetDims,
    /// Entries of a tree's momentum matrix.
    pub n_m: u32,
    /// The momentum matrices.
    pub momentum: BufferId,
}

/// The islands that a recording solves.
#[derive(Clone, Copy)]
pub struct IslandSolve<'a> {
    /// Sizes and what a solve is to reach.
    pub dims: IslandDims,
    /// Where everything lies.
    pub buffers: SolveBuffers,
    /// A tree set by its number.
    pub set: &'a dyn Fn(usize) -> SetSolve,
    /// Where the operators lie that are written out.
    pub workspaces: &'a Workspaces,
}

/// A solver's part of a chunk of worlds.
pub trait BatchSolver: Send + Sync + Debug {
    /// Takes in the islands of a step; `set`: what of a tree set is in them, by its number.
    fn pack<'a>(&mut self, _islands: &Islands<'a>, _set: &dyn Fn(usize) -> SetItems<'a>) {}

    /// What it needs for them.
    fn demand(&self, islands: &IslandDims, workspaces: &Workspaces) -> Demand<'_>;

    /// Appends the solve: from the free velocity and the impulses to start from, to impulses and the velocity that they
    /// give. Islands that its kernels do not take are left with what they started from.
    fn record(&self, solve: &IslandSolve<'_>, recording: &mut Recording);
}
