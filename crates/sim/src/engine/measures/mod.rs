//! Measurements of a run: by user and class, over time, and its fingerprint.
//!
//! Links measure their queues themselves; the points of their series are here.

mod segments;
mod series;

pub use segments::SegmentTrace;
pub use series::{ClassPoint, LinkSeries, Series};

use super::event::Tally;
use super::fabric::Link;
use super::table::{Table, table};
use crate::measure::{ClassMeter, FlowSeries, Playback, Probes, TransferLog, UserMeter};
use forebay_core::{Duration, Time};
use std::collections::BTreeMap;

/// Measurements to make.
pub struct MeasuresSpec {
    pub users: Vec<UserMeter>,
    /// Names of the classes.
    pub classes: Vec<String>,
    pub segments: Option<SegmentTrace>,
    /// Whether the throughput of every flow over time is kept.
    pub flow_series: bool,
    /// Whether every transfer is kept.
    pub transfers: bool,
}

/// Measurements of a run.
pub struct Measures {
    pub users: Table<UserMeter>,
    pub classes: Vec<ClassMeter>,
    /// Only if the scenario asks for them, as the next two.
    pub transfers: Option<Box<TransferLog>>,
    pub segments: Option<Box<SegmentTrace>>,
    pub flow_series: Option<Box<FlowSeries>>,
    /// By user: what those who watch videos have received.
    pub playbacks: BTreeMap<u32, Playback>,
    /// By user: probes of responsiveness.
    pub probes: BTreeMap<u32, Probes>,
    pub series: Series,
    pub tally: Tally,
}

impl Measures {
    /// No measurement yet, of `links` links; the fingerprint begins as `fingerprint`.
    pub fn new(spec: MeasuresSpec, links: usize, fingerprint: u64) -> Self {
        let classes = spec.classes.into_iter();
        let classes = classes.map(|name| ClassMeter { name, ..ClassMeter::default() });
        let classes: Vec<_> = classes.collect();
        Measures {
            series: Series {
                links: vec![LinkSeries::default(); links],
                classes: vec![Vec::new(); classes.len()],
                ..Series::default()
            },
            flow_series: spec.flow_series.then(|| Box::new(FlowSeries::new(spec.users.len()))),
            users: table(spec.users),
            classes,
            transfers: spec.transfers.then(Box::default),
            playbacks: BTreeMap::new(),
            probes: BTreeMap::new(),
            segments: spec.segments.map(Box::new),
            tally: Tally::new(fingerprint),
        }
    }

    /// A data packet of `user` with `payload` bytes arrives after `delay`; it `waited` in queues for a
    /// part of it.
    #[inline(always)]
    pub fn arrived(&mut self, user: u32, delay: Duration, waited: Duration, payload: u32) {
        self.tally.packets += 1;
        let meter = &mut self.users[user as usize];
        meter.arrived(delay, waited);
        let class = &mut self.classes[meter.class as usize];
        class.delay.record(delay);
        class.point_bytes += u64::from(payload);
        if let Some(flows) = &mut self.flow_series {
            flows.arrived(user, payload);
        }
    }

    /// Connection `flow` of `user`, begun at `start`, may send data from `now` on.
    #[cold]
    pub fn opened(&mut self, user: u32, flow: u32, class: u32, start: Time, now: Time) {
        self.classes[class as usize].opened(start, now);
        if let Some(probes) = self.probes.get_mut(&user) {
            probes.opened(flow, start, now);
        }
    }

    /// Adds users and classes, which have received nothing so far.
    pub fn join(&mut self, users: Vec<UserMeter>, classes: Vec<String>) {
        let points = self.series.time.len();
        let nothing = ClassPoint::default();
        self.series.classes.extend(classes.iter().map(|_| vec![nothing; points]));
        let meters = classes.into_iter().map(|name| ClassMeter { name, ..ClassMeter::default() });
        self.classes.extend(meters);
        if let Some(flows) = &mut self.flow_series {
            flows.join(users.len());
        }
        self.users.extend(users);
    }

    /// Begins the measurement.
    pub fn restart(&mut self) {
        self.users.iter_mut().for_each(UserMeter::restart);
        self.probes.values_mut().for_each(Probes::restart);
        self.classes.iter_mut().for_each(ClassMeter::restart);
    }

    /// Adds a point to every series; `open` has class and congestion window of every open connection.
    pub fn sample(
        &mut self,
        now: Time,
        links: &mut [Link],
        open: impl Iterator<Item = (u32, u64)>,
    ) {
        self.series.time.push(now.as_secs_f64());
        for (link, series) in links.iter_mut().zip(&mut self.series.links) {
            series.points.push(link.meter.sample(now));
            link.port().probe(now, &mut |name, value| series.variable(name, value));
        }
        let mut windows = vec![(0_u64, 0_u32); self.classes.len()];
        for (class, cwnd) in open {
            let (sum, count) = &mut windows[class as usize];
            (*sum, *count) = (*sum + cwnd, *count + 1);
        }
        let classes = self.classes.iter_mut().zip(windows);
        for ((class, (windows, open)), series) in classes.zip(&mut self.series.classes) {
            series.push(ClassPoint {
                bytes: std::mem::take(&mut class.point_bytes),
                completed: std::mem::take(&mut class.point_completed),
                open,
                windows,
            });
        }
        if let Some(flows) = &mut self.flow_series {
            flows.sample();
        }
    }

    /// Adds the measurements of another part of the network, but for those of links.
    pub fn absorb(&mut self, other: Measures) {
        self.tally.absorb(other.tally);
        self.users.iter_mut().zip(&other.users).for_each(|(own, more)| own.absorb(more));
        self.classes.iter_mut().zip(&other.classes).for_each(|(own, more)| own.absorb(more));
        self.playbacks.extend(other.playbacks);
        for (user, probes) in other.probes {
            self.probes.entry(user).or_default().absorb(probes);
        }
        self.series.absorb(&other.series);
        if let (Some(own), Some(more)) = (&mut self.flow_series, &other.flow_series) {
            own.absorb(more);
        }
        if let (Some(own), Some(more)) = (&mut self.transfers, other.transfers) {
            own.absorb(*more);
        }
    }
}
