//! A script says what goes into an endpoint and what must come out, when.
//!
//! A script is read line by line; `#` begins a comment. The first line names the side under test
//! and its parameters, which are those of [`Config`] in TOML, separated by blanks:
//!
//! ```text
//! sender mtu="1040B" initial_window=2 handshake=false
//! ```
//!
//! Every other line may begin with a time (`100ms`, or `+100ms` after the line before); without one it
//! happens at the time of the line before. The first of them starts the side under test. Deadlines that
//! fall due until then, and at that time, come first. Inputs:
//!
//! ```text
//! write 5000 | write forever | close          the application of a sender
//! ack 1001 [options]                          an acknowledgment arrives at a sender
//! syn-ack [options]                           likewise
//! rst
//! recv 1 1000 [options]                       payload arrives: first offset, length
//! syn                                         a SYN arrives at a receiver
//! stop-reading | read                         the application of a receiver
//! answer 100ms until 5s                       every segment sent is acknowledged 100 ms later
//! ignore                                      what was sent until now is of no interest
//! loose                                       from now on it is of no interest when something is
//!                                             sent, and options only if words ask for them
//! ```
//!
//! with the options `win=N` (default: the window advertised last), `sack=START-END,...` (absolute
//! offsets), `ts=TSVAL/TSECR` (microseconds), `ace=N` (AE, CWR and ECE as a number), `accecn0=...` and
//! `accecn1=...` (counters in the order of the option), and the words `ae`, `ece`, `cwr`, `fin`, `psh`,
//! `ect` (ECT(0)), `ect1`, `ce` (it comes marked) and `bleached` (it comes as not ECN-capable).
//!
//! Segments that the side under test sends wait in order with their times, and must be taken by:
//!
//! ```text
//! expect seg 1 1000 [words]                   payload: first offset, length; sent at this time
//! expect 4 segs 1 1000                        four of them in a row
//! expect ack 1001 [win=N] [sack=...] [ts=...] [words]  without payload
//! expect syn | expect syn-ack | expect fin 5001 | expect rst
//! expect nothing [until 200ms]                nothing waits, nor is sent up to that time
//! expect cwnd=5000 rto=300ms ...              the state: cwnd, ssthresh, rto, state, feedback, marks
//!                                             and marked (packets and bytes), timeouts,
//!                                             retransmissions, delivered, duplicate, finished;
//!                                             cwnd~5000 is within one percent of it
//! ```
//!
//! The words of an expected segment are all that it carries, and its SACK blocks, AccECN option and
//! window are compared if given (SACK blocks and option also if absent). `any-ecn` leaves the codepoint
//! open. Of a loose script `option` and `no-option` say whether there is an AccECN option, and
//! `counters=E0B,CEB,E1B` what is known by those up to now. Nothing may be left at the end.

use forebay_core::{Duration, Ecn, Time};
use forebay_tcp::{AccEcnOption, Config, Flags, Receiver, SackBlock, Segment, Sender};
use std::collections::VecDeque;
use std::fmt::Write;

enum Side {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

struct Script {
    side: Side,
    now: Time,
    /// Sent and not yet expected.
    sent: VecDeque<(Time, Segment)>,
    window: u32,
    loose: bool,
    /// EE0B, ECEB and EE1B as told up to now.
    counters: [u32; 3],
}

/// Timers of one tick of Linux 6.1 fire one after the other within this time.
const TICK: Duration = Duration::from_micros(4);

type Outcome = Result<(), String>;

const WORDS: [(&str, Flags); 7] = [
    ("ae", Flags::AE),
    ("ece", Flags::ECE),
    ("cwr", Flags::CWR),
    ("fin", Flags::FIN),
    ("ect", Flags::ECT),
    ("ect1", Flags::ECT1),
    ("psh", Flags::PSH),
];

fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T, String> {
    let word = word.ok_or("a number is missing")?;
    word.parse().map_err(|_| format!("not a number: {word}"))
}

fn time(text: &str) -> Option<Time> {
    text.parse::<Duration>().ok().map(|span| Time::ZERO + span)
}

impl Script {
    fn new(header: &str, start: Time) -> Result<Self, String> {
        let (side, fields) = header.split_once(' ').unwrap_or((header, ""));
        let fields = fields.split_whitespace().collect::<Vec<_>>().join("\n");
        let config: Config = toml::from_str(&fields).map_err(|error| error.to_string())?;
        config.validate().map_err(|error| error.to_string())?;
        let side = match side {
            "sender" => Side::Sender(Box::new(Sender::new(&config, start))),
            "receiver" => Side::Receiver(Box::new(Receiver::new(&config))),
            other => return Err(format!("neither sender nor receiver: {other}")),
        };
        let window = config.connection.receive_window.largest() as u32;
        let mut script = Script {
            side,
            now: start,
            sent: VecDeque::new(),
            window,
            loose: false,
            counters: [1, 0, 1],
        };
        script.drain();
        Ok(script)
    }

    fn drain(&mut self) {
        if let Side::Sender(sender) = &mut self.side {
            let now = self.now;
            self.sent.extend(std::iter::from_fn(|| sender.poll(now)).map(|segment| (now, segment)));
        }
    }

    /// Passes every deadline up to and including `until`.
    fn advance(&mut self, until: Time) {
        while let Some(at) = self.deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            match &mut self.side {
                Side::Sender(sender) => sender.on_deadline(at),
                Side::Receiver(receiver) => {
                    self.sent.extend(receiver.on_deadline(at).map(|segment| (at, segment)));
                }
            }
            self.drain();
        }
        self.now = until;
    }

    fn line(&mut self, line: &str) -> Outcome {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let after = first.strip_prefix('+').and_then(|span| span.parse::<Duration>().ok());
        let rest = match after.map(|span| self.now + span).or_else(|| time(first)) {
            Some(at) => {
                if at < self.now {
                    return Err("time goes backward".to_owned());
                }
                self.advance(at);
                rest
            }
            None => line,
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        match words.split_first() {
            Some((&"expect", what)) => self.expect(what),
            Some((action, arguments)) => self.act(action, arguments),
            None => Ok(()),
        }
    }

    fn act(&mut self, action: &str, arguments: &[&str]) -> Outcome {
        let now = self.now;
        let argument = |at: usize| arguments.get(at).copied();
        match (&mut self.side, action) {
            (Side::Sender(sender), "write") if argument(0) == Some("forever") => {
                sender.write_forever();
            }
            (Side::Sender(sender), "write") => sender.write(number(argument(0))?),
            (Side::Sender(sender), "close") => sender.close(),
            (Side::Sender(_), "answer") => return self.answer(arguments),
            (_, "ignore") => self.sent.clear(),
            (_, "loose") => self.loose = true,
            (Side::Receiver(receiver), "stop-reading" | "read") => {
                let update = receiver.set_reading(now, action == "read");
                self.sent.extend(update.map(|segment| (now, segment)));
            }
            (_, "ack" | "syn-ack" | "rst" | "recv" | "syn") => {
                let (segment, ecn) = self.arriving(action, arguments)?;
                match &mut self.side {
                    Side::Sender(sender) => sender.on_segment(now, &segment, ecn),
                    Side::Receiver(receiver) => {
                        let ack = receiver.on_segment(now, &segment, ecn);
                        self.sent.extend(ack.map(|segment| (now, segment)));
                    }
                }
            }
            _ => return Err(format!("not an action of this side: {action}")),
        }
        self.drain();
        Ok(())
    }

    /// Acknowledges what is sent, each segment by itself and a round trip after it left.
    fn answer(&mut self, arguments: &[&str]) -> Outcome {
        let [round_trip, "until", until] = arguments else {
            return Err("answer SPAN until TIME".to_owned());
        };
        let round_trip: Duration = round_trip.parse().map_err(|_| "not a span")?;
        let until = time(until).ok_or("not a time")?;
        while let Some(&(at, segment)) = self.sent.front()
            && at + round_trip <= until
        {
            self.advance(at + round_trip);
            self.sent.pop_front();
            self.act("ack", &[&segment.end().to_string()])?;
        }
        self.advance(until);
        Ok(())
    }

    fn arriving(&mut self, action: &str, arguments: &[&str]) -> Result<(Segment, Ecn), String> {
        let (fixed, flags) = match action {
            "ack" => (1, Flags::ACK),
            "syn-ack" => (0, Flags::ACK.with(Flags::SYN)),
            "rst" => (0, Flags::RST),
            "recv" => (2, Flags::ACK),
            _ => (0, Flags::SYN),
        };
        let mut segment = Segment { flags, ack: 1, ..Segment::default() };
        match action {
            "ack" => segment.ack = number(arguments.first().copied())?,
            "recv" => {
                segment.seq = number(arguments.first().copied())?;
                segment.len = number(arguments.get(1).copied())?;
            }
            _ => {}
        }
        let mut came = None;
        for option in &arguments[fixed..] {
            match option.split_once('=') {
                Some(("win", value)) => self.window = number(Some(value))?,
                Some(("sack", value)) => sack(&mut segment, value)?,
                Some(("ts", value)) => stamp(&mut segment, value)?,
                Some(("accecn0", value)) => segment.set_accecn(accecn(0, value)?),
                Some(("accecn1", value)) => segment.set_accecn(accecn(1, value)?),
                None if *option == "ce" => came = Some(Ecn::Ce),
                None if *option == "bleached" => came = Some(Ecn::NotEct),
                _ => segment.flags = segment.flags.with(word(option)?),
            }
        }
        segment.window = self.window;
        Ok((segment, came.unwrap_or(segment.ecn())))
    }

    fn expect(&mut self, what: &[&str]) -> Outcome {
        let ack = Flags::ACK;
        match what {
            ["nothing"] => self.nothing(),
            ["nothing", "until", until] => {
                self.advance(time(until).ok_or("not a time")?);
                self.nothing()
            }
            ["syn", words @ ..] => self.take(0, 0, Flags::SYN, words),
            ["rst"] => self.take(0, 0, Flags::RST, &[]),
            ["syn-ack", words @ ..] => self.take_ack(1, ack.with(Flags::SYN), words),
            ["fin", seq, words @ ..] => {
                self.take(number(Some(seq))?, 0, ack.with(Flags::FIN), words)
            }
            ["seg", seq, len, words @ ..] => {
                self.take(number(Some(seq))?, number(Some(len))?, ack, words)
            }
            [count, "segs", seq, len, words @ ..] => {
                let (seq, len): (u64, u32) = (number(Some(seq))?, number(Some(len))?);
                (0..number(Some(count))?)
                    .try_for_each(|i: u64| self.take(seq + i * u64::from(len), len, ack, words))
            }
            ["ack", offset, words @ ..] => self.take_ack(number(Some(offset))?, ack, words),
            pairs => pairs.iter().try_for_each(|pair| self.state(pair)),
        }
    }

    fn nothing(&self) -> Outcome {
        match self.sent.front() {
            Some((at, segment)) => Err(format!("sent at {}: {}", at_text(*at), text(segment))),
            None => Ok(()),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match &self.side {
            Side::Sender(sender) => sender.deadline(),
            Side::Receiver(receiver) => receiver.deadline(),
        }
    }

    fn pop(&mut self) -> Result<Segment, String> {
        let soon = self.now + TICK;
        if let Some(at) = self.deadline().filter(|at| self.sent.is_empty() && *at < soon) {
            self.advance(at);
        }
        while let Some(at) = self.deadline().filter(|_| self.loose && self.sent.is_empty()) {
            self.advance(at);
        }
        let (at, segment) = self.sent.pop_front().ok_or("nothing was sent")?;
        segment.accecn().into_iter().for_each(|option| self.learn(&option));
        if at == self.now || self.loose {
            Ok(segment)
        } else {
            Err(format!("sent at {}, not now: {}", at_text(at), text(&segment)))
        }
    }

    fn learn(&mut self, option: &AccEcnOption) {
        let [e0b, ceb, e1b] = &mut self.counters;
        let (first, last) = if option.order == 0 { (e0b, e1b) } else { (e1b, e0b) };
        let told = [option.e0b, option.ceb, option.e1b];
        let told = if option.order == 0 { told } else { [told[2], told[1], told[0]] };
        for (known, told) in [first, ceb, last].into_iter().zip(told).take(option.fields.into()) {
            *known = told;
        }
    }

    fn take(&mut self, seq: u64, len: u32, flags: Flags, words: &[&str]) -> Outcome {
        let segment = self.pop()?;
        let any_ecn = words.contains(&"any-ecn");
        let mut words = words.iter().filter(|name| **name != "any-ecn");
        let flags = words.try_fold(flags, |flags, name| word(name).map(|f| flags.with(f)))?;
        let same =
            segment.flags == flags || any_ecn && segment.flags.header_bits() == flags.header_bits();
        let right = segment.seq == seq && segment.len == len && same;
        if right { Ok(()) } else { Err(format!("got {}", text(&segment))) }
    }

    fn take_ack(&mut self, offset: u64, mut flags: Flags, words: &[&str]) -> Outcome {
        let segment = self.pop()?;
        let mut want = Segment { ack: offset, ..Segment::default() };
        let mut window = segment.window;
        let (mut any_ecn, mut options) = (false, true);
        for option in words {
            match option.split_once('=') {
                None if *option == "any-ecn" => any_ecn = true,
                None if *option == "option" => options &= segment.accecn().is_some(),
                None if *option == "no-option" => options &= segment.accecn().is_none(),
                Some(("counters", value)) => {
                    let told = self.counters.map(|counter| counter.to_string()).join(",");
                    options &= told == value;
                }
                Some(("win", value)) => window = number(Some(value))?,
                Some(("sack", value)) => sack(&mut want, value)?,
                Some(("ts", value)) => stamp(&mut want, value)?,
                Some(("accecn0", value)) => want.set_accecn(accecn(0, value)?),
                Some(("accecn1", value)) => want.set_accecn(accecn(1, value)?),
                _ => flags = flags.with(word(option)?),
            }
        }
        let blocks = segment.sack_blocks().eq(want.sack_blocks());
        options &= self.loose || segment.accecn().map(shown) == want.accecn().map(shown);
        let same =
            segment.flags == flags || any_ecn && segment.flags.header_bits() == flags.header_bits();
        let right = segment.len == 0 && segment.ack == offset && same;
        let stamps = |s: &Segment| (s.has_timestamp, s.tsval, s.tsecr);
        let stamped = !want.has_timestamp || stamps(&segment) == stamps(&want);
        if right && blocks && options && stamped && segment.window == window {
            Ok(())
        } else {
            Err(format!("got {}", text(&segment)))
        }
    }

    fn state(&self, pair: &str) -> Outcome {
        if let Some((name, want)) = pair.split_once('~') {
            let want: f64 = number(Some(want))?;
            let got = match (&self.side, name) {
                (Side::Sender(sender), "cwnd") => sender.info().cwnd,
                _ => return Err(format!("no such state: {name}")),
            };
            let near = (got as f64 / want - 1.0).abs() < 0.01;
            return if near { Ok(()) } else { Err(format!("{name} is {got}")) };
        }
        let (name, want) = pair.split_once('=').ok_or(format!("not understood: {pair}"))?;
        let got = match (&self.side, name) {
            (Side::Sender(sender), "cwnd") => sender.info().cwnd.to_string(),
            (Side::Sender(sender), "ssthresh") => sender.info().ssthresh.to_string(),
            (Side::Sender(sender), "rto") => sender.info().rto.to_string(),
            (Side::Sender(sender), "timeouts") => sender.stats().timeouts.to_string(),
            (Side::Sender(sender), "retransmissions") => sender.stats().retransmissions.to_string(),
            (Side::Sender(sender), "feedback") => format!("{:?}", sender.feedback()).to_lowercase(),
            (Side::Sender(sender), "marks") => sender.marks_counted().0.to_string(),
            (Side::Sender(sender), "marked") => sender.marks_counted().1.to_string(),
            (Side::Sender(sender), "state") => format!("{:?}", sender.state()).to_lowercase(),
            (Side::Receiver(receiver), "delivered") => receiver.delivered().to_string(),
            (Side::Receiver(receiver), "duplicate") => receiver.duplicate_bytes().to_string(),
            (Side::Receiver(receiver), "finished") => receiver.finished().to_string(),
            _ => return Err(format!("no such state: {name}")),
        };
        if got == want { Ok(()) } else { Err(format!("{name} is {got}")) }
    }
}

fn word(name: &str) -> Result<Flags, String> {
    if let Some(ace) = name.strip_prefix("ace=") {
        return Ok(Flags::NONE.with_ace(number(Some(ace))?));
    }
    let found = WORDS.iter().find(|(word, _)| *word == name);
    found.map(|(_, flag)| *flag).ok_or(format!("not understood: {name}"))
}

fn sack(segment: &mut Segment, text: &str) -> Outcome {
    for (slot, block) in segment.sack.iter_mut().zip(text.split(',')) {
        let (start, end) = block.split_once('-').ok_or("a block is START-END")?;
        let relative = |word: &str| {
            number::<u64>(Some(word)).map(|offset| offset.wrapping_sub(segment.ack) as u32)
        };
        *slot = SackBlock { start: relative(start)?, end: relative(end)? };
        segment.sack_count += 1;
    }
    Ok(())
}

/// The counters of an AccECN option, in its order.
fn accecn(order: u8, text: &str) -> Result<AccEcnOption, String> {
    let mut fields = text.split(',').filter(|field| !field.is_empty());
    let mut next = || fields.next().map(|field| number(Some(field))).transpose();
    let told: [Option<u32>; 3] = [next()?, next()?, next()?];
    let count = told.iter().flatten().count() as u8;
    let [first, ceb, last] = told.map(Option::unwrap_or_default);
    let (e0b, e1b) = if order == 0 { (first, last) } else { (last, first) };
    Ok(AccEcnOption { e0b, ceb, e1b, order, fields: count })
}

/// The option as it is on the wire.
fn shown(option: AccEcnOption) -> String {
    let AccEcnOption { e0b, ceb, e1b, order, fields } = option;
    let counters = if order == 0 { [e0b, ceb, e1b] } else { [e1b, ceb, e0b] };
    let told: Vec<_> = counters[..usize::from(fields)].iter().map(u32::to_string).collect();
    format!("accecn{order}={}", told.join(","))
}

fn stamp(segment: &mut Segment, text: &str) -> Outcome {
    let (tsval, tsecr) = text.split_once('/').ok_or("ts=TSVAL/TSECR")?;
    segment.has_timestamp = true;
    segment.tsval = number(Some(tsval))?;
    segment.tsecr = number(Some(tsecr))?;
    Ok(())
}

fn at_text(at: Time) -> Duration {
    at.since(Time::ZERO)
}

fn text(segment: &Segment) -> String {
    let Segment { seq, ack, len, window, .. } = segment;
    let mut line = format!("seq {seq} len {len} ack {ack} win={window}");
    if segment.has_timestamp {
        write!(line, " ts={}/{}", segment.tsval, segment.tsecr).unwrap();
    }
    for (name, flag) in WORDS.iter().chain(&[("syn", Flags::SYN), ("rst", Flags::RST)]) {
        if segment.flags.has(*flag) {
            write!(line, " {name}").unwrap();
        }
    }
    let blocks: Vec<_> = segment.sack_blocks().map(|(a, b)| format!("{a}-{b}")).collect();
    if let Some(option) = segment.accecn() {
        write!(line, " {}", shown(option)).unwrap();
    }
    if blocks.is_empty() { line } else { format!("{line} sack={}", blocks.join(",")) }
}

/// Runs a script; the error names its line.
pub fn run(source: &str) -> Outcome {
    let lines = source.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.enumerate().filter(|(_, line)| !line.is_empty()).peekable();
    let at = |(index, line), error| format!("line {}: {line}: {error}", index + 1);
    let header = lines.next().ok_or("the script is empty")?;
    let first = lines.peek().and_then(|(_, line)| time(line.split(' ').next()?));
    let mut script =
        Script::new(header.1, first.unwrap_or(Time::ZERO)).map_err(|e| at(header, e))?;
    for line in lines {
        script.line(line.1).map_err(|error| at(line, error))?;
    }
    script.nothing().map_err(|error| format!("at the end: {error}"))
}
