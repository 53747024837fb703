"""Fixtures: a scenario file, and the front on a stand-in for the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import fake_engine
from forebay import _engine, parallel, result

SCENARIO = """\
title = "A branch office's uplink"
duration = "60s"
seed = 5

[[link]]
name = "uplink"
from = "branch"
to = "internet"
rate = "10Mbit"
queue = { kind = "fifo", limit = "500p" }

[[traffic]]
name = "backup"
kind = "bulk"
flows = 4

[[traffic]]
name = "web"
kind = "web"
flows = 20

[[traffic]]
name = "voice"
kind = "voice"
flows = 6

[[traffic]]
name = "sensors"
kind = "poisson"
flows = 10

[[traffic]]
name = "office"
kind = "pcap"

[compare]
link = "uplink"
replications = 3
disciplines = ["fifo", "codel", { label = "short codel", kind = "codel", limit = "20p" }, "ncq"]
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("load", "effective", "run", "kinds", "schema"):
        monkeypatch.setattr(_engine, name, getattr(fake_engine, name), raising=False)
    monkeypatch.setattr(result, "Cancel", fake_engine.FakeCancel)
    monkeypatch.setattr(parallel, "Cancel", fake_engine.FakeCancel)
    monkeypatch.setattr(fake_engine, "seconds_a_run", 0.0)
    fake_engine.cancels.clear()


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "branch.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path
