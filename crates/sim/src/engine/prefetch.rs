//! Prefetching for hosts: what the next packets will touch of their flows is read into caches while the
//! present one is handled. The fabric does the same for links (`fabric/prefetch.rs`, which says why).

use super::event::Event;
use super::fabric::cargo::DATAGRAM;
use super::fabric::{AHEAD, Fabric, Target};
use super::transport::Connections;
use crate::measure::UserMeter;

/// The state of so many users lies in caches near enough.
pub const FEW_USERS: usize = 500;

/// Fetches what the packets that arrive later over `pipe` will touch: first their places in the
/// pipe, then their cargo, and when it is there what it points to.
// Not inlined, so that it costs nothing where it is not called.
#[inline(never)]
pub fn prefetch_arrivals(
    fabric: &Fabric,
    connections: &Connections,
    users: &[UserMeter],
    pipe: u32,
) {
    let hold = &fabric.hold;
    hold.fetch_free(AHEAD);
    fabric.fetch_place(pipe, 4 * AHEAD);
    match fabric.after(pipe, 2 * AHEAD) {
        Some((id, Target::Host)) => hold.fetch(id),
        Some((id, _)) => hold.fetch_packet(id),
        None => {}
    }
    if let Some((id, Target::Host)) = fabric.after(pipe, AHEAD / 2) {
        let cargo = hold.look(id);
        if cargo.flow != DATAGRAM {
            let reply = connections.fetch_further(cargo.flow, cargo.backward);
            reply.into_iter().for_each(|stop| fabric.fetch_stop(stop));
        }
    }
    let Some((id, target)) = fabric.after(pipe, AHEAD) else { return };
    let cargo = hold.look(id);
    match target {
        Target::Host => {
            users[cargo.user as usize].fetch(!cargo.backward);
            if cargo.flow != DATAGRAM {
                connections.fetch(cargo.flow, cargo.backward);
            }
        }
        _ => fabric.fetch_stop(cargo.stop + 1),
    }
}

/// Fetches what a timer will touch that expires some time after that of `event`.
#[inline(never)]
pub fn prefetch_timer(fabric: &Fabric, connections: &Connections, event: Event) {
    match fabric.resting_after(event, AHEAD / 2) {
        Some(Event::SenderTimer(flow)) => connections.fetch_timer(flow, true),
        Some(Event::ReceiverTimer(flow)) => connections.fetch_timer(flow, false),
        _ => {}
    }
}
