//! The C interface, from which `forebay.h` is generated.

use std::ffi::{c_char, c_void};

/// Major version of this interface: both sides must have the same.
pub const FOREBAY_MAJOR: u32 = 1;
/// Minor version. A later one adds constants, and members at the ends of the structs that have a
/// `struct_size`; it changes nothing. So a plug-in runs in hosts of every minor version, and a
/// program with every library, earlier or later than its own.
pub const FOREBAY_MINOR: u32 = 0;
/// Version of this interface, in one number.
pub const FOREBAY_VERSION: u32 = FOREBAY_MAJOR << 16 | FOREBAY_MINOR;

/// `enqueue`: the packet joined a queue.
pub const FOREBAY_QUEUED: i32 = 0;
/// `enqueue`: the packet was dropped.
pub const FOREBAY_DROPPED: i32 = 1;
/// `dequeue`: there is no packet.
pub const FOREBAY_NONE: i32 = 0;
/// `dequeue`: there is a packet.
pub const FOREBAY_SENT: i32 = 1;
/// Any call: the discipline has failed and cannot go on; `fault` says why.
pub const FOREBAY_FAILED: i32 = -1;
/// `wake`: nothing is held.
pub const FOREBAY_IDLE: u64 = u64::MAX;

/// Reason of a drop: the buffer had no room.
pub const FOREBAY_OVERFLOW: u32 = 0;
/// Reason of a drop: a rule of active queue management.
pub const FOREBAY_AQM: u32 = 1;
/// Reason of a drop: a threshold that protects higher precedence.
pub const FOREBAY_PREEMPTED: u32 = 2;
/// Reason of a drop: a congestion policer.
pub const FOREBAY_POLICED: u32 = 3;
/// Reason of a drop: pushed out of the queue in favour of another packet.
pub const FOREBAY_PUSHED_OUT: u32 = 4;
/// Reason of a drop: a pure acknowledgment that later ones in the queue make redundant.
pub const FOREBAY_REDUNDANT_ACK: u32 = 5;
/// Reason of a drop: none of the others. Each side treats a reason that it does not know, of a later
/// minor version, as this one.
pub const FOREBAY_OTHER: u32 = 6;

/// A packet as a queue sees it: 32 bytes without padding, no payload. No minor version changes it.
///
/// The host fills it in, with 0 for what it does not know. A discipline gives it back as it came,
/// apart from `tos`, which `mark` changes. `queued` is set by forebay: as a host, before a plug-in
/// gets the packet; as a library, when its own disciplines get one, whatever it was before.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForebayPacket {
    /// The owner's handle; no two packets in a queue have the same.
    pub id: u32,
    /// Length of the IP packet in bytes, link overhead excluded.
    pub len: u32,
    /// Flow.
    pub flow: u32,
    /// QoS class: higher is served first.
    pub qos_class: u8,
    /// Precedence: higher is more important.
    pub precedence: u8,
    /// Drop precedence, 0 to 7: higher is dropped first.
    pub drop_precedence: u8,
    /// DS field and ECN as in the IP header: DSCP in the upper six bits, ECN in the lower two.
    pub tos: u8,
    /// 0: data; 1: a TCP acknowledgment without payload; 2: connection or routing control.
    pub kind: u32,
    /// Number of the host that it comes from; 0 if that is not known.
    pub source: u16,
    /// Number of the host that it goes to; 0 if that is not known.
    pub destination: u16,
    /// When it joined the queue, in ns: the context's `now` in that call of `enqueue`.
    pub queued: u64,
}

/// Fields of a TCP header (RFC 9293, section 3.1), in the byte order of the machine.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForebayTcp {
    /// `sizeof(ForebayTcp)`, set by whoever has the memory; nothing is written beyond.
    pub struct_size: u32,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; significant if 0x10 is in `flags`.
    pub ack: u32,
    /// Payload in bytes.
    pub payload_len: u32,
    /// The 12 control bits, as in the header: FIN 0x01, SYN 0x02, RST 0x04, ACK 0x10, and so on.
    pub flags: u16,
    /// Window field, unscaled.
    pub window: u16,
    /// Whether the option with timestamps is present (RFC 7323).
    pub has_timestamps: bool,
    /// Whether there are options of other kinds, or malformed ones.
    pub other_options: bool,
    /// Shift count of the window scale option; 255 if it is absent.
    pub window_scale: u8,
    /// Number of selective acknowledgments (RFC 2018), 0 to 4.
    pub sack_count: u8,
    /// Timestamp value, TSval.
    pub timestamp: u32,
    /// Timestamp echo reply, TSecr.
    pub timestamp_echo: u32,
    /// Left and right edge of each selective acknowledgment.
    pub sack: [[u32; 2]; 4],
}

/// Context of a call of a discipline. Its functions may be called until that call returns, by the
/// thread that runs it.
#[repr(C)]
pub struct ForebayContext {
    /// `sizeof(ForebayContext)`, set by the host; `forebay_has` asks for it.
    pub struct_size: u32,
    /// The present instant in ns; never decreases from call to call.
    pub now: u64,
    /// For the host's own use.
    pub host: *mut c_void,
    /// Drops a packet for a reason (`FOREBAY_OVERFLOW` and so on); then it belongs to the host.
    pub drop:
        unsafe extern "C" fn(cx: *mut ForebayContext, packet: *const ForebayPacket, reason: u32),
    /// Marks a packet congestion-experienced and returns true if its transport understands that;
    /// false means that it must be dropped instead (RFC 3168, section 5).
    pub mark: unsafe extern "C" fn(cx: *mut ForebayContext, packet: *mut ForebayPacket) -> bool,
    /// 64 random bits of the port's own stream.
    pub random: unsafe extern "C" fn(cx: *mut ForebayContext) -> u64,
    /// Writes the TCP header of the packet that is being enqueued to `to`; false if it has none, or
    /// if the host does not know it. May be NULL.
    pub tcp: Option<
        unsafe extern "C" fn(
            cx: *mut ForebayContext,
            arriving: *const ForebayPacket,
            to: *mut ForebayTcp,
        ) -> bool,
    >,
    /// The bytes of the packet that is being enqueued, from the IP header on, and their number at
    /// `length`; NULL if the host does not have them, as in a simulation. They stay until `enqueue`
    /// returns. May be NULL.
    pub bytes: Option<
        unsafe extern "C" fn(
            cx: *mut ForebayContext,
            arriving: *const ForebayPacket,
            length: *mut usize,
        ) -> *const u8,
    >,
}

/// The port of a discipline, when it is created.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForebaySetting {
    /// `sizeof(ForebaySetting)`, set by the host; `forebay_has` asks for it.
    pub struct_size: u32,
    /// The host's `FOREBAY_VERSION`.
    pub version: u32,
    /// Bytes that the link adds to every IP packet.
    pub overhead: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// The link's rate in bit/s (the mean rate, where it varies).
    pub rate: u64,
}

/// Packets and bytes in a queue. No minor version changes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForebayBacklog {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP packets.
    pub bytes: u64,
}

/// A kind of queue discipline. Text is UTF-8 and ends with a zero byte; it and this struct live as
/// long as the process, and nobody changes them. `state` is what `create` returned. Nothing may be
/// unwound or jumped across a call.
///
/// Threads: `create` and `effective` may be called by several threads at once. All other functions
/// are calls on one queue: these come one at a time, also those that change nothing, and from any
/// thread. Calls on different queues may come at once, also on queues of the same kind.
#[repr(C)]
pub struct ForebayDiscipline {
    /// `FOREBAY_VERSION`.
    pub version: u32,
    /// `sizeof(ForebayDiscipline)`; `forebay_has` asks for it.
    pub struct_size: u32,
    /// The name that a scenario writes as `kind = "..."`.
    pub name: *const c_char,
    /// One line for lists.
    pub summary: *const c_char,
    /// Paper, section or RFC that it follows.
    pub source: *const c_char,
    /// JSON Schema of the parameters. Without `effective`, each property needs a `type`, which is
    /// number, integer, boolean or string. The host fills in the defaults, refuses unknown fields,
    /// and checks `type`, `enum`, `minimum`, `maximum` and their exclusive forms; for an integer it
    /// takes packets ("50p") too.
    pub schema: *const c_char,
    /// Whether packets of one flow and class leave in the order in which they arrived.
    pub keeps_order: bool,
    /// Whether it holds packets back, so that `wake` returns times in the future. If not, the host
    /// assumes that it is ready whenever it holds packets, and checks this from time to time.
    pub shapes: bool,
    /// For the library's own use.
    pub data: *const c_void,
    /// Makes a queue. `params` is an object as compact JSON. NULL if something is wrong, with a text
    /// such as "target: must be greater than 0" in the `size` bytes at `error`. Any thread, several
    /// at once.
    pub create: Option<
        unsafe extern "C" fn(
            kind: *const ForebayDiscipline,
            params: *const c_char,
            setting: *const ForebaySetting,
            error: *mut c_char,
            size: usize,
        ) -> *mut c_void,
    >,
    /// Ends a queue. Packets that it still holds are lost. The last call on it, by any thread.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Takes an arriving packet: `FOREBAY_QUEUED`, `FOREBAY_DROPPED` (through the context) or
    /// `FOREBAY_FAILED`. Any thread, one call at a time on a queue.
    pub enqueue: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            packet: *const ForebayPacket,
            cx: *mut ForebayContext,
        ) -> i32,
    >,
    /// The next packet to send: `FOREBAY_SENT` with the packet at `packet`, `FOREBAY_NONE` or
    /// `FOREBAY_FAILED`. None does not mean empty: an AQM may have dropped all that it looked at.
    /// Any thread, one call at a time on a queue.
    pub dequeue: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            packet: *mut ForebayPacket,
            cx: *mut ForebayContext,
        ) -> i32,
    >,
    /// When to call `dequeue` next, in ns: `now` or before, at once; `FOREBAY_IDLE`, not before
    /// another packet arrives. Changes nothing. Any thread, one call at a time on a queue.
    pub wake: Option<unsafe extern "C" fn(state: *const c_void, now: u64) -> u64>,
    /// The contents of the queue now. Changes nothing. Any thread, one call at a time on a queue.
    pub backlog: Option<unsafe extern "C" fn(state: *const c_void) -> ForebayBacklog>,
    /// Tells the queue that the link's rate is now `rate` bit/s. Any thread, one call at a time on a
    /// queue. May be NULL.
    pub set_link_rate: Option<unsafe extern "C" fn(state: *mut c_void, now: u64, rate: u64)>,
    /// Reports internal variables by name, for plots. Changes nothing. Any thread, one call at a
    /// time on a queue. May be NULL.
    pub probe: Option<
        unsafe extern "C" fn(
            state: *const c_void,
            now: u64,
            to: *mut c_void,
            report: unsafe extern "C" fn(to: *mut c_void, name: *const c_char, value: f64),
        ),
    >,
    /// Writes the parameters with every default filled in, as JSON, into the `size` bytes at `out`.
    /// Returns the length without the zero byte, or the length that would be needed. If something
    /// is wrong, writes a message and returns -1. Any thread, several at once. May be NULL.
    pub effective: Option<
        unsafe extern "C" fn(
            kind: *const ForebayDiscipline,
            params: *const c_char,
            setting: *const ForebaySetting,
            out: *mut c_char,
            size: usize,
        ) -> isize,
    >,
    /// The reason for which a call returned `FOREBAY_FAILED`; NULL if none did. The text stays until
    /// `destroy`. Any thread, one call at a time on a queue. May be NULL.
    pub fault: Option<unsafe extern "C" fn(state: *const c_void) -> *const c_char>,
    /// Takes over the parameters of `fresh`, a queue of the same kind that `create` has just made,
    /// from `now` on, and keeps packets and state. The host ends `fresh` afterwards. False if it
    /// cannot, and then nothing has changed. Any thread, one call at a time on both queues. May be
    /// NULL, if it never can.
    pub retune:
        Option<unsafe extern "C" fn(state: *mut c_void, now: u64, fresh: *mut c_void) -> bool>,
    /// Whether `packet` may skip the queue. It may if the queue is empty, the link could send the
    /// packet at once, and enqueuing and dequeuing it now would leave it and the queue as they were.
    /// A host asks only while the queue is empty; `id` and `queued` do not count. Changes nothing.
    /// Any thread, one call at a time on a queue. May be NULL, if none may.
    pub passes:
        Option<unsafe extern "C" fn(state: *const c_void, packet: *const ForebayPacket) -> bool>,
    /// Reports every waiting packet with the number of its inner queue, for pictures. Packets of a
    /// queue come in order of service; queues that are served first come first, as far as this is
    /// known. Reports nothing if it cannot tell. Changes nothing. Any thread, one call at a time on
    /// a queue. May be NULL.
    pub waiting: Option<
        unsafe extern "C" fn(
            state: *const c_void,
            to: *mut c_void,
            report: unsafe extern "C" fn(to: *mut c_void, queue: u32, packet: *const ForebayPacket),
        ),
    >,
    /// `enqueue` for each of `count` packets, in order, at one instant. Returns how many joined a
    /// queue; the others were dropped through the context. -1: it has failed. Any thread, one call
    /// at a time on a queue. May be NULL; `forebay_enqueue_batch` then calls `enqueue`.
    pub enqueue_batch: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            packets: *const ForebayPacket,
            count: usize,
            cx: *mut ForebayContext,
        ) -> isize,
    >,
    /// `dequeue` at one instant until `count` packets are at `packets` or there is none. Returns how
    /// many there are; -1: it has failed. Any thread, one call at a time on a queue. May be NULL;
    /// `forebay_dequeue_batch` then calls `dequeue`.
    pub dequeue_batch: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            packets: *mut ForebayPacket,
            count: usize,
            cx: *mut ForebayContext,
        ) -> isize,
    >,
}

/// A kind of endpoint: a protocol without I/O at both ends of a flow, in simulated time. Text and struct
/// are as those of a discipline. `state` is what `create` returned: one end of one flow. Nothing may be
/// unwound or jumped across a call.
///
/// After each call of `begin`, `handle`, `on_timeout` and `end`, an end is asked for all datagrams that
/// it can send now, then for its timeout. It must take time and random numbers from nowhere else, or
/// equal seeds do not give equal runs.
///
/// Threads: `create` may be called by several threads at once. All other functions are calls on one
/// end: these come one at a time, and from any thread. Calls on different ends may come at once.
#[repr(C)]
pub struct ForebayEndpoint {
    /// `FOREBAY_VERSION`.
    pub version: u32,
    /// `sizeof(ForebayEndpoint)`; `forebay_has` asks for it.
    pub struct_size: u32,
    /// The name that a scenario writes as `kind = "..."` of traffic.
    pub name: *const c_char,
    /// One line for lists.
    pub summary: *const c_char,
    /// Paper, section or RFC that it follows.
    pub source: *const c_char,
    /// JSON Schema of the parameters, as that of a discipline without `effective`.
    pub schema: *const c_char,
    /// Bytes of headers that every datagram gets on its way: 28 for UDP over IPv4, 0 if `transmit`
    /// writes whole IP packets.
    pub headers: u32,
    /// For the library's own use.
    pub data: *const c_void,
    /// Makes an end: the sending one, at `from`, or the receiving one, at `to`. `params` is an object
    /// as compact JSON. NULL if something is wrong, with a text such as "window: must be greater than
    /// 0" in the `size` bytes at `error`. Any thread, several at once.
    pub create: Option<
        unsafe extern "C" fn(
            kind: *const ForebayEndpoint,
            params: *const c_char,
            sends: bool,
            error: *mut c_char,
            size: usize,
        ) -> *mut c_void,
    >,
    /// Frees an end. The last call on it, by any thread.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The flow begins; `random` are 64 random bits of its own. Called once. Any thread, one call at a
    /// time on an end. May be NULL.
    pub begin: Option<unsafe extern "C" fn(state: *mut c_void, now: u64, random: u64)>,
    /// The `length` bytes at `datagram`, which the other end wrote, arrive with ECN codepoint `ecn`
    /// (the two bits of the IP header). They stay until it returns. Any thread, one call at a time on
    /// an end.
    pub handle: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            now: u64,
            datagram: *const u8,
            length: usize,
            ecn: u8,
        ),
    >,
    /// Writes the next datagram to the `size` bytes at `datagram` and returns its length. 0: it can
    /// send nothing now. -1: it has failed. `ecn` has codepoint 0, and may be set. Any thread, one call
    /// at a time on an end.
    pub transmit: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            now: u64,
            datagram: *mut u8,
            size: usize,
            ecn: *mut u8,
        ) -> isize,
    >,
    /// When to call `on_timeout` unless the end is called for something else before, in ns: `now` or
    /// before, at once; `FOREBAY_IDLE`, never. Any thread, one call at a time on an end. May be NULL.
    pub timeout: Option<unsafe extern "C" fn(state: *const c_void, now: u64) -> u64>,
    /// The timeout has passed. Any thread, one call at a time on an end. May be NULL if `timeout` is.
    pub on_timeout: Option<unsafe extern "C" fn(state: *mut c_void, now: u64)>,
    /// The flow's `stop` is reached: the sending end may close what it has open. Any thread, one call
    /// at a time on an end. May be NULL.
    pub end: Option<unsafe extern "C" fn(state: *mut c_void, now: u64)>,
    /// Bytes that the application at this end has received so far. Any thread, one call at a time on
    /// an end. May be NULL; then the datagrams that arrive count.
    pub delivered: Option<unsafe extern "C" fn(state: *const c_void) -> u64>,
    /// The reason why this end cannot go on, which ends the run; NULL if it can. The text stays until
    /// `destroy`. Any thread, one call at a time on an end. May be NULL.
    pub fault: Option<unsafe extern "C" fn(state: *const c_void) -> *const c_char>,
}

/// The symbol that a plug-in with disciplines exports: these by index, NULL after the last.
pub type ForebayPlugin = unsafe extern "C" fn(index: u32) -> *const ForebayDiscipline;

/// The symbol that a plug-in with endpoints exports: these by index, NULL after the last.
pub type ForebayEndpoints = unsafe extern "C" fn(index: u32) -> *const ForebayEndpoint;
