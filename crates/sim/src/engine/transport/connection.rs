//! TCP connections: their segments, timers, beginnings and ends.

use super::{Entry, Transport, User};
use crate::engine::event::{Event, Key};
use crate::engine::fabric::Fabric;
use crate::engine::fabric::cargo::Cargo;
use crate::engine::measures::Measures;
use crate::measure::{TransferRow, UserMeter};
use crate::traffic::{Marks, Transfer};
use forebay_core::{Duration, Ecn, Packet, PacketKind, Time, fetch};
use forebay_tcp::{Config as TcpConfig, Flags, Receiver, Segment, Sender, State};
use std::num::NonZeroU64;
use std::sync::Arc;

/// One connection. What a packet needs on its way to the sender lies together, and likewise what
/// it needs on its way to the receiver.
#[repr(C, align(64))]
pub struct Connection {
    sender: Sender,
    /// Keys of the agenda entries that stand for the timers; others are stale.
    sender_timer: Option<Key>,
    /// Retransmissions, timeouts and window probes already charged to the user.
    charged: [u64; 3],
    user: u32,
    /// First stops of the data's and of the acknowledgments' path, and the marks: the user's own,
    /// kept here because every packet asks for them.
    forward: u32,
    backward: u32,
    marks: Marks,
    conditioner: Option<u32>,
    /// Number that flow-aware disciplines see; never used again.
    number: u32,
    /// Distinguishes successive connections in the same place.
    life: u32,
    finished: bool,
    receiver_timer: Option<Key>,
    receiver: Receiver,
    start: Time,
}

/// A transfer that is to begin.
#[derive(Debug, Clone, Copy)]
struct Planned {
    user: u32,
    bytes: Option<u64>,
    stays_open: bool,
}

/// All connections and planned transfers; places are used again.
pub struct Connections {
    places: Vec<Connection>,
    free: Vec<u32>,
    planned: Vec<Planned>,
    free_planned: Vec<u32>,
    next_number: u32,
}

impl Connections {
    /// No connection yet; their numbers begin at `first`, and `likely` are likely to be open at once.
    pub fn new(first: u32, likely: usize) -> Self {
        Connections {
            places: Vec::with_capacity(likely),
            free: Vec::new(),
            planned: Vec::new(),
            free_planned: Vec::new(),
            next_number: first,
        }
    }

    /// Most connections that were open at once.
    pub fn peak(&self) -> usize {
        self.places.len()
    }

    /// Offset up to which the sender of the connection in place `flow` knows its data to be
    /// acknowledged, and the first stop of the path back to it; None if its life is not `life`.
    pub fn way_back(&self, flow: u32, life: u32) -> Option<(u64, u32)> {
        let connection = self.places.get(flow as usize).filter(|place| place.life == life)?;
        Some((1 + connection.sender.bytes_acked(), connection.backward))
    }

    /// (user, sender) of every connection that is open.
    pub fn open(&self) -> impl Iterator<Item = (u32, &Sender)> {
        let open = |place: &&Connection| {
            matches!(place.sender.state(), State::Established | State::Closing)
        };
        self.places.iter().filter(open).map(|place| (place.user, &place.sender))
    }

    /// (user, congestion window in bytes) of every connection that is open.
    pub fn windows(&self) -> impl Iterator<Item = (u32, u64)> {
        self.open().map(|(user, sender)| (user, sender.cwnd()))
    }

    /// Fetches what an acknowledgment will touch of the connection in place `flow`, or what data
    /// will.
    #[inline]
    pub fn fetch(&self, flow: u32, acknowledgment: bool) {
        let connection = &self.places[flow as usize];
        fetch(&connection.user);
        if acknowledgment {
            fetch(&connection.life);
            connection.sender.fetch();
        } else {
            connection.receiver.fetch();
        }
    }

    /// Fetches what that points to; answers the first stop of what goes out in return.
    #[inline]
    pub fn fetch_further(&self, flow: u32, acknowledgment: bool) -> u32 {
        let connection = &self.places[flow as usize];
        if acknowledgment {
            connection.sender.fetch_further();
            connection.forward
        } else {
            connection.receiver.fetch_further();
            connection.backward
        }
    }

    /// The first of `count` numbers that no flow has had.
    pub fn take_numbers(&mut self, count: u32) -> u32 {
        let first = self.next_number;
        self.next_number += count;
        first
    }

    fn plan(&mut self, planned: Planned) -> u32 {
        if let Some(index) = self.free_planned.pop() {
            self.planned[index as usize] = planned;
            return index;
        }
        self.planned.push(planned);
        (self.planned.len() - 1) as u32
    }

    fn place(&mut self, connection: Connection) -> u32 {
        if let Some(index) = self.free.pop() {
            let life = self.places[index as usize].life;
            self.places[index as usize] = Connection { life, ..connection };
            return index;
        }
        self.places.push(connection);
        (self.places.len() - 1) as u32
    }
}

impl Connection {
    /// Adds to `meter` what the sender counted since the last call.
    fn charge(&mut self, meter: &mut UserMeter) {
        let stats = self.sender.stats();
        let counts = [stats.retransmissions, stats.timeouts, stats.probes];
        let last = std::mem::replace(&mut self.charged, counts);
        meter.retransmissions += counts[0] - last[0];
        meter.timeouts += counts[1] - last[1];
        meter.probes += counts[2] - last[2];
    }
}

impl Connection {
    /// Sends `segment` to the sender, from the stop `stop` of the path on. `flow` is the connection's
    /// place, likewise below.
    #[inline]
    fn acknowledge(&self, now: Time, flow: u32, segment: &Segment, stop: u32, fabric: &mut Fabric) {
        let [source, destination] = self.marks.hosts;
        let marks = Marks { drop_precedence: 0, hosts: [destination, source], ..self.marks };
        let cargo = Cargo {
            segment: *segment,
            sent: now,
            waited: Duration::ZERO,
            stop,
            flow,
            life: self.life,
            number: 0,
            user: self.user,
            backward: true,
        };
        let mut packet = Packet::new(fabric.hold.store(cargo), self.number, segment.ip_len());
        marks.apply(&mut packet);
        packet.kind = kind_of(segment);
        packet.set_ecn(segment.ecn());
        fabric.launch(packet, stop, now);
    }

    /// Sees to the receiver's timer.
    #[inline]
    fn arm_receiver(&mut self, flow: u32, fabric: &mut Fabric) {
        if let Some(deadline) = self.receiver.deadline()
            && self.receiver_timer.is_none_or(|key| deadline < key.time)
        {
            self.receiver_timer =
                Some(fabric.rest(deadline, Event::ReceiverTimer(flow), self.user));
        }
    }
}

impl Transport {
    /// Lets the user of `index` plan its next transfer of itself, at `after` or later.
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
        let Entry::Transfers { open, .. } = &mut self.users[user as usize].entry else {
            unreachable!("the transfer belongs to a user of TCP")
        };
        let flow = match open.take() {
            Some(flow) => {
                write(&mut self.connections.places[flow as usize].sender, bytes, stays_open);
                flow
            }
            None => self.connect(now, planned, measures),
        };
        if stays_open && let Entry::Transfers { open, .. } = &mut self.users[user as usize].entry {
            *open = Some(flow);
        }
        let stop = self.users[user as usize].stop;
        if bytes.is_none() && stop < Time::MAX {
            fabric.rest(stop, Event::End(flow), user);
        }
        self.transmit(now, flow, fabric, measures);
        self.next_transfer(user, now, fabric);
    }

    /// The endless transfer of connection `flow`, if it still has it, ends with what it has sent.
    pub fn stop_endless(
        &mut self,
        now: Time,
        flow: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let connection = &mut self.connections.places[flow as usize];
        let stop = self.users[connection.user as usize].stop;
        if now >= stop && connection.sender.is_endless() && !is_over(&connection.sender) {
            connection.sender.cut();
            self.transmit(now, flow, fabric, measures);
        }
    }

    /// Opens a connection for a transfer; its place is the answer.
    fn connect(&mut self, now: Time, planned: Planned, measures: &mut Measures) -> u32 {
        let Planned { user, bytes, stays_open } = planned;
        let &User {
            entry: Entry::Transfers { ref tcp, backward, .. },
            forward,
            marks,
            conditioner,
            ..
        } = &self.users[user as usize]
        else {
            unreachable!("the transfer belongs to a user of TCP")
        };
        let mut sender = Sender::new(tcp, now);
        write(&mut sender, bytes, stays_open);
        let number = self.connections.next_number;
        self.connections.next_number += 1;
        let flow = self.connections.place(Connection {
            sender,
            receiver: Receiver::new(tcp),
            user,
            forward,
            backward,
            marks,
            conditioner,
            number,
            life: 0,
            start: now,
            finished: false,
            sender_timer: None,
            receiver_timer: None,
            charged: [0; 3],
        });
        if let Some(log) = &mut measures.transfers {
            let bytes = bytes.filter(|_| !stays_open).and_then(NonZeroU64::new);
            log.begins(flow, TransferRow { flow: user, start: now, bytes, end: None });
        }
        flow
    }

    /// A segment reaches the host that it is for.
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
        let Some(connection) = self.connections.places.get_mut(flow as usize) else { return };
        if connection.life != cargo.life {
            return;
        }
        if cargo.backward {
            let opening = connection.sender.state() == State::SynSent;
            if let Some(trace) = &mut measures.segments {
                trace.record(now, user, true, &cargo.segment, &connection.sender);
            }
            connection.sender.on_segment(now, &cargo.segment, ecn);
            if opening && connection.sender.state() != State::SynSent {
                let class = measures.users[user as usize].class;
                measures.classes[class as usize].opened(connection.start, now);
            }
            self.transmit(now, flow, fabric, measures);
            return;
        }
        let before = connection.receiver.delivered();
        let reply = connection.receiver.on_segment(now, &cargo.segment, ecn);
        let delivered = connection.receiver.delivered() - before;
        measures.users[user as usize].bytes += delivered;
        if let Some(reply) = &reply {
            connection.acknowledge(now, flow, reply, connection.backward, fabric);
        }
        connection.arm_receiver(flow, fabric);
        if connection.receiver.finished() && !connection.finished {
            self.finish(now, flow, measures);
        }
    }

    /// All data of a connection have arrived.
    #[cold]
    fn finish(&mut self, now: Time, flow: u32, measures: &mut Measures) {
        let connection = &mut self.connections.places[flow as usize];
        connection.finished = true;
        let (start, bytes) = (connection.start, connection.receiver.delivered());
        let user = connection.user as usize;
        if let Some(log) = &mut measures.transfers {
            log.ends(flow, now);
        }
        let Entry::Transfers { source, .. } = &mut self.users[user].entry else {
            unreachable!("only a user of TCP has connections")
        };
        if !source.arrived() {
            return;
        }
        let meter = &mut measures.users[user];
        meter.ended(start, now, bytes);
        let class = &mut measures.classes[meter.class as usize];
        class.completion.record(now - start);
        class.point_completed += 1;
    }

    /// The connections of user `index` are as `tcp` says from now on, those that are open too. False if
    /// it has none, or one cannot change.
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
        for flow in 0..self.connections.places.len() as u32 {
            let Connection { user, sender, .. } = &mut self.connections.places[flow as usize];
            if *user == index && !is_over(sender) {
                can &= sender.retune(tcp);
                self.transmit(now, flow, fabric, measures);
            }
        }
        can
    }

    /// The timer of a connection's sender, whose entry is at `key`.
    pub fn on_sender_timer(
        &mut self,
        flow: u32,
        key: Key,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let now = key.time;
        let connection = &mut self.connections.places[flow as usize];
        if connection.sender_timer != Some(key) {
            return;
        }
        connection.sender_timer = None;
        // The timer may have been moved on since: it is re-armed lazily, never searched for.
        if connection.sender.deadline().is_some_and(|deadline| deadline <= now) {
            connection.sender.on_deadline(now);
        }
        self.transmit(now, flow, fabric, measures);
    }

    /// The timer of a connection's receiver, whose entry is at `key`.
    pub fn on_receiver_timer(&mut self, flow: u32, key: Key, fabric: &mut Fabric) {
        let now = key.time;
        let connection = &mut self.connections.places[flow as usize];
        if connection.receiver_timer != Some(key) {
            return;
        }
        connection.receiver_timer = None;
        if connection.receiver.deadline().is_some_and(|deadline| deadline <= now)
            && let Some(reply) = connection.receiver.on_deadline(now)
        {
            connection.acknowledge(now, flow, &reply, connection.backward, fabric);
        }
        connection.arm_receiver(flow, fabric);
    }

    /// Sends all that the sender may send now, and sees to its timer and its end.
    #[inline]
    fn transmit(&mut self, now: Time, flow: u32, fabric: &mut Fabric, measures: &mut Measures) {
        let connection = &mut self.connections.places[flow as usize];
        let mut segment = Segment::default();
        while connection.sender.poll_into(now, &mut segment) {
            let Connection { user, forward, marks, conditioner, number: address, life, .. } =
                *connection;
            if let Some(trace) = &mut measures.segments {
                trace.record(now, user, false, &segment, &connection.sender);
            }
            let (kind, len) = (kind_of(&segment), segment.ip_len());
            let number = match kind {
                PacketKind::Data => measures.users[user as usize].sends(len),
                _ => 0,
            };
            let cargo = Cargo {
                segment,
                sent: now,
                waited: Duration::ZERO,
                stop: forward,
                flow,
                life,
                number,
                user,
                backward: false,
            };
            let mut packet = Packet::new(fabric.hold.store(cargo), address, len);
            marks.apply(&mut packet);
            if let Some(conditioner) = conditioner {
                self.conditioners[conditioner as usize].mark(now, &mut packet);
            }
            packet.kind = kind;
            packet.set_ecn(segment.ecn());
            fabric.launch(packet, forward, now);
        }
        match connection.sender.state() {
            State::Done => self.end(now, flow, false, fabric, measures),
            State::Aborted => self.end(now, flow, true, fabric, measures),
            _ => {
                if let Some(deadline) = connection.sender.deadline()
                    && connection.sender_timer.is_none_or(|key| deadline < key.time)
                {
                    let key =
                        fabric.rest(deadline.max(now), Event::SenderTimer(flow), connection.user);
                    connection.sender_timer = Some(key);
                }
            }
        }
    }

    /// Sends `segment` to the sender of the connection in place `flow`, from the stop `stop` of the path
    /// on.
    pub fn acknowledge_from(
        &self,
        now: Time,
        flow: u32,
        segment: &Segment,
        stop: u32,
        fabric: &mut Fabric,
    ) {
        self.connections.places[flow as usize].acknowledge(now, flow, segment, stop, fabric);
    }

    /// The connection is over; its place is free, and its user may go on.
    fn end(
        &mut self,
        now: Time,
        flow: u32,
        aborted: bool,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let connection = &mut self.connections.places[flow as usize];
        connection.life += 1;
        connection.sender_timer = None;
        connection.receiver_timer = None;
        let user = connection.user;
        self.charge(flow, measures);
        self.connections.free.push(flow);
        measures.users[user as usize].aborted += u64::from(aborted);
        let User { entry: Entry::Transfers { source, open, .. }, rng, .. } =
            &mut self.users[user as usize]
        else {
            unreachable!("only a user of TCP has connections")
        };
        open.take_if(|open| *open == flow);
        let next = source.completed(now, rng);
        self.plan_transfer(user, next, fabric);
    }

    /// Ends the connections of user `index` with what they have sent.
    pub(super) fn cut(
        &mut self,
        now: Time,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        for flow in 0..self.connections.places.len() as u32 {
            let connection = &mut self.connections.places[flow as usize];
            if connection.user == index && !is_over(&connection.sender) {
                connection.sender.cut();
                self.transmit(now, flow, fabric, measures);
            }
        }
    }

    /// Charges what the connection's sender counted to its user.
    fn charge(&mut self, flow: u32, measures: &mut Measures) {
        let connection = &mut self.connections.places[flow as usize];
        connection.charge(&mut measures.users[connection.user as usize]);
    }

    /// Brings the users' counts up to date with the connections that still run.
    pub fn collect(&mut self, measures: &mut Measures) {
        for flow in 0..self.connections.places.len() as u32 {
            self.charge(flow, measures);
        }
    }

    /// Gives back what only going on would need.
    pub fn close(&mut self) {
        self.connections = Connections::new(0, 0);
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

fn kind_of(segment: &Segment) -> PacketKind {
    if segment.len > 0 {
        PacketKind::Data
    } else if segment.flags.has(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
        PacketKind::Control
    } else {
        PacketKind::PureAck
    }
}
