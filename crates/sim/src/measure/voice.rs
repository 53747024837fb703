//! Voice quality: the E-model reduced to delay and loss.
//!
//! Source: R. Cole and J. Rosenbluth, "Voice over IP performance monitoring", ACM CCR 31(2), 2001;
//! ITU-T G.107, annex B, for the mean opinion score. The NCQ paper prints the latter without its
//! middle factor (a misprint: at R = 50 it would give 2.75 + 0.00035).

use crate::traffic::Codec;

impl Codec {
    /// Impairment coefficients gamma 1 to 3 (Cole and Rosenbluth, equation 8 and table 2).
    fn impairment(self) -> (f64, f64, f64) {
        match self {
            Codec::G711 => (0.0, 30.0, 15.0),
            Codec::G729a => (11.0, 40.0, 10.0),
        }
    }

    /// Delay of encoding and packetisation in ms, beside the network's: one 10 ms frame for G.711
    /// (the NCQ paper); two 10 ms frames and 5 ms look-ahead for G.729A (ITU-T G.114, table A.1).
    pub fn delay_ms(self) -> f64 {
        match self {
            Codec::G711 => 10.0,
            Codec::G729a => 25.0,
        }
    }
}

/// Transmission rating R of a call whose mouth-to-ear delay is `delay_ms` and whose share of lost
/// packets is `loss` (0 to 1). NCQ paper, equation 22.
pub fn r_factor(delay_ms: f64, loss: f64, codec: Codec) -> f64 {
    let (g1, g2, g3) = codec.impairment();
    let late = (delay_ms - 177.3).max(0.0);
    94.2 - 0.024 * delay_ms - 0.11 * late - g1 - g2 * libm::log(1.0 + g3 * loss)
}

/// Mean opinion score, 1 to 4.5, of transmission rating `r` (ITU-T G.107, annex B).
pub fn mos(r: f64) -> f64 {
    if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_published_points() {
        // ITU-T G.107, table B.1, and table 2 of the NCQ paper; at R = 80 the formula gives 4.024.
        for (r, want) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((mos(r) - want).abs() < 0.0065, "{r}: {}", mos(r));
        }
        assert_eq!((mos(-3.0), mos(101.0)), (1.0, 4.5));
    }

    #[test]
    fn delay_hurts_more_beyond_177_ms() {
        let r = |delay| r_factor(delay, 0.0, Codec::G711);
        assert!((r(100.0) - (94.2 - 2.4)).abs() < 1e-9);
        assert!((r(277.3) - (94.2 - 0.024 * 277.3 - 11.0)).abs() < 1e-9);
        // ln(1.1), as printed in tables.
        let lossy = r_factor(0.0, 0.01, Codec::G729a);
        assert!((lossy - (94.2 - 11.0 - 40.0 * 0.095_310_179_804_324_87)).abs() < 1e-9);
    }
}
