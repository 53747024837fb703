//! Bad clients, files, links and disks against a running gate.

use crate::net::{
    GATE, Gate, Manager, Net, Way, conserved, counters, free_port, hosts, ip, kill, possible, run,
    until,
};
use crate::{Listener, send};
use forebay_gate::control::ask;
use forebay_gate::io::Side;
use rustix::process::Signal;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PLAIN: &str = r#"link = { rate = "20Mbit", queue = { kind = "fifo", limit = "100p" } }"#;

fn fifo(path: &Path) {
    run("mkfifo", &[path.to_str().unwrap()]);
}

/// Puts something in place of the file at `path`.
fn replace(path: &Path, put: impl FnOnce(&Path)) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
    put(path);
}

/// Wrong files of every kind change nothing, say why, and keep no signal from being heard.
#[test]
fn a_configuration_that_is_no_file_changes_nothing() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let mut gate = net.gate(PLAIN, &[]);
    let file = net.file("gate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    type Put = fn(&Path);
    let kinds: [(Put, &str); 7] = [
        (|path| fifo(path), "is a FIFO; it must be a regular file"),
        (|path| std::fs::create_dir(path).unwrap(), "is a directory"),
        (|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(), "is a device"),
        // Sparse: it takes no room on the disk.
        (
            |path| std::fs::File::create(path).unwrap().set_len(8 << 30).unwrap(),
            "is larger than 1 MiB",
        ),
        (
            |path| std::fs::write(path, "x = ".to_owned() + &"[".repeat(200_000)).unwrap(),
            "recursion",
        ),
        (|path| std::fs::write(path, [0xff; 100]).unwrap(), "is not UTF-8"),
        (|_| {}, "there is no such file"),
    ];
    for (put, expected) in kinds {
        replace(&file, put);
        let error = ask(gate.socket(), "reload").unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        gate.signal(Signal::HUP);
        let output = Command::new(GATE).arg("check").arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{expected}");
    }
    assert_eq!(gate.status()["reloads"], 0);
    replace(&file, |path| std::fs::write(path, &text).unwrap());
    ask(gate.socket(), "reload").unwrap();
    // The last signal may be served late, and read this file, too.
    assert!(gate.status()["reloads"].as_u64() >= Some(1));
    replace(&file, fifo);
    gate.signal(Signal::HUP);
    // A gate that is stopped does not wait for what it reads.
    until("a signal's file is refused", || {
        let said = gate.said();
        said.contains("nothing has changed") && said.contains("is a FIFO")
    });
    gate.stop();
}

/// Neither clients that ask nothing, nor those that never end asking, keep others waiting.
#[test]
fn slow_and_many_clients_hold_up_nobody() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let port = free_port();
    let mut gate = net.gate(&format!("metrics = \"127.0.0.1:{port}\"\n{PLAIN}"), &[]);
    let scrape = || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        assert!(reply.contains("forebay_gate_received_packets_total"), "{reply}");
    };
    let idle: Vec<_> = (0..200)
        .map(|_| (TcpStream::connect(("127.0.0.1", port)), UnixStream::connect(gate.socket())))
        .collect();
    scrape();
    gate.status();
    drop(idle);
    // A byte now and then, for longer than a request may take.
    let mut drips = [
        Box::new(TcpStream::connect(("127.0.0.1", port)).unwrap()) as Box<dyn Write>,
        Box::new(UnixStream::connect(gate.socket()).unwrap()),
    ];
    let begin = Instant::now();
    let mut cut = [false; 2];
    while cut != [true; 2] {
        assert!(begin.elapsed() < Duration::from_secs(20), "they may drip for ever");
        for (drip, cut) in drips.iter_mut().zip(&mut cut) {
            *cut |= drip.write_all(b"x").is_err();
        }
        scrape();
        gate.status();
        std::thread::sleep(Duration::from_millis(300));
    }
    // Many at once, all of which ask.
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| gate.status());
            scope.spawn(scrape);
        }
    });
    // A request that is too long, and an empty one.
    let mut client = UnixStream::connect(gate.socket()).unwrap();
    let _ = client.write_all(&[b'x'; 100_000]);
    assert!(ask(gate.socket(), "\x1b[2J").unwrap_err().to_string().contains("unknown request"));
    gate.stop();
}

/// What names and files hold is shown and not obeyed by a terminal.
#[test]
fn control_characters_do_not_reach_a_terminal() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let port = free_port();
    let name = "rule = [{ name = \"\\u001b[2Jred\\n\\u009b31m\\u202etxt\", port = [5000] }]";
    let mut gate = net.gate(&format!("metrics = \"127.0.0.1:{port}\"\n{PLAIN}\n{name}"), &[]);
    let mut shown = Vec::new();
    let file = net.file("gate.toml");
    let socket = gate.socket().to_str().unwrap().to_owned();
    let wrong = net.file("wrong\x1b[2J.toml");
    std::fs::write(&wrong, "\x1b[2J = 1").unwrap();
    for words in [
        vec!["status", "--socket", &socket],
        vec!["status", "--json", "--socket", &socket],
        vec!["check", file.to_str().unwrap()],
        vec!["check", wrong.to_str().unwrap()],
        vec!["status", "--socket", "/tmp/\x1b[2J"],
    ] {
        let output = Command::new(GATE).args(&words).output().unwrap();
        shown.push(String::from_utf8([output.stdout, output.stderr].concat()).unwrap());
    }
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    shown.push(reply.replace('\r', ""));
    shown.push(gate.stop());
    for text in shown {
        let bad = |char: &char| (char.is_control() && *char != '\n') || *char == '\u{202e}';
        assert_eq!(text.chars().find(bad), None, "{text:?}");
        assert!(!text.contains("\nred") && !text.contains("\n31m"), "{text:?}");
    }
}

/// The socket has its mode as soon as it is there.
#[test]
fn the_socket_is_never_open_to_others() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let path = net.file("socket");
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, watched) = (Arc::clone(&stop), path.clone());
    let watch = std::thread::spawn(move || {
        let mut modes = std::collections::BTreeSet::new();
        while !stopped.load(Ordering::Relaxed) {
            if let Ok(data) = std::fs::metadata(&watched) {
                modes.insert(data.permissions().mode() & 0o777);
            }
        }
        modes
    });
    // A later change of the mode would be slow enough to be seen.
    let (source, slow) = (net.file("slow.c"), net.file("slow.so"));
    let text = "#include <sys/syscall.h>\n#include <unistd.h>\n\
                int chmod(const char *path, unsigned mode) {\n\
                  usleep(200000); return syscall(SYS_fchmodat, -100, path, mode); }\n\
                int fchmod(int fd, unsigned mode) {\n\
                  usleep(200000); return syscall(SYS_fchmod, fd, mode); }\n";
    std::fs::write(&source, text).unwrap();
    run("cc", &["-shared", "-fPIC", "-o", slow.to_str().unwrap(), source.to_str().unwrap()]);
    // Whatever its mask.
    let line = format!("umask 0; exec {GATE} run {}", net.configure(PLAIN).display());
    let mut shell = Command::new("sh");
    let mut child =
        shell.args(["-c", &line]).env("LD_PRELOAD", &slow).stderr(Stdio::null()).spawn().unwrap();
    while ask(&path, "status").is_err() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    // The other thread may not have run yet.
    let at_last = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    kill(child.id() as i32, Signal::TERM);
    child.wait().unwrap();
    stop.store(true, Ordering::Relaxed);
    let mut modes = watch.join().unwrap();
    modes.insert(at_last);
    assert_eq!(modes.into_iter().collect::<Vec<_>>(), [0o660]);
}

/// What leaves while a link is down is counted as refused, and no frame is missing between the
/// hosts' counters.
#[test]
fn what_the_kernel_does_not_send_is_counted() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let device = |end| if way == Way::Tun { end } else { "host" };
        // A router solicitation between two of the counters would be in one of them.
        net.silence();
        let hosts = || {
            let left = counters(net.left(), device("in"))[1];
            (left, counters(net.right(), device("out"))[0])
        };
        // What the hosts said while their interfaces came up, no gate saw.
        let first = hosts();
        let mut gate = net.gate("link = {}", &[]);
        let (sender, _receiver) = net.udp(5000);
        // Finds the neighbour, which must not be forgotten.
        send(&sender, 10, 100, 100.0);
        let begin = Instant::now();
        while hosts().1 < first.1 + 10 {
            assert!(begin.elapsed() < Duration::from_secs(5), "{way:?}: {}", gate.status());
            std::thread::sleep(Duration::from_millis(5));
        }
        for link in ["down", "up"] {
            ip(&["-n", net.right(), "link", "set", "dev", device("out"), link]);
            send(&sender, 300, 100, 3_000.0);
        }
        std::thread::sleep(Duration::from_millis(300));
        // Neighbours may still ask for each other: the gate is read between two looks at the hosts.
        let since = || {
            let now = hosts();
            (now.0 - first.0, now.1 - first.1)
        };
        let before = since();
        let status = gate.settled();
        let after = since();
        conserved(&status);
        let count = |path: &str| status.pointer(path).unwrap().as_u64().unwrap();
        let refused = count("/outside/refused");
        assert!(refused >= 200, "{way:?}: {status}");
        let left = count("/forward/passed/packets") + count("/forward/sent/packets") - refused;
        assert!((before.1..=after.1).contains(&left), "{way:?}: {before:?} {after:?} {status}");
        let missed: u64 = ["oversize", "no_buffer", "kernel"]
            .map(|why| count(&format!("/inside/{why}")))
            .iter()
            .sum();
        let came = count("/forward/received/packets") + missed;
        assert!((before.0..=after.0).contains(&came), "{way:?}: {before:?} {after:?} {status}");
        gate.stop();
    }
}

/// Every malformed frame that a host sends is received, but for one kind on `packet`: the kernel
/// discards a frame that ends before its VLAN tag and the type after it do, before it shows frames to
/// any socket, and counts it at the interface as received.
#[test]
fn only_frames_with_a_cut_tag_are_hidden() {
    if !possible() {
        return;
    }
    let tag = |kind: u16| [&kind.to_be_bytes()[..], &[0, 5], &[8, 0], &[0; 10]].concat();
    for way in [Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        net.silence();
        let mut gate = net.gate("link = {}", &[]);
        let interface = || counters(net.middle(), "in")[0];
        let (mut io, mut pool) = hosts(&net);
        for kind in [0x8100, 0x88a8, 0x0800, 0x86dd, 0x0806, 0x8847, 0] {
            for length in 14..24 {
                let frame = [&[2; 6][..], &[4; 6], &tag(kind)].concat();
                let frame = &frame[..length];
                let (seen, before) = (received(&gate), interface());
                let copies: VecDeque<u32> = (0..5)
                    .map(|_| {
                        let index = pool.take().unwrap();
                        pool.buffer(index)[..frame.len()].copy_from_slice(frame);
                        pool.set_extent(index, 0, frame.len());
                        index
                    })
                    .collect();
                io.send(Side::Inside, &mut { copies }, &mut pool).unwrap();
                until("the interface receives them", || interface() == before + 5);
                let is_hidden =
                    way == Way::Packet && [0x8100, 0x88a8].contains(&kind) && length < 20;
                if is_hidden {
                    // Another kernel may show them.
                    assert!([0, 5].contains(&(received(&gate) - seen)), "{}", gate.status());
                } else {
                    let what = format!("{way:?} {kind:x} {length}: {}", gate.status());
                    until(&what, || received(&gate) == seen + 5);
                }
            }
        }
        gate.stop();
    }
}

/// Frames that came to the gate from inside, and were taken or counted as lost.
fn received(gate: &Gate) -> u64 {
    let status = gate.status();
    let count = |path: &str| status.pointer(path).unwrap().as_u64().unwrap();
    let lost = ["oversize", "no_buffer", "kernel"].map(|why| count(&format!("/inside/{why}")));
    count("/forward/received/packets") + lost.iter().sum::<u64>()
}

/// An interface that goes ends the gate, with traffic or without: with its last summary, a message
/// and an exit code.
#[test]
fn an_interface_that_goes_ends_the_gate() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        for (end, with_traffic) in [("in", false), ("out", false), ("out", true)] {
            let net = Net::new(way);
            let mut gate = net.gate(PLAIN, &[]);
            let (sender, _receiver) = net.udp(5000);
            let sending = with_traffic.then(|| {
                send(&sender, 20, 100, 1_000.0);
                std::thread::spawn(move || send(&sender, 1_000, 100, 1_000.0))
            });
            let ([inside, outside], _) = net.places();
            let netns = if end == "in" { inside } else { outside };
            ip(&["-n", netns, "link", "del", "dev", end]);
            let (code, said) = gate.ended();
            assert_eq!(code, Some(1), "{way:?} {end}: {said}");
            assert!(said.contains("has gone"), "{way:?} {end}: {said}");
            assert!(said.contains("inside -> outside: fifo"), "{way:?} {end}: {said}");
            if let Some(sending) = sending {
                sending.join().unwrap();
            }
        }
    }
}

/// A process that is stopped for a while, as by a machine that sleeps, loses capacity and nothing
/// else.
#[test]
fn a_gate_that_sleeps_loses_no_packet() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let mut gate = net.gate(PLAIN, &[]);
    net.wait_until_open();
    let (sender, receiver) = net.udp(5000);
    let listener = Listener::new(receiver);
    send(&sender, 50, 972, 2_000.0);
    gate.signal(Signal::STOP);
    send(&sender, 40, 972, 1_000.0);
    std::thread::sleep(Duration::from_millis(500));
    gate.signal(Signal::CONT);
    send(&sender, 50, 972, 2_000.0);
    let (numbers, status) = listener.settled(&gate);
    conserved(&status);
    assert_eq!(numbers, (0..50).chain(0..40).chain(0..50).collect::<Vec<_>>());
    gate.stop();
}

/// A disk that is full ends the recording and not the gate; a log that nobody reads harms nothing.
#[test]
fn full_disks_and_closed_logs_do_not_end_the_gate() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let disk = net.file("disk");
    std::fs::create_dir(&disk).unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=64k", "none", disk.to_str().unwrap()]);
    let mut gate = net.gate(PLAIN, &["--record", disk.to_str().unwrap()]);
    let (sender, receiver) = net.udp(5000);
    let listener = Listener::new(receiver);
    send(&sender, 8_000, 20, 20_000.0);
    let (numbers, status) = listener.settled(&gate);
    conserved(&status);
    // A packet takes more than 20 bytes of the recording, for which there are 64 KiB.
    let received = status["forward"]["received"]["packets"].as_u64();
    assert!(received > Some(3_300) && !numbers.is_empty(), "{status}");
    assert_eq!(status["forward"]["recording"]["open"], false, "{status}");
    gate.signal(Signal::TERM);
    let (code, said) = gate.ended();
    run("umount", &[disk.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{said}");
    let lost = format!(
        "recording {}: no space is left on the device; make room",
        disk.join("forward.rec").display()
    );
    assert!(said.contains(&lost) && said.contains("inside -> outside"), "{said}");

    // A pipe whose reader has gone, and one that is full and never read.
    for full in [false, true] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let kept = full.then(|| {
            rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
            while writer.write(&[b'.'; 4096]).is_ok() {}
            while writer.write(b".").is_ok() {}
            rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).unwrap();
            reader
        });
        let mut gate = net.start(PLAIN, &[], |command| command.stderr(writer));
        for _ in 0..20 {
            gate.signal(Signal::HUP);
        }
        gate.status();
        gate.signal(Signal::TERM);
        assert_eq!(gate.ended().0, Some(0), "full: {full}");
        drop(kept);
    }
}

/// A service manager is told when the gate is ready, that it lives, and that it ends.
#[test]
fn a_service_manager_is_told() {
    if !possible() {
        return;
    }
    for guarded in [false, true] {
        let net = Net::new(Way::Tun);
        let manager = Manager::new(&net);
        let arguments: &[&str] = if guarded { &["--fail-open"] } else { &[] };
        let mut gate: Gate = net.start("user = \"nobody\"\nlink = {}", arguments, |command| {
            manager.serve(command).env("WATCHDOG_USEC", "300000")
        });
        let next = |wanted: &str| {
            let silent = || panic!("guarded: {guarded}; {wanted} is not told: {}", gate.said());
            manager.next().unwrap_or_else(silent)
        };
        let ready = format!("READY=1\nMAINPID={}", gate.pid());
        while next(&ready) != ready {}
        for _ in 0..3 {
            assert_eq!(next("WATCHDOG=1"), "WATCHDOG=1");
        }
        gate.signal(Signal::TERM);
        if !guarded {
            while next("STOPPING=1") != "STOPPING=1" {}
        }
        assert_eq!(gate.ended().0, Some(0));
    }
}

/// Without CAP_IPC_LOCK the memory that AF_XDP shares counts against a limit; the error names both.
#[test]
fn a_limit_of_locked_memory_is_named() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Xdp);
    let file = net.configure(PLAIN);
    let words = ["--memlock=1048576", "setpriv", "--bounding-set", "-ipc_lock", GATE, "run"];
    let output = Command::new("prlimit").args(words).arg(file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the limit is 1048576 B; raise it (LimitMEMLOCK="), "{said}");
}
