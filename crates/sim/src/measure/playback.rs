//! The view of an adaptive video: the rates that are played, stalls and switches.
//!
//! Playback begins with the first segment, and again after a stall with the next one. The quality
//! of experience is the linear one of X. Yin et al., *A control-theoretic approach for dynamic
//! adaptive video streaming over HTTP*, SIGCOMM 2015, with its balanced weights: the played
//! rates, less every change of rate, less a penalty for each second without a picture.

use crate::traffic::Media;
use forebay_core::Time;

/// The cost of a second without a picture in the rate of one segment, bit/s (Yin et al.:
/// mu and mu_s are 3000 kbit/s, lambda is 1).
const STALL_BPS: f64 = 3e6;

/// The segments that a player has asked for, in order.
#[derive(Debug, Clone)]
pub struct Playback {
    segments: Vec<Segment>,
    /// When the viewer goes away.
    pub stop: Time,
}

#[derive(Debug, Clone)]
struct Segment {
    asked: Time,
    /// None: not yet, or it was given up.
    arrived: Option<Time>,
    media: Media,
}

/// A viewer's picture in a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    /// Mean of the played rates by time, bit/s. None if nothing was played.
    pub rendition_bps: Option<f64>,
    /// Share of the time without a picture, the wait for the first one included.
    pub stall_ratio: f64,
    /// Interruptions after the first picture.
    pub stalls: u32,
    /// Changes of the played rate.
    pub switches: u32,
    /// Time from the first request to the first picture, whenever that was. None without one.
    pub initial_loading_s: Option<f64>,
    /// Linear quality of experience for each segment's length of time, bit/s.
    pub qoe_bps: f64,
}

impl Playback {
    /// Nothing so far, for a viewer until `stop`.
    pub fn new(stop: Time) -> Self {
        Playback { segments: Vec::new(), stop }
    }

    /// The player asks for a segment.
    pub fn asks(&mut self, now: Time, media: Media) {
        self.segments.push(Segment { asked: now, arrived: None, media });
    }

    /// The segment that it asked for last has arrived.
    pub fn arrived(&mut self, now: Time) {
        if let Some(segment) = self.segments.last_mut() {
            segment.arrived = Some(now);
        }
    }

    /// The viewer's picture from `from` to `until`. None if nobody watched then.
    pub fn watched(&self, from: Time, until: Time) -> Option<Watched> {
        let until = until.min(self.stop);
        let within = |begin: Time, end: Time| end.min(until).since(begin.max(from)).as_secs_f64();
        let first = self.segments.first()?;
        let (mut played, mut bits, mut dark, mut changes) = (0.0, 0.0, 0.0, 0.0);
        let (mut stalls, mut switches) = (0, 0);
        // End of what was played so far, and its rate.
        let (mut end, mut last) = (first.asked, None);
        for segment in &self.segments {
            let Some(arrived) = segment.arrived else { continue };
            let begin = arrived.max(end);
            let wait = within(end, begin);
            dark += wait;
            stalls += u32::from(last.is_some() && wait > 0.0);
            end = begin + segment.media.length;
            let rate = segment.media.rate.bps() as f64;
            let shown = within(begin, end);
            (played, bits) = (played + shown, bits + shown * rate);
            if let Some(last) = last.replace(rate)
                && last != rate
                && (from..until).contains(&begin)
            {
                switches += 1;
                changes += (rate - last).abs();
            }
        }
        let wait = within(end, until);
        dark += wait;
        stalls += u32::from(last.is_some() && wait > 0.0);
        let watched = played + dark;
        let segment = first.media.length.as_secs_f64();
        (watched > 0.0).then(|| Watched {
            rendition_bps: (played > 0.0).then(|| bits / played),
            stall_ratio: dark / watched,
            stalls,
            switches,
            initial_loading_s: self.initial_loading(until),
            qoe_bps: (bits - segment * (changes + STALL_BPS * dark)) / watched,
        })
    }

    fn initial_loading(&self, until: Time) -> Option<f64> {
        let shown = self.segments.iter().find_map(|segment| segment.arrived)?;
        (shown <= until).then(|| (shown - self.segments[0].asked).as_secs_f64())
    }
}

/// The mean of what several viewers saw; of each value, over those who have it.
pub fn mean_watched(all: &[Watched]) -> Option<Watched> {
    let mean = |values: Vec<f64>| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let of = |value: fn(&Watched) -> f64| mean(all.iter().map(value).collect());
    let known = |value: fn(&Watched) -> Option<f64>| mean(all.iter().filter_map(value).collect());
    Some(Watched {
        rendition_bps: known(|each| each.rendition_bps),
        stall_ratio: of(|each| each.stall_ratio)?,
        stalls: all.iter().map(|each| each.stalls).sum(),
        switches: all.iter().map(|each| each.switches).sum(),
        initial_loading_s: known(|each| each.initial_loading_s),
        qoe_bps: of(|each| each.qoe_bps)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::{Duration, Rate};

    fn at(seconds: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(seconds)
    }

    fn player(segments: &[(f64, f64, u64)]) -> Playback {
        let mut found = Playback::new(Time::MAX);
        for (asked, arrived, mbit) in segments {
            let rate = Rate::from_bps(mbit * 1_000_000);
            found.asks(at(*asked), Media { rate, length: Duration::from_secs(4) });
            found.arrived(at(*arrived));
        }
        found
    }

    #[test]
    fn a_stall_and_a_switch_by_hand() {
        // Plays 1 to 5 and 7 to 11, then waits until 12.
        let player = player(&[(0.0, 1.0, 2), (1.0, 7.0, 4)]);
        let found = player.watched(Time::ZERO, at(12.0)).unwrap();
        assert_eq!(found.rendition_bps, Some(3e6));
        assert_eq!((found.stalls, found.switches), (2, 1));
        assert_eq!(found.initial_loading_s, Some(1.0));
        assert!((found.stall_ratio - 4.0 / 12.0).abs() < 1e-9);
        // Three segments' time: played 2 and 4, one change of 2, 4 s without a picture of 3 each.
        let per_segment = (2e6 + 4e6 - 2e6 - 4.0 * 3e6) / 3.0;
        assert!((found.qoe_bps - per_segment).abs() < 1e-3, "{}", found.qoe_bps);
    }

    #[test]
    fn only_what_is_within_the_span_counts() {
        let player = player(&[(0.0, 1.0, 2), (1.0, 7.0, 4)]);
        let found = player.watched(at(8.0), at(10.0)).unwrap();
        assert_eq!((found.rendition_bps, found.stall_ratio), (Some(4e6), 0.0));
        assert_eq!((found.stalls, found.switches, found.qoe_bps), (0, 0, 4e6));
        // The stall goes on while measurement begins.
        assert_eq!(player.watched(at(6.0), at(10.0)).unwrap().stalls, 1);
    }

    #[test]
    fn a_buffer_that_fills_is_no_better_than_one_that_is_full() {
        let early: Vec<_> = (0..10).map(|n| (f64::from(n), f64::from(n) + 0.5, 6)).collect();
        let steady: Vec<_> =
            (0..10).map(|n| (4.0 * f64::from(n), 4.0 * f64::from(n) + 0.5, 6)).collect();
        let [early, steady] =
            [early, steady].map(|segments| player(&segments).watched(at(2.0), at(30.0)).unwrap());
        assert_eq!(early.qoe_bps, steady.qoe_bps);
        assert_eq!(early.rendition_bps, Some(6e6));
    }

    #[test]
    fn who_never_sees_a_picture_has_the_worst_quality() {
        let mut player = Playback::new(at(9.0));
        assert_eq!(player.watched(Time::ZERO, at(10.0)), None);
        player.asks(at(1.0), Media { rate: Rate::from_bps(1), length: Duration::from_secs(4) });
        let found = player.watched(at(0.0), at(10.0)).unwrap();
        assert_eq!((found.rendition_bps, found.stall_ratio, found.stalls), (None, 1.0, 0));
        assert_eq!((found.qoe_bps, found.initial_loading_s), (-12e6, None));
        assert_eq!(player.watched(at(9.5), at(10.0)), None, "the viewer has gone");
    }
}
