//! The parts of a world, each without one.

use super::boxes::{Boxes, Ends, Guard};
use super::event::Event;
use super::fabric::cargo::Cargo;
use super::fabric::{Fabric, FabricSpec, LinkSpec, Stop, Target, Wire};
use super::measures::{Measures, MeasuresSpec};
use super::transport::{Entry, Transport, TransportSpec, User};
use super::{Course, Key};
use crate::measure::UserMeter;
use crate::traffic::{Marks, Transfer, Transfers};
use forebay_core::{Capacity, Duration, Packet, Rate, Rng, Setting, Time};
use forebay_disciplines::Disciplines;
use forebay_middlebox::{Ack, Counts, Header, Middlebox, Verdict};
use forebay_tcp::Config;
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
    let setting = Setting { rate, overhead: 0, mtu: 1500, queues: 1 };
    LinkSpec {
        name: name.into(),
        number: 0,
        ends: (0, 1),
        kind: "fifo".into(),
        discipline: Disciplines::builtin().build(&queue, &setting).unwrap(),
        capacity: Capacity::constant(rate),
        overhead: 0,
        delay: Course::Constant(MS * 5),
        loss: Course::Constant(0.0),
        policer: None,
        reorder: None,
        remark: None,
        capture: None,
    }
}

/// Lanes to these places, and a path over all of them in turn.
fn fabric(links: Vec<LinkSpec>, lanes: Vec<(Target, Option<Wire>)>) -> Fabric {
    let stops = (0..lanes.len() as u32).map(|lane| Stop { lane, free_at: Time::ZERO }).collect();
    Fabric::new(FabricSpec { links, lanes, stops, wireless: None, border: None }, 1, false)
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

/// Hands events on until `host`, who is given packets that arrive and events that rest, has had all.
fn drain(
    fabric: &mut Fabric,
    measures: &mut Measures,
    mut host: impl FnMut(Key, Came, &mut Fabric, &mut Measures),
) {
    while fabric.next_time() < Time::MAX {
        let &(key, event) = fabric.next();
        match event {
            Event::Arrival(lane) => {
                // The entry of one that was overtaken brings nobody.
                match fabric.arrive(key, lane) {
                    Some((id, Target::Link(link))) => {
                        fabric.enter(key.time, link, id, &mut measures.users);
                    }
                    Some((id, target)) => host(key, Came::Packet(id, target), fabric, measures),
                    None => {}
                }
            }
            Event::LinkFree(link) => {
                if fabric.wakes(key, link).is_some() {
                    fabric.poll_link(key.time, link, &mut measures.users);
                }
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
fn a_fabric_carries_queues_and_drops() {
    let lanes = vec![(Target::Link(0), None), (Target::Link(1), None), (Target::Host, None)];
    let mut fabric = fabric(vec![link("first", "2p"), link("second", "9p")], lanes);
    let mut measures = measures();
    for number in 0..4 {
        let id = datagram(&mut fabric, number);
        fabric.launch(id, 1000, 0, Time::ZERO);
    }
    let mut found = Vec::new();
    drain(&mut fabric, &mut measures, |key, came, fabric, _| {
        let Came::Packet(id, Target::Host) = came else { panic!("nobody else is there") };
        let cargo = fabric.hold.lift(id);
        found.push((cargo.number, key.time, cargo.waited));
    });
    // One is sent and two wait, for 1 ms and 2 ms; both links take 1 ms a packet and 5 ms.
    assert_eq!(found, [(0, at(12), Duration::ZERO), (1, at(13), MS), (2, at(14), MS * 2)]);
    let lost = fabric.links()[0].meter.drops.as_flattened().iter().sum::<u64>();
    assert_eq!(lost, 1);
    assert_eq!(fabric.links()[1].sent.0, 3);
    assert_eq!(fabric.hold.count(), 0);
    // Those that find a queue empty and pass it are measured as the others are.
    let measured = |link: usize| {
        let meter = &fabric.links()[link].meter;
        (meter.offered[0], meter.delay.count(), meter.delay.max_ms())
    };
    assert_eq!((measured(0), measured(1)), ((4, 3, Some(2.0)), (3, 3, Some(0.0))));
}

/// Transfers that are known from the start.
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
fn wire() -> Option<Wire> {
    Some(Wire::new(Rate::from_bps(1_000_000_000), MS * 10, 0))
}

#[test]
fn transport_opens_sends_and_ends_over_any_fabric() {
    let mut fabric = fabric(vec![], vec![(Target::Host, wire()), (Target::Host, wire())]);
    let (mut transport, mut measures) = (transport(100_000, 1), measures());
    transport.begin(&mut fabric);
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
    // A handshake of 20 ms; ten, twenty and forty segments in a round trip each; the ends' farewell.
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
    let lanes = vec![
        (Target::GuardForward(0), wire()),
        (Target::Host, None),
        (Target::GuardBackward(0), None),
        (Target::Host, wire()),
    ];
    let mut fabric = fabric(vec![link("link", "100p")], lanes);
    let (mut transport, mut measures) = (transport(1000, 2), measures());
    let mut boxes = Boxes::new(vec![Guard::new(0, "closer".into(), Box::<Closer>::default())]);
    transport.begin(&mut fabric);
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
                    Target::GuardForward(guard) => boxes.forward(now, guard, id, &mut ends),
                    Target::GuardBackward(guard) => boxes.backward(now, guard, id, &mut ends),
                    other => panic!("no lane leads to {other:?}"),
                }
            }
            Came::Event(Event::GuardTimer(guard)) => {
                let mut ends = Ends { transport: &transport, fabric, users: &mut measures.users };
                boxes.on_timer(guard, key, &mut ends);
            }
            Came::Event(event) => on_event(key, event, &mut transport, fabric, measures),
        }
    });
    assert_eq!(measures.users[0].bytes, 1000);
    // The first data came to the box 40 ms after 10 ms, and was kept; it opens 100 ms later.
    assert!(arrived.len() == 1 && arrived[0] > at(150), "{arrived:?}");
    // A SYN, the data, the data again; a SYN-ACK and an acknowledgment.
    let Counts { made: forward, rewritten: backward, .. } = boxes.guards()[0].controller.counts();
    assert_eq!((forward, backward), (3, 2));
}

#[test]
fn measures_count_by_user_and_class_and_begin_anew() {
    let mut measures = measures();
    measures.arrived(0, MS * 20, MS * 5, 100);
    measures.arrived(0, MS * 30, MS * 15, 200);
    measures.sample(at(100), &mut [], [(0, 3000), (0, 5000)].into_iter());
    let point = measures.series().classes[0][0];
    assert_eq!((point.bytes, point.cwnd()), (300, 4000.0));
    assert_eq!(measures.users[0].delivered, 2);
    measures.restart();
    assert_eq!((measures.users[0].delivered, measures.counts().2), (0, 2));
    let before = measures.counts().0;
    measures.tally.note(at(1), 7);
    assert!(measures.counts().0 != before && measures.counts().1 == 1);
}

#[test]
fn what_is_overtaken_waits_in_its_lane() {
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
