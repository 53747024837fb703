//! One router: its routes, requests and replies.

use super::super::medium::Station;
use super::constants::*;
use super::table::{Route, Table, fresher};
use super::{Message, Reply, Request};
use forebay_core::{Duration, Time};
use std::collections::VecDeque;

/// An output of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send a message to a neighbour, or to all of them.
    Send(Message, Option<Station>),
    /// There is a route: send the packets that wait for it.
    Found(Station),
    /// There is none: drop the packets that wait for it.
    Failed(Station),
}

/// A route that is being looked for.
#[derive(Debug)]
struct Discovery {
    destination: Station,
    ttl: u8,
    /// Requests with the largest ring so far.
    tries: u32,
    deadline: Time,
    /// The rate limit delays the next request.
    held: bool,
    /// Hops of the route that is being repaired. None: this router is the source.
    repairs: Option<u8>,
}

/// A router.
#[derive(Debug, Default)]
pub struct Router {
    me: Station,
    seq: u32,
    request_id: u32,
    table: Table,
    /// Recent requests: (until when, originator, number).
    seen: VecDeque<(Time, Station, u32)>,
    discoveries: Vec<Discovery>,
    recent_requests: VecDeque<Time>,
    recent_errors: VecDeque<Time>,
    outputs: VecDeque<Output>,
}

impl Router {
    pub fn new(me: Station) -> Self {
        Router { me, ..Router::default() }
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Time at which to call [`Router::on_deadline`].
    pub fn deadline(&self) -> Option<Time> {
        self.discoveries.iter().map(|discovery| discovery.deadline).min()
    }

    /// The next hop of the valid route to `destination`.
    pub fn next_hop(&mut self, now: Time, destination: Station) -> Option<Station> {
        self.table.valid(now, destination).map(|route| route.next)
    }

    #[cfg(test)]
    pub fn route(&mut self, now: Time, destination: Station) -> Option<&Route> {
        self.table.valid(now, destination).map(|route| &*route)
    }

    /// Extends the routes that a packet from `source` to `destination` uses. It came from the
    /// neighbour `previous`, unless it starts here (section 6.2).
    pub fn used(
        &mut self,
        now: Time,
        source: Station,
        destination: Station,
        previous: Option<Station>,
    ) {
        let next = self.next_hop(now, destination);
        for station in [Some(destination), next, Some(source), previous].into_iter().flatten() {
            if let Some(route) = self.table.valid(now, station) {
                route.expires = route.expires.max(now + ACTIVE_ROUTE_TIMEOUT);
            }
        }
    }

    /// Looks for a route to `destination`, unless a search is in progress (section 6.3).
    pub fn request(&mut self, now: Time, destination: Station) {
        if self.is_looking_for(destination) {
            return;
        }
        // Section 6.4: begin with the last known distance.
        let known = self.table.entry(now, destination).as_ref().map(|route| route.hops);
        let ttl = known.map_or(TTL_START, |hops| ring(hops.saturating_add(TTL_INCREMENT)));
        self.discover(now, destination, ttl, None);
    }

    /// Whether a route to `destination` is being looked for.
    pub fn is_looking_for(&self, destination: Station) -> bool {
        self.discoveries.iter().any(|discovery| discovery.destination == destination)
    }

    fn discover(&mut self, now: Time, destination: Station, ttl: u8, repairs: Option<u8>) {
        let tries = u32::from(ttl == NET_DIAMETER);
        let discovery = Discovery { destination, ttl, tries, deadline: now, held: true, repairs };
        self.discoveries.push(discovery);
        self.ask(now, self.discoveries.len() - 1);
    }

    /// Sends the request of a discovery, or delays it.
    fn ask(&mut self, now: Time, index: usize) {
        if let Some(free) = limited(&mut self.recent_requests, now) {
            let discovery = &mut self.discoveries[index];
            (discovery.held, discovery.deadline) = (true, free);
            return;
        }
        self.seq = self.seq.wrapping_add(1);
        self.request_id = self.request_id.wrapping_add(1);
        let Discovery { destination, ttl, tries, .. } = self.discoveries[index];
        let known = self.table.entry(now, destination).as_ref();
        let request = Request {
            hops: 0,
            ttl,
            id: self.request_id,
            destination,
            destination_seq: known.and_then(|route| route.seq),
            origin: self.me,
            origin_seq: self.seq,
        };
        self.outputs.push_back(Output::Send(Message::Request(request), None));
        let wait = if ttl == NET_DIAMETER {
            // Section 6.3: binary exponential backoff.
            NET_TRAVERSAL_TIME * (1 << (tries - 1))
        } else {
            NODE_TRAVERSAL_TIME * (2 * u64::from(ttl + TIMEOUT_BUFFER))
        };
        let discovery = &mut self.discoveries[index];
        (discovery.held, discovery.deadline) = (false, now + wait);
    }

    /// A request has not been answered in time (section 6.4).
    pub fn on_deadline(&mut self, now: Time) {
        while let Some(index) =
            self.discoveries.iter().position(|discovery| discovery.deadline <= now)
        {
            let discovery = &mut self.discoveries[index];
            if discovery.held {
                self.ask(now, index);
                continue;
            }
            let whole = discovery.ttl == NET_DIAMETER;
            if discovery.repairs.is_some() || whole && discovery.tries > RREQ_RETRIES {
                let Discovery { destination, repairs, .. } = self.discoveries.remove(index);
                self.outputs.push_back(Output::Failed(destination));
                if repairs.is_some() {
                    self.report(now, &[destination], false);
                }
                continue;
            }
            if !whole {
                discovery.ttl = ring(discovery.ttl + TTL_INCREMENT);
            }
            discovery.tries += u32::from(discovery.ttl == NET_DIAMETER);
            self.ask(now, index);
        }
    }

    /// A message of the neighbour `from`.
    pub fn on_message(&mut self, now: Time, from: Station, message: Message) {
        match message {
            Message::Request(request) => self.on_request(now, from, request),
            Message::Reply(reply) => self.on_reply(now, from, reply),
            Message::Error { unreachable, keep } => self.on_error(now, from, &unreachable, keep),
        }
    }

    /// `from` is a neighbour (section 6.5, first sentence).
    fn hear(&mut self, now: Time, from: Station) {
        let until = now + ACTIVE_ROUTE_TIMEOUT;
        let place = self.table.entry(now, from);
        match place {
            Some(route) if route.valid && route.hops == 1 => {
                route.expires = route.expires.max(until);
            }
            // A longer route with a sequence number is not replaced by one without.
            Some(route) if route.valid && route.seq.is_some() => {}
            Some(route) => {
                *route = Route { hops: 1, next: from, expires: until, valid: true, ..route.clone() }
            }
            None => {
                *place = Some(Route {
                    seq: None,
                    hops: 1,
                    next: from,
                    expires: until,
                    valid: true,
                    precursors: Vec::new(),
                });
            }
        }
    }

    /// Adds a route to the table if it is fresh or short enough. Returns true if it was added.
    fn learn(
        &mut self,
        now: Time,
        destination: Station,
        (seq, hops, next): (u32, u8, Station),
        until: Time,
    ) -> bool {
        let place = self.table.entry(now, destination);
        match place {
            Some(route) if !route.yields_to(seq, hops) => {
                if route.valid && route.next == next && route.seq == Some(seq) {
                    route.expires = route.expires.max(until);
                }
                false
            }
            Some(route) => {
                let expires = if route.valid { route.expires.max(until) } else { until };
                let precursors = std::mem::take(&mut route.precursors);
                *route = Route { seq: Some(seq), hops, next, expires, valid: true, precursors };
                true
            }
            None => {
                let precursors = Vec::new();
                let route =
                    Route { seq: Some(seq), hops, next, expires: until, valid: true, precursors };
                *place = Some(route);
                true
            }
        }
    }

    /// Section 6.5.
    fn on_request(&mut self, now: Time, from: Station, mut request: Request) {
        while self.seen.front().is_some_and(|(until, ..)| *until <= now) {
            self.seen.pop_front();
        }
        self.hear(now, from);
        let Request { origin, id, destination, .. } = request;
        let seen = |&(_, o, i): &(Time, Station, u32)| (o, i) == (origin, id);
        if origin == self.me || self.seen.iter().any(seen) {
            return;
        }
        self.seen.push_back((now + PATH_DISCOVERY_TIME, origin, id));
        request.hops = request.hops.saturating_add(1);
        let travelled = NODE_TRAVERSAL_TIME * (2 * u64::from(request.hops));
        let lifetime = (NET_TRAVERSAL_TIME * 2).saturating_sub(travelled);
        self.learn(now, origin, (request.origin_seq, request.hops, from), now + lifetime);
        if destination == self.me {
            // Section 6.6.1.
            if let Some(asked) = request.destination_seq
                && fresher(asked, self.seq)
            {
                self.seq = asked;
            }
            self.reply(from, &request, self.seq, 0, MY_ROUTE_TIMEOUT);
            return;
        }
        if let Some(route) = self.table.valid(now, destination)
            && let Some(seq) = route.seq
            && request.destination_seq.is_none_or(|asked| !fresher(asked, seq))
        {
            // Section 6.6.2. A neighbour that is the next hop itself cannot use this answer.
            let (hops, lifetime, next) = (route.hops, route.expires - now, route.next);
            if next != from {
                route.used_by(from);
                self.reply(from, &request, seq, hops, lifetime);
                if let Some(back) = self.table.valid(now, origin) {
                    back.used_by(next);
                }
                return;
            }
        }
        if request.ttl > 1 {
            request.ttl -= 1;
            let known = self.table.entry(now, destination).as_ref().and_then(|route| route.seq);
            request.destination_seq = match (request.destination_seq, known) {
                (Some(asked), Some(known)) if fresher(known, asked) => Some(known),
                (asked, known) => asked.or(known),
            };
            self.outputs.push_back(Output::Send(Message::Request(request), None));
        }
    }

    fn reply(&mut self, to: Station, request: &Request, seq: u32, hops: u8, lifetime: Duration) {
        let Request { destination, origin, .. } = *request;
        let reply = Reply { hops, destination, destination_seq: seq, origin, lifetime };
        self.outputs.push_back(Output::Send(Message::Reply(reply), Some(to)));
    }

    /// Section 6.7.
    fn on_reply(&mut self, now: Time, from: Station, mut reply: Reply) {
        self.hear(now, from);
        if reply.destination == self.me {
            return;
        }
        reply.hops = reply.hops.saturating_add(1);
        let Reply { hops, destination, destination_seq, origin, lifetime } = reply;
        let learned = self.learn(now, destination, (destination_seq, hops, from), now + lifetime);
        if origin == self.me {
            if self.table.valid(now, destination).is_some() {
                self.found(now, destination);
            }
            return;
        }
        if !learned {
            return;
        }
        let Some(back) = self.table.valid(now, origin) else { return };
        let next = back.next;
        back.expires = back.expires.max(now + ACTIVE_ROUTE_TIMEOUT);
        back.used_by(from);
        for station in [destination, from] {
            if let Some(route) = self.table.valid(now, station) {
                route.used_by(next);
            }
        }
        self.outputs.push_back(Output::Send(Message::Reply(reply), Some(next)));
        // If this router looks for the same route, it has it now.
        if self.is_looking_for(destination) {
            self.found(now, destination);
        }
    }

    /// A discovery has an answer.
    fn found(&mut self, now: Time, destination: Station) {
        let at = self.discoveries.iter().position(|found| found.destination == destination);
        let Some(at) = at else { return };
        let Discovery { repairs, .. } = self.discoveries.remove(at);
        self.outputs.push_back(Output::Found(destination));
        // Section 6.12: a repaired route that has become longer is reported, but remains valid.
        let hops = self.table.valid(now, destination).map_or(0, |route| route.hops);
        if repairs.is_some_and(|before| hops > before) {
            self.report(now, &[destination], true);
        }
    }

    /// Section 6.11, case iii.
    fn on_error(&mut self, now: Time, from: Station, unreachable: &[(Station, u32)], keep: bool) {
        let mut lost = Vec::new();
        for &(destination, seq) in unreachable {
            if let Some(route) = self.table.valid(now, destination)
                && route.next == from
            {
                if !keep {
                    route.invalidate(now, Some(seq));
                }
                lost.push(destination);
            }
        }
        self.report(now, &lost, keep);
    }

    /// The link layer could not reach the neighbour `next` with a packet for `destination`. Returns
    /// true if the route is being repaired here, so that the packet may wait (sections 6.11, case
    /// i, and 6.12).
    ///
    /// `packet` has the packet's source and destination. The source itself does not repair; it
    /// sends a new request.
    pub fn on_broken_link(
        &mut self,
        now: Time,
        next: Station,
        packet: Option<(Station, Station)>,
    ) -> bool {
        let mut lost = self.table.over(now, next);
        let mut repair = None;
        for &to in &lost {
            let route = self.table.valid(now, to).expect("it leads over the link");
            route.invalidate(now, None);
            let near = route.hops <= MAX_REPAIR_TTL;
            if near && packet.is_some_and(|(source, goal)| goal == to && source != self.me) {
                repair = Some((to, route.hops));
            }
        }
        if let (Some((to, hops)), Some((source, _))) = (repair, packet) {
            lost.retain(|lost| *lost != to);
            if !self.is_looking_for(to) {
                let back = self.table.valid(now, source).map_or(0, |route| route.hops);
                let ttl = hops.max(back / 2) + LOCAL_ADD_TTL;
                self.discover(now, to, ttl, Some(hops));
            }
        }
        self.report(now, &lost, false);
        packet.is_some_and(|(_, to)| self.is_looking_for(to))
    }

    /// A packet arrived for `destination`, to which there is no valid route (section 6.11, case
    /// ii).
    pub fn on_no_route(&mut self, now: Time, destination: Station, from: Option<Station>) {
        let place = self.table.entry(now, destination);
        if let Some(route) = place {
            if let Some(from) = from {
                route.used_by(from);
            }
            self.report(now, &[destination], false);
        } else if let Some(from) = from
            && limited(&mut self.recent_errors, now).is_none()
        {
            let message = Message::Error { unreachable: vec![(destination, 0)], keep: false };
            self.outputs.push_back(Output::Send(message, Some(from)));
        }
    }

    /// Tells the neighbours that use the routes to `lost`.
    fn report(&mut self, now: Time, lost: &[Station], keep: bool) {
        let mut users: Vec<Station> = Vec::new();
        let mut unreachable = Vec::new();
        for &destination in lost {
            let Some(route) = self.table.entry(now, destination) else { continue };
            if route.precursors.is_empty() {
                continue;
            }
            unreachable.push((destination, route.seq.unwrap_or(0)));
            for &user in &route.precursors {
                if !users.contains(&user) {
                    users.push(user);
                }
            }
            if !keep {
                route.precursors.clear();
            }
        }
        if unreachable.is_empty() || limited(&mut self.recent_errors, now).is_some() {
            return;
        }
        let to = (users.len() == 1).then(|| users[0]);
        self.outputs.push_back(Output::Send(Message::Error { unreachable, keep }, to));
    }
}

/// A ring of `ttl` hops, or the whole network above the threshold (section 6.4).
fn ring(ttl: u8) -> u8 {
    if ttl > TTL_THRESHOLD { NET_DIAMETER } else { ttl }
}

/// Counts an event against a limit per second. Returns when the next is allowed, if not now.
fn limited(recent: &mut VecDeque<Time>, now: Time) -> Option<Time> {
    let second = Duration::from_secs(1);
    while recent.front().is_some_and(|first| *first + second <= now) {
        recent.pop_front();
    }
    if recent.len() >= RATELIMIT {
        return recent.front().map(|first| *first + second);
    }
    recent.push_back(now);
    None
}
