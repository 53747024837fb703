//! The controller between hosts that do anything in any order: by chance, and every short sequence
//! of what may happen.

use forebay_core::{Duration, Rate, Time};
use forebay_middlebox::aspq::{Controller, Freeze, Params};
use forebay_middlebox::{Ack, FiveTuple, Header, Middlebox, Tcp, Verdict, flags};
use proptest::prelude::*;

const FLOWS: usize = 4;
const IDLE: Duration = Duration::from_millis(100);

/// What may happen. Flows 0 and 1 are low, 2 is of level 1, 3 of level 2.
#[derive(Debug, Clone, Copy)]
enum Act {
    Open(usize),
    Data(usize, u32),
    /// All data so far are acknowledged, with this window.
    Ack(usize, u16),
    /// A segment of the receiver's own data, and an acknowledgment of half of the sender's.
    Reply(usize, u16),
    Probe(usize, bool),
    Fin(usize),
    Reset(usize, bool),
    Datagram(u8),
    /// A flow that is never seen again.
    Stranger(u16, u8),
    Wait(u64),
}

/// One connection as its hosts know it; segments arrive at once.
#[derive(Debug, Clone, Copy, Default)]
struct Hosts {
    open: bool,
    /// Next number of the sender, and what of it is acknowledged.
    sent: u32,
    acked: u32,
    /// The receiver's next number, window and clock.
    seq: u32,
    window: u16,
    clock: u32,
    /// The window of which the sender was last told.
    told: u16,
}

#[derive(Clone)]
struct World {
    controller: Controller,
    params: Params,
    now: Time,
    hosts: [Hosts; FLOWS],
}

fn key(flow: usize) -> FiveTuple {
    FiveTuple {
        source_port: flow as u16,
        destination_port: 443,
        source: "198.51.100.1".parse().unwrap(),
        destination: "203.0.113.9".parse().unwrap(),
        protocol: 6,
    }
}

fn level(flow: usize) -> u8 {
    flow.saturating_sub(1) as u8
}

impl World {
    fn new(params: &Params) -> Self {
        World {
            controller: Controller::new(params).unwrap(),
            params: params.clone(),
            now: Time::ZERO,
            hosts: [Hosts::default(); FLOWS],
        }
    }

    fn forward(&mut self, flow: usize, tcp: Tcp) -> Verdict {
        let clock = self.hosts[flow].clock;
        let tcp = Tcp { ack: 1, window: 999, timestamps: Some((clock + 7, clock)), ..tcp };
        let header = Header {
            flow: key(flow),
            class: level(flow),
            dscp: 0,
            len: tcp.payload_len + 40,
            tcp: Some(tcp),
        };
        let verdict = self.controller.forward(self.now, &header);
        match verdict {
            Verdict::Pass => {}
            Verdict::Rewrite { .. } => panic!("nothing that goes forward is rewritten"),
            Verdict::Answer(ack) => {
                assert!(tcp.payload_len <= 1 && ack.window == 0, "{tcp:?} {ack:?}");
                self.hear(&ack, true);
            }
        }
        self.check_control(&tcp, verdict);
        verdict
    }

    fn backward(&mut self, flow: usize, tcp: Tcp) {
        self.hosts[flow].clock += 1;
        let clock = self.hosts[flow].clock;
        let tcp = Tcp { timestamps: Some((clock, 5)), ..tcp };
        let flow_back = key(flow).reversed();
        let header = Header { flow: flow_back, class: 0, dscp: 0, len: 40, tcp: Some(tcp) };
        let verdict = self.controller.backward(self.now, &header);
        self.hosts[flow].told = match verdict {
            Verdict::Pass => tcp.window,
            Verdict::Rewrite { window } => {
                assert!(window < tcp.window, "a window is only made smaller");
                window
            }
            Verdict::Answer(_) => panic!("nothing that comes back is answered"),
        };
        self.check_control(&tcp, verdict);
    }

    fn check_control(&self, tcp: &Tcp, verdict: Verdict) {
        let control = tcp.has(flags::SYN | flags::FIN | flags::RST);
        assert!(!control || verdict == Verdict::Pass, "SYN, FIN and RST are not touched: {tcp:?}");
    }

    /// The sender hears what the box says on behalf of the receiver.
    fn hear(&mut self, ack: &Ack, echo: bool) {
        let flow = usize::from(ack.flow.destination_port);
        let hosts = &mut self.hosts[flow];
        assert_eq!(ack.flow, key(flow).reversed());
        assert_eq!((ack.seq, ack.ack), (hosts.seq, hosts.acked), "as last seen");
        assert_eq!(ack.timestamps.unwrap().0, hosts.clock, "neither older nor newer than seen");
        assert!(ack.window <= hosts.window, "more room than the receiver has: {ack:?}");
        assert!(!echo || ack.timestamps.unwrap().1 == hosts.clock + 7);
        hosts.told = ack.window;
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Open(flow) => {
                let syn = Tcp { flags: flags::SYN, window_scale: Some(0), ..Tcp::default() };
                self.forward(flow, syn);
                self.hosts[flow] =
                    Hosts { open: true, sent: 1, acked: 1, seq: 1, ..self.hosts[flow] };
                let both = flags::SYN | flags::ACK;
                let syn_ack = Tcp {
                    ack: 1,
                    flags: both,
                    window_scale: Some(2),
                    window: 500,
                    ..Tcp::default()
                };
                self.hosts[flow].window = 500;
                self.backward(flow, syn_ack);
            }
            Act::Data(flow, len) if self.hosts[flow].open => {
                let seq = self.hosts[flow].sent;
                self.hosts[flow].sent += len;
                let data = Tcp { seq, flags: flags::ACK, payload_len: len, ..Tcp::default() };
                if matches!(self.forward(flow, data), Verdict::Answer(_)) {
                    self.hosts[flow].sent -= len;
                }
            }
            Act::Ack(flow, window) if self.hosts[flow].open => {
                let hosts = &mut self.hosts[flow];
                (hosts.acked, hosts.window) = (hosts.sent, window);
                let (seq, ack) = (hosts.seq, hosts.acked);
                self.backward(flow, Tcp { seq, ack, flags: flags::ACK, window, ..Tcp::default() });
            }
            Act::Reply(flow, window) if self.hosts[flow].open => {
                let hosts = &mut self.hosts[flow];
                hosts.acked += (hosts.sent - hosts.acked) / 2;
                hosts.window = window;
                let (seq, ack) = (hosts.seq, hosts.acked);
                hosts.seq += 10;
                let data =
                    Tcp { seq, ack, flags: flags::ACK, window, payload_len: 10, ..Tcp::default() };
                self.backward(flow, data);
            }
            Act::Probe(flow, octet) if self.hosts[flow].open => {
                let Hosts { acked, sent, .. } = self.hosts[flow];
                let (seq, payload_len) = if octet { (sent, 1) } else { (acked - 1, 0) };
                let probe = Tcp { seq, payload_len, flags: flags::ACK, ..Tcp::default() };
                if self.forward(flow, probe) == Verdict::Pass && octet {
                    // It is data then.
                    self.hosts[flow].sent += 1;
                }
            }
            Act::Fin(flow) if self.hosts[flow].open => {
                let seq = self.hosts[flow].sent;
                self.hosts[flow].sent += 1;
                self.forward(flow, Tcp { seq, flags: flags::FIN | flags::ACK, ..Tcp::default() });
            }
            Act::Reset(flow, forward) if self.hosts[flow].open => {
                let Hosts { sent, seq, window, .. } = self.hosts[flow];
                self.hosts[flow].open = false;
                if forward {
                    self.forward(flow, Tcp { seq: sent, flags: flags::RST, ..Tcp::default() });
                } else {
                    self.backward(flow, Tcp { seq, flags: flags::RST, ..Tcp::default() });
                }
                self.hosts[flow].told = window;
            }
            Act::Datagram(class) => {
                let flow = FiveTuple { protocol: 17, ..key(99) };
                let header = Header { flow, class, dscp: 0, len: 1500, tcp: None };
                assert_eq!(self.controller.forward(self.now, &header), Verdict::Pass);
            }
            Act::Stranger(port, class) => {
                let flow = FiveTuple { source_port: 1000 + port, ..key(0) };
                let tcp = Tcp { flags: flags::SYN, ..Tcp::default() };
                let header = Header { flow, class, dscp: 0, len: 40, tcp: Some(tcp) };
                assert_eq!(self.controller.forward(self.now, &header), Verdict::Pass);
            }
            Act::Wait(ms) => {
                let until = self.now + Duration::from_millis(ms);
                while let Some(wake) = self.controller.wake().filter(|wake| *wake <= until) {
                    self.now = self.now.max(wake);
                    self.settle();
                }
                self.now = until;
            }
            _ => {}
        }
        self.settle();
    }

    fn settle(&mut self) {
        for _ in 0..1000 {
            let Some(ack) = self.controller.poll(self.now) else {
                assert!(self.controller.wake().is_none_or(|wake| wake > self.now));
                assert!(self.controller.counts().flows <= u64::from(self.params.max_flows));
                assert!(self.controller.counts().frozen <= self.controller.counts().flows);
                return;
            };
            self.hear(&ack, false);
        }
        panic!("it never stops sending");
    }

    /// Everybody falls silent: within a bound every sender knows of the window that it has.
    fn end(mut self) {
        let span = |option: Option<Duration>| option.unwrap_or_default();
        // Each of two levels, then the options.
        let idle = self.params.idle_timeout;
        let options = span(self.params.staged_release) + span(self.params.repeat_release) * 11;
        let bound = self.now + idle * 2 + options;
        self.act(Act::Wait((bound - self.now).as_nanos() / 1_000_000));
        assert_eq!((self.controller.counts().frozen, self.controller.counts().active), (0, 0));
        for (flow, hosts) in self.hosts.iter().enumerate().filter(|(_, hosts)| hosts.open) {
            assert_eq!(hosts.told, hosts.window, "flow {flow}: {hosts:?}");
        }
        // What is left of its timers comes to nothing.
        while let Some(wake) = self.controller.wake() {
            self.now = wake;
            assert_eq!(self.controller.poll(wake), None);
        }
    }
}

fn acts() -> impl Strategy<Value = Act> {
    let flow = 0..FLOWS;
    let window = || prop_oneof![Just(0_u16), Just(1), 2..2000_u16];
    prop_oneof![
        2 => flow.clone().prop_map(Act::Open),
        6 => (flow.clone(), prop_oneof![Just(1), 2..1500_u32]).prop_map(|(f, len)| Act::Data(f, len)),
        6 => (flow.clone(), window()).prop_map(|(f, window)| Act::Ack(f, window)),
        2 => (flow.clone(), window()).prop_map(|(f, window)| Act::Reply(f, window)),
        2 => (flow.clone(), any::<bool>()).prop_map(|(f, octet)| Act::Probe(f, octet)),
        1 => flow.clone().prop_map(Act::Fin),
        1 => (flow, any::<bool>()).prop_map(|(f, forward)| Act::Reset(f, forward)),
        3 => (0..3_u8).prop_map(Act::Datagram),
        1 => (0..20_u16, 0..3_u8).prop_map(|(port, class)| Act::Stranger(port, class)),
        4 => prop_oneof![0..20_u64, 20..300_u64].prop_map(Act::Wait),
    ]
}

fn params() -> impl Strategy<Value = Params> {
    let span = || proptest::option::of((1..400_u64).prop_map(Duration::from_millis));
    let freeze = prop_oneof![Just(Freeze::Always), Just(Freeze::WhenFull)];
    // Links that few of the acts fill, and links that they often fill.
    let rate = prop_oneof![Just(100_000), Just(1_000_000)].prop_map(Rate::from_bps);
    let most = prop_oneof![Just(1), Just(3), Just(100)];
    (span(), span(), span(), span(), most, freeze, rate).prop_map(
        |(trickle, staged_release, repeat_release, freeze_limit, max_flows, freeze, rate)| {
            let mut params = Params::default();
            params.idle_timeout = IDLE;
            params.max_flows = max_flows;
            params.trickle = trickle;
            params.staged_release = staged_release;
            params.repeat_release = repeat_release;
            params.freeze_limit = freeze_limit;
            params.freeze = freeze;
            params.rate = Some(rate);
            params
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_nobody_stays_frozen(
        params in params(),
        acts in proptest::collection::vec(acts(), 1..80),
    ) {
        let mut world = World::new(&params);
        acts.into_iter().for_each(|act| world.act(act));
        world.end();
    }
}

/// Every sequence of six of these, from the beginning of one low and one high connection.
#[test]
fn every_short_sequence_ends_well() {
    const ACTS: [Act; 10] = [
        Act::Data(0, 1000),
        Act::Ack(0, 300),
        Act::Ack(0, 0),
        Act::Probe(0, true),
        Act::Fin(0),
        Act::Data(2, 1000),
        Act::Ack(2, 300),
        Act::Fin(2),
        Act::Datagram(2),
        Act::Wait(60),
    ];
    fn explore(world: &World, depth: u32) -> u32 {
        world.clone().end();
        if depth == 0 {
            return 1;
        }
        let after = |act: &Act| {
            let mut next = world.clone();
            next.act(*act);
            explore(&next, depth - 1)
        };
        ACTS.iter().map(after).sum()
    }
    let mut params = Params::default();
    params.idle_timeout = IDLE;
    let mut world = World::new(&params);
    [Act::Open(0), Act::Open(2)].into_iter().for_each(|act| world.act(act));
    assert_eq!(explore(&world, 5), 100_000);
}
