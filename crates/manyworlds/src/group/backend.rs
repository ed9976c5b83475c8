//! What the two executors differ in: stores, chunks, workspaces.

use std::sync::Arc;

use manyworlds_contact::tree::Spread;
use manyworlds_gpu::{BufferId, BufferSpec, CpuStore, GpuDevice, GpuStore, Passing, Store};
use manyworlds_shaders::contact::island_newton::WORLD_REALS;
use manyworlds_shaders::{LANES, Scalar};

use crate::Error;
use crate::field::block::{Numbers, NumbersMut};

/// Tiles of a chunk of the CPU at most,
const CPU_TILES: usize = 4;
/// and as many as have so many degrees of freedom in one lane each: what a chunk costs whatever it holds counts where these are few,
/// and larger ones would leave the caches.
const CPU_DOFS: usize = 32;
/// Worlds a chunk of a GPU holds at most. Kernels that give a world one invocation want tens of thousands of them on a large GPU.
const GPU_CHUNK: usize = 16384;
/// With more worlds there are two chunks at least, so that host and device overlap; with fewer a kernel takes as long as its slowest
/// world, and two chunks twice that: on an H100 256 humanoids took 2.4 ms in one and 3.4 in two, 4,096 7.2 and 6.5.
const GPU_LONE_CHUNK: usize = 2048;
/// The same on a software adapter.
const SOFTWARE_CHUNK: usize = 2048;
/// Lanes of a solve that an invocation on a software adapter takes after each other at most: it has few invocations at once
/// and gains from keeping them busy.
const SOFTWARE_SHARE: u32 = 16;
/// Lanes that the CPU computes one after the other in the time of a pack of them.
const LONE: usize = 2;
/// Rounds of loops of an invocation after which llvmpipe ends them without a word.
const SOFTWARE_ROUNDS: u64 = 65535;
/// Degrees of freedom of a tree at most on a software adapter: the factor of a chain of 70 takes more rounds than these.
const SOFTWARE_DOFS: u32 = 64;

/// Where the worlds of a group are stepped.
#[derive(Clone)]
pub(crate) enum Backend {
    /// Mirrors, a chunk a task of the thread pool.
    Cpu,
    /// Kernels of an adapter; chunks take turns on it.
    Device(Arc<GpuDevice>),
}

impl Backend {
    /// Chunks are independent tasks of the thread pool; otherwise they take turns on the device.
    pub(crate) fn side_by_side(&self) -> bool {
        matches!(self, Self::Cpu)
    }

    /// What solves the lone trees of a world.
    pub(crate) fn spread(&self) -> Spread {
        match self {
            Self::Cpu => Spread::Mirror,
            Self::Device(device) if device.is_software() => Spread::Invocations { share: SOFTWARE_SHARE },
            Self::Device(_) => Spread::Workgroups,
        }
    }

    /// Degrees of freedom of a tree at most.
    pub(crate) fn most_dofs(&self) -> u32 {
        match self {
            Self::Device(device) if device.is_software() => SOFTWARE_DOFS,
            _ => u32::MAX,
        }
    }

    /// Rounds of loops that an invocation of a kernel may take, of bodies whose rounds are known.
    pub(crate) fn most_rounds(&self) -> u64 {
        match self {
            Self::Device(device) if device.is_software() => SOFTWARE_ROUNDS,
            _ => u64::MAX,
        }
    }

    /// Worlds of a chunk. `dofs`: of a world; `coupled`: its trees go through islands, which may have workspaces; `most_reals`: what else it
    /// has in a buffer at most.
    pub(crate) fn chunk_worlds<T: Scalar>(
        &self,
        worlds: usize,
        dofs: usize,
        coupled: bool,
        most_reals: usize,
    ) -> usize {
        let Self::Device(device) = self else { return cpu_chunk(worlds, dofs, rayon::current_num_threads()) };
        let (least, most) = if device.is_software() { (1, SOFTWARE_CHUNK) } else { (GPU_LONE_CHUNK, GPU_CHUNK) };
        let chunk = device_chunk(worlds, least, most);
        let reals = if coupled { most_reals.max(WORLD_REALS) } else { most_reals };
        if reals == 0 {
            return chunk;
        }
        // A binding has to hold the numbers of all worlds, as the workspaces of all islands.
        let most = device.max_binding_bytes() / (reals * size_of::<T>()) as u64;
        chunk.min((most / 32 * 32).max(32) as usize)
    }

    /// Empty buffers of one chunk; lanes and degrees of freedom of its sets of trees; on the CPU chunks share those that are `passing`.
    pub(crate) fn store<T: Scalar>(
        &self,
        specs: &[BufferSpec],
        sets: &[(usize, u32)],
        passing: &Arc<Passing<T>>,
    ) -> Result<Box<dyn Store<T>>, Error> {
        let passing = || Arc::clone(passing);
        Ok(match self {
            Self::Cpu if are_lone(sets) => Box::new(CpuStore::lone(specs).sharing(passing())),
            Self::Cpu => Box::new(CpuStore::new(specs).sharing(passing())),
            Self::Device(device) => Box::new(GpuStore::new(device, specs)?),
        })
    }
}

/// Whether lanes take less time one after the other than side by side in packs, by the squares of their degrees of freedom.
fn are_lone(sets: &[(usize, u32)]) -> bool {
    let time = |lanes: fn(usize) -> usize| -> u64 {
        sets.iter().map(|&(of_set, dofs)| lanes(of_set) as u64 * u64::from(dofs).pow(2)).sum()
    };
    time(|lanes| lanes) <= time(|lanes| LONE * lanes.div_ceil(LANES))
}

/// Worlds of a chunk of the CPU: several tiles of small worlds, where every thread has two chunks all the same.
fn cpu_chunk(worlds: usize, dofs: usize, threads: usize) -> usize {
    let least = if threads == 1 { 1 } else { 2 * threads };
    let tiles = (CPU_DOFS / dofs.max(1)).min(CPU_TILES).min(worlds.div_ceil(LANES) / least);
    LANES * tiles.max(1)
}

/// Worlds of a chunk of a device: whole tiles, one half of what is more than `least`, `most` at most.
fn device_chunk(worlds: usize, least: usize, most: usize) -> usize {
    worlds.div_ceil(2).max(least.min(worlds)).next_multiple_of(32).min(most)
}

/// The numbers of a buffer where they lie.
pub(crate) fn numbers<T: Scalar>(store: &dyn Store<T>, buffer: BufferId) -> Numbers<'_> {
    if let Some(buffer) = store.wgpu_buffer(buffer) {
        return Numbers::Device(buffer);
    }
    in_memory(store.numbers(buffer).unwrap_or_default())
}

/// Numbers in main memory.
pub(crate) fn in_memory<T: Scalar>(numbers: &[T]) -> Numbers<'_> {
    if size_of::<T>() == size_of::<f32>() {
        Numbers::F32(bytemuck::cast_slice(numbers))
    } else {
        Numbers::F64(bytemuck::cast_slice(numbers))
    }
}

/// The same, to be written.
pub(crate) fn numbers_mut<T: Scalar>(store: &mut dyn Store<T>, buffer: BufferId) -> NumbersMut<'_> {
    if store.numbers(buffer).is_none() {
        return store.wgpu_buffer(buffer).map_or(NumbersMut::F32(&mut []), NumbersMut::Device);
    }
    in_memory_mut(store.numbers_mut(buffer).unwrap_or_default())
}

/// The same, to be written.
pub(crate) fn in_memory_mut<T: Scalar>(numbers: &mut [T]) -> NumbersMut<'_> {
    if size_of::<T>() == size_of::<f32>() {
        NumbersMut::F32(bytemuck::cast_slice_mut(numbers))
    } else {
        NumbersMut::F64(bytemuck::cast_slice_mut(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_small_worlds_leave_threads_something_to_share() {
        let tiles = |worlds, dofs, threads| cpu_chunk(worlds, dofs, threads) / LANES;
        assert_eq!([1, 8, 9, 17, 1000].map(|dofs| tiles(4096, dofs, 2)), [4, 4, 3, 1, 1]);
        assert_eq!([1, 64, 128, 4096].map(|worlds| tiles(worlds, 2, 2)), [1, 2, 4, 4]);
        assert_eq!([1, 8, 16, 32].map(|threads| tiles(1024, 0, threads)), [4, 4, 4, 2]);
    }

    #[test]
    fn few_worlds_of_a_device_are_one_chunk() {
        let chunk = |worlds| device_chunk(worlds, GPU_LONE_CHUNK, GPU_CHUNK);
        assert_eq!([1, 256, 2048, 2049, 4096, 100_000].map(chunk), [32, 256, 2048, 2048, 2048, 16384]);
        assert_eq!([1, 64, 4096, 10_000].map(|worlds| device_chunk(worlds, 1, 2048)), [32, 32, 2048, 2048]);
    }
}
