//! The gate on real packets, in network namespaces.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "live tests wait, and ask whether this is CI")]

mod abuse;
mod hardship;
mod net;
mod plugin;
mod replacement;
mod subscribers;

use etherparse::PacketBuilder;
use forebay_disciplines::Disciplines;
use forebay_gate::io::Side;
use net::{
    Gate, Net, Transfer, Way, congestion_controls, conserved, free_port, get, hosts, possible, run,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sends `count` packets of `size` bytes of UDP payload, so many a second.
fn send(socket: &UdpSocket, count: usize, size: usize, per_second: f64) {
    let begin = Instant::now();
    for number in 0..count {
        let mut payload = vec![0; size];
        payload[..8].copy_from_slice(&(number as u64).to_be_bytes());
        // An interface that is being set up refuses.
        let _ = socket.send(&payload);
        let due = Duration::from_secs_f64(number as f64 / per_second);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
    }
}

/// Collects the numbers of the packets that arrive.
struct Listener {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
}

impl Listener {
    fn new(socket: UdpSocket) -> Listener {
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            let mut numbers = Vec::new();
            loop {
                // Asked before it listens: what comes between a silence and the end would be lost.
                let last = stopped.load(Ordering::Acquire);
                match socket.recv(&mut buffer) {
                    Ok(_) => numbers.push(u64::from_be_bytes(buffer[..8].try_into().unwrap())),
                    Err(_) if last => return numbers,
                    Err(_) => {}
                }
            }
        });
        Listener { stop, thread }
    }

    /// What has arrived once `gate` holds nothing any more, and the gate's state then.
    fn settled(self, gate: &Gate) -> (Vec<u64>, Value) {
        self.settled_at(gate.socket())
    }

    /// The same, of the gate that answers at `socket`.
    fn settled_at(self, socket: &Path) -> (Vec<u64>, Value) {
        let status = net::settled(socket);
        self.stop.store(true, Ordering::Release);
        (self.thread.join().unwrap(), status)
    }
}

/// More than fits is dropped, the rest leaves at the rate, in order, and none is lost on the way.
#[test]
fn overload_is_shaped_and_conserved() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        // A class of its own, because hosts also send other packets, such as to multicast routers.
        let config = r#"
            link = { rate = "8Mbit", queue = { kind = "fifo", limit = "20p" } }
            rule = [{ name = "ours", destination_port = [5000], q = 1 }]
        "#;
        let mut gate = net.gate(config, &[]);
        let (sender, receiver) = net.udp(5000);
        let listener = Listener::new(receiver);
        // 1000 B with UDP and IP headers: 1 ms each; twice as much is offered.
        send(&sender, 600, 972, 2_000.0);
        let (numbers, status) = listener.settled(&gate);
        conserved(&status);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{way:?}: order");
        let ours = &status["forward"]["classes"]["1"];
        assert_eq!(ours["sent"]["packets"], numbers.len(), "{way:?}");
        assert!(status["forward"]["dropped"]["overflow"].as_u64().unwrap() > 100, "{status}");
        // The queue holds 20 packets of 1 ms each; a machine under load may add to that.
        let longest = status["forward"]["max_delay_ms"].as_f64().unwrap();
        assert!(longest > 15.0, "{way:?}: {longest} ms");
        let said = gate.stop();
        assert!(said.contains("fifo at 8.000 Mbit/s"), "{said}");
    }
}

/// Queues of today on real packets: a sparse flow loses nothing beside one that fills the buffer, where
/// one queue for both would lose packets of each.
#[test]
fn a_sparse_flow_passes_an_overload() {
    if !possible() {
        return;
    }
    let leaf = r#"queue = { kind = "fifo", limit = "20p" }"#;
    let tree = format!(
        r#"kind = "htb", classes = [{{ rate = "8Mbit", classes = [
            {{ rate = "5Mbit", ceil = "8Mbit", {leaf} }}, {{ rate = "1Mbit", {leaf} }},
        ] }}]"#
    );
    for (way, queue) in [
        (Way::Tun, r#"kind = "cake", diffserv = "diffserv4", memory_limit = "30KB""#),
        (Way::Packet, r#"kind = "cake", bandwidth = "7Mbit", memory_limit = "30KB""#),
        (Way::Packet, r#"kind = "dualpi2", dscp = ["EF"], target = "1ms""#),
        (Way::Tun, &tree.replace('\n', "")),
    ] {
        // On a machine that pauses the gate, buffers of the kernel fill. Such a try says less, and counts
        // only if there was no other.
        let passes = (1..=5).any(|attempt| sparse_flow_passes(way, queue, attempt == 5));
        assert!(passes, "{queue}: the machine was too busy five times");
    }
}

/// Whether a sparse flow passed an overload without loss. If the gate was always on time, it must pass.
/// If it was not, this is false, or with `late` whether the queue lost none of what it got.
fn sparse_flow_passes(way: Way, queue: &str, late: bool) -> bool {
    let net = Net::new(way);
    let config = format!(
        r#"
        link = {{ rate = "8Mbit", queue = {{ {queue} }} }}
        rule = [{{ name = "sparse", destination_port = [5001], q = 1 }}]
        "#
    );
    let mut gate = net.gate(&config, &[]);
    net.wait_until_open();
    let (flood, other) = net.udp(5000);
    let (sparse, receiver) = net.udp(5001);
    rustix::net::sockopt::set_ip_tos(&sparse, 46 << 2).unwrap();
    let listeners = [Listener::new(receiver), Listener::new(other)];
    // 16 Mbit/s into 8, for a second.
    let flooding = std::thread::spawn(move || send(&flood, 2000, 972, 2_000.0));
    send(&sparse, 80, 172, 100.0);
    flooding.join().unwrap();
    let [(numbers, status), (others, _)] = listeners.map(|listener| listener.settled(&gate));
    conserved(&status);
    gate.stop();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{queue}: order");
    if status["forward"]["stalls"] == 0 {
        assert_eq!(numbers, (0..80).collect::<Vec<_>>(), "{queue}: {status}");
        assert!(others.len() < 1900, "{queue}: {} of the flood arrived", others.len());
        return true;
    }
    let ours = &status["forward"]["classes"]["1"];
    late && ours["dropped"] == 0
        && numbers.len() > 40
        && ours["offered"]["packets"] == numbers.len()
}

/// A mark leaves the header's checksum right: the kernel would not hand on the packet otherwise.
#[test]
fn marks_and_classes_reach_the_wire() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Packet);
    let config = r#"
        [link]
        rate = "8Mbit"
        queue = { kind = "codel", target = "1ms", interval = "5ms", ecn = true }
        [[rule]]
        name = "left"
        source = ["10.77.0.1/32"]
        destination_port = [5000]
        protocol = "udp"
        q = 3
        [[rule]]
        name = "unused"
        dscp = ["EF"]
    "#;
    let mut gate = net.gate(config, &[]);
    let (sender, receiver) = net.udp(5000);
    rustix::net::sockopt::set_ip_tos(&sender, 0b10).unwrap();
    let listener = Listener::new(receiver);
    send(&sender, 600, 972, 1_500.0);
    let (numbers, status) = listener.settled(&gate);
    conserved(&status);
    let forward = &status["forward"];
    assert!(forward["marked"].as_u64().unwrap() > 5, "{status}");
    assert_eq!(forward["classes"]["3"]["sent"]["packets"], numbers.len());
    assert_eq!(numbers.len(), 600, "marked instead of dropped");
    assert!(forward["completed_checksums"].as_u64().unwrap() >= 600, "left to the gate");
    assert_eq!(status["rules"][0]["packets"], 600);
    let said = gate.stop();
    assert!(said.contains("unused") && said.contains("never matched"), "{said}");
}

/// IPv6: neighbour discovery passes, and what follows is classified and shaped.
#[test]
fn ipv6_is_shaped() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let config = r#"
            link = { rate = "8Mbit", queue = { kind = "fifo", limit = "20p" } }
            rule = [{ name = "six", source = ["fd77::/64"], destination_port = [5006], q = 4 }]
        "#;
        let mut gate = net.gate(config, &[]);
        net.wait_until_open6();
        let (sender, receiver) = net.udp6(5006);
        let listener = Listener::new(receiver);
        send(&sender, 200, 952, 2_000.0);
        let (numbers, status) = listener.settled(&gate);
        conserved(&status);
        let six = &status["forward"]["classes"]["4"];
        assert_eq!(six["sent"]["packets"], numbers.len(), "{way:?}: {status}");
        assert!(six["dropped"].as_u64() > Some(20), "{way:?}: {status}");
        gate.stop();
    }
}

/// The simulator's queue gives the same verdicts to what was recorded live, for every kind.
#[test]
fn every_kind_replays_live_traffic_verdict_for_verdict() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let pairs: Vec<_> = (0..4).map(|flow| net.udp(6000 + flow)).collect();
    for (flow, (sender, _)) in pairs.iter().enumerate() {
        // Flow 0: EF; 1: AF13 with ECT(0); 2: default; 3: LE.
        rustix::net::sockopt::set_ip_tos(sender, [46 << 2, (14 << 2) | 2, 0, 4][flow]).unwrap();
    }
    for entry in &Disciplines::builtin().every_kind() {
        let config = format!(
            r#"
            seed = 5
            link = {{ rate = "5Mbit", queue = {{ kind = "{}" }} }}
            rule = [
                {{ name = "voice", dscp = ["EF"], q = 1, precedence = 1 }},
                {{ name = "out of profile", dscp = ["AF13"], drop_precedence = 2 }},
            ]"#,
            entry.name
        );
        let folder = net.file(&entry.name);
        let mut gate = net.gate(&config, &["--record", folder.to_str().unwrap()]);
        // 20 Mbit/s, four flows of different sizes.
        for number in 0..200 {
            for (flow, (sender, _)) in pairs.iter().enumerate() {
                let _ = sender.send(&vec![0; [120, 1200, 1472, 400][flow]]);
            }
            if number % 4 == 0 {
                std::thread::sleep(Duration::from_millis(4));
            }
        }
        conserved(&gate.status());
        gate.stop();
        let file = std::fs::File::open(folder.join("forward.rec")).unwrap();
        let replay =
            forebay_shaper::replay(std::io::BufReader::new(file), &Disciplines::builtin().into())
                .unwrap();
        assert_eq!(replay.difference, None, "{}", entry.name);
        assert_eq!((replay.kind.as_str(), replay.truncated), (&*entry.name, false));
        assert!(replay.offered > 500 && replay.sent > 100, "{replay:?}");
    }
}

/// A new configuration takes over without a loss; a wrong one is refused as a whole.
#[test]
fn a_reload_drops_nothing() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let config =
        |rate: &str, queue: &str| format!("link = {{ rate = \"{rate}\", queue = {{ {queue} }} }}");
    let mut gate = net.gate(&config("20Mbit", "kind = \"fifo\""), &[]);
    net.wait_until_open();
    let (sender, receiver) = net.udp(5000);
    let listener = Listener::new(receiver);
    let sending = std::thread::spawn(move || send(&sender, 900, 972, 3_000.0));
    std::thread::sleep(Duration::from_millis(80));
    let reload = || forebay_gate::control::ask(gate.socket(), "reload");
    net.configure(&config("40Mbit", "kind = \"codel\", target = \"-5ms\""));
    let refused = reload().unwrap_err().to_string();
    assert!(refused.contains("link.queue.target: must not be negative"), "{refused}");
    assert_eq!(gate.status()["forward"]["rate_bps"], 20_000_000);
    // What waits in the fifo leaves before what comes to its successor; the rate rises.
    net.configure(&config("40Mbit", "kind = \"fq-codel\", limit = \"5000p\", target = \"90ms\""));
    reload().unwrap();
    // And by signal.
    net.configure(&config("50Mbit", "kind = \"fifo\", limit = \"5000p\""));
    let pid = rustix::process::Pid::from_raw(gate.pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    let begin = Instant::now();
    while gate.status()["reloads"] != 2 {
        assert!(begin.elapsed() < Duration::from_secs(5), "the signal is not heard");
        std::thread::sleep(Duration::from_millis(10));
    }
    sending.join().unwrap();
    let (numbers, status) = listener.settled(&gate);
    conserved(&status);
    assert_eq!(status["forward"]["kind"], "fifo");
    assert_eq!(numbers, (0..900).collect::<Vec<_>>(), "none is lost, none overtakes");
    gate.stop();
}

/// A dry run counts what would be dropped, and drops nothing.
#[test]
fn a_dry_run_touches_nothing() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let link = r#"link = { rate = "2Mbit", queue = { kind = "fifo", limit = "5p" } }"#;
    let mut gate = net.gate(link, &["--dry-run"]);
    net.wait_until_open();
    let (sender, receiver) = net.udp(5000);
    let listener = Listener::new(receiver);
    send(&sender, 300, 972, 2_000.0);
    let (numbers, status) = listener.settled(&gate);
    assert_eq!(numbers.len(), 300);
    conserved(&status);
    assert!(status["forward"]["dropped"]["overflow"].as_u64().unwrap() > 100, "{status}");
    assert!(gate.stop().contains("dry run"));
}

/// A link of 8 Mbit/s where datagrams go before TCP, with a box or none.
fn two_classes(middlebox: &str) -> String {
    format!(
        r#"
        [link]
        rate = "8Mbit"
        delay = "5ms"
        queue = {{ kind = "prio", limit = ["50p", "50p"] }}
        {middlebox}
        [link.reverse]
        delay = "5ms"
        [[rule]]
        name = "high"
        protocol = "udp"
        q = 1
        "#
    )
}

/// Real senders, of every congestion control there is, are frozen while a higher priority sends, go
/// on at once afterwards, and recover by themselves if the gate is killed while they are frozen.
#[test]
fn aspq_freezes_real_tcp() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let middlebox = r#"box = { kind = "aspq", idle_timeout = "300ms", trickle = "150ms" }"#;
        let mut gate = net.gate(&two_classes(middlebox), &[]);
        let controls = congestion_controls();
        let transfers: Vec<_> =
            (7000..).zip(&controls).map(|(port, control)| net.transfer(port, control)).collect();
        let delivered = || transfers.iter().map(Transfer::delivered).sum::<u64>();
        let go_on = || transfers.iter().for_each(|one| one.wait_for(one.delivered() + 150_000));
        let (high, _receiver) = net.udp(5000);
        go_on();
        // A higher priority: 2 % of the link, for a second and a half.
        send(&high, 10, 200, 20.0);
        let frozen_at = delivered();
        send(&high, 20, 200, 20.0);
        let while_frozen = delivered() - frozen_at;
        assert!(while_frozen < 150_000, "{way:?}: {while_frozen} B of a million");
        go_on();
        let status = gate.status();
        let counts = &status["forward"]["box"];
        assert!(counts["freezes"].as_u64() >= Some(1), "{status}");
        assert_eq!(counts["freezes"], counts["releases"], "{status}");
        assert_eq!(counts["lost"], 0, "{status}");
        conserved(&status);
        // Once more, and the gate dies; another one takes its place.
        send(&high, 10, 200, 20.0);
        assert_eq!(gate.status()["forward"]["box"]["frozen"], controls.len());
        drop(gate);
        gate = net.gate(&two_classes(""), &[]);
        go_on();
        gate.stop();
    }
}

/// Segments of one flow are sent as one only through an interface that splits them again. Another one,
/// as the advice against merged segments leaves it, gets each, and none is lost.
#[test]
fn an_interface_without_segmentation_refuses_nothing() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Packet);
    for near in ["in", "out"] {
        run("ip", &["netns", "exec", net.middle(), "ethtool", "-K", near, "tso", "off"]);
    }
    let link = "link = { rate = \"50Mbit\", queue = { kind = \"fq-codel\" } }\n";
    let mut gate = net.gate(link, &[]);
    let transfer = net.transfer(7000, "cubic");
    transfer.wait_for(10_000_000);
    let status = gate.status();
    for side in ["inside", "outside"] {
        assert_eq!(status[side]["refused"], 0, "{status}");
    }
    conserved(&status);
    gate.stop();
}

/// With a partial freeze, real senders go on while a higher priority leaves most of the link, which
/// never pauses; and stand still while it fills the link.
#[test]
fn a_partial_freeze_leaves_real_tcp_what_is_left() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let middlebox = r#"box = { kind = "aspq", freeze = "when-full", idle_timeout = "5s" }"#;
        let mut gate = net.gate(&two_classes(middlebox), &[]);
        let transfers: Vec<_> = (7000..)
            .zip(["reno", "cubic"])
            .map(|(port, control)| net.transfer(port, control))
            .collect();
        let go_on = || transfers.iter().for_each(|one| one.wait_for(one.delivered() + 150_000));
        let (high, _receiver) = net.udp(5000);
        go_on();
        // 2 % of the link, for as long as the transfers take: they count as frozen, and go on.
        let enough = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Two minutes at most, if nothing goes on.
                (0..240).take_while(|_| !enough.load(Ordering::Relaxed)).for_each(|_| {
                    send(&high, 10, 200, 20.0);
                });
            });
            send(&high, 10, 200, 20.0);
            go_on();
            let status = gate.status();
            enough.store(true, Ordering::Relaxed);
            assert_eq!(status["forward"]["box"]["frozen"], transfers.len(), "{way:?}: {status}");
        });
        // Twice the link, for a second and a half, in which it could carry 1.5 MB. On a busy machine
        // the datagrams have pauses, so any of five tries will do.
        let stands_still = || {
            send(&high, 500, 972, 2_000.0);
            let before = transfers.iter().map(Transfer::delivered).sum::<u64>();
            send(&high, 3_000, 972, 2_000.0);
            let passed = transfers.iter().map(Transfer::delivered).sum::<u64>() - before;
            passed < 150_000
        };
        assert!((0..5).any(|_| stands_still()), "{way:?}: {}", gate.status());
        go_on();
        let status = gate.status();
        let counts = &status["forward"]["box"];
        assert!(counts["freezes"].as_u64() >= Some(2), "{status}");
        assert_eq!(counts["lost"], 0, "{status}");
        conserved(&status);
        gate.stop();
    }
}

/// Once everything is open, the gate has no privileges, and still works.
#[test]
fn privileges_are_given_up() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let config = |limit: &str| {
            format!(
                r#"
                user = "nobody"
                metrics = "127.0.0.1:0"
                link = {{ rate = "20Mbit", queue = {{ kind = "fifo", limit = "{limit}" }} }}
                "#
            )
        };
        let mut gate = net.gate(&config("100p"), &[]);
        let status = std::fs::read_to_string(format!("/proc/{}/status", gate.pid())).unwrap();
        let line = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().to_owned()
        };
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(u64::from_str_radix(&line(set), 16).unwrap(), 0, "{set}");
        }
        assert_ne!(line("Uid:"), "0");
        // Mode 2 is a filter.
        assert_eq!((line("NoNewPrivs:").as_str(), line("Seccomp:").as_str()), ("1", "2"));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(gate.socket()).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o660);
        net.configure(&config("50p"));
        forebay_gate::control::ask(gate.socket(), "reload").unwrap();
        let (sender, receiver) = net.udp(5000);
        let listener = Listener::new(receiver);
        send(&sender, 50, 972, 1_000.0);
        let (numbers, status) = listener.settled(&gate);
        assert_eq!(numbers.len(), 50, "{way:?}: {status}");
        gate.stop();
    }
}

/// systemd's RestrictNamespaces hides clone3, so that the C library makes threads by clone.
#[test]
fn threads_start_without_clone3() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let hides = SeccompFilter::new(
        [(libc::SYS_clone3, vec![])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let hides = BpfProgram::try_from(hides.unwrap()).unwrap();
    // A filter holds for the thread that applies it, and for what that thread starts.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            seccompiler::apply_filter(&hides).unwrap();
            let mut gate = net.gate(
                "user = \"nobody\"\nlink = { rate = \"20Mbit\", queue = { kind = \"fifo\" } }",
                &[],
            );
            gate.status();
            gate.stop();
        });
    });
}

/// Tagged frames pass with their tags, and their IP packets are classified behind them. The hosts'
/// ends are raw sockets, since not every kernel has VLAN interfaces.
#[test]
fn vlan_tags_pass() {
    if !possible() {
        return;
    }
    for way in [Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let config = r#"
            link = { rate = "20Mbit", queue = { kind = "fifo" } }
            rule = [{ name = "tagged", destination = ["10.78.0.0/24"], q = 2 }]
        "#;
        let mut gate = net.gate(config, &[]);
        let (mut io, mut pool) = hosts(&net);
        let mut sent = Vec::new();
        for (tags, id) in [(1, 5_u16), (2, 7)] {
            let mut frame = Vec::new();
            let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
            let [outer, inner] = [id, id + 1].map(|id| id.try_into().unwrap());
            let ethernet = match tags {
                1 => ethernet.single_vlan(outer),
                _ => ethernet.double_vlan(outer, inner),
            };
            let packet = ethernet.ipv4([10, 78, 0, 1], [10, 78, 0, 2], 64).udp(1, 2);
            packet.write(&mut frame, &[7; 400]).unwrap();
            let index = pool.take().unwrap();
            pool.buffer(index)[..frame.len()].copy_from_slice(&frame);
            pool.set_extent(index, 0, frame.len());
            io.send(Side::Inside, &mut VecDeque::from([index]), &mut pool).unwrap();
            sent.push(frame);
        }
        let mut arrived = Vec::new();
        let begin = Instant::now();
        while arrived.len() < sent.len() {
            assert!(begin.elapsed() < Duration::from_secs(5), "{way:?}: {}", gate.status());
            let mut batch = Vec::new();
            io.receive(Side::Outside, &mut pool, &mut batch).unwrap();
            for index in batch {
                // The hosts also send packets of their own.
                let frame = pool.frame(index).to_vec();
                arrived.extend(frame.starts_with(&[4; 6]).then_some(frame));
                pool.give(index);
            }
        }
        assert_eq!(arrived, sent, "{way:?}");
        assert_eq!(gate.status()["forward"]["classes"]["2"]["sent"]["packets"], 2, "{way:?}");
        gate.stop();
    }
}

/// Prometheus finds its text on the loopback interface, and nothing else does.
#[test]
fn metrics_are_served() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let port = free_port();
    let config = format!(
        "metrics = \"127.0.0.1:{port}\"\n\
         link = {{ rate = \"20Mbit\", queue = {{ kind = \"fifo\" }} }}\n\
         rule = [{{ name = \"a \\\"quoted\\\" name\", port = [5000] }}]"
    );
    let mut gate = net.gate(&config, &[]);
    let (sender, receiver) = net.udp(5000);
    let listener = Listener::new(receiver);
    send(&sender, 20, 100, 1_000.0);
    listener.settled(&gate);
    let matched = "forebay_gate_rule_matched_packets_total{rule=\"a \\\"quoted\\\" name\"} 20\n";
    // On a busy machine the last ones may still be on their way.
    let begin = Instant::now();
    let reply = loop {
        let reply = get(port, "/metrics");
        if reply.contains(matched) || begin.elapsed() > Duration::from_secs(5) {
            break reply;
        }
    };
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.contains(matched), "{reply}");
    assert!(get(port, "/nothing").starts_with("HTTP/1.1 404"));
    gate.stop();
}
