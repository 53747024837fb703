//! DualPI2 beside a direct transcription of RFC 9332's pseudo-code, and with numbers.

use crate::Disciplines;
use crate::fixture::{Rig, SETTING, ms, us};
use forebay_core::{Duration, Ecn, Rng, Time, Verdict};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Sent,
    Marked,
    Dropped,
}

/// The pseudo-code of RFC 9332, figures 2 to 8, line by line, with Linux's credit as scheduler()
/// and its least backlog of two packets. Line 5a of figure 7 is read by the text beside it: native
/// marks are suppressed "if the queue is only 1 packet", which is the departing one.
#[derive(Default)]
struct Model {
    base: f64,
    prevq: f64,
    updates: u64,
    /// Packets as (number, time of arrival in s, length, ECN field).
    lq: VecDeque<(u32, f64, u32, Ecn)>,
    cq: VecDeque<(u32, f64, u32, Ecn)>,
    lcount: f64,
    ccount: f64,
    credit: i64,
}

const K: f64 = 2.0;
const START: i64 = 1500 * -80;

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood.min(1.0);
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

impl Model {
    /// dualpi2_update() for every Tupdate of 16 ms up to `now`.
    fn catch_up(&mut self, now: f64) {
        while (self.updates + 1) as f64 * 0.016 <= now + 1e-12 {
            self.updates += 1;
            let at = self.updates as f64 * 0.016;
            let wait =
                |queue: &VecDeque<(u32, f64, u32, Ecn)>| queue.front().map_or(0.0, |p| at - p.1);
            let curq = wait(&self.cq).max(wait(&self.lq)).max(0.0);
            self.base += 41.0 / 256.0 * (curq - 0.015) + 819.0 / 256.0 * (curq - self.prevq);
            self.base = self.base.clamp(0.0, 1.0);
            self.prevq = curq;
        }
    }

    fn enqueue(&mut self, number: u32, now: f64, len: u32, ecn: Ecn) {
        self.catch_up(now);
        let queue = if ecn as u8 % 2 == 1 { &mut self.lq } else { &mut self.cq };
        queue.push_back((number, now, len, ecn));
    }

    fn held(&self) -> u32 {
        self.lq.iter().chain(&self.cq).map(|packet| packet.2).sum()
    }

    fn dequeue(&mut self, now: f64, fates: &mut Vec<(u32, Fate)>) {
        self.catch_up(now);
        let (p_c, p_cl) = (self.base * self.base, K * self.base);
        while self.held() > 0 {
            if !self.lq.is_empty() && (self.cq.is_empty() || self.credit <= 0) {
                let (number, since, len, _) = self.lq.pop_front().unwrap();
                let (p_c, p_cl) = if self.held() < 3000 { (0.0, 0.0) } else { (p_c, p_cl) };
                let qdelay = now - since;
                let native = ((qdelay - 0.0008) / 0.0004).clamp(0.0, 1.0);
                let native = if self.lq.is_empty() { 0.0 } else { native };
                let mut fate = Fate::Sent;
                if p_cl < 1.0 {
                    if recur(&mut self.lcount, native.max(p_cl)) {
                        fate = Fate::Marked;
                    }
                } else {
                    if recur(&mut self.lcount, p_c) {
                        fates.push((number, Fate::Dropped));
                        continue;
                    }
                    if recur(&mut self.lcount, p_cl) {
                        fate = Fate::Marked;
                    }
                }
                self.served(10 * i64::from(len), !self.cq.is_empty());
                return fates.push((number, fate));
            }
            let (number, _, len, ecn) = self.cq.pop_front().unwrap();
            let p_c = if self.held() < 3000 { 0.0 } else { p_c };
            let mut fate = Fate::Sent;
            if recur(&mut self.ccount, p_c) {
                if ecn == Ecn::NotEct || p_c >= 1.0 / (K * K) {
                    fates.push((number, Fate::Dropped));
                    continue;
                }
                fate = Fate::Marked;
            }
            self.served(-90 * i64::from(len), !self.lq.is_empty());
            return fates.push((number, fate));
        }
    }

    fn served(&mut self, change: i64, other_waits: bool) {
        if self.held() == 0 {
            self.credit = START;
        } else if other_waits {
            self.credit += change;
        }
    }
}

/// The RFC's parameters, where they differ from Linux's.
fn rfc() -> Value {
    json!({
        "kind": "dualpi2", "derandomize": true, "step_threshold": "800us", "step_range": "400us",
        "step_packets": 1,
    })
}

/// Fates of packets of `load` times the link's capacity, in the kind and in the model.
fn both(load: f64, seed: u64) -> [Vec<(u32, Fate)>; 2] {
    let mut rng = Rng::named(seed, "arrivals");
    let mut rig = Rig::new(rfc());
    let mut model = Model { credit: START, ..Model::default() };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let ecns = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];
    let (mut arrival, mut departure) = (0.0, 0.0_f64);
    let mut lens = Vec::new();
    for number in 0..6_000 {
        arrival += rng.exponential(0.00064 / load);
        // 10 Mbit/s: a packet leaves as soon as the one before it has gone.
        while departure <= arrival && rig.held() > 0 {
            let now = Time::from_nanos((departure * 1e9) as u64);
            let before = rig.record.dropped.len();
            let sent = rig.take(now);
            ours.extend(rig.record.dropped[before..].iter().map(|(id, _)| (*id, Fate::Dropped)));
            if let Some(id) = sent {
                let marked = rig.record.marked.last() == Some(&id);
                ours.push((id, if marked { Fate::Marked } else { Fate::Sent }));
                departure += f64::from(lens[id as usize]) * 8e-7;
            }
            model.dequeue(now.as_secs_f64(), &mut theirs);
        }
        let now = Time::from_nanos((arrival * 1e9) as u64);
        departure = departure.max(arrival);
        let (len, ecn) = (100 + rng.below(1401) as u32, ecns[rng.below(3) as usize]);
        lens.push(len);
        let verdict = rig.offer(now, |packet| (packet.len, _) = (len, packet.set_ecn(ecn)));
        assert_eq!(verdict, Verdict::Queued);
        model.enqueue(number, now.as_secs_f64(), len, ecn);
    }
    [ours, theirs]
}

#[test]
fn every_packet_meets_the_fate_of_the_pseudo_code() {
    for (load, seed) in [(0.9, 1), (1.1, 2), (1.4, 3), (3.0, 4)] {
        let [ours, theirs] = both(load, seed);
        let first = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        assert_eq!(first.map(|at| (at, ours[at], theirs[at])), None, "load {load}");
        assert_eq!(ours.len(), theirs.len());
        let count = |fate| ours.iter().filter(|(_, of)| *of == fate).count();
        assert!(count(Fate::Marked) > 20, "load {load}: {} marks", count(Fate::Marked));
        assert!(load < 1.2 || count(Fate::Dropped) > 20, "load {load}");
    }
}

fn linux(extra: Value) -> Rig {
    let mut block = json!({ "kind": "dualpi2" });
    block.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    Rig::new(block)
}

#[test]
fn the_step_marks_what_waited_for_more_than_a_millisecond() {
    let mut rig = linux(json!({}));
    for _ in 0..5 {
        rig.offer(ms(0), |packet| packet.set_ecn(Ecn::Ect1));
    }
    for turn in 0..5 {
        rig.take(us(400 * turn));
    }
    // The packets waited for 0, 0.4, 0.8, 1.2 and 1.6 ms.
    assert_eq!(rig.record.marked, [3, 4]);
}

#[test]
fn the_classic_queue_s_delay_marks_the_other() {
    // Classic packets wait for 33 ms, so that p' is 0.10526 after two updates and p_CL twice that: of
    // low-latency packets that do not wait at all every fifth or fourth is marked.
    let mut rig = linux(json!({ "derandomize": true, "classic_protection": 0.0 }));
    for _ in 0..50 {
        rig.offer(ms(0), |_| {});
    }
    for _ in 0..25 {
        rig.offer(ms(33), |packet| packet.set_ecn(Ecn::Ect1));
        rig.take(ms(33));
    }
    assert_eq!(rig.record.marked, [54, 59, 64, 69, 73]);
    assert_eq!(rig.held(), 50);
}

#[test]
fn low_latency_by_dscp_passes_unmarked() {
    let mut rig = linux(json!({ "dscp": ["NQB"] }));
    for dscp in [0, 45] {
        rig.offer(ms(0), |packet| packet.set_dscp(dscp));
    }
    rig.offer(ms(0), |packet| (packet.set_dscp(45), packet.set_ecn(Ecn::Ect0)).1);
    // The packet without ECN passes however long it waited; the step marks the other.
    assert_eq!((rig.take(ms(5)), rig.take(ms(5)), rig.take(ms(5))), (Some(1), Some(2), Some(0)));
    assert_eq!((rig.record.marked.as_slice(), rig.record.dropped.len()), ([2].as_slice(), 0));
}

#[test]
fn the_room_is_shared() {
    let mut rig = linux(json!({ "limit": "3p" }));
    let verdicts = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct]
        .map(|ecn| rig.offer(ms(0), |packet| packet.set_ecn(ecn)) == Verdict::Queued);
    assert_eq!(verdicts, [true, true, true, false, false]);
}

#[test]
fn an_unresponsive_flow_starves_nobody() {
    // Twice the link's rate of low-latency packets beside a tenth of classic ones, for two seconds.
    let share = |overload: &str| {
        let mut rig = linux(json!({ "overload": overload, "limit": "1000p" }));
        let span = Duration::from_micros(800).as_nanos();
        let (mut sent, mut classic, mut fast) = (0, 0, Vec::new());
        for turn in 0..2_500 {
            for part in 0..2 {
                let now = Time::from_nanos(turn * span + part * span / 2);
                rig.offer(now, |packet| packet.set_ecn(Ecn::Ect1));
                fast.push(true);
            }
            if turn % 10 == 0 {
                rig.offer(Time::from_nanos(turn * span + span / 2), |_| {});
                fast.push(false);
            }
            if let Some(id) = rig.take(Time::from_nanos((turn + 1) * span)) {
                sent += 1;
                classic += i32::from(!fast[id as usize]);
            }
        }
        let base = rig.probe("base_probability");
        (f64::from(classic) / f64::from(sent), rig.held(), base)
    };
    let (classic, held, base) = share("drop");
    // Half of all packets are dropped: p'^2 is about a half, and the queue short of its room.
    assert!((0.6..0.8).contains(&base) && held < 200, "{base}, {held} packets");
    assert!(classic > 0.03, "{classic}");
    // Saturated, the room is full when the last packet is taken.
    let (_, held, base) = share("saturate");
    assert_eq!((held, base), (999, 0.5));
}

#[test]
fn a_saturated_room_has_a_place_for_the_first_to_come() {
    // Both queues share one room. Once it is full, one place is free after each departure, and the
    // first to come has it: classic packets that always come after the others of their turn find none
    // (but for those that take the place of one that the AQM dropped), those that come first always
    // one. Of the classic ones the AQM drops a quarter (p_Cmax) on their way out.
    let share = |place: &dyn Fn(&mut Rng) -> u64| {
        let mut rig = linux(json!({ "overload": "saturate", "limit": "1000p" }));
        let mut rng = Rng::named(3, "arrivals");
        let (mut sent, mut classic, mut fast) = (0, 0, Vec::new());
        for turn in 0..40_000 {
            let mut times = vec![(200, true), (600, true)];
            if rng.chance(0.1) {
                times.push((place(&mut rng), false));
            }
            times.sort_unstable();
            for (at, is_fast) in times {
                let ecn = if is_fast { Ecn::Ect1 } else { Ecn::NotEct };
                rig.offer(us(turn * 800 + at), |packet| packet.set_ecn(ecn));
                fast.push(is_fast);
            }
            if let Some(id) = rig.take(us((turn + 1) * 800)) {
                let counts = turn > 20_000;
                sent += i32::from(counts);
                classic += i32::from(counts && !fast[id as usize]);
            }
        }
        f64::from(classic) / f64::from(sent)
    };
    let last = share(&|_| 700);
    assert!(last < 0.001, "{last}");
    let first = share(&|_| 100);
    assert!((first - 0.075).abs() < 0.005, "{first}");
    // A quarter of the turn comes before the first of the others, and finds the free place.
    let random = share(&|rng| rng.below(800));
    assert!((random - 0.075 / 4.0).abs() < 0.003, "{random}");
}

#[test]
fn defaults_are_those_of_linux() {
    let effective =
        Disciplines::builtin().effective(&json!({ "kind": "dualpi2" }), &SETTING).unwrap();
    let expected = json!({
        "kind": "dualpi2", "limit": "10000p", "target": "15ms", "t_update": "16ms",
        "alpha": 0.16015625, "beta": 3.19921875, "coupling": 2.0, "step_threshold": "1ms",
        "step_range": "0ns", "step_packets": 0, "overload": "drop", "classic_protection": 0.1,
        "dscp": [], "queue_protection": null, "derandomize": false,
    });
    assert_eq!(effective, expected);
    for (field, value) in [("classic_protection", json!(1.5)), ("coupling", json!(0))] {
        let block = json!({ "kind": "dualpi2", field: value });
        assert_eq!(Disciplines::builtin().build(&block, &SETTING).err().unwrap().path, field);
    }
}
