//! The same traffic through a path of Rattan with our cell, and through forebay's gate.
//!
//! `FOREBAY_GATE` names the gate's program. Without it, or where no namespaces can be made, nothing is
//! compared. `FOREBAY_RUNS` is the number of pairs of runs of each case, for a table; without it, two
//! cases are compared.

#![expect(clippy::disallowed_methods, reason = "live tests wait, and ask whether this is CI")]

use forebay_disciplines::Disciplines;
use forebay_rattan::DisciplineCellConfig;
use rattan_core::cells::StdPacket;
use rattan_core::config::{CellBuildConfig, DelayCellBuildConfig, RattanConfig};
use rattan_core::env::{StdNetEnvConfig, StdNetEnvMode};
use rattan_core::metal::io::af_packet::AfPacketDriver;
use rattan_core::radix::RattanRadix;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const RATE: u64 = 8_000_000;

/// How late this process may ever be during a run: no later than the gate may be before it counts a
/// stall.
const MOST_LATE: Duration = Duration::from_millis(20);
/// Tries of a comparison.
const TRIES: usize = 5;

/// What a run came to.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Share of the packets that were dropped.
    dropped: f64,
    /// Mean time in the queue, ms.
    delay: f64,
    /// What the receiving program got, Mbit/s.
    rate: f64,
    /// Whether the machine always ran what was due. Other runs say nothing.
    quiet: bool,
}

#[derive(Debug, Clone, Copy)]
enum Traffic {
    /// 1000 B every 2/3 ms: one and a half of the rate.
    Overload,
    /// A transfer under the kernel's congestion control.
    Transfer,
}

const LASTS: Duration = Duration::from_secs(4);

#[test]
fn a_path_of_rattan_does_what_the_gate_does() {
    let Some(gate) = gate() else { return };
    let runs = std::env::var("FOREBAY_RUNS").map(|runs| runs.parse::<usize>().unwrap());
    let red = json!({ "kind": "red", "min_th": "15KB", "max_th": "60KB", "limit": "100p" });
    let mut cases =
        vec![(Traffic::Overload, red.clone()), (Traffic::Transfer, json!({ "kind": "codel" }))];
    if runs.is_ok() {
        cases.extend([
            (Traffic::Overload, json!({ "kind": "fifo", "limit": "50p" })),
            (Traffic::Overload, json!({ "kind": "codel" })),
            (Traffic::Overload, json!({ "kind": "pie", "limit": "100p" })),
            (Traffic::Transfer, red),
            (Traffic::Transfer, json!({ "kind": "fq-codel" })),
        ]);
    }
    for (traffic, queue) in cases {
        let pair = || (through_rattan(traffic, &queue), through_gate(traffic, &queue, &gate));
        let quiet = |(rattan, gate): &(Found, Found)| rattan.quiet && gate.quiet;
        if let Ok(runs) = runs {
            let pairs: Vec<_> = std::iter::repeat_with(pair).filter(quiet).take(runs).collect();
            println!("{traffic:?} {queue}: {}", table(&pairs));
            continue;
        }
        // While the machine does not run the one or the other, buffers of the kernel fill: such a try
        // says nothing.
        let mut apart = Vec::new();
        let near = (0..TRIES).map(|_| pair()).filter(quiet).any(|pair| {
            apart.push(pair);
            close(pair.0, pair.1)
        });
        match apart.len() {
            _ if near => println!("{traffic:?} {queue}: {}", table(&apart[apart.len() - 1..])),
            0 | 1 => eprintln!("skipped: the machine was too busy for {traffic:?} {queue}"),
            _ => panic!("{traffic:?} {queue}: {}: {apart:?}", table(&apart)),
        }
    }
}

/// Within what two runs of one of them differ on a busy machine.
fn close(rattan: Found, gate: Found) -> bool {
    let apart = (rattan.dropped - gate.dropped).abs();
    let most = 0.03_f64.max(0.35 * gate.dropped);
    let delay = (rattan.delay - gate.delay).abs();
    apart < most
        && delay < 2.0_f64.max(0.25 * gate.delay)
        && (rattan.rate / gate.rate - 1.0).abs() < 0.05
}

/// Means of both, and the difference with its interval of 95 % if there are ten pairs.
fn table(pairs: &[(Found, Found)]) -> String {
    let say = |name: &str, of: fn(&Found) -> f64| {
        let many = pairs.len() as f64;
        let mean = |which: fn(&(Found, Found)) -> &Found| {
            pairs.iter().map(|pair| of(which(pair))).sum::<f64>() / many
        };
        let [rattan, gate] = [mean(|pair| &pair.0), mean(|pair| &pair.1)];
        let apart = rattan - gate;
        let square = |pair: &(Found, Found)| {
            let each = of(&pair.0) - of(&pair.1) - apart;
            each * each
        };
        let spread = pairs.iter().map(square).sum::<f64>() / (many - 1.0).max(1.0);
        // Student's t with nine degrees of freedom.
        let half = 2.262 * (spread / many).sqrt();
        format!("{name} {rattan:.4} {gate:.4} ({apart:+.4} ± {half:.4})")
    };
    [
        say("dropped", |found| found.dropped),
        say("ms", |found| found.delay),
        say("Mbit/s", |found| found.rate),
    ]
    .join("; ")
}

/// The gate's program, if the comparison can run here; otherwise says why not. In CI, where
/// `FOREBAY_CI` is set, it must.
fn gate() -> Option<PathBuf> {
    let missing = match std::env::var_os("FOREBAY_GATE").map(PathBuf::from) {
        Some(gate) => match gate.canonicalize() {
            Ok(gate) => match Net::new() {
                Ok(_) => return Some(gate),
                Err(error) => format!("cannot make network namespaces: {error}"),
            },
            Err(error) => format!("FOREBAY_GATE: {}: {error}", gate.display()),
        },
        None => "FOREBAY_GATE does not name the gate's program".to_owned(),
    };
    assert!(std::env::var_os("FOREBAY_CI").is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    None
}

fn through_rattan(traffic: Traffic, queue: &Value) -> Found {
    let env = StdNetEnvConfig { mode: StdNetEnvMode::Isolated, ..Default::default() };
    let mut config = RattanConfig::<StdPacket> { env, ..Default::default() };
    config.cells.insert("queue".to_owned(), CellBuildConfig::Custom);
    let delay = DelayCellBuildConfig::new(Duration::from_millis(20));
    config.cells.insert("wire".to_owned(), CellBuildConfig::Delay(delay));
    let links = [("left", "queue"), ("queue", "wire"), ("wire", "right"), ("right", "left")];
    config.links = links.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let mut radix = RattanRadix::<AfPacketDriver>::new(config).unwrap();
    let cell = DisciplineCellConfig::new(forebay_core::Rate::from_bps(RATE), queue.clone());
    let disciplines = Disciplines::builtin().into();
    let control = radix.build_cell("queue".to_owned(), cell.into_factory(disciplines)).unwrap();
    radix.spawn_rattan().unwrap();
    radix.start_rattan().unwrap();
    let within = |host: usize, make: Make| {
        let task = move || Ok(make()?);
        let thread =
            if host == 0 { radix.left_spawn(None, task) } else { radix.right_spawn(None, task) };
        thread.unwrap().join().unwrap().unwrap()
    };
    let ends = Ends { within: &within, addresses: [radix.left_ip(1), radix.right_ip(1)] };
    let (rate, quiet) = watched(|| ends.send(traffic));
    until_quiet(|| control.status().received);
    let status = control.status();
    let dropped = status.dropped.values().sum::<u64>() as f64 / status.received as f64;
    assert_eq!(
        status.received,
        status.sent + status.waiting + status.dropped.values().sum::<u64>()
    );
    Found { dropped, delay: status.mean_delay_ms, rate, quiet }
}

fn through_gate(traffic: Traffic, queue: &Value, program: &Path) -> Found {
    let net = Net::new().unwrap();
    let gate = net.gate(queue, program);
    let within = |host: usize, make: Make| {
        let file = File::open(format!("/var/run/netns/{}", net.names[host])).unwrap();
        let thread = std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            make().unwrap()
        });
        thread.join().unwrap()
    };
    let addresses = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 78, 0, host)));
    let ends = Ends { within: &within, addresses };
    let (rate, on_time) = watched(|| ends.send(traffic));
    let forward = || gate.status()["forward"].clone();
    let count = |forward: &Value, name: &str| forward[name]["packets"].as_u64().unwrap();
    until_quiet(|| count(&forward(), "received"));
    let status = forward();
    let drops = status["dropped"].as_object().unwrap().values();
    let dropped = drops.map(|count| count.as_u64().unwrap()).sum::<u64>() as f64;
    let received = count(&status, "received") as f64 - count(&status, "passed") as f64;
    let delay = status["classes"]["0"]["mean_delay_ms"].as_f64().unwrap();
    let quiet = on_time && status["stalls"] == 0;
    Found { dropped: dropped / received, delay, rate, quiet }
}

/// Makes a socket.
type Make = Box<dyn FnOnce() -> std::io::Result<OwnedFd> + Send>;

/// Two hosts.
struct Ends<'a> {
    /// Runs something on one of them.
    within: &'a dyn Fn(usize, Make) -> OwnedFd,
    addresses: [IpAddr; 2],
}

impl Ends<'_> {
    /// Sends from the first host to the second one; Mbit/s that the program there got.
    fn send(&self, traffic: Traffic) -> f64 {
        let [from, to] = self.addresses;
        let got = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&got);
        match traffic {
            Traffic::Overload => {
                let bind = |host, address| {
                    (self.within)(
                        host,
                        Box::new(move || Ok(UdpSocket::bind((address, 5000))?.into())),
                    )
                };
                let [near, far] = [bind(0, from), bind(1, to)].map(UdpSocket::from);
                near.connect((to, 5000)).unwrap();
                // The hosts behind the gate first ask for each other's addresses.
                far.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                while far.recv(&mut [0; 1]).is_err() {
                    let _ = near.send(b"?");
                }
                far.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                let reader = std::thread::spawn(move || {
                    while let Ok(bytes) = far.recv(&mut [0; 2048]) {
                        count.fetch_add(bytes as u64, Ordering::Relaxed);
                    }
                });
                let begin = Instant::now();
                for number in 1_u32.. {
                    // An interface that is being set up refuses.
                    let _ = near.send(&[0; 972]);
                    let due = Duration::from_micros(2000) * number / 3;
                    if due > LASTS {
                        break;
                    }
                    std::thread::sleep(due.saturating_sub(begin.elapsed()));
                }
                reader.join().unwrap();
            }
            Traffic::Transfer => {
                let listen = move || Ok(TcpListener::bind((to, 5001))?.into());
                let listener = TcpListener::from((self.within)(1, Box::new(listen)));
                let connect = move || Ok(TcpStream::connect((to, 5001))?.into());
                let mut near = TcpStream::from((self.within)(0, Box::new(connect)));
                let mut far = listener.accept().unwrap().0;
                std::thread::spawn(move || {
                    let mut buffer = [0; 1 << 16];
                    while let Ok(bytes @ 1..) = far.read(&mut buffer) {
                        count.fetch_add(bytes as u64, Ordering::Relaxed);
                    }
                });
                let handle = near.try_clone().unwrap();
                std::thread::spawn(move || while near.write_all(&[0; 1 << 14]).is_ok() {});
                std::thread::sleep(LASTS);
                handle.shutdown(std::net::Shutdown::Both).unwrap();
            }
        }
        got.load(Ordering::Relaxed) as f64 * 8e-6 / LASTS.as_secs_f64()
    }
}

/// What `act` gives, and whether a thread beside it was always woken in time.
fn watched<T>(act: impl FnOnce() -> T) -> (T, bool) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut latest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let begin = Instant::now();
                std::thread::sleep(Duration::from_millis(1));
                latest = latest.max(begin.elapsed());
            }
            latest < MOST_LATE
        });
        let given = act();
        over.store(true, Ordering::Relaxed);
        (given, watch.join().unwrap())
    })
}

/// Waits until a count stays the same.
fn until_quiet(count: impl Fn() -> u64) {
    let mut before = count();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = count();
        if now == before {
            return;
        }
        before = now;
    }
}

/// Two hosts and the namespace of a gate between them, gone with the value.
struct Net {
    names: [String; 3],
    folder: PathBuf,
}

impl Net {
    fn new() -> Result<Net, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = format!("fbr{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(&base);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let net = Net { names: ["l", "r", "g"].map(|side| format!("{base}{side}")), folder };
        for name in &net.names {
            run("ip", &["netns", "add", name])?;
            for which in ["all", "default"] {
                let six = format!("net.ipv6.conf.{which}.disable_ipv6=1");
                run("ip", &["netns", "exec", name, "sysctl", "-qw", &six])?;
            }
        }
        let [left, right, gate] = &net.names;
        for (host, near, address) in [(left, "in", "10.78.0.1/24"), (right, "out", "10.78.0.2/24")]
        {
            let peer = ["type", "veth", "peer", "name", near, "netns", gate];
            run("ip", &[&["link", "add", "host", "netns", host], &peer[..]].concat())?;
            // As Rattan sets its own.
            let plain = ["tso", "off", "gso", "off", "tx", "off"];
            run("ip", &[&["netns", "exec", host, "ethtool", "-K", "host"], &plain[..]].concat())?;
            run("ip", &["-n", host, "addr", "add", address, "dev", "host"])?;
            run("ip", &["-n", host, "link", "set", "dev", "host", "up"])?;
            run("ip", &["-n", gate, "link", "set", "dev", near, "up"])?;
        }
        Ok(net)
    }

    /// A gate that answers.
    fn gate(&self, queue: &Value, program: &Path) -> Gate {
        let [_, _, gate] = &self.names;
        let queue = queue.as_object().unwrap();
        let queue: Vec<_> = queue.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let file = self.folder.join("gate.toml");
        let socket = self.folder.join("socket");
        let text = format!(
            "socket = {socket:?}\n\
             [link]\nrate = \"{RATE}bit\"\ndelay = \"20ms\"\nqueue = {{ {} }}\n\
             [io]\nbackend = \"packet\"\n\
             inside = {{ name = \"in\", netns = \"{gate}\" }}\n\
             outside = {{ name = \"out\", netns = \"{gate}\" }}\n",
            queue.join(", ")
        );
        std::fs::write(&file, text).unwrap();
        let log = File::create(self.folder.join("log")).unwrap();
        let child = Command::new(program).arg("run").arg(file).stderr(log).spawn().unwrap();
        let gate = Gate { child, socket, program: program.to_owned() };
        let begin = Instant::now();
        while gate.ask().is_none() {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap();
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "the gate does not answer: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        gate
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), said.trim()))
}

/// A gate that runs; killed with the value.
struct Gate {
    child: Child,
    socket: PathBuf,
    program: PathBuf,
}

impl Gate {
    fn ask(&self) -> Option<Value> {
        let mut command = Command::new(&self.program);
        let said = command.arg("status").arg("--socket").arg(&self.socket).arg("--json").output();
        serde_json::from_slice(&said.unwrap().stdout).ok()
    }

    fn status(&self) -> Value {
        self.ask().expect("the gate answers")
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
