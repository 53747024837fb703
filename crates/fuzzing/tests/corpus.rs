//! Every input of the corpora, and every one that once failed, passes.

use cap::Cap;
use std::alloc::System;
use std::fs;
use std::path::{Path, PathBuf};

/// What is refused for its size must be refused before it is allocated.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);

/// The inputs under `fuzz/` kept as `folder` of the target called `name`.
fn inputs(folder: &str, name: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let entries = fs::read_dir(fuzz.join(folder).join(name));
    let mut paths: Vec<_> =
        entries.into_iter().flatten().map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
}

#[test]
fn inputs_of_the_corpora_and_past_failures_pass() {
    for (name, target) in forebay_fuzzing::TARGETS {
        let corpus = inputs("corpus", name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        for path in corpus.into_iter().chain(inputs("failures", name)) {
            // The last line shown is the input that fails.
            println!("{}", path.display());
            target(&fs::read(&path).expect("a readable file"));
        }
    }
}
