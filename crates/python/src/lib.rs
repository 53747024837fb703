//! The engine as the Python module `forebay._engine`: glue and error mapping, nothing else.

use cpu_time::ThreadTime;
use forebay_core::{ConfigError, Dimension, Quantity, UnitError, file};
use forebay_shaper::FlowHash;
use forebay_sim::{Scenario, Table, World, scenario, summary, tables};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use std::collections::HashMap;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod live;
mod plugins;

create_exception!(
    _engine,
    ScenarioError,
    PyValueError,
    "A scenario that cannot run; the message names the place and the remedy."
);
create_exception!(_engine, Cancelled, PyException, "The run was stopped through its `Cancel`.");

/// Events between two looks at the cancel flag: about 10 ms.
const SLICE: u64 = 200_000;

/// A flag that stops a run from another thread.
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

    /// Stop the run that holds this flag.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// What a finished run measured.
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

    /// Every table: its name, its labels, its columns as little-endian 64-bit floats.
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
    let tree: Value = if is_json {
        serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?
    } else {
        scenario::parse(&text).map_err(|error| refuse(error.to_string()))?
    };
    Ok(tree.to_string())
}

/// The scenario with every default filled in.
#[pyfunction]
fn effective(py: Python, scenario: &str, base: &str) -> PyResult<String> {
    py.detach(|| {
        let scenario = read(scenario, base)?;
        scenario.effective().map(|tree| tree.to_string()).map_err(refused)
    })
}

/// Run the scenario without holding the interpreter's lock.
#[pyfunction]
#[pyo3(signature = (scenario, base, cancel=None, progress=None))]
fn run(
    py: Python,
    scenario: &str,
    base: &str,
    cancel: Option<&Cancel>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Output> {
    let flag = cancel.map(|cancel| cancel.flag.clone()).unwrap_or_default();
    py.detach(|| {
        let start = ThreadTime::now();
        let scenario = read(scenario, base)?;
        let seed = scenario.table().seed;
        let mut world = scenario.world(seed).map_err(refused)?;
        complete(&mut world, &flag, progress.as_ref())?;
        let summary = serde_json::to_string(&summary(&scenario, seed, &mut world));
        let mut summary = summary.expect("keys are strings");
        let tables = tables(&scenario, &mut world);
        let seconds = start.elapsed().as_secs_f64();
        // The last key tells what all before it cost.
        summary.truncate(summary.len() - 1);
        summary += &format!(",\"cpu_seconds\":{seconds}}}");
        Ok(Output { summary, tables })
    })
}

/// Runs to the end, a slice at a time.
fn complete(world: &mut World, flag: &AtomicBool, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let mut told = 0.0;
    loop {
        let state =
            world.advance(SLICE).map_err(|error| ScenarioError::new_err(error.to_string()))?;
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

/// What a scenario asks of an emulation, as JSON.
#[pyfunction]
fn plan(py: Python, scenario: &str, base: &str) -> PyResult<String> {
    py.detach(|| read(scenario, base)?.plan().map(|plan| plan.to_string()).map_err(refused))
}

/// Links, traffic and files of the scenario, as JSON.
#[pyfunction]
fn resolve(py: Python, scenario: &str, base: &str) -> PyResult<String> {
    py.detach(|| read(scenario, base)?.resolve().map(|found| found.to_string()).map_err(refused))
}

/// The scenario as written, with a queue on a link.
#[pyfunction]
fn with_queue(scenario: &str, base: &str, link: Option<&str>, queue: &str) -> PyResult<String> {
    let (tree, queue) = (json(scenario, "scenario")?, json(queue, "queue")?);
    let base = Path::new(base);
    let registry = plugins::of_scenario(&tree, base).map_err(refused)?;
    let changed = scenario::with_queue(&tree, base, link, &queue, &registry);
    changed.map(|tree| tree.to_string()).map_err(refused)
}

/// Name of the link whose measures a comparison shows.
#[pyfunction]
fn compared_link(scenario: &str, base: &str, link: Option<&str>) -> PyResult<String> {
    read(scenario, base)?.compared_link(link).map_err(refused)
}

/// Hash of all that decides what a run does except its seed.
#[pyfunction]
fn identity(py: Python, scenario: &str, base: &str) -> PyResult<String> {
    py.detach(|| read(scenario, base)?.identity().map_err(refused))
}

/// A number with its unit, as JSON.
#[pyfunction]
fn quantity(text: &str, dimension: Option<&str>) -> PyResult<String> {
    let dimension = dimension.map(dimension_of).transpose()?;
    let found = Quantity::parse(text, dimension).map_err(not_understood)?;
    Ok(serde_json::to_string(&found).expect("keys are strings"))
}

/// A value in base units as a scenario writes it.
#[pyfunction]
fn format_quantity(value: f64, dimension: &str) -> PyResult<String> {
    dimension_of(dimension)?.format(value).map_err(not_understood)
}

/// The number that a gate of this seed gives to a flow in its recordings.
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

/// Replay a gate's recording; what was found as JSON.
#[pyfunction]
#[pyo3(signature = (path, plugins=Vec::new()))]
fn replay(py: Python, path: &str, plugins: Vec<String>) -> PyResult<String> {
    let registry = plugins::registry(&plugins, Path::new("")).map_err(refused)?;
    let disciplines = Arc::new(registry.disciplines.clone());
    let replayed = py.detach(|| {
        let recording = BufReader::new(file::open(Path::new(path))?);
        let result = forebay_shaper::replay(recording, &disciplines)?;
        Ok(serde_json::to_string(&result)?)
    });
    replayed.map_err(|error: std::io::Error| ScenarioError::new_err(format!("{path}: {error}")))
}

/// Every discipline, part and source with its parameters, as JSON.
#[pyfunction]
#[pyo3(signature = (plugins=Vec::new()))]
fn kinds(plugins: Vec<String>) -> PyResult<String> {
    let registry = plugins::registry(&plugins, Path::new("")).map_err(refused)?;
    Ok(scenario::catalogue(&registry).to_string())
}

/// The JSON Schema of a scenario.
#[pyfunction]
#[pyo3(signature = (plugins=Vec::new()))]
fn schema(plugins: Vec<String>) -> PyResult<String> {
    let registry = plugins::registry(&plugins, Path::new("")).map_err(refused)?;
    Ok(scenario::schema(&registry).to_string())
}

fn read(tree: &str, base: &str) -> PyResult<Scenario> {
    let (tree, base) = (json(tree, "scenario")?, Path::new(base));
    let registry = plugins::of_scenario(&tree, base).map_err(refused)?;
    Scenario::read(&tree, base, &registry).map_err(refused)
}

fn json(text: &str, what: &str) -> PyResult<Value> {
    let read = serde_json::from_str(text);
    read.map_err(|error| ScenarioError::new_err(format!("the {what} is not JSON: {error}")))
}

fn dimension_of(name: &str) -> PyResult<Dimension> {
    let read = serde_json::from_value(Value::from(name));
    read.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn not_understood(error: UnitError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

fn refused(error: ConfigError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("Cancelled", module.py().get_type::<Cancelled>())?;
    module.add_class::<Cancel>()?;
    module.add_class::<Output>()?;
    module.add_class::<live::Live>()?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(effective, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(with_queue, module)?)?;
    module.add_function(wrap_pyfunction!(compared_link, module)?)?;
    module.add_function(wrap_pyfunction!(identity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(format_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(flow_hash, module)?)?;
    module.add_function(wrap_pyfunction!(kinds, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::check_plugin, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)
}
