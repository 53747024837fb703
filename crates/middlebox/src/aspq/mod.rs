//! Amicable strict priority queuing: a controller in front of a strict-priority device. It spares
//! low-priority TCP flows losses and timeouts while they wait.
//!
//! While packets of a higher priority arrive, the device does not serve a low-priority flow. Its
//! sender takes this for loss, shrinks its congestion window, and finally gives up. The controller
//! instead tells it, on behalf of its receiver, that there is no room. The sender enters the
//! persist state (RFC 9293, section 3.8.6.1), keeps its congestion window, and resumes when it is
//! told that there is room again.
//!
//! Source: M. Rahimi, V. Pournaghshband, "An Improvement Mechanism for Low Priority Traffic TCP
//! Performance in Strict Priority Queueing", section III-B. The idea is that of Freeze-TCP (Goff et
//! al., INFOCOM 2000).
//!
//! # Use
//! Like every [`Middlebox`], the controller does no I/O.
//!
//! ```
//! use forebay_core::Time;
//! use forebay_middlebox::aspq::{Controller, Params};
//! use forebay_middlebox::{FiveTuple, Header, Middlebox, Tcp, Verdict, flags};
//!
//! let mut controller = Controller::new(&Params::default()).unwrap();
//! let flow = |port| FiveTuple {
//!     source_port: port,
//!     destination_port: 80,
//!     source: "2001:db8::1".parse().unwrap(),
//!     destination: "2001:db8::2".parse().unwrap(),
//!     protocol: 6,
//! };
//! let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
//! let data = Tcp { seq: 1, flags: flags::ACK, payload_len: 1000, ..Tcp::default() };
//! let ack = Tcp { ack: 1001, flags: flags::ACK, window: 500, ..Tcp::default() };
//! let low = Header { flow: flow(1), class: 0, dscp: 0, len: 1040, tcp: Some(data) };
//! let high = Header { flow: flow(2), class: 1, ..low };
//! let back = Header { flow: flow(1).reversed(), tcp: Some(ack), ..low };
//!
//! assert_eq!(controller.forward(at(0), &low), Verdict::Pass);
//! assert_eq!(controller.forward(at(1), &high), Verdict::Pass);
//! // The low sender is told that there is no room, until the high flow is silent for a second.
//! assert_eq!(controller.backward(at(20), &back), Verdict::Rewrite { window: 0 });
//! assert_eq!(controller.poll(at(20)), None);
//! assert_eq!(controller.wake(), Some(at(1001)));
//! let release = controller.poll(at(1001)).unwrap();
//! assert_eq!((release.flow, release.ack, release.window), (back.flow, 1001, 500));
//! ```
//!
//! # The algorithm
//! - A flow's *level* is that of its last forward packet ([`Priority`]). A flow above level 0
//!   becomes *active* with its SYN or a packet with payload. It is active until its FIN is
//!   acknowledged, it is reset, or no such packet has come for `idle_timeout`. The paper has two
//!   levels. With more, a flow is held back while any flow of a higher level is active.
//! - Backward ACKs of a flow that is held back get window 0. The first one freezes the flow. SYN,
//!   FIN and RST are never changed. Every ACK is converted, not only the first, because a Linux
//!   sender with data in flight that gets no more ACKs falls back to its retransmission timer.
//! - Window probes of a frozen sender are answered, with window 0.
//! - When a frozen flow is no longer held back, its sender gets the receiver's last ACK again, with
//!   the receiver's window: a window update. It has the latest sequence number, acknowledgment and
//!   timestamps that were *seen*, because a receiver's clock cannot be guessed (RFC 7323, section
//!   5).
//! - A released flow that was active when it was frozen is active again: it holds back those below
//!   until it has finished or stayed silent for `idle_timeout`.
//! - No sender is offered more room than its receiver has. A receiver's own zero window is kept.
//! - Data in transit when the freeze begins are left to the device.
//!
//! # Options, not in the paper
//! - `trickle`: a frozen sender whose data are all acknowledged may send a segment at this
//!   interval, so it does not restart from the initial window after an idle time (RFC 5681, section
//!   4.1). The segment waits in the device like any other. This is for loss-based senders. BBR (v1
//!   in Linux) keeps the largest rate of its last ten round trips, and each such segment counts as
//!   one.
//! - `staged_release`: the window is opened in eight steps up to what was in flight before the
//!   freeze, and then to the receiver's.
//! - `repeat_release`: the release is repeated until data come, at most ten times, because ACKs can
//!   be lost.
//! - `freeze`: "when-full" measures the packets of every level in intervals of 100 ms, or of 20
//!   large packets if these take longer. A flow stays frozen until a whole interval shows that
//!   higher levels leave at least a twentieth of the link. Then its sender is told of the
//!   receiver's window. When the link is full again, the window is 0, as in the paper.
//! - `freeze_limit`: longest freeze in which nothing may be sent. Afterwards the flow passes until
//!   the highest active level falls.
//!
//! The first two count bytes, so they need the window scale. They do not apply to flows whose
//! handshake was not seen.
//!
//! "when-full" knows the rate of the link from its configuration. If another device has the link,
//! `rate` says it. Packets that the device drops later count as well.
//!
//! # Bounds
//! At most `max_flows` flows are known. For another one, the flow that was silent longest is
//! forgotten, and released if it was frozen. Low-priority flows of protocols other than TCP take no
//! room. Packets of unknown flows pass. A controller that stops leaves no flow frozen: the receiver
//! answers the sender's next probe. Cost: a search in a balanced tree per packet.

mod flow;
mod load;
mod params;
mod priority;
mod table;

pub use params::{Freeze, Params};
pub use priority::Priority;

use crate::{Ack, Counts, Header, Middlebox, Tcp, Verdict, flags};
use flow::{Flow, Frozen, Phase};
use forebay_core::{ConfigError, Duration, Time};
use load::Load;
use std::collections::{BTreeSet, VecDeque};
use table::{Levels, Slot, Table};

/// Steps in which `staged_release` opens a window.
const STEPS: u32 = 8;
/// Most repetitions of a release.
const REPETITIONS: u8 = 10;
/// IP protocol number of TCP.
const TCP: u8 = 6;

/// The controller of one strict-priority device.
#[derive(Debug, Clone)]
pub struct Controller {
    params: Params,
    now: Time,
    table: Table,
    /// Active flows by level.
    active: Levels,
    /// Number of falls of the highest active level.
    falls: u64,
    /// Frozen flows, by level.
    frozen: BTreeSet<(u8, Slot)>,
    /// When to look at a flow: at this time, or later if its deadline has moved.
    timers: BTreeSet<(Time, Slot)>,
    /// Releases of flows that were forgotten.
    owed: VecDeque<Ack>,
    /// Share of the link that each level uses; None with `freeze = "always"`, which does not ask.
    load: Option<Load>,
    /// Bytes that the link adds to every IP packet.
    overhead: u32,
    counts: Counts,
}

impl Controller {
    /// A controller that does not know any flow yet.
    ///
    /// # Errors
    /// Those of [`Params::validate`].
    pub fn new(params: &Params) -> Result<Self, ConfigError> {
        params.validate()?;
        Ok(Controller {
            params: params.clone(),
            now: Time::ZERO,
            table: Table::new(params.max_flows as usize),
            active: Levels::new(),
            falls: 0,
            frozen: BTreeSet::new(),
            timers: BTreeSet::new(),
            owed: VecDeque::new(),
            load: params.rate.filter(|_| params.freeze != Freeze::Always).map(Load::new),
            overhead: 0,
            counts: Counts::default(),
        })
    }

    /// The controller in front of a link that adds `bytes` to every IP packet.
    pub fn with_overhead(self, bytes: u32) -> Self {
        Controller { overhead: bytes, ..self }
    }
}

impl Middlebox for Controller {
    fn forward(&mut self, now: Time, header: &Header) -> Verdict {
        self.set_time(now);
        let level = self.params.priority.level(header);
        if let Some(load) = self.load.as_mut().filter(|_| level > 0) {
            load.count(level, header.len.saturating_add(self.overhead));
        }
        let slot = match self.table.find(&header.flow) {
            Some(slot) => slot,
            None if header.flow.protocol == TCP || level > 0 => self.insert(header, level),
            None => return Verdict::Pass,
        };
        self.table.touch(slot);
        self.set_level(slot, level);
        let Some(tcp) = &header.tcp else {
            self.activate(slot);
            return Verdict::Pass;
        };
        if tcp.has(flags::RST) {
            if self.table.get(slot).is_ended_by_sender(tcp) {
                self.forget(slot);
            }
            return Verdict::Pass;
        }
        if tcp.has(flags::SYN) {
            self.begin(slot, tcp);
        }
        let flow = self.table.get_mut(slot);
        if matches!(flow.phase, Phase::Frozen(Frozen { may_send: false, .. })) && flow.is_probe(tcp)
        {
            self.counts.probes_answered += 1;
            return Verdict::Answer(answer(flow, tcp));
        }
        flow.on_sent(tcp);
        if tcp.payload_len > 0 && matches!(flow.phase, Phase::Waiting { .. }) {
            flow.phase = Phase::Open;
        }
        if tcp.payload_len > 0 || tcp.has(flags::SYN) {
            self.activate(slot);
        }
        Verdict::Pass
    }

    fn backward(&mut self, now: Time, header: &Header) -> Verdict {
        self.set_time(now);
        let Some(tcp) = &header.tcp else { return Verdict::Pass };
        let key = header.flow.reversed();
        let slot = match self.table.find(&key) {
            Some(slot) => slot,
            // A connection that the other side opens: its SYN tells how windows are scaled.
            None if tcp.has(flags::SYN) => {
                let level = self.params.priority.level(header);
                self.insert(&Header { flow: key, ..*header }, level)
            }
            None => return Verdict::Pass,
        };
        self.table.touch(slot);
        if tcp.has(flags::RST) {
            if self.table.get(slot).is_ended_by_receiver(tcp) {
                self.forget(slot);
            }
            return Verdict::Pass;
        }
        let flow = self.table.get_mut(slot);
        if tcp.has(flags::SYN) {
            flow.scales[1] = Some(tcp.window_scale);
            if !matches!(flow.phase, Phase::Frozen(_)) {
                // The reports of an earlier receiver between these ports no longer count.
                flow.said = None;
            }
            return Verdict::Pass;
        }
        if !tcp.has(flags::ACK) {
            return Verdict::Pass;
        }
        let flight = flow.flight();
        if flow.on_said(tcp) {
            // All that the sender will ever send has arrived.
            self.forget(slot);
            return Verdict::Pass;
        }
        if tcp.has(flags::FIN) {
            return Verdict::Pass;
        }
        if self.is_held_back(slot) {
            self.freeze(slot, flight);
        }
        self.limit_window(slot, tcp)
    }

    fn poll(&mut self, now: Time) -> Option<Ack> {
        self.set_time(now);
        loop {
            let ack = if let Some(ack) = self.owed.pop_front() {
                Some(ack)
            } else if let Some(slot) = self.released() {
                self.release(slot)
            } else {
                let &(due, slot) = self.timers.first().filter(|(due, _)| *due <= now)?;
                self.timers.remove(&(due, slot));
                self.table.get_mut(slot).timer = Time::MAX;
                let ack = self.on_timer(slot);
                self.arm(slot);
                ack
            };
            if ack.is_some() {
                self.counts.made += 1;
                return ack;
            }
        }
    }

    fn wake(&self) -> Option<Time> {
        if self.released().is_some() || !self.owed.is_empty() {
            return Some(self.now);
        }
        // While flows are held back, the measurement decides whether they may send.
        let measured = self.load.as_ref().filter(|_| !self.frozen.is_empty());
        let timer = self.timers.first().map(|(due, _)| *due);
        timer.into_iter().chain(measured.map(Load::end)).min()
    }

    fn most_flows(&self) -> usize {
        self.params.max_flows as usize
    }

    fn counts(&self) -> Counts {
        Counts {
            flows: self.table.len() as u64,
            frozen: self.frozen.len() as u64,
            active: u64::from(self.active.total()),
            ..self.counts
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("box_flows", self.table.len() as f64);
        out("box_frozen", self.frozen.len() as f64);
        out("box_active", f64::from(self.active.total()));
    }
}

impl Controller {
    /// The time is `now`, which may be the end of an interval of the measurement.
    fn set_time(&mut self, now: Time) {
        self.now = now;
        let Some(mut load) = self.load.take() else { return };
        if let Some(start) = load.advance(now) {
            let frozen = std::mem::take(&mut self.frozen);
            for &(level, slot) in &frozen {
                self.measured(&load, start, level, slot);
            }
            self.frozen = frozen;
        }
        self.load = Some(load);
    }

    /// An interval of the measurement that began at `start` has ended. A flow that has been held
    /// back since then may send what is left.
    fn measured(&mut self, load: &Load, start: Time, level: u8, slot: Slot) {
        let flow = self.table.get_mut(slot);
        let Phase::Frozen(frozen) = &mut flow.phase else { return };
        let may_send = !load.is_full(level) && frozen.since <= start;
        if frozen.may_send == may_send {
            return;
        }
        (frozen.may_send, frozen.edge) = (may_send, None);
        frozen.until = match self.params.freeze_limit {
            Some(limit) if !may_send => self.now + limit,
            _ => Time::MAX,
        };
        if let (true, Some(said)) = (may_send, flow.said) {
            self.owed.push_back(flow.speak(&said, said.window));
        }
        self.arm(slot);
    }

    /// Makes room for the flow of `header` (a forward one) and adds it.
    fn insert(&mut self, header: &Header, level: u8) -> Slot {
        if let Some(oldest) = self.table.surplus() {
            self.counts.evicted += 1;
            let flow = self.table.get(oldest);
            if let (Phase::Frozen(_) | Phase::Releasing { .. }, Some(said)) =
                (flow.phase, flow.said)
            {
                self.owed.push_back(flow.speak(&said, said.window));
            }
            self.forget(oldest);
        }
        self.table.insert(Flow::new(header.flow, level, self.now))
    }

    fn forget(&mut self, slot: Slot) {
        self.deactivate(slot);
        self.thaw(slot);
        self.timers.remove(&(self.table.get(slot).timer, slot));
        self.table.remove(slot);
    }

    /// A connection begins, perhaps with the ports of an earlier one.
    fn begin(&mut self, slot: Slot, syn: &Tcp) {
        let flow = self.table.get(slot);
        // The same SYN again changes nothing; a SYN-ACK answers one that has been seen.
        if flow.sent == Some(syn.end()) {
            return;
        }
        self.thaw(slot);
        let flow = self.table.get_mut(slot);
        let receiver = if syn.has(flags::ACK) { flow.scales[1] } else { None };
        let Flow { key, level, active, last_active, timer, .. } = *flow;
        let scales = [Some(syn.window_scale), receiver];
        *flow = Flow { active, last_active, timer, scales, ..Flow::new(key, level, self.now) };
    }

    fn set_level(&mut self, slot: Slot, level: u8) {
        let flow = self.table.get_mut(slot);
        let before = std::mem::replace(&mut flow.level, level);
        if before == level {
            return;
        }
        if self.frozen.remove(&(before, slot)) {
            self.frozen.insert((level, slot));
        }
        if self.table.get(slot).active {
            self.change_active(|active| {
                active.remove(before);
                active.add(level);
            });
        }
    }

    /// Changes which levels are active, and counts if the highest falls.
    fn change_active(&mut self, change: impl FnOnce(&mut Levels)) {
        let before = self.active.highest();
        change(&mut self.active);
        self.falls += u64::from(self.active.highest() < before);
    }

    /// The flow sends. It becomes active if its level is one for which others are held back.
    fn activate(&mut self, slot: Slot) {
        let flow = self.table.get_mut(slot);
        flow.last_active = self.now;
        if flow.active || flow.level == 0 {
            return;
        }
        flow.active = true;
        self.active.add(flow.level);
        self.arm(slot);
    }

    fn deactivate(&mut self, slot: Slot) {
        let flow = self.table.get_mut(slot);
        let level = flow.level;
        if std::mem::take(&mut flow.active) {
            self.change_active(|active| active.remove(level));
        }
    }

    fn is_held_back(&self, slot: Slot) -> bool {
        let flow = self.table.get(slot);
        // Acknowledgments of a sender without data, such as a download's, are left alone.
        flow.segment > 0
            && flow.exempt != Some(self.falls)
            && self.active.highest().is_some_and(|highest| highest > flow.level)
    }

    /// Freezes the flow, unless it is frozen. `flight` bytes were in transit.
    fn freeze(&mut self, slot: Slot, flight: u32) {
        let never = |span: Option<Duration>| span.map_or(Time::MAX, |span| self.now + span);
        let (until, trickle) = (never(self.params.freeze_limit), never(self.params.trickle));
        let flow = self.table.get_mut(slot);
        if matches!(flow.phase, Phase::Frozen(_)) {
            return;
        }
        let was_active = flow.active;
        flow.phase = Phase::Frozen(Frozen {
            since: self.now,
            until,
            flight,
            trickle,
            edge: None,
            may_send: false,
            was_active,
        });
        self.frozen.insert((flow.level, slot));
        self.counts.freezes += 1;
        self.arm(slot);
    }

    /// Unfreezes the flow.
    fn thaw(&mut self, slot: Slot) {
        let flow = self.table.get_mut(slot);
        if self.frozen.remove(&(flow.level, slot)) {
            flow.phase = Phase::Open;
            self.counts.releases += 1;
        }
    }

    /// Releases a flow that is frozen although nothing holds it back.
    fn released(&self) -> Option<Slot> {
        let &(level, slot) = self.frozen.last()?;
        self.active.highest().is_none_or(|highest| highest <= level).then_some(slot)
    }

    /// Ends a freeze. Returns the acknowledgment that tells the sender.
    fn release(&mut self, slot: Slot) -> Option<Ack> {
        let Phase::Frozen(Frozen { flight, was_active, .. }) = self.table.get(slot).phase else {
            return None;
        };
        self.thaw(slot);
        if was_active {
            self.activate(slot);
        }
        let flow = self.table.get_mut(slot);
        let said = flow.said.filter(|said| said.window > 0)?;
        let in_steps = self.params.staged_release.filter(|_| flow.scale().is_some() && flight > 0);
        let window = if let Some(span) = in_steps {
            let next = self.now + span / u64::from(STEPS);
            flow.phase = Phase::Releasing { start: said.ack, flight, step: 1, next };
            flow.window_to(stage(said.ack, flight, 1), said.ack)
        } else {
            if let Some(every) = self.params.repeat_release {
                flow.phase = Phase::Waiting { left: REPETITIONS, next: self.now + every };
            }
            said.window
        };
        let ack = flow.speak(&said, window);
        self.arm(slot);
        Some(ack)
    }

    /// Limits the room that a segment offers to the sender to what the flow's phase allows.
    fn limit_window(&mut self, slot: Slot, tcp: &Tcp) -> Verdict {
        let flow = self.table.get_mut(slot);
        let limit = match flow.phase {
            Phase::Open | Phase::Waiting { .. } | Phase::Frozen(Frozen { may_send: true, .. }) => {
                return Verdict::Pass;
            }
            Phase::Frozen(Frozen { edge, .. }) => {
                edge.map_or(0, |edge| flow.window_to(edge, tcp.ack))
            }
            Phase::Releasing { start, flight, step, .. } => {
                flow.window_to(stage(start, flight, step), tcp.ack)
            }
        };
        if limit >= tcp.window {
            return Verdict::Pass;
        }
        self.counts.rewritten += 1;
        Verdict::Rewrite { window: limit }
    }

    /// Checks whether a flow's deadline has come.
    fn on_timer(&mut self, slot: Slot) -> Option<Ack> {
        let (now, falls) = (self.now, self.falls);
        let flow = self.table.get_mut(slot);
        if flow.active && flow.last_active + self.params.idle_timeout <= now {
            self.deactivate(slot);
            return None;
        }
        match &mut flow.phase {
            Phase::Frozen(freeze) if freeze.until <= now => {
                flow.exempt = Some(falls);
                self.release(slot)
            }
            Phase::Frozen(freeze) if freeze.trickle <= now => {
                freeze.trickle = now + self.params.trickle.unwrap_or(Duration::MAX);
                if freeze.may_send { None } else { trickle(flow) }
            }
            Phase::Releasing { start, flight, step, next } if *next <= now => {
                let Some(said) = flow.said else {
                    flow.phase = Phase::Open;
                    return None;
                };
                *step += 1;
                if *step > STEPS {
                    flow.phase = Phase::Open;
                    return Some(flow.speak(&said, said.window));
                }
                *next += self.params.staged_release.unwrap_or_default() / u64::from(STEPS);
                let edge = stage(*start, *flight, *step);
                Some(flow.speak(&said, flow.window_to(edge, said.ack)))
            }
            Phase::Waiting { left, next } if *next <= now => {
                *left -= 1;
                *next += self.params.repeat_release.unwrap_or_default();
                if *left == 0 {
                    flow.phase = Phase::Open;
                }
                flow.said.map(|said| flow.speak(&said, said.window))
            }
            _ => None,
        }
    }

    /// Sets a timer for the flow's next deadline.
    fn arm(&mut self, slot: Slot) {
        let idle_timeout = self.params.idle_timeout;
        let flow = self.table.get_mut(slot);
        let idle = if flow.active { flow.last_active + idle_timeout } else { Time::MAX };
        let due = idle.min(match flow.phase {
            Phase::Open => Time::MAX,
            Phase::Frozen(freeze) => freeze.until.min(freeze.trickle),
            Phase::Releasing { next, .. } | Phase::Waiting { next, .. } => next,
        });
        if due < flow.timer {
            self.timers.remove(&(flow.timer, slot));
            self.timers.insert((due, slot));
            flow.timer = due;
        }
    }
}

/// The answer to a window probe: no room. It echoes the probe's timestamp, as the receiver would.
fn answer(flow: &Flow, probe: &Tcp) -> Ack {
    let said = flow.said.expect("only a sender that was told of no window is asked");
    let ack = flow.speak(&said, 0);
    let echo = |(tsval, tsecr)| (tsval, probe.timestamps.map_or(tsecr, |(theirs, _)| theirs));
    Ack { timestamps: said.timestamps.map(echo), ..ack }
}

/// Allows a frozen sender a segment, if everything that it sent before has arrived.
fn trickle(flow: &mut Flow) -> Option<Ack> {
    let said = flow.said?;
    let scale = flow.scale()?;
    if !flow.is_drained() || flow.segment == 0 {
        return None;
    }
    // In whole units of the field, or the segment would not fit.
    let window = (flow.segment.div_ceil(1 << scale)).min(u32::from(said.window)) as u16;
    if window == 0 {
        return None;
    }
    if let Phase::Frozen(freeze) = &mut flow.phase {
        freeze.edge = Some(said.ack.wrapping_add(u32::from(window) << scale));
    }
    Some(flow.speak(&said, window))
}

/// Right edge of the window at a step of a release that begins at `start` and opens the window to
/// `flight` bytes.
fn stage(start: u32, flight: u32, step: u32) -> u32 {
    start.wrapping_add((u64::from(flight) * u64::from(step) / u64::from(STEPS)) as u32)
}

#[cfg(test)]
mod tests;
