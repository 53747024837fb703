//! The border of one part of a network.

use super::cargo::Cargo;
use crate::engine::event::Key;
use forebay_core::Duration;
use std::sync::Arc;

/// The border of a part: what it knows of the other parts, and packets that leave for them.
pub struct Border {
    /// Number of the part.
    part: u16,
    /// Time between two meetings of the parts.
    pub lookahead: Duration,
    /// By pipe, the part into which it leads.
    owners: Arc<[u16]>,
    /// By pipe of the whole network, the least time over it and the link that follows.
    pub ahead: Arc<[Duration]>,
    leaving: Vec<Leaving>,
}

/// A packet that leaves the part. Its cargo is in the hold.
pub struct Leaving {
    pub pipe: u32,
    /// Its arrival at the end of the pipe.
    pub key: Key,
    pub id: u32,
    /// Time that it waited for its access link.
    pub wait: Duration,
}

/// A packet between two parts.
pub struct Crossing {
    pub leaving: Leaving,
    pub cargo: Cargo,
}

impl Border {
    pub fn new(part: u16, lookahead: Duration, owners: Arc<[u16]>, ahead: Arc<[Duration]>) -> Self {
        Border { part, lookahead, owners, ahead, leaving: Vec::new() }
    }

    pub fn is_first(&self) -> bool {
        self.part == 0
    }

    /// Whether a pipe leads into another part.
    pub fn is_beyond(&self, pipe: u32) -> bool {
        self.owners[pipe as usize] != self.part
    }

    pub fn leave(&mut self, leaving: Leaving) {
        self.leaving.push(leaving);
    }

    /// The packets that have left since the last call, with the parts into which they go.
    pub fn take(&mut self) -> impl Iterator<Item = (u16, Leaving)> {
        let owners = &self.owners;
        self.leaving.drain(..).map(|leaving| (owners[leaving.pipe as usize], leaving))
    }
}
