//! Questions about scenarios: those that the Python package asks its engine, which judges runs in a
//! page, too. `python/forebay/_engine.pyi` documents the answers.

use forebay_core::{ConfigError, Dimension, Quantity};
use forebay_sim::scenario::{self, path};
use forebay_sim::{Registry, Scenario, student_quantile};
use forebay_stage::Stop;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// A question; the names are those of the functions of `forebay._engine`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Question {
    /// The version of the engine.
    Version {},
    /// The scenario in a file's text: TOML, or JSON.
    Load {
        text: String,
        json: bool,
    },
    Effective {
        scenario: Value,
    },
    Resolve {
        scenario: Value,
    },
    Plan {
        scenario: Value,
    },
    Identity {
        scenario: Value,
    },
    ComparedLink {
        scenario: Value,
        link: Option<String>,
    },
    WithQueue {
        scenario: Value,
        link: Option<String>,
        queue: Value,
    },
    WithFields {
        document: Value,
        fields: Map<String, Value>,
    },
    Field {
        document: Value,
        path: String,
    },
    Quantity {
        text: String,
        dimension: Option<Dimension>,
    },
    Labelled {
        text: String,
    },
    Student {
        freedom: f64,
        share: f64,
    },
}

impl Question {
    /// The answer; `read` reads a scenario.
    ///
    /// # Errors
    /// What is asked about is wrong.
    pub(crate) fn answer(
        self,
        registry: &Arc<Registry>,
        read: impl FnOnce(&Value) -> Result<Scenario, Stop>,
    ) -> Result<Value, Stop> {
        Ok(match self {
            Question::Version {} => json!(env!("CARGO_PKG_VERSION")),
            Question::Load { text, json } => {
                if text.len() as u64 > scenario::LARGEST {
                    return Err(Stop::Refused("is too large to be a scenario".to_owned()));
                }
                let tree = if json { scenario::parse_json(&text) } else { scenario::parse(&text) }?;
                if !tree.is_object() {
                    let what = r#"must be a table of fields, such as {"duration": "10s"}"#;
                    return Err(ConfigError::new("", what).into());
                }
                tree
            }
            Question::Effective { scenario } => read(&scenario)?.effective()?,
            Question::Resolve { scenario } => read(&scenario)?.resolve()?,
            Question::Plan { scenario } => read(&scenario)?.plan()?,
            Question::Identity { scenario } => json!(read(&scenario)?.identity()?),
            Question::ComparedLink { scenario, link } => {
                json!(read(&scenario)?.compared_link(link.as_deref())?)
            }
            Question::WithQueue { scenario, link, queue } => {
                let link = link.as_deref();
                scenario::with_queue(&scenario, Path::new(""), link, &queue, registry)?
            }
            Question::WithFields { mut document, fields } => {
                for (path, value) in fields {
                    path::set(&mut document, &path, value)?;
                }
                document
            }
            // A list, as a field may be null.
            Question::Field { document, path } => match path::get(&document, &path)? {
                Some(value) => json!([value]),
                None => json!([]),
            },
            Question::Quantity { text, dimension } => {
                let found = Quantity::parse(&text, dimension)
                    .map_err(|error| Stop::Refused(error.to_string()))?;
                json!(found)
            }
            Question::Labelled { text } => json!(forebay_stage::labelled(&json!(text))?),
            Question::Student { freedom, share } => json!(student_quantile(freedom, share)),
        })
    }
}
