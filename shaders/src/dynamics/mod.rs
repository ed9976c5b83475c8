//! The dynamics of one kinematic tree: a lane per tree, whole tiles of lanes side by side.
//!
//! Spatial vectors are (angular, linear) in world axes, taken at the tree's reference point c, the position of its
//! first body. At the instant of the step c stands for a point fixed in the world, as in MuJoCo's `cdof` and `cvel`.
//!
//! In a step the kernels run in this order: [`kinematics`], [`bias`], [`inertia`], [`momentum`], [`factor`], then the
//! contact kernels on `velocity`, then [`integrate`]; [`speed`] follows [`kinematics`] where contacts are looked for.
//!
//! With the theta method ([`names::integrator`]) that is the first guess of the free velocity. Rounds of [`stage`],
//! [`kinematics`], [`bias`], [`inertia`] and [`factor`] at the stage, with [`balance`] in the place of [`momentum`], make it
//! the root of the balance of momentum; contacts stay where the step began. With theta = 0 one round at the state does.

pub mod accelerate;
pub mod activate;
pub(crate) mod activation;
pub mod adhere;
pub mod applied;
pub mod balance;
pub mod bias;
pub mod bound;
pub(crate) mod carried;
pub mod derivatives;
pub(crate) mod effort;
pub mod factor;
pub mod feel;
pub mod grip;
pub mod inertia;
pub mod integrate;
pub mod kinematics;
pub mod load;
pub mod momentum;
pub mod names;
pub mod path;
pub mod sense;
pub mod sensors;
pub mod speed;
pub mod stage;
pub mod tree;
pub mod tumble;
pub(crate) mod wrap;
