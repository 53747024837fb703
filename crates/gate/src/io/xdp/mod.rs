//! AF_XDP between two existing interfaces. Frames are received into the pool, which is shared with
//! the kernel, and sent from it.
//!
//! It uses copy mode, which every driver supports. The program runs in the driver if it can
//! (native), and in the kernel otherwise (generic). A core sees the frames of one receive queue, so
//! interfaces have as many as the gate has cores.
#![expect(unsafe_code, reason = "rings shared with the kernel, and bpf")]

mod program;
mod ring;

use super::{BATCH, Indices, Io, Missed, Pool, Side, because, system, within};
use crate::config::{self, Interface};
use forebay_shaper::headers::Layer;
use program::Program;
use ring::{Ring, SIZE};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XDP_PGOFF_RX_RING,
    XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpDesc,
    XdpDescOptions, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{SendFlags, bind, sockopt};
use rustix::process::{Resource, getrlimit};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Buffers that may be in the rings of both sides, for frames to receive or frames just sent.
pub const IN_RINGS: u32 = 4 * SIZE;

/// Socket option (since Linux 6.17): the number of frames that one call sends, otherwise 32.
const MAX_TX_SKB_BUDGET: i32 = 9;

/// Largest buffer that the kernel allows: one page.
const LARGEST: usize = 4_096;

/// Sockets on two interfaces.
pub struct XdpSockets {
    sides: [Port; 2],
}

struct Port {
    name: String,
    socket: OwnedFd,
    receive: Ring<XdpDesc>,
    send: Ring<XdpDesc>,
    fill: Ring<u64>,
    completed: Ring<u64>,
    longest: usize,
    missed: Missed,
    program: Option<Program>,
}

impl XdpSockets {
    /// Opens the interfaces of `io`, with the indices `known`, for frames of up to `longest` bytes,
    /// once for each of `pools`, in its buffers.
    pub fn open_all(
        io: &config::Io,
        known: Indices,
        longest: usize,
        pools: &mut [Pool],
    ) -> io::Result<Vec<Self>> {
        if pools.iter().any(|pool| pool.size() > LARGEST) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "link.mtu: AF_XDP has room for packets of up to 3800 B; lower it, or use the \
                 packet backend",
            ));
        }
        let cores = pools.len() as u32;
        let mut all: Vec<Self> = Vec::new();
        for (core, pool) in (0..cores).zip(pools) {
            let mut open = |side: Side, interface: &Interface, other: Option<&Port>| {
                let program =
                    all.first().and_then(|first| first.sides[side as usize].program.as_ref());
                let queue = Queue { core, cores, program };
                let found = || system::find(interface.name(), known[side as usize]);
                within(interface.netns(), || Port::open(found()?, longest, pool, other, &queue))
                    .map_err(|error| because(format!("interface {}", interface.name()), error))
            };
            let inside = open(Side::Inside, &io.inside, None)?;
            let outside = open(Side::Outside, &io.outside, Some(&inside))?;
            all.push(XdpSockets { sides: [inside, outside] });
        }
        Ok(all)
    }
}

/// A receive queue of an interface.
struct Queue<'a> {
    /// Its number, which is that of its core.
    core: u32,
    /// Number of cores.
    cores: u32,
    /// The program of the interface, if another core has attached it.
    program: Option<&'a Program>,
}

/// The error of a hand-over.
pub fn stays() -> io::Error {
    let what = "AF_XDP cannot be handed over: the kernel lets its rings be mapped only before they \
                are in use";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// The error if the kernel does not accept `bytes` of buffers.
fn not_shared(bytes: u64, error: Errno) -> io::Error {
    let limit = getrlimit(Resource::Memlock).current.filter(|limit| *limit < bytes);
    let (Errno::NOBUFS, Some(limit)) = (error, limit) else {
        return because("sharing the buffers", error);
    };
    let what = format!(
        "AF_XDP needs {bytes} B of locked memory, and the limit is {limit} B; raise it \
         (LimitMEMLOCK= in a unit, `ulimit -l` in a shell), keep CAP_IPC_LOCK, which lifts it, or \
         lower io.buffers"
    );
    io::Error::new(io::ErrorKind::OutOfMemory, what)
}

/// Binds a socket. The kernel frees a queue only some time after the program that used it has
/// ended.
fn once_free(bind: impl Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    for _ in 0..100 {
        match bind() {
            Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
    bind()
}

impl Port {
    /// Opens a `queue` of the interface with this index and name. `first` is the other side's port,
    /// if it is open.
    fn open(
        (interface, name): (u32, String),
        longest: usize,
        pool: &mut Pool,
        first: Option<&Port>,
        &Queue { core, cores, program }: &Queue,
    ) -> io::Result<Self> {
        let queues = system::receive_queues(&name);
        if queues != cores {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "it has {queues} receive queues, and io.cores is {cores}; run `ethtool -L \
                     {name} combined {cores}`"
                ),
            ));
        }
        let socket = system::socket(libc::AF_XDP, libc::SOCK_RAW, 0)?;
        let fd = socket.as_fd();
        if first.is_none() {
            let (address, length) = pool.memory();
            let registration = XdpUmemReg {
                addr: address,
                len: length,
                chunk_size: pool.size() as u32,
                headroom: 0,
                flags: XdpUmemRegFlags::empty(),
                tx_metadata_len: 0,
            };
            sockopt::set_xdp_umem_reg(fd, registration)
                .map_err(|error| not_shared(length, error))?;
        }
        sockopt::set_xdp_umem_fill_ring_size(fd, SIZE)?;
        sockopt::set_xdp_umem_completion_ring_size(fd, SIZE)?;
        sockopt::set_xdp_rx_ring_size(fd, SIZE)?;
        sockopt::set_xdp_tx_ring_size(fd, SIZE)?;
        // An older kernel takes more calls.
        let _ = system::set_option(fd, libc::SOL_XDP, MAX_TX_SKB_BUDGET, &SIZE);
        let offsets = sockopt::xdp_mmap_offsets(fd)?;
        let mut port = Port {
            name,
            receive: Ring::map(fd, XDP_PGOFF_RX_RING, offsets.rx)?,
            send: Ring::map(fd, XDP_PGOFF_TX_RING, offsets.tx)?,
            fill: Ring::map(fd, XDP_UMEM_PGOFF_FILL_RING, offsets.fr)?,
            completed: Ring::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr)?,
            socket,
            longest,
            missed: Missed::default(),
            program: None,
        };
        port.stock(pool);
        match first {
            None => {
                let flags = SocketAddrXdpFlags::XDP_COPY | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
                let address = SocketAddrXdp::new(flags, interface, core);
                once_free(|| bind(&port.socket, &address))?;
            }
            Some(first) => {
                let addr = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_SHARED_UMEM, interface, core);
                let shared_umem_fd = first.socket.as_fd();
                let address = SocketAddrXdpWithSharedUmem { addr, shared_umem_fd };
                once_free(|| bind(&port.socket, &address))?;
            }
        }
        if let Some(program) = program {
            program.enter(core, port.socket.as_fd())?;
            return Ok(port);
        }
        let program = Program::attach(interface, cores)?;
        program.enter(core, port.socket.as_fd())?;
        if !program.native {
            crate::text::say(format_args!(
                "{}: generic XDP, slower than native; its driver has none",
                port.name
            ));
        }
        port.program = Some(program);
        Ok(port)
    }

    /// Offers free buffers for receiving.
    fn stock(&mut self, pool: &mut Pool) {
        let mut any = false;
        for _ in 0..self.fill.room() {
            let Some(index) = pool.take() else { break };
            self.fill.put(u64::from(index) * pool.size() as u64);
            any = true;
        }
        if any {
            self.fill.publish();
        }
    }

    /// Frees the buffers of sent frames.
    fn reap(&mut self, pool: &mut Pool) {
        let mut any = false;
        while let Some(address) = self.completed.take() {
            pool.give((address / pool.size() as u64) as u32);
            any = true;
        }
        if any {
            self.completed.release();
        }
    }

    /// Makes the kernel send the published frames.
    fn kick(&mut self) -> io::Result<()> {
        // Each call sends a few frames.
        while self.send.pending() > 0 && self.send.needs_wakeup() {
            let before = self.send.pending();
            // SAFETY: nothing is read: the frames are in the ring.
            let sent = unsafe {
                libc::sendto(
                    self.socket.as_raw_fd(),
                    std::ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null(),
                    0,
                )
            };
            if sent < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // More to send, or no room for now.
                    Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => {}
                    // The kernel took a frame, the last of this call, and could not send it: its
                    // link is down, or its queue full.
                    Some(libc::EBUSY) => self.missed.refused += 1,
                    // The frames stay in the ring.
                    Some(libc::ENETDOWN) => return Ok(()),
                    _ => return Err(self.gone_error(error)),
                }
            }
            // A stopped queue takes no frames.
            if self.send.pending() == before {
                return Ok(());
            }
        }
        Ok(())
    }

    fn gone_error(&self, error: io::Error) -> io::Error {
        because(format!("interface {} has gone", self.name), error)
    }
}

impl Io for XdpSockets {
    fn layer(&self) -> Layer {
        Layer::Ethernet
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        let port = &mut self.sides[side as usize];
        let size = pool.size() as u64;
        let mut any = false;
        for _ in 0..BATCH {
            let Some(entry) = port.receive.take() else { break };
            any = true;
            let (index, start) = ((entry.addr / size) as u32, (entry.addr % size) as usize);
            let len = entry.len as usize;
            if len > port.longest || len < 14 {
                port.missed.oversize += 1;
                pool.give(index);
            } else {
                pool.set_extent(index, start, len);
                out.push(index);
            }
        }
        if any {
            port.receive.release();
            port.reap(pool);
            port.stock(pool);
        }
        Ok(())
    }

    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        let port = &mut self.sides[side as usize];
        port.reap(pool);
        for _ in 0..port.send.room().min(frames.len() as u32) {
            let Some(index) = frames.pop_front() else { break };
            let extent = pool.extent(index);
            port.send.put(XdpDesc {
                addr: u64::from(index) * pool.size() as u64 + u64::from(extent.start),
                len: u32::from(extent.len),
                options: XdpDescOptions::empty(),
            });
        }
        port.send.publish();
        port.kick()?;
        port.reap(pool);
        // Buffers may be missing in the ring, if the pool was empty before.
        port.stock(pool);
        Ok(())
    }

    fn pending(&self, side: Side) -> u64 {
        self.sides[side as usize].send.pending().into()
    }

    fn take_error(&mut self, side: Side) -> io::Result<()> {
        let port = &mut self.sides[side as usize];
        // Reading the error clears it.
        let _ = sockopt::socket_error(&port.socket);
        match rustix::net::send(&port.socket, &[], SendFlags::DONTWAIT) {
            Err(Errno::NXIO | Errno::NODEV) => Err(port.gone_error(Errno::NODEV.into())),
            _ => Ok(()),
        }
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Err(stays())
    }

    fn descriptor(&self, side: Side) -> BorrowedFd<'_> {
        self.sides[side as usize].socket.as_fd()
    }

    fn missed(&mut self, side: Side) -> Missed {
        let port = &mut self.sides[side as usize];
        if let Ok(counts) = sockopt::xdp_statistics(port.socket.as_fd()) {
            port.missed.kernel = counts.rx_dropped + counts.rx_ring_full.unwrap_or(0);
        }
        port.missed
    }
}
