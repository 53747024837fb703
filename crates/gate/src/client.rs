//! A client of the server: its request as it arrives, and its answer as there is room for it.

use crate::handover;
use crate::page;
use std::io::{self, Read, Write};
use std::time::Duration;

/// Longest request in bytes.
const LONGEST: usize = 8_192;

/// The protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A line, as the control socket takes it.
    Line,
    /// HTTP, as Prometheus speaks it.
    Http,
}

/// A client's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `status`.
    Status,
    /// `circuits`.
    Circuits,
    /// `reload`.
    Reload,
    /// To take over from the gate.
    HandOver,
    /// The metrics.
    Metrics,
    /// The metrics of each circuit.
    CircuitMetrics,
    /// A file of the page.
    Page(&'static page::File),
    /// The numbers that the page shows.
    PageData,
    /// Another line, or another HTTP request.
    Unknown(String),
}

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It sends its request, reads or waits.
    Open,
    /// It has its answer, or is gone.
    Closed,
}

/// A client at the other end of a `stream`, whose calls do not wait.
pub struct Client<S> {
    /// Its number, which no other client gets.
    pub number: u64,
    /// The connection to it.
    pub stream: S,
    /// The time at which it is disconnected.
    pub until: Duration,
    /// The protocol of the request.
    pub language: Language,
    question: Vec<u8>,
    /// The answer, and how much of it was sent. None while there is no answer.
    answer: Option<(Vec<u8>, usize)>,
}

impl<S: Read + Write> Client<S> {
    /// A client that has said nothing yet.
    pub fn new(number: u64, stream: S, language: Language, until: Duration) -> Self {
        Client { number, stream, until, language, question: Vec::new(), answer: None }
    }

    /// End of its request, once it is complete.
    fn end(&self) -> Option<usize> {
        let end: &[u8] = match self.language {
            Language::Line => b"\n",
            Language::Http => b"\r\n\r\n",
        };
        self.question.windows(end.len()).position(|part| part == end)
    }

    /// Whether its request is complete.
    pub fn is_complete(&self) -> bool {
        self.end().is_some()
    }

    /// Whether it has been answered, though it may not have read everything.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some()
    }

    /// Reads what has arrived. Returns its request once it is complete: what follows is ignored.
    ///
    /// # Errors
    /// It has gone, or its request is too long.
    pub fn read(&mut self) -> io::Result<Option<Request>> {
        let mut part = [0; 1024];
        match self.stream.read(&mut part) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.question.extend(&part[..length]),
            Err(error) if is_later(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        let end = self.end();
        if end.unwrap_or(self.question.len()) > LONGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(end.map(|end| self.request(end)))
    }

    /// The request in the first `end` bytes.
    fn request(&self, end: usize) -> Request {
        let question = String::from_utf8_lossy(&self.question[..end]);
        let text = question.trim();
        if self.language == Language::Http {
            let path = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
            return match path {
                Some("/metrics") => Request::Metrics,
                Some("/circuits") => Request::CircuitMetrics,
                Some("/data") => Request::PageData,
                path => path
                    .and_then(page::file)
                    .map_or(Request::Unknown(text.to_owned()), Request::Page),
            };
        }
        match text {
            "circuits" => Request::Circuits,
            "status" => Request::Status,
            "reload" => Request::Reload,
            handover::QUESTION => Request::HandOver,
            other => Request::Unknown(other.to_owned()),
        }
    }

    /// Sets its answer, which [`Client::write`] sends. A line gets its end. For each megabyte the
    /// client has a second more: thousands of circuits take several.
    pub fn answer(&mut self, mut answer: String) {
        if self.language == Language::Line {
            answer.push('\n');
        }
        self.until += Duration::from_secs(answer.len() as u64 >> 20);
        self.answer = Some((answer.into_bytes(), 0));
    }

    /// Sends as much of the answer as there is room for.
    pub fn write(&mut self) -> State {
        let Some((answer, sent)) = &mut self.answer else { return State::Open };
        let rest = &answer[*sent..];
        match self.stream.write(rest) {
            Ok(length) if length < rest.len() && length > 0 => {
                *sent += length;
                State::Open
            }
            Err(error) if is_later(&error) => State::Open,
            _ => State::Closed,
        }
    }
}

/// Whether the call can be made again: nothing is wrong with the connection.
fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
