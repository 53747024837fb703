//! A link with a queue in front of it.

use super::capture::Capture;
use super::cargo::{Cargo, Hold};
use super::losses::{Losses, Lost};
use super::ring::Ring;
use crate::engine::event::Key;
use crate::measure::{QueueMeter, UserMeter};
use crate::pcap_out::WINDOW_SCALE;
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Capacity, Context, Discipline, DropReason, Duration, Ecn, Packet, PacketKind, Poll,
    Port, Rate, Rng, Sink, Time,
};
use forebay_middlebox::marker::{Marker, TokenBucket};

/// What holds when.
#[derive(Debug, Clone)]
pub enum Schedule<T> {
    /// Always the same.
    Constant(T),
    /// Values that hold from given instants on, the first from zero; they repeat after the period.
    Steps {
        /// (from, value), in order.
        steps: Vec<(Time, T)>,
        /// Length of the cycle; None: the last value holds for ever.
        period: Option<Duration>,
    },
}

impl<T: Copy> Schedule<T> {
    /// Its values.
    pub fn values(&self) -> Vec<T> {
        match self {
            Schedule::Constant(value) => vec![*value],
            Schedule::Steps { steps, .. } => steps.iter().map(|(_, value)| *value).collect(),
        }
    }

    #[inline]
    fn at(&self, now: Time) -> T {
        match self {
            Schedule::Constant(value) => *value,
            Schedule::Steps { steps, period } => {
                let into = period
                    .map_or(now, |period| Time::from_nanos(now.as_nanos() % period.as_nanos()));
                steps[steps.partition_point(|(from, _)| *from <= into) - 1].1
            }
        }
    }
}

impl<T: Copy + Ord> Schedule<T> {
    /// The least that it is at any time.
    pub fn least(&self) -> T {
        self.values().into_iter().min().expect("the first one is from zero")
    }
}

/// What a link is made from.
pub struct LinkSpec {
    /// Name in summaries.
    pub name: String,
    /// Its number among all links.
    pub number: u32,
    /// Numbers of the nodes where it begins and ends.
    pub ends: (u32, u32),
    /// Kind of its queue, for summaries.
    pub kind: String,
    /// Its queue discipline.
    pub discipline: Box<dyn Discipline>,
    /// How fast it sends.
    pub capacity: Capacity,
    /// Bytes that it adds to every packet.
    pub overhead: u32,
    /// Propagation delay.
    pub delay: Schedule<Duration>,
    /// Share of packets lost on the wire at random.
    pub loss: Schedule<f64>,
    /// What polices arriving packets.
    pub policer: Option<TokenBucket>,
    /// Share of packets that are held back at random, and for how long.
    pub reorder: Option<(f64, Duration)>,
    /// What the wire makes of ECN codepoints, by their two bits.
    pub remark: Option<[Ecn; 4]>,
    /// Where to record what it sends.
    pub capture: Option<Capture>,
}

/// What is to change on a link while it runs; None stays as it is.
#[derive(Default)]
pub struct LinkChange {
    /// Kind and discipline of a new queue; what waits in the old one leaves first.
    pub queue: Option<(String, Box<dyn Discipline>)>,
    /// Its rate, if it has a constant one.
    pub rate: Option<Rate>,
    /// Propagation delay; a delay that falls lets no packet overtake.
    pub delay: Option<Duration>,
    /// Share of packets lost on the wire at random.
    pub loss: Option<f64>,
}

/// A link with its queue, its meters and its random stream.
pub struct Link {
    /// Name in summaries.
    pub name: String,
    /// Its number among all links.
    pub number: u32,
    /// Kind of its queue.
    pub kind: String,
    /// What its queue did.
    pub meter: QueueMeter,
    /// Packets sent, and bytes with overhead, since the measurement began.
    pub sent: (u64, u64),
    /// Packets lost on the wire since then.
    pub wire_lost: u64,
    port: Port,
    /// What waits, if the discipline is the built-in FIFO, which then holds nothing itself: a packet's
    /// handle and when it came are all that is needed of it.
    line: Ring<(u32, Time)>,
    rng: Rng,
    delay: Schedule<Duration>,
    loss: Schedule<f64>,
    policer: Option<TokenBucket>,
    reorder: Option<Reorder>,
    remark: Option<[Ecn; 4]>,
    last_arrival: Time,
    /// Key of the agenda entry at which the link is free; others are stale.
    armed: Key,
    capture: Option<Capture>,
    /// The delay, if nothing else befalls what is sent: no loss, nobody is held back, marked anew or
    /// recorded. So this need not be asked packet by packet.
    plain_delay: Option<Duration>,
}

/// Who is held back on a link, by a random stream of its own.
struct Reorder {
    share: f64,
    delay: Duration,
    rng: Rng,
}

impl Reorder {
    /// For how long the next packet is.
    fn draw(&mut self) -> Duration {
        if self.rng.chance(self.share) { self.delay } else { Duration::ZERO }
    }
}

/// Receives the packets that a link's queue drops, and charges them to their users.
pub struct Loss<'a> {
    /// The present instant.
    pub now: Time,
    /// Cargo under way.
    pub hold: &'a mut Hold,
    /// Everyone's meters.
    pub users: &'a mut [UserMeter],
    /// Who is told, and when.
    pub lost: &'a mut Losses,
}

struct Charge<'a, 'b> {
    loss: &'a mut Loss<'b>,
    meter: &'a mut QueueMeter,
}

impl Loss<'_> {
    /// Ends a lost packet's life, at its user's charge.
    pub fn charge(&mut self, packet: Packet) {
        let counts = packet.kind == PacketKind::Data;
        let &Cargo { user, number, .. } = self.hold.retire(packet);
        if counts {
            self.lost.add(Lost { at: self.now, user, number }, self.users);
        }
    }
}

impl Sink for Charge<'_, '_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.meter.dropped(reason, &packet);
        self.loss.charge(packet);
    }

    fn marked(&mut self, packet: &Packet) {
        self.meter.marked += 1;
        if packet.kind == PacketKind::Data {
            let user = self.loss.hold.look(packet.id).user;
            self.loss.users[user as usize].marked += 1;
        }
    }

    fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        self.loss.hold.look(arriving.id).tcp_header(WINDOW_SCALE)
    }
}

impl Link {
    /// The link of `spec`, with the random stream of its name.
    pub fn new(spec: LinkSpec, seed: u64) -> Self {
        let rng = Rng::named(seed, &format!("link/{}", spec.name));
        let reorder = spec.reorder.map(|(share, delay)| Reorder {
            share,
            delay,
            rng: Rng::named(seed, &format!("link/{}/reorder", spec.name)),
        });
        let mut link = Link {
            name: spec.name,
            number: spec.number,
            kind: spec.kind,
            meter: QueueMeter::new(Time::ZERO),
            sent: (0, 0),
            wire_lost: 0,
            port: Port::new(spec.discipline, spec.capacity, spec.overhead),
            line: Ring::default(),
            rng,
            delay: spec.delay,
            loss: spec.loss,
            policer: spec.policer,
            reorder,
            remark: spec.remark,
            last_arrival: Time::ZERO,
            armed: Key::NEVER,
            capture: spec.capture,
            plain_delay: None,
        };
        link.plain_delay = link.find_plain_delay();
        link
    }

    fn find_plain_delay(&self) -> Option<Duration> {
        let special = self.reorder.is_some() || self.remark.is_some() || self.capture.is_some();
        match (&self.delay, &self.loss) {
            (Schedule::Constant(delay), Schedule::Constant(0.0)) if !special => Some(*delay),
            _ => None,
        }
    }

    /// Whether its queue is the built-in FIFO.
    pub fn is_fifo(&self) -> bool {
        self.port.fifo().is_some()
    }

    /// The packet that leaves the line of a FIFO after `count` others.
    pub fn in_line(&self, count: usize) -> Option<u32> {
        self.line.get(count).map(|(id, _)| *id)
    }

    /// How long after something has happened to the link this can have an effect elsewhere: its
    /// propagation delay. None if that is zero, or if rate or delay are not constant: such a link cannot be
    /// advanced lazily.
    pub fn lag(&self) -> Option<Duration> {
        match (&self.delay, self.port.capacity()) {
            (Schedule::Constant(delay), Capacity::Constant { .. }) => {
                Some(*delay).filter(|delay| *delay > Duration::ZERO)
            }
            _ => None,
        }
    }

    /// Whether `packet`, which arrives at `now`, can [pass](Link::pass) the queue: the link is free, nothing
    /// waits, and the discipline says that this makes no difference.
    #[inline(always)]
    pub fn lets_pass(&self, now: Time, packet: &Packet) -> bool {
        self.meter.waiting() == 0
            && self.armed == Key::NEVER
            && self.policer.is_none()
            && self.port.lets_pass(now, packet)
    }

    /// Notes that `packet`, which comes at `now`, passes. When its last bit leaves.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, packet: &Packet) -> Time {
        self.meter.passed(now, packet);
        self.port.pass(now, packet.len)
    }

    /// Whether `packet`, which comes at `now` with handle `id`, joins the line of a FIFO; else it is to be
    /// offered.
    #[inline(always)]
    pub fn lines_up(&mut self, now: Time, id: u32, packet: &Packet) -> bool {
        let Some(limit) = self.port.fifo().filter(|_| self.policer.is_none()) else {
            return false;
        };
        let (packets, bytes) = self.meter.backlog();
        if !limit.admits(packets as usize, bytes, packet.len) {
            return false;
        }
        self.meter.arrived(now, packet);
        self.line.push_back((id, now));
        self.meter.settled();
        true
    }

    /// Takes an arriving packet into the queue, or drops it.
    #[inline(never)]
    pub fn offer(&mut self, id: u32, mut loss: Loss) {
        let now = loss.now;
        let packet = loss.hold.hand_out(id);
        self.meter.arrived(now, &packet);
        let mut charge = Charge { loss: &mut loss, meter: &mut self.meter };
        if let Some(policer) = &mut self.policer
            && policer.mark(now, packet.len, &mut self.rng) > 0
        {
            charge.dropped(packet, DropReason::Policed);
        } else if let Some(limit) = self.port.fifo() {
            // What has come is counted.
            let (packets, bytes) = charge.meter.backlog();
            let (packets, bytes) = (packets as usize - 1, bytes - u64::from(packet.len));
            if limit.admits(packets, bytes, packet.len) {
                loss.hold.take_back(packet);
                self.line.push_back((id, now));
            } else {
                charge.dropped(packet, DropReason::Overflow);
            }
        } else {
            self.port.offer(packet, &mut Context::new(now, &mut self.rng, &mut charge));
        }
        self.meter.settled();
    }

    /// Whether it is free at `now`, and its queue a FIFO.
    #[inline(always)]
    pub fn is_free_fifo(&self, now: Time) -> bool {
        self.port.free_at() <= now && self.port.fifo().is_some()
    }

    /// The packet that has waited longest in the line of a FIFO, and since when.
    #[inline(always)]
    pub fn first_in_line(&mut self) -> Option<(u32, Time)> {
        self.line.pop_front()
    }

    /// Sends a packet of `len` bytes from `now` on. When its last bit leaves.
    #[inline(always)]
    pub fn occupy(&mut self, now: Time, len: u32) -> Time {
        self.port.pass(now, len)
    }

    /// What it does next, unless it is [free and its queue a FIFO](Link::is_free_fifo).
    #[inline(never)]
    pub fn poll(&mut self, mut loss: Loss) -> Poll {
        if self.port.fifo().is_some() {
            let waits = self.meter.waiting() > 0;
            return if waits { Poll::Until(self.port.free_at()) } else { Poll::Idle };
        }
        let now = loss.now;
        let mut charge = Charge { loss: &mut loss, meter: &mut self.meter };
        self.port.poll(&mut Context::new(now, &mut self.rng, &mut charge))
    }

    /// Counts a packet of `len` bytes that is sent until `done_at`. When it arrives, if nothing else can
    /// befall it; else it is to be [sent specially](Link::send_specially).
    #[inline(always)]
    pub fn sends(&mut self, len: u32, done_at: Time) -> Option<Time> {
        self.sent.0 += 1;
        self.sent.1 += u64::from(len + self.port.overhead());
        let delay = self.plain_delay.filter(|_| done_at < Time::MAX)?;
        // A delay that fell does not let packets overtake.
        self.last_arrival = self.last_arrival.max(done_at + delay);
        Some(self.last_arrival)
    }

    /// Sends the packet with handle `id` until `done_at`: when it arrives, and for how long it is held back
    /// beyond that. None if it is lost on the wire.
    #[inline(never)]
    pub fn send_specially(
        &mut self,
        id: u32,
        done_at: Time,
        mut loss: Loss,
    ) -> Option<(Time, Duration)> {
        let cargo = loss.hold.at(id);
        if let Some(capture) = &mut self.capture {
            capture.record(loss.now, cargo);
        }
        // An outage without end loses the packet too.
        let loss_rate = self.loss.at(done_at);
        if done_at == Time::MAX || (loss_rate > 0.0 && self.rng.chance(loss_rate)) {
            self.wire_lost += 1;
            let packet = loss.hold.hand_out(id);
            loss.charge(packet);
            return None;
        }
        cargo.stop += 1;
        // A delay that falls does not let packets overtake.
        self.last_arrival = self.last_arrival.max(done_at + self.delay.at(done_at));
        let held = self.reorder.as_mut().map_or(Duration::ZERO, Reorder::draw);
        if let Some(remark) = &self.remark {
            let ecn = cargo.packet.ecn();
            cargo.packet.set_ecn(remark[ecn as usize]);
        }
        Some((self.last_arrival, held))
    }

    /// Notes that the agenda entry at `key` wakes the link, if none before it does; true if the
    /// entry is needed.
    #[inline]
    pub fn arm(&mut self, key: Key) -> bool {
        let needed = key.time < self.armed.time;
        if needed {
            self.armed = key;
        }
        needed
    }

    /// Whether the agenda entry at `key` is the one that counts; it is used up.
    #[inline]
    pub fn wakes(&mut self, key: Key) -> bool {
        let current = self.armed == key;
        if current {
            self.woken();
        }
        current
    }

    /// The key of the agenda entry that wakes it; [`Key::NEVER`], if nothing does.
    #[inline]
    pub fn armed(&self) -> Key {
        self.armed
    }

    /// The link has been woken.
    #[inline]
    pub fn woken(&mut self) {
        self.armed = Key::NEVER;
    }

    /// Whether the link sleeps until it is free, and will look at its queue by itself. While its queue
    /// holds packets back, another one may be sent.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.armed.time <= self.port.free_at()
    }

    /// The least propagation delay that it has at any time.
    pub fn least_delay(&self) -> Duration {
        self.delay.least()
    }

    /// The link and its queue's state.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Lets the discipline know the rate that now holds.
    pub fn rate_changed(&mut self, now: Time) {
        self.port.rate_changed(now);
    }

    /// Makes what `change` says hold from `now` on; what waits lies in `hold`.
    pub fn change(&mut self, now: Time, change: LinkChange, hold: &mut Hold) {
        if let Some((kind, discipline)) = change.queue {
            self.kind = kind;
            self.fill_queue(hold);
            self.port.exchange(discipline);
        }
        if let Some(rate) = change.rate {
            self.port.change_rate(now, rate);
        }
        self.delay = change.delay.map_or(self.delay.clone(), Schedule::Constant);
        self.loss = change.loss.map_or(self.loss.clone(), Schedule::Constant);
        self.plain_delay = self.find_plain_delay();
    }

    /// Puts what `wrap` makes of the discipline in its place, while nothing waits.
    pub fn wrap(&mut self, wrap: impl FnOnce(Box<dyn Discipline>) -> Box<dyn Discipline>) {
        debug_assert!(self.line.is_empty());
        self.port.wrap(wrap);
    }

    /// The discipline holds itself what waits, as it will no more be known as a FIFO.
    fn fill_queue(&mut self, hold: &mut Hold) {
        while let Some((id, queued)) = self.line.pop_front() {
            let mut packet = hold.hand_out(id);
            packet.queued = queued;
            self.port.put_back(packet);
        }
    }

    /// What waits; the packet in transmission not counted.
    pub fn backlog(&self) -> Backlog {
        let (packets, bytes) = self.meter.backlog();
        Backlog { packets: packets as usize, bytes }
    }

    /// The discipline goes on with the parameters of `fresh`, built for a link of `rate`, and its own
    /// state, if it can.
    pub fn retune(&mut self, now: Time, fresh: &mut dyn Discipline, rate: Rate) -> bool {
        let can = self.port.retune(now, fresh);
        if can && self.port.capacity().rate(now) != rate {
            self.port.rate_changed(now);
        }
        can
    }

    /// Ends the capture, if there is one.
    ///
    /// # Errors
    /// A failure to write it.
    pub fn finish(&mut self) -> Result<(), String> {
        self.capture.take().map_or(Ok(()), Capture::finish)
    }

    /// Begins the measurement at `now`.
    pub fn restart(&mut self, now: Time) {
        self.meter.restart(now);
        self.sent = (0, 0);
        self.wire_lost = 0;
    }
}
