//! The gate: queue disciplines on real packets between two Linux interfaces.

#![cfg(target_os = "linux")]

pub mod accounts;
pub mod client;
pub mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod cores;
pub mod delays;
pub mod direction;
pub mod echoes;
pub mod frame_box;
pub mod fresh;
pub mod gate;
pub mod guardian;
pub mod guest;
pub mod handover;
pub mod host;
pub mod io;
pub mod listen;
pub mod metrics;
pub mod neighbour;
pub mod notify;
pub mod page;
pub mod plugins;
pub mod privileges;
pub mod rules;
pub mod run;
mod sandbox;
pub mod server;
pub mod show;
pub mod status;
pub mod system;
pub mod text;
