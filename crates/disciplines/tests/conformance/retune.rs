//! Parameters that change while packets wait.

use super::subjects;
use forebay_conformance::{Manner, SETTING, adversarial, arrivals, run, runner};
use forebay_core::{Backlog, Context, Discipline, Entry, Packet, Rate, Time, Verdict, Wake};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Kinds whose parameters cannot change while packets wait.
const CANNOT: [&str; 4] = ["cake", "cake-mq", "cq-aqm", "ncq"];

/// A discipline that is given the parameters of a fresh one before every n-th call, and whenever it
/// is empty.
struct Retuned<F> {
    inner: Box<dyn Discipline>,
    fresh: F,
    every: u64,
    calls: u64,
    /// The link's rate, if it is no longer the one for which a fresh discipline is built.
    rate: Option<Rate>,
}

impl<F: Fn() -> Box<dyn Discipline>> Retuned<F> {
    fn retune(&mut self, now: Time) {
        self.calls += 1;
        if !self.calls.is_multiple_of(self.every) && self.inner.backlog().packets > 0 {
            return;
        }
        assert!(self.inner.retune(now, &mut *(self.fresh)()));
        self.rate.into_iter().for_each(|rate| self.inner.set_link_rate(now, rate));
    }
}

impl<F: Fn() -> Box<dyn Discipline> + Send + 'static> Discipline for Retuned<F> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        self.retune(cx.now);
        self.inner.enqueue(packet, cx)
    }
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        self.retune(cx.now);
        self.inner.dequeue(cx)
    }
    fn wake(&self, now: Time) -> Wake {
        self.inner.wake(now)
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.rate = Some(rate);
        self.inner.set_link_rate(now, rate);
    }
}

fn build(entry: &Entry<dyn Discipline>, block: &Value) -> Box<dyn Discipline> {
    entry.build(block, &SETTING).unwrap()
}

/// A discipline that is given its own parameters again does what one does that is left alone. Returns
/// false if its parameters cannot change.
fn changes_nothing(entry: &Entry<dyn Discipline>, block: &Value) -> bool {
    if !build(entry, block).retune(Time::ZERO, &mut *build(entry, block)) {
        return false;
    }
    let same = |arrivals: &[_], every| {
        let inner = build(entry, block);
        let (again, parameters) = (entry.clone(), block.clone());
        let fresh = move || build(&again, &parameters);
        let mut retuned = Retuned { inner, fresh, every, calls: 0, rate: None };
        let left_alone = run(&mut *build(entry, block), arrivals, entry.facts, Manner::Plain);
        let turned = run(&mut retuned, arrivals, entry.facts, Manner::Plain);
        assert!(turned.unwrap() == left_alone.unwrap(), "{} {block}", entry.name);
    };
    // Building a discipline before each of thousands of calls would take most of the time. Eleven
    // divides no number of flows or packets in a burst, so that each of them is met.
    adversarial().iter().for_each(|(_, arrivals)| same(arrivals, 11));
    let test = |arrivals: Vec<_>| {
        same(&arrivals, 1);
        Ok(())
    };
    runner(4).run(&arrivals(600), test).unwrap();
    true
}

/// A thread for each kind and its parameters: together they are the longest test of all.
#[test]
fn the_same_parameters_change_nothing() {
    let subjects = subjects();
    let cannot: BTreeSet<_> = std::thread::scope(|scope| {
        let begun: Vec<_> = subjects
            .iter()
            .map(|(entry, block)| {
                scope
                    .spawn(move || (!changes_nothing(entry, block)).then(|| entry.name.to_string()))
            })
            .collect();
        begun.into_iter().filter_map(|each| each.join().unwrap()).collect()
    });
    assert_eq!(cannot, CANNOT.map(str::to_owned).into());
}

/// Before the first packet there is no state, so a retuned discipline equals one that was built with
/// the new parameters.
#[test]
fn every_parameter_that_can_change_does() {
    let mut changed = 0;
    for (entry, block) in subjects() {
        let turned = || {
            let mut queue = build(&entry, &json!({}));
            queue.retune(Time::ZERO, &mut *build(&entry, &block)).then_some(queue)
        };
        if turned().is_none() {
            continue;
        }
        changed += usize::from(block != json!({}));
        for (name, arrivals) in adversarial() {
            let built = run(&mut *build(&entry, &block), &arrivals, entry.facts, Manner::Plain);
            let turned = run(&mut *turned().unwrap(), &arrivals, entry.facts, Manner::Plain);
            assert!(turned.unwrap() == built.unwrap(), "{} {block}, {name}", entry.name);
        }
    }
    assert!(changed > 20, "{changed}");
}

#[test]
fn another_kind_is_refused() {
    let kinds: Vec<_> = subjects().into_iter().filter(|(_, block)| *block == json!({})).collect();
    for (own, _) in &kinds {
        for (other, _) in kinds.iter().filter(|(other, _)| other.name != own.name) {
            let other = &mut *build(other, &json!({}));
            assert!(!build(own, &json!({})).retune(Time::ZERO, other), "{}", own.name);
        }
    }
}
