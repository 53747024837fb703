//! BBR in Linux's own sender (`tcp_bbr.c`): the algorithm of [`crate::congestion::law`] with the
//! samples of `tcp_rate.c`.

use super::Cwnd;
use crate::congestion::law::{Law, Sample, Totals};
use forebay_core::Time;

#[derive(Debug, Default)]
pub(crate) struct Bbr {
    /// Set when the connection is open.
    open: Option<(Law, Totals)>,
}

impl Bbr {
    pub(crate) fn open(&mut self, law: Law, totals: Totals) {
        self.open = Some((law, totals));
    }

    /// Payload bytes per second; 0 before the connection is open.
    pub(crate) fn pacing_rate(&self) -> u64 {
        self.open.as_ref().map_or(0, |(law, _)| law.pacing_rate)
    }

    /// Reads an acknowledgment (`bbr_main`). Returns true if segments sent now cannot measure the
    /// bandwidth.
    pub(crate) fn on_ack(&mut self, window: &mut Cwnd, sample: &Sample) -> bool {
        let Some((law, totals)) = &mut self.open else { return false };
        *totals = sample.totals;
        let understates = law.on_ack(sample, &mut window.cwnd);
        window.cwnd = window.cwnd.min(window.most);
        window.ssthresh = law.ssthresh.unwrap_or(window.ssthresh);
        understates
    }

    /// The application sends again after an idle time.
    pub(crate) fn on_restart(&mut self, window: &mut Cwnd, now: Time) {
        if let Some((law, totals)) = &mut self.open {
            law.on_restart(now, &mut window.cwnd, totals);
        }
    }

    /// `bbr_ssthresh`: the threshold does not change.
    pub(super) fn ssthresh(&mut self, window: &Cwnd) -> u32 {
        if let Some((law, _)) = &mut self.open {
            law.save(window.cwnd);
        }
        window.ssthresh
    }

    pub(super) fn on_timeout(&mut self) {
        if let Some((law, totals)) = &mut self.open {
            law.on_timeout(totals);
        }
    }

    pub(super) fn on_undo(&mut self) {
        if let Some((law, totals)) = &mut self.open {
            law.on_undo(totals);
        }
    }
}
