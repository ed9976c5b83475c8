//! Soft bodies of a world as its contact problem sees them: the nonlinear step about a velocity, and contacts.

mod contacts;
mod kernels;
mod momentum;
mod pack;
mod read;
mod room;
pub(super) mod start;
pub(super) mod step;
mod touches;

pub(super) use kernels::SoftKernels;
pub(super) use pack::Run;
pub(super) use read::report;
