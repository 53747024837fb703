//! Life of TCP connections: opening, segments, timers, and the end.

use super::connection::{Connection, Connections, PLACE, Planned, UNCONDITIONED};
use super::incoming::{Incoming, Opening};
use super::{Entry, Notice, Transport, User};
use crate::engine::event::{Event, Key};
use crate::engine::fabric::Fabric;
use crate::engine::fabric::cargo::Cargo;
use crate::engine::measures::Measures;
use crate::measure::{Playback, TransferRow};
use crate::traffic::Transfer;
use forebay_core::{Ecn, PacketKind, Time};
use forebay_tcp::{Config as TcpConfig, Segment, Sender, State};
use std::num::NonZeroU64;
use std::sync::Arc;

impl Transport {
    /// Plans the next transfer of user `index` that does not wait for another, at `after` or later.
    pub(super) fn next_transfer(&mut self, index: u32, after: Time, fabric: &mut Fabric) {
        let user = &mut self.users[index as usize];
        let Entry::Transfers { source, .. } = &mut user.entry else {
            unreachable!("the event belongs to a user of TCP")
        };
        let transfer = source.next(after, &mut user.rng);
        self.plan_transfer(index, transfer, fabric);
    }

    fn plan_transfer(&mut self, user: u32, transfer: Option<Transfer>, fabric: &mut Fabric) {
        let Some(Transfer { at, bytes, stays_open }) = transfer else { return };
        if at < self.users[user as usize].stop {
            let planned = self.connections.plan(Planned { user, bytes, stays_open });
            fabric.rest(at, Event::Transfer(planned), user);
        }
    }

    /// A planned transfer begins, on the connection that has stayed open or a new one.
    pub fn start_transfer(
        &mut self,
        now: Time,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let planned = self.connections.planned[index as usize];
        self.connections.free_planned.push(index);
        let Planned { user, bytes, stays_open } = planned;
        if now >= self.users[user as usize].stop {
            return;
        }
        let stop = self.users[user as usize].stop;
        let Entry::Transfers { source, open, .. } = &mut self.users[user as usize].entry else {
            unreachable!("the transfer belongs to a user of TCP")
        };
        if let Some(media) = source.media() {
            let playback = measures.playbacks.entry(user).or_insert_with(|| Playback::new(stop));
            playback.asks(now, media);
        }
        if source.is_probe() {
            measures.probes.entry(user).or_default();
        }
        let flow = match open.take() {
            Some(flow) => {
                write(&mut self.connections.own(flow).sender, bytes, stays_open);
                flow
            }
            None => self.connect(now, planned, measures),
        };
        if stays_open && let Entry::Transfers { open, .. } = &mut self.users[user as usize].entry {
            *open = Some(flow);
        }
        if bytes.is_none() && stop < Time::MAX {
            fabric.rest(stop, Event::End(flow), user);
        }
        self.transmit(now, flow, fabric, measures);
        self.next_transfer(user, now, fabric);
    }

    /// Cuts off the endless transfer of connection `flow`, if it still has one.
    pub fn stop_endless(
        &mut self,
        now: Time,
        flow: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let connection = self.connections.own(flow);
        let stop = self.users[connection.user as usize].stop;
        if now >= stop && connection.sender.is_endless() && !is_over(&connection.sender) {
            connection.sender.cut();
            self.transmit(now, flow, fabric, measures);
        }
    }

    /// Opens a connection for a transfer. Returns its flow.
    fn connect(&mut self, now: Time, planned: Planned, measures: &mut Measures) -> u32 {
        let Planned { user, bytes, stays_open } = planned;
        let User {
            entry: Entry::Transfers { tcp, backward, connections: count, .. },
            forward,
            marks,
            conditioner,
            ..
        } = &mut self.users[user as usize]
        else {
            unreachable!("the transfer belongs to a user of TCP")
        };
        let number = self.connections.numbers.of(user, *count);
        *count = count.wrapping_add(1);
        let (place, life) = self.connections.vacant();
        let flow = place | self.connections.part;
        let opening = Opening {
            flow,
            life,
            user,
            number,
            backward: *backward,
            marks: *marks,
            tcp: Arc::clone(tcp),
        };
        let mut sender = Sender::new(tcp, now);
        write(&mut sender, bytes, stays_open);
        let connection = Connection {
            sender,
            incoming: Incoming::new(&opening),
            user,
            forward: *forward,
            marks: *marks,
            conditioner: conditioner.unwrap_or(UNCONDITIONED),
            number,
            life,
            start: now,
            sender_timer: Key::NEVER,
            charged: [0; 3],
            class: measures.users[user as usize].class,
        };
        self.connections.settle(place, connection);
        if let Some(log) = &mut measures.transfers {
            let bytes = bytes.filter(|_| !stays_open).and_then(NonZeroU64::new);
            log.begins(place, TransferRow { flow: user, start: now, bytes, end: None });
        }
        if let Some(part) = self.part_of_receiver(user) {
            self.notices.push((part, Notice::Opens(opening)));
        }
        flow
    }

    /// Packet `id`, a segment, arrives at its host.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        now: Time,
        id: u32,
        ecn: Ecn,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let cargo = fabric.hold.at(id);
        let (flow, user) = (cargo.flow, cargo.user);
        if !cargo.backward {
            let Some(incoming) = self.connections.incoming(flow) else {
                return fabric.hold.free(id);
            };
            if let Some(bytes) = incoming.on_segment(now, id, ecn, fabric, measures) {
                self.finish(now, flow, bytes, measures);
            }
            return;
        }
        let place = self.connections.place_of(flow);
        let connection = match self.connections.places.get_mut(place) {
            Some(connection) if connection.life == cargo.life => connection,
            _ => return fabric.hold.free(id),
        };
        let opening = connection.sender.state() == State::SynSent;
        if let Some(trace) = &mut measures.segments {
            trace.record(now, user, true, &cargo.segment, &connection.sender);
        }
        connection.sender.on_segment(now, &cargo.segment, ecn);
        if opening && connection.sender.state() != State::SynSent {
            measures.opened(user, flow, connection.class, connection.start, now);
        }
        // With many users, packets are in the hold in the order of sending.
        let spare = Some(id).filter(|_| !fabric.many());
        if spare.is_none() {
            fabric.hold.free(id);
        }
        self.transmit_from(now, flow, spare, fabric, measures);
    }

    /// All data of connection `flow` have arrived at its receiver: `bytes`.
    #[cold]
    fn finish(&mut self, now: Time, flow: u32, bytes: u64, measures: &mut Measures) {
        if self.connections.has(flow) {
            self.arrived(now, flow, bytes, measures);
        } else {
            let part = (flow >> PLACE) as u16;
            self.notices.push((part, Notice::Arrived { at: now, flow, bytes }));
        }
    }

    /// The same for a connection whose sender is in this part.
    pub fn arrived(&mut self, at: Time, flow: u32, bytes: u64, measures: &mut Measures) {
        let place = self.connections.place_of(flow);
        let &Connection { start, user, .. } = &self.connections.places[place];
        if let Some(log) = &mut measures.transfers {
            log.ends(place as u32, at);
        }
        let Entry::Transfers { source, .. } = &mut self.users[user as usize].entry else {
            unreachable!("only a user of TCP has connections")
        };
        if let Some(playback) = measures.playbacks.get_mut(&user) {
            playback.arrived(at);
        }
        if !source.arrived() {
            return;
        }
        let meter = &mut measures.users[user as usize];
        meter.ended(start, at, bytes);
        let class = &mut measures.classes[meter.class as usize];
        class.completion.record(at - start);
        class.point_completed += 1;
    }

    /// Changes all connections of user `index` to `tcp`. False if it does not use TCP, or an open
    /// connection cannot change.
    pub fn control(
        &mut self,
        now: Time,
        index: u32,
        tcp: &Arc<TcpConfig>,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) -> bool {
        let Entry::Transfers { tcp: own, .. } = &mut self.users[index as usize].entry else {
            return false;
        };
        *own = Arc::clone(tcp);
        let mut can = true;
        for flow in self.connections.flows() {
            let Connection { user, sender, .. } = self.connections.own(flow);
            if *user == index && !is_over(sender) {
                can &= sender.retune(tcp);
                self.transmit(now, flow, fabric, measures);
            }
        }
        can
    }

    /// The agenda entry at `key` of a sender's timer is due.
    pub fn on_sender_timer(
        &mut self,
        flow: u32,
        key: Key,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let now = key.time;
        let connection = self.connections.own(flow);
        if connection.sender_timer != key {
            return;
        }
        connection.sender_timer = Key::NEVER;
        if connection.sender.deadline().is_some_and(|deadline| deadline <= now) {
            connection.sender.on_deadline(now);
            self.transmit(now, flow, fabric, measures);
        } else {
            // The timer was set to a later time since: entries are not moved, but replaced when due.
            connection.arm(now, flow, fabric);
        }
    }

    /// The agenda entry at `key` of a receiver's timer is due.
    pub fn on_receiver_timer(&mut self, flow: u32, key: Key, fabric: &mut Fabric) {
        if let Some(incoming) = self.connections.incoming(flow) {
            incoming.on_timer(flow, key, fabric);
        }
    }

    /// Sends all that the sender may send now. Then arms its timer, or ends the connection.
    fn transmit(&mut self, now: Time, flow: u32, fabric: &mut Fabric, measures: &mut Measures) {
        self.transmit_from(now, flow, None, fabric, measures);
    }

    /// The same, with place `spare` of the hold for the first segment. It is freed if there is none.
    #[inline]
    fn transmit_from(
        &mut self,
        now: Time,
        flow: u32,
        mut spare: Option<u32>,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let place = self.connections.place_of(flow);
        let connection = &mut self.connections.places[place];
        loop {
            let id = spare.unwrap_or_else(|| fabric.hold.vacant());
            let cargo = fabric.hold.at(id);
            if !connection.sender.poll_into(now, &mut cargo.segment) {
                break;
            }
            if let Some(trace) = &mut measures.segments {
                trace.record(now, connection.user, false, &cargo.segment, &connection.sender);
            }
            let forward = connection.forward;
            cargo.sets_out(now, forward, (flow, connection.life), connection.user, false);
            let len = cargo.pack(id, connection.number, &connection.marks);
            if cargo.packet.kind == PacketKind::Data {
                cargo.number = measures.users[connection.user as usize].sends(len);
            }
            if connection.conditioner != UNCONDITIONED {
                let conditioner = &mut self.conditioners[connection.conditioner as usize];
                conditioner.mark(now, &mut cargo.packet);
            }
            if spare.take().is_none() {
                fabric.hold.occupy();
            }
            fabric.launch(id, len, forward, now);
        }
        if let Some(id) = spare {
            fabric.hold.free(id);
        }
        match connection.sender.state() {
            State::Done => self.end(now, flow, false, fabric, measures),
            State::Aborted => self.end(now, flow, true, fabric, measures),
            _ => connection.arm(now, flow, fabric),
        }
    }

    /// Sends `segment` to the sender of connection `flow`, from stop `stop` of the path on.
    pub fn acknowledge_from(
        &self,
        now: Time,
        flow: u32,
        segment: &Segment,
        stop: u32,
        fabric: &mut Fabric,
    ) {
        let place = self.connections.place_of(flow);
        let id = fabric.hold.store(Cargo { segment: *segment, ..Cargo::default() });
        self.connections.places[place].incoming.acknowledge(now, flow, id, stop, fabric);
    }

    /// The sender has ended, and the user may begin its next transfer. The receiver cannot know yet: it
    /// takes packets for one propagation delay of the path, and then the place is free.
    fn end(
        &mut self,
        now: Time,
        flow: u32,
        aborted: bool,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let connection = self.connections.own(flow);
        connection.life += 1;
        connection.sender_timer = Key::NEVER;
        let user = connection.user;
        self.charge(flow, measures);
        let at = now + fabric.distance(self.users[user as usize].forward);
        fabric.rest(at, Event::Closed(flow), user);
        if let Some(part) = self.part_of_receiver(user) {
            self.notices.push((part, Notice::Closes { at, flow, user }));
        }
        measures.users[user as usize].aborted += u64::from(aborted);
        if let Some(probes) = measures.probes.get_mut(&user) {
            probes.ended(flow, now, !aborted);
        }
        let User { entry: Entry::Transfers { source, open, .. }, rng, .. } =
            &mut self.users[user as usize]
        else {
            unreachable!("only a user of TCP has connections")
        };
        open.take_if(|open| *open == flow);
        let next = source.completed(now, rng);
        self.plan_transfer(user, next, fabric);
    }

    /// The receiver of a connection whose sender has ended takes no more packets. The place is free.
    pub fn close_receiver(&mut self, flow: u32) {
        let connection = self.connections.own(flow);
        connection.incoming.end(connection.life);
        self.connections.free.push(flow ^ self.connections.part);
    }

    /// Cuts off the connections of user `index`: they end with what they have sent.
    pub(super) fn cut(
        &mut self,
        now: Time,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        for flow in self.connections.flows() {
            let connection = self.connections.own(flow);
            if connection.user == index && !is_over(&connection.sender) {
                connection.sender.cut();
                self.transmit(now, flow, fabric, measures);
            }
        }
    }

    /// Adds the counts of the sender to the user's meter.
    fn charge(&mut self, flow: u32, measures: &mut Measures) {
        let connection = self.connections.own(flow);
        connection.charge(&mut measures.users[connection.user as usize]);
    }

    /// Adds the counts of all connections to the users' meters.
    pub fn collect(&mut self, measures: &mut Measures) {
        for flow in self.connections.flows() {
            self.charge(flow, measures);
        }
        self.charge_ends(measures);
    }

    /// Frees all connections.
    pub fn close(&mut self) {
        self.connections = Connections::new(0, 0, 0, 0);
        self.close_ends();
    }
}

impl Connection {
    /// Arms the sender's timer, if it is due earlier than its entry.
    #[inline(always)]
    fn arm(&mut self, now: Time, flow: u32, fabric: &mut Fabric) {
        if let Some(deadline) = self.sender.deadline()
            && deadline < self.sender_timer.time
        {
            self.set(deadline.max(now), flow, fabric);
        }
    }

    #[inline(never)]
    fn set(&mut self, deadline: Time, flow: u32, fabric: &mut Fabric) {
        self.sender_timer = fabric.rest(deadline, Event::SenderTimer(flow), self.user);
    }
}

fn write(sender: &mut Sender, bytes: Option<u64>, stays_open: bool) {
    match bytes {
        Some(bytes) => sender.write(bytes),
        None => return sender.write_forever(),
    }
    if !stays_open {
        sender.close();
    }
}

fn is_over(sender: &Sender) -> bool {
    matches!(sender.state(), State::Done | State::Aborted)
}
