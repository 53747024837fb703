//! CoDel: drops departing packets while the sojourn time stays above a target.
//!
//! Every departing packet's sojourn time is compared with `target`. Once it has been
//! at or above it for a whole `interval`, packets are dropped at instants that come closer as
//! interval / sqrt(count), until a sojourn below the target is seen.
//!
//! Source: RFC 8289, section 5 (pseudo-code). [`CodelState`] and [`CodelLaw`] are the algorithm
//! without a queue: `codel` has one state, `fq-codel` one for each flow.
//!
//! | RFC 8289 | here |
//! |---|---|
//! | TARGET, INTERVAL | `target`, `interval` |
//! | maxpacket_ | the port's mtu |
//! | first_above_time_ | `first_above`; None for 0 |
//! | drop_next_, count_, lastcount_, dropping_ | the same |
//!
//! Deviations: D1. The square root is exact (IEEE double) and time is in ns. Linux has a root of 16
//! bits, for which it makes one step of Newton's iteration at every drop, so the third drop comes
//! half an interval after the second; its clock has 1024 ns. D2. With `ecn`, a packet that can be
//! marked is marked and sent instead of dropped, and counts as a drop, as in Linux; the RFC leaves
//! marking open. D3. maxpacket_ is always the mtu; ns-2 learns it. D4. With
//! `backlog = "all"`, the backlog compared with it is that of all queues, as in Linux's fq_codel. D5.
//! `ce_threshold` is not in the RFC. It is Linux's (`codel_dequeue`, since 4.1), in ns, as a rule
//! around this one ([`CeThreshold`]).
//!
//! Cost: a few comparisons per packet; one square root and one division per drop.

use crate::Admit;
use crate::admit::{CeThreshold, CeThresholdParams};
use crate::retune::retuned;
use forebay_core::config::{above_zero, require};
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Row, Setting,
    Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Controlled delay, with one state for each queue.
pub struct Codel {
    law: CodelLaw,
    states: Row<CodelState>,
}

/// Whose bytes a rule counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BacklogOf {
    /// Those of the packet's own queue (RFC 8290, section 4.2.2).
    #[default]
    Own,
    /// Those of all queues (Linux 6.1, `codel_should_drop` as `fq_codel_dequeue` calls it).
    All,
}

params! {
    /// Parameters of CoDel.
    #[derive(Copy)]
    pub struct CodelParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Acceptable standing delay (TARGET); above 0, below `interval`. Default 5ms (RFC 8289,
        /// section 4.4).
        pub target: Duration = Duration::from_millis(5),
        /// Time for which the delay must stay above the target before the first drop (INTERVAL),
        /// about the largest usual round-trip time. Default 100ms (RFC 8289, section 4.3).
        pub interval: Duration = Duration::from_millis(100),
        /// Whether packets of ECN-capable transports are marked rather than dropped.
        pub ecn: bool = false,
        /// The bytes that must exceed the link's MTU before a packet can be dropped or marked:
        /// those of its own queue, or those of all queues. With `all`, short queues beside long ones
        /// also lose packets, as in Linux's fq_codel.
        pub backlog: BacklogOf = BacklogOf::Own,
        /// Sojourn time above which every packet of an ECN-capable transport is marked when it
        /// leaves, regardless of CoDel's state, as DCTCP needs it; never if absent (Linux's
        /// `ce_threshold`).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ce_threshold: Option<Duration> = None,
    }
}

/// The constant part of CoDel.
#[derive(Debug, Clone, Copy)]
pub struct CodelLaw {
    params: CodelParams,
    max_packet: u64,
}

impl CodelLaw {
    /// The algorithm with these parameters on a port with that mtu.
    ///
    /// # Errors
    /// A target of zero, or not below the interval.
    pub fn new(params: &CodelParams, setting: &Setting) -> Result<Self, ConfigError> {
        let CodelParams { target, interval, .. } = *params;
        above_zero("target", target)?;
        require(target < interval, "target", || {
            format!("must be below interval (\"{interval}\"), got \"{target}\"")
        })?;
        Ok(CodelLaw { params: *params, max_packet: u64::from(setting.mtu) })
    }

    /// control_law: the time of the drop after the `count`-th one, which was at `time`.
    #[inline]
    fn next(&self, time: Time, count: u32) -> Time {
        let span = self.params.interval.as_nanos() as f64 / f64::from(count).sqrt();
        time + Duration::from_nanos(span as u64)
    }
}

/// The variables of CoDel.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodelState {
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    /// Takes the next packet of `queue`, dropping or marking as the law says; None if that leaves
    /// the queue empty.
    #[inline]
    pub fn dequeue(
        &mut self,
        law: &CodelLaw,
        queue: QueueId,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Option<Packet> {
        let now = cx.now;
        let (mut packet, mut ok_to_drop) = self.look(law, queue, bank, now)?;
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if law.params.ecn && cx.mark(&mut packet) {
                    self.drop_next = law.next(self.drop_next, self.count);
                    return Some(packet);
                }
                cx.drop(packet, DropReason::Aqm);
                let Some(following) = self.look(law, queue, bank, now) else {
                    self.dropping = false;
                    return None;
                };
                (packet, ok_to_drop) = following;
                if ok_to_drop {
                    self.drop_next = law.next(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
            return Some(packet);
        }
        if !ok_to_drop {
            return Some(packet);
        }
        let packet = if law.params.ecn && cx.mark(&mut packet) {
            Some(packet)
        } else {
            cx.drop(packet, DropReason::Aqm);
            self.look(law, queue, bank, now).map(|(packet, _)| packet)
        };
        self.dropping = true;
        // If the last dropping state is recent, its rate is a good start.
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < law.params.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = law.next(now, self.count);
        self.last_count = self.count;
        packet
    }

    /// dodequeue: the next packet, and whether it may be dropped.
    #[inline]
    fn look(
        &mut self,
        law: &CodelLaw,
        queue: QueueId,
        bank: &mut Bank,
        now: Time,
    ) -> Option<(Packet, bool)> {
        let Some(packet) = bank.pop(queue) else {
            self.first_above = None;
            return None;
        };
        let backlog = match law.params.backlog {
            BacklogOf::Own => bank.bytes(queue),
            BacklogOf::All => bank.total().bytes,
        };
        if now.since(packet.queued) < law.params.target || backlog <= law.max_packet {
            self.first_above = None;
            return Some((packet, false));
        }
        let ok_to_drop = match self.first_above {
            None => {
                self.first_above = Some(now + law.params.interval);
                false
            }
            Some(time) => now >= time,
        };
        Some((packet, ok_to_drop))
    }

    /// Number of drops since the dropping state began, including the number with which it began.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the delay has stayed above the target.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }
}

impl Codel {
    /// CoDel with these parameters, without `ce_threshold`, which is a rule around it.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &CodelParams, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        let law = CodelLaw::new(params, setting)?;
        let states = Row::new(CodelState::default(), setting.queues);
        Ok(Codel { law, states })
    }
}

impl Named for Codel {
    type Family = dyn Admit;
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str = "controlled delay: drop while packets wait too long";
    const SOURCE: &'static str = "RFC 8289, section 5";
    type Params = CodelParams;

    fn build(params: &CodelParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let ce_threshold = params.ce_threshold;
        let marks = CeThresholdParams { ce_threshold, ce_threshold_l4s: false };
        Ok(Box::new(CeThreshold::new(&marks, Codel::new(params, setting)?)))
    }
}

impl Admit for Codel {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        _: &mut Context,
    ) -> Result<(), DropReason> {
        // The state is allocated at the arrival, as the bank's is, so that departures allocate nothing.
        self.states.touch(queue);
        bank.room(queue, self.law.params.limit, packet.len)
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        self.states[queue].dequeue(&self.law, queue, bank, cx)
    }

    /// `count` is the largest of all queues.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let dropping = self.states.iter().filter(|state| state.is_dropping()).count();
        out("queues_dropping", dropping as f64);
        out("count", f64::from(self.states.iter().map(CodelState::count).max().unwrap_or(0)));
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Disciplines;
    use crate::fixture::{Rig, SETTING, ms, us};
    use forebay_core::Ecn;
    use serde_json::json;

    /// A standing queue: a packet arrives and one leaves every millisecond from `from` on, with a
    /// sojourn of `depth` milliseconds. Returns the millisecond of every drop.
    fn stand(rig: &mut Rig, from: u64, until: u64, depth: u64) -> Vec<u64> {
        let mut at = Vec::new();
        for now in from..until {
            rig.offer(ms(now), |_| {});
            while rig.held() as u64 > depth {
                let before = rig.record.dropped.len();
                rig.take(ms(now));
                at.extend(vec![now; rig.record.dropped.len() - before]);
            }
        }
        at
    }

    #[test]
    fn drops_come_at_the_instants_of_the_control_law() {
        // A queue that never empties: sojourn times are far above the target from the first look
        // at t = 0 on, so dropping begins at 100 ms. Then drop n + 1 comes interval / sqrt(n) after
        // drop n; a packet is looked at every 100 us.
        let mut rig = Rig::new(json!({ "kind": "codel", "limit": "1000000p" }));
        for _ in 0..20_000 {
            rig.offer(Time::ZERO, |_| {});
        }
        let start = 1_000_000;
        let mut at = Vec::new();
        for look in 0..10_000_u64 {
            let now = us(start + look * 100);
            rig.take(now);
            for _ in rig.drops() {
                at.push(now.since(us(start)).as_nanos());
            }
        }
        // 100 ms, then + 100, + 100/sqrt(2) = 70.71, + 57.735, + 50, + 44.721, + 40.825, ... ms.
        let by_hand: [u64; 8] = [
            100_000_000,
            200_000_000,
            270_710_678,
            328_445_704,
            378_445_704,
            423_167_064,
            463_991_893,
            501_788_340,
        ];
        for (got, want) in at.iter().zip(by_hand) {
            // Looked at within 100 us after the instant.
            assert!(*got >= want && *got < want + 100_000, "{got} {want}");
        }
        assert!(at.len() > 15);
    }

    #[test]
    fn above_a_threshold_every_packet_that_understands_marks_is_marked() {
        let mut rig = Rig::new(json!({ "kind": "codel", "ce_threshold": "3ms" }));
        for (number, wait) in [2, 3, 4, 5].into_iter().enumerate() {
            let came = 10 * (number as u64 + 1);
            rig.offer(ms(came), |packet| packet.set_ecn(Ecn::Ect0));
            rig.offer(ms(came), |_| {});
            for _ in 0..2 {
                rig.take(ms(came + wait));
            }
        }
        // Only the fifth and the seventh packet: both ECN-capable, after 4 and 5 ms.
        assert_eq!((rig.record.marked, rig.record.dropped.len()), (vec![4, 6], 0));
    }

    #[test]
    fn a_burst_shorter_than_the_interval_is_left_alone() {
        let mut rig = Rig::new(json!({ "kind": "codel" }));
        assert!(stand(&mut rig, 0, 100, 20).is_empty());
        while rig.take(ms(100)).is_some() {}
        assert!(stand(&mut rig, 101, 200, 20).is_empty());
    }

    #[test]
    fn a_delay_below_the_target_or_one_packet_of_the_largest_size_is_left_alone() {
        let mut rig = Rig::new(json!({ "kind": "codel" }));
        assert!(stand(&mut rig, 0, 2000, 4).is_empty());
        // One 1000-byte packet left behind is below the mtu of 1500, however long it waits.
        let mut rig = Rig::new(json!({ "kind": "codel" }));
        rig.offer(ms(0), |_| {});
        for turn in 1..50 {
            rig.offer(ms(turn * 50), |_| {});
            rig.take(ms(turn * 50 + 49));
        }
        assert!(rig.drops().is_empty());
    }

    #[test]
    fn dropping_resumes_at_the_rate_it_had() {
        let mut rig = Rig::new(json!({ "kind": "codel" }));
        let first = stand(&mut rig, 0, 600, 20);
        // First look at 20 ms, dropping from 120 ms: 120, 220, 290.7, 348.4, 398.4, 443.2, 484.0,
        // 521.8, 557.1, 590.5, each seen at the next whole millisecond.
        assert_eq!(first, [120, 220, 291, 349, 399, 444, 484, 522, 558, 591]);
        while rig.take(ms(600)).is_some() {}
        // Within 16 intervals: delta = 10 - 1 = 9 drops, so the second gap is 100/3 ms. The packet
        // that meets the target again resets the clock: 620 + 100.
        let again = stand(&mut rig, 600, 800, 20);
        assert_eq!(again[..2], [720, 754]);
    }

    #[test]
    fn after_a_long_calm_dropping_starts_afresh() {
        let mut rig = Rig::new(json!({ "kind": "codel" }));
        stand(&mut rig, 0, 600, 20);
        while rig.take(ms(600)).is_some() {}
        // drop_next was 622.5 ms; 16 intervals after it the count is forgotten.
        let again = stand(&mut rig, 3000, 3250, 20);
        assert_eq!(again, [3120, 3220]);
    }

    #[test]
    fn marks_take_the_place_of_drops() {
        let mut rig = Rig::new(json!({ "kind": "codel", "ecn": true }));
        for now in 0..600 {
            rig.offer(ms(now), |p| p.set_ecn(Ecn::Ect0));
            if now >= 20 {
                rig.take(ms(now));
            }
        }
        assert_eq!((rig.record.marked.len(), rig.record.dropped.len()), (10, 0));
    }

    #[test]
    fn the_limit_overflows_and_a_wrong_target_is_refused() {
        let mut rig = Rig::new(json!({ "kind": "codel", "limit": "2p" }));
        for _ in 0..3 {
            rig.offer(ms(0), |_| {});
        }
        assert_eq!(rig.record.dropped, [(2, DropReason::Overflow)]);
        for block in [
            json!({ "kind": "codel", "target": "0ms" }),
            json!({ "kind": "codel", "target": "100ms" }),
        ] {
            assert_eq!(
                Disciplines::builtin().build(&block, &SETTING).err().unwrap().path,
                "target"
            );
        }
    }
}
