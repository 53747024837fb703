//! Lazy links: which links can be lazy, and how one is advanced.

use super::Fabric;
use super::advance::{Advance, FEW_PIPES, Inbound, Lazy, Moving, Usual};
use super::paths::Paths;
use super::pipe::Target;
use crate::engine::event::{Event, Key, Tally};
use crate::measure::UserMeter;
use forebay_core::{Duration, Time};

impl Fabric {
    /// Removes the first entry of the agenda, at `key`, and advances lazy link `index` unless it is stale.
    pub fn catch_up(&mut self, key: Key, index: u32, users: &mut [UserMeter], tally: &mut Tally) {
        self.paths.moving.agenda.pop();
        let due = &mut self.paths.moving.lazy[index as usize].due;
        if *due == key.time {
            *due = Time::MAX;
            // Not all arrivals at this very time are known yet.
            self.advance(index, key.time, users, tally);
        }
    }

    /// Advances all lazy links up to `now`, all of whose events have been handled, and reports losses to
    /// `users`. Returns when the next packet arrives at one of these links or leaves it.
    pub fn settle(&mut self, now: Time, users: &mut [UserMeter], tally: &mut Tally) -> Time {
        let until = now + Duration::from_nanos(1);
        let mut next = Time::MAX;
        for place in 0..self.lazy_links.len() {
            next = next.min(self.advance(self.lazy_links[place], until, users, tally));
        }
        self.lost.settle(users);
        next
    }

    /// Handles all arrivals at lazy link `index` and departures before `until`, in order, and counts them
    /// as events. Returns the time of the next one.
    fn advance(
        &mut self,
        index: u32,
        until: Time,
        users: &mut [UserMeter],
        tally: &mut Tally,
    ) -> Time {
        let pipes = self.paths.moving.lazy[index as usize].pipes;
        let (mut pipe, several) = (pipes.all()[0], pipes.all().len() > 1);
        let mut service = self.service::<Lazy>(index, users);
        let next = loop {
            let free = service.link.armed().time;
            if several {
                pipe = service.paths.first_of(&pipes);
            }
            let from = &mut service.paths.pipes[pipe as usize];
            if let Some((arrival, id)) = from.take_before(free.min(until)) {
                service.prefetch_arrivals(pipe);
                service.arrive(arrival, id, |flow| tally.note(arrival, flow));
            } else if free < until {
                // A departure makes room for an arrival at the same time.
                service.link.woken();
                tally.note(free, service.link.number);
                service.send_next(free);
            } else {
                break free.min(from.first_time());
            }
        };
        if next < Time::MAX {
            Lazy::expect(&mut self.paths.moving, index, next);
        }
        next
    }

    /// Makes all links lazy that can be; results do not change. `has_box` says whether a box passes
    /// packets to a link.
    ///
    /// A link can be lazy if its rate and delay are constant, and if packets of all pipes into it are known
    /// before they arrive, because they need some time on the way. In a part of a network, lazy links are
    /// advanced at every meeting of the parts; if meetings are frequent, eager ones cost less.
    pub fn advance_lazily(&mut self, has_box: impl Fn(u32) -> bool) {
        debug_assert!(self.lazy_links.is_empty());
        let border = self.paths.border.as_ref();
        let most = border.map_or(Duration::MAX, |border| border.lookahead.saturating_mul(2));
        let known = self.known_ahead();
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.links.len()];
        for (index, pipe) in (0..).zip(&self.paths.pipes) {
            if let Target::Link(link) = pipe.target
                && !self.paths.is_beyond(index)
            {
                into[link as usize].push(index);
            }
        }
        for (index, pipes) in into.iter().enumerate() {
            let can = (1..=FEW_PIPES).contains(&pipes.len())
                && !has_box(index as u32)
                && pipes.iter().all(|pipe| known[*pipe as usize]);
            if let Some(lag) = self.links[index].lag().filter(|lag| can && *lag <= most) {
                pipes.iter().for_each(|&pipe| self.paths.pipes[pipe as usize].is_lazy = true);
                self.paths.moving.lazy[index] = Lazy::new(pipes, lag);
                self.lazy_links.push(index as u32);
            }
        }
        let Paths { moving: Moving { agenda, lazy, .. }, pipes, .. } = &mut self.paths;
        agenda.retain(|event| match event {
            Event::Arrival(pipe) => !pipes[pipe as usize].is_lazy,
            Event::LinkFree(link) => lazy[link as usize].pipes.is_empty(),
            _ => true,
        });
        // Handles nothing, but makes an agenda entry for each.
        for place in 0..self.lazy_links.len() {
            self.advance(self.lazy_links[place], Time::ZERO, &mut [], &mut Tally::default());
        }
    }

    /// Makes all links eager. They have been settled.
    pub fn advance_eagerly(&mut self) {
        self.paths.moving.agenda.retain(|event| !matches!(event, Event::Advance(_)));
        for index in self.lazy_links.drain(..) {
            let Lazy { pipes, .. } = std::mem::take(&mut self.paths.moving.lazy[index as usize]);
            let link = &mut self.links[index as usize];
            let free = link.armed().time;
            link.woken();
            Usual::expect_free(&mut self.paths.moving, link, index, free);
            for &index in pipes.all() {
                let pipe = &mut self.paths.pipes[index as usize];
                pipe.is_lazy = false;
                let target = pipe.target;
                if let Some(key) = pipe.first() {
                    Usual::expect_arrival(&mut self.paths.moving, index, target, key);
                }
            }
        }
    }

    /// By pipe, whether its packets are known before the time at which they arrive.
    fn known_ahead(&self) -> Vec<bool> {
        let Paths { pipes, stops, .. } = &self.paths;
        let mut known: Vec<bool> = vec![true; pipes.len()];
        // The place from which packets come: a host at the beginning of a path, which follows the end of
        // another path. Packets of another part of the network are known since the parts last met.
        let (mut from, mut is_beyond) = (Target::Host, false);
        for stop in stops {
            let pipe = &pipes[stop.pipe as usize];
            let delayed = match from {
                Target::Link(_) if is_beyond => true,
                Target::Link(link) => self.links[link as usize].lag().is_some(),
                _ => false,
            };
            let takes_time = pipe.access.is_some_and(|access| access.takes_time());
            known[stop.pipe as usize] &= delayed || takes_time;
            (from, is_beyond) = (pipe.target, self.paths.is_beyond(stop.pipe));
        }
        known
    }
}

impl Paths {
    /// The one of `pipes` from which the next packet arrives.
    #[inline(never)]
    fn first_of(&self, pipes: &Inbound) -> u32 {
        let first = |pipe: &&u32| self.pipes[**pipe as usize].first().unwrap_or(Key::NEVER);
        *pipes.all().iter().min_by_key(first).expect("a lazy link has pipes")
    }
}
