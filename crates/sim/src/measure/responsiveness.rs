//! Responsiveness under load in round trips per minute, from foreign probes.
//!
//! Source: draft-ietf-ippm-responsiveness-09, "Aggregating the Measurements", the case without TLS.
//! Self probes are left out: they share a connection with a load, and an application of the
//! simulation has one request at a time on a connection.

use forebay_core::{Duration, Time};
use std::collections::BTreeMap;

/// Share of the probes, the fastest, whose mean counts.
const TRIMMED: f64 = 0.95;

/// The probes of one user.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    /// By flow: time that its handshake took, and when that was over.
    open: BTreeMap<u32, (Duration, Time)>,
    /// Of each probe that has ended, the handshake (`tcp_f`) and the exchange after it (`http_f`).
    ended: Vec<[Duration; 2]>,
}

impl Probes {
    /// Begins the measurement. Probes under way count when they end.
    pub fn restart(&mut self) {
        self.ended.clear();
    }

    /// The handshake of `flow`, begun at `start`, is over.
    pub fn opened(&mut self, flow: u32, start: Time, now: Time) {
        self.open.insert(flow, (now - start, now));
    }

    /// `flow` has ended, `completed` with its acknowledged byte or given up.
    pub fn ended(&mut self, flow: u32, now: Time, completed: bool) {
        if let Some((handshake, opened)) = self.open.remove(&flow)
            && completed
        {
            self.ended.push([handshake, now - opened]);
        }
    }

    /// Adds the probes of the same user in another part of the network.
    pub fn absorb(&mut self, other: Probes) {
        self.ended.extend(other.ended);
    }
}

/// Round trips per minute of several users' probes. None if no probe has ended.
pub fn round_trips_per_minute<'a>(all: impl Iterator<Item = &'a Probes> + Clone) -> Option<f64> {
    let mean = |part: usize| {
        let of = |probes: &'a Probes| probes.ended.iter().map(move |each| each[part]);
        trimmed_mean(all.clone().flat_map(of).collect())
    };
    Some(60.0 / ((mean(0)? + mean(1)?) / 2.0))
}

/// Mean of the shortest spans, in s.
fn trimmed_mean(mut spans: Vec<Duration>) -> Option<f64> {
    spans.sort_unstable();
    let kept = (spans.len() as f64 * TRIMMED).ceil() as usize;
    let sum: f64 = spans[..kept].iter().map(|span| span.as_secs_f64()).sum();
    (kept > 0).then(|| sum / kept as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_by_hand() {
        let at = |millis: u64| Time::ZERO + Duration::from_millis(millis);
        let mut probes = Probes::default();
        assert_eq!(round_trips_per_minute([&probes].into_iter()), None);
        // Nineteen of 30 and 50 ms, and a slow one, which is a twentieth.
        for flow in 0..19 {
            probes.opened(flow, at(0), at(30));
            probes.ended(flow, at(80), true);
        }
        probes.opened(19, at(0), at(1000));
        probes.ended(19, at(3000), true);
        let found = round_trips_per_minute([&probes].into_iter()).unwrap();
        assert!((found - 60_000.0 / 40.0).abs() < 1e-9, "{found}");
        probes.opened(20, at(0), at(1));
        probes.ended(20, at(2), false);
        assert_eq!(round_trips_per_minute([&probes].into_iter()), Some(found));
    }
}
