//! Whole connections over a network that loses, delays, reorders, duplicates and marks.

use forebay_core::{Duration, Ecn, Rng, Time};
use forebay_tcp::{
    AccEcnOption, Config, Flags, Receiver, SackBlock, Segment, Sender, State, congestion,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Probabilities for each packet.
#[derive(Debug, Clone)]
struct Network {
    loss: f64,
    reorder: f64,
    duplicate: f64,
    mark: f64,
    stop_reading: f64,
    seed: u64,
}

enum Arrival {
    Data(Segment, Ecn),
    Ack(Segment, Ecn),
    Read,
}

/// Segments under way, in order of arrival.
struct Wire {
    rng: Rng,
    network: Network,
    queue: BTreeMap<(Time, u64), Arrival>,
    count: u64,
}

impl Wire {
    fn push(&mut self, at: Time, arrival: Arrival) {
        self.count += 1;
        self.queue.insert((at, self.count), arrival);
    }

    fn carry(&mut self, now: Time, segment: Segment, make: impl Fn(Segment, Ecn) -> Arrival) {
        for _ in 0..1 + u32::from(self.rng.chance(self.network.duplicate)) {
            if self.rng.chance(self.network.loss) {
                continue;
            }
            let late = if self.rng.chance(self.network.reorder) { 30 } else { 0 };
            let marked = segment.is_ect() && self.rng.chance(self.network.mark);
            let ecn = if marked { Ecn::Ce } else { segment.ecn() };
            self.push(now + Duration::from_millis(20 + late), make(segment, ecn));
        }
    }
}

/// Carries `bytes` through, checking invariants at every step.
fn transfer(config: &Config, network: &Network, bytes: u64) -> (Sender, Receiver) {
    let mut now = Time::ZERO;
    let (mut sender, mut receiver) = (Sender::new(config, now), Receiver::new(config));
    let rng = Rng::named(network.seed, "wire");
    let mut wire = Wire { rng, network: network.clone(), queue: BTreeMap::new(), count: 0 };
    sender.write(bytes / 2);
    let (mut written, mut edge) = (bytes / 2, 0);
    for _ in 0..2_000_000 {
        if written < bytes && sender.bytes_acked() >= written / 2 {
            sender.write(bytes - written);
            sender.close();
            written = bytes;
        }
        while let Some(segment) = sender.poll(now) {
            assert!(u64::from(segment.len) <= config.mss());
            // An acknowledgment may follow the FIN (RFC 9768, section 3.2.2.5.1).
            let end = bytes + 1 + u64::from(segment.len == 0);
            assert!(segment.seq + u64::from(segment.len) <= end);
            if segment.len > 1 && edge > 0 {
                assert!(segment.end() <= edge + 1, "{segment:?} beyond {edge}");
            }
            wire.carry(now, segment, Arrival::Data);
        }
        if sender.state() == State::Done {
            return (sender, receiver);
        }
        assert!(sender.deadline().is_some(), "stuck: {sender:?}");
        let arrival = wire.queue.first_key_value().map(|((at, _), _)| *at);
        let due = [arrival, sender.deadline(), receiver.deadline()];
        now = due.into_iter().flatten().min().unwrap();
        let ack = if arrival == Some(now) {
            match wire.queue.pop_first().unwrap().1 {
                Arrival::Data(segment, ecn) => {
                    let ack = receiver.on_segment(now, &segment, ecn);
                    if wire.rng.chance(network.stop_reading) {
                        assert!(receiver.set_reading(now, false).is_none());
                        wire.push(now + Duration::from_millis(500), Arrival::Read);
                    }
                    ack
                }
                Arrival::Ack(segment, ecn) => {
                    edge = edge.max(segment.ack + u64::from(segment.window));
                    sender.on_segment(now, &segment, ecn);
                    None
                }
                Arrival::Read => receiver.set_reading(now, true),
            }
        } else {
            sender.on_deadline(now);
            receiver.on_deadline(now)
        };
        if let Some(ack) = ack {
            wire.carry(now, ack, Arrival::Ack);
        }
    }
    panic!("not done after two million events: {sender:?} {receiver:?}");
}

fn read(given: &Value) -> Config {
    let config = Config::read(given).unwrap_or_else(|error| panic!("{given}: {error}"));
    config.validate().unwrap_or_else(|error| panic!("{given}: {error}"));
    config
}

/// Parameters that every stack has.
fn common() -> impl Strategy<Value = Value> {
    let sizes = (
        prop_oneof![Just("1500B"), Just("540B"), Just("9000B")],
        prop_oneof![Just("10KB"), Just("65535B"), Just("6MB")],
    );
    (sizes, 1..3_u8, any::<bool>()).prop_map(|((mtu, window), delayed_ack_count, handshake)| {
        json!({
            "mtu": mtu,
            "receive_window": window,
            "delayed_ack_count": delayed_ack_count,
            "handshake": handshake,
        })
    })
}

/// `table` with the fields of `more`.
fn with(mut table: Value, more: Value) -> Value {
    let Value::Object(more) = more else { unreachable!("a table") };
    table.as_object_mut().expect("a table").extend(more);
    table
}

fn controls() -> impl Strategy<Value = String> {
    let known = congestion::builtin();
    let names: Vec<_> = known.iter().map(|entry| entry.name.to_string()).collect();
    proptest::sample::select(names)
}

fn recoveries() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("reno"), Just("new-reno"), Just("sack")]
}

fn windows() -> impl Strategy<Value = Value> {
    proptest::option::of(1..20_u32)
        .prop_map(|most| most.map_or(json!({}), |most| json!({ "max_window": most })))
}

/// The standards' stack.
fn configs() -> impl Strategy<Value = Config> {
    let on = proptest::collection::vec(any::<bool>(), 10);
    (common(), controls(), recoveries(), windows(), on).prop_map(
        |(common, congestion, recovery, windows, on)| {
            let prague = congestion == "prague";
            let given = json!({
                "timestamps": on[0] || congestion == "ledbat",
                "ecn": on[1] || on[9] || congestion == "dctcp" || prague,
                "accurate_ecn": on[9] || prague,
                "congestion": congestion,
                "recovery": recovery,
                "hystart": on[4],
                "pacing": on[5],
                "slow_start_after_idle": on[6],
                "quick_acks": if on[8] { 16 } else { 0 },
                "stack": {
                    "limited_transmit": on[2],
                    "reduction": if on[3] { "proportional" } else { "at-once" },
                    "timeout_recovery": if on[7] { "f-rto" } else { "resend" },
                },
            });
            read(&with(with(common, windows), given))
        },
    )
}

/// Historical senders.
fn historical() -> impl Strategy<Value = Config> {
    let ns2 = (common(), recoveries(), windows(), any::<[bool; 4]>()).prop_map(
        |(common, recovery, windows, on)| {
            let given = json!({
                "preset": "ns-2",
                "recovery": recovery,
                "timestamps": on[0],
                "ecn": on[1],
                "slow_start_after_idle": on[2],
                "stack": { "limited_transmit": on[3] },
            });
            read(&with(with(common, windows), given))
        },
    );
    let ns318 = (common(), any::<bool>()).prop_map(|(common, limited)| {
        let given = json!({ "preset": "ns-3.18", "stack": { "limited_transmit": limited } });
        read(&with(common, given))
    });
    prop_oneof![ns2, ns318]
}

/// Linux, since 6.1 with controls that it does not have, too.
fn linux() -> impl Strategy<Value = Config> {
    let new = (controls(), prop_oneof![Just("linux-6.1"), Just("linux-6.12")]);
    let old = (
        prop_oneof![Just("cubic".to_owned()), Just("new-reno".to_owned())],
        prop_oneof![Just("linux-2.6.18"), Just("linux-2.6.26")],
    );
    let on = any::<[bool; 5]>();
    let segments = prop_oneof![Just(1), 2..6_u32, Just(65_535)];
    let sndbuf = prop_oneof![Just(None), (2304..100_000_u64).prop_map(Some)];
    let host = (segments, 4608..100_000_u64, sndbuf);
    (common(), prop_oneof![2 => new, 1 => old], windows(), on, host).prop_map(
        |(common, (congestion, preset), windows, on, (segments, wmem, sndbuf))| {
            let new = preset.starts_with("linux-6");
            let prague = congestion == "prague";
            let counts = prague || (new && on[4]);
            let mut stack = json!({});
            if new {
                stack = json!({
                    "gso_max_segs": segments,
                    "tcp_wmem_max": format!("{wmem}B"),
                });
                if let Some(bytes) = sndbuf {
                    stack["so_sndbuf"] = format!("{bytes}B").into();
                }
            }
            let given = json!({
                "stack": stack,
                "preset": preset,
                "timestamps": on[0] || congestion == "ledbat",
                "ecn": on[1] || counts || congestion == "dctcp",
                "accurate_ecn": counts,
                "hystart": new && on[2],
                "pacing": new && on[3],
                "congestion": congestion,
            });
            read(&with(with(common, windows), given))
        },
    )
}

fn networks() -> impl Strategy<Value = Network> {
    let rare = || prop_oneof![Just(0.0), 0.0..0.1_f64];
    (
        prop_oneof![Just(0.0), 0.0..0.05_f64, 0.0..0.3_f64],
        rare(),
        rare(),
        rare(),
        rare(),
        any::<u64>(),
    )
        .prop_map(|(loss, reorder, duplicate, mark, stop_reading, seed)| Network {
            loss,
            reorder,
            duplicate,
            mark,
            stop_reading: stop_reading / 10.0,
            seed,
        })
}

fn segments() -> impl Strategy<Value = Segment> {
    let offset = || prop_oneof![0..30_000_u64, Just(u64::MAX), any::<u64>()];
    let flags = prop_oneof![
        4 => Just(Flags::ACK),
        1 => Just(Flags::ACK.with(Flags::ECE)),
        1 => Just(Flags::ACK.with(Flags::FIN)),
        1 => Just(Flags::ACK.with(Flags::SYN)),
        1 => Just(Flags::SYN),
        1 => Just(Flags::NONE),
    ];
    let block = || (0..20_000_u32, 0..20_000_u32);
    let len = prop_oneof![Just(0_u32), 0..3000_u32, any::<u32>()];
    let words = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>());
    (offset(), offset(), len, words, flags, (0..4_u8, block(), block(), block())).prop_map(
        |(seq, ack, len, (window, tsval, tsecr, has_timestamp), flags, sack)| {
            let block = |(start, end)| SackBlock { start, end };
            let mut segment = Segment {
                seq,
                ack,
                len,
                window,
                tsval,
                tsecr,
                sack: [block(sack.1), block(sack.2), block(sack.3)],
                sack_count: sack.0,
                flags,
                has_timestamp,
                ..Segment::default()
            };
            if tsecr.is_multiple_of(2) {
                let [e0b, ceb, e1b] = [tsval, tsecr, window].map(|word| word >> 8);
                let [order, fields] = [1, 2].map(|shift| (tsecr >> shift) as u8);
                let (order, fields) = (order % 2, fields / 2 % 4);
                segment.set_accecn(AccEcnOption { e0b, ceb, e1b, order, fields });
            }
            segment
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once(
        mut config in prop_oneof![2 => configs(), 1 => historical(), 2 => linux()],
        network in networks(),
        bytes in 1..150_000_u64,
    ) {
        // Heavy loss may take a segment more often than Linux sends it before it gives up.
        config.connection.max_retransmissions = None;
        config.validate().unwrap();
        let (sender, mut receiver) = transfer(&config, &network, bytes);
        receiver.set_reading(Time::MAX, true);
        prop_assert_eq!((receiver.delivered(), receiver.finished()), (bytes, true));
        prop_assert_eq!((sender.bytes_acked(), sender.outstanding()), (bytes, 0));
        prop_assert_eq!(sender.deadline(), None);
        let tcp = &config.connection;
        // A delayed acknowledgment that waits as long as the timer (ns-3.18) can lose the race, for
        // a window of one segment or a last segment alone. Nothing else makes it send again.
        let lost_race = tcp.min_rto <= tcp.delayed_ack_timeout && sender.stats().timeouts > 0;
        let trouble = network.loss + network.reorder + network.duplicate + network.stop_reading;
        if !lost_race && trouble == 0.0 {
            prop_assert_eq!(sender.stats().retransmissions, 0);
            prop_assert_eq!(receiver.duplicate_bytes(), 0);
        }
    }

    #[test]
    fn arbitrary_segments_do_no_harm(
        config in prop_oneof![2 => configs(), 1 => historical()],
        steps in proptest::collection::vec((segments(), 0..2000_u64, any::<bool>()), 1..80),
    ) {
        let mut now = Time::ZERO;
        let (mut sender, mut receiver) = (Sender::new(&config, now), Receiver::new(&config));
        sender.write(100_000);
        sender.close();
        for (segment, wait, reading) in steps {
            now += Duration::from_millis(wait);
            let ecn = if reading { Ecn::Ce } else { segment.ecn() };
            sender.on_segment(now, &segment, ecn);
            sender.on_deadline(now);
            let sent = std::iter::from_fn(|| sender.poll(now)).count();
            prop_assert!(sent < 5000);
            let over = matches!(sender.state(), State::Done | State::Aborted);
            prop_assert!(over || sender.outstanding() == 0 || sender.deadline().is_some());
            for ack in [
                receiver.on_segment(now, &segment, ecn),
                receiver.on_deadline(now),
                receiver.set_reading(now, reading),
            ].into_iter().flatten() {
                prop_assert!(u64::from(ack.window) <= config.connection.receive_window.largest());
            }
        }
    }
}

#[test]
fn a_loss_free_transfer_takes_its_segments_and_no_more() {
    let network =
        Network { loss: 0.0, reorder: 0.0, duplicate: 0.0, mark: 0.0, stop_reading: 0.0, seed: 1 };
    for preset in ["linux", "rfc", "ns-2", "ns-3"] {
        let config = Config::preset(preset).unwrap();
        let (sender, _) = transfer(&config, &network, 100 * config.mss());
        // SYN, the handshake's ACK with or without data, 100 segments, a FIN with the last.
        assert!((101..=103).contains(&sender.segments_sent()), "{:?}", sender.stats());
    }
}

#[test]
fn an_endpoint_is_small() {
    assert!(size_of::<Sender>() <= 712, "{}", size_of::<Sender>());
    assert!(size_of::<Receiver>() <= 256, "{}", size_of::<Receiver>());
    // A hundred segments in flight, one in twenty lost: the heap stays within the budget of 2 kB.
    let network =
        Network { loss: 0.05, reorder: 0.0, duplicate: 0.0, mark: 0.0, stop_reading: 0.0, seed: 1 };
    let config = read(&json!({ "max_window": 100, "initial_window": 100 }));
    let (sender, receiver) = transfer(&config, &network, 2_000_000);
    let heap = sender.heap() + receiver.heap();
    assert!(size_of::<Sender>() + size_of::<Receiver>() + heap < 2048, "{heap}");
}
