//! The gate inside a guest's kernel: user-mode Linux, a process, calls it as a library for the
//! devices of its links (`python/forebay/lab/virtual/linux/forebay_gate.c`).
//!
//! Times are nanoseconds of the guest's CLOCK_MONOTONIC. The kernel makes one call at a time, and
//! none from within `emit`.
#![expect(unsafe_code, reason = "called by a kernel written in C")]

use super::{Io, Missed, Pool, Side};
use crate::config::Config;
use crate::gate::Gate;
use crate::headers::Layer;
use crate::plugins::Parts;
use forebay_core::{Duration, Time};
use rustix::fd::BorrowedFd;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Hands a packet to the kernel, which copies it: for the device at this side of `link`.
type Emit = unsafe extern "C" fn(link: *mut c_void, side: c_int, packet: *const u8, size: usize);

/// When nothing is due.
const NEVER: u64 = u64::MAX;

thread_local! {
    /// The packet that the kernel hands over in the present call.
    static COMING: Cell<Option<(Side, *const [u8])>> = const { Cell::new(None) };
    /// The instant of the present call.
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// Captures by their files: a host has one for all its devices.
    static CAPTURES: RefCell<BTreeMap<String, Capture>> = const { RefCell::new(BTreeMap::new()) };
}

/// Bytes of a packet that a capture keeps: all headers.
const SNAP_LEN: usize = 128;
/// Link type of raw IP packets.
const RAW_IP: u32 = 101;
/// The beginning of a pcap file with nanoseconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// What `NAME.captures` asks for: a file for each end's host and for each direction of the link.
#[derive(Deserialize, Clone)]
struct Captures {
    /// Time zero of the captures, in ns of the guest's clock.
    epoch: u64,
    /// All packets of the hosts at both ends.
    hosts: [String; 2],
    /// What comes out of the link at each end.
    link: [String; 2],
}

/// A pcap file.
struct Capture(BufWriter<File>);

impl Capture {
    fn create(path: &str) -> io::Result<Capture> {
        let mut file = BufWriter::new(File::create(path)?);
        let version = 2_u32 | 4 << 16;
        for word in [NANOSECONDS, version, 0, 0, SNAP_LEN as u32, RAW_IP] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Capture(file))
    }

    fn write(&mut self, at: u64, packet: &[u8]) -> io::Result<()> {
        let kept = &packet[..packet.len().min(SNAP_LEN)];
        let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
        for word in [seconds as u32, nanos as u32, kept.len() as u32, packet.len() as u32] {
            self.0.write_all(&word.to_le_bytes())?;
        }
        self.0.write_all(kept)
    }
}

impl Captures {
    /// What is asked for beside the gate's configuration, if anything is.
    fn read(name: &str) -> io::Result<Option<Captures>> {
        let path = format!("{name}.captures");
        if !Path::new(&path).exists() {
            return Ok(None);
        }
        let asked: Captures = serde_json::from_slice(&std::fs::read(path)?)?;
        for file in asked.hosts.iter().chain(&asked.link) {
            CAPTURES.with_borrow_mut(|all| {
                if let Entry::Vacant(place) = all.entry(file.clone()) {
                    place.insert(Capture::create(file)?);
                }
                io::Result::Ok(())
            })?;
        }
        Ok(Some(asked))
    }

    /// Keeps a packet.
    fn write(&self, file: &str, packet: &[u8]) {
        let at = NOW.get().saturating_sub(self.epoch);
        let written = CAPTURES.with_borrow_mut(|all| {
            all.get_mut(file).map_or(Ok(()), |capture| capture.write(at, packet))
        });
        must(written.map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}"))));
    }
}

/// Ends the guest if something fails: what it writes would not be whole.
fn must<T>(done: io::Result<T>) -> T {
    done.unwrap_or_else(|error| {
        eprintln!("forebay-gate: {error}");
        std::process::abort();
    })
}

/// The devices at both ends of a link.
struct Devices {
    link: *mut c_void,
    emit: Emit,
    longest: usize,
    missed: [Missed; 2],
    captures: Option<Captures>,
}

// SAFETY: the kernel has one thread.
unsafe impl Send for Devices {}

impl Io for Devices {
    fn layer(&self) -> Layer {
        Layer::Ip
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        let Some((from, packet)) = COMING.get().filter(|(from, _)| *from == side) else {
            return Ok(());
        };
        COMING.set(None);
        // SAFETY: the kernel keeps the packet until its call returns.
        let packet = unsafe { &*packet };
        if let Some(captures) = &self.captures {
            captures.write(&captures.hosts[side as usize], packet);
        }
        let missed = &mut self.missed[from as usize];
        if packet.len() > self.longest {
            missed.oversize += 1;
        } else if let Some(index) = pool.take() {
            pool.buffer(index)[..packet.len()].copy_from_slice(packet);
            pool.set_extent(index, 0, packet.len());
            out.push(index);
        } else {
            missed.no_buffer += 1;
        }
        Ok(())
    }

    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        for index in frames.drain(..) {
            let packet = pool.frame(index);
            if let Some(captures) = &self.captures {
                captures.write(&captures.link[side as usize], packet);
                captures.write(&captures.hosts[side as usize], packet);
            }
            // SAFETY: `link` is the one that this function belongs to; the packet lives on.
            unsafe { (self.emit)(self.link, side as c_int, packet.as_ptr(), packet.len()) };
            pool.give(index);
        }
        Ok(())
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn descriptor(&self, _: Side) -> BorrowedFd<'_> {
        unreachable!("the kernel does the waiting")
    }

    fn missed(&mut self, side: Side) -> Missed {
        self.missed[side as usize]
    }
}

/// A gate of the kernel.
pub struct Embedded {
    gate: Gate,
    batch: Vec<u32>,
}

impl Embedded {
    /// The gate that `NAME.toml` in the working directory configures; the first one
    /// records into the folder `NAME`.
    fn open(name: &str, link: *mut c_void, emit: Emit) -> io::Result<Embedded> {
        let path = format!("{name}.toml");
        let config = Config::load(Path::new(&path), &Parts::builtin()).map_err(io::Error::other)?;
        let longest = config.mtu() as usize;
        let pool = Pool::new(config.io.buffers, longest)?;
        let captures = Captures::read(name)?;
        let io = Devices { link, emit, longest, missed: [Missed::default(); 2], captures };
        // One that follows a gate that was killed leaves its recording alone.
        let record = Some(Path::new(name)).filter(|folder| !folder.exists());
        let (gate, _) = Gate::with(config, Box::new(io), pool, false, record)?;
        Ok(Embedded { gate, batch: Vec::new() })
    }

    /// Does what is due; when there is more to do.
    fn turn(&mut self, now: Time, ready: [bool; 2]) -> u64 {
        let mut ready = ready;
        NOW.set(now.as_nanos());
        loop {
            must(self.gate.turn(now, Duration::ZERO, ready, &mut self.batch));
            ready = [false; 2];
            match self.gate.due() {
                Some(due) if due <= now => {}
                due => return due.map_or(NEVER, Time::as_nanos),
            }
        }
    }
}

/// Opens the gate of the link `name`; null if that fails, with the reason in `NAME.log`.
///
/// # Safety
/// `name` is text that ends in 0, and `emit` may be called with `link` as long as the gate lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_open(
    name: *const c_char,
    link: *mut c_void,
    emit: Emit,
) -> *mut Embedded {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    match Embedded::open(&name, link, emit) {
        Ok(gate) => Box::into_raw(Box::new(gate)),
        Err(error) => {
            // Who cannot write has no other way to say so.
            let _ = std::fs::write(format!("{name}.log"), format!("{error}\n"));
            std::ptr::null_mut()
        }
    }
}

/// A packet that the device at `side` is to send; when the gate wants to be called next.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`], and `packet` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_arrive(
    gate: *mut Embedded,
    side: c_int,
    packet: *const u8,
    size: usize,
    now: u64,
) -> u64 {
    let side = Side::BOTH[usize::from(side != 0)];
    COMING.set(Some((side, std::ptr::slice_from_raw_parts(packet, size))));
    let ready = Side::BOTH.map(|each| each == side);
    // SAFETY: as the caller promises; there is one call at a time.
    unsafe { &mut *gate }.turn(Time::from_nanos(now), ready)
}

/// Lets the gate do what is due; when it wants to be called next.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_turn(gate: *mut Embedded, now: u64) -> u64 {
    // SAFETY: as the caller promises; there is one call at a time.
    unsafe { &mut *gate }.turn(Time::from_nanos(now), [false; 2])
}

/// Ends the gate, with whole recordings and captures.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`], and of no use afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_close(gate: *mut Embedded) {
    // SAFETY: as the caller promises.
    let mut gate = unsafe { Box::from_raw(gate) };
    must(gate.gate.finish());
    // Others may go on with those of their hosts.
    must(CAPTURES.with_borrow_mut(|all| all.values_mut().try_for_each(|each| each.0.flush())));
}
