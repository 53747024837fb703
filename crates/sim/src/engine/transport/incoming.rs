//! The receiving end of a connection.

use crate::engine::event::{Event, Key};
use crate::engine::fabric::Fabric;
use crate::engine::fabric::cargo::Cargo;
use crate::engine::measures::Measures;
use crate::traffic::Marks;
use forebay_core::{Ecn, Time};
use forebay_tcp::{Config as TcpConfig, Receiver};
use std::sync::Arc;

/// Data of a new connection for its receiving end.
#[derive(Clone)]
pub struct Opening {
    /// Place and part of the sender.
    pub flow: u32,
    /// Life of the connection in that place.
    pub life: u32,
    pub user: u32,
    /// Number that flow-aware disciplines see.
    pub number: u32,
    /// First stop of the acknowledgments' path.
    pub backward: u32,
    /// Marks of data packets.
    pub marks: Marks,
    pub tcp: Arc<TcpConfig>,
}

/// The receiving end of a connection. The sender may be in another part of the network, so the two share
/// nothing but packets.
#[repr(C, align(64))]
pub struct Incoming {
    // These fields are in the first cache line, with the beginning of the receiver.
    user: u32,
    backward: u32,
    number: u32,
    life: u32,
    /// Marks of acknowledgments.
    marks: Marks,
    finished: bool,
    /// Key of the timer's agenda entry, [`Key::NEVER`] without. Other entries of the timer are stale.
    timer: Key,
    receiver: Receiver,
}

impl Incoming {
    pub fn new(opening: &Opening) -> Self {
        let [source, destination] = opening.marks.hosts;
        Incoming {
            user: opening.user,
            backward: opening.backward,
            marks: Marks { drop_precedence: 0, hosts: [destination, source], ..opening.marks },
            number: opening.number,
            life: opening.life,
            finished: false,
            timer: Key::NEVER,
            receiver: Receiver::new(&opening.tcp),
        }
    }

    /// First stop of the acknowledgments' path.
    pub fn backward(&self) -> u32 {
        self.backward
    }

    /// Fetches the fields that the timer needs first.
    pub fn fetch_timer(&self) {
        self.receiver.fetch_deadline();
    }

    /// Fetches the fields that data need.
    pub fn fetch(&self) {
        self.receiver.fetch();
    }

    /// Fetches what these fields point to. Returns the first stop of acknowledgments.
    pub fn fetch_further(&self) -> u32 {
        self.receiver.fetch_further();
        self.backward
    }

    /// Packet `id` arrives, of this connection or of an earlier one in the same place. If it completes
    /// the data of the connection, returns their number in bytes.
    #[inline]
    pub fn on_segment(
        &mut self,
        now: Time,
        id: u32,
        ecn: Ecn,
        fabric: &mut Fabric,
        measures: &mut Measures,
    ) -> Option<u64> {
        let cargo = fabric.hold.at(id);
        if self.life != cargo.life {
            fabric.hold.free(id);
            return None;
        }
        let flow = cargo.flow;
        let before = self.receiver.delivered();
        let replies = self.receiver.answer(now, &mut cargo.segment, ecn);
        let delivered = self.receiver.delivered();
        measures.users[self.user as usize].bytes += delivered - before;
        if replies {
            // With many users, packets are in the hold in the order of sending.
            let id = if fabric.many() { fabric.hold.pass_on(id) } else { id };
            self.acknowledge(now, flow, id, self.backward, fabric);
        } else {
            fabric.hold.free(id);
        }
        self.arm(flow, fabric);
        if self.receiver.finished() && !self.finished {
            self.finished = true;
            return Some(delivered);
        }
        None
    }

    /// The agenda entry at `key` of the timer is due.
    pub fn on_timer(&mut self, flow: u32, key: Key, fabric: &mut Fabric) {
        let now = key.time;
        if self.timer != key {
            return;
        }
        self.timer = Key::NEVER;
        if self.receiver.deadline().is_some_and(|deadline| deadline <= now)
            && let Some(segment) = self.receiver.on_deadline(now)
        {
            let id = fabric.hold.store(Cargo { segment, ..Cargo::default() });
            self.acknowledge(now, flow, id, self.backward, fabric);
        }
        self.arm(flow, fabric);
    }

    /// Sends the segment of packet `id` to the sender, from stop `stop` of the path on.
    #[inline(always)]
    pub fn acknowledge(&self, now: Time, flow: u32, id: u32, stop: u32, fabric: &mut Fabric) {
        let cargo = fabric.hold.at(id);
        cargo.sets_out(now, stop, (flow, self.life), self.user, true);
        let len = cargo.pack(id, self.number, &self.marks);
        fabric.launch(id, len, stop, now);
    }

    /// Takes no more packets of this life. The next one is `life`.
    pub fn end(&mut self, life: u32) {
        self.life = life;
        self.timer = Key::NEVER;
    }

    /// Arms the timer, if it is due earlier than its entry.
    #[inline(always)]
    fn arm(&mut self, flow: u32, fabric: &mut Fabric) {
        if let Some(deadline) = self.receiver.deadline()
            && deadline < self.timer.time
        {
            self.set(deadline, flow, fabric);
        }
    }

    #[inline(never)]
    fn set(&mut self, deadline: Time, flow: u32, fabric: &mut Fabric) {
        self.timer = fabric.rest(deadline, Event::ReceiverTimer(flow), self.user);
    }
}
