//! CAKE's shaper: when the next packet may leave, by its length on the bottleneck's wire.

use forebay_core::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The framing of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// No framing.
    None,
    /// ATM cells: 53 bytes for each 48 bytes or part of them.
    Atm,
    /// PTM (VDSL2): one more byte for each 64 bytes or part of them.
    Ptm,
}

/// The length of packets on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Bytes added to every IP packet.
    pub overhead: i64,
    /// The minimum length (mpu).
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
    /// A second clock, which advances by 1.5 times the span of each packet sent, and not by dropped
    /// packets. So a shaper that counts drops cannot be blocked for ever.
    failsafe: Time,
}

impl Shaper {
    /// An idle shaper for `rate`.
    pub fn new(rate: Rate) -> Self {
        Shaper { rate, next: Time::ZERO, failsafe: Time::ZERO }
    }

    /// Counts packets at `rate` from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Time at which a packet may leave.
    #[inline]
    pub fn due(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// A packet arrives at an empty queue: unused time is lost.
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
