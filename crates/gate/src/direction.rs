//! One direction of the gate: from received frames to sent frames.

mod losses;

use crate::accounts::Accounts;
use crate::config::{At, Config, Known, Other};
use crate::cores::Rates;
use crate::echoes::Echoes;
use crate::frame_box::{Fate, FrameBox};
use crate::fresh::{Spare, built};
use crate::io::Pool;
use crate::rules::Rules;
use crate::status::{DirectionStatus, Drops, Traffic};
use forebay_core::{ConfigError, DropReason, Duration, Packet, PacketKind, Poll, Time};
use forebay_isp::Direction as Way;
use forebay_shaper::headers::{Frame, Layer, complete_checksum, set_tos, tcp_header};
use forebay_shaper::{Built, FlowHash, Recorder, Shaper, Variation, Wire};
use hdrhistogram::Histogram;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

/// Frames that may wait for the interface before the queue is stopped.
const MOST_WAITING: usize = 256;
/// The longest lag of departures behind the clock that is not counted as lost. A longer burst would
/// only queue behind the gate.
pub const MOST_LAG: Duration = Duration::from_millis(20);
/// Longest delay that is distinguished.
const LONGEST_DELAY: u64 = 100_000_000_000;

/// One direction.
pub struct Direction {
    shaper: Option<Shaper>,
    /// The shaper is removed as soon as it is empty.
    leaving: bool,
    /// When to ask the shaper next.
    due: Option<Time>,
    /// The failure of the recording of a shaper that was removed.
    unrecorded: Option<io::Error>,
    /// Latest time that the shaper was given.
    handed: Time,
    delay: Option<Duration>,
    /// The wire of a link that varies, in the place of `delay`.
    wire: Option<Wire>,
    line: VecDeque<(Time, u32)>,
    /// Frames to send now.
    pub out: VecDeque<u32>,
    /// The box in front of the queue.
    pub frame_box: Option<FrameBox>,
    origins: Vec<Origin>,
    other: Other,
    layer: Layer,
    dry_run: bool,
    flows: FlowHash,
    /// The side from which its packets come.
    side: At,
    /// The subscribers that share the link.
    known: Option<Arc<Known>>,
    /// The core that it is on.
    core: usize,
    accounts: Accounts,
    /// Timestamps of TCP that passed, which the other direction echoes.
    echoes: Option<Echoes>,
    seed: u64,
    counts: Counts,
}

/// Counts of the packets of a direction by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Packets that arrived.
    pub received: u64,
    /// Of these, packets that were not queued.
    pub passed: u64,
    /// Packets that left the queue.
    pub sent: u64,
    /// Dropped.
    pub dropped: u64,
    /// Packets that ended at the box, which answered them.
    pub answered: u64,
    /// Frames that the box made, which leave in the other direction.
    pub made: u64,
    /// Packets that wait in the queue.
    pub waiting: u64,
    /// Packets that were passed or sent (or made by the other direction's box), and are on the
    /// emulated wire or wait for the interface.
    pub in_transit: u64,
}

/// The IP header of a frame that waits.
#[derive(Debug, Clone, Copy, Default)]
struct Origin {
    /// Offset of its IP header, bytes.
    at: u16,
    /// 4 or 6; 0 without IP.
    version: u8,
    /// DS field and ECN on arrival.
    tos: u8,
    /// The account of its circuit.
    account: u32,
}

struct Counts {
    received: Traffic,
    passed: Traffic,
    sent: Traffic,
    completed: u64,
    dropped: [u64; DropReason::ALL.len()],
    marked: u64,
    classes: Vec<ClassCount>,
    delay: Histogram<u64>,
    stalls: u64,
    late: (u64, Duration, Duration),
}

#[derive(Clone, Copy, Default)]
struct ClassCount {
    offered: Traffic,
    sent: Traffic,
    dropped: u64,
    marked: u64,
    delay: Duration,
    longest: Duration,
}

impl Direction {
    /// The direction of packets that arrive on `side`.
    ///
    /// # Errors
    /// The queue is wrong.
    pub fn new(
        side: At,
        config: &Config,
        (core, rates): (usize, &Rates),
        layer: Layer,
        buffers: u32,
        dry_run: bool,
    ) -> Result<Self, ConfigError> {
        let parts = &config.parts;
        let link = config.direction(side);
        let built = built(config, side, core, rates)?;
        let known = config.known.clone();
        let mut accounts = Accounts::default();
        if let Some(known) = &known {
            accounts.follow(&known.network);
        }
        let shaper = built.map(|built| Shaper::with(built, config.seed, &parts.disciplines));
        let delay = Histogram::new_with_max(LONGEST_DELAY, 2).expect("constant bounds");
        let boxed = link.filter(|_| !dry_run);
        let controller = boxed.map_or(Ok(None), |link| link.middlebox(parts))?;
        Ok(Direction {
            shaper,
            leaving: false,
            due: None,
            unrecorded: None,
            handed: Time::ZERO,
            delay: link.and_then(|link| link.delay),
            wire: None,
            line: VecDeque::new(),
            out: VecDeque::new(),
            frame_box: controller.map(|controller| FrameBox::new(controller, layer)),
            origins: vec![Origin::default(); buffers as usize],
            other: config.other,
            layer,
            dry_run,
            flows: FlowHash::new(config.seed),
            side,
            echoes: known.is_some().then(Echoes::default),
            known,
            core,
            accounts,
            seed: config.seed,
            counts: Counts {
                received: Traffic::default(),
                passed: Traffic::default(),
                sent: Traffic::default(),
                completed: 0,
                dropped: [0; DropReason::ALL.len()],
                marked: 0,
                classes: vec![ClassCount::default(); 256],
                delay,
                stalls: 0,
                late: (0, Duration::ZERO, Duration::ZERO),
            },
        })
    }

    /// Replaces a discipline that broke its contract by a FIFO. Returns the fault.
    pub fn replace_faulty(&mut self, now: Time) -> Option<String> {
        let shaper = self.shaper.as_mut()?;
        let fault = shaper.fault()?;
        let mut plan = shaper.plan().clone();
        plan.queue = json!({ "kind": "fifo" });
        self.handed = self.handed.max(now);
        shaper.change(plan, self.handed).expect("a FIFO can always be built");
        Some(fault)
    }

    /// Whether there is room for the queue `built` beside those of earlier configurations.
    pub fn has_room(&self, built: Option<&Built>) -> bool {
        let shaper = self.shaper.as_ref().zip(built);
        shaper.is_none_or(|(shaper, built)| shaper.has_room(built))
    }

    /// Uses `config` from `now` on, with the queue `built` of it. Waiting packets stay. Returns what
    /// is no longer needed.
    pub fn change(&mut self, config: &Config, built: Option<Built>, now: Time) -> Spare {
        let link = config.direction(self.side);
        let disciplines = &config.parts.disciplines;
        self.handed = self.handed.max(now);
        self.leaving = built.is_none();
        let spare = match (built, &mut self.shaper) {
            (Some(built), Some(shaper)) => Some(shaper.exchange(built, self.handed)),
            (Some(built), None) => {
                self.shaper = Some(Shaper::with(built, self.seed, disciplines));
                None
            }
            (None, _) => None,
        };
        self.known.clone_from(&config.known);
        if let Some(known) = &self.known {
            self.accounts.follow(&known.network);
            self.echoes.get_or_insert_default();
        }
        self.delay = link.and_then(|link| link.delay);
        self.other = config.other;
        // A new rate may let the next packet go earlier.
        self.due = self.due.map(|due| due.min(self.handed));
        spare
    }

    /// Lets rate, delay and loss follow the `variation` of link `name`, by a clock that says `zero` at its
    /// time zero. Call it before the first packet.
    pub fn follow(&mut self, variation: &Variation, name: &str, zero: Time) {
        if let Some(shaper) = &mut self.shaper {
            shaper.follow(variation.capacity.clone().later(zero.since(Time::ZERO)));
        }
        self.wire = Some(variation.wire(name, zero));
    }

    /// Records what the shaper does, if there is one. `recorder` gets its file.
    pub fn record(&mut self, recorder: Recorder) {
        if let Some(shaper) = &mut self.shaper {
            shaper.record(recorder);
        }
    }

    /// Finishes the recording.
    ///
    /// # Errors
    /// It could not be written. It ends with the last call that was.
    pub fn finish_recording(&mut self) -> io::Result<()> {
        let finished = self.shaper.as_mut().map_or(Ok(()), Shaper::finish);
        self.unrecorded.take().map_or(finished, Err)
    }

    /// The shaper.
    pub fn shaper(&mut self) -> Option<&mut Shaper> {
        self.shaper.as_mut()
    }

    /// Takes the frame in `index`, which arrived at `now`. `back` are the timestamps that passed in
    /// the other direction. Returns the core to which the frame belongs if it is another one.
    #[inline]
    pub fn arrive(
        &mut self,
        index: u32,
        now: Time,
        pool: &mut Pool,
        rules: &mut Rules,
        back: Option<&mut Echoes>,
    ) -> Option<usize> {
        let frame = Frame::read(pool.frame(index), self.layer);
        let (mut packet, origin) = match &frame {
            Frame::Ip(view) => {
                let mut circuit = (0, 0);
                if let Some(known) = &self.known {
                    let address = match known.direction(self.side) {
                        Way::Up => view.source,
                        Way::Down => view.destination,
                    };
                    let number = known.find(address);
                    let (core, leaf) = known.leaf(number).unwrap_or((self.core, 0));
                    if core != self.core {
                        return Some(core);
                    }
                    circuit = (number, leaf);
                }
                if self.layer == Layer::Ethernet && complete_checksum(pool.frame_mut(index), view) {
                    self.counts.completed += 1;
                }
                let marks = rules.marks(view);
                let mut packet = view.packet(index, &self.flows);
                packet.class = marks.q;
                packet.precedence = marks.precedence;
                packet.drop_precedence = marks.drop_precedence;
                let mut account = 0;
                if let Some(known) = &self.known {
                    match known.direction(self.side) {
                        Way::Up => packet.source = circuit.1,
                        Way::Down => packet.destination = circuit.1,
                    }
                    account = self.accounts.place(circuit.0);
                    let header = tcp_header(pool.frame(index), view);
                    if let Some(header) = header.filter(|header| header.timestamps.is_some()) {
                        if let Some(echoes) = &mut self.echoes {
                            echoes.passes(packet.flow, &header, now);
                        }
                        let ports = view.ports.map(|(source, destination)| (destination, source));
                        let (from, to) = (view.destination, view.source);
                        let flow = self.flows.of(from, to, view.protocol, ports);
                        let round = back.and_then(|back| back.echoed(flow, &header, now));
                        if let (Some(round), Some(account)) = (round, self.accounts.at(account)) {
                            account.rounds.add(round);
                            account.echoed += 1;
                        }
                    }
                }
                (packet, Origin { at: view.at, version: view.version, tos: view.tos, account })
            }
            Frame::Other { len } => {
                let mut packet = Packet::new(index, 0, *len);
                packet.kind = PacketKind::Control;
                (packet, Origin::default())
            }
        };
        self.counts.received.add(packet.len);
        if let (Some(frame_box), Frame::Ip(view)) = (&mut self.frame_box, &frame)
            && frame_box.forward(now, view, packet.class, index, pool) == Fate::Ended
        {
            pool.give(packet.retire());
            return None;
        }
        let queued = match (&frame, self.other) {
            (Frame::Ip(_), _) => true,
            (Frame::Other { .. }, Other::Pass) => false,
            (Frame::Other { .. }, Other::Class(class)) => {
                packet.class = class;
                true
            }
        };
        let handed = self.handed.max(now);
        let Some((shaper, mut losses)) = self.shaping(pool).filter(|_| queued) else {
            self.counts.passed.add(packet.len);
            let index = packet.retire();
            self.depart(index, now);
            return None;
        };
        losses.offered(&packet, origin);
        shaper.offer(packet, handed, &mut losses);
        let free_at = shaper.free_at();
        self.handed = handed;
        // The discipline asked for this later time, not the link. The packet may change its answer.
        if self.due.is_none_or(|due| due > free_at) {
            self.due = Some(self.handed);
        }
        if self.dry_run {
            self.out.push_back(index);
        }
        None
    }

    /// Sends what is due until `until`, which is at most [`MOST_LAG`] before `now`.
    #[inline]
    pub fn advance(&mut self, until: Time, now: Time, pool: &mut Pool) {
        while let Some(due) = self.due.filter(|due| *due <= until) {
            if self.out.len() >= MOST_WAITING {
                break;
            }
            let lag = now - due;
            // The shaper gets the time at which it was due, so that a late turn does not lower the
            // rate.
            self.handed = self.handed.max(due);
            if lag > MOST_LAG {
                self.counts.stalls += 1;
                self.handed = self.handed.max(due + (lag - MOST_LAG));
            }
            let at = self.handed;
            let Some((shaper, mut losses)) = self.shaping(pool) else { break };
            match shaper.poll(at, &mut losses) {
                Poll::Idle => {
                    self.due = None;
                    let left =
                        self.shaper.take_if(|shaper| self.leaving && shaper.backlog().packets == 0);
                    if let Some(mut shaper) = left {
                        self.unrecorded = shaper.finish().err();
                    }
                }
                Poll::Until(time) => self.due = Some(time),
                Poll::Send { packet, done_at } => {
                    self.due = Some(done_at);
                    self.counts.sent(&packet, at, lag);
                    let (tos, len, queued) = (packet.tos, packet.len, packet.queued);
                    let index = packet.retire();
                    let Origin { at: header, version, tos: before, account } =
                        self.origins[index as usize];
                    if let Some(account) = self.accounts.at(account) {
                        account.sent.add(len);
                        account.waited += at.since(queued);
                        account.delays.add(at.since(queued));
                    }
                    if self.dry_run {
                        continue;
                    }
                    if tos != before {
                        set_tos(pool.frame_mut(index), header, version, tos);
                    }
                    match self.wire.as_mut().map(|wire| wire.carry(done_at)) {
                        None => self.depart(index, done_at),
                        Some(Some(arrival)) => self.line_up(index, arrival),
                        Some(None) => pool.give(index),
                    }
                }
            }
        }
        while let Some((at, index)) = self.line.front().copied()
            && at <= until
        {
            self.line.pop_front();
            self.out.push_back(index);
        }
    }

    /// Releases `index`: at once, or after the delay of the emulated wire from `end` on.
    #[inline]
    fn depart(&mut self, index: u32, end: Time) {
        let delay = self.delay.filter(|_| !self.dry_run);
        // After a reload with a shorter delay, packets still leave in order.
        let last = self.line.back().map(|(at, _)| *at);
        match (delay, last) {
            (None, None) => self.out.push_back(index),
            _ => self.line_up(index, end + delay.unwrap_or(Duration::ZERO)),
        }
    }

    /// Puts `index` on the emulated wire until `at`, or until those before it have arrived.
    fn line_up(&mut self, index: u32, at: Time) {
        let last = self.line.back().map_or(at, |(last, _)| *last);
        self.line.push_back((at.max(last), index));
    }

    /// When [`Direction::advance`] has something to do next.
    #[inline]
    pub fn wake(&self) -> Option<Time> {
        let line = self.line.front().map(|(at, _)| *at);
        let due = self.due.filter(|_| self.out.len() < MOST_WAITING);
        match (due, line) {
            (Some(due), Some(line)) => Some(due.min(line)),
            (due, line) => due.or(line),
        }
    }

    /// Whether nothing is held, and the link is free.
    pub fn is_empty(&self) -> bool {
        self.due.is_none() && self.line.is_empty() && self.out.is_empty()
    }

    /// Asks the discipline at `now`, whatever time it gave.
    pub fn ask(&mut self, now: Time) {
        self.due = Some(self.due.map_or(now, |due| due.min(now)));
    }

    /// Begins at `now` to serve packets that have waited for the previous gate.
    pub fn begin(&mut self, now: Time) {
        self.due = self.due.map(|due| due.max(now));
    }

    /// The place of every packet that has arrived so far.
    pub fn account(&self) -> Account {
        let counts = &self.counts;
        let backlog = self.shaper.as_ref().map(Shaper::backlog).unwrap_or_default();
        Account {
            received: counts.received.packets,
            passed: counts.passed.packets,
            sent: counts.sent.packets,
            dropped: counts.dropped.iter().sum(),
            answered: self.frame_box.as_ref().map_or(0, |frame_box| frame_box.answered),
            made: self.frame_box.as_ref().map_or(0, |frame_box| frame_box.handed),
            waiting: backlog.packets as u64,
            in_transit: (self.line.len() + self.out.len()) as u64,
        }
    }

    /// Timestamps of TCP that passed, if there are subscribers.
    pub fn echoes(&mut self) -> Option<&mut Echoes> {
        self.echoes.as_mut()
    }

    /// What each circuit's packets met: unknown addresses, and then the circuits in order.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The counters, and what is held.
    pub fn status(&self, now: Time) -> DirectionStatus {
        let counts = &self.counts;
        let backlog = self.shaper.as_ref().map(Shaper::backlog).unwrap_or_default();
        let mut variables = BTreeMap::new();
        if let Some(shaper) = &self.shaper {
            shaper.probe(now, &mut |name, value| {
                variables.insert(name.to_owned(), value);
            });
        }
        let plan = self.shaper.as_ref().map(Shaper::plan);
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let mean = |total: Duration, count: u64| millis(total.as_nanos()) / count.max(1) as f64;
        let classes =
            counts.classes.iter().enumerate().filter(|(_, class)| class.offered.packets > 0);
        let classes = classes.map(|(name, class)| {
            let status = crate::status::Class {
                offered: class.offered,
                sent: class.sent,
                dropped: class.dropped,
                marked: class.marked,
                waiting: class.offered.packets - class.sent.packets - class.dropped,
                delay_sum_s: class.delay.as_secs_f64(),
                mean_delay_ms: mean(class.delay, class.sent.packets),
                max_delay_ms: class.longest.as_millis_f64(),
            };
            (name as u8, status)
        });
        let reasons =
            DropReason::ALL.into_iter().zip(counts.dropped).filter(|(_, count)| *count > 0);
        DirectionStatus {
            kind: plan.map(|plan| plan.queue["kind"].as_str().unwrap_or("combination").to_owned()),
            rate_bps: plan.map(|plan| plan.rate.bps()),
            received: counts.received,
            passed: counts.passed,
            sent: counts.sent,
            dropped: Drops(
                reasons.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
            ),
            marked: counts.marked,
            earlier_queues: self.shaper.as_ref().map_or(0, Shaper::earlier) as u64,
            backlog_packets: backlog.packets as u64,
            backlog_bytes: backlog.bytes,
            in_transit: (self.line.len() + self.out.len()) as u64,
            p50_delay_ms: millis(counts.delay.value_at_quantile(0.5)),
            p99_delay_ms: millis(counts.delay.value_at_quantile(0.99)),
            max_delay_ms: millis(counts.delay.max()),
            completed_checksums: counts.completed,
            stalls: counts.stalls,
            mean_lateness_us: mean(counts.late.1, counts.late.0) * 1e3,
            max_lateness_us: millis(counts.late.2.as_nanos()) * 1e3,
            classes: classes.collect(),
            middlebox: self.frame_box.as_ref().map(FrameBox::status),
            variables,
            recording: self
                .shaper
                .as_ref()
                .and_then(Shaper::recorded)
                .map(|(bytes, open)| crate::status::Recording { bytes, open }),
        }
    }
}

impl Counts {
    #[inline]
    fn sent(&mut self, packet: &Packet, now: Time, lag: Duration) {
        let delay = now.since(packet.queued);
        self.sent.add(packet.len);
        self.delay.saturating_record(delay.as_nanos());
        let class = &mut self.classes[usize::from(packet.class)];
        class.sent.add(packet.len);
        class.delay += delay;
        class.longest = class.longest.max(delay);
        self.late.0 += 1;
        self.late.1 += lag;
        self.late.2 = self.late.2.max(lag);
    }
}
