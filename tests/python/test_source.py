"""The source distribution: whole before `make dist` builds of it, which takes half an hour."""

from __future__ import annotations

import shutil
from pathlib import Path

import dist
import pytest


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust")
def test_cargo_finds_every_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "DIST", tmp_path / "dist")
    monkeypatch.setattr(dist, "WORK", tmp_path)
    dist.sdist()
    assert (dist.locked_source() / "crates" / "quic" / "Cargo.toml").is_file()
