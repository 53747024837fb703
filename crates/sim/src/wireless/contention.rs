//! Contention of stations for the medium: the distributed coordination function of IEEE 802.11.
//!
//! Source: IEEE 802.11-1999, section 9.2 (basic access), with the numbers of section 15.3.2 (DSSS).
//! A station waits until the medium has been idle for DIFS (EIFS after a frame that it could not
//! receive), counts down a random number of idle slots, freezes the count while the medium is busy,
//! and sends at zero. It doubles its window after each failure, and backs off after each frame too.
//!
//! Deviations
//! - D1: no RTS and CTS. ns-2's scripts turn them on or off, and section 9.2.5.1 makes them an
//!   option for long frames.
//! - D2: the wait for an acknowledgment ends at the end of the acknowledgment, and the station then
//!   waits for DIFS. So the senders of a collision and the stations that heard it begin to count at
//!   the same time.

use forebay_core::{Duration, Rate, Rng, Time};

/// Slot time (section 15.3.2).
pub const SLOT: Duration = Duration::from_micros(20);
/// Short interframe space: between a frame and its acknowledgment.
pub const SIFS: Duration = Duration::from_micros(10);
/// Interframe space of the distributed coordination function.
pub const DIFS: Duration = Duration::from_micros(50);
/// Preamble of 144 bits and header of 48 bits at 1 Mbit/s (section 15.2.2).
const PREAMBLE: Duration = Duration::from_micros(192);
/// MAC header and check sequence of a data frame, in bytes (section 7.2.2).
pub const MAC_HEADER: u64 = 28;
/// An acknowledgment, in bytes (section 7.2.1.3).
const ACK: u64 = 14;
/// Contention windows (section 15.3.2).
const CW_MIN: u32 = 31;
const CW_MAX: u32 = 1023;

/// Durations of frames.
#[derive(Debug, Clone, Copy)]
pub struct Airtimes {
    /// Rate of unicast data.
    pub rate: Rate,
    /// Rate of broadcasts and acknowledgments.
    pub basic_rate: Rate,
}

impl Airtimes {
    /// A frame that carries `len` bytes, broadcast or to one station.
    pub fn frame(&self, len: u32, broadcast: bool) -> Duration {
        let rate = if broadcast { self.basic_rate } else { self.rate };
        PREAMBLE + bits(MAC_HEADER + u64::from(len), rate)
    }

    /// An acknowledgment.
    pub fn ack(&self) -> Duration {
        PREAMBLE + bits(ACK, self.basic_rate)
    }

    /// Wait after noise (section 9.2.10).
    pub fn eifs(&self) -> Duration {
        SIFS + self.ack() + DIFS
    }
}

fn bits(bytes: u64, rate: Rate) -> Duration {
    Duration::from_nanos((bytes * 8_000_000_000).div_ceil(rate.bps()))
}

/// One station's contention for the medium.
#[derive(Debug)]
pub struct Contention {
    window: u32,
    /// Slots still to count. None: no backoff is pending.
    backoff: Option<u32>,
    idle: bool,
    /// Time from which slots are counted, if the medium is idle.
    free_from: Time,
    /// Until when another exchange has reserved the medium (NAV).
    reserved: Time,
    counting_from: Time,
    /// Time at which the count reaches zero, if it is running.
    deadline: Option<Time>,
}

impl Default for Contention {
    fn default() -> Self {
        Contention {
            window: CW_MIN,
            backoff: None,
            idle: true,
            free_from: Time::ZERO,
            reserved: Time::ZERO,
            counting_from: Time::ZERO,
            deadline: None,
        }
    }
}

impl Contention {
    /// A frame is to be sent. Returns true if it may be sent at once, otherwise at
    /// [`Contention::deadline`].
    pub fn request(&mut self, now: Time, rng: &mut Rng) -> bool {
        if self.backoff.is_some() {
            return false;
        }
        if self.idle && now >= self.free_from {
            return true;
        }
        self.draw(now, rng);
        false
    }

    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Ends the count if it reaches zero at `now`. Then a frame may be sent.
    pub fn expires(&mut self, now: Time) -> bool {
        let over = self.deadline == Some(now);
        if over {
            self.deadline = None;
            self.backoff = None;
        }
        over
    }

    /// The medium becomes busy. A count that ends at this very time cannot be stopped; this is how
    /// stations collide.
    pub fn busy(&mut self, now: Time) {
        self.idle = false;
        if let Some(deadline) = self.deadline
            && deadline > now
        {
            let counted = now.as_nanos().saturating_sub(self.counting_from.as_nanos());
            let slots = (counted / SLOT.as_nanos()) as u32;
            self.backoff = self.backoff.map(|left| left - slots);
            self.deadline = None;
        }
    }

    /// The medium becomes idle. Slots count after `space`.
    pub fn idle(&mut self, now: Time, space: Duration) {
        self.idle = true;
        self.free_from = (now + space).max(self.reserved + DIFS);
        self.count(now);
    }

    /// Another exchange reserves the medium.
    pub fn reserve(&mut self, until: Time) {
        self.reserved = self.reserved.max(until);
    }

    /// The station's frame was delivered, or is given up.
    pub fn done(&mut self, now: Time, rng: &mut Rng) {
        self.window = CW_MIN;
        self.draw(now, rng);
    }

    /// The station's frame was not acknowledged.
    pub fn failed(&mut self, now: Time, rng: &mut Rng) {
        self.window = (2 * self.window + 1).min(CW_MAX);
        self.free_from = self.free_from.max(now + DIFS);
        self.draw(now, rng);
    }

    fn draw(&mut self, now: Time, rng: &mut Rng) {
        self.backoff = Some(rng.below(u64::from(self.window) + 1) as u32);
        if self.idle {
            self.count(now);
        }
    }

    fn count(&mut self, now: Time) {
        if let Some(slots) = self.backoff {
            self.counting_from = now.max(self.free_from);
            self.deadline = Some(self.counting_from + SLOT * u64::from(slots));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn frames_take_as_long_as_the_standard_says() {
        let times =
            Airtimes { rate: Rate::from_bps(2_000_000), basic_rate: Rate::from_bps(1_000_000) };
        // 192 us and 1028 B at 2 Mbit/s; 192 us and 14 B at 1 Mbit/s.
        assert_eq!(times.frame(1000, false), Duration::from_micros(192 + 4112));
        assert_eq!(times.ack(), Duration::from_micros(304));
        assert_eq!(times.eifs(), Duration::from_micros(364));
    }

    #[test]
    fn an_idle_medium_is_free_at_once_and_a_busy_one_after_difs_and_slots() {
        let mut rng = Rng::named(1, "station");
        let mut station = Contention::default();
        assert!(station.request(micros(5), &mut rng));
        station.busy(micros(10));
        assert!(!station.request(micros(20), &mut rng));
        assert_eq!(station.deadline(), None, "frozen");
        station.idle(micros(100), DIFS);
        let slots = station.backoff.unwrap();
        let end = micros(150 + 20 * u64::from(slots));
        assert_eq!(station.deadline(), Some(end));
        // Two slots and a half are counted as two.
        assert!(slots > 3, "else choose another seed");
        station.busy(micros(200));
        assert_eq!((station.backoff, station.deadline()), (Some(slots - 2), None));
        station.idle(micros(300), DIFS);
        let end = micros(350 + 20 * u64::from(slots - 2));
        // A signal that begins as the count ends comes too late.
        station.busy(end);
        assert!(station.expires(end));
        assert_eq!(station.backoff, None);
    }

    #[test]
    fn the_window_doubles_up_to_1023_and_falls_back() {
        let mut rng = Rng::named(2, "station");
        let mut station = Contention::default();
        let mut windows = Vec::new();
        for _ in 0..6 {
            station.failed(micros(0), &mut rng);
            windows.push(station.window);
        }
        assert_eq!(windows, [63, 127, 255, 511, 1023, 1023]);
        station.done(micros(0), &mut rng);
        assert_eq!(station.window, 31);
    }

    #[test]
    fn a_reserved_medium_is_left_alone() {
        let mut rng = Rng::named(3, "station");
        let mut station = Contention::default();
        station.busy(micros(0));
        station.reserve(micros(500));
        station.idle(micros(100), DIFS);
        assert!(!station.request(micros(200), &mut rng));
        assert!(station.deadline().unwrap() >= micros(550));
    }
}
