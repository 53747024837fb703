//! Packets, reasons and messages, from one side of the interface to the other.

use crate::interface::ForebayPacket;
use forebay_core::{ConfigError, DropReason, Packet, PacketKind, Time};
use std::ffi::{CStr, CString, c_char};

const KINDS: [PacketKind; 3] = [PacketKind::Data, PacketKind::PureAck, PacketKind::Control];

#[inline]
pub fn to_c(packet: &Packet) -> ForebayPacket {
    ForebayPacket {
        id: packet.id,
        len: packet.len,
        flow: packet.flow,
        qos_class: packet.class,
        precedence: packet.precedence,
        drop_precedence: packet.drop_precedence,
        tos: packet.tos,
        kind: packet.kind as u8,
        queued: packet.queued.as_nanos(),
    }
}

#[inline]
pub fn from_c(from: &ForebayPacket) -> Packet {
    let mut packet = Packet::new(from.id, from.flow, from.len);
    packet.class = from.qos_class;
    packet.precedence = from.precedence;
    packet.drop_precedence = from.drop_precedence;
    packet.tos = from.tos;
    packet.kind = *KINDS.get(usize::from(from.kind)).unwrap_or(&PacketKind::Data);
    packet.queued = Time::from_nanos(from.queued);
    packet
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
