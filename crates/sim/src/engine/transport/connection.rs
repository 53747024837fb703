//! TCP connections: their places, their numbers, and receiving ends whose senders are in other parts of
//! the network.

use super::incoming::{Incoming, Opening};
use crate::engine::event::Key;
use crate::engine::fabric::AHEAD;
use crate::engine::table::{Table, with_room};
use crate::measure::UserMeter;
use crate::traffic::Marks;
use forebay_core::{Time, fetch};
use forebay_tcp::{Sender, State};

/// One connection. The fields that data packets need are next to each other, and so are those for
/// acknowledgments: with many connections, each packet touches few cache lines.
#[repr(C, align(64))]
pub struct Connection {
    // For data: three cache lines, and two that are rarely needed.
    pub(super) incoming: Incoming,
    // For acknowledgments: from the sixth line on.
    pub(super) user: u32,
    /// First stop of the data's path, a copy of the user's, as `marks`: every packet needs them.
    pub(super) forward: u32,
    /// Number that flow-aware disciplines see.
    pub(super) number: u32,
    /// Number of connections that were in this place before.
    pub(super) life: u32,
    /// Key of the timer's agenda entry, [`Key::NEVER`] without. Other entries of the timer are stale.
    pub(super) sender_timer: Key,
    pub(super) marks: Marks,
    pub(super) class: u32,
    /// Index of the conditioner, or [`UNCONDITIONED`].
    pub(super) conditioner: u32,
    pub(super) sender: Sender,
    /// Retransmissions, timeouts and window probes that the user's meter has already.
    pub(super) charged: [u64; 3],
    pub(super) start: Time,
}

pub(super) const UNCONDITIONED: u32 = u32::MAX;

impl Connection {
    fn is_open(&self) -> bool {
        matches!(self.sender.state(), State::Established | State::Closing)
    }

    /// Fetches the fields that [`Connections::windows`] reads.
    fn fetch_window(&self) {
        fetch(&self.user);
        self.sender.fetch_window();
    }

    /// Adds the sender's counts since the last call to `meter`.
    pub(super) fn charge(&mut self, meter: &mut UserMeter) {
        let stats = self.sender.stats();
        let counts = [stats.retransmissions, stats.timeouts, stats.probes];
        let last = std::mem::replace(&mut self.charged, counts);
        meter.retransmissions += counts[0] - last[0];
        meter.timeouts += counts[1] - last[1];
        meter.probes += counts[2] - last[2];
    }
}

/// A transfer that has not begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    pub(super) user: u32,
    pub(super) bytes: Option<u64>,
    pub(super) stays_open: bool,
}

/// All connections and planned transfers. Places of connections that have ended are used again.
pub struct Connections {
    pub(super) places: Table<Connection>,
    pub(super) free: Vec<u32>,
    /// The part of the network in which the senders are, in the upper bits of a flow's index.
    pub(super) part: u32,
    /// Receiving ends whose senders are in other parts, by part and place.
    guests: Vec<Vec<Option<Box<Incoming>>>>,
    pub(super) planned: Vec<Planned>,
    pub(super) free_planned: Vec<u32>,
    pub(super) numbers: Numbers,
}

/// Bits of a place in a flow's index.
pub(super) const PLACE: u32 = 24;

/// Numbers of connections. Those of a user do not depend on other users.
pub(super) struct Numbers {
    /// First number of the first user.
    first: u32,
    /// Number of users at the beginning, and difference between two numbers of one user.
    users: u32,
    /// The next number for users who join later.
    joined: u32,
}

impl Numbers {
    /// The first number for users who join later.
    const JOINED: u32 = 1 << 31;

    /// Number of the connection that `user` opens after `count` others. Numbers repeat after many
    /// thousands of connections.
    pub(super) fn of(&mut self, user: u32, count: u32) -> u32 {
        if user < self.users {
            let number = self.first.wrapping_add(user).wrapping_add(count.wrapping_mul(self.users));
            return number % Numbers::JOINED;
        }
        self.take(1)
    }

    /// The first of `count` new numbers for users who join later.
    fn take(&mut self, count: u32) -> u32 {
        let first = self.joined;
        self.joined += count;
        first
    }
}

impl Connections {
    /// No connection yet, in part `part` of the network. Numbers of the `users` users begin at `first`;
    /// there is room for `likely` connections at once.
    pub fn new(part: u32, first: u32, users: u32, likely: usize) -> Self {
        Connections {
            places: with_room(likely),
            free: Vec::new(),
            part: part << PLACE,
            guests: Vec::new(),
            planned: Vec::new(),
            free_planned: Vec::new(),
            numbers: Numbers { first, users, joined: Numbers::JOINED },
        }
    }

    /// The place of `flow`. It is beyond all places if the sender is in another part.
    pub(super) fn place_of(&self, flow: u32) -> usize {
        (flow ^ self.part) as usize
    }

    /// Whether the sender of `flow` is in this part.
    pub fn has(&self, flow: u32) -> bool {
        self.place_of(flow) < self.places.len()
    }

    /// The connection of `flow`, whose sender is in this part.
    pub(super) fn own(&mut self, flow: u32) -> &mut Connection {
        let place = self.place_of(flow);
        &mut self.places[place]
    }

    /// The receiving end of `flow`, which is in this part.
    #[inline]
    pub(super) fn incoming(&mut self, flow: u32) -> Option<&mut Incoming> {
        let place = self.place_of(flow);
        if place < self.places.len() {
            return Some(&mut self.places[place].incoming);
        }
        self.guest(flow)?.as_deref_mut()
    }

    /// The receiving end of `flow`, whose sender is in another part.
    #[cold]
    fn guest(&mut self, flow: u32) -> Option<&mut Option<Box<Incoming>>> {
        let places = self.guests.get_mut((flow >> PLACE) as usize)?;
        places.get_mut((flow % (1 << PLACE)) as usize)
    }

    /// A sender in another part connects to a receiver in this part.
    pub fn receive(&mut self, opening: &Opening) {
        let [part, place] = [opening.flow >> PLACE, opening.flow % (1 << PLACE)];
        let [part, place] = [part as usize, place as usize];
        self.guests.resize_with(self.guests.len().max(part + 1), Vec::new);
        let places = &mut self.guests[part];
        places.resize_with(places.len().max(place + 1), || None);
        places[place] = Some(Box::new(Incoming::new(opening)));
    }

    /// Removes the receiving end of `flow`, whose sender is in another part.
    pub fn forget(&mut self, flow: u32) {
        if let Some(guest) = self.guest(flow) {
            *guest = None;
        }
    }

    /// Most connections that were open at once.
    pub fn peak(&self) -> usize {
        self.places.len()
    }

    /// Offset up to which data of `flow` are acknowledged, by what its sender knows, and the first stop
    /// of the path back to it; None if this life of the connection has ended.
    pub fn way_back(&self, flow: u32, life: u32) -> Option<(u64, u32)> {
        let connection = self.places.get(flow as usize).filter(|place| place.life == life)?;
        Some((1 + connection.sender.bytes_acked(), connection.incoming.backward()))
    }

    /// (user, sender) of every connection that is open.
    pub fn open(&self) -> impl Iterator<Item = (u32, &Sender)> {
        let open = self.places.iter().filter(|connection| connection.is_open());
        open.map(|connection| (connection.user, &connection.sender))
    }

    /// (class, congestion window in bytes) of every connection that is open.
    pub fn windows(&self) -> impl Iterator<Item = (u32, u64)> {
        let places = self.places.iter().enumerate();
        // One takes so little time that memory must be read far ahead.
        let fetched = places.inspect(|(place, _)| {
            self.places.get(place + 4 * AHEAD).into_iter().for_each(Connection::fetch_window);
        });
        let open = fetched.filter(|(_, connection)| connection.is_open());
        open.map(|(_, Connection { class, sender, .. })| (*class, sender.cwnd()))
    }

    /// Fetches the fields that an acknowledgment for `flow` needs, or those that data need.
    #[inline]
    pub fn fetch(&self, flow: u32, acknowledgment: bool) {
        let Some(connection) = self.places.get(self.place_of(flow)) else { return };
        if acknowledgment {
            fetch(&connection.user);
            connection.sender.fetch();
        } else {
            connection.incoming.fetch();
        }
    }

    /// Fetches the fields that the timer of the sender needs first, or that of the receiver.
    #[inline]
    pub fn fetch_timer(&self, flow: u32, sender: bool) {
        let Some(connection) = self.places.get(self.place_of(flow)) else { return };
        if sender {
            fetch(&connection.user);
            connection.sender.fetch_deadline();
        } else {
            connection.incoming.fetch_timer();
        }
    }

    /// Fetches what these fields point to. Returns the first stop of the packets sent in return.
    #[inline]
    pub fn fetch_further(&self, flow: u32, acknowledgment: bool) -> Option<u32> {
        let connection = self.places.get(self.place_of(flow))?;
        if acknowledgment {
            connection.sender.fetch_further();
            Some(connection.forward)
        } else {
            Some(connection.incoming.fetch_further())
        }
    }

    /// The first of `count` numbers that no flow has had, for users who join.
    pub fn take_numbers(&mut self, count: u32) -> u32 {
        self.numbers.take(count)
    }

    /// Every flow whose sender is in this part, also those that have ended.
    pub(super) fn flows(&self) -> impl Iterator<Item = u32> + use<> {
        let part = self.part;
        (0..self.places.len() as u32).map(move |place| place | part)
    }

    pub(super) fn plan(&mut self, planned: Planned) -> u32 {
        if let Some(index) = self.free_planned.pop() {
            self.planned[index as usize] = planned;
            return index;
        }
        self.planned.push(planned);
        (self.planned.len() - 1) as u32
    }

    /// A free place, and the life of the next connection in it.
    pub(super) fn vacant(&mut self) -> (u32, u32) {
        match self.free.pop() {
            Some(place) => (place, self.places[place as usize].life),
            None => (self.places.len() as u32, 0),
        }
    }

    pub(super) fn settle(&mut self, place: u32, connection: Connection) {
        match self.places.get_mut(place as usize) {
            Some(before) => *before = connection,
            None => self.places.push(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn either_end_begins_with_a_cache_line() {
        assert_eq!(offset_of!(Connection, user) % 64, 0);
        // One word of the sender is in the cache line of the fields before it.
        assert_eq!((offset_of!(Connection, sender) + 8) % 64, 0);
        assert_eq!(size_of::<Connection>(), 960);
    }
}
