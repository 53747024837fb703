//! The results of a run: the summary with its stable keys, and the tables for plots.

use crate::engine::{ClassPoint, LinkSeries, PlacedBox, World};
use crate::measure::{
    ClassMeter, FlowSeries, LEVELS, Lengths, LossPattern, Playback, QueueMeter, QueuePoint, Share,
    TransferRow, UserMeter, Watched, energy_potential, jain, mean_watched, round_trips_per_minute,
    satisfaction,
};
use crate::scenario::Scenario;
use crate::wireless::Network;
use forebay_core::{DropReason, Time};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One table: its name, the labels that all its rows share, and its columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// "queue", "class", "delay", "queue_delay", "flow_series" or "transfers".
    pub name: &'static str,
    /// Labels such as `link = "uplink"`.
    pub labels: Vec<(&'static str, String)>,
    /// Columns of equal length.
    pub columns: Vec<(String, Vec<f64>)>,
}

/// The summary of a finished run; `docs/summary.md` documents every key.
///
/// Its flows are computed when it is written, one after the other: for 100 000 flows they would
/// take more memory than the run.
pub struct Summary<'a> {
    head: Map<String, Value>,
    world: &'a World,
    names: Vec<String>,
    measured: (Time, Time),
}

impl Summary<'_> {
    /// The whole summary at once.
    pub fn whole(&self) -> Value {
        serde_json::to_value(self).expect("keys are strings")
    }
}

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("flows", &Flows(self))?;
        map.end()
    }
}

struct Flows<'a>(&'a Summary<'a>);

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Summary { world, names, measured, .. } = self.0;
        let measures = world.measures();
        serializer.collect_seq(measures.users.iter().enumerate().map(|(id, user)| {
            let class = &measures.classes[user.class as usize].name;
            let watched = watched(&measures.playbacks, id, *measured);
            flow_summary(id, user, &names[user.traffic as usize], class, *measured, watched)
        }))
    }
}

/// Summarises a finished run of `scenario`, and closes its world.
pub fn summary<'a>(scenario: &Scenario, seed: u64, world: &'a mut World) -> Summary<'a> {
    let scenario = scenario.last();
    let (from, until) = world.measured();
    let seconds = (until - from).as_secs_f64();
    world.close();
    let (fingerprint, events, packets) = world.counts();
    let mut links = Map::new();
    let mut queues = Map::new();
    let series = world.measures().series.clone();
    let measured = series.time.partition_point(|end| *end <= from.as_secs_f64());
    for (link, series) in world.links_mut().iter_mut().zip(&series.links) {
        let bits = link.port().capacity().bits_between(from, until);
        links.insert(link.name.clone(), link_summary(link.sent, bits, link.wire_lost, seconds));
        let mut queue = queue_summary(&link.kind, &mut link.meter, until);
        queue["variables"] = variables(series, measured);
        queues.insert(link.name.clone(), queue);
    }
    let wireless = world.network_mut().map(|network| wireless_summary(network, from, until));
    let world = &*world;
    let mut boxes = Map::new();
    for placed in world.boxes() {
        let name = world.link(placed.link as usize).name.clone();
        boxes.insert(name, box_summary(placed));
    }
    let measures = world.measures();
    let everyone: Vec<_> = measures.users.iter().collect();
    let mut classes = Map::new();
    let narrowest = scenario.narrowest(&|link| number(&links[link]["capacity_bps"]));
    for (index, class) in measures.classes.iter().enumerate() {
        let members = everyone.iter().copied().filter(|user| user.class == index as u32);
        let members: Vec<_> = members.collect();
        let most = members.iter().map(|user| narrowest[user.traffic as usize]);
        let most = most.fold(f64::INFINITY, f64::min);
        let viewers = viewers(&measures.playbacks, &measures.users, index, (from, until));
        let mut found = class_summary(class, &members, seconds, viewers);
        let (sent, goodput) = (number(&found["sent_bps"]), number(&found["goodput_bps"]));
        let own = |id: &u32| measures.users[*id as usize].class == index as u32;
        let probes = measures.probes.iter().filter(|(id, _)| own(id)).map(|(_, probes)| probes);
        found["rpm"] = round_trips_per_minute(probes).into();
        found["energy_potential"] = energy_potential(sent, goodput, most).into();
        classes.insert(class.name.clone(), found);
    }
    let head = json!({
        "title": scenario.table().title,
        "seed": seed,
        "duration_s": until.as_secs_f64(),
        "warmup_s": from.as_secs_f64(),
        "version": env!("CARGO_PKG_VERSION"),
        "fingerprint": format!("{fingerprint:016x}"),
        "events": events,
        "packets": packets,
        "links": links,
        "queues": queues,
        "boxes": boxes,
        "classes": classes,
        "system": system_summary(&measures.classes, &everyone, seconds),
    });
    let Value::Object(mut head) = head else { unreachable!("it is an object") };
    if !scenario.table().plugins.is_empty() {
        head.insert("plugins".to_owned(), scenario.plugins());
    }
    if let Some(wireless) = wireless {
        head.insert("wireless".to_owned(), wireless);
    }
    Summary { head, world, names: scenario.traffic_names(), measured: (from, until) }
}

/// Counts of the stations, and of the hops between them.
fn wireless_summary(network: &Network, from: Time, until: Time) -> Value {
    let seconds = (until - from).as_secs_f64();
    let mut stations = Map::new();
    let mut hops = Vec::new();
    for ((name, track), meter) in network.names().iter().zip(network.tracks()).zip(network.meters())
    {
        let place = track.at(until);
        stations.insert(
            name.clone(),
            json!({
                "x_m": place.x,
                "y_m": place.y,
                "sending": meter.airtime.as_secs_f64() / seconds,
                "receiving": meter.listened.as_secs_f64() / seconds,
                "frames": meter.frames,
                "retries": meter.retries,
                "routing_messages": meter.routing,
                "broken_links": meter.broken_links,
                "received": meter.received,
                "queue_dropped": meter.queue_dropped,
                "link_dropped": meter.link_dropped,
                "route_dropped": meter.route_dropped,
            }),
        );
        hops.extend(meter.hops.iter().map(|(to, packets)| {
            let to = &network.names()[usize::from(*to)];
            json!({ "from": name, "to": to, "packets": packets })
        }));
    }
    json!({ "stations": stations, "hops": hops })
}

/// A link that sent this number of packets and bytes, of the `bits` that it could have sent.
pub(crate) fn link_summary(sent: (u64, u64), bits: f64, wire_lost: u64, seconds: f64) -> Value {
    let (packets, bytes) = sent;
    let used = if bits > 0.0 { bytes as f64 * 8.0 / bits } else { 0.0 };
    json!({
        "utilization": used.min(1.0),
        "sent_packets": packets,
        "sent_bytes": bytes,
        "capacity_bps": bits / seconds,
        "wire_lost": wire_lost,
    })
}

pub(crate) fn queue_summary(kind: &str, meter: &mut QueueMeter, until: Time) -> Value {
    let (mean, std, bytes) = meter.averages(until);
    let dropped = meter.dropped_total();
    let offered: u64 = meter.offered.iter().sum();
    let reasons: Map<_, _> = DropReason::ALL
        .into_iter()
        .map(|reason| {
            let dropped: u64 = meter.drops[reason as usize].iter().sum();
            (reason.name().to_owned(), dropped.into())
        })
        .collect();
    let highest = (0..LEVELS).rfind(|level| meter.offered[*level] > 0).unwrap_or(0);
    let levels: Map<_, _> = (0..=highest)
        .map(|level| {
            let (offered, dropped) = (meter.offered[level], meter.dropped_of(level));
            let level_loss = share(dropped, offered);
            let counts = json!({ "offered": offered, "dropped": dropped, "loss": level_loss });
            (level.to_string(), counts)
        })
        .collect();
    let [p50, p99] = meter.delay.quantiles_ms([0.5, 0.99]);
    json!({
        "kind": kind,
        "mean_packets": mean,
        "std_packets": std,
        "max_packets": meter.max_packets,
        "mean_bytes": bytes,
        "mean_delay_ms": meter.delay.mean_ms(),
        "p50_delay_ms": p50,
        "p99_delay_ms": p99,
        "offered": offered,
        "dropped": dropped,
        "marked": meter.marked,
        "loss": share(dropped, offered),
        "drops": Value::Object(reasons),
        "loss_events": json!({
            "count": meter.loss_events.count,
            "mean_flows": meter.loss_events.mean_flows(),
        }),
        "drop_precedence": Value::Object(levels),
    })
}

/// Counts of the whole run, including the warm-up.
fn box_summary(placed: &PlacedBox) -> Value {
    let counts = placed.middlebox.counts();
    json!({
        "kind": placed.kind,
        "freezes": counts.freezes,
        "releases": counts.releases,
        "rewritten": counts.rewritten,
        "probes_answered": counts.probes_answered,
        "made": counts.made,
        "evicted": counts.evicted,
    })
}

/// Mean, standard deviation and largest value of a queue's internal variables over the points of
/// its series from `measured` on.
fn variables(series: &LinkSeries, measured: usize) -> Value {
    let moments = |values: &[f64]| {
        let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let mean_of = |sum: f64| (!known.is_empty()).then(|| sum / known.len() as f64);
        let mean = mean_of(known.iter().sum());
        let squares = |mean: f64| known.iter().map(|value| (value - mean) * (value - mean)).sum();
        let variance = mean.and_then(|mean| mean_of(squares(mean)));
        let max = known.iter().copied().reduce(f64::max);
        json!({ "mean": mean, "std": variance.map(f64::sqrt), "max": max })
    };
    let variables = series.variables.iter().map(|(name, values)| {
        ((*name).to_owned(), moments(values.get(measured..).unwrap_or_default()))
    });
    Value::Object(variables.collect())
}

/// Measures of all flows together.
fn system_summary(classes: &[ClassMeter], users: &[&UserMeter], seconds: f64) -> Value {
    let bits = users.iter().map(|user| user.bytes).sum::<u64>() as f64 * 8.0;
    let completed: u64 = users.iter().map(|user| user.completed).sum();
    let time: u128 = users.iter().map(|user| user.completion_time).sum();
    let longest = classes.iter().filter_map(|class| class.completion.max_ms());
    let (asi, asi_by_flow) = satisfied(users);
    let (asi_classes, _) = satisfied_classes(classes.len(), users);
    json!({
        "goodput_bps": bits / seconds,
        "jain": jain(users.iter().map(|user| user.bytes as f64)),
        "asi": asi,
        "asi_by_flow": asi_by_flow,
        "asi_of_classes": asi_classes,
        "completed": completed,
        "mean_completion_s": (completed > 0).then(|| time as f64 * 1e-9 / completed as f64),
        "max_completion_s": longest.map(|ms| ms * 1e-3).reduce(f64::max),
    })
}

/// Longest wait in queues of any packet, in ms.
fn longest_wait(users: &[&UserMeter]) -> f64 {
    users.iter().map(|user| user.longest_wait.as_millis_f64()).fold(0.0, f64::max)
}

/// The application satisfaction index of flows: by the formula as printed, and flow by flow.
fn satisfied(users: &[&UserMeter]) -> (Option<f64>, Option<f64>) {
    let share = |user: &&UserMeter| {
        user.mean_wait_ms().map(|delay| Share { delay, data: user.bytes as f64 })
    };
    satisfaction(users.iter().filter_map(share), longest_wait(users)).unzip()
}

/// The same for classes, each as one flow.
fn satisfied_classes(classes: usize, users: &[&UserMeter]) -> (Option<f64>, Option<f64>) {
    let shares = (0..classes).filter_map(|class| {
        let members = users.iter().filter(|user| user.class == class as u32);
        let packets: u64 = members.clone().map(|user| user.delivered).sum();
        let wait = |user: &&UserMeter| Some(user.mean_wait_ms()? * user.delivered as f64);
        let waits: f64 = members.clone().filter_map(wait).sum();
        let data = members.map(|user| user.bytes as f64).sum();
        (packets > 0).then(|| Share { delay: waits / packets as f64, data })
    });
    satisfaction(shares, longest_wait(users)).unzip()
}

/// The video that user `id` saw during the measurement.
pub(crate) fn watched(
    playbacks: &BTreeMap<u32, Playback>,
    id: usize,
    (from, until): (Time, Time),
) -> Option<Watched> {
    playbacks.get(&(id as u32))?.watched(from, until)
}

/// The videos that the users of class `class` saw.
pub(crate) fn viewers(
    playbacks: &BTreeMap<u32, Playback>,
    users: &[UserMeter],
    class: usize,
    measured: (Time, Time),
) -> Option<Watched> {
    let is_member = |id: &u32| users[*id as usize].class == class as u32;
    let members = playbacks.keys().filter(|id| is_member(id));
    let all: Vec<_> = members.filter_map(|id| watched(playbacks, *id as usize, measured)).collect();
    mean_watched(&all)
}

/// The keys of a video; all null for other traffic.
fn add_watched(found: &mut Value, watched: Option<Watched>) {
    found["qoe_bps"] = watched.map(|seen| seen.qoe_bps).into();
    found["rendition_bps"] = watched.and_then(|seen| seen.rendition_bps).into();
    found["stall_ratio"] = watched.map(|seen| seen.stall_ratio).into();
    found["stalls"] = watched.map(|seen| seen.stalls).into();
    found["switches"] = watched.map(|seen| seen.switches).into();
    found["initial_loading_s"] = watched.and_then(|seen| seen.initial_loading_s).into();
}

pub(crate) fn class_summary(
    class: &ClassMeter,
    members: &[&UserMeter],
    seconds: f64,
    watched: Option<Watched>,
) -> Value {
    let (asi, asi_by_flow) = satisfied(members);
    let sum = |count: fn(&UserMeter) -> u64| members.iter().map(|user| count(user)).sum::<u64>();
    let mean = |value: &dyn Fn(&UserMeter) -> Option<f64>| {
        let values: Vec<_> = members.iter().filter_map(|user| value(user)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let (delivered, dropped) = (sum(|user| user.delivered), sum(|user| user.dropped));
    let goodput = sum(|user| user.bytes) as f64 * 8.0 / seconds;
    let throughput = sum(|user| user.offered_bytes) as f64 * 8.0 / seconds;
    let mut losses = LossPattern::default();
    members.iter().filter_map(|user| user.loss_pattern()).for_each(|each| losses.merge(&each));
    let [p50, p95, p99] = class.delay.quantiles_ms([0.5, 0.95, 0.99]);
    let mut found = json!({
        "flows": members.len(),
        "goodput_bps": goodput,
        "sent_bps": throughput,
        "offered": sum(|user| user.offered),
        "delivered": delivered,
        "dropped": dropped,
        "loss": share(dropped, delivered + dropped),
        "loss_period": lengths(&losses.periods),
        "loss_distance": lengths(&losses.distances),
        "marked": sum(|user| user.marked),
        "mean_delay_ms": class.delay.mean_ms(),
        "p50_delay_ms": p50,
        "p95_delay_ms": p95,
        "p99_delay_ms": p99,
        "max_delay_ms": class.delay.max_ms(),
        "p99_delay_variation_ms": p99.zip(class.shortest_ms()).map(|(p99, least)| p99 - least),
        "mean_wait_ms": mean(&UserMeter::mean_wait_ms),
        "jitter_ms": mean(&UserMeter::jitter_ms),
        "retransmissions": sum(|user| user.retransmissions),
        "timeouts": sum(|user| user.timeouts),
        "probes": sum(|user| user.probes),
        "completed": sum(|user| user.completed),
        "aborted": sum(|user| user.aborted),
        "mean_startup_ms": class.mean_startup_ms(),
        "mean_completion_s": class.completion.mean_ms().map(|ms| ms * 1e-3),
        "p95_completion_s": class.completion.quantile_ms(0.95).map(|ms| ms * 1e-3),
        "max_completion_s": class.completion.max_ms().map(|ms| ms * 1e-3),
        "transfer_goodput_bps": mean(&UserMeter::transfer_goodput_bps),
        "jain": jain(members.iter().map(|user| user.bytes as f64)),
        "asi": asi,
        "asi_by_flow": asi_by_flow,
        "r_factor": mean(&|user| user.voice().map(|(r, _)| r)),
        "mos": mean(&|user| user.voice().map(|(_, mos)| mos)),
    });
    add_watched(&mut found, watched);
    found
}

fn lengths(lengths: &Lengths) -> Value {
    let octaves = lengths.counts.iter().enumerate();
    let octaves = octaves.map(|(octave, count)| (Lengths::label(octave), Value::from(*count)));
    json!({
        "count": lengths.count(),
        "mean": lengths.mean(),
        "longest": lengths.longest,
        "octaves": Value::Object(octaves.collect()),
    })
}

pub(crate) fn flow_summary(
    id: usize,
    user: &UserMeter,
    traffic: &str,
    class: &str,
    (from, until): (Time, Time),
    watched: Option<Watched>,
) -> Value {
    let seconds = (until - from).as_secs_f64();
    let mut found = json!({
        "id": id,
        "traffic": traffic,
        "class": class,
        "goodput_bps": user.bytes as f64 * 8.0 / seconds,
        "delivered_bytes": user.bytes,
        "retransmissions": user.retransmissions,
        "timeouts": user.timeouts,
        "probes": user.probes,
        "loss": user.loss(),
        "mean_delay_ms": user.mean_delay_ms(),
        "mean_wait_ms": user.mean_wait_ms(),
        "completed": user.completed,
        "completion_s": (user.completed > 0)
            .then(|| user.completion_time as f64 * 1e-9 / user.completed as f64),
        "r_factor": user.voice().map(|(r, _)| r),
        "mos": user.voice().map(|(_, mos)| mos),
    });
    add_watched(&mut found, watched);
    found
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The tables of a finished run: "queue" and "class" with a row for each sampling interval, and the
/// distributions "delay" (by class) and "queue_delay" (by link). If the scenario asks for them:
/// "flow_series" with a row for each flow and sampling interval, and "transfers".
pub fn tables(scenario: &Scenario, world: &mut World) -> Vec<Table> {
    let scenario = scenario.last();
    let mut tables = Vec::new();
    let series = world.measures().series.clone();
    let mut ends = series.time.clone();
    for (link, series) in world.links_mut().iter().zip(&series.links) {
        let [mut queue, delay] = queue_tables(&link.name, &ends, &series.points, &link.meter);
        for (name, values) in &series.variables {
            let mut values = values.clone();
            values.resize(series.points.len(), f64::NAN);
            queue.columns.push(column(name, values));
        }
        tables.extend([queue, delay]);
    }
    // Each interval of the series ends at its time and begins at the time before.
    let mut begin = 0.0;
    let spans: Vec<f64> =
        ends.iter_mut().map(|end| *end - std::mem::replace(&mut begin, *end)).collect();
    let measures = world.measures();
    for (class, points) in measures.classes.iter().zip(&series.classes) {
        let rate = |(point, span): (&ClassPoint, &f64)| point.bytes as f64 * 8.0 / span;
        let rates = points.iter().zip(&spans).map(rate).collect();
        let [mut rates, delays] = class_tables(class, &series.time, rates);
        let completed = points.iter().map(|point| f64::from(point.completed)).collect();
        rates.columns.push(column("completed", completed));
        rates.columns.push(column("cwnd_bytes", points.iter().map(ClassPoint::cwnd).collect()));
        tables.extend([rates, delays]);
    }
    if measures.flow_series.is_none() && measures.transfers.is_none() {
        return tables;
    }
    for (entry, name) in scenario.traffic_names().into_iter().enumerate() {
        let is_own = |flow: usize| measures.users[flow].traffic == entry as u32;
        let flows: Vec<usize> = (0..measures.users.len()).filter(|flow| is_own(*flow)).collect();
        let Some(first) = flows.first() else { continue };
        let class = measures.classes[measures.users[*first].class as usize].name.clone();
        let labels = vec![("class", class), ("traffic", name)];
        if let Some(series) = &measures.flow_series {
            let columns = flow_series(series, &flows, &measures.series.time, &spans);
            tables.push(Table { name: "flow_series", labels: labels.clone(), columns });
        }
        if let Some(log) = &measures.transfers {
            let columns = transfers(log.rows().iter().filter(|row| is_own(row.flow as usize)));
            tables.push(Table { name: "transfers", labels, columns });
        }
    }
    tables
}

/// Throughput of some flows, one after the other.
fn flow_series(
    series: &FlowSeries,
    flows: &[usize],
    ends: &[f64],
    spans: &[f64],
) -> Vec<(String, Vec<f64>)> {
    let mut columns = ["flow", "time_s", "throughput_bps"].map(|name| column(name, Vec::new()));
    for flow in flows {
        columns[0].1.extend(ends.iter().map(|_| *flow as f64));
        columns[1].1.extend(ends);
        let rate = |(bytes, span): (u64, &f64)| bytes as f64 * 8.0 / span;
        columns[2].1.extend(series.of(*flow).zip(spans).map(rate));
    }
    columns.into()
}

/// Transfers in order of their beginnings. Missing values are undefined (NaN).
fn transfers<'a>(rows: impl Iterator<Item = &'a TransferRow> + Clone) -> Vec<(String, Vec<f64>)> {
    let of = |name, value: fn(&TransferRow) -> f64| column(name, rows.clone().map(value).collect());
    vec![
        of("flow", |row| f64::from(row.flow)),
        of("start_s", |row| row.start.as_secs_f64()),
        of("bytes", |row| row.bytes.map_or(f64::NAN, |bytes| bytes.get() as f64)),
        of("end_s", |row| row.end.map_or(f64::NAN, Time::as_secs_f64)),
        of("duration_s", |row| row.end.map_or(f64::NAN, |end| (end - row.start).as_secs_f64())),
    ]
}

/// The series of a link's queue, without the discipline's variables, and its waiting times.
pub(crate) fn queue_tables(
    link: &str,
    ends: &[f64],
    points: &[QueuePoint],
    meter: &QueueMeter,
) -> [Table; 2] {
    let of = |value: fn(&QueuePoint) -> f64| points.iter().map(value).collect();
    let columns = vec![
        column("time_s", ends.to_vec()),
        column("mean_packets", of(|point| point.mean_packets)),
        column("max_packets", of(|point| point.max_packets)),
        column("mean_bytes", of(|point| point.mean_bytes)),
        column("dropped", of(|point| point.dropped)),
        column("marked", of(|point| point.marked)),
    ];
    let labels = vec![("link", link.to_owned())];
    let delays = distribution(meter.delay.distribution());
    [
        Table { name: "queue", labels: labels.clone(), columns },
        Table { name: "queue_delay", labels, columns: delays },
    ]
}

/// The series of a class and its one-way delays.
pub(crate) fn class_tables(class: &ClassMeter, ends: &[f64], rates: Vec<f64>) -> [Table; 2] {
    let labels = vec![("class", class.name.clone())];
    let columns = vec![column("time_s", ends.to_vec()), column("throughput_bps", rates)];
    let delays = distribution(class.delay.distribution());
    [
        Table { name: "class", labels: labels.clone(), columns },
        Table { name: "delay", labels, columns: delays },
    ]
}

fn column(name: &str, values: Vec<f64>) -> (String, Vec<f64>) {
    (name.to_owned(), values)
}

fn distribution(steps: Vec<(f64, f64)>) -> Vec<(String, Vec<f64>)> {
    let (delays, counts) = steps.into_iter().unzip();
    vec![("delay_ms".to_owned(), delays), ("count".to_owned(), counts)]
}
