//! The routing table (RFC 3561, sections 2 and 6.2).

use super::super::medium::Station;
use super::constants::DELETE_PERIOD;
use forebay_core::Time;

/// A route to one destination.
#[derive(Debug, Clone)]
pub struct Route {
    /// Sequence number of the destination. None if it is not known.
    pub seq: Option<u32>,
    /// Hops to it.
    pub hops: u8,
    /// The first hop.
    pub next: Station,
    /// Time at which it becomes invalid or, if it is invalid, is forgotten.
    pub expires: Time,
    pub valid: bool,
    /// Neighbours that use it.
    pub precursors: Vec<Station>,
}

/// Whether sequence number `a` is fresher than `b`. Numbers wrap around (section 6.1).
pub fn fresher(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

impl Route {
    /// Whether a new route with `seq` and `hops` replaces this one (section 6.2; 6.7 if this one is
    /// invalid).
    pub fn yields_to(&self, seq: u32, hops: u8) -> bool {
        match self.seq {
            None => true,
            Some(own) if own == seq => hops < self.hops || !self.valid,
            Some(own) => fresher(seq, own),
        }
    }

    /// Ends the route. It is remembered for a while, as less fresh than any new one (section 6.11).
    pub fn invalidate(&mut self, now: Time, told: Option<u32>) {
        self.valid = false;
        self.expires = now + DELETE_PERIOD;
        let above = self.seq.map(|seq| seq.wrapping_add(1));
        self.seq = match (above, told) {
            (Some(above), Some(told)) => Some(if fresher(told, above) { told } else { above }),
            (above, told) => above.or(told),
        };
    }

    /// Adds a neighbour that uses the route.
    pub fn used_by(&mut self, neighbour: Station) {
        if !self.precursors.contains(&neighbour) {
            self.precursors.push(neighbour);
        }
    }
}

/// All routes of one router.
#[derive(Debug, Default)]
pub struct Table(Vec<Option<Route>>);

impl Table {
    /// The entry for `destination`, updated: routes expire.
    pub fn entry(&mut self, now: Time, destination: Station) -> &mut Option<Route> {
        let index = usize::from(destination);
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        let place = &mut self.0[index];
        if let Some(route) = place
            && route.expires <= now
        {
            let ended = route.expires;
            if route.valid {
                route.invalidate(ended, None);
            }
            if route.expires <= now {
                *place = None;
            }
        }
        place
    }

    pub fn valid(&mut self, now: Time, destination: Station) -> Option<&mut Route> {
        self.entry(now, destination).as_mut().filter(|route| route.valid)
    }

    /// Destinations of the valid routes through `next`.
    pub fn over(&mut self, now: Time, next: Station) -> Vec<Station> {
        let all = 0..self.0.len() as Station;
        let mut leads = |to: &Station| self.valid(now, *to).is_some_and(|route| route.next == next);
        all.filter(|to| leads(to)).collect()
    }
}
