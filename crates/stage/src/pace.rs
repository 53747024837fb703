//! How far a tick goes: at the speed that is asked for, or that can be had. Times are real, in s.

/// Time between two pictures.
const TICK: f64 = 1.0 / 60.0;
/// Time that the runs may take of it.
const SPARE: f64 = 0.012;
/// Real time that a tick makes up for, at most: after a standstill nothing is hurried.
const LONGEST: f64 = 0.1;
/// Simulated ns of a tick before anything is known of the machine.
const FIRST: f64 = 1e6;

/// How fast it plays: as far as a tick may go, and how far the ticks went lately.
#[derive(Default)]
pub(crate) struct Pace {
    /// Simulated seconds a second, lately; None while it does not play.
    pub(crate) actual: Option<f64>,
    last: Option<f64>,
    due: f64,
    begun: f64,
    /// Real time since the tick before.
    real: f64,
    /// Simulated ns a second of work, lately.
    ability: Option<f64>,
    slow_since: Option<f64>,
    has_told: bool,
}

impl Pace {
    /// It does not play, or plays at another speed.
    pub(crate) fn rest(&mut self) {
        (self.last, self.actual, self.slow_since) = (None, None, None);
        self.has_told = false;
    }

    /// Time until the next tick.
    pub(crate) fn until_next(&mut self, now: f64) -> f64 {
        if self.last.is_none() {
            (self.last, self.due) = (Some(now), now + TICK);
        }
        (self.due - now).max(0.0)
    }

    /// How far the tick that is due goes, in simulated ns.
    pub(crate) fn span(&mut self, now: f64, speed: Option<f64>) -> u64 {
        self.real = self.last.map_or(TICK, |last| now - last);
        (self.last, self.begun) = (Some(now), now);
        self.due = (self.due + TICK).max(now);
        let most = self.ability.map_or(FIRST, |ability| ability * SPARE);
        let wanted = speed.map_or(f64::INFINITY, |speed| speed * self.real.min(LONGEST) * 1e9);
        (wanted.min(most).round() as u64).max(1)
    }

    /// The tick is over, and went this far.
    pub(crate) fn went(&mut self, now: f64, span: u64) {
        let took = (now - self.begun).max(1e-6);
        // A short tick says little of what a long one could be.
        let weight = (took / SPARE).min(1.0);
        let ability = span as f64 / took;
        let before = self.ability.unwrap_or(ability);
        let between = before + weight * (ability - before) / 2.0;
        self.ability = Some(if weight < 0.1 { ability.max(before) } else { between });
        let actual = span as f64 / 1e9 / self.real.max(1e-6);
        self.actual = Some(self.actual.map_or(actual, |before| before + 0.05 * (actual - before)));
    }

    /// Whether it has been slower than asked for a second: once.
    pub(crate) fn is_slow(&mut self, now: f64, speed: Option<f64>) -> bool {
        let slow = speed.zip(self.actual).is_some_and(|(speed, actual)| actual <= 0.7 * speed);
        if !slow {
            self.slow_since = None;
            return false;
        }
        let since = *self.slow_since.get_or_insert(now);
        if self.has_told || now - since < 1.0 {
            return false;
        }
        self.has_told = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_as_fast_as_asked_or_as_it_can() {
        let mut pace = Pace::default();
        assert!((pace.until_next(10.0) - TICK).abs() < 1e-9);
        // A tick that takes 12 ms for 1 ms of simulated time: a twelfth of real time can be had.
        let mut now = 10.0;
        for _ in 0..200 {
            now += TICK;
            assert!(pace.until_next(now) < 1e-9);
            let span = pace.span(now, Some(1.0));
            pace.went(now + span as f64 / 1e9 * 12.0, span);
        }
        let most = SPARE / 12.0 / TICK;
        assert!((pace.actual.unwrap() - most).abs() < 0.01 * most, "{:?}", pace.actual);
        assert!(pace.is_slow(now, Some(1.0)) || pace.is_slow(now + 1.1, Some(1.0)));
        assert!(!pace.is_slow(now + 3.0, Some(1.0)), "it is told once");
        assert!(!pace.is_slow(now + 4.0, Some(0.01)));
    }

    #[test]
    fn a_standstill_is_not_made_up_for() {
        let mut pace = Pace::default();
        pace.until_next(0.0);
        let span = pace.span(TICK, Some(1.0));
        pace.went(TICK + 1e-6, span);
        assert_eq!(pace.span(60.0, Some(1.0)), 100_000_000);
        pace.rest();
        assert_eq!(pace.actual, None);
        assert!((pace.until_next(61.0) - TICK).abs() < 1e-9);
    }
}
