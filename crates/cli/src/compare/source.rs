//! Where problems come from: files, folders, and models that are stepped.

use std::path::{Path, PathBuf};

use manyworlds::{Batch, BatchOptions, Executor, Precision};
use manyworlds_contact::{ContactProblem, problem};

use crate::args::{ImportArgs, read};
use crate::failure::Failure;
use crate::output;
use crate::state::{Start, State};

/// How well the model's own steps are solved on the way to the problems, N s, and the most sweeps for it.
const WALK: (f64, u32) = (1e-8, 1000);

/// An argument of the command.
pub(super) enum Source {
    /// Problem files.
    Files(Vec<PathBuf>),
    /// A path or name of a model.
    Model(String),
}

impl Source {
    /// By what it is on disk, and by its name.
    pub(super) fn new(argument: &str) -> Result<Self, Failure> {
        let path = Path::new(argument);
        if path.is_dir() {
            return Ok(Self::Files(folder(path)?));
        }
        let is_problem = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        Ok(if is_problem { Self::Files(vec![path.to_owned()]) } else { Self::Model(argument.to_owned()) })
    }

    /// The problems with names to tell them by.
    pub(super) fn problems(&self, import: &ImportArgs, at: &[u64]) -> Result<Vec<(String, ContactProblem)>, Failure> {
        match self {
            Self::Files(files) => files.iter().map(file).collect(),
            Self::Model(model) => walk(model, import, at),
        }
    }
}

/// The problem files of a folder, by name.
fn folder(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(path).map_err(|error| Failure::file(path, error))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| Failure::file(path, error))?.path();
        if file.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::file(path, "the folder holds no contact problem (.json)"));
    }
    Ok(files)
}

fn file(path: &PathBuf) -> Result<(String, ContactProblem), Failure> {
    let problem = problem::read(&read(path)?).map_err(|error| Failure::file(path, error))?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok((name, problem))
}

/// Steps one world of a model from where it starts, and takes the problems of some steps that had one.
fn walk(spec: &str, import: &ImportArgs, at: &[u64]) -> Result<Vec<(String, ContactProblem)>, Failure> {
    if at.contains(&0) {
        return Err(Failure::Input("--at: expected steps from 1 on, found 0".into()));
    }
    let model = import.load(spec)?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: WALK.0,
        iterations: WALK.1,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    Start::new(State::default(), crate::args::scene_keyframe(spec, &model), &model).apply(&mut batch)?;
    let last = at.iter().copied().max().unwrap_or(0);
    let bar = output::progress(last, "stepping");
    let mut problems = Vec::new();
    for step in 1..=last {
        batch.step::<f64>(&[])?;
        if at.contains(&step) {
            let problem = batch.contact_problem(0)?.problem;
            if problem.n_rows > 0 {
                problems.push((format!("{}-{step:04}", model.name), problem));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(problems)
}
