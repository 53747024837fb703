//! Writes the manual pages of `forebay-gate` and its completions for bash, zsh and fish into a
//! folder, for packages: `cargo run -p forebay-gate --example pages -- FOLDER`.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use clap_complete::Shell;

    let folder =
        std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("which folder?"))?;
    let mut line = forebay_gate::command::line();
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(line.clone(), &folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut line, "forebay-gate", &folder)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
