use super::*;
use crate::Schedule;
use crate::schedule::{Drr, DrrParams, StrictPriority, WeightsParams, Wrr};
use forebay_core::{Rng, Sink, config};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Retire;

impl Sink for Retire {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

/// Two queues of the paper: low 10 with (4, 6), high 5 with 3.
struct Rig {
    cq: CqAqm,
    bank: Bank,
    /// Seconds.
    now: u64,
}

impl Rig {
    fn new(params: Value) -> Self {
        let mut params: CqAqmParams = config::read(&params).unwrap();
        let queues = params.queues.len();
        params.resolve(queues);
        Rig { cq: CqAqm::new(&params, queues).unwrap(), bank: Bank::new(queues), now: 0 }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now * 1_000_000_000)
    }

    fn arrive(&mut self, queue: QueueId, precedence: u8) -> Result<(), DropReason> {
        let mut rng = Rng::named(1, "port");
        let mut sink = Retire;
        let mut cx = Context::new(self.now(), &mut rng, &mut sink);
        let mut packet = Packet::new(0, 0, 100);
        packet.precedence = precedence;
        match self.cq.arrive(queue, &mut packet, &mut self.bank, &mut cx) {
            Ok(()) => {
                self.bank.push(queue, packet);
                self.cq.joined(queue, &mut self.bank, &mut cx);
                Ok(())
            }
            Err(reason) => {
                packet.retire();
                Err(reason)
            }
        }
    }

    fn depart(&mut self, queue: QueueId) {
        let mut rng = Rng::named(1, "port");
        let mut sink = Retire;
        let mut cx = Context::new(self.now(), &mut rng, &mut sink);
        self.cq.depart(queue, &mut self.bank, &mut cx).unwrap().retire();
    }
}

#[test]
fn the_latch_sequence_of_the_paper() {
    let mut rig = Rig::new(json!({ "queues": [
        { "limit": "10p", "local": 4, "non_local": 6 }, { "limit": "5p", "local": 3 },
    ]}));
    let preempted = Err(DropReason::Preempted);
    for _ in 0..4 {
        rig.arrive(0, 0).unwrap();
    }
    assert_eq!(rig.arrive(0, 0), preempted, "4 >= T_local");
    assert_eq!(rig.arrive(1, 0), Ok(()), "no plea below T_non-local");
    rig.arrive(0, 1).unwrap();
    assert_eq!(rig.arrive(1, 0), Ok(()), "5 < T_non-local");
    rig.arrive(0, 1).unwrap();
    assert_eq!(rig.arrive(1, 0), preempted, "6 >= T_non-local");
    assert_eq!(rig.arrive(1, 1), Ok(()), "p = 1 is not concerned");
    rig.depart(0);
    rig.depart(0);
    rig.depart(1);
    rig.depart(1);
    assert_eq!(rig.arrive(1, 0), preempted, "4 is not below T_local: the latch holds");
    assert_eq!(rig.arrive(0, 0), preempted);
    rig.depart(0);
    assert_eq!(rig.arrive(1, 0), Ok(()), "3 < T_local");
    assert_eq!(rig.arrive(0, 0), Ok(()));
    assert_eq!(rig.arrive(1, 1), Ok(()));
    assert_eq!(rig.arrive(1, 0), preempted, "the high queue's own threshold, 3");
    assert_eq!(rig.arrive(0, 1), Ok(()), "the plea runs upward only");
    for _ in 0..5 {
        rig.arrive(0, 1).unwrap();
    }
    assert_eq!(rig.arrive(0, 1), Err(DropReason::Overflow), "10 packets are the limit");
}

#[test]
fn two_local_thresholds_do_not_thrash() {
    let mut rig = Rig::new(json!({ "queues": [
        { "limit": "10p", "local": 4, "local_lower": 2, "non_local": 5 }, { "limit": "5p" },
    ]}));
    for precedence in [0, 0, 0, 0, 1] {
        rig.arrive(0, precedence).unwrap();
    }
    for _ in 0..3 {
        assert_eq!(rig.arrive(0, 0), Err(DropReason::Preempted));
        assert_eq!(rig.arrive(1, 0), Err(DropReason::Preempted));
        rig.depart(0);
    }
    rig.depart(0);
    assert_eq!((rig.arrive(0, 0), rig.arrive(1, 0)), (Ok(()), Ok(())));
}

#[test]
fn unordered_or_oversized_thresholds_are_refused_by_name() {
    for (queue, path) in [
        (json!({ "limit": "45KB" }), "queues[0].limit"),
        (json!({ "limit": "0p" }), "queues[0].limit"),
        (json!({ "limit": "10p", "local": 11 }), "queues[0].local"),
        (json!({ "limit": "10p", "local": 0 }), "queues[0].local"),
        (json!({ "limit": "10p", "local": 5, "local_lower": 6 }), "queues[0].local_lower"),
        (json!({ "limit": "10p", "local": 5, "non_local": 4 }), "queues[0].non_local"),
        (json!({ "limit": "10p", "local": 5, "non_local": 11 }), "queues[0].non_local"),
        (json!({ "limit": "10p", "local": [5, 4] }), "queues[0].local"),
    ] {
        let mut params: CqAqmParams = config::read(&json!({ "queues": [queue] })).unwrap();
        params.resolve(1);
        assert_eq!(CqAqm::new(&params, 1).err().unwrap().path, path, "{queue}");
    }
    for (queue, path) in [
        (json!({ "limit": "9p", "local": [5, 4], "non_local": [5, 5] }), "queues[0].local"),
        (json!({ "limit": "9p", "local": [3, 5], "non_local": [6, 8] }), "queues[0].non_local"),
        (
            json!({ "limit": "9p", "local": [3, 5], "local_lower": [3, 2], "non_local": [4, 8] }),
            "queues[0].local_lower",
        ),
    ] {
        let value = json!({ "precedences": 3, "queues": [queue] });
        let params: CqAqmParams = config::read(&value).unwrap();
        assert_eq!(CqAqm::new(&params, 1).err().unwrap().path, path, "{queue}");
    }
}

/// Ordered thresholds below the limit for `levels` precedences, by sorting random numbers.
fn thresholds(levels: usize) -> impl Strategy<Value = Value> {
    prop::collection::vec((1..20_u32, 1..20_u32, 1..20_u32), levels).prop_map(move |draws| {
        let mut upper: Vec<u32> = draws.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        upper.sort_unstable();
        let local: Vec<u32> = upper.iter().copied().step_by(2).collect();
        let non_local: Vec<u32> = upper.iter().copied().skip(1).step_by(2).collect();
        let mut lower: Vec<u32> = draws.iter().map(|(.., c)| *c).collect();
        lower.sort_unstable();
        for (lower, local) in lower.iter_mut().zip(&local) {
            *lower = (*lower).min(*local);
        }
        json!({ "limit": "20p", "local": local, "local_lower": lower, "non_local": non_local })
    })
}

/// Listed thresholds, or generated ones that follow the traffic.
fn rigs() -> impl Strategy<Value = (Value, usize, u8)> {
    (1..5_usize, 2..5_u8, any::<bool>(), 1..20_u32).prop_flat_map(
        |(queues, precedences, adaptive, share)| {
            prop::collection::vec(thresholds(usize::from(precedences) - 1), queues).prop_map(
                move |mut list| {
                    let share = f64::from(share) / 20.0;
                    let mut params = json!({ "precedences": precedences });
                    if adaptive {
                        list.fill(json!({ "limit": "20p" }));
                        params["thresholds"] = json!({ "local": share, "lower": share / 2.0 });
                        params["adaptive"] =
                            json!({ "memory": "5s", "target": 0.1, "max_loss": share });
                    }
                    params["queues"] = list.into();
                    (params, queues, precedences)
                },
            )
        },
    )
}

fn inversion(rig: &Rig, queues: usize, precedences: u8) -> Option<(usize, u8, usize, u8)> {
    for queue in 0..queues {
        for p in (1..precedences).filter(|p| rig.cq.refusal(queue, *p, &rig.bank).is_some()) {
            for above in queue..queues {
                for lower in 0..p {
                    if rig.cq.refusal(above, lower, &rig.bank).is_none() {
                        return Some((queue, p, above, lower));
                    }
                }
            }
        }
    }
    None
}

proptest! {
    /// After every event, no queue refuses a precedence while it or one served before it
    /// would admit a lower one; under each scheduler.
    #[test]
    fn precedence_is_never_inverted(
        (params, queues, precedences) in rigs(),
        server in 0..3,
        events in prop::collection::vec((0..4_usize, 0..5_u8, 0..10_u8), 1..400),
    ) {
        let mut rig = Rig::new(params);
        let weights: Vec<u32> = (1..=queues as u32).collect();
        let mut drr = DrrParams { weights: weights.clone(), quantum: None };
        drr.resolve(queues, 1500);
        let mut server: Box<dyn Schedule> = match server {
            0 => Box::new(StrictPriority),
            1 => Box::new(Wrr::new(&WeightsParams { weights }, queues).unwrap()),
            _ => Box::new(Drr::new(&drr, queues).unwrap()),
        };
        for (queue, precedence, toss) in events {
            if toss < 7 {
                let queue = queue % queues;
                if rig.arrive(queue, precedence).is_ok() {
                    server.joined(queue, &rig.bank);
                }
            } else if let Some(queue) = server.next(&rig.bank) {
                rig.depart(queue);
                server.served(queue, 100, &rig.bank);
            }
            prop_assert_eq!(inversion(&rig, queues, precedences), None);
        }
    }
}

/// The check above can fail: with the plea off, a full low queue inverts precedence.
#[test]
fn without_the_plea_precedence_is_inverted() {
    let mut rig = Rig::new(json!({ "queues": [{ "limit": "4p", "local": 2 }, { "limit": "4p" }]}));
    for _ in 0..4 {
        assert_eq!(inversion(&rig, 2, 2), None);
        rig.arrive(0, 1).unwrap();
    }
    assert_eq!(inversion(&rig, 2, 2), Some((0, 1, 1, 0)));
}

fn resolved(params: Value) -> Value {
    let mut params: CqAqmParams = config::read(&params).unwrap();
    params.resolve(params.queues.len());
    CqAqm::new(&params, params.queues.len()).unwrap();
    serde_json::to_value(&params.queues).unwrap()
}

#[test]
fn thresholds_follow_from_two_or_three_numbers() {
    // The paper's 40/45 and 35/45 in 50, and 500/650 in 750, from shares of the room.
    let shares = json!({ "local": 0.8 });
    let queue = &resolved(json!({ "thresholds": shares, "queues": [{ "limit": "50p" }] }))[0];
    assert_eq!((&queue["local"], &queue["non_local"]), (&json!(40), &json!(45)));
    let shares = json!({ "local": 0.7, "non_local": 0.9, "lower": 0.6 });
    let queue = &resolved(json!({ "thresholds": shares, "queues": [{ "limit": "50p" }] }))[0];
    assert_eq!((&queue["local"], &queue["non_local"]), (&json!(35), &json!(45)));
    assert_eq!(queue["local_lower"], json!(30));
    let shares = json!({ "local": 500.0 / 750.0, "non_local": 650.0 / 750.0 });
    let queue = &resolved(json!({ "thresholds": shares, "queues": [{ "limit": "750p" }] }))[0];
    assert_eq!((&queue["local"], &queue["non_local"]), (&json!(500), &json!(650)));

    // Five precedences: 60 of 100 packets, and four steps of ten up to the limit.
    let own = json!({ "limit": "100p", "local": 60, "non_local": 64, "local_lower": 55 });
    let by_share = json!({ "limit": "100p" });
    let queues = resolved(json!({ "precedences": 5, "queues": [own, by_share],
        "thresholds": { "local": 0.6, "non_local": 0.64, "lower": 0.55 } }));
    assert_eq!(queues[0]["local"], json!([60, 70, 80, 90]));
    assert_eq!(queues[0]["non_local"], json!([64, 74, 84, 94]));
    assert_eq!(queues[0]["local_lower"], json!([55, 65, 75, 85]));
    assert_eq!(queues[0], queues[1]);
}

#[test]
fn wrong_shares_and_laws_are_refused_by_name() {
    for (field, value, path) in [
        ("thresholds", json!({ "local": 1.5 }), "thresholds.local"),
        ("thresholds", json!({ "local": 0.5, "non_local": 0.4 }), "thresholds.non_local"),
        ("thresholds", json!({ "local": 0.5, "lower": 0.6 }), "thresholds.lower"),
        ("adaptive", json!({ "target": 0 }), "adaptive.target"),
        ("adaptive", json!({ "memory": "0s" }), "adaptive.memory"),
        ("adaptive", json!({ "max_loss": 0 }), "adaptive.max_loss"),
        ("adaptive", json!({ "max_loss": 1.01 }), "adaptive.max_loss"),
    ] {
        let mut params = json!({ "queues": [{ "limit": "10p" }] });
        params[field] = value;
        let mut params: CqAqmParams = config::read(&params).unwrap();
        params.resolve(1);
        assert_eq!(CqAqm::new(&params, 1).err().unwrap().path, path);
    }
}

/// Arrivals that find an excess over `local` with a mean of m packets, one in ten of them beyond
/// it: P(full) = 0.1 exp(-R / m) is one in a thousand at R = m ln 100.
#[test]
fn the_reserve_becomes_what_the_tail_asks_for() {
    for (m, begin) in [(20.0, 300), (20.0, 20), (50.0, 100)] {
        let law: AdaptiveParams = config::read(&json!({ "memory": "20s" })).unwrap();
        let limit = 1000;
        let mut reserve = Reserve::new(&law, limit, [limit - begin, limit - begin, limit]);
        let mut rng = Rng::named(1, "excess");
        let mut mean = 0.0;
        for second in 1..=400_u64 {
            for _ in 0..2000 {
                let local = f64::from(limit) - reserve.packets();
                let excess = if rng.chance(0.1) { rng.exponential(m) } else { -100.0 };
                reserve.see((local + excess).min(f64::from(limit)) as usize);
            }
            reserve.adjust(Time::from_nanos(second * 1_000_000_000), 1);
            mean += if second > 200 { reserve.packets() / 200.0 } else { 0.0 };
        }
        let want = m * libm::log(100.0);
        assert!((mean / want - 1.0).abs() < 0.15, "{mean} instead of {want}");
    }
}

/// p = 1 always finds the queue full, so the rule wants all of it. p = 0 loses R in 1000: with a
/// guard of 0.3, R becomes 300.
#[test]
fn the_guard_ends_what_the_lowest_precedence_loses() {
    for (max_loss, want) in [(0.3, 300.0), (0.1, 100.0), (1.0, 999.0)] {
        let law: AdaptiveParams = config::read(&json!({ "max_loss": max_loss })).unwrap();
        let limit = 1000;
        let mut reserve = Reserve::new(&law, limit, [500, 500, limit]);
        let mut mean = 0.0;
        for second in 1..=1200_u64 {
            for packet in 0..100 {
                reserve.see(1000);
                reserve.see_lowest(f64::from(packet) < reserve.packets() / 10.0);
            }
            reserve.adjust(Time::from_nanos(second * 1_000_000_000), 1);
            mean += if second > 600 { reserve.packets() / 600.0 } else { 0.0 };
        }
        assert!((mean / want - 1.0).abs() < 0.1, "{mean} instead of {want}");
    }
}
