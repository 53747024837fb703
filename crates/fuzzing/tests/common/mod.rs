//! The corpora.

use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The folder of the fuzzers.
pub fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The inputs in the corpus of the target called `name`, with their names.
pub fn corpus(name: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let path = fuzz().join("corpus").join(name).with_extension("tar.gz");
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    let mut inputs = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let mut data = Vec::new();
            entry.read_to_end(&mut data)?;
            inputs.push((Path::new(name).join(entry.path()?), data));
        }
    }
    Ok(inputs)
}
