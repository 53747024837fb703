//! The compiled rules, which choose the class of a packet, with a counter for each.

use crate::config::{Config, Marks, Rule};
use forebay_shaper::headers::IpView;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

impl Count {
    /// Counts a packet of `len` bytes.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Adds what another core has counted.
    pub fn merge(&mut self, more: Count) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

/// The rules of a configuration, ready to match, and what they have matched.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Compiled>,
    fallback: Marks,
    default: Count,
}

/// The packets that a rule has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP packets.
    pub bytes: u64,
}

#[derive(Debug, Clone)]
struct Compiled {
    rule: Rule,
    /// A bit for each codepoint. All are set if the rule names none.
    dscp: u64,
    marks: Marks,
    count: Count,
}

impl Rules {
    /// The rules of `config`, which have matched nothing yet.
    pub fn new(config: &Config) -> Self {
        let compile = |rule: &Rule| Compiled {
            dscp: match &rule.dscp[..] {
                [] => u64::MAX,
                listed => listed.iter().fold(0, |bits, dscp| bits | 1 << dscp.value()),
            },
            marks: rule.marks(),
            rule: rule.clone(),
            count: Count::default(),
        };
        let rules = config.rule.iter().map(compile).collect();
        Rules { rules, fallback: config.fallback, default: Count::default() }
    }

    /// The class of `view`, by the first rule that matches. Fragments and packets with malformed
    /// headers get the default.
    #[inline]
    pub fn marks(&mut self, view: &IpView) -> Marks {
        let found = self.find(view).map(|place| &mut self.rules[place]);
        let (count, marks) = match found {
            Some(rule) => (&mut rule.count, rule.marks),
            None => (&mut self.default, self.fallback),
        };
        count.add(view.len);
        marks
    }

    /// The QoS class of `view`, without counting it.
    pub fn class(&self, view: &IpView) -> u8 {
        self.find(view).map_or(self.fallback, |place| self.rules[place].marks).q
    }

    #[inline]
    fn find(&self, view: &IpView) -> Option<usize> {
        if view.fragment || !view.whole {
            return None;
        }
        self.rules.iter().position(|rule| rule.matches(view))
    }

    /// Name and count of each rule, the default last.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Count)> {
        let named = self.rules.iter().map(|rule| (rule.rule.name.as_str(), rule.count));
        named.chain(std::iter::once(("default", self.default)))
    }

    /// Takes over the counts of rules of the same names.
    pub fn inherit(&mut self, before: &Rules) {
        for rule in &mut self.rules {
            let same = before.rules.iter().find(|old| old.rule.name == rule.rule.name);
            rule.count = same.map_or(Count::default(), |old| old.count);
        }
        self.default = before.default;
    }
}

impl Compiled {
    #[inline]
    fn matches(&self, view: &IpView) -> bool {
        let rule = &self.rule;
        let within = |prefixes: &[IpNet], address: IpAddr| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| prefix.contains(&address))
        };
        if self.dscp >> (view.tos >> 2) & 1 == 0
            || rule.protocol.is_some_and(|protocol| protocol.0 != view.protocol)
            || rule.min_size.is_some_and(|size| u64::from(view.len) < size.0)
            || rule.max_size.is_some_and(|size| u64::from(view.len) > size.0)
            || !within(&rule.source, view.source)
            || !within(&rule.destination, view.destination)
        {
            return false;
        }
        if rule.source_port.is_empty() && rule.destination_port.is_empty() && rule.port.is_empty() {
            return true;
        }
        let Some((source, destination)) = view.ports else { return false };
        let listed = |ports: &[crate::config::Ports], port: u16| {
            ports.is_empty() || ports.iter().any(|range| range.contain(port))
        };
        listed(&rule.source_port, source)
            && listed(&rule.destination_port, destination)
            && (listed(&rule.port, source) || listed(&rule.port, destination))
    }
}

/// A sentence for `check` about a rule that can never match: it is the same as, or narrower than,
/// an earlier one.
pub fn shadowed(rules: &[Rule]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (later, rule) in rules.iter().enumerate() {
        if let Some(earlier) = rules[..later].iter().position(|before| covers(before, rule)) {
            found.push((earlier, later));
        }
    }
    found
}

/// Whether everything that `narrow` matches is matched by `wide`.
fn covers(wide: &Rule, narrow: &Rule) -> bool {
    fn lists<T>(wide: &[T], narrow: &[T], holds: impl Fn(&T, &T) -> bool) -> bool {
        let each = |inner| wide.iter().any(|outer| holds(outer, inner));
        wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(each))
    }
    let ports = |wide: &[crate::config::Ports], narrow: &[crate::config::Ports]| {
        lists(wide, narrow, |outer, inner| outer.first <= inner.first && outer.last >= inner.last)
    };
    let nets = |wide: &[IpNet], narrow: &[IpNet]| {
        lists(wide, narrow, |outer: &IpNet, inner: &IpNet| outer.contains(inner))
    };
    lists(&wide.dscp, &narrow.dscp, |outer, inner| outer == inner)
        && (wide.protocol.is_none() || wide.protocol == narrow.protocol)
        && nets(&wide.source, &narrow.source)
        && nets(&wide.destination, &narrow.destination)
        && ports(&wide.source_port, &narrow.source_port)
        && ports(&wide.destination_port, &narrow.destination_port)
        && ports(&wide.port, &narrow.port)
        && wide.min_size.is_none_or(|size| narrow.min_size.is_some_and(|inner| inner >= size))
        && wide.max_size.is_none_or(|size| narrow.max_size.is_some_and(|inner| inner <= size))
}
