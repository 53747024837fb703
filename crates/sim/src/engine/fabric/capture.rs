//! A link's capture file.

use super::cargo::Cargo;
use crate::engine::unfinished::{Unfinished, unwritten};
use crate::pcap_out::{PcapWriter, Transport, WINDOW_SCALE, WrittenPacket};
use forebay_core::{ConfigError, Packet, Time};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes the packets that a link sends. The file gets its name when the run is complete.
pub struct Capture {
    writer: PcapWriter<BufWriter<File>>,
    file: Unfinished,
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins the capture file `path`, and creates missing folders.
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
        let transport = match cargo.tcp_header(WINDOW_SCALE) {
            Some(header) => Transport::Tcp(header, cargo.segment.accecn()),
            None => Transport::Udp,
        };
        let Packet { len, tos, flow, .. } = *cargo.packet;
        let written = WrittenPacket { at: now, len, tos, from, to, flow, transport };
        if self.failed.is_none() {
            self.failed = self.writer.write(&written).err();
        }
    }

    /// Ends the capture and gives the file its name.
    pub fn finish(mut self) -> Result<(), String> {
        let written = self.failed.take().map_or_else(|| self.writer.flush(), Err);
        self.file.finish(written)
    }
}
