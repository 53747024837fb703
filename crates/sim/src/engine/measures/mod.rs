//! What a run has measured: by user, class and flow, over time, and its fingerprint.
//!
//! Links measure their queues themselves; here are the points of their series.

mod segments;
mod series;

pub use segments::SegmentTrace;
pub use series::{ClassPoint, LinkSeries, Series};

use super::event::Tally;
use super::fabric::Link;
use super::table::{Table, table};
use crate::measure::{ClassMeter, FlowSeries, TransferLog, UserMeter};
use forebay_core::{Duration, Time};

/// What is measured beside the queues.
pub struct MeasuresSpec {
    /// The meter of each user.
    pub users: Vec<UserMeter>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Where TCP's segments are written.
    pub segments: Option<SegmentTrace>,
    /// Whether the throughput of every flow over time is kept.
    pub flow_series: bool,
    /// Whether every transfer is kept.
    pub transfers: bool,
}

/// What a run has measured.
pub struct Measures {
    /// By user.
    pub users: Table<UserMeter>,
    /// By class.
    pub classes: Vec<ClassMeter>,
    /// Every transfer, if they were asked for.
    pub transfers: Option<Box<TransferLog>>,
    /// TCP's segments, if they were asked for.
    pub segments: Option<Box<SegmentTrace>>,
    series: Series,
    flow_series: Option<Box<FlowSeries>>,
    /// Events.
    pub tally: Tally,
}

impl Measures {
    /// Nothing measured yet, on `links` links; the fingerprint begins as `fingerprint`.
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
            segments: spec.segments.map(Box::new),
            tally: Tally::new(fingerprint),
        }
    }

    /// A data packet of `user` with `payload` bytes has arrived after `delay`, of which it has `waited`
    /// in queues.
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

    /// Users take part from now on, and their classes, which had nothing so far.
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

    /// The measurement begins.
    pub fn restart(&mut self) {
        self.users.iter_mut().for_each(UserMeter::restart);
        for class in &mut self.classes {
            class.delay = Default::default();
            class.completion = Default::default();
        }
    }

    /// Adds a point to every series; `open` are class and congestion window of every open connection.
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

    /// Adds what was measured of another part of the same network. Series of links stay apart.
    pub fn absorb(&mut self, other: Measures) {
        self.tally.absorb(other.tally);
        self.users.iter_mut().zip(&other.users).for_each(|(own, more)| own.absorb(more));
        self.classes.iter_mut().zip(&other.classes).for_each(|(own, more)| own.absorb(more));
        self.series.absorb(&other.series);
        if let (Some(own), Some(more)) = (&mut self.flow_series, &other.flow_series) {
            own.absorb(more);
        }
        if let (Some(own), Some(more)) = (&mut self.transfers, other.transfers) {
            own.absorb(*more);
        }
    }

    /// Series of links, to be moved or added to.
    pub fn links_mut(&mut self) -> &mut Vec<LinkSeries> {
        &mut self.series.links
    }

    /// Time series.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Throughput of every flow over time, if it was asked for.
    pub fn flow_series(&self) -> Option<&FlowSeries> {
        self.flow_series.as_deref()
    }

    /// (fingerprint, events handled, data packets delivered), the warm-up included.
    pub fn counts(&self) -> (u64, u64, u64) {
        self.tally.counts()
    }
}
