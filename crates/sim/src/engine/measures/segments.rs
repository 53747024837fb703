//! A table of all segments that TCP senders send and receive, one a line, with the state of the sender
//! before it receives the segment or after it has sent it. `control` has the variables of the
//! congestion control, by the names of its source.

use crate::engine::unfinished::Unfinished;
use forebay_core::{ConfigError, Time};
use forebay_tcp::{Flags, Segment, Sender};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const HEADER: &str = "time_s,flow,dir,seq,ack,len,flags,wnd,sack,\
                      cwnd,ssthresh,state,out,in_flight,srtt_us,rto_us,control";
/// In the order in which they are written.
const FLAGS: [(Flags, char); 8] = [
    (Flags::SYN, 'S'),
    (Flags::PSH, 'P'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'e'),
    (Flags::ACK, '.'),
];

/// Writes the table. The file has its name only when the run is complete.
pub struct SegmentTrace {
    out: BufWriter<File>,
    file: Unfinished,
    failed: Option<io::Error>,
}

impl SegmentTrace {
    /// Begins the table that is to become `path`.
    pub fn create(path: &Path) -> Result<Self, ConfigError> {
        let (mut out, file) =
            Unfinished::create(path).map_err(|error| ConfigError::new("tcp_trace", error))?;
        let failed = writeln!(out, "{HEADER}").err();
        Ok(SegmentTrace { out, file, failed })
    }

    /// A segment leaves `sender` or, if `heard`, reaches it. `flow` is the user's number.
    pub fn record(
        &mut self,
        now: Time,
        flow: u32,
        heard: bool,
        segment: &Segment,
        sender: &Sender,
    ) {
        if self.failed.is_none() {
            self.failed = self.line(now, flow, heard, segment, sender).err();
        }
    }

    fn line(
        &mut self,
        now: Time,
        flow: u32,
        heard: bool,
        segment: &Segment,
        sender: &Sender,
    ) -> io::Result<()> {
        let way = if heard { "ack" } else { "data" };
        let ack = if segment.flags.has(Flags::ACK) { segment.ack } else { 0 };
        write!(self.out, "{:.9},{flow},{way},", now.as_secs_f64())?;
        let seq = if segment.flags.has(Flags::SYN) { 0 } else { segment.seq };
        write!(self.out, "{seq},{ack},{},", segment.len)?;
        for (_, letter) in FLAGS.iter().filter(|(flag, _)| segment.flags.has(*flag)) {
            write!(self.out, "{letter}")?;
        }
        write!(self.out, ",{},", segment.window)?;
        for (at, (start, end)) in segment.sack_blocks().enumerate() {
            write!(self.out, "{}{start}-{end}", if at > 0 { ";" } else { "" })?;
        }
        // In segments, to a thousandth.
        let segments = |bytes: u64| (bytes as f64 / sender.mss() as f64 * 1e3).round() / 1e3;
        let info = sender.info();
        write!(self.out, ",{},", segments(info.cwnd))?;
        if info.ssthresh != u64::MAX {
            write!(self.out, "{}", segments(info.ssthresh))?;
        }
        let (out, in_flight) = (segments(sender.outstanding()), segments(info.in_flight));
        write!(self.out, ",{},{out},{in_flight},", info.phase)?;
        if let Some(srtt) = info.srtt {
            write!(self.out, "{}", srtt.as_nanos() / 1000)?;
        }
        write!(self.out, ",{},", info.rto.as_nanos() / 1000)?;
        let (mut told, mut separator) = (Ok(()), "");
        sender.probe(&mut |name, value| {
            if told.is_ok() {
                told = write!(self.out, "{separator}{name}={value}");
            }
            separator = ";";
        });
        told?;
        writeln!(self.out)
    }

    /// Ends the table and gives the file its name.
    pub fn finish(mut self) -> Result<(), String> {
        let written = self.failed.take().map_or_else(|| self.out.flush(), Err);
        self.file.finish(written)
    }
}
