//! The program that takes frames from an interface: five instructions, without a compiler.

use super::super::{because, system::checked};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;

const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const MODE_GENERIC: u32 = 1 << 1;
const MODE_NATIVE: u32 = 1 << 2;
const PASS: u32 = 2;

/// The beginning of `union bpf_attr`, in words, as far as these commands read it.
#[repr(C, align(8))]
struct Attributes([u32; 32]);

/// Two words that contain an address.
fn address<T: ?Sized>(of: *const T) -> [u32; 2] {
    let bits = of.cast::<u8>() as u64;
    [bits as u32, (bits >> 32) as u32]
}

fn bpf(command: libc::c_long, attributes: &[u32]) -> io::Result<i32> {
    let mut whole = Attributes([0; 32]);
    whole.0[..attributes.len()].copy_from_slice(attributes);
    // SAFETY: the kernel reads the attributes and what they point to, which the callers below keep
    // for the call; a word beyond those that a command knows is zero, as it demands.
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, &whole, size_of::<Attributes>()) } as i32)
}

fn new(command: libc::c_long, attributes: &[u32]) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: a descriptor that has just come back is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A program on an interface that passes the frames of each queue to its socket. It is removed with the
/// value, and with the process, however that ends.
pub struct Program {
    _link: OwnedFd,
    map: OwnedFd,
    /// Whether the driver runs it. Otherwise the kernel does, later and more slowly.
    pub native: bool,
}

impl Program {
    /// Attaches it to the interface with the index `interface`, for so many queues.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(interface: u32, queues: u32) -> io::Result<Self> {
        // Keys and values of four bytes.
        let map = new(MAP_CREATE, &[MAP_TYPE_XSKMAP, 4, 4, queues])
            .map_err(|error| because("a map of sockets", error))?;
        let map_fd = map.as_raw_fd() as u32;
        let program = load(map_fd).map_err(|error| because("loading the program", error))?;
        let program_fd = program.as_raw_fd() as u32;
        let attach = |mode| new(LINK_CREATE, &[program_fd, interface, ATTACH_XDP, mode]);
        let (link, native) = match attach(MODE_NATIVE) {
            Ok(link) => (link, true),
            Err(_) => (attach(MODE_GENERIC).map_err(in_use)?, false),
        };
        Ok(Program { _link: link, map, native })
    }

    /// Passes the frames of `queue` to `socket` from now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self, queue: u32, socket: BorrowedFd) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let [key_low, key_high] = address(&raw const queue);
        let [value_low, value_high] = address(&raw const value);
        let map = self.map.as_raw_fd() as u32;
        bpf(MAP_UPDATE_ELEM, &[map, 0, key_low, key_high, value_low, value_high])
            .map_err(|error| because("entering the socket into its map", error))
            .map(drop)
    }
}

fn in_use(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::EBUSY) {
        let what = "another XDP program is attached; remove it with `ip link set IF xdp off`";
        return io::Error::new(error.kind(), what);
    }
    because("attaching the program", error)
}

fn load(map: u32) -> io::Result<OwnedFd> {
    // (code, registers: destination low, source high; offset; immediate)
    let instruction = |code: u8, registers: u8, offset: i16, immediate: u32| -> u64 {
        u64::from(code)
            | u64::from(registers) << 8
            | u64::from(offset as u16) << 16
            | u64::from(immediate) << 32
    };
    let program = [
        // r2 = context->rx_queue_index
        instruction(0x61, 0x12, 16, 0),
        // r1 = map
        instruction(0x18, 0x11, 0, map),
        instruction(0x00, 0x00, 0, 0),
        // r3 = what to do with frames of queues without a socket
        instruction(0xb7, 0x03, 0, PASS),
        // return bpf_redirect_map(r1, r2, r3)
        instruction(0x85, 0x00, 0, 51),
        instruction(0x95, 0x00, 0, 0),
    ];
    let [program_low, program_high] = address(program.as_ptr());
    let [license_low, license_high] = address(c"Dual MIT/GPL".as_ptr());
    let size = program.len() as u32;
    new(PROG_LOAD, &[PROG_TYPE_XDP, size, program_low, program_high, license_low, license_high])
}
