//! The gate in the kernel of a virtual lab's guest. This kernel is user-mode Linux, a process, and
//! calls the gate as a library for the devices of its links
//! (`python/forebay/lab/virtual/linux/forebay_gate.c`).
//!
//! Times are nanoseconds of the guest's CLOCK_MONOTONIC. The kernel makes one call at a time, and
//! none during a call of `emit`.
#![expect(unsafe_code, reason = "called by a kernel written in C")]

use crate::config::Config;
use crate::gate::Gate;
use crate::io::capture::{self, Captures, must};
use crate::io::guest::{Devices, Emit, begin, leave};
use crate::io::{Pool, Side, qdisc};
use crate::plugins::Parts;
use crate::system::Machine;
use forebay_core::{Discipline, Duration, Time};
use forebay_disciplines::{Disciplines, Part};
use forebay_shaper::Variation;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::path::Path;

/// The time if nothing is due.
const NEVER: u64 = u64::MAX;

/// A gate that the kernel uses.
pub struct Embedded {
    gate: Gate,
    batch: Vec<u32>,
}

impl Embedded {
    /// The gate that `NAME.toml` in the working directory configures. The first one records into
    /// the folder `NAME`.
    ///
    /// # Safety
    /// As [`forebay_gate_open`].
    unsafe fn open(
        name: &str,
        link: *mut c_void,
        emit: Emit,
        qdiscs: qdisc::Calls,
    ) -> io::Result<Embedded> {
        let path = format!("{name}.toml");
        let mut disciplines = Disciplines::builtin();
        // SAFETY: as the caller promises.
        let of_kernel = unsafe { qdisc::kind(qdiscs) };
        <dyn Discipline as Part>::join(&mut disciplines, of_kernel).map_err(io::Error::other)?;
        let parts = Parts::new(disciplines, forebay_middlebox::builtin());
        let config = Config::load(Path::new(&path), &parts).map_err(io::Error::other)?;
        let longest = config.mtu() as usize;
        let pool = Pool::new(config.io.buffers, longest)?;
        let captures = Captures::read(name)?;
        // SAFETY: as the caller promises.
        let io = unsafe { Devices::new(link, emit, longest, captures) };
        // The recording of a gate that was killed is kept.
        let folder = Path::new(name);
        let records = !folder.exists();
        let (mut gate, _) = Gate::with(config, Box::new(io), pool, false)?;
        follow(&mut gate, name)
            .map_err(|error| io::Error::other(format!("{name}.variations: {error}")))?;
        if records {
            gate.record(&*Machine::system(), folder)?;
        }
        Ok(Embedded { gate, batch: Vec::new() })
    }

    /// Does what is due. Returns when there is more to do.
    fn turn(&mut self, now: Time, ready: [bool; 2]) -> u64 {
        let mut ready = ready;
        begin(now.as_nanos());
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

/// The content of `NAME.variations`: what links do that vary.
#[derive(Deserialize)]
struct Variations {
    /// Time zero of the scenario, in ns of the guest's clock.
    epoch: u64,
    /// By side, the link on which packets go that come in there, and how.
    links: [Option<(String, Value)>; 2],
}

/// Lets the directions of `gate` vary as `NAME.variations` says, if it exists.
fn follow(gate: &mut Gate, name: &str) -> io::Result<()> {
    let path = format!("{name}.variations");
    if !Path::new(&path).exists() {
        return Ok(());
    }
    let variations: Variations = serde_json::from_slice(&std::fs::read(path)?)?;
    for (side, link) in Side::BOTH.into_iter().zip(variations.links) {
        if let Some((link, how)) = link {
            let how = Variation::read(&how).map_err(io::Error::other)?;
            gate.vary(side, &how, &link, Time::from_nanos(variations.epoch));
        }
    }
    Ok(())
}

/// Opens the gate of the link `name`. Null if that fails; the reason is in `NAME.log`.
///
/// # Safety
/// `name` is text that ends in 0. `emit` may be called with `link` while the gate lives, and so may
/// `qdiscs`, which are the kernel's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_open(
    name: *const c_char,
    link: *mut c_void,
    emit: Emit,
    qdiscs: *const qdisc::Calls,
) -> *mut Embedded {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    // SAFETY: as the caller promises.
    match unsafe { Embedded::open(&name, link, emit, *qdiscs) } {
        Ok(gate) => Box::into_raw(Box::new(gate)),
        Err(error) => {
            // There is no other way to report an error.
            let _ = std::fs::write(format!("{name}.log"), format!("{error}\n"));
            std::ptr::null_mut()
        }
    }
}

/// A packet that the device at `side` sends. Returns when the gate must be called next.
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
    // SAFETY: as the caller promises; the packet lives until this call returns.
    unsafe { leave(side, std::ptr::slice_from_raw_parts(packet, size)) };
    let ready = Side::BOTH.map(|each| each == side);
    // SAFETY: as the caller promises; there is one call at a time.
    unsafe { &mut *gate }.turn(Time::from_nanos(now), ready)
}

/// The kernel's discipline for packets from `side` is ready by its own clock. Returns when the gate
/// must be called next.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_ready(gate: *mut Embedded, side: c_int, now: u64) -> u64 {
    let now = Time::from_nanos(now);
    // SAFETY: as the caller promises; there is one call at a time.
    let gate = unsafe { &mut *gate };
    gate.gate.ask(Side::BOTH[usize::from(side != 0)], now);
    gate.turn(now, [false; 2])
}

/// Lets the gate do what is due. Returns when it must be called next.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_turn(gate: *mut Embedded, now: u64) -> u64 {
    // SAFETY: as the caller promises; there is one call at a time.
    unsafe { &mut *gate }.turn(Time::from_nanos(now), [false; 2])
}

/// Ends the gate, and completes its recordings and captures.
///
/// # Safety
/// `gate` is from [`forebay_gate_open`], and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_gate_close(gate: *mut Embedded) {
    // SAFETY: as the caller promises.
    let mut gate = unsafe { Box::from_raw(gate) };
    must(gate.gate.finish());
    must(capture::flush());
}
