//! Certificates of the worlds of a chunk.

use manyworlds_contact::solve::ContactModel;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::index::tile_at;
use manyworlds_shaders::soft::body::soft_info;

use super::chunk::Chunk;
use crate::{Error, Summary};

/// Bits that tell kernels which lanes to leave alone.
const OF_THE_HOST: u32 = status::SHARED | status::GAVE_WAY | status::ASKING;

/// What a certificate is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The step as it was taken: of worlds that the host solved, by its unrounded impulses.
    Step,
    /// Impulses as they are stored.
    Stored,
}

/// The bit of what leaves out so many contacts.
fn relaxed(left_out: f64) -> u32 {
    if 0.0 < left_out { status::RELAXED } else { 0 }
}

impl<T: Scalar> Chunk<T> {
    /// Certificates of all worlds with the impulses as they are stored.
    pub(super) fn stored(&mut self) -> Result<Vec<Summary>, Error> {
        let mut summaries = Vec::new();
        self.sum_up(Of::Stored, &mut summaries)?;
        Ok(summaries)
    }

    /// Appends the certificate of every world.
    pub(super) fn summarise(&mut self, out: &mut Vec<Summary>) -> Result<(), Error> {
        self.sum_up(Of::Step, out)
    }

    fn sum_up(&mut self, of: Of, out: &mut Vec<Summary>) -> Result<(), Error> {
        self.finish()?;
        let model = self.shared.solver.model();
        let first = out.len();
        out.resize(first + self.n_world, Summary::default());
        let width = self.store.tile();
        for (set, trees) in self.sets.iter().zip(&self.shared.sets) {
            let n = info::reals(set.dims().n_v as usize);
            let mut all = vec![T::default(); self.store.len(set.step.buffers.info)];
            self.store.read(set.step.buffers.info, &mut all)?;
            for world in 0..self.n_world {
                let summary = &mut out[first + world];
                for (j, &tree) in trees.trees.iter().enumerate() {
                    let lane = set.lane(world, j);
                    if self.host.is_shared(world, tree) {
                        // Its island says how it fared.
                        summary.status |=
                            set.status[lane] & !(status::CONVERGED | status::ITERATION_LIMIT | OF_THE_HOST);
                        continue;
                    }
                    let get = |e: usize| all[tile_at(width, lane, n, e)].to_f64();
                    if set.step.soft.is_some() {
                        let momentum = get(soft_info::MOMENTUM);
                        summary.add(momentum.hypot(get(soft_info::LAWS)), get(soft_info::SCALED), 0.0, 0.0);
                        summary.balance = summary.balance.hypot(momentum);
                    } else {
                        let [contacts, penetration] = [info::CONTACTS, info::PENETRATION].map(get);
                        summary.add(get(info::RESIDUAL), get(info::SCALED), contacts, penetration);
                    }
                    summary.iterations = summary.iterations.max(get(info::SWEEPS) as u32);
                    summary.status |= relaxed(get(info::LEFT_OUT));
                    summary.status |= set.status[lane] & !OF_THE_HOST;
                }
            }
        }
        self.summarise_islands(&mut out[first..])?;
        for (index, (summary, world)) in out[first..].iter_mut().zip(&self.host.worlds).enumerate() {
            summary.contacts = (world.contacts.len() + world.soft.len()) as u32;
            let deepest = world.soft.iter().fold(0.0, |most: f64, contact| most.max(-contact.distance));
            summary.count(world.soft.len(), deepest);
            let answer = self.answers.get(index).and_then(Option::as_ref);
            // Another contact than the certificate's has no certificate but its solver's word.
            if answer.is_some_and(|answer| !answer.relaxed.is_empty()) {
                summary.status |= status::RELAXED;
            }
            // Kernels know nothing of the impulses of soft bodies.
            let by_host = of == Of::Step || model != ContactModel::Exact || !self.shared.soft.is_empty();
            if let Some(answer) = answer.filter(|_| by_host) {
                answer.note(summary);
            }
            summary.close();
        }
        Ok(())
    }

    /// Adds the certificates of islands of several trees.
    fn summarise_islands(&mut self, out: &mut [Summary]) -> Result<(), Error> {
        let islands = &self.host.islands.islands;
        if islands.is_empty() {
            return Ok(());
        }
        let b = self.islands.buffers;
        let mut all = vec![T::default(); islands.len() * island::info::SIZE];
        let mut words = vec![0; islands.len()];
        self.store.read(b.info, &mut all)?;
        self.store.read_index(b.status, &mut words)?;
        for ((record, numbers), word) in islands.iter().zip(all.chunks_exact(island::info::SIZE)).zip(words) {
            let summary = &mut out[record.world as usize];
            let get = |e: usize| numbers[e].to_f64();
            use island::info::{CONTACTS, ITERATIONS, LEFT_OUT, PENETRATION, RESIDUAL, SCALED};
            summary.add(get(RESIDUAL), get(SCALED), get(CONTACTS), get(PENETRATION));
            summary.iterations = summary.iterations.max(get(ITERATIONS) as u32);
            summary.status |= word | relaxed(get(LEFT_OUT));
        }
        Ok(())
    }
}
