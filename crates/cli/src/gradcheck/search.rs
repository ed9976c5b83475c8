//! Which state near one of a run is compared.

use manyworlds::gradcheck::Checker;
use manyworlds::model::Model;
use manyworlds::{Certificate, Error, State, random, tangent};

use super::GradcheckArgs;
use super::outcome::{Verdict, verdict};

/// Random changes, of `--spread`.
const SPREADS: [f64; 3] = [1.0, 10.0, 100.0];
/// How many of each are looked at.
const DRAWS: u64 = 2;

/// Where states are looked for.
pub(super) struct Search<'m> {
    pub(super) model: &'m Model,
    pub(super) args: &'m GradcheckArgs,
    /// Least distance to a switch of modes, m/s.
    pub(super) margin: f64,
    /// Whether directions are to be compared.
    pub(super) directions: bool,
    /// Number of the state.
    pub(super) index: u32,
}

/// A state to compare.
pub(super) struct Found {
    pub(super) state: State,
    /// It was changed at random.
    pub(super) changed: bool,
    /// Of its steps those are to be compared that undo violations whole.
    pub(super) undone: bool,
}

impl Search<'_> {
    /// The first state that can be judged whole, or else but for derivatives by q; that of the run where none can. `checkers`:
    /// of the step, and of the step that undoes violations whole.
    pub(super) fn run(&self, state: &State, checkers: &mut [Checker; 2]) -> Result<Found, Error> {
        let mut second = None;
        for (at, candidate) in self.candidates(state).enumerate() {
            let mut certificate = checkers[0].look(&candidate, self.directions)?;
            let mut undone = false;
            if certificate.margin < self.margin {
                // It may be no more than a gap that is almost closed.
                certificate = checkers[1].look(&candidate, self.directions)?;
                undone = true;
            }
            if !self.is_judged(&certificate) {
                continue;
            }
            let found = Found { state: candidate, changed: at > 0, undone };
            if certificate.valid() {
                return Ok(found);
            }
            second = second.or(Some(found));
        }
        Ok(second.unwrap_or_else(|| Found { state: state.clone(), changed: false, undone: false }))
    }

    fn is_judged(&self, certificate: &Certificate) -> bool {
        verdict(certificate, self.margin) == Verdict::Judged
    }

    /// A state and random changes of it. Velocities alone come first: what touches goes on touching all over its faces,
    /// whose corners would contradict each other once they were at different heights.
    fn candidates<'s>(&'s self, state: &'s State) -> impl Iterator<Item = State> + 's {
        let most = if self.args.spread > 0.0 { usize::MAX } else { 0 };
        let kinds = [false, true].into_iter().flat_map(|moves| SPREADS.map(|times| (moves, times)));
        let changes = kinds.flat_map(|(moves, times)| (0..DRAWS).map(move |draw| (moves, times, draw))).enumerate();
        let changed = changes.map(|(change, (moves, times, _))| self.changed(state, change as u64, moves, times));
        std::iter::once(state.clone()).chain(changed.take(most))
    }

    /// A state with its velocities, and where it `moves` its positions, changed at random.
    fn changed(&self, state: &State, change: u64, moves: bool, times: f64) -> State {
        let spread = times * self.args.spread;
        let h = self.args.run.dt.unwrap_or(self.model.options.timestep);
        let (world, step) = (1 + change, u64::from(self.index));
        let draw = |entry: usize| spread * random::symmetric(self.args.seed, world, step, entry as u64);
        let n_v = self.model.n_v;
        let moved: Vec<f64> = (0..n_v).map(|i| h * draw(i)).collect();
        State {
            // Not even rounded, for gaps that are closed.
            q: if moves { tangent::moved(self.model, &state.q, &moved) } else { state.q.clone() },
            v: state.v.iter().enumerate().map(|(i, v)| v + draw(n_v + i)).collect(),
            ..state.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::gradcheck::Checker;
    use manyworlds::{Batch, BatchOptions, Executor, Precision, State};

    use super::{Found, Search};
    use crate::gradcheck::options_of;

    /// After so many steps of `clutter`, and what is found there.
    fn found(steps: u32, spread: &str) -> (State, Found) {
        let args = options_of(&format!("clutter --spread {spread}"));
        let model = args.model.load().unwrap().model;
        let mut settings = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            tolerance: 1e-13,
            iterations: 5000,
            ..BatchOptions::default()
        };
        let mut batch = Batch::new(&[(&model, 1)], &settings).unwrap();
        (0..steps).for_each(|_| batch.step::<f64>(&[]).unwrap());
        let state = batch.state(0).unwrap();
        let plain = Checker::sampled(&model, &settings, 2e-7, 1).unwrap();
        settings.stabilisation.fraction = 1.0;
        let undone = Checker::sampled(&model, &settings, 2e-7, 1).unwrap();
        let search = Search { model: &model, args: &args, margin: 1e-5, directions: false, index: 0 };
        let found = search.run(&state, &mut [plain, undone]).unwrap();
        (state, found)
    }

    #[test]
    fn a_state_is_changed_only_where_it_must_be() {
        // On its way nothing speaks against it.
        let (state, at) = found(25, "0.01");
        assert!(!at.changed && !at.undone && at.state == state);
        // A corner that has just come down carries nothing.
        let (state, at) = found(50, "0.01");
        assert!(at.changed && at.state.v != state.v);
        let (state, at) = found(50, "0");
        assert!(!at.changed && at.state == state);
    }

    #[test]
    fn velocities_are_changed_first_and_by_more_and_more() {
        let args = options_of("clutter --spread 0.02");
        let model = args.model.load().unwrap().model;
        let state = State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() };
        let search = Search { model: &model, args: &args, margin: 1e-5, directions: false, index: 3 };
        let candidates: Vec<State> = search.candidates(&state).collect();
        assert_eq!(candidates[0], state);
        let spreads = [0.02, 0.02, 0.2, 0.2, 2.0, 2.0];
        assert_eq!(candidates.len(), 1 + 2 * spreads.len());
        for (at, (candidate, spread)) in candidates[1..].iter().zip(spreads.iter().cycle()).enumerate() {
            let most = candidate.v.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            assert!(most <= *spread && most > 0.9 * spread, "{at}: {most}");
            assert_eq!(candidate.q == state.q, at < spreads.len(), "{at}");
        }
    }
}
