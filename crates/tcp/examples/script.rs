//! Runs scripts from files: `cargo run -p forebay-tcp --example script -- FILE...` says of each whether
//! it passes, and which line does not.

#[path = "../tests/runner/mod.rs"]
mod runner;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = false;
    for file in std::env::args().skip(1) {
        let outcome = std::fs::read_to_string(&file)
            .map_err(|error| error.to_string())
            .and_then(|source| runner::run(&source));
        match outcome {
            Ok(()) => println!("{file}: passes"),
            Err(error) => {
                failed = true;
                println!("{file}: {error}");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
