//! The receiving end of a connection.

use crate::engine::event::{Event, Key};
use crate::engine::fabric::Fabric;
use crate::engine::fabric::cargo::Cargo;
use crate::engine::measures::Measures;
use crate::traffic::Marks;
use forebay_core::{Ecn, Time};
use forebay_tcp::{Config as TcpConfig, Receiver};
use std::sync::Arc;

/// What a sender that connects says of the connection.
#[derive(Clone)]
pub struct Opening {
    /// The connection's flow: place and part of the sender.
    pub flow: u32,
    /// Life of the connection in that place.
    pub life: u32,
    /// Whose it is.
    pub user: u32,
    /// Number that flow-aware disciplines see.
    pub number: u32,
    /// First stop of the acknowledgments' path.
    pub backward: u32,
    /// How data packets are marked.
    pub marks: Marks,
    /// How the connection behaves.
    pub tcp: Arc<TcpConfig>,
}

/// The receiving end of a connection. It may be computed apart from the sender, and learns from packets
/// alone how that goes on.
#[repr(C, align(64))]
pub struct Incoming {
    // The first cache line, with the beginning of the receiver.
    user: u32,
    backward: u32,
    number: u32,
    life: u32,
    /// How acknowledgments are marked.
    marks: Marks,
    finished: bool,
    /// Key of the agenda entry that stands for the timer, others are stale; [`Key::NEVER`] without.
    timer: Key,
    receiver: Receiver,
}

impl Incoming {
    /// The receiving end of the connection that `opening` tells of.
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

    /// Fetches what the timer touches first.
    #[inline]
    pub fn fetch_timer(&self) {
        self.receiver.fetch_deadline();
    }

    /// Fetches what data will touch.
    #[inline]
    pub fn fetch(&self) {
        self.receiver.fetch();
    }

    /// Fetches what that points to; answers the first stop of what goes out in return.
    #[inline]
    pub fn fetch_further(&self) -> u32 {
        self.receiver.fetch_further();
        self.backward
    }

    /// The packet with handle `id`, of this connection or one before it in the same place, is here. How
    /// many bytes the connection carried, if with it all of them have arrived.
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
            // Many packets lie in the order of sending.
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

    /// The timer, whose entry is at `key`.
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

    /// Sends the segment in the cargo with handle `id` to the sender, from the stop `stop` of the path on.
    #[inline(always)]
    pub fn acknowledge(&self, now: Time, flow: u32, id: u32, stop: u32, fabric: &mut Fabric) {
        let cargo = fabric.hold.at(id);
        cargo.sets_out(now, stop, (flow, self.life), self.user, true);
        let len = cargo.pack(id, self.number, &self.marks);
        fabric.launch(id, len, stop, now);
    }

    /// Takes no more of this life: `life` comes next.
    pub fn end(&mut self, life: u32) {
        self.life = life;
        self.timer = Key::NEVER;
    }

    /// Sees to the timer.
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
