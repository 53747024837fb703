//! Packets in and out: the only files with unsafe code.

mod netns;
mod packet;
mod pool;
mod system;
mod train;
mod tun;
mod xdp;

pub use netns::within;
pub use pool::Pool;
pub use train::Train;

use crate::config::{Backend, Config};
use crate::headers::Layer;
use rustix::fd::BorrowedFd;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;

/// Frames received at a time from one side.
pub const BATCH: usize = 64;

/// One of the two sides of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Side {
    /// Whose packets `link` shapes.
    Inside = 0,
    /// The other one.
    Outside = 1,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Inside, Side::Outside];

    /// The side that packets from this one go to.
    pub fn other(self) -> Side {
        match self {
            Side::Inside => Side::Outside,
            Side::Outside => Side::Inside,
        }
    }
}

/// What happened at an interface beside the frames that came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Missed {
    /// Frames longer than the MTU allows, such as segments that an offload put together.
    pub oversize: u64,
    /// Frames that found no buffer free.
    pub no_buffer: u64,
    /// Frames that the kernel could not hand over in time.
    pub kernel: u64,
    /// Frames that the interface refused to send.
    pub refused: u64,
}

/// A back end: two interfaces and how frames are exchanged with them.
pub trait Io: Send {
    /// Where its frames begin.
    fn layer(&self) -> Layer;

    /// Appends up to [`BATCH`] frames that came in on `side` to `out`; each is the taker's.
    ///
    /// # Errors
    /// An interface that has gone.
    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()>;

    /// Sends `frames` out on `side`, from the front, and gives their buffers back; frames that
    /// find no room stay.
    ///
    /// # Errors
    /// An interface that has gone.
    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()>;

    /// Whether frames that were handed over still wait to be sent on `side`.
    fn is_pending(&self, _side: Side) -> bool {
        false
    }

    /// Forgets an error at `side`, such as that the interface went down: it would be told again and
    /// again.
    fn forget_error(&mut self, _side: Side) {}

    /// What to wait on for frames from `side`.
    fn descriptor(&self, side: Side) -> BorrowedFd<'_>;

    /// What was missed on `side` so far.
    fn missed(&mut self, side: Side) -> Missed;
}

/// Opens the back end of `config`, and the buffers for it.
///
/// # Errors
/// What cannot be opened, and what would help.
pub fn open(config: &Config) -> io::Result<(Box<dyn Io>, Pool)> {
    let mtu = config.mtu() as usize;
    // Link header and two VLAN tags.
    let longest = mtu + 14 + 8;
    let in_rings = if config.io.backend == Backend::Xdp { xdp::IN_RINGS } else { 0 };
    let mut pool = Pool::new(config.io.buffers + in_rings, longest)?;
    let io: Box<dyn Io> = match config.io.backend {
        Backend::Tun => Box::new(tun::Tun::open(&config.io, mtu)?),
        Backend::Packet => Box::new(packet::PacketSockets::open(&config.io, longest)?),
        Backend::Xdp => Box::new(xdp::XdpSockets::open(&config.io, longest, &mut pool)?),
    };
    Ok((io, pool))
}

/// `error`, said of `what`.
fn because(what: impl std::fmt::Display, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or with CAP_NET_ADMIN and CAP_NET_RAW",
        _ => "",
    };
    io::Error::new(error.kind(), format!("{what}: {error}{help}"))
}
