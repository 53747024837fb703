//! Thresholds that follow the traffic: how much room is reserved for higher precedence.
//!
//! The paper ends with the wish for "a dynamic threshold setting based upon monitoring the incoming
//! traffic characteristics". The algorithm here is ours. In each queue it keeps a reserve of R
//! packets for precedences above p = 0. R is as small as possible while the highest precedence
//! loses at most `target` of its packets: local\[0\] = limit - R.
//!
//! While p = 0 is denied, only higher precedence fills the reserve. So its highest levels show how
//! large it must be, before anything is lost. The estimate uses peaks over a threshold u = limit -
//! R / 2 (J. Pickands, "Statistical inference using extreme order statistics", 1975, with an
//! exponential tail). Of all arrivals of the highest precedence, a share q finds u packets or more.
//! For these the excess over u has the mean m. A packet that finds the queue full counts as an
//! excess whose end was not seen. Then P(full) = q exp(-(R / 2) / m), which equals the target for
//!
//! R* = R / 2 + m ln(q / target),
//!
//! and R* = R / 2 if q is not above the target. Both are estimated from counts that decay with the
//! time constant `memory`. At the first arrival after each `interval` T:
//! - R* above R: R becomes R* at once, but at most doubles, because protection is urgent;
//! - R* below R: R moves towards it by the share 1 - exp(-T / memory), because room for p = 0 is
//!   not.
//!
//! `max_loss` guards p = 0: the share l of its arrivals that the queue refused in the last interval
//! moves a ceiling of R by the factor exp(4 (T / memory) (`max_loss` - l)), so R falls while p = 0
//! loses more than that, even if the highest precedence then loses more than `target`. The ceiling
//! is at most 2 R, so it falls soon when it is needed.
//!
//! R stays between 1 and limit - 1. The plea keeps its share of the way from one precedence's
//! `local` to the next, and the lower threshold keeps its distance. Thresholds may move while
//! denials and pleas are set. Then denials and pleas are set where the queue is past the new
//! threshold, and cleared where it is below the new lower one, so no precedence is inverted.
//!
//! Cost: an exponential and a logarithm per `interval`, two additions per arrival.

use super::spread::Spread;
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Time, params};

params! {
    /// Parameters of thresholds that follow the traffic.
    pub struct AdaptiveParams {
        /// Share of the highest precedence's packets that may be lost. Above 0, below 1.
        pub target: f64 = 1e-3,
        /// Time constant with which past observations decay. Above 0.
        pub memory: Duration = Duration::from_secs(60),
        /// Time between adjustments (T). Above 0.
        pub interval: Duration = Duration::from_secs(1),
        /// Share of the packets of p = 0 that a queue may refuse for long; above it the reserve
        /// shrinks, which goes before `target`. Above 0, at most 1, which is no limit.
        pub max_loss: f64 = 1.0,
    }
}

impl AdaptiveParams {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        require(self.target > 0.0 && self.target < 1.0, "target", || {
            format!("must be above 0 and below 1, such as 0.001, got {}", self.target)
        })
        .and_then(|()| {
            require(self.max_loss > 0.0 && self.max_loss <= 1.0, "max_loss", || {
                format!("must be above 0 and at most 1, such as 0.3, got {}", self.max_loss)
            })?;
            for (path, span) in [("memory", self.memory), ("interval", self.interval)] {
                require(span > Duration::ZERO, path, || {
                    format!("must be above 0s, such as \"30s\", got \"{span}\"")
                })?;
            }
            Ok(())
        })
        .map_err(|error| error.within("adaptive"))
    }
}

/// The reserve of one queue, and what its arrivals showed.
pub(super) struct Reserve {
    target: f64,
    /// Seconds.
    memory: f64,
    interval: Duration,
    limit: u32,
    /// R, in packets.
    packets: f64,
    /// The plea's share of the way from one `local` to the next.
    plea: Option<f64>,
    /// Packets between `local` and the lower threshold.
    gap: f64,
    last: Time,
    /// Decayed counts of arrivals of the highest precedence: all of them, those beyond u, and of
    /// the latter those that found room. Also the sum of the excesses.
    arrivals: f64,
    beyond: f64,
    within: f64,
    excess: f64,
    /// The guard of p = 0, if it has one.
    guard: Option<Guard>,
}

/// The limit of what p = 0 may lose.
struct Guard {
    max_loss: f64,
    /// The largest R, in packets.
    ceiling: f64,
    /// Arrivals of p = 0 in this interval, and those that were refused.
    arrivals: u32,
    refused: u32,
}

impl Guard {
    /// Moves the ceiling after an interval of `passed` times the memory. Returns it.
    fn adjust(&mut self, passed: f64, packets: f64) -> f64 {
        if self.arrivals > 0 {
            let loss = f64::from(self.refused) / f64::from(self.arrivals);
            let step = libm::exp(4.0 * passed * (self.max_loss - loss));
            self.ceiling = (self.ceiling * step).clamp(1.0, 2.0 * packets);
        }
        (self.arrivals, self.refused) = (0, 0);
        self.ceiling
    }
}

impl Reserve {
    /// Starts from the thresholds of p = 0: `local_lower`, `local`, `non_local`.
    pub(super) fn new(law: &AdaptiveParams, limit: u32, start: [u32; 3]) -> Self {
        let [lower, local, non_local] = start.map(f64::from);
        let room = f64::from(limit);
        let plea = (non_local < room).then(|| (non_local - local) / (room - local));
        Reserve {
            target: law.target,
            memory: law.memory.as_secs_f64(),
            interval: law.interval,
            limit,
            packets: room - local,
            plea,
            gap: local - lower,
            last: Time::ZERO,
            arrivals: 0.0,
            beyond: 0.0,
            within: 0.0,
            excess: 0.0,
            guard: (law.max_loss < 1.0).then_some(Guard {
                max_loss: law.max_loss,
                ceiling: room - local,
                arrivals: 0,
                refused: 0,
            }),
        }
    }

    /// R, in packets.
    pub(super) fn packets(&self) -> f64 {
        self.packets
    }

    /// Records an arrival of the highest precedence that found `found` packets.
    #[inline]
    pub(super) fn see(&mut self, found: usize) {
        self.arrivals += 1.0;
        let excess = found as f64 - (f64::from(self.limit) - self.packets / 2.0);
        if excess >= 0.0 {
            self.beyond += 1.0;
            self.excess += excess;
            self.within += f64::from(found < self.limit as usize);
        }
    }

    /// Records an arrival of p = 0, and whether it was refused.
    #[inline]
    pub(super) fn see_lowest(&mut self, refused: bool) {
        if let Some(guard) = &mut self.guard {
            guard.arrivals += 1;
            guard.refused += u32::from(refused);
        }
    }

    /// Whether an interval has passed.
    #[inline]
    pub(super) fn due(&self, now: Time) -> bool {
        now.since(self.last) >= self.interval
    }

    /// Adjusts R for the time that has passed. Returns the thresholds of p = 0, from which those of
    /// `levels` precedences follow.
    pub(super) fn adjust(&mut self, now: Time, levels: usize) -> Spread {
        let passed = now.since(self.last).as_secs_f64();
        self.last = now;
        let fade = libm::exp(-passed / self.memory);
        let half = self.packets / 2.0;
        let mut wanted = half;
        // If all of them found the queue full, the mean excess is not known, and is taken as large.
        if self.beyond > self.target * self.arrivals {
            let mean = (self.excess / self.within.max(0.5)).max(0.5);
            wanted += mean * libm::log(self.beyond / self.arrivals / self.target);
        }
        let most = f64::from(self.limit - 1).max(1.0);
        self.packets = if wanted > self.packets {
            wanted.min(2.0 * self.packets)
        } else {
            self.packets + (1.0 - fade) * (wanted - self.packets)
        }
        .clamp(1.0, most);
        if let Some(guard) = &mut self.guard {
            let ceiling = guard.adjust(passed / self.memory, self.packets);
            self.packets = self.packets.min(ceiling);
        }
        for count in [&mut self.arrivals, &mut self.beyond, &mut self.within, &mut self.excess] {
            *count *= fade;
        }
        let step = self.packets / levels as f64;
        Spread {
            limit: self.limit,
            local: f64::from(self.limit) - self.packets,
            plea: self.plea.map(|share| share * step),
            gap: self.gap,
        }
    }
}
