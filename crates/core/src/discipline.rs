//! The contract between a queue discipline and its caller, which has the clock.

use crate::tcp::Tcp;
use crate::{Duration, Ecn, Packet, Rate, Rng, Time, named_enum};
use std::any::Any;
use std::fmt;

named_enum! {
    /// The reason for a drop. Its name is that in summaries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    #[repr(u8)]
    pub enum DropReason {
        /// The buffer had no room.
        Overflow = "overflow",
        /// An active queue management algorithm signalled congestion.
        Aqm = "aqm",
        /// Refused by a threshold that protects higher precedence (CQ-AQM).
        Preempted = "preempted",
        /// Refused by a congestion policer (CP-AQM).
        Policed = "policed",
        /// Pushed out of the queue in favour of another packet (drop-from-queue).
        PushedOut = "pushed_out",
        /// A pure acknowledgment that later ones in the queue make redundant (CAKE's ACK filter).
        RedundantAck = "redundant_ack",
        /// None of the others: a plug-in's own, of a later version of the C interface.
        Other = "other",
    }
}

/// The owner of a discipline's packets. It takes dropped packets, counts marks, and may know the
/// headers of packets.
pub trait Sink {
    /// Takes a dropped packet and retires it.
    fn dropped(&mut self, packet: Packet, reason: DropReason);
    /// Called when a packet was marked congestion-experienced. The packet stays in the queue.
    fn marked(&mut self, packet: &Packet);
    /// The TCP header of the packet that is being enqueued. None if it has none or if the sink does
    /// not know it. Only disciplines that look into packets ask for it ([`Context::tcp_header`]).
    fn tcp_header(&mut self, _arriving: &Packet) -> Option<Tcp> {
        None
    }
    /// The bytes of the IP packet that is being enqueued. None if the sink does not have them.
    fn bytes(&mut self, _arriving: &Packet) -> Option<&[u8]> {
        None
    }
}

/// Arguments of every call of a discipline: the time, its random stream, and the sink for drops.
pub struct Context<'a> {
    /// The current time. It never decreases from call to call.
    pub now: Time,
    /// The port's own random stream.
    pub rng: &'a mut Rng,
    sink: &'a mut dyn Sink,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    /// A context for one call at `now`.
    #[inline]
    pub fn new(now: Time, rng: &'a mut Rng, sink: &'a mut dyn Sink) -> Self {
        Context { now, rng, sink }
    }

    /// The random stream and the sink, for a caller that passes the call on and looks at what
    /// happens to packets.
    pub fn parts(&mut self) -> (&mut Rng, &mut dyn Sink) {
        (self.rng, self.sink)
    }

    /// Drops `packet` for `reason`.
    #[inline]
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.sink.dropped(packet, reason);
    }

    /// The TCP header of `arriving`, the packet that this call of [`Discipline::enqueue`] passes.
    /// None if the packet has none or the caller does not know it. A discipline that needs it later
    /// must keep it.
    pub fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        self.sink.tcp_header(arriving)
    }

    /// The bytes of `arriving`, the packet that this call of [`Discipline::enqueue`] passes. None
    /// if it is not an IP packet, or if the caller has no bytes, as in a simulation.
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

/// Fate of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It joined a queue. It may still be pushed out later.
    Queued,
    /// It went to the sink.
    Dropped,
}

/// The time at which a discipline will have a packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Not before another packet arrives.
    Idle,
    /// Now.
    Ready,
    /// Not before this time: the discipline shapes.
    At(Time),
}

/// Content of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes of IP packets.
    pub bytes: u64,
}

/// A queue discipline: packets go in and come out, at times that the caller gives.
///
/// The contract, which the conformance suite checks for every registered kind:
/// 1. `now` never decreases between calls.
/// 2. Every packet leaves exactly once, by [`Discipline::dequeue`] or through the sink:
///    in = out + dropped + backlog.
/// 3. First in, first out within a flow and class, unless the kind says otherwise.
/// 4. No allocation in steady state.
/// 5. No timers: a periodic algorithm catches up at the start of *both* calls.
/// 6. Work conserving, unless it shapes: with a backlog, [`Discipline::wake`] is [`Wake::Ready`].
pub trait Discipline: Any + Send {
    /// Takes an arriving packet. It may drop this packet or others, through the sink.
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict;

    /// The next packet to send. None does not mean that the queue is empty: an AQM may have dropped
    /// every packet that it looked at, and a shaper may have to wait. Ask [`Discipline::wake`].
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet>;

    /// The time of the next call of [`Discipline::dequeue`]. Asking changes nothing.
    fn wake(&self, now: Time) -> Wake;

    /// The packets and bytes that the discipline holds now.
    fn backlog(&self) -> Backlog;

    /// Whether `packet` may skip the discipline. It may if the link could send it at once, and if
    /// enqueuing and dequeuing it now would return it unchanged and leave everything as it was. The
    /// caller asks only while the discipline is empty.
    fn passes(&self, _packet: &Packet) -> bool {
        false
    }

    /// Tells the discipline that the link's rate is now `rate`.
    fn set_link_rate(&mut self, _now: Time, _rate: Rate) {}

    /// Takes over the parameters of `fresh`, a discipline that was just built, from `now` on, and
    /// keeps its own packets and state. Returns false if it cannot: `fresh` has another type, or
    /// differs in more than can be taken over. If the link's rate is not the one for which `fresh`
    /// was built, [`Discipline::set_link_rate`] follows.
    fn retune(&mut self, _now: Time, _fresh: &mut dyn Any) -> bool {
        false
    }

    /// The contract that a foreign discipline broke, if it was caught. From then on it drops
    /// every arriving packet.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Reports internal variables by name (`"drop_probability"`), for plots.
    fn probe(&self, _now: Time, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows the waiting packets, for pictures: each with the number of its inner queue. Packets of
    /// a queue are in order of service, and queues that are served first come first, as far as this
    /// is known. Shows nothing if the discipline cannot tell.
    fn waiting(&self, _out: &mut dyn FnMut(usize, &Packet)) {}
}

/// The port for which a discipline is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The link's rate in bit/s; the mean rate if it varies.
    pub rate: Rate,
    /// Bytes that the link adds to every IP packet.
    pub overhead: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Queues that the classifier fills; 1 while a whole discipline is built.
    pub queues: usize,
}

impl Setting {
    /// A port whose link adds `overhead` bytes to every IP packet and carries those of up to `mtu`
    /// bytes; one queue.
    pub const fn new(rate: Rate, overhead: u32, mtu: u32) -> Self {
        Setting { rate, overhead, mtu, queues: 1 }
    }

    /// The same port at another rate.
    #[must_use]
    pub const fn with_rate(self, rate: Rate) -> Self {
        Setting { rate, ..self }
    }

    /// The same port with so many queues.
    #[must_use]
    pub const fn with_queues(self, queues: usize) -> Self {
        Setting { queues, ..self }
    }

    /// The time that a packet of the largest size takes on the wire.
    pub fn mtu_time(&self) -> Duration {
        self.rate.transmission(u64::from(self.mtu + self.overhead))
    }
}
