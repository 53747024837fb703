//! AF_PACKET between two existing interfaces: a TPACKET_V2 ring in, `sendmmsg` out.
//!
//! TPACKET_V2 and not V3, whose block timer adds up to a millisecond. What is sent goes past the
//! interface's own queue discipline, so that nothing behind the gate queues. The ring hands over a
//! VLAN tag beside the frame; it is put back.
#![expect(unsafe_code, reason = "a ring shared with the kernel, and sendmmsg from the pool")]

use super::{BATCH, Io, Missed, Pool, Side, because, system, within};
use crate::config::{self, Interface};
use crate::headers::Layer;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::collections::VecDeque;
use std::io;
use std::mem::zeroed;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames in a ring.
const RING: usize = 4_096;
const BLOCK: usize = 1 << 18;

/// Sockets on two interfaces.
pub struct PacketSockets {
    sides: [Port; 2],
}

struct Port {
    name: String,
    receiver: OwnedFd,
    sender: OwnedFd,
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
    /// Opens the interfaces of `io` for frames of up to `longest` bytes.
    pub fn open(io: &config::Io, longest: usize) -> io::Result<Self> {
        let port = |interface: &Interface| {
            within(interface.netns(), || Port::open(interface.name(), longest))
                .map_err(|error| because(format!("interface {}", interface.name()), error))
        };
        Ok(PacketSockets { sides: [port(&io.inside)?, port(&io.outside)?] })
    }
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

fn bind(fd: BorrowedFd, address: &libc::sockaddr_ll) -> io::Result<()> {
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of the address.
    let bound =
        unsafe { libc::bind(fd.as_raw_fd(), (address as *const libc::sockaddr_ll).cast(), size) };
    system::checked(bound).map(drop)
}

impl Port {
    fn open(name: &str, longest: usize) -> io::Result<Self> {
        let index = system::index(name)?;
        let receiver = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = receiver.as_fd();
        let option = |name: i32, value: &i32| system::set_option(fd, libc::SOL_PACKET, name, value);
        option(libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))?;
        // Else it would receive what it sends.
        option(libc::PACKET_IGNORE_OUTGOING, &1)?;
        // Room for the ring's header, and for the four bytes of a tag.
        let frame = (longest + libc::TPACKET_ALIGNMENT * 8).next_power_of_two().max(2048);
        let blocks = RING * frame / BLOCK;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame as u32,
            tp_frame_nr: RING as u32,
        };
        system::set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(|error| because("its receive ring", error))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of the size just asked for.
        let ring = unsafe {
            mmap(std::ptr::null_mut(), blocks * BLOCK, protection, MapFlags::SHARED, fd, 0)
        }?;
        let ring = NonNull::new(ring.cast()).expect("a mapping is not at zero");
        let sender = system::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        // Built before anything else can fail, so that the ring is given back.
        let port = Port {
            name: name.to_owned(),
            receiver,
            sender,
            ring,
            frame,
            frames: RING,
            next: 0,
            longest,
            missed: Missed::default(),
        };
        let level = libc::SOL_PACKET;
        system::set_option(port.sender.as_fd(), level, libc::PACKET_QDISC_BYPASS, &1_i32)?;
        bind(port.sender.as_fd(), &address(index, 0))?;
        // SAFETY: plain data, for which zeros are a value.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index as i32;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        let fd = port.receiver.as_fd();
        system::set_option(fd, level, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        bind(fd, &address(index, libc::ETH_P_ALL as u16))?;
        Ok(port)
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

    /// Copies the ring's next frame, which is ours, into a buffer.
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
        // SAFETY: plain data, for which zeros are a value.
        let mut vectors: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: likewise; null names and controls mean that there are none.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        while !frames.is_empty() {
            let count = frames.len().min(BATCH);
            for ((vector, message), index) in
                vectors.iter_mut().zip(&mut messages).zip(frames.iter())
            {
                let frame = pool.frame_mut(*index);
                vector.iov_base = frame.as_mut_ptr().cast();
                vector.iov_len = frame.len();
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
            }
            let fd = port.sender.as_raw_fd();
            // SAFETY: the kernel reads the messages, whose vectors and frames outlive the call.
            let sent = system::checked(unsafe {
                libc::sendmmsg(fd, messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
            });
            let gone = match sent {
                Ok(sent) => sent as usize,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => return Ok(()),
                    Some(libc::ENXIO | libc::ENODEV) => {
                        return Err(because(format!("interface {} has gone", port.name), error));
                    }
                    // The interface is down or full, or the frame too long: it is lost.
                    _ => {
                        port.missed.refused += 1;
                        1
                    }
                },
            };
            frames.drain(..gone).for_each(|index| pool.give(index));
        }
        Ok(())
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
