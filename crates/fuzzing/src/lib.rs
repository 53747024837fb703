//! The targets of the fuzzers.
//!
//! Each target is a function of bytes, which panics if it finds a fault. The programs under `fuzz/`
//! call it with the inputs of libFuzzer, and the tests of this crate with the corpora and every input
//! that once failed.

mod agent;
mod boxes;
mod capture;
mod changes;
mod disciplines;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(target_os = "linux")]
mod gate;
mod generate;
pub mod grow;
mod isp;
pub mod meaning;
mod page;
pub mod run;
pub mod scenario;
mod tcp;

/// A target: a function of the fuzzer's bytes.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("agent", agent::agent),
    #[cfg(target_os = "linux")]
    ("answers", gate::answers),
    ("aspq", boxes::aspq),
    ("changes", changes::changes),
    #[cfg(target_os = "linux")]
    ("configuration", gate::configuration),
    #[cfg(target_os = "linux")]
    ("control", gate::control),
    ("disciplines", disciplines::operations),
    #[cfg(target_os = "linux")]
    ("frames", frames::frames),
    ("page", page::page),
    ("pcap", capture::pcap),
    #[cfg(target_os = "linux")]
    ("recording", gate::recording),
    ("scenario", scenario::text),
    ("subscribers", isp::subscribers),
    ("tcp", tcp::segments),
    ("trace", capture::trace),
    ("tree", scenario::tree),
];

/// Runs the target called `name` on `data`.
///
/// # Panics
/// If there is no such target, or `data` shows a fault.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target's name");
    target(data);
}
