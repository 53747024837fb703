//! Agent: a congestion window and a pacing rate that are set from outside.
//!
//! Nothing is measured and nothing adapts. The program that runs the connection, such as an agent
//! that learns, sets both ([`CongestionController::retune`]). Losses change neither; recovery
//! decides what is sent again. Until the first acknowledgment the window is the connection's
//! initial one.

use super::{
    AckSample, Attention, CongestionController, CongestionEvent, Delivery, Role, Start, Window,
};
use forebay_core::config::require;
use forebay_core::{ConfigError, Duration, Named, Rate, params};
use std::any::Any;
use std::sync::Arc;

params! {
    /// Parameters of `agent`.
    #[derive(Copy, PartialEq)]
    pub struct AgentParams {
        /// Congestion window in segments, at most the connection's `max_window`; above 0. Default
        /// 10.
        pub window: f64 = 10.0,
        /// Rate at which segments leave; above 0. Default: none, what the window allows leaves at
        /// once.
        pub rate: Option<Rate> = None,
    }
}

/// A given window and a given rate.
#[derive(Debug)]
pub struct Agent(AgentParams);

impl Agent {
    fn open(&self, window: &mut Window) {
        let bytes = (self.0.window * window.mss as f64) as u64;
        window.cwnd = bytes.clamp(window.mss, window.maximum.max(window.mss));
    }
}

impl Named for Agent {
    type Family = dyn CongestionController;
    const NAME: &'static str = "agent";
    const SUMMARY: &'static str = "a window and a rate that an agent sets";
    const SOURCE: &'static str = "forebay";
    type Params = AgentParams;

    fn build(params: &AgentParams, _: &()) -> Result<Start, ConfigError> {
        let AgentParams { window, rate } = *params;
        require(window > 0.0 && window <= 1e6, "window", || {
            format!("must be above 0 and at most 1000000, got {window}")
        })?;
        require(rate != Some(Rate::from_bps(0)), "rate", || {
            "must be above 0; leave it out to have none".into()
        })?;
        let params = *params;
        Ok(Arc::new(move |_| Box::new(Agent(params))))
    }
}

impl CongestionController for Agent {
    /// Acknowledgments are reported only while the window limits the sender; a rate may limit it as
    /// well.
    fn on_ack(&mut self, _: &mut Window, _: &AckSample) {}

    fn role(&self) -> Role {
        Role { attention: Attention::Acknowledgments, governs: true, paces: true }
    }

    fn on_delivery(&mut self, window: &mut Window, _: &Delivery) {
        self.open(window);
    }

    /// It never returns to slow start.
    fn on_congestion(&mut self, window: &mut Window, _: &CongestionEvent) {
        window.ssthresh = window.cwnd;
    }

    fn pacing_rate(&self, _: &Window, _: Option<Duration>) -> Option<Rate> {
        self.0.rate
    }

    fn retune(&mut self, window: &mut Window, fresh: &mut dyn Any) -> bool {
        fresh.downcast_ref::<Self>().is_some_and(|fresh| {
            self.0 = fresh.0;
            self.open(window);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionParams;

    #[test]
    fn the_window_and_the_rate_are_those_that_are_set() {
        let connection = ConnectionParams::default();
        let mut window = Window::new(&connection, None);
        let mut agent = Agent(AgentParams { window: 20.0, rate: None });
        agent.on_delivery(&mut window, &Delivery::default());
        assert_eq!(window.cwnd, 20 * window.mss);
        let rate = Some(Rate::from_bps(1_000_000));
        let mut fresh = Agent(AgentParams { window: 2.5, rate });
        assert!(agent.retune(&mut window, &mut fresh));
        assert_eq!(window.cwnd, window.mss * 5 / 2);
        assert_eq!(agent.pacing_rate(&window, None), rate);
        // At least a segment, at most what the connection may have.
        for (segments, bytes) in [(0.1, window.mss), (1e6, 40 * window.mss)] {
            window.maximum = 40 * window.mss;
            agent.retune(&mut window, &mut Agent(AgentParams { window: segments, rate: None }));
            assert_eq!(window.cwnd, bytes);
        }
        for (window, rate) in [(0.0, None), (-1.0, None), (1.0, Some(Rate::from_bps(0)))] {
            assert!(Agent::build(&AgentParams { window, rate }, &()).is_err());
        }
    }
}
