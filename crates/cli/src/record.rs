//! `--record`: the contact problems of running worlds as files.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use clap::Args;
use manyworlds::{Batch, Precision};
use manyworlds_contact::problem;

use crate::failure::Failure;

/// What to record.
#[derive(Args)]
pub(crate) struct RecordArgs {
    /// Writes contact problems there, as `solve` and `compare` read them: MODEL-STEP-WORLD.json
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    /// Steps from one recorded step to the next
    #[arg(long, value_name = "N", default_value_t = 50, requires = "record")]
    record_every: u64,
    /// Worlds that are recorded, from the first on; worlds with the same problem once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "record")]
    record_worlds: usize,
    /// Significant digits; as many as the precision has when absent
    #[arg(long, value_name = "N", requires = "record")]
    record_digits: Option<usize>,
}

impl RecordArgs {
    /// Makes the folder; nothing where nothing is recorded.
    pub(crate) fn start(&self, model: &str, precision: Precision) -> Result<Option<Recorder>, Failure> {
        let Some(folder) = &self.record else { return Ok(None) };
        if self.record_every == 0 {
            return Err(Failure::Input("--record-every: expected at least 1, found 0".into()));
        }
        let full = match precision {
            Precision::F32 => 9,
            Precision::F64 => problem::DIGITS,
        };
        let digits = self.record_digits.unwrap_or(full);
        if !(1..=problem::DIGITS).contains(&digits) {
            let what = format!("--record-digits: expected 1 to {}, found {digits}", problem::DIGITS);
            return Err(Failure::Input(what));
        }
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        Ok(Some(Recorder {
            folder: folder.clone(),
            model: file_name(model),
            every: self.record_every,
            worlds: self.record_worlds,
            digits,
            written: 0,
        }))
    }
}

/// Writes problems as steps go by.
pub(crate) struct Recorder {
    folder: PathBuf,
    model: String,
    every: u64,
    worlds: usize,
    digits: usize,
    written: usize,
}

impl Recorder {
    /// Call after every step. Worlds where nothing can act have no problem; one that broke down has none either, and
    /// its step says so elsewhere.
    pub(crate) fn after_step(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let step = batch.steps();
        if !step.is_multiple_of(self.every) {
            return Ok(());
        }
        let mut seen = HashSet::new();
        for world in 0..self.worlds.min(batch.len()) {
            let problem = match batch.contact_problem(world) {
                Ok(step) => step.problem,
                Err(error @ manyworlds::Error::NoProblem { .. }) => {
                    tracing::warn!("step {step}: {error}");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if problem.n_rows == 0 {
                continue;
            }
            let text = problem::write_rounded(&problem, self.digits);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                self.write(&self.folder.join(format!("{}-{step:05}-{world}.json", self.model)), &text)?;
                self.written += 1;
            }
        }
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        std::fs::write(path, format!("{text}\n")).map_err(|error| Failure::file(path, error))
    }

    /// Files written.
    pub(crate) fn written(&self) -> usize {
        self.written
    }
}

/// A model's name as a part of a file name.
fn file_name(model: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = model.chars().map(plain).collect();
    if name.is_empty() { "model".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_fit_into_file_names() {
        assert_eq!(file_name("half-cheetah"), "half-cheetah");
        assert_eq!(file_name("../my robot"), "---my-robot");
        assert_eq!(file_name(""), "model");
    }
}
