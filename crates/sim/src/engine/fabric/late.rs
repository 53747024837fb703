//! Links that are looked at late: what comes to them and leaves them is computed together, some time
//! afterwards, without an event each.
//!
//! What a link sends arrives only after the link's propagation delay, and until then nobody can know
//! what it did. So it is enough to look at it when the first thing it could have sent might arrive: all
//! packets that have come to it since lie in its lanes, in order. Whoever wants to see it earlier (a
//! point of a series, the end of the warm-up, of a run, or of a step) has it [settled](Fabric::settle)
//! before. Every packet meets the link at the same instants and in the same order as with an event each,
//! and is counted as such an event.
//!
//! That needs links of constant rate and delay, and lanes into them whose packets are known before they
//! arrive: over a delay, or over an access link. The others go on as before, as do all in a run that is
//! watched.

use super::cargo::Hold;
use super::{AHEAD, Course, Fabric, Lane, Link, Stop, Target, Ways};
use crate::engine::event::{Event, Key, Tally};
use crate::measure::UserMeter;
use forebay_core::{Capacity, Duration, Time, fetch};

/// Most lanes into a link that is looked at late: all of them are looked at for the first packet.
const FEW_LANES: usize = 4;

/// When a link is looked at.
#[derive(Debug)]
pub(super) struct Late {
    /// The lanes into it; none, if there is an event for each packet.
    lanes: Inbound,
    /// How much later than the first of what happens it is looked at.
    slack: Duration,
    /// When it will be by the agenda's entry that counts; others are stale. The end of time: never.
    due: Time,
}

impl Default for Late {
    fn default() -> Self {
        Late { lanes: Inbound::default(), slack: Duration::ZERO, due: Time::MAX }
    }
}

/// Lanes into a link.
#[derive(Debug, Clone, Copy, Default)]
struct Inbound {
    lanes: [u32; FEW_LANES],
    count: usize,
}

impl Inbound {
    fn new(lanes: &[u32]) -> Inbound {
        let mut inbound = Inbound { count: lanes.len(), ..Inbound::default() };
        inbound.lanes[..lanes.len()].copy_from_slice(lanes);
        inbound
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    #[inline]
    fn all(&self) -> &[u32] {
        &self.lanes[..self.count]
    }
}

impl Ways {
    /// Something happens to link `index`, which is looked at late, at `time`.
    #[inline(always)]
    pub(super) fn expect(&mut self, index: u32, time: Time) {
        let late = &mut self.late[index as usize];
        let at = time + late.slack;
        if at < late.due {
            late.due = at;
            let event = Event::CatchUp(index);
            self.moving.push(self.sequence.key(at, event, index), event);
        }
    }

    /// Over which of `lanes` the next packet comes.
    #[inline(never)]
    fn first_of(&self, lanes: &Inbound) -> u32 {
        let first = |lane: &&u32| self.lanes[**lane as usize].0.first().unwrap_or(Key::NEVER);
        *lanes.all().iter().min_by_key(first).expect("a link that is looked at late has lanes")
    }

    /// Whether lane `lane` leads into another part of the network.
    fn is_beyond(&self, lane: u32) -> bool {
        self.border.as_ref().is_some_and(|border| border.is_beyond(lane))
    }

    /// Whether link `index` is looked at late.
    #[inline]
    pub(super) fn is_late(&self, index: u32) -> bool {
        !self.late[index as usize].lanes.is_empty()
    }
}

impl Fabric {
    /// The entry at `key`, which is the first, is used up: link `index` is looked at, if it is not stale.
    pub fn catch_up(&mut self, key: Key, index: u32, users: &mut [UserMeter], tally: &mut Tally) {
        self.ways.moving.pop();
        let due = &mut self.ways.late[index as usize].due;
        if *due == key.time {
            *due = Time::MAX;
            // What comes at this very instant may not be known yet.
            self.look_at(index, key.time, users, tally);
        }
    }

    /// Brings all links that are looked at late up to `now`, all of whose events have been handled, and
    /// tells `users` of their losses.
    /// When the next thing happens to one of them.
    pub fn settle(&mut self, now: Time, users: &mut [UserMeter], tally: &mut Tally) -> Time {
        let until = now + Duration::from_nanos(1);
        let mut next = Time::MAX;
        for place in 0..self.ways.looked_late.len() {
            let index = self.ways.looked_late[place];
            next = next.min(self.look_at(index, until, users, tally));
        }
        self.lost.settle(users);
        next
    }

    /// Handles what happens to link `index` before `until`. When the next thing does.
    fn look_at(
        &mut self,
        index: u32,
        until: Time,
        users: &mut [UserMeter],
        tally: &mut Tally,
    ) -> Time {
        let lanes = self.ways.late[index as usize].lanes;
        let (mut lane, several) = (lanes.lanes[0], lanes.count > 1);
        let mut at = self.at(index, users, true);
        let next = loop {
            let free = at.link.armed().time;
            if several {
                lane = at.ways.first_of(&lanes);
            }
            let from = &mut at.ways.lanes[lane as usize].0;
            if let Some((arrival, id)) = from.take_before(free.min(until)) {
                if at.many {
                    let passes = (at.link.meter.waiting() as usize) < AHEAD;
                    foresee(from, &at.ways.stops, at.hold, passes);
                }
                at.enter(arrival, id, |flow| tally.note(arrival, flow));
            } else if free < until {
                // A place that a departure frees is there for what arrives then.
                at.link.woken();
                tally.note(free, at.link.number);
                at.poll(free);
            } else {
                break free.min(from.first_time());
            }
        };
        if next < Time::MAX {
            self.ways.expect(index, next);
        }
        next
    }

    /// Looks at links late from now on where that makes no difference; `apart` tells of a link whether
    /// others than lanes hand packets to it. Parts of a network look at links whenever they meet; where
    /// that is often, an event each costs less.
    pub fn look_late(&mut self, apart: impl Fn(u32) -> bool) {
        let border = self.ways.border.as_ref();
        let most = border.map_or(Duration::MAX, |border| border.lookahead.saturating_mul(2));
        let known = self.known_ahead();
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.links.len()];
        for (lane, (_, target)) in self.ways.lanes.iter().enumerate() {
            if let Target::Link(link) = target
                && !self.ways.is_beyond(lane as u32)
            {
                into[*link as usize].push(lane as u32);
            }
        }
        for (index, lanes) in into.into_iter().enumerate() {
            let few = (1..=FEW_LANES).contains(&lanes.len());
            let slack = self.links[index].slack().filter(|_| few && !apart(index as u32));
            let slack = slack.filter(|slack| *slack <= most);
            if let Some(slack) = slack.filter(|_| lanes.iter().all(|lane| known[*lane as usize])) {
                for &lane in &lanes {
                    self.ways.lanes[lane as usize].0.link = Some(index as u32);
                }
                let lanes = Inbound::new(&lanes);
                self.ways.late[index] = Late { lanes, slack, due: Time::MAX };
            }
        }
        let late = self.ways.late.iter().enumerate();
        let late = late.filter(|(_, late)| !late.lanes.is_empty());
        self.ways.looked_late = late.map(|(index, _)| index as u32).collect();
        // Their events are no longer on the agenda, but when they are looked at.
        let Ways { moving, late, lanes, .. } = &mut self.ways;
        moving.retain(|event| match event {
            Event::Arrival(lane) => lanes[lane as usize].0.link.is_none(),
            Event::LinkFree(link) => late[link as usize].lanes.is_empty(),
            _ => true,
        });
        for place in 0..self.ways.looked_late.len() {
            let index = self.ways.looked_late[place];
            self.look_at(index, Time::ZERO, &mut [], &mut Tally::default());
        }
    }

    /// Gives every packet its event again, from `now` on, up to which all links are settled.
    pub fn look_at_once(&mut self) {
        let Ways { sequence, moving, late, lanes, looked_late, .. } = &mut self.ways;
        looked_late.clear();
        moving.retain(|event| !matches!(event, Event::CatchUp(_)));
        for (index, late) in late.iter_mut().enumerate() {
            let into = std::mem::take(late).lanes;
            let link = &mut self.links[index];
            let time = link.armed().time;
            if time < Time::MAX && !into.is_empty() {
                let event = Event::LinkFree(index as u32);
                let key = sequence.key(time, event, link.number);
                link.woken();
                link.arm(key);
                moving.push(key, event);
            }
            for &lane in into.all() {
                let event = Event::Arrival(lane);
                let lane = &mut lanes[lane as usize].0;
                lane.link = None;
                lane.first().into_iter().for_each(|key| moving.push(key, event));
            }
        }
    }

    /// Of each lane, whether what enters it always arrives later than at that instant.
    fn known_ahead(&self) -> Vec<bool> {
        let Ways { lanes, stops, .. } = &self.ways;
        let mut known: Vec<bool> = vec![true; lanes.len()];
        // Where packets come from; a host at the beginning of a path, which follows the end of another.
        // What comes from another part of the network is known when the parts last met.
        let (mut from, mut is_beyond) = (Target::Host, false);
        for stop in stops {
            let (lane, target) = &lanes[stop.lane as usize];
            let waits = match from {
                Target::Link(_) if is_beyond => true,
                Target::Link(link) => self.links[link as usize].slack().is_some(),
                _ => false,
            };
            known[stop.lane as usize] &= waits || lane.wire.is_some_and(|wire| wire.takes_time());
            (from, is_beyond) = (*target, self.ways.is_beyond(stop.lane));
        }
        known
    }
}

/// Fetches what those that arrive later over `lane`, which leads to a link, will touch: of their ways
/// only if the link's queue is so short that they leave it soon.
// Not inlined, so that it costs nothing where it is not called.
#[inline(never)]
fn foresee(lane: &Lane, stops: &[Stop], hold: &Hold, passes: bool) {
    lane.fetch(4 * AHEAD);
    lane.after(2 * AHEAD).into_iter().for_each(|id| hold.fetch_packet(id));
    if passes && let Some(id) = lane.after(AHEAD) {
        stops.get(hold.look(id).stop as usize + 1).into_iter().for_each(fetch);
    }
}

impl Link {
    /// The time between what happens to it and what that can bring about, if it is always the same.
    fn slack(&self) -> Option<Duration> {
        match (&self.delay, self.port.capacity()) {
            (Course::Constant(delay), Capacity::Constant { .. }) => {
                Some(*delay).filter(|delay| *delay > Duration::ZERO)
            }
            _ => None,
        }
    }
}
