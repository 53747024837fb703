//! CUBIC (`tcp_cubic.c`).
//!
//! CUBIC's times are in units of 1/1024 s. Their cube, over 2^40 and times 410 (0.4 of a segment),
//! gives segments. The versions differ, beside what the functions say:
//!
//! - 2.6.18 keeps 819/1024 of the window, 2.6.26 and 6.1 717/1024 (`beta`), and begins with a
//!   threshold of 100 segments (`initial_ssthresh`). Its curve is 13 times as flat as its K expects
//!   (`cube_rtt_scale`, 32 in place of 410).
//! - Before 4.0 growth is counted in acknowledgments, and the segments that each covers are averaged
//!   (`delayed_ack`).

use super::hystart::HyStart;
use super::{Cwnd, Measured};
use crate::stacks::linux::cube_root::cube_root;
use crate::stacks::linux::{Clock, Version};
use forebay_core::{Duration, Time};

/// State of CUBIC. Windows are in segments, times in ticks unless noted.
#[derive(Debug, Default)]
pub(crate) struct Cubic {
    pub(super) version: Version,
    pub(super) clock: Clock,
    /// Number of acknowledgments or segments for one more segment of the window (`cnt`).
    pub(super) every: u32,
    pub(super) last_max: u32,
    /// Whether there has been a loss (`loss_cwnd`).
    lost: bool,
    /// The window for which `every` was computed, and when.
    found: (u32, u64),
    origin: u32,
    /// In 1/1024 s.
    k: u64,
    min_rtt: Option<Duration>,
    pub(super) epoch: Option<u64>,
    acks: u32,
    /// The estimate of Reno's window (`tcp_cwnd`).
    reno: u32,
    /// Segments that an acknowledgment covers, in sixteenths (`delayed_ack`).
    ratio: u32,
    hystart: Option<HyStart>,
}

/// `cwnd` times `factor` over `scale`. The kernel's 32 bits are enough for windows of up to 6
/// million segments.
fn scaled(cwnd: u32, factor: u32, scale: u32) -> u32 {
    (u64::from(cwnd) * u64::from(factor) / u64::from(scale)) as u32
}

impl Cubic {
    const SCALE: u32 = 1024;
    const UNIT: u64 = 1024;
    /// 0.4 of a segment, and the divisor for a cube of 1/1024 s.
    const C: u64 = 410;
    const SHIFT: u32 = 40;
    const RATIO_SHIFT: u32 = 4;
    /// Smax of BIC, segments in 100 ms.
    const MOST_INCREMENT: u64 = 16;
    /// The threshold with which 2.6.18 begins.
    pub(crate) const INITIAL_SSTHRESH: u32 = 100;

    pub(crate) fn new(version: Version, clock: Clock, hystart: bool) -> Self {
        Cubic {
            version,
            clock,
            ratio: 2 << Self::RATIO_SHIFT,
            hystart: hystart.then(HyStart::default),
            ..Cubic::default()
        }
    }

    fn beta(&self) -> u32 {
        if self.version == Version::Linux2_6_18 { 819 } else { 717 }
    }

    pub(super) fn forget(&mut self, now: Time, next: u64) {
        let mut hystart = self.hystart.take();
        if let Some(hystart) = &mut hystart {
            hystart.found = false;
            hystart.restart(now, next);
        }
        *self = Cubic { hystart, ..Cubic::new(self.version, self.clock, false) };
    }

    pub(super) fn ssthresh(&mut self, cwnd: u32) -> u32 {
        self.epoch = None;
        self.last_max = if cwnd < self.last_max {
            scaled(cwnd, Self::SCALE + self.beta(), 2 * Self::SCALE)
        } else {
            cwnd
        };
        self.lost = true;
        scaled(cwnd, self.beta(), Self::SCALE).max(2)
    }

    /// Number of segments for the next one (`bictcp_update`).
    pub(super) fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        let modern = !self.version.is_2_6();
        let ticks = self.clock.ticks(now);
        let step = if modern { acked } else { 1 };
        self.acks += step;
        let same = self.found.0 == cwnd;
        if same && ticks.saturating_sub(self.found.1) <= self.clock.per_second() / 32 {
            return;
        }
        if !(modern && self.epoch.is_some() && self.found.1 == ticks) {
            self.found = (cwnd, ticks);
            let epoch = *self.epoch.get_or_insert_with(|| {
                self.acks = step;
                self.reno = cwnd;
                (self.k, self.origin) = (0, cwnd);
                if self.last_max > cwnd {
                    let cube = (1_u64 << Self::SHIFT) / Self::C * u64::from(self.last_max - cwnd);
                    (self.k, self.origin) = (cube_root(self.version, cube), self.last_max);
                }
                ticks
            });
            self.every = self.on_curve(ticks - epoch, cwnd);
        }
        self.every = self.friendly(cwnd);
    }

    /// By the cubic function alone, `since` ticks after the epoch began.
    fn on_curve(&self, since: u64, cwnd: u32) -> u32 {
        let min_rtt = self.min_rtt.unwrap_or(Duration::ZERO);
        let delay = match self.version.is_2_6() {
            true => min_rtt.as_nanos() / self.clock.tick.as_nanos(),
            false => self.clock.ticks_up(min_rtt),
        };
        let t = (since + delay) * Self::UNIT / self.clock.per_second();
        let away = t.abs_diff(self.k);
        let scale = if self.version == Version::Linux2_6_18 { 32 } else { Self::C };
        // After centuries there is no growth left to compute.
        let cube = u128::from(away).saturating_pow(3).saturating_mul(u128::from(scale));
        let delta = (cube >> Self::SHIFT) as u32;
        let target = if t < self.k {
            self.origin.wrapping_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let mut every =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        match self.version {
            Version::Linux2_6_18 => {
                if delay > 0 {
                    let hz = self.clock.per_second();
                    let least = u64::from(cwnd) * hz * 8 / (10 * Self::MOST_INCREMENT * delay);
                    every = every.max(least as u32);
                }
                if !self.lost {
                    every = 50;
                }
            }
            Version::Linux2_6_26 => {}
            Version::Linux6_1 | Version::Linux6_12 => {
                if self.last_max == 0 {
                    every = every.min(20);
                }
            }
        }
        every
    }

    /// At least as fast as Reno with the same share kept.
    fn friendly(&mut self, cwnd: u32) -> u32 {
        let scale = 8 * (Self::SCALE + self.beta()) / 3 / (Self::SCALE - self.beta());
        let per_segment = cwnd * scale / 8;
        while self.acks > per_segment {
            self.acks -= per_segment;
            self.reno += 1;
        }
        let mut every = self.every;
        if self.reno > cwnd {
            every = every.min(cwnd / (self.reno - cwnd));
        }
        match self.version.is_2_6() {
            true => ((every << Self::RATIO_SHIFT) / self.ratio).max(1),
            false => every.max(2),
        }
    }

    pub(crate) fn measure(&mut self, window: &mut Cwnd, sample: &Measured) {
        if self.version.is_2_6() && sample.open && sample.acked > 0 {
            self.ratio = (self.ratio + sample.acked).wrapping_sub(self.ratio >> Self::RATIO_SHIFT);
        }
        let Some(rtt) = sample.rtt else { return };
        // Right after a recovery delays say little; before 2.6.29 also in the first second.
        let epoch = if self.version.is_2_6() { self.epoch.or(Some(0)) } else { self.epoch };
        let ticks = self.clock.ticks(sample.now);
        if epoch.is_some_and(|epoch| ticks.saturating_sub(epoch) < self.clock.per_second()) {
            return;
        }
        let least = self.min_rtt.map_or(rtt, |before| before.min(rtt));
        self.min_rtt = Some(least);
        if let Some(hystart) = &mut self.hystart
            && !hystart.found
            && window.in_slow_start(self.version)
        {
            hystart.update(window, sample, rtt, least);
        }
    }
}
