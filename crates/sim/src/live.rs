//! Scenarios on real packets: the same sources send, and the same meters measure.
//!
//! A lab makes gates of the scenario's links and hosts of its nodes. [`Live`] gives it the next datagram or
//! transfer of each sender ([`Live::next`], [`Live::completed`]), from the generators and random streams of
//! a simulated run. The lab reports packets and transfers, and [`Live`] summarises them with the keys and
//! definitions of a simulated run.

use crate::engine::UDP_HEADERS;
use crate::measure::{ClassMeter, Playback, QueueMeter, QueuePoint, UserMeter};
use crate::scenario::{Participant, Scenario};
use crate::summary::{self, Table};
use crate::traffic::{Datagram, Generator, Transfer};
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Packet, Time};
use forebay_shaper::{Operation, Recording, Variation};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

/// A transmission that takes longer never ends.
const ENDLESS: Duration = Duration::from_secs(1 << 32);

/// The next step of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It sends a datagram.
    Datagram(Datagram),
    /// It begins a transfer.
    Transfer(Transfer),
}

/// A scenario that runs on real packets.
pub struct Live {
    scenario: Scenario,
    participants: Vec<Participant>,
    meters: Vec<UserMeter>,
    classes: Vec<ClassMeter>,
    /// By sender: what those who watch videos have received.
    playbacks: BTreeMap<u32, Playback>,
    /// Payload bytes of each class in each interval of the series.
    class_bytes: Vec<Vec<f64>>,
    links: Map<String, Value>,
    queues: Map<String, Value>,
    tables: Vec<Table>,
}

impl Live {
    /// `scenario`, with its seed for the random streams of its sources.
    ///
    /// # Errors
    /// The first fault of a source.
    pub fn new(scenario: Scenario) -> Result<Self, ConfigError> {
        let (mut participants, mut meters) = (Vec::new(), Vec::new());
        let (names, class_of) = scenario.classes();
        let seed = scenario.table().seed;
        for (index, entry) in scenario.entries().enumerate() {
            for flow in 0..entry.table.flows {
                let participant = scenario.participant(index, flow, seed, None)?;
                let is_own = matches!(participant.generator, Generator::Endpoints(_));
                require(!is_own, &format!("traffic[{index}].kind"), || {
                    format!(
                        "\"{}\" has a protocol of its own, which runs only in the simulator",
                        entry.table.kind
                    )
                })?;
                participants.push(participant);
                meters.push(UserMeter::new(index as u32, class_of[index], entry.codec()));
            }
        }
        let class = |name| ClassMeter { name, ..ClassMeter::default() };
        Ok(Live {
            class_bytes: vec![vec![0.0; scenario.points().len()]; names.len()],
            scenario,
            participants,
            meters,
            classes: names.into_iter().map(class).collect(),
            playbacks: BTreeMap::new(),
            links: Map::new(),
            queues: Map::new(),
            tables: Vec::new(),
        })
    }

    /// All senders, in order.
    pub fn participants(&self) -> &[Participant] {
        &self.participants
    }

    /// The next step of sender `index`, at `after` or later. `after` is its start at the first call,
    /// and then the time of its last step. None when it has ended.
    pub fn next(&mut self, index: usize, after: Time) -> Option<Step> {
        let Participant { generator, rng, stop, .. } = &mut self.participants[index];
        let step = match generator {
            Generator::Datagrams(source) => source.next(after, rng).map(Step::Datagram),
            Generator::Transfers(source) => source.next(after, rng).map(Step::Transfer),
            Generator::Endpoints(_) => None,
        };
        let step = step.filter(|step| step.at() < *stop);
        self.asked(index, step);
        step
    }

    /// The transfer that sender `index` begins after one has ended at `now`.
    pub fn completed(&mut self, index: usize, now: Time) -> Option<Step> {
        let Participant { generator, rng, stop, .. } = &mut self.participants[index];
        let Generator::Transfers(source) = generator else { return None };
        if let Some(playback) = self.playbacks.get_mut(&(index as u32)) {
            playback.arrived(now);
        }
        let step = source.completed(now, rng).map(Step::Transfer).filter(|step| step.at() < *stop);
        self.asked(index, step);
        step
    }

    /// Sender `index` begins `step`, which may be a segment of a video.
    fn asked(&mut self, index: usize, step: Option<Step>) {
        let Participant { generator: Generator::Transfers(source), stop, .. } =
            &self.participants[index]
        else {
            return;
        };
        if let Some((step, media)) = step.zip(source.media()) {
            let playback =
                self.playbacks.entry(index as u32).or_insert_with(|| Playback::new(*stop));
            playback.asks(step.at(), media);
        }
    }

    /// Beginning and end of the measurement.
    pub fn measured(&self) -> (Time, Time) {
        let table = self.scenario.table();
        (Time::ZERO + table.warmup, Time::ZERO + table.duration)
    }

    /// Sender `index` sent a datagram of `len` bytes of IP at `sent`. It arrived at `arrived`, or
    /// never. Call this in order of sending.
    pub fn datagram(&mut self, index: usize, len: u32, sent: Time, arrived: Option<Time>) {
        let (from, until) = self.measured();
        let is_measured = |at: Time| at >= from && at < until;
        let meter = &mut self.meters[index];
        let number = is_measured(sent).then(|| meter.sends(len));
        match (arrived, number) {
            (Some(arrived), _) if is_measured(arrived) => {
                let delay = arrived.since(sent);
                meter.arrived(delay, Duration::ZERO);
                self.classes[meter.class as usize].delay.record(delay);
            }
            (Some(arrived), _) if arrived < from => {
                self.classes[meter.class as usize].precedes(arrived.since(sent));
            }
            (None, Some(number)) => meter.lost(number),
            _ => {}
        }
        if let Some(arrived) = arrived {
            self.payload(index, f64::from(len - UDP_HEADERS), arrived);
        }
    }

    /// Bytes of payload that arrived from sender `index` at `at`.
    pub fn payload(&mut self, index: usize, bytes: f64, at: Time) {
        let (from, until) = self.measured();
        if at >= until {
            return;
        }
        let meter = &mut self.meters[index];
        let point = at.as_nanos() / self.scenario.sample().as_nanos();
        if let Some(sum) = self.class_bytes[meter.class as usize].get_mut(point as usize) {
            *sum += bytes;
        }
        if at >= from {
            meter.bytes += bytes as u64;
        }
    }

    /// A transfer of sender `index` ended.
    pub fn transferred(&mut self, index: usize, start: Time, end: Time) {
        let (from, until) = self.measured();
        if end >= from && end < until {
            let meter = &mut self.meters[index];
            meter.ended(start, end, 0);
            self.classes[meter.class as usize].completion.record(end.since(start));
        }
    }

    /// Segments that sender `index` sent again during the measurement.
    pub fn retransmitted(&mut self, index: usize, segments: u64) {
        self.meters[index].retransmissions += segments;
    }

    /// Adds the recording in `input` of the queue of link `name`. Its clock started at the
    /// scenario's time `began_ns`, which may be negative. `flows` says to which senders the flows
    /// of the recording belong. Lost packets count as theirs. Packets that leave count as delivered
    /// if the link is the last one of their path.
    ///
    /// # Errors
    /// The recording cannot be read, or the course of the link.
    pub fn recording(
        &mut self,
        name: &str,
        input: impl BufRead,
        began_ns: i64,
        flows: &HashMap<u32, (usize, bool)>,
    ) -> io::Result<()> {
        let (from, until) = self.measured();
        let mut recording = Recording::open(input)?;
        let plan = recording.plan().clone();
        let kind = plan.queue["kind"].as_str().unwrap_or("combination");
        let kind = match plan.queue["qdisc"].as_str() {
            Some(qdisc) => format!("{kind}:{qdisc}"),
            None => kind.to_owned(),
        };
        let ends = self.scenario.points();
        let variation = self.scenario.variation(name).map_err(io::Error::other)?;
        let mut wire = variation.as_ref().map(|how| how.wire(name, Time::ZERO));
        let mut wire_lost = 0;
        let mut queue = Queue::new(self.scenario.sample(), ends.len(), from);
        while let Some((at, operation)) = read(&mut recording)? {
            let at = Time::from_nanos((at.as_nanos() as i64 + began_ns).max(0) as u64);
            if at >= until {
                break;
            }
            queue.advance(at);
            let owner = |waiting: &Waiting| flows.get(&waiting.flow).filter(|_| at >= from);
            match operation {
                Operation::Offer { id, len, flow, marks, .. } => {
                    let waiting = Waiting { len, flow, drop_precedence: marks[2], since: at };
                    waiting.as_packet(|packet| queue.meter.arrived(at, packet));
                    queue.waiting.insert(id, waiting);
                }
                Operation::Verdict(_) => queue.meter.settled(),
                Operation::Sent { id, takes, .. } => {
                    // Without end: the gate's clock and this one differ.
                    let done_at = if takes > ENDLESS { Time::MAX } else { at + takes };
                    // The same numbers as the gate has drawn.
                    let lost = wire.as_mut().is_some_and(|wire| wire.carry(done_at).is_none());
                    wire_lost += u64::from(lost && at >= from);
                    let Some(waiting) = queue.waiting.remove(&id) else { continue };
                    queue.meter.sent(waiting.len, at.since(waiting.since));
                    queue.sent.0 += 1;
                    queue.sent.1 += u64::from(waiting.len + plan.overhead);
                    match owner(&waiting) {
                        Some((index, _)) if lost => self.meters[*index].dropped += 1,
                        Some((index, true)) => self.meters[*index].delivered += 1,
                        _ => {}
                    }
                }
                Operation::Dropped { id, reason } => {
                    let Some(waiting) = queue.waiting.remove(&id) else { continue };
                    waiting.as_packet(|packet| queue.meter.dropped(reason, packet));
                    if let Some((index, _)) = owner(&waiting) {
                        self.meters[*index].dropped += 1;
                    }
                }
                Operation::Marked { id } => {
                    queue.meter.marked += 1;
                    if let Some((index, _)) = queue.waiting.get(&id).and_then(owner) {
                        self.meters[*index].marked += 1;
                    }
                }
                Operation::Poll
                | Operation::Until(_)
                | Operation::Idle
                | Operation::Change(_)
                | Operation::TcpHeader(_) => {}
            }
        }
        queue.advance(until);
        let seconds = (until - from).as_secs_f64();
        let bits = match variation {
            Some(Variation { capacity, .. }) => capacity.bits_between(from, until),
            None => plan.rate.bps() as f64 * seconds,
        };
        let found = summary::link_summary(queue.sent, bits, wire_lost, seconds);
        self.links.insert(name.to_owned(), found);
        let mut found = summary::queue_summary(&kind, &mut queue.meter, until);
        found["variables"] = json!({});
        self.queues.insert(name.to_owned(), found);
        self.tables.extend(summary::queue_tables(name, &ends, &queue.points, &queue.meter));
        Ok(())
    }

    /// The summary and the tables. Measures that the lab cannot see are null: waits in queues, one-way delays
    /// of TCP data, retransmission timeouts, and how losses of TCP data follow each other.
    pub fn finish(mut self) -> (Value, Vec<Table>) {
        let (from, until) = self.measured();
        let seconds = (until - from).as_secs_f64();
        let mut classes = Map::new();
        let tcp: Vec<bool> = self
            .participants
            .iter()
            .map(|each| matches!(each.generator, Generator::Transfers(_)))
            .collect();
        for (index, class) in self.classes.iter().enumerate() {
            let is_member = |(meter, _): &(&UserMeter, &bool)| meter.class == index as u32;
            let (members, members_tcp): (Vec<_>, Vec<_>) =
                self.meters.iter().zip(&tcp).filter(is_member).unzip();
            let viewers = summary::viewers(&self.playbacks, &self.meters, index, (from, until));
            let mut found = summary::class_summary(class, &members, seconds, viewers);
            for unseen in ["mean_wait_ms", "asi", "asi_by_flow"] {
                found[unseen] = Value::Null;
            }
            if members_tcp.contains(&&true) {
                let offered: u64 =
                    members.iter().map(|meter| meter.delivered + meter.dropped).sum();
                found["offered"] = offered.into();
                for unseen in [
                    "sent_bps",
                    "transfer_goodput_bps",
                    "timeouts",
                    "aborted",
                    "loss_period",
                    "loss_distance",
                ] {
                    found[unseen] = Value::Null;
                }
            }
            classes.insert(class.name.clone(), found);
        }
        let names = self.scenario.traffic_names();
        let flows = self.meters.iter().enumerate().map(|(id, meter)| {
            let class = &self.classes[meter.class as usize].name;
            let traffic = &names[meter.traffic as usize];
            let mut flow = summary::flow_summary(
                id,
                meter,
                traffic,
                class,
                (from, until),
                summary::watched(&self.playbacks, id, (from, until)),
            );
            flow["mean_wait_ms"] = Value::Null;
            if tcp[id] {
                flow["timeouts"] = Value::Null;
            }
            flow
        });
        let whole = json!({
            "title": self.scenario.table().title,
            "seed": self.scenario.table().seed,
            "duration_s": until.as_secs_f64(),
            "warmup_s": from.as_secs_f64(),
            "version": env!("CARGO_PKG_VERSION"),
            "fingerprint": null,
            "events": null,
            "packets": self.meters.iter().map(|meter| meter.delivered).sum::<u64>(),
            "links": self.links,
            "queues": self.queues,
            "classes": classes,
            "flows": flows.collect::<Vec<_>>(),
        });
        let mut whole = whole;
        if !self.scenario.table().plugins.is_empty() {
            whole["plugins"] = self.scenario.plugins();
        }
        let ends = self.scenario.points();
        let span = self.scenario.sample().as_secs_f64();
        for (class, bytes) in self.classes.iter().zip(&self.class_bytes) {
            let rates = bytes.iter().map(|bytes| bytes * 8.0 / span).collect();
            self.tables.extend(summary::class_tables(class, &ends, rates));
        }
        (whole, self.tables)
    }
}

/// A packet that waits in a queue.
#[derive(Clone, Copy)]
struct Waiting {
    len: u32,
    flow: u32,
    drop_precedence: u8,
    since: Time,
}

impl Waiting {
    /// Reports it to a meter.
    fn as_packet(&self, show: impl FnOnce(&Packet)) {
        let mut packet = Packet::new(0, self.flow, self.len);
        packet.drop_precedence = self.drop_precedence;
        show(&packet);
        packet.retire();
    }
}

/// A queue while its recording is read.
struct Queue {
    meter: QueueMeter,
    waiting: HashMap<u32, Waiting>,
    /// Packets and bytes sent while measured.
    sent: (u64, u64),
    points: Vec<QueuePoint>,
    /// Interval of the series.
    span: Duration,
    /// Number of its points.
    count: usize,
    /// End of the warm-up. None after it.
    from: Option<Time>,
}

impl Queue {
    fn new(span: Duration, count: usize, from: Time) -> Self {
        Queue {
            meter: QueueMeter::new(Time::ZERO),
            waiting: HashMap::new(),
            sent: (0, 0),
            points: Vec::with_capacity(count),
            span,
            count,
            from: Some(from),
        }
    }

    /// Brings the series and the averages up to `now`.
    fn advance(&mut self, now: Time) {
        loop {
            let next = self.points.len() + 1;
            let end = Time::ZERO + self.span * next as u64;
            let point = Some(end).filter(|end| next <= self.count && *end <= now);
            match (point, self.from.filter(|from| *from <= now)) {
                (Some(end), from) if from.is_none_or(|from| end <= from) => {
                    self.points.push(self.meter.sample(end));
                }
                (_, Some(from)) => {
                    self.meter.advance(from);
                    self.meter.restart(from);
                    self.sent = (0, 0);
                    self.from = None;
                }
                _ => break,
            }
        }
        self.meter.advance(now);
    }
}

/// The next operation. None at the end, which may be within one if the gate was killed.
fn read<R: BufRead>(recording: &mut Recording<R>) -> io::Result<Option<(Time, Operation)>> {
    match recording.read() {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other,
    }
}

impl Step {
    /// Its time.
    pub fn at(&self) -> Time {
        match self {
            Step::Datagram(datagram) => datagram.at,
            Step::Transfer(transfer) => transfer.at,
        }
    }
}
