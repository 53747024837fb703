//! The shared medium: the stations that hear a frame, and frames that overlap.
//!
//! A frame is a signal at every station that it reaches with at least the sensing threshold. A
//! station locks on to the first signal that is strong enough to be received. It receives it if it
//! does not send itself meanwhile and every other signal that overlaps is weaker by the capture
//! ratio. As in ns-2, signals are compared one by one, and those below the sensing threshold have
//! no effect. Propagation takes no time: light crosses 550 m in 1.8 us, a tenth of a slot.

use super::place::Track;
use super::propagation::RadioTable;
use forebay_core::Time;

/// Index of a station.
pub type Station = u16;

/// The air between the stations.
pub struct Medium {
    radio: RadioTable,
    tracks: Vec<Track>,
    /// The stations that each station reaches, and with which power. Kept while no station moves.
    reach: Vec<Option<Vec<(Station, f64)>>>,
    moves: bool,
    ears: Vec<Ear>,
    /// Stations that heard the beginning of each station's frame.
    hearers: Vec<Vec<Station>>,
}

/// The signals at one station.
#[derive(Default)]
struct Ear {
    signals: Vec<Signal>,
    /// Sender of the frame on which it is locked.
    locked: Option<Station>,
    sends: bool,
}

struct Signal {
    from: Station,
    power: f64,
    clean: bool,
}

/// Reception of a frame by a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub station: Station,
    /// Whether it received the frame. Otherwise it was only noise.
    pub received: bool,
    /// Whether the medium is idle there now.
    pub idle: bool,
}

impl Medium {
    /// A medium between stations that move on `tracks`.
    pub fn new(radio: RadioTable, tracks: Vec<Track>) -> Self {
        let stations = tracks.len();
        Medium {
            radio,
            moves: tracks.iter().any(Track::moves),
            reach: vec![None; stations],
            ears: (0..stations).map(|_| Ear::default()).collect(),
            hearers: vec![Vec::new(); stations],
            tracks,
        }
    }

    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Whether `station` senses another's signal, or sends itself.
    pub fn is_busy(&self, station: Station) -> bool {
        let ear = &self.ears[usize::from(station)];
        ear.sends || !ear.signals.is_empty()
    }

    pub fn sends(&self, station: Station) -> bool {
        self.ears[usize::from(station)].sends
    }

    /// `from` begins a frame. The stations that hear it are added to `turned_busy` if the medium
    /// was idle there.
    pub fn begin(&mut self, from: Station, now: Time, turned_busy: &mut Vec<Station>) {
        let own = &mut self.ears[usize::from(from)];
        debug_assert!(!own.sends, "a radio sends one frame at a time");
        own.sends = true;
        own.locked = None;
        own.signals.iter_mut().for_each(|signal| signal.clean = false);
        if self.moves || self.reach[usize::from(from)].is_none() {
            self.reach[usize::from(from)] = Some(self.reached(from, now));
        }
        let reach = self.reach[usize::from(from)].as_ref().expect("just computed");
        let hearers = &mut self.hearers[usize::from(from)];
        for &(station, power) in reach {
            let ear = &mut self.ears[usize::from(station)];
            if ear.signals.is_empty() && !ear.sends {
                turned_busy.push(station);
            }
            let mut clean = !ear.sends;
            for other in &mut ear.signals {
                other.clean &= other.power >= self.radio.capture * power;
                clean &= power >= self.radio.capture * other.power;
            }
            if ear.locked.is_none() && clean && power >= self.radio.receive_threshold {
                ear.locked = Some(from);
            }
            ear.signals.push(Signal { from, power, clean });
            hearers.push(station);
        }
    }

    /// The frame of `from` ends. Adds its reception by every station to `heard`.
    pub fn end(&mut self, from: Station, heard: &mut Vec<Heard>) {
        self.ears[usize::from(from)].sends = false;
        for station in self.hearers[usize::from(from)].drain(..) {
            let ear = &mut self.ears[usize::from(station)];
            let at = ear.signals.iter().position(|signal| signal.from == from);
            let signal = ear.signals.swap_remove(at.expect("it heard the beginning"));
            let locked = ear.locked == Some(from);
            if locked {
                ear.locked = None;
            }
            let idle = ear.signals.is_empty() && !ear.sends;
            heard.push(Heard { station, received: locked && signal.clean, idle });
        }
    }

    fn reached(&self, from: Station, now: Time) -> Vec<(Station, f64)> {
        let own = self.tracks[usize::from(from)].at(now);
        let power = |(index, track): (usize, &Track)| {
            let power = self.radio.received(own.square_distance(track.at(now)));
            let reaches = index != usize::from(from) && power >= self.radio.sense_threshold;
            reaches.then_some((index as Station, power))
        };
        self.tracks.iter().enumerate().filter_map(power).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Point;
    use super::*;

    fn row(places: &[f64]) -> Medium {
        let track = |&x: &f64| Track::fixed(Point { x, y: 0.0 });
        Medium::new(RadioTable::default(), places.iter().map(track).collect())
    }

    fn begin(medium: &mut Medium, from: Station) -> Vec<Station> {
        let mut turned = Vec::new();
        medium.begin(from, Time::ZERO, &mut turned);
        turned
    }

    fn receivers(medium: &mut Medium, from: Station) -> Vec<Station> {
        let mut heard = Vec::new();
        medium.end(from, &mut heard);
        heard.iter().filter(|heard| heard.received).map(|heard| heard.station).collect()
    }

    /// Ranges by the formula: power x height^4 / d^4 = threshold at 250.01 m and 550.03 m.
    #[test]
    fn a_frame_is_received_and_sensed_as_far_as_the_formula_says() {
        let radio = RadioTable::default();
        let reach = radio.range(radio.receive_threshold);
        let sense = radio.range(radio.sense_threshold);
        let edge = 1e-6;
        let mut medium = row(&[0.0, reach - edge, reach + edge, sense - edge, sense + edge]);
        assert_eq!(begin(&mut medium, 0), [1, 2, 3]);
        assert_eq!(receivers(&mut medium, 0), [1]);
    }

    #[test]
    fn frames_that_overlap_are_lost_unless_one_is_ten_times_stronger() {
        // 200 m and 100 m from the middle: (200 / 100)^4 = 16 times; 120 m: 7.7 times.
        let mut medium = row(&[0.0, 200.0, 300.0]);
        begin(&mut medium, 0);
        begin(&mut medium, 2);
        assert!(receivers(&mut medium, 0).is_empty(), "the second was stronger");
        assert!(receivers(&mut medium, 2).is_empty(), "the radio was locked on to the first");
        begin(&mut medium, 2);
        begin(&mut medium, 0);
        assert_eq!(receivers(&mut medium, 2), [1], "captured");
        assert!(receivers(&mut medium, 0).is_empty());
        let mut medium = row(&[0.0, 200.0, 320.0]);
        begin(&mut medium, 2);
        begin(&mut medium, 0);
        assert_eq!((receivers(&mut medium, 2), receivers(&mut medium, 0)), (vec![], vec![]));
    }

    #[test]
    fn who_sends_hears_nothing() {
        let mut medium = row(&[0.0, 100.0]);
        begin(&mut medium, 0);
        assert!(begin(&mut medium, 1).is_empty(), "both are busy already");
        assert!(receivers(&mut medium, 0).is_empty());
        assert!(medium.is_busy(0), "the other goes on");
        assert!(receivers(&mut medium, 1).is_empty());
        assert!(!medium.is_busy(0) && !medium.is_busy(1));
    }
}
