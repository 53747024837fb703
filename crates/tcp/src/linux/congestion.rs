//! Growth and reduction of the window in whole segments: Reno (`net/ipv4/tcp_cong.c`) and CUBIC
//! (`tcp_cubic.c`) as each version counts them.
//!
//! CUBIC's times are in units of 1/1024 s, of which a cube over 2^40 times 410 (0.4 of a segment)
//! gives segments. What differs between versions, beside what the functions say:
//!
//! - 2.6.18 keeps 819/1024 of the window, 2.6.26 and 6.1 717/1024 (`beta`), and begins with a
//!   threshold of 100 segments (`initial_ssthresh`). Its curve is 13 times as flat as its K expects
//!   (`cube_rtt_scale`, 32 in place of 410).
//! - Before 4.0 growth is counted in acknowledgments, and the segments that each covers are averaged
//!   (`delayed_ack`).

use super::cube_root::cube_root;
use super::{Clock, Version};
use crate::Config;
use forebay_core::{Duration, Time};

/// The window, in segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cwnd {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    /// Acknowledgments or segments towards the next one (`snd_cwnd_cnt`).
    pub(super) count: u32,
    pub(super) most: u32,
}

impl Cwnd {
    pub(super) const INFINITE: u32 = 0x7fff_ffff;

    /// Slow start includes the threshold itself before 4.2.
    pub(super) fn in_slow_start(&self, version: Version) -> bool {
        self.cwnd < self.ssthresh || (version.is_2_6() && self.cwnd == self.ssthresh)
    }

    fn grow(&mut self, segments: u32) {
        self.cwnd = (self.cwnd + segments).min(self.most);
    }

    /// `tcp_slow_start`; answers the segments that are left to count in congestion avoidance.
    fn slow_start(&mut self, version: Version, acked: u32) -> u32 {
        match version {
            Version::Linux2_6_18 => self.grow(1),
            Version::Linux2_6_26 => {
                self.count += self.cwnd;
                while self.count >= self.cwnd {
                    self.count -= self.cwnd;
                    self.grow(1);
                }
            }
            Version::Linux6_1 => {
                let cwnd = (self.cwnd + acked).min(self.ssthresh);
                let left = acked - (cwnd - self.cwnd);
                self.cwnd = cwnd.min(self.most);
                return left;
            }
        }
        0
    }

    /// One more after `every` acknowledgments and the one after them (before 4.0), or for `every`
    /// segments (`tcp_cong_avoid_ai`).
    fn avoid(&mut self, version: Version, every: u32, acked: u32) {
        if version.is_2_6() {
            if self.count >= every {
                self.grow(1);
                self.count = 0;
            } else {
                self.count += 1;
            }
            return;
        }
        if self.count >= every {
            self.count = 0;
            self.grow(1);
        }
        self.count += acked;
        if self.count >= every {
            let more = self.count / every;
            self.count -= more * every;
            self.grow(more);
        }
    }
}

/// What an acknowledgment tells of the round trip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) now: Time,
    /// Segments newly acknowledged cumulatively.
    pub(super) acked: u32,
    /// Of the last segment acknowledged, if it is unambiguous.
    pub(super) rtt: Option<Duration>,
    /// Whether the state is Open.
    pub(super) open: bool,
    pub(super) una: u64,
    pub(super) next: u64,
    /// What pacing would send at, in bytes a second (`sk_pacing_rate`).
    pub(super) pacing_rate: f64,
    pub(super) paced: bool,
}

/// Linux's own congestion controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Reno,
    Cubic,
}

impl Control {
    /// That of `config`, if this version has it.
    pub(super) fn of(_version: Version, config: &Config) -> Option<Self> {
        match config.congestion.facts().linux? {
            "reno" => Some(Control::Reno),
            "cubic" => Some(Control::Cubic),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Congestion {
    Reno,
    Cubic(Box<Cubic>),
}

impl Congestion {
    /// The threshold after a loss.
    pub(super) fn ssthresh(&mut self, window: &Cwnd) -> u32 {
        match self {
            Congestion::Reno => (window.cwnd / 2).max(2),
            Congestion::Cubic(cubic) => cubic.ssthresh(window.cwnd),
        }
    }

    /// What rate halving does not go below (`tcp_cwnd_min`).
    pub(super) fn floor(&self, ssthresh: u32) -> u32 {
        match self {
            Congestion::Reno => ssthresh / 2,
            Congestion::Cubic(_) => ssthresh,
        }
    }

    /// The window after a reduction is taken back (`undo_cwnd`).
    pub(super) fn undone(&self, version: Version, window: &Cwnd, prior: u32) -> u32 {
        let before = match self {
            _ if !version.is_2_6() => prior,
            Congestion::Reno => 2 * window.ssthresh,
            Congestion::Cubic(cubic) => cubic.last_max,
        };
        window.cwnd.max(before)
    }

    /// The state is Loss now.
    pub(super) fn on_loss_state(&mut self, now: Time, next: u64) {
        if let Congestion::Cubic(cubic) = self {
            cubic.forget(now, next);
        }
    }

    /// Nothing was in flight since `sent`, and now something is (`CA_EVENT_TX_START`).
    pub(super) fn on_restart(&mut self, now: Time, sent: Time) {
        if let Congestion::Cubic(cubic) = self
            && cubic.version == Version::Linux6_1
        {
            let (now, sent) = (cubic.clock.ticks(now), cubic.clock.ticks(sent));
            cubic.epoch = cubic.epoch.map(|epoch| (epoch + (now - sent)).min(now));
        }
    }

    /// Data were acknowledged and the window is what holds the sender back.
    pub(super) fn avoid(&mut self, version: Version, window: &mut Cwnd, now: Time, acked: u32) {
        let slow = window.in_slow_start(version);
        let left = if slow { window.slow_start(version, acked) } else { acked };
        if slow && left == 0 {
            return;
        }
        let every = match self {
            Congestion::Reno => window.cwnd,
            Congestion::Cubic(cubic) => {
                cubic.update(now, window.cwnd, left);
                cubic.every
            }
        };
        window.avoid(version, every, left);
    }

    /// What `pkts_acked` does.
    pub(super) fn measure(&mut self, window: &mut Cwnd, sample: &Measured) {
        if let Congestion::Cubic(cubic) = self {
            cubic.measure(window, sample);
        }
    }
}

/// Hybrid slow start of Linux since 2.6.29, as 6.1 has it (`hystart_update`).
#[derive(Debug, Default)]
struct HyStart {
    found: bool,
    began: Time,
    last_ack: Time,
    end: u64,
    least: Option<Duration>,
    samples: u8,
}

impl HyStart {
    const LOW_WINDOW: u32 = 16;
    const SAMPLES: u8 = 8;
    const TRAIN: Duration = Duration::from_millis(2);
    const LEAST: Duration = Duration::from_millis(4);
    const MOST: Duration = Duration::from_millis(16);

    fn restart(&mut self, now: Time, next: u64) {
        *self = HyStart {
            found: self.found,
            began: now,
            last_ack: now,
            end: next,
            ..HyStart::default()
        };
    }

    fn update(&mut self, window: &mut Cwnd, sample: &Measured, rtt: Duration, least: Duration) {
        if sample.una > self.end {
            self.restart(sample.now, sample.next);
        }
        if window.cwnd < Self::LOW_WINDOW {
            return;
        }
        if sample.now.since(self.last_ack) <= Self::TRAIN {
            self.last_ack = sample.now;
            // Room for segments that are sent together: four times 64 KiB, 1 ms at most.
            let burst = 4.0 * 65_536.0 / sample.pacing_rate.max(1.0);
            let span = least + Duration::from_secs_f64(burst.min(1e-3));
            let span = if sample.paced { span } else { span / 2 };
            if sample.now.since(self.began) > span {
                self.found = true;
                window.ssthresh = window.cwnd;
            }
        }
        let shortest = self.least.map_or(rtt, |before| before.min(rtt));
        self.least = Some(shortest);
        if self.samples < Self::SAMPLES {
            self.samples += 1;
        } else if shortest > least + (least / 8).max(Self::LEAST).min(Self::MOST) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }
}

/// State of CUBIC; windows in segments, times in ticks unless said.
#[derive(Debug)]
pub(super) struct Cubic {
    version: Version,
    clock: Clock,
    /// Acknowledgments or segments for another segment of the window (`cnt`).
    every: u32,
    last_max: u32,
    /// Whether there has been a loss (`loss_cwnd`).
    lost: bool,
    /// The window that `every` was found for, and when.
    found: (u32, u64),
    origin: u32,
    /// In 1/1024 s.
    k: u64,
    min_rtt: Option<Duration>,
    epoch: Option<u64>,
    acks: u32,
    /// The estimate of Reno's window (`tcp_cwnd`).
    reno: u32,
    /// Segments that an acknowledgment covers, in sixteenths (`delayed_ack`).
    ratio: u32,
    hystart: Option<HyStart>,
}

impl Cubic {
    const SCALE: u32 = 1024;
    const UNIT: u64 = 1024;
    /// 0.4 of a segment, and what a cube of 1/1024 s is divided by.
    const C: u64 = 410;
    const SHIFT: u32 = 40;
    const RATIO_SHIFT: u32 = 4;
    /// Smax of BIC, segments in 100 ms.
    const MOST_INCREMENT: u64 = 16;
    /// Threshold that 2.6.18 begins with.
    pub(super) const INITIAL_SSTHRESH: u32 = 100;

    pub(super) fn new(version: Version, clock: Clock, hystart: bool) -> Self {
        Cubic {
            version,
            clock,
            every: 0,
            last_max: 0,
            lost: false,
            found: (0, 0),
            origin: 0,
            k: 0,
            min_rtt: None,
            epoch: None,
            acks: 0,
            reno: 0,
            ratio: 2 << Self::RATIO_SHIFT,
            hystart: hystart.then(HyStart::default),
        }
    }

    fn beta(&self) -> u32 {
        if self.version == Version::Linux2_6_18 { 819 } else { 717 }
    }

    fn forget(&mut self, now: Time, next: u64) {
        let mut hystart = self.hystart.take();
        if let Some(hystart) = &mut hystart {
            hystart.found = false;
            hystart.restart(now, next);
        }
        *self = Cubic { hystart, ..Cubic::new(self.version, self.clock, false) };
    }

    fn ssthresh(&mut self, cwnd: u32) -> u32 {
        self.epoch = None;
        self.last_max = if cwnd < self.last_max {
            cwnd * (Self::SCALE + self.beta()) / (2 * Self::SCALE)
        } else {
            cwnd
        };
        self.lost = true;
        (cwnd * self.beta() / Self::SCALE).max(2)
    }

    /// Segments for the next one (`bictcp_update`).
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
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

    /// By the curve alone, `since` ticks after the epoch began.
    fn on_curve(&self, since: u64, cwnd: u32) -> u32 {
        let min_rtt = self.min_rtt.unwrap_or(Duration::ZERO);
        let delay = match self.version {
            Version::Linux6_1 => self.clock.ticks_up(min_rtt),
            _ => min_rtt.as_nanos() / self.clock.tick.as_nanos(),
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
        let mut every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
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
            Version::Linux6_1 => {
                if self.last_max == 0 {
                    every = every.min(20);
                }
            }
        }
        every
    }

    /// No slower than Reno with the same share kept.
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
        match self.version {
            Version::Linux6_1 => every.max(2),
            _ => ((every << Self::RATIO_SHIFT) / self.ratio).max(1),
        }
    }

    fn measure(&mut self, window: &mut Cwnd, sample: &Measured) {
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
