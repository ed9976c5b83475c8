//! What can be wrong with a problem.

/// A fault of a contact problem: which element, and what about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct ProblemError {
    /// The element, as a path into the file: `contacts[3].J[1]`.
    pub at: String,
    /// What is wrong, with what was expected and what was found.
    pub what: String,
}

impl ProblemError {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }

    pub(crate) fn length(at: impl Into<String>, expected: usize, found: usize) -> Self {
        Self::new(at, format!("expected {expected} entries, found {found}"))
    }
}

/// Refuses infinities and NaNs. The name is made only if it is needed: batches pass here in every step.
pub(crate) fn finite(at: impl Fn() -> String, values: &[f64]) -> Result<(), ProblemError> {
    // All of them, without a branch each.
    if values.iter().fold(true, |all, x| all & x.is_finite()) {
        return Ok(());
    }
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) if values.len() == 1 => Err(ProblemError::new(at(), format!("{} is not finite", values[i]))),
        Some(i) => Err(ProblemError::new(format!("{}[{i}]", at()), format!("{} is not finite", values[i]))),
    }
}
