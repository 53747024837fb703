"""The sender and receiver over quinn, benches/quinn, with which the lab compares the source `quic`.

It is no part of the workspace, as quinn's sockets and TLS bring 110 packages. What is built is kept
in target/quinn.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from forebay import Scenario, lab

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benches" / "quinn"
TARGET = ROOT / "target" / "quinn"

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust"),
    pytest.mark.long,
]


def test_quinn_sends_in_the_virtual_lab(guest_gate: Path) -> None:
    done = subprocess.run(["cargo", "fmt", "--check"], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    # Clippy alone would read all these packages once more.
    environment["RUSTC_WORKSPACE_WRAPPER"] = "clippy-driver"
    words = ["cargo", "build", "--release", "--locked"]
    done = subprocess.run(words, cwd=FOLDER, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    program = TARGET / "release" / "quinn-bulk"
    link = {"name": "wire", "from": "client", "to": "server", "rate": "4Mbit", "delay": "5ms"}
    result = lab.virtual.run(
        Scenario.of({"duration": "3s", "link": [link]}),
        gate=guest_gate,
        programs=[f"server: {program} receive", f"client: {program} send server new-reno 2"],
    )
    _, sent = result.summary["programs"]
    assert sent["exit_code"] == 0, result.files
    lines = result.files["programs/1-server.stdout"].decode().splitlines()
    # 2 s of 4 Mbit/s, without headers and the handshake.
    assert 700_000 < int(lines[-1].split()[1]) < 1_000_000
