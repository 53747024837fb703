//! Tests of the parts of a world, without a world.

use super::boxes::{Boxes, Ends, PlacedBox};
use super::event::Event;
use super::event::Key;
use super::fabric::cargo::Cargo;
use super::fabric::{AccessLink, Fabric, FabricSpec, LinkSpec, Stop, Target};
use super::measures::{Measures, MeasuresSpec};
use super::transport::{Entry, Transport, TransportSpec, User};
use crate::course::Schedule;
use crate::measure::UserMeter;
use crate::traffic::{Marks, Transfer, Transfers};
use forebay_core::{Capacity, Duration, Packet, Rate, Rng, Setting, Time};
use forebay_disciplines::Disciplines;
use forebay_middlebox::{Ack, Counts, Header, Middlebox, Verdict};
use forebay_tcp::Config;
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// 8 Mbit/s, so that a byte takes 1 us, 5 ms long, with room for `limit` packets.
fn link(name: &str, limit: &str) -> LinkSpec {
    let rate = Rate::from_bps(8_000_000);
    let queue = json!({ "kind": "fifo", "limit": limit });
    let setting = Setting::new(rate, 0, 1500);
    LinkSpec {
        name: name.into(),
        number: 0,
        ends: (0, 1),
        kind: "fifo".into(),
        discipline: Disciplines::builtin().build(&queue, &setting).unwrap(),
        capacity: Capacity::constant(rate),
        overhead: 0,
        delay: Schedule::Constant(MS * 5),
        loss: Schedule::Constant(0.0),
        policer: None,
        reorder: None,
        remark: None,
        capture: None,
    }
}

/// A path over pipes to these targets, in order.
fn fabric(links: Vec<LinkSpec>, pipes: Vec<(Target, Option<AccessLink>)>) -> Fabric {
    let stops = (0..pipes.len() as u32).map(|pipe| Stop { pipe, free_at: Time::ZERO }).collect();
    Fabric::new(FabricSpec { links, pipes, stops, wireless: None, border: None }, 1, false)
}

fn measures() -> Measures {
    let spec = MeasuresSpec {
        users: vec![UserMeter::new(0, 0, None)],
        classes: vec!["class".into()],
        segments: None,
        flow_series: false,
        transfers: false,
    };
    Measures::new(spec, 0, 1)
}

/// Handles all events. `host` gets packets that arrive, and events of timers and sources. Events at links
/// are counted in the tally, as by a world.
fn drain(
    fabric: &mut Fabric,
    measures: &mut Measures,
    host: impl FnMut(Key, Came, &mut Fabric, &mut Measures),
) {
    drain_until(Time::MAX, fabric, measures, host);
}

/// Handles all events before `limit` in this way.
fn drain_until(
    limit: Time,
    fabric: &mut Fabric,
    measures: &mut Measures,
    mut host: impl FnMut(Key, Came, &mut Fabric, &mut Measures),
) {
    let mut now = Time::ZERO;
    while fabric.next_time() < limit {
        let &(key, event) = fabric.next();
        assert!(key.time >= now, "an event of {:?} is known only at {now:?}", key.time);
        now = key.time;
        match event {
            Event::Arrival(pipe) => {
                // The entry of a packet that has been overtaken is stale.
                match fabric.arrive(key, pipe) {
                    Some((id, Target::Link(link))) => {
                        measures.tally.note(key.time, fabric.hold.look(id).packet.flow);
                        fabric.enter(key.time, link, id, &mut measures.users);
                    }
                    Some((id, target)) => host(key, Came::Packet(id, target), fabric, measures),
                    None => {}
                }
            }
            Event::LinkFree(link) => {
                if let Some(number) = fabric.wakes(key, link) {
                    measures.tally.note(key.time, number);
                    fabric.poll_link(key.time, link, &mut measures.users);
                }
            }
            Event::Advance(link) => {
                let Measures { users, tally, .. } = measures;
                fabric.catch_up(key, link, users, tally);
            }
            _ => {
                fabric.rested();
                host(key, Came::Event(event), fabric, measures);
            }
        }
    }
}

enum Came {
    Packet(u32, Target),
    Event(Event),
}

fn datagram(fabric: &mut Fabric, number: u64) -> u32 {
    let packet = ManuallyDrop::new(Packet::new(0, 0, 1000));
    fabric.hold.store(Cargo { packet, number, ..Cargo::default() })
}

#[test]
fn an_eager_fabric_carries_queues_and_drops() {
    carries_queues_and_drops(false);
}

#[test]
fn a_lazy_fabric_carries_queues_and_drops() {
    carries_queues_and_drops(true);
}

fn carries_queues_and_drops(lazily: bool) {
    // The access links take a nanosecond for a packet, and 1 ms.
    let access = AccessLink::new(Rate::from_bps(8_000_000_000_000), MS, 0);
    let pipes =
        vec![(Target::Link(0), Some(access)), (Target::Link(1), None), (Target::Host, None)];
    let mut fabric = fabric(vec![link("first", "2p"), link("second", "9p")], pipes);
    if lazily {
        fabric.advance_lazily(|_| false);
    }
    let mut measures = measures();
    for number in 0..4 {
        let id = datagram(&mut fabric, number);
        fabric.launch(id, 1000, 0, Time::ZERO);
    }
    let mut found = Vec::new();
    drain(&mut fabric, &mut measures, |key, came, fabric, _| {
        let Came::Packet(id, Target::Host) = came else { panic!("nobody else is there") };
        let cargo = fabric.hold.lift(id);
        let ms = |nanos| (nanos as f64 / 1e6).round();
        found.push((cargo.number, ms(key.time.as_nanos()), ms(cargo.waited.as_nanos())));
    });
    // One packet is sent and two wait, 1 ms and 2 ms. Both links take 1 ms for a packet, and 5 ms.
    assert_eq!(found, [(0, 13.0, 0.0), (1, 14.0, 1.0), (2, 15.0, 2.0)]);
    let lost = fabric.links()[0].meter.drops.as_flattened().iter().sum::<u64>();
    assert_eq!(lost, 1);
    assert_eq!(fabric.links()[1].sent.0, 3);
    assert_eq!(fabric.hold.count(), 0);
    // Packets that pass an empty queue are measured like the others.
    let measured = |link: usize| {
        let meter = &fabric.links()[link].meter;
        (meter.offered[0], meter.delay.count(), meter.delay.max_ms().map(f64::round))
    };
    assert_eq!((measured(0), measured(1)), ((4, 3, Some(2.0)), (3, 3, Some(0.0))));
}

/// A link: kind of queue, limit, rate in kbit/s, delay in us, share lost.
type Drawn = (&'static str, u32, u64, u64, f64);

/// Results for datagrams, given by interval in us and length. They enter at one of the `links` in a row,
/// over an access link if it is `far`, and cross all that follow. Links are eager up to the first time of
/// `switches` (us), then lazy up to the next one, and so on.
fn results(
    links: &[Drawn],
    far: &[bool],
    datagrams: &[(u64, u32, usize)],
    switches: &[u64],
) -> impl PartialEq + std::fmt::Debug + use<> {
    let setting = |bps| Setting::new(Rate::from_bps(bps), 0, 1500);
    let specs = links.iter().enumerate().map(|(index, &(kind, limit, kbit, delay, loss))| {
        let (setting, name) = (setting(kbit * 1000), format!("link {index}"));
        let queue = json!({ "kind": kind, "limit": format!("{limit}p") });
        LinkSpec {
            number: index as u32,
            kind: kind.into(),
            discipline: Disciplines::builtin().build(&queue, &setting).unwrap(),
            capacity: Capacity::constant(setting.rate),
            delay: Schedule::Constant(Duration::from_micros(delay)),
            loss: Schedule::Constant(loss),
            ..link(&name, "1p")
        }
    });
    let specs: Vec<_> = specs.collect();
    // Pipes to the links and to the host, then those from the hosts.
    let count = links.len() as u32;
    let access = AccessLink::new(Rate::from_bps(100_000_000), MS, 0);
    let mut pipes: Vec<_> = (0..count).map(|link| (Target::Link(link), None)).collect();
    pipes.push((Target::Host, None));
    pipes
        .extend((0..count).zip(far).map(|(link, far)| (Target::Link(link), far.then_some(access))));
    let (mut stops, mut first) = (Vec::new(), Vec::new());
    for entry in 0..count {
        first.push(stops.len() as u32);
        let path = [count + 1 + entry].into_iter().chain(entry + 1..=count);
        stops.extend(path.map(|pipe| Stop { pipe, free_at: Time::ZERO }));
    }
    let spec = FabricSpec { links: specs, pipes, stops, wireless: None, border: None };
    let (mut fabric, mut measures) = (Fabric::new(spec, 1, false), measures());
    let mut now = Time::ZERO;
    for (number, &(interval, len, entry)) in datagrams.iter().enumerate() {
        now += Duration::from_micros(interval);
        let (packet, stop) = (ManuallyDrop::new(Packet::new(0, 7, len)), first[entry]);
        let cargo = Cargo { packet, stop, number: number as u64, ..Cargo::default() };
        let id = fabric.hold.store(cargo);
        fabric.launch(id, len, stop, now);
    }
    let mut arrived = Vec::new();
    let mut host = |key: Key, came, fabric: &mut Fabric, _: &mut Measures| {
        let Came::Packet(id, Target::Host) = came else { panic!("nobody else is there") };
        let cargo = fabric.hold.lift(id);
        arrived.push((cargo.number, key.time, cargo.waited));
    };
    for (index, &us) in switches.iter().enumerate() {
        let now = Time::ZERO + Duration::from_micros(us);
        drain_until(now + Duration::from_nanos(1), &mut fabric, &mut measures, &mut host);
        let Measures { users, tally, .. } = &mut measures;
        fabric.settle(now, users, tally);
        if index % 2 == 0 { fabric.advance_lazily(|_| false) } else { fabric.advance_eagerly() }
    }
    drain(&mut fabric, &mut measures, &mut host);
    assert_eq!(fabric.hold.count(), 0);
    let meters = fabric.links().iter().map(|link| {
        let meter = &link.meter;
        (link.sent, link.wire_lost, meter.offered, meter.drops, meter.delay.max_ms())
    });
    let meters: Vec<_> = meters.collect();
    // Packets that arrive at the same time may be in any order.
    arrived.sort_by_key(|&(number, time, _)| (time, number));
    (arrived, meters, measures.tally.counts(), measures.users[0].dropped)
}

proptest! {
    #[test]
    fn eager_and_lazy_links_have_equal_results(
        links in proptest::collection::vec(
            (
                prop::sample::select(vec!["fifo", "codel", "pie"]),
                1..30_u32,
                500..20_000_u64,
                prop::sample::select(vec![0, 1, 1000, 20_000]),
                prop::sample::select(vec![0.0, 0.0, 0.1]),
            ),
            1..4,
        ),
        far in proptest::collection::vec(prop::bool::weighted(0.8), 3),
        datagrams in proptest::collection::vec((0..3000_u64, 40..1500_u32, 0..3_usize), 1..120),
        switches in proptest::collection::btree_set(0..200_000_u64, 1..6),
    ) {
        let count = links.len();
        let datagrams: Vec<_> =
            datagrams.into_iter().map(|(gap, len, entry)| (gap, len, entry % count)).collect();
        let switches: Vec<_> = switches.into_iter().collect();
        let eager = results(&links, &far, &datagrams, &[]);
        prop_assert_eq!(&eager, &results(&links, &far, &datagrams, &[0]));
        prop_assert_eq!(&eager, &results(&links, &far, &datagrams, &switches));
    }
}

/// A source of given transfers.
struct Planned(VecDeque<Transfer>);

impl Transfers for Planned {
    fn next(&mut self, _: Time, _: &mut Rng) -> Option<Transfer> {
        self.0.pop_front()
    }
}

/// A user who sends `bytes` at 10 ms, over stop 0 and back over stop `backward`.
fn transport(bytes: u64, backward: u32) -> Transport {
    let transfer = Transfer { at: at(10), bytes: Some(bytes), stays_open: false };
    let entry = Entry::Transfers {
        source: Box::new(Planned([transfer].into())),
        tcp: Arc::new(Config::default()),
        backward,
        open: None,
        connections: 0,
    };
    let user = User {
        entry,
        rng: Rng::named(1, "user"),
        start: Time::ZERO,
        stop: Time::MAX,
        forward: 0,
        marks: Marks::default(),
        conditioner: None,
        port: 5201,
    };
    Transport::new(TransportSpec {
        users: vec![user],
        conditioners: vec![],
        first_connection: 0,
        homes: None,
    })
}

fn on_event(
    key: Key,
    event: Event,
    transport: &mut Transport,
    fabric: &mut Fabric,
    measures: &mut Measures,
) {
    match event {
        Event::Transfer(transfer) => transport.start_transfer(key.time, transfer, fabric, measures),
        Event::SenderTimer(flow) => transport.on_sender_timer(flow, key, fabric, measures),
        Event::ReceiverTimer(flow) => transport.on_receiver_timer(flow, key, fabric),
        Event::Closed(flow) => transport.close_receiver(flow),
        other => panic!("nobody asked for {other:?}"),
    }
}

/// 1 Gbit/s, 10 ms.
fn access() -> Option<AccessLink> {
    Some(AccessLink::new(Rate::from_bps(1_000_000_000), MS * 10, 0))
}

#[test]
fn transport_opens_sends_and_ends_over_any_fabric() {
    let mut fabric = fabric(vec![], vec![(Target::Host, access()), (Target::Host, access())]);
    let (mut transport, mut measures) = (transport(100_000, 1), measures());
    transport.begin(0, &mut fabric);
    let mut last = Time::ZERO;
    drain(&mut fabric, &mut measures, |key, came, fabric, measures| match came {
        Came::Packet(id, _) => {
            last = key.time;
            transport.deliver(key.time, id, fabric, measures);
        }
        Came::Event(event) => on_event(key, event, &mut transport, fabric, measures),
    });
    let meter = &measures.users[0];
    assert_eq!((meter.bytes, meter.completed, meter.aborted), (100_000, 1, 0));
    assert_eq!(meter.retransmissions, 0);
    // A handshake of 20 ms, three round trips with ten, twenty and forty segments, and the closing.
    assert!(last > at(10 + 20 + 3 * 20) && last < at(150), "{last:?}");
    assert_eq!(transport.connections().windows().count(), 0);
}

/// Answers the first data segment with an acknowledgment that closes the window, and opens it again
/// 100 ms later.
#[derive(Default)]
struct Closer {
    opens: Option<(Time, Ack)>,
    seen: [u64; 2],
}

impl Middlebox for Closer {
    fn forward(&mut self, now: Time, header: &Header) -> Verdict {
        self.seen[0] += 1;
        let tcp = header.tcp.as_ref().expect("only TCP is sent");
        if tcp.payload_len == 0 || self.opens.is_some() {
            return Verdict::Pass;
        }
        let timestamps = tcp.timestamps.map(|(value, _)| (1, value));
        let flow = header.flow.reversed();
        let ack =
            Ack { flow, seq: 1, ack: tcp.seq, window: 0, timestamps, sack: Default::default() };
        self.opens = Some((now + MS * 100, Ack { window: 1000, ..ack }));
        Verdict::Answer(ack)
    }

    fn backward(&mut self, _: Time, _: &Header) -> Verdict {
        self.seen[1] += 1;
        Verdict::Pass
    }

    fn poll(&mut self, now: Time) -> Option<Ack> {
        let (time, ack) = self.opens?;
        (time == now).then(|| {
            self.opens = Some((Time::MAX, ack));
            ack
        })
    }

    fn wake(&self) -> Option<Time> {
        self.opens.map(|(time, _)| time).filter(|time| *time < Time::MAX)
    }

    fn most_flows(&self) -> usize {
        1
    }

    fn counts(&self) -> Counts {
        Counts { made: self.seen[0], rewritten: self.seen[1], ..Counts::default() }
    }

    fn probe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

#[test]
fn a_box_sees_answers_and_wakes() {
    // Forth: the box, its link, the host. Back: off the link's reverse to the box, and to the host.
    let pipes = vec![
        (Target::BoxForward(0), access()),
        (Target::Host, None),
        (Target::BoxBackward(0), None),
        (Target::Host, access()),
    ];
    let mut fabric = fabric(vec![link("link", "100p")], pipes);
    let (mut transport, mut measures) = (transport(1000, 2), measures());
    let mut boxes = Boxes(vec![PlacedBox::new(0, "closer".into(), Box::<Closer>::default())]);
    transport.begin(0, &mut fabric);
    let mut arrived = Vec::new();
    drain(&mut fabric, &mut measures, |key, came, fabric, measures| {
        let now = key.time;
        match came {
            Came::Packet(id, Target::Host) => {
                let before = measures.users[0].bytes;
                transport.deliver(now, id, fabric, measures);
                arrived.extend((measures.users[0].bytes > before).then_some(now));
            }
            Came::Packet(id, target) => {
                let mut ends = Ends { transport: &transport, fabric, users: &mut measures.users };
                match target {
                    Target::BoxForward(placed) => boxes.forward(now, placed, id, &mut ends),
                    Target::BoxBackward(placed) => boxes.backward(now, placed, id, &mut ends),
                    other => panic!("no pipe leads to {other:?}"),
                }
            }
            Came::Event(Event::BoxTimer(placed)) => {
                let mut ends = Ends { transport: &transport, fabric, users: &mut measures.users };
                boxes.on_timer(placed, key, &mut ends);
            }
            Came::Event(event) => on_event(key, event, &mut transport, fabric, measures),
        }
    });
    assert_eq!(measures.users[0].bytes, 1000);
    // The first data reached the box 40 ms after the start at 10 ms, and was answered; it opens 100 ms later.
    assert!(arrived.len() == 1 && arrived[0] > at(150), "{arrived:?}");
    // A SYN, the data, the data again; a SYN-ACK and an acknowledgment.
    let Counts { made: forward, rewritten: backward, .. } = boxes.0[0].middlebox.counts();
    assert_eq!((forward, backward), (3, 2));
}

#[test]
fn measures_count_by_user_and_class_and_begin_anew() {
    let mut measures = measures();
    measures.arrived(0, MS * 20, MS * 5, 100);
    measures.arrived(0, MS * 30, MS * 15, 200);
    measures.sample(at(100), &mut [], [(0, 3000), (0, 5000)].into_iter());
    let point = measures.series.classes[0][0];
    assert_eq!((point.bytes, point.cwnd()), (300, 4000.0));
    assert_eq!(measures.users[0].delivered, 2);
    measures.restart();
    assert_eq!((measures.users[0].delivered, measures.tally.counts().2), (0, 2));
    let before = measures.tally.counts().0;
    measures.tally.note(at(1), 7);
    assert!(measures.tally.counts().0 != before && measures.tally.counts().1 == 1);
}

#[test]
fn what_is_overtaken_waits_in_its_pipe() {
    let mut fabric = fabric(vec![], vec![(Target::Host, None)]);
    let mut measures = measures();
    for (number, ms) in [(0, 5), (1, 3), (2, 4)] {
        let id = datagram(&mut fabric, number);
        fabric.launch(id, 1000, 0, at(ms));
    }
    let mut found = Vec::new();
    drain(&mut fabric, &mut measures, |_, came, fabric, _| {
        let Came::Packet(id, _) = came else { panic!("nothing rests") };
        found.push(fabric.hold.lift(id).number);
    });
    assert_eq!(found, [1, 2, 0]);
}
