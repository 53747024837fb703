//! A congestion control that is a class in Python.

use super::fault::accuse;
use super::{Class, stopped, words};
use forebay::{Calls, Function};
use forebay_core::{Duration, Rate};
use forebay_tcp::ConnectionParams;
use forebay_tcp::congestion::{
    AckSample, CongestionController, CongestionEvent, CongestionKind, Role, Window,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The windows of a connection in bytes, as a class sees and sets them.
#[pyclass(frozen, name = "Window", module = "forebay")]
pub struct Windows {
    cwnd: AtomicU64,
    ssthresh: AtomicU64,
    #[pyo3(get)]
    mss: u64,
    maximum: u64,
}

impl Windows {
    /// `bytes`, or an error if a window may not be so small.
    fn checked(&self, name: &str, bytes: u64) -> PyResult<u64> {
        if bytes < self.mss {
            let mss = self.mss;
            let what = format!("{name} must be at least one segment ({mss} bytes), got {bytes}");
            return Err(PyValueError::new_err(what));
        }
        Ok(bytes)
    }
}

#[pymethods]
impl Windows {
    #[getter]
    fn cwnd(&self) -> u64 {
        self.cwnd.load(Relaxed)
    }

    #[setter]
    fn set_cwnd(&self, bytes: u64) -> PyResult<()> {
        self.cwnd.store(self.checked("cwnd", bytes)?.min(self.maximum), Relaxed);
        Ok(())
    }

    #[getter]
    fn ssthresh(&self) -> u64 {
        self.ssthresh.load(Relaxed)
    }

    #[setter]
    fn set_ssthresh(&self, bytes: u64) -> PyResult<()> {
        self.ssthresh.store(self.checked("ssthresh", bytes)?, Relaxed);
        Ok(())
    }

    #[getter]
    fn in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// An acknowledgment of new data, outside recovery. Times are in ns.
#[pyclass(frozen, get_all, name = "Ack", module = "forebay", freelist = 16)]
pub struct Ack {
    now: u64,
    acked: u64,
    rtt: Option<u64>,
    srtt: Option<u64>,
    one_way: Option<u64>,
    limited: bool,
    after_timeout: bool,
}

impl Ack {
    fn new(sample: &AckSample) -> Self {
        let AckSample { now, acked, limited, after_timeout, .. } = *sample;
        let [rtt, srtt, one_way] =
            [sample.rtt, sample.srtt, sample.one_way].map(|span| span.map(Duration::as_nanos));
        Ack { now: now.as_nanos(), acked, rtt, srtt, one_way, limited, after_timeout }
    }
}

/// Congestion, reported at most once per window of data.
#[pyclass(frozen, get_all, name = "Congestion", module = "forebay")]
pub struct Congestion {
    now: u64,
    kind: &'static str,
    flight: u64,
}

impl Congestion {
    fn new(event: &CongestionEvent) -> Self {
        let kind = match event.kind {
            CongestionKind::Loss => "loss",
            CongestionKind::Ecn => "ecn",
            CongestionKind::Timeout => "timeout",
        };
        Congestion { now: event.now.as_nanos(), kind, flight: event.flight }
    }
}

/// An instance for one connection, and its methods.
struct Methods {
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_restart: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    windows: Py<Windows>,
}

/// The control of one connection.
pub struct Control {
    class: Arc<Class>,
    under_way: Arc<Calls>,
    /// None if it could not be made.
    methods: Option<Methods>,
    has_failed: Cell<bool>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.class.who)
    }
}

impl Control {
    /// An instance of `class` with these parameters (JSON), for a connection with these parameters.
    pub fn start(class: &Arc<Class>, params: &str, connection: &ConnectionParams) -> Self {
        let window = Window::new(connection, None);
        let under_way = Calls::of(&class.who);
        let make = |py: Python<'_>| {
            let made = class.make(py, params, &[("mss", window.mss)])?;
            let method = |name| made.getattr(name).map(Bound::unbind);
            let optional = |name| made.getattr_opt(name).map(|found| found.map(Bound::unbind));
            let windows = Windows {
                cwnd: AtomicU64::new(window.cwnd),
                ssthresh: AtomicU64::new(window.ssthresh),
                mss: window.mss,
                maximum: window.maximum,
            };
            Ok(Methods {
                on_ack: method("on_ack")?,
                on_congestion: method("on_congestion")?,
                on_restart: optional("on_restart")?,
                pacing_rate: optional("pacing_rate")?,
                windows: Py::new(py, windows)?,
            })
        };
        let methods = under_way.during(Function::Create, || Python::attach(make));
        let methods = methods.map_err(|error: PyErr| {
            accuse(Python::attach(|py| format!("{}: {}", class.who, words::blame(py, &error))));
        });
        let (class, has_failed) = (Arc::clone(class), Cell::new(stopped(None).is_some()));
        Control { class, under_way, methods: methods.ok(), has_failed }
    }

    /// The result of `ask` for its methods, with the present windows. None once it has failed.
    fn ask<T>(
        &self,
        function: Function,
        window: &Window,
        ask: impl FnOnce(Python<'_>, &Methods) -> Result<T, String>,
    ) -> Option<T> {
        let methods = self.methods.as_ref().filter(|_| !self.has_failed.get())?;
        let windows = methods.windows.get();
        windows.cwnd.store(window.cwnd, Relaxed);
        windows.ssthresh.store(window.ssthresh, Relaxed);
        let ask = || Python::attach(|py| ask(py, methods));
        self.under_way
            .during(function, ask)
            .map_err(|what| {
                self.has_failed.set(true);
                accuse(format!("{}: {what}", self.class.who));
            })
            .ok()
    }

    /// Calls `method` with the windows and `seen`, and takes over the windows as it leaves them.
    fn tell<S: for<'py> IntoPyObject<'py>>(
        &self,
        function: Function,
        window: &mut Window,
        method: impl Fn(&Methods) -> Option<&Py<PyAny>>,
        seen: impl FnOnce() -> S,
    ) {
        let set = self.ask(function, window, |py, methods| {
            let Some(method) = method(methods) else { return Ok(None) };
            let method = method.bind(py);
            let answer = method.call1((methods.windows.clone_ref(py), seen()));
            let answer = answer.map_err(|error| words::blame(py, &error))?;
            if !answer.is_none() {
                return Err(words::wrong(method, &answer, "nothing"));
            }
            Ok(Some((methods.windows.get().cwnd(), methods.windows.get().ssthresh())))
        });
        if let Some(Some((cwnd, ssthresh))) = set {
            (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        }
    }
}

impl CongestionController for Control {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        self.tell(Function::OnAck, window, |methods| Some(&methods.on_ack), || Ack::new(sample));
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        self.tell(
            Function::OnCongestion,
            window,
            |methods| Some(&methods.on_congestion),
            || Congestion::new(event),
        );
    }

    fn on_restart(&mut self, window: &mut Window, now: forebay_core::Time) {
        self.tell(
            Function::OnRestart,
            window,
            |methods| methods.on_restart.as_ref(),
            || now.as_nanos(),
        );
    }

    fn role(&self) -> Role {
        let methods = self.methods.as_ref();
        let paces = methods.is_some_and(|methods| methods.pacing_rate.is_some());
        Role { paces, ..Role::default() }
    }

    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let asked = self.ask(Function::PacingRate, window, |py, methods| {
            let Some(method) = &methods.pacing_rate else { return Ok(None) };
            let method = method.bind(py);
            let seen = (methods.windows.clone_ref(py), srtt.map(Duration::as_nanos));
            let answer = method.call1(seen).map_err(|error| words::blame(py, &error))?;
            let rate = answer.extract::<Option<u64>>().ok().filter(|rate| *rate != Some(0));
            let may = "a whole rate in bit/s, above 0, or None";
            rate.ok_or_else(|| words::wrong(method, &answer, may))
        });
        asked.flatten().map(Rate::from_bps)
    }
}
