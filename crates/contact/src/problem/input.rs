//! The loose parts of a problem.

use std::sync::Arc;

use manyworlds_sparse::{Ordering, SparseMatrix};

use super::{Compliance, ContactProblem, Law, ProblemBuilder, ProblemError};

/// A constraint to be put into a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintInput {
    /// What it demands.
    pub law: Law,
    /// Bias, as many entries as rows count.
    pub e: [f64; 3],
    /// How it gives way; contacts only.
    pub compliance: Option<Compliance>,
    /// Its Jacobian; several of one subsystem add up.
    pub sides: Vec<SideInput>,
}

/// A constraint's Jacobian with respect to one subsystem, or one body of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SideInput {
    /// The subsystem.
    pub subsystem: usize,
    /// The body within the subsystem; given for all sides of a constraint or for none.
    pub body: Option<usize>,
    /// Of a sparse subsystem: the degrees of freedom that its columns are, numbered within the subsystem. Empty: all.
    pub dofs: Vec<u32>,
    /// `[rows, columns]`, row-major.
    pub jacobian: Vec<f64>,
}

/// The loose parts of a problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProblemInput {
    /// First degree of freedom and count of each subsystem; together each degree of freedom once.
    pub subsystems: Vec<[usize; 2]>,
    /// Block of `A` of each subsystem, dense row-major; empty where it is sparse.
    pub a: Vec<Vec<f64>>,
    /// Subsystems with a sparse block, and that.
    pub sparse: Vec<(usize, SparseMatrix)>,
    /// Right-hand side; its length is the number of degrees of freedom.
    pub b: Vec<f64>,
    /// Parent of each degree of freedom, -1 at a root; or empty.
    pub parent: Vec<i64>,
    /// Constraints, those of three rows first.
    pub constraints: Vec<ConstraintInput>,
    /// Impulses to start from, or empty.
    pub warm_start: Vec<f64>,
}

impl ContactProblem {
    /// Validates and completes a problem.
    ///
    /// # Errors
    /// The first element that is out of range, of a wrong length, not finite, or without meaning: overlapping
    /// subsystems, an `A` that is not symmetric positive definite, negative friction, bounds reversed.
    pub fn new(input: ProblemInput) -> Result<Self, ProblemError> {
        if input.a.len() != input.subsystems.len() {
            return Err(ProblemError::length("A_blocks", input.subsystems.len(), input.a.len()));
        }
        let mut builder = ProblemBuilder::new(&input.subsystems, input.b, input.parent)?;
        let mut sparse: Vec<Option<SparseMatrix>> = vec![None; input.a.len()];
        for (subsystem, matrix) in input.sparse {
            let Some(place) = sparse.get_mut(subsystem) else {
                let what = format!("subsystem {subsystem} of {}", input.a.len());
                return Err(ProblemError::new("A_sparse", what));
            };
            *place = Some(matrix);
        }
        for (block, sparse) in input.a.iter().zip(sparse) {
            match sparse {
                Some(matrix) => {
                    let ordering = Arc::new(Ordering::of(&matrix));
                    builder.sparse_block(matrix, ordering)?;
                }
                None => builder.block(block)?,
            }
        }
        for c in &input.constraints {
            builder.constraint(c.law, c.e, c.compliance)?;
            let split = c.sides.iter().any(|s| s.body.is_some());
            for side in &c.sides {
                let part = split.then_some(side.body);
                if side.dofs.is_empty() {
                    builder.side(side.subsystem, part, &side.jacobian)?;
                } else {
                    builder.sparse_side(side.subsystem, part, &side.dofs, &side.jacobian)?;
                }
            }
        }
        builder.finish(input.warm_start)
    }
}
