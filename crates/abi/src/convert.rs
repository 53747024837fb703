//! Converts packets, reasons and messages between the two sides of the interface.

use crate::interface::*;
use forebay_core::tcp::{SackBlocks, Tcp};
use forebay_core::{ConfigError, DropReason, Packet, PacketKind};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ffi::{CStr, CString, c_char};
#[cfg(target_arch = "x86_64")]
use std::mem::MaybeUninit;
use std::mem::offset_of;
use std::ptr;

/// The two layouts are equal, so packets cross the interface without conversion.
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

/// `from` as a packet. An unknown kind counts as data.
#[inline]
pub fn from_c(from: &ForebayPacket) -> Packet {
    if from.kind > PacketKind::Control as u32 {
        return from_c(&ForebayPacket { kind: PacketKind::Data as u32, ..*from });
    }
    // SAFETY: the kind is one of `PacketKind`.
    unsafe { take(from) }
}

/// A packet in registers, as most code copies it: in halves of 16 bytes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Halves(__m128i, __m128i);

/// A packet.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
pub struct Halves(ForebayPacket);

#[cfg(target_arch = "x86_64")]
impl Halves {
    /// Reads a packet that has just joined a queue. A load of memory that several stores have
    /// written waits until all of it has left the store buffer. So the last word, the time at which
    /// the packet joined, is read separately, as it was written.
    #[inline]
    pub fn of(packet: &ForebayPacket) -> Self {
        let from = ptr::from_ref(packet);
        // SAFETY: a packet has 32 bytes, and every x86-64 these instructions; likewise below.
        unsafe {
            let word = |at| from.cast::<i64>().add(at).read_volatile();
            Halves(_mm_loadu_si128(from.cast()), _mm_set_epi64x(word(3), word(2)))
        }
    }

    /// The same packet under the number `id`.
    #[inline]
    pub fn numbered(self, id: u32) -> Self {
        // SAFETY: as above; a packet begins with its number.
        let first = unsafe {
            let id = _mm_castsi128_ps(_mm_cvtsi32_si128(id.cast_signed()));
            _mm_castps_si128(_mm_move_ss(_mm_castsi128_ps(self.0), id))
        };
        Halves(first, self.1)
    }

    /// The packet.
    #[inline]
    pub fn packet(self) -> ForebayPacket {
        let mut packet = MaybeUninit::<ForebayPacket>::uninit();
        let to = packet.as_mut_ptr().cast::<__m128i>();
        // SAFETY: as above; a packet's fields are numbers, and it has no padding.
        unsafe {
            _mm_storeu_si128(to, self.0);
            _mm_storeu_si128(to.add(1), self.1);
            packet.assume_init()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Halves {
    /// Reads `packet`.
    pub fn of(packet: &ForebayPacket) -> Self {
        Halves(*packet)
    }

    /// The same packet under the number `id`.
    pub fn numbered(self, id: u32) -> Self {
        Halves(ForebayPacket { id, ..self.0 })
    }

    /// The packet.
    pub fn packet(self) -> ForebayPacket {
        self.0
    }
}

/// Position of the kind, in words of 4 bytes.
const KIND: usize = offset_of!(ForebayPacket, kind) / 4;

/// Copies a packet that has just been written, with accesses as narrow as those that wrote it: the
/// kind separately. (A wider load would wait until all of it has left the store buffer.)
///
/// # Safety
/// There is a packet at `from`, and one may be written to `to`.
#[inline]
unsafe fn copy(from: *const ForebayPacket, to: *mut ForebayPacket) {
    let (from, to) = (from.cast::<u32>(), to.cast::<u32>());
    let wide = |at| {
        // SAFETY: a packet has no padding, is aligned to words of 8 bytes, and `at` begins one.
        unsafe { to.add(at).cast::<u64>().write(from.add(at).cast::<u64>().read_volatile()) };
    };
    (0..KIND).step_by(2).for_each(wide);
    for at in [KIND, KIND + 1] {
        // SAFETY: as above.
        unsafe { to.add(at).write(from.add(at).read_volatile()) };
    }
    wide(KIND + 2);
}

/// Whether `given`, which has just been written by [`copy`] or similarly, differs from `held`,
/// apart from their numbers. Its accesses are as narrow.
#[inline]
pub fn differ(held: &ForebayPacket, given: &ForebayPacket) -> bool {
    let (held, given) = (ptr::from_ref(held).cast::<u32>(), ptr::from_ref(given).cast::<u32>());
    // SAFETY: as in `copy`.
    let narrow = |at| unsafe { held.add(at).read() ^ given.add(at).read_volatile() };
    let wide = |at| {
        let (held, given) = (held.wrapping_add(at), given.wrapping_add(at));
        // SAFETY: as in `copy`.
        unsafe { held.cast::<u64>().read() ^ given.cast::<u64>().read_volatile() }
    };
    let short = narrow(1) | narrow(KIND) | narrow(KIND + 1);
    u64::from(short) | wide(2) | wide(KIND + 2) != 0
}

/// Writes the departing packet, if there is one, to `to`. From then on it belongs to the host.
/// Returns whether there was one.
///
/// # Safety
/// A packet may be written there.
#[inline]
pub unsafe fn give(sent: Option<Packet>, to: *mut ForebayPacket) -> bool {
    // By reference: moved first, it would be copied twice.
    let Some(packet) = &sent else { return false };
    // SAFETY: by the contract above.
    unsafe { copy(to_c(packet), to) };
    sent.map(Packet::retire);
    true
}

/// `known` as a packet.
///
/// # Safety
/// Its kind is a known one.
#[inline]
pub unsafe fn take(known: &ForebayPacket) -> Packet {
    // SAFETY: they have the same fields in the same places, and the kind is one of `PacketKind`.
    unsafe { ptr::from_ref(known).cast::<Packet>().read() }
}

/// The number of `reason` in the interface.
pub const fn number(reason: DropReason) -> u32 {
    reason as u32
}

const _: () = {
    macro_rules! numbered {
        ($($reason:ident $number:ident),+) => {
            $(assert!(number(DropReason::$reason) == $number);)+
            assert!([$($number),+].len() == DropReason::ALL.len());
        };
    }
    numbered!(
        Overflow FOREBAY_OVERFLOW, Aqm FOREBAY_AQM, Preempted FOREBAY_PREEMPTED,
        Policed FOREBAY_POLICED, PushedOut FOREBAY_PUSHED_OUT,
        RedundantAck FOREBAY_REDUNDANT_ACK, Other FOREBAY_OTHER
    );
};

/// The reason with that number. One that this version does not know is another.
pub fn reason(number: u32) -> DropReason {
    *DropReason::ALL.get(number as usize).unwrap_or(&DropReason::Other)
}

/// Writes `header` to `to`, as much as there is room for.
///
/// # Safety
/// `to` says how many bytes may be written there.
pub unsafe fn write_tcp(header: &Tcp, to: *mut ForebayTcp) {
    // SAFETY: by the contract above.
    let struct_size = unsafe { (*to).struct_size };
    let (timestamp, timestamp_echo) = header.timestamps.unwrap_or_default();
    let mut sack = [[0; 2]; 4];
    let blocks = header.sack.as_slice();
    sack.iter_mut().zip(blocks).for_each(|(to, (left, right))| *to = [*left, *right]);
    let whole = ForebayTcp {
        struct_size,
        seq: header.seq,
        ack: header.ack,
        payload_len: header.payload_len,
        flags: header.flags,
        window: header.window,
        has_timestamps: header.timestamps.is_some(),
        other_options: header.other_options,
        window_scale: header.window_scale.unwrap_or(NO_SCALE),
        sack_count: blocks.len() as u8,
        timestamp,
        timestamp_echo,
        sack,
    };
    let room = size_of::<ForebayTcp>().min(struct_size as usize);
    // SAFETY: by the contract above.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&whole).cast::<u8>(), to.cast(), room) };
}

/// A segment without the window scale option.
const NO_SCALE: u8 = 255;

/// The header that a host has written.
pub fn read_tcp(from: &ForebayTcp) -> Tcp {
    let mut sack = SackBlocks::default();
    for [left, right] in from.sack.iter().take(usize::from(from.sack_count)) {
        sack.push(*left, *right);
    }
    Tcp {
        seq: from.seq,
        ack: from.ack,
        flags: from.flags & 0xfff,
        window: from.window,
        payload_len: from.payload_len,
        timestamps: from.has_timestamps.then_some((from.timestamp, from.timestamp_echo)),
        window_scale: Some(from.window_scale).filter(|scale| *scale != NO_SCALE),
        sack,
        other_options: from.other_options,
    }
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

/// The text at `from` in one line, with a replacement for what is not UTF-8; None if it is NULL.
///
/// # Safety
/// As [`text`].
pub unsafe fn legible(from: *const c_char) -> Option<String> {
    // SAFETY: by the contract above.
    (!from.is_null()).then(|| line(&unsafe { CStr::from_ptr(from) }.to_string_lossy()))
}

/// The text at `from`; None if it is NULL.
///
/// # Errors
/// It is not UTF-8.
///
/// # Safety
/// As [`text`].
pub unsafe fn utf8<'a>(from: *const c_char) -> Result<Option<&'a str>, String> {
    // SAFETY: by the contract above.
    match unsafe { (text(from), legible(from)) } {
        (None, Some(other)) => Err(format!("is not UTF-8: \"{other}\"")),
        (text, _) => Ok(text),
    }
}

/// Name, summary and source of a `part` of a plug-in.
///
/// # Errors
/// One is missing, or is not UTF-8.
///
/// # Safety
/// As [`text`], for each of them.
pub unsafe fn words<'a>(part: &str, from: [*const c_char; 3]) -> Result<[&'a str; 3], String> {
    let mut words = [""; 3];
    for ((word, from), what) in words.iter_mut().zip(from).zip(["name", "summary", "source"]) {
        // SAFETY: by the contract above.
        let found = unsafe { utf8(from) }.map_err(|error| format!("{part}'s {what} {error}"))?;
        *word = found.ok_or_else(|| format!("{part} without name, summary or source"))?;
    }
    Ok(words)
}

/// `text` in one line.
fn line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Writes `text` and a zero byte into the `size` bytes at `to`. Text that is too long is cut off.
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

/// An error from its text. The part before ": " is the path, if it contains no space.
pub fn error(text: &str) -> ConfigError {
    let text = line(text);
    match text.split_once(": ") {
        Some((path, message)) if !path.is_empty() && !path.contains(' ') => {
            ConfigError::new(path, message)
        }
        _ => ConfigError::new("", text),
    }
}

/// The text in a buffer that a plug-in has written.
pub fn written(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> =
        buffer.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The error of a `create` of `who` that made nothing, from the message that it has written.
pub fn refused(message: &[c_char], who: &str) -> ConfigError {
    let ConfigError { path, message, .. } = match written(message).as_str() {
        "" => ConfigError::new("", "its create returned NULL, without saying why"),
        text => error(text),
    };
    ConfigError::new(path, format!("{who}: {message}"))
}

/// Checks that a part of a plug-in may have this name.
///
/// # Errors
/// It may not.
pub fn nameable(part: &str, name: &str) -> Result<(), String> {
    let usual = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || !name.chars().all(usual) {
        return Err(format!(
            "{part} cannot be called {name:?}; use letters, digits, \"-\", \"_\" and \".\""
        ));
    }
    Ok(())
}
