//! A stack that was chosen from a registry.

use super::linux::{self, Acknowledging, LinuxParams, Version};
use super::rules::Rules;
use super::standard::StandardParams;
use crate::chosen::Chosen;
use crate::congestion::CongestionControl;
use crate::{ConnectionParams, LossRecovery};
use forebay_core::config::require;
use forebay_core::{ConfigError, Family, Registry};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The abilities of a stack.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// Ways of loss recovery.
    pub recovery: &'static [LossRecovery],
    /// Names of the congestion controls that it has. None: any.
    pub congestion: Option<&'static [&'static str]>,
    /// Options of [`ConnectionParams`] that it lacks: `accurate_ecn`, `ecn`, `hystart`, `max_window`,
    /// `pacing`, `quick_acks`, `slow_start_after_idle` or `timestamps`.
    pub lacks: &'static [&'static str],
}

impl Abilities {
    /// Everything.
    pub const ALL: Abilities = Abilities {
        recovery: &[LossRecovery::Reno, LossRecovery::NewReno, LossRecovery::Sack],
        congestion: None,
        lacks: &[],
    };

    fn has_control(&self, control: &CongestionControl) -> bool {
        self.congestion.is_none_or(|names| names.contains(&control.name()))
    }
}

/// Makes the rules of a new sender.
pub type Make = Arc<dyn Fn(&ConnectionParams) -> Box<dyn Rules> + Send + Sync>;

/// The rules of a stack's senders and receivers.
#[derive(Clone)]
pub enum Host {
    /// The standards' rules.
    Standard(StandardParams),
    /// Those of a version of Linux.
    Linux(Version, LinuxParams),
    /// The sender's are made by this; the receiver's are the standards'.
    Rules(Make),
}

/// A stack with its parameters.
pub type Stack = Chosen<Abilities, Host>;

impl Family for Stack {
    const WHAT: &'static str = "stack";
    type Facts = Abilities;
    const USUAL: Abilities = Abilities::ALL;
    type Site<'a> = ();
    type Built = Host;
}

impl Stack {
    /// The table that a configuration has for it.
    pub(crate) fn table(&self) -> Value {
        let mut table = Map::from_iter([("kind".to_owned(), json!(self.name()))]);
        table.extend(self.params().clone());
        Value::Object(table)
    }

    /// The first window that its receivers offer, in bytes.
    pub(crate) fn first_window(&self, connection: &ConnectionParams) -> u64 {
        match self.built {
            Host::Linux(version, _) if !version.is_2_6() => linux::first_window(connection),
            _ => connection.receive_window.largest(),
        }
    }

    /// When its receivers acknowledge, if not by the standards' rules.
    pub(crate) fn acknowledging(&self, connection: &ConnectionParams) -> Option<Acknowledging> {
        match self.built {
            Host::Linux(version, params) => Some(Acknowledging::new(version, &params, connection)),
            _ => None,
        }
    }

    /// Checks that it has what a connection asks for. `others` are those of which the message names
    /// the ones that have it.
    ///
    /// # Errors
    /// The first field that asks for what it lacks.
    pub(crate) fn check(
        &self,
        connection: &ConnectionParams,
        control: &CongestionControl,
        others: &Registry<Stack>,
    ) -> Result<(), ConfigError> {
        let lacks = |what: String, has: &dyn Fn(&Abilities) -> bool| {
            let able = others.iter().filter(|entry| has(&entry.facts));
            let able: Vec<_> = able.map(|entry| format!("\"{}\"", entry.name)).collect();
            format!(
                "the stack \"{}\" has no {what}; these have it: {}",
                self.name(),
                able.join(", ")
            )
        };
        let recovery = connection.recovery;
        require(self.facts().recovery.contains(&recovery), "recovery", || {
            lacks(format!("recovery \"{}\"", recovery.name()), &|facts| {
                facts.recovery.contains(&recovery)
            })
        })?;
        require(self.facts().has_control(control), "congestion", || {
            lacks(format!("control \"{}\"", control.name()), &|facts| facts.has_control(control))
        })?;
        for &field in self.facts().lacks {
            require(!connection.uses(field), field, || {
                lacks(format!("`{field}`"), &|facts| !facts.lacks.contains(&field))
            })?;
        }
        Ok(())
    }
}
