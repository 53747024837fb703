//! AODV on graphs of routers: messages travel between neighbours, with delays and losses.

use super::constants::*;
use super::*;
use forebay_core::{Rng, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Routers, who are neighbours, and messages on their way.
struct Net {
    routers: Vec<Router>,
    links: Vec<(Station, Station)>,
    /// (arrival, number) to (from, to, message).
    air: BTreeMap<(Time, u64), (Station, Station, Message)>,
    sent: u64,
    now: Time,
    rng: Rng,
    /// Probability that a message is lost.
    loss: f64,
    log: Vec<(Station, Output)>,
}

impl Net {
    fn new(stations: u16, links: &[(Station, Station)]) -> Self {
        Net {
            routers: (0..stations).map(Router::new).collect(),
            links: links.to_vec(),
            air: BTreeMap::new(),
            sent: 0,
            now: Time::ZERO + Duration::from_secs(1),
            rng: Rng::named(1, "net"),
            loss: 0.0,
            log: Vec::new(),
        }
    }

    /// 0 - 1 - 2 - ... in a row.
    fn row(stations: u16) -> Self {
        let links: Vec<_> = (1..stations).map(|to| (to - 1, to)).collect();
        Net::new(stations, &links)
    }

    fn linked(&self, a: Station, b: Station) -> bool {
        self.links.contains(&(a, b)) || self.links.contains(&(b, a))
    }

    fn router(&mut self, station: Station) -> &mut Router {
        &mut self.routers[usize::from(station)]
    }

    /// Sends what the routers want sent; each hop takes 1 to 9 ms.
    fn collect(&mut self) {
        for from in 0..self.routers.len() as Station {
            while let Some(output) = self.router(from).poll() {
                self.log.push((from, output.clone()));
                let Output::Send(message, to) = output else { continue };
                for neighbour in 0..self.routers.len() as Station {
                    let meant = to.is_none_or(|to| to == neighbour);
                    if meant && self.linked(from, neighbour) && !self.rng.chance(self.loss) {
                        let delay = Duration::from_millis(1 + self.rng.below(9));
                        self.sent += 1;
                        let key = (self.now + delay, self.sent);
                        self.air.insert(key, (from, neighbour, message.clone()));
                    }
                }
            }
        }
    }

    /// Lets time go on to `until`.
    fn run(&mut self, until: Time) {
        loop {
            self.collect();
            let message = self.air.keys().next().map(|(time, _)| *time);
            let timer = self.routers.iter().filter_map(Router::deadline).min();
            let next = message.into_iter().chain(timer).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = next;
            if message == Some(next) {
                let (_, (from, to, message)) = self.air.pop_first().expect("it is there");
                let now = self.now;
                self.router(to).on_message(now, from, message);
            } else {
                let now = self.now;
                self.routers.iter_mut().for_each(|router| router.on_deadline(now));
            }
            self.assert_no_loop();
        }
        self.now = until;
    }

    fn after(&mut self, millis: u64) {
        self.run(self.now + Duration::from_millis(millis));
    }

    /// Follows the next hops from `from` to `to`.
    fn path(&mut self, from: Station, to: Station) -> Vec<Station> {
        let mut path = vec![from];
        while let Some(next) =
            self.routers[usize::from(path[path.len() - 1])].next_hop(self.now, to)
        {
            path.push(next);
            if next == to || path.len() > self.routers.len() {
                break;
            }
        }
        path
    }

    fn assert_no_loop(&mut self) {
        let all = 0..self.routers.len() as Station;
        for to in all.clone() {
            for from in all.clone().filter(|from| *from != to) {
                let path = self.path(from, to);
                assert!(path.len() <= self.routers.len(), "a loop: {path:?} to {to}");
            }
        }
    }

    fn requests(&self, of: Station) -> Vec<u8> {
        let rings = self.log.iter().filter_map(|(from, output)| match output {
            Output::Send(Message::Request(request), _) if *from == of && request.hops == 0 => {
                Some(request.ttl)
            }
            _ => None,
        });
        rings.collect()
    }
}

#[test]
fn rings_grow_until_the_destination_answers() {
    let mut net = Net::row(6);
    let now = net.now;
    net.router(0).request(now, 4);
    net.after(2000);
    // Section 6.4: 1, then 3, then 5 hops; the destination is four away.
    assert_eq!(net.requests(0), [1, 3, 5]);
    assert_eq!(net.path(0, 4), [0, 1, 2, 3, 4]);
    assert_eq!(net.path(4, 0), [4, 3, 2, 1, 0], "the reverse route");
    let (hops, seq) = {
        let now = net.now;
        let route = net.router(0).route(now, 4).unwrap();
        (route.hops, route.seq)
    };
    assert_eq!((hops, seq), (4, Some(0)));
    assert!(net.log.contains(&(0, Output::Found(4))));
    // Station 5 was never asked beyond the ring.
    assert!(!net.log.iter().any(|(from, _)| *from == 5));
}

#[test]
fn who_knows_a_fresh_route_answers() {
    let mut net = Net::row(5);
    let now = net.now;
    net.router(1).request(now, 4);
    net.after(1000);
    let before = net.log.len();
    let now = net.now;
    net.router(0).request(now, 4);
    net.after(100);
    // Station 1 answers at once. No other station sends a message.
    assert_eq!(net.path(0, 4), [0, 1, 2, 3, 4]);
    assert!(net.log[before..].iter().all(|(from, _)| *from <= 1));
}

#[test]
fn an_unreachable_destination_is_given_up_after_three_whole_floods() {
    let mut net = Net::row(3);
    net.links.pop();
    let now = net.now;
    net.router(0).request(now, 2);
    net.after(60_000);
    assert_eq!(net.requests(0), [1, 3, 5, 7, 35, 35, 35]);
    assert_eq!(net.log.last(), Some(&(0, Output::Failed(2))));
}

#[test]
fn routes_end_when_nobody_uses_them() {
    let mut net = Net::row(3);
    let now = net.now;
    net.router(0).request(now, 2);
    net.after(1000);
    for _ in 0..10 {
        net.after(1000);
        let now = net.now;
        for (station, previous) in [(0, None), (1, Some(0)), (2, Some(1))] {
            net.router(station).used(now, 0, 2, previous);
        }
    }
    assert_eq!(net.path(0, 2), [0, 1, 2], "in use");
    net.after(2999);
    assert_eq!(net.path(0, 2), [0, 1, 2]);
    net.after(1);
    assert_eq!(net.path(0, 2), [0], "ACTIVE_ROUTE_TIMEOUT is 3 s");
}

#[test]
fn a_broken_link_is_told_to_those_who_use_it() {
    let mut net = Net::row(5);
    let now = net.now;
    net.router(0).request(now, 4);
    net.after(2000);
    net.links.retain(|link| *link != (3, 4));
    // A packet whose destination is the lost neighbour, 1 hop from 3: 3 tries a repair first.
    let now = net.now;
    assert!(net.router(3).on_broken_link(now, 4, Some((0, 4))));
    net.after(3000);
    assert_eq!(net.path(0, 4), [0], "the errors went back to the source");
    let errors = net.log.iter().filter(|(_, output)| {
        matches!(output, Output::Send(Message::Error { keep: false, .. }, Some(_)))
    });
    assert_eq!(errors.count(), 3, "3 to 2 to 1 to 0, each to its one precursor");
}

#[test]
fn a_route_is_repaired_where_it_broke() {
    // 0 - 1 - 2 - 3 - 4, and a way around from 2 over 5 and 6 to 4.
    let mut net = Net::new(7, &[(0, 1), (1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (6, 4)]);
    let now = net.now;
    net.router(0).request(now, 4);
    net.after(2000);
    assert_eq!(net.path(0, 4), [0, 1, 2, 3, 4]);
    net.links.retain(|link| *link != (2, 3));
    let now = net.now;
    assert!(net.router(2).on_broken_link(now, 3, Some((0, 4))), "the packet may wait");
    net.after(1000);
    assert!(net.log.contains(&(2, Output::Found(4))));
    assert_eq!(net.path(0, 4), [0, 1, 2, 5, 6, 4], "the source has not asked again");
    assert_eq!(net.requests(0), [1, 3, 5]);
    // It is longer now: reported with the N flag, and still valid (section 6.12).
    let kept = net
        .log
        .iter()
        .filter(|(_, output)| matches!(output, Output::Send(Message::Error { keep: true, .. }, _)));
    assert_eq!(kept.count(), 2, "2 to 1 to 0");
}

#[test]
fn ten_requests_a_second_at_most() {
    let mut net = Net::new(30, &[]);
    let now = net.now;
    for destination in 1..25 {
        net.router(0).request(now, destination);
    }
    net.after(999);
    assert_eq!(net.requests(0).len(), RATELIMIT);
    net.after(1000);
    assert_eq!(net.requests(0).len(), 2 * RATELIMIT);
}

#[test]
fn sequence_numbers_roll_over() {
    assert!(table::fresher(1, 0) && !table::fresher(0, 0) && table::fresher(0, u32::MAX));
    assert!(!table::fresher(u32::MAX, 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever links come and go, and whatever messages are lost: no loops, ever.
    #[test]
    fn routes_never_turn_in_circles(
        edges in proptest::collection::vec((0..8_u16, 0..8_u16), 6..20),
        steps in proptest::collection::vec((0..4_u8, 0..8_u16, 0..8_u16, 1..2500_u64), 5..40),
        loss in 0.0..0.4_f64,
    ) {
        let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
        let mut net = Net::new(8, &edges);
        net.loss = loss;
        for (what, a, b, wait) in steps {
            let now = net.now;
            match what {
                0 | 1 if a != b => net.router(a).request(now, b),
                // A packet of some source meets a broken link.
                2 => {
                    if let Some(next) = net.router(a).next_hop(now, b) {
                        net.links.retain(|link| *link != (a, next) && *link != (next, a));
                        net.router(a).on_broken_link(now, next, Some((wait as Station % 8, b)));
                    }
                }
                3 if a != b => net.links.push((a, b)),
                _ => {}
            }
            net.after(wait);
        }
    }
}
