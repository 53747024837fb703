//! Marking rules: the class and precedence of a captured packet.

use super::Marks;
use crate::pcap_in::CapturedPacket;
use forebay_core::{Codepoint, text_form};
use forebay_shaper::host_number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Conditions on a packet, and marks for it. A condition that is left out is met; a mark that is left out
/// is the entry's.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Codepoint of the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Codepoint>,
    /// Protocol of the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Source or destination port of the packet. 0 to 65535.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Source addresses, such as "10.1.0.0/16".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Prefix>,
    /// Destination addresses, such as "2001:db8::/32".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Prefix>,
    /// QoS class for the packet. 0 to 255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<u8>,
    /// Precedence for the packet; higher is more important. 0 to 255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precedence: Option<u8>,
    /// Drop precedence for the packet; higher is dropped first. 0 to 255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_precedence: Option<u8>,
}

/// A protocol that a rule can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP or ICMPv6.
    Icmp,
}

impl Protocol {
    fn is(self, number: u8) -> bool {
        match self {
            Protocol::Tcp => number == 6,
            Protocol::Udp => number == 17,
            Protocol::Icmp => number == 1 || number == 58,
        }
    }
}

impl Rule {
    fn matches(&self, packet: &CapturedPacket) -> bool {
        let tuple = &packet.tuple;
        self.dscp.is_none_or(|dscp| dscp.value() == packet.dscp)
            && self.protocol.is_none_or(|protocol| protocol.is(tuple.protocol))
            && self.port.is_none_or(|port| tuple.ports.is_some_and(|(a, b)| a == port || b == port))
            && self.source.is_none_or(|prefix| prefix.contains(tuple.source))
            && self.destination.is_none_or(|prefix| prefix.contains(tuple.destination))
    }
}

/// The marks of `packet`: those of the first rule that matches, the entry's where the rule has
/// none, and the packet's own codepoint.
pub(super) fn marks(rules: &[Rule], packet: &CapturedPacket, entry: Marks) -> Marks {
    let rule = rules.iter().find(|rule| rule.matches(packet));
    let get = |field: fn(&Rule) -> Option<u8>, own| rule.and_then(field).unwrap_or(own);
    Marks {
        class: get(|rule| rule.q, entry.class),
        precedence: get(|rule| rule.precedence, entry.precedence),
        drop_precedence: get(|rule| rule.drop_precedence, entry.drop_precedence),
        dscp: packet.dscp,
        ecn: entry.ecn,
        hosts: [packet.tuple.source, packet.tuple.destination].map(host_number),
    }
}

/// A range of addresses, written `"10.1.0.0/16"`; without a length, one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// Whether `address` lies in this range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differ = match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
            (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= u32::from(self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!("expected addresses such as \"10.1.0.0/16\" or \"2001:db8::1\", got \"{text}\"")
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| refuse())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse().map_err(|_| refuse()))?;
        if length > most { Err(refuse()) } else { Ok(Prefix { address, length }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

text_form!(Prefix, "a string", {
    "description": "an address, or a range of them such as \"10.1.0.0/16\"",
    "examples": ["10.1.0.0/16", "2001:db8::/32"],
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap_in::FiveTuple;
    use forebay_core::Ecn;

    #[test]
    fn prefixes_contain_what_they_should() {
        let contains = |prefix: &str, address: &str| {
            prefix.parse::<Prefix>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.1.0.0/16", "10.1.255.3"));
        assert!(!contains("10.1.0.0/16", "10.2.0.3"));
        assert!(contains("10.1.0.7", "10.1.0.7"));
        assert!(!contains("10.1.0.7", "10.1.0.6"));
        assert!(contains("0.0.0.0/0", "192.0.2.1"));
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(contains("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!contains("2001:db8::/33", "2001:db8:8000::1"));
        for wrong in ["10.1/16", "10.1.0.0/33", "::/129", "here", "10.0.0.0/x"] {
            assert!(wrong.parse::<Prefix>().unwrap_err().contains("2001:db8::1"), "{wrong}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_marks() {
        let rules: Vec<Rule> = serde_json::from_value(serde_json::json!([
            {"dscp": "EF", "q": 2, "precedence": 1},
            {"port": 53, "protocol": "udp", "q": 1},
            {"port": 53, "q": 7},
        ]))
        .unwrap();
        let hosts = ["10.0.0.1", "10.0.0.2"].map(|text| host_number(text.parse().unwrap()));
        let ecn = Ecn::Ect1;
        let entry = Marks { class: 0, precedence: 3, drop_precedence: 2, dscp: 10, ecn, hosts };
        let packet = |dscp, protocol, ports| CapturedPacket {
            at_nanos: 0,
            len: 100,
            dscp,
            tuple: FiveTuple {
                source: "10.0.0.1".parse().unwrap(),
                destination: "10.0.0.2".parse().unwrap(),
                protocol,
                ports,
            },
        };
        let marked = |class, precedence, dscp| Marks { class, precedence, dscp, ..entry };
        let mark = |dscp, protocol, ports| marks(&rules, &packet(dscp, protocol, ports), entry);
        assert_eq!(mark(46, 17, Some((9, 53))), marked(2, 1, 46));
        assert_eq!(mark(0, 17, Some((9, 53))), marked(1, 3, 0));
        assert_eq!(mark(0, 6, Some((53, 9))), marked(7, 3, 0));
        assert_eq!(mark(8, 1, None), marked(0, 3, 8));
    }
}
