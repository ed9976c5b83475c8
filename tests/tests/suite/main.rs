//! The whole crate from outside: physics against closed forms and golden numbers, batches, solvers, gradients, parity.

mod bad_problems;
mod batch;
mod closed_forms;
mod compliant_scenes;
mod contact_tree;
mod convex;
mod corpus;
mod distance_scenes;
mod dynamics_golden;
mod dynamics_motion;
mod gradients;
mod gradients_bad_input;
mod gradients_golden;
mod groups;
mod host_part;
mod import_golden;
mod islands;
mod manipulation;
mod overrides;
mod parameter_derivatives;
mod parity;
mod rollout;
mod standing;
mod step_problem;
mod subadmm;
mod theta;
