//! Traffic between two network namespaces, and measurements of it, for `benches/gate.py`. Prints
//! JSON.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "it measures in real time")]

use clap::{Parser, Subcommand};
use etherparse::PacketBuilder;
use forebay_gate::config::Config;
use forebay_gate::io::{BATCH, Side, open, within};
use forebay_gate::plugins::Parts;
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use serde_json::json;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sends UDP from one namespace to another.
#[derive(Parser)]
struct Line {
    /// Namespace of the sender.
    left: String,
    /// Namespace of the receiver.
    right: String,
    /// Address of the receiver.
    address: String,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Sends as many packets as possible, unless a rate is given. Counts what arrives, and its
    /// rate.
    Flood {
        /// Length of the IP packets in bytes, 28 or more.
        #[arg(long, default_value_t = 1500)]
        size: usize,
        /// Rate of IP packets to send at, in Mbit/s.
        #[arg(long)]
        rate: Option<f64>,
        /// Duration.
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
        /// Packets that arrive in this time from the start are not counted.
        #[arg(long, default_value_t = 0.5)]
        warmup: f64,
    },
    /// Sends as many frames as possible past the sender's own network stack. A host counts them and
    /// drops them at once, because the checksum of their IP header is wrong.
    Frames {
        /// Interface of the sender.
        interface: String,
        /// The interface takes packets without a link header, as TUN interfaces do.
        #[arg(long)]
        bare: bool,
        /// Length of the IP packets in bytes, 28 or more.
        #[arg(long, default_value_t = 64)]
        size: usize,
        /// Duration.
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
    },
    /// Sends single packets, and measures the time of each.
    Delay {
        /// Number of packets.
        #[arg(long, default_value_t = 1000)]
        count: usize,
        /// Time between two, in ms.
        #[arg(long, default_value_t = 2.0)]
        every: f64,
    },
}

const PORT: u16 = 9_000;
/// Packets passed to the kernel at once.
const AT_ONCE: usize = 32;
/// IPv4 and UDP headers.
const HEADERS: usize = 28;

fn main() -> io::Result<()> {
    let line = Line::parse();
    if let What::Frames { interface, bare, size, seconds } = &line.what {
        println!("{}", frames(&line.left, interface, *bare, *size, *seconds)?);
        return Ok(());
    }
    let receiver = within(Some(&line.right), || UdpSocket::bind((line.address.as_str(), PORT)))?;
    receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, 64 << 20)?;
    let sender = within(Some(&line.left), || UdpSocket::bind(("0.0.0.0", PORT)))?;
    sender.connect((line.address.as_str(), PORT))?;
    let result = match line.what {
        What::Flood { size, rate, seconds, warmup } => {
            flood(sender, receiver, size, rate, seconds, warmup)?
        }
        What::Delay { count, every } => delay(&sender, receiver, count, every)?,
        What::Frames { .. } => unreachable!("has been answered"),
    };
    println!("{result}");
    Ok(())
}

fn flood(
    sender: UdpSocket,
    receiver: UdpSocket,
    size: usize,
    rate: Option<f64>,
    seconds: f64,
    warmup: f64,
) -> io::Result<serde_json::Value> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let begin = Instant::now();
    let span = Duration::from_secs_f64(seconds);
    let sending = std::thread::spawn(move || -> io::Result<u64> {
        let payload = vec![0; size - HEADERS];
        let slices = [IoSlice::new(&payload)];
        let mut sent = 0;
        while begin.elapsed() < span {
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(sent as f64 * size as f64 * 8.0 / (rate * 1e6));
                std::thread::sleep(due.saturating_sub(begin.elapsed()));
            }
            let mut controls: [SendAncillaryBuffer; AT_ONCE] = Default::default();
            let messages = controls.iter_mut().map(|control| MMsgHdr::new(&slices, control));
            let mut messages: Vec<_> = messages.collect();
            match sendmmsg(&sender, &mut messages, SendFlags::empty()) {
                Ok(count) => sent += count as u64,
                // A word of an earlier run's port, or no room.
                Err(Errno::NOBUFS | Errno::AGAIN | Errno::CONNREFUSED) => {}
                Err(error) => return Err(error.into()),
            }
        }
        stopped.store(true, Ordering::Relaxed);
        Ok(sent)
    });
    let mut buffer = [0; 1 << 16];
    let (mut packets, mut first, mut last) = (0_u64, None, begin);
    let mut line = Fit::default();
    // Until the sender stops: what is still queued then leaves at the same rate.
    while !stop.load(Ordering::Relaxed) {
        if receiver.recv(&mut buffer).is_ok() && begin.elapsed().as_secs_f64() > warmup {
            last = Instant::now();
            // The first one begins the time and does not count.
            match first {
                None => first = Some(last),
                Some(first) => {
                    packets += 1;
                    line.add((last - first).as_secs_f64(), packets as f64);
                }
            }
        }
    }
    let sent = sending.join().expect("the sender does not panic")?;
    let seconds = first.map_or(0.0, |first| (last - first).as_secs_f64());
    Ok(json!({
        "sent": sent,
        "arrived": packets,
        "seconds": seconds,
        "packets_per_second": packets as f64 / seconds,
        "packets_per_second_fitted": line.slope(),
    }))
}

/// Sends UDP packets in frames to a host that does not exist, through a packet socket.
fn frames(
    left: &str,
    interface: &str,
    bare: bool,
    size: usize,
    seconds: f64,
) -> io::Result<serde_json::Value> {
    let config = format!(
        "link = {{}}\n[io]\nbackend = \"packet\"\nbuffers = 256\n\
         inside = {{ name = \"{interface}\", netns = \"{left}\" }}\n\
         outside = {{ name = \"lo\", netns = \"{left}\" }}\n"
    );
    let config = Config::parse(&config, &Parts::builtin()).map_err(io::Error::other)?;
    let (mut io, mut pool) = open(&config, [None; 2])?;
    let at = if bare { 14 } else { 0 };
    let mut indices: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
    for (number, index) in indices.iter().enumerate() {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let builder = builder.ipv4([10, 88, 0, 1], [10, 88, 0, 77], 64);
        let builder = builder.udp(5_000 + (number % 16) as u16, PORT);
        builder.write(&mut frame, &vec![0; size - HEADERS]).map_err(io::Error::other)?;
        frame[24] ^= 1;
        let frame = &frame[at..];
        pool.buffer(*index)[..frame.len()].copy_from_slice(frame);
        pool.set_extent(*index, 0, frame.len());
    }
    // Buffers keep their frames when they are given back.
    indices.drain(..).for_each(|index| pool.give(index));
    let (begin, span) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut batch, mut sent) = (VecDeque::new(), 0_u64);
    while begin.elapsed() < span {
        batch.extend((batch.len()..BATCH).map_while(|_| pool.take()));
        let before = batch.len();
        io.send(Side::Inside, &mut batch, &mut pool)?;
        sent += (before - batch.len()) as u64;
    }
    Ok(json!({ "sent": sent - io.missed(Side::Inside).refused }))
}

/// The rate by least squares over arrivals, so delays of the first and the last one hardly matter.
#[derive(Default)]
struct Fit {
    count: f64,
    times: f64,
    packets: f64,
    squares: f64,
    products: f64,
}

impl Fit {
    fn add(&mut self, time: f64, packets: f64) {
        self.count += 1.0;
        self.times += time;
        self.packets += packets;
        self.squares += time * time;
        self.products += time * packets;
    }

    fn slope(&self) -> f64 {
        (self.count * self.products - self.times * self.packets)
            / (self.count * self.squares - self.times * self.times)
    }
}

fn delay(
    sender: &UdpSocket,
    receiver: UdpSocket,
    count: usize,
    every: f64,
) -> io::Result<serde_json::Value> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let begin = Instant::now();
    let listening = std::thread::spawn(move || {
        let mut delays = Vec::new();
        let mut buffer = [0; 2048];
        while delays.len() < count {
            let Ok(length) = receiver.recv(&mut buffer) else {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            };
            let now = begin.elapsed().as_nanos() as u64;
            if let Ok(sent) = buffer[..length.min(8)].try_into() {
                delays.push(now - u64::from_be_bytes(sent));
            }
        }
        delays
    });
    for number in 0..count {
        let due = Duration::from_secs_f64(every * number as f64 / 1e3);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
        // An earlier run's port may be refused.
        let _ = sender.send(&(begin.elapsed().as_nanos() as u64).to_be_bytes());
    }
    std::thread::sleep(Duration::from_millis(200));
    stop.store(true, Ordering::Relaxed);
    let mut delays = listening.join().expect("the listener does not panic");
    delays.sort_unstable();
    let at = |share: f64| {
        delays.get((delays.len() as f64 * share) as usize).map(|delay| *delay as f64 / 1e3)
    };
    Ok(json!({ "arrived": delays.len(), "p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99) }))
}
