//! Slow start, as most controllers use it.

use super::{AckSample, HyStart, Window};
use crate::ConnectionParams;

/// Slow start: RFC 5681 with appropriate byte counting, or HyStart++ before the first congestion.
#[derive(Debug, Default)]
pub struct SlowStart {
    /// In a box, because it is soon over.
    hystart: Option<Box<HyStart>>,
}

impl SlowStart {
    /// The state of a new connection.
    pub fn new(connection: &ConnectionParams) -> Self {
        SlowStart { hystart: connection.hystart.then(|| Box::new(HyStart::new(connection.pacing))) }
    }

    /// New data were acknowledged in slow start.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if let Some(hystart) = &mut self.hystart {
            return hystart.on_ack(window, sample);
        }
        if sample.limited {
            // RFC 3465, section 2.3: L = 2, to make up for delayed acknowledgments, but 1 in the
            // slow start after a timeout, when one ACK may cover much that arrived before.
            let limit = if sample.after_timeout { 1 } else { 2 };
            window.grow(sample.acked.min(limit * window.mss).min(window.per_ack));
        }
    }

    /// Bytes of heap.
    pub fn heap(&self) -> usize {
        self.hystart.as_ref().map_or(0, |_| size_of::<HyStart>())
    }

    /// HyStart++ is for the initial slow start only (RFC 9406, section 4.3).
    pub fn on_congestion(&mut self) {
        self.hystart = None;
    }
}
