//! Learning environments over batches of worlds: observations, rewards, terminations and resets of all worlds at once.
//!
//! The tasks are some of our own (`Pinch`: a box held by friction, `Drawer`: one opened by it, `NutTurning`: a nut turned down its
//! bolt by it, `Quadruped`: a robot that walks as it is told) and those of Gymnasium's MuJoCo environments, version 5: the same models, observations, rewards, terminations
//! and distributions of starts. Contact is this simulator's, and so is time stepping (Gymnasium's models ask for RK4, mostly). What
//! MuJoCo derives from a state (positions of bodies, velocities, contact forces) its environments see as of the last stage of
//! the step, which under RK4 is the new state up to the square of the time step; here it is the new state's.
//!
//! ```
//! use manyworlds::{BatchOptions, Executor};
//! use manyworlds_environments::{Autoreset, Environments, Outcome};
//!
//! let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
//! let mut environments = Environments::new("HalfCheetah", 16, Autoreset::NextStep, &options)?;
//! let mut observations = vec![0.0_f32; environments.len() * environments.n_observation()];
//! environments.reset(None, Some(1), &mut observations)?;
//! let actions = vec![0.1_f32; environments.len() * environments.n_action()];
//! let mut outcome = Outcome::new(&environments);
//! environments.step(&actions, &mut observations, &mut outcome)?;
//! assert!(outcome.rewards.iter().all(|reward| reward.is_finite()));
//! # Ok::<(), manyworlds_environments::Error>(())
//! ```

mod draws;
mod environments;
mod error;
mod options;
mod spatial;
mod tasks;
mod terrain;

pub use environments::{Autoreset, Environments, Outcome, Real};
pub use error::Error;
pub use options::{Choice, TaskOptions};
pub use tasks::{Spec, TASKS};
