//! Every input of the corpora, and every one that once failed, passes.

mod common;

use cap::Cap;
use common::{corpus, fuzz};
use std::alloc::System;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Inputs that are refused for their size must be refused before they are allocated.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);

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
