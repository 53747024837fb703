//! Adaptive video streaming over HTTP: segments of a few seconds, each at a rate that depends on
//! the throughput of the earlier ones.
//!
//! This is the conventional client of Z. Li et al., *Probe and adapt: rate adaptation for HTTP
//! video streaming at scale*, IEEE JSAC 32(4), 2014, section III. The throughput of each segment is
//! smoothed exponentially, the highest rate below a share of it is chosen, and the client waits
//! while the buffer is full. Each segment has a connection of its own.

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Media, Transfer, Transfers};
use forebay_core::{ConfigError, Duration, Named, Rate, Rng, Time, config::require, params};

/// Weight of a segment's throughput in the smoothed one.
const SMOOTHING: f64 = 0.2;
/// Share of the smoothed throughput that a rate may take.
const SAFETY: f64 = 0.85;

/// A player.
pub struct AdaptiveVideo {
    params: AdaptiveVideoParams,
    /// Smoothed throughput, bit/s.
    throughput: Option<f64>,
    /// Media in the buffer when the last segment had arrived.
    buffered: Duration,
    last: Time,
    /// The segment that is being transferred: when it began, and its rate.
    begun: Option<(Time, Rate)>,
}

params! {
    /// Parameters of adaptive video.
    pub struct AdaptiveVideoParams {
        /// Available rates of the video, ascending, each above 0. It starts with the first.
        pub rates: Vec<Rate> =
            [500, 1000, 2000, 3500, 6000].map(|kbit| Rate::from_bps(kbit * 1000)).into(),
        /// Length of a segment. Above 0.
        pub segment: Duration = Duration::from_secs(4),
        /// Most that the player buffers. At least one segment.
        pub buffer: Duration = Duration::from_secs(20),
    }
}

impl AdaptiveVideo {
    fn segment(&mut self, at: Time) -> Transfer {
        let affordable = SAFETY * self.throughput.unwrap_or(0.0);
        let fits = |rate: &&Rate| rate.bps() as f64 <= affordable;
        let rate = self.params.rates.iter().rev().find(fits).unwrap_or(&self.params.rates[0]);
        let bits = rate.bps() as f64 * self.params.segment.as_secs_f64();
        self.begun = Some((at, *rate));
        Transfer::whole(at, Some(((bits / 8.0) as u64).max(1)))
    }
}

impl Named for AdaptiveVideo {
    type Family = Generator;
    const NAME: &'static str = "adaptive-video";
    const SUMMARY: &'static str =
        "video in segments from a server at `from`, at the rate that the throughput allows";
    const SOURCE: &'static str = "Z. Li et al., IEEE JSAC 32(4), 2014, section III";
    const FACTS: Facts = Facts::transfers(JudgedBy::Playback);
    type Params = AdaptiveVideoParams;

    fn build(params: &AdaptiveVideoParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        let rates = &params.rates;
        let ascending = rates.windows(2).all(|pair| pair[0] < pair[1]);
        let above = rates.first().is_some_and(|rate| rate.bps() > 0);
        require(ascending && above, "rates", || {
            "must be one or more rates above 0, ascending, such as [\"1Mbit\", \"3Mbit\"]".into()
        })?;
        require(params.segment > Duration::ZERO, "segment", || {
            format!("must be above 0s, got \"{}\"", params.segment)
        })?;
        require(params.buffer >= params.segment, "buffer", || {
            format!("must hold a segment of \"{}\", got \"{}\"", params.segment, params.buffer)
        })?;
        Ok(Generator::Transfers(Box::new(AdaptiveVideo {
            params: params.clone(),
            throughput: None,
            buffered: Duration::ZERO,
            last: Time::ZERO,
            begun: None,
        })))
    }
}

impl Transfers for AdaptiveVideo {
    fn next(&mut self, after: Time, _rng: &mut Rng) -> Option<Transfer> {
        self.begun.is_none().then(|| self.segment(after))
    }

    fn media(&self) -> Option<Media> {
        self.begun.map(|(_, rate)| Media { rate, length: self.params.segment })
    }

    fn completed(&mut self, now: Time, _rng: &mut Rng) -> Option<Transfer> {
        let (begun, rate) = self.begun?;
        let bits = rate.bps() as f64 * self.params.segment.as_secs_f64();
        let measured = bits / now.since(begun).as_secs_f64().max(1e-9);
        let before = self.throughput.unwrap_or(measured);
        self.throughput = Some(before + SMOOTHING * (measured - before));
        // Media left of the buffer when the last segment arrived.
        let left = self.buffered.saturating_sub(now.since(self.last));
        self.buffered = left + self.params.segment;
        self.last = now;
        let room = self.params.buffer.saturating_sub(self.params.segment);
        Some(self.segment(now + self.buffered.saturating_sub(room)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::transfers;

    /// Plays `segments` segments over a path of `bps`. Returns the bytes of the last, and the
    /// seconds from its beginning to that of the next.
    fn play(bps: f64, segments: u32) -> (u64, f64) {
        let mut rng = Rng::named(1, "video");
        let mut video = transfers::<AdaptiveVideo>(&AdaptiveVideoParams::default());
        let mut transfer = video.next(Time::ZERO, &mut rng).unwrap();
        assert_eq!(video.next(Time::ZERO, &mut rng), None);
        let mut last = (0, 0.0);
        for _ in 0..segments {
            let bytes = transfer.bytes.unwrap();
            let end = transfer.at + Duration::from_secs_f64(bytes as f64 * 8.0 / bps);
            let next = video.completed(end, &mut rng).unwrap();
            last = (bytes, (next.at - transfer.at).as_secs_f64());
            transfer = next;
        }
        last
    }

    #[test]
    fn it_takes_the_highest_rate_that_85_percent_of_the_throughput_allow() {
        for (mbit, rate) in [(0.3, 500), (1.3, 1000), (2.3, 1000), (2.4, 2000), (50.0, 6000)] {
            assert_eq!(play(mbit * 1e6, 60).0, rate * 4 * 1000 / 8, "{mbit} Mbit/s");
        }
    }

    #[test]
    fn a_full_buffer_asks_for_a_segment_as_often_as_one_is_played() {
        assert!((play(10e6, 60).1 - 4.0).abs() < 1e-6);
        // Too slow even for the lowest rate: no pause.
        assert!((play(0.4e6, 60).1 - 5.0).abs() < 1e-6);
    }
}
