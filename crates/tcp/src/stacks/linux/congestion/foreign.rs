//! A congestion control that Linux 6.1 does not have, in its sender.
//!
//! It gets what a module of the kernel gets, in the terms of [`CongestionController`]: growth
//! (`cong_avoid`), a threshold at a reduction (`ssthresh`), the end of an idle time
//! (`CA_EVENT_TX_START`), and with attention each acknowledgment with its sample of the delivery rate
//! (`cong_control`). One that governs its window is, like BBR, not subject to proportional rate
//! reduction. Its window is in bytes; the sender's is the whole segments of it.

use super::Cwnd;
use crate::Segment;
use crate::accecn::Feedback;
use crate::congestion::{
    AckSample, CongestionController, CongestionEvent, CongestionKind, Delivery, Role, Window,
};
use crate::connection::Site;
use crate::stacks::watch::Watch;
use forebay_core::Time;

/// The control of one connection.
#[derive(Debug)]
pub(crate) struct Foreign {
    pub(crate) controller: Box<dyn CongestionController>,
    pub(crate) window: Window,
    pub(crate) role: Role,
    /// For a controller with attention.
    watch: Option<Box<Watch>>,
    /// The next reduction.
    pub(crate) event: CongestionEvent,
    /// Bytes in flight before the present acknowledgment.
    before: u64,
}

impl Foreign {
    pub(super) fn new(site: &Site<'_>) -> Self {
        let controller = site.congestion.start(site.connection);
        let role = controller.role();
        let mut foreign = Foreign {
            window: Window::new(site.connection, None),
            role,
            watch: Watch::new(role.attention),
            event: CongestionEvent { now: site.now, kind: CongestionKind::Loss, flight: 0 },
            before: 0,
            controller,
        };
        if !site.connection.handshake {
            foreign.open(site.connection.feedback());
        }
        foreign
    }

    pub(super) fn open(&mut self, feedback: Feedback) {
        self.controller.on_feedback(feedback);
    }

    /// An acknowledgment or an expiry of the timer comes, with `in_flight` segments in flight and
    /// `out` not acknowledged.
    pub(crate) fn begin(&mut self, now: Time, in_flight: u32, out: u32) {
        self.before = u64::from(in_flight) * self.window.mss;
        let flight = u64::from(out) * self.window.mss;
        self.event = CongestionEvent { now, kind: CongestionKind::Loss, flight };
    }

    /// Lets the controller change `cwnd`.
    pub(crate) fn with(
        &mut self,
        cwnd: &mut Cwnd,
        act: impl FnOnce(&mut dyn CongestionController, &mut Window),
    ) {
        let mss = self.window.mss;
        let bytes = |segments: u32| u64::from(segments) * mss;
        // Fractions of a segment stay with the controller.
        if self.window.cwnd / mss != u64::from(cwnd.cwnd) {
            self.window.cwnd = bytes(cwnd.cwnd);
        }
        if self.window.ssthresh / mss != u64::from(cwnd.ssthresh) {
            let unknown = cwnd.ssthresh == Cwnd::INFINITE;
            self.window.ssthresh = if unknown { u64::MAX } else { bytes(cwnd.ssthresh) };
        }
        act(&mut *self.controller, &mut self.window);
        cwnd.cwnd = (self.window.cwnd / mss).clamp(1, u64::from(cwnd.most)) as u32;
        let threshold = (self.window.ssthresh / mss).max(1);
        cwnd.ssthresh = threshold.min(u64::from(Cwnd::INFINITE)) as u32;
    }

    /// The threshold after a reduction begins.
    ///
    /// Marks begin one, too (`tcp_enter_cwr`), but mean nothing to a control that governs its window,
    /// as to the kernel's own BBRv3 (`bbr_can_use_ecn` asks for a route with `ecn_low`). It is told of
    /// them with each acknowledgment.
    pub(super) fn ssthresh(&mut self, cwnd: &Cwnd) -> u32 {
        if self.role.governs && self.event.kind == CongestionKind::Ecn {
            return cwnd.ssthresh;
        }
        let mut copy = *cwnd;
        let (event, governs) = (self.event, self.role.governs);
        self.with(&mut copy, |controller, window| {
            let before = window.cwnd;
            let flight = event.flight.min(before);
            controller.on_congestion(window, &CongestionEvent { flight, ..event });
            if !(governs && event.kind == CongestionKind::Timeout) {
                window.cwnd = before;
            }
        });
        copy.ssthresh
    }

    /// `start..end` is sent, with `in_flight` segments in flight before it.
    pub(crate) fn on_sent(&mut self, now: Time, start: u64, end: u64, in_flight: u32) {
        let in_flight = u64::from(in_flight) * self.window.mss;
        self.watch.iter_mut().for_each(|watch| watch.on_sent(now, start, end, in_flight));
    }

    /// The application has no more data, and the window has room.
    pub(crate) fn on_idle(&mut self, in_flight: u32) {
        let in_flight = u64::from(in_flight) * self.window.mss;
        self.watch.iter_mut().for_each(|watch| watch.on_idle(in_flight));
    }

    /// `start..end` was found lost.
    pub(crate) fn on_lost(&mut self, start: u64, end: u64) {
        let Foreign { watch, controller, window, event, .. } = self;
        if let Some(watch) = watch {
            watch.range_lost(event.now, start, end, |lost| controller.on_lost(window, lost));
        }
    }

    /// An acknowledgment has been read. What the watch knows of it is added to `delivery`. `grows`:
    /// it acknowledges data outside a reduction.
    pub(crate) fn on_ack(
        &mut self,
        cwnd: &mut Cwnd,
        segment: &Segment,
        sample: &AckSample,
        mut delivery: Delivery,
        grows: bool,
    ) {
        if let Some(mut watch) = self.watch.take() {
            delivery.prior_in_flight = self.before;
            delivery.rate = watch.on_ack(sample.now, segment, sample.sent);
            delivery.round_end = watch.round_end(sample.ack, sample.sent);
            self.with(cwnd, |controller, window| controller.on_delivery(window, &delivery));
            if self.controller.understates() {
                watch.on_idle(delivery.in_flight);
            }
            self.watch = Some(watch);
        }
        if !grows {
            return;
        }
        let governs = self.role.governs;
        self.with(cwnd, |controller, window| {
            let before = window.cwnd;
            controller.on_ack(window, sample);
            if governs {
                window.cwnd = before;
            }
        });
    }

    pub(super) fn heap(&self) -> usize {
        let watch = self.watch.as_ref().map_or(0, |watch| watch.heap());
        size_of::<Self>() + self.controller.heap() + watch
    }
}
