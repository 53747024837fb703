//! The gates before and after this one, while both have frames.

use crate::io::Side;
use crate::system::{System, readable};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longest line.
pub const LONGEST: usize = 8_192;

/// The gate before this one, while it still holds packets.
pub struct Predecessor {
    stream: UnixStream,
    holds: [bool; 2],
}

impl Predecessor {
    /// Reads from `stream` where the frames begin that the gate before no longer takes.
    ///
    /// # Errors
    /// The gate before has ended meanwhile.
    pub fn hear_of(mut stream: UnixStream) -> io::Result<(Predecessor, [usize; 2])> {
        let places = serde_json::from_str(&read_line(&mut stream)?)?;
        set_blocking(&stream, false)?;
        Ok((Predecessor { stream, holds: [true; 2] }, places))
    }

    /// Whether it still holds packets that arrived on `side`.
    pub fn holds(&self, side: Side) -> bool {
        self.holds[side as usize]
    }

    /// Sides on which it has become empty since the last call, or ended.
    pub fn hear(&mut self) -> Vec<Side> {
        let mut text = [0; 16];
        let mut heard = self.holds.map(|holds| !holds);
        // The gate sends nothing after both sides are empty, but it may still run.
        while heard != [true; 2] {
            match self.stream.read(&mut text) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(0) | Err(_) => {
                    heard = [true; 2];
                    break;
                }
                Ok(length) => {
                    for (side, byte) in Side::BOTH.into_iter().zip(*b"01") {
                        heard[side as usize] |= text[..length].contains(&byte);
                    }
                }
            }
        }
        let mut news = Side::BOTH.to_vec();
        news.retain(|side| heard[*side as usize] && self.holds[*side as usize]);
        news.iter().for_each(|side| self.holds[*side as usize] = false);
        news
    }

    /// Waits until it holds nothing more, for at most `patience`.
    ///
    /// # Errors
    /// It does not release the interfaces.
    pub fn wait(mut self, system: &dyn System, patience: Duration) -> io::Result<()> {
        while self.holds != [false; 2] {
            let news = readable(system, &self.stream, patience);
            news.map_err(|_| {
                let what = "the gate before does not let go of the interfaces";
                io::Error::new(io::ErrorKind::TimedOut, what)
            })?;
            self.hear();
        }
        Ok(())
    }

    /// The descriptor on which to wait for news.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The gate after this one.
pub struct Successor {
    stream: UnixStream,
}

impl Successor {
    /// The gate at the other end of `stream`.
    pub fn new(stream: UnixStream) -> Successor {
        Successor { stream }
    }

    /// Tells it where the next frames are. Returns false if it is gone.
    pub fn begin(&mut self, places: [usize; 2]) -> bool {
        self.stream.write_all(format!("{places:?}\n").as_bytes()).is_ok()
    }

    /// Tells it that no packet from `side` is held any more.
    pub fn tell_empty(&mut self, side: Side) {
        // The gate may have ended.
        let _ = self.stream.write_all(format!("{}\n", side as usize).as_bytes());
    }
}

/// Whether calls on `stream` wait. The standard library uses an ioctl for this, which the filter of
/// system calls does not allow.
pub fn set_blocking(stream: &UnixStream, blocking: bool) -> io::Result<()> {
    let flags = fcntl_getfl(stream)?;
    fcntl_setfl(
        stream,
        if blocking { flags - OFlags::NONBLOCK } else { flags | OFlags::NONBLOCK },
    )?;
    Ok(())
}

/// Reads up to the end of a line, and not further.
pub fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte)?;
        match byte[0] {
            b'\n' => return String::from_utf8(line).map_err(|_| invalid("no text")),
            _ if line.len() == LONGEST => return Err(invalid("a line that does not end")),
            byte => line.push(byte),
        }
    }
}

/// The error for a message of a gate that makes no sense.
pub fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}
