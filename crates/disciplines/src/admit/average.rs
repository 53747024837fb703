//! The average queue length of RED: exponentially weighted, corrected for idle time.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993: section 4 and figure 2 ("for each packet
//! arrival: calculate the new average queue size"), section 11 for the idle correction. This module
//! has no queue. The owner of a queue calls [`Average::update`] at every arrival and
//! [`Average::emptied`] when the queue becomes empty.
//!
//! | symbol | here |
//! |---|---|
//! | avg | [`Average::value`] |
//! | w_q | `weight` |
//! | q | `length` |
//! | q_time | the instant given to [`Average::emptied`] |
//! | s, f(t) = t / s | [`Pace`] |
//!
//! Deviations: D1. The idle time begins when the last packet has left the wire, not when it left
//! the queue, because a packet in transmission is not in the queue here (ns-2 does the same). An
//! arrival before that finds an empty queue and no idle time, and changes nothing. ns-2 and Linux
//! count it as a length of zero ([`Idle::Arrivals`], [`Idle::Linux`]), so their average is a little
//! lower (by 0.1 to 0.2 ms of 14 to 23 ms of mean wait, docs/validation.md). D2. m is a real
//! number, as the paper's linear f(t) gives it. Linux truncates it, and so does ns-2, which adds
//! one for the arrival itself ([`Idle::Arrivals`]).
//!
//! Cost: one multiplication per packet; one power for an arrival at an empty queue.

use forebay_core::{Bytes, Duration, Rate, Setting, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The change of the average at an arrival that finds an empty queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// By the idle time, in typical packets (Floyd and Jacobson 1993, section 11).
    #[default]
    Time,
    /// By the whole packets of that time and one more for the arrival itself (ns-2 and ns-3: m + 1
    /// in `REDQueue::enque`).
    Arrivals,
    /// By the idle time through Linux's table, which decays more slowly. An arrival during the last
    /// transmission counts as a length of zero (`red_calc_qavg`).
    Linux,
}

/// The rate at which an idle link could have sent packets.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    nanos_per_byte: f64,
    overhead: u32,
    typical: f64,
    idle: Idle,
}

impl Pace {
    /// The pace of the link in `setting` for packets of a `typical` size.
    pub fn new(setting: &Setting, typical: Bytes, idle: Idle) -> Self {
        let overhead = setting.overhead;
        let typical = typical.0 as f64 + f64::from(overhead);
        let mut pace = Pace { nanos_per_byte: 0.0, overhead, typical, idle };
        pace.set_rate(setting.rate);
        pace
    }

    /// Sets the link's rate. An outage (zero) does not change the pace.
    pub fn set_rate(&mut self, rate: Rate) {
        if rate.bps() > 0 {
            self.nanos_per_byte = 8e9 / rate.bps() as f64;
        }
    }

    /// The end of a transmission of `len` bytes that starts at `now`.
    #[inline]
    fn end(&self, now: Time, len: u32) -> Time {
        now + Duration::from_nanos(
            (f64::from(len + self.overhead) * self.nanos_per_byte + 0.5) as u64,
        )
    }

    /// Number of typical packets (m) that could have been sent in `span`.
    fn packets_in(&self, span: Duration) -> f64 {
        let packets = span.as_nanos() as f64 / (self.typical * self.nanos_per_byte);
        match self.idle {
            Idle::Time | Idle::Linux => packets,
            Idle::Arrivals => libm::floor(packets) + 1.0,
        }
    }

    /// The factor by which the average has decayed after `span` without a packet.
    fn decay(&self, weight: f64, span: Duration) -> f64 {
        match self.idle {
            Idle::Linux => self.table(weight, span),
            _ => libm::pow(1.0 - weight, self.packets_in(span)),
        }
    }

    /// [`Pace::decay`] in Linux (`tc_red_eval_idle_damping` of iproute2,
    /// `red_calc_qavg_from_idle_time`): a table of 256 cells of 2^n ticks of 64 ns, which the kernel
    /// reads by microseconds. Within the first cells it falls linearly, to no less than a half.
    fn table(&self, weight: f64, span: Duration) -> f64 {
        let transmission = self.typical * self.nanos_per_byte / 64.0;
        let halvings = -libm::log(1.0 - weight) / transmission;
        let cell = (0..31).find(|cell| 31.0 / halvings / f64::from(1_u32 << cell) < 512.0);
        let cell = f64::from(1_u32 << cell.unwrap_or(31));
        let micros = (span.as_nanos() / 1000) as f64;
        let cells = libm::floor(micros / cell).min(255.0);
        let shift = if cells < 255.0 { (cells * cell * halvings).min(31.0) as i32 } else { 31 };
        if shift > 0 { libm::ldexp(1.0, -shift) } else { (1.0 - micros / cell).max(0.5) }
    }
}

/// An average queue length, in the unit of the lengths that it gets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Average {
    value: f64,
    idle_since: Option<Time>,
}

impl Average {
    /// The average at the last arrival.
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The average at `now`, if nothing has arrived since.
    pub fn at(&self, weight: f64, now: Time, pace: &Pace) -> f64 {
        let idle = self.idle_since.filter(|since| now > *since);
        idle.map_or(self.value, |since| self.value * pace.decay(weight, now.since(since)))
    }

    /// A packet arrives and finds a queue of `length`. Returns the new average.
    #[inline]
    pub fn update(&mut self, weight: f64, length: f64, now: Time, pace: &Pace) -> f64 {
        match self.idle_since {
            // Linux counts an arrival while the last packet is being sent.
            Some(since) if length == 0.0 && now < since && pace.idle == Idle::Linux => {
                self.value -= weight * self.value;
            }
            Some(since) if length == 0.0 => {
                self.value *= pace.decay(weight, now.since(since));
                // If this packet is dropped, the link stays idle.
                self.idle_since = Some(since.max(now));
            }
            _ => {
                self.idle_since = None;
                self.value += weight * (length - self.value);
            }
        }
        self.value
    }

    /// The queue has just sent its last packet, of `len` bytes.
    #[inline]
    pub fn emptied(&mut self, now: Time, len: u32, pace: &Pace) {
        self.idle_since = Some(pace.end(now, len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SETTING, ms, us};

    #[test]
    fn a_burst_of_l_packets_raises_the_average_as_equation_2_says() {
        // Section 6.1, equation (2): after L arrivals from an empty queue that grows by one each,
        // avg = L + 1 + ((1 - w)^(L+1) - 1) / w; by hand 1.254 for w = 0.001 and L = 50.
        let pace = Pace::new(&SETTING, Bytes(500), Idle::Time);
        let mut average = Average::default();
        for length in 1..=50 {
            average.update(0.001, f64::from(length), ms(0), &pace);
        }
        let exact = 51.0 + (libm::pow(0.999, 51.0) - 1.0) / 0.001;
        assert!((average.value() - exact).abs() < 1e-9);
        assert!((average.value() - 1.254).abs() < 0.001);
    }

    #[test]
    fn idle_time_counts_as_typical_packets_that_found_no_queue() {
        // 500 bytes take 0.4 ms at 10 Mbit/s. The last packet, of 1000 bytes, is on the wire until
        // 0.8 ms; from then to 4.8 ms ten packets could have been sent.
        let pace = Pace::new(&SETTING, Bytes(500), Idle::Time);
        let mut average = Average { value: 8.0, idle_since: None };
        average.emptied(ms(0), 1000, &pace);
        average.update(0.002, 0.0, us(4_800), &pace);
        assert!((average.value() - 8.0 * libm::pow(0.998, 10.0)).abs() < 1e-12);
        // That packet was dropped, so the link stays idle, and idle time must not count twice.
        average.update(0.5, 0.0, us(5_200), &pace);
        assert!((average.value() - 4.0 * libm::pow(0.998, 10.0)).abs() < 1e-12);
        // A packet waits, so the link is not idle.
        average.update(0.5, 1.0, us(9_000), &pace);
        assert!((average.value() - 0.5 - 2.0 * libm::pow(0.998, 10.0)).abs() < 1e-12);
    }

    #[test]
    fn in_ns_2_the_arrival_counts_and_parts_of_packets_do_not() {
        // As above; 4.1 ms of idle time are ten packets and a quarter, and the arrival is one more.
        let pace = Pace::new(&SETTING, Bytes(500), Idle::Arrivals);
        let mut average = Average { value: 8.0, idle_since: None };
        average.emptied(ms(0), 1000, &pace);
        average.update(0.002, 0.0, us(4_900), &pace);
        assert!((average.value() - 8.0 * libm::pow(0.998, 11.0)).abs() < 1e-12);
    }

    #[test]
    fn an_arrival_during_the_last_transmission_decays_nothing_or_in_linux_counts() {
        for (idle, then) in [(Idle::Time, 8.0), (Idle::Linux, 4.0)] {
            let pace = Pace::new(&SETTING, Bytes(500), idle);
            let mut average = Average { value: 8.0, idle_since: None };
            average.emptied(ms(0), 1000, &pace);
            assert_eq!(average.update(0.5, 0.0, us(700), &pace), then);
        }
    }

    #[test]
    fn in_linux_an_idle_average_goes_down_in_a_straight_line_and_then_by_halves() {
        // 500 bytes take 0.4 ms, 6250 ticks; ln(1/0.998) of them makes 3.203e-7 a tick, 31 of these
        // 9.677e7 ticks, and the cell of which there are fewer than 512 has 2^18.
        let pace = Pace::new(&SETTING, Bytes(500), Idle::Linux);
        let left = |idle: u64| pace.decay(0.002, us(idle).since(ms(0)));
        assert_eq!(left(1 << 16), 0.75);
        // In the twelfth cell 3.203e-7 * 12 * 2^18 = 1.008: half. In the 24th a quarter.
        assert_eq!(
            [1 << 18, 12 << 18, 24 << 18, 300 << 18].map(left),
            [0.5, 0.5, 0.25, 1.0 / (1_u64 << 31) as f64]
        );
        let mut average = Average { value: 8.0, idle_since: None };
        average.emptied(ms(0), 1000, &pace);
        assert_eq!(average.update(0.002, 0.0, us(800 + (1 << 16)), &pace), 6.0);
    }
}
