//! Memory that a scenario needs. A scenario that needs too much is refused before it runs.

use super::grammar::{LinkTable, Wanted};
use super::{Scenario, Traffic};
use crate::measure::QueuePoint;
use forebay_core::{
    Bytes, ConfigError, Duration, Rate, Time,
    config::{read, require},
    file,
};

/// Most memory that one run may need.
pub const MOST_MEMORY: Bytes = Bytes(4_000_000_000);

/// Memory of a flow: its connection or source, its meters, its wires and its random stream.
const FLOW: u64 = 2_500;
/// Memory of a link for a point of the time series: averages, and some variables of its queue.
/// Doubled, because vectors double when they grow.
const LINK_POINT: u64 = 2 * (size_of::<QueuePoint>() as u64 + 8 * size_of::<f64>() as u64);
/// Memory of a traffic entry for a point of the time series.
const CLASS_POINT: u64 = 2 * size_of::<f64>() as u64;
/// Memory of a flow for a point of its own series: the bytes and the table made of them, doubled.
const FLOW_POINT: u64 = size_of::<u64>() as u64 + 2 * 3 * size_of::<f64>() as u64;
/// Memory of a value that is drawn at random.
const DRAW: u64 = size_of::<(Time, Rate)>() as u64;

impl Scenario {
    /// Approximate memory that a run needs at its start or by its length: flows, captures, random
    /// draws and time series. Packets in transit and queues are added to this, and are limited
    /// while it runs.
    pub fn footprint(&self) -> Bytes {
        Bytes(self.demands().map(|demand| demand.bytes).fold(0, u64::saturating_add))
    }

    /// Checks that the run fits into [`MOST_MEMORY`].
    pub(super) fn check_size(&self) -> Result<(), ConfigError> {
        let mut total = 0_u64;
        for Demand { path, what, remedy, bytes } in self.demands() {
            total = total.saturating_add(bytes);
            require(total <= MOST_MEMORY.0, &path, || {
                let gigabytes = |bytes| bytes as f64 * 1e-9;
                format!(
                    "{what} would bring the run to {:.1} GB of memory, and it may take {:.0} GB; \
                     {remedy}",
                    gigabytes(total),
                    gigabytes(MOST_MEMORY.0)
                )
            })?;
        }
        Ok(())
    }

    /// Everything whose memory is proportional to a number in the file.
    fn demands(&self) -> impl Iterator<Item = Demand> + '_ {
        let flows = self.traffic.iter().enumerate().map(|(index, traffic)| {
            let flows = u64::from(traffic.table.flows);
            let each = FLOW.saturating_add(self.file_bytes(traffic));
            Demand {
                path: format!("traffic[{index}].flows"),
                what: count(flows, "flow"),
                remedy: "give fewer",
                bytes: flows.saturating_mul(each),
            }
        });
        let draws = move |path: String, every, flows: u64| {
            let steps = points(self.table.duration, every).saturating_mul(flows);
            let (what, bytes) = (count(steps, "draw"), steps.saturating_mul(DRAW));
            Demand { path, what, remedy: "draw less often, or run for less time", bytes }
        };
        let of_links = self.links.iter().flat_map(move |link| {
            let LinkTable { delay, loss, .. } = &link.table;
            let courses =
                [("rate", link.rate().every()), ("delay", delay.every()), ("loss", loss.every())];
            courses.into_iter().filter_map(move |(field, every)| {
                Some(draws(format!("{}.{field}.every", link.path), every?, 1))
            })
        });
        let of_sources = self.traffic.iter().enumerate().flat_map(move |(index, traffic)| {
            traffic.of_courses("every").filter_map(move |(field, every)| {
                let path = format!("traffic[{index}].{field}.every");
                Some(draws(path, read(every).ok()?, u64::from(traffic.table.flows)))
            })
        });
        let points = points(self.table.duration, self.sample());
        let links = LINK_POINT * self.links.len() as u64;
        let series = Demand {
            path: "sample".into(),
            what: format!("{} of the time series", count(points, "point")),
            remedy: "sample less often, or run for less time",
            bytes: points.saturating_mul(links + CLASS_POINT * self.traffic.len() as u64),
        };
        let wanted = self.table.tables.iter().filter(|table| **table == Wanted::FlowSeries);
        let everyone: u64 = self.traffic.iter().map(|entry| u64::from(entry.table.flows)).sum();
        let of_flows = wanted.take(1).map(move |_| Demand {
            path: "tables".into(),
            what: format!("{} of {}", count(points, "point"), count(everyone, "flow")),
            remedy: "sample less often, or leave \"flow_series\" out",
            bytes: points.saturating_mul(everyone).saturating_mul(FLOW_POINT),
        });
        flows.chain(of_links).chain(of_sources).chain([series]).chain(of_flows)
    }

    /// Memory of a flow for the files that its source reads. A capture takes less than its file, in which
    /// every packet has headers.
    fn file_bytes(&self, traffic: &Traffic) -> u64 {
        // A file that is missing is for the source to report.
        let size = |name: String| file::size(&self.base.join(name)).unwrap_or(0);
        let traces = traffic.of_courses("trace").filter_map(|(_, file)| file.as_str());
        let traces: u64 = traces.map(|file| size(file.into())).sum();
        traces + traffic.capture().map_or(0, size)
    }
}

/// Something that takes memory.
struct Demand {
    /// Field that says how much.
    path: String,
    what: String,
    remedy: &'static str,
    bytes: u64,
}

fn points(span: Duration, every: Duration) -> u64 {
    span.as_nanos() / every.as_nanos().max(1)
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
