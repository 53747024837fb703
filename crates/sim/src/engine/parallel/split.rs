//! The specification of a world, divided into parts.

use super::Plan;
use crate::engine::fabric::{Border, FabricSpec, Target};
use crate::engine::measures::MeasuresSpec;
use crate::engine::transport::{Entry, Homes, TransportSpec, User};
use crate::engine::world::WorldSpec;

impl WorldSpec {
    /// The specification of each part of `plan`. Pipes, hops and users keep their indices; links and
    /// markers get new ones in each part.
    pub(super) fn split(self, plan: &Plan) -> Vec<WorldSpec> {
        let ahead = self.fabric.ahead();
        let (WorldSpec { duration, warmup, sample, seed, .. }, fabric) = (&self, &self.fabric);
        let (duration, warmup, sample, seed) = (*duration, *warmup, *sample, *seed);
        let places = places(&plan.links);
        let local = |&(target, access): &(Target, _)| match target {
            Target::Link(link) => (Target::Link(places[link as usize]), access),
            other => (other, access),
        };
        let pipes: Vec<_> = fabric.pipes.iter().map(local).collect();
        let part = |index: u16| WorldSpec {
            duration,
            warmup,
            sample,
            seed,
            fabric: FabricSpec {
                links: Vec::new(),
                pipes: pipes.clone(),
                stops: fabric.stops.clone(),
                wireless: None,
                border: Some(Border::new(index, plan.lookahead, plan.pipes.clone(), ahead.clone())),
            },
            boxes: Vec::new(),
            transport: TransportSpec {
                users: Vec::with_capacity(self.transport.users.len()),
                conditioners: Vec::new(),
                first_connection: self.transport.first_connection,
                homes: Some(Homes { part: index, receivers: plan.receivers.clone() }),
            },
            measures: MeasuresSpec {
                users: self.measures.users.clone(),
                classes: self.measures.classes.clone(),
                segments: None,
                flow_series: self.measures.flow_series,
                transfers: self.measures.transfers,
            },
        };
        let mut parts: Vec<_> = (0..plan.parts).map(part).collect();
        for (link, owner) in self.fabric.links.into_iter().zip(&*plan.links) {
            parts[usize::from(*owner)].fabric.links.push(link);
        }
        let TransportSpec { users, conditioners, .. } = self.transport;
        let mut markers: Vec<_> = conditioners.into_iter().map(Some).collect();
        let mut moved = vec![0; markers.len()];
        for (mut user, home) in users.into_iter().zip(&*plan.senders) {
            for (index, part) in parts.iter_mut().enumerate() {
                if index != usize::from(*home) {
                    part.transport.users.push(elsewhere(&user));
                }
            }
            let own = &mut parts[usize::from(*home)].transport;
            if let Some(marker) = &mut user.conditioner {
                let old = *marker as usize;
                if let Some(conditioner) = markers[old].take() {
                    moved[old] = own.conditioners.len() as u32;
                    own.conditioners.push(conditioner);
                }
                *marker = moved[old];
            }
            own.users.push(user);
        }
        parts
    }
}

/// The index of each link in its part.
fn places(owners: &[u16]) -> Vec<u32> {
    let mut next = vec![0; owners.iter().map(|owner| usize::from(*owner) + 1).max().unwrap_or(0)];
    let place = |owner: &u16| {
        let next: &mut u32 = &mut next[usize::from(*owner)];
        *next += 1;
        *next - 1
    };
    owners.iter().map(place).collect()
}

/// A placeholder for `user` in parts without its sender.
fn elsewhere(user: &User) -> User {
    User {
        entry: Entry::Elsewhere,
        rng: user.rng.clone(),
        start: user.start,
        stop: user.stop,
        forward: user.forward,
        marks: user.marks,
        conditioner: None,
        port: user.port,
    }
}
