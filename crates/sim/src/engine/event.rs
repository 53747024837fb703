//! The order of things: events and the queue that gives them back in order.

use crate::wireless::Wake;
use forebay_core::Time;

/// What happens. Each carries the index of whom it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A link's rate changes by schedule.
    RateChange(u32),
    /// A link is free to send its next packet.
    LinkFree(u32),
    /// The first packet of a lane arrives.
    Arrival(u32),
    /// A TCP sender's timer: retransmission, persist or pacing.
    SenderTimer(u32),
    /// A TCP receiver's timer: delayed acknowledgment.
    ReceiverTimer(u32),
    /// A box wants to be asked what it has to send.
    GuardTimer(u32),
    /// A datagram source sends.
    Datagram(u32),
    /// A scheduled transfer begins.
    Transfer(u32),
    /// Something in the wireless network.
    Wireless(Wake),
    /// The warm-up ends: measurements begin.
    WarmupEnd,
    /// A point of every time series is due.
    Sample,
}

impl Event {
    /// Order among events of the same instant: a link's new rate holds for what leaves then; a
    /// place that a departure frees is there for what arrives then; timers and sources follow; a
    /// measurement sees the instant's end, and the warm-up ends after a point that is due with it.
    fn rank(self) -> u64 {
        match self {
            Event::RateChange(_) => 0,
            Event::LinkFree(_) => 1,
            Event::Arrival(_) | Event::Wireless(Wake::FrameEnd(_)) => 2,
            Event::SenderTimer(_)
            | Event::ReceiverTimer(_)
            | Event::GuardTimer(_)
            | Event::Wireless(_) => 3,
            Event::Datagram(_) | Event::Transfer(_) => 4,
            Event::Sample => 5,
            Event::WarmupEnd => 6,
        }
    }
}

/// An event's place: time, then rank, then the order in which events were scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When.
    pub time: Time,
    /// Rank in the upper eight bits, sequence below.
    order: u64,
}

/// An agenda: an implicit heap of events in the order of their keys, with four children a node.
///
/// There are few entries (one a lane, a busy link or a timer, never one a packet), so that a plain
/// heap in one or two cache lines beats anything clever; and with 100 000 timers a heap of four has
/// half the levels of a binary one.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: Vec<(Key, Event)>,
}

const CHILDREN: usize = 4;

/// Numbers events in the order of their scheduling.
#[derive(Debug, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The key of the next event scheduled.
    #[inline]
    pub fn key(&mut self, time: Time, event: Event) -> Key {
        self.0 += 1;
        Key { time, order: event.rank() << 56 | self.0 }
    }
}

impl Agenda {
    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&(Key, Event)> {
        self.heap.first()
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, key: Key, event: Event) {
        self.heap.push((key, event));
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent].0 <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = (key, event);
    }

    /// Takes the first entry away.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts an entry in the first one's place: one walk down instead of a pop and a push.
    #[inline]
    pub fn replace_first(&mut self, key: Key, event: Event) {
        self.sink((key, event));
    }

    /// Fills the top with `entry`, moving earlier ones up.
    #[inline]
    fn sink(&mut self, entry: (Key, Event)) {
        let len = self.heap.len();
        let mut at = 0;
        loop {
            let first = CHILDREN * at + 1;
            if first >= len {
                break;
            }
            let mut child = first;
            for other in first + 1..(first + CHILDREN).min(len) {
                if self.heap[other].0 < self.heap[child].0 {
                    child = other;
                }
            }
            if entry.0 <= self.heap[child].0 {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_instant_is_ordered_by_rank_then_sequence() {
        let mut sequence = Sequence::default();
        let mut agenda = Agenda::default();
        let now = Time::from_nanos(5);
        let events = [Event::Sample, Event::Arrival(2), Event::Arrival(1), Event::LinkFree(0)];
        for event in events {
            agenda.push(sequence.key(now, event), event);
        }
        let mut order = Vec::new();
        while let Some(&(_, event)) = agenda.first() {
            order.push(event);
            agenda.pop();
        }
        assert_eq!(
            order,
            [Event::LinkFree(0), Event::Arrival(2), Event::Arrival(1), Event::Sample]
        );
    }

    proptest! {
        #[test]
        fn gives_back_in_order(times in proptest::collection::vec((0..50_u64, any::<bool>()), 1..200)) {
            let mut sequence = Sequence::default();
            let mut agenda = Agenda::default();
            let mut model = Vec::new();
            for (time, replace) in times {
                let key = sequence.key(Time::from_nanos(time), Event::Arrival(0));
                if replace && agenda.first().is_some() {
                    agenda.replace_first(key, Event::Arrival(0));
                    model.sort();
                    model[0] = key;
                } else {
                    agenda.push(key, Event::Arrival(0));
                    model.push(key);
                }
            }
            model.sort();
            for key in model {
                prop_assert_eq!(agenda.first().unwrap().0, key);
                agenda.pop();
            }
            prop_assert!(agenda.first().is_none());
        }
    }
}
