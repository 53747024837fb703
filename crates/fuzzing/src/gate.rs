//! The gate: its configuration, its clients on both ends, and its recordings.

use crate::generate;
use arbitrary::Unstructured;
use forebay_core::{DropReason, Duration, Packet, Poll, Rate, Sink, Time};
use forebay_gate::client::{Client, Language, Request, State};
use forebay_gate::config::{self, Config};
use forebay_gate::gate::{Gate, Turn};
use forebay_gate::io::{Io, Missed, Pool, Side};
use forebay_gate::plugins::Parts;
use forebay_gate::status::Status;
use forebay_gate::system::Machine;
use forebay_gate::{control, handover, metrics, neighbour, show};
use forebay_shaper::headers::Layer;
use forebay_shaper::{Plan, Recorder, Shaper, replay};
use rustix::fd::BorrowedFd;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, OnceLock};

/// A configuration that a gate can have, whatever the input.
const PLAIN: &str = "link = { rate = \"10Mbit\", queue = { kind = \"fq-codel\" } }\n\
                     io = { inside = \"a\", outside = \"b\" }";
/// Longest request, and most bytes that are read beyond it.
const LONGEST: usize = 8_192;

fn parts() -> &'static Parts {
    static PARTS: OnceLock<Parts> = OnceLock::new();
    PARTS.get_or_init(Parts::builtin)
}

fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| config::schema(parts(), true))
}

/// A configuration: what is not refused can be shown, is the same when what is shown is read, and
/// forwards packets. Bytes that are no text choose from the schema what it says.
pub fn configuration(data: &[u8]) {
    let made = |data| {
        let tree = generate::value(schema(), schema(), &mut Unstructured::new(data)).ok()?;
        toml::to_string(&tree).ok()
    };
    let Some(text) = std::str::from_utf8(data).map(str::to_owned).ok().or_else(|| made(data))
    else {
        return;
    };
    // Libraries are not loaded.
    if toml::from_str::<toml::Table>(&text).is_ok_and(|table| table.contains_key("plugins")) {
        return;
    }
    let Ok(config) = Config::parse(&text, parts()) else { return };
    let shown = show::check(&config).expect("what is read can be shown");
    let again = Config::parse(&shown, parts()).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    assert_eq!(config.effective(), again.effective(), "{shown}");
    forward(config);
}

/// Interfaces that receive the given frames, and send all.
struct Interfaces(Vec<Vec<u8>>);

impl Io for Interfaces {
    fn layer(&self) -> Layer {
        Layer::Ip
    }

    fn receive(&mut self, _: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        for frame in self.0.drain(..) {
            let index = pool.take().expect("they are few");
            pool.buffer(index)[..frame.len()].copy_from_slice(&frame);
            pool.set_extent(index, 0, frame.len());
            out.push(index);
        }
        Ok(())
    }

    fn send(&mut self, _: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        frames.drain(..).for_each(|index| pool.give(index));
        Ok(())
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Ok(Vec::new())
    }

    fn descriptor(&self, _: Side) -> BorrowedFd<'_> {
        unreachable!("nobody waits")
    }

    fn missed(&mut self, _: Side) -> Missed {
        Missed::default()
    }
}

/// Some packets through a gate with `config`: each is accounted for.
fn forward(config: Config) {
    let mut packet = vec![0; 100];
    packet[..20]
        .copy_from_slice(&[69, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let other = vec![0xff; 60];
    let frames = vec![packet.clone(), other, packet.clone(), packet];
    let count = frames.len() as u64;
    let pool = Pool::new(64, 1_600).expect("some memory");
    let gate = Gate::with(config, Box::new(Interfaces(frames)), pool, false);
    let (mut gate, _handle) = gate.expect("what is read can be built");
    let mut now = Time::from_nanos(1);
    for _ in 0..8 {
        let turn = gate.turn(now, Duration::ZERO, [true; 2], &mut Vec::new());
        assert!(matches!(turn, Ok(Turn::Busy | Turn::Idle)), "{turn:?}");
        now = gate.due().map_or(now, |due| due.max(now)) + Duration::from_millis(1);
        let [one, other] = Side::BOTH.map(|side| gate.account(side));
        assert_eq!(one.received + other.received, count);
        let known = one.passed + one.sent + one.dropped + one.answered + one.waiting;
        assert_eq!(one.received, known, "{one:?}");
    }
}

/// A connection that brings bytes in pieces and takes as few at a time.
struct Pieces<'a> {
    coming: &'a [u8],
    piece: usize,
    taken: Vec<u8>,
    /// Whether the next call would wait.
    waits: bool,
}

impl Pieces<'_> {
    fn step(&mut self, length: usize) -> io::Result<usize> {
        self.waits ^= true;
        if self.waits { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(length.min(self.piece)) }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.step(out.len().min(self.coming.len()))?;
        let (now, later) = self.coming.split_at(length);
        out[..length].copy_from_slice(now);
        self.coming = later;
        Ok(length)
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let length = self.step(text.len())?;
        self.taken.extend(&text[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A request to the control socket or by HTTP: it means the same in pieces of whatever size, and its
/// answer arrives whole. The first byte chooses the language and the size, the second the answer's
/// length.
pub fn control(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let Some((length, data)) = data.split_first() else { return };
    let (language, end) = match choice & 1 {
        0 => (Language::Line, &b"\n"[..]),
        _ => (Language::Http, &b"\r\n\r\n"[..]),
    };
    let ask = |piece: usize| {
        let stream = Pieces { coming: data, piece, taken: Vec::new(), waits: false };
        let mut client = Client::new(0, stream, language, std::time::Duration::ZERO);
        let request = loop {
            match client.read() {
                Ok(None) => assert!(!client.is_complete()),
                Ok(Some(request)) => break Some(request),
                Err(_) => break None,
            }
        };
        (client, request)
    };
    let (_, whole) = ask(usize::MAX);
    let (mut client, request) = ask(usize::from(choice >> 1) + 1);
    assert_eq!(request, whole);
    let at = data.windows(end.len()).position(|part| part == end);
    assert_eq!(request.is_some(), at.is_some_and(|at| at <= LONGEST));
    if let (Some(Request::Unknown(said)), Language::Line) = (&request, language) {
        assert!(
            !said.contains('\n') && !["status", "reload", "hand over"].contains(&said.as_str())
        );
    }
    assert_eq!(client.write(), State::Open, "there is no answer yet");
    let answer = "x".repeat(usize::from(*length));
    client.answer(answer.clone());
    while client.write() == State::Open {}
    let sent = client.stream.taken;
    assert_eq!(sent.strip_suffix(b"\n").unwrap_or(&sent), answer.as_bytes());
}

/// Answers of a gate: its status, its loan to the next gate, and the places where that continues. The
/// first byte chooses.
pub fn answers(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 3 {
        0 => status(data),
        1 => {
            let config = Config::parse(PLAIN, parts()).expect("it is right");
            let lent = handover::ask(&*Machine::system(), told(data), &config, choice & 64 != 0);
            assert!(lent.is_err() || data.contains(&b'\n'), "half a line is no loan");
        }
        _ => drop(neighbour::Predecessor::hear_of(told(data)).map(|(mut before, _)| before.hear())),
    }
}

/// The status of a gate is shown without control characters, and is right as metrics.
fn status(data: &[u8]) {
    let Ok(reply) = control::answer(data) else { return };
    let Ok(status) = serde_json::from_value::<Status>(reply) else { return };
    for before in [None, Some(&status)] {
        let screen = show::screen(&status, before);
        assert!(!screen.chars().any(|letter| letter.is_control() && letter != '\n'), "{screen:?}");
    }
    for line in metrics::text(&status).lines() {
        let sample = line.strip_prefix("forebay_gate_").map(|sample| sample.rsplit_once("} "));
        let is_sample = sample.flatten().is_some_and(|(_, number)| number.parse::<f64>().is_ok());
        assert!(
            is_sample || line.starts_with("# HELP ") || line.starts_with("# TYPE "),
            "{line:?}"
        );
    }
}

/// A connection whose other end has said `data` and is gone.
fn told(data: &[u8]) -> UnixStream {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    // It fits into the socket's buffer.
    theirs.write_all(&data[..data.len().min(16_384)]).expect("it is heard");
    theirs.shutdown(Shutdown::Write).expect("it is open");
    ours
}

/// A recording of a gate's queue: it is refused, or replayed. Bytes that are no recording say what
/// to record, and on how large a disk: what was written replays without a difference.
pub fn recording(data: &[u8]) {
    if data.starts_with(b"forebay") {
        if let Ok(result) = replay(data, &parts().disciplines) {
            assert!(result.offered <= result.calls && result.span_s >= 0.0);
        }
        return;
    }
    // An input that ends early is a short one.
    let _ = record(&mut Unstructured::new(data));
}

/// A disk with room for so many bytes, which takes few at a time.
struct Disk {
    file: Arc<Mutex<Cursor<Vec<u8>>>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().expect("nothing panics meanwhile");
        let length = bytes.len().min(self.room - file.position() as usize).min(1_000);
        if length == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.lock().expect("nothing panics meanwhile").seek(to)
    }
}

fn record(u: &mut Unstructured) -> arbitrary::Result<()> {
    let kinds = parts().disciplines.every_kind();
    let kinds = kinds.names();
    let rate = *u.choose(&[1_000_000, 64_000, 1_000_000_000])?;
    let room = if u.arbitrary()? { usize::from(u.arbitrary::<u16>()?) } else { usize::MAX };
    let overhead = u.int_in_range(0..=40)?;
    let queue = json!({ "kind": u.choose(&kinds)? });
    let mut plan = Plan::new(Rate::from_bps(rate), overhead, 1_500, queue);
    let Ok(mut shaper) = Shaper::new(plan.clone(), 1, &parts().disciplines) else { return Ok(()) };
    let file = Arc::new(Mutex::new(Cursor::default()));
    let disk = Disk { file: Arc::clone(&file), room };
    let recorder = Recorder::new(Box::new(disk), &plan, 1, u64::MAX);
    let Ok(recorder) = recorder else { return Ok(()) };
    shaper.record(recorder);
    let (mut now, mut ids) = (Time::from_nanos(1), (0..1_000).collect::<Vec<u32>>());
    let mut gone = Gone::default();
    while !u.is_empty() {
        now += Duration::from_nanos(u64::from(u.arbitrary::<u16>()?) << u.int_in_range(0..=12)?);
        match u.int_in_range(0..=7)? {
            0..4 => {
                let Some(id) = ids.pop() else { break };
                let mut packet =
                    Packet::new(id, u.arbitrary::<u8>()?.into(), u.int_in_range(20..=1_500)?);
                [packet.class, packet.precedence, packet.tos] = u.arbitrary()?;
                packet.drop_precedence = u.int_in_range(0..=7)?;
                shaper.offer(packet, now, &mut gone);
            }
            4..7 => {
                if let Poll::Send { packet, .. } = shaper.poll(now, &mut gone) {
                    ids.push(packet.retire());
                }
            }
            _ => {
                plan.queue = json!({ "kind": u.choose(&kinds)? });
                let _ = shaper.change(plan.clone(), now);
            }
        }
        ids.append(&mut gone.0);
    }
    let finished = shaper.finish();
    let file = file.lock().expect("nothing panics meanwhile");
    let again =
        replay(&file.get_ref()[..], &parts().disciplines).expect("what was written can be read");
    assert_eq!(again.difference, None);
    assert!(!again.truncated, "a recording ends within a call: {finished:?}");
    Ok(())
}

/// The handles of packets that were dropped.
#[derive(Default)]
struct Gone(Vec<u32>);

impl Sink for Gone {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.0.push(packet.retire());
    }

    fn marked(&mut self, _: &Packet) {}
}
