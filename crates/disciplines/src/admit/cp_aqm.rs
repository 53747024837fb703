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
//!   its transport understands that, and costs nothing, as a dropped one: so the marking rate is the
//!   dropping rate that the same arrivals would have met, and a mark means what a drop means (RFC
//!   3168, section 5). Charging it would leave none for the packets that are not marked.
//! - D5: where capacity varies, which the paper leaves open, `follow` keeps R_CA = C. Either the
//!   link tells its rate, or each departing packet pays back its size on the wire to the bucket.
//!   While packets wait, this gives the tokens of R_CA = C for any C, without an estimate and its
//!   lag. While none wait, the bucket fills at the rate at which the last packets left.
//! - D6: `policers` and `occupancy` are not in the paper. They give a policer to each user or flow,
//!   and a CP-AQM to each queue under fair scheduling. `limit` is still that of the whole port.
//!
//! Cost: a refill per packet and, in congestion, one 128-bit division.

use super::policers::{BYTE, Policers};
use crate::Admit;
use forebay_core::config::{above_zero, require, within};
use forebay_core::{
    Bank, Bytes, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Rate, Setting,
    Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Admits packets for which the buffer has room and the congestion allowance has tokens.
pub struct CpAqm {
    params: CpAqmParams,
    congestion: Congestion,
    overhead: u32,
    drain: Drain,
    tokens: Policers,
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
        /// size ("5p", the paper's recommendation) or bytes; 0 to `limit`.
        pub threshold: Limit = Limit::Packets(5),
        /// Congestion of a full queue (c_max; equation 1), 1 to 1000; the paper recommends 1.2. At
        /// 1 the policer drops nothing.
        pub max_congestion: f64 = 1.2,
        /// Congestion allowance rate (R_CA; section 3.3). Default: the link's rate.
        pub rate: Option<Rate> = None,
        /// What the allowance rate follows if the capacity varies: "nothing"; "link", the rate that
        /// the link tells; or "drain", the packets that leave the queue, with `rate` until their
        /// rate is known. With a policer for each queue, "drain" gives each bucket the rate at
        /// which the scheduler serves its queue.
        pub follow: Follow = Follow::default(),
        /// Bucket size (B_CA; section 3.3), above 0 to 2 GB. Default: 1.5 Q_max times the largest
        /// packet on the wire over the same without overhead, and one packet more if the threshold
        /// is 0.
        pub bucket: Option<Bytes> = None,
        /// Whether packets that the policer refuses are marked, where their transport understands
        /// it.
        pub ecn: bool = false,
        /// What a policer meters (not in the paper): "port", all traffic; or "queue", where each
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

impl CpAqmParams {
    /// Fills in the allowance rate and the bucket size, if they are not given.
    pub fn resolve(&mut self, setting: &Setting) {
        self.rate.get_or_insert(setting.rate);
        if self.bucket.is_none() {
            let mtu = u64::from(setting.mtu);
            let frame = mtu + u64::from(setting.overhead);
            let factor = ((1.0 + self.max_congestion) / 2.0).max(1.5);
            let frames = bytes(self.limit, setting.mtu) as f64 * frame as f64 / mtu as f64;
            let one_more = if bytes(self.threshold, setting.mtu) == 0 { frame } else { 0 };
            self.bucket = Some(Bytes(((frames * factor).round() as u64).saturating_add(one_more)));
        }
    }
}

impl CpAqm {
    /// CP-AQM with these (resolved) parameters.
    ///
    /// # Errors
    /// A limit of zero, a threshold above it, c_max outside 1 to 1000, a bucket of zero or above
    /// 2 GB.
    pub fn new(params: &CpAqmParams, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        let capacity = bytes(params.limit, setting.mtu);
        let threshold = bytes(params.threshold, setting.mtu);
        require(threshold <= capacity, "threshold", || {
            format!("must be at most `limit` (\"{}\"), got \"{}\"", params.limit, params.threshold)
        })?;
        let most = params.max_congestion;
        within("max_congestion", most, 1.0..=1000.0)?;
        let mut params = params.clone();
        params.resolve(setting);
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
            overhead: setting.overhead,
            drain: Drain::default(),
            tokens: Policers::new(buckets, params.rate.unwrap_or(setting.rate), bucket.0),
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
        if self.tokens.take(self.policer(queue), cost) || self.params.ecn && cx.mark(packet) {
            Ok(())
        } else {
            Err(DropReason::Policed)
        }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let packet = bank.pop(queue)?;
        if self.params.follow == Follow::Drain {
            let frame = u64::from(packet.len + self.overhead);
            let left = (self.policer(queue), frame);
            self.drain.depart(cx.now, left, bank.total().packets, &mut self.tokens);
        }
        Some(packet)
    }

    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        if self.params.follow == Follow::Link {
            self.tokens.fill(now);
            self.tokens.rate = rate;
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
        std::mem::swap(self, fresh);
        true
    }

    fn probe(&self, now: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let mut tokens = self.tokens.clone();
        if !self.drain.busy {
            tokens.fill(now);
        }
        out("tokens", tokens.fewest());
        out("congestion", self.congestion.at(bank.total().bytes));
    }
}

#[cfg(test)]
mod tests;
