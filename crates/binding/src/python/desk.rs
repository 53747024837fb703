//! The exchange between a discipline in Python and its host: what the discipline does in a call is
//! recorded here, and the host reads it when the call has returned.

use super::words;
use forebay::ForebayPacket;
use forebay_core::Rng;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// A discipline's action on a packet.
pub enum Act {
    /// It dropped it, for the reason with this number.
    Drop(ForebayPacket, u32),
    /// It marked it.
    Mark(ForebayPacket),
}

/// The record.
#[derive(Default)]
pub struct Laid {
    pub acts: Vec<Act>,
    /// The packet that was lost first, and the line at which its last reference disappeared, if one
    /// did.
    pub lost: Option<(u32, Option<String>)>,
    pub rng: Option<Rng>,
}

/// The exchange of one queue.
#[derive(Default)]
pub struct Desk {
    closed: AtomicBool,
    laid: Mutex<Laid>,
}

impl Desk {
    /// The record.
    pub fn laid(&self) -> MutexGuard<'_, Laid> {
        self.laid.lock().expect("nothing panics while it is held")
    }

    /// The host no longer asks.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// The last reference to a packet that is still held has disappeared.
    pub fn lose(&self, id: u32) {
        if self.closed.load(Relaxed) || self.laid().lost.is_some() {
            return;
        }
        let line = Python::try_attach(words::here).flatten();
        self.laid().lost = Some((id, line));
    }
}
