//! NCQ's favour rule: small or rare packets join the high queue, as long as they are few.
//!
//! Source: "Less Impact, Better Service", section 3 (the rule), section 6 (the options).
//!
//! Every received packet is counted. If it is eligible and favoured / received < ncqthresh, it is
//! counted as favoured and joins queue 1, otherwise queue 0. By the paper's rule a packet is
//! eligible if it is below 130 bytes and not a pure ACK.
//!
//! At the start the ratio is 0 of 1, so the first eligible packet is always favoured. The paper's
//! counters never decay. So after an hour without eligible packets a whole burst of them is
//! favoured, and after a burst it takes as long until packets are favoured again. A `window`
//! prevents this.
//!
//! | code | paper |
//! |---|---|
//! | `ncqthresh` | ncqthresh |
//! | received, favoured | received_packets, favored_packets |
//!
//! Deviations
//! - D1: a favoured packet that finds the buffer full counts as favoured, as in the pseudo-code,
//!   which decides before it looks at the buffer.
//! - D2: control packets are not favoured unless this is requested, although the pseudo-code, which
//!   only tests the length, would favour them: section 6 leaves them to future work, together with
//!   ACKs.
//! - D3: `probabilistic` follows the words of section 6 ("the probability per packet decreases as
//!   the rate of non-congestive packets exceeds the ncqthresh"): with e the eligible share of the
//!   received packets, an eligible packet is favoured with probability min(1, ncqthresh / e). The
//!   favoured share is ncqthresh on average, not at most.
//! - D4: the adaptive threshold ("dynamically adjusted, based on the projected outcome") projects
//!   the normal packets' mean wait by Cobham's formula: a favoured utilization u multiplies it by 1
//!   / (1 - u). For a busy link u is the favoured share of bytes. The threshold is the share of
//!   packets that gives u / (1 - u) = `impact`.
//!
//! Cost: constant. With a decaying window an exponential per packet; with identification by flow a
//! look-up of four flows.

use super::flow_meter::FlowMeter;
use super::service_share::{Count, ServiceShare, Window};
use crate::Classify;
use forebay_core::config::{above_zero, positive_share, require, within};
use forebay_core::{
    Bank, Bytes, Conduct, ConfigError, Context, Duration, Named, Packet, PacketKind, QueueId, Rate,
    Setting, Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queue 1 for favoured packets, queue 0 for all others.
pub struct Ncq {
    params: NcqParams,
    share: ServiceShare,
    flows: Option<FlowMeter>,
}

/// The use of the threshold for favoured packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FavourMode {
    /// All while the favoured share is below the threshold (the paper's rule).
    #[default]
    Threshold,
    /// Each with the same probability, so that the favoured share is the threshold on average.
    Probabilistic,
}

/// The rule by which a packet is non-congestive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Identify {
    /// Its size: below `length` (the paper's rule).
    #[default]
    Size,
    /// Its flow, small or slow, whatever the packet's size: `{ flow = { volume = "20KB" } }`.
    Flow(FlowParams),
}

params! {
    /// Limits of a non-congestive flow.
    #[derive(Copy, PartialEq, Eq)]
    pub struct FlowParams {
        /// Rate that a flow may send in the long run. Above 0. Default: a G.711 call of 120-byte
        /// packets every 10 ms (section 5.2.3).
        pub rate: Rate = Rate::from_bps(96_000),
        /// Volume that a flow may send beyond that, above 0 to 1 GB. Default: section 5.2.1's
        /// non-congestive task, 10 KB.
        pub volume: Bytes = Bytes(10_000),
        /// Flows remembered, 1 to 1048576, rounded up to a multiple of 4.
        pub flows: u32 = 1024,
    }
}

params! {
    /// Parameters of NCQ's favour rule.
    pub struct NcqParams {
        /// Largest favoured share of all received packets (ncqthresh, section 3), 0 to 1; typically
        /// 0.01 to 0.05.
        pub ncqthresh: f64 = 0.05,
        /// Length from which a packet is not small, in bytes (section 3), above 0.
        pub length: Bytes = Bytes(130),
        /// Time over which packets are counted: "lifetime" (the paper's), `{ decaying = "10s" }` or
        /// `{ sliding = "10s" }`.
        pub window: Window = Window::Lifetime,
        /// The rule that limits favour: "threshold" (the paper's) or "probabilistic".
        pub mode: FavourMode = FavourMode::Threshold,
        /// Relative increase of the normal packets' mean wait that is accepted, above 0 to 1. If
        /// given, the threshold is computed from it, and `ncqthresh` is not used. Default: none.
        pub impact: Option<f64> = None,
        /// Whether pure ACKs are eligible (section 6).
        pub favour_acks: bool = false,
        /// Whether control packets (SYN, FIN, RST, routing) are eligible (section 6).
        pub favour_control: bool = false,
        /// When a packet is non-congestive: "size" (the paper's) or `{ flow = { rate, volume, flows
        /// } }`.
        pub identify: Identify = Identify::Size,
    }
}

impl Ncq {
    /// The favour rule with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &NcqParams) -> Result<Self, ConfigError> {
        within("ncqthresh", params.ncqthresh, 0.0..=1.0)?;
        above_zero("length", params.length)?;
        positive_share("impact", params.impact.unwrap_or(1.0))?;
        if let Window::Decaying(span) | Window::Sliding(span) = params.window {
            let message = || "must be above 0, such as \"10s\"".into();
            require(span > Duration::ZERO, "window", message)?;
        }
        let flows = match params.identify {
            Identify::Size => None,
            Identify::Flow(FlowParams { rate, volume, flows }) => {
                above_zero("identify.flow.rate", rate)?;
                require((1..=1_000_000_000).contains(&volume.0), "identify.flow.volume", || {
                    format!("must be above 0 and at most \"1GB\", got \"{volume}\"")
                })?;
                within("identify.flow.flows", flows, 1..=1_048_576)?;
                Some(FlowMeter::new(rate, volume, flows))
            }
        };
        Ok(Ncq { params: params.clone(), share: ServiceShare::new(params.window), flows })
    }

    #[inline]
    fn eligible(&mut self, packet: &Packet, now: Time) -> bool {
        let non_congestive = match &mut self.flows {
            None => u64::from(packet.len) < self.params.length.0,
            Some(flows) => flows.is_light(packet.flow, packet.len, now),
        };
        non_congestive
            && match packet.kind {
                PacketKind::PureAck => self.params.favour_acks,
                PacketKind::Control => self.params.favour_control,
                _ => true,
            }
    }

    /// The current threshold.
    #[inline]
    fn threshold(&self) -> f64 {
        let Some(impact) = self.params.impact else { return self.params.ncqthresh };
        let (received, eligible) = (self.share.of(Count::Received), self.share.of(Count::Eligible));
        if eligible.bytes <= 0.0 {
            return 1.0;
        }
        let relative_size = eligible.bytes / eligible.packets * received.packets / received.bytes;
        (impact / (1.0 + impact) / relative_size).min(1.0)
    }
}

impl Named for Ncq {
    type Family = dyn Classify;
    const NAME: &'static str = "ncq";
    const SUMMARY: &'static str = "a high queue for small packets, as long as they are few";
    const SOURCE: &'static str = "NCQ paper, section 3";
    const FACTS: Conduct = Conduct::REORDERS;
    type Params = NcqParams;

    fn build(params: &NcqParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        Ok(Box::new(Ncq::new(params)?))
    }
}

impl Classify for Ncq {
    #[inline]
    fn queues(&self) -> usize {
        2
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, cx: &mut Context) -> QueueId {
        self.share.advance(cx.now);
        self.share.count(Count::Received, packet.len);
        if !self.eligible(packet, cx.now) {
            return 0;
        }
        self.share.count(Count::Eligible, packet.len);
        let received = self.share.of(Count::Received).packets;
        let threshold = self.threshold();
        let favoured = match self.params.mode {
            FavourMode::Threshold => self.share.of(Count::Favoured).packets / received < threshold,
            FavourMode::Probabilistic => {
                cx.rng.chance(threshold * received / self.share.of(Count::Eligible).packets)
            }
        };
        if favoured {
            self.share.count(Count::Favoured, packet.len);
        }
        usize::from(favoured)
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let (favoured, received) = (self.share.of(Count::Favoured), self.share.of(Count::Received));
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        out("favoured_packet_share", ratio(favoured.packets, received.packets));
        out("favoured_byte_share", ratio(favoured.bytes, received.bytes));
        out("ncqthresh", self.threshold());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{DropReason, Rng, Sink, config};
    use serde_json::{Value, json};

    struct NoDrops;

    impl Sink for NoDrops {
        fn dropped(&mut self, _: Packet, _: DropReason) {
            unreachable!("a classifier drops nothing");
        }
        fn marked(&mut self, _: &Packet) {}
    }

    fn ncq(params: Value) -> Ncq {
        Ncq::new(&config::read(&params).unwrap()).unwrap()
    }

    /// For each of these (time in ms, length, kind) packets of one flow: whether it is favoured.
    fn favoured(
        ncq: &mut Ncq,
        packets: impl IntoIterator<Item = (u64, u32, PacketKind)>,
    ) -> Vec<bool> {
        let (mut rng, bank) = (Rng::named(1, "port"), Bank::new(2));
        let judge = |(millis, len, kind)| {
            let mut sink = NoDrops;
            let now = Time::ZERO + Duration::from_millis(millis);
            let mut cx = Context::new(now, &mut rng, &mut sink);
            let mut packet = Packet::new(0, 0, len);
            packet.kind = kind;
            let queue = ncq.classify(&packet, &bank, &mut cx);
            packet.retire();
            queue == 1
        };
        packets.into_iter().map(judge).collect()
    }

    fn probe(ncq: &Ncq, name: &str) -> f64 {
        let mut found = None;
        ncq.probe(Time::ZERO, &Bank::new(2), &mut |key, value| {
            if key == name {
                found = Some(value);
            }
        });
        found.unwrap()
    }

    use PacketKind::{Control, Data, PureAck};

    /// All small, ncqthresh 0.05: 0/1 is below, 1/20 is not, 1/21 is; so the 1st, 21st, 41st ...
    #[test]
    fn favour_by_hand() {
        let mut rule = ncq(json!({ "ncqthresh": 0.05 }));
        let got = favoured(&mut rule, (0..62).map(|_| (0, 129, Data)));
        let want: Vec<bool> = (1..=62).map(|n| n % 20 == 1).collect();
        assert_eq!(got, want);
        assert_eq!(probe(&rule, "favoured_packet_share"), 4.0 / 62.0);
    }

    #[test]
    fn length_is_below_130_and_acks_do_not_count() {
        let packets = [(0, 1500, Data), (0, 130, Data), (0, 40, PureAck), (0, 40, Control)];
        let one = |params| favoured(&mut ncq(params), packets);
        assert_eq!(one(json!({ "ncqthresh": 1.0 })), [false; 4]);
        assert_eq!(one(json!({ "favour_acks": true })), [false, false, true, false]);
        assert_eq!(one(json!({ "favour_control": true })), [false, false, false, true]);
        assert_eq!(favoured(&mut ncq(json!({})), [(0, 129, Data)]), [true]);
        assert_eq!(favoured(&mut ncq(json!({ "ncqthresh": 0.0 })), [(0, 40, Data)]), [false]);
        // Bytes: 120 of 120 + 3 x 1500.
        let mut rule = ncq(json!({ "ncqthresh": 0.3 }));
        favoured(&mut rule, [(0, 1500, Data), (0, 1500, Data), (0, 120, Data), (0, 1500, Data)]);
        assert_eq!(probe(&rule, "favoured_byte_share"), 120.0 / 4620.0);
    }

    /// 1000 large packets, a pause of 100 s, then 60 small ones. The lifetime counters favour the
    /// first 53 (52/1053 is below 0.05, 53/1054 is not). A sliding window begins anew: the 1st,
    /// 21st and 41st. A decaying one keeps 1000 e^-10 = 0.045 large packets, which makes 1/20.045
    /// of 1/20: the 1st, 20th, 40th and 60th.
    #[test]
    fn a_window_forgets() {
        let which = |params| {
            let large = (0..1000).map(|_| (0, 1500, Data));
            let packets = large.chain((0..60).map(|_| (100_000, 120, Data)));
            let got = favoured(&mut ncq(params), packets);
            (1..=60).filter(|n| got[999 + n]).collect::<Vec<usize>>()
        };
        assert_eq!(which(json!({})), (1..=53).collect::<Vec<_>>());
        assert_eq!(which(json!({ "window": { "sliding": "10s" } })), [1, 21, 41]);
        assert_eq!(which(json!({ "window": { "decaying": "10s" } })), [1, 20, 40, 60]);
    }

    #[test]
    fn probability_keeps_the_share_and_spreads_it() {
        let mut rule = ncq(json!({ "ncqthresh": 0.05, "mode": "probabilistic" }));
        // Every other packet is small: a tenth of those is favoured, 500 of 5000 +- 4 sigma (21.2).
        let packets = (0..10_000).map(|n| (0, if n % 2 == 0 { 120 } else { 1500 }, Data));
        let count = favoured(&mut rule, packets).iter().filter(|f| **f).count();
        assert!((415..=585).contains(&count), "{count}");
        // Fewer than the threshold: all.
        let mut rule = ncq(json!({ "ncqthresh": 0.05, "mode": "probabilistic" }));
        let packets = (1..=1000).map(|n| (0, if n % 50 == 0 { 120 } else { 1500 }, Data));
        assert_eq!(favoured(&mut rule, packets).iter().filter(|f| **f).count(), 20);
    }

    /// impact 0.01: u = 1/101 of the bytes. One packet in ten is of 100 B, the rest of 1400 B: the
    /// mean is 1270 B, and the threshold 12.7 / 101 of the packets.
    #[test]
    fn the_threshold_follows_the_projected_impact() {
        let mut rule = ncq(json!({ "impact": 0.01 }));
        let packets = (0..1000).map(|n| (0, if n % 10 == 9 { 100 } else { 1400 }, Data));
        let count = favoured(&mut rule, packets).iter().filter(|f| **f).count();
        assert!((probe(&rule, "ncqthresh") - 12.7 / 101.0).abs() < 1e-12);
        assert_eq!(count, 100, "a tenth is below 12.6 %");
    }

    #[test]
    fn a_few_long_packets_are_non_congestive_by_flow() {
        let params = json!({ "ncqthresh": 1.0, "identify": { "flow": { "volume": "3KB" } } });
        let got = favoured(&mut ncq(params), (0..4).map(|_| (0, 1500, Data)));
        assert_eq!(got, [true, true, false, false]);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for (params, path) in [
            (json!({ "ncqthresh": 1.1 }), "ncqthresh"),
            (json!({ "length": "0B" }), "length"),
            (json!({ "impact": 0.0 }), "impact"),
            (json!({ "window": { "sliding": "0s" } }), "window"),
            (json!({ "identify": { "flow": { "rate": "0bit" } } }), "identify.flow.rate"),
            (json!({ "identify": { "flow": { "volume": "0B" } } }), "identify.flow.volume"),
            (json!({ "identify": { "flow": { "flows": 0 } } }), "identify.flow.flows"),
        ] {
            let params = config::read(&params).unwrap();
            assert_eq!(Ncq::new(&params).err().unwrap().path, path);
        }
    }
}
