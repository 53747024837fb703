//! HTB, tested with the results of token buckets and with `sch_htb.c`.

use crate::Disciplines;
use crate::fixture::{Rig, SETTING, ms, us};
use forebay_core::{Named, Time, Wake};
use serde_json::{Value, json};

fn htb(classes: Value) -> Rig {
    Rig::new(json!({ "kind": "htb", "classes": classes }))
}

/// Offers `count` packets of 1000 bytes to leaf `class` at the beginning.
fn fill(rig: &mut Rig, class: u8, count: u32) {
    for _ in 0..count {
        rig.offer(Time::ZERO, |packet| packet.class = class);
    }
}

/// Takes packets before `end` over a link that never blocks. Returns times and classes by the
/// packets' numbers.
fn drain(rig: &mut Rig, end: Time) -> Vec<(Time, u32)> {
    let (mut now, mut sent) = (Time::ZERO, Vec::new());
    loop {
        match rig.discipline.wake(now) {
            Wake::Idle => return sent,
            Wake::At(time) => now = time,
            Wake::Ready => {}
        }
        if now >= end {
            // The packets that are left are taken out and ignored.
            while rig.held() > 0 {
                now += forebay_core::Duration::from_millis(100);
                rig.take(now);
            }
            return sent;
        }
        sent.extend(rig.take(now).map(|id| (now, id)));
    }
}

/// Packets of each class; each class has `each` consecutive numbers.
fn shares(sent: &[(Time, u32)], each: u32) -> [usize; 3] {
    let of = |class| sent.iter().filter(|(_, id)| id / each == class).count();
    [0, 1, 2].map(of)
}

#[test]
fn a_leaf_sends_its_burst_and_then_at_its_rate() {
    // A bucket of 2500 B: three packets of 1000 B make it owe 500 B, 4 ms at 1 Mbit/s.
    let mut rig = htb(json!([{ "rate": "1Mbit", "burst": "2500B", "cburst": "9999B" }]));
    fill(&mut rig, 0, 6);
    let times: Vec<Time> = drain(&mut rig, ms(1000)).into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [0, 0, 0, 4, 12, 20].map(ms));
}

#[test]
fn a_tree_takes_over_rates_and_keeps_packets_and_debts() {
    let tree = |rate: &str, queue: &str| {
        json!({ "kind": "htb", "leaf": { "kind": queue }, "classes": [
            { "rate": "9Mbit", "classes": [
                { "rate": rate, "burst": "1B", "cburst": "1B" }, { "rate": "1Mbit" } ] } ] })
    };
    let built = |rate, queue| Disciplines::builtin().build(&tree(rate, queue), &SETTING).unwrap();
    for queue in ["fifo", "fq-codel"] {
        let mut rig = Rig::new(tree("1Mbit", queue));
        fill(&mut rig, 0, 4);
        assert!(rig.take(Time::ZERO).is_some());
        // The first packet took 8 ms at 1 Mbit/s, and this debt stays. The next ones take 2 ms.
        assert!(rig.discipline.retune(us(1), &mut *built("4Mbit", queue)), "{queue}");
        let times: Vec<Time> = drain(&mut rig, ms(100)).into_iter().map(|(at, _)| at).collect();
        let millis: Vec<_> = times.iter().map(|at| at.as_nanos() / 1_000_000).collect();
        assert_eq!(millis, [7, 9, 11], "{queue}");
        assert!(!rig.discipline.retune(ms(100), &mut *built("4Mbit", "codel")));
    }
    let flat = json!({ "kind": "htb", "classes": [{ "rate": "1Mbit" }] });
    let mut other = Disciplines::builtin().build(&flat, &SETTING).unwrap();
    assert!(!built("1Mbit", "fifo").retune(Time::ZERO, &mut *other));
}

#[test]
fn leaves_without_a_queue_have_the_tree_s() {
    let block = json!({ "kind": "htb", "leaf": { "kind": "codel", "target": "-1ms" } });
    let error = Disciplines::builtin().build(&block, &SETTING).map(drop).unwrap_err().to_string();
    assert!(error.contains("leaf.target: must not be negative"), "{error}");
}

#[test]
fn a_class_borrows_up_to_its_ceil() {
    // 1 Mbit/s of its own, 4 of what its parent has: 1000 B take 2 ms.
    let classes = json!([{ "rate": "10Mbit", "classes": [
        { "rate": "1Mbit", "ceil": "4Mbit", "burst": "1B", "cburst": "1B" },
    ] }]);
    let mut rig = htb(classes);
    fill(&mut rig, 0, 101);
    let sent = drain(&mut rig, ms(201));
    assert_eq!(sent.len(), 101);
    // The bucket holds one byte, so the first packet leaves a debt of 999 B.
    assert_eq!(sent[100].0 - sent[1].0, ms(198) - Time::ZERO);
}

#[test]
fn what_is_left_goes_by_quantum_among_equals() {
    // Three leaves have 1 of 6 Mbit/s each. The other 3 are shared in parts of 1 to 2 to 3.
    let leaf = |quantum: &str| json!({ "rate": "1Mbit", "ceil": "6Mbit", "quantum": quantum });
    let classes = json!([{ "rate": "6Mbit", "classes": [leaf("1KB"), leaf("2KB"), leaf("3KB")] }]);
    let mut rig = htb(classes);
    (0..3).for_each(|class| fill(&mut rig, class, 900));
    let sent = drain(&mut rig, ms(1000));
    // In one second 125 packets by each rate, and 375 in parts of 1 to 2 to 3.
    let found = shares(&sent, 900);
    for (found, wanted) in found.into_iter().zip([187.5_f64, 250.0, 312.5]) {
        assert!((found as f64 - wanted).abs() <= 5.0, "{found} for {wanted}");
    }
}

#[test]
fn priority_takes_what_is_lent_and_nobody_s_rate() {
    let leaf = |priority: u8| json!({ "rate": "1Mbit", "ceil": "6Mbit", "priority": priority });
    let classes = json!([{ "rate": "6Mbit", "classes": [leaf(2), leaf(0), leaf(1)] }]);
    let mut rig = htb(classes);
    (0..3).for_each(|class| fill(&mut rig, class, 900));
    let found = shares(&drain(&mut rig, ms(1000)), 900);
    for (found, wanted) in found.into_iter().zip([125, 500, 125]) {
        assert!(found.abs_diff(wanted) <= 5, "{found} for {wanted}");
    }
}

#[test]
fn what_a_branch_does_not_use_goes_to_the_other() {
    let branch = |leaves: Value| json!({ "rate": "4Mbit", "ceil": "8Mbit", "classes": leaves });
    let leaf = json!({ "rate": "2Mbit", "ceil": "8Mbit", "quantum": "1KB" });
    let classes = json!([{ "rate": "8Mbit", "classes": [
        branch(json!([leaf, leaf])), branch(json!([leaf])),
    ] }]);
    // With all three leaves busy, each branch has half, because their rates are equal.
    let mut rig = htb(classes.clone());
    (0..3).for_each(|class| fill(&mut rig, class, 1200));
    let found = shares(&drain(&mut rig, ms(1000)), 1200);
    for (found, wanted) in found.into_iter().zip([250, 250, 500]) {
        assert!(found.abs_diff(wanted) <= 6, "{found} for {wanted}");
    }
    // One leaf alone has the whole rate.
    let mut rig = htb(classes);
    fill(&mut rig, 2, 1200);
    assert!(drain(&mut rig, ms(1000)).len().abs_diff(1000) <= 6);
}

#[test]
fn a_leaf_that_holds_back_stops_nobody() {
    let cake = json!({ "kind": "cake", "bandwidth": "1Mbit" });
    let mut rig = htb(json!([{ "rate": "8Mbit", "classes": [
        { "rate": "1Mbit", "ceil": "8Mbit", "queue": cake }, { "rate": "1Mbit", "ceil": "8Mbit" },
    ] }]));
    (0..2).for_each(|class| fill(&mut rig, class, 1500));
    let found = shares(&drain(&mut rig, ms(1000)), 1500);
    assert!(found[0].abs_diff(125) <= 2 && found[1].abs_diff(875) <= 6, "{found:?}");
}

#[test]
fn a_packet_counts_with_what_the_link_adds() {
    let mut rig = Rig::new(json!({ "kind": "htb", "overhead": 250,
        "classes": [{ "rate": "1Mbit", "burst": "1B", "cburst": "1B" }] }));
    fill(&mut rig, 0, 3);
    let times: Vec<Time> = drain(&mut rig, ms(1000)).into_iter().map(|(at, _)| at).collect();
    // 1250 B are 10 ms at 1 Mbit/s; the bucket holds one byte at the start.
    assert_eq!(times, [us(0), us(9_992), us(19_992)]);
}

#[test]
fn defaults_are_tc_s() {
    let disciplines = Disciplines::builtin();
    let effective = |block: Value| disciplines.effective(&block, &SETTING).unwrap();
    let whole = effective(json!({ "kind": "htb" }));
    assert_eq!(whole["classes"][0]["classes"][1]["rate"], "5Mbit");
    assert_eq!(whole["classify"], json!({ "kind": "class", "queues": 2 }));
    let leaf = &effective(json!({ "kind": "htb", "classes": [
        { "rate": "80kbit" }, { "rate": "1Mbit" }, { "rate": "1Gbit", "ceil": "16Gbit" },
    ] }))["classes"];
    let quanta = [0, 1, 2].map(|class: usize| leaf[class]["quantum"].clone());
    assert_eq!(quanta, ["1KB", "12.5KB", "200KB"]);
    assert_eq!((&leaf[1]["ceil"], &leaf[1]["burst"]), (&json!("1Mbit"), &json!("1.6KB")));
    assert_eq!(leaf[2]["cburst"], "1.602KB");
    // RED counts idle time at the link's rate, which for a leaf is its `ceil`.
    let queue =
        json!({ "kind": "htb", "classes": [{ "rate": "80kbit", "queue": { "kind": "cake" } }] });
    assert_eq!(effective(queue)["classes"][0]["queue"]["kind"], "cake");
}

#[test]
fn two_kinds_of_one_name_are_refused() {
    struct Mine;
    impl Named for Mine {
        type Family = dyn crate::Admit;
        const NAME: &'static str = "htb";
        const SUMMARY: &'static str = "another of this name";
        const SOURCE: &'static str = "this test";
        type Params = crate::admit::TailDropParams;
        fn build(
            params: &Self::Params,
            setting: &forebay_core::Setting,
        ) -> Result<Box<dyn crate::Admit>, forebay_core::ConfigError> {
            Ok(Box::new(crate::admit::TailDrop::new(params, setting.queues)?))
        }
    }
    let refused = std::panic::catch_unwind(|| Disciplines::builtin().with::<Mine>());
    let said = refused.err().unwrap().downcast::<String>().unwrap();
    assert!(said.contains("there is another kind \"htb\""), "{said}");
    let names = "one of agent, cake, cake-mq, cobalt, codel, cp-aqm, cq-aqm, drr, dualpi2, fifo, fq-codel, fq-pie, gsp, htb";
    let error =
        Disciplines::builtin().build(&json!({ "kind": "nothing" }), &SETTING).err().unwrap();
    assert!(error.message.contains(names), "{error}");
}

/// A discipline that breaks its contract with the first packet.
struct Broken(forebay_core::Bank);

impl forebay_core::Discipline for Broken {
    fn enqueue(
        &mut self,
        packet: forebay_core::Packet,
        _: &mut forebay_core::Context,
    ) -> forebay_core::Verdict {
        self.0.push(0, packet);
        forebay_core::Verdict::Queued
    }
    fn dequeue(&mut self, _: &mut forebay_core::Context) -> Option<forebay_core::Packet> {
        self.0.pop(0)
    }
    fn wake(&self, _: Time) -> Wake {
        if self.0.total().packets == 0 { Wake::Idle } else { Wake::Ready }
    }
    fn backlog(&self) -> forebay_core::Backlog {
        self.0.total()
    }
    fn fault(&self) -> Option<String> {
        (self.0.total().packets > 0).then(|| "broken".to_owned())
    }
}

impl Named for Broken {
    type Family = dyn forebay_core::Discipline;
    const NAME: &'static str = "broken";
    const SUMMARY: &'static str = "breaks its contract";
    const SOURCE: &'static str = "this test";
    type Params = forebay_core::NoParams;

    fn build(
        _: &forebay_core::NoParams,
        _: &forebay_core::Setting,
    ) -> Result<Box<dyn forebay_core::Discipline>, forebay_core::ConfigError> {
        Ok(Box::new(Broken(forebay_core::Bank::new(1))))
    }
}

#[test]
fn the_fault_of_a_leaf_is_told() {
    let block = json!({ "kind": "htb", "classes": [
        { "rate": "1Mbit" }, { "rate": "1Mbit", "queue": { "kind": "broken" } },
    ] });
    let mut rig = htb(json!([{ "rate": "1Mbit" }, { "rate": "1Mbit" }]));
    rig.discipline = Disciplines::builtin()
        .with::<Broken>()
        .build(&block, &SETTING)
        .unwrap_or_else(|e| panic!("{e}"));
    rig.offer(Time::ZERO, |packet| packet.class = 0);
    assert_eq!(rig.discipline.fault(), None);
    rig.offer(Time::ZERO, |packet| packet.class = 1);
    assert_eq!(rig.discipline.fault().as_deref(), Some("broken"));
    assert!(rig.take(Time::ZERO).is_some() && rig.take(Time::ZERO).is_some());
}
