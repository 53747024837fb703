//! A tree of subscribers between real interfaces: plans, shares of a site, and every packet over
//! reloads and kills.
//!
//! `FOREBAY_CIRCUITS=10000 cargo test --release -p forebay-gate --test live ten_thousand -- --ignored
//! --nocapture` prints the figures of docs/isp.md.

use crate::net::{
    Gate, Net, Way, conserved, counters, free_port, get, hosts, on_processor, possible, until,
};
use etherparse::PacketBuilder;
use forebay_core::Rng;
use forebay_gate::control::ask;
use forebay_gate::io::{BATCH, Side};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Bytes of an IP packet.
const LEN: usize = 1_400;
/// Circuits of a site.
const EACH: usize = 10;

fn circuits(usual: usize) -> usize {
    std::env::var("FOREBAY_CIRCUITS").map_or(usual, |text| text.parse().expect("a number"))
}

/// Writes the files of `count` circuits with plans of `plan(circuit)` kbit/s, in sites of
/// `site` kbit/s. Returns the configuration.
fn files(net: &Net, count: usize, site: u64, leaf: &str, plan: impl Fn(usize) -> u64) -> String {
    let site = site as f64 / 1e3;
    let nodes: Vec<_> = (0..count.div_ceil(EACH))
        .map(|number| {
            format!("\"S{number}\": {{ \"downloadBandwidthMbps\": {site}, \"uploadBandwidthMbps\": {site} }}")
        })
        .collect();
    std::fs::write(net.file("network.json"), format!("{{ {} }}", nodes.join(", "))).unwrap();
    let mut lines = String::from(
        "Circuit ID,Parent Node,IPv4,Download Min Mbps,Upload Min Mbps,Download Max Mbps,\
         Upload Max Mbps\n",
    );
    for circuit in 0..count {
        let [_, _, b, c] = (circuit as u32).to_be_bytes();
        let (site, rate) = (circuit / EACH, plan(circuit) as f64 / 1e3);
        writeln!(lines, "{circuit},S{site},100.64.{b}.{c},0.01,0.01,{rate},{rate}").unwrap();
    }
    std::fs::write(net.file("devices.csv"), lines).unwrap();
    format!(
        "link = {{ rate = \"10Gbit\", reverse = {{ rate = \"10Gbit\" }} }}\n[subscribers]\n\
         network = \"network.json\"\ndevices = \"devices.csv\"\nqueue = {leaf}\n"
    )
}

/// A packet from the right host to `circuit`.
fn frame(circuit: usize) -> Vec<u8> {
    let [_, _, b, c] = (circuit as u32).to_be_bytes();
    let mut out = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 77, 0, 2], [100, 64, b, c], 64)
        .udp(1, 2)
        .write(&mut out, &[0; LEN - 28])
        .unwrap();
    out
}

/// Sends frames to `circuit(n)` of `count` for n in `range`, `per_second` of them, past the right host's stack.
fn send(net: &Net, range: Range<u64>, per_second: f64, count: usize, circuit: impl Fn(u64) -> u64) {
    let frames: Vec<_> = (0..count).map(frame).collect();
    let (mut io, mut pool) = hosts(net);
    let begin = Instant::now();
    let (first, mut next) = (range.start, range.start);
    let mut batch = VecDeque::new();
    while next < range.end {
        let due = first + (begin.elapsed().as_secs_f64() * per_second) as u64;
        while next < due.min(range.end) && batch.len() < BATCH {
            let Some(index) = pool.take() else { break };
            let frame = &frames[(circuit(next) % count as u64) as usize];
            pool.buffer(index)[..frame.len()].copy_from_slice(frame);
            pool.set_extent(index, 0, frame.len());
            batch.push_back(index);
            next += 1;
        }
        if batch.is_empty() {
            std::thread::sleep(Duration::from_micros(100));
        }
        io.send(Side::Outside, &mut batch, &mut pool).unwrap();
    }
    until("the interface takes the frames", || {
        io.send(Side::Outside, &mut batch, &mut pool).unwrap();
        batch.is_empty() && io.pending(Side::Outside) == 0
    });
}

/// Bytes sent to each circuit so far, and when.
fn sent(gate: &Gate) -> (Vec<f64>, f64) {
    let found = ask(gate.socket(), "circuits").unwrap();
    let circuits = found["circuits"].as_array().unwrap();
    let bytes = |circuit: &Value| circuit["down"]["sent"]["bytes"].as_f64().unwrap();
    (circuits.iter().skip(1).map(bytes).collect(), found["uptime_s"].as_f64().unwrap())
}

/// The rate of each circuit in kbit/s, while all are sent `per_second` frames together.
fn rates(net: &Net, gate: &Gate, count: usize, per_second: f64, span: f64) -> Vec<f64> {
    std::thread::scope(|scope| {
        let frames = (per_second * (span + 4.0)) as u64;
        let sender = scope.spawn(move || {
            send(net, 0..frames, per_second, count, |number| number);
        });
        std::thread::sleep(Duration::from_secs(3));
        let (before, then) = sent(gate);
        std::thread::sleep(Duration::from_secs_f64(span));
        let (after, now) = sent(gate);
        sender.join().unwrap();
        let each = before.iter().zip(&after);
        each.map(|(before, after)| (after - before) * 8e-3 / (now - then)).collect()
    })
}

/// User and system time of the gate in seconds.
fn processor(gate: &Gate) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", gate.pid())).unwrap();
    let fields: Vec<_> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// What a gate counted must be what the hosts' interfaces carried.
fn checked(net: &Net, gate: &Gate, before: [[u64; 2]; 2]) -> Value {
    let status = gate.settled();
    conserved(&status);
    let count = |path: &str| status.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let lost: u64 = ["oversize", "no_buffer", "kernel"]
        .map(|why| count(&format!("/outside/{why}")))
        .iter()
        .sum();
    let after = ends(net);
    assert_eq!(after[1][1] - before[1][1], count("/reverse/received/packets") + lost, "{status}");
    assert_eq!(
        after[0][0] - before[0][0],
        count("/reverse/sent/packets") + count("/reverse/passed/packets")
            - count("/inside/refused"),
        "{status}"
    );
    status
}

fn ends(net: &Net) -> [[u64; 2]; 2] {
    [counters(net.left(), "host"), counters(net.right(), "host")]
}

/// Measures plans and shares on `net`'s gate, and prints a row.
fn measure(count: usize, leaf: &str, span: f64) -> (f64, f64, f64) {
    let mut net = Net::new(Way::Packet);
    net.buffers = 131_072;
    net.silence();
    let plan = |circuit: usize| 20 + 20 * (circuit % 2) as u64;
    // Half more than the plans: 45 kbit/s to each.
    let per_second = 45e3 / (LEN as f64 * 8.0) * count as f64;
    let before = ends(&net);
    let mut gate = net.gate(&files(&net, count, 10_000, leaf, plan), &[]);
    let begin = (Instant::now(), processor(&gate));
    let found = rates(&net, &gate, count, per_second, span);
    let busy = (processor(&gate) - begin.1) / begin.0.elapsed().as_secs_f64();
    let off = found.iter().enumerate().map(|(circuit, rate)| rate / plan(circuit) as f64 - 1.0);
    let off = off.map(f64::abs).fold(0.0, f64::max);
    let sum = found.iter().sum::<f64>()
        / (0..count).map(|circuit| plan(circuit) as f64).sum::<f64>()
        - 1.0;
    // Ten circuits share 150 kbit/s: 15 to each, whatever their plans.
    net.configure(&files(&net, count, 150, leaf, plan));
    ask(gate.socket(), "reload").unwrap();
    let found = rates(&net, &gate, count, per_second, span);
    let (mut jain, mut site) = (1.0_f64, 0.0_f64);
    for rates in found.chunks(EACH) {
        let (sum, squares) =
            rates.iter().fold((0.0, 0.0), |(a, b), rate| (a + rate, b + rate * rate));
        jain = jain.min(sum * sum / (rates.len() as f64 * squares));
        site = site.max((sum / (15.0 * rates.len() as f64) - 1.0).abs());
    }
    let status = checked(&net, &gate, before);
    let stalls = &status["reverse"]["stalls"];
    println!(
        "{leaf}: {count} circuits, {per_second:.0} packets/s: plans off by {:.2} % at most, {:.3} % in \
         sum; sites off by {:.2} % at most; Jain's index {jain:.5} at least; the gate took {:.0} % of a \
         processor; stalls {stalls}; in {} out {} missed {}",
        off * 100.0,
        sum * 100.0,
        site * 100.0,
        busy * 100.0,
        status["reverse"]["received"]["packets"],
        status["reverse"]["sent"]["packets"],
        status["outside"],
    );
    gate.stop();
    (off, site, jain)
}

#[test]
fn plans_and_sites_hold_between_interfaces() {
    if possible() {
        // A packet of 1400 B in eight seconds is 7 % of the smaller plan.
        let (plans, sites, jain) = measure(100, "{ kind = \"fifo\", limit = \"5p\" }", 8.0);
        assert!(plans < 0.2 && sites < 0.1 && jain > 0.98, "{plans} {sites} {jain}");
    }
}

/// Sends `packets` frames to `circuit(thread, n)` from each of two threads on processors of their own,
/// so that the interface takes them for different queues.
fn send_twice(
    net: &Net,
    packets: u64,
    per_second: f64,
    count: usize,
    circuit: impl Fn(u64, u64) -> u64 + Sync,
) {
    let circuit = &circuit;
    std::thread::scope(|scope| {
        for processor in 0..2 {
            scope.spawn(move || {
                on_processor(processor);
                send(net, 0..packets, per_second, count, |number| {
                    circuit(processor as u64, number)
                });
            });
        }
    });
}

/// The circuit of a thread's frame.
type Chosen<'a> = &'a (dyn Fn(u64, u64) -> u64 + Sync);

/// All circuits in turns.
fn any(thread: u64, number: u64) -> u64 {
    number * 7 + thread
}

#[test]
fn cores_divide_the_circuits_and_lose_no_packet() {
    if !possible() {
        return;
    }
    for (way, queues) in [(Way::Packet, 1), (Way::Packet, 2), (Way::Xdp, 2)] {
        let mut net = Net::with_queues(way, queues);
        (net.buffers, net.cores) = (65_536, 2);
        net.silence();
        let count = 60;
        let leaf = "{ kind = \"fq-codel\", limit = \"50p\" }";
        let before = ends(&net);
        let mut gate = net.gate(&files(&net, count, 10_000, leaf, |_| 2_000), &[]);
        let packets = 6_000;
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| send_twice(&net, packets, 5_000.0, count, any));
            for turn in 0..5 {
                // The last one has other circuits, some of which change their core.
                net.configure(&files(&net, count + turn / 4, 10_000, leaf, |_| 3_000));
                ask(gate.socket(), "reload").unwrap();
            }
            sender.join().unwrap();
        });
        let status = checked(&net, &gate, before);
        let received = status["reverse"]["received"]["packets"].as_u64().unwrap();
        assert_eq!(received, 2 * packets, "{way:?}: {status}");
        assert_eq!(status["reloads"], 5);
        // Each circuit gets a thirtieth of 12 000 packets and loses some. On both cores they pass.
        let (bytes, _) = sent(&gate);
        assert!(
            bytes[..count].iter().all(|bytes| *bytes > 20.0 * LEN as f64),
            "{way:?}: {bytes:?}"
        );
        let next = std::process::Command::new(crate::net::GATE)
            .args(["run", "--take-over"])
            .arg(net.file("gate.toml"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&next.stderr);
        assert!(said.contains("io.cores: must be 1 for a gate that"), "{said}");
        assert!(gate.stop().contains("running"), "{way:?}");
    }
}

#[test]
#[ignore = "measures, for docs/cores.md"]
fn what_cores_take_between_interfaces() {
    let count = circuits(10_000);
    // Sites are put onto two cores in turns. Frames arrive on their circuit's core, or on any.
    let own = |thread: u64, number: u64| {
        let site = number * 7 % (count / EACH) as u64 / 2 * 2 + thread;
        site * EACH as u64 + number % EACH as u64
    };
    let (own, any): (Chosen, Chosen) = (&own, &any);
    for way in [Way::Packet, Way::Xdp] {
        for (cores, name, circuit) in [(1, "any", any), (2, "own", own), (2, "any", any)] {
            for per_second in [150e3, 200e3, 250e3] {
                let mut net = Net::with_queues(way, cores);
                (net.buffers, net.cores) = (65_536, cores);
                net.silence();
                let before = ends(&net);
                let leaf = "{ kind = \"cake\" }";
                let mut gate = net.gate(&files(&net, count, 1_000_000, leaf, |_| 100_000), &[]);
                // Frames that come while the gate waits for a processor would be lost.
                let pid = gate.pid().to_string();
                crate::net::run("chrt", &["-a", "-r", "-p", "2", &pid]);
                let used = processor(&gate);
                send_twice(&net, per_second as u64 * 2, per_second, count, circuit);
                let status = gate.settled();
                let after = ends(&net);
                let (sent, out) = (after[1][1] - before[1][1], after[0][0] - before[0][0]);
                println!(
                    "{way:?}, {cores} cores, frames on {name}: {:.1} % of {:.1} million packets/s; \
                     {:.2} us of a processor for each; {}",
                    out as f64 / sent as f64 * 100.0,
                    2.0 * per_second / 1e6,
                    (processor(&gate) - used) / out as f64 * 1e6,
                    status["outside"],
                );
                gate.stop();
            }
        }
    }
}

#[test]
#[ignore = "measures for minutes"]
fn ten_thousand_circuits() {
    let count = circuits(10_000);
    for leaf in ["{ kind = \"fifo\", limit = \"5p\" }", "{ kind = \"cake\" }"] {
        measure(count, leaf, 100.0);
    }
}

/// Reloads and kills: `lives` gates, each with `reloads` reloads under traffic and a kill under
/// traffic.
fn live_and_die(count: usize, lives: u64, reloads: u64, packets: u64) {
    let mut net = Net::new(Way::Packet);
    net.buffers = 65_536;
    net.silence();
    let mut rng = Rng::named(7, "lives");
    let leaf = "{ kind = \"fq-codel\", limit = \"50p\" }";
    let (mut counted, mut killed, mut lost) = (0, 0, 0);
    let mut changed = 0;
    for life in 0..lives {
        let before = ends(&net);
        let mut gate = net.gate(&files(&net, count, 10_000, leaf, |_| 4_000), &[]);
        std::thread::scope(|scope| {
            let net = &net;
            let sender = scope.spawn(move || {
                send(net, 0..packets, 20_000.0, count, |number| number * 7);
            });
            for reload in 0..reloads {
                // Every tenth has other circuits, so that the tree has another shape.
                let more = if reload % 10 == 9 { rng.below(3) as usize } else { 0 };
                let kbits = 2_000 + 1_000 * rng.below(4);
                net.configure(&files(net, count + more, 10_000, leaf, |_| kbits));
                ask(gate.socket(), "reload").unwrap();
            }
            changed += reloads;
            sender.join().unwrap();
        });
        let status = checked(&net, &gate, before);
        counted += status["reverse"]["received"]["packets"].as_u64().unwrap();
        // What the killed gate held goes with it.
        let before = ends(&net);
        let burst = 500;
        // Twenty circuits get more than their plans let go by then.
        send(&net, 0..burst, 1e6, count, |number| number % 20);
        std::thread::sleep(Duration::from_micros(rng.below(20_000)));
        gate.signal(Signal::KILL);
        assert_eq!(gate.ended().0, None);
        let after = ends(&net);
        assert_eq!(after[1][1] - before[1][1], burst, "life {life}");
        killed += burst;
        lost += burst - (after[0][0] - before[0][0]);
    }
    println!(
        "{count} circuits, {lives} lives, {changed} reloads: {counted} packets, each in one place; of \
         {killed} sent before the kills {lost} were held or dropped by a gate that was killed"
    );
    assert_eq!(counted, lives * packets);
}

#[test]
fn round_trips_and_the_page_are_served() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Packet);
    std::fs::write(net.file("network.json"), "{ \"Hill\": { \"downloadBandwidthMbps\": 90 } }")
        .unwrap();
    let devices = "Circuit ID,Circuit Name,Parent Node,IPv4,Download Max Mbps,Upload Max Mbps\n\
                   <b>7</b>,Mill Lane,Hill,10.77.0.1,20,10\n";
    std::fs::write(net.file("devices.csv"), devices).unwrap();
    let port = free_port();
    let mut gate = net.gate(
        &format!(
            "metrics = \"127.0.0.1:{port}\"\n\
             link = {{ rate = \"90Mbit\", delay = \"20ms\", reverse = {{ rate = \"90Mbit\" }} }}\n\
             [subscribers]\nnetwork = \"network.json\"\ndevices = \"devices.csv\"\n"
        ),
        &[],
    );
    net.wait_until_open();
    let transfer = net.transfer(5_001, "cubic");
    transfer.wait_for(500_000);
    drop(transfer);
    let found = ask(gate.socket(), "circuits").unwrap();
    let way = &found["circuits"][1]["up"];
    // The wire takes 20 ms, and the queue before it some more.
    assert!(way["round_trips"].as_u64().unwrap() > 5, "{way}");
    assert!(way["p50_rtt_ms"].as_f64().unwrap() >= 20.0, "{way}");
    let metrics = get(port, "/circuits");
    let sample =
        "forebay_gate_node_rate_bits{node=\"Hill\",parent=\"\",direction=\"down\"} 90000000\n";
    assert!(metrics.contains(sample), "{metrics}");
    let sample = "_round_trips_total{circuit=\"<b>7</b>\",node=\"Hill\",direction=\"up\"} ";
    assert!(metrics.contains(sample), "{metrics}");
    let data = get(port, "/data");
    let (head, data) = data.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Type: application/json\r\n"), "{head}");
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["nodes"], serde_json::json!([["Hill", null, 90_000_000, null]]));
    let circuit = data["circuits"][1].as_array().unwrap();
    assert_eq!(
        circuit[..4],
        serde_json::json!(["<b>7</b>", "Hill", 20_000_000, 10_000_000]).as_array().unwrap()[..]
    );
    assert_eq!([&circuit[4], &circuit[5]].map(|way| way.as_array().unwrap().len()), [11; 2]);
    for text in [&metrics, &data.to_string()] {
        assert!(!text.contains("Mill Lane") && !text.contains("10.77"), "{text}");
    }
    for (path, kind) in
        [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")]
    {
        let reply = get(port, path);
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
        assert!(reply.contains(&format!("Content-Type: {kind}; charset=utf-8\r\n")), "{reply}");
        assert!(reply.contains("Content-Security-Policy: default-src 'none'; "), "{reply}");
    }
    gate.stop();
}

#[test]
fn every_packet_over_reloads_and_kills() {
    if possible() {
        live_and_die(60, 2, 12, 6_000);
    }
}

#[test]
#[ignore = "measures for minutes"]
fn a_million_packets_over_a_thousand_reloads_and_twenty_kills() {
    live_and_die(circuits(1_000), 20, 50, 50_000);
}
