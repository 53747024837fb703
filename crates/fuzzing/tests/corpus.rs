//! Every input of the corpora, and every one that once failed, passes.

use cap::Cap;
use std::alloc::System;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What is refused for its size must be refused before it is allocated.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The inputs packed as the corpus of the target called `name`, and what they are called.
fn corpus(name: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let path = fuzz().join("corpus").join(name).with_extension("tar");
    let mut archive = tar::Archive::new(File::open(path)?);
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

/// The inputs that once failed in the target called `name`.
fn failures(name: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = fuzz().join("failures").join(name);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(|path| Ok((path.clone(), fs::read(path)?))).collect()
}

#[test]
fn inputs_of_the_corpora_and_past_failures_pass() {
    for (name, target) in forebay_fuzzing::TARGETS {
        let corpus = corpus(name).unwrap_or_else(|error| panic!("the corpus of {name}: {error}"));
        assert!(!corpus.is_empty(), "{name} has no corpus");
        let failures = failures(name).expect("readable files");
        for (path, input) in corpus.into_iter().chain(failures) {
            // The last line shown is the input that fails.
            println!("{}", path.display());
            target(&input);
        }
    }
}
