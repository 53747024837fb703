//! Files that are written during a run.

use forebay_core::file;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A file that gets its name when the run is complete. Until then, ".part" follows the name.
pub(super) struct Unfinished {
    path: PathBuf,
    part: PathBuf,
    file: File,
    complete: bool,
}

impl Unfinished {
    /// Begins the file `path`, and creates missing folders. The error names the file.
    pub(super) fn create(path: &Path) -> Result<(BufWriter<File>, Self), String> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let begun = folder.and_then(|()| {
            let file = file::create(&part)?;
            Ok((BufWriter::new(file.try_clone()?), file))
        });
        let (out, file) = begun.map_err(|error| unwritten(path, &error))?;
        Ok((out, Unfinished { path: path.to_owned(), part, file, complete: false }))
    }

    /// Gives the file its name, if nothing has failed.
    pub(super) fn finish(mut self, written: io::Result<()>) -> Result<(), String> {
        let ended = written
            .and_then(|()| self.file.sync_all())
            .and_then(|()| std::fs::rename(&self.part, &self.path));
        self.complete = ended.is_ok();
        ended.map_err(|error| unwritten(&self.path, &error))
    }
}

/// The error of a file that cannot be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {}", path.display(), file::words(error))
}

/// Removes the file of an interrupted run.
impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
