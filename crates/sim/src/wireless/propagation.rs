//! Radio range: two-ray ground reflection.
//!
//! Source: T. Rappaport, *Wireless Communications*, section 4.6; the constants are ns-2's defaults
//! (a 914 MHz WaveLAN card), with which a frame is received up to 250 m and sensed up to 550 m.
//!
//! Below the crossover distance 4 pi ht hr / lambda only the direct ray counts (Friis: Pt Gt Gr
//! lambda^2 / ((4 pi d)^2 L)). Beyond it the ground's reflection nearly cancels it: Pt Gt Gr ht^2
//! hr^2 / (d^4 L).

use forebay_core::config::require;
use forebay_core::{ConfigError, params};

params! {
    /// Radio constants, the same for all stations; antenna gains are 1, and so is the system loss.
    #[derive(Copy, PartialEq)]
    pub struct RadioTable {
        /// Transmission power in W. Above 0.
        pub power: f64 = 0.281_838_15,
        /// Carrier frequency in Hz. Above 0.
        pub frequency: f64 = 914e6,
        /// Height of the antennas above ground in m. Above 0.
        pub height: f64 = 1.5,
        /// Least power in W of a frame that can be received. Above 0.
        pub receive_threshold: f64 = 3.652e-10,
        /// Least power in W that makes the medium busy; not above `receive_threshold`. Above 0.
        pub sense_threshold: f64 = 1.559e-11,
        /// Least ratio of the powers of two frames with which the stronger one is received. At
        /// least 1.
        pub capture: f64 = 10.0,
    }
}

/// Speed of light in m/s; ns-2 rounds it.
const LIGHT: f64 = 299_792_458.0;

impl RadioTable {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ConfigError> {
        let positive = [
            ("power", self.power),
            ("frequency", self.frequency),
            ("height", self.height),
            ("receive_threshold", self.receive_threshold),
            ("sense_threshold", self.sense_threshold),
        ];
        for (field, value) in positive {
            require(value.is_finite() && value > 0.0, field, || {
                format!("must be greater than 0, got {value}")
            })?;
        }
        require(self.sense_threshold <= self.receive_threshold, "sense_threshold", || {
            format!("must not be above receive_threshold, {}", self.receive_threshold)
        })?;
        require(self.capture.is_finite() && self.capture >= 1.0, "capture", || {
            format!("must be at least 1, got {}", self.capture)
        })
    }

    fn wavelength(&self) -> f64 {
        LIGHT / self.frequency
    }

    /// Distance in m from which the ground's reflection counts.
    pub fn crossover(&self) -> f64 {
        4.0 * std::f64::consts::PI * self.height * self.height / self.wavelength()
    }

    /// Received power in W over a distance whose square is `square` m^2. Infinite at 0.
    #[inline]
    pub fn received(&self, square: f64) -> f64 {
        let crossover = self.crossover();
        if square < crossover * crossover {
            let scale = self.wavelength() / (4.0 * std::f64::consts::PI);
            self.power * scale * scale / square
        } else {
            let height = self.height * self.height;
            self.power * height * height / (square * square)
        }
    }

    /// Distance in m up to which the received power is at least `threshold`.
    pub fn range(&self, threshold: f64) -> f64 {
        let far = (self.power / threshold).sqrt().sqrt() * self.height;
        if far >= self.crossover() {
            return far;
        }
        let near = (self.power / threshold).sqrt() * self.wavelength();
        near / (4.0 * std::f64::consts::PI)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_radio_reaches_250_m_and_is_sensed_to_550_m() {
        let radio = RadioTable::default();
        // 0.28183815 x 1.5^4 / 250^4 = 3.6526e-10, and so on.
        assert!((radio.received(250.0 * 250.0) / 3.652_62e-10 - 1.0).abs() < 1e-5);
        assert!((radio.received(550.0 * 550.0) / 1.559_24e-11 - 1.0).abs() < 1e-5);
        assert!((radio.range(radio.receive_threshold) - 250.0).abs() < 0.02);
        assert!((radio.range(radio.sense_threshold) - 550.0).abs() < 0.03);
        assert!((radio.crossover() - 86.2).abs() < 0.1);
    }

    #[test]
    fn free_space_below_the_crossover() {
        let radio = RadioTable::default();
        // Friis: inverse square; the two rules meet at the crossover distance.
        assert!((radio.received(400.0) / radio.received(1600.0) - 4.0).abs() < 1e-12);
        let square = radio.crossover() * radio.crossover();
        let step = radio.received(square * (1.0 - 1e-12)) / radio.received(square);
        assert!((step - 1.0).abs() < 1e-9);
        for distance in [20.0, 60.0, 100.0, 400.0] {
            let power = radio.received(distance * distance);
            assert!((radio.range(power) / distance - 1.0).abs() < 1e-9, "{distance}");
        }
    }
}
