//! Writes the manual pages of `forebay-gate` and its completions for bash, zsh and fish into a
//! folder, for packages: `cargo run -p forebay-gate --example pages -- FOLDER`.

#[cfg(target_os = "linux")]
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
.B 0
Success. A gate that is stopped by SIGINT or SIGTERM ends with 0, too.
.TP
.B 1
An interface was deleted or a recording could not be written while the gate ran, or a replay differs
from its recording.
.TP
.B 2
Wrong input, or a file or an interface that cannot be opened.
"#;

#[cfg(target_os = "linux")]
const FILES: &str = r#".SH FILES
.TP
.I /etc/forebay/gate.toml
The configuration of the systemd service. Its socket is
.IR /run/forebay/gate.sock .
.TP
.I /run/forebay\-gate.sock
The control socket, if the configuration names no other.
"#;

#[cfg(target_os = "linux")]
const EXAMPLES: &str = r#".SH EXAMPLES
Check a configuration, run a gate with it, and look at its queue from another terminal:
.PP
.nf
    forebay\-gate check gate.toml
    forebay\-gate run gate.toml
    forebay\-gate watch
.fi
.PP
The same as a service:
.PP
.nf
    forebay\-gate check /etc/forebay/gate.toml
    systemctl enable \-\-now forebay\-gate
    forebay\-gate status \-\-socket /run/forebay/gate.sock
.fi
"#;

#[cfg(target_os = "linux")]
const SEE_ALSO: &str = r#".SH "SEE ALSO"
.BR forebay\-gate (1),
which explains the exit status and has examples.
"#;

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use clap_complete::Shell;

    let folder = std::env::args_os()
        .nth(1)
        .map(std::path::PathBuf::from)
        .ok_or_else(|| std::io::Error::other("usage: pages FOLDER"))?;
    let mut line = forebay_gate::command::line();
    std::fs::create_dir_all(&folder)?;
    let mut built = line.clone().disable_help_subcommand(true);
    built.build();
    for command in built.get_subcommands() {
        page(command, &folder, &[SEE_ALSO])?;
    }
    page(&built, &folder, &[EXIT_STATUS, FILES, EXAMPLES])?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut line, "forebay-gate", &folder)?;
    }
    Ok(())
}

/// Writes the page of one command. `sections` follow what clap knows of it.
#[cfg(target_os = "linux")]
fn page(
    command: &clap::Command,
    folder: &std::path::Path,
    sections: &[&str],
) -> std::io::Result<()> {
    use std::io::Write;

    let man = clap_mangen::Man::new(command.clone()).manual("forebay");
    let mut out = std::fs::File::create(folder.join(man.get_filename()))?;
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    for section in sections {
        out.write_all(section.as_bytes())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
