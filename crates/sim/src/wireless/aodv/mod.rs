//! Ad hoc on-demand distance vector routing (RFC 3561).
//!
//! A router without a route floods a request in growing rings. A router that knows a fresh enough
//! route answers along the path of the request. Destination sequence numbers distinguish fresh
//! routes from stale ones. Along a route they never fall, and where they are equal the distance
//! falls, so routes have no loops.
//!
//! [`Router`] does no I/O: it gets the time, messages and events of the link layer, and returns
//! [`Output`]s.
//!
//! Deviations
//! - D1: the link layer reports broken links (section 6.10 allows it), so there are no hello
//!   messages.
//! - D2: all links have the same range both ways: no blacklist and no RREP-ACK (section 6.8).
//! - D3: reverse routes too are updated by the rules of section 6.2 alone, and a route that an error
//!   message ends gets a sequence number above its own: the looser reading of sections 6.5 and 6.11
//!   can make loops (R. van Glabbeek et al., "Sequence numbers do not guarantee loop freedom",
//!   MSWiM 2013).
//! - D4: no gratuitous replies (section 6.6.3): a destination that wants to answer asks for itself.

mod router;
mod table;

pub use router::{Output, Router};

use super::medium::Station;
use forebay_core::Duration;

/// Messages between routers (section 5). Broadcast messages contain their time to live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// RREQ: which router has a route?
    Request(Request),
    /// RREP: there is one through this router.
    Reply(Reply),
    /// RERR: these are no longer reachable through this router.
    Error {
        /// Destinations with the sequence numbers of their routes.
        unreachable: Vec<(Station, u32)>,
        /// A repaired route has only become longer, so keep it (the N flag).
        keep: bool,
    },
}

/// Route request (section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Hops that it has travelled.
    pub hops: u8,
    /// Hops that it may still travel.
    pub ttl: u8,
    /// Its number among those of its originator.
    pub id: u32,
    /// The destination.
    pub destination: Station,
    /// Lowest sequence number that is fresh enough. None: any.
    pub destination_seq: Option<u32>,
    /// The originator.
    pub origin: Station,
    /// The originator's own sequence number.
    pub origin_seq: u32,
}

/// Route reply (section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Hops to the destination.
    pub hops: u8,
    /// Destination of the route.
    pub destination: Station,
    /// The sequence number of the route.
    pub destination_seq: u32,
    /// The originator of the request.
    pub origin: Station,
    /// Time for which it is valid.
    pub lifetime: Duration,
}

/// IPv4 and UDP headers in bytes; messages travel in datagrams to port 654.
const HEADERS: u32 = 28;

impl Message {
    /// Length of the IP packet in bytes (sections 5.1 to 5.3).
    pub fn ip_len(&self) -> u32 {
        HEADERS
            + match self {
                Message::Request(_) => 24,
                Message::Reply(_) => 20,
                Message::Error { unreachable, .. } => 4 + 8 * unreachable.len() as u32,
            }
    }
}

/// Constants of section 10.
mod constants {
    use forebay_core::Duration;

    /// Time for which an active route is valid.
    pub const ACTIVE_ROUTE_TIMEOUT: Duration = Duration::from_millis(3000);
    /// Time for which routes are valid that a destination announces to itself.
    pub const MY_ROUTE_TIMEOUT: Duration = Duration::from_millis(6000);
    /// Most hops between two routers.
    pub const NET_DIAMETER: u8 = 35;
    /// A cautious estimate of one hop's time.
    pub const NODE_TRAVERSAL_TIME: Duration = Duration::from_millis(40);
    /// 2 NODE_TRAVERSAL_TIME NET_DIAMETER.
    pub const NET_TRAVERSAL_TIME: Duration = Duration::from_millis(2800);
    /// 2 NET_TRAVERSAL_TIME: how long a request's number is remembered.
    pub const PATH_DISCOVERY_TIME: Duration = Duration::from_millis(5600);
    /// Retries with the largest ring.
    pub const RREQ_RETRIES: u32 = 2;
    /// Requests that a router may originate in a second. The same limit holds for errors.
    pub const RATELIMIT: usize = 10;
    /// The first ring, the increase of the next ones, and the largest before the whole network.
    pub const TTL_START: u8 = 1;
    pub const TTL_INCREMENT: u8 = 2;
    pub const TTL_THRESHOLD: u8 = 7;
    /// Hops added to the time that a ring takes.
    pub const TIMEOUT_BUFFER: u8 = 2;
    /// Hops added to the ring of a local repair.
    pub const LOCAL_ADD_TTL: u8 = 2;
    /// 0.3 NET_DIAMETER: farther destinations are not repaired locally.
    pub const MAX_REPAIR_TTL: u8 = 10;
    /// 5 ACTIVE_ROUTE_TIMEOUT: how long an invalid route is remembered (section 10: K is 5 without
    /// hello messages).
    pub const DELETE_PERIOD: Duration = Duration::from_millis(15_000);
}

#[cfg(test)]
mod tests;
