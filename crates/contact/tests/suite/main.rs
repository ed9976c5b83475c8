//! Contact problems and their solvers from outside.

mod canal;
mod checks;
mod closed_forms;
mod closing;
mod newton_cr;
mod problem;
mod relaxed;
mod samples;
mod sap;
mod subadmm;
mod whole;
