//! Checkpoints in files. One that is there stays whole until the next one is: a process that dies in between loses nothing.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::{Batch, Error};

impl Batch {
    /// Writes [`Batch::checkpoint`] into a file: beside it first, under its own name when all of it is on the disk.
    ///
    /// # Errors
    /// [`Error::File`], or a device that fails; a file that was there is as it was.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = self.checkpoint()?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let write = || {
            let mut file = File::create(&part)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&part, path)
        };
        write().map_err(|reason| {
            // What could not be finished helps nobody; that it cannot be removed either changes nothing.
            let _ = fs::remove_file(&part);
            Error::File { path: path.to_owned(), reason }
        })
    }

    /// Goes on from a file that [`Batch::save`] wrote.
    ///
    /// # Errors
    /// [`Error::File`], or as [`Batch::restore`].
    pub fn resume(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|reason| Error::File { path: path.to_owned(), reason })?;
        self.restore(&bytes)
    }
}
