//! A run as CSV.

use std::path::{Path, PathBuf};

use manyworlds::Model;

use crate::failure::Failure;

/// The CSV file: a heading, then a row a step.
pub(super) struct Rows {
    path: PathBuf,
    writer: csv::Writer<std::fs::File>,
}

impl Rows {
    pub(super) fn new(path: &Path, model: &Model) -> Result<Self, Failure> {
        let mut writer = csv::Writer::from_path(path).map_err(|error| Failure::file(path, error))?;
        let q = (0..model.n_q).map(|i| format!("q{i}"));
        let v = (0..model.n_v).map(|i| format!("v{i}"));
        writer
            .write_record(std::iter::once("t".to_owned()).chain(q).chain(v))
            .map_err(|error| Failure::file(path, error))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    pub(super) fn write(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<(), Failure> {
        let row = std::iter::once(&t).chain(q).chain(v).map(|x| format!("{x:e}"));
        self.writer.write_record(row).map_err(|error| Failure::file(&self.path, error))
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(|error| Failure::file(&self.path, error))
    }
}
