//! What the two executors differ in: stores, chunks, workspaces.

use std::sync::Arc;

use manyworlds_gpu::{BufferId, BufferSpec, CpuStore, GpuDevice, GpuStore, Store};
use manyworlds_shaders::contact::island_newton::WORLD_REALS;
use manyworlds_shaders::{LANES, Scalar};

use crate::Error;
use crate::view::Numbers;

/// Worlds a chunk of the GPU holds at most; at least two chunks let host and device overlap.
const GPU_CHUNK: usize = 2048;
/// Lanes of a solve that an invocation on a software adapter takes after each other at most.
const SOFTWARE_SHARE: u32 = 16;
/// Degrees of freedom of a tree at most on a software adapter: the factor of a chain of 70 takes more rounds of loops than
/// the 65535 after which llvmpipe ends them without a word.
const SOFTWARE_DOFS: u32 = 64;

/// How an executor makes the store of a chunk, and whether chunks run side by side.
pub(crate) trait Backend<T: Scalar>: Send {
    /// Buffers of one chunk.
    type Store: Store<T>;
    /// Chunks are independent tasks of the thread pool; otherwise they take turns on the device.
    const SIDE_BY_SIDE: bool;
    /// Lanes that an invocation of a solve takes after each other at most, where kernels keep a workspace a lane in the
    /// store; none: each thread has one workspace.
    fn share(&self) -> Option<u32>;
    /// Degrees of freedom of a tree at most.
    fn most_dofs(&self) -> u32 {
        u32::MAX
    }
    /// Whether kernels differentiate steps faster than the host.
    fn differentiates(&self) -> bool {
        true
    }
    /// Worlds of a chunk. `coupled`: trees of a world go through islands, which may have workspaces.
    fn chunk_worlds(&self, worlds: usize, coupled: bool) -> usize;
    /// Empty buffers.
    fn store(&self, specs: &[BufferSpec]) -> Result<Self::Store, Error>;
    /// The numbers of a buffer where they lie.
    fn numbers(store: &Self::Store, buffer: BufferId) -> Option<Numbers<'_>>;
}

/// The CPU executor.
pub(crate) struct Cpu;

impl<T: Scalar> Backend<T> for Cpu {
    type Store = CpuStore<T>;
    const SIDE_BY_SIDE: bool = true;

    fn share(&self) -> Option<u32> {
        None
    }

    fn chunk_worlds(&self, _: usize, _: bool) -> usize {
        LANES
    }

    fn store(&self, specs: &[BufferSpec]) -> Result<CpuStore<T>, Error> {
        Ok(CpuStore::new(specs))
    }

    fn numbers(store: &CpuStore<T>, buffer: BufferId) -> Option<Numbers<'_>> {
        let numbers = store.buffer(buffer)?.scalars();
        // One of the two is the type that it is.
        let f32s = bytemuck::try_cast_slice(numbers).ok().filter(|_| size_of::<T>() == 4).map(Numbers::F32);
        f32s.or_else(|| bytemuck::try_cast_slice(numbers).ok().map(Numbers::F64))
    }
}

impl<T: Scalar> Backend<T> for Arc<GpuDevice> {
    type Store = GpuStore<T>;
    const SIDE_BY_SIDE: bool = false;

    fn share(&self) -> Option<u32> {
        // A processor has few invocations at once and gains from keeping them busy; a GPU wants all that there are.
        Some(if self.is_software() { SOFTWARE_SHARE } else { 1 })
    }

    fn most_dofs(&self) -> u32 {
        if self.is_software() { SOFTWARE_DOFS } else { u32::MAX }
    }

    fn differentiates(&self) -> bool {
        // A software adapter shares its processor with the host, and takes twenty times as long.
        !self.is_software()
    }

    fn chunk_worlds(&self, worlds: usize, coupled: bool) -> usize {
        // Whole tiles, and two halves at least.
        let chunk = worlds.div_ceil(2).next_multiple_of(32).min(GPU_CHUNK);
        if !coupled {
            return chunk;
        }
        // A binding has to hold the workspaces of all islands.
        let most = self.max_binding_bytes() / (WORLD_REALS * size_of::<T>()) as u64;
        chunk.min((most / 32 * 32).max(32) as usize)
    }

    fn store(&self, specs: &[BufferSpec]) -> Result<GpuStore<T>, Error> {
        Ok(GpuStore::new(self, specs)?)
    }

    fn numbers(store: &GpuStore<T>, buffer: BufferId) -> Option<Numbers<'_>> {
        store.wgpu_buffer(buffer).map(Numbers::Device)
    }
}
