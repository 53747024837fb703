//! PIE: drops arriving packets with a probability that a proportional integral controller sets, so
//! that the queueing delay meets a target.
//!
//! Every `t_update` the drop probability moves by alpha times the delay's distance
//! from the target plus beta times its change, scaled down while the probability is small. Bursts
//! of up to `max_burst` after a calm pass untouched.
//!
//! Source: RFC 8033: sections 4.1 to 4.4, 5.1 (ECN), 5.2 (departure rate), 5.4 (derandomization),
//! 5.5 (cap), pseudo-code in appendices A and B. [`PieState`] and [`PieLaw`] are the algorithm
//! without a queue: `pie` has one state, `fq-pie` one for each flow.
//!
//! | RFC 8033 | here |
//! |---|---|
//! | QDELAY_REF, T_UPDATE, MAX_BURST | `target`, `t_update`, `max_burst` |
//! | alpha, beta | `alpha`, `beta` |
//! | MAX_ECNTH | `mark_ecnth` |
//! | DQ_THRESHOLD | 16 384 bytes |
//! | current_qdelay, qdelay_old_ | `measured`, `delay` |
//! | drop_prob_, burst_allowance_, accu_prob_ | the same |
//! | avg_dq_time_ | `Departures::average`, for DQ_THRESHOLD bytes |
//!
//! Deviations: D1. No timer: updates that are due are made at the start of the next arrival or
//! departure. The queue does not change in between, so the result is that of a timer, with one
//! exception: after a stall of the link with a full queue at most 4096 updates are made (61 s by
//! default). An idle queue is at rest long before. D2. MEAN_PKTSIZE is the port's mtu, as in Linux.
//! D3. PIE is not turned off while the queue is short (section 5.3). The extra step of 2 % for
//! delays above 250 ms in Linux and ns-3, which is not in the RFC, is left out as well. D4. The
//! probability decays by 2 % at each update when the present and the last delay are zero (section
//! 4.2); Linux takes 1/64. D5. Timestamped delay is that of the last departure, and zero once the
//! queue is empty, as in Linux. D6. Probabilities are doubles. Linux has fixed point with 64 bits,
//! in which 1 is 2^56, and bounds probabilities only by overflow, at 256. So a queue that was above
//! 250 ms for some time is still dropped for a while after it has drained (docs/validation.md).
//!
//! Cost: one subtraction and a few comparisons per packet, one random number while active; one
//! update of some twenty operations every `t_update`.

use crate::Admit;
use crate::retune::retuned;
use forebay_core::config::{above_zero, within};
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Named, Packet, QueueId, Rng, Row,
    Setting, Time, params,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Proportional integral controller enhanced, with one state for each queue.
pub struct Pie {
    law: PieLaw,
    states: Row<PieState>,
}

/// PIE's measurement of the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimation {
    /// The time that the last departing packet stayed (section 4.3).
    #[default]
    Timestamp,
    /// Queue length over an estimated departure rate (section 5.2).
    DepartureRate,
}

params! {
    /// Parameters of PIE.
    #[derive(Copy)]
    pub struct PieParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0.
        pub limit: Limit = Limit::Packets(1000),
        /// Target queueing delay (QDELAY_REF); above 0. Default 15ms (RFC 8033, section 4.2).
        pub target: Duration = Duration::from_millis(15),
        /// Time between updates of the probability (T_UPDATE); above 0. Default 15ms (RFC 8033,
        /// section 4.2).
        pub t_update: Duration = Duration::from_millis(15),
        /// Weight of the distance from the target, in 1/s; above 0. Default 0.125 (RFC 8033,
        /// section 4.2).
        pub alpha: f64 = 0.125,
        /// Weight of the delay's change, in 1/s; above 0. Default 1.25 (RFC 8033, section 4.2).
        pub beta: f64 = 1.25,
        /// Time without drops after a calm period (MAX_BURST). Default 150ms (RFC 8033, section
        /// 4.4).
        pub max_burst: Duration = Duration::from_millis(150),
        /// Whether packets of ECN-capable transports are marked rather than dropped while the
        /// probability is below `mark_ecnth` (RFC 8033, section 5.1). Default false.
        pub ecn: bool = false,
        /// Drop probability from which marks give way to drops (MAX_ECNTH), 0 to 1. Default 0.1.
        pub mark_ecnth: f64 = 0.1,
        /// The measurement of the delay: "timestamp" or "departure-rate" (RFC 8033, section 5.2).
        pub delay_estimation: DelayEstimation = DelayEstimation::default(),
        /// Whether drops that come too close together or too far apart are avoided (RFC 8033,
        /// section 5.4). Default true.
        pub derandomize: bool = true,
    }
}

/// The constant part of PIE.
#[derive(Debug, Clone, Copy)]
pub struct PieLaw {
    params: PieParams,
    /// Two packets of the largest size. Nothing is dropped from a shorter queue.
    floor: u64,
}

/// DQ_THRESHOLD (section 5.2), in bytes.
const DQ_THRESHOLD: u64 = 1 << 14;
/// Weight of a new departure time in the average: DQ_THRESHOLD / 2^16 (appendix B).
const DQ_WEIGHT: f64 = 0.25;
/// Most updates that are made at once.
const CATCH_UP: u64 = 4096;

impl PieLaw {
    /// The algorithm with these parameters on a port with that mtu. Their limit is not checked.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &PieParams, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("target", params.target)?;
        above_zero("t_update", params.t_update)?;
        above_zero("alpha", params.alpha)?;
        above_zero("beta", params.beta)?;
        within("mark_ecnth", params.mark_ecnth, 0.0..=1.0)?;
        Ok(PieLaw { params: *params, floor: 2 * u64::from(setting.mtu) })
    }
}

/// The variables of PIE.
#[derive(Debug, Clone)]
pub struct PieState {
    drop_prob: f64,
    accu_prob: f64,
    /// Delay at the last update.
    delay: Duration,
    /// Delay as last measured by timestamps.
    measured: Duration,
    burst_allowance: Duration,
    updated: Time,
    departures: Departures,
}

/// Departure rate, as the average time that DQ_THRESHOLD bytes take.
#[derive(Debug, Clone, Default)]
struct Departures {
    start: Option<Time>,
    bytes: u64,
    average: Option<f64>,
}

impl Departures {
    fn departed(&mut self, now: Time, len: u32, left: u64) {
        if let Some(start) = self.start {
            self.bytes += u64::from(len);
            if self.bytes >= DQ_THRESHOLD {
                let time = now.since(start).as_nanos() as f64;
                let average = self.average.unwrap_or(time);
                self.average = Some(average + DQ_WEIGHT * (time - average));
                self.start = None;
            }
        }
        if self.start.is_none() && left >= DQ_THRESHOLD {
            self.start = Some(now);
            self.bytes = 0;
        }
    }

    fn delay(&self, bytes: u64) -> Duration {
        let average = self.average.unwrap_or(0.0);
        Duration::from_nanos((bytes as f64 * average / DQ_THRESHOLD as f64) as u64)
    }
}

impl PieState {
    /// The state of a queue that was always empty.
    pub fn new(law: &PieLaw) -> Self {
        PieState {
            drop_prob: 0.0,
            accu_prob: 0.0,
            delay: Duration::ZERO,
            measured: Duration::ZERO,
            burst_allowance: law.params.max_burst,
            updated: Time::ZERO,
            departures: Departures::default(),
        }
    }

    /// The drop probability at the last update.
    pub fn drop_probability(&self) -> f64 {
        self.drop_prob
    }

    /// Makes the updates that are due. `bytes` are queued.
    #[inline]
    pub fn catch_up(&mut self, law: &PieLaw, now: Time, bytes: u64) {
        if now.since(self.updated) >= law.params.t_update {
            self.make_up(law, now, bytes);
        }
    }

    fn make_up(&mut self, law: &PieLaw, now: Time, bytes: u64) {
        let due = now.since(self.updated).as_nanos() / law.params.t_update.as_nanos();
        self.updated += law.params.t_update * due;
        let delay = match law.params.delay_estimation {
            DelayEstimation::Timestamp => self.measured,
            DelayEstimation::DepartureRate => self.departures.delay(bytes),
        };
        for _ in 0..due.min(CATCH_UP) {
            let before = (self.drop_prob.to_bits(), self.delay, self.burst_allowance);
            self.update(law, delay);
            if before == (self.drop_prob.to_bits(), self.delay, self.burst_allowance) {
                return;
            }
        }
    }

    /// calculate_drop_prob: one update with the queue at `delay`.
    fn update(&mut self, law: &PieLaw, delay: Duration) {
        let seconds = |span: Duration| span.as_secs_f64();
        let mut step = law.params.alpha * (seconds(delay) - seconds(law.params.target))
            + law.params.beta * (seconds(delay) - seconds(self.delay));
        step /= auto_tuning(self.drop_prob);
        if self.drop_prob >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.drop_prob += step;
        if delay == Duration::ZERO && self.delay == Duration::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(law.params.t_update);
        let half = law.params.target / 2;
        if self.drop_prob == 0.0 && delay < half && self.delay < half {
            self.burst_allowance = law.params.max_burst;
        }
        self.delay = delay;
    }

    /// Decides about an arrival that finds `bytes` queued, after the updates. May mark the packet.
    ///
    /// # Errors
    /// [`DropReason::Aqm`], if it must be dropped.
    #[inline]
    pub fn judge(
        &mut self,
        law: &PieLaw,
        packet: &mut Packet,
        bytes: u64,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        if self.burst_allowance > Duration::ZERO || !self.drop_early(law, bytes, cx.rng) {
            return Ok(());
        }
        self.accu_prob = 0.0;
        let marks = law.params.ecn && self.drop_prob < law.params.mark_ecnth;
        if marks && cx.mark(packet) {
            return Ok(());
        }
        Err(DropReason::Aqm)
    }

    #[inline]
    fn drop_early(&mut self, law: &PieLaw, bytes: u64, rng: &mut Rng) -> bool {
        let calm = self.delay < law.params.target / 2 && self.drop_prob < 0.2;
        if calm || bytes <= law.floor {
            return false;
        }
        if law.params.derandomize {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        rng.chance(self.drop_prob)
    }

    /// A packet was refused because the buffer is full.
    pub fn overflowed(&mut self) {
        self.accu_prob = 0.0;
    }

    /// `packet` departs and `bytes` stay in the queue.
    #[inline]
    pub fn departed(&mut self, law: &PieLaw, now: Time, packet: &Packet, bytes: u64) {
        match law.params.delay_estimation {
            DelayEstimation::Timestamp => {
                self.measured = if bytes == 0 { Duration::ZERO } else { now.since(packet.queued) };
            }
            DelayEstimation::DepartureRate => self.departures.departed(now, packet.len, bytes),
        }
    }
}

/// The factor by which a step is divided while the probability is small (section 4.2).
fn auto_tuning(drop_prob: f64) -> f64 {
    const TABLE: [(f64, f64); 6] = [
        (0.000_001, 2048.0),
        (0.000_01, 512.0),
        (0.000_1, 128.0),
        (0.001, 32.0),
        (0.01, 8.0),
        (0.1, 2.0),
    ];
    TABLE.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| *divisor)
}

impl Pie {
    /// PIE with these parameters.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &PieParams, setting: &Setting) -> Result<Self, ConfigError> {
        above_zero("limit", params.limit)?;
        let law = PieLaw::new(params, setting)?;
        let states = Row::new(PieState::new(&law), setting.queues);
        Ok(Pie { law, states })
    }
}

impl Named for Pie {
    type Family = dyn Admit;
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str = "drop with the probability that keeps a target delay";
    const SOURCE: &'static str = "RFC 8033";
    type Params = PieParams;

    fn build(params: &PieParams, setting: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(Pie::new(params, setting)?))
    }
}

impl Admit for Pie {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let (state, bytes) = (&mut self.states[queue], bank.bytes(queue));
        state.catch_up(&self.law, cx.now, bytes);
        if !self.law.params.limit.admits(bank.packets(queue), bytes, packet.len) {
            state.overflowed();
            return Err(DropReason::Overflow);
        }
        state.judge(&self.law, packet, bytes, cx)
    }

    #[inline]
    fn depart(&mut self, queue: QueueId, bank: &mut Bank, cx: &mut Context) -> Option<Packet> {
        let state = &mut self.states[queue];
        state.catch_up(&self.law, cx.now, bank.bytes(queue));
        let packet = bank.pop(queue)?;
        state.departed(&self.law, cx.now, &packet, bank.bytes(queue));
        Some(packet)
    }

    /// Shows the queue with the highest drop probability.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let highest = |a: &&PieState, b: &&PieState| a.drop_prob.total_cmp(&b.drop_prob);
        if let Some(state) = self.states.iter().max_by(highest) {
            out("drop_probability", state.drop_prob);
            out("delay_ms", state.delay.as_millis_f64());
            out("burst_allowance_ms", state.burst_allowance.as_millis_f64());
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        retuned(self, fresh, |own| &mut own.states)
    }
}

#[cfg(test)]
mod tests;
