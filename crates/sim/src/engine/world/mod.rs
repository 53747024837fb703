//! The world: all state of one run, and the loop that hands events on to its parts.

mod change;
mod instant;
mod watched;

use super::boxes::{Boxes, Ends, PlacedBox};
use super::change::Change;
use super::event::{Event, Key};
use super::fabric::{Border, Fabric, FabricSpec, Link, Target};
use super::measures::{LinkSeries, Measures, MeasuresSpec};
use super::prefetch::{FEW_USERS, prefetch_arrivals, prefetch_timer};
use super::transport::{Transport, TransportSpec};
use super::watch::Watch;
use crate::measure::TransferLog;
use crate::wireless::Network;
use forebay_core::{Duration, Time};
use std::collections::VecDeque;
use std::fmt;

/// The parts of a world.
pub struct WorldSpec {
    /// End of the run.
    pub duration: Duration,
    /// Time at its beginning that is not measured.
    pub warmup: Duration,
    /// Interval of the time series; None: no series.
    pub sample: Option<Duration>,
    pub seed: u64,
    pub fabric: FabricSpec,
    pub boxes: Vec<PlacedBox>,
    pub transport: TransportSpec,
    pub measures: MeasuresSpec,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Share of the simulated time that has passed, 0 to 1.
    pub share: f64,
    /// Whether the time is reached until which the run was to advance.
    pub arrived: bool,
    /// Whether the run is complete.
    pub complete: bool,
}

/// The reason why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

/// Most packets that may wait or be in flight at once, about 2 GB. A run with more has a queue without a
/// limit that gets more than its link can send.
const MOST_UNDER_WAY: usize = 20_000_000;

/// Most connections that may be open at once, about 4 GB. A run with more has an overloaded link, and
/// transfers that begin whether or not earlier ones have ended.
const MOST_CONNECTIONS: usize = 1_600_000;

/// One run. It has no state elsewhere.
pub struct World {
    pub(in crate::engine) now: Time,
    end: Time,
    /// Events after this time have to wait; at most the end.
    pub(in crate::engine) stop: Time,
    /// Changes to come, in order of time.
    planned: VecDeque<(Time, Change)>,
    /// Only in a world that is watched.
    watch: Option<Box<Watch>>,
    warmup_end: Time,
    sample: Option<Duration>,
    pub(in crate::engine) fabric: Fabric,
    boxes: Boxes,
    pub(in crate::engine) transport: Transport,
    pub(in crate::engine) measures: Measures,
}

impl World {
    /// The world of `spec` at time zero.
    pub fn new(spec: WorldSpec) -> Self {
        let seed = spec.seed;
        let many = spec.transport.users.len() > FEW_USERS;
        let links = spec.fabric.links.len();
        // The fingerprint of a network in parts is a sum, in which the seed counts once.
        let is_first = spec.fabric.border.as_ref().is_none_or(Border::is_first);
        let fingerprint = if is_first { seed } else { 0 };
        let mut world = World {
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            stop: Time::ZERO,
            planned: VecDeque::new(),
            watch: None,
            warmup_end: Time::ZERO + spec.warmup,
            sample: spec.sample,
            fabric: Fabric::new(spec.fabric, seed, many),
            boxes: Boxes(spec.boxes),
            transport: Transport::new(spec.transport),
            measures: Measures::new(spec.measures, links, fingerprint),
        };
        world.begin();
        world
    }

    /// Schedules the events that are known from the start.
    fn begin(&mut self) {
        // Parts of a network are sampled by `parallel`, all at the same time.
        if !self.fabric.is_part() {
            self.fabric.rest(self.warmup_end, Event::WarmupEnd, 0);
            if let Some(sample) = self.sample {
                self.fabric.rest(Time::ZERO + sample, Event::Sample, 0);
            }
        }
        for index in 0..self.fabric.links().len() {
            self.fabric.schedule_rate_change(Time::ZERO, index as u32);
        }
        self.transport.begin(0, &mut self.fabric);
        self.choose_advance();
    }

    /// Advances lazily all links that can be, unless the world is watched.
    pub(in crate::engine) fn choose_advance(&mut self) {
        if self.watch.is_none() {
            let boxes = &self.boxes.0;
            self.fabric.advance_lazily(|link| boxes.iter().any(|placed| placed.link == link));
        }
    }

    /// Advances all lazy links up to now. Returns when the next packet arrives at one or leaves it.
    pub(in crate::engine) fn settle(&mut self) -> Time {
        let Measures { users, tally, .. } = &mut self.measures;
        self.fabric.settle(self.now, users, tally)
    }

    /// Handles up to `budget` events.
    ///
    /// # Errors
    /// The packets under way no longer fit memory, or a capture cannot be written.
    pub fn advance(&mut self, budget: u64) -> Result<Progress, RunError> {
        self.advance_to(self.end, budget)
    }

    /// Handles up to `budget` events, none of them after `until`.
    ///
    /// # Errors
    /// As [`World::advance`].
    pub fn advance_to(&mut self, until: Time, budget: u64) -> Result<Progress, RunError> {
        let until = until.min(self.end);
        let mut left = budget;
        while left > 0 {
            self.stop = until.min(self.next_change()).min(self.next_point());
            let is_over = match self.watch {
                None => self.go::<false>(&mut left),
                Some(_) => self.go::<true>(&mut left),
            };
            if is_over {
                self.now = self.now.max(self.stop);
                self.settle();
                // A point shows the world before the changes of the same time.
                if !self.point_as_due() && !self.change_as_planned() {
                    return self.arrive();
                }
            }
        }
        self.check()?;
        Ok(Progress { share: self.share(), arrived: false, complete: false })
    }

    /// Checks that the run can go on.
    pub(in crate::engine) fn check(&self) -> Result<(), RunError> {
        self.check_foreign()?;
        if self.fabric.hold.count() > MOST_UNDER_WAY {
            return Err(self.overflowed());
        }
        let connections = self.transport.connections().peak();
        if connections > MOST_CONNECTIONS {
            return Err(RunError(format!(
                "{connections} connections at once at {:.3} s, more than memory holds; let files \
                 begin less often, or the link send faster",
                self.now.as_secs_f64()
            )));
        }
        if self.measures.transfers.as_ref().is_some_and(|log| log.rows().len() > TransferLog::MOST)
        {
            return Err(RunError(format!(
                "more than {} transfers by {:.3} s, more than memory holds as a table; run for \
                 less time, or leave \"transfers\" out of `tables`",
                TransferLog::MOST,
                self.now.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// Handles at most `left` events until `stop`; true if `stop` is reached.
    #[inline(always)]
    pub(in crate::engine) fn go<const WATCHED: bool>(&mut self, left: &mut u64) -> bool {
        while *left > 0 {
            if !self.step::<WATCHED>() {
                return true;
            }
            *left -= 1;
        }
        false
    }

    /// The run has reached `stop`.
    fn arrive(&mut self) -> Result<Progress, RunError> {
        self.check_foreign()?;
        if self.stop < self.end {
            return Ok(Progress { share: self.share(), arrived: true, complete: false });
        }
        self.finish()?;
        Ok(Progress { share: 1.0, arrived: true, complete: true })
    }

    /// Completes the files that are written during the run.
    pub(in crate::engine) fn finish(&mut self) -> Result<(), RunError> {
        for link in self.fabric.links_mut() {
            link.finish().map_err(RunError)?;
        }
        if let Some(segments) = self.measures.segments.take() {
            segments.finish().map_err(RunError)?;
        }
        Ok(())
    }

    pub(in crate::engine) fn end(&self) -> Time {
        self.end
    }

    /// Share of the simulated time that has passed.
    pub(in crate::engine) fn share(&self) -> f64 {
        self.now.as_nanos() as f64 / self.end.as_nanos() as f64
    }

    /// Checks that no plug-in has broken the contract of disciplines, and no endpoint that of endpoints.
    fn check_foreign(&self) -> Result<(), RunError> {
        if let Some(fault) = self.transport.fault() {
            return Err(RunError(fault.to_owned()));
        }
        for link in self.fabric.links() {
            if let Some(fault) = link.port().fault() {
                return Err(RunError(format!("link \"{}\": {fault}", link.name)));
            }
        }
        match self.fabric.network().and_then(Network::fault) {
            Some(fault) => Err(RunError(format!("wireless: {fault}"))),
            None => Ok(()),
        }
    }

    fn overflowed(&self) -> RunError {
        let fullest = self.fabric.links().iter().max_by_key(|link| link.backlog().packets);
        let Some(fullest) = fullest else {
            return RunError("the stations hold more packets than memory; offer less".into());
        };
        RunError(format!(
            "link \"{}\": {} packets wait at {:.3} s, more than memory holds; give its queue a \
             limit, or offer less than the link's rate",
            fullest.name,
            fullest.backlog().packets,
            self.now.as_secs_f64()
        ))
    }

    /// Handles the next event; false if it is after `stop`.
    #[inline(always)]
    fn step<const WATCHED: bool>(&mut self) -> bool {
        let &(key, event) = self.fabric.next();
        if key.time > self.stop {
            return false;
        }
        debug_assert!(key.time >= self.now);
        self.now = key.time;
        // Most events are arrivals.
        if let Event::Arrival(pipe) = event {
            let Some((id, target)) = self.fabric.arrive(key, pipe) else { return true };
            if self.fabric.many() {
                let connections = self.transport.connections();
                prefetch_arrivals(&self.fabric, connections, &self.measures.users, pipe);
            }
            if WATCHED {
                self.show_arrival(id, target);
            }
            self.on_arrival(id, target);
        } else {
            self.on_other(key, event);
        }
        if WATCHED {
            self.show_handled();
        }
        true
    }

    /// Handles an event that is not an arrival.
    #[inline(always)]
    fn on_other(&mut self, key: Key, event: Event) {
        match event {
            Event::LinkFree(link) => {
                if let Some(number) = self.fabric.wakes(key, link) {
                    self.measures.tally.note(key.time, number);
                    self.fabric.poll_link(key.time, link, &mut self.measures.users);
                }
            }
            Event::Advance(link) => {
                let Measures { users, tally, .. } = &mut self.measures;
                self.fabric.catch_up(key, link, users, tally);
            }
            Event::SenderTimer(flow) | Event::ReceiverTimer(flow) => {
                self.fabric.rested();
                self.on_timer(key, event, flow);
                self.measures.tally.note(key.time, u32::MAX);
            }
            Event::Closed(flow) if self.transport.is_guest(flow) => {
                // The sender's part counts this event.
                self.fabric.rested();
                self.transport.forget(flow);
            }
            _ => {
                self.fabric.rested();
                self.on_resting(key, event);
                self.measures.tally.note(key.time, u32::MAX);
            }
        }
    }

    /// The packet with handle `id` is at the end of a pipe, which leads to `target`.
    #[inline(always)]
    fn on_arrival(&mut self, id: u32, target: Target) {
        let World { now, fabric, transport, measures, .. } = self;
        let now = *now;
        if target == Target::Host {
            return transport.deliver(now, id, fabric, measures);
        }
        measures.tally.note(now, fabric.hold.look(id).packet.flow);
        match target {
            Target::Link(link) => fabric.enter(now, link, id, &mut measures.users),
            Target::Host => unreachable!("handled above"),
            Target::Air(crossing) => {
                let packet = fabric.hold.hand_out(id);
                fabric.in_air(now, &mut measures.users, |network, fx| {
                    network.enter(now, crossing, packet, fx);
                })
            }
            Target::BoxForward(placed) => {
                self.with_boxes(|boxes, ends| boxes.forward(now, placed, id, ends));
            }
            Target::BoxBackward(placed) => {
                self.with_boxes(|boxes, ends| boxes.backward(now, placed, id, ends));
            }
        }
    }

    fn with_boxes(&mut self, act: impl FnOnce(&mut Boxes, &mut Ends)) {
        let World { fabric, boxes, transport, measures, .. } = self;
        act(boxes, &mut Ends { transport, fabric, users: &mut measures.users });
    }

    /// Handles a timer of a sender or a receiver.
    #[inline(never)]
    fn on_timer(&mut self, key: Key, event: Event, flow: u32) {
        let World { fabric, transport, measures, .. } = self;
        if fabric.many() {
            prefetch_timer(fabric, transport.connections(), event);
        }
        match event {
            Event::SenderTimer(_) => transport.on_sender_timer(flow, key, fabric, measures),
            _ => transport.on_receiver_timer(flow, key, fabric),
        }
    }

    /// Handles an event of a source, a box, the air or a measurement.
    #[inline(never)]
    fn on_resting(&mut self, key: Key, event: Event) {
        let World { fabric, transport, measures, .. } = self;
        let now = key.time;
        match event {
            Event::BoxTimer(placed) => {
                self.with_boxes(|boxes, ends| boxes.on_timer(placed, key, ends));
            }
            Event::Datagram(user) => transport.send_datagram(now, user, fabric, measures),
            Event::Endpoint(end) => transport.attend_at(key, end, fabric, measures),
            Event::Transfer(transfer) => transport.start_transfer(now, transfer, fabric, measures),
            Event::End(flow) => transport.stop_endless(now, flow, fabric, measures),
            Event::Closed(flow) => transport.close_receiver(flow),
            Event::RateChange(link) => fabric.change_rate(now, link),
            Event::Wireless(wake) => {
                fabric.in_air(now, &mut measures.users, |network, fx| network.wake(now, wake, fx))
            }
            Event::WarmupEnd => self.restart(),
            Event::Sample => self.take_sample(),
            _ => unreachable!("handled by the callers"),
        }
    }

    /// Begins the measurement.
    pub(in crate::engine) fn restart(&mut self) {
        self.settle();
        for link in self.fabric.links_mut() {
            link.restart(self.now);
        }
        if let Some(network) = self.fabric.network_mut() {
            network.restart();
        }
        self.transport.collect(&mut self.measures);
        self.measures.restart();
    }

    /// Adds a point to every series.
    pub(in crate::engine) fn sample(&mut self) {
        self.settle();
        let ends: Vec<_> = self.transport.windows_of_ends(&self.measures.users).collect();
        let open = self.transport.connections().windows().chain(ends);
        self.measures.sample(self.now, self.fabric.links_mut(), open);
        self.boxes.sample(&mut self.measures.series.links);
    }

    fn take_sample(&mut self) {
        self.sample();
        let sample = self.sample.expect("a sample was due");
        self.fabric.rest(self.now + sample, Event::Sample, 0);
    }

    /// Ends the run for good, and frees what only a run that goes on needs: a summary needs memory
    /// itself.
    pub fn close(&mut self) {
        self.transport.collect(&mut self.measures);
        self.transport.close();
        self.fabric.close();
    }

    /// Takes the links and their series out.
    pub(in crate::engine) fn take_links(&mut self) -> Vec<(Link, LinkSeries)> {
        let series = std::mem::take(&mut self.measures.series.links);
        self.fabric.exchange_links(Vec::new()).into_iter().zip(series).collect()
    }

    /// Gives the world these links and their series.
    pub(in crate::engine) fn put_links(&mut self, links: impl Iterator<Item = (Link, LinkSeries)>) {
        let (links, series) = links.unzip();
        self.fabric.exchange_links(links);
        self.measures.series.links = series;
    }

    pub(crate) fn links_mut(&mut self) -> &mut [Link] {
        self.fabric.links_mut()
    }

    pub(crate) fn boxes(&self) -> &[PlacedBox] {
        &self.boxes.0
    }

    pub(crate) fn network_mut(&mut self) -> Option<&mut Network> {
        self.fabric.network_mut()
    }

    /// The results. Counts of open connections are in them once the world is closed.
    pub(crate) fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Beginning and end of the measurement.
    pub fn measured(&self) -> (Time, Time) {
        (self.warmup_end.min(self.end), self.end)
    }

    /// (fingerprint, events handled, data packets delivered), the warm-up included.
    pub fn counts(&self) -> (u64, u64, u64) {
        self.measures.tally.counts()
    }
}
