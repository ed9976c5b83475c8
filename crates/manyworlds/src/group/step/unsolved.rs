//! The host's part of a solver: worlds whose contacts the kernels left unsolved, between two halves of a step.

use manyworlds_contact::solve::{Before, Outcome, SolveStatus};
use manyworlds_gpu::{Instant, Part};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::{self, con};
use manyworlds_shaders::contact::tree_layout::{info, row as row_part, row_stride};
use manyworlds_shaders::dynamics::tree::status;
use rayon::prelude::*;

use super::super::chunk::Chunk;
use super::super::home::Home;
use super::super::kept::Kept;
use super::super::left::LeftPart;
use super::super::problem::{Lanes, Reading, Sides};
use super::super::seen::{some, times, whole};
use super::answer::{Answer, Solved};
use super::world::World;
use crate::Error;
use crate::host::IslandParts;

/// Once it was asked whether there is another answer, it is asked again after so many relaxed steps.
const FIRST_WAIT: u32 = 8;

/// What answers are put into: the chunk's buffers, or what was brought together of them.
struct Answers<T> {
    sets: Vec<SetAnswers<T>>,
    /// Impulses of islands of several trees, and what is known of these.
    islands: Vec<T>,
    island_infos: Vec<T>,
    /// What of these belongs to the worlds that are left.
    parts: IslandParts,
}

/// Those of one set.
struct SetAnswers<T> {
    velocity: Vec<T>,
    row: Vec<T>,
    impulse: Vec<T>,
    info: Vec<T>,
}

impl<T> SetAnswers<T> {
    fn parts(&self) -> [(LeftPart, &[T]); 4] {
        [
            (LeftPart::Velocity, &self.velocity),
            (LeftPart::Row, &self.row),
            (LeftPart::Impulse, &self.impulse),
            (LeftPart::Info, &self.info),
        ]
    }
}

impl<T: Scalar> Answers<T> {
    /// What stands there now, read part by part.
    fn new(
        chunk: &mut Chunk<T>,
        parts: IslandParts,
        mut read: impl FnMut(&mut Chunk<T>, usize, LeftPart) -> Result<Vec<T>, Error>,
    ) -> Result<Self, Error> {
        let mut set = |chunk: &mut Chunk<T>, set: usize| {
            let mut read = |part| read(&mut *chunk, set, part);
            Ok::<_, Error>(SetAnswers {
                velocity: read(LeftPart::Velocity)?,
                row: read(LeftPart::Row)?,
                impulse: read(LeftPart::Impulse)?,
                info: read(LeftPart::Info)?,
            })
        };
        let sets = (0..chunk.sets.len()).map(|index| set(&mut *chunk, index)).collect::<Result<_, _>>()?;
        let (b, impulses) = (chunk.islands.buffers, chunk.islands.impulses);
        let mut of_islands = |buffer, items, n| some(&mut *chunk.store, buffer, &times(items, n));
        let islands = of_islands(impulses.now, &parts.constraints, 3)?;
        let island_infos = of_islands(b.info, &parts.islands, island::info::SIZE)?;
        Ok(Self { sets, islands, island_infos, parts })
    }
}

impl<T: Scalar> Chunk<T> {
    /// Solves what the kernels did not, and puts it where they would have. Whether there was anything.
    pub(super) fn solve_rest(&mut self) -> Result<bool, Error> {
        let wanted: Vec<usize> = (0..self.n_world).filter(|&world| self.is_unsolved(world)).collect();
        self.left_count = wanted.len();
        self.follow_islands()?;
        self.leave_to_kernels(&wanted)?;
        self.answers.clear();
        if wanted.is_empty() {
            return Ok(false);
        }
        self.answers.resize(self.n_world, None);
        let clock = Instant::now();
        let (reading, mut answers) = self.fetch_rest(&wanted)?;
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
        for set in &mut self.sets {
            set.status.iter_mut().for_each(|word| *word &= !status::HELD);
        }
        if !self.by_kernels() {
            self.begin_status(&wanted);
        }
        let lanes = reading.lanes();
        for solved in &solved {
            self.place(solved, &mut answers, lanes);
            self.count(solved, &mut answers, lanes);
        }
        if !self.shared.soft.is_empty() {
            let done = |world: &usize| solved.binary_search_by_key(world, |solved| solved.world).is_ok();
            let lost: Vec<usize> = wanted.iter().copied().filter(|world| !done(world)).collect();
            self.give_up(&lost, &mut answers, lanes);
        }
        self.upload(&answers)?;
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

    /// What the problems of some worlds are made of, and where their answers go.
    fn fetch_rest(&mut self, worlds: &[usize]) -> Result<(Reading<T>, Answers<T>), Error> {
        let parts = self.host.islands.parts_of(worlds);
        if self.in_place() {
            let read = |chunk: &mut Chunk<T>, set: usize, part: LeftPart| {
                let buffer = part.buffer(&chunk.sets[set]);
                whole(&mut *chunk.store, buffer)
            };
            return Ok((Reading::new(self, Sides::Whole)?, Answers::new(self, parts, read)?));
        }
        let numbers = self.gather_left(worlds)?;
        self.fetch_islands(&parts)?;
        let answers = Answers::new(self, parts, |_, set, part| Ok(numbers.copy(set, part)))?;
        Ok((Reading::of_left(self, worlds, numbers, &answers.parts)?, answers))
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
                    let kept = if gave_way { status::RELAXED | status::GAVE_WAY | asking(word) } else { 0 };
                    set.status[lane] = word & !(status::GAVE_WAY | status::ASKING) | kept;
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
                    *word &= !(status::GAVE_WAY | status::ASKING);
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

    /// Brings what islands of worlds that are left are made of, on a device.
    fn fetch_islands(&mut self, parts: &IslandParts) -> Result<(), Error> {
        if parts.islands.is_empty() {
            return Ok(());
        }
        self.recording.clear();
        let (b, impulses) = (self.islands.buffers, self.islands.impulses);
        for (buffer, parts) in [
            (b.jac, parts.jac.clone()),
            (b.con, times(&parts.constraints, con::SIZE)),
            (impulses.now, times(&parts.constraints, 3)),
            (b.info, times(&parts.islands, island::info::SIZE)),
        ] {
            self.recording.read_some(buffer, Part::Elements(parts));
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
    fn place(&mut self, solved: &Solved, answers: &mut Answers<T>, lanes: Lanes<'_>) {
        let Solved { world, homes, outcome, gave_way, .. } = solved;
        for (home, rows) in homes {
            let lambda = outcome.lambda[rows.clone()].iter().map(|&x| T::from_f64(x));
            match *home {
                Home::Slot { set, lane, slot } => {
                    let k = self.sets[set].k;
                    let begin = lanes.first_slot(&self.host.packs[set], set, k, lane);
                    let at = lanes.slot(k, lane, begin, slot, 3);
                    let to = answers.sets[set].impulse[at..].iter_mut().step_by(lanes.stride());
                    to.zip(lambda).for_each(|(to, x)| *to = x);
                }
                Home::Row { set: index, lane, row, constraint } => {
                    let set = &self.sets[index];
                    let d = &set.step.dims;
                    let e = row * row_stride(d.n_v as usize, d.row_width) + row_part::IMPULSE;
                    let at = lanes.element(set.k, lane, set.n_row_real(), e);
                    lambda.for_each(|x| {
                        answers.sets[index].row[at] = x;
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
        for ((set, own), trees) in self.sets.iter_mut().zip(&mut answers.sets).zip(&self.shared.sets) {
            let n_v = set.step.dims.n_v as usize;
            for (j, &tree) in trees.trees.iter().enumerate() {
                let lane = set.lane(*world, j);
                let v = &outcome.v[self.shared.model.trees[tree].v.clone()];
                for (i, &x) in v.iter().enumerate() {
                    own.velocity[lanes.element(set.k, lane, n_v, i)] = T::from_f64(x);
                }
                let word = &mut set.status[lane];
                let kept = if gave_way.contains(&tree) { status::GAVE_WAY | asking(*word) } else { 0 };
                *word = *word & !(status::GAVE_WAY | status::ASKING | status::DOUBTFUL | status::RELAXED) | kept;
                if outcome.status == SolveStatus::Converged {
                    *word = *word & !status::ITERATION_LIMIT | status::CONVERGED;
                }
            }
        }
    }

    /// Adds the iterations of a world to those of the kernels.
    fn count(&self, solved: &Solved, answers: &mut Answers<T>, lanes: Lanes<'_>) {
        let adds = self.by_kernels() && !self.host.worlds[solved.world].soft_is_hosts;
        let sum = |count: &mut T| {
            let before = if adds { *count } else { T::default() };
            *count = before + T::from_f64(f64::from(solved.outcome.iterations));
        };
        for (set, own) in self.sets.iter().zip(&mut answers.sets) {
            let n = info::reals(set.step.dims.n_v as usize);
            for j in 0..set.k {
                sum(&mut own.info[lanes.element(set.k, set.lane(solved.world, j), n, info::SWEEPS)]);
            }
        }
        let islands = &self.host.islands.islands;
        let first = islands.partition_point(|own| (own.world as usize) < solved.world);
        let infos = answers.island_infos.chunks_exact_mut(island::info::SIZE).skip(first);
        let own = islands[first..].iter().zip(infos).take_while(|(own, _)| own.world as usize == solved.world);
        own.for_each(|(_, info)| sum(&mut info[island::info::ITERATIONS]));
    }

    /// Gives soft bodies of worlds without an answer no velocity, so that the kernels flag them.
    fn give_up(&self, worlds: &[usize], answers: &mut Answers<T>, lanes: Lanes<'_>) {
        for (set, own) in self.sets.iter().zip(&mut answers.sets).filter(|(set, _)| set.step.dims.is_soft()) {
            let n_v = set.step.dims.n_v as usize;
            for &world in worlds {
                let nan = T::from_f64(f64::NAN);
                (0..n_v).for_each(|i| own.velocity[lanes.element(set.k, world, n_v, i)] = nan);
            }
        }
    }

    /// Velocities, impulses and status to where the kernels have them, or to where [`Self::record_answers`] takes them from.
    fn upload(&mut self, answers: &Answers<T>) -> Result<(), Error> {
        let in_place = self.in_place();
        for (index, own) in answers.sets.iter().enumerate() {
            if in_place {
                for (part, numbers) in own.parts() {
                    self.store.write(part.buffer(&self.sets[index]), 0, numbers)?;
                }
            } else {
                self.upload_left(index, &own.parts())?;
            }
            self.store.write_index(self.sets[index].step.buffers.status, 0, &self.sets[index].status)?;
        }
        let (b, impulses) = (self.islands.buffers, self.islands.impulses);
        for (buffer, numbers, parts) in [
            (impulses.now, &answers.islands, times(&answers.parts.constraints, 3)),
            (b.info, &answers.island_infos, times(&answers.parts.islands, island::info::SIZE)),
        ] {
            for part in parts {
                self.store.write(buffer, part.start, &numbers[part])?;
            }
        }
        Ok(())
    }
}

/// What a lane's status says of the step before.
pub(super) fn before(word: u32) -> Before {
    if word & status::GAVE_WAY == 0 {
        return Before::Solved;
    }
    Before::Relaxed { ask: word & status::UNTIL_ASKED == 0 }
}

/// [`status::ASKING`] after one more relaxed step. The first one in a row is relaxed because there was no other answer; each time
/// that there still is none, twice as many steps pass until the host asks again.
fn asking(word: u32) -> u32 {
    if word & status::RELAXED != 0 {
        // Kernels relaxed it, and have counted.
        return word & status::ASKING;
    }
    let word = if word & status::GAVE_WAY == 0 { 0 } else { word & status::ASKING };
    if word & status::UNTIL_ASKED != 0 {
        return word - status::UNTIL_ASKED_ONE;
    }
    let most = |of: u32, one: u32| of / one;
    let asked = (word & status::ASKED) / status::ASKED_ONE;
    let until = ((FIRST_WAIT << asked) - 1).min(most(status::UNTIL_ASKED, status::UNTIL_ASKED_ONE));
    let asked = (asked + 1).min(most(status::ASKED, status::ASKED_ONE));
    until * status::UNTIL_ASKED_ONE + asked * status::ASKED_ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After eight steps, after sixteen more, and then each thirty-second.
    #[test]
    fn the_host_asks_less_and_less_often() {
        let mut word = status::CONVERGED;
        let mut asked = Vec::new();
        for step in 0..130 {
            if before(word) == (Before::Relaxed { ask: true }) {
                asked.push(step);
            }
            word = status::CONVERGED | status::GAVE_WAY | asking(word);
        }
        assert_eq!(asked, [8, 24, 56, 88, 120]);
        assert_eq!(asking(word | status::RELAXED), word & status::ASKING);
        // Anew once a step was solved.
        word &= !status::GAVE_WAY;
        assert_eq!((before(word), asking(word)), (Before::Solved, asking(status::CONVERGED)));
    }
}
