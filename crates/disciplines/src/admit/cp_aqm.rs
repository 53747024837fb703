//! CP-AQM: a token bucket that polices congestion, not traffic.
//!
//! An arriving packet contributes its size on the wire times the congestion that it meets; a
//! policer allows the contribution as long as its bucket holds tokens. A queue may be long for a
//! short time, but not for a long one.
//!
//! Source: the CP-AQM paper, section 3.
//!
//! | code | paper |
//! |---|---|
//! | `capacity` | Q_max, in bytes |
//! | `threshold` | T_c |
//! | `max_congestion` | c_max |
//! | `rate` | R_CA |
//! | `bucket` | B_CA |
//! | `occupancy` | x: bytes of IP packets in the whole port, the one in transmission excluded |
//!
//! c(x) = 0 for x < T_c, else 1 + (x - T_c) / (Q_max - T_c) * (c_max - 1) (equation 1). A packet of B
//! bytes on the wire, all overheads counted, costs B * c(x).
//!
//! Buckets are exact ([`Policers`]); a cost is rounded up to the nanobit and c_max to a millionth.
//!
//! Deviations
//! - D1: "the fill state of the queue is reduced" (section 3.2) is read as the bucket's.
//! - D2: a capacity in packets counts as that many packets of the largest size in c(x), and as
//!   packets when it is asked whether one more fits.
//! - D3: the default bucket is not below the bound for a single burst, (1 + c_max) / 2 * Q_max, when
//!   c_max is above 2; the paper's constant is that bound for c_max = 2, its largest.
//! - D4: with `ecn` (not in the paper), a packet that the policer would drop is marked instead, if
//!   its transport understands that. Its cost is owed, up to a third of the bucket; beyond that it
//!   is dropped. Only tokens for which the bucket has no room pay the debt. So short congestion is
//!   told by marks and lasting congestion by drops (RFC 3168, section 7), traffic that ignores marks
//!   lengthens the queue by the largest debt at most, and packets that cannot be marked lose
//!   nothing by those that can. Tokens that would pay the debt first would be lost to them.
//! - D5: where capacity varies, which the paper leaves open, `follow` keeps R_CA = C. Either the
//!   link tells its rate, or each departing packet pays back its size on the wire to the bucket.
//!   While packets wait, this gives the tokens of R_CA = C for any C, without an estimate and its
//!   lag. While none wait, the bucket fills at the rate at which the last packets left.
//! - D6: `policers` and `occupancy` are not in the paper. They give a policer to each user or flow,
//!   and a CP-AQM to each queue under fair scheduling. `limit` is still that of the whole port.
//! - D7: T_c may be a time (not in the paper). It is then the occupancy, in packets of the largest
//!   size, that drains in that time at R_CA, at most Q_max. It moves with a rate that `follow`s.
//! - D8: with `early_drop` (not in the paper), packets that cost something are refused with a
//!   probability that grows as the bucket empties, at distances drawn like RED's ([`Spacing`]). With
//!   an empty bucket the paper refuses packets in a row, of many flows, which then slow down
//!   together. A packet that is marked in this way is charged, as the bucket holds its tokens.
//!
//! Cost: a refill per packet and, in congestion, one 128-bit division.

use super::curve::{Curve, Signal, Spacing};
use super::policers::{BYTE, Policers};
use crate::Admit;
use forebay_core::config::{above_zero, require, within};
use forebay_core::{
    Bank, Bytes, ConfigError, Context, DropReason, Length, Limit, Named, Packet, QueueId, Rate,
    Rng, Setting, Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Admits packets for which the buffer has room and the congestion allowance has tokens.
pub struct CpAqm {
    params: CpAqmParams,
    congestion: Congestion,
    mtu: u32,
    overhead: u32,
    drain: Drain,
    tokens: Policers,
    early: Option<Early>,
}

/// Refusals before the bucket is empty.
struct Early {
    /// Over the missing tokens, in millionths of the bucket.
    curve: Curve,
    spacing: Spacing,
}

/// The rate that the congestion allowance follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// No other rate: the allowance is constant.
    #[default]
    Nothing,
    /// The link's rate, as the link tells it.
    Link,
    /// The packets that leave the queue.
    Drain,
}

/// All queues of a port together, or each queue separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// All queues of the port together.
    #[default]
    Port,
    /// Each queue separately.
    Queue,
}

/// The packets that have left the queue, for an allowance that follows them.
#[derive(Debug, Clone, Copy, Default)]
struct Drain {
    /// Time at which the last packet left.
    last: Time,
    /// Its size on the wire.
    frame: u64,
    /// Whether others waited then, so the link has been sending ever since.
    busy: bool,
    /// Bytes on the wire since the rate was last measured, and the nanoseconds that they took.
    bytes: u64,
    span: u64,
}

/// Congestion as a function of the occupancy (equation 1).
#[derive(Debug, Clone, Copy)]
struct Congestion {
    threshold: u64,
    capacity: u64,
    /// c_max - 1 in millionths.
    excess: u64,
}

/// Bytes on the wire over which the drain rate is measured (like PIE's DQ_THRESHOLD, RFC 8033,
/// section 5.2).
const MEASURED: u64 = 1 << 14;
/// c_max is resolved to this fraction.
const MILLION: u64 = 1_000_000;

params! {
    /// Parameters of CP-AQM.
    pub struct CpAqmParams {
        /// Room in the whole port (Q_max; section 3.1), in bytes ("45KB") or packets ("30p"). Above
        /// 0. Default: the paper's.
        pub limit: Limit = Limit::Bytes(45_000),
        /// Occupancy from which congestion begins (T_c; section 3.1), in packets of the largest
        /// size ("5p", the paper's recommendation), in bytes, or (not in the paper) as the time in
        /// which it drains at the allowance rate, also while that follows the link or the drain
        /// ("5ms"); 0 to `limit`.
        pub threshold: Length = Length::Size(Limit::Packets(5)),
        /// Congestion of a full queue (c_max; equation 1), 1 to 1000; the paper recommends 1.2. At
        /// 1 the policer drops nothing.
        pub max_congestion: f64 = 1.2,
        /// Congestion allowance rate (R_CA; section 3.3). Default: the link's rate.
        pub rate: Option<Rate> = None,
        /// Source of the allowance rate if the capacity varies: "nothing"; "link", the rate that
        /// the link tells; or "drain", the packets that leave the queue, with `rate` until their
        /// rate is known. With a policer for each queue, "drain" gives each bucket the rate at
        /// which the scheduler serves its queue.
        pub follow: Follow = Follow::default(),
        /// Bucket size (B_CA; section 3.3), above 0 to 2 GB. Default: 1.5 Q_max times the largest
        /// packet on the wire over the same without overhead, and one packet more if the threshold
        /// is 0.
        pub bucket: Option<Bytes> = None,
        /// Whether packets that the policer refuses are marked, where their transport understands
        /// it. Marked packets may owe up to a third of the bucket, which tokens pay for which the
        /// bucket has no room; beyond that they are dropped.
        pub ecn: bool = false,
        /// Probability with which packets are refused before the bucket is empty (not in the
        /// paper), so that fewer flows lose packets together: it grows from 0 with a full bucket to
        /// this value with an empty one. 0 to 1; 0 is off, the paper's; 0.03 is a good value.
        pub early_drop: f64 = 0.0,
        /// Traffic that a policer meters (not in the paper): "port", all; or "queue", where each
        /// queue has a bucket of size `bucket`, and those in use share `rate` equally. With the
        /// scheduler `fifo` and the classifier `class` this is a policer for each user, with
        /// `flow-hash` one for each flow.
        pub policers: Span = Span::default(),
        /// Which occupancy is congestion (x): "port", that of all queues; or "queue" (not in the
        /// paper), that of the queue that the packet joins.
        pub occupancy: Span = Span::default(),
    }
}

/// Bytes of `limit`, if all packets have the largest size.
fn bytes(limit: Limit, mtu: u32) -> u64 {
    match limit {
        Limit::Packets(count) => u64::from(count) * u64::from(mtu),
        Limit::Bytes(bytes) => bytes,
    }
}

/// Bytes of `threshold` at the allowance rate `rate`.
fn threshold_bytes(threshold: Length, rate: Rate, mtu: u32, overhead: u32) -> u64 {
    match threshold {
        Length::Size(size) => bytes(size, mtu),
        Length::Time(time) => {
            let share = f64::from(mtu) / f64::from(mtu + overhead);
            (rate.bytes_in(time) * share) as u64
        }
    }
}

impl CpAqmParams {
    /// Fills in the allowance rate and the bucket size, if they are not given.
    pub fn resolve(&mut self, setting: &Setting) {
        let rate = *self.rate.get_or_insert(setting.rate);
        if self.bucket.is_none() {
            let mtu = u64::from(setting.mtu);
            let frame = mtu + u64::from(setting.overhead);
            let factor = ((1.0 + self.max_congestion) / 2.0).max(1.5);
            let frames = bytes(self.limit, setting.mtu) as f64 * frame as f64 / mtu as f64;
            let threshold = threshold_bytes(self.threshold, rate, setting.mtu, setting.overhead);
            let one_more = if threshold == 0 { frame } else { 0 };
            self.bucket = Some(Bytes(((frames * factor).round() as u64).saturating_add(one_more)));
        }
    }
}

impl CpAqm {
    /// CP-AQM with these (resolved) parameters.
    ///
    /// # Errors
    /// A limit of zero, a threshold above it, c_max outside 1 to 1000, a bucket of zero or above
    /// 2 GB, an `early_drop` outside 0 to 1.
    pub fn new(params: &CpAqmParams, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        let capacity = bytes(params.limit, setting.mtu);
        let mut params = params.clone();
        params.resolve(setting);
        let rate = params.rate.unwrap_or(setting.rate);
        let threshold = threshold_bytes(params.threshold, rate, setting.mtu, setting.overhead);
        require(threshold <= capacity, "threshold", || {
            let at_rate = match params.threshold {
                Length::Size(_) => String::new(),
                Length::Time(_) => format!(", which is {} at \"{rate}\"", Bytes(threshold)),
            };
            let (limit, got) = (params.limit, params.threshold);
            format!("must be at most `limit` (\"{limit}\"), got \"{got}\"{at_rate}")
        })?;
        let most = params.max_congestion;
        within("max_congestion", most, 1.0..=1000.0)?;
        within("early_drop", params.early_drop, 0.0..=1.0)?;
        let bucket = params.bucket.unwrap_or_default();
        require((1..=2_000_000_000).contains(&bucket.0), "bucket", || {
            format!("must be above 0 and at most \"2GB\", got \"{bucket}\"")
        })?;
        let excess = ((most - 1.0) * MILLION as f64).round() as u64;
        let buckets = match params.policers {
            Span::Port => 1,
            Span::Queue => setting.queues,
        };
        Ok(CpAqm {
            congestion: Congestion { threshold, capacity, excess },
            mtu: setting.mtu,
            overhead: setting.overhead,
            drain: Drain::default(),
            tokens: Policers::new(buckets, rate, bucket.0),
            early: match params.early_drop {
                0.0 => None,
                most => Some(Early::new(most)?),
            },
            params,
        })
    }
}

impl CpAqm {
    /// The policer of a queue's packets.
    fn policer(&self, queue: QueueId) -> usize {
        match self.params.policers {
            Span::Port => 0,
            Span::Queue => queue,
        }
    }

    /// Moves a threshold that is a time to its occupancy at the present rate.
    fn follow_threshold(&mut self) {
        let threshold =
            threshold_bytes(self.params.threshold, self.tokens.rate, self.mtu, self.overhead);
        self.congestion.threshold = threshold.min(self.congestion.capacity);
    }
}

impl Early {
    /// Refuses with the probability `most` as the bucket becomes empty.
    fn new(most: f64) -> Result<Self, ConfigError> {
        let (curve, _) = Curve::new(Limit::Bytes(1), Limit::Bytes(MILLION), most, false)?;
        Ok(Early { curve, spacing: Spacing::default() })
    }

    /// Whether a packet is refused whose bucket lacks this share of its size.
    fn refuses(&mut self, missing: f64, rng: &mut Rng) -> bool {
        self.spacing.step(&self.curve, missing * MILLION as f64, 1.0, rng) != Signal::Pass
    }
}

impl Congestion {
    /// c(x), for plots.
    fn at(&self, occupancy: u64) -> f64 {
        self.cost(occupancy, MILLION) as f64 / (MILLION * BYTE) as f64
    }

    /// B * c(x) in nanobits, for `frame` (B) bytes at `occupancy` (x).
    #[inline]
    fn cost(&self, occupancy: u64, frame: u64) -> u64 {
        if occupancy < self.threshold {
            return 0;
        }
        let cost = frame * BYTE;
        let span = self.capacity - self.threshold;
        let over = occupancy.min(self.capacity) - self.threshold;
        if self.excess == 0 || over == 0 {
            return cost;
        }
        // over > 0 implies span > 0.
        let extra = u128::from(cost) * u128::from(over) * u128::from(self.excess);
        let extra = extra.div_ceil(u128::from(span) * u128::from(MILLION));
        u64::try_from(u128::from(cost) + extra).unwrap_or(u64::MAX)
    }
}

impl Drain {
    /// A packet of `frame` bytes on the wire leaves; `waiting` others stay.
    fn depart(
        &mut self,
        now: Time,
        (policer, frame): (QueueId, u64),
        waiting: usize,
        tokens: &mut Policers,
    ) {
        if self.busy {
            self.bytes += self.frame;
            self.span += now.since(self.last).as_nanos();
            if self.bytes >= MEASURED && self.span > 0 {
                let bps = u128::from(self.bytes * BYTE) / u128::from(self.span);
                // A quarter is new (RFC 8033, appendix B).
                let bps = (u128::from(tokens.rate.bps()) * 3 + bps) / 4;
                tokens.rate = Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1));
                (self.bytes, self.span) = (0, 0);
            }
        } else {
            tokens.fill(now);
        }
        tokens.pay(now, policer, frame);
        (self.last, self.frame, self.busy) = (now, frame, waiting > 0);
    }
}

impl Named for CpAqm {
    type Family = dyn Admit;
    const NAME: &'static str = "cp-aqm";
    const SUMMARY: &'static str = "a token bucket that polices congestion";
    const SOURCE: &'static str = "CP-AQM paper, section 3";
    type Params = CpAqmParams;

    fn resolve(params: &mut CpAqmParams, setting: &Setting) {
        params.resolve(setting);
    }

    fn build(params: &CpAqmParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(CpAqm::new(params, setting)?))
    }
}

impl Admit for CpAqm {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let held = bank.total();
        if !self.params.limit.admits(held.packets, held.bytes, packet.len) {
            return Err(DropReason::Overflow);
        }
        if !self.drain.busy {
            self.tokens.fill(cx.now);
        }
        let occupied = match self.params.occupancy {
            Span::Port => held.bytes,
            Span::Queue => bank.bytes(queue),
        };
        let cost = self.congestion.cost(occupied, u64::from(packet.len + self.overhead));
        let policer = self.policer(queue);
        let early = cost > 0
            && self
                .early
                .as_mut()
                .is_some_and(|early| early.refuses(self.tokens.missing(policer), cx.rng));
        if !early && self.tokens.take(policer, cost) {
            return Ok(());
        }
        let tokens = &mut self.tokens;
        let marked = self.params.ecn
            && packet.is_ect()
            && (early && tokens.take(policer, cost) || tokens.lend(policer, cost))
            && cx.mark(packet);
        if marked { Ok(()) } else { Err(DropReason::Policed) }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let packet = bank.pop(queue)?;
        if self.params.follow == Follow::Drain {
            let frame = u64::from(packet.len + self.overhead);
            let left = (self.policer(queue), frame);
            let rate = self.tokens.rate;
            self.drain.depart(cx.now, left, bank.total().packets, &mut self.tokens);
            if self.tokens.rate != rate {
                self.follow_threshold();
            }
        }
        Some(packet)
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        if self.params.follow == Follow::Link {
            self.tokens.fill(now);
            self.tokens.rate = rate;
            self.follow_threshold();
        }
    }

    /// The tokens stay. A bucket that becomes smaller loses the tokens for which it has no room.
    fn retune(&mut self, now: Time, fresh: &mut dyn Any) -> bool {
        let kept = |of: &Self| (of.params.follow, of.params.policers);
        let fits = |fresh: &&mut Self| kept(fresh) == kept(self);
        let Some(fresh) = fresh.downcast_mut::<Self>().filter(fits) else { return false };
        // A rate that follows the link or the packets is kept.
        let rate = if self.params.follow == Follow::Nothing {
            fresh.tokens.rate
        } else {
            self.tokens.rate
        };
        self.tokens.retune(now, rate, &fresh.tokens);
        std::mem::swap(&mut self.tokens, &mut fresh.tokens);
        fresh.drain = self.drain;
        if let (Some(own), Some(early)) = (&self.early, &mut fresh.early) {
            early.spacing = own.spacing;
        }
        std::mem::swap(self, fresh);
        self.follow_threshold();
        true
    }

    fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let mut tokens = self.tokens.clone();
        if !self.drain.busy {
            tokens.fill(now);
        }
        out("tokens", tokens.fewest());
        if self.params.ecn {
            out("debt", tokens.debt());
        }
        out("congestion", self.congestion.at(bank.total().bytes));
    }
}

#[cfg(test)]
mod tests;
