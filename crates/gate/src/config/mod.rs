//! The gate's configuration.

mod schema;
mod subscribers;
mod values;

pub use schema::schema;
pub use subscribers::{At, Known, Subscribers};
pub use values::{Interface, Other, Ports, Protocol};

use crate::plugins::Parts;
use crate::text;
use forebay_core::config::{finite, one, read, require, within};
use forebay_core::{Bytes, Codepoint, ConfigError, Duration, Overhead, Rate, Setting, file};
use forebay_middlebox::Middlebox;
use forebay_shaper::link::check_mtu;
use forebay_shaper::{Plan, link_table};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file in bytes: 1000 rules of a kilobyte each.
const LARGEST: u64 = 1 << 20;
/// Most rules. A packet costs a comparison with every rule before the one that it matches.
const MOST_RULES: usize = 1_000;
/// Largest IP packet, in bytes: a jumbo frame's.
const MOST_MTU: u64 = 9_000;
/// Most buffers: 2 GiB with an MTU of 1500 B.
const MOST_BUFFERS: u32 = 1 << 20;
/// Most cores.
const MOST_CORES: u32 = 64;

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The direction from inside to outside.
    pub link: Link,
    /// The interfaces.
    pub io: Io,
    /// Subscribers that share the link; then it has a rate in each direction, and no queue of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<Subscribers>,
    /// Class of the packets that no rule matches, of fragments, and of packets with malformed
    /// headers.
    #[serde(default, rename = "default")]
    pub fallback: Marks,
    /// Everything that is neither IPv4 nor IPv6 (ARP, spanning tree, ...), and IPv6 neighbour
    /// discovery: "pass" (unqueued, and not counted against the rate) or a QoS class.
    #[serde(default)]
    pub other: Other,
    /// Rules that give packets their `q`. The first rule that matches decides.
    #[serde(default)]
    pub rule: Vec<Rule>,
    /// Unix socket for `status`, `watch` and `reload`.
    #[serde(default = "default_socket")]
    pub socket: PathBuf,
    /// Address and port of the Prometheus text, on the loopback interface, such as
    /// "127.0.0.1:9101"; none if absent.
    #[serde(
        default,
        deserialize_with = "values::address",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub metrics: Option<SocketAddr>,
    /// Shared libraries with disciplines that the queues may name, absolute paths; loaded before
    /// privileges are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PathBuf>,
    /// User to run as once everything is open, such as "nobody".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Seed of the disciplines' random numbers.
    #[serde(default = "one::<u64>")]
    pub seed: u64,
    /// The parts of which its queues and boxes are built.
    #[serde(skip, default = "Parts::builtin")]
    pub(crate) parts: Parts,
    /// The subscribers of their files.
    #[serde(skip)]
    pub(crate) known: Option<Arc<Known>>,
}

fn default_socket() -> PathBuf {
    PathBuf::from("/run/forebay-gate.sock")
}

link_table! {
    /// One direction, with the fields of a scenario's link. Without a rate and a queue, packets
    /// pass unqueued.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Link {
        before {
            /// Constant rate, above 0.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate: Option<Rate>,
        }
        after {
            /// Emulated propagation delay: a packet leaves this long after the end of its
            /// transmission. Without it, a packet leaves at the start of its transmission, because
            /// a real link follows.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub delay: Option<Duration>,
            /// Box in front of the queue, which also sees the packets of the other direction:
            /// `{ kind = "aspq" }`.
            #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<Value>")]
            pub middlebox: Option<Value>,
            /// The direction from outside to inside. Without it, packets pass unqueued.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub reverse: Option<Box<Link>>,
        }
    }
}

/// The way in which packets come and go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Back end that carries packets into the gate and out of it.
    #[serde(default)]
    pub backend: Backend,
    /// Interface of the side whose packets `link` shapes: "eth0", or `{ name = "eth0", netns =
    /// "left" }`.
    pub inside: Interface,
    /// Interface of the other side, written likewise.
    pub outside: Interface,
    /// Packets that the gate can hold, queued or in transit; each core has an equal part of them.
    #[serde(default = "default_buffers", deserialize_with = "values::at_most::<_, MOST_BUFFERS>")]
    pub buffers: u32,
    /// Cores on which it runs, each with a part of the subscribers: 1 to 64. More than one needs
    /// `subscribers`, and the back end "packet" or "xdp".
    #[serde(default = "one::<u32>", deserialize_with = "values::at_most::<_, MOST_CORES>")]
    pub cores: u32,
}

fn default_buffers() -> u32 {
    16_384
}

/// The way in which packets come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Two TUN interfaces, to which the kernel routes: IP packets, no link layer.
    #[default]
    Tun,
    /// Two existing interfaces at layer 2, through AF_PACKET.
    Packet,
    /// Likewise through AF_XDP.
    Xdp,
}

/// Marks that a rule gives to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Marks {
    /// QoS class, 0 to 255, as `q` of a scenario's traffic; higher is served first.
    #[serde(alias = "class")]
    pub q: u8,
    /// Precedence, 0 to 255; higher is more important.
    pub precedence: u8,
    /// Drop precedence, 0 to 7; higher is dropped first.
    pub drop_precedence: u8,
}

/// Conditions on a packet, and the marks that it gets if all of them hold. If a condition is a
/// list, one of its entries must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name in the counters; unique.
    pub name: String,
    /// Differentiated services codepoints, such as "EF" or 46.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<Codepoint>,
    /// Protocol: "tcp", "udp", "icmp", "icmpv6" or a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Prefixes of the source, such as "10.0.0.0/8" or "2001:db8::/32".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<values::Network>")]
    pub source: Vec<IpNet>,
    /// Prefixes of the destination, written likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<values::Network>")]
    pub destination: Vec<IpNet>,
    /// Source ports, such as 53 or "16384-32767".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_port: Vec<Ports>,
    /// Destination ports, written likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destination_port: Vec<Ports>,
    /// Ports of which the source or the destination must be one, written likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub port: Vec<Ports>,
    /// Shortest IP packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_size: Option<Bytes>,
    /// Longest IP packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size: Option<Bytes>,
    /// QoS class, 0 to 255, as `q` of a scenario's traffic; higher is served first.
    #[serde(default, alias = "class")]
    pub q: u8,
    /// Precedence, 0 to 255; higher is more important.
    #[serde(default)]
    pub precedence: u8,
    /// Drop precedence, 0 to 7; higher is dropped first.
    #[serde(default)]
    pub drop_precedence: u8,
}

impl Rule {
    /// The marks that the rule gives.
    pub fn marks(&self) -> Marks {
        let Rule { q, precedence, drop_precedence, .. } = *self;
        Marks { q, precedence, drop_precedence }
    }
}

impl Config {
    /// Reads the configuration at `path`, which can name `parts`, and loads its plug-ins.
    ///
    /// # Errors
    /// The file cannot be used. The message has the path of the field, and the remedy.
    pub fn load(path: &Path, parts: &Parts) -> Result<Self, ConfigError> {
        Config::of_file(path, |text, base| Config::parse_in(base, text, parts))
    }

    /// Reads the configuration at `path` again, for a running gate that has `parts`.
    ///
    /// # Errors
    /// As [`Config::load`], or it has other plug-ins.
    pub fn reload(path: &Path, parts: &Parts) -> Result<Self, ConfigError> {
        Config::of_file(path, |text, base| {
            let config = Config::read(text)?;
            parts.has_plugins(&config.plugins)?;
            config.checked(parts.clone(), base)
        })
    }

    fn of_file(
        path: &Path,
        parse: impl FnOnce(&str, &Path) -> Result<Self, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let refuse = |error: ConfigError| {
            let place = path.display();
            ConfigError::new("", format!("{place}: {error}"))
        };
        let text = file::read_text(path, LARGEST)
            .map_err(|error| refuse(ConfigError::new("", error.to_string())))?;
        parse(&text, path.parent().unwrap_or(path)).map_err(refuse)
    }

    /// Reads the TOML text `text`, which can name `parts`, and loads its plug-ins.
    ///
    /// # Errors
    /// The text cannot be used, or names files of subscribers. The message has the path of the
    /// field, and the remedy.
    pub fn parse(text: &str, parts: &Parts) -> Result<Self, ConfigError> {
        let config = Config::read(text)?;
        require(config.subscribers.is_none(), "subscribers", || {
            "names files, so the configuration must be in a file, too".into()
        })?;
        let parts = parts.with_plugins(&config.plugins)?;
        config.checked(parts, Path::new(""))
    }

    /// As [`Config::parse`], for a text that stands in a file of the folder `base`.
    ///
    /// # Errors
    /// The text or a file that it names cannot be used.
    pub fn parse_in(base: &Path, text: &str, parts: &Parts) -> Result<Self, ConfigError> {
        let config = Config::read(text)?;
        let parts = parts.with_plugins(&config.plugins)?;
        config.checked(parts, base)
    }

    fn read(text: &str) -> Result<Self, ConfigError> {
        let tree: Value = toml::from_str(text)
            .map_err(|error| ConfigError::new("", text::short(&error.to_string())))?;
        finite(&tree)?;
        read(&tree)
    }

    fn checked(mut self, parts: Parts, base: &Path) -> Result<Self, ConfigError> {
        self.parts = parts;
        self.check()?;
        let of = |side| self.direction(side).and_then(|link| Some(link.setting(link.rate?)));
        let links = At::BOTH.map(of);
        if let (Some(subscribers), [Some(forward), Some(reverse)]) = (&self.subscribers, links) {
            let cores = self.io.cores as usize;
            let known = subscribers.read(base, cores, [forward, reverse], &self.parts);
            self.known = Some(Arc::new(known.map_err(|error| error.within("subscribers"))?));
        }
        Ok(self)
    }

    /// The table of packets that arrive on `side`.
    pub fn direction(&self, side: At) -> Option<&Link> {
        match side {
            At::Inside => Some(&self.link),
            At::Outside => self.link.reverse.as_deref(),
        }
    }

    /// The plan of a core's shaper for packets that arrive on `side`. None if they pass unqueued.
    ///
    /// # Errors
    /// The queue is wrong.
    pub fn plan(&self, side: At, core: usize) -> Result<Option<Plan>, ConfigError> {
        let Some(link) = self.direction(side) else { return Ok(None) };
        match (&self.known, link.rate) {
            (Some(known), Some(rate)) => Ok(Some(known.plan(side, core, link.setting(rate)))),
            _ => link.plan(&self.parts),
        }
    }

    /// Forgets the subscribers: their packets pass.
    pub fn pass_subscribers(&mut self) {
        (self.subscribers, self.known) = (None, None);
    }

    /// Checks the links of subscribers.
    fn check_shared(&self) -> Result<(), ConfigError> {
        require(self.link.reverse.is_some(), "link.reverse", || {
            "is missing; subscribers share a rate in each direction".into()
        })?;
        for (side, path) in At::BOTH.into_iter().zip(["link", "link.reverse"]) {
            let Some(link) = self.direction(side) else { continue };
            require(link.rate.is_some(), &format!("{path}.rate"), || {
                "is missing; subscribers share it".into()
            })?;
            require(link.queue.is_none(), &format!("{path}.queue"), || {
                "is not allowed beside `subscribers`; `subscribers.queue` is that of a circuit"
                    .into()
            })?;
        }
        Ok(())
    }

    /// Checks conditions over several fields.
    fn check(&self) -> Result<(), ConfigError> {
        let shared = self.subscribers.is_some();
        if shared {
            self.check_shared()?;
        }
        self.link.check(&self.parts, shared).map_err(|error| error.within("link"))?;
        if let Some(reverse) = &self.link.reverse {
            require(reverse.reverse.is_none(), "link.reverse.reverse", || {
                "is not allowed here, because a link has only two directions".into()
            })?;
            reverse.check(&self.parts, shared).map_err(|error| error.within("link.reverse"))?;
        }
        let Io { inside, outside, buffers, cores, .. } = &self.io;
        for (interface, path) in [(inside, "io.inside"), (outside, "io.outside")] {
            let length = interface.name().len();
            require((1..16).contains(&length), path, || {
                format!("an interface has a name of 1 to 15 bytes, got \"{}\"", interface.name())
            })?;
            let plain = |netns: &str| !netns.is_empty() && !netns.contains('/');
            require(interface.netns().is_none_or(plain), &format!("{path}.netns"), || {
                "must be a name from `ip netns list`".into()
            })?;
        }
        require(inside != outside, "io.outside", || "must differ from `inside`".into())?;
        within("io.cores", *cores, 1..=MOST_CORES)?;
        within("io.buffers", *buffers, 256 * cores..=MOST_BUFFERS)?;
        if *cores > 1 {
            self.check_cores()?;
        }
        within("default.drop_precedence", self.fallback.drop_precedence, 0..=7)?;
        require(self.rule.len() <= MOST_RULES, "rule", || {
            format!("at most {MOST_RULES} rules, got {}", self.rule.len())
        })?;
        for (index, rule) in self.rule.iter().enumerate() {
            let place = |error: ConfigError| error.within(&format!("rule[{index}]"));
            within("drop_precedence", rule.drop_precedence, 0..=7).map_err(place)?;
            let is_new = self.rule[..index].iter().all(|other| other.name != rule.name);
            require(is_new, "name", || format!("two rules are called \"{}\"", rule.name))
                .map_err(place)?;
            let in_order = rule.min_size.zip(rule.max_size).is_none_or(|(min, max)| min <= max);
            require(in_order, "max_size", || "must not be below `min_size`".into())
                .map_err(place)?;
        }
        if let Some(address) = self.metrics {
            require(address.ip().is_loopback(), "metrics", || {
                format!(
                    "must be on the loopback interface, such as \"127.0.0.1:9101\", got \
                     \"{address}\"; let a proxy with access control publish it"
                )
            })?;
        }
        Ok(())
    }

    /// The configuration with every default filled in, including those of the disciplines.
    ///
    /// # Errors
    /// A queue is wrong.
    pub fn effective(&self) -> Result<Config, ConfigError> {
        let mut whole = self.clone();
        whole.link.fill_in(&self.parts).map_err(|error| error.within("link"))?;
        if let Some(reverse) = &mut whole.link.reverse {
            reverse.fill_in(&self.parts).map_err(|error| error.within("link.reverse"))?;
        }
        Ok(whole)
    }

    /// Largest IP packet of both directions, in bytes.
    pub fn mtu(&self) -> u32 {
        let reverse = self.link.reverse.as_ref().map_or(0, |reverse| reverse.mtu.0);
        self.link.mtu.0.max(reverse) as u32
    }
}

impl Link {
    /// A direction in which packets of up to `mtu` bytes pass unqueued.
    pub fn passing(mtu: u32) -> Link {
        Link {
            rate: None,
            overhead: Overhead::default(),
            mtu: Bytes(mtu.into()),
            delay: None,
            middlebox: None,
            queue: None,
            reverse: None,
        }
    }

    /// Checks the table. If it is `shared`, its subscribers have the queues.
    fn check(&self, parts: &Parts, shared: bool) -> Result<(), ConfigError> {
        check_mtu(self.mtu, MOST_MTU)?;
        require(self.rate.is_none_or(|rate| rate.bps() > 0), "rate", || {
            "must be greater than 0; leave it out to let packets pass".into()
        })?;
        require(self.queue.is_none() || self.rate.is_some(), "rate", || {
            "is missing; a queue needs the rate at which it sends, a little below that of the \
             link behind the gate"
                .into()
        })?;
        require(shared || self.rate.is_none() || self.queue.is_some(), "queue", || {
            "is missing; a rate needs a queue such as { kind = \"fq-codel\" }".into()
        })?;
        self.middlebox(parts)?;
        if let Some(plan) = self.plan(parts)? {
            let disciplines = &parts.disciplines;
            disciplines
                .build(&plan.queue, &plan.setting())
                .map_err(|error| error.within("queue"))?;
        }
        Ok(())
    }

    fn fill_in(&mut self, parts: &Parts) -> Result<(), ConfigError> {
        if let (Some(rate), Some(queue)) = (self.rate, &self.queue) {
            let whole = parts.disciplines.effective(queue, &self.setting(rate));
            self.queue = Some(whole.map_err(|error| error.within("queue"))?);
        }
        if let Some(block) = &self.middlebox {
            let whole = parts.boxes.effective(block, &self.site());
            self.middlebox = Some(whole.map_err(|error| error.within("box"))?);
        }
        Ok(())
    }

    /// The link for which its box is built.
    fn site(&self) -> Option<Setting> {
        self.rate.map(|rate| self.setting(rate))
    }

    /// Its box, if it has one.
    ///
    /// # Errors
    /// The box is wrong.
    pub fn middlebox(&self, parts: &Parts) -> Result<Option<Box<dyn Middlebox>>, ConfigError> {
        let site = self.site();
        let built =
            self.middlebox.as_ref().map(|block| parts.boxes.build(block, &site)).transpose();
        built.map(Option::flatten).map_err(|error| error.within("box"))
    }

    /// The plan of the shaper. None if packets pass unqueued.
    ///
    /// # Errors
    /// The queue is wrong.
    pub fn plan(&self, parts: &Parts) -> Result<Option<Plan>, ConfigError> {
        let mut whole = self.clone();
        whole.fill_in(parts)?;
        let Setting { overhead, mtu, .. } = self.setting(Rate::default());
        Ok(whole.rate.zip(whole.queue).map(|(rate, queue)| Plan::new(rate, overhead, mtu, queue)))
    }
}

#[cfg(test)]
mod tests;
