//! Broken disciplines: each breaks one contract, and the suite must say which.

use crate::allocations;
use forebay_conformance::{Arrival, Fate, SETTING, conforms};
use forebay_core::{
    Backlog, Conduct, Context, Discipline, DropReason, Duration, Ecn, Packet, Time, Verdict, Wake,
};
use forebay_disciplines::Disciplines;
use serde_json::json;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LosesPackets,
    Reorders,
    Sleeps,
    NeverSends,
    WrongVerdict,
    MiscountsBytes,
    MarksTheDeaf,
    MarksSilently,
    ChangesPackets,
    CountsWakes,
    SharesState,
    Allocates,
    Shapes,
    PutsOff,
    LetsPass,
}

/// A FIFO with a fault.
struct Broken {
    inner: Box<dyn Discipline>,
    fault: Fault,
    arrivals: u32,
    calls: u32,
    wakes: Cell<u32>,
    aside: Option<Packet>,
}

static SHARED: AtomicU32 = AtomicU32::new(0);

impl Broken {
    fn new(fault: Fault) -> Self {
        let fifo = json!({ "kind": "fifo", "limit": "50p" });
        let inner = Disciplines::builtin().build(&fifo, &SETTING).unwrap();
        Broken { inner, fault, arrivals: 0, calls: 0, wakes: Cell::new(0), aside: None }
    }
}

impl Discipline for Broken {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Context) -> Verdict {
        match self.fault {
            Fault::MarksTheDeaf if !packet.is_ect() => packet.set_ecn(Ecn::Ce),
            Fault::MarksSilently if packet.is_ect() => packet.set_ecn(Ecn::Ce),
            Fault::ChangesPackets => packet.flow += 1,
            Fault::Allocates => drop(std::hint::black_box(Box::new(packet.id))),
            _ => {}
        }
        self.arrivals += 1;
        let whim = match self.fault {
            Fault::CountsWakes => self.wakes.get(),
            Fault::SharesState => SHARED.fetch_add(1, Ordering::Relaxed),
            Fault::LetsPass => self.arrivals,
            _ => 1,
        };
        if whim % 7 == 0 {
            cx.drop(packet, DropReason::Aqm);
            return Verdict::Dropped;
        }
        let verdict = self.inner.enqueue(packet, cx);
        if self.fault == Fault::WrongVerdict { Verdict::Dropped } else { verdict }
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        self.calls += 1;
        if let Some(packet) = self.aside.take() {
            return Some(packet);
        }
        match self.fault {
            Fault::NeverSends => return None,
            Fault::LosesPackets if self.calls.is_multiple_of(20) => {
                self.inner.dequeue(cx)?.retire();
            }
            Fault::Reorders if self.inner.backlog().packets > 1 => {
                self.aside = self.inner.dequeue(cx);
            }
            _ => {}
        }
        self.inner.dequeue(cx)
    }

    fn wake(&self, now: Time) -> Wake {
        self.wakes.set(self.wakes.get() + 1);
        match self.inner.wake(now) {
            Wake::Ready if self.fault == Fault::Sleeps => Wake::Idle,
            Wake::Ready if self.fault == Fault::Shapes && tick(now) > now => Wake::At(tick(now)),
            Wake::Ready if self.fault == Fault::PutsOff => Wake::At(now + TICK),
            Wake::Idle if self.aside.is_some() => Wake::Ready,
            wake => wake,
        }
    }

    fn passes(&self, _: &Packet) -> bool {
        self.fault == Fault::LetsPass
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.inner.backlog();
        if let Some(packet) = &self.aside {
            backlog.packets += 1;
            backlog.bytes += u64::from(packet.len);
        }
        if self.fault == Fault::MiscountsBytes {
            backlog.bytes += 1;
        }
        backlog
    }
}

/// Retires packets that a broken discipline still holds, so that they do not panic.
impl Drop for Broken {
    fn drop(&mut self) {
        self.aside.take().map(Packet::retire);
    }
}

const TICK: Duration = Duration::from_millis(5);

/// The next whole 5 ms.
fn tick(now: Time) -> Time {
    Time::from_nanos(now.as_nanos().next_multiple_of(TICK.as_nanos()))
}

/// 2000 packets of three flows at about twice the link's rate.
fn traffic() -> Vec<Arrival> {
    let arrival = |n: u32| {
        let mut arrival = Arrival::of(1500);
        (arrival.gap, arrival.flow) = (600_000, n % 10 / 4);
        arrival.ect = n.is_multiple_of(2);
        arrival
    };
    (0..2000).map(arrival).collect()
}

#[test]
fn what_shapes_may_hold_packets_back_if_it_says_so() {
    let facts = Conduct::USUAL.with_shaping(true);
    let fates = conforms(&|| Box::new(Broken::new(Fault::Shapes)), &traffic(), facts).unwrap();
    let due = |fate: &&Fate| matches!(fate, Fate::Sent(_, at) if at.as_nanos() % 5_000_000 == 0);
    assert!(fates.iter().filter(due).count() > 50);
    let answer = conforms(&|| Box::new(Broken::new(Fault::PutsOff)), &traffic(), facts);
    assert!(answer.is_err_and(|answer| answer.starts_with("waiting: ")));
}

#[test]
fn the_suite_catches_what_is_broken() {
    let verdict =
        |fault| conforms(&|| Box::new(Broken::new(fault)), &traffic(), Conduct::USUAL).map(|_| ());
    assert_eq!(verdict(Fault::None), Ok(()));
    for (fault, complaint) in [
        (Fault::LosesPackets, "conservation"),
        (Fault::Reorders, "order"),
        (Fault::Sleeps, "work conservation"),
        (Fault::NeverSends, "progress"),
        (Fault::WrongVerdict, "verdict"),
        (Fault::MiscountsBytes, "conservation"),
        (Fault::MarksTheDeaf, "with a mark that was not reported"),
        (Fault::MarksSilently, "with a mark that was not reported"),
        (Fault::ChangesPackets, "was changed"),
        (Fault::CountsWakes, "purity"),
        (Fault::SharesState, "determinism"),
        (Fault::Shapes, "work conservation"),
        (Fault::LetsPass, "passing"),
    ] {
        let answer = verdict(fault);
        let caught = answer.as_ref().is_err_and(|answer| answer.contains(complaint));
        assert!(caught, "{fault:?}: {answer:?}");
    }
}

#[test]
fn the_suite_sees_allocations() {
    assert_eq!(allocations(&mut Broken::new(Fault::None)), 0);
    assert_eq!(allocations(&mut Broken::new(Fault::Allocates)), 50 * 150);
}
