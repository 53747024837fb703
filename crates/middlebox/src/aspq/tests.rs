//! The paper's algorithm and each option, step by step.

use super::*;
use crate::{FiveTuple, SackBlocks};
use forebay_core::Codepoint;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn key(id: u16) -> FiveTuple {
    FiveTuple {
        source_port: 40_000 + id,
        destination_port: 80,
        source: "10.0.0.1".parse().unwrap(),
        destination: "192.0.2.1".parse().unwrap(),
        protocol: TCP,
    }
}

fn packet(id: u16, class: u8, tcp: Tcp) -> Header {
    Header { flow: key(id), class, dscp: 0, len: tcp.payload_len + 40, tcp: Some(tcp) }
}

fn data(seq: u32, len: u32) -> Tcp {
    Tcp { seq, ack: 1, flags: flags::ACK, payload_len: len, window: 700, ..Tcp::default() }
}

fn ack(ack: u32, window: u16) -> Tcp {
    Tcp { seq: 1, ack, flags: flags::ACK, window, ..Tcp::default() }
}

fn udp(class: u8) -> Header {
    Header { flow: FiveTuple { protocol: 17, ..key(999) }, class, dscp: 0, len: 1500, tcp: None }
}

struct Fixture {
    controller: Controller,
}

impl Fixture {
    fn new(params: Params) -> Self {
        Fixture { controller: Controller::new(&params).unwrap() }
    }

    fn forward(&mut self, ms: u64, id: u16, class: u8, tcp: Tcp) -> Verdict {
        self.controller.forward(at(ms), &packet(id, class, tcp))
    }

    fn backward(&mut self, ms: u64, id: u16, tcp: Tcp) -> Verdict {
        let header = packet(id, 0, tcp);
        self.controller.backward(at(ms), &Header { flow: header.flow.reversed(), ..header })
    }

    fn poll(&mut self, ms: u64) -> Option<Ack> {
        self.controller.poll(at(ms))
    }

    /// Flow 1, of class 0, opens a connection with a window scale of 2. Its
    /// round trip takes 4 ms: 3 ms on the receiver's side of the box.
    fn handshake(&mut self) {
        let syn = Tcp { flags: flags::SYN, window_scale: Some(7), ..Tcp::default() };
        assert_eq!(self.forward(0, 1, 0, syn), Verdict::Pass);
        let both = flags::SYN | flags::ACK;
        let syn_ack = Tcp { ack: 1, flags: both, window_scale: Some(2), ..Tcp::default() };
        assert_eq!(self.backward(3, 1, syn_ack), Verdict::Pass);
        assert_eq!(self.forward(4, 1, 0, Tcp { seq: 1, ..ack(1, 700) }), Verdict::Pass);
    }

    /// Flow 1 sends eight segments of 1000 bytes. High-priority datagrams freeze it when all of
    /// them are acknowledged.
    fn freeze(&mut self) {
        self.handshake();
        for index in 0..8 {
            assert_eq!(self.forward(4, 1, 0, data(1 + 1000 * index, 1000)), Verdict::Pass);
        }
        assert_eq!(self.backward(8, 1, ack(1001, 500)), Verdict::Pass);
        assert_eq!(self.controller.forward(at(10), &udp(1)), Verdict::Pass);
        assert_eq!(self.backward(12, 1, ack(8001, 5000)), Verdict::Rewrite { window: 0 });
        assert_eq!(self.controller.counts().frozen, 1);
    }
}

const ZERO: Verdict = Verdict::Rewrite { window: 0 };

#[test]
fn every_ack_of_a_frozen_flow_loses_its_window_and_the_last_one_comes_back() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    // Data under way go on, and their acknowledgments pass without their window.
    assert_eq!(fixture.forward(13, 1, 0, data(8001, 1000)), Verdict::Pass);
    let mut last = Tcp { timestamps: Some((77, 33)), ..ack(9001, 480) };
    last.sack.push(10_001, 11_001);
    assert_eq!(fixture.backward(30, 1, last), ZERO);
    assert_eq!(fixture.poll(1009), None);
    assert_eq!(fixture.controller.wake(), Some(at(1010)));
    // The datagrams stopped a second ago.
    let release = fixture.poll(1010).unwrap();
    let want = Ack {
        flow: key(1).reversed(),
        seq: 1,
        ack: 9001,
        window: 480,
        timestamps: Some((77, 33)),
        sack: last.sack,
    };
    assert_eq!(release, want);
    assert_eq!(fixture.poll(1010), None);
    assert_eq!((fixture.controller.counts().frozen, fixture.controller.wake()), (0, None));
    assert_eq!(fixture.backward(1100, 1, ack(9001, 480)), Verdict::Pass);
}

#[test]
fn activity_goes_on_as_long_as_packets_come() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    for ms in (500..5000).step_by(500) {
        fixture.controller.forward(at(ms), &udp(1));
        assert_eq!(fixture.poll(ms), None);
    }
    assert_eq!(fixture.poll(5499), None);
    assert!(fixture.poll(5500).is_some());
}

#[test]
fn probes_of_all_sorts_are_answered_without_a_window() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    let stamped = Tcp { timestamps: Some((500, 41)), ..ack(8001, 4000) };
    assert_eq!(fixture.backward(20, 1, stamped), ZERO);
    // Linux: empty, before what is next. BSD: one octet there. RFC 9293: one octet of what is next.
    for probe in [data(8000, 0), data(8000, 1), data(8001, 1)] {
        let probe = Tcp { timestamps: Some((900, 500)), ..probe };
        let Verdict::Answer(answer) = fixture.forward(300, 1, 0, probe) else {
            panic!("{probe:?} is a probe")
        };
        assert_eq!((answer.seq, answer.ack, answer.window), (1, 8001, 0));
        // The receiver's clock as it was last seen, and the probe's echoed.
        assert_eq!(answer.timestamps, Some((500, 900)));
    }
    // An acknowledgment of reverse data and a full segment are no probes.
    assert_eq!(fixture.forward(301, 1, 0, data(8001, 0)), Verdict::Pass);
    assert_eq!(fixture.forward(302, 1, 0, data(8001, 1000)), Verdict::Pass);
    // With data under way, an octet of what is acknowledged next may be a retransmission.
    assert_eq!(fixture.forward(303, 1, 0, data(8001, 1)), Verdict::Pass);
    assert_eq!(fixture.controller.counts().probes_answered, 3);
}

#[test]
fn syn_fin_and_rst_are_never_touched() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    let fin = Tcp { flags: flags::FIN | flags::ACK, ..ack(8001, 4000) };
    assert_eq!(fixture.backward(20, 1, fin), Verdict::Pass);
    assert_eq!(fixture.forward(21, 1, 0, Tcp { flags: fin.flags, ..data(8001, 0) }), Verdict::Pass);
    // The rest of the data is still frozen until the FIN is acknowledged; then the flow is over.
    assert_eq!(fixture.backward(22, 1, Tcp { seq: 2, ..ack(8001, 4000) }), ZERO);
    assert_eq!(fixture.backward(23, 1, Tcp { seq: 2, ..ack(8002, 4000) }), Verdict::Pass);
    assert_eq!((fixture.controller.counts().frozen, fixture.controller.counts().flows), (0, 1));
    // A connection that begins while others are held back is frozen by its first data's ACK.
    fixture.handshake();
    assert_eq!(fixture.forward(24, 1, 0, data(1, 1000)), Verdict::Pass);
    assert_eq!(fixture.backward(25, 1, ack(1001, 4000)), ZERO);
    let rst = |seq| Tcp { flags: flags::RST, seq, ..Tcp::default() };
    // A forged one does not end it.
    assert_eq!(fixture.backward(26, 1, rst(50_000)), Verdict::Pass);
    assert_eq!(fixture.controller.counts().frozen, 1);
    assert_eq!(fixture.backward(27, 1, rst(1)), Verdict::Pass);
    assert_eq!(fixture.controller.counts().frozen, 0);
}

#[test]
fn a_high_transfer_ends_with_the_acknowledgment_of_its_fin() {
    let mut fixture = Fixture::new(Params::default());
    fixture.handshake();
    fixture.forward(1, 1, 0, data(1, 1000));
    let syn = Tcp { flags: flags::SYN, ..Tcp::default() };
    assert_eq!(fixture.forward(2, 2, 1, syn), Verdict::Pass);
    assert_eq!(fixture.backward(3, 1, ack(1001, 400)), ZERO);
    fixture.forward(4, 2, 1, data(1, 100));
    fixture.forward(5, 2, 1, Tcp { flags: flags::FIN | flags::ACK, ..data(101, 0) });
    fixture.backward(6, 2, ack(101, 400));
    assert_eq!(fixture.poll(6), None);
    fixture.backward(7, 2, ack(102, 400));
    assert_eq!(fixture.poll(7).unwrap().ack, 1001);
    assert_eq!(fixture.controller.wake(), None);
}

#[test]
fn a_receivers_own_zero_window_stays() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    assert_eq!(fixture.backward(20, 1, Tcp { seq: 2, ..ack(8001, 0) }), Verdict::Pass);
    assert_eq!(fixture.poll(1010), None);
    assert_eq!(fixture.controller.counts().frozen, 0);
}

#[test]
fn reverse_data_and_stale_acks_tell_of_no_window_either() {
    let mut fixture = Fixture::new(Params::default());
    fixture.freeze();
    assert_eq!(fixture.backward(20, 1, Tcp { payload_len: 300, ..ack(8001, 450) }), ZERO);
    assert_eq!(fixture.backward(21, 1, ack(7001, 9999)), ZERO);
    // The next number of the receiver's data, and the window of its last word.
    let release = fixture.poll(1010).unwrap();
    assert_eq!((release.seq, release.ack, release.window), (301, 8001, 450));
}

#[test]
fn levels_are_released_from_the_top() {
    let mut fixture = Fixture::new(Params::default());
    for (id, class) in [(1, 0), (2, 1), (3, 0)] {
        fixture.forward(0, id, class, data(1, 1000));
    }
    fixture.controller.forward(at(1), &udp(2));
    for id in [1, 2, 3] {
        assert_eq!(fixture.backward(2, id, ack(1001, 400)), ZERO);
    }
    // Level 1 resumes when level 2 is silent, and keeps level 0 back until it is silent too.
    assert_eq!(fixture.poll(1001).unwrap().flow, key(2).reversed());
    assert_eq!(fixture.poll(1001), None);
    assert_eq!(fixture.controller.wake(), Some(at(2001)));
    fixture.forward(1500, 2, 1, data(1001, 1000));
    assert_eq!(fixture.poll(2001), None);
    let mut released = [fixture.poll(2500).unwrap().flow, fixture.poll(2500).unwrap().flow];
    released.sort();
    assert_eq!(released, [key(1).reversed(), key(3).reversed()]);
}

#[test]
fn a_trickle_lets_one_segment_go_after_the_other() {
    let trickle = Some(Duration::from_millis(150));
    let mut fixture = Fixture::new(Params { trickle, ..Params::default() });
    fixture.freeze();
    // 1000 bytes in units of four.
    let tell = fixture.poll(162).unwrap();
    assert_eq!((tell.ack, tell.window), (8001, 250));
    assert_eq!(fixture.forward(170, 1, 0, data(8001, 1000)), Verdict::Pass);
    // Not before it has arrived.
    assert_eq!(fixture.poll(312), None);
    assert_eq!(fixture.backward(400, 1, ack(9001, 5000)), ZERO);
    assert_eq!(fixture.poll(461), None);
    assert_eq!(fixture.poll(462).unwrap().ack, 9001);
    // Acknowledged in part, the rest of the segment is still allowed.
    fixture.forward(470, 1, 0, data(9001, 1000));
    assert_eq!(fixture.backward(480, 1, ack(9401, 5000)), Verdict::Rewrite { window: 150 });
}

#[test]
fn a_staged_release_opens_an_eighth_at_a_time() {
    let staged_release = Some(Duration::from_millis(80));
    let mut fixture = Fixture::new(Params { staged_release, ..Params::default() });
    fixture.freeze();
    // 7000 bytes were in flight: 875 a step, in units of four.
    let windows: Vec<_> =
        (0..9).map(|step| fixture.poll(1010 + 10 * step).unwrap().window).collect();
    assert_eq!(windows, [218, 437, 656, 875, 1093, 1312, 1531, 1750, 5000]);
    assert_eq!(fixture.poll(2000), None);
}

#[test]
fn a_staged_release_limits_the_acks_that_pass_too() {
    let staged_release = Some(Duration::from_millis(80));
    let mut fixture = Fixture::new(Params { staged_release, ..Params::default() });
    fixture.freeze();
    fixture.poll(1010).unwrap();
    fixture.forward(1012, 1, 0, data(8001, 872));
    assert_eq!(fixture.backward(1015, 1, ack(8873, 5000)), ZERO);
    // The second step: 8001 + 1750 - 8873.
    assert_eq!(fixture.poll(1020).unwrap().window, 219);
}

#[test]
fn a_release_is_repeated_until_data_come() {
    let repeat_release = Some(Duration::from_millis(50));
    let mut fixture = Fixture::new(Params { repeat_release, ..Params::default() });
    fixture.freeze();
    let first = fixture.poll(1010);
    assert_eq!(fixture.poll(1059), None);
    assert_eq!(fixture.poll(1060), first);
    fixture.forward(1070, 1, 0, data(8001, 1000));
    assert_eq!((fixture.poll(1110), fixture.controller.wake()), (None, None));
    // At most ten times.
    let mut silent = Fixture::new(Params { repeat_release, ..Params::default() });
    silent.freeze();
    let sent = (1010..3000).filter(|ms| silent.poll(*ms).is_some()).count();
    assert_eq!((sent, silent.controller.wake()), (11, None));
}

#[test]
fn a_freeze_has_a_limit_until_the_high_traffic_pauses() {
    let freeze_limit = Some(Duration::from_millis(300));
    let mut fixture = Fixture::new(Params { freeze_limit, ..Params::default() });
    fixture.freeze();
    assert_eq!(fixture.poll(311), None);
    assert_eq!(fixture.poll(312).unwrap().window, 5000);
    fixture.controller.forward(at(320), &udp(1));
    assert_eq!(fixture.backward(330, 1, ack(9001, 500)), Verdict::Pass);
    // The next burst freezes it again.
    assert_eq!(fixture.poll(1320), None);
    fixture.controller.forward(at(1400), &udp(1));
    assert_eq!(fixture.backward(1401, 1, ack(9002, 500)), ZERO);
}

/// A controller of a link of 10 Mbit/s, which carries 125 000 B in an interval of 100 ms. At 10 ms
/// datagrams of `share` of the link begin, at 12 ms flow 1 is frozen. Returns at 300 ms with all
/// that was sent to the flow.
fn beside(share: u64) -> (Fixture, Vec<Ack>) {
    let rate = Some(forebay_core::Rate::from_bps(10_000_000));
    let freeze = Freeze::WhenFull;
    let mut fixture = Fixture::new(Params { freeze, rate, ..Params::default() });
    fixture.freeze();
    let mut made = Vec::new();
    for ms in 13..=300 {
        // 1250 B is a millisecond of the link.
        for _ in 0..u64::from(ms % 20 == 0) * 20 * share / 100 {
            fixture.controller.forward(at(ms), &Header { len: 1250, ..udp(1) });
        }
        made.extend(fixture.poll(ms));
    }
    (fixture, made)
}

#[test]
fn a_freeze_when_full_offers_what_the_receiver_has() {
    let (mut fixture, made) = beside(60);
    assert_eq!(made.iter().map(|ack| ack.window).collect::<Vec<_>>(), [5000]);
    assert_eq!(fixture.backward(310, 1, ack(8001, 5000)), Verdict::Pass);
}

#[test]
fn a_link_that_is_full_freezes_as_in_the_paper() {
    // With less than a twentieth left, it counts as full.
    let (mut fixture, made) = beside(100);
    assert_eq!(made, []);
    assert_eq!(fixture.backward(310, 1, ack(8001, 5000)), ZERO);
    let (mut fixture, _) = beside(60);
    // It fills up: the window is 0 again, and its probes are answered.
    for ms in (320..=520).step_by(20) {
        for _ in 0..20 {
            fixture.controller.forward(at(ms), &Header { len: 1250, ..udp(1) });
        }
        fixture.poll(ms);
    }
    assert_eq!(fixture.backward(530, 1, ack(8001, 5000)), ZERO);
    assert!(matches!(fixture.forward(531, 1, 0, data(8000, 0)), Verdict::Answer(_)));
    // They stop at 520 ms. At 600 ms the flow may use the link, before they count as over.
    let next = (532..800).find(|ms| fixture.poll(*ms).is_some());
    assert_eq!(next, Some(600));
    assert_eq!(fixture.controller.counts().frozen, 1);
    // Then it is released: the receiver's whole window.
    assert_eq!((1000..1600).find_map(|ms| fixture.poll(ms)).unwrap().window, 5000);
}

#[test]
fn without_a_handshake_a_partial_freeze_offers_what_the_receiver_has() {
    let rate = Some(forebay_core::Rate::from_bps(10_000_000));
    let params = Params { freeze: Freeze::WhenFull, rate, ..Params::default() };
    let mut fixture = Fixture::new(params);
    fixture.forward(0, 1, 0, data(1, 1000));
    fixture.controller.forward(at(1), &udp(1));
    assert_eq!(fixture.backward(2, 1, ack(1001, 400)), ZERO);
    assert_eq!((3..300).find_map(|ms| fixture.poll(ms)).unwrap().window, 400);
}

#[test]
fn freezes_are_checked() {
    let refuse = |text: &str| match serde_json::from_str::<Params>(text) {
        Ok(params) => params.validate().unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refuse(r#"{ "freeze": "when-full" }"#).starts_with("rate: is missing;"));
    assert_eq!(
        refuse(r#"{ "freeze": "when-full", "rate": "0bit" }"#),
        "rate: must be greater than 0"
    );
    assert!(refuse(r#"{ "freeze": "half" }"#).contains("`when-full`"));
    assert_eq!(refuse(r#"{ "freeze_limit": "0s" }"#), "freeze_limit: must be greater than 0");
}

#[test]
fn without_a_handshake_there_is_no_reckoning_in_bytes() {
    let span = Some(Duration::from_millis(80));
    let params = Params { trickle: span, staged_release: span, ..Params::default() };
    let mut fixture = Fixture::new(params);
    fixture.forward(0, 1, 0, data(1, 1000));
    fixture.controller.forward(at(1), &udp(1));
    assert_eq!(fixture.backward(2, 1, ack(1001, 400)), ZERO);
    assert_eq!((3..1000).find_map(|ms| fixture.poll(ms)), None);
    assert_eq!(fixture.poll(1001).unwrap().window, 400);
}

#[test]
fn a_flow_forgotten_while_frozen_is_released() {
    let mut fixture = Fixture::new(Params { max_flows: 2, ..Params::default() });
    fixture.freeze();
    fixture.forward(20, 3, 0, data(1, 10));
    assert_eq!(fixture.controller.counts().flows, 2);
    let release = fixture.poll(20).unwrap();
    assert_eq!((release.flow, release.window), (key(1).reversed(), 5000));
    assert_eq!(fixture.controller.counts().evicted, 1);
}

#[test]
fn a_flood_of_a_million_flows_keeps_the_table_bounded() {
    let mut fixture = Fixture::new(Params { max_flows: 1000, ..Params::default() });
    fixture.freeze();
    let mut newest = None;
    for index in 0..1_000_000_u32 {
        let mut flow = key(1);
        flow.source = std::net::Ipv4Addr::from_bits(0xac10_0000 | index).into();
        let syn = Tcp { flags: flags::SYN, seq: index, ..Tcp::default() };
        let header = Header { flow, class: (index % 3) as u8, dscp: 0, len: 40, tcp: Some(syn) };
        assert_eq!(fixture.controller.forward(at(20), &header), Verdict::Pass);
        while let Some(ack) = fixture.controller.poll(at(20)) {
            newest = Some(ack.flow);
        }
        assert!(
            fixture.controller.counts().flows <= 1000 && fixture.controller.timers.len() <= 1000
        );
    }
    assert_eq!(newest, Some(key(1).reversed()));
    // The oldest went first: the last thousand are there.
    let oldest = fixture.controller.table.surplus().unwrap();
    assert_eq!(fixture.controller.table.get(oldest).sent, Some(999_000 + 1));
    // A second later none of them counts.
    while fixture.controller.poll(at(1020)).is_some() {}
    assert_eq!(fixture.controller.counts().active, 0);
}

#[test]
fn priorities_by_codepoint_and_port() {
    let params = |text: &str| serde_json::from_str::<Params>(text).unwrap();
    let dscp = params(r#"{ "priority": { "dscp": [["AF41", "CS5"], ["EF"]] } }"#);
    let level = |dscp_value| {
        let header = Header { dscp: dscp_value, ..packet(1, 9, data(1, 1)) };
        dscp.priority.level(&header)
    };
    let ef = "EF".parse::<Codepoint>().unwrap().value();
    assert_eq!([level(0), level(40), level(34), level(ef)], [0, 1, 1, 2]);
    let ports = params(r#"{ "priority": { "ports": [[5001], [80]] } }"#);
    assert_eq!(ports.priority.level(&packet(1, 9, data(1, 1))), 2);
    assert_eq!(ports.priority.level(&Header { flow: key(1).reversed(), ..udp(0) }), 2);
    let refuse = |text: &str| params(text).validate().unwrap_err().to_string();
    assert_eq!(
        refuse(r#"{ "priority": { "dscp": [["EF"], ["CS5", 46]] } }"#),
        "priority.dscp[1]: 46 is already in a list"
    );
    assert!(refuse(r#"{ "priority": { "ports": [] } }"#).starts_with("priority.ports: must have"));
    assert_eq!(refuse(r#"{ "trickle": "0s" }"#), "trickle: must be greater than 0");
    assert!(refuse(r#"{ "max_flows": 0 }"#).contains("must be 1 to 10000000, got 0"));
}

#[test]
fn a_fifth_sack_block_has_no_place() {
    let mut blocks = SackBlocks::default();
    (0..5).for_each(|index| blocks.push(index, index + 1));
    assert_eq!(blocks.as_slice().len(), 4);
}
