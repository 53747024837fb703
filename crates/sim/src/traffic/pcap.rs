//! A recorded capture, replayed packet by packet.
//!
//! Replay is open loop: packets are sent at their recorded times and with their recorded lengths,
//! whatever happens to them. TCP packets do not slow down when they are dropped, and are not sent
//! again. Use a capture as cross traffic, and the TCP sources where the reaction matters.
//!
//! Each five-tuple is a flow. Codepoints are kept; rules give classes and precedences. ECN bits are
//! not kept, because nothing would respond to a mark. Entries that replay the two directions of one
//! capture (with `source`) stay in step: both count from its first packet, and repeat with its
//! whole length.

use super::family::{BuildSite, Generator};
use super::rules::{Prefix, Rule, marks};
use super::{Datagram, Datagrams, Marks};
use crate::input;
use crate::pcap_in::{Capture, FiveTuple, LARGEST, read_capture};
use forebay_core::{ConfigError, Duration, Named, Rng, Time, config::require, file, params};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A replayed capture.
pub struct Pcap {
    packets: Vec<Recorded>,
    flows: u32,
    /// Time after which it repeats. None: it is replayed once.
    period: Option<Duration>,
    next: usize,
    /// Beginning of the present repetition. None before the start.
    begin: Option<Time>,
}

params! {
    /// Parameters of replay.
    pub struct PcapParams {
        /// Capture file, pcap or pcapng, plain or packed by gzip. A relative name starts from the
        /// scenario's directory.
        #[schemars(extend("format" = "path"))]
        pub file: String = String::new(),
        /// Replays only packets that come from these addresses, such as "10.1.0.0/16"; all if
        /// unset. It is needed if the capture has both directions of a link.
        pub source: Option<Prefix> = None,
        /// Class and precedence of packets. The first rule that matches decides; if none matches,
        /// the entry's own marks.
        pub rules: Vec<Rule> = Vec::new(),
        /// Speed relative to the recording. Above 0.
        pub speed: f64 = 1.0,
        /// Whether the capture starts again at its end, after one mean interval between packets.
        #[serde(rename = "loop")]
        pub repeat: bool = false,
    }
}

/// A packet to send.
struct Recorded {
    /// Time since the beginning of the repetition.
    at: Duration,
    len: u32,
    flow: u32,
    marks: Marks,
}

impl Pcap {
    /// Replay of `capture`. `entry` has the marks of the traffic entry.
    ///
    /// # Errors
    /// A speed out of range, a capture too short to repeat, or no packet from `source`.
    pub fn new(params: &PcapParams, capture: &Capture, entry: Marks) -> Result<Self, ConfigError> {
        require(params.speed.is_finite() && params.speed > 0.0, "speed", || {
            format!("must be above 0, got {}", params.speed)
        })?;
        let scaled = |nanos: f64| Duration::from_nanos((nanos / params.speed + 0.5) as u64);
        let period = params.repeat.then(|| {
            // One mean interval more than from the first packet to the last.
            let gaps = (capture.recorded.max(2) - 1) as f64;
            scaled(capture.span_nanos as f64 * (1.0 + 1.0 / gaps))
        });
        require(period != Some(Duration::ZERO), "loop", || {
            "a capture whose packets all have the same time cannot repeat; set loop = false".into()
        })?;
        let mut flows = BTreeMap::<FiveTuple, u32>::new();
        let from = |source: Option<Prefix>| {
            capture
                .packets
                .iter()
                .filter(move |packet| source.is_none_or(|from| from.contains(packet.tuple.source)))
        };
        let packets: Vec<_> = from(params.source)
            .map(|packet| {
                let fresh = flows.len() as u32;
                Recorded {
                    at: scaled(packet.at_nanos as f64),
                    len: packet.len,
                    flow: *flows.entry(packet.tuple).or_insert(fresh),
                    marks: marks(&params.rules, packet, entry),
                }
            })
            .collect();
        require(!packets.is_empty(), "source", || {
            format!(
                "no packet of \"{}\" comes from {}; one packet comes from {}",
                params.file,
                params.source.map(|prefix| prefix.to_string()).unwrap_or_default(),
                capture.packets.first().map_or("nowhere".into(), |p| p.tuple.source.to_string())
            )
        })?;
        Ok(Pcap { packets, flows: flows.len() as u32, period, next: 0, begin: None })
    }
}

impl Named for Pcap {
    type Family = Generator;
    const NAME: &'static str = "pcap";
    const SUMMARY: &'static str = "a recorded capture, replayed packet by packet (open loop)";
    const SOURCE: &'static str = "the capture file";
    type Params = PcapParams;

    fn reads(params: &PcapParams) -> Option<&str> {
        Some(&params.file)
    }

    fn build(params: &PcapParams, site: &BuildSite) -> Result<Generator, ConfigError> {
        require(!params.file.is_empty(), "file", || {
            "is missing; name a capture, such as file = \"office.pcap\"".into()
        })?;
        let path = site.base_dir.join(&params.file);
        let refuse =
            |what: String| ConfigError::new("file", format!("\"{}\" {what}", path.display()));
        let capture = captured(&path).map_err(refuse)?;
        Ok(Generator::Datagrams(Box::new(Pcap::new(params, &capture, site.marks)?)))
    }
}

/// The captures that were read last, by the content of their files. Each direction, variant and
/// replication of a scenario reads its capture, which takes longer than to compare it.
static RECENT: Mutex<VecDeque<(Vec<u8>, Arc<Capture>)>> = Mutex::new(VecDeque::new());
const KEPT: usize = 4;
const LARGEST_KEPT: usize = 4 << 20;
const MOST_PACKETS_KEPT: usize = 1 << 17;

fn captured(path: &Path) -> Result<Arc<Capture>, String> {
    let unread = |error| {
        format!("cannot be read ({error}); a relative name starts from the scenario's directory")
    };
    let content = file::read(path, LARGEST).map_err(unread)?;
    let recent = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = recent().iter().find(|(kept, _)| *kept == content) {
        return Ok(found.clone());
    }
    let capture = Arc::new(read_capture(&input::unpacked(&content, LARGEST).map_err(unread)?)?);
    if content.len() <= LARGEST_KEPT && capture.packets.len() <= MOST_PACKETS_KEPT {
        let mut recent = recent();
        recent.truncate(KEPT - 1);
        recent.push_front((content, capture.clone()));
    }
    Ok(capture)
}

impl Datagrams for Pcap {
    fn flows(&self) -> u32 {
        self.flows
    }

    #[inline]
    fn next(&mut self, after: Time, _: &mut Rng) -> Option<Datagram> {
        let mut begin = *self.begin.get_or_insert(after);
        if self.next == self.packets.len() {
            begin += self.period?;
            self.begin = Some(begin);
            self.next = 0;
        }
        let packet = &self.packets[self.next];
        self.next += 1;
        Some(Datagram {
            at: begin + packet.at,
            len: packet.len,
            flow: packet.flow,
            marks: Some(packet.marks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap_in::tests::{ipv4_tcp, pcap};

    /// Three packets of two flows at 0, 10 and 40 ms; the last one has another source.
    fn capture() -> Vec<u8> {
        let packet = |micros, len, dscp, last| {
            (micros, len, ipv4_tcp(len as u16, dscp, [10, 0, 0, last], (1000, 80)))
        };
        pcap(101, &[packet(0, 500, 46, 1), packet(10_000, 1000, 0, 2), packet(40_000, 40, 0, 1)])
    }

    fn replay(params: PcapParams, count: usize) -> Vec<Datagram> {
        let entry =
            Marks { class: 3, precedence: 2, drop_precedence: 1, dscp: 9, ..Marks::default() };
        let capture = read_capture(&capture()).unwrap();
        let mut source = Pcap::new(&params, &capture, entry).unwrap();
        let mut rng = Rng::named(1, "pcap");
        let mut after = Time::ZERO + Duration::from_secs(1);
        let mut sent = Vec::new();
        while let Some(datagram) = source.next(after, &mut rng).filter(|_| sent.len() < count) {
            after = datagram.at;
            sent.push(datagram);
        }
        assert!(sent.iter().all(|datagram| datagram.flow < source.flows()));
        sent
    }

    fn millis(sent: &[Datagram]) -> Vec<f64> {
        sent.iter().map(|datagram| (datagram.at.as_nanos() - 1_000_000_000) as f64 * 1e-6).collect()
    }

    #[test]
    fn a_capture_is_read_again_when_its_content_changes() {
        let path = std::env::temp_dir().join(format!("forebay-kept-{}.pcap", std::process::id()));
        let mut content = capture();
        std::fs::write(&path, &content).unwrap();
        let first = captured(&path).unwrap();
        assert!(Arc::ptr_eq(&first, &captured(&path).unwrap()));
        // The second octet of the last packet's source.
        let at = content.len() - 40 + 13;
        content[at] = 9;
        std::fs::write(&path, &content).unwrap();
        assert_ne!(*first, *captured(&path).unwrap());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn once_as_recorded() {
        let rules = serde_json::from_value(serde_json::json!([{"dscp": "EF", "q": 5}])).unwrap();
        let sent = replay(PcapParams { rules, ..PcapParams::default() }, 9);
        assert_eq!(millis(&sent), [0.0, 10.0, 40.0]);
        let without_hosts = |marks: Marks| Marks { hosts: [0; 2], ..marks };
        let seen: Vec<_> =
            sent.iter().map(|d| (d.len, d.flow, without_hosts(d.marks.unwrap()))).collect();
        let unmatched = Marks { class: 3, precedence: 2, drop_precedence: 1, ..Marks::default() };
        let voice = Marks { class: 5, dscp: 46, ..unmatched };
        assert_eq!(seen, [(500, 0, voice), (1000, 1, unmatched), (40, 0, unmatched)]);
    }

    #[test]
    fn twice_as_fast_and_for_ever() {
        // 40 ms and a mean interval of 20 ms, in half the time.
        let params = PcapParams { repeat: true, speed: 2.0, ..PcapParams::default() };
        assert_eq!(millis(&replay(params, 7)), [0.0, 5.0, 20.0, 30.0, 35.0, 50.0, 60.0]);
    }

    #[test]
    fn one_direction_keeps_step_with_the_other() {
        let source = Some("10.0.0.2".parse().unwrap());
        let params = PcapParams { source, repeat: true, ..PcapParams::default() };
        let sent = replay(params, 3);
        assert_eq!(millis(&sent), [10.0, 70.0, 130.0]);
        assert!(sent.iter().all(|datagram| datagram.flow == 0 && datagram.len == 1000));
    }

    #[test]
    fn the_example_capture_is_what_other_tools_see() {
        // Numbers by tshark: packets and `ip.len` of those from 10.88.1.0/24.
        let base_dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
        let site = BuildSite::nowhere(base_dir);
        let source = Some("10.88.1.0/24".parse().unwrap());
        let file = "office.pcap.gz".to_owned();
        let params = PcapParams { file, source, ..PcapParams::default() };
        let built = Pcap::build(&params, &site).expect("the example is a usable capture");
        let Generator::Datagrams(mut hosts) = built else { panic!("packets") };
        let mut rng = Rng::named(1, "example");
        let (mut at, mut packets, mut bytes, mut voice) = (Time::ZERO, 0, 0, 0);
        while let Some(datagram) = hosts.next(at, &mut rng) {
            at = datagram.at;
            packets += 1;
            bytes += u64::from(datagram.len);
            voice += u32::from(datagram.marks.unwrap().dscp == 46);
        }
        assert_eq!((packets, bytes, voice), (10_514, 5_089_445, 1994));
    }

    #[test]
    fn errors_name_the_file_and_the_field() {
        let site = BuildSite::nowhere(Path::new("/nowhere"));
        let build = |params| Pcap::build(&params, &site).err().unwrap().to_string();
        assert!(build(PcapParams::default()).starts_with("file: is missing"));
        let file = "no.pcap".to_owned();
        let missing = build(PcapParams { file, ..PcapParams::default() });
        assert!(missing.starts_with("file: \"/nowhere/no.pcap\" cannot be read"), "{missing}");
        let refuse = |params: PcapParams| {
            let capture = read_capture(&capture()).unwrap();
            Pcap::new(&params, &capture, Marks::default()).err().unwrap().to_string()
        };
        for speed in [0.0, -1.0, f64::INFINITY] {
            assert!(refuse(PcapParams { speed, ..PcapParams::default() }).starts_with("speed"));
        }
        let source = Some("192.0.2.0/24".parse().unwrap());
        let elsewhere = refuse(PcapParams { source, ..PcapParams::default() });
        assert!(
            elsewhere.contains("192.0.2.0/24") && elsewhere.contains("10.0.0.1"),
            "{elsewhere}"
        );
    }
}
