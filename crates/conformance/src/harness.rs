//! Calls a discipline as a port would, and checks every contract at every step.

use forebay_core::{
    Conduct, Context, Discipline, DropReason, Ecn, Packet, PacketKind, Rate, Rng, Setting, Sink,
    Time, Verdict, Wake,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// The port of the tests.
pub const SETTING: Setting = Setting::new(Rate::from_bps(10_000_000), 18, 1500);

/// One arriving packet: [`Arrival::of`], with other fields set.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Arrival {
    /// Nanoseconds since the previous arrival.
    pub gap: u64,
    /// Length of the IP packet in bytes.
    pub len: u32,
    /// Flow.
    pub flow: u32,
    /// QoS class.
    pub class: u8,
    /// Precedence.
    pub precedence: u8,
    /// Drop precedence.
    pub drop_precedence: u8,
    /// Whether its transport understands marks.
    pub ect: bool,
    /// Its content.
    pub kind: PacketKind,
}

impl Arrival {
    /// A packet of flow 0 and class 0, without a gap.
    pub fn of(len: u32) -> Self {
        Arrival {
            gap: 0,
            len,
            flow: 0,
            class: 0,
            precedence: 0,
            drop_precedence: 0,
            ect: false,
            kind: PacketKind::Data,
        }
    }

    /// The packet. Its codepoint is one of a few, chosen by flow and class.
    pub fn packet(&self, id: u32, now: Time) -> Packet {
        let mut packet = Packet::new(id, self.flow, self.len);
        packet.class = self.class;
        packet.precedence = self.precedence;
        packet.drop_precedence = self.drop_precedence;
        packet.kind = self.kind;
        (packet.source, packet.destination) = (self.flow as u16 % 3, self.flow as u16 % 4);
        packet.set_dscp([0, 1, 10, 34, 46, 48][(self.flow as usize + usize::from(self.class)) % 6]);
        if self.ect {
            packet.set_ecn(Ecn::Ect0);
        }
        packet.queued = now;
        packet
    }
}

/// Random arrivals: bursts, idle gaps, all sizes, flows, classes, precedences and kinds.
pub fn arrivals(count: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![12 => Just(0), 7 => 0..2_000_000_u64, 1 => 0..10_000_000_000_u64];
    let len = prop_oneof![Just(40), Just(1500), 40..=1500_u32];
    let kind = prop_oneof![
        4 => Just(PacketKind::Data), 1 => Just(PacketKind::PureAck), 1 => Just(PacketKind::Control)
    ];
    let marks = (0..4_u8, 0..4_u8, 0..3_u8, any::<bool>(), kind);
    let arrival = (gap, len, 0..8_u32, marks).prop_map(
        |(gap, len, flow, (class, precedence, drop_precedence, ect, kind))| Arrival {
            gap,
            len,
            flow,
            class,
            precedence,
            drop_precedence,
            ect,
            kind,
        },
    );
    proptest::collection::vec(arrival, 1..count)
}

/// Arrivals that are meant to be difficult.
pub fn adversarial() -> Vec<(&'static str, Vec<Arrival>)> {
    let many = |count: u32, arrival: &dyn Fn(u32) -> Arrival| (0..count).map(arrival).collect();
    let idle_then_burst = |n: u32| Arrival {
        gap: if n.is_multiple_of(1500) { 3_600_000_000_000 } else { 0 },
        flow: n % 5,
        class: (n % 2) as u8,
        ect: n.is_multiple_of(3),
        ..Arrival::of(1500)
    };
    let overload = |n: u32| Arrival {
        gap: 300_000,
        flow: n % 7,
        class: (n % 3) as u8,
        precedence: (n % 2) as u8,
        drop_precedence: (n % 3) as u8,
        ..Arrival::of(if n.is_multiple_of(4) { 64 } else { 1500 })
    };
    vec![
        ("all of the smallest size", many(3000, &|n| Arrival { flow: n % 3, ..Arrival::of(40) })),
        ("all of one flow", many(3000, &|_| Arrival { gap: 500_000, ..Arrival::of(1500) })),
        ("hours of idleness, then a burst", many(4500, &idle_then_burst)),
        ("time stands still", many(2500, &|n| Arrival { gap: 0, ..overload(n) })),
        ("lasting overload", many(12_000, &overload)),
    ]
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// Sent at this instant.
    Sent(u32, Time),
    /// Dropped for this reason.
    Dropped(u32, DropReason),
    /// Marked.
    Marked(u32),
}

/// The harness's record of a packet that it offered.
struct Record {
    arrival: Arrival,
    left: bool,
    marked: bool,
}

/// The account: every packet goes in once and comes out once.
#[derive(Default)]
struct Ledger {
    records: Vec<Record>,
    fates: Vec<Fate>,
    held: (usize, u64),
    complaint: Option<String>,
}

impl Ledger {
    fn complain(&mut self, what: String) {
        self.complaint.get_or_insert(what);
    }

    /// Records a departing packet, and checks that it is the one that arrived.
    fn leaves(&mut self, packet: Packet) -> u32 {
        let (ecn, len, flow, class) = (packet.ecn(), packet.len, packet.flow, packet.class);
        let id = packet.retire();
        let Some(record) = self.records.get_mut(id as usize) else {
            self.complain(format!("packet {id} was never handed in"));
            return id;
        };
        let twice = std::mem::replace(&mut record.left, true);
        let came = (record.arrival.len, record.arrival.flow, record.arrival.class);
        let changed = came != (len, flow, class);
        let wrong_mark = (ecn == Ecn::Ce) != record.marked;
        self.held = (self.held.0.wrapping_sub(1), self.held.1.wrapping_sub(u64::from(len)));
        if twice {
            self.complain(format!("packet {id} left twice"));
        }
        if changed {
            self.complain(format!("packet {id} was changed"));
        }
        if wrong_mark {
            let (has, was) =
                if ecn == Ecn::Ce { ("with a", "was not") } else { ("without the", "was") };
            self.complain(format!("packet {id} leaves {has} mark that {was} reported"));
        }
        id
    }
}

impl Sink for Ledger {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let id = self.leaves(packet);
        self.fates.push(Fate::Dropped(id, reason));
    }

    fn marked(&mut self, packet: &Packet) {
        let id = packet.id as usize;
        self.fates.push(Fate::Marked(packet.id));
        if !self.records[id].arrival.ect {
            self.complain(format!("packet {id} is not ECN-capable and was marked"));
        }
        self.records[id].marked = true;
    }
}

/// The calls that the harness makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manner {
    /// Only with the calls that a link needs.
    Plain,
    /// With additional calls, which must change nothing.
    Observed,
    /// Packets that may skip the discipline do so.
    Passed,
}

/// The most times in a row that the next packet may be put off at the time that was said.
const MOST_PUT_OFF: u32 = 1000;

/// A discipline, the account of its packets, and a link.
struct Rig<'a> {
    queue: &'a mut dyn Discipline,
    ledger: Ledger,
    rng: Rng,
    facts: Conduct,
    manner: Manner,
    checks: u32,
    /// How many times in a row the next packet was put off.
    put_off: u32,
    last_sent: HashMap<(u32, u8), u32>,
}

impl Rig<'_> {
    /// The fault of a foreign discipline. It is reported before the errors that follow from it.
    fn fault(&self) -> Result<(), String> {
        self.queue.fault().map_or(Ok(()), Err)
    }

    /// Checks that must hold after every call.
    fn check(&mut self, now: Time) -> Result<(), String> {
        self.fault()?;
        if let Some(complaint) = self.ledger.complaint.take() {
            return Err(complaint);
        }
        let backlog = self.queue.backlog();
        if (backlog.packets, backlog.bytes) != self.ledger.held {
            let (packets, bytes) = self.ledger.held;
            return Err(format!(
                "conservation: {packets} packets of {bytes} B are in the queue, but its backlog says \
                 {} of {} B",
                backlog.packets, backlog.bytes
            ));
        }
        // This looks at every waiting packet, so it is done only from time to time.
        if self.ledger.records.len() % 61 == 60 {
            self.check_waiting()?;
        }
        let wake = self.queue.wake(now);
        self.fault()?;
        let fits = match wake {
            Wake::Idle => backlog.packets == 0,
            Wake::Ready => backlog.packets > 0,
            Wake::At(time) => self.facts.shapes && backlog.packets > 0 && time > now,
        };
        if !fits {
            let said = match wake {
                Wake::Idle => "nothing to send".to_owned(),
                Wake::Ready => "a packet can be sent now".to_owned(),
                Wake::At(time) => format!("the next packet can be sent at {} ns", time.as_nanos()),
            };
            return Err(format!(
                "work conservation: wake says {said}, with {} packets waiting",
                backlog.packets
            ));
        }
        if self.manner == Manner::Observed {
            let probe = |queue: &dyn Discipline| {
                let mut seen = Vec::new();
                queue.probe(now, &mut |name, value| seen.push((name, value.to_bits())));
                seen
            };
            let first = probe(self.queue);
            // The number of calls varies: an effect that repeats with a fixed number could be missed.
            self.checks += 1;
            let again = (0..=self.checks % 3).any(|_| self.queue.wake(now) != wake);
            if again || first != probe(self.queue) {
                return Err("observation: asked twice, answered differently".into());
            }
            if let Some((name, _)) = first.iter().find(|(_, v)| !f64::from_bits(*v).is_finite()) {
                return Err(format!("observation: {name} is not finite"));
            }
        }
        Ok(())
    }

    /// Time at which the queue will give its next packet: `now` or later.
    fn due(&self, now: Time) -> Time {
        match self.queue.wake(now) {
            Wake::At(time) => time.max(now),
            Wake::Idle | Wake::Ready => now,
        }
    }

    /// Sends the next packet at a time when the queue has said that one is due. Returns its length, if
    /// there is one.
    fn send(&mut self, now: Time) -> Result<Option<u32>, String> {
        match self.queue.wake(now) {
            Wake::At(later) if later > now => {
                self.put_off += 1;
                if self.put_off < MOST_PUT_OFF {
                    return Ok(None);
                }
                Err(format!(
                    "waiting: with {} packets held, wake said that one can be sent at {} ns, and at \
                     that time {} ns; so {MOST_PUT_OFF} times",
                    self.ledger.held.0,
                    now.as_nanos(),
                    later.as_nanos()
                ))
            }
            _ => {
                self.put_off = 0;
                self.dequeue(now)
            }
        }
    }

    /// Offers an arriving packet. Returns true if it skipped the discipline, which was empty, on a
    /// link that was free since `free`.
    fn arrive(&mut self, arrival: Arrival, now: Time, free: Time) -> Result<bool, String> {
        let id = self.ledger.records.len() as u32;
        let packet = arrival.packet(id, now);
        let empty = self.manner == Manner::Passed && free <= now && self.ledger.held.0 == 0;
        let passes = empty && self.queue.passes(&packet);
        self.ledger.records.push(Record { arrival, left: passes, marked: false });
        if passes {
            packet.retire();
            self.ledger.fates.push(Fate::Sent(id, now));
            return Ok(true);
        }
        self.ledger.held.0 += 1;
        self.ledger.held.1 += u64::from(arrival.len);
        let mut cx = Context::new(now, &mut self.rng, &mut self.ledger);
        let verdict = self.queue.enqueue(packet, &mut cx);
        if verdict == Verdict::Dropped && !self.ledger.records[id as usize].left {
            return Err(format!("verdict: packet {id} is said to be dropped and is not"));
        }
        self.check(now)?;
        Ok(false)
    }

    /// Checks that the packets shown as waiting are all that is held, or none.
    fn check_waiting(&self) -> Result<(), String> {
        let mut shown = (0, 0);
        self.queue.waiting(&mut |_, packet| {
            shown = (shown.0 + 1, shown.1 + u64::from(packet.len));
        });
        if shown.0 == 0 || shown == self.ledger.held {
            return Ok(());
        }
        let ((held, held_bytes), (shown, shown_bytes)) = (self.ledger.held, shown);
        Err(format!(
            "waiting: of {held} packets ({held_bytes} B) that are held, {shown} ({shown_bytes} B) are \
             shown"
        ))
    }

    /// Takes one packet out. Returns its length, if there is one.
    fn dequeue(&mut self, now: Time) -> Result<Option<u32>, String> {
        let before = self.queue.backlog().packets;
        let mut cx = Context::new(now, &mut self.rng, &mut self.ledger);
        let Some(packet) = self.queue.dequeue(&mut cx) else {
            self.fault()?;
            // A shaper may find out only in this call that it has to wait.
            let waits = self.facts.shapes && matches!(self.queue.wake(now), Wake::At(_));
            if before > 0 && self.queue.backlog().packets >= before && !waits {
                return Err(format!("progress: of {before} packets none was sent or dropped"));
            }
            self.check(now)?;
            return Ok(None);
        };
        let (len, key) = (packet.len, (packet.flow, packet.class));
        let id = self.ledger.leaves(packet);
        self.ledger.fates.push(Fate::Sent(id, now));
        let last = self.last_sent.insert(key, id);
        if let Some(last) = last.filter(|last| self.facts.keeps_order && *last > id) {
            return Err(format!("order: packet {id} left after {last} of the same flow and class"));
        }
        self.check(now)?;
        Ok(Some(len))
    }
}

/// Offers `arrivals` to `queue`, which has these `facts`, over a link with the setting's rate, and
/// then drains it. From time to time the discipline is told that the rate has halved or doubled.
///
/// # Errors
/// The first contract that was broken.
pub fn run(
    queue: &mut dyn Discipline,
    arrivals: &[Arrival],
    facts: Conduct,
    manner: Manner,
) -> Result<Vec<Fate>, String> {
    run_beside(queue, arrivals, facts, manner, &mut || Ok(()))
}

/// As [`run`]. Half-way, when packets may be waiting, `other` happens.
fn run_beside(
    queue: &mut dyn Discipline,
    arrivals: &[Arrival],
    facts: Conduct,
    manner: Manner,
    other: &mut dyn FnMut() -> Result<(), String>,
) -> Result<Vec<Fate>, String> {
    let rng = Rng::named(7, "port");
    let last_sent = HashMap::new();
    let ledger = Ledger::default();
    let mut rig = Rig { queue, ledger, rng, facts, manner, checks: 0, put_off: 0, last_sent };
    let (mut now, mut free) = (Time::ZERO, Time::ZERO);
    let sending = |len: u32| SETTING.rate.transmission(u64::from(len + SETTING.overhead));
    for (n, arrival) in arrivals.iter().enumerate() {
        let next = now + forebay_core::Duration::from_nanos(arrival.gap);
        while rig.queue.backlog().packets > 0 && free <= next {
            let at = rig.due(free.max(now));
            if at > next {
                break;
            }
            free = at;
            if let Some(len) = rig.send(at)? {
                free = at + sending(len);
            }
            now = at;
        }
        now = next;
        if n % 200 == 199 {
            let halved = n % 400 == 199;
            let rate = SETTING.rate.bps() / if halved { 2 } else { 1 };
            rig.queue.set_link_rate(now, Rate::from_bps(rate));
        }
        if rig.arrive(*arrival, now, free)? {
            free = now + sending(arrival.len);
        }
        if n == arrivals.len() / 2 {
            other()?;
        }
    }
    // Each call takes a packet out, learns of a later time, or fails.
    while rig.queue.backlog().packets > 0 {
        now = rig.due(now.max(free));
        if let Some(len) = rig.send(now)? {
            free = now + sending(len);
        }
    }
    if rig.dequeue(now)?.is_some() {
        return Err("conservation: an empty queue sent a packet".into());
    }
    match rig.ledger.records.iter().position(|record| !record.left) {
        Some(id) => Err(format!("conservation: packet {id} never left")),
        None => Ok(rig.ledger.fates),
    }
}

/// Every check of the queues from `build`, which have these `facts`: contracts, purity,
/// determinism, and that queues have nothing in common.
///
/// # Errors
/// The first contract that was broken.
pub fn conforms(
    build: &dyn Fn() -> Box<dyn Discipline>,
    arrivals: &[Arrival],
    facts: Conduct,
) -> Result<Vec<Fate>, String> {
    let fates = |manner| run(&mut *build(), arrivals, facts, manner);
    let (observed, alone) = (fates(Manner::Observed)?, fates(Manner::Plain)?);
    // Whoever does something else each time does so in any manner.
    let differ = |fault: &str| {
        let same = alone == fates(Manner::Plain)? && observed == fates(Manner::Observed)?;
        Err(if same { fault } else { UNSTABLE }.to_owned())
    };
    if observed != alone {
        return differ("purity: observing it changed what it did");
    }
    if alone != fates(Manner::Passed)? {
        return differ("passing: a packet that it let pass changed what it did");
    }
    let mut inner = Vec::new();
    let mut other = || fates(Manner::Plain).map(|found| inner = found);
    let outer = run_beside(&mut *build(), arrivals, facts, Manner::Plain, &mut other)
        .map_err(|error| format!("{SHARED} ({error})"))?;
    if [&outer, &inner] != [&alone; 2] {
        return differ(SHARED);
    }
    Ok(alone)
}

/// What a discipline does that is not determined by its arrivals.
const UNSTABLE: &str = "determinism: the same arrivals gave another outcome; it uses a clock, random \
    numbers of its own, or state shared between queues";
/// What a discipline does whose queues have something in common.
const SHARED: &str = "independence: a second queue of the kind changed what it did; each queue needs \
    a state of its own";

/// Takes dropped packets and forgets them.
struct Retire;

impl Sink for Retire {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

/// Fills `queue` with every kind of packet and drains it, repeatedly. What `measure` runs
/// afterwards is the steady state, and must not allocate.
pub fn steady_state(queue: &mut dyn Discipline, measure: impl FnOnce(&mut dyn FnMut())) {
    let (mut rng, mut now) = (Rng::named(7, "port"), Time::ZERO);
    let mut cycle = |queue: &mut dyn Discipline, count: u32, arrival: &dyn Fn(u32) -> Arrival| {
        for n in 0..count {
            let packet = arrival(n).packet(n, now);
            queue.enqueue(packet, &mut Context::new(now, &mut rng, &mut Retire));
        }
        while queue.backlog().packets > 0 {
            now += forebay_core::Duration::from_micros(1200);
            let sent = queue.dequeue(&mut Context::new(now, &mut rng, &mut Retire));
            sent.map(Packet::retire);
        }
        now += forebay_core::Duration::from_millis(100);
    };
    let mixed = |n: u32| Arrival {
        len: 40 + n * 37 % 1461,
        flow: n % 61,
        class: (n % 4) as u8,
        precedence: (n / 4 % 2) as u8,
        drop_precedence: (n / 8 % 3) as u8,
        ect: n.is_multiple_of(5),
        ..Arrival::of(0)
    };
    cycle(queue, 15_000, &mixed);
    for kind in 0..12 {
        let (class, drop_precedence) = (kind % 4, kind / 4);
        let alike = |n| Arrival { class, drop_precedence, precedence: 1, ..mixed(n) };
        cycle(queue, 3_000, &alike);
    }
    measure(&mut || {
        for _ in 0..50 {
            cycle(queue, 150, &mixed);
        }
    });
}
