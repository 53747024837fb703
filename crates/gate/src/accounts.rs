//! What the packets of each circuit meet in one direction.
//!
//! An account belongs to a circuit's name and stays when the configuration is read again, because
//! packets that wait then still have to be counted for it. Account 0 is that of unknown addresses.

use crate::delays::Delays;
use crate::rules::Count as Traffic;
use forebay_core::{Duration, Rate};
use forebay_isp::{Circuit, Network};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The accounts of a direction.
#[derive(Debug, Default)]
pub struct Accounts {
    by_name: HashMap<String, u32>,
    all: Vec<Account>,
    /// For unknown addresses and each circuit, its account.
    places: Vec<u32>,
    /// The sum of those whose place another circuit has got: offered, sent and dropped.
    gone: [u64; 3],
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
    /// Sum of the times in the queue of those that left.
    pub waited: Duration,
    /// Times in the queue.
    pub delays: Delays,
    /// Round trips that ended with a packet of this direction.
    pub rounds: Delays,
    /// Their number.
    pub echoed: u64,
}

impl Account {
    /// Packets that wait.
    fn waiting(&self) -> u64 {
        self.offered.packets.saturating_sub(self.sent.packets + self.dropped)
    }
}

impl Accounts {
    /// Has an account for each circuit of `network`, and keeps those that there are. A new circuit
    /// gets the place of one that is gone and has no packets left, if there is one: circuits with
    /// ever new names would take ever more memory.
    pub fn follow(&mut self, network: &Network) {
        if self.all.is_empty() {
            self.all.push(Account::default());
        }
        let mut free = self.forget(network);
        let mut places = vec![0];
        for circuit in &network.circuits {
            let next = || {
                free.pop().unwrap_or_else(|| {
                    self.all.push(Account::default());
                    self.all.len() as u32 - 1
                })
            };
            places.push(*self.by_name.entry(circuit.id.clone()).or_insert_with(next));
        }
        self.places = places;
    }

    /// Forgets circuits that are not in `network`, at most as many as are new in it. Returns their
    /// places, which are empty.
    fn forget(&mut self, network: &Network) -> Vec<u32> {
        let is_new = |circuit: &&Circuit| !self.by_name.contains_key(&circuit.id);
        let new = network.circuits.iter().filter(is_new).count();
        let mut free = Vec::new();
        if self.by_name.len() + new == network.circuits.len() {
            return free;
        }
        let present: HashSet<&str> = network.circuits.iter().map(|one| one.id.as_str()).collect();
        self.by_name.retain(|name, place| {
            let account = &mut self.all[*place as usize];
            let stays =
                free.len() == new || account.waiting() > 0 || present.contains(name.as_str());
            if !stays {
                let [offered, sent, dropped] = &mut self.gone;
                *offered += account.offered.packets;
                *sent += account.sent.packets;
                *dropped += account.dropped;
                *account = Account::default();
                free.push(*place);
            }
            stays
        });
        free
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
    pub fn in_order(&self) -> impl ExactSizeIterator<Item = &Account> {
        self.places.iter().map(|place| &self.all[*place as usize])
    }

    /// The sum over all accounts, also of circuits that are gone: offered, sent and dropped.
    pub fn totals(&self) -> [u64; 3] {
        self.all.iter().fold(self.gone, |[offered, sent, dropped], account| {
            let Account { offered: more, sent: left, dropped: lost, .. } = account;
            [offered + more.packets, sent + left.packets, dropped + lost]
        })
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
    /// Largest rates of its plan, down and up; none if only its node has one.
    pub plan_bps: [Option<u64>; 2],
}

/// A node with its capacities.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Its name in the operator's file.
    pub node: String,
    /// The node above it; none below the link.
    pub parent: Option<String>,
    /// Capacities, down and up; none if it has no own one.
    pub rate_bps: [Option<u64>; 2],
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
    /// Sum of the times in the queue.
    pub delay_sum_s: f64,
    /// Median of the last times in the queue, about 16 000 to 32 000; this and the others are too
    /// high by less than a quarter.
    pub p50_delay_ms: f64,
    /// 90th percentile.
    pub p90_delay_ms: f64,
    /// 99th percentile.
    pub p99_delay_ms: f64,
    /// Longest time in the queue, exactly.
    pub max_delay_ms: f64,
    /// Round trips that were measured: from the gate in this direction to the end and back.
    pub round_trips: u64,
    /// Median of the last ones; none if there was none.
    pub p50_rtt_ms: Option<f64>,
    /// 90th percentile.
    pub p90_rtt_ms: Option<f64>,
    /// 99th percentile.
    pub p99_rtt_ms: Option<f64>,
}

/// The circuits of a gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Circuits {
    /// Time since the gate began.
    pub uptime_s: f64,
    /// Reloads so far.
    pub reloads: u64,
    /// Rates of the link, down and up.
    pub link_bps: [u64; 2],
    /// The nodes; a parent stands before those below it.
    pub nodes: Vec<NodeStatus>,
    /// Number of circuits, with unknown addresses.
    #[serde(skip)]
    pub of: usize,
    /// Unknown addresses, and then every circuit.
    pub circuits: Vec<CircuitStatus>,
}

impl Circuits {
    /// Adds what another core reports of the same circuits.
    pub fn add(&mut self, more: Circuits) {
        for (own, other) in self.circuits.iter_mut().zip(more.circuits) {
            own.down.add(other.down);
            own.up.add(other.up);
        }
    }
}

impl NodeStatus {
    /// The nodes of `network`.
    pub fn all(network: &Network) -> Vec<Self> {
        let nodes = &network.nodes;
        let status = nodes.iter().map(|node| NodeStatus {
            node: node.name.clone(),
            parent: node.parent.map(|parent| nodes[parent].name.clone()),
            rate_bps: [node.capacity.down, node.capacity.up].map(|rate| rate.map(Rate::bps)),
        });
        status.collect()
    }
}

impl CircuitStatus {
    /// The circuit of `network` at `place`, counted from 1, or unknown addresses, with its accounts.
    pub fn of(network: &Network, place: usize, down: &Account, up: &Account) -> Self {
        let circuit = place.checked_sub(1).and_then(|place| network.circuits.get(place));
        let node = circuit.and_then(|circuit| circuit.parent);
        let most = circuit.map(|circuit| circuit.most).unwrap_or_default();
        CircuitStatus {
            circuit: circuit.map(|circuit| circuit.id.clone()),
            node: node.map(|node| network.nodes[node].name.clone()),
            down: WayStatus::of(down, up),
            up: WayStatus::of(up, down),
            plan_bps: [most.down, most.up].map(|rate| rate.map(Rate::bps)),
        }
    }
}

impl WayStatus {
    /// Adds what another core reports. A circuit is on one core, unless a reload has moved it;
    /// percentiles are those of the core that has sent more of its packets, or measured more round
    /// trips.
    fn add(&mut self, more: WayStatus) {
        if more.sent.packets > self.sent.packets {
            self.p50_delay_ms = more.p50_delay_ms;
            self.p90_delay_ms = more.p90_delay_ms;
            self.p99_delay_ms = more.p99_delay_ms;
        }
        if more.round_trips > self.round_trips {
            self.p50_rtt_ms = more.p50_rtt_ms;
            self.p90_rtt_ms = more.p90_rtt_ms;
            self.p99_rtt_ms = more.p99_rtt_ms;
        }
        self.sent.merge(more.sent);
        self.dropped += more.dropped;
        self.marked += more.marked;
        self.waiting += more.waiting;
        self.delay_sum_s += more.delay_sum_s;
        self.max_delay_ms = self.max_delay_ms.max(more.max_delay_ms);
        self.round_trips += more.round_trips;
    }

    /// The state of a direction with the account `own`. Round trips that begin in it end with
    /// packets of the direction `back`.
    pub fn of(own: &Account, back: &Account) -> Self {
        let Account { sent, dropped, marked, waited, delays, .. } = own;
        let millis = |delays: &Delays, share| delays.quantile(share).map(Duration::as_millis_f64);
        let delay = |share| millis(delays, share).unwrap_or_default();
        let round = |share| millis(&back.rounds, share);
        WayStatus {
            sent: *sent,
            dropped: *dropped,
            marked: *marked,
            waiting: own.waiting(),
            delay_sum_s: waited.as_secs_f64(),
            p50_delay_ms: delay(0.5),
            p90_delay_ms: delay(0.9),
            p99_delay_ms: delay(0.99),
            max_delay_ms: delays.longest().as_millis_f64(),
            round_trips: back.echoed,
            p50_rtt_ms: round(0.5),
            p90_rtt_ms: round(0.9),
            p99_rtt_ms: round(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn circuits_with_ever_new_names_take_no_more_memory() {
        let mut accounts = Accounts::default();
        for day in 0..1_000 {
            let (mut lines, mut network) = (String::new(), Network::default());
            for circuit in 0..5 {
                lines += &format!("day {day} circuit {circuit},,1,1\n");
            }
            let head = "Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps";
            network.add_devices(&format!("{head}\n{lines}"), "d").unwrap();
            accounts.follow(&network);
            // The first circuit of each day has a packet that waits until the next day.
            if day > 0 {
                let waits = accounts.all.iter().filter(|account| account.waiting() > 0).count();
                assert_eq!(waits, 1);
                accounts.all.iter_mut().for_each(|account| account.sent = account.offered);
            }
            assert!(accounts.in_order().skip(1).all(|account| account.offered.packets == 0));
            for circuit in 1..=5 {
                let place = accounts.place(circuit);
                let account = accounts.at(place).unwrap();
                account.offered.add(100);
                if circuit > 1 {
                    account.dropped += 1;
                }
            }
            assert_eq!(accounts.totals(), [5 * (day + 1), day, 4 * (day + 1)]);
        }
        assert!(accounts.all.len() <= 1 + 2 * 5, "{}", accounts.all.len());
        assert_eq!(accounts.by_name.len(), accounts.all.len() - 1);
    }
}
