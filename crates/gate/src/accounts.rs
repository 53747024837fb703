//! What the packets of each circuit meet in one direction.
//!
//! An account belongs to a circuit's name and stays when the configuration is read again, because
//! packets that wait then still have to be counted for it. Account 0 is that of unknown addresses.

use crate::rules::Count as Traffic;
use forebay_core::Duration;
use forebay_isp::Network;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The accounts of a direction.
#[derive(Debug, Default)]
pub struct Accounts {
    by_name: HashMap<String, u32>,
    all: Vec<Account>,
    /// For unknown addresses and each circuit, its account.
    places: Vec<u32>,
}

/// The packets of one circuit.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Packets that arrived at the queue.
    pub offered: Traffic,
    /// Packets that left it.
    pub sent: Traffic,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Times in the queue.
    pub delays: Delays,
}

impl Accounts {
    /// Has an account for each circuit of `network`, and keeps those that there are.
    pub fn follow(&mut self, network: &Network) {
        if self.all.is_empty() {
            self.all.push(Account::default());
        }
        let mut places = vec![0];
        for circuit in &network.circuits {
            let next = self.all.len() as u32;
            let account = *self.by_name.entry(circuit.id.clone()).or_insert(next);
            if account == next {
                self.all.push(Account::default());
            }
            places.push(account);
        }
        self.places = places;
    }

    /// The account of a circuit by its number, or 0 for unknown addresses.
    #[inline]
    pub fn place(&self, number: u16) -> u32 {
        self.places.get(usize::from(number)).copied().unwrap_or_default()
    }

    /// The account at a place.
    #[inline]
    pub fn at(&mut self, place: u32) -> Option<&mut Account> {
        self.all.get_mut(place as usize)
    }

    /// The accounts of unknown addresses and of each circuit, in their order.
    pub fn in_order(&self) -> impl Iterator<Item = &Account> {
        self.places.iter().map(|place| &self.all[*place as usize])
    }

    /// The sum over all accounts, also of circuits that are gone: offered, sent and dropped.
    pub fn totals(&self) -> [u64; 3] {
        self.all.iter().fold([0; 3], |[offered, sent, dropped], account| {
            let Account { offered: more, sent: left, dropped: lost, .. } = account;
            [offered + more.packets, sent + left.packets, dropped + lost]
        })
    }
}

/// Buckets for each doubling of the delay.
const EACH: u32 = 4;
/// The finest delay that is told apart, in nanoseconds.
const FINEST: u64 = 16_000;
/// Buckets up to 16 s; longer delays are in the last one.
const BUCKETS: usize = 81;

/// Delays in buckets, four for each doubling from 16 us to 16 s. A histogram with more digits for
/// each of 10 000 circuits would take tens of megabytes.
#[derive(Debug, Clone)]
pub struct Delays {
    counts: [u32; BUCKETS],
    longest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Delays { counts: [0; BUCKETS], longest: Duration::ZERO }
    }
}

impl Delays {
    /// Adds a delay.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let units = delay.as_nanos() / FINEST;
        let bucket = match units.checked_ilog2() {
            None => 0,
            Some(doublings) => {
                let quarter = ((units << 2) >> doublings) & 3;
                (1 + EACH * doublings + quarter as u32) as usize
            }
        };
        let count = &mut self.counts[bucket.min(BUCKETS - 1)];
        *count = count.saturating_add(1);
        self.longest = self.longest.max(delay);
    }

    /// The delay below which `share` of all are. It is too high by less than a quarter.
    pub fn quantile(&self, share: f64) -> Duration {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let rank = (share * total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                let edge = match bucket as u32 {
                    0 => FINEST,
                    after => {
                        let (doublings, quarter) = ((after - 1) / EACH, (after - 1) % EACH);
                        ((FINEST * u64::from(EACH + quarter + 1)) << doublings) / u64::from(EACH)
                    }
                };
                return Duration::from_nanos(edge).min(self.longest);
            }
        }
        Duration::ZERO
    }
}

/// A circuit of a running gate. Its number is that of the operator's file; there is no name and
/// no address, so it can be shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CircuitStatus {
    /// `Circuit ID`; none for the sum of unknown addresses.
    pub circuit: Option<String>,
    /// The node that it belongs to; none below the link.
    pub node: Option<String>,
    /// To the subscriber.
    pub down: WayStatus,
    /// From the subscriber.
    pub up: WayStatus,
}

/// One direction of a circuit since the beginning.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WayStatus {
    /// Packets that left the queue.
    pub sent: Traffic,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Packets that wait.
    pub waiting: u64,
    /// Median of the time in the queue; this and the others are too high by less than a quarter.
    pub p50_delay_ms: f64,
    /// 90th percentile.
    pub p90_delay_ms: f64,
    /// 99th percentile.
    pub p99_delay_ms: f64,
    /// Longest time in the queue, exactly.
    pub max_delay_ms: f64,
}

/// The circuits of a gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Circuits {
    /// Time since the gate began.
    pub uptime_s: f64,
    /// Unknown addresses, and then every circuit.
    pub circuits: Vec<CircuitStatus>,
}

impl From<&Account> for WayStatus {
    fn from(account: &Account) -> Self {
        let Account { offered, sent, dropped, marked, delays } = account;
        let millis = |share| delays.quantile(share).as_millis_f64();
        WayStatus {
            sent: *sent,
            dropped: *dropped,
            marked: *marked,
            waiting: offered.packets.saturating_sub(sent.packets + dropped),
            p50_delay_ms: millis(0.5),
            p90_delay_ms: millis(0.9),
            p99_delay_ms: millis(0.99),
            max_delay_ms: delays.longest.as_millis_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_a_quarter_too_high_at_most() {
        for micros in [1, 15, 16, 17, 100, 5_000, 123_456, 15_000_000] {
            let (mut delays, exact) = (Delays::default(), Duration::from_micros(micros));
            (0..90).for_each(|_| delays.add(exact));
            (0..10).for_each(|_| delays.add(Duration::from_nanos(100_000_000_000)));
            let found = delays.quantile(0.9).as_nanos() as f64 / exact.as_nanos() as f64;
            assert!(micros < 16 || (1.0..=1.25).contains(&found), "{micros}: {found}");
            assert_eq!(delays.quantile(1.0).as_nanos(), 16_000 << 20);
        }
        assert_eq!(Delays::default().quantile(0.99), Duration::ZERO);
    }

    #[test]
    fn accounts_stay_with_their_circuits() {
        let network = |lines: &str| {
            let mut network = Network::default();
            let head = "Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps";
            network.add_devices(&format!("{head}\n{lines}"), "d").unwrap();
            network
        };
        let mut accounts = Accounts::default();
        accounts.follow(&network("a,,1,1\nb,,1,1"));
        let place = accounts.place(2);
        accounts.at(place).unwrap().dropped = 7;
        accounts.follow(&network("c,,1,1\nb,,1,1\na,,1,1"));
        assert_eq!(
            accounts.in_order().map(|account| account.dropped).collect::<Vec<_>>(),
            [0, 0, 7, 0]
        );
        accounts.follow(&network("c,,1,1"));
        assert_eq!(accounts.totals(), [0, 0, 7]);
        assert_eq!(accounts.place(9), 0);
    }
}
