//! COBALT: CoDel that keeps its count between congested periods, and BLUE for unresponsive flows.
//!
//! Like CoDel, it drops or marks departing packets while they wait for longer than
//! `target`, at intervals that shrink with the square root of a count. When they do not, the count
//! falls at the same pace instead of being reset, so the next congested period begins where the
//! last one ended. BLUE's probability rises at each overflow and falls when the queue becomes
//! empty. BLUE drops packets without regard to ECN.
//!
//! Source: Linux 6.1, `sch_cake.c` (`cobalt_*`); T. Høiland-Jørgensen, D. Täht and J. Morton,
//! "Piece of CAKE", LANMAN 2018, section III-D. [`CobaltState`] and [`CobaltLaw`] are the algorithm
//! without a queue.
//!
//! | `sch_cake.c` | here |
//! |---|---|
//! | target, interval, p_inc, p_dec | `target`, `interval`, `increment`, `decrement` |
//! | count, rec_inv_sqrt, drop_next, dropping, p_drop, blue_timer | `count`, `root` and the same |
//! | mtu_time, bulk_flows | the port's largest packet at its rate; 1 |
//!
//! 1 / sqrt(count) has 32 bits: from a table for counts below 16, above from one step of Newton's
//! iteration, as in Linux. The count has 32 bits and stops at the highest. The first signal of a
//! queue is due at once, not after an interval, because Linux's 1 / sqrt(count) is 0 until the
//! count has changed.
//!
//! Deviations: D1. The queue counts as found empty when its last packet leaves; in Linux when it is
//! asked the next time, one transmission later. D2. On overflow the arriving packet is dropped;
//! CAKE drops one of the longest queue.
//!
//! Cost: a few comparisons per packet; two or three multiplications per signal; one random number
//! per packet while BLUE's probability is above 0.

use crate::Admit;
use crate::retune::retuned;
use forebay_core::config::{above_zero, require, within};
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Rate, Row,
    Setting, Time, params,
};
use std::any::Any;

/// COBALT, with one state for each queue.
pub struct Cobalt {
    law: CobaltLaw,
    setting: Setting,
    states: Row<CobaltState>,
}

params! {
    /// Parameters of COBALT.
    #[derive(Copy)]
    pub struct CobaltParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Acceptable standing delay; above 0, below `interval`; four transmissions of the largest
        /// packet are always acceptable. Default 5ms.
        pub target: Duration = Duration::from_millis(5),
        /// Time for which the delay must stay above the target before the first signal, about the
        /// largest usual round-trip time. Default 100ms.
        pub interval: Duration = Duration::from_millis(100),
        /// Step by which an overflow raises BLUE's probability, at most once in `target`, 0 to 1.
        /// Default 1/256.
        pub increment: f64 = 1.0 / 256.0,
        /// Step by which an empty queue lowers it, at most once in `target`, 0 to 1. Default
        /// 1/4096.
        pub decrement: f64 = 1.0 / 4096.0,
    }
}

/// The constant part of COBALT, except for the link's rate.
#[derive(Debug, Clone, Copy)]
pub struct CobaltLaw {
    params: CobaltParams,
    mtu_time: Duration,
}

impl CobaltLaw {
    /// The algorithm with these parameters on a port with `setting`. Their limit is not checked.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &CobaltParams, setting: &Setting) -> Result<Self, ConfigError> {
        CobaltLaw::with_mtu_time(params, setting.mtu_time())
    }

    /// The algorithm on a link where the largest packet takes `mtu_time`.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn with_mtu_time(params: &CobaltParams, mtu_time: Duration) -> Result<Self, ConfigError> {
        let CobaltParams { target, interval, increment, decrement, .. } = *params;
        above_zero("target", target)?;
        require(target < interval, "target", || {
            format!("must be below interval (\"{interval}\"), got \"{target}\"")
        })?;
        within("increment", increment, 0.0..=1.0)?;
        within("decrement", decrement, 0.0..=1.0)?;
        Ok(CobaltLaw { params: *params, mtu_time })
    }

    /// cobalt_control(): the signal after the one at `time`, after a share of the interval.
    fn next(&self, time: Time, root: u32) -> Time {
        let span = (u128::from(self.params.interval.as_nanos()) * u128::from(root)) >> 32;
        time + Duration::from_nanos(span as u64)
    }
}

/// 2^32 / sqrt(count) for the counts below 16, by Newton's iteration from the one before; those of
/// 0 and 1 are the highest number.
const ROOTS: [u32; 16] = {
    let mut roots = [u32::MAX; 16];
    let mut root = u32::MAX;
    let mut count = 1;
    while count < 16 {
        let mut step = 0;
        while step < 4 {
            root = nearer(root, count as u32);
            step += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
};

/// A step of Newton's iteration for 2^32 / sqrt(`count`): half of root (3 - count root^2).
const fn nearer(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let rest = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (rest.wrapping_mul(root as u64) >> 31) as u32
}

/// The variables of COBALT.
#[derive(Debug, Clone, Copy, Default)]
pub struct CobaltState {
    count: u32,
    /// 2^32 / sqrt(count), approximately.
    root: u32,
    drop_next: Time,
    dropping: bool,
    p_drop: f64,
    blue_timer: Time,
}

impl CobaltState {
    /// A packet was dropped because the buffer is full.
    pub fn full(&mut self, law: &CobaltLaw, now: Time) {
        if now.since(self.blue_timer) > law.params.target {
            self.p_drop = (self.p_drop + law.params.increment).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was served and is empty.
    pub fn empty(&mut self, law: &CobaltLaw, now: Time) {
        if self.p_drop > 0.0 && now.since(self.blue_timer) > law.params.target {
            self.p_drop = (self.p_drop - law.params.decrement).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_to(self.count - 1);
            self.drop_next = law.next(self.drop_next, self.root);
        }
    }

    /// The count changes by one, to `count`.
    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.root = match ROOTS.get(count as usize) {
            Some(root) => *root,
            None => nearer(self.root, count),
        };
    }

    /// Whether the state has nothing left that the next congested period would start from.
    pub fn at_rest(&self, now: Time) -> bool {
        self.p_drop == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Whether `packet`, which is about to leave, must be dropped. It may mark the packet. `flows`
    /// flows share the link.
    pub fn must_drop(
        &mut self,
        law: &CobaltLaw,
        packet: &mut Packet,
        flows: u64,
        cx: &mut Context,
    ) -> bool {
        let now = cx.now;
        let sojourn = now.since(packet.queued);
        let over = sojourn > law.params.target && sojourn > law.mtu_time * (2 * flows).max(4);
        let mut due = self.count > 0 && now >= self.drop_next;
        if over && !self.dropping {
            self.drop_next = law.next(now, self.root);
        }
        self.dropping = over;
        if over {
            self.count = self.count.max(1);
        }
        let mut drop = false;
        // Whether `drop_next` has passed.
        let mut late = now > self.drop_next;
        if due && over {
            drop = !cx.mark(packet);
            self.count_to(self.count.saturating_add(1));
            self.drop_next = law.next(self.drop_next, self.root);
            late = now > self.drop_next;
        } else {
            while due {
                self.count_to(self.count - 1);
                self.drop_next = law.next(self.drop_next, self.root);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.p_drop > 0.0 {
            drop |= cx.rng.chance(self.p_drop);
        }
        if self.count == 0 {
            self.drop_next = now + law.params.interval;
        } else if late && !drop {
            self.drop_next = now;
        }
        drop
    }
}

impl Named for Cobalt {
    type Family = dyn Admit;
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str = "CoDel that remembers its count, and BLUE after overflows";
    const SOURCE: &'static str = "Linux 6.1, sch_cake.c; Høiland-Jørgensen et al., LANMAN 2018";
    type Params = CobaltParams;

    fn build(params: &CobaltParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        above_zero("limit", params.limit)?;
        let law = CobaltLaw::new(params, setting)?;
        let states = Row::new(CobaltState::default(), setting.queues);
        Ok(Box::new(Cobalt { law, setting: *setting, states }))
    }
}

impl Admit for Cobalt {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let room = bank.room(queue, self.law.params.limit, packet.len);
        room.inspect_err(|_| self.states[queue].full(&self.law, cx.now))
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let state = &mut self.states[queue];
        loop {
            let mut packet = bank.pop(queue)?;
            let drop = state.must_drop(&self.law, &mut packet, 1, cx);
            if bank.packets(queue) == 0 {
                // The last packet of a queue is never dropped.
                state.empty(&self.law, cx.now);
                return Some(packet);
            }
            if !drop {
                return Some(packet);
            }
            cx.drop(packet, DropReason::Aqm);
        }
    }

    fn set_link_rate(&mut self, _: Time, rate: Rate) {
        // In an outage no packet leaves, so the time does not matter.
        if rate.bps() > 0 {
            self.law.mtu_time = self.setting.with_rate(rate).mtu_time();
        }
    }

    /// Shows the queue with the highest count.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(state) = self.states.iter().max_by_key(|state| state.count) {
            out("count", f64::from(state.count));
            out("blue_probability", state.p_drop);
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.states)
    }
}

#[cfg(test)]
mod tests;
