//! The congestion control of 1999 (RFC 2581), which many simulators had for a long time. The window
//! grows by acknowledgments, not by the bytes that they cover, so delayed acknowledgments halve its
//! growth. Every timeout sets the slow start threshold, not only the first one of a segment.

use super::{AckSample, CongestionController, CongestionEvent, HyStart, NoParams, Start, Window};
use crate::ConnectionParams;
use forebay_core::{ConfigError, Named};
use std::sync::Arc;

/// Slow start, then one segment for each window of acknowledgments.
#[derive(Debug)]
pub struct Rfc2581 {
    hystart: Option<HyStart>,
}

impl Rfc2581 {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        Rfc2581 { hystart: connection.hystart.then(|| HyStart::new(connection.pacing)) }
    }
}

impl Named for Rfc2581 {
    type Family = dyn CongestionController;
    const NAME: &'static str = "rfc2581";
    const SUMMARY: &'static str =
        "growth by acknowledgments, and a lower threshold at every timeout";
    const SOURCE: &'static str = "RFC 2581, section 3";
    type Params = NoParams;

    fn build(_params: &NoParams, _: &()) -> Result<Start, ConfigError> {
        Ok(Arc::new(|connection| Box::new(Rfc2581::new(connection))))
    }
}

impl CongestionController for Rfc2581 {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if window.in_slow_start()
            && let Some(hystart) = &mut self.hystart
        {
            return hystart.on_ack(window, sample);
        }
        if !sample.limited {
            // A window that is not used says nothing about the path (RFC 7661, section 4).
            return;
        }
        // Section 3.1; equation 2, at least one byte.
        let step =
            if window.in_slow_start() { window.mss } else { window.mss.pow(2) / window.cwnd };
        window.grow(step.max(1));
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        // Equation 3.
        window.ssthresh = (event.flight / 2).max(2 * window.mss);
        self.hystart = None;
    }

    fn on_repeated_timeout(&mut self, window: &mut Window) {
        // Equation 3 again: one segment has been sent since the last timeout.
        window.ssthresh = 2 * window.mss;
    }
}
