//! The border of a part of a network that is computed apart from the others.

use super::cargo::Cargo;
use crate::engine::event::Key;
use forebay_core::Duration;
use std::sync::Arc;

/// What a part of a network knows of the others.
pub struct Border {
    /// The part that this is.
    part: u16,
    /// For how long parts go on between their meetings.
    pub lookahead: Duration,
    /// Into which part each pipe leads.
    owners: Arc<[u16]>,
    /// The least time over each pipe of the whole network and the link that follows.
    pub ahead: Arc<[Duration]>,
    leaving: Vec<Leaving>,
}

/// A packet that leaves the part; what is known of it lies in the hold.
pub struct Leaving {
    /// Pipe on which it is.
    pub pipe: u32,
    /// When it arrives there.
    pub key: Key,
    /// Its handle.
    pub id: u32,
    /// For how long it waited for its access link.
    pub wait: Duration,
}

/// A packet between two parts, with all that is known of it.
pub struct Crossing {
    /// The packet and its way.
    pub leaving: Leaving,
    /// The rest of it.
    pub cargo: Cargo,
}

impl Border {
    /// The border of part `part`, with the time between meetings, the owner of each pipe and the least
    /// time over it.
    pub fn new(part: u16, lookahead: Duration, owners: Arc<[u16]>, ahead: Arc<[Duration]>) -> Self {
        Border { part, lookahead, owners, ahead, leaving: Vec::new() }
    }

    /// Whether it is that of the first part.
    pub fn is_first(&self) -> bool {
        self.part == 0
    }

    /// Whether a pipe leads into another part.
    #[inline]
    pub fn is_beyond(&self, pipe: u32) -> bool {
        self.owners[pipe as usize] != self.part
    }

    /// A packet leaves.
    pub fn leave(&mut self, leaving: Leaving) {
        self.leaving.push(leaving);
    }

    /// What has left since the last call, and into which part.
    pub fn take(&mut self) -> impl Iterator<Item = (u16, Leaving)> {
        let owners = &self.owners;
        self.leaving.drain(..).map(|leaving| (owners[leaving.pipe as usize], leaving))
    }
}
