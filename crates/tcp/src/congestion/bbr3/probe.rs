//! BBR's variables, with the draft's names, for traces.

use super::states::State;
use super::{Bbr3, INFINITE};

impl Bbr3 {
    /// Reports every variable that the draft's test cases need ("BBR Example Test Cases"). `state`
    /// numbers the states in the order of their declaration.
    pub(super) fn report(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bytes = |bytes: u64| if bytes == INFINITE { f64::INFINITY } else { bytes as f64 };
        let flag = |flag: bool| f64::from(u8::from(flag));
        let (pacing_gain, cwnd_gain) = self.gains();
        out("state", f64::from(self.state as u8));
        out("pacing_gain", pacing_gain);
        out("cwnd_gain", cwnd_gain);
        out("pacing_rate", self.pacing_rate);
        out("cwnd", bytes(self.cwnd));
        out("inflight", bytes(self.in_flight));
        out("round_count", f64::from(self.round_count));
        out("drain_start_round", f64::from(self.drain_start_round));
        out("delivery_rate", self.delivery_rate());
        out("app_limited", flag(self.rs.app_limited));
        out("max_bw", self.max_bw());
        out("bw", self.bw);
        out("bw_shortterm", self.bw_shortterm);
        out("inflight_shortterm", bytes(self.inflight_shortterm));
        out("inflight_longterm", bytes(self.inflight_longterm));
        out("inflight_bdp", bytes(self.inflight(1.0)));
        out("inflight_with_headroom", bytes(self.inflight_with_headroom()));
        out("bdp", bytes(self.bdp()));
        out("min_rtt", self.min_rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64()));
        out("extra_acked", bytes(self.extra_acked_filter.get()));
        out("full_bw_count", f64::from(self.full_bw_count));
        out("full_bw_now", flag(self.full_bw_now));
        out("full_bw_reached", flag(self.full_bw_reached));
        out("loss_in_round", flag(self.is_loss_in_round));
        out("probe_up_increase", self.probing.acked_per_increase.map_or(f64::NAN, bytes));
        out("bw_probe_wait", self.probing.wait.as_secs_f64());
        out("idle_restart", flag(self.idle_restart));
        out("undo_state", self.undo_state.map_or(f64::NAN, |state: State| f64::from(state as u8)));
        out("undo_bw_shortterm", self.undo_bw_shortterm);
        out("undo_inflight_shortterm", bytes(self.undo_inflight_shortterm));
        out("undo_inflight_longterm", bytes(self.undo_inflight_longterm));
    }
}
