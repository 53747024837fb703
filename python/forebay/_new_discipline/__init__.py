"""A crate for a discipline of one's own, which builds, tests and runs at once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from string import Template

from forebay import _disk
from forebay._engine import ScenarioError

CARGO = Template("""\
[package]
name = "$name"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
forebay-abi = { path = "$tree/crates/abi" }
forebay-core = { path = "$tree/crates/core" }
forebay-disciplines = { path = "$tree/crates/disciplines" }
schemars = "1"
serde = { version = "1", features = ["derive"] }

[dev-dependencies]
forebay-conformance = { path = "$tree/crates/conformance" }
serde_json = "1"

[workspace]
""")

RUST = Template("""\
//! `$name`: one queue that drops arriving packets at random while it is long.
//!
//! Source: say here which paper or RFC it follows, and where you deviate from it.

use forebay_core::config::require;
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Setting, Time,
};
use forebay_disciplines::Admit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters. The comment of each is what `forebay kinds $name` shows: meaning, unit, range.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Room in the queue, in packets ("100p") or bytes ("150KB"); above 0.
    pub limit: Limit,
    /// Packets above which arriving ones are dropped at random.
    pub threshold: u32,
    /// Probability of such a drop, 0 to 1.
    pub probability: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Limit::Packets(100), threshold: 20, probability: 0.1 }
    }
}

/// The admission rule: may a packet stay, and if not who goes? One queue under it is a kind.
pub struct $type {
    params: Params,
}

impl Named for $type {
    type Family = dyn Admit;
    const NAME: &'static str = "$name";
    const SUMMARY: &'static str = "random drops above a threshold";
    const SOURCE: &'static str = "none yet";
    type Params = Params;

    fn build(params: &Params, _: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        require(!params.limit.is_zero(), "limit", || "must be above 0, got \\"0\\"".into())?;
        require((0.0..=1.0).contains(&params.probability), "probability", || {
            format!("must be 0 to 1, got {}", params.probability)
        })?;
        Ok(Box::new($type { params: params.clone() }))
    }
}

impl Admit for $type {
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let (packets, bytes) = (bank.packets(queue), bank.bytes(queue));
        if !self.params.limit.admits(packets, bytes, packet.len) {
            return Err(DropReason::Overflow);
        }
        let long = packets >= self.params.threshold as usize;
        if long && cx.rng.chance(self.params.probability) && !cx.mark(packet) {
            return Err(DropReason::Aqm);
        }
        Ok(())
    }

    /// Internal variables, for plots.
    fn probe(&self, _: Time, bank: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        out("long", f64::from(u8::from(bank.total().packets >= self.params.threshold as usize)));
    }
}

forebay::plugin!($type);

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_conformance::{Arrival, Fate, Manner, SETTING, check, run};
    use forebay_core::Conduct;
    use serde_json::json;

    fn registry() -> forebay::Disciplines {
        forebay::Disciplines::default().with::<$type>()
    }

    #[test]
    fn it_keeps_the_contracts() {
        let registry = registry();
        let kind = registry.kinds.find("$name").unwrap();
        for block in [json!({}), json!({ "limit": "30KB", "threshold": 2, "probability": 0.5 })] {
            check(kind, &block).unwrap_or_else(|what| panic!("{block}: {what}"));
        }
    }

    #[test]
    fn above_the_threshold_certain_drops_leave_so_many_packets() {
        let block = json!({ "kind": "$name", "threshold": 5, "probability": 1.0 });
        let mut queue = registry().build(&block, &SETTING).unwrap();
        let twelve = [Arrival::of(1500); 12];
        let fates = run(&mut *queue, &twelve, Conduct::USUAL, Manner::Plain).unwrap();
        let dropped = |fate: &&Fate| matches!(fate, Fate::Dropped(_, DropReason::Aqm));
        // One of twelve is in transmission at once, five wait.
        assert_eq!(fates.iter().filter(dropped).count(), 6);
    }
}
""")

SCENARIO = Template("""\
# $name beside others on a congested link.
duration = "20s"
warmup = "5s"
plugins = ["target/release/lib$crate.so"]

[dumbbell]
rate = "10Mbit"
delay = "20ms"
queue = { kind = "$name" }

[[traffic]]
kind = "bulk"
flows = 4

[[traffic]]
kind = "voice"
flows = 4

[compare]
replications = 5
disciplines = ["fifo", "codel", "$name"]
""")


def source_tree(start: Path) -> Path:
    """The folder of forebay's sources around `start`, or where this module lies.

    Raises:
        ScenarioError: there is none.
    """
    here = Path(__file__).resolve()
    begun = _disk.leads_to(start)
    for folder in (begun, *begun.parents, *here.parents):
        if (folder / "crates" / "abi" / "Cargo.toml").is_file():
            return folder
    raise ScenarioError("forebay's sources are not here; say where they are with --source")


def write(name: str, folder: Path, source: Path) -> Path:
    """Write the crate of a discipline called `name` into a new folder.

    Args:
        name: what scenarios will call it: small letters, digits and hyphens.
        folder: where the crate's own folder is made.
        source: forebay's source tree.

    Raises:
        ScenarioError: a name that will not do, or a folder that exists.
    """
    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None:
        raise ScenarioError(
            f'"{name}" is not a name for a discipline; use small letters, '
            "digits and hyphens, as in my-aqm"
        )
    crate = folder / name
    if crate.exists():
        raise ScenarioError(f"{crate} exists; choose another name or remove it")
    words = {
        "name": name,
        "crate": name.replace("-", "_"),
        "type": "".join(word.capitalize() for word in name.split("-")),
        "tree": Path(os.path.relpath(_disk.leads_to(source), _disk.leads_to(crate))).as_posix(),
    }
    templates = {"Cargo.toml": CARGO, "src/lib.rs": RUST, "scenario.toml": SCENARIO}
    files: dict[str, str | bytes] = {
        path: text.substitute(words) for path, text in templates.items()
    }
    files[".gitignore"] = "target\n"
    # The versions that forebay is tested with.
    if (lock := _disk.read_if_any(source / "Cargo.lock")) is not None:
        files["Cargo.lock"] = lock

    def fill(fresh: Path) -> None:
        _disk.make_folder(fresh / "src")
        for path, content in files.items():
            _disk.write(fresh / path, content)

    _disk.make_folder(folder, follow=True)
    _disk.write_folder(crate, fill)
    return crate
