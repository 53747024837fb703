//! The grammar of scenario files: tables, fields, units and defaults.

use super::agent::AgentTable;
use crate::course::Course;
use crate::wireless::WirelessTable;
use forebay_core::{
    Bytes, Codepoint, Duration, Ecn, Overhead, Params, Rate, config, params, schema_form,
};
use forebay_shaper::link_table;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::sync::LazyLock;

/// A scenario: links, the traffic on them, and how long to watch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioTable {
    /// Subject of the scenario, for headings.
    #[serde(default)]
    pub title: String,
    /// Simulated time, including the warm-up; above 0. Give at least a hundred round trips, and
    /// enough transfers or calls for the measures that you compare.
    pub duration: Duration,
    /// Time at the beginning that is not measured; below `duration`. It should be long enough for
    /// TCP to leave slow start. Without it, the first seconds are part of every mean.
    #[serde(default)]
    pub warmup: Duration,
    /// Seed of every random stream. Equal seeds give equal runs; replications count up from it.
    #[serde(default = "config::one::<u64>")]
    pub seed: u64,
    /// Interval of the time series; a three-hundredth of `duration` if absent.
    pub sample: Option<Duration>,
    /// More tables of results, which cost time and memory: the throughput over time of every flow,
    /// or every transfer.
    #[serde(default)]
    pub tables: Vec<Wanted>,
    /// Shared libraries with disciplines that the queues below may name; a relative name starts
    /// from the scenario's directory.
    #[serde(default)]
    #[schemars(extend("items" = { "type": "string", "format": "path" }))]
    pub plugins: Vec<String>,
    /// Defaults for all TCP traffic. Without it, senders use New Reno with SACK; most hosts of
    /// today use `congestion = "cubic"`.
    #[serde(default)]
    pub tcp: Map<String, Value>,
    /// CSV file, relative to the scenario's folder, for a table of everything that TCP senders send
    /// and receive, with a line for each segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub tcp_trace: Option<String>,
    /// Short form for one congested link between two routers. Every flow has its own hosts.
    pub dumbbell: Option<Map<String, Value>>,
    /// Short form for a chain of congested links: a `dumbbell` with a number of `hops`. Every flow
    /// has its own hosts. `[parking_lot.hop.2]` gives what differs on the second hop.
    pub parking_lot: Option<Map<String, Value>>,
    /// Traffic profiles by name. A traffic entry names the profile that marks its packets.
    #[serde(default)]
    pub profile: Map<String, Value>,
    /// Links between nodes. A node is any name that a link uses.
    #[serde(default)]
    pub link: Vec<Map<String, Value>>,
    /// Stations that share one radio channel.
    pub wireless: Option<WirelessTable>,
    /// Next hops that replace those of the shortest path.
    #[serde(default)]
    pub route: Vec<RouteTable>,
    /// Positions of nodes on the map of a report: x and y by the node's name, in any unit, such as
    /// longitude and latitude. Runs ignore them.
    #[serde(default)]
    pub positions: BTreeMap<String, [f64; 2]>,
    /// The sources of traffic. The parameters of a source's kind are given beside the common ones.
    pub traffic: Vec<Map<String, Value>>,
    /// Changes during the run, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<ChangeTable>,
    /// Settings of `forebay compare`.
    pub compare: Option<CompareTable>,
    /// Settings of `forebay tune`.
    pub tune: Option<TuneTable>,
    /// Actions, observations and rewards of an agent of `forebay.gym`.
    pub agent: Option<AgentTable>,
}

link_table! {
    /// A link, by default with a reverse direction of the same rate, delay and overhead. One
    /// without a queue never drops.
    #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct LinkTable {
        before {
            /// Name in results; the reverse direction is called `<name>-reverse`.
            pub name: String,
            /// Node where the link begins and where its queue is.
            pub from: String,
            /// Node where the link ends; not that of `from`.
            pub to: String,
            /// Capacity in bits per second, which the link's overhead uses, too: above 0, such as
            /// "10Mbit". Or how it changes: `{ steps = [["0s", "10Mbit"], ["20s", "2Mbit"]] }`,
            /// `{ trace = "cellular.trace" }` or `{ draw = ["2Mbit", "10Mbit"], every = "1s" }`. In
            /// steps, "0bit" is an outage.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate: Option<Course<Rate>>,
        }
        after {
            /// Propagation delay, one way, or how it changes, like `rate`.
            #[serde(default = "no_delay")]
            pub delay: Course<Duration>,
            /// Cost of the link, 1 or more, as in OSPF: packets take the path with the lowest sum.
            /// Without costs, this is the path with the fewest links.
            #[serde(default = "config::one::<u32>", skip_serializing_if = "is_least_cost")]
            pub cost: u32,
            /// Share of packets lost on the wire at random, 0 to 1, or how it changes, like `rate`. Do not
            /// set it to simulate congestion: the queue drops packets by itself.
            #[serde(default = "no_loss")]
            pub loss: Course<f64>,
            /// Policer in front of the queue: `{ rate = "10Mbit", burst = "50KB" }` drops packets
            /// for which there are no tokens; none if absent.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub police: Option<PoliceTable>,
            /// Packets that are held back on the wire, so that later ones arrive first:
            /// `{ share = 0.01, delay = "10ms" }` lets a hundredth of them arrive 10 ms later. None
            /// if absent: the link keeps the order.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub reorder: Option<ReorderTable>,
            /// ECN codepoints that the wire changes: `{ ect0 = "not-ect", ect1 = "not-ect", ce =
            /// "not-ect" }` bleaches. None if absent, as RFC 3168 and RFC 9331 ask.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub remark: Option<RemarkTable>,
            /// Box in front of the queue, which also sees what comes back over the reverse
            /// direction: `{ kind = "aspq", ... }` (see `forebay kinds`); none if absent.
            #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
            pub middlebox: Option<Value>,
            /// File in which to record what the link sends, for Wireshark.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(extend("format" = "path"))]
            pub pcap: Option<String>,
            /// Differences of the reverse direction. Rate, delay and overhead are those of the link
            /// unless given; a queue or a box is not inherited. So without a queue here,
            /// acknowledgments and downloads in that direction are never dropped.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub reverse: Option<Map<String, Value>>,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_least_cost(cost: &u32) -> bool {
    *cost == 1
}

fn no_delay() -> Course<Duration> {
    Course::Constant(Duration::ZERO)
}

fn no_loss() -> Course<f64> {
    Course::Constant(0.0)
}

/// A token bucket that polices: it holds nothing back.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliceTable {
    /// Rate at which tokens come in, in bits of IP packets; above 0.
    pub rate: Rate,
    /// Size of the bucket, full at the beginning; at least the link's `mtu`.
    pub burst: Bytes,
}

/// Packets that are held back, each by itself at random.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderTable {
    /// Share of packets that are held back, 0 to 1.
    pub share: f64,
    /// Time by which they are held back; above 0. Packets that are sent within this time after one overtake
    /// it. For TCP a segment looks lost if three or more do.
    pub delay: Duration,
}

/// New ECN codepoints, by the old ones. A codepoint that is not named does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemarkTable {
    /// New codepoint of packets that are not ECN-capable.
    #[serde(rename = "not-ect", skip_serializing_if = "Option::is_none")]
    pub not_ect: Option<Ecn>,
    /// New codepoint of packets with ECT(0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ect0: Option<Ecn>,
    /// New codepoint of packets with ECT(1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ect1: Option<Ecn>,
    /// New codepoint of marked packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce: Option<Ecn>,
}

params! {
    /// The hosts' links at a dumbbell or parking lot. Every flow has its own link at both ends,
    /// which never drops.
    pub struct AccessTable {
        /// Rate; above 0.
        pub rate: Rate = Rate::from_bps(1_000_000_000),
        /// Propagation delay, one way.
        pub delay: Duration = Duration::from_micros(100),
        /// Bytes added to every IP packet.
        pub overhead: Overhead = Overhead::default(),
    }
}

/// A next hop that replaces that of the shortest path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// Node at which it holds.
    pub at: String,
    /// Destination node.
    pub to: String,
    /// Link to take (`<name>-reverse` for a reverse direction); it begins at `at`.
    pub link: String,
}

/// A host of traffic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a name, or a number from 1 to 65535")]
pub enum HostName {
    /// Its number.
    Number(NonZeroU16),
    /// Its name; the scenario numbers it.
    Name(String),
}

/// Fields of every traffic entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficTable {
    /// Name; also of the class, if none is given; the kind if absent.
    pub name: String,
    /// Kind of source; see `forebay kinds`.
    pub kind: String,
    /// Node of the sender of the data: for people who download (`web`, `pages`, `files`,
    /// `adaptive-video`) it is the server, not the person. Left out on a dumbbell, where every flow
    /// has its own hosts. If it is the name of a wireless grid, the flows are assigned to its
    /// stations in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the receiver. For people who download, this is where the people are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Name of the host that the flows come from, or its number, 1 to 65535, as the classifier
    /// `host` sees it. Entries with the same host share it. Only disciplines that share between
    /// hosts, such as `cake`, use it otherwise. If absent, each flow has its own host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_host: Option<HostName>,
    /// Name or number of the host that the flows go to, like `from_host`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_host: Option<HostName>,
    /// Direction on a dumbbell or parking lot, forward if absent. It cannot be combined with `from`
    /// and `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The only hop of a parking lot that the flows cross, counted from 1; all hops if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// Number of independent flows (users) of this kind; 1 or more.
    #[serde(default = "config::one::<u32>")]
    pub flows: u32,
    /// When the flows start: a time, or two times, between which each flow draws its own.
    #[serde(default)]
    pub start: Start,
    /// When the flows end; the end of the run if absent. After that, no datagram is sent and no
    /// transfer starts. Transfers that have started are completed, and endless transfers are cut
    /// off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Class under which the flows are reported, the name if absent. It is only a heading: queues
    /// look at `q`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// QoS class that classifiers see, 0 to 255; higher is served first. Without it, all traffic
    /// has class 0, and `prio`, `wrr` and `cq-aqm` act as if they had one queue.
    #[serde(default)]
    pub q: u8,
    /// Precedence, 0 to 255; higher is more important. `cq-aqm` drops low ones first.
    #[serde(default)]
    pub precedence: u8,
    /// Drop precedence, 0 to 7; higher is dropped first, by `wred`, `rio` and `wrt`.
    #[serde(default)]
    pub drop_precedence: u8,
    /// Name of the `profile` that sets the drop precedence of the sender's packets instead.
    /// Acknowledgments in the other direction are not metered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Differentiated services codepoint, by name or number. It does not set a class: set `q`, too,
    /// or use a `dscp` classifier.
    #[serde(default)]
    pub dscp: Codepoint,
    /// ECN codepoint of datagrams. Their sources do not respond to marks. Not ECN-capable if
    /// absent. TCP sets its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// Port of the receiver, 0 to 65535, by which a box can recognize the flows. It has no other
    /// effect.
    #[serde(default = "iperf")]
    pub port: u16,
    /// Differences from the `tcp` of the scenario; only for sources that use TCP.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub tcp: Map<String, Value>,
}

fn iperf() -> u16 {
    5001
}

/// Names of the fields of [`TrafficTable`]. Other fields of an entry are parameters of its source.
pub static TRAFFIC_FIELDS: LazyLock<Vec<&str>> = LazyLock::new(TrafficTable::fields);

/// The packets that one marker of a profile meters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// All traffic that names the profile, as one stream: the edge of a site.
    #[default]
    Aggregate,
    /// Each flow by itself: the profile is every user's own.
    Flow,
}

/// A table that is only made where it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Throughput of every flow, with a row for each interval of `sample`.
    FlowSeries,
    /// Every transfer over TCP: its flow, start, size, end and duration.
    Transfers,
}

/// Way on a dumbbell or parking lot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Left to right, over the congested links.
    #[default]
    Forward,
    /// Right to left.
    Reverse,
}

/// A change while a scenario runs. It has one of `set`, `join` and `leave`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeTable {
    /// Time of the change; below `duration`. All events of this time come before it.
    pub at: Duration,
    /// New values of fields, by path: `{ "link.uplink.rate" = "5Mbit", "link.uplink.queue.target" =
    /// "10ms" }`. Of a link, the constant rate, delay and loss may change, and its queue: its kind, and
    /// every parameter of every kind. Arrivals then join a new queue, and packets in the old one leave
    /// first. A rate, a delay, a loss or a load that varies from the beginning is written there, as a
    /// course: `{ steps = ... }`, `{ trace = ... }` or `{ draw = ... }`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// A traffic entry that joins, written as [[traffic]]. It starts at `at` or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<Map<String, Value>>,
    /// Name of a traffic entry that sends no more. Packets under way are still delivered; the rest of its
    /// transfers is not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave: Option<String>,
}

/// Settings of `forebay compare`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareTable {
    /// Link whose queue is replaced, or "*" for every link that has a queue. It may be left out
    /// where there is one link only, on a dumbbell (`bottleneck`) and on a parking lot (every hop,
    /// forward).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Runs of each discipline, with seeds that all disciplines share; 2 or more give intervals.
    #[serde(default = "ten")]
    pub replications: u32,
    /// Disciplines: names of kinds, alone or with parameters (`"fifo:limit=300p"`), or queue tables;
    /// a table may carry a `label`. "today" leaves every queue as it is.
    pub disciplines: Vec<Value>,
    /// Discipline beside which gain and system efficiency are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Classes whose flows make system efficiency; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efficiency: Vec<String>,
}

/// Settings of `forebay tune`, which its command line can replace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneTable {
    /// Measure to make large, a key of the summary joined by dots; or give `minimize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximize: Option<String>,
    /// Measure to make small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimize: Option<String>,
    /// Bounds such as "classes.voice.loss <= 0.001".
    #[serde(default)]
    pub subject_to: Vec<String>,
    /// Ranges of fields, by path: `{ "link.uplink.queue.target" = "1ms..50ms:log" }`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

fn ten() -> u32 {
    10
}

/// Start of a flow: `"2s"`, or `["0s", "5s"]` for a random time between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// Earliest time.
    pub earliest: Duration,
    /// Latest time.
    pub latest: Duration,
}

impl Serialize for Start {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.earliest == self.latest {
            self.earliest.serialize(serializer)
        } else {
            [self.earliest, self.latest].serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let both = match Value::deserialize(deserializer)? {
            Value::Array(both) => config::read::<[Duration; 2]>(&Value::Array(both)),
            single => config::read::<Duration>(&single).map(|time| [time, time]),
        };
        let [earliest, latest] = both.map_err(D::Error::custom)?;
        if latest < earliest {
            return Err(D::Error::custom(format!(
                "the second time must not be before the first, got [\"{earliest}\", \"{latest}\"]"
            )));
        }
        Ok(Start { earliest, latest })
    }
}

schema_form!(Start, |generator| {
    "description": "a time such as \"2s\", or two such as [\"0s\", \"5s\"] between which each flow draws its own",
    "anyOf": [
        generator.subschema_for::<Duration>(),
        {
            "type": "array",
            "items": generator.subschema_for::<Duration>(),
            "minItems": 2,
            "maxItems": 2,
        },
    ],
});
