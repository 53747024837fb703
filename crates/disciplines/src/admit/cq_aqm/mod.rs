//! CQ-AQM: cross-queue active queue management for precedence and preemption.
//!
//! A packet has a QoS class, which chooses its queue, and a precedence, which says how important
//! its content is. A queue that fills up denies entry to low precedence (locally). If it fills
//! further, it pleads to the queues served before it to drop low precedence too. So important
//! content in a slow class does not lose to unimportant content in a fast class.
//!
//! Source: the paper's section II (two queues, two precedences). The paper announces the
//! generalisation to Q queues and P precedences; it is defined here.
//!
//! | code | paper |
//! |---|---|
//! | queue, `packet.precedence` | q (higher is served first), p (higher is more important) |
//! | `limit` | B_low, B_high, in packets |
//! | `local` | T^(local), for each precedence but the highest |
//! | `local_lower` | the lower of the two thresholds of footnote 1 |
//! | `non_local` | T^(non-local), for each precedence but the highest |
//!
//! With n packets in queue q, and for each precedence p but the highest, which only a full queue
//! refuses:
//! - *denial*: set when n >= local\[p\], cleared when n < local_lower\[p\]. While set, p is refused by
//!   queue q.
//! - *plea*: set when n >= non_local\[p\], cleared with the denial. While set, p is refused by every
//!   queue above q.
//!
//! Thresholds interleave: local_lower\[p\] <= local\[p\] <= non_local\[p\] <= local\[p + 1\] <= limit, and
//! local_lower\[p\] <= local_lower\[p + 1\]. This gives **no precedence inversion**: at no instant does
//! queue i refuse p while queue i or any queue above it would admit a p' < p, provided that no
//! plea is switched off (D1). For if i is full, it has passed every non_local threshold, so all
//! its pleas are set; if it denies p, it has passed local\[p\] >= non_local\[p'\] and not gone below
//! local_lower\[p\] >= local_lower\[p'\] since, so its plea for p' is set; and if k < i pleads for p, it
//! pleads for p' for the same reason.
//!
//! The plea runs upward only. Under strict priority, p = 0 that a lower queue admits takes nothing
//! from a higher queue, but for the packet in transmission. Under WRR and DRR the statement holds
//! word for word, but a lower queue also takes a share: while queue i refuses p = 1, a queue below
//! may serve p = 0, yet no faster than the share that its weight reserves for it, which queue i
//! could never claim; queue i keeps its own share in full.
//!
//! Deviations
//! - D1: a threshold equal to the limit is off. Taken literally, a low queue at
//!   T_low^(non-local) = B_low would still silence the high queue when full, while the paper says
//!   that thresholds at the buffer size recover two plain finite priority queues.
//! - D2: a plea reaches every queue above at once; a queue pleaded to counts as in distress and
//!   passes the plea on. Were it to reach the next queue only, until that one fills up too, the
//!   third could admit p = 0 while the first refuses p = 1.
//! - D3: with two local thresholds a plea ends at the lower one, where the denial ends; ending it
//!   at the upper one would allow inversion with three precedences.
//!
//! Thresholds for more than two precedences, or for all queues, may be generated from two or three
//! numbers ([`SharesParams`]). With [`AdaptiveParams`] they follow the traffic.
//!
//! Cost: a comparison or two for each precedence at each arrival and departure. When a plea ends,
//! each queue above is checked.

mod adapt;
mod params;
mod spread;

pub use adapt::AdaptiveParams;
pub use params::{CqAqmParams, CqQueueParams, SharesParams};

use adapt::Reserve;

use crate::Admit;
use forebay_core::config::require;
use forebay_core::{
    Bank, Conduct, ConfigError, Context, DropReason, Named, Packet, QueueId, Setting, Time,
};

/// The thresholds of all queues and precedences, and their state.
pub struct CqAqm {
    queues: Vec<Queue>,
    /// For each precedence but the highest: the lowest queue whose plea is set, which reaches
    /// furthest.
    lowest_plea: Vec<QueueId>,
}

struct Queue {
    limit: usize,
    levels: Vec<Level>,
    /// The adaptation, if thresholds follow the traffic.
    reserve: Option<Reserve>,
}

const NO_PLEA: QueueId = QueueId::MAX;

/// Thresholds and state of one precedence in one queue.
struct Level {
    local_lower: usize,
    local: usize,
    non_local: Option<usize>,
    denied: bool,
    pleading: bool,
}

impl Level {
    /// Sets denials and pleas whose threshold `packets` packets have passed.
    #[inline]
    fn rise(&mut self, packets: usize) {
        self.denied |= packets >= self.local;
        self.pleading |= self.non_local.is_some_and(|threshold| packets >= threshold);
    }

    /// Clears those that end below `local_lower`. Returns true if a plea ended.
    #[inline]
    fn fall(&mut self, packets: usize) -> bool {
        packets < self.local_lower && {
            self.denied = false;
            std::mem::take(&mut self.pleading)
        }
    }
}

impl CqAqm {
    /// CQ-AQM with these (resolved) parameters in a bank of `queues` queues.
    ///
    /// # Errors
    /// Names the threshold that is out of order or above the buffer size.
    pub fn new(params: &CqAqmParams, queues: usize) -> Result<Self, ConfigError> {
        params.check()?;
        require(params.queues.len() == queues, "queues", || {
            format!("must be one for each of the {queues} queues, got {}", params.queues.len())
        })?;
        let levels = usize::from(params.precedences) - 1;
        let law = params.adaptive.as_ref();
        let build = |(index, queue): (usize, &CqQueueParams)| {
            queue.build(levels, law).map_err(|error| error.within(&format!("queues[{index}]")))
        };
        let queues = params.queues.iter().enumerate().map(build).collect::<Result<_, _>>()?;
        Ok(CqAqm { queues, lowest_plea: vec![NO_PLEA; levels] })
    }

    /// Adapts the thresholds of `queue` to the traffic, whose latest packet is `packet`.
    fn follow(&mut self, queue: QueueId, precedence: u8, bank: &Bank, now: Time) {
        let state = &mut self.queues[queue];
        let Some(reserve) = &mut state.reserve else { return };
        let packets = bank.packets(queue);
        if usize::from(precedence) >= state.levels.len() {
            reserve.see(packets);
        }
        if !reserve.due(now) {
            return;
        }
        let levels = state.levels.len();
        let spread = reserve.adjust(now, levels);
        for (p, level) in state.levels.iter_mut().enumerate() {
            level.set(spread.level(p, levels), spread.limit);
            level.rise(packets);
            level.fall(packets);
        }
        for p in 0..levels {
            self.lowest_plea[p] = self.pleading_from(0, p);
        }
    }

    /// The lowest queue, from `queue` upward, that pleads for precedence `p`.
    fn pleading_from(&self, queue: QueueId, p: usize) -> QueueId {
        let pleads = |at: &QueueId| self.queues[*at].levels[p].pleading;
        (queue..self.queues.len()).find(pleads).unwrap_or(NO_PLEA)
    }

    /// The reason for which `queue` would refuse a packet of `precedence` now; None if it would admit
    /// it.
    #[inline]
    pub fn refusal(&self, queue: QueueId, precedence: u8, bank: &Bank) -> Option<DropReason> {
        let state = &self.queues[queue];
        if bank.packets(queue) >= state.limit {
            return Some(DropReason::Overflow);
        }
        let level = state.levels.get(usize::from(precedence))?;
        let pleaded = self.lowest_plea[usize::from(precedence)] < queue;
        (level.denied || pleaded).then_some(DropReason::Preempted)
    }
}

impl Named for CqAqm {
    type Family = dyn Admit;
    const NAME: &'static str = "cq-aqm";
    const SUMMARY: &'static str = "precedence thresholds across queues";
    const SOURCE: &'static str = "CQ-AQM paper, section II";
    const FACTS: Conduct = Conduct::PART;
    type Params = CqAqmParams;

    fn resolve(params: &mut CqAqmParams, setting: &Setting) {
        params.resolve(setting.queues);
    }

    fn build(params: &CqAqmParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(CqAqm::new(params, setting.queues)?))
    }
}

impl Admit for CqAqm {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let precedence = packet.precedence;
        let follows = self.queues[queue].reserve.is_some();
        if follows {
            self.follow(queue, precedence, bank, cx.now);
        }
        let refusal = self.refusal(queue, precedence, bank);
        if follows
            && precedence == 0
            && let Some(reserve) = &mut self.queues[queue].reserve
        {
            reserve.see_lowest(refusal.is_some());
        }
        refusal.map_or(Ok(()), Err)
    }

    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &mut Bank, _: &mut Context) {
        let packets = bank.packets(queue);
        for (level, lowest) in self.queues[queue].levels.iter_mut().zip(&mut self.lowest_plea) {
            level.rise(packets);
            if level.pleading {
                *lowest = (*lowest).min(queue);
            }
        }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, _: &mut Context) -> Option<Packet> {
        let packet = bank.pop(queue);
        let packets = bank.packets(queue);
        for p in 0..self.lowest_plea.len() {
            if self.queues[queue].levels[p].fall(packets) && self.lowest_plea[p] == queue {
                self.lowest_plea[p] = self.pleading_from(queue + 1, p);
            }
        }
        packet
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let levels = || self.queues.iter().flat_map(|queue| &queue.levels);
        out("denials", levels().filter(|level| level.denied).count() as f64);
        out("pleas", levels().filter(|level| level.pleading).count() as f64);
        let mut reserves = self.queues.iter().filter_map(|queue| queue.reserve.as_ref());
        if let Some(lowest) = reserves.next() {
            out("reserve", lowest.packets());
        }
    }
}

#[cfg(test)]
mod tests;
