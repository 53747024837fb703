//! The `forebay-gate` command.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    forebay_gate::command::main(&forebay_gate::plugins::Parts::builtin())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("forebay-gate: runs on Linux only");
    std::process::exit(2);
}
