//! AF_PACKET between two existing interfaces. A TPACKET_V2 ring receives, and `sendmmsg` sends.
//! Segments that may be sent as one ([`Train`]) are sent with `sendmsg` and the order to split
//! them.
//!
//! TPACKET_V3 is not used, because its block timer adds up to a millisecond. Sent frames bypass the
//! interface's own queue discipline, so nothing queues behind the gate. The ring passes a VLAN tag
//! beside the frame; it is put back.
#![expect(unsafe_code, reason = "a ring shared with the kernel, and sendmmsg from the pool")]

use super::train::Train;
use super::{BATCH, Indices, Io, Missed, Pool, Side, because, system, within};
use crate::config::{self, Interface};
use forebay_shaper::headers::Layer;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::collections::VecDeque;
use std::io;
use std::mem::zeroed;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames in a ring.
const RING: usize = 4_096;

/// So many trains refused in a row, and no more are tried.
const TRAINS: u32 = 16;
const BLOCK: usize = 1 << 18;

/// Sockets on two interfaces.
pub struct PacketSockets {
    sides: [Port; 2],
}

struct Port {
    name: String,
    receiver: OwnedFd,
    sender: OwnedFd,
    /// The socket for trains.
    train_sender: OwnedFd,
    /// Trains that were refused since one left.
    refused_trains: u32,
    ring: NonNull<u8>,
    frame: usize,
    frames: usize,
    next: usize,
    longest: usize,
    missed: Missed,
}

// SAFETY: the ring belongs to the port alone.
unsafe impl Send for Port {}

impl PacketSockets {
    /// Opens the interfaces of `io`, with the indices `known`, for frames of up to `longest` bytes.
    pub fn open(io: &config::Io, known: Indices, longest: usize) -> io::Result<Self> {
        let port = |interface: &Interface, known| {
            within(interface.netns(), || Port::open(interface.name(), known, longest))
                .map_err(|error| because(format!("interface {}", interface.name()), error))
        };
        Ok(PacketSockets { sides: [port(&io.inside, known[0])?, port(&io.outside, known[1])?] })
    }

    /// As [`PacketSockets::open`], once for each of so many `cores`. The kernel spreads arriving
    /// frames over them: as the interface does, if it has as many receive queues, and otherwise by a
    /// hash of the flow.
    pub fn open_all(
        io: &config::Io,
        known: Indices,
        longest: usize,
        cores: u32,
    ) -> io::Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let mut groups = [None; 2];
        for _ in 0..cores {
            let mut own = PacketSockets::open(io, known, longest)?;
            if cores > 1 {
                for (port, group) in own.sides.iter_mut().zip(&mut groups) {
                    *group = Some(port.join(*group, cores)?);
                    // Until it joined, it got what the others got.
                    port.forget();
                }
            }
            all.push(own);
        }
        Ok(all)
    }

    /// Continues with the sockets of another gate.
    pub fn take_over(io: &config::Io, given: Vec<OwnedFd>, longest: usize) -> io::Result<Self> {
        let given = <[OwnedFd; 6]>::try_from(given).map_err(|_| super::wrong_number())?;
        let [receiver, sender, train_sender, rest @ ..] = given;
        let inside = Port::map(io.inside.name(), [receiver, sender, train_sender], longest)?;
        Ok(PacketSockets { sides: [inside, Port::map(io.outside.name(), rest, longest)?] })
    }
}

/// Socket option: sent frames begin with a `struct virtio_net_hdr`.
const PACKET_VNET_HDR: i32 = 15;

/// Flags of a fanout group: a number that no other has, and not what the gate sends.
const FANOUT_UNIQUE: i32 = 0x2000;
const FANOUT_IGNORE_OUTGOING: i32 = 0x4000;

/// Bytes to send.
fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Size of a frame in the ring: room for its header, and for the four bytes of a tag.
fn frame_size(longest: usize) -> usize {
    (longest + libc::TPACKET_ALIGNMENT * 8).next_power_of_two().max(2048)
}

/// A link-layer address that names interface and protocol.
fn address(index: u32, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: plain data, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    address
}

/// Index of the interface, up or down, to which the packet socket `fd` is bound. None if the
/// interface has gone, or `fd` is something else.
pub fn index(fd: BorrowedFd) -> Option<u32> {
    let mut name = address(0, 0);
    let mut size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes of the address.
    let asked = system::checked(unsafe {
        libc::getsockname(fd.as_raw_fd(), (&raw mut name).cast(), &mut size)
    });
    asked.ok().filter(|_| i32::from(name.sll_family) == libc::AF_PACKET)?;
    u32::try_from(name.sll_ifindex).ok().filter(|index| *index > 0)
}

fn bind(fd: BorrowedFd, address: &libc::sockaddr_ll) -> io::Result<()> {
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of the address.
    let bound =
        unsafe { libc::bind(fd.as_raw_fd(), (address as *const libc::sockaddr_ll).cast(), size) };
    system::checked(bound).map(drop)
}

impl Port {
    fn open(name: &str, known: Option<u32>, longest: usize) -> io::Result<Self> {
        let (index, name) = system::find(name, known)?;
        let receiver = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = receiver.as_fd();
        let option = |name: i32, value: &i32| system::set_option(fd, libc::SOL_PACKET, name, value);
        option(libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))?;
        // Without it, the socket would receive what the gate sends.
        option(libc::PACKET_IGNORE_OUTGOING, &1)?;
        let frame = frame_size(longest);
        let blocks = RING * frame / BLOCK;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame as u32,
            tp_frame_nr: RING as u32,
        };
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(|error| because("its receive ring", error))?;
        let level = libc::SOL_PACKET;
        let sender = |options: &[i32]| {
            let socket = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
            options
                .iter()
                .try_for_each(|name| system::set_option(socket.as_fd(), level, *name, &1_i32))?;
            bind(socket.as_fd(), &address(index, 0))?;
            io::Result::Ok(socket)
        };
        let single = sender(&[libc::PACKET_QDISC_BYPASS])?;
        let trains = sender(&[libc::PACKET_QDISC_BYPASS, PACKET_VNET_HDR])?;
        let port = Port::map(&name, [receiver, single, trains], longest)?;
        // SAFETY: plain data, for which zeros are a value.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index as i32;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        let fd = port.receiver.as_fd();
        system::set_option(fd, level, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        bind(fd, &address(index, libc::ETH_P_ALL as u16))?;
        Ok(port)
    }

    /// A port with open sockets: the receiver, whose ring is mapped here, and the senders of single
    /// frames and of trains.
    fn map(name: &str, sockets: [OwnedFd; 3], longest: usize) -> io::Result<Self> {
        let [receiver, sender, train_sender] = sockets;
        let frame = frame_size(longest);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let fd = receiver.as_fd();
        // SAFETY: a new mapping at an address of the kernel's choice, which refuses a size other
        // than the ring's.
        let ring = unsafe {
            mmap(std::ptr::null_mut(), RING * frame, protection, MapFlags::SHARED, fd, 0)
        };
        let ring = ring.map_err(|error| because("its receive ring", error))?;
        let ring = NonNull::new(ring.cast()).expect("a mapping is not at zero");
        Ok(Port {
            name: name.to_owned(),
            receiver,
            sender,
            train_sender,
            refused_trains: 0,
            ring,
            frame,
            frames: RING,
            next: 0,
            longest,
            missed: Missed::default(),
        })
    }

    /// Joins the group of sockets over which frames are spread, or begins one for so many `cores`.
    /// Returns it.
    fn join(&self, group: Option<i32>, cores: u32) -> io::Result<i32> {
        let fd = self.receiver.as_fd();
        let by_queue = system::receive_queues(&self.name) >= cores;
        let kind = if by_queue { libc::PACKET_FANOUT_QM } else { libc::PACKET_FANOUT_HASH };
        let kind = (kind as i32 | FANOUT_IGNORE_OUTGOING) << 16;
        let asked = group.unwrap_or(kind | FANOUT_UNIQUE << 16);
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &asked)
            .map_err(|error| because("spreading frames over cores", error))?;
        match group {
            Some(group) => Ok(group),
            None => {
                let begun: i32 = system::option(fd, libc::SOL_PACKET, libc::PACKET_FANOUT)?;
                Ok(begun & 0xffff | kind)
            }
        }
    }

    /// Gives back the frames in the ring.
    fn forget(&mut self) {
        while self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0 {
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.frames;
        }
    }

    fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [self.receiver.as_fd(), self.sender.as_fd(), self.train_sender.as_fd()]
    }

    fn gone_error(&self, error: impl Into<io::Error>) -> io::Error {
        because(format!("interface {} has gone", self.name), error)
    }

    /// The header of the ring's next frame.
    fn header(&self) -> *mut libc::tpacket2_hdr {
        // SAFETY: `next` is below the number of frames of the mapping.
        unsafe { self.ring.as_ptr().add(self.next * self.frame).cast() }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the header's first, aligned field, shared with the kernel.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header()).tp_status) }
    }

    /// Copies the ring's next frame, which belongs to the gate, into a buffer.
    fn take(&mut self, status: u32, pool: &mut Pool) -> Option<u32> {
        // SAFETY: the kernel has filled in the header and leaves it alone until it is given back.
        let header = unsafe { self.header().read() };
        let (mac, len) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
        let whole = len + if tagged { 4 } else { 0 };
        let cut = header.tp_len > header.tp_snaplen;
        if cut || whole > self.longest || len < 14 || mac + len > self.frame {
            self.missed.oversize += 1;
            return None;
        }
        let Some(index) = pool.take() else {
            self.missed.no_buffer += 1;
            return None;
        };
        // SAFETY: just seen to be within the ring's frame.
        let bytes = unsafe {
            let at = self.ring.as_ptr().add(self.next * self.frame + mac);
            std::slice::from_raw_parts(at, len)
        };
        let buffer = pool.buffer(index);
        if tagged {
            let with_type = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let kind = if with_type { header.tp_vlan_tpid } else { 0x8100 };
            buffer[..12].copy_from_slice(&bytes[..12]);
            buffer[12..14].copy_from_slice(&kind.to_be_bytes());
            buffer[14..16].copy_from_slice(&header.tp_vlan_tci.to_be_bytes());
            buffer[16..whole].copy_from_slice(&bytes[12..]);
        } else {
            buffer[..len].copy_from_slice(bytes);
        }
        pool.set_extent(index, 0, whole);
        Some(index)
    }

    /// The number of single frames at the front of `frames`, and the train after them.
    fn ahead(&self, frames: &VecDeque<u32>, pool: &Pool) -> (usize, Option<Train>) {
        let most = frames.len().min(BATCH);
        if self.refused_trains == TRAINS {
            return (most, None);
        }
        let frame = |index: &u32| pool.frame(*index);
        let train = |at| Train::find(frames.range(at..).map(frame), Layer::Ethernet);
        let first = (0..most).find_map(|at| Some((at, train(at)?)));
        first.map_or((most, None), |(at, train)| (at, Some(train)))
    }

    /// Number of frames that left, if `taken` should have been sent as one, by the result `sent`: none
    /// of a train that must be sent singly. None if it must be tried again later.
    fn gone(&mut self, sent: io::Result<usize>, taken: usize) -> io::Result<Option<usize>> {
        let error = match sent {
            Ok(gone) => {
                if taken > 1 {
                    self.refused_trains = 0;
                }
                return Ok(Some(gone));
            }
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(None),
            Some(libc::ENXIO | libc::ENODEV) => Err(self.gone_error(error)),
            // It takes no trains, or is full. The kernel splits none for an interface that cannot
            // (`tso off`), as its queue is bypassed.
            Some(libc::EINVAL | libc::ENOBUFS) if taken > 1 => {
                self.refused_trains += 1;
                Ok(Some(0))
            }
            // The interface is down or full, or the frame too long: it is lost.
            _ => {
                self.missed.refused += taken as u64;
                Ok(Some(taken))
            }
        }
    }

    /// Sends the first `count` frames. Returns how many were sent.
    fn send_singly(&self, count: usize, frames: &VecDeque<u32>, pool: &Pool) -> io::Result<usize> {
        // SAFETY: plain data, for which zeros are a value.
        let mut vectors: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: likewise; null names and controls mean that there are none.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for ((vector, message), index) in vectors.iter_mut().zip(&mut messages).zip(frames) {
            *vector = part(pool.frame(*index));
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        let fd = self.sender.as_raw_fd();
        // SAFETY: the kernel reads the messages, whose vectors and frames outlive the call.
        let sent = system::checked(unsafe {
            libc::sendmmsg(fd, messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        });
        sent.map(|sent| sent as usize)
    }

    /// Sends the frames of `train`, which are at the front of `frames`, as one. Returns their
    /// number.
    fn send_train(&self, train: &Train, frames: &VecDeque<u32>, pool: &Pool) -> io::Result<usize> {
        // SAFETY: plain data, for which zeros are a value.
        let mut vectors: [libc::iovec; BATCH + 2] = unsafe { zeroed() };
        let payloads = frames.iter().take(train.frames);
        let payloads = payloads.map(|index| part(train.payload(pool.frame(*index))));
        let parts = [part(&train.offload), part(train.header())].into_iter().chain(payloads);
        vectors.iter_mut().zip(parts).for_each(|(vector, part)| *vector = part);
        // SAFETY: plain data, for which zeros are a value; null means none.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = train.frames + 2;
        let fd = self.train_sender.as_raw_fd();
        // SAFETY: the kernel reads the message, whose vectors and what they point to outlive the
        // call.
        let sent = unsafe { libc::sendmsg(fd, &raw const message, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(train.frames) }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: mapped in `open` with this length. An error would leave it to the process's end.
        let _ = unsafe { munmap(self.ring.as_ptr().cast(), self.frames * self.frame) };
    }
}

impl Io for PacketSockets {
    fn layer(&self) -> Layer {
        Layer::Ethernet
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        let port = &mut self.sides[side as usize];
        for _ in 0..BATCH {
            let status = port.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                break;
            }
            out.extend(port.take(status, pool));
            port.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            port.next = (port.next + 1) % port.frames;
        }
        Ok(())
    }

    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        let port = &mut self.sides[side as usize];
        // Frames of a train that was refused.
        let mut apart = 0;
        while !frames.is_empty() {
            let (singles, train) = if apart > 0 { (apart, None) } else { port.ahead(frames, pool) };
            if singles > 0 {
                let sent = port.send_singly(singles, frames, pool);
                let Some(gone) = port.gone(sent, 1)? else { return Ok(()) };
                frames.drain(..gone).for_each(|index| pool.give(index));
                apart = apart.saturating_sub(gone);
                if gone < singles {
                    continue;
                }
            }
            if let Some(train) = train {
                let sent = port.send_train(&train, frames, pool);
                let Some(gone) = port.gone(sent, train.frames)? else { return Ok(()) };
                frames.drain(..gone).for_each(|index| pool.give(index));
                apart = train.frames - gone;
            }
        }
        Ok(())
    }

    fn take_error(&mut self, side: Side) -> io::Result<()> {
        let port = &self.sides[side as usize];
        // Reading the error clears it.
        let _ = rustix::net::sockopt::socket_error(&port.receiver);
        let is_there = index(port.receiver.as_fd()).is_some();
        if is_there { Ok(()) } else { Err(port.gone_error(Errno::NODEV)) }
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        let [inside, outside] = &self.sides;
        Ok([inside, outside].into_iter().flat_map(Port::descriptors).collect())
    }

    fn places(&self) -> [usize; 2] {
        [self.sides[0].next, self.sides[1].next]
    }

    fn go_on(&mut self, places: [usize; 2]) {
        for (port, place) in self.sides.iter_mut().zip(places) {
            port.next = place % port.frames;
        }
    }

    fn descriptor(&self, side: Side) -> BorrowedFd<'_> {
        self.sides[side as usize].receiver.as_fd()
    }

    fn missed(&mut self, side: Side) -> Missed {
        let port = &mut self.sides[side as usize];
        // Packets and drops since the last look; an error leaves the count as it was.
        let statistics = system::option::<[u32; 2]>(
            port.receiver.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
        );
        port.missed.kernel += statistics.map_or(0, |[_, drops]| u64::from(drops));
        port.missed
    }
}
