//! Thousands of contact-rich worlds stepped together, on any GPU that wgpu reaches or on the CPU, with exact contact
//! and a certificate for every world.
//!
//! ```
//! use manyworlds::{Batch, BatchOptions, Executor, ImportOptions};
//!
//! # fn main() -> Result<(), manyworlds::Error> {
//! let model = manyworlds::load("hopper", &ImportOptions::default())?.model;
//! let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
//! let mut batch = Batch::new(&[(&model, 16)], &options)?;
//! let controls = vec![0.1_f32; batch.n_controls()];
//! for _ in 0..10 {
//!     batch.step(&controls)?;
//! }
//! let mut certificates = Vec::new();
//! batch.summaries(&mut certificates)?;
//! assert!(certificates.iter().all(|world| !world.failed()));
//! # Ok(())
//! # }
//! ```

mod batch;
mod checkpoint;
mod controls;
mod error;
mod field;
mod forces;
mod geoms;
pub mod gradcheck;
mod group;
mod host;
mod inspection;
pub mod kinematics;
mod lanes;
mod load;
mod memory;
mod mocap;
mod options;
pub mod random;
pub mod scenes;
mod stages;
mod summary;
pub mod tangent;

pub use batch::{
    Batch, DerivativesBy, Estimate, InputSlices, InputsMut, JacobiansMut, KeptStep, ModelParameter, OutputSlices,
    OutputsMut, ParameterDerivatives, Product, Rollout, RolloutGradient, SmoothedGradient, Smoothing, Start, StateRows,
    Which, WorldGradient,
};
pub use controls::ControlCurve;
pub use error::Error;
pub use field::{Block, BlockMut, Field, FieldId, FieldMut, Layout, Number, Numbers, NumbersMut};
pub use forces::Forces;
pub use geoms::GeomParameter;
pub use group::state::State;
pub use inspection::{
    ContactImpulse, ContactReport, Inspection, RelaxedOf, RelaxedReport, RowOf, RowReport, SoftReport, SolvedContact,
    StepProblem,
};
pub use load::load;
pub use manyworlds_contact as contact;
pub use manyworlds_dynamics::Parameter;
pub use manyworlds_gpu as gpu;
pub use manyworlds_gpu::{AdapterReport, GpuDevice, RoundTrips, Traffic, adapters, wgpu};
pub use manyworlds_gradients::{Bounces, Certificate, GradientRules, Inputs, Jacobian, Mode, Outputs};
pub use manyworlds_model as model;
pub use manyworlds_model::{ImportOptions, Loaded, Model, ModelBuilder};
pub use options::{BatchOptions, Executor, Integrator, Precision, Stabilisation};
pub use stages::{BufferReport, KernelReport, StageReport};
pub use summary::{Summary, status};

/// Programs that pages show, as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/soft.md")]
struct Pages;
