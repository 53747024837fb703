//! What a world has measured: the warm-up's end, the points of the series, and views for the summary.

use super::event::Event;
use super::guard::Guard;
use super::link::Link;
use super::series::{ClassPoint, Series};
use super::world::World;
use crate::measure::{ClassMeter, FlowSeries, TransferLog, UserMeter};
use crate::wireless::Network;
use forebay_core::Time;

impl World {
    /// The measurement begins.
    pub(super) fn restart(&mut self) {
        let now = self.now;
        self.links.iter_mut().for_each(|link| link.restart(now));
        if let Some(wireless) = &mut self.wireless {
            wireless.0.restart();
        }
        self.collect_connections();
        self.user_meters.iter_mut().for_each(UserMeter::restart);
        for class in &mut self.classes {
            class.delay = Default::default();
            class.completion = Default::default();
        }
    }

    pub(super) fn take_sample(&mut self) {
        let now = self.now;
        self.series.time.push(now.as_secs_f64());
        for (link, series) in self.links.iter_mut().zip(&mut self.series.links) {
            series.points.push(link.meter.sample(now));
            link.port().probe(now, &mut |name, value| series.variable(name, value));
        }
        for guard in &self.guards {
            let series = &mut self.series.links[guard.link as usize];
            guard.controller.probe(&mut |name, value| series.variable(name, value));
        }
        let mut windows = vec![(0_u64, 0_u64); self.classes.len()];
        for (class, cwnd) in self.connections.windows(&self.user_meters) {
            let (sum, count) = &mut windows[class as usize];
            (*sum, *count) = (*sum + cwnd, *count + 1);
        }
        let classes = self.classes.iter_mut().zip(windows);
        for ((class, (sum, count)), series) in classes.zip(&mut self.series.classes) {
            series.push(ClassPoint {
                bytes: std::mem::take(&mut class.point_bytes),
                completed: std::mem::take(&mut class.point_completed),
                cwnd: if count > 0 { sum as f64 / count as f64 } else { f64::NAN },
            });
        }
        if let Some(flows) = &mut self.flow_series {
            flows.sample();
        }
        let sample = self.sample.expect("a sample was due");
        self.rest(now + sample, Event::Sample);
    }

    /// Links, for the summary.
    pub fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
    }

    /// Name of a link.
    pub fn link_name(&self, index: u32) -> &str {
        &self.links[index as usize].name
    }

    /// Boxes, for the summary.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The wireless network, for the summary.
    pub fn network_mut(&mut self) -> Option<&mut Network> {
        self.wireless.as_mut().map(|wireless| &mut wireless.0)
    }

    /// Classes, for the summary.
    pub fn classes(&self) -> &[ClassMeter] {
        &self.classes
    }

    /// Users, for the summary; what connections that still run count is in it once the
    /// world is closed.
    pub fn user_meters(&self) -> &[UserMeter] {
        &self.user_meters
    }

    /// Time series.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// Throughput of every flow over time, if it was asked for.
    pub fn flow_series(&self) -> Option<&FlowSeries> {
        self.flow_series.as_deref()
    }

    /// Every transfer, if they were asked for.
    pub fn transfers(&self) -> Option<&TransferLog> {
        self.transfers.as_deref()
    }

    /// The measured interval, in s.
    pub fn measured(&self) -> (Time, Time) {
        (self.warmup_end.min(self.end), self.end)
    }

    /// (fingerprint, events handled, data packets delivered), the warm-up included.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.fingerprint, self.events, self.packets)
    }
}
