//! BBR in Linux's own sender (`tcp_bbr.c`): the algorithm of [`crate::congestion::law`] with the
//! samples of `tcp_rate.c`.

use super::Cwnd;
use crate::congestion::law::{Law, Sample, Totals};
use forebay_core::Time;

/// The law, which begins when the connection is open (`bbr_init`), and the counts that it saw last.
#[derive(Debug, Default)]
pub(crate) struct Bbr {
    pub(crate) law: Law,
    pub(crate) totals: Totals,
}

impl Bbr {
    /// Reads an acknowledgment (`bbr_main`). Returns true if segments sent now cannot measure the
    /// bandwidth.
    pub(crate) fn on_ack(&mut self, window: &mut Cwnd, sample: &Sample) -> bool {
        self.totals = sample.totals;
        let understates = self.law.on_ack(sample, &mut window.cwnd);
        window.cwnd = window.cwnd.min(window.most);
        window.ssthresh = self.law.ssthresh.unwrap_or(window.ssthresh);
        understates
    }

    /// The application sends again after an idle time.
    pub(crate) fn on_restart(&mut self, window: &mut Cwnd, now: Time) {
        self.law.on_restart(now, &mut window.cwnd, &self.totals);
    }

    /// `bbr_ssthresh`: the threshold does not change.
    pub(super) fn ssthresh(&mut self, window: &Cwnd) -> u32 {
        self.law.save(window.cwnd);
        window.ssthresh
    }
}
