//! The contract between a queue discipline and whoever owns the clock.

use crate::tcp::Tcp;
use crate::{Duration, Ecn, Packet, Rate, Rng, Time};
use std::any::Any;

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer had no room.
    Overflow,
    /// An active queue management law chose to signal congestion.
    Aqm,
    /// Refused by a threshold that protects higher precedence (CQ-AQM).
    Preempted,
    /// Refused by a congestion policer (CP-AQM).
    Policed,
    /// Pushed out of the queue in favour of another packet (drop-from-queue).
    PushedOut,
    /// A pure acknowledgment of which later ones in the queue say as much (CAKE's ACK filter).
    RedundantAck,
}

impl DropReason {
    /// Every reason, in order.
    pub const ALL: [DropReason; 6] = [
        DropReason::Overflow,
        DropReason::Aqm,
        DropReason::Preempted,
        DropReason::Policed,
        DropReason::PushedOut,
        DropReason::RedundantAck,
    ];

    /// Name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::Overflow => "overflow",
            DropReason::Aqm => "aqm",
            DropReason::Preempted => "preempted",
            DropReason::Policed => "policed",
            DropReason::PushedOut => "pushed_out",
            DropReason::RedundantAck => "redundant_ack",
        }
    }
}

/// Who has the packets: takes those that are dropped, counts marks, and may know what they carry.
pub trait Sink {
    /// Takes a dropped packet; the sink retires it.
    fn dropped(&mut self, packet: Packet, reason: DropReason);
    /// Is told of a packet that was marked congestion-experienced and goes on.
    fn marked(&mut self, packet: &Packet);
    /// The TCP header of the packet that is being handed over; None if it has none, or if nobody here
    /// knows. Asked only by disciplines that look into packets, as [`Context::tcp_header`] says.
    fn tcp_header(&mut self, _arriving: &Packet) -> Option<Tcp> {
        None
    }
    /// The IP packet that is being handed over, byte by byte; None if nobody here has it.
    fn bytes(&mut self, _arriving: &Packet) -> Option<&[u8]> {
        None
    }
}

/// What a discipline is handed at every call: the clock, its random stream, and where drops go.
pub struct Context<'a> {
    /// The present instant; never decreases from call to call.
    pub now: Time,
    /// The port's own random stream.
    pub rng: &'a mut Rng,
    sink: &'a mut dyn Sink,
}

impl<'a> Context<'a> {
    /// A context for one call at `now`.
    #[inline]
    pub fn new(now: Time, rng: &'a mut Rng, sink: &'a mut dyn Sink) -> Self {
        Context { now, rng, sink }
    }

    /// The random stream and the sink, for whoever hands the call on and looks at what becomes of
    /// packets.
    pub fn parts(&mut self) -> (&mut Rng, &mut dyn Sink) {
        (self.rng, self.sink)
    }

    /// Drops `packet` for `reason`.
    #[inline]
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.sink.dropped(packet, reason);
    }

    /// The TCP header of `arriving`, the packet that this call of [`Discipline::enqueue`] hands over;
    /// None if it has none, or if whoever calls does not know. Who will need it later keeps it.
    pub fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        self.sink.tcp_header(arriving)
    }

    /// The IP packet `arriving`, which this call of [`Discipline::enqueue`] hands over, byte by byte;
    /// None if it is not IP, or if whoever calls has none, as in a simulation.
    pub fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
        self.sink.bytes(arriving)
    }

    /// Marks `packet` congestion-experienced if its transport understands that; false means that
    /// it must be dropped instead (RFC 3168, section 5).
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if !packet.is_ect() {
            return false;
        }
        if packet.ecn() != Ecn::Ce {
            packet.set_ecn(Ecn::Ce);
            self.sink.marked(packet);
        }
        true
    }
}

/// What became of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It joined a queue (and may still be pushed out later).
    Queued,
    /// It went to the sink.
    Dropped,
}

/// When a discipline next has something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Not before another packet arrives.
    Idle,
    /// Now.
    Ready,
    /// Not before this instant (it shapes).
    At(Time),
}

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes of IP packets.
    pub bytes: u64,
}

/// A queue discipline: packets in, packets out, against a clock that it is handed.
///
/// Contracts, checked for every registered kind by the conformance suite:
/// 1. `now` never decreases between calls.
/// 2. Every packet leaves exactly once, by [`Discipline::dequeue`] or through the sink:
///    in = out + dropped + backlog.
/// 3. First in, first out within a flow and class, unless the kind says otherwise.
/// 4. No allocation in steady state.
/// 5. No timers: a periodic law catches up at the start of *both* calls.
/// 6. Work conserving, unless it shapes: backlog and [`Wake::Ready`] go together.
pub trait Discipline: Any + Send {
    /// Takes an arriving packet. The packet itself, or others, may go to the sink.
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict;

    /// The next packet to send. None does not mean empty: an AQM may have dropped all that it
    /// looked at, and what shapes may have found that it must wait; ask [`Discipline::wake`].
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet>;

    /// When to call [`Discipline::dequeue`] next; changes nothing.
    fn wake(&self, now: Time) -> Wake;

    /// What is held now.
    fn backlog(&self) -> Backlog;

    /// Whether `packet` need not come in at all: nothing is held, the link could send at once, and
    /// to enqueue and dequeue the packet at this instant would give it back as it is and leave
    /// everything as it was. Asked only while nothing is held.
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Learns that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _now: Time, _rate: Rate) {}

    /// Goes on from `now` with the parameters of `fresh`, a discipline just built, and with the packets
    /// and the state that it has. False if it cannot: `fresh` is of another type, or differs in more than
    /// this one can take over. If the link's rate is not the one that `fresh` was built for,
    /// [`Discipline::set_link_rate`] follows.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// What it did against the contract, if it is foreign and was caught; from then on it drops what
    /// arrives.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Reports internal variables by name (`"drop_probability"`), for plots.
    fn probe(&self, _now: Time, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows what waits, for pictures: each packet with the number of its inner queue, those of one
    /// queue in order of service, and queues that are served first first, as far as that is known.
    /// Shows nothing if it cannot say.
    fn waiting(&self, _out: &mut dyn FnMut(usize, &Packet)) {}
}

/// What a discipline knows of its port when it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The link's rate in bit/s (the mean rate, where it varies).
    pub rate: Rate,
    /// Bytes that the link adds to every IP packet.
    pub overhead: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Queues that the classifier feeds; 1 while a whole discipline is built.
    pub queues: usize,
}

impl Setting {
    /// Time that a packet of the largest size takes on the wire.
    pub fn mtu_time(&self) -> Duration {
        self.rate.transmission(u64::from(self.mtu + self.overhead))
    }
}
