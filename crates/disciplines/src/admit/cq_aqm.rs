//! CQ-AQM: cross-queue active queue management for precedence and preemption.
//!
//! A packet has a QoS class, which decides its queue, and a precedence, which says how important
//! its content is. A queue that fills up denies entry to low precedence (locally), and when it is
//! in distress pleads to the queues served before it to drop low precedence too, so that what is
//! important and slow does not lose to what is unimportant and fast.
//!
//! Source: the paper's section II (two queues, two precedences); the generalisation to Q queues
//! and P precedences is announced there, and defined here.
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
//! Cost: a comparison or two for each precedence at each arrival and departure; when a plea ends, a
//! look at each queue above.

use crate::registry::Named;
use crate::{Admit, OneOrEach};
use forebay_core::config::require;
use forebay_core::{Bank, ConfigError, Context, DropReason, Limit, Packet, QueueId, Setting, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thresholds across queues.
pub struct CqAqm {
    queues: Vec<Queue>,
    /// For each precedence but the highest: the lowest queue whose plea is set; it reaches furthest.
    lowest_plea: Vec<QueueId>,
}

struct Queue {
    limit: usize,
    levels: Vec<Level>,
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

/// Thresholds of one queue.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CqQueueParams {
    /// Room in the queue, in packets ("750p"), above 0 (B_low, B_high; section II).
    pub limit: Limit,
    /// Packets from which on the queue denies entry (T^(local), section II): a number for p = 0, or
    /// a list for each precedence but the highest. 1 to `limit`. Default: `limit`, which is off.
    pub local: Option<OneOrEach<u32>>,
    /// Packets below which a denial, and the plea with it, ends (footnote 1); a number or a list
    /// as for `local`. 1 to `local`. Default: `local`.
    pub local_lower: Option<OneOrEach<u32>>,
    /// Packets from which on the queue pleads to those above it (T^(non-local), section II); a
    /// number or a list as for `local`. From `local` to the next precedence's `local`; or `limit`,
    /// which is off, and the default.
    pub non_local: Option<OneOrEach<u32>>,
}

/// Parameters of CQ-AQM.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CqAqmParams {
    /// Number of precedences (P), 2 to 8; packets beyond count as the highest.
    pub precedences: u8,
    /// One entry a queue, lowest first. Default: for each queue the thresholds of the
    /// low queue in the paper's mixed experiment (section IV): limit "750p", local 500, non_local
    /// 650.
    pub queues: Vec<CqQueueParams>,
}

impl Default for CqAqmParams {
    fn default() -> Self {
        CqAqmParams { precedences: 2, queues: Vec::new() }
    }
}

impl CqQueueParams {
    /// A queue of `limit` packets with thresholds for p = 0; None is off.
    pub fn new(limit: u32, local: Option<u32>, non_local: Option<u32>) -> Self {
        CqQueueParams {
            limit: Limit::Packets(limit),
            local: local.map(OneOrEach::One),
            local_lower: None,
            non_local: non_local.map(OneOrEach::One),
        }
    }

    /// Fills in the thresholds that are not given.
    fn resolve(&mut self) {
        let Limit::Packets(limit) = self.limit else { return };
        let local = self.local.get_or_insert(OneOrEach::One(limit)).clone();
        self.local_lower.get_or_insert(local);
        self.non_local.get_or_insert(OneOrEach::One(limit));
    }

    /// The queue with these thresholds, for `levels` precedences below the highest.
    fn build(&self, levels: usize) -> Result<Queue, ConfigError> {
        let mut params = self.clone();
        params.resolve();
        let Limit::Packets(limit) = params.limit else {
            let message = format!("must be in packets such as \"750p\", got \"{}\"", self.limit);
            return Err(ConfigError::new("limit", message));
        };
        require(limit > 0, "limit", || "must be above 0, got \"0p\"".into())?;
        let expand = |thresholds: Option<OneOrEach<u32>>, path: &str| match thresholds {
            Some(list) => list.expand(levels, path, "precedences below the highest"),
            None => Ok(vec![limit; levels]),
        };
        let local = expand(params.local, "local")?;
        let lower = expand(params.local_lower, "local_lower")?;
        let non_local = expand(params.non_local, "non_local")?;
        for p in 0..levels {
            let next = *local.get(p + 1).unwrap_or(&limit);
            let within = |value: u32, path: &str, least: u32, most: u32, bounds: &str| {
                require((least..=most).contains(&value), path, || {
                    format!("must be {least} to {most} ({bounds}) for p = {p}, got {value}")
                })
            };
            within(local[p], "local", 1, next, "the next precedence's or the limit")?;
            let most = local[p].min(*lower.get(p + 1).unwrap_or(&limit));
            within(lower[p], "local_lower", 1, most, "`local` and the next precedence's")?;
            let bounds = "from `local` to the next precedence's, or the limit, which is off";
            if non_local[p] != limit {
                within(non_local[p], "non_local", local[p], next, bounds)?;
            }
        }
        let level = |p: usize| Level {
            local_lower: lower[p] as usize,
            local: local[p] as usize,
            non_local: (non_local[p] < limit).then_some(non_local[p] as usize),
            denied: false,
            pleading: false,
        };
        Ok(Queue { limit: limit as usize, levels: (0..levels).map(level).collect() })
    }
}

impl CqAqmParams {
    /// Fills in the thresholds that are not given, for `queues` queues.
    pub fn resolve(&mut self, queues: usize) {
        if self.queues.is_empty() {
            self.queues = vec![CqQueueParams::new(750, Some(500), Some(650)); queues];
        }
        self.queues.iter_mut().for_each(CqQueueParams::resolve);
    }
}

impl CqAqm {
    /// CQ-AQM with these (resolved) parameters in a bank of `queues` queues.
    ///
    /// # Errors
    /// Names the threshold that is out of order or above the buffer size.
    pub fn new(params: &CqAqmParams, queues: usize) -> Result<Self, ConfigError> {
        let precedences = params.precedences;
        require((2..=8).contains(&precedences), "precedences", || {
            format!("must be 2 to 8, got {precedences}")
        })?;
        require(params.queues.len() == queues, "queues", || {
            format!("must be one for each of the {queues} queues, got {}", params.queues.len())
        })?;
        let levels = usize::from(precedences) - 1;
        let build = |(index, queue): (usize, &CqQueueParams)| {
            queue.build(levels).map_err(|error| error.within(&format!("queues[{index}]")))
        };
        let queues = params.queues.iter().enumerate().map(build).collect::<Result<_, _>>()?;
        Ok(CqAqm { queues, lowest_plea: vec![NO_PLEA; levels] })
    }

    /// Why `queue` would refuse a packet of `precedence` now; None if it would admit it.
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

impl Named<dyn Admit> for CqAqm {
    const NAME: &'static str = "cq-aqm";
    const SUMMARY: &'static str = "precedence thresholds across queues";
    const SOURCE: &'static str = "CQ-AQM paper, section II";
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
        _: &mut Context,
    ) -> Result<(), DropReason> {
        self.refusal(queue, packet.precedence, bank).map_or(Ok(()), Err)
    }

    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &mut Bank, _: &mut Context) {
        let packets = bank.packets(queue);
        for (level, lowest) in self.queues[queue].levels.iter_mut().zip(&mut self.lowest_plea) {
            level.denied |= packets >= level.local;
            if level.non_local.is_some_and(|threshold| packets >= threshold) {
                level.pleading = true;
                *lowest = (*lowest).min(queue);
            }
        }
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, _: &mut Context) -> Option<Packet> {
        let packet = bank.pop(queue);
        let packets = bank.packets(queue);
        for p in 0..self.lowest_plea.len() {
            let level = &mut self.queues[queue].levels[p];
            if packets < level.local_lower {
                level.denied = false;
                if std::mem::take(&mut level.pleading) && self.lowest_plea[p] == queue {
                    let above = (queue + 1..self.queues.len())
                        .find(|above| self.queues[*above].levels[p].pleading);
                    self.lowest_plea[p] = above.unwrap_or(NO_PLEA);
                }
            }
        }
        packet
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let levels = || self.queues.iter().flat_map(|queue| &queue.levels);
        out("denials", levels().filter(|level| level.denied).count() as f64);
        out("pleas", levels().filter(|level| level.pleading).count() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;
    use crate::schedule::{Drr, DrrParams, StrictPriority, Wrr, WrrParams};
    use forebay_core::{Rng, Sink, config};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    struct Retire;

    impl Sink for Retire {
        fn dropped(&mut self, packet: Packet, _: DropReason) {
            packet.retire();
        }
        fn marked(&mut self, _: &Packet) {}
    }

    /// Two queues of the paper: low 10 with (4, 6), high 5 with 3.
    struct Rig {
        cq: CqAqm,
        bank: Bank,
    }

    impl Rig {
        fn new(params: Value) -> Self {
            let mut params: CqAqmParams = config::read(&params).unwrap();
            let queues = params.queues.len();
            params.resolve(queues);
            Rig { cq: CqAqm::new(&params, queues).unwrap(), bank: Bank::new(queues) }
        }

        fn arrive(&mut self, queue: QueueId, precedence: u8) -> Result<(), DropReason> {
            let mut rng = Rng::named(1, "port");
            let mut sink = Retire;
            let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
            let mut packet = Packet::new(0, 0, 100);
            packet.precedence = precedence;
            match self.cq.arrive(queue, &mut packet, &mut self.bank, &mut cx) {
                Ok(()) => {
                    self.bank.push(queue, packet);
                    self.cq.joined(queue, &mut self.bank, &mut cx);
                    Ok(())
                }
                Err(reason) => {
                    packet.retire();
                    Err(reason)
                }
            }
        }

        fn depart(&mut self, queue: QueueId) {
            let mut rng = Rng::named(1, "port");
            let mut sink = Retire;
            let mut cx = Context::new(Time::ZERO, &mut rng, &mut sink);
            self.cq.depart(queue, &mut self.bank, &mut cx).unwrap().retire();
        }
    }

    #[test]
    fn the_latch_sequence_of_the_paper() {
        let mut rig = Rig::new(json!({ "queues": [
            { "limit": "10p", "local": 4, "non_local": 6 }, { "limit": "5p", "local": 3 },
        ]}));
        let preempted = Err(DropReason::Preempted);
        for _ in 0..4 {
            rig.arrive(0, 0).unwrap();
        }
        assert_eq!(rig.arrive(0, 0), preempted, "4 >= T_local");
        assert_eq!(rig.arrive(1, 0), Ok(()), "no plea below T_non-local");
        rig.arrive(0, 1).unwrap();
        assert_eq!(rig.arrive(1, 0), Ok(()), "5 < T_non-local");
        rig.arrive(0, 1).unwrap();
        assert_eq!(rig.arrive(1, 0), preempted, "6 >= T_non-local");
        assert_eq!(rig.arrive(1, 1), Ok(()), "p = 1 is not concerned");
        rig.depart(0);
        rig.depart(0);
        rig.depart(1);
        rig.depart(1);
        assert_eq!(rig.arrive(1, 0), preempted, "4 is not below T_local: the latch holds");
        assert_eq!(rig.arrive(0, 0), preempted);
        rig.depart(0);
        assert_eq!(rig.arrive(1, 0), Ok(()), "3 < T_local");
        assert_eq!(rig.arrive(0, 0), Ok(()));
        assert_eq!(rig.arrive(1, 1), Ok(()));
        assert_eq!(rig.arrive(1, 0), preempted, "the high queue's own threshold, 3");
        assert_eq!(rig.arrive(0, 1), Ok(()), "the plea runs upward only");
        for _ in 0..5 {
            rig.arrive(0, 1).unwrap();
        }
        assert_eq!(rig.arrive(0, 1), Err(DropReason::Overflow), "10 packets are the limit");
    }

    #[test]
    fn two_local_thresholds_do_not_thrash() {
        let mut rig = Rig::new(json!({ "queues": [
            { "limit": "10p", "local": 4, "local_lower": 2, "non_local": 5 }, { "limit": "5p" },
        ]}));
        for precedence in [0, 0, 0, 0, 1] {
            rig.arrive(0, precedence).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(rig.arrive(0, 0), Err(DropReason::Preempted));
            assert_eq!(rig.arrive(1, 0), Err(DropReason::Preempted));
            rig.depart(0);
        }
        rig.depart(0);
        assert_eq!((rig.arrive(0, 0), rig.arrive(1, 0)), (Ok(()), Ok(())));
    }

    #[test]
    fn unordered_or_oversized_thresholds_are_refused_by_name() {
        for (queue, path) in [
            (json!({ "limit": "45KB" }), "queues[0].limit"),
            (json!({ "limit": "0p" }), "queues[0].limit"),
            (json!({ "limit": "10p", "local": 11 }), "queues[0].local"),
            (json!({ "limit": "10p", "local": 0 }), "queues[0].local"),
            (json!({ "limit": "10p", "local": 5, "local_lower": 6 }), "queues[0].local_lower"),
            (json!({ "limit": "10p", "local": 5, "non_local": 4 }), "queues[0].non_local"),
            (json!({ "limit": "10p", "local": 5, "non_local": 11 }), "queues[0].non_local"),
            (json!({ "limit": "10p", "local": [5, 4] }), "queues[0].local"),
        ] {
            let mut params: CqAqmParams = config::read(&json!({ "queues": [queue] })).unwrap();
            params.resolve(1);
            assert_eq!(CqAqm::new(&params, 1).err().unwrap().path, path, "{queue}");
        }
        for (queue, path) in [
            (json!({ "limit": "9p", "local": [5, 4], "non_local": [5, 5] }), "queues[0].local"),
            (json!({ "limit": "9p", "local": [3, 5], "non_local": [6, 8] }), "queues[0].non_local"),
            (
                json!({ "limit": "9p", "local": [3, 5], "local_lower": [3, 2], "non_local": [4, 8] }),
                "queues[0].local_lower",
            ),
        ] {
            let value = json!({ "precedences": 3, "queues": [queue] });
            let params: CqAqmParams = config::read(&value).unwrap();
            assert_eq!(CqAqm::new(&params, 1).err().unwrap().path, path, "{queue}");
        }
    }

    /// Ordered thresholds below the limit for `levels` precedences, by sorting random numbers.
    fn thresholds(levels: usize) -> impl Strategy<Value = Value> {
        prop::collection::vec((1..20_u32, 1..20_u32, 1..20_u32), levels).prop_map(move |draws| {
            let mut upper: Vec<u32> = draws.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
            upper.sort_unstable();
            let local: Vec<u32> = upper.iter().copied().step_by(2).collect();
            let non_local: Vec<u32> = upper.iter().copied().skip(1).step_by(2).collect();
            let mut lower: Vec<u32> = draws.iter().map(|(.., c)| *c).collect();
            lower.sort_unstable();
            for (lower, local) in lower.iter_mut().zip(&local) {
                *lower = (*lower).min(*local);
            }
            json!({ "limit": "20p", "local": local, "local_lower": lower, "non_local": non_local })
        })
    }

    fn rigs() -> impl Strategy<Value = (Value, usize, u8)> {
        (1..5_usize, 2..5_u8).prop_flat_map(|(queues, precedences)| {
            prop::collection::vec(thresholds(usize::from(precedences) - 1), queues).prop_map(
                move |list| {
                    (json!({ "precedences": precedences, "queues": list }), queues, precedences)
                },
            )
        })
    }

    fn inversion(rig: &Rig, queues: usize, precedences: u8) -> Option<(usize, u8, usize, u8)> {
        for queue in 0..queues {
            for p in (1..precedences).filter(|p| rig.cq.refusal(queue, *p, &rig.bank).is_some()) {
                for above in queue..queues {
                    for lower in 0..p {
                        if rig.cq.refusal(above, lower, &rig.bank).is_none() {
                            return Some((queue, p, above, lower));
                        }
                    }
                }
            }
        }
        None
    }

    proptest! {
        /// After every event, no queue refuses a precedence while it or one served before it
        /// would admit a lower one; under each scheduler.
        #[test]
        fn precedence_is_never_inverted(
            (params, queues, precedences) in rigs(),
            server in 0..3,
            events in prop::collection::vec((0..4_usize, 0..5_u8, 0..10_u8), 1..400),
        ) {
            let mut rig = Rig::new(params);
            let weights: Vec<u32> = (1..=queues as u32).collect();
            let mut drr = DrrParams { weights: weights.clone(), quantum: None };
            drr.resolve(queues, 1500);
            let mut server: Box<dyn Schedule> = match server {
                0 => Box::new(StrictPriority),
                1 => Box::new(Wrr::new(&WrrParams { weights }, queues).unwrap()),
                _ => Box::new(Drr::new(&drr, queues).unwrap()),
            };
            for (queue, precedence, toss) in events {
                if toss < 7 {
                    let queue = queue % queues;
                    if rig.arrive(queue, precedence).is_ok() {
                        server.joined(queue, &rig.bank);
                    }
                } else if let Some(queue) = server.next(&rig.bank) {
                    rig.depart(queue);
                    server.served(queue, 100, &rig.bank);
                }
                prop_assert_eq!(inversion(&rig, queues, precedences), None);
            }
        }
    }

    /// The check above can fail: with the plea off, a full low queue inverts precedence.
    #[test]
    fn without_the_plea_precedence_is_inverted() {
        let mut rig =
            Rig::new(json!({ "queues": [{ "limit": "4p", "local": 2 }, { "limit": "4p" }]}));
        for _ in 0..4 {
            assert_eq!(inversion(&rig, 2, 2), None);
            rig.arrive(0, 1).unwrap();
        }
        assert_eq!(inversion(&rig, 2, 2), Some((0, 1, 1, 0)));
    }
}
