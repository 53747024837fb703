//! One gate after another on the same interfaces.

use crate::net::{GATE, Manager, Net, Way, conserved, counters, ip, kill, possible, until};
use crate::{Listener, send};
use forebay_gate::control::ask;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn process(status: &Value) -> i32 {
    status["process"].as_i64().unwrap() as i32
}

/// A gate that takes over loses nothing, and nothing overtakes, even while the queue is long.
#[test]
fn an_upgrade_loses_nothing() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet] {
        let net = Net::new(way);
        let config = r#"
            user = "nobody"
            link = { rate = "20Mbit", queue = { kind = "fifo", limit = "5000p" } }
        "#;
        let mut gate = net.gate(config, &[]);
        if way == Way::Tun {
            // On a busy machine the next gate may be long to come.
            ip(&["-n", net.left(), "link", "set", "dev", "in", "txqueuelen", "5000"]);
        }
        let (sender, receiver) = net.udp(5000);
        send(&sender, 1, 972, 100.0);
        let listener = Listener::new(receiver);
        let sending = std::thread::spawn(move || send(&sender, 1_500, 972, 3_500.0));
        std::thread::sleep(Duration::from_millis(100));
        let file = net.configure(
            &config
                .replace("fifo", "fq-codel")
                .replace("5000p\"", "5000p\", target = \"2s\", interval = \"9s\""),
        );
        upgrade(&file, &[]);
        let (code, said) = gate.ended();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("another gate has taken over"), "{said}");
        assert!(said.contains("waiting 0 packets"), "{said}");
        sending.join().unwrap();
        let (numbers, status) = listener.settled_at(gate.socket());
        conserved(&status);
        assert_eq!(status["forward"]["kind"], "fq-codel", "{way:?}");
        // The one that was sent to begin with counts, too.
        assert_eq!(numbers.len(), 1_501, "{way:?}: {said}\n{status}");
        assert!(numbers.is_sorted(), "{way:?}: order");
        kill(process(&status), Signal::TERM);
        until("it ends", || ask(gate.socket(), "status").is_err());
        // The messages of the new gate are where those of the old one were.
        until("its last summary", || gate.said().contains("fq-codel at 20.000 Mbit/s"));
    }
}

/// A next gate that cannot follow leaves the running one as it is.
#[test]
fn an_upgrade_that_fails_changes_nothing() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Xdp] {
        let net = Net::new(way);
        let config = r#"link = { rate = "20Mbit", queue = { kind = "fifo" } }"#;
        let mut gate = net.gate(config, &[]);
        let before = process(&gate.status());
        for (change, expected) in [
            ("fifo", if way == Way::Xdp { "AF_XDP cannot be handed over" } else { "" }),
            ("fiffo", "unknown kind"),
            ("fifo\" }, mtu = \"1400B\", reverse = { mtu = \"1300B", "link.mtu: differs"),
        ] {
            if expected.is_empty() || (way == Way::Xdp && change.len() > 5) {
                continue;
            }
            let file = net.configure(&config.replace("fifo", change));
            let output =
                Command::new(GATE).args(["run", "--take-over"]).arg(file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(expected), "{expected}: {said}");
        }
        // One that asks, is lent everything, and goes away.
        let stream = std::os::unix::net::UnixStream::connect(gate.socket()).unwrap();
        std::io::Write::write_all(&mut &stream, b"hand over\n").unwrap();
        std::thread::sleep(Duration::from_millis(50));
        drop(stream);
        let (sender, receiver) = net.udp(5000);
        let listener = Listener::new(receiver);
        send(&sender, 50, 972, 1_000.0);
        let (numbers, status) = listener.settled(&gate);
        assert_eq!((numbers.len(), process(&status)), (50, before));
        gate.stop();
    }
}

/// The gate that follows is the service before the one that went before ends, and that does not end
/// the service; one that is started outside the service is refused.
#[test]
fn an_upgrade_stays_within_the_service() {
    if !possible() {
        return;
    }
    for guarded in [false, true] {
        let net = Net::new(Way::Tun);
        let manager = Manager::new(&net);
        let config = r#"link = { rate = "20Mbit", queue = { kind = "fifo" } }"#;
        let fail_open: &[&str] = if guarded { &["--fail-open"] } else { &[] };
        let mut gate = net.start(config, fail_open, |command| manager.serve(command));
        let running = || {
            let status = ask(&net.file("socket"), "status").ok()?;
            (status["forward"]["kind"] == "fifo").then(|| process(&status))
        };
        until("the gate proper runs", || running().is_some());
        let first = running().unwrap();
        let upgrade = |is_service: bool| {
            let said = std::fs::File::create(net.file("said")).unwrap();
            let mut upgrade = Command::new(GATE);
            upgrade.arg("upgrade").args(fail_open).arg(net.file("gate.toml"));
            upgrade.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
            if is_service {
                manager.serve(&mut upgrade);
            }
            let mut upgrade = upgrade.spawn().unwrap();
            let mut words = Vec::new();
            loop {
                let ended = upgrade.try_wait().unwrap();
                for word in manager.heard() {
                    let main = word.lines().find_map(|line| line.strip_prefix("MAINPID="));
                    // The manager waits only for what is its own child by then.
                    let parent = main.map(|main| parent(main.parse().unwrap()));
                    assert_ne!(parent, Some(upgrade.id() as i32), "{word}");
                    words.push(word);
                }
                if let Some(code) = ended {
                    return (code.code(), words);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let said = || std::fs::read_to_string(net.file("said")).unwrap();

        assert_eq!(upgrade(false).0, Some(2));
        assert!(said().contains("run `systemctl reload forebay-gate`"), "{}", said());
        assert_eq!(running(), Some(first));
        manager.heard();

        let (code, mut words) = upgrade(true);
        assert_eq!(code, Some(0), "{}", said());
        assert_eq!(gate.ended().0, Some(0));
        words.extend(manager.heard());
        until("the next gate proper runs", || running().is_some_and(|now| now != first));
        let next = running().unwrap();
        let main = if guarded { parent(next) } else { next };
        assert!(words.iter().any(|word| word.contains(&format!("MAINPID={main}"))), "{words:?}");
        assert!(!words.contains(&"STOPPING=1".to_owned()), "{words:?}");
        // A gate that a reload starts is not told of the watchdog, which waits for it all the same.
        until("a sign of life", || manager.heard().contains(&"WATCHDOG=1".to_owned()));
        kill(main, Signal::TERM);
        until("its last summary", || gate.said().contains("fifo at 20.000 Mbit/s"));
        assert!(!said().contains("fifo"), "{}", said());
        until("it ends", || ask(gate.socket(), "status").is_err());
    }
}

fn parent(process: i32) -> i32 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let parent = text.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

/// With a guardian packets go on when the gate is killed, and are queued again soon after.
#[test]
fn packets_pass_while_the_gate_is_restarted() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let config = r#"
            user = "nobody"
            link = { rate = "20Mbit", queue = { kind = "fifo", limit = "5000p" } }
        "#;
        let mut gate = net.gate(config, &["--fail-open"]);
        let queued = || {
            let status = ask(&net.file("socket"), "status").ok()?;
            (status["forward"]["kind"] == "fifo").then_some(status)
        };
        until(&format!("{way:?} the gate proper runs"), || queued().is_some());
        let first = process(&queued().unwrap());
        assert_ne!(first, gate.pid());
        let (sender, receiver) = net.udp(5000);
        let listener = Listener::new(receiver);
        send(&sender, 20, 972, 1_000.0);
        let later = sender.try_clone().unwrap();
        let begin = Instant::now();
        let sending = std::thread::spawn(move || send(&sender, 2_500, 100, 1_000.0));
        std::thread::sleep(Duration::from_millis(300));
        kill(first, Signal::KILL);
        let killed = begin.elapsed();
        until("another gate proper runs", || {
            queued().is_some_and(|status| process(&status) != first)
        });
        let restarted = begin.elapsed();
        sending.join().unwrap();
        send(&later, 100, 100, 1_000.0);
        let (numbers, _) = listener.settled_at(gate.socket());
        let last: Vec<u64> = (0..100).collect();
        assert!(numbers.ends_with(&last), "{way:?}: {numbers:?}");
        // There is no gate for a second and more. How soon that is noticed hangs on the machine.
        let between = killed.as_millis() as u64..restarted.as_millis() as u64;
        let passed = numbers.iter().filter(|number| between.contains(number)).count();
        assert!(passed > 0, "{way:?}: {} of {between:?}", numbers.len());
        let said = gate.stop();
        assert!(said.contains("packets pass until it runs again"), "{said}");
        assert!(said.contains("fifo at 20.000 Mbit/s"), "{said}");
        until("all is gone", || ask(gate.socket(), "status").is_err());
    }
}

/// A guardian with its gate follows another guardian with its gate, whether it is asked for again or
/// not.
#[test]
fn a_guardian_is_upgraded() {
    if !possible() {
        return;
    }
    for (words, by_guardian) in [(&["--fail-open"][..], false), (&[], false), (&[], true)] {
        guardians_follow(words, by_guardian);
    }
}

/// Upgrades a guardian and its gate with the options `words`; the guardian hands over itself if
/// `while_passing`, because there is no gate proper.
fn guardians_follow(words: &[&str], while_passing: bool) {
    let net = Net::new(Way::Packet);
    let config = r#"link = { rate = "20Mbit", queue = { kind = "fifo", limit = "5000p" } }"#;
    let mut gate = net.gate(config, &["--fail-open"]);
    let running = || {
        let status = ask(&net.file("socket"), "status").ok()?;
        (status["forward"]["kind"] == "fifo").then(|| process(&status))
    };
    until("the gate proper runs", || running().is_some());
    let first = running().unwrap();
    let guardian = gate.pid();
    if while_passing {
        // Another one cannot start.
        std::fs::write(net.file("gate.toml"), "wrong").unwrap();
        kill(first, Signal::KILL);
        let passes = || ask(&net.file("socket"), "status").is_ok_and(|it| process(&it) == guardian);
        until("the guardian passes packets", passes);
    }
    let (sender, receiver) = net.udp(5000);
    net.wait_until_open();
    send(&sender, 1, 972, 100.0);
    let listener = Listener::new(receiver);
    let sending = std::thread::spawn(move || send(&sender, 1_500, 972, 3_000.0));
    std::thread::sleep(Duration::from_millis(100));
    let file = net.configure(config);
    upgrade(&file, words);
    let (code, said) = gate.ended();
    assert_eq!(code, Some(0), "{said}");
    until("the next gate proper runs", || running().is_some_and(|process| process != first));
    sending.join().unwrap();
    let (numbers, status) = listener.settled_at(gate.socket());
    assert_eq!(numbers.len(), 1_501, "{status}");
    assert!(numbers.is_sorted(), "order");
    // The next guardian is the parent of the next gate, and starts another one.
    let (next, second) = (running().unwrap(), parent(running().unwrap()));
    assert_eq!(command_line(second).matches("--guarded").count(), 0);
    assert_eq!(command_line(next).matches("--guarded").count(), 1);
    kill(next, Signal::KILL);
    until("a third gate proper runs", || running().is_some_and(|process| process != next));
    kill(second, Signal::TERM);
    until("all is gone", || ask(gate.socket(), "status").is_err());
    assert!(gate.said().contains("packets pass until it runs again"), "{}", gate.said());
}

fn command_line(process: i32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap()
}

/// Runs `forebay-gate upgrade FILE` as a shell's `$(... 2>&1)` does, until nobody writes into its
/// output any more.
fn upgrade(file: &Path, words: &[&str]) {
    let mut upgrade = Command::new(GATE);
    upgrade.arg("upgrade").args(words).arg(file).stdin(Stdio::null());
    let (sender, output) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(upgrade.output()));
    let output = output.recv_timeout(Duration::from_secs(30)).expect("its output does not end");
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("has taken over") && said.lines().count() == 1, "{said}");
}

/// An interface that gets another name keeps its packets: in the gate, from the guardian when the
/// gate dies, and in the gate that it then starts.
#[test]
fn interfaces_may_be_renamed() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet, Way::Xdp] {
        let net = Net::new(way);
        let config = r#"link = { rate = "20Mbit", queue = { kind = "fifo" } }"#;
        let mut gate = net.gate(config, &["--fail-open"]);
        let running = || {
            let status = ask(&net.file("socket"), "status").ok()?;
            (status["forward"]["kind"] == "fifo").then(|| process(&status))
        };
        until("the gate proper runs", || running().is_some());
        let ([inside, _], _) = net.places();
        let addresses: &[&str] = if way == Way::Tun { &["10.77.0.1/24"] } else { &[] };
        rename(inside, "in", "renamed", addresses);
        let (sender, receiver) = net.udp(5000);
        receiver.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let passes = || {
            let _ = sender.send(&[0; 100]);
            receiver.recv(&mut [0; 200]).is_ok()
        };
        until(&format!("{way:?}: packets pass through the gate"), passes);
        let first = running().unwrap();
        // Another interface may have the name by now.
        if way != Way::Tun {
            ip(&["-n", inside, "link", "add", "in", "type", "veth", "peer", "name", "in2"]);
        }
        let file = std::fs::read_to_string(net.file("gate.toml")).unwrap();
        std::fs::write(net.file("gate.toml"), "wrong").unwrap();
        kill(first, Signal::KILL);
        let is_guardian =
            || ask(&net.file("socket"), "status").is_ok_and(|it| process(&it) == gate.pid());
        until(&format!("{way:?}: the guardian passes packets"), || is_guardian() && passes());
        std::fs::write(net.file("gate.toml"), file).unwrap();
        until(&format!("{way:?}: another gate"), || running().is_some_and(|next| next != first));
        until(&format!("{way:?}: packets pass through it"), passes);
        let said = gate.stop();
        assert!(!said.contains("waiting for the interfaces"), "{way:?}: {said}");
    }
}

/// It is the same interface to the next gate, too, by either name; another interface is refused.
#[test]
fn an_upgrade_knows_an_interface_by_its_new_name() {
    if !possible() {
        return;
    }
    for way in [Way::Tun, Way::Packet] {
        let net = Net::new(way);
        let config = r#"link = { rate = "20Mbit", queue = { kind = "fifo" } }"#;
        let mut gate = net.gate(config, &[]);
        let ([inside, _], _) = net.places();
        let addresses: &[&str] = if way == Way::Tun { &["10.77.0.1/24"] } else { &[] };
        rename(inside, "in", "renamed", addresses);
        ip(&["-n", inside, "link", "add", "in", "type", "veth", "peer", "name", "in2"]);
        let file = net.file("gate.toml");
        let old = std::fs::read_to_string(&file).unwrap();
        let named = |name: &str| std::fs::write(&file, old.replace("\"in\"", name)).unwrap();
        let refused = |name: &str| {
            named(name);
            let output = Command::new(GATE).arg("upgrade").arg(&file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains("io.inside: differs"), "{said}");
        };
        refused("\"in2\"");
        // A file that has not changed means the interfaces that the gate has.
        for name in ["\"in\"", "\"renamed\""] {
            named(name);
            upgrade(&file, &[]);
        }
        refused("\"in\"");
        let (sender, receiver) = net.udp(5000);
        receiver.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        until(&format!("{way:?}: packets pass"), || {
            let _ = sender.send(&[0; 100]);
            receiver.recv(&mut [0; 200]).is_ok()
        });
        gate.ended();
        let last = process(&ask(&net.file("socket"), "status").unwrap());
        kill(last, Signal::TERM);
    }
}

/// Gives the interface called `from` the name `to`. Its `addresses` go when it is down.
fn rename(netns: &str, from: &str, to: &str, addresses: &[&str]) {
    ip(&["-n", netns, "link", "set", "dev", from, "down"]);
    ip(&["-n", netns, "link", "set", "dev", from, "name", to]);
    ip(&["-n", netns, "link", "set", "dev", to, "up"]);
    for address in addresses {
        ip(&["-n", netns, "addr", "replace", address, "dev", to]);
    }
}

/// With a guardian a gate that hangs is replaced, and an interface that has gone is waited for.
#[test]
fn a_guardian_waits_and_replaces() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Packet);
    let mut gate =
        net.gate(r#"link = { rate = "20Mbit", queue = { kind = "fifo" } }"#, &["--fail-open"]);
    let running = || {
        let status = ask(&net.file("socket"), "status").ok()?;
        (status["forward"]["kind"] == "fifo").then(|| process(&status))
    };
    until("the gate proper runs", || running().is_some());
    let first = running().unwrap();
    kill(first, Signal::STOP);
    until("a gate that hangs is replaced", || running().is_some_and(|process| process != first));
    let middle = net.middle();
    ip(&["-n", middle, "link", "del", "dev", "out"]);
    until("the interface is waited for", || gate.said().contains("waiting for the interfaces"));
    let peer = ["peer", "name", "out", "netns", middle];
    ip(&[&["link", "add", "host", "netns", net.right(), "type", "veth"], &peer[..]].concat());
    ip(&["-n", middle, "link", "set", "dev", "out", "up"]);
    ip(&["-n", net.right(), "addr", "add", "10.77.0.2/24", "dev", "host"]);
    ip(&["-n", net.right(), "link", "set", "dev", "host", "up"]);
    let before = counters(net.right(), "host")[0];
    let (sender, _receiver) = net.udp(5000);
    until("packets pass again", || {
        let _ = sender.send(&[0; 100]);
        counters(net.right(), "host")[0] > before + 10
    });
    until("and are queued again", || running().is_some());
    let said = gate.stop();
    assert!(said.contains("no longer answers"), "{said}");
}
