//! The network as a whole: stations, packets and time, without a world around them.

use super::meter::StationMeter;
use super::network::LossReason;
use super::place::Point;
use super::*;
use forebay_core::{Duration, Packet, Setting, Time};
use forebay_disciplines::Disciplines;
use serde_json::json;
use std::collections::BTreeMap;

/// A network and its pending wake-ups.
struct Lab {
    network: Network,
    now: Time,
    wakes: BTreeMap<(Time, u8, u64), Wake>,
    count: u64,
    fx: Effects,
    arrived: Vec<(u32, Time)>,
    lost: Vec<(u32, LossReason)>,
}

impl Lab {
    fn new(places: &[(f64, f64)], crossings: &[(u16, u16)]) -> Self {
        let track = |&(x, y): &(f64, f64)| Track::fixed(Point { x, y });
        Lab::moving(places.iter().map(track).collect(), crossings, 7)
    }

    fn moving(tracks: Vec<Track>, crossings: &[(u16, u16)], attempts: u8) -> Self {
        let table = WirelessTable { attempts, ..WirelessTable::default() };
        let setting: Setting = table.setting();
        let queue =
            |_: &Track| Disciplines::builtin().build(&json!({ "kind": "fifo" }), &setting).unwrap();
        let queues = tracks.iter().map(queue).collect();
        let site = |(index, track)| Site { name: format!("station{index}"), track };
        let spec = NetworkSpec {
            sites: tracks.into_iter().enumerate().map(site).collect(),
            queues,
            radio: table.radio,
            airtimes: table.airtimes(),
            attempts: table.attempts,
            crossings: crossings.to_vec(),
        };
        Lab {
            network: Network::new(spec, 1),
            now: Time::ZERO,
            wakes: BTreeMap::new(),
            count: 0,
            fx: Effects::default(),
            arrived: Vec::new(),
            lost: Vec::new(),
        }
    }

    fn send(&mut self, crossing: u32, id: u32) {
        let packet = Packet::new(id, 0, 500);
        self.network.enter(self.now, crossing, packet, &mut self.fx);
        self.settle();
    }

    fn settle(&mut self) {
        for (time, wake) in self.fx.wakes.drain(..) {
            let rank = u8::from(!matches!(wake, Wake::FrameEnd(_)));
            self.count += 1;
            self.wakes.insert((time, rank, self.count), wake);
        }
        let now = self.now;
        self.arrived.extend(self.fx.arrived.drain(..).map(|packet| (packet.retire(), now)));
        let lost = self.fx.lost.drain(..).map(|(packet, reason)| (packet.retire(), reason));
        self.lost.extend(lost);
    }

    fn run(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while let Some((&(time, ..), _)) = self.wakes.first_key_value()
            && time <= until
        {
            let ((time, ..), wake) = self.wakes.pop_first().unwrap();
            self.now = time;
            self.network.wake(time, wake, &mut self.fx);
            self.settle();
        }
        self.now = until;
    }

    fn meter(&self, station: usize) -> &StationMeter {
        self.network.meters().nth(station).unwrap()
    }
}

#[test]
fn a_packet_finds_its_way_over_four_hops() {
    let places: Vec<_> = (0..5).map(|n| (200.0 * f64::from(n), 0.0)).collect();
    let mut lab = Lab::new(&places, &[(0, 4)]);
    lab.send(0, 7);
    lab.run(3000);
    assert_eq!((lab.arrived.len(), lab.lost.len()), (1, 0));
    let before = lab.now;
    lab.send(0, 8);
    lab.run(1000);
    // With a route: four times DIFS or more, 528 B at 2 Mbit/s, and an acknowledgment between.
    let frame = 192e-6 + 528.0 * 8.0 / 2e6;
    let least = 4.0 * frame + 3.0 * (10e-6 + 304e-6 + 50e-6);
    let most = least + 4.0 * 32.0 * 20e-6;
    let took = (lab.arrived[1].1 - before).as_secs_f64();
    assert!((least..most).contains(&took), "{took}: {least} to {most}");
    assert_eq!(lab.meter(1).hops.get(&2), Some(&2));
}

#[test]
fn beyond_250_m_nothing_is_received() {
    let mut near = Lab::new(&[(0.0, 0.0), (250.0, 0.0)], &[(0, 1)]);
    let mut far = Lab::new(&[(0.0, 0.0), (250.1, 0.0)], &[(0, 1)]);
    for lab in [&mut near, &mut far] {
        lab.send(0, 1);
        lab.run(60_000);
    }
    assert_eq!(near.arrived.len(), 1);
    assert_eq!(far.lost, [(1, LossReason::Route)]);
}

/// A (0 m) sends to B (240 m), and C to D, 240 m beyond it. By the formula a frame of A is received
/// beside one of C if B is 10^(1/4) x 240 m = 427 m or more from C; A senses C up to 550 m.
#[test]
fn hidden_terminals_collide_and_others_do_not() {
    let retries = |c: f64| {
        let places = [(0.0, 0.0), (240.0, 0.0), (c, 0.0), (c + 240.0, 0.0)];
        let places = places.iter().map(|&(x, y)| Track::fixed(Point { x, y }));
        let mut lab = Lab::moving(places.collect(), &[(0, 1), (2, 3)], 255);
        for way in 0..2 {
            // Routes first: floods would collide too.
            lab.send(way, way);
            lab.run(200);
        }
        for id in 2..600 {
            lab.send(1 - id % 2, id);
            lab.run(2);
        }
        lab.run(5000);
        assert_eq!(lab.arrived.len() + lab.lost.len(), 600);
        (lab.meter(0).retries, lab.meter(2).retries)
    };
    // Sensed: two counts end in the same slot now and then.
    let (sensed, other) = retries(540.0);
    assert!(sensed < 20 && other < 20, "{sensed} and {other}");
    // Hidden, and 400 m from B: C leaves gaps of 1.7 ms, too short for A's frames of 2.3 ms, so that
    // A tries every 10 ms or so for 1.2 s. C suffers nothing itself.
    let (hidden, other) = retries(640.0);
    assert!(hidden > 60 && other < 10, "{hidden} and {other}");
    // Hidden, but 440 m from B: too weak to matter.
    let (captured, _) = retries(680.0);
    assert!(captured < 10, "{captured}");
}

#[test]
fn a_route_is_found_anew_when_a_relay_walks_away() {
    let still = |x, y| Track::fixed(Point { x, y });
    let walks = Track::new(&vec![
        (Duration::from_secs(5), 200.0, 0.0),
        (Duration::from_secs(6), 200.0, 5000.0),
    ]);
    // 0 to 2 over 1, and over 3 as well.
    let tracks = vec![still(0.0, 0.0), walks.unwrap(), still(400.0, 0.0), still(200.0, -100.0)];
    let mut lab = Lab::moving(tracks, &[(0, 2)], 7);
    for id in 0..100 {
        lab.send(0, id);
        lab.run(100);
    }
    lab.run(3000);
    let (over, around) = (lab.meter(1).received, lab.meter(3).received);
    assert_eq!(lab.arrived.len(), 100, "the source keeps the packet whose link broke");
    assert!(over >= 40 || around >= 90, "{over} and {around}");
    assert!(around >= 40);
}

#[test]
fn everyone_gets_through_in_the_end_and_nothing_is_counted_twice() {
    // Ten stations in a cell, each with 20 packets for the middle, all at once.
    let mut places = vec![(0.0, 0.0)];
    places.extend((0..10).map(|n| {
        let angle = f64::from(n) * 0.628;
        (100.0 * libm::cos(angle), 100.0 * libm::sin(angle))
    }));
    let crossings: Vec<_> = (1..=10).map(|from| (from, 0)).collect();
    let mut lab = Lab::new(&places, &crossings);
    for id in 0..200 {
        lab.send(id % 10, id);
    }
    lab.run(20_000);
    let mut ids: Vec<_> = lab.arrived.iter().map(|(id, _)| *id).collect();
    ids.extend(lab.lost.iter().map(|(id, _)| *id));
    ids.sort_unstable();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
    assert!(lab.arrived.len() >= 198, "{:?}", lab.lost);
}

#[test]
fn an_event_stays_small() {
    // Agendas move them around all the time.
    assert_eq!(size_of::<crate::engine::Event>(), 8);
}
