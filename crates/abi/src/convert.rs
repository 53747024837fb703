//! Packets, reasons and messages, from one side of the interface to the other.

use crate::interface::ForebayPacket;
use forebay_core::{ConfigError, DropReason, Packet, PacketKind};
use std::ffi::{CStr, CString, c_char};
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// Both are one: packets cross the interface as they lie.
const _: () = {
    macro_rules! alike {
        ($($here:ident $there:ident),+) => {
            $(assert!(offset_of!(Packet, $here) == offset_of!(ForebayPacket, $there));)+
        };
    }
    alike!(id id, len len, flow flow, class qos_class, precedence precedence);
    alike!(drop_precedence drop_precedence, tos tos, kind kind, source source);
    alike!(destination destination, queued queued);
    assert!(size_of::<Packet>() == 32 && size_of::<ForebayPacket>() == 32);
    assert!(align_of::<Packet>() == align_of::<ForebayPacket>());
};

/// `packet` as the other side sees it.
#[inline]
pub fn to_c(packet: &Packet) -> &ForebayPacket {
    // SAFETY: they have the same fields in the same places, and any `Packet` is a `ForebayPacket`.
    unsafe { &*ptr::from_ref(packet).cast() }
}

/// `from` as a packet; of a kind that is not known it is data.
#[inline]
pub fn from_c(from: &ForebayPacket) -> Packet {
    if from.kind > PacketKind::Control as u32 {
        return from_c(&ForebayPacket { kind: PacketKind::Data as u32, ..*from });
    }
    // SAFETY: they have the same fields in the same places, and the kind is one of `PacketKind`.
    unsafe { ptr::from_ref(from).cast::<Packet>().read() }
}

/// Copies a packet that has just been written, in words. (A wider load would wait until all of it has
/// left the store buffer.)
///
/// # Safety
/// There is a packet at `from`, and one may be written to `to`.
#[inline]
unsafe fn copy(from: *const ForebayPacket, to: *mut ForebayPacket) {
    let (from, to) = (from.cast::<u64>(), to.cast::<u64>());
    for word in 0..size_of::<ForebayPacket>() / size_of::<u64>() {
        // SAFETY: both are of so many words and aligned to them, and a packet has no padding.
        unsafe { to.add(word).write(from.add(word).read_volatile()) };
    }
}

/// Writes `packet`, which is the host's from now on, to `to`.
///
/// # Safety
/// A packet may be written there.
#[inline]
pub unsafe fn give(packet: Packet, to: *mut ForebayPacket) {
    // SAFETY: by the contract above.
    unsafe { copy(to_c(&packet), to) };
    packet.retire();
}

/// `given` as a packet.
///
/// # Safety
/// Its kind is one that is known.
#[inline]
pub unsafe fn take(given: &ForebayPacket) -> Packet {
    let mut packet = MaybeUninit::<Packet>::uninit();
    // SAFETY: they have the same fields in the same places, and the kind is one of `PacketKind`.
    unsafe {
        copy(given, packet.as_mut_ptr().cast());
        packet.assume_init()
    }
}

pub fn reason(number: u32) -> DropReason {
    *DropReason::ALL.get(number as usize).unwrap_or(&DropReason::Aqm)
}

/// `text` without zero bytes, for C.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("it holds no zero byte")
}

/// The text at `from`; None if it is NULL or not UTF-8.
///
/// # Safety
/// `from` is NULL or a text that ends with a zero byte and lives as long as `'a`.
pub unsafe fn text<'a>(from: *const c_char) -> Option<&'a str> {
    if from.is_null() {
        return None;
    }
    // SAFETY: by the contract above.
    unsafe { CStr::from_ptr(from) }.to_str().ok()
}

/// Writes `text` and a zero byte into the `size` bytes at `to`, cut off if it is too long.
///
/// # Safety
/// `to` is NULL or `size` bytes may be written there.
pub unsafe fn write(text: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let mut length = text.len().min(size - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: `length` + 1 is at most `size`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), length);
        *to.add(length) = 0;
    }
}

/// An error from the text of one: what stands before ": " is the path, if it is one.
pub fn error(text: &str) -> ConfigError {
    match text.split_once(": ") {
        Some((path, message)) if !path.is_empty() && !path.contains(' ') => {
            ConfigError::new(path, message)
        }
        _ => ConfigError::new("", text),
    }
}
