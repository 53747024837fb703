//! Logs of connections: qlog files, as quinn writes them.
//!
//! Source: draft-ietf-quic-qlog-main-schema-05 and draft-ietf-quic-qlog-quic-events-04 (qlog 0.3), as
//! sequences of JSON texts (RFC 7464). A file is complete up to its last line at any time.
//!
//! Four things are corrected on the way to the file. quinn-proto 0.11.19 writes times of round trips in
//! seconds, where the draft wants milliseconds; 2^64-1 where there is no slow start threshold; not which
//! end it is, nor one group for both ends; and the length of a packet as that of its header's field of
//! this name, where the draft, and qvis, which draws no packet without it, want it in `raw`.

use crate::clock;
use forebay_core::Time;
use quinn_proto::{ConnectionId, QlogConfig, QlogStream, Side};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Why the log of a host is not complete.
pub type Failure = Arc<Mutex<Option<String>>>;

/// A file that gets what quinn writes, line by line, corrected. It keeps its first error.
struct Sink {
    file: BufWriter<File>,
    path: PathBuf,
    failure: Failure,
    side: &'static str,
    id: String,
    line: Vec<u8>,
}

impl Sink {
    fn write_line(&mut self) -> io::Result<()> {
        let text = self.line.strip_prefix(b"\x1e").unwrap_or(&self.line);
        let mut record: Value = serde_json::from_slice(text)?;
        if let Some(kind) = record.pointer_mut("/trace/vantage_point/type") {
            *kind = self.side.into();
        }
        if let Some(group) = record.get_mut("group_id") {
            *group = self.id.as_str().into();
        }
        let header = record.pointer_mut("/data/header").and_then(Value::as_object_mut);
        if let Some(length) = header.and_then(|header| header.remove("length"))
            && record["name"] == "transport:packet_sent"
        {
            record["data"]["raw"] = json!({ "length": length });
        }
        if record["name"] == "recovery:metrics_updated"
            && let Some(data) = record["data"].as_object_mut()
        {
            for name in ["smoothed_rtt", "min_rtt", "latest_rtt", "rtt_variance"] {
                if let Some(value) = data.get_mut(name) {
                    *value = value.as_f64().map(|seconds| seconds * 1e3).into();
                }
            }
            if data.get("ssthresh").and_then(Value::as_u64) == Some(u64::MAX) {
                data.remove("ssthresh");
            }
        }
        self.line.clear();
        self.file.write_all(b"\x1e")?;
        serde_json::to_writer(&mut self.file, &record)?;
        self.file.write_all(b"\n")
    }

    fn kept<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done
            && let Ok(mut failure) = self.failure.lock()
        {
            failure.get_or_insert_with(|| failed(&self.path, error));
        }
        done
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.line.extend(bytes);
            return Ok(bytes.len());
        };
        self.line.extend(&bytes[..end]);
        let done = self.write_line();
        self.kept(done.map(|()| end + 1))
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.file.flush();
        self.kept(done)
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} exists already; remove it or name another folder", path.display())
        }
        _ => format!("{} cannot be written: {error}", path.display()),
    }
}

/// Begins the log of one end of the connection whose first ID is `id`, in `folder`, which is made if it is
/// missing. The file is called after both, as is usual.
///
/// # Errors
/// The file exists, or cannot be made.
pub fn begin(
    folder: &Path,
    id: ConnectionId,
    side: Side,
    failure: &Failure,
) -> Result<Option<QlogStream>, String> {
    let side = if side.is_client() { "client" } else { "server" };
    let path = folder.join(format!("{id}_{side}.sqlog"));
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let file = File::create_new(&path).map_err(|error| failed(&path, &error))?;
    let mut config = QlogConfig::default();
    config.title(Some(format!("{side} of {id}")));
    config.start_time(clock::instant(Time::ZERO));
    config.writer(Box::new(Sink {
        file: BufWriter::new(file),
        path,
        failure: Arc::clone(failure),
        side,
        id: id.to_string(),
        line: Vec::new(),
    }));
    Ok(config.into_stream())
}
