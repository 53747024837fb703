//! Boxes: whatever headers come, in whatever order, the ASPQ controller keeps its bounds.

use crate::generate;
use crate::scenario::schema;
use arbitrary::{Result, Unstructured};
use forebay_core::{Duration, Time, config};
use forebay_middlebox::aspq::{Controller, Params};
use forebay_middlebox::{Ack, FiveTuple, Header, Middlebox, Verdict, flags};
use serde_json::json;
use std::collections::HashMap;

/// Runs end here; times may be set to centuries.
const END: Time = Time::from_nanos(1 << 62);

/// A controller's parameters and the packets that it sees, all from the input.
pub fn aspq(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(&mut Unstructured::new(data));
}

fn exercise(u: &mut Unstructured) -> Result<()> {
    let mut block = generate::value(&json!({ "$ref": "#/$defs/box" }), schema(), u)?;
    if block.as_object_mut().and_then(|block| block.remove("kind")) != Some(json!("aspq")) {
        return Ok(());
    }
    let Ok(params) = config::read::<Params>(&block) else { return Ok(()) };
    let Ok(controller) = Controller::new(&params) else { return Ok(()) };
    let mut rig = Rig { controller, params, now: Time::ZERO, rooms: HashMap::new() };
    while !u.is_empty() && rig.now < END {
        rig.operate(u)?;
    }
    Ok(())
}

struct Rig {
    controller: Controller,
    params: Params,
    now: Time,
    /// Largest window that the receiver of a flow ever stated.
    rooms: HashMap<FiveTuple, u16>,
}

impl Rig {
    fn operate(&mut self, u: &mut Unstructured) -> Result<()> {
        let wait = Duration::from_nanos(u.arbitrary::<u64>()? >> u.int_in_range(20..=63)?);
        self.now = (self.now + wait).min(END);
        let header = header(u)?;
        let (controls, window) = match &header.tcp {
            Some(tcp) => (tcp.has(flags::SYN | flags::FIN | flags::RST), tcp.window),
            None => (true, 0),
        };
        if u.arbitrary()? {
            match self.controller.forward(self.now, &header) {
                Verdict::Pass => {}
                Verdict::Answer(ack) if !controls => {
                    assert_eq!((ack.window, ack.flow), (0, header.flow.reversed()));
                }
                verdict => panic!("{verdict:?} for {header:?}"),
            }
        } else {
            let room = self.rooms.entry(header.flow).or_default();
            *room = window.max(*room);
            match self.controller.backward(self.now, &header) {
                Verdict::Pass => {}
                Verdict::Rewrite { window: made } if !controls => assert!(made < window),
                verdict => panic!("{verdict:?} for {header:?}"),
            }
        }
        self.settle();
        Ok(())
    }

    fn settle(&mut self) {
        // Steps and repetitions that a long wait has made due at once.
        for _ in 0..100_000 {
            let Some(ack) = self.controller.poll(self.now) else {
                assert!(self.controller.wake().is_none_or(|wake| wake > self.now));
                assert!(self.controller.counts().flows <= u64::from(self.params.max_flows));
                assert!(self.controller.counts().frozen <= self.controller.counts().flows);
                return;
            };
            self.check(&ack);
        }
        panic!("it never stops sending");
    }

    fn check(&self, ack: &Ack) {
        let room = self.rooms.get(&ack.flow).copied().unwrap_or_default();
        assert!(ack.window <= room, "more room than the receiver ever had: {ack:?}");
    }
}

/// A header of one of few flows.
fn header(u: &mut Unstructured) -> Result<Header> {
    let flow = FiveTuple {
        source_port: u.int_in_range(0..=3)?,
        destination_port: u.int_in_range(0..=3)?,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 1].into(),
        protocol: *u.choose(&[6, 6, 6, 17])?,
    };
    let tcp = generate::tcp(u)?;
    let has_header = flow.protocol == 6 && !u.ratio(1, 16)?;
    Ok(Header {
        flow,
        class: u.int_in_range(0..=3)?,
        dscp: u.int_in_range(0..=63)?,
        len: u.int_in_range(0..=65_535)?,
        tcp: has_header.then_some(tcp),
    })
}
