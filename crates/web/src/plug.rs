//! A discipline in JavaScript, under the account that every plug-in gets (`forebay::Foreign`).
//!
//! The page gives the functions of [`Page`]; `js/discipline.js` has them. During a call it may use
//! the exports [`drop_packet`], [`mark_packet`] and [`random`]. Texts cross in the buffers of
//! requests and answers. A time is a number of ns, which JavaScript keeps exact for 104 days.

use forebay::{
    Call, FOREBAY_DROPPED, FOREBAY_FAILED, FOREBAY_IDLE, FOREBAY_NONE, FOREBAY_QUEUED,
    FOREBAY_SENT, ForebayBacklog, ForebayPacket, Foreign, Outside, fill_in,
};
use forebay_core::{
    Conduct, ConfigError, Discipline, DropReason, Entry, Rate, Recipe, Rng, Setting, Time,
};
use forebay_sim::{Nameable, Registry};
use schemars::{Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a page says of its discipline.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plug {
    name: String,
    summary: String,
    /// Parameters with their defaults.
    parameters: Map<String, Value>,
    shapes: bool,
    keeps_order: bool,
}

impl Plug {
    /// Adds it to `registry`.
    ///
    /// # Errors
    /// A name is taken or a default is no number.
    pub(crate) fn join(self, registry: &mut Registry) -> Result<(), ConfigError> {
        let mut properties = Map::new();
        for (name, default) in self.parameters {
            if !default.is_number() {
                let what = format!("its default must be a number, got {default}");
                return Err(ConfigError::new(format!("parameters.{name}"), what));
            }
            let description = format!("Parameter of {}.", self.name);
            let kind = if default.is_f64() { "number" } else { "integer" };
            let form = json!({ "type": kind, "default": default, "description": description });
            properties.insert(name, form);
        }
        let Value::Object(schema) = json!({ "type": "object", "properties": properties }) else {
            unreachable!("it is a table");
        };
        let facts = Conduct::USUAL.with_order(self.keeps_order).with_shaping(self.shapes);
        let who = format!("discipline \"{}\"", self.name).into();
        let words = [self.name.into(), self.summary.into(), "the playground".into()];
        Nameable::join(
            registry,
            Entry::<dyn Discipline>::new(words, facts, Page { who, schema, facts }),
        )
    }
}

struct Page {
    who: Arc<str>,
    schema: Map<String, Value>,
    facts: Conduct,
}

impl Recipe<dyn Discipline> for Page {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.schema.clone().into()
    }

    fn effective(&self, block: &Value, _: &Setting) -> Result<Value, ConfigError> {
        fill_in(&self.schema, block)
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let params = self.effective(block, setting)?;
        let make = || Queue::of(&params, setting).map_err(|words| ConfigError::new("", words));
        Ok(Box::new(Foreign::new(&self.who, self.facts, make)?))
    }
}

/// What the page did with a packet during a call.
enum Act {
    Drop(u32, u32),
    Mark(u32),
}

thread_local! {
    static ACTS: RefCell<Vec<Act>> = const { RefCell::new(Vec::new()) };
    static RNG: RefCell<Option<Rng>> = const { RefCell::new(None) };
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// The page drops a packet, for the reason with this number.
#[unsafe(no_mangle)]
pub extern "C" fn drop_packet(id: u32, reason: u32) {
    ACTS.with_borrow_mut(|acts| acts.push(Act::Drop(id, reason)));
}

/// The page marks a packet, whose transport understands marks.
#[unsafe(no_mangle)]
pub extern "C" fn mark_packet(id: u32) {
    ACTS.with_borrow_mut(|acts| acts.push(Act::Mark(id)));
}

/// A random number from 0 to 1 of the queue whose call it is; not a number outside of calls.
#[unsafe(no_mangle)]
pub extern "C" fn random() -> f64 {
    RNG.with_borrow_mut(|rng| rng.as_mut().map_or(f64::NAN, Rng::uniform))
}

/// The functions of the page. Numbers below 0 say that one has failed, and that its words are where
/// requests are written; `IDLE` that there is nothing.
#[cfg(target_arch = "wasm32")]
mod page {
    #[link(wasm_import_module = "discipline")]
    unsafe extern "C" {
        pub safe fn make(queue: u32, rate_bps: f64, mtu: u32) -> i32;
        pub safe fn enqueue(
            queue: u32,
            now: f64,
            id: u32,
            len: u32,
            flow: u32,
            qos_class: u32,
            precedence: u32,
            drop_precedence: u32,
            tos: u32,
            kind: u32,
            source: u32,
            destination: u32,
        ) -> i32;
        pub safe fn dequeue(queue: u32, now: f64) -> f64;
        pub safe fn wake(queue: u32, now: f64) -> f64;
        pub safe fn rate(queue: u32, rate_bps: f64);
        pub safe fn forget(queue: u32);
    }
}

/// Elsewhere there is no page; a test has its own queue, first in and first out.
#[cfg(not(target_arch = "wasm32"))]
mod page {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, VecDeque};

    thread_local! {
        static HELD: RefCell<BTreeMap<u32, VecDeque<u32>>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub fn make(queue: u32, _: f64, _: u32) -> i32 {
        HELD.with_borrow_mut(|held| held.insert(queue, VecDeque::new()));
        0
    }

    #[expect(clippy::too_many_arguments, reason = "a packet in registers")]
    pub fn enqueue(
        queue: u32,
        _: f64,
        id: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
    ) -> i32 {
        HELD.with_borrow_mut(|held| {
            let held = held.get_mut(&queue).expect("it was made");
            if held.len() < 50 { held.push_back(id) } else { super::drop_packet(id, 0) }
        });
        0
    }

    pub fn dequeue(queue: u32, _: f64) -> f64 {
        let first = HELD.with_borrow_mut(|held| held.get_mut(&queue)?.pop_front());
        first.map_or(super::IDLE, f64::from)
    }

    pub fn wake(queue: u32, now: f64) -> f64 {
        let holds = HELD.with_borrow(|held| held.get(&queue).is_some_and(|held| !held.is_empty()));
        if holds { now } else { super::IDLE }
    }

    pub fn rate(_: u32, _: f64) {}

    pub fn forget(queue: u32) {
        HELD.with_borrow_mut(|held| held.remove(&queue));
    }
}

/// The page has nothing to send.
const IDLE: f64 = -1.0;

/// A time as JavaScript has it.
fn nanos(now: Time) -> f64 {
    now.as_nanos() as f64
}

/// A queue of the page.
struct Queue {
    number: u32,
    /// What it holds, by the numbers of packets.
    held: BTreeMap<u32, ForebayPacket>,
    rng: Option<Rng>,
    fault: RefCell<Option<String>>,
}

impl Queue {
    /// A queue with `params`.
    ///
    /// # Errors
    /// What the page throws.
    fn of(params: &Value, setting: &Setting) -> Result<Self, String> {
        let number = NEXT.get();
        NEXT.set(number.wrapping_add(1));
        crate::tell(params.to_string());
        if page::make(number, setting.rate.bps() as f64, setting.mtu) < 0 {
            return Err(crate::written());
        }
        Ok(Queue { number, held: BTreeMap::new(), rng: None, fault: RefCell::new(None) })
    }

    /// The answer of `ask`, which is a call of the page with this queue's random numbers.
    fn asked<T>(&mut self, call: &mut Call, ask: impl FnOnce(u32) -> T) -> T {
        let seeded = || Rng::named(call.random(), "plug-in");
        let rng = self.rng.take().unwrap_or_else(seeded);
        RNG.set(Some(rng));
        let answer = ask(self.number);
        self.rng = RNG.take();
        answer
    }

    #[cold]
    fn fail(&self, words: String) {
        self.fault.borrow_mut().get_or_insert(words);
    }

    /// Does what the page did in a call. Returns the numbers of the packets that it dropped.
    fn take_up(&mut self, call: &mut Call) -> Vec<u32> {
        let mut dropped = Vec::new();
        for act in ACTS.take() {
            match act {
                Act::Drop(id, reason) => match self.held.remove(&id) {
                    Some(packet) => {
                        let last = DropReason::ALL.len() as u32 - 1;
                        call.drop(&packet, reason.min(last));
                        dropped.push(id);
                    }
                    None => self.fail(format!("it dropped packet {id}, which it does not hold")),
                },
                Act::Mark(id) => match self.held.get_mut(&id) {
                    Some(packet) => {
                        call.mark(packet);
                    }
                    None => self.fail(format!("it marked packet {id}, which it does not hold")),
                },
            }
        }
        dropped
    }
}

impl Outside for Queue {
    fn enqueue(&mut self, packet: &ForebayPacket, call: &mut Call) -> i32 {
        if self.fault.get_mut().is_some() {
            return FOREBAY_FAILED;
        }
        let (now, given) = (nanos(call.now()), *packet);
        self.held.insert(given.id, given);
        let answer = self.asked(call, |queue| {
            let ForebayPacket { id, len, flow, kind, .. } = given;
            page::enqueue(
                queue,
                now,
                id,
                len,
                flow,
                given.qos_class.into(),
                given.precedence.into(),
                given.drop_precedence.into(),
                given.tos.into(),
                kind,
                given.source.into(),
                given.destination.into(),
            )
        });
        if answer < 0 {
            self.fail(crate::written());
        }
        let dropped = self.take_up(call);
        match self.fault.get_mut() {
            Some(_) => FOREBAY_FAILED,
            None if dropped.contains(&given.id) => FOREBAY_DROPPED,
            None => FOREBAY_QUEUED,
        }
    }

    fn dequeue(&mut self, to: &mut ForebayPacket, call: &mut Call) -> i32 {
        if self.fault.get_mut().is_some() {
            return FOREBAY_FAILED;
        }
        let now = nanos(call.now());
        let answer = self.asked(call, |queue| page::dequeue(queue, now));
        self.take_up(call);
        if answer < IDLE {
            self.fail(crate::written());
        } else if answer > IDLE {
            match self.held.remove(&(answer as u32)) {
                Some(packet) => *to = packet,
                None => {
                    self.fail(format!("its dequeue gave packet {answer}, which it does not hold"))
                }
            }
        }
        match self.fault.get_mut() {
            Some(_) => FOREBAY_FAILED,
            None if answer > IDLE => FOREBAY_SENT,
            None => FOREBAY_NONE,
        }
    }

    fn wake(&self, now: Time) -> u64 {
        let answer = page::wake(self.number, nanos(now));
        if answer < IDLE {
            self.fail(crate::written());
        }
        if answer > IDLE { answer as u64 } else { FOREBAY_IDLE }
    }

    fn backlog(&self) -> Option<ForebayBacklog> {
        None
    }

    fn set_link_rate(&mut self, _: Time, rate: Rate) {
        page::rate(self.number, rate.bps() as f64);
    }

    fn probe(&self, _: Time, _: &mut dyn FnMut(&str, f64)) {}

    fn said(&self) -> Option<Cow<'_, str>> {
        self.fault.borrow().clone().map(Cow::Owned)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        page::forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::request::{Open, answer};
    use serde_json::{Value, json};

    fn ask(open: &mut Open, request: &Value) -> Value {
        serde_json::from_str(&answer(request.to_string().as_bytes(), open)).expect("it is JSON")
    }

    fn plug(parameters: Value) -> Value {
        json!({ "plug": {
            "name": "mine", "summary": "A test", "parameters": parameters, "shapes": false,
            "keeps_order": true,
        } })
    }

    #[test]
    fn a_queue_of_the_page_is_checked_and_run() {
        let open = &mut Open::default();
        assert_eq!(ask(open, &plug(json!({ "limit": 50, "share": 0.5 }))), json!({ "ok": null }));
        let conforms = json!({ "conforms": { "kind": "mine" } });
        assert_eq!(ask(open, &conforms), json!({ "ok": null }));
        let scenario = |queue: Value| {
            json!({
                "duration": "3s",
                "dumbbell": { "rate": "4Mbit", "delay": "10ms", "queue": queue },
                "traffic": [{ "name": "bulk", "kind": "bulk", "flows": 2 }],
            })
        };
        let mine =
            ask(open, &json!({ "run": { "scenario": scenario(json!({ "kind": "mine" })) } }));
        let fifo = scenario(json!({ "kind": "fifo", "limit": "50p" }));
        let fifo = ask(open, &json!({ "run": { "scenario": fifo } }));
        let goodput = |found: &Value| found["ok"]["classes"]["bulk"]["goodput_bps"].as_f64();
        assert!(goodput(&mine).is_some_and(|bps| bps > 1e6), "{mine}");
        assert_eq!(goodput(&mine), goodput(&fifo));
        let wrong = scenario(json!({ "kind": "mine", "limitt": 3 }));
        let found = ask(open, &json!({ "run": { "scenario": wrong } }));
        assert!(found["error"].as_str().unwrap().contains("limitt"), "{found}");
    }

    #[test]
    fn a_wrong_description_is_refused() {
        let open = &mut Open::default();
        for (request, part) in [
            (plug(json!({ "limit": "50p" })), "parameters.limit: its default must be a number"),
            (json!({ "plug": { "name": "mine" } }), "is missing"),
            (json!({ "conforms": { "kind": "none" } }), "there is no such discipline"),
        ] {
            let found = ask(open, &request);
            assert!(found["error"].as_str().unwrap().contains(part), "{found}");
        }
    }
}
