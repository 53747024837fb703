//! Flows whose two ends have a protocol of their own.

use super::{Entry, Transport, User};
use crate::engine::event::{Event, Key};
use crate::engine::fabric::Fabric;
use crate::engine::fabric::cargo::{Cargo, ENDPOINT};
use crate::engine::measures::Measures;
use crate::measure::UserMeter;
use crate::traffic::{Account, Endpoint};
use forebay_core::{Packet, PacketKind, Time};
use std::mem::{ManuallyDrop, replace, take};

/// The ends of a flow, and what was last seen of them.
pub struct Ends {
    ends: [End; 2],
    /// Number that flow-aware disciplines see.
    pub(super) number: u32,
    /// First stop of the path back to the sender.
    backward: u32,
    has_begun: bool,
    has_ended: bool,
    /// What the user's meter has already.
    charged: Account,
}

struct End {
    endpoint: Box<dyn Endpoint>,
    /// Key of its agenda entry, [`Key::NEVER`] without. Other entries are stale.
    timer: Key,
    /// The last instant in which it was asked, and how often since time has passed.
    asked: (Time, u32),
    /// Whether it could send once.
    was_asked: bool,
}

/// Most turns of one end, and most datagrams that it sends, in one instant. An end that wants more does
/// not wait for time to pass.
const MOST_AT_ONCE: u32 = 100_000;

/// The longest IP packet in bytes.
const LONGEST: usize = 65_535;

impl Ends {
    /// A flow between these ends, with `number` for queues; the path to the first end begins at stop
    /// `backward`.
    pub fn new(ends: [Box<dyn Endpoint>; 2], number: u32, backward: u32) -> Self {
        let end = |endpoint| End {
            endpoint,
            timer: Key::NEVER,
            asked: (Time::ZERO, 0),
            was_asked: false,
        };
        Ends {
            ends: ends.map(end),
            number,
            backward,
            has_begun: false,
            has_ended: false,
            charged: Account::default(),
        }
    }

    /// First stop of the path back to the sender.
    pub fn backward(&self) -> u32 {
        self.backward
    }

    /// Begins the flow, or ends it at its sender, `side` 0, if it is time.
    fn turn(&mut self, now: Time, stop: Time, side: u32) {
        if !replace(&mut self.has_begun, true) {
            self.ends.iter_mut().for_each(|end| end.endpoint.begin(now));
        }
        if side == 0 && now >= stop && !replace(&mut self.has_ended, true) {
            self.ends[0].endpoint.end(now);
        }
    }
}

impl Transport {
    /// Lets the ends of user `index` begin at its start.
    pub(super) fn begin_ends(&mut self, index: u32, fabric: &mut Fabric) {
        self.with_ends.push(index);
        let User { entry, start, stop, .. } = &mut self.users[index as usize];
        let Entry::Endpoints(ends) = entry else { unreachable!("the user has two ends") };
        if start < stop {
            // The receiving end first: it is there when the sender's first packet arrives.
            for side in [1, 0] {
                let timer = fabric.rest(*start, Event::Endpoint(2 * index + side), index);
                ends.ends[side as usize].timer = timer;
            }
            if *stop < Time::MAX {
                fabric.rest(*stop, Event::Endpoint(2 * index), index);
            }
        }
    }

    /// The agenda entry at `key` of an end is due.
    pub fn attend_at(
        &mut self,
        key: Key,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let now = key.time;
        let User { entry, stop, .. } = &mut self.users[(index / 2) as usize];
        let Entry::Endpoints(ends) = entry else { unreachable!("the user has two ends") };
        let end = &mut ends.ends[(index % 2) as usize];
        if end.timer == key {
            end.timer = Key::NEVER;
        } else if !(now >= *stop && index.is_multiple_of(2) && !ends.has_ended) {
            return;
        }
        self.attend(now, index, fabric, measures);
    }

    /// Lets end `index` do what it wants to do now.
    pub(super) fn attend(
        &mut self,
        now: Time,
        index: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let User { entry, stop, .. } = &mut self.users[(index / 2) as usize];
        let Entry::Endpoints(ends) = entry else { unreachable!("the user has two ends") };
        ends.turn(now, *stop, index % 2);
        let end = &mut ends.ends[(index % 2) as usize];
        // An end sends what it begins with before its first deadline.
        if end.was_asked && end.endpoint.deadline(now).is_some_and(|deadline| deadline <= now) {
            end.endpoint.on_deadline(now);
        }
        self.let_send(now, index, fabric, measures);
    }

    /// Packet `id` arrives at the end to which an endpoint has sent it.
    pub(super) fn deliver_to_end(
        &mut self,
        now: Time,
        id: u32,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) {
        let cargo = fabric.hold.look(id);
        let (user, backward, ecn) = (cargo.user, cargo.backward, cargo.packet.ecn());
        let (delay, waited) = (now - cargo.sent, cargo.waited);
        let mut datagram = take(&mut self.buffer);
        fabric.hold.take_bytes(id, &mut datagram);
        fabric.hold.free(id);
        let User { entry: Entry::Endpoints(ends), stop, .. } = &mut self.users[user as usize]
        else {
            unreachable!("an endpoint has sent it")
        };
        ends.turn(now, *stop, u32::from(!backward));
        if !backward {
            measures.arrived(user, delay, waited, datagram.len() as u32);
        }
        let side = u32::from(!backward);
        let end = &mut ends.ends[side as usize];
        end.endpoint.receive(now, &datagram, ecn);
        if !backward {
            let total = end.endpoint.account().delivered;
            let before = std::mem::replace(&mut ends.charged.delivered, total).unwrap_or(0);
            let more = total.map_or(datagram.len() as u64, |total| total.saturating_sub(before));
            measures.users[user as usize].bytes += more;
        }
        self.buffer = datagram;
        self.let_send(now, 2 * user + side, fabric, measures);
    }

    /// Sends all that end `index` can send now, and arms its timer.
    fn let_send(&mut self, now: Time, index: u32, fabric: &mut Fabric, measures: &mut Measures) {
        let (user, side) = (index / 2, (index % 2) as usize);
        let Transport { users, conditioners, buffer, fault, .. } = self;
        let User { entry, forward, marks, conditioner, start, .. } = &mut users[user as usize];
        let Entry::Endpoints(ends) = entry else { unreachable!("the user has two ends") };
        let backward = side == 1;
        let first_stop = if backward { ends.backward } else { *forward };
        let number = ends.number;
        let end = &mut ends.ends[side];
        if end.asked.0 != now {
            end.asked = (now, 0);
        }
        end.asked.1 += 1;
        end.was_asked = true;
        let headers = end.endpoint.headers();
        loop {
            buffer.clear();
            let Some(ecn) = end.endpoint.transmit(now, buffer) else { break };
            end.asked.1 += 1;
            let len = buffer.len() + headers as usize;
            if buffer.is_empty() || len > LONGEST || end.asked.1 > MOST_AT_ONCE {
                break;
            }
            let len = len as u32;
            let mut packet = Packet::new(0, number, len);
            marks.apply(&mut packet);
            packet.set_ecn(ecn);
            let sent = if backward {
                packet.kind = PacketKind::PureAck;
                std::mem::swap(&mut packet.source, &mut packet.destination);
                0
            } else {
                if let Some(conditioner) = *conditioner {
                    conditioners[conditioner as usize].mark(now, &mut packet);
                }
                measures.users[user as usize].sends(len)
            };
            let cargo = Cargo {
                packet: ManuallyDrop::new(packet),
                sent: now,
                stop: first_stop,
                number: sent,
                user,
                life: ENDPOINT,
                backward,
                ..Cargo::default()
            };
            let id = fabric.hold.store_bytes(cargo, buffer);
            fabric.launch(id, len, first_stop, now);
        }
        let what = if backward { "receiving" } else { "sending" };
        let wrong = if end.asked.1 > MOST_AT_ONCE {
            Some(
                "does not wait for time to pass: its deadline, or what it sends, has no end".into(),
            )
        } else if !buffer.is_empty() && buffer.len() + headers as usize > LONGEST {
            Some(format!("sends {} bytes, more than an IP packet holds", buffer.len()))
        } else {
            end.endpoint.fault()
        };
        if let Some(wrong) = wrong {
            let at = now.as_secs_f64();
            fault.get_or_insert(format!(
                "the {what} endpoint of flow {number} at {at:.6} s: {wrong}"
            ));
            return;
        }
        if let Some(deadline) = end.endpoint.deadline(now)
            && deadline < end.timer.time
        {
            end.timer = fabric.rest(deadline.max(now), Event::Endpoint(index), user);
        }
        while let Some(done) = end.endpoint.completed() {
            let meter = &mut measures.users[user as usize];
            meter.ended(done.start, now, done.bytes);
            let class = &mut measures.classes[meter.class as usize];
            class.completion.record(now.since(done.start));
            class.point_completed += 1;
        }
        if !backward && !ends.charged.is_open && end.endpoint.account().is_open {
            ends.charged.is_open = true;
            let class = measures.users[user as usize].class;
            measures.opened(user, u32::MAX, class, *start, now);
        }
    }

    /// (class, congestion window in bytes) of every sending end that is open; `meters` are those of all
    /// users.
    pub fn windows_of_ends(&self, meters: &[UserMeter]) -> impl Iterator<Item = (u32, u64)> {
        self.with_ends.iter().filter_map(|&index| {
            let Entry::Endpoints(ends) = &self.users[index as usize].entry else { return None };
            let account = ends.ends[0].endpoint.account();
            let cwnd = account.cwnd.filter(|_| account.is_open)?;
            Some((meters[index as usize].class, cwnd))
        })
    }

    /// Adds what the sending ends have counted to the users' meters.
    pub(super) fn charge_ends(&mut self, measures: &mut Measures) {
        for &index in &self.with_ends {
            let Entry::Endpoints(ends) = &mut self.users[index as usize].entry else { continue };
            let meter = &mut measures.users[index as usize];
            let account = ends.ends[0].endpoint.account();
            meter.retransmissions += account.retransmissions - ends.charged.retransmissions;
            meter.timeouts += account.timeouts - ends.charged.timeouts;
            ends.charged.retransmissions = account.retransmissions;
            ends.charged.timeouts = account.timeouts;
        }
    }

    /// Frees all endpoints.
    pub(super) fn close_ends(&mut self) {
        for index in self.with_ends.drain(..) {
            self.users[index as usize].entry = Entry::Elsewhere;
        }
    }

    /// What an endpoint has done that ends the run.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
