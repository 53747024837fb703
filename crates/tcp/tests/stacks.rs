//! A stack of one's own: one file with a state machine, and one line that registers it.

use forebay_core::{ConfigError, Duration, Named, Time};
use forebay_tcp::congestion::{self, CongestionController, NoParams, Start};
use forebay_tcp::stacks::{self, Abilities, Ack, Flow, Host, Rules};
use forebay_tcp::{Config, LossRecovery, Receiver, Sender, SenderStats, Stack, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;

/// Stop and wait: a few segments go, and the next ones when all of them are acknowledged.
#[derive(Debug)]
struct StopAndWait {
    params: StopAndWaitParams,
    mss: u64,
    /// The first offset that is not sent, or is to be sent again.
    point: u64,
    /// The offset up to which segments may go.
    edge: u64,
}

/// Parameters of `stop-and-wait`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct StopAndWaitParams {
    /// Segments that go at once.
    segments: u64,
    /// Time for which an acknowledgment is awaited.
    timeout: Duration,
}

impl Default for StopAndWaitParams {
    fn default() -> Self {
        StopAndWaitParams { segments: 1, timeout: Duration::from_secs(1) }
    }
}

impl Named for StopAndWait {
    type Family = Stack;
    const NAME: &'static str = "stop-and-wait";
    const SUMMARY: &'static str = "a few segments at a time";
    const SOURCE: &'static str = "none";
    const FACTS: Abilities = Abilities {
        recovery: &[LossRecovery::Reno],
        congestion: Some(&["new-reno"]),
        lacks: &["accurate_ecn", "ecn", "hystart", "pacing"],
    };
    type Params = StopAndWaitParams;

    fn build(params: &StopAndWaitParams, _: &()) -> Result<Host, ConfigError> {
        let params = *params;
        forebay_core::config::require(params.segments > 0, "segments", || "above 0".into())?;
        Ok(Host::Rules(Arc::new(move |connection| {
            let mss = connection.mss();
            Box::new(StopAndWait { params, mss, point: 1, edge: 1 + params.segments * mss })
        })))
    }
}

impl Rules for StopAndWait {
    fn on_ack(&mut self, _: &Flow, ack: &Ack<'_>, _: &mut SenderStats) -> Option<Duration> {
        if ack.segment.ack < self.edge.min(self.point) {
            return None;
        }
        self.edge = ack.segment.ack + self.cwnd();
        Some(self.params.timeout)
    }

    fn on_timeout(&mut self, flow: &Flow) -> Duration {
        self.point = flow.una;
        self.params.timeout
    }

    fn poll(&mut self, flow: &Flow) -> Option<u64> {
        (self.point < self.edge && flow.len(self.point).is_some()).then_some(self.point)
    }

    fn sent(&mut self, _: &Flow, _start: u64, end: u64) {
        self.point = end;
    }

    fn cwnd(&self) -> u64 {
        self.params.segments * self.mss
    }

    fn ssthresh(&self) -> u64 {
        self.cwnd()
    }

    fn srtt(&self) -> Option<Duration> {
        None
    }

    fn rto(&self) -> Duration {
        self.params.timeout
    }
}

/// The one line.
fn registry() -> forebay_core::Registry<Stack> {
    stacks::builtin().with::<StopAndWait>()
}

fn config(stack: serde_json::Value) -> Result<Config, ConfigError> {
    let given = json!({ "stack": stack, "recovery": "reno", "mtu": "1040B" });
    let config = Config::read_with(&given, &congestion::builtin(), &registry())?;
    config.validate_with(&registry()).map(|()| config)
}

/// When `bytes` have arrived over a path of 10 ms each way. The segment that is sent as number
/// `lost` gets lost.
fn transfer(config: &Config, bytes: u64, lost: u64) -> (Sender, Time) {
    let delay = Duration::from_millis(10);
    let mut now = Time::ZERO;
    let (mut sender, mut receiver) = (Sender::new(config, now), Receiver::new(config));
    sender.write(bytes);
    sender.close();
    let mut acks = VecDeque::new();
    while sender.state() != State::Done {
        while let Some(segment) = sender.poll(now) {
            if sender.segments_sent() != lost {
                let ack = receiver.on_segment(now + delay, &segment, segment.ecn());
                acks.extend(ack.map(|ack| (now + delay * 2, ack)));
            }
        }
        let due = [sender.deadline(), receiver.deadline()].into_iter().flatten();
        now = due.chain(acks.front().map(|(at, _)| *at)).min().expect("something is awaited");
        if acks.front().is_some_and(|(at, _)| *at == now) {
            let (_, ack) = acks.pop_front().expect("it was seen");
            sender.on_segment(now, &ack, ack.ecn());
        } else {
            acks.extend(receiver.on_deadline(now).map(|ack| (now + delay, ack)));
            sender.on_deadline(now);
        }
    }
    assert_eq!(receiver.delivered(), bytes);
    (sender, now)
}

#[test]
fn a_stack_of_ones_own_sends_by_its_rules() {
    let two = config(json!({ "kind": "stop-and-wait", "segments": 2 })).unwrap();
    // A handshake, and two segments each round trip.
    let (sender, end) = transfer(&two, 10_000, 0);
    assert_eq!((sender.segments_sent(), sender.stats().retransmissions), (11, 0));
    assert_eq!(end, Time::ZERO + Duration::from_millis(20 * (1 + 5)));
    assert_eq!((sender.info().cwnd, sender.info().phase), (2000, ""));
    // A segment that is lost comes again a second after it.
    let (sender, late) = transfer(&two, 10_000, 4);
    assert_eq!(sender.stats().timeouts, 1);
    assert!(late.since(end) >= Duration::from_millis(900), "{}", late.since(end));
}

#[test]
fn a_stack_of_ones_own_is_checked_as_those_of_the_crate() {
    assert_eq!(config(json!("stop-and-wait")).unwrap().stack.name(), "stop-and-wait");
    let error = config(json!({ "kind": "stop-and-wait", "segments": 0 })).unwrap_err();
    assert_eq!(error.path, "stack.segments");
    let given = json!({ "stack": "stop-and-wait" });
    let sack = Config::read_with(&given, &congestion::builtin(), &registry()).unwrap();
    let error = sack.validate_with(&registry()).unwrap_err();
    assert!(error.path == "recovery" && error.message.contains("\"linux-6.1\""), "{error}");
    // Without the line it is unknown.
    let error = Config::read(&given).unwrap_err();
    assert!(error.path == "stack.kind" && error.message.contains("stop-and-wait"), "{error}");
}

/// New Reno under another name, which Linux therefore does not have.
#[derive(Debug)]
struct Renamed;

impl Named for Renamed {
    type Family = dyn CongestionController;
    const NAME: &'static str = "renamed";
    const SUMMARY: &'static str = "New Reno";
    const SOURCE: &'static str = "RFC 5681";
    type Params = NoParams;

    fn build(_: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(congestion::NewReno::new(connection))))
    }
}

#[test]
fn a_control_that_linux_lacks_runs_in_its_sender() {
    let controls = congestion::builtin().with::<Renamed>();
    let found = ["new-reno", "renamed"].map(|control| {
        let given = json!({ "preset": "linux", "congestion": control, "hystart": false });
        let config = Config::read_with(&given, &controls, &stacks::builtin()).unwrap();
        config.validate().unwrap();
        assert_eq!(config.stack.name(), "linux-6.1");
        let (sender, end) = transfer(&config, 200_000, 20);
        // Repaired by RACK or SACK, in the kernel's states, without a timeout.
        assert_eq!((sender.info().phase, sender.stats().timeouts), ("Open", 0), "{control}");
        ((sender.info().cwnd, sender.segments_sent(), end), sender.info().ssthresh / sender.mss())
    });
    assert_eq!(found[0].0, found[1].0);
    // RFC 5681 halves the data in flight, Linux's Reno the window, which is a segment more.
    assert_eq!(found.map(|each| each.1), [14, 13]);
}
