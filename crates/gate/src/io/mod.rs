//! Packet input and output. Unsafe code is only here and in `guest.rs`.

pub mod capture;
pub mod guest;
mod netns;
mod packet;
mod pool;
pub mod qdisc;
mod system;
mod train;
mod tun;
mod xdp;

pub use netns::within;
pub use pool::Pool;
pub use train::Train;

use crate::config::{Backend, Config, Interface};
use forebay_shaper::headers::Layer;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;

/// Ethernet header and two VLAN tags.
const LINK_HEADER: usize = 14 + 8;

/// Frames received at once from one side.
pub const BATCH: usize = 64;

/// One of the two sides of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Side {
    /// The side whose packets `link` shapes.
    Inside = 0,
    /// The other side.
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

/// Events at an interface, beside the frames that came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Missed {
    /// Frames that were longer than the MTU allows, such as merged segments of an offload.
    pub oversize: u64,
    /// Frames for which no buffer was free.
    pub no_buffer: u64,
    /// Frames that the kernel could not pass in time.
    pub kernel: u64,
    /// Frames that the interface refused to send.
    pub refused: u64,
}

/// A back end: two interfaces, and how frames are received from them and sent.
pub trait Io: Send {
    /// The layer at which its frames begin.
    fn layer(&self) -> Layer;

    /// Appends up to [`BATCH`] frames that arrived on `side` to `out`. They belong to the caller.
    ///
    /// # Errors
    /// An interface has disappeared.
    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()>;

    /// Sends `frames` on `side`, from the front, and frees their buffers. Frames for which there is
    /// no room stay.
    ///
    /// # Errors
    /// An interface has disappeared.
    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()>;

    /// Frames that the kernel has accepted, and has not yet sent on `side`.
    fn pending(&self, _side: Side) -> u64 {
        0
    }

    /// Clears an error at `side`, such as that the interface went down. Otherwise the kernel would
    /// report it repeatedly.
    ///
    /// # Errors
    /// An interface has disappeared.
    fn take_error(&mut self, _side: Side) -> io::Result<()> {
        Ok(())
    }

    /// The state with which the next gate continues at the same interfaces ([`take_over`]).
    ///
    /// # Errors
    /// The back end cannot be handed over.
    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>>;

    /// Place of the next frame on each side, after this gate has stopped taking frames.
    fn places(&self) -> [usize; 2] {
        [0; 2]
    }

    /// Takes frames from that place on.
    fn go_on(&mut self, _places: [usize; 2]) {}

    /// The descriptor on which to wait for frames from `side`.
    fn descriptor(&self, side: Side) -> BorrowedFd<'_>;

    /// The frames missed on `side` so far.
    fn missed(&mut self, side: Side) -> Missed;
}

/// Indices of the two interfaces, where they are known. An interface keeps its index when it gets
/// another name.
pub type Indices = [Option<u32>; 2];

/// Indices of the interfaces of a back end with these descriptors ([`Io::descriptors`]). Those of TUN
/// interfaces are not known.
pub fn indices(descriptors: &[impl AsFd]) -> Indices {
    let [inside, outside] = [0, descriptors.len() / 2].map(|at| descriptors.get(at));
    [inside, outside].map(|fd| packet::index(fd?.as_fd()))
}

/// Whether `interface` is the one that another gate uses on `side` of a back end with the descriptors
/// `lent`, whatever its name was when that gate opened it. Both gates name the same namespace.
pub fn is_lent(interface: &Interface, lent: &[OwnedFd], side: Side) -> bool {
    let Some(fd) = lent.get(side as usize * lent.len() / 2) else { return false };
    let found = within(interface.netns(), || match packet::index(fd.as_fd()) {
        Some(index) => Ok(system::find(interface.name(), None)?.0 == index),
        None => Ok(tun::name(fd.as_fd())? == interface.name()),
    });
    found.unwrap_or(false)
}

/// Opens the back end of `config`, and the buffers for it, for a gate on one core. An interface is found
/// by its index, if that is `known` and still exists, and otherwise by its name.
///
/// # Errors
/// Something cannot be opened. The message says what would help.
pub fn open(config: &Config, known: Indices) -> io::Result<(Box<dyn Io>, Pool)> {
    open_all(config, known, 1).map(|mut all| all.remove(0))
}

/// As [`open`], once for each of so many `cores`. The kernel spreads arriving frames over them.
///
/// # Errors
/// As [`open`].
pub fn open_all(
    config: &Config,
    known: Indices,
    cores: u32,
) -> io::Result<Vec<(Box<dyn Io>, Pool)>> {
    let mtu = config.mtu() as usize;
    let longest = mtu + LINK_HEADER;
    let in_rings = if config.io.backend == Backend::Xdp { xdp::IN_RINGS } else { 0 };
    let pool = || Pool::new(config.io.buffers / cores + in_rings, longest);
    let mut pools = (0..cores).map(|_| pool()).collect::<io::Result<Vec<_>>>()?;
    let io = &config.io;
    let ends: Vec<Box<dyn Io>> = match config.io.backend {
        Backend::Tun => vec![Box::new(tun::Tun::open(io, mtu)?)],
        Backend::Packet => boxed(packet::PacketSockets::open_all(io, known, longest, cores)?),
        Backend::Xdp => boxed(xdp::XdpSockets::open_all(io, known, longest, &mut pools)?),
    };
    Ok(ends.into_iter().zip(pools).collect())
}

fn boxed<T: Io + 'static>(ends: Vec<T>) -> Vec<Box<dyn Io>> {
    ends.into_iter().map(|end| Box::new(end) as Box<dyn Io>).collect()
}

/// The back end of `config`, with the descriptors that another gate lent ([`Io::descriptors`]), and
/// buffers for it.
///
/// # Errors
/// The descriptors are not the expected ones.
pub fn take_over(config: &Config, given: Vec<OwnedFd>) -> io::Result<(Box<dyn Io>, Pool)> {
    let mtu = config.mtu() as usize;
    let longest = mtu + LINK_HEADER;
    let pool = Pool::new(config.io.buffers, longest)?;
    let io: Box<dyn Io> = match config.io.backend {
        Backend::Tun => Box::new(tun::Tun::take_over(given, mtu)?),
        Backend::Packet => Box::new(packet::PacketSockets::take_over(&config.io, given, longest)?),
        Backend::Xdp => return Err(xdp::stays()),
    };
    Ok((io, pool))
}

/// `error`, with `what` in front of it.
fn because(what: impl std::fmt::Display, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    let help = match error.kind() {
        // An error that this function made has the help already.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_some() => {
            "; run as root, or with CAP_NET_ADMIN and CAP_NET_RAW, and with xdp CAP_BPF, too"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{what}: {error}{help}"))
}

fn wrong_number() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the other gate gave away something else")
}
