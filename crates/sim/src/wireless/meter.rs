//! Measurements of a station.

use super::medium::Station;
use forebay_core::Duration;
use std::collections::BTreeMap;

/// Counts of one station since the measurement began.
#[derive(Debug, Clone, Default)]
pub struct StationMeter {
    /// Frames sent, all kinds and repetitions.
    pub frames: u64,
    /// Time on air while sending.
    pub airtime: Duration,
    /// Time on air of the frames received for this station and of broadcasts.
    pub listened: Duration,
    /// Unicast frames sent again because no acknowledgment came.
    pub retries: u64,
    /// Routing messages sent, without repetitions.
    pub routing: u64,
    /// Links found broken.
    pub broken_links: u64,
    /// Data packets that came from a neighbour.
    pub received: u64,
    /// Data packets lost because the queue had no room or its discipline dropped them.
    pub queue_dropped: u64,
    /// Data packets lost because a link broke.
    pub link_dropped: u64,
    /// Data packets lost because there was no route.
    pub route_dropped: u64,
    /// Data packets that each neighbour has received from this station.
    pub hops: BTreeMap<Station, u64>,
}
