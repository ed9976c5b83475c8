//! The stages of `auto` beyond those of batches, on one island.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::local::HOPELESS;

use super::super::canal::{CanalParams, IslandState, Step};
use super::super::iterate::measure;
use super::super::polish::{Polish, Trust};
use crate::problem::{ContactProblem, Law};
use crate::solve::{Precision, SolveSettings, Stage};

/// Outer iterations of CANAL after which Newton steps are tried: most islands need no more than the first, bodies wedged in
/// a corner with friction 1, where cones of wall and floor just touch, hundreds.
const LOOKS: [u32; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Outer iterations before stiff Newton steps are tried as well.
const STIFF_FROM: u32 = 64;
/// Outer iterations within which a residual near the tolerance halves where there is something to converge to: bodies told
/// to undo a penetration that friction does not let them undo stall just above it.
const STALL: u32 = 64;
/// So many tolerances are near.
const NEAR: f64 = 100.0;
/// Where Newton steps are so many tolerances off by their own measure, they are not measured by the certificate's, which takes as long as
/// a fourth of a step.
const FAR: f64 = 3.0;
/// Rows a degree of freedom from which on there are none before CANAL: most of so many contacts say the same, and what Newton
/// steps make of their impulses is a worse start.
const CROWDED: usize = 4;

/// What makes a search end before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::solve) enum Watch {
    /// Nothing.
    Nothing,
    /// Impulses that grow as they do where biases ask for the impossible.
    Requests,
}

/// An island while its stages look for something better than what it has.
pub(in crate::solve) struct Search<'a> {
    problem: &'a ContactProblem,
    island: &'a Island,
    settings: &'a SolveSettings,
    /// Iterations left.
    left: u32,
    watch: Watch,
    /// Iterations in a row that were hopeless: see [`HOPELESS`]; two end the search.
    hopeless: u32,
    /// Best impulses so far, `[n_rows]` of the problem, and their residual, N s.
    pub(in crate::solve) best: Vec<f64>,
    residual: f64,
    solved: bool,
    /// Impulses after each iteration, when a history is wanted.
    pub(super) trace: Vec<Vec<f64>>,
    pub(in crate::solve) iterations: u32,
    /// Outer iterations of CANAL.
    pub(super) outer: u32,
    scratch: Vec<f64>,
}

impl<'a> Search<'a> {
    /// Starts from impulses of the problem, with at most so many iterations.
    pub(in crate::solve) fn new(
        problem: &'a ContactProblem,
        island: &'a Island,
        settings: &'a SolveSettings,
        lambda: &[f64],
        left: u32,
        watch: Watch,
    ) -> Self {
        let mut scratch = problem.v_free.clone();
        let (solved, residual) = measure(problem, island, settings, lambda, &mut scratch);
        Self {
            problem,
            island,
            settings,
            left,
            watch,
            hopeless: 0,
            best: lambda.to_vec(),
            residual,
            solved,
            trace: Vec::new(),
            iterations: 0,
            outer: 0,
            scratch,
        }
    }

    /// Whether it has a solution.
    pub(in crate::solve) fn solves(&self) -> bool {
        self.solved
    }

    /// Whether it ended because biases ask for the impossible.
    pub(super) fn is_hopeless(&self) -> bool {
        2 <= self.hopeless
    }

    /// Whether it is time to stop.
    fn is_over(&self) -> bool {
        self.left == 0 || self.is_hopeless()
    }

    /// So many sweeps first: whether they solve the island.
    pub(in crate::solve) fn sweep(&mut self, most: u32) -> bool {
        let mut lambda = self.best.clone();
        let mut state = Polish::<f64>::new(self.problem, self.island, &lambda, Trust::QUICK);
        for _ in 0..most {
            if self.is_over() {
                return false;
            }
            state.sweep();
            state.impulses(&mut lambda);
            if self.note(&lambda) {
                return true;
            }
        }
        false
    }

    /// The stages in turn; the one that solved the island.
    pub(in crate::solve) fn run<T: Scalar>(&mut self) -> Option<Stage> {
        if self.is_crowded() {
            return self.canal::<T>();
        }
        let start = self.best.clone();
        if self.polish::<T>(&start, &[Trust::QUICK]) {
            return Some(Stage::Newton);
        }
        if !self.settings.patient {
            return self.canal::<T>();
        }
        let kept = Trust::PATIENT.rounds.min(self.left / 2);
        self.left -= kept;
        let found = self.canal::<T>();
        self.left += kept;
        // From where it began: around the best that CANAL found it has been already.
        found.or_else(|| self.polish::<T>(&start, &[Trust::PATIENT]).then_some(Stage::CanalNewton))
    }

    /// See [`CROWDED`].
    fn is_crowded(&self) -> bool {
        let ContactProblem { plan, constraints, subsystems, .. } = self.problem;
        let rows: usize = plan.constraints_of(self.island).iter().map(|&c| constraints[c as usize].law.rows()).sum();
        let dofs: usize = plan.members_of(self.island).iter().map(|&s| subsystems[s as usize].count).sum();
        rows >= CROWDED * dofs
    }

    /// Takes in the impulses of one iteration: whether they solve the island.
    fn note(&mut self, lambda: &[f64]) -> bool {
        let solved = self.keep(lambda);
        self.count(lambda, solved);
        solved
    }

    /// Measures impulses, and keeps the best: whether they solve the island.
    fn keep(&mut self, lambda: &[f64]) -> bool {
        let (solved, residual) = measure(self.problem, self.island, self.settings, lambda, &mut self.scratch);
        self.solved |= solved;
        // A NaN is no improvement.
        if solved || residual < self.residual {
            self.residual = residual;
            self.best.copy_from_slice(lambda);
        }
        solved
    }

    /// Counts an iteration, and looks whether there is hope.
    fn count(&mut self, lambda: &[f64], solved: bool) {
        self.left -= 1;
        self.iterations += 1;
        if self.settings.history {
            self.trace.push(lambda.to_vec());
        }
        if self.watch == Watch::Requests && !solved {
            let is_hopeless = self.problem.work_of_requests(self.island, lambda) > HOPELESS;
            self.hopeless = if is_hopeless { self.hopeless + 1 } else { 0 };
        }
    }

    /// Newton steps on the strict map, in each of these ways until one solves the island: whether one does.
    pub(in crate::solve) fn polish<T: Scalar>(&mut self, from: &[f64], ways: &[Trust]) -> bool {
        let Some((first, others)) = ways.split_first() else { return false };
        let mut state = Polish::<T>::new(self.problem, self.island, from, *first);
        let far = self.far();
        if self.rounds(&mut state, first.rounds, from, far) {
            return true;
        }
        others.iter().any(|trust| {
            state.start(self.problem, self.island, from, *trust);
            self.rounds(&mut state, trust.rounds, from, far)
        })
    }

    /// So many rounds at most, from impulses, until they solve the island; what leaves more of the laws than `far`, N s, is no
    /// solution.
    fn rounds<T: Scalar>(&mut self, state: &mut Polish<T>, most: u32, from: &[f64], far: f64) -> bool {
        let mut lambda = from.to_vec();
        let mut is_measured = true;
        for _ in 0..most {
            if self.is_over() || !state.round() {
                break;
            }
            state.impulses(&mut lambda);
            is_measured = state.least_left() <= far;
            let solved = is_measured && self.keep(&lambda);
            self.count(&lambda, solved);
            if solved {
                return true;
            }
        }
        // What is far off is measured only where it was the last.
        !is_measured && self.keep(&lambda)
    }

    /// What leaves more of the laws than this, N s, is no solution; infinite where nobody can tell.
    fn far(&self) -> f64 {
        if self.settings.precision == Precision::F32 {
            return f64::INFINITY;
        }
        let ContactProblem { plan, constraints, .. } = self.problem;
        let is_contact = |c: &&u32| matches!(constraints[**c as usize].law, Law::Contact { .. });
        let contacts = plan.constraints_of(self.island).iter().filter(is_contact).count();
        FAR * self.settings.tolerance * contacts.max(1) as f64
    }

    /// CANAL, and Newton steps from where it is.
    fn canal<T: Scalar>(&mut self) -> Option<Stage> {
        let params = CanalParams { outer: LOOKS[LOOKS.len() - 1], ..Default::default() };
        let mut lambda = self.best.clone();
        let mut state = IslandState::<T>::new(self.problem, self.island, &lambda, &params);
        let (mut halved, mut half) = (0, 0.5 * self.residual);
        while !self.is_over() {
            let step = state.step();
            if step == Step::Broken {
                return None;
            }
            state.impulses(&mut lambda);
            if self.note(&lambda) {
                return Some(Stage::Canal);
            }
            if step == Step::Inner {
                continue;
            }
            self.outer = state.outer;
            if LOOKS.contains(&state.outer) {
                let ways = [Trust::QUICK, Trust::STIFF];
                let ways = if STIFF_FROM <= state.outer { &ways[..] } else { &ways[..1] };
                if self.polish::<T>(&lambda, ways) {
                    return Some(Stage::CanalNewton);
                }
            }
            if self.residual < half {
                (halved, half) = (state.outer, 0.5 * self.residual);
            }
            let stalled = STALL <= state.outer - halved && self.residual <= NEAR * self.settings.tolerance;
            if state.outer == params.outer || stalled {
                let best = self.best.clone();
                return self.polish::<T>(&best, &[Trust::STIFF]).then_some(Stage::CanalNewton);
            }
            state.update();
        }
        None
    }
}
