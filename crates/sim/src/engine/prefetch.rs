//! Prefetching for hosts: state of flows that the next packets need is read into caches while the present
//! one is handled. `fabric/prefetch.rs` does the same for links, and says why.

use super::event::Event;
use super::fabric::cargo::DATAGRAM;
use super::fabric::{AHEAD, Fabric, Target};
use super::transport::Connections;
use crate::measure::UserMeter;

/// Most users whose state fits into caches, so that nothing is prefetched.
pub const FEW_USERS: usize = 500;

/// Fetches the state that packets arriving later over `pipe` need: first their places in the pipe, then
/// their cargo, and last the state to which the cargo points.
// Not inlined, so that it costs nothing in runs with few users.
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

/// Fetches the state that a timer needs which expires some time after that of `event`.
#[inline(never)]
pub fn prefetch_timer(fabric: &Fabric, connections: &Connections, event: Event) {
    match fabric.resting_after(event, AHEAD / 2) {
        Some(Event::SenderTimer(flow)) => connections.fetch_timer(flow, true),
        Some(Event::ReceiverTimer(flow)) => connections.fetch_timer(flow, false),
        _ => {}
    }
}
