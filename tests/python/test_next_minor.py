"""Plug-ins of this release in the next minor version, which is made here, and the other way round.

A minor version may add what this adds: a reason of drops, a field and a function, in Rust and in
the C interface. What is built of it is kept in target/next from one time to the other.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kept_sources import kept

ROOT = Path(__file__).parents[2]
PARTS = ("core", "disciplines", "conformance", "abi", "plugin")

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")

POLISH = (
    '    /// New.\n    pub polish: Option<unsafe extern "C" fn(state: *const c_void) -> u32>,\n'
)
CHANGES = {
    "crates/core/src/discipline.rs": [
        (
            '        Other = "other",\n',
            '        Other = "other",\n        /// New.\n        Melted = "melted",\n',
        ),
        (
            "    pub queues: usize,\n}\n",
            "    pub queues: usize,\n    /// New.\n    pub colour: u32,\n}\n",
        ),
        ("mtu, queues: 1 }", "mtu, queues: 1, colour: 0 }"),
        (
            "    fn fault(&self) -> Option<String> {",
            "    fn polish(&self) -> u32 {\n        3\n    }\n\n    /// As before.\n"
            "    fn fault(&self) -> Option<String> {",
        ),
    ],
    "crates/core/src/registry.rs": [
        ("    pub alone: bool,\n}", "    pub alone: bool,\n    /// New.\n    pub shines: bool,\n}"),
        ("shapes: false, alone: true }", "shapes: false, alone: true, shines: false }"),
    ],
    "crates/abi/src/interface.rs": [
        (
            "pub const FOREBAY_OTHER: u32 = 6;",
            "pub const FOREBAY_OTHER: u32 = 6;\n/// New.\npub const FOREBAY_MELTED: u32 = 7;",
        ),
        (
            "    pub rate: u64,\n}",
            "    pub rate: u64,\n    /// New.\n    pub colour: u32,\n"
            "    /// New.\n    pub rest: u32,\n}",
        ),
        ("}\n\n/// A kind of endpoint", POLISH + "}\n\n/// A kind of endpoint"),
        ("}\n\n/// The symbol that", POLISH + "}\n\n/// The symbol that"),
    ],
    "crates/abi/src/version.rs": [
        ("ForebaySetting, rate: 8", "ForebaySetting, rest: 4"),
        ("ForebayDiscipline, dequeue_batch: call", "ForebayDiscipline, polish: call"),
        ("ForebayEndpoint, fault: call", "ForebayEndpoint, polish: call"),
    ],
    "crates/abi/src/convert.rs": [
        ("Other FOREBAY_OTHER", "Other FOREBAY_OTHER, Melted FOREBAY_MELTED"),
    ],
    "crates/abi/src/import.rs": [
        (
            "rate: rate.bps(),",
            "rate: rate.bps(),\n        colour: setting.colour,\n        rest: 0,",
        ),
    ],
    "crates/abi/src/export.rs": [
        (
            "dequeue_batch: Some(dequeue_batch),",
            "dequeue_batch: Some(dequeue_batch),\n        polish: None,",
        ),
    ],
}

HOST = """\
//! Loads plug-ins and checks that each keeps every contract.
fn main() {
    for path in std::env::args().skip(1) {
        let plugin = forebay::load(path.as_ref()).expect("it loads");
        for kind in plugin.endpoints {
            let made = kind.make(&serde_json::json!({}), true).map(drop);
            println!("{}: {made:?}", kind.words[0]);
        }
        for kind in plugin.kinds {
            let checked = forebay_conformance::check(&kind, &serde_json::json!({}));
            println!("{}: {checked:?}", kind.name);
        }
    }
    println!("version {:x}", forebay::FOREBAY_VERSION);
}
"""

THIS = """\
import sys
from forebay import _engine

for plugin in sys.argv[1:]:
    print(_engine.check_plugin(plugin))
"""

WORKSPACE = """\
[workspace]
resolver = "3"
members = ["crates/*", "plugins/*", "host"]
"""


def cargo(folder: Path, target: Path, *words: str) -> None:
    """Run cargo; it must succeed."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    if target.name == "next":
        environment |= {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_PROFILE_DEV_OPT_LEVEL": "0"}
    done = subprocess.run(
        ["cargo", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def next_minor(folder: Path, minor: int) -> Path:
    """The next one's crates for plug-ins, a plug-in and a host."""
    manifest = (ROOT / "Cargo.toml").read_text("utf-8")
    begin, end = map(manifest.index, ("[workspace.package]", "# One code generation"))
    folder.mkdir(parents=True)
    (folder / "Cargo.toml").write_text(WORKSPACE + manifest[begin:end])
    shutil.copy(ROOT / "Cargo.lock", folder)
    for part in PARTS:
        kept = folder / "crates" / part
        shutil.copytree(ROOT / "crates" / part / "src", kept / "src")
        text = (ROOT / "crates" / part / "Cargo.toml").read_text("utf-8")
        # Tests and benchmarks are not built.
        text = re.sub(r"^\[dev-dependencies\]\n(?:[^\[].*\n|\n)*", "", text, flags=re.M)
        text = re.sub(r"^\[\[bench\]\]\n(?:[^\[].*\n|\n)*", "", text, flags=re.M)
        (kept / "Cargo.toml").write_text(text)
    plugin = folder / "plugins" / "codel"
    shutil.copytree(ROOT / "examples/plugins/codel", plugin)
    text = (plugin / "Cargo.toml").read_text().replace("../../../crates", "../../crates")
    (plugin / "Cargo.toml").write_text(text)
    host = folder / "host"
    (host / "src").mkdir(parents=True)
    (host / "src" / "main.rs").write_text(HOST)
    (host / "Cargo.toml").write_text(
        '[package]\nname = "host"\nversion = "0.1.0"\nedition = "2024"\n\n[dependencies]\n'
        'forebay-abi = { workspace = true, features = ["load"] }\n'
        "forebay-conformance.workspace = true\nserde_json.workspace = true\n"
    )
    for path, changes in CHANGES.items():
        file = folder / path
        text = file.read_text("utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{path}: {old}"
            text = text.replace(old, new)
        file.write_text(text)
    interface = folder / "crates/abi/src/interface.rs"
    now, later = (f"FOREBAY_MINOR: u32 = {number};" for number in (minor, minor + 1))
    text = interface.read_text()
    assert text.count(now) == 1
    interface.write_text(text.replace(now, later))
    return folder


@pytest.mark.long
def test_plugins_and_programs_of_this_version_and_the_next_run_together(tmp_path: Path) -> None:
    header = max((ROOT / "crates/abi/surface").glob("forebay-1.*.h"), key=lambda path: path.name)
    minor = int(header.stem.split(".")[-1])
    # A plug-in in Rust, of this version, and two in C, with this version's header as it is kept.
    # With the features that `cargo test` chooses for the workspace: little is left to build.
    cargo(ROOT, ROOT / "target", "build", "--locked", "--workspace", "--lib", "--tests")
    codel = ROOT / "target" / "debug" / "libcodel_plugin.so"
    (tmp_path / "forebay.h").write_text(header.read_text())
    blue, window = (tmp_path / f"lib{name}.so" for name in ("blue", "window"))
    for library in (blue, window):
        source = ROOT / "examples" / "plugins" / f"{library.stem.removeprefix('lib')}.c"
        words = ["cc", "-shared", "-fPIC", "-O1", "-I", tmp_path, "-o", library, source]
        subprocess.run([*map(str, words)], check=True)
    # The next version's program; its plug-in is the same source.
    target = ROOT / "target" / "next"
    folder = kept(next_minor(tmp_path / "next", minor), ROOT / "target" / "next-source")
    cargo(folder, target, "build", "--offline")
    next_codel = target / "debug" / "libcodel_plugin.so"
    done = subprocess.run(
        [target / "debug" / "host", codel, next_codel, blue, window],
        capture_output=True,
        text=True,
    )
    kinds = ["my-codel: Ok(())", "my-codel: Ok(())", "blue: Ok(())", "window: Ok(())"]
    assert done.stdout.splitlines() == [*kinds, f"version {1 << 16 | minor + 1:x}"], done.stderr
    # This version's program.
    this = [sys.executable, "-c", THIS, *map(str, (next_codel, codel, blue))]
    checked = subprocess.run(this, capture_output=True, text=True)
    whole = [f"[('{name}', None)]" for name in ("my-codel", "my-codel", "blue")]
    assert checked.stdout.splitlines() == whole, checked.stderr
