//! Stacks: whose rules a connection follows.
//!
//! A stack is a [`Stack`] of a [`Registry`], with parameters of its own. It makes the law of each
//! sender, and says when its receivers acknowledge. `standard` and `linux` have laws of their own
//! form. Every other stack is a set of [`Rules`], which says which offset is sent next and when the
//! timer expires; [`crate::Sender`] handles its connection (handshake, flow control, window probes,
//! FIN) and the octets on the wire.

mod builtin;
mod choice;
mod linux;
mod ns2;
mod ns318;
mod own;
mod ruled;
mod rules;
mod standard;
mod watch;

use crate::congestion::CongestionControl;
use crate::connection::{Connection, Habits, Offered, Opened};
use crate::{ConnectionParams, Segment};
use forebay_core::{Duration, Time};
use linux::Linux;
use ruled::Ruled;
use standard::Standard;

pub use builtin::builtin;
pub use choice::{Abilities, Host, Make, Stack};
pub use linux::Version;
pub(crate) use linux::{Acknowledging, ReceiveBuffer};
pub use ns2::Ns2Params;
pub use ns318::Ns318Params;
pub use own::LinuxParams;
pub use rules::{Ack, Flow, Rules};
pub use standard::{Reduction, RepairOrder, StandardParams, TimeoutRecovery};

/// What is known where a connection begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) connection: &'a ConnectionParams,
    pub(crate) congestion: &'a CongestionControl,
    pub(crate) now: Time,
}

/// The rules of one sender: what it sends when, and what its window and its timer are.
// The tag is the first word, beside the connection's last one.
#[derive(Debug)]
#[repr(u8)]
#[expect(clippy::large_enum_variant, reason = "the usual law is in the sender itself, for speed")]
pub(crate) enum Law {
    Standard(Standard),
    Linux(Box<Linux>),
    Ruled(Box<Ruled>),
}

/// Calls the same method of each law.
macro_rules! each {
    ($law:expr, $one:ident => $call:expr) => {
        match $law {
            Law::Standard($one) => $call,
            Law::Linux($one) => $call,
            Law::Ruled($one) => $call,
        }
    };
}

impl Law {
    /// The law of a new connection, and the connection.
    pub(crate) fn new(stack: &Stack, site: &Site<'_>) -> (Self, Connection) {
        let law = match stack.host() {
            Host::Standard(params) => Law::Standard(Standard::new(params, site)),
            Host::Linux(version, tick) => Law::Linux(Box::new(Linux::new(*version, *tick, site))),
            Host::Rules(make) => Law::Ruled(Box::new(Ruled::new(make(site.connection), site))),
        };
        let habits = match stack.host() {
            Host::Linux(version, _) => version.habits(),
            _ => Habits::default(),
        };
        let first = stack.first_window(site.connection);
        let mut connection =
            Connection::new(site.connection, site.congestion, first, habits, site.now);
        connection.plain = matches!(&law, Law::Standard(standard) if standard.is_plain())
            && connection.accurate.is_none();
        (law, connection)
    }

    /// Takes over the parameters of `control`. Returns false, and changes nothing, if it cannot.
    pub(crate) fn retune(
        &mut self,
        control: &CongestionControl,
        connection: &ConnectionParams,
    ) -> bool {
        match self {
            Law::Standard(standard) => standard.retune(control, connection),
            Law::Linux(_) | Law::Ruled(_) => false,
        }
    }

    /// The application writes, with `unsent` bytes waiting.
    pub(crate) fn on_write(&mut self, unsent: u64) {
        if let Law::Linux(linux) = self {
            linux.on_write(unsent);
        }
    }

    /// The handshake is over.
    pub(crate) fn open(&mut self, connection: &mut Connection, opened: &Opened) {
        each!(self, law => law.open(connection, opened));
    }

    /// Reads an acknowledgment that [`Connection::admit`] let through.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &Segment,
        offered: Offered,
    ) {
        each!(self, law => law.on_ack(connection, now, segment, offered));
    }

    /// Writes the next segment to send now into `segment`. Returns false if there is none.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        connection: &mut Connection,
        now: Time,
        segment: &mut Segment,
    ) -> bool {
        each!(self, law => law.poll(connection, now, segment))
    }

    /// A segment that the law did not ask for has been sent: a window probe, or the end of the
    /// handshake.
    pub(crate) fn on_sent(&mut self, connection: &Connection, now: Time, segment: &Segment) {
        match self {
            Law::Standard(standard) => standard.on_sent(connection, now, segment),
            Law::Linux(linux) => linux.on_sent(now, segment),
            Law::Ruled(_) => {}
        }
    }

    /// The timer of the SYN expired.
    pub(crate) fn on_syn_timeout(&mut self) {
        match self {
            Law::Standard(standard) => standard.on_syn_timeout(),
            Law::Linux(linux) => linux.on_syn_timeout(),
            Law::Ruled(_) => {}
        }
    }

    /// When the SYN that is sent now is sent again, if it was sent `times` before.
    pub(crate) fn syn_deadline(&self, now: Time, times: u8) -> Time {
        match self {
            Law::Linux(linux) => linux.syn_deadline(now, times),
            law => now + law.backed_off(times),
        }
    }

    /// The deadline that it set has come.
    pub(crate) fn on_deadline(&mut self, connection: &mut Connection, now: Time) {
        if let Law::Linux(linux) = self {
            return linux.on_deadline(connection, now);
        }
        if connection.try_again() {
            match self {
                Law::Standard(standard) => standard.on_timeout(connection, now),
                Law::Ruled(ruled) => ruled.on_timeout(connection, now),
                Law::Linux(_) => {}
            }
        }
    }

    /// A segment that waited for the pace may leave.
    pub(crate) fn on_pace(&mut self) {
        if let Law::Linux(linux) = self {
            linux.on_pace();
        }
    }

    /// When a segment that waits for the pace may leave.
    pub(crate) fn pace_deadline(&self) -> Time {
        match self {
            Law::Standard(standard) => standard.pace().deadline(),
            Law::Linux(linux) => linux.pace().deadline(),
            Law::Ruled(_) => Time::MAX,
        }
    }

    /// No segment waits for the pace any more.
    pub(crate) fn release(&mut self) {
        match self {
            Law::Standard(standard) => standard.release(),
            Law::Linux(linux) => linux.release(),
            Law::Ruled(_) => {}
        }
    }

    /// The timeout for window probes after `times` expiries.
    pub(crate) fn backed_off(&self, times: u8) -> Duration {
        each!(self, law => law.backed_off(times))
    }

    /// Bytes that are probably in the network.
    pub(crate) fn in_flight(&self, connection: &Connection) -> u64 {
        each!(self, law => law.in_flight(connection))
    }

    /// The phase of loss recovery, in the words of the stack. Empty if it has none.
    pub(crate) fn phase(&self) -> &'static str {
        each!(self, law => law.phase())
    }

    /// Congestion window in bytes.
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        match self {
            Law::Standard(standard) => standard.window().cwnd,
            Law::Linux(linux) => linux.cwnd(),
            Law::Ruled(ruled) => ruled.cwnd(),
        }
    }

    /// Slow start threshold in bytes.
    #[inline]
    pub(crate) fn ssthresh(&self) -> u64 {
        match self {
            Law::Standard(standard) => standard.window().ssthresh,
            Law::Linux(linux) => linux.ssthresh(),
            Law::Ruled(ruled) => ruled.ssthresh(),
        }
    }

    /// Smoothed round-trip time, once measured.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        each!(self, law => law.srtt())
    }

    /// Retransmission timeout, including backoff.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        each!(self, law => law.rto())
    }

    /// Reports the congestion control's own variables.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Law::Standard(standard) => standard.probe(out),
            Law::Linux(linux) => linux.probe(out),
            Law::Ruled(_) => {}
        }
    }

    /// Fetches what every acknowledgment touches, before its use.
    #[inline]
    pub(crate) fn fetch(&self) {
        if let Law::Standard(standard) = self {
            standard.fetch();
        }
    }

    /// Fetches what that points to.
    #[inline]
    pub(crate) fn fetch_further(&self) {
        if let Law::Standard(standard) = self {
            standard.fetch_further();
        }
    }

    /// Bytes of heap memory, without the value itself.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Law::Standard(standard) => standard.heap(),
            Law::Linux(linux) => size_of::<Linux>() + linux.heap(),
            Law::Ruled(ruled) => size_of::<Ruled>() + ruled.heap(),
        }
    }
}
