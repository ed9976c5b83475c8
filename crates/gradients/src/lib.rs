//! Derivatives of one step, by implicit differentiation of its solution: no solver is unrolled.
//!
//! A step solves `A(q) v+ = b(q, v, ctrl, tau) + J(q)^T lambda` with a law for every constraint, then `q+ = q (+) h v+`. At
//! a solution, every law is on one of its branches ([`Mode`]), and there the step is a smooth function: its derivative is
//! that of the equations of the branches (Q. Le Lidec et al. 2024, section III). Where a law is just at a switch the step
//! has a kink; [`Certificate::margin`] says how near that is.
//!
//! Which contact that was says [`ContactModel`]: exact, compliant and convex, or with a friction pyramid. It decides what a
//! contact is at the solution and how its impulse follows its velocity; the rest is common.
//!
//! * [`Linearised`] is the step at its solution: [`Linearised::jacobian`] is all of it, dense, [`Linearised::back`] a product
//!   with its transpose by one transposed solve.
//! * The dynamics are differentiated analytically (Carpentier and Mansard 2018), with the contact forces held, contact
//!   geometry by the features that touch ([`manyworlds_collide::derivatives`]).

mod activation;
mod applied;
mod bias;
mod block;
mod carrier;
mod certificate;
mod compliance;
mod constraint;
mod contact;
mod corner;
mod dense;
mod differences;
mod dual;
mod equations;
mod form;
mod grid;
mod input;
mod integrate;
mod island;
mod islands;
mod iterative;
mod jacobian;
mod joined;
mod krylov;
mod linearised;
mod member;
mod mode;
mod model;
mod momentum;
mod on_bodies;
mod parameter;
mod placed;
mod pool;
mod product;
mod released;
mod residuals;
mod row;
mod rows;
mod rules;
mod share;
mod span;
mod sparse;
mod system;
mod tree;
mod unknown;

pub use activation::{ActivationSlopes, activation_slopes};
pub use applied::slopes_of_applied_forces;
pub use bias::closed_below;
pub use block::BlockInput;
pub use certificate::{Certificate, LARGEST_RESIDUAL, is_doubtful, largest_contradiction};
pub use contact::ContactInput;
pub use dense::SMALLEST_PIVOT;
pub use input::{NearFactor, StepInput, WholeInput};
pub use integrate::{integrate_back, integrate_rows};
pub use jacobian::Jacobian;
pub use linearised::{Linearised, Purpose, jacobian};
pub use member::BodyOfTree;
pub use mode::Mode;
pub use model::{ContactModel, Give};
pub use parameter::{BodyChange, StepParameter};
pub use product::{Inputs, Outputs};
pub use rules::{Bounces, GradientRules};
pub use sparse::{CarrierInput, ContactSettings, LinearMap, PointInput, SparseInput, SymmetricMap};
pub use tree::{TreeInput, TreeMade};
