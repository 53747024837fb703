//! The priority level of a packet.

use crate::Header;
use forebay_core::config::require;
use forebay_core::{Codepoint, ConfigError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule for a packet's priority level. The device behind the controller must have the same.
/// Level 0 is served last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// The packet's QoS class is its level.
    #[default]
    Class,
    /// Lists of codepoints, those of level 1 first; every other codepoint is level 0.
    Dscp(Vec<Vec<Codepoint>>),
    /// Lists of ports, those of level 1 first, of which either end's counts; flows between other
    /// ports are level 0.
    Ports(Vec<Vec<u16>>),
}

impl Priority {
    /// Checks the lists.
    ///
    /// # Errors
    /// A list is empty, there are too many, or an entry is in two lists.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Priority::Class => Ok(()),
            Priority::Dscp(levels) => {
                let values = levels.iter().map(|list| list.iter().map(|point| point.value()));
                check("dscp", values.map(Iterator::collect))
            }
            Priority::Ports(levels) => check("ports", levels.iter().cloned()),
        }
    }

    /// Level of the packet with `header`.
    #[inline]
    pub(super) fn level(&self, header: &Header) -> u8 {
        let find = |found: Option<usize>| found.map_or(0, |index| (index + 1) as u8);
        match self {
            Priority::Class => header.class,
            Priority::Dscp(levels) => find(
                levels
                    .iter()
                    .rposition(|list| list.iter().any(|point| point.value() == header.dscp)),
            ),
            Priority::Ports(levels) => {
                let ports = [header.flow.source_port, header.flow.destination_port];
                find(levels.iter().rposition(|list| list.iter().any(|port| ports.contains(port))))
            }
        }
    }
}

fn check<T: Ord + Copy + std::fmt::Display>(
    field: &str,
    levels: impl Iterator<Item = Vec<T>>,
) -> Result<(), ConfigError> {
    let levels: Vec<_> = levels.collect();
    require((1..=255).contains(&levels.len()), field, || {
        format!(
            "must have 1 to 255 lists, one for each level above the lowest, got {}",
            levels.len()
        )
    })?;
    let mut seen = std::collections::BTreeSet::new();
    for (index, list) in levels.iter().enumerate() {
        let path = format!("{field}[{index}]");
        require(!list.is_empty(), &path, || "must not be empty".into())?;
        for &entry in list {
            require(seen.insert(entry), &path, || format!("{entry} is already in a list"))?;
        }
    }
    Ok(())
}
