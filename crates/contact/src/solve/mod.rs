//! Solvers by name, each a folder and a line of [`SOLVERS`].

mod auto;
mod batch;
pub mod canal;
mod cholesky;
mod closing;
mod columns;
pub mod convex;
mod dantzig;
mod iterate;
mod law;
mod limbs;
mod newton;
pub mod newton_cr;
mod octet;
pub mod pgs;
mod polish;
mod relax;
mod rows;
pub mod sap;
mod search;
mod sparse;
pub mod subadmm;
mod system;
pub mod whole;

use std::time::Duration;

use manyworlds_shaders::Scalar;

use crate::problem::ContactProblem;
use crate::residual::{Quality, quality};
pub use batch::{BatchForm, BatchSetup, BatchSolver, Demand, IslandSolve, LoneTrees, SetSolve, SolveBuffers};
pub use canal::CanalParams;
pub use closing::finish_condensed;
use iterate::timed;
pub use newton_cr::{NcpFunction, NewtonCrParams, Scaling};
pub use relax::Relaxation;
pub use sap::SapParams;
pub use subadmm::{Penalty, SubAdmmParams};

/// Arithmetic of a solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    #[default]
    F64,
}

/// What every solver takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveSettings {
    /// Arithmetic.
    pub precision: Precision,
    /// An island is solved when its residual (number 1) is at most this, N s; in f32, where that cannot be reached for
    /// heavy bodies, also when its scaled residual is, m/s.
    pub tolerance: f64,
    /// Most iterations.
    pub iterations: u32,
    /// Whether to record the residual after every iteration (which solves the problem a second time).
    pub history: bool,
    /// Whether `auto` goes on with what takes long and few problems need. What solves problems in rounds, each from what the last one
    /// left, does without.
    pub patient: bool,
    /// Whether `auto` does over again what kernels did: theirs was in single precision, where rounding leaves more of small problems
    /// than the tolerance allows.
    pub again: bool,
}

impl Default for SolveSettings {
    fn default() -> Self {
        Self {
            precision: Precision::F64,
            tolerance: 1e-9,
            iterations: 10_000,
            history: false,
            patient: true,
            again: false,
        }
    }
}

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolveStatus {
    /// Every island met the tolerance; by a solver that is not of exact contact, its own.
    Converged,
    /// The same, but of a problem whose biases gave way, because no motion gives what they ask for.
    Relaxed,
    /// Some island ran out of iterations.
    IterationLimit,
    /// A number became infinite or a NaN.
    NonFinite,
}

impl SolveStatus {
    /// The word that reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Relaxed => "relaxed",
            Self::IterationLimit => "iteration limit",
            Self::NonFinite => "non-finite",
        }
    }
}

/// Stages of `auto`, in the order in which they are tried, and what the host does in batches of other solvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Sweeps of projected Gauss-Seidel.
    Sweeps,
    /// Newton steps on the strict map.
    Newton,
    /// CANAL.
    Canal,
    /// Newton steps from where CANAL was.
    CanalNewton,
    /// Sweeps for what was left of the iterations.
    MoreSweeps,
    /// SAP on the host.
    Sap,
    /// Newton with conjugate residuals on the host, and what finishes it.
    NewtonCr,
}

impl Stage {
    /// The words that reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sweeps => "sweeps",
            Self::Newton => "Newton",
            Self::Canal => "CANAL",
            Self::CanalNewton => "Newton after CANAL",
            Self::MoreSweeps => "further sweeps",
            Self::Sap => "SAP",
            Self::NewtonCr => "Newton-CR",
        }
    }
}

/// Impulses and velocity of one problem, and how good they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The solver's name.
    pub solver: &'static str,
    /// How it ended.
    pub status: SolveStatus,
    /// Iterations of the island that took most.
    pub iterations: u32,
    /// Outer iterations of the island that took most, for solvers that have such; else 0.
    pub outer: u32,
    /// The last stage that an island needed, of a solver that has such; that one was unsolved says the status.
    pub stage: Option<Stage>,
    /// Velocity as the solver left it, `[n_v]`.
    pub v: Vec<f64>,
    /// Impulses, contacts then rows, N s, `[n_rows]`.
    pub lambda: Vec<f64>,
    /// Residuals, recomputed from `lambda` in f64 outside the solver, of the problem with what is relaxed.
    pub quality: Quality,
    /// Biases that gave way, because no motion gives what they ask for; by constraint.
    pub relaxed: Vec<Relaxation>,
    /// Residual (number 1) after each iteration, the start included; empty unless asked for.
    pub history: Vec<f64>,
    /// Time of the solver alone, without packing and measuring.
    pub elapsed: Duration,
}

/// What a solver gives back, before it is measured.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub status: SolveStatus,
    /// Iterations of the island that took most.
    pub iterations: u32,
    /// Outer iterations of the island that took most, for solvers that have such; else 0.
    pub outer: u32,
    /// The last stage that an island needed, of a solver that has such.
    pub stage: Option<Stage>,
    /// `[n_v]`
    pub v: Vec<f64>,
    /// `[n_rows]`
    pub lambda: Vec<f64>,
    /// Time of the solver alone.
    pub elapsed: Duration,
    /// Impulses after each iteration, when a history is wanted.
    pub trace: Vec<Vec<f64>>,
}

impl Outcome {
    /// What a problem starts from.
    fn unsolved(problem: &ContactProblem) -> Self {
        Self {
            status: SolveStatus::IterationLimit,
            iterations: 0,
            outer: 0,
            stage: None,
            v: problem.velocity(&problem.warm_start),
            lambda: problem.warm_start.clone(),
            elapsed: Duration::ZERO,
            trace: Vec::new(),
        }
    }
}

/// Which contact a solver solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactModel {
    /// Signorini and Coulomb: number 1 of the certificate is what is left of its problem.
    Exact,
    /// Compliant and convex: number 1 also measures how far the model is from exact contact.
    Convex,
    /// Exact but for friction, which a pyramid bounds instead of a cone: likewise.
    Pyramid,
}

/// Memory that [`Solver::finish`] works in, kept from one problem to the next; nothing in it outlives a problem.
#[derive(Default)]
pub struct Workspace {
    sap: sap::Work<f64>,
}

/// A solver of contact problems.
pub trait Solver: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Which contact it solves.
    fn model(&self) -> ContactModel {
        ContactModel::Exact
    }
    /// What kernels do of it in batches of worlds whose steps are taken in so many parts; none: the host solves every
    /// world.
    fn batch(&self, _substeps: u32) -> Option<BatchForm> {
        None
    }
    /// In batches: whether worlds that the kernels left unsolved are given to [`Self::finish`]. Of a solver of exact contact that
    /// has none the host looks at steps that may ask for the impossible, and at no others.
    fn finishes(&self) -> bool {
        self.batch(1).is_none()
    }
    /// Solves one problem of dense subsystems ([`ContactProblem::condensed`]).
    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome;
    /// Whether what it leaves unsolved with iterations to spare may be taken for a problem without a solution.
    fn gives_up(&self) -> bool {
        false
    }
    /// Whether steps with soft bodies may be taken by [`whole::newton`] first, which solves the same laws.
    fn takes_whole_steps(&self) -> bool {
        false
    }
    /// Whether it asks for the responses of a problem.
    fn responds(&self) -> bool {
        true
    }
    /// Goes on from where the kernels left a problem, its warm start. They had as many iterations as `settings` say; this
    /// may take more.
    fn finish(&self, problem: &ContactProblem, settings: &SolveSettings, _: &mut Workspace) -> Outcome {
        self.solve(problem, settings)
    }
}

/// All solvers; the first is the default.
pub const SOLVERS: &[&dyn Solver] = &[
    &auto::Auto,
    &newton::Newton,
    &pgs::Pgs,
    &subadmm::SubAdmm,
    &canal::Canal,
    &sap::Sap,
    &newton_cr::NewtonCr,
    &dantzig::Dantzig,
];

/// Why nothing was solved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// No solver has this name.
    #[error("unknown solver \"{name}\": there is {known}")]
    UnknownSolver {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A setting without meaning.
    #[error("{setting}: {what}")]
    Setting {
        /// Which.
        setting: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

/// The solver of a name.
///
/// # Errors
/// [`SolveError::UnknownSolver`], naming those there are.
pub fn solver(name: &str) -> Result<&'static dyn Solver, SolveError> {
    SOLVERS.iter().find(|s| s.name() == name).copied().ok_or_else(|| SolveError::UnknownSolver {
        name: name.to_owned(),
        known: SOLVERS.iter().map(|s| s.name()).collect::<Vec<_>>().join(", "),
    })
}

impl SolveSettings {
    /// Refuses settings without meaning.
    ///
    /// # Errors
    /// A tolerance that is negative or no number.
    pub fn validate(&self) -> Result<(), SolveError> {
        if self.tolerance >= 0.0 && self.tolerance.is_finite() {
            return Ok(());
        }
        Err(SolveError::Setting { setting: "tolerance", what: format!("{} is negative or not finite", self.tolerance) })
    }
}

/// Solves one problem and measures the solution.
///
/// # Errors
/// An unknown solver, or a setting without meaning. A problem that is not solved is no error: see
/// [`Solution::status`].
pub fn solve(problem: &ContactProblem, name: &str, settings: &SolveSettings) -> Result<Solution, SolveError> {
    let solver = solver(name)?;
    settings.validate()?;
    let solve =
        |problem: &mut _| relaxed(problem, solver, settings, Before::Solved, |problem| solver.solve(problem, settings));
    let (outcome, relaxed) = on_dense(problem, solver.responds(), solve);
    Ok(measured(problem, solver.name(), outcome, relaxed))
}

/// Settings of one solver, and the solver by them.
pub trait SolverParams {
    /// The solver's name in [`SOLVERS`].
    fn solver(&self) -> &'static str;
    /// Refuses settings that cannot be.
    ///
    /// # Errors
    /// [`SolveError::Setting`] names the first such.
    fn validate(&self) -> Result<(), SolveError>;
    /// Solves one problem with them, which are valid, in this arithmetic; `trace` takes the impulses after each iteration.
    fn iterate<T: Scalar>(
        &self,
        problem: &ContactProblem,
        settings: &SolveSettings,
        trace: Option<&mut Vec<Vec<f64>>>,
    ) -> Outcome;
    /// The same in the precision that is asked for, timed. Each solver has it as its own, so that it is compiled here and not
    /// in every crate that solves.
    fn run(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome;
}

/// [`SolverParams::run`] of any solver.
fn run(params: &impl SolverParams, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
    match settings.precision {
        Precision::F32 => timed(settings, |trace| params.iterate::<f32>(problem, settings, trace)),
        Precision::F64 => timed(settings, |trace| params.iterate::<f64>(problem, settings, trace)),
    }
}

/// As [`solve`], with settings of the solver of one's own.
///
/// # Errors
/// A setting without meaning.
pub fn solve_with(
    problem: &ContactProblem,
    settings: &SolveSettings,
    params: &impl SolverParams,
) -> Result<Solution, SolveError> {
    settings.validate()?;
    params.validate()?;
    let solver = solver(params.solver())?;
    let solve =
        |problem: &mut _| relaxed(problem, solver, settings, Before::Solved, |problem| params.run(problem, settings));
    let (outcome, relaxed) = on_dense(problem, true, solve);
    Ok(measured(problem, solver.name(), outcome, relaxed))
}

/// What a solver makes of a problem, which it is given with dense subsystems alone.
fn on_dense(
    problem: &ContactProblem,
    responses: bool,
    solve: impl FnOnce(&mut ContactProblem) -> (Outcome, Vec<Relaxation>),
) -> (Outcome, Vec<Relaxation>) {
    let Some(mut condensed) = problem.condensed(responses) else { return solve(&mut problem.clone()) };
    let (outcome, relaxed) = solve(&mut condensed.problem);
    (Outcome { v: condensed.expanded(problem, &outcome.v), ..outcome }, relaxed)
}

/// What a solver makes of a problem, or where that asks for the impossible of the nearest one which does not, and what gave way.
/// Compliant contact has an answer to everything.
fn relaxed(
    problem: &mut ContactProblem,
    solver: &dyn Solver,
    settings: &SolveSettings,
    before: Before,
    run: impl FnOnce(&ContactProblem) -> Outcome,
) -> (Outcome, Vec<Relaxation>) {
    if solver.model() == ContactModel::Convex {
        return (run(problem), Vec::new());
    }
    let mut list = relax::left_out(problem);
    let biases: Vec<_> = list.iter().map(|r| (r.constraint, problem.constraints[r.constraint].e)).collect();
    problem.relax(&list);
    let (outcome, gave_way) = if solver.model() == ContactModel::Pyramid {
        relax::of_pyramids(problem, settings, run)
    } else {
        let again = match before {
            Before::Solved => None,
            Before::Relaxed { ask } => relax::again(problem, settings, ask),
        };
        again.unwrap_or_else(|| {
            let outcome = run(problem);
            relax::relax(problem, settings, &outcome, solver.gives_up()).unwrap_or((outcome, Vec::new()))
        })
    };
    biases.into_iter().for_each(|(constraint, e)| problem.constraints[constraint].e = e);
    list.extend(gave_way);
    list.sort_unstable_by_key(|r| r.constraint);
    (outcome, list)
}

/// How the step before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Before {
    /// Like any other.
    #[default]
    Solved,
    /// It was relaxed, and its impulses are the warm start.
    Relaxed {
        /// Whether a relaxed answer is only taken if there is no other.
        ask: bool,
    },
}

/// Goes on from where the kernels of a batch left a problem of dense subsystems: as [`Solver::finish`], and where the problem
/// asks for the impossible as [`solve`], in whose memory it is relaxed meanwhile. After a relaxed step the kernels have left the
/// problem alone.
pub fn finish(
    solver: &dyn Solver,
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    before: Before,
    work: &mut Workspace,
) -> (Outcome, Vec<Relaxation>) {
    relaxed(problem, solver, settings, before, |problem| solver.finish(problem, settings, work))
}

/// As [`finish`] for a solver that does not go on from where its kernels were: the problem stays as they left it, its warm start,
/// unless it asks for the impossible. What no longer does so the kernels have not tried: it is solved by all means.
pub fn leave(
    solver: &dyn Solver,
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    before: Before,
) -> (Outcome, Vec<Relaxation>) {
    relaxed(problem, solver, settings, before, |problem| match before {
        Before::Solved => Outcome::unsolved(problem),
        Before::Relaxed { .. } => auto::Auto.solve(problem, settings),
    })
}

/// What a solver gave back, measured in f64.
fn measured(problem: &ContactProblem, solver: &'static str, outcome: Outcome, relaxed: Vec<Relaxation>) -> Solution {
    let mut eased;
    let problem = if relaxed.is_empty() {
        problem
    } else {
        eased = problem.clone();
        eased.relax(&relaxed);
        &eased
    };
    let residual = |lambda: &Vec<f64>| quality(problem, lambda, &problem.v_free).residual;
    let status = match outcome.status {
        SolveStatus::Converged if !relaxed.is_empty() => SolveStatus::Relaxed,
        status => status,
    };
    Solution {
        solver,
        status,
        iterations: outcome.iterations,
        outer: outcome.outer,
        stage: outcome.stage,
        quality: quality(problem, &outcome.lambda, &outcome.v),
        history: outcome.trace.iter().map(residual).collect(),
        relaxed,
        v: outcome.v,
        lambda: outcome.lambda,
        elapsed: outcome.elapsed,
    }
}
