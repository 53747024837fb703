//! PIE: drops arriving packets with a probability that a proportional integral controller keeps so
//! that the queueing delay meets a target.
//!
//! What it does: every `t_update` the drop probability moves by alpha times the delay's distance
//! from the target plus beta times its change, scaled down while the probability is small. Bursts
//! of up to `max_burst` after a calm pass untouched.
//!
//! Source: RFC 8033: sections 4.1 to 4.4, 5.1 (ECN), 5.2 (departure rate), 5.4 (derandomization),
//! 5.5 (cap), pseudo-code in appendices A and B. [`PieState`] and [`PieLaw`] are the algorithm
//! without a queue of its own: one state for `pie`, one a flow for `fq-pie`.
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
//! Deviations: D1. No timer: updates that are due are made up for at the start of the next arrival
//! or departure. As the queue does not change in between, the result is that of the timer, except
//! that after a stall of the link with a full queue at most 4096 updates are made up for (61 s by
//! default); an idle queue is at rest long before. D2. MEAN_PKTSIZE is the port's mtu, as in
//! Linux. D3. Turning PIE off while the queue is short (section 5.3) is left out; so is Linux's
//! and ns-3's extra step of 2 % for delays above 250 ms, which is not in the RFC. D4. The
//! probability decays by 2 % an update when present and last delay are zero (section 4.2); Linux
//! takes 1/64. D5. Timestamped delay is that of the last departure, and zero once the queue is
//! empty, as in Linux. D6. Probabilities are doubles; Linux has fixed point.
//!
//! Cost: one subtraction and a few comparisons a packet, one random number while active; one
//! update of some twenty operations every `t_update`.

use crate::Admit;
use crate::registry::Named;
use forebay_core::config::require;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Duration, Limit, Packet, QueueId, Rng, Setting, Time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Proportional integral controller enhanced, with one state a queue.
pub struct Pie {
    limit: Limit,
    law: PieLaw,
    states: Vec<PieState>,
}

/// How PIE learns the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimation {
    /// The time that the last departing packet stayed (section 4.3).
    #[default]
    Timestamp,
    /// Queue length over an estimated departure rate (section 5.2).
    DepartureRate,
}

/// Parameters of PIE.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieParams {
    /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); the packet in transmission not
    /// counted. Above 0.
    pub limit: Limit,
    /// Queueing delay to keep (QDELAY_REF); above 0. Default 15ms (section 4.2).
    pub target: Duration,
    /// Time between updates of the probability (T_UPDATE); above 0. Default 15ms (section 4.2).
    pub t_update: Duration,
    /// Weight of the distance from the target, in 1/s; above 0. Default 0.125 (section 4.2).
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s; above 0. Default 1.25 (section 4.2).
    pub beta: f64,
    /// Time after a calm during which nothing is dropped (MAX_BURST). Default 150ms (section 4.4).
    pub max_burst: Duration,
    /// Whether packets of ECN-capable transports are marked rather than dropped while the
    /// probability is below `mark_ecnth` (section 5.1). Default false.
    pub ecn: bool,
    /// Drop probability from which marks give way to drops (MAX_ECNTH), 0 to 1. Default 0.1.
    pub mark_ecnth: f64,
    /// How the delay is learnt: "timestamp" or "departure-rate" (section 5.2).
    pub delay_estimation: DelayEstimation,
    /// Whether drops that come too close together or too far apart are avoided (section 5.4).
    /// Default true.
    pub derandomize: bool,
}

impl Default for PieParams {
    fn default() -> Self {
        PieParams {
            limit: Limit::Packets(1000),
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn: false,
            mark_ecnth: 0.1,
            delay_estimation: DelayEstimation::default(),
            derandomize: true,
        }
    }
}

/// What is constant in PIE.
#[derive(Debug, Clone, Copy)]
pub struct PieLaw {
    target: Duration,
    t_update: Duration,
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    /// Two packets of the largest size: below, nothing is dropped.
    floor: u64,
    mark_ecnth: Option<f64>,
    delay_estimation: DelayEstimation,
    derandomize: bool,
}

/// DQ_THRESHOLD (section 5.2), in bytes.
const DQ_THRESHOLD: u64 = 1 << 14;
/// Weight of a new departure time in the average: DQ_THRESHOLD / 2^16 (appendix B).
const DQ_WEIGHT: f64 = 0.25;
/// Updates made up for at most at once.
const CATCH_UP: u64 = 4096;

impl PieLaw {
    /// The law of these parameters on a port of that mtu; their limit is not looked at.
    ///
    /// # Errors
    /// Names the field that is out of range.
    pub fn new(params: &PieParams, setting: &Setting) -> Result<Self, ConfigError> {
        for (path, span) in [("target", params.target), ("t_update", params.t_update)] {
            require(span > Duration::ZERO, path, || format!("must be above 0, got \"{span}\""))?;
        }
        for (path, gain) in [("alpha", params.alpha), ("beta", params.beta)] {
            require(gain > 0.0 && gain.is_finite(), path, || {
                format!("must be above 0, got {gain}")
            })?;
        }
        require((0.0..=1.0).contains(&params.mark_ecnth), "mark_ecnth", || {
            format!("must be 0 to 1, got {}", params.mark_ecnth)
        })?;
        Ok(PieLaw {
            target: params.target,
            t_update: params.t_update,
            alpha: params.alpha,
            beta: params.beta,
            max_burst: params.max_burst,
            floor: 2 * u64::from(setting.mtu),
            mark_ecnth: params.ecn.then_some(params.mark_ecnth),
            delay_estimation: params.delay_estimation,
            derandomize: params.derandomize,
        })
    }
}

/// What varies in PIE.
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
    /// The state of a queue that has been empty for ever.
    pub fn new(law: &PieLaw) -> Self {
        PieState {
            drop_prob: 0.0,
            accu_prob: 0.0,
            delay: Duration::ZERO,
            measured: Duration::ZERO,
            burst_allowance: law.max_burst,
            updated: Time::ZERO,
            departures: Departures::default(),
        }
    }

    /// The drop probability at the last update.
    pub fn drop_probability(&self) -> f64 {
        self.drop_prob
    }

    /// Makes up for the updates that are due; `bytes` are queued.
    #[inline]
    pub fn catch_up(&mut self, law: &PieLaw, now: Time, bytes: u64) {
        if now.since(self.updated) >= law.t_update {
            self.make_up(law, now, bytes);
        }
    }

    fn make_up(&mut self, law: &PieLaw, now: Time, bytes: u64) {
        let due = now.since(self.updated).as_nanos() / law.t_update.as_nanos();
        self.updated += law.t_update * due;
        let delay = match law.delay_estimation {
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
        let mut step = law.alpha * (seconds(delay) - seconds(law.target))
            + law.beta * (seconds(delay) - seconds(self.delay));
        step /= auto_tuning(self.drop_prob);
        if self.drop_prob >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.drop_prob += step;
        if delay == Duration::ZERO && self.delay == Duration::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(law.t_update);
        let half = law.target / 2;
        if self.drop_prob == 0.0 && delay < half && self.delay < half {
            self.burst_allowance = law.max_burst;
        }
        self.delay = delay;
    }

    /// Judges an arrival that finds `bytes` queued, all updates made up for; may mark the packet.
    ///
    /// # Errors
    /// [`DropReason::Aqm`], if it must go.
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
        if law.mark_ecnth.is_some_and(|most| self.drop_prob < most) && cx.mark(packet) {
            return Ok(());
        }
        Err(DropReason::Aqm)
    }

    #[inline]
    fn drop_early(&mut self, law: &PieLaw, bytes: u64, rng: &mut Rng) -> bool {
        let calm = self.delay < law.target / 2 && self.drop_prob < 0.2;
        if calm || bytes <= law.floor {
            return false;
        }
        if law.derandomize {
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

    /// A full buffer refused a packet.
    pub fn overflowed(&mut self) {
        self.accu_prob = 0.0;
    }

    /// Is told that `packet` departs and `bytes` stay behind.
    #[inline]
    pub fn departed(&mut self, law: &PieLaw, now: Time, packet: &Packet, bytes: u64) {
        match law.delay_estimation {
            DelayEstimation::Timestamp => {
                self.measured = if bytes == 0 { Duration::ZERO } else { now.since(packet.queued) };
            }
            DelayEstimation::DepartureRate => self.departures.departed(now, packet.len, bytes),
        }
    }
}

/// By how much a step is divided while the probability is small (section 4.2).
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
        require(!params.limit.is_zero(), "limit", || "must be above 0, got \"0\"".into())?;
        let law = PieLaw::new(params, setting)?;
        let states = vec![PieState::new(&law); setting.queues];
        Ok(Pie { limit: params.limit, law, states })
    }
}

impl Named<dyn Admit> for Pie {
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
        if !self.limit.admits(bank.packets(queue), bytes, packet.len) {
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

    /// Of several queues, the one with the highest drop probability.
    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        let highest = |a: &&PieState, b: &&PieState| a.drop_prob.total_cmp(&b.drop_prob);
        if let Some(state) = self.states.iter().max_by(highest) {
            out("drop_probability", state.drop_prob);
            out("delay_ms", state.delay.as_millis_f64());
            out("burst_allowance_ms", state.burst_allowance.as_millis_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Record, Rig, SETTING, ms, us};
    use forebay_core::{Ecn, Rng, Verdict};
    use proptest::prelude::{Just, prop_assert_eq, prop_oneof, proptest};
    use serde_json::json;

    fn law() -> PieLaw {
        PieLaw::new(&PieParams::default(), &SETTING).unwrap()
    }

    fn state(drop_prob: f64, delay_ms: u64) -> PieState {
        let mut state = PieState::new(&law());
        state.drop_prob = drop_prob;
        state.delay = Duration::from_millis(delay_ms);
        state
    }

    #[test]
    fn the_auto_tuning_table_is_that_of_section_4_2() {
        for (drop_prob, divisor) in [
            (0.0, 2048.0),
            (0.000_000_9, 2048.0),
            (0.000_001, 512.0),
            (0.000_009, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            assert_eq!(auto_tuning(drop_prob), divisor, "{drop_prob}");
        }
    }

    #[test]
    fn one_update_by_hand() {
        for (drop_prob, old, new, want) in [
            // 0.125 * (20 - 15) ms + 1.25 * (20 - 10) ms = 0.013125, divided by 2048, 32, 2.
            (0.0, 10, 20, 0.013_125 / 2048.0),
            (0.000_5, 10, 20, 0.000_5 + 0.013_125 / 32.0),
            (0.05, 10, 20, 0.05 + 0.013_125 / 2.0),
            (0.2, 10, 20, 0.213_125),
            // 0.125 * 85 ms + 1.25 * 90 ms = 0.123125 is capped from 0.1 on (section 5.5).
            (0.2, 10, 100, 0.22),
            (0.05, 10, 100, 0.05 + 0.123_125 / 2.0),
            // Below the target and shrinking: -0.125 * 5 ms - 1.25 * 10 ms.
            (0.2, 20, 10, 0.2 - 0.013_125),
            (0.000_001, 20, 10, 0.0),
            // Idle: -0.125 * 15 ms, and 2 % of what is left.
            (0.2, 0, 0, (0.2 - 0.001_875) * 0.98),
            (0.999_9, 100, 200, 1.0),
        ] {
            let mut state = state(drop_prob, old);
            state.update(&law(), Duration::from_millis(new));
            assert!((state.drop_prob - want).abs() < 1e-12, "{drop_prob} {old} {new}");
        }
    }

    #[test]
    fn the_burst_allowance_lasts_ten_updates_and_returns_with_calm() {
        let mut state = state(0.0, 0);
        for left in (0..10).rev() {
            state.update(&law(), Duration::from_millis(50));
            assert_eq!(state.burst_allowance, Duration::from_millis(15 * left));
        }
        state.update(&law(), Duration::from_millis(5));
        state.drop_prob = 0.0;
        state.update(&law(), Duration::from_millis(5));
        assert_eq!(state.burst_allowance, Duration::from_millis(150));
        // Just at half the target is no calm.
        state.update(&law(), Duration::from_micros(7_500));
        assert_eq!(state.burst_allowance, Duration::from_millis(135));
    }

    proptest! {
        /// Updates made up for at the next call are those that a timer would have made.
        #[test]
        fn catching_up_is_what_a_timer_does(
            drop_prob in prop_oneof![0.0..1.0_f64, 0.0..0.001_f64],
            old in 0..60_u64,
            now in prop_oneof![Just(0_u64), 0..60_u64],
            updates in 1..3000_u64,
        ) {
            let law = law();
            let (mut lazy, mut timed) = (state(drop_prob, old), state(drop_prob, old));
            lazy.measured = Duration::from_millis(now);
            lazy.catch_up(&law, Time::ZERO + law.t_update * updates + Duration::from_nanos(7), 0);
            for _ in 0..updates {
                timed.update(&law, Duration::from_millis(now));
            }
            prop_assert_eq!(lazy.drop_prob.to_bits(), timed.drop_prob.to_bits());
            prop_assert_eq!(lazy.burst_allowance, timed.burst_allowance);
            prop_assert_eq!(lazy.updated, Time::ZERO + law.t_update * updates);
        }
    }

    #[test]
    fn a_long_idle_time_comes_to_rest() {
        let law = law();
        let mut state = state(1.0, 40);
        state.catch_up(&law, Time::ZERO + Duration::from_secs(1_000_000), 0);
        assert_eq!(state.drop_prob, 0.0);
        assert_eq!(state.burst_allowance, law.max_burst);
        // The next update is due a period after the last multiple of 15 ms.
        assert!(Time::ZERO + Duration::from_secs(1_000_000) < state.updated + law.t_update);
    }

    fn judge(law: &PieLaw, state: &mut PieState, bytes: u64, rng: &mut Rng) -> Record {
        let mut record = Record::default();
        let mut packet = Packet::new(0, 0, 1000);
        packet.set_ecn(Ecn::Ect0);
        let mut cx = Context::new(Time::ZERO, rng, &mut record);
        match state.judge(law, &mut packet, bytes, &mut cx) {
            Ok(()) => {
                packet.retire();
            }
            Err(reason) => cx.drop(packet, reason),
        }
        record
    }

    #[test]
    fn nothing_is_dropped_in_calm_in_a_burst_or_from_two_packets() {
        let law = law();
        let mut rng = Rng::named(1, "calm");
        let mut losses = |drop_prob, delay, burst_ms, bytes| {
            let mut state = state(drop_prob, delay);
            state.burst_allowance = Duration::from_millis(burst_ms);
            (0..1000).map(|_| judge(&law, &mut state, bytes, &mut rng).dropped.len()).sum::<usize>()
        };
        assert_eq!(losses(0.19, 7, 0, 100_000), 0);
        assert_eq!(losses(1.0, 40, 15, 100_000), 0);
        assert_eq!(losses(1.0, 40, 0, 3_000), 0);
        assert_eq!(losses(1.0, 40, 0, 3_001), 1000);
        assert!(losses(0.2, 7, 0, 100_000) > 0);
    }

    #[test]
    fn derandomization_bounds_the_gaps() {
        // p = 0.05: no drop before the probabilities sum to 0.85 (17 packets), always one at 8.5.
        let law = law();
        let mut rng = Rng::named(2, "gaps");
        let mut state = state(0.05, 40);
        state.burst_allowance = Duration::ZERO;
        let mut gap = 0;
        let mut shortest = u32::MAX;
        let mut drops = 0_u32;
        let arrivals = 400_000;
        for _ in 0..arrivals {
            gap += 1;
            if !judge(&law, &mut state, 100_000, &mut rng).dropped.is_empty() {
                shortest = shortest.min(gap);
                assert!((17..=171).contains(&gap));
                drops += 1;
                gap = 0;
            }
        }
        assert_eq!(shortest, 17);
        // 16 packets pass, then a geometric wait with mean 20: 36 a drop.
        let mean = f64::from(arrivals) / f64::from(drops);
        assert!((35.0..37.0).contains(&mean), "{mean}");
    }

    #[test]
    fn without_derandomization_drops_are_independent() {
        let params = PieParams { derandomize: false, ..PieParams::default() };
        let law = PieLaw::new(&params, &SETTING).unwrap();
        let mut rng = Rng::named(3, "independent");
        let mut state = state(0.05, 40);
        state.burst_allowance = Duration::ZERO;
        let drops: usize =
            (0..40_000).map(|_| judge(&law, &mut state, 100_000, &mut rng).dropped.len()).sum();
        // Binomial: 2000 with a deviation of 43.6.
        assert!((1825..=2175).contains(&drops), "{drops}");
    }

    #[test]
    fn marks_give_way_to_drops_at_the_threshold() {
        let params = PieParams { ecn: true, derandomize: false, ..PieParams::default() };
        let law = PieLaw::new(&params, &SETTING).unwrap();
        let mut rng = Rng::named(4, "marks");
        let mut count = |drop_prob| {
            let mut state = state(drop_prob, 40);
            state.burst_allowance = Duration::ZERO;
            let mut both = (0, 0);
            for _ in 0..1000 {
                let record = judge(&law, &mut state, 100_000, &mut rng);
                both = (both.0 + record.marked.len(), both.1 + record.dropped.len());
            }
            both
        };
        assert!(matches!(count(0.099), (1.., 0)));
        assert!(matches!(count(0.1), (0, 1..)));
    }

    #[test]
    fn the_departure_rate_gives_the_delay() {
        // 1000 bytes leave every 0.8 ms: 16 384 bytes are first exceeded by 17 packets, 13.6 ms,
        // and PIE takes that as the time of 16 384 bytes (5.2): 41 000 bytes wait 34.03 ms.
        let mut departures = Departures::default();
        for turn in 0..60 {
            departures.departed(us(turn * 800), 1000, 41_000);
        }
        let want = 41_000.0 / 16_384.0 * 13_600_000.0;
        assert_eq!(departures.delay(41_000), Duration::from_nanos(want as u64));
        // Less than DQ_THRESHOLD queued: no measurement.
        let mut departures = Departures::default();
        for turn in 0..60 {
            departures.departed(us(turn * 800), 1000, 16_383);
        }
        assert_eq!(departures.delay(41_000), Duration::ZERO);
    }

    /// Feeds a 10 Mbit/s link with twice as much as it carries, unresponsively, for 40 s; gives
    /// the mean probability and delay (in ms) of the second half.
    fn overload(extra: serde_json::Value) -> (f64, f64) {
        let mut block = json!({ "kind": "pie", "limit": "100000p" });
        block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let mut rig = Rig::new(block);
        let (mut delay, mut probability) = (0.0, 0.0);
        for tick in 0..50_000_u64 {
            let now = us(tick * 800);
            rig.offer(now, |_| {});
            rig.offer(now, |_| {});
            rig.take(now);
            if tick >= 25_000 {
                delay += rig.probe("delay_ms");
                probability += rig.probe("drop_probability");
            }
        }
        (probability / 25_000.0, delay / 25_000.0)
    }

    #[test]
    fn an_overload_is_held_at_the_target() {
        // Half of what arrives must go, each with the probability itself.
        let (p, delay) = overload(json!({ "derandomize": false }));
        assert!((0.47..0.53).contains(&p) && (13.0..17.0).contains(&delay), "{p} {delay}");
        let (p, delay) =
            overload(json!({ "derandomize": false, "delay_estimation": "departure-rate" }));
        assert!((0.47..0.53).contains(&p) && (13.0..17.0).contains(&delay), "{p} {delay}");
    }

    #[test]
    fn a_full_buffer_overflows() {
        let mut rig = Rig::new(json!({ "kind": "pie", "limit": "2p" }));
        rig.offer(ms(0), |_| {});
        rig.offer(ms(0), |_| {});
        assert_eq!(rig.offer(ms(0), |_| {}), Verdict::Dropped);
        assert_eq!(rig.record.dropped, [(2, DropReason::Overflow)]);
    }
}
