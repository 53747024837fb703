//! The devices of a link in a guest's kernel, which calls the gate as a library.
#![expect(unsafe_code, reason = "packets lie in the memory of a kernel written in C")]

use super::capture::Captures;
use super::{Io, Missed, Pool, Side};
use forebay_shaper::headers::Layer;
use rustix::fd::BorrowedFd;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::io;

/// Passes a packet to the kernel, which copies it, for the device at this side of `link`.
pub type Emit =
    unsafe extern "C" fn(link: *mut c_void, side: c_int, packet: *const u8, size: usize);

thread_local! {
    /// The packet that the kernel passes in the present call.
    static COMING: Cell<Option<(Side, *const [u8])>> = const { Cell::new(None) };
    /// The time of the present call.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// Begins a call of the kernel at `now`, in ns of the guest's clock.
pub fn begin(now: u64) {
    NOW.set(now);
}

/// Stores a packet for the next turn of the gate.
///
/// # Safety
/// The packet lives until that turn has ended.
pub unsafe fn leave(side: Side, packet: *const [u8]) {
    COMING.set(Some((side, packet)));
}

/// The devices at both ends of a link.
pub struct Devices {
    link: *mut c_void,
    emit: Emit,
    longest: usize,
    missed: [Missed; 2],
    captures: Option<Captures>,
}

impl Devices {
    /// The devices of `link`, for packets of up to `longest` bytes.
    ///
    /// # Safety
    /// The kernel's function `emit` may be called with `link` while they live.
    pub unsafe fn new(
        link: *mut c_void,
        emit: Emit,
        longest: usize,
        captures: Option<Captures>,
    ) -> Devices {
        Devices { link, emit, longest, missed: [Missed::default(); 2], captures }
    }
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
        // SAFETY: as who left it promised.
        let packet = unsafe { &*packet };
        if let Some(captures) = &self.captures {
            captures.write(&captures.hosts[side as usize], NOW.get(), packet);
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
                captures.write(&captures.link[side as usize], NOW.get(), packet);
                captures.write(&captures.hosts[side as usize], NOW.get(), packet);
            }
            // SAFETY: as who made them promised; the packet lives on.
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
