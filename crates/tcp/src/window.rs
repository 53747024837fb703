//! The size of the receive window.

use forebay_core::{Bytes, ConfigError, text_form};
use std::fmt;
use std::str::FromStr;

/// The receive buffer, and so the window advertised by a reader that keeps up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// It grows with what arrives in a round trip, from 64 KB to 3 MiB (dynamic right-sizing;
    /// Linux 6.1 with its own settings).
    Auto,
    /// This many bytes.
    Fixed(Bytes),
}

impl ReceiveWindow {
    /// Half of Linux's `tcp_rmem`: what a buffer begins with, and what it may become.
    pub(crate) const LINUX_FIRST: u64 = 131_072 / 2;
    pub(crate) const LINUX_LARGEST: u64 = 6_291_456 / 2;

    /// The most that it becomes, in bytes.
    pub fn largest(self) -> u64 {
        match self {
            ReceiveWindow::Auto => Self::LINUX_LARGEST,
            ReceiveWindow::Fixed(Bytes(bytes)) => bytes,
        }
    }
}

impl From<Bytes> for ReceiveWindow {
    fn from(bytes: Bytes) -> Self {
        ReceiveWindow::Fixed(bytes)
    }
}

impl FromStr for ReceiveWindow {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        if text == "auto" {
            return Ok(ReceiveWindow::Auto);
        }
        text.parse().map(ReceiveWindow::Fixed).map_err(|_| {
            let wanted = "expected \"auto\" or a size such as \"45KB\"";
            ConfigError::new("", format!("{wanted}, got \"{text}\""))
        })
    }
}

impl fmt::Display for ReceiveWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReceiveWindow::Auto => f.write_str("auto"),
            ReceiveWindow::Fixed(bytes) => bytes.fmt(f),
        }
    }
}

text_form!(ReceiveWindow, "a string", {
    "description": "\"auto\" or a size such as \"45KB\"",
    "examples": ["auto", "45KB"],
});
