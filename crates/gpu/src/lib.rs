//! Recordings and the two executors that run them: mirrors on the CPU, WGSL on any adapter that wgpu reaches.
//!
//! A [`Store`] holds the named buffers of a chunk of worlds; a [`Recording`] is the list of dispatches of a step. Both
//! stores run the same recording: [`CpuStore`] at once on the calling thread (chunks are spread over threads by their
//! owner), [`GpuStore`] by [`Store::submit`] and [`Store::wait`], so that a host works on one chunk while the device
//! works on another.
mod accesses;
mod adapter;
mod allocation;
mod clock;
mod copies;
mod cpu;
mod device;
mod error;
mod gpu;
mod guard;
mod passing;
mod pipelines;
mod readback;
mod recording;
mod store;
mod timestamps;

pub use accesses::Accesses;
pub use adapter::{AdapterReport, adapters};
pub use clock::Instant;
pub use copies::Copies;
pub use cpu::CpuStore;
pub use device::{DeviceOptions, GpuDevice};
pub use error::GpuError;
pub use gpu::GpuStore;
pub use passing::Passing;
pub use recording::{BufferId, BufferSpec, DIMS_WORDS, Dispatch, MAX_BUFFERS, Part, Recording};
pub use store::{RoundTrips, Store, Ticket, Timings, Traffic};
pub use wgpu;
