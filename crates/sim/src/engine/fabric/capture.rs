//! A link's capture file.

use super::cargo::{Cargo, DATAGRAM};
use crate::engine::unfinished::{Unfinished, unwritten};
use crate::pcap_out::{PcapWriter, TcpFields, Transport, WrittenPacket};
use forebay_core::{ConfigError, Packet, Time};
use forebay_tcp::Segment;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes what a link sends. The file has its name only when the run is complete.
pub struct Capture {
    writer: PcapWriter<BufWriter<File>>,
    file: Unfinished,
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins a capture that is to become `path`; a folder that is missing is made.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, ConfigError> {
        let failed = |error: String| ConfigError::new("", error);
        let (out, file) = Unfinished::create(path).map_err(failed)?;
        let writer = PcapWriter::new(out).map_err(|error| failed(unwritten(path, &error)))?;
        Ok(Capture { writer, file, failed: None })
    }

    /// Adds a packet that the link begins to send. A failure to write is kept for [`Capture::finish`].
    pub fn record(&mut self, now: Time, cargo: &Cargo) {
        // Each user has two hosts.
        let (sender, receiver) = (2 * cargo.user + 1, 2 * cargo.user + 2);
        let (from, to) = if cargo.backward { (receiver, sender) } else { (sender, receiver) };
        let transport = match cargo.flow {
            DATAGRAM => Transport::Udp,
            _ => Transport::Tcp(fields(&cargo.segment)),
        };
        let Packet { len, tos, flow, .. } = *cargo.packet;
        let written = WrittenPacket { at: now, len, tos, from, to, flow, transport };
        if self.failed.is_none() {
            self.failed = self.writer.write(&written).err();
        }
    }

    /// Ends the capture and gives the file its name.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn finish(mut self) -> Result<(), String> {
        let written = self.failed.take().map_or_else(|| self.writer.flush(), Err);
        self.file.finish(written)
    }
}

fn fields(segment: &Segment) -> TcpFields {
    let mut sack = [None; 3];
    for (place, (start, end)) in sack.iter_mut().zip(segment.sack_blocks()) {
        *place = Some((start as u32, end as u32));
    }
    TcpFields {
        seq: segment.seq as u32,
        ack: segment.ack as u32,
        flags: segment.flags.header_bits(),
        window: segment.window,
        mss: SYN_MSS,
        timestamps: segment.has_timestamp.then_some((segment.tsval, segment.tsecr)),
        sack,
        accecn: segment.accecn(),
    }
}

/// What SYNs state; readers only show it.
const SYN_MSS: u16 = 1460;
