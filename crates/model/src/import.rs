//! What the importers have in common: options, the report of what was left out, and reading files.

use std::path::{Path, PathBuf};

use crate::{Location, Model, ModelError};

/// How to read a model file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// List what changes the physics and is not supported, instead of refusing it.
    pub ignore_unsupported: bool,
    /// URDF: let the root link float.
    pub free_root: bool,
    /// URDF: add a ground plane at z = 0.
    pub ground: bool,
    /// URDF: merge links held by fixed joints into their parents.
    pub merge_fixed: bool,
}

/// An element of a file that the model does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1; 0 when the format does not tell.
    pub line: u32,
    /// The element, as `<joint name="knee">`.
    pub element: String,
    /// What of it is ignored, and why that is in order (or that the user asked for it).
    pub why: String,
    /// Whether it changes the physics: torsional friction, or what the user asked to leave out.
    pub unsupported: bool,
}

/// A model read from a file, and what it does not hold of that file.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// Elements without a meaning here, and unsupported ones that [`ImportOptions::ignore_unsupported`] let pass.
    pub ignored: Vec<Ignored>,
    /// What was added that the file does not say.
    pub assumptions: Vec<String>,
}

/// Reads a file that a model refers to (meshes, includes), by its path as composed from the model's.
pub type Resolver<'a> = dyn Fn(&Path) -> std::io::Result<Vec<u8>> + 'a;

/// Reads a model file: `.xml` or `.mjcf` as MJCF, `.urdf` as URDF.
///
/// # Errors
/// A [`ModelError`] naming file, line where known, and element.
pub fn load(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Loaded, ModelError> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_owned(), source })?;
    let text = text_of(bytes);
    let resolver = |path: &Path| std::fs::read(path);
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("urdf") => crate::from_urdf_str(path, &text, &resolver, options),
        Some("xml" | "mjcf") => crate::from_mjcf_str(path, &text, &resolver, options),
        _ => Err(file_error(path, "unknown kind of model file: expected .xml (MJCF) or .urdf")),
    }
}

/// Text of a file: UTF-8, or else Latin-1, in which comments of older files are written.
pub(crate) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}

/// An error about a file as a whole.
pub(crate) fn file_error(path: &Path, message: impl Into<String>) -> ModelError {
    let location = Location { file: path.to_owned(), line: 0, element: String::new() };
    ModelError::Import { location, message: message.into() }
}

/// Collects what an importer leaves out, and decides whether it may.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) ignore_unsupported: bool,
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) assumptions: Vec<String>,
}

impl Report {
    pub(crate) fn new(options: &ImportOptions) -> Self {
        Self { ignore_unsupported: options.ignore_unsupported, ..Self::default() }
    }

    /// Lists something that has no meaning here.
    pub(crate) fn ignore(&mut self, location: Location, why: impl Into<String>) {
        self.list(location, why.into(), false);
    }

    /// Lists something that changes the physics, a little, and is left out all the same.
    pub(crate) fn leave_out(&mut self, location: Location, why: impl Into<String>) {
        self.list(location, why.into(), true);
    }

    fn list(&mut self, location: Location, why: String, unsupported: bool) {
        let Location { file, line, element } = location;
        self.ignored.push(Ignored { file, line, element, why, unsupported });
    }

    /// Refuses something that would change the physics, or lists it when the user asked for that.
    pub(crate) fn unsupported(&mut self, location: Location, what: impl Into<String>) -> Result<(), ModelError> {
        let message = format!("not supported: {}", what.into());
        if self.ignore_unsupported {
            self.leave_out(location, message);
            return Ok(());
        }
        Err(ModelError::Import { location, message })
    }
}
