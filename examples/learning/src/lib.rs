//! Learning by the gradients of the simulation (SHAC) and without them (PPO): the same worlds, networks and budget.

pub mod curve;
pub mod net;
pub mod noise;
pub mod policy;
pub mod ppo;
pub mod shac;
pub mod table;
pub mod tasks;
pub mod units;
pub mod worlds;

use anyhow::Result;

use policy::Policy;

/// Something that learns a policy.
pub trait Learner {
    /// Acts for a while and learns from it, at this share of its rates; how many actions that took, all worlds together.
    ///
    /// # Errors
    /// Of the batch, of tensors.
    fn iterate(&mut self, share: f64) -> Result<usize>;
    /// What was learned so far.
    fn policy(&self) -> &Policy;
}
