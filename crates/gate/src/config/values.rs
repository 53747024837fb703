//! Values with a syntax of their own: interfaces, protocols, ports.

use forebay_core::config::read;
use forebay_core::schema_form;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::net::SocketAddr;

/// A whole number of at most `MOST`. Of a larger one, serde would not say how large it may be.
pub fn at_most<'de, D: Deserializer<'de>, const MOST: u32>(
    deserializer: D,
) -> Result<u32, D::Error> {
    let number = u64::deserialize(deserializer)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= MOST)
        .ok_or_else(|| serde::de::Error::custom(format!("must be at most {MOST}, got {number}")))
}

/// An address with a port.
pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|_| {
        serde::de::Error::custom(format!(
            "expected an address and a port, such as \"127.0.0.1:9101\", got \"{text}\""
        ))
    })
}

/// A network interface, written `"eth0"` or `{ name = "eth0", netns = "left" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface(InterfaceTable);

/// An interface of another network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InterfaceTable {
    /// Name, such as "eth0".
    name: String,
    /// Network namespace, as `ip netns` calls it; the gate's own if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    netns: Option<String>,
}

impl Interface {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its namespace, if it is not the gate's.
    pub fn netns(&self) -> Option<&str> {
        self.0.netns.as_deref()
    }
}

impl Serialize for Interface {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.netns {
            None => serializer.serialize_str(&self.0.name),
            Some(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Interface {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        if let Value::String(name) = value {
            return Ok(Interface(InterfaceTable { name, netns: None }));
        }
        read(&value).map(Interface).map_err(|error| {
            D::Error::custom(format!(
                "expected \"eth0\" or {{ name = \"eth0\", netns = \"left\" }}: {error}"
            ))
        })
    }
}

schema_form!(Interface, |generator| {
    "description": "a network interface",
    "anyOf": [
        { "type": "string", "examples": ["eth0"] },
        generator.subschema_for::<InterfaceTable>(),
    ],
});

/// Treatment of packets that are not IP: "pass" or a QoS class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Other {
    /// They are not queued.
    #[default]
    Pass,
    /// They are queued in this class.
    Class(u8),
}

impl Serialize for Other {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Other::Pass => serializer.serialize_str("pass"),
            Other::Class(class) => serializer.serialize_u8(*class),
        }
    }
}

impl<'de> Deserialize<'de> for Other {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let class = value.as_u64().and_then(|class| u8::try_from(class).ok());
        match (value.as_str(), class) {
            (Some("pass"), _) => Ok(Other::Pass),
            (_, Some(class)) => Ok(Other::Class(class)),
            _ => Err(serde::de::Error::custom(format!(
                "expected \"pass\" or a QoS class from 0 to 255, got {value}"
            ))),
        }
    }
}

schema_form!(Other, {
    "description": "what happens to packets that are not IP",
    "anyOf": [{ "enum": ["pass"] }, { "type": "integer", "minimum": 0, "maximum": 255 }],
});

/// An IP protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol(pub u8);

const PROTOCOLS: [(&str, u8); 4] = [("tcp", 6), ("udp", 17), ("icmp", 1), ("icmpv6", 58)];

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match PROTOCOLS.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => serializer.serialize_str(name),
            None => serializer.serialize_u8(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let by_name =
            |name| PROTOCOLS.iter().find(|(known, _)| *known == name).map(|known| known.1);
        let number = match &value {
            Value::String(name) => by_name(name.as_str()),
            other => other.as_u64().and_then(|number| u8::try_from(number).ok()),
        };
        number.map(Protocol).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "expected \"tcp\", \"udp\", \"icmp\", \"icmpv6\" or a number to 255, got {value}"
            ))
        })
    }
}

schema_form!(Protocol, {
    "description": "an IP protocol",
    "anyOf": [
        { "enum": PROTOCOLS.map(|(name, _)| name) },
        { "type": "integer", "minimum": 0, "maximum": 255 },
    ],
});

/// A port, or a range of them with both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    /// Whether `port` is in the range.
    #[inline]
    pub fn contain(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl Serialize for Ports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.first == self.last {
            serializer.serialize_u16(self.first)
        } else {
            serializer.collect_str(&format_args!("{}-{}", self.first, self.last))
        }
    }
}

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let parse = |text: &str| text.trim().parse::<u16>().ok();
        let ends = match &value {
            Value::String(text) => match text.split_once('-') {
                Some((first, last)) => parse(first).zip(parse(last)),
                None => parse(text).map(|port| (port, port)),
            },
            other => {
                other.as_u64().and_then(|port| u16::try_from(port).ok()).map(|port| (port, port))
            }
        };
        match ends {
            Some((first, last)) if first <= last => Ok(Ports { first, last }),
            _ => Err(serde::de::Error::custom(format!(
                "expected a port such as 53 or a range such as \"16384-32767\", got {value}"
            ))),
        }
    }
}

schema_form!(Ports, {
    "description": "a port, or a range of them",
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": 65535 },
        { "type": "string", "examples": ["16384-32767"] },
    ],
});

/// A network as a configuration writes it.
pub(super) struct Network;

schema_form!(Network, {
    "description": "a network",
    "type": "string",
    "examples": ["10.0.0.0/8", "2001:db8::/32"],
});
