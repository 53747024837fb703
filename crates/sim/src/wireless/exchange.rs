//! Exchanges of frames: transmission, reception, acknowledgment and retry (IEEE 802.11-1999, section 9.2).

use super::contention::{DIFS, SIFS};
use super::medium::{Heard, Station};
use super::network::{Body, Effects, LossReason, Network, OnAir, Outgoing, Trip, Wake};
use forebay_core::{Duration, Time};

impl Network {
    /// A station sends its frame.
    pub(super) fn send(&mut self, now: Time, station: Station, fx: &mut Effects) {
        let airtimes = self.airtimes;
        let node = self.node(station);
        let frame = node.current.as_mut().expect("it has a frame to send");
        frame.attempts += 1;
        node.meter.retries += u64::from(frame.attempts > 1);
        let span = airtimes.frame(frame.len, frame.to.is_none());
        self.transmit(now, station, OnAir::Frame, span, fx);
    }

    fn transmit(
        &mut self,
        now: Time,
        station: Station,
        what: OnAir,
        span: Duration,
        fx: &mut Effects,
    ) {
        let node = self.node(station);
        node.on_air = Some((what, span));
        node.meter.frames += 1;
        node.meter.airtime += span;
        node.contention.busy(now);
        self.medium.begin(station, now, &mut self.turned_busy);
        for other in self.turned_busy.drain(..) {
            self.nodes[usize::from(other)].contention.busy(now);
        }
        fx.wakes.push((now + span, Wake::FrameEnd(station)));
    }

    pub(super) fn acknowledge(&mut self, now: Time, station: Station, fx: &mut Effects) {
        let node = self.node(station);
        if node.acknowledge.is_none_or(|(at, _)| at != now) {
            return;
        }
        let (_, to) = node.acknowledge.take().expect("it has just been looked at");
        if !self.medium.sends(station) {
            let span = self.airtimes.ack();
            self.transmit(now, station, OnAir::Acknowledgment(to), span, fx);
        }
    }

    /// A frame ends: its receivers handle it, and stations whose medium is idle now continue to
    /// count.
    pub(super) fn frame_ends(&mut self, now: Time, from: Station, fx: &mut Effects) {
        let (what, span) = self.node(from).on_air.take().expect("it was sending");
        let mut heard = std::mem::take(&mut self.heard);
        self.medium.end(from, &mut heard);
        let to = self.node(from).current.as_ref().and_then(|frame| frame.to);
        for &Heard { station, received, idle } in &heard {
            if received {
                self.receive(now, (from, to), station, (what, span), fx);
            }
            if idle {
                let space = if received { DIFS } else { self.airtimes.eifs() };
                self.node(station).contention.idle(now, space);
                self.arm(station, fx);
            }
        }
        heard.clear();
        self.heard = heard;
        if !self.medium.is_busy(from) {
            self.node(from).contention.idle(now, DIFS);
            self.arm(from, fx);
        }
        if what != OnAir::Frame {
            return;
        }
        if to.is_some() {
            let missed = now + SIFS + self.airtimes.ack();
            self.node(from).unanswered_at = Some(missed);
            fx.wakes.push((missed, Wake::Unanswered(from)));
        } else {
            self.sent(now, from, fx);
        }
    }

    /// `station` has received the frame of `from`.
    fn receive(
        &mut self,
        now: Time,
        (from, to): (Station, Option<Station>),
        station: Station,
        (what, span): (OnAir, Duration),
        fx: &mut Effects,
    ) {
        if let OnAir::Acknowledgment(sender) = what {
            if sender == station {
                self.node(station).meter.listened += span;
                if self.node(station).unanswered_at.take().is_some() {
                    self.sent(now, station, fx);
                }
            }
            return;
        }
        let answered = now + SIFS + self.airtimes.ack();
        if to.is_some_and(|to| to != station) {
            self.node(station).contention.reserve(answered);
            return;
        }
        self.node(station).meter.listened += span;
        let frame = self.node(from).current.as_mut().expect("its frame is on air");
        let body = if to.is_some() {
            std::mem::replace(&mut frame.body, Body::Delivered)
        } else {
            match &frame.body {
                Body::Routing(message) => Body::Routing(message.clone()),
                _ => unreachable!("only routing messages are broadcast"),
            }
        };
        if to.is_some() {
            let at = now + SIFS;
            self.node(station).acknowledge = Some((at, from));
            fx.wakes.push((at, Wake::Acknowledge(station)));
        }
        match body {
            Body::Delivered => {}
            Body::Routing(message) => {
                self.node(station).router.on_message(now, from, message);
                self.dirty.push(station);
            }
            Body::Data(packet) => {
                self.node(station).meter.received += 1;
                *self.node(from).meter.hops.entry(station).or_default() += 1;
                self.trips[packet.id as usize].hops += 1;
                self.forward(now, station, Some(from), packet, fx);
            }
        }
    }

    /// The frame of `station` was delivered, or was a broadcast.
    fn sent(&mut self, now: Time, station: Station, fx: &mut Effects) {
        let node = self.node(station);
        let done = node.current.take();
        debug_assert!(done.is_none_or(|frame| !matches!(frame.body, Body::Data(_))));
        node.contention.done(now, &mut node.rng);
        self.arm(station, fx);
        self.dirty.push(station);
    }

    /// No acknowledgment has come.
    pub(super) fn unanswered(&mut self, now: Time, station: Station, fx: &mut Effects) {
        let attempts = self.attempts;
        let node = self.node(station);
        if node.unanswered_at != Some(now) {
            return;
        }
        node.unanswered_at = None;
        let frame = node.current.as_ref().expect("its frame was not answered");
        if frame.attempts < attempts {
            node.contention.failed(now, &mut node.rng);
            self.arm(station, fx);
            return;
        }
        node.contention.done(now, &mut node.rng);
        node.meter.broken_links += 1;
        let Outgoing { to, body, .. } = node.current.take().expect("as before");
        let next = to.expect("broadcasts are not answered");
        self.arm(station, fx);
        self.dirty.push(station);
        match body {
            Body::Data(packet) => {
                let Trip { source, destination, .. } = self.trips[packet.id as usize];
                let router = &mut self.node(station).router;
                let waits = router.on_broken_link(now, next, Some((source, destination)));
                if waits || source == station {
                    self.without_route(now, station, None, packet, fx);
                } else {
                    self.lose(station, packet, LossReason::Link, fx);
                }
            }
            // The receiver has the packet; or it was a routing message, which is not sent again.
            Body::Delivered | Body::Routing(_) => {
                self.node(station).router.on_broken_link(now, next, None);
            }
        }
    }
}
