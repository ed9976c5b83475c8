//! Trees that are islands by themselves, each with the ground: a lane a tree, from assembly to certificate.
//!
//! Solves `A v = b + J^T lambda` with every contact, limit, drive and block obeying its law exactly; see
//! [`manyworlds_shaders::contact::tree_pgs`] for the method, and [`record_solution`] for the dispatches.

mod info;
mod params;
mod record;

pub use info::PgsInfo;
pub use params::{CPU_ROWS, PgsError, PgsParams, Spread, device_reals, device_rows};
pub use record::{TreeContactBuffers, record_assembly, record_certificate, record_solution, work_reals};
