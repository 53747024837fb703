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

use crate::Segment;
use crate::connection::{Connection, Habits, Offered, Opened, Site};
use crate::state::Info;
use forebay_core::{Duration, Time};
use linux::Machine;
use ruled::Ruled;
pub(crate) use standard::Standard;
use std::fmt;

pub use builtin::builtin;
pub use choice::{Abilities, Host, Make, Stack};
pub(crate) use linux::{Acknowledging, ReceiveBuffer};
pub use linux::{Linux26Params, LinuxParams, Version};
pub use ns2::Ns2Params;
pub use ns318::Ns318Params;
pub use rules::{Ack, Flow, Rules};
pub use standard::{Reduction, RepairOrder, StandardParams, TimeoutRecovery};

/// The rules of one sender: what it sends when, and what its window and its timer are.
pub(crate) trait Law: fmt::Debug + Send {
    /// The application writes, with `unsent` bytes waiting.
    fn on_write(&mut self, _unsent: u64) {}

    /// The handshake is over.
    fn open(&mut self, connection: &mut Connection, opened: &Opened);

    /// Reads an acknowledgment that [`Connection::admit`] let through.
    fn on_ack(&mut self, connection: &mut Connection, now: Time, ack: &Segment, offered: Offered);

    /// Writes the next segment to send now into `place`. Returns false if there is none.
    fn poll(&mut self, connection: &mut Connection, now: Time, place: &mut Segment) -> bool;

    /// A segment has been sent.
    fn on_sent(&mut self, _connection: &Connection, _now: Time, _segment: &Segment) {}

    /// The deadline that it set has come.
    fn on_deadline(&mut self, connection: &mut Connection, now: Time);

    /// When a SYN that is sent now is sent again, if it was sent `times` before.
    fn syn_deadline(&self, now: Time, times: u8) -> Time {
        now + self.backed_off(times)
    }

    /// A segment that waited for the pace may leave.
    fn on_pace(&mut self) {}

    /// When a segment that waits for the pace may leave.
    fn pace_deadline(&self) -> Time {
        Time::MAX
    }

    /// The timeout for window probes after `times` expiries.
    fn backed_off(&self, times: u8) -> Duration;

    /// Congestion window in bytes. Samples read this alone, of very many connections.
    fn cwnd(&self, connection: &Connection) -> u64 {
        self.info(connection).cwnd
    }

    /// Window, round-trip time and timeout.
    fn info(&self, connection: &Connection) -> Info;

    /// Reports the congestion control's own variables.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Bytes of heap memory, without the value itself.
    fn heap(&self) -> usize;
}

/// The law of a sender. That of the standards is in the sender itself, for speed.
// The tag is the first word, beside the connection's last one.
#[derive(Debug)]
#[repr(u8)]
#[expect(clippy::large_enum_variant, reason = "the usual law needs no further cache line")]
pub(crate) enum AnyLaw {
    Standard(Standard),
    Other(Box<dyn Law>),
}

impl AnyLaw {
    /// The law of a new connection, and the connection.
    pub(crate) fn new(stack: &Stack, site: &Site<'_>) -> (Self, Connection) {
        let mut habits = Habits::default();
        let law = match &stack.built {
            Host::Standard(params) => AnyLaw::Standard(Standard::new(params, site)),
            Host::Linux(version, params) => {
                habits = version.habits();
                AnyLaw::Other(Box::new(Machine::new(*version, params, site)))
            }
            Host::Rules(make) => AnyLaw::Other(Box::new(Ruled::new(make(site.connection), site))),
        };
        let mut connection = Connection::new(site, stack.first_window(site.connection), habits);
        connection.plain = matches!(&law, AnyLaw::Standard(standard) if standard.is_plain())
            && connection.accurate.is_none();
        (law, connection)
    }

    pub(crate) fn get(&self) -> &dyn Law {
        match self {
            AnyLaw::Standard(standard) => standard,
            AnyLaw::Other(law) => &**law,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut dyn Law {
        match self {
            AnyLaw::Standard(standard) => standard,
            AnyLaw::Other(law) => &mut **law,
        }
    }
}
