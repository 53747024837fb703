//! Packet captures of a guest's hosts and links.

use serde::Deserialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

thread_local! {
    /// Captures by their file names. A host has one for all its devices.
    static CAPTURES: RefCell<BTreeMap<String, Capture>> = const { RefCell::new(BTreeMap::new()) };
}

/// Bytes of a packet that a capture keeps, which includes all headers.
const SNAP_LEN: usize = 128;
/// Link type of raw IP packets.
const RAW_IP: u32 = 101;
/// The beginning of a pcap file with nanoseconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The content of `NAME.captures`: a file for each end's host and for each direction of the link.
#[derive(Deserialize, Clone)]
pub struct Captures {
    /// Time zero of the captures, in ns of the guest's clock.
    epoch: u64,
    /// All packets of the hosts at both ends.
    pub hosts: [String; 2],
    /// Packets that leave the link at each end.
    pub link: [String; 2],
}

/// A pcap file.
struct Capture(BufWriter<File>);

impl Capture {
    fn create(path: &str) -> io::Result<Capture> {
        let mut file = BufWriter::new(File::create(path)?);
        let version = 2_u32 | 4 << 16;
        for word in [NANOSECONDS, version, 0, 0, SNAP_LEN as u32, RAW_IP] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Capture(file))
    }

    fn write(&mut self, at: u64, packet: &[u8]) -> io::Result<()> {
        let kept = &packet[..packet.len().min(SNAP_LEN)];
        let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
        for word in [seconds as u32, nanos as u32, kept.len() as u32, packet.len() as u32] {
            self.0.write_all(&word.to_le_bytes())?;
        }
        self.0.write_all(kept)
    }
}

impl Captures {
    /// The captures that `NAME.captures` requests, if it exists.
    ///
    /// # Errors
    /// A file cannot be read or made.
    pub fn read(name: &str) -> io::Result<Option<Captures>> {
        let path = format!("{name}.captures");
        if !Path::new(&path).exists() {
            return Ok(None);
        }
        let asked: Captures = serde_json::from_slice(&std::fs::read(path)?)?;
        for file in asked.hosts.iter().chain(&asked.link) {
            CAPTURES.with_borrow_mut(|all| {
                if let Entry::Vacant(place) = all.entry(file.clone()) {
                    place.insert(Capture::create(file)?);
                }
                io::Result::Ok(())
            })?;
        }
        Ok(Some(asked))
    }

    /// Adds a packet.
    pub fn write(&self, file: &str, at: u64, packet: &[u8]) {
        let at = at.saturating_sub(self.epoch);
        let written = CAPTURES.with_borrow_mut(|all| {
            all.get_mut(file).map_or(Ok(()), |capture| capture.write(at, packet))
        });
        must(written.map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}"))));
    }
}

/// Writes the packets so far. More may follow.
///
/// # Errors
/// A file cannot be written.
pub fn flush() -> io::Result<()> {
    CAPTURES.with_borrow_mut(|all| all.values_mut().try_for_each(|each| each.0.flush()))
}

/// Ends the guest if something fails, because its files would be incomplete.
pub fn must<T>(done: io::Result<T>) -> T {
    done.unwrap_or_else(|error| {
        eprintln!("forebay-gate: {error}");
        std::process::abort();
    })
}
