//! Throughput of every flow over time. It is kept only if the scenario asks for it.

/// Payload bytes that reached each flow's receiver, interval by interval.
#[derive(Debug, Clone)]
pub struct FlowSeries {
    /// Bytes of each flow since the last point.
    now: Vec<u64>,
    /// Bytes of each flow in every interval so far, one interval after the other.
    points: Vec<u64>,
}

impl FlowSeries {
    /// No interval yet, for this number of flows.
    pub fn new(flows: usize) -> Self {
        FlowSeries { now: vec![0; flows], points: Vec::new() }
    }

    /// Adds this number of flows, which have received nothing.
    pub fn join(&mut self, flows: usize) {
        let before = self.now.len();
        self.now.resize(before + flows, 0);
        let intervals = self.points.chunks_exact(before);
        let wider = intervals.flat_map(|each| each.iter().copied().chain((0..flows).map(|_| 0)));
        self.points = wider.collect();
    }

    /// `bytes` of payload arrived for `flow`.
    pub fn arrived(&mut self, flow: u32, bytes: u32) {
        self.now[flow as usize] += u64::from(bytes);
    }

    /// Ends an interval.
    pub fn sample(&mut self) {
        self.points.extend_from_slice(&self.now);
        self.now.fill(0);
    }

    /// Adds the measurements of another part of the network in the same intervals.
    pub fn absorb(&mut self, other: &FlowSeries) {
        self.points.iter_mut().zip(&other.points).for_each(|(own, more)| *own += more);
    }

    /// Bytes of `flow` in every interval.
    pub fn of(&self, flow: usize) -> impl Iterator<Item = u64> + '_ {
        self.points.iter().skip(flow).step_by(self.now.len()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_has_its_own_intervals() {
        let mut series = FlowSeries::new(3);
        series.arrived(0, 10);
        series.arrived(2, 30);
        series.arrived(2, 3);
        series.sample();
        series.arrived(1, 20);
        series.sample();
        series.arrived(1, 99);
        let of = |flow| series.of(flow).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2)], [[10, 0], [0, 20], [33, 0]]);
        let mut wider = series.clone();
        wider.join(2);
        wider.arrived(4, 7);
        wider.sample();
        let of = |flow| wider.of(flow).collect::<Vec<_>>();
        assert_eq!([of(1), of(2), of(3)], [[0, 20, 99], [33, 0, 0], [0, 0, 0]]);
        assert_eq!(of(4), [0, 0, 7]);
        assert_eq!(FlowSeries::new(2).of(1).count(), 0);
    }
}
