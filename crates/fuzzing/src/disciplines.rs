//! Disciplines: any kind or combination that can be built keeps its contracts under any sequence of
//! calls.

use crate::generate;
use crate::run::registry;
use arbitrary::{Result, Unstructured};
use forebay_core::{
    Context, Discipline, DropReason, Ecn, Packet, PacketKind, Rate, Rng, Setting, Sink, Time,
    Verdict, Wake,
};
use forebay_sim::scenario;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// A port's discipline, built from the input, and the calls that follow.
pub fn operations(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(&mut Unstructured::new(data));
}

fn exercise(u: &mut Unstructured) -> Result<()> {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let root = SCHEMA.get_or_init(|| scenario::schema(registry()));
    let block = generate::value(&json!({ "$ref": "#/$defs/queue" }), root, u)?;
    let rates = [10_000_000, 1, 1_000, 64_000, 100_000_000_000, i64::MAX as u64];
    let setting = Setting {
        rate: Rate::from_bps(*u.choose(&rates)?),
        overhead: u.int_in_range(0..=1000)?,
        mtu: *u.choose(&[1500, 68, 65_535])?,
        queues: 1,
    };
    let disciplines = &registry().disciplines;
    let Ok(queue) = disciplines.build(&block, &setting) else { return Ok(()) };
    let effective = disciplines.effective(&block, &setting).expect("what is built is effective");
    disciplines.build(&effective, &setting).expect("what is effective can be built");
    let rng = Rng::named(7, "port");
    let kind = effective["kind"].as_str();
    let kinds = disciplines.every_kind();
    let entry = kind.and_then(|kind| kinds.find(kind).ok());
    let shapes = entry.is_some_and(|entry| entry.facts.shapes);
    let mut rig = Rig { queue, shapes, books: Books::default(), rng, now: Time::ZERO };
    while !u.is_empty() && rig.books.left.len() < 4096 {
        rig.operate(u)?;
    }
    rig.drain();
    Ok(())
}

/// What came and what left.
#[derive(Default)]
struct Books {
    /// By number of the packet: whether it has left.
    left: Vec<bool>,
    packets: usize,
    bytes: u64,
}

impl Books {
    fn leaves(&mut self, packet: Packet) {
        let len = u64::from(packet.len);
        let id = packet.retire() as usize;
        assert!(!std::mem::replace(&mut self.left[id], true), "packet {id} left twice");
        self.packets -= 1;
        self.bytes -= len;
    }
}

impl Sink for Books {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.leaves(packet);
    }
    fn marked(&mut self, packet: &Packet) {
        assert_eq!(packet.ecn(), Ecn::Ce);
    }
}

struct Rig {
    queue: Box<dyn Discipline>,
    /// It may hold packets back.
    shapes: bool,
    books: Books,
    rng: Rng,
    now: Time,
}

impl Rig {
    fn operate(&mut self, u: &mut Unstructured) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0..=3 => {
                for _ in 0..u.int_in_range(0..=200)? {
                    self.dequeue();
                }
            }
            4 => self.wait(u64::from(u.arbitrary::<u32>()?)),
            5 => self.wait(u.arbitrary::<u64>()? >> u.int_in_range(2..=40)?),
            6 => {
                // Zero in an outage.
                let rate = Rate::from_bps(u.arbitrary::<u64>()? >> u.int_in_range(1..=63)?);
                self.queue.set_link_rate(self.now, rate);
            }
            7 => self.queue.probe(self.now, &mut |name, value| {
                assert!(value.is_finite(), "{name} is {value}");
            }),
            _ => {
                let (packet, gap) = (self.packet(u)?, u64::from(u.arbitrary::<u16>()?));
                let copies = u.int_in_range(0..=40)?;
                for _ in 0..copies {
                    let id = self.number(&packet);
                    self.enqueue(copy(&packet, id));
                    self.wait(gap * 100);
                }
                self.enqueue(packet);
            }
        }
        self.check();
        Ok(())
    }

    /// Books a packet and gives its number.
    fn number(&mut self, packet: &Packet) -> u32 {
        self.books.left.push(false);
        self.books.packets += 1;
        self.books.bytes += u64::from(packet.len);
        (self.books.left.len() - 1) as u32
    }

    fn packet(&mut self, u: &mut Unstructured) -> Result<Packet> {
        let len = match u.int_in_range(0..=3)? {
            0 => 1500,
            1 => 40,
            _ => u.int_in_range(1..=65_535)?,
        };
        let [class, precedence, drop_precedence, tos, kind, flow] = u.arbitrary::<[u8; 6]>()?;
        let mut packet = Packet::new(0, u32::from(flow) << (kind / 8), len);
        packet.id = self.number(&packet);
        packet.class = class >> (tos & 7);
        packet.precedence = precedence >> (tos & 7);
        packet.drop_precedence = drop_precedence >> (tos & 7);
        packet.tos = tos;
        (packet.source, packet.destination) = (u16::from(flow % 5), u16::from(class % 3));
        packet.kind = match kind % 4 {
            0 => PacketKind::PureAck,
            1 => PacketKind::Control,
            _ => PacketKind::Data,
        };
        Ok(packet)
    }

    /// Time passes, up to a century.
    fn wait(&mut self, nanos: u64) {
        let later = self.now.as_nanos().saturating_add(nanos);
        self.now = Time::from_nanos(later.min(100 * 365 * 86_400 * 1_000_000_000));
    }

    fn enqueue(&mut self, mut packet: Packet) {
        packet.queued = self.now;
        let id = packet.id as usize;
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.books);
        let verdict = self.queue.enqueue(packet, &mut cx);
        assert!(
            verdict == Verdict::Queued || self.books.left[id],
            "said to be dropped, and is not"
        );
    }

    fn dequeue(&mut self) {
        let before = self.queue.backlog().packets;
        let ready = self.queue.wake(self.now) == Wake::Ready;
        let mut cx = Context::new(self.now, &mut self.rng, &mut self.books);
        if let Some(packet) = self.queue.dequeue(&mut cx) {
            self.books.leaves(packet);
        }
        let after = self.queue.backlog().packets;
        // One that shapes may find out only now that it has to wait.
        let waits = self.shapes && matches!(self.queue.wake(self.now), Wake::At(_));
        let moves = after < before || waits;
        assert!(moves || !ready, "of {before} packets none was sent or dropped");
        self.check();
    }

    fn check(&self) {
        let backlog = self.queue.backlog();
        let books = (self.books.packets, self.books.bytes);
        assert_eq!((backlog.packets, backlog.bytes), books, "in = out + dropped + backlog");
        match self.queue.wake(self.now) {
            Wake::Ready => assert!(backlog.packets > 0, "ready, and empty"),
            Wake::Idle => assert_eq!(backlog.packets, 0, "work conservation"),
            Wake::At(time) => assert!(self.shapes && time > self.now, "work conservation"),
        }
    }

    fn drain(&mut self) {
        while self.queue.backlog().packets > 0 {
            if let Wake::At(time) = self.queue.wake(self.now) {
                self.now = time;
            }
            self.dequeue();
        }
        assert!(self.books.left.iter().all(|left| *left), "a packet never left");
    }
}

/// Another packet like `packet`; it is not Clone, for each leaves once.
fn copy(packet: &Packet, id: u32) -> Packet {
    let Packet { len, flow, class, precedence, drop_precedence, tos, kind, .. } = *packet;
    let Packet { source, destination, queued, .. } = *packet;
    Packet {
        id,
        len,
        flow,
        class,
        precedence,
        drop_precedence,
        tos,
        kind,
        source,
        destination,
        queued,
    }
}
