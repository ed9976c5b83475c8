//! Makes chunks of a group: those that are stepped, and those that kept steps are differentiated in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyworlds_dynamics::TreeSet;
use manyworlds_gpu::{BufferSpec, Passing};
use manyworlds_shaders::Scalar;

use super::backend::Backend;
use super::buffers::{IslandBuffers, LeftBuffers, RowBuffers, SetBuffers};
use super::chunk::Chunk;
use super::columns::Columns;
use super::derivatives;
use super::shared::Shared;
use super::soft::SoftKernels;
use crate::Error;

/// What all chunks of a group are made of.
pub(super) struct Maker<T: Scalar> {
    pub(super) shared: Arc<Shared<T>>,
    pub(super) backend: Backend,
    /// A chunk's buffers, by their number.
    pub(super) specs: Vec<BufferSpec>,
    sets: Vec<SetBuffers>,
    islands: IslandBuffers,
    rows: RowBuffers,
    left: LeftBuffers,
    pub(super) columns: Arc<Columns>,
    /// What chunks on the CPU share.
    passing: Arc<Passing<T>>,
    /// Chunks of no worlds of the group, at hand for [`Self::lend`].
    spare: Mutex<Vec<Chunk<T>>>,
}

impl<T: Scalar> Maker<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, backend: Backend) -> Self {
        let mut specs = Vec::new();
        let sets: Vec<SetBuffers> = shared.sets.iter().map(|_| SetBuffers::declare(&mut specs)).collect();
        let islands = IslandBuffers::declare(&mut specs);
        let rows = RowBuffers::declare(&mut specs);
        let left = LeftBuffers::declare(&mut specs);
        let of_set = |(b, own): (&SetBuffers, &TreeSet)| {
            SoftKernels::passing(b).into_iter().chain(derivatives::passing(b, &own.layout.dims)).collect::<Vec<_>>()
        };
        let passing = Arc::new(Passing::new(sets.iter().zip(&shared.sets).flat_map(of_set).collect()));
        let columns = Arc::new(Columns::new(&shared.model, &shared.sets));
        Self { shared, backend, specs, sets, islands, rows, left, columns, passing, spare: Mutex::default() }
    }

    /// A chunk of so many worlds; their state is to be written before the first step.
    pub(super) fn make(&self, worlds: usize) -> Result<Chunk<T>, Error> {
        let sets = self.shared.sets.iter();
        let lanes: Vec<_> = sets.map(|set| (worlds * set.trees.len(), set.layout.dims.n_v)).collect();
        let store = self.backend.store(&self.specs, &lanes, &self.passing)?;
        let others = (&self.columns, self.rows, self.left);
        Chunk::new(Arc::clone(&self.shared), &self.sets, self.islands, others, store, worlds, &self.backend)
    }

    /// A chunk of so many worlds to do with what is of use; whatever its last borrower left is still in it.
    pub(super) fn lend(&self, worlds: usize) -> Result<Chunk<T>, Error> {
        let found = {
            let mut spare = self.spare();
            let at = spare.iter().position(|chunk| chunk.n_world == worlds);
            at.map(|at| spare.swap_remove(at))
        };
        found.map_or_else(|| self.make(worlds), Ok)
    }

    /// Takes back what [`Self::lend`] gave.
    pub(super) fn give_back(&self, chunk: Chunk<T>) {
        self.spare().push(chunk);
    }

    /// Memory of what chunks share, and of those at hand, B.
    pub(super) fn bytes(&self) -> u64 {
        self.passing.bytes() + self.spare().iter().map(|chunk| chunk.store.bytes()).sum::<u64>()
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Chunk<T>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
