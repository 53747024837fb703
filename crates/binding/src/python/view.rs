//! Packets and queues, as Python sees them.

use super::desk::Desk;
use forebay::ForebayPacket;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// The bits of a `tos` that mean congestion experienced.
const CE: u8 = 0b11;
/// Names of the kinds of packets, by their numbers.
const KINDS: [&str; 3] = ["data", "ack", "control"];

/// A packet that a discipline holds.
///
/// The host owns the packet; this object shows it. If the last reference disappears while the
/// packet is still held, the packet is lost, and the host is told.
#[pyclass(frozen, name = "Packet", module = "forebay", freelist = 256)]
pub struct View {
    shown: ForebayPacket,
    tos: AtomicU8,
    left: AtomicBool,
    desk: Arc<Desk>,
}

impl View {
    pub fn new(shown: &ForebayPacket, desk: &Arc<Desk>) -> Self {
        View {
            shown: *shown,
            tos: AtomicU8::new(shown.tos),
            left: AtomicBool::new(false),
            desk: Arc::clone(desk),
        }
    }

    /// The packet as it is now.
    fn now(&self) -> ForebayPacket {
        ForebayPacket { tos: self.tos.load(Relaxed), ..self.shown }
    }

    /// The error that it is not held in the queue of `desk`, if it is not.
    fn refused(&self, desk: &Arc<Desk>) -> Result<(), String> {
        let id = self.shown.id;
        if !Arc::ptr_eq(&self.desk, desk) {
            return Err(format!("packet {id} belongs to another queue"));
        }
        if self.left.load(Relaxed) {
            return Err(format!("packet {id} has already left: it was sent or dropped"));
        }
        Ok(())
    }

    /// The packet, which leaves.
    pub fn leaves(&self, desk: &Arc<Desk>) -> Result<ForebayPacket, String> {
        self.refused(desk)?;
        self.left.store(true, Relaxed);
        Ok(self.now())
    }

    /// The packet, marked; None if its transport does not understand marks.
    pub fn marked(&self, desk: &Arc<Desk>) -> Result<Option<ForebayPacket>, String> {
        self.refused(desk)?;
        if !self.is_ect() {
            return Ok(None);
        }
        let shown = self.now();
        self.tos.store(shown.tos | CE, Relaxed);
        Ok(Some(shown))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if !self.left.load(Relaxed) {
            self.desk.lose(self.shown.id);
        }
    }
}

#[pymethods]
impl View {
    #[getter]
    fn len(&self) -> u32 {
        self.shown.len
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.shown.flow
    }

    #[getter]
    fn qos_class(&self) -> u8 {
        self.shown.qos_class
    }

    #[getter]
    fn precedence(&self) -> u8 {
        self.shown.precedence
    }

    #[getter]
    fn drop_precedence(&self) -> u8 {
        self.shown.drop_precedence
    }

    #[getter]
    fn tos(&self) -> u8 {
        self.tos.load(Relaxed)
    }

    #[getter]
    fn dscp(&self) -> u8 {
        self.tos() >> 2
    }

    #[getter]
    fn ecn(&self) -> u8 {
        self.tos() & CE
    }

    #[getter]
    fn is_ect(&self) -> bool {
        self.ecn() != 0
    }

    #[getter]
    fn kind(&self) -> &'static str {
        KINDS[self.shown.kind as usize % KINDS.len()]
    }

    #[getter]
    fn source(&self) -> u16 {
        self.shown.source
    }

    #[getter]
    fn destination(&self) -> u16 {
        self.shown.destination
    }

    #[getter]
    fn queued(&self) -> u64 {
        self.shown.queued
    }

    fn __repr__(&self) -> String {
        let ForebayPacket { id, len, flow, .. } = self.shown;
        format!("<packet {id}: {len} B of flow {flow}>")
    }
}

/// A first-in, first-out queue of packets that counts their bytes.
#[pyclass(frozen, name = "Queue", module = "forebay")]
#[derive(Default)]
pub struct Fifo(Mutex<Line>);

#[derive(Default)]
struct Line {
    packets: VecDeque<Py<View>>,
    bytes: u64,
}

impl Fifo {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().expect("nothing panics while it is held")
    }

    /// The packet that `take` removes.
    fn taken(
        &self,
        take: impl FnOnce(&mut VecDeque<Py<View>>) -> Option<Py<View>>,
    ) -> PyResult<Py<View>> {
        let mut line = self.line();
        let taken = take(&mut line.packets);
        let taken = taken.ok_or_else(|| PyIndexError::new_err("the queue holds no packet"))?;
        line.bytes -= u64::from(taken.get().shown.len);
        Ok(taken)
    }
}

#[pymethods]
impl Fifo {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn append(&self, packet: &Bound<'_, PyAny>) -> PyResult<()> {
        let packet = packet
            .cast::<View>()
            .map_err(|_| PyTypeError::new_err(format!("a queue holds packets, got {packet:?}")))?;
        let mut line = self.line();
        line.bytes += u64::from(packet.get().shown.len);
        line.packets.push_back(packet.clone().unbind());
        Ok(())
    }

    fn popleft(&self) -> PyResult<Py<View>> {
        self.taken(VecDeque::pop_front)
    }

    fn pop(&self) -> PyResult<Py<View>> {
        self.taken(VecDeque::pop_back)
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.line().bytes
    }

    fn __len__(&self) -> usize {
        self.line().packets.len()
    }

    fn __getitem__(&self, py: Python, index: isize) -> PyResult<Py<View>> {
        let line = self.line();
        let place = if index < 0 { index + line.packets.len() as isize } else { index };
        let found = usize::try_from(place).ok().and_then(|place| line.packets.get(place));
        found.map(|packet| packet.clone_ref(py)).ok_or_else(|| {
            PyIndexError::new_err(format!("the queue holds {} packets", line.packets.len()))
        })
    }
}
