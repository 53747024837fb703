//! The command line.

use crate::accounts::Circuits;
use crate::config::{self, Config};
use crate::control;
use crate::plugins::{self, Parts};
use crate::run::{self, Run};
use crate::show;
use crate::status::Status;
use crate::text;
use clap::{Args, CommandFactory, Parser, Subcommand};
use forebay_core::file;
use forebay_shaper::replay;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code for input that cannot be used.
const BAD_INPUT: u8 = 2;

/// The version, and the commit of the source if `make` built it.
fn version() -> String {
    let commit = option_env!("FOREBAY_COMMIT").filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    format!("{}{commit}", env!("CARGO_PKG_VERSION"))
}

/// Shape and queue real traffic between two network interfaces.
///
/// The gate forwards packets between two Linux interfaces. It sends them at a rate that you choose,
/// and queues them with any of forebay's queue disciplines. A configuration file in TOML names the
/// interfaces, the rate and the discipline.
#[derive(Parser)]
#[command(name = "forebay-gate", version = version(), after_help = "Start with: forebay-gate check gate.toml")]
struct Line {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run a gate until it is stopped.
    ///
    /// SIGINT and SIGTERM stop the gate; it prints a last summary. SIGHUP makes it read its
    /// configuration again. If the new configuration is wrong, nothing changes.
    Run {
        /// The configuration file, in TOML.
        config: PathBuf,
        /// Forward all packets unchanged and unqueued, and count what the discipline would do.
        #[arg(long)]
        dry_run: bool,
        /// Record every operation of the queues, in forward.rec and reverse.rec in this folder, which
        /// must not have them yet.
        #[arg(long, value_name = "DIR")]
        record: Option<PathBuf>,
        /// Take over from the gate that runs with the same socket. It hands over its interfaces,
        /// and the packets that wait in it leave first, so none is lost.
        #[arg(long)]
        take_over: bool,
        /// Start a second process, which passes packets unqueued while the gate does not run,
        /// starts the gate again, and waits for an interface that has disappeared. This process
        /// keeps its privileges.
        #[arg(long)]
        fail_open: bool,
        /// Follow the guardian at standard input.
        #[arg(long, hide = true)]
        guarded: bool,
        /// The process that started this one. The new gate waits for its end.
        #[arg(long, hide = true)]
        launcher: Option<u32>,
    },
    /// Replace a running gate by a new one without losing a packet.
    ///
    /// The new gate starts in the background, from the program that is installed now. The packets
    /// that wait in the old gate leave first. If the new gate cannot take over, the old one
    /// continues. Under systemd, use `systemctl reload` with the drop-in upgrade.conf instead.
    Upgrade {
        /// The configuration file. Its interfaces, socket and metrics are those of the running gate.
        config: PathBuf,
        /// Guard the new gate, as with `run --fail-open`. If the running gate is guarded, the new one
        /// always is.
        #[arg(long)]
        fail_open: bool,
        /// Start it and return.
        #[arg(long, hide = true)]
        launch: bool,
    },
    /// Check a configuration and print it with every default filled in.
    ///
    /// Then say in words which packets each rule matches. Nothing is started or changed.
    Check {
        /// The configuration file, in TOML.
        config: PathBuf,
        /// Print only JSON: the configuration.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of a configuration, for editors that check it.
    Schema {
        /// Leave out the disciplines, which are in the schema of scenarios.
        #[arg(long, hide = true)]
        without_queues: bool,
    },
    /// Print the state of a running gate: rates, queues, delays, drops and matches of rules.
    Status {
        #[command(flatten)]
        at: At,
        /// Print only JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the circuits of a running gate: rates over a second, and delays, drops and marks.
    ///
    /// Of those that send, circuits with the longest delays come first. Circuits have their ids; names and addresses of subscribers are not shown.
    Circuits {
        #[command(flatten)]
        at: At,
        /// Number of circuits to print.
        #[arg(long, value_name = "N", default_value_t = 20)]
        most: usize,
        /// Print only JSON: all circuits, with counters since the start.
        #[arg(long)]
        json: bool,
    },
    /// Show the state of a running gate, and update it until Ctrl-C.
    Watch {
        #[command(flatten)]
        at: At,
        /// Time between two updates.
        #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
        every: f64,
    },
    /// Make a running gate read its configuration again.
    ///
    /// No packet is dropped: those that wait in the old queue leave first. If the new configuration
    /// is wrong, nothing changes.
    Reload {
        #[command(flatten)]
        at: At,
    },
    /// Replay a recording through the simulator's queue, and compare.
    ///
    /// Every packet must be queued, dropped, marked and sent as it was in the gate. Exit code 1 if
    /// anything differs.
    Replay {
        /// The recording, which `run --record` wrote.
        recording: PathBuf,
        /// Print only JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct At {
    /// Control socket of the gate: `socket` in its configuration.
    #[arg(long, value_name = "PATH", default_value = "/run/forebay-gate.sock")]
    socket: PathBuf,
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|span| (0.1..=3600.0).contains(span))
        .ok_or_else(|| format!("expected a number of seconds from 0.1 to 3600, got \"{text}\""))
}

/// The command line as data, from which manual pages and completions are made.
#[must_use]
pub fn line() -> clap::Command {
    Line::command()
}

/// Runs the command line of a gate. Configurations can name `parts`.
pub fn main(parts: &Parts) -> ExitCode {
    match act(Line::parse().action, parts) {
        Ok(code) => code,
        // Whoever read has gone, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            text::print(&format!("error: {error}\n"));
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn act(action: Action, parts: &Parts) -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match action {
        Action::Run { config, dry_run, record, take_over, fail_open, guarded, launcher } => {
            drop(out);
            let path = config;
            return Run { path, dry_run, record, take_over, fail_open, guarded, launcher }
                .run(parts);
        }
        Action::Upgrade { config, fail_open, launch } => {
            drop(out);
            if launch {
                return run::launch(&config, fail_open);
            }
            return run::upgrade(&config, fail_open, parts);
        }
        Action::Check { config, json } => {
            plugins::give_up_late(BAD_INPUT)?;
            let file = Config::load(&config, parts).map_err(io::Error::other)?;
            let place = |error| io::Error::other(format!("{}: {error}", config.display()));
            if json {
                serde_json::to_writer_pretty(&mut out, &file.effective().map_err(place)?)?;
                writeln!(out)?;
            } else {
                out.write_all(show::check(&file).map_err(place)?.as_bytes())?;
            }
        }
        Action::Schema { without_queues } => {
            let found = config::schema(parts, !without_queues);
            serde_json::to_writer_pretty(&mut out, &found)?;
            writeln!(out)?;
        }
        Action::Status { at, json } => {
            let reply = control::ask(&at.socket, "status")?;
            if json {
                writeln!(out, "{}", text::lines(&format!("{reply:#}")))?;
            } else {
                let status: Status = serde_json::from_value(reply)?;
                out.write_all(show::screen(&status, None).as_bytes())?;
            }
        }
        Action::Circuits { at, most, json } => {
            let reply = control::ask(&at.socket, "circuits")?;
            if json {
                writeln!(out, "{}", text::lines(&reply.to_string()))?;
            } else {
                let before: Circuits = serde_json::from_value(reply)?;
                std::thread::sleep(Duration::from_secs(1));
                let now = serde_json::from_value(control::ask(&at.socket, "circuits")?)?;
                out.write_all(show::circuits(&before, &now, most).as_bytes())?;
            }
        }
        Action::Watch { at, every } => {
            let clear = if out.is_terminal() { "\x1b[H\x1b[J" } else { "" };
            let mut before: Option<Status> = None;
            loop {
                let status = serde_json::from_value(control::ask(&at.socket, "status")?)?;
                write!(out, "{clear}{}", show::screen(&status, before.as_ref()))?;
                out.flush()?;
                before = Some(status);
                std::thread::sleep(Duration::from_secs_f64(every));
            }
        }
        Action::Reload { at } => {
            control::ask(&at.socket, "reload")?;
        }
        Action::Replay { recording, json } => {
            let file = file::open(&recording).map(BufReader::new);
            let result =
                file.and_then(|file| replay(file, &parts.disciplines)).map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", recording.display()))
                })?;
            if json {
                serde_json::to_writer_pretty(&mut out, &result)?;
                writeln!(out)?;
            } else {
                let cut = if result.truncated { "; the recording ends within a call" } else { "" };
                writeln!(
                    out,
                    "{}: {} calls in {:.3} s: {} packets offered, {} sent, {} dropped, {} marked{cut}",
                    result.kind,
                    result.calls,
                    result.span_s,
                    result.offered,
                    result.sent,
                    result.dropped.values().sum::<u64>(),
                    result.marked,
                )?;
                match &result.difference {
                    None => writeln!(out, "Everything is the same.")?,
                    Some(difference) => writeln!(out, "The first difference: {difference}")?,
                }
            }
            if result.difference.is_some() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
