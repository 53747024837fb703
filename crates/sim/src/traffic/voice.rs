//! Voice over RTP, UDP and IP, with or without silence suppression.
//!
//! A packet has one frame of speech and 40 bytes of headers (IPv4 20, UDP 8, RTP 12). With silence
//! suppression there are talk spurts with pauses between them, as those of the on-off source.

use super::clock::Clock;
use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::law::require_length;
use super::on_off::Spurts;
use super::{Datagram, Datagrams, Law};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rate, Rng, Time, config::require, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// IPv4, UDP and RTP headers in bytes (RFC 791, RFC 768, RFC 3550).
const HEADERS: u64 = 20 + 8 + 12;

/// One direction of a call.
pub struct Voice {
    len: u32,
    clock: Clock,
    spurts: Option<Spurts>,
    begun: bool,
}

/// Coding of the speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Codec {
    /// ITU-T G.711: 64 kbit/s.
    #[default]
    #[serde(rename = "g711")]
    G711,
    /// ITU-T G.729 annex A: 8 kbit/s.
    #[serde(rename = "g729a")]
    G729a,
}

params! {
    /// Parameters of voice.
    pub struct VoiceParams {
        /// Coding of the speech.
        pub codec: Codec = Codec::G711,
        /// Length of speech in a packet; RFC 3551, section 4.2, recommends 20 ms. 1 ms to 200 ms.
        pub frame: Duration = Duration::from_millis(20),
        /// Length of the IP packet; unset: the frame and 40 B of headers, which is 200 B for G.711
        /// and 60 B for G.729a at 20 ms. 1 B to 65 535 B.
        pub size: Option<Bytes> = None,
        /// Mean length of a talk spurt; unset: no silence suppression. Above 0.
        pub on: Option<Duration> = None,
        /// Mean length of a pause between talk spurts; give it if and only if you give `on`.
        pub off: Option<Duration> = None,
        /// Distribution of talk spurts and pauses about their means.
        pub times: Law = Law::Exponential,
        /// Shape of Pareto spurts and pauses. At least 1.01.
        pub shape: f64 = 1.5,
    }
}

impl Codec {
    /// Rate of coded speech.
    fn rate(self) -> Rate {
        match self {
            Codec::G711 => Rate::from_bps(64_000),
            Codec::G729a => Rate::from_bps(8_000),
        }
    }
}

/// Length of a packet with `frame` of speech.
fn coded(codec: Codec, frame: Duration) -> Bytes {
    // Saturates, because the range of `frame` is not yet checked.
    let bits = codec.rate().bps().saturating_mul(frame.as_nanos());
    Bytes(bits.div_ceil(8_000_000_000) + HEADERS)
}

impl Named for Voice {
    type Family = Generator;
    const NAME: &'static str = "voice";
    const SUMMARY: &'static str = "one direction of a call: G.711 or G.729a over RTP";
    const SOURCE: &'static str = "ITU-T G.711, ITU-T G.729 annex A; RFC 3551, section 4.5";
    const FACTS: Facts = Facts::datagrams(JudgedBy::Mos);
    type Params = VoiceParams;

    fn resolve(params: &mut VoiceParams, _: &BuildSite) {
        params.size = params.size.or(Some(coded(params.codec, params.frame)));
    }

    fn build(params: &VoiceParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        let (least, most) = (Duration::from_millis(1), Duration::from_millis(200));
        require((least..=most).contains(&params.frame), "frame", || {
            format!("must be from 1ms to 200ms, got \"{}\"", params.frame)
        })?;
        let size = params.size.unwrap_or_else(|| coded(params.codec, params.frame));
        let clock = Clock::every(params.frame);
        let spurts = match (params.on, params.off) {
            (None, None) => None,
            (Some(on), Some(off)) => {
                Some(Spurts::new(&clock, on, off, params.times, params.shape)?)
            }
            (Some(_), None) => {
                return Err(ConfigError::new(
                    "off",
                    "is missing; `on` needs the length of the pauses, too",
                ));
            }
            (None, Some(_)) => {
                return Err(ConfigError::new(
                    "on",
                    "is missing; `off` needs the length of the talk, too",
                ));
            }
        };
        let len = require_length(size.0, "size")?;
        Ok(Generator::Datagrams(Box::new(Voice { len, clock, spurts, begun: false })))
    }
}

impl Datagrams for Voice {
    #[inline]
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Datagram> {
        let begins = !std::mem::replace(&mut self.begun, true);
        let at = match &mut self.spurts {
            Some(spurts) => spurts.next(after, &mut self.clock, rng),
            None => {
                if begins {
                    self.clock.set_at_random(after, rng);
                }
                self.clock.run(after, Time::MAX)
            }
        }?;
        Some(Datagram { at, len: self.len, flow: 0, marks: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::{Sample, datagrams, refused, sample, site};

    fn voice(params: &VoiceParams, count: u32) -> Sample {
        sample(&mut *datagrams::<Voice>(params), count)
    }

    #[test]
    fn g711_in_10_ms_frames_is_120_bytes() {
        // NCQ: 64 kbit/s in 120-byte packets; on for 1.0 s and off for 1.35 s on the mean.
        let frame = Duration::from_millis(10);
        let steady = voice(&VoiceParams { frame, ..VoiceParams::default() }, 1000);
        assert_eq!((steady.mean_len, steady.mean_interval), (120.0, 0.01));
        let suppressed = VoiceParams {
            frame,
            on: Some(Duration::from_millis(1000)),
            off: Some(Duration::from_millis(1350)),
            times: Law::Pareto,
            shape: 2.5,
            ..VoiceParams::default()
        };
        // 12 kB/s for 1 / 2.35 of the time: 5106 B/s.
        let rate = voice(&suppressed, 4_000_000).rate;
        assert!((rate / 5106.4 - 1.0).abs() < 0.03, "{rate}");
    }

    #[test]
    fn cq_aqm_voice_is_two_kilobytes_a_second() {
        // CQ-AQM: 68 B every 20 ms, on 200 ms, off 133 ms: ten packets each 333 ms, 2042 B/s.
        let params = VoiceParams {
            codec: Codec::G729a,
            size: Some(Bytes(68)),
            on: Some(Duration::from_millis(200)),
            off: Some(Duration::from_millis(133)),
            times: Law::Fixed,
            ..VoiceParams::default()
        };
        let rate = voice(&params, 100_000).rate;
        assert!((rate - 680.0 / 0.333).abs() < 0.5, "{rate}");
    }

    #[test]
    fn usual_packets_have_their_usual_lengths() {
        for (codec, frame, len) in
            [(Codec::G711, 20, 200), (Codec::G711, 30, 280), (Codec::G729a, 20, 60)]
        {
            let mut params =
                VoiceParams { codec, frame: Duration::from_millis(frame), ..Default::default() };
            Voice::resolve(&mut params, &site());
            assert_eq!(params.size, Some(Bytes(len)));
        }
    }

    #[test]
    fn half_of_silence_suppression_and_impossible_frames_are_refused() {
        let on = VoiceParams { on: Some(Duration::from_secs(1)), ..VoiceParams::default() };
        assert_eq!(refused::<Voice>(&on), "off");
        for frame in [Duration::ZERO, Duration::MAX] {
            let mut params = VoiceParams { frame, ..VoiceParams::default() };
            Voice::resolve(&mut params, &site());
            assert_eq!(refused::<Voice>(&params), "frame");
        }
    }
}
