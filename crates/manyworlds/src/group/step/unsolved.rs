//! The host's part of a solver: worlds whose contacts the kernels left unsolved, between two halves of a step.

use manyworlds_contact::solve::{Before, Outcome, SolveStatus};
use manyworlds_gpu::{BufferId, Instant, Part};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::index::tile_at;
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::home::Home;
use super::super::kept::Kept;
use super::super::problem::{Reading, Sides};
use super::super::seen::{some, whole};
use super::super::tiles::Tiles;
use super::answer::{Answer, Solved};
use super::world::World;
use crate::Error;

/// The buffers of a chunk that answers go to; of each the parts that were read.
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
    /// What stands in some tiles now.
    fn new(chunk: &mut Chunk<T>, tiles: &Tiles) -> Result<Self, Error> {
        let mut sets = Vec::with_capacity(chunk.sets.len());
        for set in 0..chunk.sets.len() {
            let (b, impulses) = (chunk.sets[set].step.buffers, chunk.sets[set].step.impulses);
            let mut read = |buffer| chunk.read_some(tiles, set, buffer);
            sets.push(SetAnswers { velocity: read(b.velocity)?, row: read(b.row)?, impulse: read(impulses.now)? });
        }
        let impulses = chunk.islands.impulses.now;
        let islands = if chunk.host.islands.is_empty() { Vec::new() } else { whole(&mut *chunk.store, impulses)? };
        Ok(Self { sets, islands })
    }
}

impl<T: Scalar> Chunk<T> {
    /// The worlds that the kernels left, and everything that their problems are made of.
    pub(super) fn fetch_rest(&mut self) -> Result<Vec<usize>, Error> {
        let wanted: Vec<usize> = (0..self.n_world).filter(|&world| self.is_unsolved(world)).collect();
        self.follow_islands()?;
        self.leave_to_kernels(&wanted)?;
        if !wanted.is_empty() {
            let clock = Instant::now();
            let tiles = Tiles::of(self, &wanted);
            self.fetch_problems(&tiles)?;
            self.host.spent_solving(clock.elapsed());
        }
        Ok(wanted)
    }

    /// Solves what the kernels did not, and puts it where they would have. Whether there was anything.
    pub(super) fn solve_rest(&mut self, wanted: &[usize]) -> Result<bool, Error> {
        self.answers.clear();
        self.answers.resize(self.n_world, None);
        if wanted.is_empty() {
            return Ok(false);
        }
        let clock = Instant::now();
        let tiles = Tiles::of(self, wanted);
        let reading = Reading::new(self, Sides::Whole, &tiles)?;
        let (shared, host, worlds) = (&*self.shared, self.host.packed(), reading.of(&*self.store));
        let keeps_factor = self.before.as_ref().is_some_and(Kept::keeps_factors);
        let solve = |&world: &usize| World { shared, host: &host, worlds: &worlds, index: world, keeps_factor }.solve();
        // A thread alone hands nothing over.
        let solved: Vec<_> = if wanted.len() > 1 && rayon::current_num_threads() > 1 {
            wanted.par_iter().map(solve).collect()
        } else {
            wanted.iter().map(solve).collect()
        };
        let solved: Vec<Solved> = solved.into_iter().flatten().collect();
        let mut answers = Answers::new(self, &tiles)?;
        for set in &mut self.sets {
            set.status.iter_mut().for_each(|word| *word &= !status::HELD);
        }
        if !self.by_kernels() {
            self.begin_status(wanted);
        }
        for solved in &solved {
            self.place(solved, &mut answers);
        }
        if !self.shared.soft.is_empty() {
            let done = |world: &usize| solved.binary_search_by_key(world, |solved| solved.world).is_ok();
            let lost: Vec<usize> = wanted.iter().copied().filter(|world| !done(world)).collect();
            self.give_up(&lost, &mut answers);
        }
        self.upload(&answers, &tiles)?;
        self.count(&solved, &tiles)?;
        for Solved { world, outcome, relaxed, left, factor, .. } in solved {
            if let Some((before, factor)) = self.before.as_mut().zip(factor) {
                before.keep_factor(world, factor);
            }
            let Outcome { status, stage, lambda, .. } = outcome;
            self.answers[world] = Some(Answer { status, stage, left, impulse: lambda, relaxed });
        }
        self.host.spent_solving(clock.elapsed());
        Ok(true)
    }

    /// Trees of islands that kernels relaxed are marked as those are that kernels relax by themselves.
    fn follow_islands(&mut self) -> Result<(), Error> {
        let islands = &self.host.islands;
        if !islands.relaxes() {
            return Ok(());
        }
        let mut words = vec![0; islands.islands.len()];
        self.store.read_index(self.islands.buffers.status, &mut words)?;
        for (index, set) in self.sets.iter_mut().enumerate() {
            for (lane, island) in islands.relaxing(index) {
                if words[island] & status::CONVERGED != 0 {
                    let word = set.status[lane];
                    let gave_way = words[island] & status::RELAXED != 0;
                    let kept = if gave_way { status::RELAXED | status::GAVE_WAY | since_asked(word) } else { 0 };
                    set.status[lane] = word & !(status::GAVE_WAY | status::SINCE_ASKED) | kept;
                }
            }
            self.store.write_index(set.step.buffers.status, 0, &set.status)?;
        }
        Ok(())
    }

    /// Worlds that were the host's turn, and turned out to need none, are the kernels' again.
    fn leave_to_kernels(&mut self, wanted: &[usize]) -> Result<(), Error> {
        for set in &mut self.sets {
            let mut changed = false;
            for lane in 0..self.n_world * set.k {
                let word = &mut set.status[lane];
                let is_hosts = *word & (status::GAVE_WAY | status::RELAXED) == status::GAVE_WAY;
                if is_hosts && wanted.binary_search(&(lane / set.k)).is_err() {
                    *word &= !(status::GAVE_WAY | status::SINCE_ASKED);
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

    /// Brings everything of some tiles that problems are read from and answers go to at once, where it lies on a device.
    fn fetch_problems(&mut self, tiles: &Tiles) -> Result<(), Error> {
        self.recording.clear();
        for index in 0..self.sets.len() {
            let (b, impulses) = (self.sets[index].step.buffers, self.sets[index].step.impulses);
            for buffer in
                [b.momentum, b.b, b.velocity, b.motion, b.pose, b.state, b.row, b.constraint, impulses.now, b.info]
            {
                let parts = tiles.of_buffer(self, index, buffer);
                self.recording.read_some(buffer, Part::Elements(parts));
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
        let Solved { world, homes, outcome, gave_way, .. } = solved;
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
        for ((set, own), trees) in self.sets.iter_mut().zip(&mut answers.sets).zip(&self.shared.sets) {
            let n_v = set.step.dims.n_v as usize;
            for (j, &tree) in trees.trees.iter().enumerate() {
                let lane = set.lane(*world, j);
                let v = &outcome.v[self.shared.model.trees[tree].v.clone()];
                for (i, &x) in v.iter().enumerate() {
                    own.velocity[tile_at(width, lane, n_v, i)] = T::from_f64(x);
                }
                let word = &mut set.status[lane];
                let kept = if gave_way.contains(&tree) { status::GAVE_WAY | since_asked(*word) } else { 0 };
                *word = *word & !(status::GAVE_WAY | status::SINCE_ASKED | status::DOUBTFUL | status::RELAXED) | kept;
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
    fn upload(&mut self, answers: &Answers<T>, tiles: &Tiles) -> Result<(), Error> {
        for (index, own) in answers.sets.iter().enumerate() {
            let (b, impulses) = (self.sets[index].step.buffers, self.sets[index].step.impulses);
            self.write_some(tiles, index, b.velocity, &own.velocity)?;
            self.write_some(tiles, index, b.row, &own.row)?;
            self.write_some(tiles, index, impulses.now, &own.impulse)?;
            self.store.write_index(b.status, 0, &self.sets[index].status)?;
        }
        if !self.host.islands.is_empty() {
            let impulse = self.islands.impulses.now;
            self.store.write(impulse, 0, &answers.islands)?;
        }
        Ok(())
    }

    /// What stands in some tiles of a buffer, the rest zero.
    fn read_some(&mut self, tiles: &Tiles, index: usize, buffer: BufferId) -> Result<Vec<T>, Error> {
        let parts = tiles.of_buffer(self, index, buffer);
        some(&mut *self.store, buffer, &parts)
    }

    /// Puts the same back.
    fn write_some(&mut self, tiles: &Tiles, index: usize, buffer: BufferId, values: &[T]) -> Result<(), Error> {
        for part in tiles.of_buffer(self, index, buffer) {
            self.store.write(buffer, part.start, &values[part])?;
        }
        Ok(())
    }

    /// Adds the iterations to those of the kernels.
    fn count(&mut self, solved: &[Solved], tiles: &Tiles) -> Result<(), Error> {
        let (width, by_kernels) = (self.store.tile(), self.by_kernels());
        let touched: Vec<bool> = solved.iter().map(|solved| self.host.worlds[solved.world].soft_is_hosts).collect();
        let sum = |count: &mut T, (solved, touched): (&Solved, bool)| {
            let before = if by_kernels && !touched { *count } else { T::default() };
            *count = before + T::from_f64(f64::from(solved.outcome.iterations));
        };
        for index in 0..self.sets.len() {
            let (k, n_v, b) =
                (self.sets[index].k, self.sets[index].step.dims.n_v as usize, self.sets[index].step.buffers);
            let mut infos = self.read_some(tiles, index, b.info)?;
            for (solved, &touched) in solved.iter().zip(&touched) {
                for lane in solved.world * k..(solved.world + 1) * k {
                    sum(&mut infos[tile_at(width, lane, info::reals(n_v), info::SWEEPS)], (solved, touched));
                }
            }
            self.write_some(tiles, index, b.info, &infos)?;
        }
        if self.host.islands.is_empty() {
            return Ok(());
        }
        let b = self.islands.buffers;
        let mut infos = whole(&mut *self.store, b.info)?;
        for (record, own) in self.host.islands.islands.iter().zip(infos.chunks_exact_mut(island::info::SIZE)) {
            // Both stand by world.
            if let Ok(at) = solved.binary_search_by_key(&(record.world as usize), |solved| solved.world) {
                sum(&mut own[island::info::ITERATIONS], (&solved[at], touched[at]));
            }
        }
        self.store.write(b.info, 0, &infos)?;
        Ok(())
    }
}

/// What a lane's status says of the step before.
pub(super) fn before(word: u32) -> Before {
    if word & status::GAVE_WAY == 0 {
        return Before::Solved;
    }
    // The number runs over once in as many steps as it can count.
    Before::Relaxed { ask: since_asked(word) == 0 }
}

/// [`status::SINCE_ASKED`] after one more relaxed step.
fn since_asked(word: u32) -> u32 {
    if word & status::GAVE_WAY == 0 { 0 } else { (word + status::SINCE_ASKED_ONE) & status::SINCE_ASKED }
}
