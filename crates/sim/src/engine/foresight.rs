//! Foresight: what the next packets will touch is fetched while the present one is dealt with.
//!
//! With many flows nearly every event meets a flow whose state is far away in memory, and what a
//! packet costs is waiting for it. But who comes next is known: lanes and queues are in order.

use super::cargo::DATAGRAM;
use super::world::{Target, World};
use forebay_core::fetch;

/// The state of so many users lies in caches near enough.
pub(super) const FEW_USERS: usize = 500;

/// How many packets ahead.
pub(super) const AHEAD: usize = 8;

impl World {
    /// Fetches what the packets of a lane that arrive later will touch: first their places in the
    /// lane, then their cargo, and when it is there what it points to.
    // Not inlined, so that it costs nothing where it is not called; likewise below.
    #[inline(never)]
    pub(super) fn foresee(&mut self, lane: u32) {
        self.hold.fetch_free(AHEAD);
        let (lane, target) = &self.lanes[lane as usize];
        if let Some(packet) = lane.after(4 * AHEAD) {
            fetch(packet);
        }
        if let Some(packet) = lane.after(2 * AHEAD) {
            self.hold.fetch(packet.id);
        }
        if let (Some(packet), Target::Host) = (lane.after(AHEAD / 2), target) {
            let cargo = self.hold.of(packet);
            if cargo.flow != DATAGRAM {
                let stop = self.connections.fetch_further(cargo.flow, cargo.backward);
                fetch(&self.stops[stop as usize]);
            }
        }
        let Some(packet) = lane.after(AHEAD) else { return };
        let cargo = self.hold.of(packet);
        match target {
            Target::Host => {
                self.user_meters[cargo.user as usize].fetch(!cargo.backward);
                if cargo.flow != DATAGRAM {
                    self.connections.fetch(cargo.flow, cargo.backward);
                }
            }
            _ => fetch(&self.stops[cargo.stop as usize + 1]),
        }
    }

    /// The same for the packets that leave a link's queue later than the one with handle `id`.
    #[inline(never)]
    pub(super) fn foresee_queue(&mut self, link: u32, id: u32) {
        let [near, far] = self.links[link as usize].foresee(id, AHEAD, 2 * AHEAD);
        if let Some(id) = far {
            self.hold.fetch(id);
        }
        if let Some(id) = near {
            // A packet that the queue has dropped may still be expected, its place another's.
            self.stops.get(self.hold.at(id).stop as usize + 1).into_iter().for_each(fetch);
        }
    }
}
