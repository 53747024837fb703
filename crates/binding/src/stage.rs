//! The stage of `forebay explore`.

use crate::host::{Native, raised};
use forebay_stage::{Command, Stop, Vocabulary, Written};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Playing = forebay_stage::Stage<Native>;
/// (tab or None for all, JSON)
type Messages = Vec<(Option<u32>, String)>;

/// A scenario that is watched live. One thread at a time may use it.
#[pyclass(frozen)]
pub struct Stage {
    stage: Mutex<Playing>,
    vocabulary: Arc<Vocabulary>,
}

impl Stage {
    /// For Python.
    pub fn new(stage: Playing, vocabulary: Arc<Vocabulary>) -> Self {
        Stage { stage: Mutex::new(stage), vocabulary }
    }

    fn stage(&self) -> MutexGuard<'_, Playing> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `act`, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python,
        act: impl FnOnce(&mut Playing) -> Result<T, Stop> + Send,
    ) -> PyResult<T> {
        py.detach(|| act(&mut self.stage())).map_err(raised)
    }

    /// The messages of the stage after `act`.
    fn told(
        &self,
        py: Python,
        act: impl FnOnce(&mut Playing) -> Result<(), Stop> + Send,
    ) -> PyResult<Messages> {
        self.with(py, |stage| {
            act(stage)?;
            Ok(stage.messages().into_iter().map(|message| (message.to, message.text)).collect())
        })
    }
}

#[pymethods]
impl Stage {
    /// A tab with a new number wants to see it. Returns messages: tab or None for all, and JSON.
    fn connect(&self, py: Python, tab: u32) -> PyResult<Messages> {
        self.told(py, |stage| stage.connect(tab))
    }

    /// A tab has gone.
    fn disconnect(&self, py: Python, tab: u32) -> PyResult<()> {
        self.with(py, |stage| {
            stage.disconnect(tab);
            Ok(())
        })
    }

    /// A tab has drawn a frame.
    fn acknowledge(&self, py: Python, tab: u32, frame: u64) -> PyResult<()> {
        self.with(py, |stage| {
            stage.acknowledge(tab, frame);
            Ok(())
        })
    }

    /// Does what a message of a tab asks for. Returns messages.
    fn obey(&self, py: Python, tab: u32, message: &str) -> PyResult<Messages> {
        self.told(py, |stage| stage.obey(tab, Command::read(message, &self.vocabulary)?))
    }

    /// Seconds until the next tick; None while it does not play. `now` is a time in s.
    fn wait(&self, py: Python, now: f64) -> PyResult<Option<f64>> {
        self.with(py, |stage| Ok(stage.wait(now)))
    }

    /// Goes on by a tick, if one is due.
    fn turn(&self, py: Python, now: f64) -> PyResult<()> {
        self.with(py, |stage| stage.turn(now))
    }

    /// Frames for the tabs that wait for one, and what was said. Returns messages.
    fn show(&self, py: Python, now: f64) -> PyResult<Messages> {
        self.told(py, |stage| stage.show(now))
    }

    /// Label and recorded scenario of each lane: its text (JSON), its name and its base.
    fn lanes(&self, py: Python) -> PyResult<Vec<(String, String, String, PathBuf)>> {
        self.with(py, |stage| {
            let lane = |(label, written): (&str, &Written)| {
                let Written { tree, name, base } = written.clone();
                (label.to_owned(), tree.to_string(), name, base)
            };
            Ok(stage.lanes().map(lane).collect())
        })
    }

    /// The present instant of each lane, in ns.
    fn instants(&self, py: Python) -> PyResult<Vec<u64>> {
        self.with(py, |stage| Ok(stage.instants()))
    }

    /// The link whose queue is shown.
    fn watched(&self, py: Python) -> PyResult<Option<String>> {
        self.with(py, |stage| Ok(stage.watched().map(str::to_owned)))
    }

    /// What is to be kept of each lane: a name, the scenario as TOML, and the fingerprint of a run
    /// that is complete.
    fn files(&self, py: Python) -> PyResult<Vec<(String, String, Option<String>)>> {
        self.with(py, |stage| {
            let files = stage.files()?.into_iter();
            Ok(files.map(|file| (file.stem, file.text, file.fingerprint)).collect())
        })
    }
}
