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
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::path::Path;

/// Hands a packet to the kernel, which copies it: for the device at this side of `link`.
type Emit = unsafe extern "C" fn(link: *mut c_void, side: c_int, packet: *const u8, size: usize);

/// When nothing is due.
const NEVER: u64 = u64::MAX;

thread_local! {
    /// The packet that the kernel hands over in the present call.
    static COMING: Cell<Option<(Side, *const [u8])>> = const { Cell::new(None) };
}

/// The devices at both ends of a link.
struct Devices {
    link: *mut c_void,
    emit: Emit,
    longest: usize,
    missed: [Missed; 2],
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
    /// The gate that `NAME.toml` in the working directory configures; it records into the folder
    /// `NAME`.
    fn open(name: &str, link: *mut c_void, emit: Emit) -> io::Result<Embedded> {
        let path = format!("{name}.toml");
        let config = Config::load(Path::new(&path), &Parts::builtin()).map_err(io::Error::other)?;
        let longest = config.mtu() as usize;
        let pool = Pool::new(config.io.buffers, longest)?;
        let io = Devices { link, emit, longest, missed: [Missed::default(); 2] };
        let (gate, _) = Gate::with(config, Box::new(io), pool, false, Some(Path::new(name)))?;
        Ok(Embedded { gate, batch: Vec::new() })
    }

    /// Does what is due; when there is more to do.
    fn turn(&mut self, now: Time, ready: [bool; 2]) -> u64 {
        let mut ready = ready;
        loop {
            let turn = self.gate.turn(now, Duration::ZERO, ready, &mut self.batch);
            turn.expect("the kernel's devices do not go");
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

/// Ends the gate; its last words, and what went wrong with its recording, are in `NAME.log`.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`], and of no use afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_close(gate: *mut Embedded) {
    // SAFETY: as the caller promises.
    let mut gate = unsafe { Box::from_raw(gate) };
    if let Err(error) = gate.gate.finish() {
        eprintln!("forebay-gate: {error}");
        std::process::abort();
    }
}
