//! Growth and reduction of the window in whole segments: Reno and the other controls of Linux
//! (`struct tcp_congestion_ops`), as each version counts.
//!
//! Before 4.0 growth is counted in acknowledgments, and the segments that each covers are averaged
//! (`delayed_ack`).

mod bbr;
mod cubic;
mod dctcp;
mod hystart;

use super::{Clock, Version};
use crate::Config;
use forebay_core::{Duration, Time};

pub(super) use bbr::Bbr;
pub(super) use cubic::Cubic;
use dctcp::Dctcp;

/// The window, in segments.
#[derive(Debug, Clone, Copy)]
pub(in crate::linux) struct Cwnd {
    pub(in crate::linux) cwnd: u32,
    pub(in crate::linux) ssthresh: u32,
    /// Acknowledgments or segments counted towards the next one (`snd_cwnd_cnt`).
    pub(in crate::linux) count: u32,
    pub(in crate::linux) most: u32,
}

impl Cwnd {
    pub(in crate::linux) const INFINITE: u32 = 0x7fff_ffff;

    /// Before 4.2 slow start includes the threshold itself.
    pub(in crate::linux) fn in_slow_start(&self, version: Version) -> bool {
        self.cwnd < self.ssthresh || (version.is_2_6() && self.cwnd == self.ssthresh)
    }

    fn grow(&mut self, segments: u32) {
        self.cwnd = (self.cwnd + segments).min(self.most);
    }

    /// `tcp_slow_start`. Returns the segments that are left to count in congestion avoidance.
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

    /// Adds one segment after `every` acknowledgments plus one (before 4.0), or for `every`
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

/// What an acknowledgment says about the round trip.
#[derive(Debug, Clone, Copy)]
pub(in crate::linux) struct Measured {
    pub(in crate::linux) now: Time,
    /// Segments newly acknowledged cumulatively.
    pub(in crate::linux) acked: u32,
    /// Round-trip time of the last acknowledged segment, if it is unambiguous.
    pub(in crate::linux) rtt: Option<Duration>,
    /// Whether the state is Open.
    pub(in crate::linux) open: bool,
    pub(in crate::linux) una: u64,
    pub(in crate::linux) next: u64,
    /// The pacing rate, in bytes per second (`sk_pacing_rate`).
    pub(in crate::linux) pacing_rate: f64,
    pub(in crate::linux) paced: bool,
}

/// What is known of deliveries (`tp->delivered`, `tp->delivered_ce`), and the sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(in crate::linux) struct Delivered {
    pub(in crate::linux) una: u64,
    pub(in crate::linux) next: u64,
    /// Segments delivered, and those of them with an echo.
    pub(in crate::linux) all: u32,
    pub(in crate::linux) marked: u32,
}

/// Linux's own congestion controls.
#[derive(Debug)]
pub(in crate::linux) enum Congestion {
    Reno,
    Cubic(Box<Cubic>),
    Dctcp(Box<Dctcp>),
    Bbr(Box<Bbr>),
}

impl Congestion {
    /// The control that `config` names, if this version has it.
    pub(in crate::linux) fn of(version: Version, config: &Config) -> Option<Self> {
        let control = &config.congestion;
        Some(match (control.facts().linux?, version) {
            ("reno", _) => Congestion::Reno,
            ("cubic", _) => {
                let hystart = config.hystart && !version.is_2_6();
                Congestion::Cubic(Box::new(Cubic::new(version, Clock::new(config), hystart)))
            }
            ("bbr", Version::Linux6_1) => Congestion::Bbr(Box::default()),
            ("dctcp", Version::Linux6_1) => Congestion::Dctcp(Box::new(Dctcp::new(config))),
            _ => return None,
        })
    }

    /// The connection is open, with or without ECN (`init`).
    pub(in crate::linux) fn open(&mut self, ecn: bool) {
        if !ecn && matches!(self, Congestion::Dctcp(_)) {
            *self = Congestion::Reno;
        }
    }

    /// Bytes of heap memory.
    pub(in crate::linux) fn heap(&self) -> usize {
        match self {
            Congestion::Reno => 0,
            Congestion::Cubic(_) => size_of::<Cubic>(),
            Congestion::Dctcp(_) => size_of::<Dctcp>(),
            Congestion::Bbr(_) => size_of::<Bbr>(),
        }
    }

    /// The threshold after a loss (`ssthresh`).
    pub(in crate::linux) fn ssthresh(&mut self, window: &Cwnd) -> u32 {
        match self {
            Congestion::Reno => (window.cwnd / 2).max(2),
            Congestion::Cubic(cubic) => cubic.ssthresh(window.cwnd),
            Congestion::Dctcp(dctcp) => dctcp.ssthresh(window.cwnd),
            Congestion::Bbr(bbr) => bbr.ssthresh(window),
        }
    }

    /// The window below which rate halving does not go (`tcp_cwnd_min`).
    pub(in crate::linux) fn floor(&self, ssthresh: u32) -> u32 {
        match self {
            Congestion::Reno => ssthresh / 2,
            _ => ssthresh,
        }
    }

    /// The window after a reduction is undone (`undo_cwnd`).
    pub(in crate::linux) fn undone(&mut self, version: Version, window: &Cwnd, prior: u32) -> u32 {
        let before = match self {
            Congestion::Dctcp(dctcp) => dctcp.before(),
            Congestion::Bbr(bbr) => {
                bbr.on_undo();
                window.cwnd
            }
            _ if !version.is_2_6() => prior,
            Congestion::Cubic(cubic) => cubic.last_max,
            Congestion::Reno => 2 * window.ssthresh,
        };
        window.cwnd.max(before)
    }

    /// The connection is open with everything up to `next` sent, or it is now in the state Loss.
    pub(in crate::linux) fn on_loss_state(&mut self, now: Time, next: u64) {
        match self {
            Congestion::Cubic(cubic) => cubic.forget(now, next),
            Congestion::Bbr(bbr) => bbr.on_timeout(),
            _ => {}
        }
    }

    /// A recovery began, or a timeout (`set_state`, `CA_EVENT_LOSS`).
    pub(in crate::linux) fn on_loss(&mut self, window: &mut Cwnd) {
        if let Congestion::Dctcp(dctcp) = self {
            dctcp.on_loss(window);
        }
    }

    /// An acknowledgment was counted (`in_ack_event`).
    pub(in crate::linux) fn on_ack(&mut self, delivered: &Delivered) {
        if let Congestion::Dctcp(dctcp) = self {
            dctcp.on_ack(delivered);
        }
    }

    /// Nothing was in flight since `sent`, and now something is (`CA_EVENT_TX_START`).
    pub(in crate::linux) fn on_restart(&mut self, now: Time, sent: Time) {
        if let Congestion::Cubic(cubic) = self
            && cubic.version == Version::Linux6_1
        {
            let (now, sent) = (cubic.clock.ticks(now), cubic.clock.ticks(sent));
            cubic.epoch = cubic.epoch.map(|epoch| (epoch + (now - sent)).min(now));
        }
    }

    /// Data were acknowledged, and the window limits the sender.
    pub(in crate::linux) fn avoid(
        &mut self,
        version: Version,
        window: &mut Cwnd,
        now: Time,
        acked: u32,
    ) {
        let slow = window.in_slow_start(version);
        let left = if slow { window.slow_start(version, acked) } else { acked };
        if slow && left == 0 {
            return;
        }
        let every = match self {
            Congestion::Bbr(_) => return,
            Congestion::Reno | Congestion::Dctcp(_) => window.cwnd,
            Congestion::Cubic(cubic) => {
                cubic.update(now, window.cwnd, left);
                cubic.every
            }
        };
        window.avoid(version, every, left);
    }

    /// What `pkts_acked` does.
    pub(in crate::linux) fn measure(&mut self, window: &mut Cwnd, sample: &Measured) {
        if let Congestion::Cubic(cubic) = self {
            cubic.measure(window, sample);
        }
    }
}
