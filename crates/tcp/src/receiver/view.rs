//! The state of a receiver, for measurements.

use super::Receiver;
use crate::accecn::DataReceiver;
use forebay_core::fetch;

impl Receiver {
    /// Fetches what every segment touches, ahead of its use.
    #[inline]
    pub fn fetch(&self) {
        // One field of each of its cache lines.
        fetch(&self.next);
        fetch(&self.buffer);
        fetch(&self.fin);
    }

    /// Fetches what the timer touches first.
    #[inline]
    pub fn fetch_deadline(&self) {
        fetch(&self.deadline);
        fetch(&self.fin);
    }

    /// Fetches what that points to.
    #[inline]
    pub fn fetch_further(&self) {
        self.early.fetch();
    }

    /// In-order payload bytes that the application has read.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.read - 1
    }

    /// Payload bytes that arrived although they were there already.
    #[inline]
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Whether the FIN and all data before it have arrived.
    #[inline]
    pub fn finished(&self) -> bool {
        self.next > self.fin
    }

    /// Bytes of heap memory, without the value itself.
    pub fn heap(&self) -> usize {
        let accurate = self.accurate.as_ref().map_or(0, |_| size_of::<DataReceiver>());
        self.early.heap() + self.linux.as_ref().map_or(0, |linux| linux.heap()) + accurate
    }
}
