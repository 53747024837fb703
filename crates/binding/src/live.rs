//! A scenario on real packets.

use crate::Output;
use forebay_core::{ConfigError, Time, file};
use forebay_sim::Scenario;
use forebay_sim::live::{self, Step};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;
use std::sync::Mutex;

/// (time in ns, bytes or None without end, number of the flow within the source)
type Next = (u64, Option<u64>, u32);

/// Sources and meters of a scenario that runs on real packets.
#[pyclass(frozen)]
pub struct Live(Mutex<Option<live::Live>>);

impl Live {
    /// Sources and meters of `scenario`.
    ///
    /// # Errors
    /// A source or meter cannot be built.
    pub fn of(scenario: Scenario) -> Result<Self, ConfigError> {
        live::Live::new(scenario).map(|live| Live(Mutex::new(Some(live))))
    }

    fn with<T>(&self, act: impl FnOnce(&mut live::Live) -> T) -> PyResult<T> {
        let mut live = self.0.lock().expect("nothing panics while it is held");
        live.as_mut().map(act).ok_or_else(|| PyValueError::new_err("it is finished"))
    }
}

fn next(step: Step) -> Next {
    match step {
        Step::Datagram(datagram) => {
            (datagram.at.as_nanos(), Some(datagram.len.into()), datagram.flow)
        }
        Step::Transfer(transfer) => (transfer.at.as_nanos(), transfer.bytes, 0),
    }
}

#[pymethods]
impl Live {
    /// All senders: (index of the traffic entry, start, stop), times in ns.
    fn participants(&self) -> PyResult<Vec<(usize, u64, u64)>> {
        self.with(|live| {
            let each = live.participants().iter();
            each.map(|p| (p.traffic, p.start.as_nanos(), p.stop.as_nanos())).collect()
        })
    }

    /// End of the warm-up and of the scenario, in ns.
    fn measured(&self) -> PyResult<(u64, u64)> {
        self.with(|live| {
            let (from, until) = live.measured();
            (from.as_nanos(), until.as_nanos())
        })
    }

    fn next(&self, index: usize, after_ns: u64) -> PyResult<Option<Next>> {
        self.with(|live| live.next(index, Time::from_nanos(after_ns)).map(next))
    }

    fn completed(&self, index: usize, now_ns: u64) -> PyResult<Option<Next>> {
        self.with(|live| live.completed(index, Time::from_nanos(now_ns)).map(next))
    }

    fn datagram(
        &self,
        index: usize,
        size: u32,
        sent_ns: u64,
        arrived_ns: Option<u64>,
    ) -> PyResult<()> {
        let arrived = arrived_ns.map(Time::from_nanos);
        self.with(|live| live.datagram(index, size, Time::from_nanos(sent_ns), arrived))
    }

    fn payload(&self, index: usize, count: f64, at_ns: u64) -> PyResult<()> {
        self.with(|live| live.payload(index, count, Time::from_nanos(at_ns)))
    }

    fn transferred(&self, index: usize, start_ns: u64, end_ns: u64) -> PyResult<()> {
        self.with(|live| {
            live.transferred(index, Time::from_nanos(start_ns), Time::from_nanos(end_ns));
        })
    }

    fn retransmitted(&self, index: usize, segments: u64) -> PyResult<()> {
        self.with(|live| live.retransmitted(index, segments))
    }

    fn recording(
        &self,
        name: &str,
        path: &str,
        began_ns: i64,
        flows: HashMap<u32, (usize, bool)>,
    ) -> PyResult<()> {
        let refuse = |error| PyOSError::new_err(format!("{path}: {error}"));
        let file = BufReader::new(file::open(Path::new(path)).map_err(refuse)?);
        self.with(|live| live.recording(name, file, began_ns, &flows))?.map_err(refuse)
    }

    fn finish(&self) -> PyResult<Output> {
        let live = self.0.lock().expect("nothing panics while it is held").take();
        let live = live.ok_or_else(|| PyValueError::new_err("it is finished"))?;
        let (summary, tables) = live.finish();
        Ok(Output { summary: summary.to_string(), tables })
    }
}
