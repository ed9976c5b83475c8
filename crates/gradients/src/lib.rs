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

mod block;
mod compliance;
mod constraint;
mod contact;
mod dense;
mod form;
mod grid;
mod integrate;
mod island;
mod krylov;
mod large;
mod lu;
mod mode;
mod model;
mod momentum;
mod parameter;
mod pool;
mod product;
mod products;
mod reduced;
mod row;
mod rules;
mod share;
mod sparse;
mod step;
mod tangent;
mod tree;

pub use block::BlockInput;
pub use constraint::closed_below;
pub use contact::{BodyOfTree, ContactInput};
pub use integrate::{integrate_back, integrate_rows};
pub use island::LARGEST_RESIDUAL;
pub use lu::SMALLEST_PIVOT;
pub use mode::Mode;
pub use model::{ContactModel, Give};
pub use parameter::StepParameter;
pub use product::{Inputs, Outputs};
pub use rules::{Bounces, GradientRules};
pub use sparse::{ContactSettings, PointInput, SparseInput};
pub use step::{Certificate, Jacobian, Linearised, StepInput, is_doubtful, jacobian};
pub use tree::{TreeInput, TreeMade};
