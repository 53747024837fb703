//! WRED, RIO and WRT: RED with a drop precedence in every packet, and a choice of the dropped
//! packet.
//!
//! Packets carry a drop precedence, from level 0 (in profile) to 7. Each level has
//! its own RED curve. The three kinds differ in how they treat level 0: WRED uses the average of
//! the whole queue; RIO uses the average of level-0 packets alone; WRT uses the curve of level 1
//! once the average of level-0 packets exceeds a threshold. The drop strategy is independent of
//! this. Either only arriving packets are dropped, or, if the arriving packet has a level that must
//! not be dropped, a queued packet of the highest level that may be.
//!
//! Source: U. Bodin and O. Schelén, "Drop Strategies and Loss-rate Differentiation", section 2.
//! RIO: D. Clark and W. Fang, "Explicit Allocation of Best-Effort Packet Delivery Service", 1998.
//! WRT: U. Bodin, O. Schelén and S. Pink, "Load-tolerant Differentiation with Active Queue
//! Management", 2000. The drop rule itself is that of [`super::Red`].
//!
//! | symbol | parameter |
//! |---|---|
//! | min_th(l), max_th(l), max_p(l) | `levels[l].min_th`, `.max_th`, `.max_p` |
//! | avg_ql | average of the whole queue, updated at every arrival |
//! | separate average (in profile) | average of level-0 packets, updated at level-0 arrivals |
//! | drop-arrivals, drop-from-queue | `drop_strategy` |
//! | "wait until such packet arrives" | `defer_drop` |
//!
//! # Drop from the queue
//! The paper (section 2.2) lets the level of congestion act "immediately", whichever packet
//! arrives. So at an arrival of level a, the rules of the levels from the highest down to a are
//! asked in turn:
//! - the rule of a higher level says drop: a queued packet of that level is dropped. If there is
//!   none, the drop is deferred, and the next lower level is asked;
//! - the rule of level a itself says drop: the arriving packet is dropped (`victim = "last"`), or,
//!   with `first` and `random`, a queued one of its level if there is any;
//! - the first drop ends this. If a drop was deferred and nothing was dropped, the next arrival of
//!   that level or a higher one is dropped without asking ("wait until such packet arrives").
//!   Without `defer_drop` the deferred drop is left out: that arrival is judged by its own rule, as
//!   with drop-arrivals. This is the other reading of "wait".
//!
//! So a level loses at each arrival at most with the probability of its own curve, and a lower
//! level never loses packets because there are no packets of a higher one.
//!
//! Deviations: D1. At most one drop is deferred, and it expires when its level's curve gives zero.
//! The paper says only that the router waits; several deferred drops would punish packets for a
//! congestion that is over. D2. When packets are dropped from the queue, a full buffer pushes out
//! queued packets of higher levels before it refuses an arrival; the paper's buffer never fills.
//! D3. RIO here has two kinds of average for any number of levels: levels above 0 use the whole
//! queue's. D4. With `random` the arriving packet is dropped only if no other packet of its level
//! is queued.
//!
//! Cost: that of RED, at most once for each level. The dropped packet is found in constant time
//! through the bank's index by level, which is kept only when packets are dropped from the queue.

mod params;
mod rio;
mod wrt;

pub use params::{DropStrategy, Level, Victim, WredParams};
pub use rio::{Rio, RioParams};
pub use wrt::{InProfileParams, Wrt, WrtParams};

use super::average::{Average, Pace};
use super::curve::{Curve, Measure, Signal, Spacing};
use crate::Admit;
use crate::retune::retuned;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, LevelOrder, Named, Packet, Place, QueueId, Rate,
    Setting, Time,
};
use std::any::Any;
use std::mem::discriminant;

const MAX_LEVELS: usize = 8;

/// The average and the curve that judge level 0.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mechanism {
    Wred,
    Rio,
    /// The in-profile average above which level 0 is treated as level 1.
    Wrt(f64),
}

/// Weighted RED: every level is judged by the average of the whole queue.
pub struct Wred;

/// WRED, RIO or WRT, with one state for each queue.
struct Differentiated {
    mechanism: Mechanism,
    params: WredParams,
    curves: Vec<Curve>,
    measure: Measure,
    pace: Pace,
    /// The queued packet that is dropped; None if only arrivals are.
    victim: Option<Victim>,
    states: Vec<State>,
}

#[derive(Clone, Default)]
struct State {
    total: Average,
    in_profile: Average,
    in_packets: usize,
    in_bytes: u64,
    spacing: [Spacing; MAX_LEVELS],
    /// Level whose drop is deferred.
    deferred: Option<usize>,
}

impl State {
    fn left(&mut self, packet: &Packet) {
        if packet.drop_precedence == 0 {
            self.in_packets -= 1;
            self.in_bytes -= u64::from(packet.len);
        }
    }
}

impl Differentiated {
    fn new(
        mechanism: Mechanism,
        checked: params::Checked,
        params: &WredParams,
        setting: &Setting,
    ) -> Self {
        Differentiated {
            mechanism,
            params: params.clone(),
            curves: checked.curves,
            measure: checked.measure,
            pace: Pace::new(setting, params.mean_packet, params.idle),
            victim: match params.drop_strategy {
                DropStrategy::DropArrivals => None,
                DropStrategy::DropFromQueue => Some(params.victim),
            },
            states: vec![State::default(); setting.queues],
        }
    }

    fn level(&self, packet: &Packet) -> usize {
        usize::from(packet.drop_precedence).min(self.curves.len() - 1)
    }

    /// The average that judges packets treated as `level`.
    fn average(&self, queue: QueueId, level: usize) -> f64 {
        let state = &self.states[queue];
        if level == 0 && self.mechanism == Mechanism::Rio {
            state.in_profile.value()
        } else {
            state.total.value()
        }
    }

    /// Whether the rule of `level` drops, with `waiting` packets in the queue.
    fn ask(&mut self, queue: QueueId, level: usize, waiting: usize, cx: &mut Context) -> bool {
        let spared = self.params.spare_short && waiting <= 1;
        let average = if spared { 0.0 } else { self.average(queue, level) };
        let spacing = &mut self.states[queue].spacing[level];
        spacing.step(&self.curves[level], average, 1.0, cx.rng) != Signal::Pass
    }

    /// Pushes a packet of `level` out of `queue`, if there is one.
    fn push_out(
        &mut self,
        queue: QueueId,
        level: usize,
        victim: Victim,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> bool {
        let Some(place) = find(victim, queue, level, bank, cx) else { return false };
        let packet = bank.remove(queue, place);
        self.states[queue].left(&packet);
        cx.drop(packet, DropReason::PushedOut);
        true
    }

    /// Applies the laws to an arrival treated as `level`, dropping from the queue.
    fn drop_from_queue(
        &mut self,
        queue: QueueId,
        level: usize,
        victim: Victim,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        if let Some(deferred) = self.states[queue].deferred {
            let spared = self.params.spare_short && bank.packets(queue) <= 1;
            let average = self.average(queue, deferred);
            if spared || self.curves[deferred].probability(average) == 0.0 {
                self.states[queue].deferred = None;
            } else if level >= deferred {
                let state = &mut self.states[queue];
                state.deferred = None;
                state.spacing[level].restart(&self.curves[level]);
                return Err(DropReason::Aqm);
            }
        }
        let mut unmet = None;
        for law in (level..self.curves.len()).rev() {
            if !self.ask(queue, law, bank.packets(queue), cx) {
                continue;
            }
            if law == level && victim == Victim::Last {
                return Err(DropReason::Aqm);
            }
            if self.push_out(queue, law, victim, bank, cx) {
                return Ok(());
            }
            if law == level {
                return Err(DropReason::Aqm);
            }
            unmet = unmet.or(Some(law));
        }
        if self.params.defer_drop && unmet.is_some() {
            self.states[queue].deferred = unmet;
        }
        Ok(())
    }

    /// Makes room for `len` bytes by pushing out packets of levels above `level`.
    fn make_room(
        &mut self,
        queue: QueueId,
        level: usize,
        len: u32,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        while !self.params.limit.admits(bank.packets(queue), bank.bytes(queue), len) {
            let Some(victim) = self.victim else { return Err(DropReason::Overflow) };
            let above = level + 1..self.curves.len();
            if !above.rev().any(|higher| self.push_out(queue, higher, victim, bank, cx)) {
                return Err(DropReason::Overflow);
            }
        }
        Ok(())
    }
}

fn find(
    victim: Victim,
    queue: QueueId,
    level: usize,
    bank: &Bank,
    cx: &mut Context,
) -> Option<Place> {
    match victim {
        Victim::Last => bank.level_last(queue, level),
        Victim::First => bank.level_first(queue, level),
        Victim::Random => bank.level_random(queue, level, cx.rng),
    }
}

impl Named for Wred {
    type Family = dyn Admit;
    const NAME: &'static str = "wred";
    const SUMMARY: &'static str = "RED with a curve for each drop precedence";
    const SOURCE: &'static str = "Bodin and Schelén, section 2";
    type Params = WredParams;

    fn build(params: &WredParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        let checked = params::check(params)?;
        Ok(Box::new(Differentiated::new(Mechanism::Wred, checked, params, setting)))
    }
}

impl Admit for Differentiated {
    fn bank(&self, queues: usize) -> Bank {
        match self.victim {
            None => Bank::new(queues),
            Some(Victim::Random) => {
                Bank::with_levels(queues, self.curves.len(), LevelOrder::Random)
            }
            Some(Victim::First | Victim::Last) => {
                Bank::with_levels(queues, self.curves.len(), LevelOrder::Arrival)
            }
        }
    }

    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let mut level = self.level(packet);
        let state = &mut self.states[queue];
        let length = self.measure.length(bank.packets(queue), bank.bytes(queue));
        state.total.update(self.params.weight, length, cx.now, &self.pace);
        if packet.drop_precedence == 0 {
            let length = self.measure.length(state.in_packets, state.in_bytes);
            let average = state.in_profile.update(self.params.weight, length, cx.now, &self.pace);
            if matches!(self.mechanism, Mechanism::Wrt(threshold) if average > threshold) {
                level = 1;
            }
        }
        if !self.params.limit.admits(bank.packets(queue), bank.bytes(queue), packet.len) {
            let own = self.level(packet);
            self.states[queue].spacing[level].restart(&self.curves[level]);
            self.make_room(queue, own, packet.len, bank, cx)?;
        } else if let Some(victim) = self.victim {
            self.drop_from_queue(queue, level, victim, bank, cx)?;
        } else if self.ask(queue, level, bank.packets(queue), cx) {
            return Err(DropReason::Aqm);
        }
        if packet.drop_precedence == 0 {
            let state = &mut self.states[queue];
            state.in_packets += 1;
            state.in_bytes += u64::from(packet.len);
        }
        Ok(())
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let packet = bank.pop(queue)?;
        let state = &mut self.states[queue];
        state.left(&packet);
        if bank.packets(queue) == 0 {
            state.total.emptied(cx.now, packet.len, &self.pace);
        }
        if packet.drop_precedence == 0 && state.in_packets == 0 {
            state.in_profile.emptied(cx.now, packet.len, &self.pace);
        }
        Some(packet)
    }

    fn set_link_rate(&mut self, _: Time, rate: Rate) {
        self.pace.set_rate(rate);
    }

    /// Shows the queue with the longest average.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        const PROBABILITY: [&str; MAX_LEVELS] = [
            "drop_probability_0",
            "drop_probability_1",
            "drop_probability_2",
            "drop_probability_3",
            "drop_probability_4",
            "drop_probability_5",
            "drop_probability_6",
            "drop_probability_7",
        ];
        let average = |queue: &usize| self.states[*queue].total.value();
        let longest = |a: &usize, b: &usize| average(a).total_cmp(&average(b));
        let Some(queue) = (0..self.states.len()).max_by(longest) else { return };
        let state = &self.states[queue];
        out("average_queue", state.total.value());
        out("average_in_profile", state.in_profile.value());
        for (level, curve) in self.curves.iter().enumerate() {
            out(PROBABILITY[level], curve.probability(self.average(queue, level)));
        }
        out("drop_deferred", f64::from(u8::from(state.deferred.is_some())));
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        // The bank has an index of levels, or none.
        let kept = |of: &Self| (discriminant(&of.mechanism), of.victim.is_some());
        let fits = |fresh: &&mut Self| kept(fresh) == kept(self);
        let Some(fresh) = fresh.downcast_mut::<Self>().filter(fits) else { return false };
        retuned(self, fresh, |own| &mut own.states)
    }
}

#[cfg(test)]
mod tests;
