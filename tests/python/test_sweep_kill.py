"""Sweeps that are killed, again and again, end with the data of one that was not."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from forebay import sweep
from forebay.sweep.layout import parts
from small_study import BASE, FLOWS, RATE, TAIL

COMMAND = str(Path(sys.executable).with_name("forebay"))
FIXED: dict[str, Any] = {"replications": 20}
UNTIL: dict[str, Any] = {
    "keys": ["classes.*.goodput_bps", "queues.*"],
    "until": {"key": TAIL, "half_width": "10%", "at_most": 80},
}


def journal_size(folder: Path) -> int:
    try:
        return (folder / "journal").stat().st_size
    except FileNotFoundError:
        return 0


def killed(plan: Path, folder: Path, luck: random.Random) -> bool:
    """Start a sweep and kill it some time after it has begun to run; whether it was in time."""
    before = journal_size(folder)
    process = subprocess.Popen([COMMAND, "sweep", str(plan), "-o", str(folder)])
    while process.poll() is None and journal_size(folder) == before:
        time.sleep(0.002)
    try:
        process.wait(timeout=luck.uniform(0.0, 0.25))
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() != 0


@pytest.mark.parametrize(
    "fields",
    [pytest.param(FIXED, id="fixed", marks=pytest.mark.long), pytest.param(UNTIL, id="until")],
)
def test_a_sweep_killed_at_random_moments_ends_with_the_same_data(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    (tmp_path / "base.toml").write_text(BASE)
    plan, broken = tmp_path / "study.json", tmp_path / "broken"
    common = {"scenario": "base.toml", "disciplines": ["fifo", "codel"], "axis": [RATE, FLOWS]}
    plan.write_text(json.dumps(common | fields))
    luck, kept, kills = random.Random(4), 0, 0
    while killed(plan, broken, luck):
        kills += 1
        now = sweep.results(broken).runs
        assert now.height >= kept, "a finished run was lost"
        kept = now.height
        assert kills < 200
    assert kills >= 4
    sweep.run(sweep.load(plan), tmp_path / "whole")
    expected, found = sweep.results(tmp_path / "whole"), sweep.results(broken)
    assert expected.complete and found.complete
    assert found.runs.columns == expected.runs.columns
    assert found.runs.equals(expected.runs)
    [one], [other] = parts(broken), parts(tmp_path / "whole")
    assert one.read_bytes() == other.read_bytes()
