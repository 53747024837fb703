//! Files that a run writes as it goes.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A file that has its name only when the run is complete; until then ".part" follows it.
pub(super) struct Unfinished {
    path: PathBuf,
    part: PathBuf,
    complete: bool,
}

impl Unfinished {
    /// Begins the file that is to become `path`; a folder that is missing is made. The error says
    /// which file cannot be written.
    pub(super) fn create(path: &Path) -> Result<(BufWriter<File>, Self), String> {
        let part = PathBuf::from(format!("{}.part", path.display()));
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = folder
            .and_then(|()| File::create(&part))
            .map_err(|error| format!("cannot write {}: {error}", part.display()))?;
        Ok((BufWriter::new(file), Unfinished { path: path.to_owned(), part, complete: false }))
    }

    /// Gives the file its name, if nothing has failed.
    pub(super) fn finish(mut self, written: io::Result<()>) -> Result<(), String> {
        let ended = written.and_then(|()| std::fs::rename(&self.part, &self.path));
        self.complete = ended.is_ok();
        ended.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }
}

/// Takes away what an interrupted run leaves.
impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
