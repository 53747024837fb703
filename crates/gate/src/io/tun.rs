//! TUN: two interfaces of the kernel to which it routes IP packets.
//!
//! There is no link layer, and no offload for received packets: the kernel splits segments and
//! completes checksums before it passes a packet. A packet costs a read and a write. Segments that
//! may be sent as one ([`Train`]) cost one write.

use super::train::{Offload, Train};
use super::{BATCH, Io, Missed, Pool, Side, because, system, within};
use crate::config::{self, Interface};
use forebay_shaper::headers::Layer;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, readv, writev};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};

/// Two TUN interfaces.
pub struct Tun {
    sides: [Device; 2],
}

struct Device {
    fd: OwnedFd,
    missed: Missed,
    scratch: Vec<u8>,
    longest: usize,
}

impl Tun {
    /// Attaches to the interfaces of `io`, creates them if they do not exist, and sets them up with
    /// an MTU of `mtu` bytes.
    pub fn open(io: &config::Io, mtu: usize) -> io::Result<Self> {
        let device = |interface: &Interface| {
            within(interface.netns(), || Device::open(interface.name(), mtu))
                .map_err(|error| because(format!("TUN interface {}", interface.name()), error))
        };
        Ok(Tun { sides: [device(&io.inside)?, device(&io.outside)?] })
    }

    /// Continues with the interfaces of another gate.
    pub fn take_over(given: Vec<OwnedFd>, mtu: usize) -> io::Result<Self> {
        let sides = <[OwnedFd; 2]>::try_from(given).map_err(|_| super::wrong_number())?;
        Ok(Tun { sides: sides.map(|fd| Device::new(fd, mtu)) })
    }
}

/// Present name of the TUN interface with the descriptor `fd`.
pub fn name(fd: BorrowedFd) -> io::Result<String> {
    let mut request = system::request("");
    system::ioctl(fd, libc::TUNGETIFF as _, &mut request)?;
    let bytes = request.ifr_name.map(|letter| letter as u8);
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

impl Device {
    fn new(fd: OwnedFd, mtu: usize) -> Self {
        // One byte more than a packet may have, to tell those that are too long.
        Device { fd, missed: Missed::default(), scratch: vec![0; mtu + 1], longest: mtu }
    }

    fn open(name: &str, mtu: usize) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = open("/dev/net/tun", flags, Mode::empty())
            .map_err(|error| because("/dev/net/tun", error))?;
        let mut request = system::request(name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as i16;
        system::ioctl(fd.as_fd(), libc::TUNSETIFF as _, &mut request)?;
        system::set_up(name, mtu)?;
        Ok(Device::new(fd, mtu))
    }
}

impl Device {
    fn write_one(&self, packet: &[u8]) -> rustix::io::Result<usize> {
        writev(&self.fd, &[IoSlice::new(&Offload::default()), IoSlice::new(packet)])
    }

    /// Writes the packets of `train`, which are at the front of `frames`, as one.
    fn write_train(
        &self,
        train: &Train,
        frames: &VecDeque<u32>,
        pool: &Pool,
    ) -> rustix::io::Result<usize> {
        let mut parts = [IoSlice::new(&[]); BATCH + 2];
        parts[0] = IoSlice::new(&train.offload);
        parts[1] = IoSlice::new(train.header());
        for (part, index) in parts[2..].iter_mut().zip(frames).take(train.frames) {
            *part = IoSlice::new(train.payload(pool.frame(*index)));
        }
        writev(&self.fd, &parts[..train.frames + 2])
    }
}

impl Io for Tun {
    fn layer(&self) -> Layer {
        Layer::Ip
    }

    fn receive(&mut self, side: Side, pool: &mut Pool, out: &mut Vec<u32>) -> io::Result<()> {
        let device = &mut self.sides[side as usize];
        for _ in 0..BATCH {
            let index = pool.take();
            let buffer = match index {
                Some(index) => pool.buffer(index),
                None => &mut device.scratch[..],
            };
            // The header is empty, because no offload is on.
            let mut offload = Offload::default();
            let mut parts = [IoSliceMut::new(&mut offload), IoSliceMut::new(buffer)];
            let length = readv(&device.fd, &mut parts);
            let length = length.map(|length| length.saturating_sub(size_of::<Offload>()));
            match (index, length) {
                (Some(index), Ok(length)) if length <= device.longest => {
                    pool.set_extent(index, 0, length);
                    out.push(index);
                    continue;
                }
                (None, Ok(_)) => device.missed.no_buffer += 1,
                (_, Ok(_)) => device.missed.oversize += 1,
                (_, Err(Errno::AGAIN | Errno::INTR)) => {}
                (_, Err(error)) => return Err(because("a TUN interface has gone", error)),
            }
            if let Some(index) = index {
                pool.give(index);
            }
            if length.is_err() {
                break;
            }
        }
        Ok(())
    }

    fn send(&mut self, side: Side, frames: &mut VecDeque<u32>, pool: &mut Pool) -> io::Result<()> {
        let device = &mut self.sides[side as usize];
        while !frames.is_empty() {
            let packets = frames.iter().map(|index| pool.frame(*index));
            let train = Train::find(packets, Layer::Ip);
            let (count, written) = match &train {
                Some(train) => (train.frames, device.write_train(train, frames, pool)),
                None => (1, device.write_one(pool.frame(frames[0]))),
            };
            match written {
                Ok(_) => {}
                Err(Errno::BADFD) => {
                    return Err(because("a TUN interface has gone", Errno::BADFD));
                }
                // No IP packet, an interface that is down, or no memory: the packet is lost.
                Err(_) => device.missed.refused += count as u64,
            }
            frames.drain(..count).for_each(|index| pool.give(index));
        }
        Ok(())
    }

    fn descriptor(&self, side: Side) -> BorrowedFd<'_> {
        self.sides[side as usize].fd.as_fd()
    }

    fn descriptors(&self) -> io::Result<Vec<BorrowedFd<'_>>> {
        Ok(self.sides.iter().map(|device| device.fd.as_fd()).collect())
    }

    fn missed(&mut self, side: Side) -> Missed {
        self.sides[side as usize].missed
    }
}
