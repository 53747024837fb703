//! Whole connections over a network that loses, delays, reorders, duplicates and marks.

use forebay_core::{Bytes, Duration, Ecn, Rng, Time};
use forebay_tcp::{
    AccEcnOption, Config, CongestionControl, Flags, Legacy, LossDetection, LossRecovery,
    LostRetransmissions, Preset, Receiver, Reduction, SackBlock, Segment, Sender, SlowStartEnd,
    State, TimeoutRecovery, congestion,
};
use proptest::prelude::*;
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

fn legacy(on: &[bool]) -> Legacy {
    let mut legacy = Legacy::default();
    if on[0] {
        legacy.lost_retransmissions = LostRetransmissions::Sack;
    }
    if on[1] {
        legacy.slow_start = SlowStartEnd::AboveThreshold;
    }
    if on[2] {
        legacy.timeout_recovery = TimeoutRecovery::FRto;
    }
    legacy
}

fn configs() -> impl Strategy<Value = Config> {
    let kinds = (
        proptest::sample::select(
            congestion::builtin().iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>(),
        ),
        prop_oneof![
            Just(LossRecovery::Reno),
            Just(LossRecovery::NewReno),
            Just(LossRecovery::Sack)
        ],
        prop_oneof![Just(1500_u64), Just(540), Just(9000)],
        prop_oneof![Just(10_000_u64), Just(65_535), Just(6_000_000)],
        proptest::option::of(1..20_u32),
    );
    (kinds, 1..3_u8, proptest::collection::vec(any::<bool>(), 16)).prop_map(
        |((congestion, recovery, mtu, window, max_window), delayed_ack_count, on)| Config {
            timestamps: on[0] || congestion == "ledbat",
            ecn: on[1] || on[15] || congestion == "dctcp" || congestion == "prague",
            accurate_ecn: on[15] || congestion == "prague",
            congestion: congestion.parse().unwrap(),
            recovery,
            mtu: Bytes(mtu),
            receive_window: Bytes(window).into(),
            max_window,
            delayed_ack_count,
            limited_transmit: on[2],
            loss_detection: if on[10] { LossDetection::Fack } else { LossDetection::Rfc6675 },
            reduction: match (on[3], on[9]) {
                (true, _) => Reduction::Proportional,
                (false, true) => Reduction::RateHalving,
                (false, false) => Reduction::AtOnce,
            },
            legacy: legacy(&on[11..14]),
            adaptive_delayed_ack: on[14],
            hystart: on[4],
            pacing: on[5],
            slow_start_after_idle: on[6],
            handshake: on[7],
            quick_acks: if on[8] { 16 } else { 0 },
            ..Config::default()
        },
    )
}

/// A sender of the past, with what it has no rules for left out.
fn stacks() -> impl Strategy<Value = Config> {
    let old = prop_oneof![Just(Preset::Ns2), Just(Preset::Ns318)];
    (old, configs()).prop_map(|(preset, config)| {
        let base = Config::preset(preset);
        let old = preset == Preset::Ns318;
        Config {
            congestion: CongestionControl::of::<congestion::NewReno>(),
            recovery: if old { LossRecovery::NewReno } else { config.recovery },
            timestamps: config.timestamps && !old,
            ecn: config.ecn && !old,
            accurate_ecn: false,
            loss_detection: base.loss_detection,
            reduction: base.reduction,
            max_window: if old { None } else { config.max_window },
            slow_start_after_idle: config.slow_start_after_idle && !old,
            pacing: false,
            hystart: false,
            legacy: base.legacy,
            ..config
        }
    })
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
        config in prop_oneof![2 => configs(), 1 => stacks()],
        network in networks(),
        bytes in 1..150_000_u64,
    ) {
        config.validate().unwrap();
        let (sender, mut receiver) = transfer(&config, &network, bytes);
        receiver.set_reading(Time::MAX, true);
        prop_assert_eq!((receiver.delivered(), receiver.finished()), (bytes, true));
        prop_assert_eq!((sender.bytes_acked(), sender.outstanding()), (bytes, 0));
        prop_assert_eq!(sender.deadline(), None);
        if network.loss + network.reorder + network.duplicate + network.stop_reading == 0.0 {
            prop_assert_eq!(sender.stats().retransmissions, 0);
            prop_assert_eq!(receiver.duplicate_bytes(), 0);
        }
    }

    #[test]
    fn arbitrary_segments_do_no_harm(
        config in prop_oneof![2 => configs(), 1 => stacks()],
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
                prop_assert!(u64::from(ack.window) <= config.receive_window.largest());
            }
        }
    }
}

#[test]
fn a_loss_free_transfer_takes_its_segments_and_no_more() {
    let network =
        Network { loss: 0.0, reorder: 0.0, duplicate: 0.0, mark: 0.0, stop_reading: 0.0, seed: 1 };
    for preset in [Preset::Linux, Preset::Rfc, Preset::Ns2, Preset::Ns3] {
        let config = Config::preset(preset);
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
    let config = Config { max_window: Some(100), initial_window: 100, ..Config::default() };
    let (sender, receiver) = transfer(&config, &network, 2_000_000);
    let heap = sender.heap() + receiver.heap();
    assert!(size_of::<Sender>() + size_of::<Receiver>() + heap < 2048, "{heap}");
}
