//! A link, with a queue in front of it.

use super::capture::Capture;
use super::cargo::{Cargo, Hold};
use super::losses::{Losses, Lost};
use super::ring::Ring;
use crate::course::Schedule;
use crate::engine::event::Key;
use crate::measure::{QueueMeter, UserMeter};
use crate::pcap_out::WINDOW_SCALE;
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Capacity, Context, Discipline, DropReason, Duration, Ecn, Packet, PacketKind, Poll,
    Port, Rate, Rng, Sink, Time,
};
use forebay_middlebox::marker::{Marker, TokenBucket};

/// The properties of a link.
pub struct LinkSpec {
    pub name: String,
    /// Its number in the whole network.
    pub number: u32,
    /// Numbers of the nodes where it begins and ends.
    pub ends: (u32, u32),
    /// Kind of its queue, for summaries.
    pub kind: String,
    pub discipline: Box<dyn Discipline>,
    pub capacity: Capacity,
    /// Bytes that it adds to every packet.
    pub overhead: u32,
    /// Propagation delay.
    pub delay: Schedule<Duration>,
    /// Share of packets lost on the wire at random.
    pub loss: Schedule<f64>,
    pub policer: Option<TokenBucket>,
    /// Share of packets that are held back at random, and for how long.
    pub reorder: Option<(f64, Duration)>,
    /// New ECN codepoints on the wire, by the two bits of the old ones.
    pub remark: Option<[Ecn; 4]>,
    pub capture: Option<Capture>,
}

/// New properties of a link; None for those that do not change.
#[derive(Default)]
pub struct LinkChange {
    /// Kind and discipline of a new queue. Packets in the old one leave first.
    pub queue: Option<(String, Box<dyn Discipline>)>,
    /// Only of a link whose rate is constant.
    pub rate: Option<Rate>,
    /// Packets do not overtake each other when the delay falls.
    pub delay: Option<Duration>,
    pub loss: Option<f64>,
}

/// A link with its queue, its meters and its random stream.
pub struct Link {
    pub name: String,
    /// Its number in the whole network.
    pub number: u32,
    pub kind: String,
    pub meter: QueueMeter,
    /// Packets sent, and bytes with overhead, since the measurement began.
    pub sent: (u64, u64),
    /// Packets lost on the wire since then.
    pub wire_lost: u64,
    port: Port,
    /// Handles of waiting packets and their arrivals, if the discipline is the built-in FIFO. The FIFO
    /// itself then has no packets.
    line: Ring<(u32, Time)>,
    rng: Rng,
    delay: Schedule<Duration>,
    loss: Schedule<f64>,
    policer: Option<TokenBucket>,
    reorder: Option<Reorder>,
    remark: Option<[Ecn; 4]>,
    last_arrival: Time,
    /// Key of the agenda entry by which the link becomes free. Other entries are stale.
    armed: Key,
    capture: Option<Capture>,
    /// The delay, if packets are neither lost, held back, remarked nor recorded, so that the link need not
    /// check for each of these.
    plain_delay: Option<Duration>,
}

/// Packets that are held back on a link, with a random stream of its own.
struct Reorder {
    share: f64,
    delay: Duration,
    rng: Rng,
}

impl Reorder {
    /// Time by which the next packet is held back.
    fn draw(&mut self) -> Duration {
        if self.rng.chance(self.share) { self.delay } else { Duration::ZERO }
    }
}

/// The parts to which losses are reported.
pub struct Loss<'a> {
    pub now: Time,
    pub hold: &'a mut Hold,
    pub users: &'a mut [UserMeter],
    pub lost: &'a mut Losses,
}

/// The sink of a link's queue: it counts marks and drops for the queue and for the user.
struct Charge<'a, 'b> {
    loss: &'a mut Loss<'b>,
    meter: &'a mut QueueMeter,
}

impl Loss<'_> {
    /// Ends the life of a lost packet, and counts it for its user.
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

    /// The packet in the line of a FIFO after `count` others.
    pub fn in_line(&self, count: usize) -> Option<u32> {
        self.line.get(count).map(|(id, _)| *id)
    }

    /// The propagation delay, by which a lazy link lags. None if it is zero, or if rate or
    /// delay are not constant: the link cannot be lazy.
    pub fn lag(&self) -> Option<Duration> {
        match (&self.delay, self.port.capacity()) {
            (Schedule::Constant(delay), Capacity::Constant { .. }) => {
                Some(*delay).filter(|delay| *delay > Duration::ZERO)
            }
            _ => None,
        }
    }

    /// Whether `packet`, which arrives at `now`, can [pass](Link::pass) the queue: the link is free, no
    /// packet waits, and the discipline says that this makes no difference.
    #[inline(always)]
    pub fn lets_pass(&self, now: Time, packet: &Packet) -> bool {
        self.meter.waiting() == 0
            && self.armed == Key::NEVER
            && self.policer.is_none()
            && self.port.lets_pass(now, packet)
    }

    /// `packet`, which arrives at `now`, passes the queue. Returns when its last bit leaves.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, packet: &Packet) -> Time {
        self.meter.passed(now, packet);
        self.port.pass(now, packet.len)
    }

    /// Whether packet `id`, which arrives at `now`, joins the line of a FIFO. Otherwise it is to be
    /// [offered](Link::offer).
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

    /// Offers packet `id` to the policer and the queue, which take it or drop packets.
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
            // The meter counts the packet already.
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

    #[inline(always)]
    pub fn is_free_fifo(&self, now: Time) -> bool {
        self.port.free_at() <= now && self.port.fifo().is_some()
    }

    /// Takes the first packet from the line of a FIFO, with its arrival.
    #[inline(always)]
    pub fn first_in_line(&mut self) -> Option<(u32, Time)> {
        self.line.pop_front()
    }

    /// Sends a packet of `len` bytes from `now` on. Returns when its last bit leaves.
    #[inline(always)]
    pub fn occupy(&mut self, now: Time, len: u32) -> Time {
        self.port.pass(now, len)
    }

    /// The next action of the port, unless the link is [free and its queue a FIFO](Link::is_free_fifo).
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

    /// Counts a packet of `len` bytes that is sent until `done_at`, and returns its arrival. None if it is
    /// to be [sent specially](Link::send_specially).
    #[inline(always)]
    pub fn sends(&mut self, len: u32, done_at: Time) -> Option<Time> {
        self.sent.0 += 1;
        self.sent.1 += u64::from(len + self.port.overhead());
        let delay = self.plain_delay.filter(|_| done_at < Time::MAX)?;
        // A delay that fell does not let packets overtake.
        self.last_arrival = self.last_arrival.max(done_at + delay);
        Some(self.last_arrival)
    }

    /// Sends packet `id` until `done_at` over a link that may lose, hold back, remark or record it. Returns
    /// its arrival and the time by which it is held back; None if it is lost.
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
        // In an outage without end, the packet is lost, too.
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

    /// Arms the link with the agenda entry at `key`, unless an earlier one wakes it. True if so.
    #[inline]
    pub fn arm(&mut self, key: Key) -> bool {
        let needed = key.time < self.armed.time;
        if needed {
            self.armed = key;
        }
        needed
    }

    /// Whether the agenda entry at `key` is not stale. If so, the link is no longer armed.
    #[inline]
    pub fn wakes(&mut self, key: Key) -> bool {
        let current = self.armed == key;
        if current {
            self.woken();
        }
        current
    }

    /// Key of the agenda entry that wakes it, or [`Key::NEVER`].
    pub fn armed(&self) -> Key {
        self.armed
    }

    pub fn woken(&mut self) {
        self.armed = Key::NEVER;
    }

    /// Whether the link will look at its queue when it is free. If it waits longer, because the queue
    /// shapes, an arriving packet may be sent earlier.
    pub fn is_busy(&self) -> bool {
        self.armed.time <= self.port.free_at()
    }

    pub fn least_delay(&self) -> Duration {
        self.delay.least()
    }

    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Tells the discipline the new rate.
    pub fn rate_changed(&mut self, now: Time) {
        self.port.rate_changed(now);
    }

    /// Applies `change` at `now`.
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

    /// Replaces the discipline by what `wrap` makes of it. No packet may wait.
    pub fn wrap(&mut self, wrap: impl FnOnce(Box<dyn Discipline>) -> Box<dyn Discipline>) {
        debug_assert!(self.line.is_empty());
        self.port.wrap(wrap);
    }

    /// Moves the packets of the line into the discipline, which will no longer be known as a FIFO.
    fn fill_queue(&mut self, hold: &mut Hold) {
        while let Some((id, queued)) = self.line.pop_front() {
            let mut packet = hold.hand_out(id);
            packet.queued = queued;
            self.port.put_back(packet);
        }
    }

    /// Packets that wait, without the one in transmission.
    pub fn backlog(&self) -> Backlog {
        let (packets, bytes) = self.meter.backlog();
        Backlog { packets: packets as usize, bytes }
    }

    /// Gives the discipline the parameters of `fresh`, which was built for a link of `rate`; it keeps its
    /// state. False if it cannot.
    pub fn retune(&mut self, now: Time, fresh: &mut dyn Discipline, rate: Rate) -> bool {
        let can = self.port.retune(now, fresh);
        if can && self.port.capacity().rate(now) != rate {
            self.port.rate_changed(now);
        }
        can
    }

    /// Completes the capture, if there is one.
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
