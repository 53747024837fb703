//! The shaper of a cell, with the packets that wait in it.

use crate::{DisciplineCellConfig, Status};
use forebay_core::tcp::Tcp;
use forebay_core::{Bytes, ConfigError, DropReason, Duration, Overhead, Poll, Sink, Time};
use forebay_disciplines::Disciplines;
use forebay_shaper::headers::{Frame, IpView, Layer, set_tos, tcp_header};
use forebay_shaper::{FlowHash, Plan, Shaper, link};
use rattan_core::cells::Packet;
use rattan_core::error::Error;
use slab::Slab;
use std::sync::Arc;
use tokio::time::Instant;

/// A shaper on Rattan's logical time, which begins with the cell.
pub struct Port<P> {
    shaper: Shaper,
    held: Held<P>,
    flows: FlowHash,
    /// The packet that is being sent, and when it ends.
    sending: Option<(Time, P)>,
    /// When to ask the shaper next.
    due: Option<Time>,
    /// Latest time that the shaper was given: its clock must not go back, as Rattan's times may.
    handed: Time,
    begin: Instant,
    delays: (Duration, Duration),
}

/// What to do next.
pub enum Step<P> {
    /// This packet leaves.
    Send(P),
    /// Another packet may have arrived.
    Next,
    /// Nothing until then; forever if there is no time.
    Wait(Option<Instant>),
}

/// The packets that wait, by their handles, each with its IP header.
struct Held<P> {
    packets: Slab<(P, IpView)>,
    status: Status,
}

impl<P: Packet> Held<P> {
    fn find(&self, id: u32) -> Option<&(P, IpView)> {
        self.packets.get(id as usize)
    }
}

impl<P: Packet> Sink for Held<P> {
    fn dropped(&mut self, packet: forebay_core::Packet, reason: DropReason) {
        *self.status.dropped.entry(reason.name()).or_default() += 1;
        self.packets.remove(packet.retire() as usize);
    }

    fn marked(&mut self, _: &forebay_core::Packet) {
        self.status.marked += 1;
    }

    fn tcp_header(&mut self, arriving: &forebay_core::Packet) -> Option<Tcp> {
        self.find(arriving.id).and_then(|(packet, view)| tcp_header(packet.as_slice(), view))
    }

    fn bytes(&mut self, arriving: &forebay_core::Packet) -> Option<&[u8]> {
        let (packet, view) = self.find(arriving.id)?;
        packet.as_slice().get(usize::from(view.at)..)
    }
}

impl<P: Packet> Port<P> {
    pub fn new(
        config: DisciplineCellConfig,
        disciplines: &Arc<Disciplines>,
    ) -> Result<Self, Error> {
        let missing = |field| move || refused(&ConfigError::new(field, "is missing"));
        let rate = config.rate.ok_or_else(missing("rate"))?;
        let queue = config.queue.ok_or_else(missing("queue"))?;
        let mtu = config.mtu.unwrap_or(link::ethernet_mtu());
        let overhead = config.overhead.unwrap_or_default();
        let plan = Plan::new(rate, overhead.0, checked(mtu)?, queue);
        let seed = config.seed.unwrap_or(1);
        let shaper = Shaper::new(plan, seed, disciplines).map_err(|error| refused(&error))?;
        Ok(Port {
            shaper,
            held: Held { packets: Slab::new(), status: Status::default() },
            flows: FlowHash::new(seed),
            sending: None,
            due: None,
            handed: Time::ZERO,
            begin: Instant::now(),
            delays: (Duration::ZERO, Duration::ZERO),
        })
    }

    /// Does the earlier of: take `next`, or what is due at the link.
    pub fn step(&mut self, next: &mut Option<P>) -> Step<P> {
        let arrival = next.as_ref().map(|packet| self.time(packet.get_timestamp()));
        let link = self.sending.as_ref().map(|(end, _)| *end).or(self.due);
        match (arrival, link) {
            (Some(at), link) if link.is_none_or(|link| at <= link) => {
                let packet = next.take().expect("it is there");
                self.offer(packet, at)
            }
            (_, Some(at)) if self.instant(at) <= Instant::now() => self.turn(at),
            (_, link) => Step::Wait(link.map(|at| self.instant(at))),
        }
    }

    fn offer(&mut self, packet: P, at: Time) -> Step<P> {
        let Frame::Ip(view) = Frame::read(packet.as_slice(), Layer::Ethernet) else {
            self.held.status.passed += 1;
            return Step::Send(packet);
        };
        self.held.status.received += 1;
        self.handed = self.handed.max(at);
        let place = self.held.packets.vacant_entry();
        let offered = view.packet(place.key() as u32, &self.flows);
        place.insert((packet, view));
        self.shaper.offer(offered, self.handed, &mut self.held);
        // A later time is the discipline's, not the link's. The packet may change its answer.
        if self.due.is_none_or(|due| due > self.shaper.free_at()) {
            self.due = Some(self.handed.max(self.shaper.free_at()));
        }
        Step::Next
    }

    /// The link's turn: a transmission ends, or one may begin.
    fn turn(&mut self, at: Time) -> Step<P> {
        if let Some((end, mut packet)) = self.sending.take() {
            packet.delay_until(self.instant(end));
            return Step::Send(packet);
        }
        self.handed = self.handed.max(at);
        match self.shaper.poll(self.handed, &mut self.held) {
            Poll::Idle => self.due = None,
            Poll::Until(time) => self.due = Some(time),
            Poll::Send { packet, done_at } => {
                let delay = self.handed.since(packet.queued);
                self.delays = (self.delays.0 + delay, self.delays.1.max(delay));
                self.held.status.sent += 1;
                let tos = packet.tos;
                let (mut whole, view) = self.held.packets.remove(packet.retire() as usize);
                if tos != view.tos {
                    set_tos(whole.as_raw_buffer(), view.at, view.version, tos);
                }
                self.sending = Some((done_at, whole));
                self.due = Some(done_at);
            }
        }
        Step::Next
    }

    /// Changes the fields that `config` has, from now on.
    pub fn change(&mut self, config: DisciplineCellConfig) -> Result<(), Error> {
        if config.seed.is_some() {
            return Err(refused(&ConfigError::new("seed", "cannot be changed; build a new cell")));
        }
        let mut plan = self.shaper.plan().clone();
        plan.rate = config.rate.unwrap_or(plan.rate);
        plan.overhead = config.overhead.map_or(plan.overhead, |Overhead(bytes)| bytes);
        plan.mtu = config.mtu.map_or(Ok(plan.mtu), checked)?;
        plan.queue = config.queue.unwrap_or(plan.queue);
        self.handed = self.handed.max(self.time(Instant::now()));
        self.shaper.change(plan, self.handed).map_err(|error| refused(&error))?;
        // A new rate may let the next packet go earlier.
        self.due = self.due.map(|due| due.min(self.handed.max(self.shaper.free_at())));
        Ok(())
    }

    pub fn status(&self) -> Status {
        let mut status = self.held.status.clone();
        status.waiting = self.shaper.backlog().packets as u64;
        let millis = |delay: Duration| delay.as_secs_f64() * 1e3;
        status.mean_delay_ms = millis(self.delays.0) / status.sent.max(1) as f64;
        status.max_delay_ms = millis(self.delays.1);
        status
    }

    fn time(&self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.begin);
        Time::from_nanos(u64::try_from(since.as_nanos()).expect("fewer than 500 years"))
    }

    fn instant(&self, at: Time) -> Instant {
        self.begin + std::time::Duration::from_nanos(at.as_nanos())
    }
}

fn checked(mtu: Bytes) -> Result<u32, Error> {
    link::check_mtu(mtu, 65_535).map_err(|error| refused(&error))?;
    Ok(mtu.0 as u32)
}

/// `error` as one of Rattan's.
fn refused(error: &ConfigError) -> Error {
    Error::ConfigError(error.to_string())
}
