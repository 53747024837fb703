//! Everything at once: hostile frames, spoofed flows, slow and many clients, reloads of wrong files
//! of every kind, links that go down and up, stops and kills.
//!
//! Here it takes a few seconds. `make abuse` runs it longer, with `FOREBAY_ABUSE_SECONDS`, and
//! prints the table of docs/reliability.md.

use crate::net::{
    Gate, Net, Way, conserved, counters, free_port, hosts, ip, on_processor, possible, run, until,
};
use etherparse::{PacketBuilder, TcpHeader};
use forebay_core::Rng;
use forebay_gate::control::ask;
use forebay_gate::io::{BATCH, Side};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shortest duration of the tests.
const SECONDS: f64 = 12.0;
/// That share it.
const GATES: f64 = 11.0;

/// What the gate does with packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Queue,
    /// A box stands in front of the queue.
    Boxed,
    /// Subscribers share the link.
    Tree,
    /// Likewise, on two cores; frames arrive on any.
    Cores,
}

impl Role {
    fn has_subscribers(self) -> bool {
        matches!(self, Role::Tree | Role::Cores)
    }
}

/// The abuse that runs until `stop`.
struct Abuse<'a> {
    net: &'a Net,
    way: Way,
    role: Role,
    port: u16,
    gate: &'a Gate,
    stop: AtomicBool,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    frames: AtomicU64,
    flows: AtomicU64,
    clients: AtomicU64,
    reloads: AtomicU64,
    wrong: AtomicU64,
    links: AtomicU64,
    stops: AtomicU64,
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

const QUEUES: [&str; 6] = [
    "rate = \"20Mbit\", queue = { kind = \"fifo\", limit = \"100p\" }",
    "rate = \"50Mbit\", queue = { kind = \"fq-codel\" }",
    "rate = \"5Mbit\", queue = { kind = \"codel\", ecn = true }",
    "rate = \"100Mbit\", queue = { kind = \"cp-aqm\" }",
    "rate = \"30Mbit\", queue = { kind = \"pie\" }, reverse = { rate = \"10Mbit\", queue = { kind = \"fq-pie\" } }",
    "rate = \"10Mbit\", queue = { kind = \"prio\", limit = [\"50p\", \"50p\"] }",
];

impl Abuse<'_> {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Writes a configuration that is right.
    fn configure(&self, rng: &mut Rng) {
        let queue = rng.below(QUEUES.len() as u64) as usize;
        self.net.configure(&configuration(self.net, self.port, self.role, queue));
    }

    /// Frames from both hosts, past their own stacks.
    fn frames(&self, seed: u64) {
        let (mut io, mut pool) = hosts(self.net);
        let (mut rng, at) = (Rng::named(seed, "frames"), if self.way == Way::Tun { 14 } else { 0 });
        let samples = samples();
        let mut batch = VecDeque::new();
        let mut flows = HashSet::new();
        while self.goes_on() {
            // The interface takes the queue of the sender's processor.
            if self.role == Role::Cores && rng.below(8) == 0 {
                on_processor(rng.below(2) as usize);
            }
            let side = if rng.below(4) == 0 { Side::Outside } else { Side::Inside };
            for _ in 0..1 + rng.below(BATCH as u64) {
                let Some(index) = pool.take() else { break };
                let mut frame = samples[rng.below(samples.len() as u64) as usize].clone();
                spoof(&mut frame, &mut rng, &mut flows);
                if rng.below(3) == 0 {
                    mutate(&mut frame, &mut rng);
                }
                // A link without a header takes only IP packets.
                if at > 0 && frame.len() > at {
                    frame[at] = if frame[at] & 0x80 == 0 { frame[at] | 0x40 } else { 0x60 } & 0x7f;
                }
                let frame = &frame[at.min(frame.len())..];
                pool.buffer(index)[..frame.len()].copy_from_slice(frame);
                pool.set_extent(index, 0, frame.len());
                batch.push_back(index);
            }
            let count = batch.len() as u64;
            // A host's own link may be down.
            let _ = io.send(side, &mut batch, &mut pool);
            batch.drain(..).for_each(|index| pool.give(index));
            self.counts.frames.fetch_add(count, Ordering::Relaxed);
            // Frames that come back are taken out of the ring.
            if rng.below(4) == 0 {
                std::thread::sleep(Duration::from_micros(rng.below(3_000)));
            }
        }
        self.counts.flows.fetch_add(flows.len() as u64, Ordering::Relaxed);
    }

    /// Clients that ask properly, slowly, too much or nothing.
    fn clients(&self) -> u64 {
        let mut idle = VecDeque::new();
        let mut slowest = Duration::ZERO;
        while self.goes_on() {
            for _ in 0..20 {
                idle.push_back((
                    TcpStream::connect(("127.0.0.1", self.port)),
                    UnixStream::connect(self.gate.socket()),
                ));
                add(&self.counts.clients);
            }
            for (metrics, socket) in &mut idle {
                let _ = metrics.as_mut().map(|stream| stream.write(b"G"));
                let _ = socket.as_mut().map(|stream| stream.write(b"\xff\x00\x1b"));
            }
            while idle.len() > 100 {
                idle.pop_front();
            }
            // While it is stopped it cannot answer; the time counts all the same.
            let begin = Instant::now();
            let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            let _ = client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
            let mut reply = String::new();
            client.read_to_string(&mut reply).unwrap();
            assert!(reply.contains("forebay_gate_sent_packets_total"), "{reply}");
            assert!(ask(self.gate.socket(), "status").is_ok());
            slowest = slowest.max(begin.elapsed());
            pause(20);
        }
        slowest.as_millis() as u64
    }

    /// Configurations, right and wrong, by socket and signal.
    fn reloads(&self, seed: u64) {
        let mut rng = Rng::named(seed, "reloads");
        let file = self.net.file("gate.toml");
        let remove = || std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir(&file));
        while self.goes_on() {
            let _ = remove();
            let kind = rng.below(12);
            match kind {
                0 => drop(run("mkfifo", &[file.to_str().unwrap()])),
                1 => std::fs::create_dir(&file).unwrap(),
                2 => std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
                3 => std::fs::File::create(&file).unwrap().set_len(8 << 30).unwrap(),
                4 => std::fs::write(&file, "[".repeat(1_000_000)).unwrap(),
                5 => std::fs::write(&file, [0xff; 100]).unwrap(),
                6 if self.role.has_subscribers() => {
                    self.configure(&mut rng);
                    let (name, text) = WRONG[rng.below(WRONG.len() as u64) as usize];
                    std::fs::write(self.net.file(name), text).unwrap();
                }
                6 => {}
                7 => std::fs::write(&file, "x = ".to_owned() + &"[".repeat(100_000)).unwrap(),
                _ => self.configure(&mut rng),
            }
            let result = loop {
                let result = ask(self.gate.socket(), "reload");
                let busy = |error: &std::io::Error| {
                    let error = error.to_string();
                    error.contains("too many reloads") || error.contains("earlier configurations")
                };
                if !result.as_ref().is_err_and(busy) {
                    break result;
                }
                pause(10);
            };
            if kind < 8 {
                assert!(result.is_err(), "kind {kind} was taken");
                add(&self.counts.wrong);
            } else {
                result.unwrap();
            }
            add(&self.counts.reloads);
            for _ in 0..rng.below(20) {
                self.gate.signal(Signal::HUP);
            }
        }
        let _ = remove();
        self.configure(&mut rng);
    }

    /// The far host's link goes down and up, takes less, and the gate is stopped for a moment.
    fn links(&self, seed: u64) {
        let mut rng = Rng::named(seed, "links");
        let device = if self.way == Way::Tun { "out" } else { "host" };
        let set = |what: &[&str]| {
            ip(&[&["-n", self.net.right(), "link", "set", "dev", device], what].concat());
        };
        while self.goes_on() {
            match rng.below(4) {
                0 => {
                    set(&["down"]);
                    pause(rng.below(100));
                    set(&["up"]);
                    add(&self.counts.links);
                }
                1 => {
                    set(&["mtu", ["600", "1000", "1500"][rng.below(3) as usize]]);
                    add(&self.counts.links);
                }
                2 => {
                    self.gate.signal(Signal::STOP);
                    pause(rng.below(150));
                    self.gate.signal(Signal::CONT);
                    add(&self.counts.stops);
                }
                _ => pause(rng.below(300)),
            }
        }
        set(&["up"]);
        set(&["mtu", "1500"]);
    }
}

/// Files of subscribers that a gate must refuse.
const WRONG: [(&str, &str); 5] = [
    ("network.json", "{ \"S0\": { \"downloadBandwidthMbps\": -5 } }"),
    ("network.json", "{ \"S0\": {}, \"S0\": {} }"),
    ("devices.csv", "Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps\nc,Nowhere,1,1\n"),
    (
        "devices.csv",
        "Circuit ID,Parent Node,IPv4,Download Max Mbps,Upload Max Mbps\n\
         c,,10.9.0.1,1,1\nd,,10.9.0.1,1,1\n",
    ),
    ("devices.csv", "\u{0}\u{1b}[2J"),
];

/// A configuration that is right; `queue` is the number of one in `QUEUES`.
fn configuration(net: &Net, port: u16, role: Role, queue: usize) -> String {
    let rule = r#"{ name = "high\u001b[2J", protocol = "udp", port = [5000], q = 1 }"#;
    let head = format!("metrics = \"127.0.0.1:{port}\"\nrule = [{rule}]\n");
    let middlebox = match role {
        Role::Boxed => r#"box = { kind = "aspq", idle_timeout = "50ms", trickle = "20ms" },"#,
        Role::Queue => "",
        Role::Tree | Role::Cores => {
            // Spoofed sources are in 10.9.0.0/16. Some have circuits of their own, whose number
            // changes, most share one of 64 prefixes, and a quarter is unknown.
            let rate = [5, 50, 20][queue % 3];
            let nodes = format!(
                "{{ \"S\": {{ \"children\": {{ \"S0\": {{ \"downloadBandwidthMbps\": {rate} }}, \
                 \"S1\": {{}} }} }} }}"
            );
            std::fs::write(net.file("network.json"), nodes).unwrap();
            let mut lines = String::from(
                "Circuit ID,Parent Node,IPv4,Download Max Mbps,Upload Max Mbps,sqm\n\
                 host,S,10.9.0.2,10,5,cake\n",
            );
            for circuit in 0..64 {
                let (site, net) = (circuit % 2, circuit * 3);
                lines += &format!("p{circuit},S{site},10.9.{net}.0/23,{rate},2,\n");
            }
            for circuit in 0..queue % 3 * 40 {
                lines += &format!("c{circuit},S1,10.9.128.{circuit},3,3,/none\n");
            }
            std::fs::write(net.file("devices.csv"), lines).unwrap();
            let leaf = ["cake", "fq-codel"][queue / 3];
            // Trees of all cores, also those of the past, share this rate. What waits must leave
            // before the test ends.
            let others = if role == Role::Cores { 10 } else { 3 };
            return format!(
                "{head}link = {{ rate = \"20Mbit\", reverse = {{ rate = \"30Mbit\" }} }}\n\
                 [subscribers]\nnetwork = \"network.json\"\ndevices = \"devices.csv\"\n\
                 queue = {{ kind = \"{leaf}\" }}\nothers = \"{others}Mbit\"\n"
            );
        }
    };
    format!("{head}link = {{ {middlebox} {} }}", QUEUES[queue])
}

/// Gives the frame addresses and ports that no one had before.
fn spoof(frame: &mut [u8], rng: &mut Rng, flows: &mut HashSet<u64>) {
    if frame.len() < 38 || frame[12..14] != [8, 0] {
        return;
    }
    // The source's lower half and its port, with the IP header's checksum put right.
    let id = rng.below(1 << 32);
    let [a, b, c, d] = (id as u32).to_be_bytes();
    (frame[28], frame[29], frame[34], frame[35]) = (a, b, c, d);
    let header = &mut frame[14..34];
    header[10..12].fill(0);
    let sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    if flows.len() < 2_000_000 {
        flows.insert(id);
    }
}

fn mutate(frame: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        let (length, head) = (frame.len() as u64, frame.len().min(80) as u64);
        match rng.below(4) {
            0 if length > 40 => frame.truncate(rng.below(length - 35) as usize + 35),
            1 if length < 1_400 => frame.resize((length + rng.below(100)) as usize, 7),
            2 => frame[rng.below(head) as usize] = rng.below(256) as u8,
            _ => frame[rng.below(head) as usize] ^= 1 << rng.below(8),
        }
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let ethernet = || PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let ip4 = || ethernet().ipv4([10, 9, 0, 1], [10, 9, 0, 2], 64);
    let mut tcp = TcpHeader::new(1_000, 80, 1, 512);
    (tcp.ack, tcp.acknowledgment_number) = (true, 1);
    for payload in [&[][..], &[7; 60], &[9; 500], &[1; 1_400]] {
        let mut write = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = Vec::new();
            write(&mut frame);
            all.push(frame);
        };
        write(&|out| ip4().udp(5_000, 5_000).write(out, payload).unwrap());
        write(&|out| ip4().tcp_header(tcp.clone()).write(out, payload).unwrap());
        write(&|out| ip4().icmpv4_echo_request(1, 2).write(out, payload).unwrap());
        let ip6 = || ethernet().ipv6([1; 16], [2; 16], 64);
        write(&|out| ip6().tcp_header(tcp.clone()).write(out, payload).unwrap());
    }
    all
}

fn memory(gate: &Gate) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", gate.pid())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn descriptors(gate: &Gate) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", gate.pid())).unwrap().count()
}

/// The abuse of one gate, in numbers.
struct Row {
    name: String,
    cells: Vec<String>,
}

/// Runs a gate under abuse for `span`.
fn hold(way: Way, role: Role, span: Duration, seed: u64) -> Row {
    let cores = if role == Role::Cores { 2 } else { 1 };
    let mut net = Net::with_queues(way, cores);
    net.cores = cores;
    net.silence();
    let port = free_port();
    let ends = if way == Way::Tun { ["in", "out"] } else { ["host"; 2] };
    let count = || [counters(net.left(), ends[0]), counters(net.right(), ends[1])];
    let text = configuration(&net, port, role, 0);
    // TUN interfaces come up with the gate.
    let before = if way == Way::Tun { [[0; 2]; 2] } else { count() };
    let mut gate = net.gate(&text, &[]);
    let (stop, counts) = (AtomicBool::new(false), Counts::default());
    let abuse = Abuse { net: &net, way, role, port, gate: &gate, stop, counts };
    let mut sizes = Vec::new();
    let slowest = std::thread::scope(|scope| {
        let sent = scope.spawn(|| abuse.frames(seed));
        let clients = scope.spawn(|| abuse.clients());
        let reloads = scope.spawn(|| abuse.reloads(seed));
        let links = scope.spawn(|| abuse.links(seed));
        let begin = Instant::now();
        while begin.elapsed() < span {
            std::thread::sleep(span / 40);
            sizes.push(memory(&gate));
        }
        abuse.stop.store(true, Ordering::Relaxed);
        let slowest = clients.join().unwrap();
        for thread in [sent, reloads, links] {
            thread.join().unwrap();
        }
        slowest
    });
    // The reloads that still wait are done first.
    until("a reload is done", || ask(gate.socket(), "reload").is_ok());
    // What the hosts have sent last is on its way.
    pause(300);
    let status = gate.settled();
    conserved(&status);
    let after = count();
    let number = |path: &str| status.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let delta = |host: usize, way: usize| after[host][way] - before[host][way];
    let mut cells = vec![read(&abuse.counts.frames), read(&abuse.counts.flows)];
    let mut sums = [0; 5];
    for (forth, back, from, to, host) in [
        ("forward", "reverse", "inside", "outside", 0),
        ("reverse", "forward", "outside", "inside", 1),
    ] {
        let lost: u64 = ["oversize", "no_buffer", "kernel"]
            .map(|why| number(&format!("/{from}/{why}")))
            .iter()
            .sum();
        let received = number(&format!("/{forth}/received/packets"));
        assert_eq!(delta(host, 1), received + lost, "{way:?} {forth}: {status}");
        let made = number(&format!("/{back}/box/made")) + number(&format!("/{back}/box/answered"))
            - number(&format!("/{back}/box/lost"));
        let refused = number(&format!("/{to}/refused"));
        let left = number(&format!("/{forth}/passed/packets"))
            + number(&format!("/{forth}/sent/packets"))
            + made;
        assert_eq!(delta(1 - host, 0), left - refused, "{way:?} {forth}: {status}");
        let dropped: u64 = status[forth]["dropped"]
            .as_object()
            .unwrap()
            .values()
            .map(|count| count.as_u64().unwrap())
            .sum();
        for (sum, more) in sums.iter_mut().zip([received, left - refused, dropped, refused, lost]) {
            *sum += more;
        }
    }
    cells.extend(sums);
    // The medians of both halves tell growth. The most does not: rarely many trees wait at a time, and
    // a configuration of 1 MiB that makes no sense takes 30 MB for a moment.
    let halves = sizes.split_at(sizes.len() / 2);
    let [usual, later] = [halves.0, halves.1].map(|half| {
        let mut half = half.to_vec();
        half.sort_unstable();
        half[half.len() / 2]
    });
    // Buffers and tables are touched for the first time early on.
    let is_long = span > Duration::from_secs(60);
    assert!(!is_long || later <= usual + usual / 10, "memory grows: {sizes:?}");
    let [early, late] = [halves.0, halves.1].map(|half| half.iter().copied().max().unwrap_or(0));
    // AddressSanitizer keeps 16 MiB that were freed, and marks the rest in memory of its own.
    let most = if std::env::var_os("ASAN_OPTIONS").is_none() { 224 << 10 } else { 256 << 10 };
    assert!(early.max(late) < most, "{sizes:?}");
    cells.extend([
        read(&abuse.counts.clients),
        slowest,
        read(&abuse.counts.reloads),
        read(&abuse.counts.wrong),
        read(&abuse.counts.links),
        read(&abuse.counts.stops),
        early,
        late,
        descriptors(&gate) as u64,
    ]);
    gate.signal(Signal::TERM);
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("panicked") && !said.contains('\x1b'), "{said}");
    let with = match role {
        Role::Queue => "",
        Role::Boxed => " with ASPQ",
        Role::Tree => " with subscribers",
        Role::Cores => " on two cores",
    };
    let name = format!("{way:?}{with}").to_lowercase();
    Row { name, cells: cells.iter().map(u64::to_string).collect() }
}

/// Gates that are killed at any moment, one after another on the same interfaces.
fn kill(way: Way, times: u64, seed: u64) -> u64 {
    let net = Net::new(way);
    let mut rng = Rng::named(seed, "kill");
    let (sender, _receiver) = net.udp(5000);
    for _ in 0..times {
        let mut gate =
            net.gate("link = { rate = \"5Mbit\", queue = { kind = \"fq-codel\" } }", &[]);
        let until = Instant::now() + Duration::from_millis(rng.below(60));
        while Instant::now() < until {
            let _ = sender.send(&[0; 500]);
        }
        gate.signal(Signal::KILL);
        assert_eq!(gate.ended().0, None);
    }
    net.gate("link = {}", &[]).stop();
    times
}

/// Gates of a back end, one after another, then those that are killed.
fn hold_all(way: Way, roles: &[Role]) {
    if !possible() {
        return;
    }
    let asked = std::env::var("FOREBAY_ABUSE_SECONDS").ok();
    let seconds = asked.map_or(SECONDS, |text| text.parse().expect("a number of seconds"));
    let span = Duration::from_secs_f64(seconds / GATES);
    let head = "back end|frames|flows|in|out|dropped|refused|lost before|clients|slowest ms|reloads|wrong|\
                links|stops|kB early|kB late|descriptors";
    println!("| {} |\n|{}", head.replace('|', " | "), "---|".repeat(head.split('|').count()));
    for role in roles {
        let row = hold(way, *role, span, 3 * *role as u64 + way as u64 + 1);
        println!("| {} | {} |", row.name, row.cells.join(" | "));
    }
    let times = kill(way, (seconds / 4.0) as u64, 7);
    println!("killed and followed by another, {way:?}: {times} times");
}

#[test]
fn tun_holds_under_abuse() {
    hold_all(Way::Tun, &[Role::Queue, Role::Boxed, Role::Tree]);
}

#[test]
fn packet_sockets_hold_under_abuse() {
    hold_all(Way::Packet, &[Role::Queue, Role::Boxed, Role::Tree, Role::Cores]);
}

#[test]
fn xdp_holds_under_abuse() {
    hold_all(Way::Xdp, &[Role::Queue, Role::Boxed, Role::Tree, Role::Cores]);
}
