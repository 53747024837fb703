//! Every congestion control, by name.

use super::{
    Agent, Bbr, Bbr3, CongestionController, Cubic, Cubic2008, Dctcp, Ledbat, LinuxReno, NewReno,
    Prague, Rfc2581,
};
use crate::{Config, Flags};
use forebay_core::config::require;
use forebay_core::{ConfigError, Entry, Family, Named, Registry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

/// Makes the state of a new connection.
pub type Start = Arc<dyn Fn(&Config) -> Box<dyn CongestionController> + Send + Sync>;

/// What a connection must have for a congestion control to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing that some connections lack.
    Nothing,
    /// Timestamps (RFC 7323), with which it measures delays.
    Timestamps,
    /// ECN on every packet, and reports of every mark (RFC 8257, section 3.2).
    EveryMark,
    /// Accurate ECN feedback (RFC 9768); every packet is sent as ECT(1) (RFC 9331).
    AccurateEcn,
}

impl Needs {
    /// Fields of a connection's configuration that must be true for it.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Needs::Nothing => &[],
            Needs::Timestamps => &["timestamps"],
            Needs::EveryMark => &["ecn"],
            Needs::AccurateEcn => &["ecn", "accurate_ecn"],
        }
    }
}

/// What is known of a congestion control beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conduct {
    /// Linux's name of its own control of this kind. Linux's stacks use that one if they have it,
    /// and so does the lab.
    pub linux: Option<&'static str>,
    /// What a connection must have.
    pub needs: Needs,
}

impl Conduct {
    /// Linux has none, and it needs nothing.
    pub const USUAL: Conduct = Conduct { linux: None, needs: Needs::Nothing };
    /// Linux's Reno.
    pub const RENO: Conduct = Conduct { linux: Some("reno"), ..Conduct::USUAL };
    /// Linux's BBR.
    pub const BBR: Conduct = Conduct { linux: Some("bbr"), ..Conduct::USUAL };
    /// Linux's CUBIC.
    pub const CUBIC: Conduct = Conduct { linux: Some("cubic"), ..Conduct::USUAL };
}

impl Family for dyn CongestionController {
    const WHAT: &'static str = "congestion control";
    type Facts = Conduct;
    const USUAL: Conduct = Conduct::USUAL;
    type Site<'a> = ();
    type Built = Start;
}

/// The congestion controls of this crate, one line for each.
pub fn builtin() -> Registry<dyn CongestionController> {
    Registry::default()
        .with::<Agent>()
        .with::<Bbr>()
        .with::<Bbr3>()
        .with::<Cubic>()
        .with::<Cubic2008>()
        .with::<Dctcp>()
        .with::<Ledbat>()
        .with::<LinuxReno>()
        .with::<NewReno>()
        .with::<Prague>()
        .with::<Rfc2581>()
}

static BUILTIN: LazyLock<Registry<dyn CongestionController>> = LazyLock::new(builtin);

/// A control without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoParams {}

/// A congestion control with its parameters, which can start connections.
#[derive(Clone)]
pub struct CongestionControl {
    name: Cow<'static, str>,
    facts: Conduct,
    /// Its parameters, with all defaults filled in.
    params: Map<String, Value>,
    start: Start,
}

impl CongestionControl {
    /// `N` with its default parameters. It need not be in a registry.
    ///
    /// # Panics
    /// If the defaults of `N` are out of range.
    pub fn of<N: Named<Family = dyn CongestionController>>() -> Self {
        let made = Self::from_entry(&Entry::of::<N>(), &Map::new());
        made.unwrap_or_else(|error| panic!("{}: {error}", N::NAME))
    }

    /// The control called `name` in `registry`, with `given` parameters over its defaults.
    ///
    /// # Errors
    /// There is none (at `congestion`), or a parameter is unknown or out of range (at the control's
    /// own table).
    pub fn choose(
        registry: &Registry<dyn CongestionController>,
        name: &str,
        given: &Map<String, Value>,
    ) -> Result<Self, ConfigError> {
        let entry = registry
            .find(name)
            .map_err(|error| ConfigError { path: "congestion".into(), ..error })?;
        Self::from_entry(entry, given).map_err(|error| error.within(name))
    }

    fn from_entry(
        entry: &Entry<dyn CongestionController>,
        given: &Map<String, Value>,
    ) -> Result<Self, ConfigError> {
        let params = entry.effective(&Value::Object(given.clone()), &())?;
        let start = entry.build(&params, &())?;
        let Value::Object(params) = params else { unreachable!("parameters are a table") };
        Ok(CongestionControl { name: entry.name.clone(), facts: entry.facts, params, start })
    }

    /// Its name in a configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, all defaults filled in.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// What is known of it beside its name.
    pub fn facts(&self) -> Conduct {
        self.facts
    }

    /// The state of a new connection with `config`.
    pub fn start(&self, config: &Config) -> Box<dyn CongestionController> {
        (self.start)(config)
    }

    /// Whether the receiver reports every change of marks.
    pub(crate) fn counts_marks(&self) -> bool {
        self.facts.needs == Needs::EveryMark
    }

    /// The codepoint of every packet, if not only data are ECN-capable.
    pub(crate) fn always_ect(&self) -> Flags {
        match self.facts.needs {
            Needs::Nothing | Needs::Timestamps => Flags::NONE,
            Needs::EveryMark => Flags::ECT,
            Needs::AccurateEcn => Flags::ECT1,
        }
    }

    /// Checks that connections with `config` have what it needs.
    pub(crate) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let name = &self.name;
        let (has, message) = match self.facts.needs {
            Needs::Nothing => return Ok(()),
            Needs::Timestamps => {
                (config.timestamps, "measures delays by timestamps; set timestamps = true")
            }
            Needs::EveryMark => (config.ecn, "counts marks; set ecn = true"),
            Needs::AccurateEcn => (
                config.ecn && config.accurate_ecn,
                "needs accurate feedback; set ecn = true and accurate_ecn = true",
            ),
        };
        require(has, "congestion", || format!("{name:?} {message}"))
    }
}

/// A control of this crate by its name, with its default parameters.
impl FromStr for CongestionControl {
    type Err = ConfigError;
    fn from_str(name: &str) -> Result<Self, ConfigError> {
        Self::choose(&BUILTIN, name, &Map::new())
    }
}

/// Two are equal if their names and parameters are.
impl PartialEq for CongestionControl {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.params == other.params
    }
}

impl fmt::Debug for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if self.params.is_empty() { Ok(()) } else { write!(f, "{:?}", self.params) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::SchemaGenerator;

    #[test]
    fn every_control_explains_itself() {
        for entry in &builtin() {
            assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
            let schema = entry.schema(&mut SchemaGenerator::default());
            let properties = schema.get("properties").and_then(Value::as_object);
            for (field, form) in properties.into_iter().flatten() {
                let described = form.get("description").is_some_and(|text| !text.is_null());
                assert!(described, "{}.{field} has no doc comment", entry.name);
            }
            let control: CongestionControl = entry.name.parse().unwrap();
            let mut table = serde_json::json!({ "congestion": entry.name });
            entry.facts.needs.fields().iter().for_each(|field| table[*field] = true.into());
            Config::read(&table).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert_eq!(control.name(), entry.name);
            let config = Config {
                congestion: control,
                timestamps: true,
                ecn: true,
                accurate_ecn: true,
                ..Config::default()
            };
            config.validate().unwrap();
            assert!(config.congestion.start(&config).heap() > 0);
        }
    }

    #[test]
    fn what_a_control_needs_is_asked_for() {
        for entry in &builtin() {
            let config = Config { congestion: entry.name.parse().unwrap(), ..Config::default() };
            let refused = config.validate().err().map(|error| error.path);
            let wanted = (entry.facts.needs != Needs::Nothing).then(|| "congestion".to_owned());
            assert_eq!(refused, wanted, "{}", entry.name);
        }
    }
}
