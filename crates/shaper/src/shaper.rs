//! A port whose discipline can be replaced while packets wait in it.

use crate::plan::{Built, Plan};
use crate::record::{Operation, Recorder};
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Capacity, ConfigError, Context, DropReason, Packet, Poll, Port, Rng, Sink, Time,
    Verdict,
};
use forebay_disciplines::Disciplines;
use forebay_disciplines::kinds::same_shape;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Number of earlier ports whose packets may wait: each may have a tree of ten thousand circuits.
pub const MOST_EARLIER: usize = 4;

/// A port, and the earlier ports in which packets still wait.
///
/// If the plan changes, the new plan gets a port of its own. Packets in the old port leave first,
/// at the link's rate, and arriving packets join the new one. So a change drops nothing and keeps
/// the order. A tree of circuits stays if its shape does; otherwise the new tree is served while the
/// old one holds packets back, and these may be overtaken.
pub struct Shaper {
    /// The last one takes arriving packets; the first one is served.
    ports: VecDeque<Port>,
    /// Earlier ports that have become empty.
    spent: Vec<Port>,
    plan: Plan,
    /// Whether its queue is a tree.
    is_tree: bool,
    disciplines: Arc<Disciplines>,
    rng: Rng,
    free_at: Time,
    recorder: Option<Recorder>,
    /// When the capacity that it follows changes its rate next.
    next_change: Option<Time>,
}

impl fmt::Debug for Shaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shaper")
            .field("plan", &self.plan)
            .field("backlog", &self.backlog())
            .finish_non_exhaustive()
    }
}

impl Shaper {
    /// The shaper for `plan`, whose queue is one of `disciplines`. `seed` is for the discipline's
    /// random numbers.
    ///
    /// # Errors
    /// A rate of zero, or an error in the queue, with its path.
    pub fn new(plan: Plan, seed: u64, disciplines: &Arc<Disciplines>) -> Result<Self, ConfigError> {
        Ok(Shaper::with(plan.build(disciplines)?, seed, disciplines))
    }

    /// As [`Shaper::new`], with a discipline that was built before.
    pub fn with(built: Built, seed: u64, disciplines: &Arc<Disciplines>) -> Self {
        let Built { plan, discipline } = built;
        let (is_tree, ports) = (plan.is_tree(), VecDeque::from([plan.around(discipline)]));
        let rng = Rng::named(seed, "shaper");
        let disciplines = Arc::clone(disciplines);
        Shaper {
            ports,
            spent: Vec::new(),
            plan,
            is_tree,
            disciplines,
            rng,
            free_at: Time::ZERO,
            recorder: None,
            next_change: None,
        }
    }

    /// Records everything from now on. Call it before the first packet.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Lets the link have `capacity`, by the clock of its callers. Call it before the first packet;
    /// a change of the plan ends it.
    pub fn follow(&mut self, capacity: Capacity) {
        self.next_change = capacity.next_change(Time::ZERO);
        self.ports.iter_mut().for_each(|port| port.set_capacity(capacity.clone()));
    }

    /// Tells the discipline of a rate that has changed by its schedule.
    #[inline]
    fn keep_up(&mut self, now: Time) {
        if self.next_change.is_some_and(|at| at <= now) {
            for port in &mut self.ports {
                port.rate_changed(now);
                self.next_change = port.capacity().next_change(now);
            }
        }
    }

    /// The current plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Changes to `plan` from `now` on.
    ///
    /// # Errors
    /// As [`Shaper::new`]. Nothing has changed then.
    pub fn change(&mut self, plan: Plan, now: Time) -> Result<(), ConfigError> {
        drop(self.exchange(plan.build(&self.disciplines)?, now));
        Ok(())
    }

    /// As [`Shaper::change`], with a discipline that was built before. Returns what is no longer
    /// needed: to drop it may take as long as to build it.
    pub fn exchange(&mut self, built: Built, now: Time) -> Box<dyn Any + Send> {
        let Built { plan, mut discipline } = built;
        let only_rate = plan.only_rate(&self.plan);
        if only_rate && plan.rate == self.plan.rate {
            return Box::new((plan, discipline));
        }
        let port = self.ports.back_mut().expect("there is always a port");
        let stays = only_rate || plan.keeps(&self.plan) && port.retune(now, &mut *discipline);
        let spare = if stays {
            Some(discipline)
        } else {
            self.ports.push_back(plan.around(discipline));
            self.set_aside();
            None
        };
        for port in &mut self.ports {
            port.set_rate(now, plan.rate);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.write(now, &Operation::Change(plan.clone()));
        }
        self.is_tree = plan.is_tree();
        Box::new((std::mem::replace(&mut self.plan, plan), spare, self.clear()))
    }

    /// Whether a change to `built` needs no more than [`MOST_EARLIER`] earlier ports that hold packets.
    pub fn has_room(&self, built: &Built) -> bool {
        let port = self.ports.back().expect("there is always a port");
        let stays = built.plan.only_rate(&self.plan)
            || built.plan.keeps(&self.plan) && same_shape(port.discipline(), &*built.discipline);
        let holding = self.ports.iter().filter(|port| port.backlog().packets > 0).count();
        stays || holding <= MOST_EARLIER
    }

    /// Removes earlier ports that are empty, and returns them: to drop one may take as long as to build
    /// it.
    pub fn clear(&mut self) -> Vec<Port> {
        self.set_aside();
        std::mem::take(&mut self.spent)
    }

    /// Number of earlier ports that hold packets.
    pub fn earlier(&self) -> usize {
        self.ports.iter().rev().skip(1).filter(|port| port.backlog().packets > 0).count()
    }

    fn set_aside(&mut self) {
        let mut place = 0;
        while place + 1 < self.ports.len() {
            if self.ports[place].backlog().packets > 0 {
                place += 1;
            } else {
                self.spent.extend(self.ports.remove(place));
            }
        }
    }

    /// Passes an arriving packet to the discipline. Times must not decrease from call to call.
    #[inline]
    pub fn offer(&mut self, packet: Packet, now: Time, sink: &mut dyn Sink) -> Verdict {
        self.keep_up(now);
        let port = self.ports.back_mut().expect("there is always a port");
        let Some(recorder) = &mut self.recorder else {
            return port.offer(packet, &mut Context::new(now, &mut self.rng, sink));
        };
        recorder.write(now, &Operation::offer(&packet));
        let mut sink = Tee { sink, recorder, now };
        let verdict = port.offer(packet, &mut Context::new(now, &mut self.rng, &mut sink));
        recorder.write(now, &Operation::Verdict(verdict));
        verdict
    }

    /// Starts the next transmission if the link is free.
    #[inline]
    pub fn poll(&mut self, now: Time, sink: &mut dyn Sink) -> Poll {
        self.keep_up(now);
        if now < self.free_at {
            let waits = self.ports.iter().any(|port| port.backlog().packets > 0);
            return if waits { Poll::Until(self.free_at) } else { Poll::Idle };
        }
        // A tree holds packets back for seconds; the circuits of a new one need not wait for them.
        let may_overtake = self.is_tree;
        let poll = match &mut self.recorder {
            None => {
                let ports = (&mut self.ports, &mut self.spent);
                serve(ports, may_overtake, &mut self.rng, now, sink)
            }
            Some(recorder) => {
                recorder.write(now, &Operation::Poll);
                let mut sink = Tee { sink, recorder, now };
                let ports = (&mut self.ports, &mut self.spent);
                let poll = serve(ports, may_overtake, &mut self.rng, now, &mut sink);
                recorder.write(now, &Operation::answer(&poll, now));
                poll
            }
        };
        if let Poll::Send { done_at, .. } = &poll {
            self.free_at = *done_at;
        }
        poll
    }

    /// The waiting packets.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.ports.iter().map(Port::backlog).fold(Backlog::default(), |sum, more| Backlog {
            packets: sum.packets + more.packets,
            bytes: sum.bytes + more.bytes,
        })
    }

    /// When the last transmission ends or ended, as [`Port::free_at`].
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// The fault of the current discipline, if it broke the contract.
    pub fn fault(&self) -> Option<String> {
        self.ports.back().and_then(Port::fault)
    }

    /// Reports the discipline's internal variables.
    pub fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(port) = self.ports.back() {
            port.probe(now, out);
        }
    }

    /// Bytes recorded so far, and whether the recording continues.
    pub fn recorded(&self) -> Option<(u64, bool)> {
        self.recorder.as_ref().map(|recorder| (recorder.bytes(), recorder.is_open()))
    }

    /// Ends the recording, if there is one.
    ///
    /// # Errors
    /// A write failed, now or earlier.
    pub fn finish(&mut self) -> io::Result<()> {
        self.recorder.take().map_or(Ok(()), Recorder::finish)
    }
}

/// Serves the oldest port with waiting packets, and moves earlier empty ones to `spent`. If that port
/// waits and newer ones need not, they are served meanwhile.
#[inline]
fn serve(
    (ports, spent): (&mut VecDeque<Port>, &mut Vec<Port>),
    may_overtake: bool,
    rng: &mut Rng,
    now: Time,
    sink: &mut dyn Sink,
) -> Poll {
    let (mut place, mut soonest) = (0, Poll::Idle);
    loop {
        let last = place + 1 == ports.len();
        let poll = ports[place].poll(&mut Context::new(now, rng, sink));
        match (&poll, &soonest) {
            (Poll::Send { .. }, _) => return poll,
            (Poll::Idle, _) if !last => {
                spent.extend(ports.remove(place));
                continue;
            }
            (Poll::Until(time), Poll::Until(before)) if time >= before => {}
            (Poll::Until(_), _) => soonest = poll,
            (Poll::Idle, _) => {}
        }
        if last || !may_overtake {
            return soonest;
        }
        place += 1;
    }
}

/// A sink that records what it passes on.
struct Tee<'a> {
    sink: &'a mut dyn Sink,
    recorder: &'a mut Recorder,
    now: Time,
}

impl Sink for Tee<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.recorder.write(self.now, &Operation::Dropped { id: packet.id, reason });
        self.sink.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        self.recorder.write(self.now, &Operation::Marked { id: packet.id });
        self.sink.marked(packet);
    }

    fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        let header = self.sink.tcp_header(arriving);
        if let Some(header) = header {
            self.recorder.write(self.now, &Operation::TcpHeader(header));
        }
        header
    }

    fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
        self.sink.bytes(arriving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Rate;
    use serde_json::{Value, json};

    struct Count(u32);

    impl Sink for Count {
        fn dropped(&mut self, packet: Packet, _: DropReason) {
            packet.retire();
            self.0 += 1;
        }
        fn marked(&mut self, _: &Packet) {}
    }

    fn plan(rate: u64, queue: Value) -> Plan {
        Plan { rate: Rate::from_bps(rate), overhead: 0, mtu: 1500, queue }
    }

    /// 1000 B at 8 Mbit/s take 1 ms.
    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn sent(shaper: &mut Shaper, now: Time, sink: &mut Count) -> Option<u32> {
        match shaper.poll(now, sink) {
            Poll::Send { packet, .. } => Some(packet.retire()),
            _ => None,
        }
    }

    #[test]
    fn an_exchange_drops_nothing_and_keeps_the_order() {
        let mut sink = Count(0);
        let mut shaper = Shaper::new(
            plan(8_000_000, json!({ "kind": "fifo" })),
            1,
            &Disciplines::builtin().into(),
        )
        .unwrap();
        for id in 0..10 {
            shaper.offer(Packet::new(id, 0, 1000), ms(0), &mut sink);
        }
        assert_eq!(sent(&mut shaper, ms(0), &mut sink), Some(0));
        // The new queue has room for two packets; nine wait in the old one.
        let small = plan(8_000_000, json!({ "kind": "fifo", "limit": "2p" }));
        shaper.change(small, ms(0)).unwrap();
        for id in 10..13 {
            shaper.offer(Packet::new(id, 0, 1000), ms(0), &mut sink);
        }
        assert_eq!((shaper.backlog().packets, sink.0), (11, 1));
        assert_eq!((shaper.earlier(), shaper.clear().len()), (1, 0));
        // The link is busy until 1 ms, in spite of the change.
        assert_eq!(sent(&mut shaper, Time::from_nanos(999_999), &mut sink), None);
        let order: Vec<_> =
            (1..=11).map(|at| sent(&mut shaper, ms(at), &mut sink).unwrap()).collect();
        assert_eq!(order, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(shaper.poll(ms(12), &mut sink), Poll::Idle);
        assert_eq!((shaper.earlier(), shaper.clear().len(), shaper.clear().len()), (0, 1, 0));
    }

    #[test]
    fn a_new_rate_alone_keeps_the_discipline() {
        let mut sink = Count(0);
        let mut shaper = Shaper::new(
            plan(8_000_000, json!({ "kind": "codel" })),
            1,
            &Disciplines::builtin().into(),
        )
        .unwrap();
        for id in 0..3 {
            shaper.offer(Packet::new(id, 0, 1000), ms(0), &mut sink);
        }
        shaper.change(plan(4_000_000, json!({ "kind": "codel" })), ms(0)).unwrap();
        assert_eq!(shaper.ports.len(), 1);
        assert_eq!(sent(&mut shaper, ms(0), &mut sink), Some(0));
        assert_eq!(shaper.poll(ms(1), &mut sink), Poll::Until(ms(2)));
        assert_eq!(sent(&mut shaper, ms(2), &mut sink), Some(1));
        assert_eq!(shaper.backlog().packets, 1);
    }

    #[test]
    fn only_what_needs_another_queue_finds_no_room() {
        let (mut sink, disciplines) = (Count(0), Arc::new(Disciplines::builtin()));
        let tree = |rates: &[&str]| {
            let classes: Vec<_> = rates.iter().map(|rate| json!({ "rate": rate })).collect();
            json!({ "kind": "htb", "classes": classes })
        };
        let mut shaper =
            Shaper::new(plan(8_000_000, json!({ "kind": "codel" })), 1, &disciplines).unwrap();
        for id in 0..6_u32 {
            let queue = tree(&vec!["1kbit"; 2 + id as usize]);
            shaper.change(plan(8_000_000, queue), ms(0)).unwrap();
            // Without a packet a queue does not stay.
            assert_eq!(shaper.earlier(), id.saturating_sub(1) as usize);
            if id > 0 {
                shaper.offer(Packet::new(id, 0, 1000), ms(0), &mut sink);
            }
        }
        let has_room =
            |queue: Value| shaper.has_room(&plan(1_000_000, queue).build(&disciplines).unwrap());
        assert!(has_room(tree(&["1kbit"; 7])));
        assert!(has_room(tree(&["2kbit"; 7])));
        assert!(!has_room(tree(&["1kbit"; 8])));
        assert!(!has_room(json!({ "kind": "fifo" })));
    }

    #[test]
    fn a_wrong_plan_changes_nothing() {
        let mut shaper = Shaper::new(
            plan(8_000_000, json!({ "kind": "fifo" })),
            1,
            &Disciplines::builtin().into(),
        )
        .unwrap();
        let before = shaper.plan().clone();
        let wrong = json!({ "kind": "codel", "target": "-5ms" });
        let error = shaper.change(plan(8_000_000, wrong), ms(0)).unwrap_err();
        assert_eq!(error.path, "queue.target");
        let error = shaper.change(plan(0, json!({ "kind": "fifo" })), ms(0)).unwrap_err();
        assert_eq!(error.path, "rate");
        assert_eq!((shaper.plan(), shaper.ports.len()), (&before, 1));
    }
}
