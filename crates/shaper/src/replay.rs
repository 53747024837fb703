//! Repeats the calls of a recording on a new shaper, and compares the results.

use crate::record::{Operation, Recording};
use crate::shaper::Shaper;
use forebay_core::tcp::Tcp;
use forebay_core::{DropReason, Packet, Poll, Sink, Time};
use forebay_disciplines::Disciplines;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::Arc;

/// The result of a replay.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Replay {
    /// Kind of the queue at the start.
    pub kind: String,
    /// Calls replayed: packets offered, polls of a free link, changes of the plan.
    pub calls: u64,
    /// Packets offered.
    pub offered: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets marked congestion-experienced.
    pub marked: u64,
    /// Time from the first call to the last.
    pub span_s: f64,
    /// Whether the recording ends within a call, as after a crash.
    pub truncated: bool,
    /// The first result that differs from the recording, and where. None if all are equal.
    pub difference: Option<String>,
}

/// The events within one call.
#[derive(Default)]
struct Effects {
    seen: Vec<Operation>,
    /// The header of the arriving packet, if the discipline looked at it.
    header: Option<Tcp>,
}

impl Sink for Effects {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.seen.push(Operation::Dropped { id: packet.retire(), reason });
    }
    fn marked(&mut self, packet: &Packet) {
        self.seen.push(Operation::Marked { id: packet.id });
    }
    fn tcp_header(&mut self, _: &Packet) -> Option<Tcp> {
        self.seen.extend(self.header.map(Operation::TcpHeader));
        self.header
    }
}

/// Replays the recording in `input`. Builds the recorded shaper again, with one of `disciplines`,
/// repeats its calls at the same times, and compares every verdict, drop, mark and departure. Stops
/// at the first difference.
///
/// # Errors
/// The recording cannot be read, or its plan cannot be built.
pub fn replay(input: impl BufRead, disciplines: &Arc<Disciplines>) -> io::Result<Replay> {
    let mut recording = Recording::open(input)?;
    let plan = recording.plan().clone();
    let refuse = |error| io::Error::new(io::ErrorKind::InvalidData, format!("plan: {error}"));
    let kind = plan.queue["kind"].as_str().unwrap_or("combination").to_owned();
    let mut shaper = Shaper::new(plan, recording.seed(), disciplines).map_err(refuse)?;
    let mut result = Replay { kind, ..Replay::default() };
    let mut first = None;
    loop {
        let (now, call) = match recording.read() {
            Ok(Some(call)) => call,
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                result.truncated = true;
                break;
            }
            Err(error) => return Err(error),
        };
        let Some(recorded) = answers(&mut recording, &call)? else {
            result.truncated = true;
            break;
        };
        let again = ask(&mut shaper, now, call.clone(), &recorded).map_err(refuse)?;
        result.calls += 1;
        let begin = *first.get_or_insert(now);
        result.span_s = now.since(begin).as_secs_f64();
        result.count(&call, &again);
        if again != recorded {
            result.difference = Some(format!(
                "call {} at {}: {call:?}: recorded {recorded:?}, replayed {again:?}",
                result.calls,
                now.since(begin)
            ));
            break;
        }
    }
    Ok(result)
}

/// The recorded events and the result of `call`. None if the recording ends before.
fn answers<R: BufRead>(
    recording: &mut Recording<R>,
    call: &Operation,
) -> io::Result<Option<Vec<Operation>>> {
    let mut answers = Vec::new();
    if let Operation::Change(_) = call {
        return Ok(Some(answers));
    }
    loop {
        match recording.read() {
            Ok(Some((_, answer))) => {
                let is_last = !matches!(
                    answer,
                    Operation::Dropped { .. } | Operation::Marked { .. } | Operation::TcpHeader(_)
                );
                if is_last && answer.is_call() {
                    let what = format!("{call:?} has no answer");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                answers.push(answer);
                if is_last {
                    return Ok(Some(answers));
                }
            }
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

fn ask(
    shaper: &mut Shaper,
    now: Time,
    call: Operation,
    recorded: &[Operation],
) -> Result<Vec<Operation>, forebay_core::ConfigError> {
    let header = recorded.iter().find_map(|answer| match answer {
        Operation::TcpHeader(header) => Some(*header),
        _ => None,
    });
    let mut effects = Effects { header, ..Effects::default() };
    match call {
        Operation::Offer { id, len, flow, marks, tos, kind, hosts } => {
            let mut packet = Packet::new(id, flow, len);
            [packet.class, packet.precedence, packet.drop_precedence] = marks;
            packet.tos = tos;
            packet.kind = kind;
            [packet.source, packet.destination] = hosts;
            let verdict = shaper.offer(packet, now, &mut effects);
            effects.seen.push(Operation::Verdict(verdict));
        }
        Operation::Change(plan) => shaper.change(plan, now)?,
        _ => {
            let poll = shaper.poll(now, &mut effects);
            effects.seen.push(Operation::answer(&poll, now));
            if let Poll::Send { packet, .. } = poll {
                packet.retire();
            }
        }
    }
    Ok(effects.seen)
}

impl Replay {
    fn count(&mut self, call: &Operation, answers: &[Operation]) {
        self.offered += u64::from(matches!(call, Operation::Offer { .. }));
        for answer in answers {
            match answer {
                Operation::Sent { .. } => self.sent += 1,
                Operation::Dropped { reason, .. } => {
                    *self.dropped.entry(reason.name()).or_default() += 1;
                }
                Operation::Marked { .. } => self.marked += 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Recorder};
    use forebay_core::{Rate, Rng};
    use serde_json::json;
    use std::io::{Cursor, ErrorKind, Seek, SeekFrom, Write};
    use std::sync::Mutex;

    fn again(bytes: &[u8]) -> io::Result<Replay> {
        replay(bytes, &Disciplines::builtin().into())
    }

    /// A file in memory. With `fault`, the call with that number takes a part, and those after it fail.
    #[derive(Clone, Default)]
    struct Shared {
        file: Arc<Mutex<Cursor<Vec<u8>>>>,
        calls: usize,
        fault: Option<(usize, ErrorKind)>,
    }

    impl Shared {
        fn bytes(&self) -> Vec<u8> {
            self.file.lock().unwrap().get_ref().clone()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut file = self.file.lock().unwrap();
            self.calls += 1;
            match self.fault {
                Some((at, _)) if self.calls == at => file.write(&bytes[..bytes.len() / 2]),
                // What has room is written over.
                Some((at, kind)) if self.calls > at => {
                    let room = file.get_ref().len() - file.position() as usize;
                    if room == 0 { Err(kind.into()) } else { file.write(&bytes[..1]) }
                }
                _ => file.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Shared {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.lock().unwrap().seek(to)
        }
    }

    /// Arrivals of 15 Mbit/s in bursts at a link of 10 Mbit/s; a new queue in the middle.
    fn recorded(kind: &str) -> Vec<u8> {
        let file = Shared::default();
        record(kind, &file).unwrap();
        file.bytes()
    }

    fn record(kind: &str, file: &Shared) -> io::Result<()> {
        let plan =
            |queue| Plan { rate: Rate::from_bps(10_000_000), overhead: 38, mtu: 1500, queue };
        let begin = plan(json!({ "kind": kind }));
        let mut shaper = Shaper::new(begin.clone(), 7, &Disciplines::builtin().into()).unwrap();
        shaper.record(Recorder::new(Box::new(file.clone()), &begin, 7, u64::MAX)?);
        let mut traffic = Rng::named(1, "traffic");
        let mut effects = Effects::default();
        let mut due = Time::ZERO;
        let mut now = Time::ZERO;
        for id in 0..2_000 {
            now += forebay_core::Duration::from_nanos(traffic.below(1_600_000));
            while due <= now {
                match shaper.poll(due, &mut effects) {
                    Poll::Send { packet, done_at } => {
                        packet.retire();
                        due = done_at;
                    }
                    Poll::Until(time) => due = time,
                    Poll::Idle => break,
                }
            }
            due = due.max(now);
            if id == 1_000 {
                shaper.change(plan(json!({ "kind": kind, })), now).unwrap();
                shaper.change(plan(json!({ "kind": "fifo", "limit": "50p" })), now).unwrap();
                shaper.change(plan(json!({ "kind": kind })), now).unwrap();
            }
            for burst in 0..traffic.below(3) as u32 {
                let mut packet = Packet::new(id * 4 + burst, traffic.next_u64() as u32 % 9, 1500);
                packet.class = (id % 3) as u8;
                packet.set_ecn(forebay_core::Ecn::Ect0);
                shaper.offer(packet, now, &mut effects);
            }
        }
        shaper.finish()
    }

    #[test]
    fn every_kind_replays_verdict_for_verdict() {
        for entry in &Disciplines::builtin().every_kind() {
            let bytes = recorded(&entry.name);
            let result = again(&bytes[..]).unwrap();
            assert_eq!(result.difference, None, "{}", entry.name);
            assert!(!result.truncated && result.sent > 1000 && result.offered > 1500);
        }
    }

    #[test]
    fn headers_that_were_looked_at_are_kept() {
        let queue = json!({ "kind": "cake", "ack_filter": "aggressive" });
        let plan = Plan { rate: Rate::from_bps(1_000_000), overhead: 0, mtu: 1500, queue };
        let file = Shared::default();
        let mut shaper = Shaper::new(plan.clone(), 7, &Disciplines::builtin().into()).unwrap();
        shaper.record(Recorder::new(Box::new(file.clone()), &plan, 7, u64::MAX).unwrap());
        let mut effects = Effects::default();
        for id in 0..9_u32 {
            let mut header = Tcp {
                seq: 1 << 20,
                ack: 1000 * id,
                flags: 0x910,
                window: 77,
                window_scale: Some(3),
                other_options: true,
                ..Tcp::default()
            };
            // The first two are not what the filter looks for; they are kept whole as well.
            if id > 1 {
                header = Tcp { ack: 1000 * id, flags: 0x10, ..Tcp::default() };
                header.timestamps = Some((id, u32::MAX));
                (0..id % 5).for_each(|at| header.sack.push(9000 + 3 * at, 9002 + 3 * at));
            }
            effects.header = Some(header);
            shaper.offer(Packet::new(id, 0, 80), Time::ZERO, &mut effects);
        }
        let gone = |seen: &Operation| matches!(seen, Operation::Dropped { .. });
        assert_eq!(effects.seen.iter().filter(|seen| gone(seen)).count(), 5);
        shaper.finish().unwrap();
        let bytes = file.bytes();
        let result = again(&bytes[..]).unwrap();
        assert_eq!((result.difference, result.dropped["redundant_ack"]), (None, 5));
        let mut recording = Recording::open(&bytes[..]).unwrap();
        let read = std::iter::from_fn(|| recording.read().unwrap().map(|(_, operation)| operation));
        let is_header = |seen: &Operation| matches!(seen, Operation::TcpHeader(_));
        let (read, told): (Vec<_>, Vec<_>) = (
            read.filter(is_header).collect(),
            effects.seen.into_iter().filter(is_header).collect(),
        );
        assert_eq!(read, told);
    }

    #[test]
    fn a_disk_that_fails_at_any_call_leaves_whole_calls() {
        let whole = again(&recorded("codel")[..]).unwrap();
        let mut calls = 0;
        // The first call writes the head, without which there is no recording.
        for at in 2.. {
            let file = Shared { fault: Some((at, ErrorKind::StorageFull)), ..Shared::default() };
            let end = record("codel", &file);
            let result = again(&file.bytes()[..]).unwrap();
            assert_eq!((result.difference, result.truncated), (None, false), "call {at}");
            assert!(result.calls >= calls);
            calls = result.calls;
            if end.is_ok() {
                break;
            }
            assert_eq!(end.unwrap_err().kind(), ErrorKind::StorageFull);
            assert!(calls < whole.calls);
        }
        assert_eq!(calls, whole.calls);
        let file = Shared { fault: Some((1, ErrorKind::StorageFull)), ..Shared::default() };
        assert!(record("codel", &file).is_err());
    }

    #[test]
    fn another_queue_is_told_from_the_recorded_one() {
        let bytes = recorded("fifo");
        let end = bytes.iter().position(|byte| *byte == b'}').unwrap();
        let mut changed = bytes[..end].to_vec();
        changed.extend(br#","limit":"20p""#);
        changed.extend(&bytes[end..]);
        let difference = again(&changed[..]).unwrap().difference.unwrap();
        assert!(difference.contains("recorded [Verdict(Queued)]"), "{difference}");
    }

    #[test]
    fn a_recording_cut_short_is_replayed_up_to_there() {
        let bytes = recorded("codel");
        let whole = again(&bytes[..]).unwrap();
        // Within a call, its answer, or the number of either.
        for less in 1..60 {
            let cut = again(&bytes[..bytes.len() - less]).unwrap();
            assert!(cut.difference.is_none() && cut.calls < whole.calls, "{less}");
        }
        for (text, expected) in [
            ("", "is not a recording"),
            ("something else\n", "is not a recording"),
            ("forebay recording 2\n{}\n", "plan"),
            (
                "forebay recording 2\n{\"plan\":{\"rate\":\"1Mbit\",\"overhead\":0,\"mtu\":1500,\"queue\":{\"kind\":\"x\"}},\"seed\":1}\n",
                "unknown kind",
            ),
        ] {
            let error = again(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
