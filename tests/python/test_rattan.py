"""Our cell of Rattan, contrib/rattan: its own tests, one of which is beside the gate.

It is no part of the workspace, as Rattan brings 200 packages. What is built is kept in
target/rattan.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RATTAN = ROOT / "contrib" / "rattan"
TARGET = ROOT / "target" / "rattan"
GATE = ROOT / "target" / "debug" / "forebay-gate"

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust"),
    pytest.mark.long,
]


def test_the_cell_does_what_its_tests_say_and_has_no_warnings() -> None:
    done = subprocess.run(["cargo", "fmt", "--check"], cwd=RATTAN, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "RUST_BACKTRACE": "0"}
    # Clippy alone would read all these packages once more.
    environment["RUSTC_WORKSPACE_WRAPPER"] = "clippy-driver"
    if GATE.is_file():
        environment["FOREBAY_GATE"] = str(GATE)
    done = subprocess.run(
        [
            *("cargo", "test", "--locked", "--all-targets"),
            *("--config", 'build.rustflags=["-Dwarnings"]', "--", "--show-output"),
        ],
        cwd=RATTAN,
        env=environment,
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "a_path_of_rattan_does_what_the_gate_does ... ok" in said
    skipped = re.findall(r"^skipped: (.+)$", said, re.MULTILINE)
    if skipped:
        pytest.skip(f"the cell's own tests pass; not beside the gate: {'; '.join(skipped)}")
