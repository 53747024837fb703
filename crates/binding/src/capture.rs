//! Captures for programs that measure: a column for each field of the headers.

use crate::ScenarioError;
use forebay_sim::pcap_in::{self, CapturedPacket, Segment};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;

type Columns<'py> = Vec<(&'static str, Bound<'py, PyArray1<i64>>)>;

/// What a column has of a packet.
type Field = fn(&CapturedPacket, &Segment) -> i64;

const FIELDS: [(&str, Field); 18] = [
    ("at_ns", |packet, _| packet.at_nanos.try_into().unwrap_or(i64::MAX)),
    ("len", |packet, _| packet.len.into()),
    ("dscp", |packet, _| packet.dscp.into()),
    ("protocol", |packet, _| packet.tuple.protocol.into()),
    ("source_port", |packet, _| packet.tuple.ports.map_or(-1, |ports| ports.0.into())),
    ("destination_port", |packet, _| packet.tuple.ports.map_or(-1, |ports| ports.1.into())),
    ("ecn", |_, segment| segment.ecn.into()),
    ("flags", |_, segment| segment.flags.into()),
    ("payload", |_, segment| segment.payload.into()),
    ("seq", |_, segment| segment.seq.into()),
    ("ack", |_, segment| segment.ack.into()),
    ("has_timestamps", |_, segment| segment.timestamps.is_some().into()),
    ("timestamp", |_, segment| segment.timestamps.unwrap_or_default().0.into()),
    ("echo", |_, segment| segment.timestamps.unwrap_or_default().1.into()),
    ("has_sack", |_, segment| segment.sack.is_some().into()),
    ("sack_left", |_, segment| segment.sack.unwrap_or_default().0.into()),
    ("sack_right", |_, segment| segment.sack.unwrap_or_default().1.into()),
    ("cut", |_, segment| segment.cut.into()),
];

/// What Python gets: the addresses, the time of the first packet, and the columns.
type Read<'py> = (Vec<String>, i128, Columns<'py>);

/// The IP packets of a capture.
#[pyfunction]
pub fn read_segments(py: Python<'_>, path: PathBuf) -> PyResult<Read<'_>> {
    let read = || {
        let bytes = pcap_in::load(&path).map_err(|error| error.to_string())?;
        pcap_in::read_segments(&bytes)
    };
    let (packets, first) = py
        .detach(read)
        .map_err(|error| ScenarioError::new_err(format!("{}: {error}", path.display())))?;
    let mut numbers: HashMap<IpAddr, i64> = HashMap::new();
    let mut addresses = Vec::new();
    let mut number = |address: IpAddr| {
        *numbers.entry(address).or_insert_with(|| {
            addresses.push(address.to_string());
            addresses.len() as i64 - 1
        })
    };
    let (sources, destinations): (Vec<i64>, Vec<i64>) = packets
        .iter()
        .map(|(packet, _)| (number(packet.tuple.source), number(packet.tuple.destination)))
        .unzip();
    let column = |field: &Field| {
        let values: Vec<i64> = packets.iter().map(|(packet, each)| field(packet, each)).collect();
        values.into_pyarray(py)
    };
    let mut columns: Columns = FIELDS.iter().map(|(name, field)| (*name, column(field))).collect();
    columns.push(("source", sources.into_pyarray(py)));
    columns.push(("destination", destinations.into_pyarray(py)));
    Ok((addresses, first, columns))
}
