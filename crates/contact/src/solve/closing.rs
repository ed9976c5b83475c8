//! A problem with soft bodies by those of its contacts that may close.
//!
//! Contacts are looked for ahead, as far as bodies may move in a step. A body thrown about that touches itself has thousands, of which
//! some dozen push. An impulse of zero solves an open contact: `J v + e >= 0` along its normal. So those contacts are solved that
//! pushed before or would be violated at the velocity at hand; what the answer violates of the others is taken in, and so on, until
//! nothing is. That answer solves the whole problem.

use super::{Before, ContactModel, Outcome, Relaxation, SolveSettings, SolveStatus, Solver, Workspace, finish};
use crate::problem::{ContactProblem, Law};

/// So few constraints are solved together.
const FEW: usize = 64;
/// Part of the iterations that those may take which some of the others may yet join.
const FIRST: u32 = 8;

/// Goes on from where a problem begins: as [`finish`], in what constraints touch of its sparse subsystems. The warm start and the
/// velocity to start from are lost.
pub fn finish_condensed(
    solver: &dyn Solver,
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    mut before: Before,
    work: &mut Workspace,
) -> (Outcome, Vec<Relaxation>) {
    let (mut iterations, mut most) = (0, settings.iterations.div_ceil(FIRST));
    let mut closing = Closing::new(problem, solver.model());
    while let Some(kept) = closing.kept() {
        let mut small = problem.condensed_to(&mut kept.iter().copied(), solver.responds());
        small.arrange();
        let own = SolveSettings { iterations: most, ..*settings };
        let (outcome, mut relaxed) = finish(solver, &mut small, &own, before, work);
        iterations += outcome.iterations;
        relaxed.iter_mut().for_each(|r| r.constraint = kept[r.constraint]);
        let mut lambda = vec![0.0; problem.n_rows];
        for (c, &index) in small.constraints.iter().zip(&kept) {
            let (rows, to) = (c.law.rows(), problem.constraints[index].row);
            lambda[to..to + rows].copy_from_slice(&outcome.lambda[c.row..c.row + rows]);
        }
        let v = problem.velocity(&lambda);
        let (solved, violated) = (outcome.status == SolveStatus::Converged, closing.take_in(problem, &v));
        if !violated && (solved || most == settings.iterations) {
            return (Outcome { iterations, lambda, v, ..outcome }, relaxed);
        }
        if !violated {
            most = settings.iterations;
        }
        if (solved || !violated) && v.iter().all(|x| x.is_finite()) {
            (problem.warm_start, problem.v_start) = (lambda, v);
        }
        if !relaxed.is_empty() {
            before = Before::Relaxed { ask: false };
        }
    }
    let (outcome, relaxed) = match problem.condensed(solver.responds()) {
        Some(mut small) => finish(solver, &mut small.problem, settings, before, work),
        None => finish(solver, problem, settings, before, work),
    };
    let v = problem.velocity(&outcome.lambda);
    (Outcome { iterations: iterations + outcome.iterations, v, ..outcome }, relaxed)
}

/// Which constraints are solved.
struct Closing {
    /// By constraint.
    kept: Vec<bool>,
}

impl Closing {
    /// Those that pushed or are violated as a problem begins, and all that are not contacts or that nothing moves. All where they are
    /// few, or where an open contact may push: one that is compliant does, and so may friction by a pyramid.
    fn new(problem: &ContactProblem, model: ContactModel) -> Self {
        let n = problem.constraints.len();
        if model != ContactModel::Exact || n <= FEW || problem.sparse.is_empty() || problem.v_start.is_empty() {
            return Self { kept: vec![true; n] };
        }
        let kept = problem.constraints.iter().map(|c| {
            let pushed = problem.warm_start[c.row..c.row + c.law.rows()].iter().any(|&x| x != 0.0);
            !matches!(c.law, Law::Contact { .. }) || pushed || c.mass() == 0.0
        });
        let mut own = Self { kept: kept.collect() };
        own.take_in(problem, &problem.v_start);
        own
    }

    /// Their numbers; none where they are more than half of all, or there are none.
    fn kept(&self) -> Option<Vec<usize>> {
        let n = self.kept.len();
        let kept: Vec<usize> = (0..n).filter(|&i| self.kept[i]).collect();
        (n > 0 && 2 * kept.len() <= n).then_some(kept)
    }

    /// Adds those that a velocity violates; whether there are such.
    fn take_in(&mut self, problem: &ContactProblem, v: &[f64]) -> bool {
        let mut violated = false;
        for (kept, c) in self.kept.iter_mut().zip(&problem.constraints).filter(|(kept, _)| !**kept) {
            *kept = problem.sigma(c, v)[2] + c.e[2] < 0.0;
            violated |= *kept;
        }
        violated
    }
}
