//! Network namespaces for one test: a left host, a right host and a gate between them.

use forebay_gate::config::Config;
use forebay_gate::io::{Io, Pool, open, within};
use forebay_gate::plugins::Parts;
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::io::ErrorKind::AddrInUse;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Whether live tests can run here; says why not. In CI, where `FOREBAY_CI` is set, they must.
pub fn possible() -> bool {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let must = std::env::var_os("FOREBAY_CI").is_some();
    let missing = MISSING.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            return Some("needs root, for network namespaces".to_owned());
        }
        let name = format!("fb{}-probe", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        let _ = Command::new("ip").args(["netns", "del", &name]).output();
        match made {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Some(format!("ip (of iproute2): {error}")),
        }
    });
    match missing {
        None => true,
        Some(why) if must => panic!("live tests must run in CI: {why}"),
        Some(why) => {
            eprintln!("skipped: {why}");
            false
        }
    }
}

/// The congestion controls that this kernel has, of those that most senders use.
pub fn congestion_controls() -> Vec<&'static str> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(path).unwrap();
    let has = |name: &&str| available.split_whitespace().any(|known| known == *name);
    ["reno", "cubic", "bbr"].into_iter().filter(has).collect()
}

/// How the gate is joined to the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Tun,
    Packet,
    Xdp,
}

/// The program.
pub const GATE: &str = env!("CARGO_BIN_EXE_forebay-gate");

/// Namespaces, gone with the value.
pub struct Net {
    way: Way,
    names: [String; 3],
    folder: PathBuf,
    /// Packets that the gate can hold.
    pub buffers: u32,
    /// Cores of the gate.
    pub cores: u32,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Net {
    pub fn new(way: Way) -> Net {
        Net::with_queues(way, 1)
    }

    /// As [`Net::new`], with so many queues of each interface.
    pub fn with_queues(way: Way, queues: u32) -> Net {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = format!("fb{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(&base);
        std::fs::create_dir_all(&folder).unwrap();
        let names = ["l", "r", "g"].map(|side| format!("{base}{side}"));
        let net = Net { way, names, folder, buffers: 16_384, cores: 1 };
        let queues = queues.to_string();
        let queues = ["numtxqueues", &queues, "numrxqueues", &queues];
        for name in &net.names {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "dev", "lo", "up"]);
        }
        let [left, right, gate] = &net.names;
        // No other packets may change the hosts' counters.
        run(
            "ip",
            &["netns", "exec", gate, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"],
        );
        for (host, near, address) in [(left, "in", "10.77.0.1/24"), (right, "out", "10.77.0.2/24")]
        {
            let device = match way {
                Way::Tun => {
                    ip(&["-n", host, "tuntap", "add", "dev", near, "mode", "tun"]);
                    near
                }
                Way::Packet | Way::Xdp => {
                    let end = ["link", "add", "host", "netns", host];
                    let peer = ["type", "veth", "peer", "name", near, "netns", gate];
                    ip(&[&end[..], &queues, &peer, &queues].concat());
                    // Super-packets would not fit the gate; checksums are left to it.
                    let features = ["tso", "off", "gso", "off"];
                    run(
                        "ip",
                        &[&["netns", "exec", host, "ethtool", "-K", "host"], &features[..]]
                            .concat(),
                    );
                    ip(&["-n", gate, "link", "set", "dev", near, "up"]);
                    "host"
                }
            };
            ip(&["-n", host, "addr", "add", address, "dev", device]);
            let six = address.replace("10.77.0.", "fd77::").replace("/24", "/64");
            ip(&["-n", host, "addr", "add", &six, "dev", device, "nodad"]);
            ip(&["-n", host, "link", "set", "dev", device, "up"]);
        }
        net
    }

    pub fn left(&self) -> &str {
        &self.names[0]
    }

    pub fn right(&self) -> &str {
        &self.names[1]
    }

    pub fn middle(&self) -> &str {
        &self.names[2]
    }

    /// The namespaces of the gate's inside and outside interface, and the hosts' device.
    pub fn places(&self) -> ([&str; 2], &str) {
        match self.way {
            Way::Tun => ([self.left(), self.right()], "in"),
            Way::Packet | Way::Xdp => ([self.middle(); 2], "host"),
        }
    }

    /// Keeps the hosts from sending packets of their own.
    pub fn silence(&self) {
        for host in [self.left(), self.right()] {
            run(
                "ip",
                &["netns", "exec", host, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"],
            );
        }
        // Packets on their way have arrived by now.
        std::thread::sleep(Duration::from_millis(50));
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A UDP socket of the left host towards `port` of the right one, and the right one's.
    pub fn udp(&self, port: u16) -> (UdpSocket, UdpSocket) {
        self.udp_between(["10.77.0.1", "10.77.0.2"], port)
    }

    /// The same between the hosts' IPv6 addresses.
    pub fn udp6(&self, port: u16) -> (UdpSocket, UdpSocket) {
        self.udp_between(["fd77::1", "fd77::2"], port)
    }

    /// Waits until packets pass from the left host to the right one: what the hosts send while their
    /// interfaces come up, no gate sees.
    pub fn wait_until_open(&self) {
        wait_until_passes(self.udp(4_999));
    }

    /// The same with IPv6, whose addresses the kernel accepts some time after the interface is up.
    pub fn wait_until_open6(&self) {
        wait_until_passes(self.udp6(4_999));
    }

    fn udp_between(&self, [from, to]: [&str; 2], port: u16) -> (UdpSocket, UdpSocket) {
        // A process that another test is starting has a copy of a socket until it runs its program,
        // also of one that was closed just now.
        let bind = |name: &str, address: &str| {
            let begin = Instant::now();
            loop {
                match within(Some(name), || UdpSocket::bind((address, port))) {
                    Err(error) if error.kind() == AddrInUse && begin.elapsed().as_secs() < 10 => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    bound => return bound.unwrap(),
                }
            }
        };
        let sender = bind(self.left(), from);
        sender.connect((to, port)).unwrap();
        let receiver = bind(self.right(), to);
        // A test that begins to read late must lose nothing.
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 16 << 20).unwrap();
        (sender, receiver)
    }

    /// A TCP transfer from the left host to `port` of the right one under the congestion control
    /// `control`, until it is dropped.
    pub fn transfer(&self, port: u16, control: &str) -> Transfer {
        let listener = within(Some(self.right()), || TcpListener::bind(("10.77.0.2", port)));
        let listener = listener.unwrap();
        let sender = within(Some(self.left()), || TcpStream::connect(("10.77.0.2", port)));
        let mut sender = sender.unwrap();
        rustix::net::sockopt::set_tcp_congestion(&sender, control).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        let delivered = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&delivered);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(length @ 1..) = receiver.read(&mut buffer) {
                count.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        let handle = sender.try_clone().unwrap();
        std::thread::spawn(move || while sender.write_all(&[0; 1 << 14]).is_ok() {});
        Transfer { handle, delivered }
    }

    /// Writes the configuration: `more`, and what joins it to these namespaces.
    pub fn configure(&self, more: &str) -> PathBuf {
        let [left, right, gate] = &self.names;
        let (backend, inside, outside) = match self.way {
            Way::Tun => ("tun", left, right),
            Way::Packet => ("packet", gate, gate),
            Way::Xdp => ("xdp", gate, gate),
        };
        let file = self.file("gate.toml");
        let text = format!(
            "socket = {:?}\n{more}\n[io]\nbackend = \"{backend}\"\nbuffers = {}\ncores = {}\n\
             inside = {{ name = \"in\", netns = \"{inside}\" }}\n\
             outside = {{ name = \"out\", netns = \"{outside}\" }}\n",
            self.file("socket"),
            self.buffers,
            self.cores,
        );
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Starts a gate with this configuration and waits until it answers.
    pub fn gate(&self, more: &str, arguments: &[&str]) -> Gate {
        self.start(more, arguments, |command| command)
    }

    /// The same, in an environment that `prepare` makes.
    pub fn start(
        &self,
        more: &str,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Gate {
        let config = self.configure(more);
        // Not a pipe, which a gate that takes over keeps open.
        let log = self.file(&format!("log{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let file = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(GATE);
        command.arg("run").arg(config).args(arguments).stderr(file);
        let child = prepare(&mut command).spawn().unwrap();
        let mut gate = Gate { child, socket: self.file("socket"), log };
        let begin = Instant::now();
        while forebay_gate::control::ask(&gate.socket, "status").is_err() {
            if begin.elapsed() > Duration::from_secs(10) || gate.child.try_wait().unwrap().is_some()
            {
                panic!("the gate does not answer: {}", gate.stop());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The kernel learns of the carrier later than the gate, on a busy machine by many milliseconds.
        // Until then it discards what is sent, and counts it nowhere.
        if self.way == Way::Tun {
            for (host, device) in [(self.left(), "in"), (self.right(), "out")] {
                until("an interface is up", || link(host, device)["operstate"] == "UP");
            }
        }
        gate
    }
}

/// Waits until what the first socket sends reaches the second one.
fn wait_until_passes((sender, receiver): (UdpSocket, UdpSocket)) {
    receiver.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let begin = Instant::now();
    loop {
        let _ = sender.send(b"?");
        if receiver.recv(&mut [0; 16]).is_ok() {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "nothing passes");
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

/// Raw sockets on the hosts' ends, with which they send and receive past their stacks.
pub fn hosts(net: &Net) -> (Box<dyn Io>, Pool) {
    let [near, far] = if net.way == Way::Tun { ["in", "out"] } else { ["host"; 2] };
    let ends = format!(
        "link = {{}}\n[io]\nbackend = \"packet\"\nbuffers = 256\n\
         inside = {{ name = \"{near}\", netns = \"{}\" }}\n\
         outside = {{ name = \"{far}\", netns = \"{}\" }}",
        net.left(),
        net.right()
    );
    open(&Config::parse(&ends, &Parts::builtin()).unwrap(), [None; 2]).unwrap()
}

/// Keeps this thread on a processor, so that interfaces take what it sends for the queue of that
/// number. On a machine with one processor, one queue gets all.
pub fn on_processor(number: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(number);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// A port that is free now. It is below those that the kernel gives to whoever asks for any, so that
/// nobody else gets it before it is used.
pub fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id() * 61 + TRIED.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (next % 22_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// What the gate's HTTP server answers.
pub fn get(port: u16, path: &str) -> String {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(client, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    reply
}

/// Waits until `holds`.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn ip(arguments: &[&str]) {
    run("ip", arguments);
}

pub fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A gate that runs; killed with the value.
pub struct Gate {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Gate {
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn status(&self) -> Value {
        forebay_gate::control::ask(&self.socket, "status").unwrap()
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until what is held has left; gives the last state.
    pub fn settled(&self) -> Value {
        settled(&self.socket)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Ends it as systemd would; gives what it said.
    pub fn stop(&mut self) -> String {
        if self.child.try_wait().unwrap().is_none() {
            self.signal(Signal::TERM);
        }
        self.ended().1
    }

    /// Waits for its end; its exit code, and what it said.
    pub fn ended(&mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        let code = loop {
            if let Some(code) = self.child.try_wait().unwrap() {
                break code.code();
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "the gate does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        (code, self.said())
    }

    /// What it has said so far, and gates that have taken over in the background.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

/// Waits until the gate at `socket` holds nothing any more; gives its last state.
pub fn settled(socket: &Path) -> Value {
    let begin = Instant::now();
    loop {
        let status = forebay_gate::control::ask(socket, "status").unwrap();
        let held = |way: &str| {
            let way = &status[way];
            way["backlog_packets"].as_u64().unwrap() + way["in_transit"].as_u64().unwrap()
        };
        if held("forward") + held("reverse") == 0 {
            return status;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it still holds packets: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process that a test has started.
pub fn kill(process: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
}

/// What the kernel counts at an interface: packets received and sent.
pub fn counters(netns: &str, device: &str) -> [u64; 2] {
    let link = link(netns, device);
    ["rx", "tx"].map(|way| link["stats64"][way]["packets"].as_u64().unwrap())
}

/// What the kernel says of an interface.
fn link(netns: &str, device: &str) -> Value {
    let output = run("ip", &["-n", netns, "-s", "-j", "link", "show", "dev", device]);
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found[0].take()
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A TCP transfer under way; it ends with the value.
pub struct Transfer {
    handle: TcpStream,
    delivered: Arc<AtomicU64>,
}

impl Transfer {
    /// Bytes that have arrived.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Waits until so many bytes have arrived.
    pub fn wait_for(&self, bytes: u64) {
        let begin = Instant::now();
        while self.delivered() < bytes {
            assert!(begin.elapsed() < Duration::from_secs(30), "the transfer is stuck");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let _ = self.handle.shutdown(std::net::Shutdown::Both);
    }
}

/// Every packet that came in was passed, sent or dropped, or waits.
pub fn conserved(status: &Value) {
    for way in ["forward", "reverse"] {
        let way = &status[way];
        let count = |value: &Value| value.as_u64().unwrap();
        let dropped: u64 = way["dropped"].as_object().unwrap().values().map(count).sum();
        assert_eq!(
            count(&way["received"]["packets"]),
            count(&way["passed"]["packets"])
                + count(&way["sent"]["packets"])
                + dropped
                + count(&way["backlog_packets"])
                + way["box"]["answered"].as_u64().unwrap_or(0),
            "{way}"
        );
    }
}

/// A service manager, by the protocol of sd_notify(3).
pub struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    /// One that listens in the folder of `net`.
    pub fn new(net: &Net) -> Manager {
        let path = net.file("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Manager { socket, path }
    }

    /// Makes what `command` starts its service.
    pub fn serve<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("NOTIFY_SOCKET", &self.path)
    }

    /// What it is told next, within ten seconds.
    pub fn next(&self) -> Option<String> {
        let mut text = [0; 100];
        let length = self.socket.recv(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text[..length]).into_owned())
    }

    /// What it has been told by now.
    pub fn heard(&self) -> Vec<String> {
        self.socket.set_nonblocking(true).unwrap();
        let heard = std::iter::from_fn(|| self.next()).collect();
        self.socket.set_nonblocking(false).unwrap();
        heard
    }
}
