//! The state of a sender, for measurements.

use super::{Feedback, Sender};
use crate::accecn::DataSender;
use crate::stacks::{AnyLaw, Law, Standard};
use crate::{Info, SenderStats, State};
use forebay_core::{fetch, fetch_after};
use std::mem::offset_of;

/// Bytes from `una` to the law of the standards, which follows the tag of [`AnyLaw`].
const TO_STANDARD: usize =
    offset_of!(Sender, law) + align_of::<Standard>() - offset_of!(Sender, connection.una);

impl Sender {
    /// Fetches the fields that every acknowledgment needs, before their use.
    #[inline]
    pub fn fetch(&self) {
        // One field of each cache line of the connection.
        fetch(&self.connection.una);
        fetch(&self.connection.segments_sent);
        // The law is found by its distance: a look at which one it is would wait for memory.
        for field in Standard::FETCHED {
            fetch_after(&self.connection.una, TO_STANDARD + field);
        }
    }

    /// Fetches what the timer touches first.
    #[inline]
    pub fn fetch_deadline(&self) {
        fetch(&self.connection.deadline);
    }

    /// Fetches the window.
    #[inline]
    pub fn fetch_window(&self) {
        fetch(&self.law);
    }

    /// Fetches what these point to.
    #[inline]
    pub fn fetch_further(&self) {
        if let AnyLaw::Standard(law) = &self.law {
            law.fetch_further();
        }
    }

    /// The state of the connection.
    #[inline]
    pub fn state(&self) -> State {
        self.connection.state
    }

    /// Counts of what it has done so far.
    #[inline]
    pub fn stats(&self) -> &SenderStats {
        &self.connection.stats
    }

    /// Segments sent so far, of any kind.
    #[inline]
    pub fn segments_sent(&self) -> u64 {
        self.connection.segments_sent
    }

    /// Payload bytes acknowledged cumulatively.
    #[inline]
    pub fn bytes_acked(&self) -> u64 {
        self.connection.una.min(self.connection.end).saturating_sub(1)
    }

    /// Bytes sent and not acknowledged cumulatively (RFC 5681, FlightSize).
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.connection.outstanding()
    }

    /// Payload of a full segment in bytes.
    #[inline]
    pub fn mss(&self) -> u64 {
        self.connection.mss()
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        match &self.law {
            AnyLaw::Standard(law) => law.cwnd(&self.connection),
            AnyLaw::Other(law) => law.cwnd(&self.connection),
        }
    }

    /// Window, round-trip time, timeout and phase of recovery.
    #[inline]
    pub fn info(&self) -> Info {
        self.law.get().info(&self.connection)
    }

    /// The receiver's way of reporting marks; the one asked for, until the handshake is over.
    pub fn feedback(&self) -> Feedback {
        match (&self.connection.accurate, self.connection.ecn) {
            (Some(_), _) => Feedback::Accurate,
            (None, true) => Feedback::Classic,
            (None, false) => Feedback::None,
        }
    }

    /// The congestion control's own variables (see [`crate::congestion::CongestionController::probe`]).
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.law.get().probe(out);
    }

    /// Packets and bytes that the receiver has counted as marked (RFC 9768), as far as it is known.
    pub fn marks_counted(&self) -> (u64, u64) {
        self.connection.accurate.as_ref().map_or((0, 0), |accurate| accurate.counted())
    }

    /// Bytes of heap memory, without the value itself.
    pub fn heap(&self) -> usize {
        let accurate = self.connection.accurate.as_ref().map_or(0, |_| size_of::<DataSender>());
        let own = match &self.law {
            AnyLaw::Standard(law) => law.heap(),
            AnyLaw::Other(law) => size_of_val(&**law) + law.heap(),
        };
        own + accurate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use forebay_core::Time;
    use std::ptr::from_ref;

    #[test]
    fn the_standards_law_is_where_it_is_fetched() {
        let sender = Sender::new(&Config::default(), Time::ZERO);
        let AnyLaw::Standard(law) = &sender.law else { panic!("the default is the standards'") };
        let distance = from_ref(law).addr() - from_ref(&sender.connection.una).addr();
        assert_eq!(distance, TO_STANDARD);
    }
}
