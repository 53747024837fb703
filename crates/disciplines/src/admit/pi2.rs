//! PI2: drops or marks departing packets with the square of a probability that a proportional
//! integral controller sets. Packets of scalable senders, ECT(1), are marked with a multiple of the
//! probability itself.
//!
//! Every `t_update` the base probability p' changes by alpha times the distance of
//! the queueing delay from the target, plus beta times the delay's change. Classic packets are
//! dropped with p'^2, or marked if they are ECT(0). Reno and CUBIC respond to this as to PIE's
//! tuned steps. Packets of scalable senders are marked with k p'. Flows of both sorts then have
//! similar rates in one queue. When k p' reaches 1, marks alone no longer limit the queue, and all
//! packets are dropped with p'^2.
//!
//! Source: K. De Schepper, O. Bondarenko, I. Tsang and B. Briscoe, "PI2: A Linearized AQM for both
//! Classic and Scalable TCP", CoNEXT 2016; RFC 9332, appendix A (pseudo-code), for two queues:
//! [`super::DualPi2`]. [`Pi2`] has one. Defaults are those of Linux 6.17, `sch_dualpi2.c`.
//!
//! | RFC 9332 | here |
//! |---|---|
//! | target, Tupdate, alpha, beta, k | `target`, `t_update`, `alpha`, `beta`, `coupling` |
//! | p', p_C, p_CL | [`Pi2State::base`], its square, `coupling` times it |
//! | prevq | `delay` |
//! | recur() | [`Recur`] with `derandomize` |
//!
//! Deviations: D1. No timer: updates that are due are made at the start of the next arrival or
//! departure, each with the delay of its own time, with the same result as a timer; at most 4096 at
//! once (65 s by default). D2. The base probability is limited to 0 to 1, as in Linux; the RFC says
//! so only in its text. D3. The coupled probabilities drop or mark nothing while less than two
//! packets of the largest size stay in the queue, as in Linux. D4. Signals are drawn at random, as
//! in Linux, which draws twice for p'^2. With `derandomize` they are spaced evenly, as in the RFC,
//! whose recur() gets a likelihood of 1 at most. D5. In overload ECT(0) is dropped and not marked,
//! by the RFC's test (p_C at least p_Cmax = 1 / k^2); Linux tests "above". D6. Probabilities are
//! doubles; Linux has 32 bits. D7. Dropping at arrival, which Linux offers (`drop_enqueue`), is not
//! included.
//!
//! Cost: one comparison and one random number per packet; one update of ten operations every
//! `t_update`.

use super::Recur;
use crate::Admit;
use crate::retune::retuned;
use forebay_core::config::{above_zero, require};
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Setting, Time,
    params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Most updates that are made at once.
const CATCH_UP: u64 = 4096;

/// The response when marks no longer limit the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overload {
    /// All packets are dropped with the classic probability, so the delay does not grow.
    #[default]
    Drop,
    /// All scalable packets are marked, and the queue grows until the buffer is full.
    Saturate,
}

params! {
    /// Parameters of PI2.
    #[derive(Copy)]
    pub struct Pi2Params {
        /// Room in each queue, in packets ("10000p") or bytes ("15MB"); without the packet in
        /// transmission. Above 0. Default 10000p.
        pub limit: Limit = Limit::Packets(10_000),
        /// Target queueing delay; above 0. Default 15ms.
        pub target: Duration = Duration::from_millis(15),
        /// Time between updates of the probability (Tupdate); above 0. Default 16ms.
        pub t_update: Duration = Duration::from_millis(16),
        /// Weight of the distance from the target, in 1/s; above 0. Default 41/256.
        pub alpha: f64 = 41.0 / 256.0,
        /// Weight of the delay's change, in 1/s; above 0. Default 819/256.
        pub beta: f64 = 819.0 / 256.0,
        /// Marking probability of scalable packets, in base probabilities (k); at least 1. Default
        /// 2: equal rates of CUBIC or Reno and Prague with equal round-trip times.
        pub coupling: f64 = 2.0,
        /// Response when marks no longer limit the queue: "drop" (all packets, with the classic
        /// probability), or "saturate" (mark all scalable ones; the queue grows until it is full).
        /// Default "drop".
        pub overload: Overload = Overload::Drop,
        /// Whether signals are spaced evenly (recur() of the RFC) rather than drawn at random.
        /// Default false.
        pub derandomize: bool = false,
    }
}

/// The constant part of PI2.
#[derive(Debug, Clone, Copy)]
pub struct Pi2Law {
    params: Pi2Params,
    /// Two packets of the largest size. If fewer bytes stay in the queue, packets pass.
    floor: u64,
}

impl Pi2Law {
    /// The algorithm with these parameters on a port with that mtu. Their limit is not checked.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &Pi2Params, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("target", params.target)?;
        above_zero("t_update", params.t_update)?;
        above_zero("alpha", params.alpha)?;
        above_zero("beta", params.beta)?;
        require(params.coupling >= 1.0 && params.coupling.is_finite(), "coupling", || {
            format!("must be at least 1, got {}", params.coupling)
        })?;
        Ok(Pi2Law { params: *params, floor: 2 * u64::from(setting.mtu) })
    }

    /// Whether `bytes`, which stay in the queue, are enough for drops and marks.
    #[inline]
    pub fn stands(&self, bytes: u64) -> bool {
        bytes >= self.floor
    }
}

/// The variables of PI2: the controller.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pi2State {
    base: f64,
    /// Delay at the last update.
    delay: Duration,
    updated: Time,
}

impl Pi2State {
    /// The base probability p'.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// The delay at the last update.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Makes the updates that are due. `oldest` returns the time at which the longest wait began.
    #[inline]
    pub fn catch_up(&mut self, law: &Pi2Law, now: Time, oldest: impl FnOnce() -> Option<Time>) {
        if now.since(self.updated) >= law.params.t_update {
            self.make_up(law, now, oldest());
        }
    }

    fn make_up(&mut self, law: &Pi2Law, now: Time, oldest: Option<Time>) {
        let due = now.since(self.updated).as_nanos() / law.params.t_update.as_nanos();
        let mut at = self.updated + law.params.t_update * due.saturating_sub(CATCH_UP);
        for _ in 0..due.min(CATCH_UP) {
            at += law.params.t_update;
            self.update(law, oldest.map_or(Duration::ZERO, |oldest| at.since(oldest)));
        }
        self.updated = at;
    }

    /// dualpi2_update: one update with the queue at `delay`.
    fn update(&mut self, law: &Pi2Law, delay: Duration) {
        let seconds = |span: Duration| span.as_secs_f64();
        self.base += law.params.alpha * (seconds(delay) - seconds(law.params.target))
            + law.params.beta * (seconds(delay) - seconds(self.delay));
        let most =
            if law.params.overload == Overload::Drop { 1.0 } else { 1.0 / law.params.coupling };
        self.base = self.base.clamp(0.0, most);
        self.delay = delay;
    }

    /// The probability with which scalable packets are marked (p_CL). It may be above 1.
    #[inline]
    pub fn coupled(&self, law: &Pi2Law) -> f64 {
        law.params.coupling * self.base
    }

    /// Whether a classic packet stays. Marks it if it can be marked.
    #[inline]
    pub fn classic(
        &self,
        law: &Pi2Law,
        recur: &mut Recur,
        packet: &mut Packet,
        cx: &mut Context,
    ) -> bool {
        if !recur.hits(self.base * self.base, cx.rng) {
            return true;
        }
        let overloaded = law.params.overload == Overload::Drop && self.coupled(law) >= 1.0;
        !overloaded && cx.mark(packet)
    }

    /// Whether a scalable packet stays. Marks it at least with the probability `native`.
    #[inline]
    pub fn scalable(
        &self,
        law: &Pi2Law,
        recur: &mut Recur,
        native: f64,
        packet: &mut Packet,
        cx: &mut Context,
    ) -> bool {
        let coupled = self.coupled(law);
        if coupled < 1.0 {
            return !recur.hits(native.max(coupled), cx.rng) || cx.mark(packet);
        }
        if law.params.overload == Overload::Drop && recur.hits(self.base * self.base, cx.rng) {
            return false;
        }
        !recur.hits(coupled, cx.rng) || cx.mark(packet)
    }
}

/// PI2 with a controller for each queue.
pub struct Pi2 {
    law: Pi2Law,
    /// For each queue: the controller, and the signals of classic and of scalable packets.
    states: Vec<(Pi2State, Recur, Recur)>,
}

impl Named for Pi2 {
    type Family = dyn Admit;
    const NAME: &'static str = "pi2";
    const SUMMARY: &'static str =
        "drop with the square of a PI controller's probability, mark ECT(1) with a multiple of it";
    const SOURCE: &'static str = "De Schepper et al., CoNEXT 2016; RFC 9332, appendix A";
    type Params = Pi2Params;

    fn build(params: &Pi2Params, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        above_zero("limit", params.limit)?;
        let law = Pi2Law::new(params, setting)?;
        let signals = Recur::new(params.derandomize);
        let states = vec![(Pi2State::default(), signals, signals); setting.queues];
        Ok(Box::new(Pi2 { law, states }))
    }
}

impl Admit for Pi2 {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        self.states[queue].0.catch_up(&self.law, cx.now, || bank.head_since(queue));
        bank.room(queue, self.law.params.limit, packet.len)
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let (state, classic, scalable) = &mut self.states[queue];
        state.catch_up(&self.law, cx.now, || bank.head_since(queue));
        while let Some(mut packet) = bank.pop(queue) {
            let stays = !self.law.stands(bank.bytes(queue))
                || if packet.is_l4s() {
                    state.scalable(&self.law, scalable, 0.0, &mut packet, cx)
                } else {
                    state.classic(&self.law, classic, &mut packet, cx)
                };
            if stays {
                return Some(packet);
            }
            cx.drop(packet, DropReason::Aqm);
        }
        None
    }

    /// Shows the queue with the highest probability.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let states = self.states.iter().map(|(state, ..)| state);
        if let Some(state) = states.max_by(|a, b| a.base.total_cmp(&b.base)) {
            probe(state, &self.law, out);
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.states)
    }
}

/// Reports the controller's variables.
pub fn probe(state: &Pi2State, law: &Pi2Law, out: &mut dyn FnMut(&'static str, f64)) {
    out("base_probability", state.base);
    out("drop_probability", state.base * state.base);
    out("coupled_probability", state.coupled(law).min(1.0));
    out("delay_ms", state.delay.as_millis_f64());
}

#[cfg(test)]
mod tests;
