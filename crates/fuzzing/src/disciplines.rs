//! Disciplines: any kind or combination that can be built keeps its contracts under any sequence of
//! calls, and whatever of it is changed while packets wait.

use crate::run::registry;
use crate::scenario::schema;
use crate::{generate, grow};
use arbitrary::{Result, Unstructured};
use forebay_core::tcp::Tcp;
use forebay_core::{
    Context, Discipline, DropReason, Ecn, Packet, PacketKind, Rate, Rng, Setting, Sink, Time,
    Verdict, Wake,
};
use serde_json::{Value, json};

/// The byte that asks for another table.
const RETUNE: u8 = 0xf7;

/// A port's discipline, built from the input, and the calls that follow.
pub fn operations(data: &[u8]) {
    // An input that ends early is a short one.
    let _ = exercise(&mut Unstructured::new(data));
}

fn exercise(u: &mut Unstructured) -> Result<()> {
    let block = generate::value(&form(), schema(), u)?;
    let rates = [10_000_000, 1, 1_000, 64_000, 100_000_000_000, i64::MAX as u64];
    let setting = Setting::new(
        Rate::from_bps(*u.choose(&rates)?),
        u.int_in_range(0..=1000)?,
        *u.choose(&[1500, 68, 65_535])?,
    );
    let disciplines = &registry().disciplines;
    let Ok(queue) = disciplines.build(&block, &setting) else { return Ok(()) };
    let effective = disciplines.effective(&block, &setting).expect("what is built is effective");
    disciplines.build(&effective, &setting).expect("what is effective can be built");
    let rng = Rng::named(7, "port");
    let (shapes, rate) = (shapes(&effective), setting.rate);
    let (books, now) = (Books::default(), Time::ZERO);
    let mut rig = Rig { queue, block, setting, rate, shapes, books, rng, now };
    while !u.is_empty() && rig.books.left.len() < 4096 {
        rig.operate(u)?;
    }
    rig.drain();
    Ok(())
}

fn form() -> Value {
    json!({ "$ref": "#/$defs/queue" })
}

/// Whether a discipline may hold packets back.
fn shapes(effective: &Value) -> bool {
    let kinds = registry().disciplines.every_kind();
    let entry = effective["kind"].as_str().and_then(|kind| kinds.find(kind).ok());
    entry.is_some_and(|entry| entry.facts.shapes)
}

/// Packets that came and left.
#[derive(Default)]
struct Books {
    /// TCP header of the packet that is being handed over.
    header: Option<Tcp>,
    /// Whether the discipline asked for one.
    looks: bool,
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
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        assert!(reason != DropReason::RedundantAck || packet.kind == PacketKind::PureAck);
        self.leaves(packet);
    }
    fn tcp_header(&mut self, _: &Packet) -> Option<Tcp> {
        self.looks = true;
        self.header
    }
    fn marked(&mut self, packet: &Packet) {
        assert_eq!(packet.ecn(), Ecn::Ce);
    }
}

struct Rig {
    queue: Box<dyn Discipline>,
    /// Its table, and the place where it was built.
    block: Value,
    setting: Setting,
    /// Rate of the link.
    rate: Rate,
    /// It may hold packets back.
    shapes: bool,
    books: Books,
    rng: Rng,
    now: Time,
}

impl Rig {
    fn operate(&mut self, u: &mut Unstructured) -> Result<()> {
        match u.arbitrary::<u8>()? {
            // Others are numbers modulo 16, as older inputs have them.
            RETUNE => return self.retune(u),
            choice => match choice % 16 {
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
                    self.rate = rate;
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
            },
        }
        self.check();
        Ok(())
    }

    /// Another table takes over what waits, if the discipline can go on so.
    fn retune(&mut self, u: &mut Unstructured) -> Result<()> {
        let mut block = self.block.clone();
        for _ in 0..u.int_in_range(0..=3)? {
            grow::change(&mut block, &form(), u)?;
        }
        let disciplines = &registry().disciplines;
        let Ok(mut fresh) = disciplines.build(&block, &self.setting) else { return Ok(()) };
        if self.queue.retune(self.now, &mut *fresh) {
            if self.rate != self.setting.rate {
                self.queue.set_link_rate(self.now, self.rate);
            }
            let effective = disciplines.effective(&block, &self.setting);
            self.shapes = shapes(&effective.expect("what is built is effective"));
            self.block = block;
        } else if block == self.block {
            let twin = || disciplines.build(&block, &self.setting).expect("it was built before");
            assert!(!twin().retune(Time::ZERO, &mut *twin()), "later it refuses its own table");
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

    /// A booked packet, with its TCP header if the discipline looks at it.
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
        self.books.header = None;
        if self.books.looks && packet.kind == PacketKind::PureAck {
            self.books.header = Some(generate::tcp(u)?);
        }
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
        // A discipline that shapes may see only now that it has to wait.
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
