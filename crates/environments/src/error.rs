//! What can be wrong with a call.

/// An error of environments.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such task.
    #[error("\"{found}\" is no environment; there are {known}")]
    UnknownTask {
        /// What was asked for.
        found: String,
        /// The ones there are.
        known: String,
    },
    /// An array of the wrong size.
    #[error("{what}: expected {expected} numbers, found {found}")]
    Length {
        /// Which.
        what: &'static str,
        /// By the environments.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// No task has such an option.
    #[error("{found}: no environment has such an option; there are {known}")]
    UnknownOption {
        /// What was given.
        found: String,
        /// The ones there are.
        known: String,
    },
    /// An option that the task does not have, or a value that it cannot take.
    #[error("{option}: {message}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A world was stepped that is over, though nobody resets it.
    #[error("environment {0} is over: reset it before the next step, as autoreset is disabled")]
    Over(usize),
    /// Of the simulator.
    #[error(transparent)]
    Simulator(#[from] manyworlds::Error),
}
