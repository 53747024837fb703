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
