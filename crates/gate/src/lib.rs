//! The gate: queue disciplines on real packets between two Linux interfaces.

#![cfg(target_os = "linux")]

pub mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod gate;
pub mod guard;
pub mod headers;
pub mod io;
pub mod lane;
pub mod metrics;
pub mod privileges;
pub mod rules;
pub mod show;
pub mod status;

use forebay_disciplines::Disciplines;
use std::sync::{Arc, OnceLock};

/// The disciplines of this process: those of forebay, and those of the plug-ins that it has loaded at
/// its start.
static DISCIPLINES: OnceLock<Arc<Disciplines>> = OnceLock::new();

/// The disciplines that queues may name.
pub fn disciplines() -> &'static Arc<Disciplines> {
    DISCIPLINES.get_or_init(|| Disciplines::builtin().into())
}
