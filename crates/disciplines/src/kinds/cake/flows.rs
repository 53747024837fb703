//! The flows of a tin: queues found by a set-associative hash, fair shares of hosts, and DRR++.

use crate::admit::CobaltState;
use crate::classify::mix;
use forebay_core::{Rng, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queues of a tin. As many hosts are distinguished in each direction.
pub const QUEUES: usize = 1024;
/// Places where a flow's queue may be.
const WAYS: usize = 8;

/// The hosts or flows that share the bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// One queue for all.
    None,
    /// Sources.
    Srchost,
    /// Destinations.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Sources, then their flows.
    DualSrchost,
    /// Destinations, then their flows.
    DualDsthost,
    /// Flows, so that no host at either end has more than its share.
    TripleIsolate,
}

impl Isolation {
    /// Whether the flows of a source, and whether those of a destination, share its part.
    fn sides(self) -> [bool; 2] {
        match self {
            Isolation::DualSrchost => [true, false],
            Isolation::DualDsthost => [false, true],
            Isolation::TripleIsolate => [true, true],
            _ => [false, false],
        }
    }
}

/// The state of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Set {
    /// Not used.
    #[default]
    None,
    /// New, with a deficit left from its first round.
    Sparse,
    /// Empty, but waits for its turn among the bulk flows.
    SparseWait,
    /// Has used a whole round.
    Bulk,
    /// Empty, while COBALT's state for it decays.
    Decaying,
}

const NOWHERE: u32 = u32::MAX;

/// A queue of a tin.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// COBALT's state.
    pub cobalt: CobaltState,
    /// Bytes that it may still send in this round.
    pub deficit: i64,
    tag: u32,
    /// Places of its hosts, if they count.
    hosts: [Option<u16>; 2],
    next: u32,
    prev: u32,
    set: Set,
}

#[derive(Debug, Clone, Copy, Default)]
struct Host {
    /// The host that uses the place as a source, and as a destination; 0 is no host.
    tags: [u16; 2],
    /// Bulk flows from it, and to it.
    bulk: [u32; 2],
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

/// The flows of a tin.
pub struct Flows {
    flows: Row<Flow>,
    hosts: Row<Host>,
    /// The lists of new, old and decaying flows.
    lists: [List; 3],
    isolation: Isolation,
    /// Perturbation of the hash over hosts.
    salt: u64,
    quantum: i64,
    sparse: u32,
    bulk: u32,
}

const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;

/// The place for `hash`: its own place if it has one, otherwise a free one, otherwise the first.
/// The second value says which of the three it is.
#[inline]
fn way(
    hash: u32,
    owns: impl Fn(usize) -> bool,
    is_free: impl Fn(usize) -> bool,
) -> (usize, Option<bool>) {
    let place = hash as usize % QUEUES;
    let (first, set) = (place % WAYS, place - place % WAYS);
    let mut ways = (0..WAYS).map(|step| set + (first + step) % WAYS);
    if let Some(own) = ways.clone().find(|place| owns(*place)) {
        return (own, Some(true));
    }
    ways.find(|place| is_free(*place)).map_or((place, None), |free| (free, Some(false)))
}

impl Flows {
    /// Each flow gets `quantum` bytes in its next rounds.
    pub fn set_quantum(&mut self, quantum: i64) {
        self.quantum = quantum;
    }

    /// No flows yet. Each gets `quantum` bytes in a round.
    pub fn new(isolation: Isolation, quantum: i64, salt: u64) -> Self {
        let flow = Flow {
            cobalt: CobaltState::default(),
            deficit: 0,
            tag: 0,
            hosts: [None; 2],
            next: NOWHERE,
            prev: NOWHERE,
            set: Set::None,
        };
        Flows {
            flows: Row::new(flow, QUEUES),
            hosts: Row::new(Host::default(), QUEUES),
            lists: [List { head: NOWHERE, tail: NOWHERE }; 3],
            isolation,
            salt,
            quantum,
            sparse: 0,
            bulk: 0,
        }
    }

    /// Whether any flow waits for its turn.
    #[inline]
    pub fn active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Flows that have used up a round.
    #[inline]
    pub fn bulk(&self) -> u64 {
        self.bulk.into()
    }

    /// Sparse flows.
    pub fn sparse(&self) -> u64 {
        self.sparse.into()
    }

    /// The flow at `place`.
    #[inline]
    pub fn flow(&mut self, place: usize) -> &mut Flow {
        &mut self.flows[place]
    }

    /// The queue of the flow with `hash` between these hosts (0: not known).
    #[inline]
    pub fn place(&mut self, hash: u32, hosts: [u16; 2]) -> usize {
        let direct = hash as usize % QUEUES;
        let flow = &self.flows[direct];
        if flow.tag == hash && flow.set != Set::None {
            return direct;
        }
        let (place, found) = way(
            hash,
            |place| self.flows[place].tag == hash,
            |place| self.flows[place].set == Set::None,
        );
        let set = self.flows[place].set;
        if found != Some(true) || set == Set::None {
            if set == Set::Bulk {
                self.count_bulk(place, false);
            }
            self.flows[place].hosts = self.lodge(hosts);
            if set == Set::Bulk {
                self.count_bulk(place, true);
            }
        }
        self.flows[place].tag = hash;
        place
    }

    /// The hosts' places, for the sides that count.
    fn lodge(&mut self, hosts: [u16; 2]) -> [Option<u16>; 2] {
        let sides = self.isolation.sides();
        std::array::from_fn(|side| {
            let host = hosts[side];
            if !sides[side] || host == 0 {
                return None;
            }
            let (place, _) = way(
                mix(self.salt, host.into()),
                |place| self.hosts[place].tags[side] == host,
                |place| self.hosts[place].bulk[side] == 0,
            );
            self.hosts[place].tags[side] = host;
            Some(place as u16)
        })
    }

    /// The flow at `place` becomes a bulk flow of its hosts, or ceases to be one.
    fn count_bulk(&mut self, place: usize, joins: bool) {
        let hosts = self.flows[place].hosts;
        for (side, host) in hosts.into_iter().enumerate() {
            let Some(host) = host else { continue };
            let count = &mut self.hosts[usize::from(host)].bulk[side];
            *count = if joins { *count + 1 } else { count.saturating_sub(1) };
        }
    }

    /// Bytes of a round, which a host's flows share, with Linux's random rounding: without load one
    /// round in 43 is a byte short (`cake_get_flow_quantum`).
    #[inline]
    fn round(&self, place: usize, rng: &mut Rng) -> i64 {
        let hosts = self.flows[place].hosts;
        let loads = hosts.into_iter().enumerate();
        let load = loads
            .filter_map(|(side, host)| Some(self.hosts[usize::from(host?)].bulk[side]))
            .max()
            .unwrap_or(1)
            .max(1);
        (self.quantum * i64::from(65_535 / load) + rng.below(1 << 16) as i64) >> 16
    }

    /// A packet has joined the queue at `place`.
    #[inline]
    pub fn joined(&mut self, place: usize, rng: &mut Rng) {
        match self.flows[place].set {
            set @ (Set::None | Set::Decaying) => {
                if set == Set::Decaying {
                    self.unlink(DECAYING, place);
                }
                self.link(NEW, place);
                self.flows[place].set = Set::Sparse;
                self.sparse += 1;
                self.flows[place].deficit = self.round(place, rng);
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.make_bulk(place);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn make_bulk(&mut self, place: usize) {
        self.flows[place].set = Set::Bulk;
        self.bulk += 1;
        self.count_bulk(place, true);
    }

    /// The flow to serve. Decaying flows only if `decaying` is true, which is once for each packet.
    #[inline]
    pub fn head(&self, decaying: bool) -> Option<usize> {
        let order = if decaying { [DECAYING, NEW, OLD] } else { [NEW, OLD, DECAYING] };
        let heads = order.into_iter().map(|list| self.lists[list].head);
        heads.into_iter().find(|head| *head != NOWHERE).map(|head| head as usize)
    }

    /// The flow at `place`, the head of a list, has used its round. It moves to the end of the old
    /// ones.
    #[inline]
    pub fn end_round(&mut self, place: usize, holds_packets: bool, rng: &mut Rng) {
        let set = self.flows[place].set;
        self.unlink(list_of(set), place);
        if set == Set::Sparse {
            if holds_packets {
                self.sparse -= 1;
                self.make_bulk(place);
            } else {
                self.flows[place].set = Set::SparseWait;
            }
        }
        let round = self.round(place, rng);
        self.flows[place].deficit += round;
        self.link(OLD, place);
    }

    /// The flow at `place`, the head of a list, was found empty. It is removed unless COBALT has
    /// state for it.
    pub fn found_empty(&mut self, place: usize, remembers: bool) {
        let set = self.flows[place].set;
        self.unlink(list_of(set), place);
        match set {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_bulk(place, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Decaying | Set::None => {}
        }
        if remembers {
            self.link(DECAYING, place);
            self.flows[place].set = Set::Decaying;
        } else {
            self.flows[place].set = Set::None;
        }
    }

    #[inline]
    fn link(&mut self, list: usize, place: usize) {
        let List { head, tail } = &mut self.lists[list];
        (self.flows[place].prev, self.flows[place].next) = (*tail, NOWHERE);
        match *tail {
            NOWHERE => *head = place as u32,
            last => self.flows[last as usize].next = place as u32,
        }
        *tail = place as u32;
    }

    #[inline]
    fn unlink(&mut self, list: usize, place: usize) {
        let Flow { prev, next, .. } = self.flows[place];
        let List { head, tail } = &mut self.lists[list];
        match prev {
            NOWHERE => *head = next,
            before => self.flows[before as usize].next = next,
        }
        match next {
            NOWHERE => *tail = prev,
            after => self.flows[after as usize].prev = prev,
        }
    }
}

/// The list of flows in state `set`.
#[inline]
fn list_of(set: Set) -> usize {
    match set {
        Set::None | Set::Sparse => NEW,
        Set::SparseWait | Set::Bulk => OLD,
        Set::Decaying => DECAYING,
    }
}
