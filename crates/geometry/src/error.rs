//! What is wrong with a model, and where.

use std::fmt;
use std::path::PathBuf;

/// Where in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1; 0 when the format does not tell.
    pub line: u32,
    /// The element, as `<joint name="knee">`.
    pub element: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.element.is_empty() {
            write!(f, ": {}", self.element)?;
        }
        Ok(())
    }
}

/// Why a model could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file's content is wrong or not supported.
    #[error("{location}: {message}")]
    Import {
        /// Where.
        location: Location,
        /// What, expected and found.
        message: String,
    },
    /// A part of the model is wrong.
    #[error("{element}: {message}")]
    Invalid {
        /// Kind, index and name, as `body 3 "thigh"`.
        element: String,
        /// What, expected and found.
        message: String,
    },
}
