//! The host's part of a solver: worlds whose contacts the kernels left unsolved, between two halves of a step.

use std::cell::Cell;
use std::ops::Range;
use std::time::Duration;

use manyworlds_gpu::Instant;

use manyworlds_contact::ContactProblem;
use manyworlds_contact::residual::by_island;
use manyworlds_contact::solve::whole::newton;
use manyworlds_contact::solve::{
    Before, ContactModel, Outcome, Precision, Relaxation, SolveSettings, SolveStatus, Stage, Workspace, finish, leave,
};
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::index::tile_at;
use manyworlds_shaders::{LANES, Scalar};
use manyworlds_soft::{FreeWork, SoftLayout};
use manyworlds_sparse::FactorWork;
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::problem::{Home, Reading, Responses, Sides, WorldProblem, Worlds};
use super::super::seen::whole;
use super::super::shared::Shared;
use super::super::soft::SoftStep;
use super::nonlinear::{Round, nonlinear};
use super::whole::{WholeOrder, WholeStep};
use crate::host::Packed;
use crate::{Error, Summary};

thread_local! {
    /// What a thread solves one world after the other in. Given back in between, the memory of a large island would be
    /// taken from the system and cleared anew each time, which costs as much as a Newton step.
    static DESK: Cell<Desk> = Cell::default();
    /// As [`DESK`], for bodies that nothing touches.
    static FREE: Cell<FreeWork> = Cell::default();
}

/// Memory for a problem and for what solves it.
#[derive(Default)]
struct Desk {
    problem: ContactProblem,
    work: Workspace,
    factor: FactorWork,
}

/// A world that the host solved. Its problem is gone: one after the other takes the same memory.
struct Solved {
    world: usize,
    /// Where each constraint's impulses stand, and which they are.
    homes: Vec<(Home, Range<usize>)>,
    outcome: Outcome,
    relaxed: Vec<Relaxed>,
    /// None of another contact than the certificate's.
    left: Option<Left>,
}

/// The buffers of a chunk that answers go to.
struct Answers<T> {
    sets: Vec<SetAnswers<T>>,
    /// Impulses of islands of several trees.
    islands: Vec<T>,
}

/// Those of one set.
struct SetAnswers<T> {
    velocity: Vec<T>,
    row: Vec<T>,
    impulse: Vec<T>,
}

impl<T: Scalar> Answers<T> {
    /// What stands there now.
    fn new(chunk: &mut Chunk<T>) -> Result<Self, Error> {
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in 0..chunk.sets.len() {
            let (b, impulses) = (chunk.sets[set].step.buffers, chunk.sets[set].step.impulses);
            let impulse = whole(&mut *chunk.store, impulses.now)?;
            sets.push(SetAnswers {
                velocity: whole(&mut *chunk.store, b.velocity)?,
                row: whole(&mut *chunk.store, b.row)?,
                impulse,
            });
        }
        let impulses = chunk.islands.impulses.now;
        let islands = if chunk.host.islands.is_empty() { Vec::new() } else { whole(&mut *chunk.store, impulses)? };
        Ok(Self { sets, islands })
    }
}

impl<T: Scalar> Chunk<T> {
    /// Solves what the kernels did not, and puts it where they would have. Whether there was anything.
    pub(super) fn solve_rest(&mut self) -> Result<bool, Error> {
        self.answers.clear();
        self.answers.resize(self.n_world, None);
        let wanted: Vec<usize> = (0..self.n_world).filter(|&world| self.is_unsolved(world)).collect();
        self.leave_to_kernels(&wanted)?;
        if wanted.is_empty() {
            return Ok(false);
        }
        let clock = Instant::now();
        self.fetch_problems()?;
        let reading = Reading::new(self, Sides::Whole)?;
        let (shared, host, worlds) = (&*self.shared, self.host.packed(), reading.of(&*self.store));
        // Nothing but these moves, and nothing touches them: there are no constraints at all.
        let layouts: Vec<_> = shared.soft.iter().filter_map(|soft| soft.layout.as_ref()).collect();
        let planned = !layouts.is_empty() && layouts.len() == shared.soft.len();
        let is_free = |world: &usize| planned && host.worlds[*world].soft.is_empty();
        let packs = packs(&wanted, is_free);
        let solve = |pack: &&[usize]| -> Vec<Option<Solved>> {
            let free = if is_free(&pack[0]) { solve_free(shared, &layouts, &host, &worlds, pack) } else { Vec::new() };
            let mut free = free.into_iter();
            let one = |&world: &usize| free.next().flatten().or_else(|| solve(shared, &host, &worlds, world));
            pack.iter().map(one).collect()
        };
        // A thread alone hands nothing over.
        let solved: Vec<_> = if packs.len() > 1 && rayon::current_num_threads() > 1 {
            packs.par_iter().map(solve).collect()
        } else {
            packs.iter().map(solve).collect()
        };
        let solved: Vec<Solved> = solved.into_iter().flatten().flatten().collect();
        let mut answers = Answers::new(self)?;
        for set in &mut self.sets {
            set.status.iter_mut().for_each(|word| *word &= !status::HELD);
        }
        if !self.by_kernels() {
            self.begin_status(&wanted);
        }
        for solved in &solved {
            self.place(solved, &mut answers);
        }
        if !self.shared.soft.is_empty() {
            let done = |world: &usize| solved.binary_search_by_key(world, |solved| solved.world).is_ok();
            let lost: Vec<usize> = wanted.iter().copied().filter(|world| !done(world)).collect();
            self.give_up(&lost, &mut answers);
        }
        self.upload(&answers)?;
        self.count(&solved)?;
        for Solved { world, outcome, relaxed, left, .. } in solved {
            let Outcome { status, stage, lambda, .. } = outcome;
            self.answers[world] = Some(Answer { status, stage, left, impulse: lambda, relaxed });
        }
        self.host.spent_solving(clock.elapsed());
        Ok(true)
    }

    /// Worlds that were left to the host, and turned out to need none, are the kernels' again.
    fn leave_to_kernels(&mut self, wanted: &[usize]) -> Result<(), Error> {
        for set in &mut self.sets {
            let mut changed = false;
            for lane in 0..self.n_world * set.k {
                let word = &mut set.status[lane];
                if *word & status::BY_HOST != 0 && wanted.binary_search(&(lane / set.k)).is_err() {
                    *word &= !(status::BY_HOST | status::SINCE_ASKED);
                    changed = true;
                }
            }
            if changed {
                self.store.write_index(set.step.buffers.status, 0, &set.status)?;
            }
        }
        Ok(())
    }

    /// Whether kernels had a part in solving.
    fn by_kernels(&self) -> bool {
        self.shared.form.is_some()
    }

    /// Whether something of a world is left to solve.
    fn is_unsolved(&self, world: usize) -> bool {
        let mut words = self.sets.iter().flat_map(|set| &set.status[world * set.k..(world + 1) * set.k]);
        if self.by_kernels() {
            return words.any(|word| word & status::HELD != 0);
        }
        // What broke down is not to be solved by anyone.
        words.all(|word| word & (status::STOPPED | status::BREAKDOWN) == 0)
    }

    /// Brings everything that problems are read from and answers go to at once, where it lies on a device.
    fn fetch_problems(&mut self) -> Result<(), Error> {
        self.recording.clear();
        for set in &self.sets {
            let b = set.step.buffers;
            for buffer in [
                b.momentum,
                b.b,
                b.velocity,
                b.motion,
                b.pose,
                b.state,
                b.row,
                b.constraint,
                set.step.impulses.now,
                b.info,
            ] {
                self.recording.read(buffer);
            }
        }
        if !self.host.islands.is_empty() {
            let b = self.islands.buffers;
            for buffer in [b.jac, b.con, self.islands.impulses.now, b.info] {
                self.recording.read(buffer);
            }
        }
        self.store.run(&self.recording)?;
        Ok(())
    }

    /// Nothing is solved until the host has done it, where no kernel has a part in it.
    fn begin_status(&mut self, wanted: &[usize]) {
        for set in &mut self.sets {
            for &world in wanted {
                set.status[world * set.k..(world + 1) * set.k].iter_mut().for_each(|word| {
                    *word = *word & !status::CONVERGED | status::ITERATION_LIMIT;
                });
            }
        }
    }

    /// Puts what was found for one world where the kernels would have.
    fn place(&mut self, solved: &Solved, answers: &mut Answers<T>) {
        let Solved { world, homes, outcome, relaxed, .. } = solved;
        for (home, rows) in homes {
            let lambda = outcome.lambda[rows.clone()].iter().map(|&x| T::from_f64(x));
            match *home {
                Home::Slot { set, at, stride } => {
                    let to = answers.sets[set].impulse[at..].iter_mut().step_by(stride);
                    to.zip(lambda).for_each(|(to, x)| *to = x);
                }
                Home::Row { set, at, constraint } => {
                    lambda.for_each(|x| {
                        answers.sets[set].row[at] = x;
                        if let Some(constraint) = constraint {
                            answers.islands[3 * constraint] = x;
                        }
                    });
                }
                Home::Soft { contact } => {
                    self.host.worlds[*world].soft_impulses[contact].copy_from_slice(&outcome.lambda[rows.clone()]);
                }
                Home::Island { constraint } => {
                    let to = answers.islands[3 * constraint..].iter_mut();
                    to.zip(lambda).for_each(|(to, x)| *to = x);
                }
            }
        }
        let width = self.store.tile();
        let by_host = |word: u32| if relaxed.is_empty() { 0 } else { status::BY_HOST | since_asked(word) };
        for ((set, own), trees) in self.sets.iter_mut().zip(&mut answers.sets).zip(&self.shared.sets) {
            let n_v = set.step.dims.n_v as usize;
            for (j, &tree) in trees.trees.iter().enumerate() {
                let lane = set.lane(*world, j);
                let v = &outcome.v[self.shared.model.trees[tree].v.clone()];
                for (i, &x) in v.iter().enumerate() {
                    own.velocity[tile_at(width, lane, n_v, i)] = T::from_f64(x);
                }
                let word = &mut set.status[lane];
                let host = by_host(*word);
                *word = *word & !(status::BY_HOST | status::SINCE_ASKED | status::DOUBTFUL) | host;
                if outcome.status == SolveStatus::Converged {
                    *word = *word & !status::ITERATION_LIMIT | status::CONVERGED;
                }
            }
        }
    }

    /// Gives soft bodies of worlds without an answer no velocity, so that the kernels flag them.
    fn give_up(&self, worlds: &[usize], answers: &mut Answers<T>) {
        let width = self.store.tile();
        for (set, own) in self.sets.iter().zip(&mut answers.sets).filter(|(set, _)| set.step.dims.is_soft()) {
            let n_v = set.step.dims.n_v as usize;
            for &world in worlds {
                (0..n_v).for_each(|i| own.velocity[tile_at(width, world, n_v, i)] = T::from_f64(f64::NAN));
            }
        }
    }

    /// Velocities, impulses and status to where the kernels have them.
    fn upload(&mut self, answers: &Answers<T>) -> Result<(), Error> {
        for (set, own) in self.sets.iter().zip(&answers.sets) {
            let b = set.step.buffers;
            self.store.write(b.velocity, 0, &own.velocity)?;
            self.store.write(b.row, 0, &own.row)?;
            self.store.write(set.step.impulses.now, 0, &own.impulse)?;
            self.store.write_index(b.status, 0, &set.status)?;
        }
        if !self.host.islands.is_empty() {
            let impulse = self.islands.impulses.now;
            self.store.write(impulse, 0, &answers.islands)?;
        }
        Ok(())
    }

    /// Adds the iterations to those of the kernels.
    fn count(&mut self, solved: &[Solved]) -> Result<(), Error> {
        let (width, by_kernels) = (self.store.tile(), self.by_kernels());
        let sum = |count: &mut T, solved: &Solved| {
            let before = if by_kernels { *count } else { T::default() };
            *count = before + T::from_f64(f64::from(solved.outcome.iterations));
        };
        for index in 0..self.sets.len() {
            let (k, n_v, b) =
                (self.sets[index].k, self.sets[index].step.dims.n_v as usize, self.sets[index].step.buffers);
            let mut infos = whole(&mut *self.store, b.info)?;
            for solved in solved {
                for lane in solved.world * k..(solved.world + 1) * k {
                    sum(&mut infos[tile_at(width, lane, info::reals(n_v), info::SWEEPS)], solved);
                }
            }
            self.store.write(b.info, 0, &infos)?;
        }
        if self.host.islands.is_empty() {
            return Ok(());
        }
        let b = self.islands.buffers;
        let mut infos = whole(&mut *self.store, b.info)?;
        for (record, own) in self.host.islands.islands.iter().zip(infos.chunks_exact_mut(island::info::SIZE)) {
            // Both stand by world.
            if let Ok(at) = solved.binary_search_by_key(&(record.world as usize), |solved| solved.world) {
                sum(&mut own[island::info::ITERATIONS], &solved[at]);
            }
        }
        self.store.write(b.info, 0, &infos)?;
        Ok(())
    }
}

/// What a lane's status says of the step before.
pub(super) fn before(word: u32) -> Before {
    if word & status::BY_HOST == 0 {
        return Before::Solved;
    }
    // The number runs over once in as many steps as it can count.
    Before::Relaxed { ask: since_asked(word) == 0 }
}

/// [`status::SINCE_ASKED`] after one more relaxed step.
fn since_asked(word: u32) -> u32 {
    if word & status::BY_HOST == 0 { 0 } else { (word + status::SINCE_ASKED_ONE) & status::SINCE_ASKED }
}

/// Worlds in packs, in their order: those of soft bodies that nothing touches by [`LANES`], each other one by itself.
fn packs(wanted: &[usize], is_free: impl Fn(&usize) -> bool) -> Vec<&[usize]> {
    let runs = wanted.chunk_by(|a, b| is_free(a) && is_free(b));
    runs.flat_map(|run| run.chunks(LANES)).collect()
}

/// Worlds of soft bodies alone that nothing touches: side by side. `None`: a world wants more care.
fn solve_free<T: Scalar>(
    shared: &Shared<T>,
    layouts: &[&SoftLayout],
    host: &Packed<'_, T>,
    worlds: &Worlds<'_, T>,
    pack: &[usize],
) -> Vec<Option<Solved>> {
    let steps: Vec<Vec<SoftStep>> = pack.iter().map(|&world| worlds.soft(shared, host, world)).collect();
    let mut work = FREE.take();
    let mut out: Vec<Option<Solved>> = pack.iter().map(|&world| Some(Solved::free(shared, world))).collect();
    for (index, (soft, layout)) in shared.soft.iter().zip(layouts).enumerate() {
        let starts: Vec<_> = steps.iter().map(|own| own[index].free()).collect();
        let ends = layout.free_steps(&starts, shared.tolerance / (shared.soft.len() as f64).sqrt(), &mut work);
        let span = shared.model.trees[soft.tree].v.clone();
        for (solved, end) in out.iter_mut().zip(ends) {
            *solved = solved.take().zip(end).map(|(mut solved, end)| {
                solved.outcome.v[span.clone()].copy_from_slice(&end.v);
                if let Some(left) = &mut solved.left {
                    left.square += end.momentum.powi(2);
                    left.momentum = left.momentum.hypot(end.momentum);
                }
                solved
            });
        }
    }
    FREE.set(work);
    out
}

impl Solved {
    /// Without constraints, at rest.
    fn free<T: Scalar>(shared: &Shared<T>, world: usize) -> Self {
        let outcome = Outcome {
            status: SolveStatus::Converged,
            iterations: 0,
            outer: 0,
            stage: None,
            v: vec![0.0; shared.model.n_v],
            lambda: Vec::new(),
            elapsed: Duration::ZERO,
            trace: Vec::new(),
        };
        let is_exact = shared.solver.model() == ContactModel::Exact;
        let left = is_exact.then_some(Left { square: 0.0, scaled: 0.0, momentum: 0.0, solved: true });
        Self { world, homes: Vec::new(), outcome, relaxed: Vec::new(), left }
    }
}

/// One world, from what its kernels left. None: its numbers are not finite, or those of the answer are not.
fn solve<T: Scalar>(shared: &Shared<T>, host: &Packed<'_, T>, worlds: &Worlds<'_, T>, world: usize) -> Option<Solved> {
    // Numbers that are not finite have no problem; the kernels flag the world.
    let Desk { problem: mut memory, mut work, mut factor } = DESK.take();
    let settings = SolveSettings {
        // Of numbers in single precision too: it is what makes up for those.
        precision: Precision::F64,
        tolerance: shared.tolerance,
        iterations: shared.iterations,
        history: false,
    };
    if let Some(order) = &shared.whole {
        let solved = at_once(shared, order, host, worlds, world, None, (&mut memory, &mut factor));
        if solved.is_some() {
            DESK.set(Desk { problem: memory, work, factor });
            return solved;
        }
    }
    let Round { mut problem, mut outcome, relaxed, momentum, on_the_way } = if shared.soft.is_empty() {
        let last = host.worlds[world].before;
        let responses = match (Responses::of(shared.solver), last) {
            (Responses::Found, Before::Relaxed { .. }) => Responses::Taken,
            (asked, _) => asked,
        };
        let mut problem = worlds.world(shared, host, world, memory, responses, (&[], Vec::new())).ok()?;
        if problem.impulse.iter().all(|x| x.is_finite()) {
            problem.problem.warm_start.copy_from_slice(&problem.impulse);
        }
        let before = worlds.before(shared, world);
        if before.iter().all(|x| x.is_finite()) {
            problem.problem.v_start = before;
        }
        let (outcome, relaxed) = if shared.form.is_some() && !shared.solver.finishes() {
            leave(shared.solver, &mut problem.problem, &settings, last)
        } else {
            finish(shared.solver, &mut problem.problem, &settings, last, &mut work)
        };
        Round { problem, outcome, relaxed, momentum: 0.0, on_the_way: None }
    } else {
        let round = nonlinear(shared, host, worlds, world, memory, &settings, &mut work)?;
        // Near a solution whose matrix is not positive definite but for what touches it, rounds come closer slowly.
        let solved = round.outcome.status == SolveStatus::Converged && round.momentum <= shared.tolerance;
        if let (Some(order), false, true) = (&shared.whole, solved, round.relaxed.is_empty()) {
            let (mut again, lambda) = (ContactProblem::default(), &round.outcome.lambda);
            let velocity = round.on_the_way.clone().unwrap_or_else(|| round.problem.problem.velocity(lambda));
            let start = Some((velocity, lambda.clone()));
            let solved = at_once(shared, order, host, worlds, world, start, (&mut again, &mut factor));
            if solved.is_some() {
                DESK.set(Desk { problem: again, work, factor });
                return solved;
            }
        }
        round
    };
    problem.problem.relax(&relaxed);
    // What the certificate is about: a solver's own velocity may lag behind its impulses.
    outcome.v = on_the_way.unwrap_or_else(|| problem.problem.velocity(&outcome.lambda));
    let sound = outcome.lambda.iter().chain(&outcome.v).all(|x| x.is_finite());
    let rows = problem.problem.constraints.iter().map(|c| c.row..c.row + c.law.rows());
    let homes = problem.homes.iter().copied().zip(rows).collect();
    let relaxed: Vec<_> = relaxed.into_iter().map(|how| Relaxed { home: problem.homes[how.constraint], how }).collect();
    // What is relaxed is exact contact, whoever asked.
    let is_exact = shared.solver.model() == ContactModel::Exact || !relaxed.is_empty();
    let left = is_exact.then(|| Left::new::<T>(&problem.problem, &outcome, momentum, shared.tolerance));
    DESK.set(Desk { problem: problem.problem, work, factor });
    sound.then_some(Solved { world, homes, outcome, relaxed, left })
}

/// A world with soft bodies by Newton's method on all of its step, from a velocity and impulses or those of the last step, in the memory
/// of a problem; `None`: it wants more care.
fn at_once<T: Scalar>(
    shared: &Shared<T>,
    order: &WholeOrder,
    host: &Packed<'_, T>,
    worlds: &Worlds<'_, T>,
    world: usize,
    start: Option<(Vec<f64>, Vec<f64>)>,
    (memory, work): (&mut ContactProblem, &mut FactorWork),
) -> Option<Solved> {
    let WorldProblem { problem, impulse, homes, .. } =
        worlds.constraints(shared, host, world, std::mem::take(memory)).ok()?;
    *memory = problem;
    let (before, impulse) = start.unwrap_or_else(|| (worlds.before(shared, world), impulse));
    if !before.iter().chain(&impulse).all(|x| x.is_finite()) {
        return None;
    }
    let problem = &*memory;
    let steps = worlds.soft(shared, host, world);
    let inertia = worlds.inertia(shared, world);
    let motion = WholeStep::new(order, &shared.model, &shared.subsystems, (&shared.soft, &steps), inertia);
    let stored = |v: f64| T::from_f64(v).to_f64();
    let start = (order.ordered(&before), impulse);
    let found = newton(problem, &motion, start, shared.tolerance, stored, work)?;
    let left = Left {
        square: found.laws.powi(2) + found.momentum.powi(2),
        scaled: found.scaled,
        momentum: found.momentum,
        solved: found.laws / problem.n_contacts.max(1) as f64 <= shared.tolerance
            || (T::NAME != f64::NAME && found.scaled <= shared.tolerance),
    };
    let rows = problem.constraints.iter().map(|c| c.row..c.row + c.law.rows());
    let homes = homes.into_iter().zip(rows).collect();
    let outcome = Outcome {
        status: SolveStatus::Converged,
        iterations: found.iterations,
        outer: 0,
        stage: Some(Stage::Newton),
        v: order.given_back(&found.v),
        lambda: found.lambda,
        elapsed: Duration::ZERO,
        trace: Vec::new(),
    };
    Some(Solved { world, homes, outcome, relaxed: Vec::new(), left: Some(left) })
}

/// What the host's answer leaves of a world's laws, in double precision.
///
/// Kernels can only certify the impulses that are stored, and by their own arithmetic. In single precision neither says
/// much where large impulses cancel: the velocity that the state gets is not a sum of rounded impulses, but the sum of
/// the unrounded ones, rounded once.
#[derive(Debug, Clone, Copy)]
struct Left {
    /// Sum of squares over all rows of residual number 1, (N s)^2.
    square: f64,
    /// m/s
    scaled: f64,
    /// What is left of the balance of soft bodies, N s; in `square`, too.
    momentum: f64,
    /// Whether every island meets what a batch of this precision promises.
    solved: bool,
}

impl Left {
    /// At the velocity that the impulses give and at the one that the state gets, whichever leaves more. `momentum`: what is
    /// left of the balance of soft bodies, N s.
    fn new<T: Scalar>(problem: &ContactProblem, outcome: &Outcome, momentum: f64, tolerance: f64) -> Self {
        let mut found: Vec<_> = by_island(problem, &outcome.lambda, &outcome.v).collect();
        let single = T::NAME != f64::NAME;
        if single {
            let stored: Vec<f64> = outcome.v.iter().map(|&v| T::from_f64(v).to_f64()).collect();
            for (found, stored) in found.iter_mut().zip(by_island(problem, &outcome.lambda, &stored)) {
                found.residual = found.residual.max(stored.residual);
                found.residual_scaled = found.residual_scaled.max(stored.residual_scaled);
            }
        }
        let mut sum = Self { square: momentum.powi(2), scaled: 0.0, momentum, solved: momentum <= tolerance };
        for island in found {
            sum.square += (island.residual * island.contacts.max(1) as f64).powi(2);
            sum.scaled = sum.scaled.max(island.residual_scaled);
            sum.solved &= island.residual <= tolerance || (single && island.residual_scaled <= tolerance);
        }
        sum
    }
}

/// How the host's solve of a world ended.
#[derive(Debug, Clone)]
pub(in crate::group) struct Answer {
    status: SolveStatus,
    stage: Option<Stage>,
    left: Option<Left>,
    /// As the state's velocity was made of them, not rounded, `[n_rows]` of the world's problem.
    pub(in crate::group) impulse: Vec<f64>,
    /// Biases that gave way.
    pub(in crate::group) relaxed: Vec<Relaxed>,
}

/// A bias that gave way.
#[derive(Debug, Clone, Copy)]
pub(in crate::group) struct Relaxed {
    /// Where its constraint's impulses stand.
    pub(in crate::group) home: Home,
    /// By how much; the constraint is that of the world's problem.
    pub(in crate::group) how: Relaxation,
}

impl Answer {
    /// Puts it where a world is summed up. A solver of another contact than the certificate's is judged by its own
    /// tolerance, which only it knows.
    pub(in crate::group) fn note(&self, summary: &mut Summary) {
        summary.stage = self.stage;
        if let Some(left) = &self.left {
            summary.replace(left.square, left.scaled);
            summary.balance = left.momentum;
        }
        let converged = self.left.as_ref().map_or(self.status == SolveStatus::Converged, |left| left.solved);
        let word = if converged { status::CONVERGED } else { status::ITERATION_LIMIT };
        summary.status = summary.status & !(status::CONVERGED | status::ITERATION_LIMIT) | word;
    }
}
