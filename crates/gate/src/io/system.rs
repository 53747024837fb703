//! System calls about interfaces that no crate offers.
#![expect(unsafe_code, reason = "ioctl and setsockopt with structures of the kernel's")]

use super::because;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;

/// A request about the interface called `name`.
pub fn request(name: &str) -> libc::ifreq {
    // SAFETY: an ifreq is plain data, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays zero; the configuration allows 15.
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request
}

/// Calls `ioctl` with `request`.
pub fn ioctl(
    fd: BorrowedFd,
    operation: libc::c_ulong,
    request: &mut libc::ifreq,
) -> io::Result<()> {
    // SAFETY: every operation used here reads and writes at most an ifreq, which `request` is,
    // and what its pointer (of ethtool) points to, which the caller keeps.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), operation as _, request as *mut libc::ifreq) })
        .map(drop)
}

/// Sets a socket option to `value`, which must have the type that the kernel expects.
pub fn set_option<T>(fd: BorrowedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`.
    checked(unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, (value as *const T).cast(), size)
    })
    .map(drop)
}

/// Reads a socket option into a `T` of plain data.
pub fn option<T: Copy + Default>(fd: BorrowedFd, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes of `value`.
    checked(unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &mut size)
    })?;
    Ok(value)
}

/// A new socket.
pub fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved, and a descriptor that comes back is ours alone.
    unsafe {
        let fd = checked(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Index and present name of an interface in this namespace: the one with the index `known`, if there
/// is one, and otherwise the one called `name`.
pub fn find(name: &str, known: Option<u32>) -> io::Result<(u32, String)> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let renamed = known.and_then(|index| {
        Some((index, rustix::net::netdevice::index_to_name(&socket, index).ok()?))
    });
    if let Some(found) = renamed {
        return Ok(found);
    }
    let name_to_index = rustix::net::netdevice::name_to_index(&socket, name);
    name_to_index.map(|index| (index, name.to_owned())).map_err(|error| {
        match io::Error::from(error).kind() {
            _ if error == rustix::io::Errno::NODEV => io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no interface \"{name}\" here; `ip link` lists those there are"),
            ),
            _ => because(format!("interface {name}"), error),
        }
    })
}

/// Sets the interface called `name` up, with an MTU of `mtu` bytes.
pub fn set_up(name: &str, mtu: usize) -> io::Result<()> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let fd = rustix::fd::AsFd::as_fd(&socket);
    let mut asked = request(name);
    asked.ifr_ifru.ifru_mtu = mtu as i32;
    ioctl(fd, libc::SIOCSIFMTU, &mut asked)?;
    ioctl(fd, libc::SIOCGIFFLAGS, &mut asked)?;
    // SAFETY: the kernel has just written the flags.
    let flags = unsafe { asked.ifr_ifru.ifru_flags };
    asked.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
    ioctl(fd, libc::SIOCSIFFLAGS, &mut asked)
}

/// Number of receive queues of the interface called `name`; 1 if it is not known.
pub fn receive_queues(name: &str) -> u32 {
    // struct ethtool_channels: command, maxima (rx, tx, other, combined), counts likewise.
    let mut channels = [0_u32; 9];
    channels[0] = 0x3c;
    let mut asked = request(name);
    asked.ifr_ifru.ifru_data = (&raw mut channels).cast();
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
    let answer = socket
        .and_then(|socket| ioctl(rustix::fd::AsFd::as_fd(&socket), libc::SIOCETHTOOL, &mut asked));
    answer.map_or(1, |()| channels[5] + channels[8]).max(1)
}

/// The result of a system call, or its error.
pub fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
