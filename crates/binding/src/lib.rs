//! The engine's interface for Python: conversions and errors only.
//!
//! [`engine`] fills an extension module with it, for any registry. The package's own module,
//! `forebay._engine`, has the registry of forebay (`crates/python`).

#![expect(clippy::disallowed_methods, reason = "the processor time of a run is told")]

use cpu_time::ThreadTime;
use forebay_core::{ConfigError, Dimension, Quantity, UnitError, config, file};
use forebay_shaper::FlowHash;
use forebay_sim::scenario::path;
use forebay_sim::{
    Progress, Registry, Run, RunError, Scenario, Table, World, scenario, student_quantile, summary,
    tables,
};
use forebay_stage::{Command, Vocabulary, Written};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{self, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

mod capture;
mod endpoint;
mod gym;
mod host;
mod isp;
mod live;
mod plugins;
mod python;
mod session;
mod stage;

use gym::Episodes;
use live::Live;
use session::Session;
use stage::Stage;

create_exception!(
    _engine,
    ScenarioError,
    PyValueError,
    "A scenario that cannot run; the message names the place and the remedy."
);
create_exception!(_engine, Cancelled, PyException, "The run was stopped through its `Cancel`.");

/// Number of events between two checks of the cancel flag, which take about 10 ms.
const SLICE: u64 = 200_000;

/// A flag with which another thread stops a run.
#[pyclass(frozen)]
#[derive(Default)]
struct Cancel {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stop the run that has this flag.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it is set.
    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// The measures of a finished run.
#[pyclass(frozen)]
struct Output {
    summary: String,
    tables: Vec<Table>,
}

type Columns<'py> = HashMap<String, Bound<'py, PyBytes>>;

#[pymethods]
impl Output {
    /// The summary as JSON.
    #[getter]
    fn summary(&self) -> &str {
        &self.summary
    }

    /// Every table: its name, its labels, and its columns as little-endian 64-bit floats.
    fn tables<'py>(&self, py: Python<'py>) -> Vec<(&str, HashMap<&str, &str>, Columns<'py>)> {
        let bytes = |values: &[f64]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let table = |table: &'_ Table| {
            let columns = table.columns.iter();
            columns.map(|(name, values)| (name.clone(), bytes(values))).collect()
        };
        self.tables
            .iter()
            .map(|each| {
                let labels =
                    each.labels.iter().map(|(key, value)| (*key, value.as_str())).collect();
                (each.name, labels, table(each))
            })
            .collect()
    }
}

/// The scenario file as written, as JSON.
#[pyfunction]
fn load(path: &str) -> PyResult<String> {
    let refuse = |message: String| ScenarioError::new_err(format!("{path}: {message}"));
    let text = file::read_text(Path::new(path), scenario::LARGEST)
        .map_err(|error| refuse(error.to_string()))?;
    let is_json = Path::new(path).extension().is_some_and(|extension| extension == "json");
    let tree = if is_json { scenario::parse_json(&text) } else { scenario::parse(&text) };
    let tree = tree.map_err(|error| refuse(error.to_string()))?;
    if !tree.is_object() {
        return Err(refuse(r#"must be a table of fields, such as {"duration": "10s"}"#.into()));
    }
    Ok(tree.to_string())
}

/// The content of a regular file of at most `most` bytes, if there is one.
#[pyfunction]
fn read_file<'py>(
    py: Python<'py>,
    path: PathBuf,
    most: u64,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    match py.detach(|| file::read(&path, most)) {
        Ok(content) => Ok(Some(PyBytes::new(py, &content))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ScenarioError::new_err(format!("{}: {error}", path.display()))),
    }
}

/// An error of the system in words, with its remedy.
#[pyfunction]
fn error_words(number: i32) -> String {
    file::words(&io::Error::from_raw_os_error(number))
}

/// The value at a path of a document, as JSON.
#[pyfunction]
fn field(document: &str, path: &str) -> PyResult<Option<String>> {
    let tree = json(document, "document")?;
    Ok(path::get(&tree, path).map_err(refused)?.map(Value::to_string))
}

/// The document with values at paths (JSON, an object of values by path).
#[pyfunction]
fn with_fields(document: &str, fields: &str) -> PyResult<String> {
    let mut tree = json(document, "document")?;
    let fields: Map<String, Value> = serde_json::from_str(fields).map_err(|error| {
        ScenarioError::new_err(format!("the fields are no JSON object: {error}"))
    })?;
    for (path, value) in fields {
        path::set(&mut tree, &path, value).map_err(refused)?;
    }
    Ok(tree.to_string())
}

/// A number with its unit, as JSON.
#[pyfunction]
fn quantity(text: &str, dimension: Option<&str>) -> PyResult<String> {
    let dimension = dimension.map(dimension_of).transpose()?;
    let found = Quantity::parse(text, dimension).map_err(not_understood)?;
    Ok(serde_json::to_string(&found).expect("keys are strings"))
}

/// The label and the table (JSON) of a discipline that is written as a text.
#[pyfunction]
fn labelled(text: &str) -> PyResult<(String, String)> {
    let (label, table) = forebay_stage::labelled(&text.into()).map_err(host::raised)?;
    Ok((label, Value::Object(table).to_string()))
}

/// A quantile of Student's t distribution.
#[pyfunction]
fn student(freedom: f64, share: f64) -> f64 {
    student_quantile(freedom, share)
}

/// A value in base units as a scenario writes it.
#[pyfunction]
fn format_quantity(value: f64, dimension: &str) -> PyResult<String> {
    dimension_of(dimension)?.format(value).map_err(not_understood)
}

/// The number that a gate with this seed gives to a flow in its recordings.
#[pyfunction]
fn flow_hash(
    seed: u64,
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    ports: Option<(u16, u16)>,
) -> u32 {
    FlowHash::new(seed).of(source, destination, protocol, ports)
}

/// The engine: the functions of the module that depend on the registry.
#[pyclass(frozen)]
struct Engine {
    registry: Arc<Registry>,
    /// Made when it is first needed.
    vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl Engine {
    /// The result of `act` for the scenario in `tree`, without the interpreter's lock.
    fn with<T: Send + 'static>(
        &self,
        py: Python,
        tree: &str,
        base: &str,
        act: impl FnOnce(Scenario) -> Result<T, PyErr> + Send + 'static,
    ) -> PyResult<T> {
        let (tree, base, own) = (json(tree, "scenario")?, base.to_owned(), self.registry.clone());
        let is_alone = tree.get("plugins").is_none();
        let act = move || {
            let registry = plugins::of_scenario(&own, &tree, Path::new(&base)).map_err(refused)?;
            act(Scenario::read(&tree, Path::new(&base), &registry).map_err(refused)?)
        };
        py.detach(|| if is_alone { act() } else { plugins::watched(act) })
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.vocabulary.get_or_init(|| Arc::new(Vocabulary::of(&self.registry)))
    }

    /// The registry, with the plug-ins at `paths`.
    fn registry(&self, paths: &[String]) -> PyResult<Arc<Registry>> {
        plugins::registry(&self.registry, paths, Path::new("")).map_err(refused)
    }
}

#[pymethods]
impl Engine {
    /// The scenario with every default filled in.
    fn effective(&self, py: Python, scenario: &str, base: &str) -> PyResult<String> {
        self.with(py, scenario, base, |scenario| text(scenario.effective()))
    }

    /// Run the scenario without holding the interpreter's lock.
    #[pyo3(signature = (scenario, base, cancel=None, progress=None, threads=1))]
    fn run(
        &self,
        py: Python,
        scenario: &str,
        base: &str,
        cancel: Option<&Cancel>,
        progress: Option<Py<PyAny>>,
        threads: usize,
    ) -> PyResult<Output> {
        let flag = cancel.map(|cancel| cancel.flag.clone()).unwrap_or_default();
        let act = move |scenario: Scenario| run(&scenario, threads, &flag, progress.as_ref());
        self.with(py, scenario, base, act)
    }

    /// The facts of a scenario that an emulation needs, as JSON.
    fn plan(&self, py: Python, scenario: &str, base: &str) -> PyResult<String> {
        self.with(py, scenario, base, |scenario| text(scenario.plan()))
    }

    /// Links, traffic and files of the scenario, as JSON.
    fn resolve(&self, py: Python, scenario: &str, base: &str) -> PyResult<String> {
        self.with(py, scenario, base, |scenario| text(scenario.resolve()))
    }

    /// The scenario as written, with a queue on a link.
    fn with_queue(
        &self,
        scenario: &str,
        base: &str,
        link: Option<&str>,
        queue: &str,
    ) -> PyResult<String> {
        let (tree, queue) = (json(scenario, "scenario")?, json(queue, "queue")?);
        let base = Path::new(base);
        let registry = plugins::of_scenario(&self.registry, &tree, base).map_err(refused)?;
        text(scenario::with_queue(&tree, base, link, &queue, &registry))
    }

    /// Name of the link whose measures a comparison shows.
    fn compared_link(
        &self,
        py: Python,
        scenario: &str,
        base: &str,
        link: Option<String>,
    ) -> PyResult<String> {
        self.with(py, scenario, base, move |scenario| {
            scenario.compared_link(link.as_deref()).map_err(refused)
        })
    }

    /// Hash of everything that decides what a run does, except its seed.
    fn identity(&self, py: Python, scenario: &str, base: &str) -> PyResult<String> {
        self.with(py, scenario, base, |scenario| scenario.identity().map_err(refused))
    }

    /// Approximate memory in bytes that a run of the scenario needs at its start or by its length.
    fn footprint(&self, py: Python, scenario: &str, base: &str) -> PyResult<u64> {
        self.with(py, scenario, base, |scenario| Ok(scenario.footprint().0))
    }

    /// Sources and meters of the scenario, for real packets.
    fn live(&self, py: Python, scenario: &str, base: &str) -> PyResult<Live> {
        self.with(py, scenario, base, |scenario| Live::of(scenario).map_err(refused))
    }

    /// Places for runs with agents, to be stepped together.
    fn episodes(&self, agent: &str, count: usize, threads: usize) -> PyResult<Episodes> {
        Episodes::new(&self.registry, agent, count, threads)
    }

    /// The scenario, to be run step by step.
    fn open(&self, py: Python, scenario: &str, base: &str) -> PyResult<Session> {
        Session::open(py, &self.registry, scenario, base)
    }

    /// A stage at the beginning of a scenario, with disciplines (JSON, a list) side by side on a link.
    #[pyo3(signature = (scenario, name, base, *, queues, link, stories, plays, ends))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn stage(
        &self,
        py: Python,
        scenario: &str,
        name: String,
        base: PathBuf,
        queues: &str,
        link: Option<String>,
        stories: &str,
        plays: bool,
        ends: &Cancel,
    ) -> PyResult<Stage> {
        let written = Written { tree: json(scenario, "scenario")?, name, base };
        let host = host::Native::new(&self.registry, Arc::clone(&ends.flag));
        let queues = config::read(&json(queues, "list of queues")?).map_err(refused)?;
        let stories = config::read(&json(stories, "list of stories")?).map_err(refused)?;
        let (vocabulary, stories) = (Arc::clone(self.vocabulary()), Arc::new(stories));
        let open = move || {
            let link = link.as_deref();
            forebay_stage::Stage::new(host, vocabulary, stories, written, queues, link, plays)
        };
        Ok(Stage::new(py.detach(open).map_err(host::raised)?, Arc::clone(self.vocabulary())))
    }

    /// What a message of a page asks for, as JSON: its type, and its fields with every default.
    fn command(&self, message: &str) -> PyResult<String> {
        let command = Command::read(message, self.vocabulary()).map_err(host::raised)?;
        Ok(serde_json::to_string(&command).expect("keys are strings"))
    }

    /// Replay a gate's recording. Returns the result as JSON.
    #[pyo3(signature = (path, plugins=Vec::new()))]
    fn replay(&self, py: Python, path: String, plugins: Vec<String>) -> PyResult<String> {
        let disciplines = Arc::new(self.registry(&plugins)?.disciplines.clone());
        let replay = move || {
            let replayed = file::open(Path::new(&path)).and_then(|recording| {
                let result = forebay_shaper::replay(BufReader::new(recording), &disciplines)?;
                Ok(serde_json::to_string(&result)?)
            });
            replayed.map_err(|error| ScenarioError::new_err(format!("{path}: {error}")))
        };
        py.detach(|| if plugins.is_empty() { replay() } else { plugins::watched(replay) })
    }

    /// Every discipline, part and source with its parameters, as JSON.
    #[pyo3(signature = (plugins=Vec::new()))]
    fn kinds(&self, plugins: Vec<String>) -> PyResult<String> {
        Ok(scenario::catalogue(&*self.registry(&plugins)?).to_string())
    }

    /// The JSON Schema of a scenario.
    #[pyo3(signature = (plugins=Vec::new()))]
    fn schema(&self, plugins: Vec<String>) -> PyResult<String> {
        Ok(scenario::schema(&*self.registry(&plugins)?).to_string())
    }
}

/// Runs `scenario` to its end, with at most `threads` threads.
fn run(
    scenario: &Scenario,
    threads: usize,
    flag: &AtomicBool,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Output> {
    let start = ThreadTime::now();
    let mut run = scenario.run(scenario.table().seed, threads).map_err(refused)?;
    complete(&mut run, in_python(scenario), flag, progress)?;
    let (threads, beside) = (run.parts(), run.spent_beside());
    let mut world = run.whole().map_err(broken)?;
    Ok(output(scenario, &mut world, threads, || start.elapsed() + beside))
}

/// Whether parts of `scenario` are written in Python.
fn in_python(scenario: &Scenario) -> bool {
    scenario.table().plugins.iter().any(|path| python::is_one(path))
}

/// The measures of the finished run of `scenario`. `spent` is the processor time up to then.
fn output(
    scenario: &Scenario,
    world: &mut World,
    threads: usize,
    spent: impl FnOnce() -> Duration,
) -> Output {
    let summary = serde_json::to_string(&summary(scenario, scenario.table().seed, world));
    let mut summary = summary.expect("keys are strings");
    let tables = tables(scenario, world);
    // The last key has the processor time of everything before it.
    summary.truncate(summary.len() - 1);
    let seconds = spent().as_secs_f64();
    summary += &format!(",\"cost\":{{\"cpu_seconds\":{seconds},\"threads\":{threads}}}}}");
    Output { summary, tables }
}

/// Lets `act` advance a run. If there are parts `in_python`, it keeps the interpreter's lock, for
/// which each of their calls would wait otherwise.
fn going_on(
    in_python: bool,
    act: impl FnOnce() -> Result<Progress, RunError> + Send,
) -> PyResult<Progress> {
    let state = if in_python { Python::attach(|_| act()) } else { act() };
    let state = state.map_err(broken)?;
    python::fault().map_or(Ok(state), |fault| Err(ScenarioError::new_err(fault)))
}

fn broken(error: RunError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Runs to the end, one slice at a time.
fn complete(
    run: &mut Run,
    in_python: bool,
    flag: &AtomicBool,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let mut told = 0.0;
    loop {
        let state = going_on(in_python, || run.advance(SLICE))?;
        if state.complete {
            return Ok(());
        }
        if flag.load(Ordering::Relaxed) {
            return Err(Cancelled::new_err("the run was cancelled"));
        }
        if let Some(progress) = progress
            && state.share - told >= 0.01
        {
            told = state.share;
            Python::attach(|py| progress.call1(py, (told,)))?;
        }
    }
}

fn json(text: &str, what: &str) -> PyResult<Value> {
    let read = serde_json::from_str(text);
    read.map_err(|error| ScenarioError::new_err(format!("the {what} is not JSON: {error}")))
}

fn dimension_of(name: &str) -> PyResult<Dimension> {
    let read = serde_json::from_value(Value::from(name));
    read.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn text(tree: Result<Value, ConfigError>) -> PyResult<String> {
    tree.map(|tree| tree.to_string()).map_err(refused)
}

fn not_understood(error: UnitError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn refused(error: ConfigError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The functions of the module that are methods of the engine.
const METHODS: [&str; 16] = [
    "command",
    "compared_link",
    "effective",
    "episodes",
    "footprint",
    "identity",
    "kinds",
    "live",
    "open",
    "plan",
    "replay",
    "resolve",
    "run",
    "schema",
    "stage",
    "with_queue",
];

/// The module in which the package `forebay` looks for its engine.
const MODULE: &str = "forebay._engine";

/// Fills `module` with an engine that uses `registry`. A module with another name replaces the
/// package's own engine, and must be imported before it.
///
/// # Errors
/// The package already has an engine.
pub fn engine(module: &Bound<'_, PyModule>, registry: Registry) -> PyResult<()> {
    let py = module.py();
    let name = module.name()?;
    let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    if name != MODULE {
        if modules.contains(MODULE)? {
            let what =
                format!("import {name} before forebay: its engine takes the place of forebay's");
            return Err(PyImportError::new_err(what));
        }
        modules.set_item(MODULE, module)?;
    }
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add("commit", option_env!("FOREBAY_COMMIT").unwrap_or_default())?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add_class::<Cancel>()?;
    module.add_class::<Output>()?;
    module.add_class::<Live>()?;
    module.add_class::<Episodes>()?;
    module.add_class::<Session>()?;
    module.add_class::<Stage>()?;
    module.add_class::<python::Port>()?;
    module.add_class::<python::View>()?;
    module.add_class::<python::Fifo>()?;
    module.add_class::<python::Stream>()?;
    module.add_class::<python::Windows>()?;
    module.add_class::<python::Ack>()?;
    module.add_class::<python::Congestion>()?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(read_file, module)?)?;
    module.add_function(wrap_pyfunction!(error_words, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_segments, module)?)?;
    module.add_function(wrap_pyfunction!(field, module)?)?;
    module.add_function(wrap_pyfunction!(with_fields, module)?)?;
    module.add_function(wrap_pyfunction!(labelled, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(format_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(flow_hash, module)?)?;
    module.add_function(wrap_pyfunction!(student, module)?)?;
    module.add_function(wrap_pyfunction!(isp::provider, module)?)?;
    module.add_function(wrap_pyfunction!(isp::subscribers, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::check_plugin, module)?)?;
    let engine =
        Bound::new(py, Engine { registry: Arc::new(registry), vocabulary: OnceLock::new() })?;
    METHODS.iter().try_for_each(|name| module.add(*name, engine.getattr(*name)?))
}
