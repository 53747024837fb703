//! The `forebay-gate` command.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    forebay_gate::command::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("forebay-gate: runs on Linux only");
    std::process::exit(2);
}
