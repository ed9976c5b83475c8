//! Why a command did not end well, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Bad usage, bad input, or a machine that lacks what was asked for: exit code 2.
    Input(String),
    /// It ran, and what it checks failed: exit code 1.
    Check(String),
    /// Nobody reads standard output any more: no failure of ours, exit code 0.
    ClosedPipe,
}

impl Failure {
    /// 0 done, 1 a check failed, 2 bad usage or input.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) => ExitCode::from(2),
            Self::Check(_) => ExitCode::from(1),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }

    /// Bad input in a file.
    pub(crate) fn file(path: &std::path::Path, problem: impl fmt::Display) -> Self {
        Self::Input(format!("{}: {problem}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Check(message) => f.write_str(message),
            Self::ClosedPipe => f.write_str("standard output was closed"),
        }
    }
}

impl From<manyworlds::Error> for Failure {
    fn from(error: manyworlds::Error) -> Self {
        Self::Input(error.to_string())
    }
}
