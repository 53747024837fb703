"""The testbed that was not seen before: its trials, what fits, its section."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest
import unseen
from unseen import Cell

import forebay

CELL = Cell("cubic", 100, 10, 5)
SAID = "[  6]   0.00-60.12  sec  68.2 MBytes  {} Kbits/sec                  receiver\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two trials of a cell, and what an interrupted one leaves."""
    archive = tmp_path / unseen.DATA.replace("*", "Sep6")
    archive.parent.mkdir()
    texts = {"1_cubic": SAID.format(7550), "2_cubic": SAID.format(7570), "1_bbr": "iperf 3.9\n"}
    with tarfile.open(archive, "w:gz") as files:
        for name, text in texts.items():
            member = tarfile.TarInfo(f"5.15.0/100_10_5_{name}.txt")
            member.size = len(text)
            files.addfile(member, io.BytesIO(text.encode()))
    return tmp_path


def test_trials_are_the_receivers_rates(checkout: Path, tmp_path: Path) -> None:
    assert unseen.trials(checkout) == {CELL: [7.55, 7.57]}
    with pytest.raises(SystemExit, match="give a checkout of imcbbrrepro"):
        unseen.trials(tmp_path / "data")


def test_every_set_up_has_the_testbeds_buffer() -> None:
    for cell in unseen.CELLS:
        assert forebay.Scenario.of(cell.scenario()).effective()["duration"] == "60s"
    # 102 400 bytes of packets of 1514.
    assert CELL.scenario()["link"][1]["queue"]["limit"] == "101453B"


def test_what_fits_is_near_by_the_links_rate_or_the_trials() -> None:
    assert unseen.fits(CELL, 9.85, [9.55, 9.57])
    assert not unseen.fits(CELL, 9.87, [9.55, 9.57])
    assert unseen.fits(CELL, 8.2, [8.0, 10.0])


def test_the_section_counts_and_shows_what_does_not_fit(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unseen, "SECONDS", 2)
    monkeypatch.setattr(unseen, "CELLS", [CELL])
    output = tmp_path / "unseen.json"
    words = ["--seeds", "1", "--jobs", "1", "--output", str(output)]
    monkeypatch.setattr("sys.argv", ["unseen.py", str(checkout), *words])
    assert unseen.main() == 0
    section = json.loads(output.read_text("utf-8"))
    [row] = section["results"]
    ours, theirs, deviation = row["goodput"]
    assert (theirs, deviation) == (7.56, 0.014)
    # The link has 10 Mbit/s.
    assert 8 < ours < 10
    assert row["fits"] is False
    assert section["text"][0].startswith("0 of 1 goodputs")
    totals, cells = section["tables"]
    assert totals["rows"] == [["cubic", 100, 1, 0]]
    assert cells["rows"][0][-1].startswith("**")
