//! CAKE's shaper: when the next packet may leave, by the length that the bottleneck gives it.

use forebay_core::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the link frames packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// As they are.
    None,
    /// In ATM cells: 53 bytes for each 48 begun.
    Atm,
    /// PTM (VDSL2): a byte more for each 64 begun.
    Ptm,
}

/// What a packet's length is on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Bytes added to every IP packet.
    pub overhead: i64,
    /// The least length (mpu).
    pub least: i64,
    /// The link's framing.
    pub framing: Framing,
}

impl Wire {
    /// Bytes on the wire of an IP packet of `len` bytes.
    #[inline]
    pub fn len(&self, len: u32) -> u64 {
        let len = (i64::from(len) + self.overhead).max(self.least).max(1) as u64;
        match self.framing {
            Framing::None => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

/// A virtual clock that packets advance.
#[derive(Debug, Clone, Copy)]
pub struct Shaper {
    rate: Rate,
    next: Time,
    /// The same, half as fast again and without what was dropped: a shaper that is charged for drops
    /// cannot be held for ever.
    failsafe: Time,
}

impl Shaper {
    /// A shaper to `rate`, idle.
    pub fn new(rate: Rate) -> Self {
        Shaper { rate, next: Time::ZERO, failsafe: Time::ZERO }
    }

    /// When a packet may leave.
    #[inline]
    pub fn due(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// A packet arrives at a queue that is empty: time that was not used is gone.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// `len` bytes on the wire leave, or were dropped.
    #[inline]
    pub fn charge(&mut self, len: u64, dropped: bool) {
        let span = self.rate.transmission(len);
        self.next += span;
        if !dropped {
            self.failsafe += span + Duration::from_nanos(span.as_nanos() / 2);
        }
    }
}
