//! Time series: a point every sampling interval.

use crate::measure::QueuePoint;

/// One link's queue over time.
#[derive(Debug, Clone, Default)]
pub struct LinkSeries {
    /// Averages and counts, a point an interval.
    pub points: Vec<QueuePoint>,
    /// The discipline's internal variables at the end of each interval.
    pub variables: Vec<(&'static str, Vec<f64>)>,
}

impl LinkSeries {
    /// Adds the value of an internal variable to the last point; where it was not reported it is NaN.
    pub fn variable(&mut self, name: &'static str, value: f64) {
        let points = self.points.len();
        let at = self.variables.iter().position(|(known, _)| *known == name);
        let at = at.unwrap_or_else(|| {
            self.variables.push((name, Vec::new()));
            self.variables.len() - 1
        });
        let values = &mut self.variables[at].1;
        values.resize(points - 1, f64::NAN);
        values.push(value);
    }
}

/// All series of a run.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Ends of the intervals, in s.
    pub time: Vec<f64>,
    /// By link.
    pub links: Vec<LinkSeries>,
    /// By class, a point an interval.
    pub classes: Vec<Vec<ClassPoint>>,
}

/// Results of a class in an interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClassPoint {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// Transfers that ended.
    pub completed: u32,
    /// Connections that were open at the end.
    pub open: u32,
    /// Sum of their congestion windows, in bytes.
    pub windows: u64,
}

impl ClassPoint {
    /// Mean congestion window of the open connections in bytes; NaN without any.
    pub fn cwnd(&self) -> f64 {
        if self.open > 0 { self.windows as f64 / f64::from(self.open) } else { f64::NAN }
    }

    fn absorb(&mut self, other: &ClassPoint) {
        self.bytes += other.bytes;
        self.completed += other.completed;
        self.open += other.open;
        self.windows += other.windows;
    }
}

impl Series {
    /// Adds the series of classes of another part of the network.
    pub fn absorb(&mut self, other: &Series) {
        for (own, more) in self.classes.iter_mut().zip(&other.classes) {
            own.iter_mut().zip(more).for_each(|(own, more)| own.absorb(more));
        }
    }
}
