//! Sensors that report a phenomenon. It moves, and sends pulses; a station that is near enough
//! reports.
//!
//! Each station samples the pulses with a phase of its own, so stations that sense the same pulse
//! do not send at the same time.

use super::family::{BuildSite, Generator};
use super::law::require_length;
use super::{Datagram, Datagrams};
use crate::wireless::Track;
use crate::wireless::place::TrackTable;
use forebay_core::{Bytes, ConfigError, Duration, Named, Rng, Time, config::require, params};

/// One station's sensor.
pub struct Sensing {
    station: Track,
    phenomenon: Track,
    square_range: f64,
    pulse: Duration,
    interval: Duration,
    len: u32,
    /// The next pulse to check, and the earliest time of the next report.
    next: Option<Time>,
    free_from: Time,
}

params! {
    /// Parameters of sensors.
    pub struct SensingParams {
        /// Track of the phenomenon: `[["0s", 0, 0], ["60s", 400, 400]]`, straight between these
        /// points (times and metres). The same for all flows.
        pub track: TrackTable = vec![(Duration::ZERO, 0.0, 0.0)],
        /// Time between its pulses; the NCQ paper, section 5.2.2, has 0.01 s. Above 0.
        pub pulse: Duration = Duration::from_millis(10),
        /// Distance in m at which a station senses it. Above 0.
        pub range: f64 = 100.0,
        /// Shortest time between two reports of one station.
        pub interval: Duration = Duration::ZERO,
        /// Length of the IP packet of a report. 1 B to 65 535 B.
        pub size: Bytes = Bytes(120),
    }
}

impl Sensing {
    fn senses(&self, at: Time) -> bool {
        self.station.at(at).square_distance(self.phenomenon.at(at)) <= self.square_range
    }
}

impl Named for Sensing {
    type Family = Generator;
    const NAME: &'static str = "sensing";
    const SUMMARY: &'static str = "a wireless station that reports a moving phenomenon near it";
    const SOURCE: &'static str = "NCQ paper, section 5.2.2; I. Downard, NRL/FR/5522-04-10073, 2004";
    type Params = SensingParams;

    fn build(params: &SensingParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        let station = site.place.cloned();
        let station = station
            .ok_or_else(|| ConfigError::new("from", "must be a station or a grid of [wireless]"))?;
        let phenomenon = Track::new(&params.track).map_err(|error| error.within("track"))?;
        require(params.pulse > Duration::ZERO, "pulse", || {
            "must be above 0s, such as \"10ms\"".into()
        })?;
        require(params.range.is_finite() && params.range > 0.0, "range", || {
            format!("must be above 0, got {}", params.range)
        })?;
        Ok(Generator::Datagrams(Box::new(Sensing {
            station,
            phenomenon,
            square_range: params.range * params.range,
            pulse: params.pulse,
            interval: params.interval,
            len: require_length(params.size.0, "size")?,
            next: None,
            free_from: Time::ZERO,
        })))
    }
}

impl Datagrams for Sensing {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        let mut at = self.next.unwrap_or_else(|| {
            after + Duration::from_secs_f64(self.pulse.as_secs_f64() * rng.uniform())
        });
        // From then on nothing moves: a phenomenon that is not sensed then is never sensed.
        let still = self.phenomenon.end().max(self.station.end());
        while !(at >= self.free_from && self.senses(at)) {
            if at >= still.max(self.free_from) {
                return None;
            }
            at += self.pulse;
        }
        self.next = Some(at + self.pulse);
        self.free_from = at + self.interval;
        Some(Datagram { at, len: self.len, flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::site;
    use crate::wireless::place::Point;

    fn sensor(params: &SensingParams) -> Result<Generator, ConfigError> {
        let station = Track::fixed(Point { x: 500.0, y: 0.0 });
        Sensing::build(params, &BuildSite { place: Some(&station), ..site() })
    }

    #[test]
    fn a_phenomenon_is_reported_while_it_is_near() {
        // From 0 to 1000 m in 10 s, past a station at 500 m that senses 100 m: from 4 s to 6 s.
        let params = SensingParams {
            track: vec![(Duration::ZERO, 0.0, 0.0), (Duration::from_secs(10), 1000.0, 0.0)],
            ..SensingParams::default()
        };
        let reports = |params: &SensingParams| {
            let Ok(Generator::Datagrams(mut sensor)) = sensor(params) else { panic!("it builds") };
            let mut rng = Rng::named(1, "sensor");
            let mut times = Vec::new();
            while let Some(datagram) =
                sensor.next(times.last().copied().unwrap_or(Time::ZERO), &mut rng)
            {
                times.push(datagram.at);
            }
            times
        };
        let times = reports(&params);
        // One each 10 ms for 2 s.
        assert!((199..=201).contains(&times.len()), "{}", times.len());
        let (first, last) = (times[0].as_secs_f64(), times[times.len() - 1].as_secs_f64());
        assert!((4.0..4.011).contains(&first) && (5.989..=6.0).contains(&last));
        let seldom = SensingParams { interval: Duration::from_millis(100), ..params.clone() };
        assert_eq!(reports(&seldom).len(), 20);
    }

    #[test]
    fn wrong_parameters_name_the_field() {
        let refuse = |params| sensor(&params).err().unwrap().path;
        let base = SensingParams::default;
        assert_eq!(refuse(SensingParams { pulse: Duration::ZERO, ..base() }), "pulse");
        assert_eq!(refuse(SensingParams { range: -1.0, ..base() }), "range");
        assert_eq!(refuse(SensingParams { track: Vec::new(), ..base() }), "track");
        assert_eq!(refuse(SensingParams { size: Bytes(0), ..base() }), "size");
    }
}
