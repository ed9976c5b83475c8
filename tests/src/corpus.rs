//! The recorded contact problems.

use std::fs;
use std::path::PathBuf;

use manyworlds::contact::{ContactProblem, problem};

use crate::root;

/// Problems of these scenes, by name.
///
/// # Panics
/// If the corpus is not there or cannot be read.
#[must_use]
pub fn recorded(scenes: &[&str]) -> Vec<(String, ContactProblem)> {
    let folder = fs::read_dir(root().join("tests/corpus")).expect("the corpus is there");
    let mut files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        path.extension().is_some_and(|e| e == "json") && scenes.iter().any(|scene| name.starts_with(scene))
    });
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a file of the corpus");
        (name.clone(), problem::read(&text).unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    files.iter().map(read).collect()
}
