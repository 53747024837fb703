//! Growth and reduction of the window in whole segments: Reno and the other controls of Linux
//! (`struct tcp_congestion_ops`), as each version counts.
//!
//! Before 4.0 growth is counted in acknowledgments, and the segments that each covers are averaged
//! (`delayed_ack`).

mod bbr;
mod cubic;
mod dctcp;
mod foreign;
mod hystart;
mod prague;

use super::{Clock, Version};
use crate::accecn::Feedback;
use crate::congestion;
use crate::connection::Site;
use crate::pace::Source;
use forebay_core::{Duration, Named, Time};

pub(super) use bbr::Bbr;
pub(super) use cubic::Cubic;
use dctcp::Dctcp;
pub(super) use foreign::Foreign;
pub(super) use prague::{Prague, Seen};

/// The window, in segments.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cwnd {
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    /// Acknowledgments or segments counted towards the next one (`snd_cwnd_cnt`).
    pub(crate) count: u32,
    pub(crate) most: u32,
}

impl Cwnd {
    pub(crate) const INFINITE: u32 = 0x7fff_ffff;

    /// Before 4.2 slow start includes the threshold itself.
    pub(crate) fn in_slow_start(&self, version: Version) -> bool {
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
            Version::Linux6_1 | Version::Linux6_12 => {
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

/// An acknowledgment, as `pkts_acked` sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) now: Time,
    /// Segments newly acknowledged cumulatively.
    pub(crate) acked: u32,
    /// Round-trip time of the last acknowledged segment, if it is unambiguous.
    pub(crate) rtt: Option<Duration>,
    /// Whether the state is Open.
    pub(crate) open: bool,
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// The pacing rate, in bytes per second (`sk_pacing_rate`).
    pub(crate) pacing_rate: f64,
    pub(crate) paced: bool,
}

/// Linux's own congestion controls, and others in their place.
#[derive(Debug, Default)]
pub(crate) enum Congestion {
    #[default]
    Reno,
    Cubic(Box<Cubic>),
    Dctcp(Box<Dctcp>),
    Bbr(Box<Bbr>),
    Prague(Box<Prague>),
    Foreign(Box<Foreign>),
}

impl Congestion {
    /// Linux's own control of the name that the connection asks for; the connection's, if Linux has
    /// none.
    pub(crate) fn new(version: Version, clock: Clock, site: &Site<'_>) -> Self {
        match site.congestion.facts().linux {
            Some("reno") => Congestion::Reno,
            Some("cubic") => {
                let hystart = site.connection.hystart && !version.is_2_6();
                Congestion::Cubic(Box::new(Cubic::new(version, clock, hystart)))
            }
            Some("bbr") => Congestion::Bbr(Box::default()),
            Some("dctcp") => Congestion::Dctcp(Box::new(Dctcp::new(site.congestion))),
            // L4STeam's Linux has it, mainline Linux does not.
            None if site.congestion.name() == congestion::Prague::NAME => {
                let mtu = site.connection.mtu.0;
                Congestion::Prague(Box::new(Prague::new(site.congestion, mtu, site.now)))
            }
            _ => Congestion::Foreign(Box::new(Foreign::new(site))),
        }
    }

    /// The connection is open, and marks are reported like that (`init`).
    pub(crate) fn open(&mut self, feedback: Feedback) {
        match self {
            Congestion::Dctcp(_) if feedback == Feedback::None => *self = Congestion::Reno,
            Congestion::Prague(_) if feedback != Feedback::Accurate => *self = Congestion::Reno,
            Congestion::Foreign(foreign) => foreign.open(feedback),
            _ => {}
        }
    }

    /// Whether it alone sets the window, also in recovery (`cong_control`).
    pub(crate) fn governs(&self) -> bool {
        match self {
            Congestion::Bbr(_) | Congestion::Prague(_) => true,
            Congestion::Foreign(foreign) => foreign.role.governs,
            _ => false,
        }
    }

    /// What paces the sender; `paced` says that it was asked for.
    pub(crate) fn pace(&self, paced: bool) -> Source {
        match self {
            Congestion::Bbr(_) | Congestion::Prague(_) => Source::Machine,
            Congestion::Foreign(foreign) if foreign.role.paces => Source::Controller,
            _ if paced => Source::Window,
            _ => Source::None,
        }
    }

    /// The control, if it is not one of Linux's own.
    pub(crate) fn foreign(&self) -> Option<&Foreign> {
        match self {
            Congestion::Foreign(foreign) => Some(foreign),
            _ => None,
        }
    }

    pub(crate) fn foreign_mut(&mut self) -> Option<&mut Foreign> {
        match self {
            Congestion::Foreign(foreign) => Some(foreign),
            _ => None,
        }
    }

    /// The pacing rate of one of Linux's own controls that paces, in payload bytes per second.
    pub(crate) fn rate(&self) -> u64 {
        match self {
            Congestion::Bbr(bbr) => bbr.law.pacing_rate,
            Congestion::Prague(prague) => prague.rate,
            _ => 0,
        }
    }

    pub(crate) fn heap(&self) -> usize {
        match self {
            Congestion::Reno => 0,
            Congestion::Cubic(_) => size_of::<Cubic>(),
            Congestion::Dctcp(_) => size_of::<Dctcp>(),
            Congestion::Bbr(_) => size_of::<Bbr>(),
            Congestion::Prague(_) => size_of::<Prague>(),
            Congestion::Foreign(foreign) => foreign.heap(),
        }
    }

    /// The threshold after a loss (`ssthresh`).
    pub(crate) fn ssthresh(&mut self, window: &Cwnd) -> u32 {
        match self {
            Congestion::Reno => (window.cwnd / 2).max(2),
            Congestion::Cubic(cubic) => cubic.ssthresh(window.cwnd),
            Congestion::Dctcp(dctcp) => dctcp.ssthresh(window.cwnd),
            Congestion::Bbr(bbr) => bbr.ssthresh(window),
            Congestion::Prague(_) => window.ssthresh,
            Congestion::Foreign(foreign) => foreign.ssthresh(window),
        }
    }

    /// The window below which rate halving does not go (`tcp_cwnd_min`).
    pub(crate) fn floor(&self, ssthresh: u32) -> u32 {
        match self {
            Congestion::Reno => ssthresh / 2,
            _ => ssthresh,
        }
    }

    /// The window after a reduction is undone (`undo_cwnd`).
    pub(crate) fn undone(&mut self, version: Version, window: &Cwnd, prior: u32) -> u32 {
        let before = match self {
            Congestion::Dctcp(dctcp) => dctcp.before,
            Congestion::Bbr(bbr) => {
                bbr.law.on_undo(&bbr.totals);
                window.cwnd
            }
            Congestion::Prague(prague) => {
                prague.undo();
                prague.before
            }
            Congestion::Foreign(foreign) if foreign.role.governs => window.cwnd,
            _ if !version.is_2_6() => prior,
            Congestion::Cubic(cubic) => cubic.last_max,
            Congestion::Reno | Congestion::Foreign(_) => 2 * window.ssthresh,
        };
        window.cwnd.max(before)
    }

    /// The connection is open with everything up to `next` sent, or it is now in the state Loss.
    pub(crate) fn on_loss_state(&mut self, now: Time, next: u64) {
        match self {
            Congestion::Cubic(cubic) => cubic.forget(now, next),
            Congestion::Bbr(bbr) => bbr.law.on_timeout(&bbr.totals),
            _ => {}
        }
    }

    /// Linux's own Prague.
    pub(crate) fn prague(&mut self) -> Option<&mut Prague> {
        match self {
            Congestion::Prague(prague) => Some(prague),
            _ => None,
        }
    }

    /// Linux's own DCTCP.
    pub(crate) fn dctcp(&mut self) -> Option<&mut Dctcp> {
        match self {
            Congestion::Dctcp(dctcp) => Some(dctcp),
            _ => None,
        }
    }

    /// Nothing was in flight since `sent`, and now something is (`CA_EVENT_TX_START`).
    pub(crate) fn on_restart(&mut self, window: &mut Cwnd, now: Time, sent: Time) {
        match self {
            Congestion::Foreign(foreign) => {
                foreign.with(window, |controller, window| controller.on_restart(window, now));
            }
            Congestion::Cubic(cubic) if !cubic.version.is_2_6() => {
                let (now, sent) = (cubic.clock.ticks(now), cubic.clock.ticks(sent));
                cubic.epoch = cubic.epoch.map(|epoch| (epoch + (now - sent)).min(now));
            }
            _ => {}
        }
    }

    /// Data were acknowledged, and the window limits the sender.
    pub(crate) fn avoid(&mut self, version: Version, window: &mut Cwnd, now: Time, acked: u32) {
        if matches!(self, Congestion::Foreign(_)) {
            return;
        }
        let slow = window.in_slow_start(version);
        let left = if slow { window.slow_start(version, acked) } else { acked };
        if slow && left == 0 {
            return;
        }
        let every = match self {
            Congestion::Bbr(_) | Congestion::Prague(_) | Congestion::Foreign(_) => return,
            Congestion::Reno | Congestion::Dctcp(_) => window.cwnd,
            Congestion::Cubic(cubic) => {
                cubic.update(now, window.cwnd, left);
                cubic.every
            }
        };
        window.avoid(version, every, left);
    }
}
