//! The registry of all parts that a scenario can name.

use crate::traffic::{self, Generator};
use forebay_core::{ConfigError, Discipline, Entry, Family, Named, Registry as Parts};
use forebay_disciplines::{Admit, Classify, Disciplines, Part, Schedule};
use forebay_middlebox::Middlebox;
use forebay_middlebox::marker::{self, Marker};
use forebay_tcp::Stack;
use forebay_tcp::congestion::{self, CongestionController};
use forebay_tcp::stacks;
use std::collections::BTreeMap;

/// The parts that scenarios can name: disciplines and their parts, sources of traffic, stacks and
/// congestion controls of TCP, markers and boxes.
#[derive(Clone, Default)]
pub struct Registry {
    /// Queue disciplines and their parts.
    pub disciplines: Disciplines,
    /// Sources of traffic.
    pub sources: Parts<Generator>,
    /// Congestion controls of TCP.
    pub controls: Parts<dyn CongestionController>,
    /// Stacks of TCP.
    pub stacks: Parts<Stack>,
    /// Markers, by the names that profiles use.
    pub markers: Parts<dyn Marker>,
    /// Boxes in front of links.
    pub boxes: Parts<dyn Middlebox>,
    /// SHA-256, in hexadecimal digits, of the plug-ins in the registry, by their paths in scenarios.
    pub plugins: BTreeMap<String, String>,
}

/// A family whose parts scenarios can name.
pub trait Nameable: Family {
    /// Adds `entry`.
    ///
    /// # Errors
    /// There is another part of this name.
    fn join(registry: &mut Registry, entry: Entry<Self>) -> Result<(), ConfigError>;
}

macro_rules! of_disciplines {
    ($($part:ident),+) => {$(
        impl Nameable for dyn $part {
            fn join(registry: &mut Registry, entry: Entry<Self>) -> Result<(), ConfigError> {
                <dyn $part as Part>::join(&mut registry.disciplines, entry)
            }
        }
    )+};
}

of_disciplines!(Discipline, Classify, Admit, Schedule);

macro_rules! of_parts {
    ($($family:ty: $parts:ident),+ $(,)?) => {$(
        impl Nameable for $family {
            fn join(registry: &mut Registry, entry: Entry<Self>) -> Result<(), ConfigError> {
                registry.$parts.join(entry)
            }
        }
    )+};
}

of_parts! {
    Generator: sources,
    dyn CongestionController: controls,
    Stack: stacks,
    dyn Marker: markers,
    dyn Middlebox: boxes,
}

impl Registry {
    /// The parts of forebay.
    pub fn builtin() -> Self {
        Registry {
            disciplines: Disciplines::builtin(),
            sources: traffic::builtin(),
            controls: congestion::builtin(),
            stacks: stacks::builtin(),
            markers: marker::builtin(),
            boxes: forebay_middlebox::builtin(),
            plugins: BTreeMap::new(),
        }
    }

    /// Adds `N`, a part of any family.
    ///
    /// # Panics
    /// If its family has another part of this name.
    #[must_use]
    pub fn with<N: Named<Family: Nameable>>(mut self) -> Self {
        let joined = N::Family::join(&mut self, Entry::of::<N>());
        joined.unwrap_or_else(|error| panic!("{error}"));
        self
    }
}
