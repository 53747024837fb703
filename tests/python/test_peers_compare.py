"""The comparison with ns-2 and ns-3 as a whole, with simulators that are made up."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import compare
import peers
import pytest
from cases import Experiment
from peers import Case, Measured

QUEUES = {"forebay": 10.0, "ns-2": 10.2, "ns-3": 30.0}


class Fake:
    """A toolbox whose simulators give a constant queue; the seed is added."""

    asked: ClassVar[Counter[str]] = Counter()
    versions: ClassVar[dict[str, str]] = {"forebay": "1", "ns-2": "2.35", "ns-3": "3.37"}
    commands: ClassVar[dict[str, list[str]]] = {"ns-2": ["ns"], "ns-3": ["dumbbell"]}

    def __init__(self, _: Path) -> None:
        pass

    def run(self, simulator: str, case: Case, seed: int) -> Measured:
        self.asked[simulator] += 1
        queue = QUEUES[simulator] + seed / 10 + case.options.get("more", 0)
        return Measured(queue, 1.0, 0.01, 1.0, 100, 0.1)


CASES = [
    Case("sack", {"flows": 16, "delay": 0.02}),
    Case("cubic", {"flows": 4, "delay": 0.02, "tcp": "cubic"}),
    Case("aqm", {"flows": 4, "delay": 0.02, "queue": "pie"}, ("forebay", "ns-3")),
]
TRIED = Experiment("device", "a longer target", Case("experiments", dict(CASES[2].options)))


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compare, "Toolbox", Fake)
    monkeypatch.setattr(compare, "CASES", CASES)
    monkeypatch.setattr(compare, "EXPERIMENTS", [TRIED])
    monkeypatch.setattr(Fake, "asked", Counter())
    return tmp_path / "peers.json"


def go(monkeypatch: pytest.MonkeyPatch, output: Path, *words: str) -> dict[str, Any]:
    argv = ["compare.py", "--seeds", "2", "--output", str(output), *words]
    monkeypatch.setattr(sys, "argv", argv)
    Fake.asked.clear()
    assert compare.main() == 0
    found: dict[str, Any] = json.loads(output.read_text("utf-8"))
    return found


def test_all_three_are_asked_and_means_with_intervals_written(
    monkeypatch: pytest.MonkeyPatch, output: Path
) -> None:
    found = go(monkeypatch, output)
    assert Fake.asked == {"forebay": 8, "ns-2": 6, "ns-3": 8}
    [row] = found["results"]["sack"]["rows"]
    # Of 10.1 and 10.2 the mean is 10.15; t(0.975, 1) = 12.706, the deviation 0.1 / sqrt(2).
    assert row["found"]["forebay"]["queue"]["mean"] == pytest.approx(10.15)
    assert row["found"]["forebay"]["queue"]["half_width"] == pytest.approx(12.706 * 0.05, rel=1e-4)
    assert list(row["found"]) == ["forebay", "ns-2", "ns-3"]
    assert row["difference"] == "between the peers, or 10 % outside"
    [managed] = found["results"]["aqm"]["rows"]
    assert list(managed["found"]) == ["forebay", "ns-3"]
    assert managed["difference"] == "A packet below the queue"
    # Nothing compares an experiment with the goal.
    assert "difference" not in found["results"]["experiments"]["rows"][0]


def test_groups_that_are_not_asked_stay(monkeypatch: pytest.MonkeyPatch, output: Path) -> None:
    before = go(monkeypatch, output)
    monkeypatch.setitem(QUEUES, "forebay", 20.0)
    after = go(monkeypatch, output, "--only", "cubic")
    assert Fake.asked == {"forebay": 2, "ns-2": 2, "ns-3": 2}
    assert after["results"]["sack"] == before["results"]["sack"]
    [row] = after["results"]["cubic"]["rows"]
    assert row["found"]["forebay"]["queue"]["mean"] == pytest.approx(20.15)


def test_one_simulator_is_measured_and_the_others_kept_while_they_are_the_same(
    monkeypatch: pytest.MonkeyPatch, output: Path
) -> None:
    go(monkeypatch, output)
    monkeypatch.setitem(QUEUES, "forebay", 11.0)
    found = go(monkeypatch, output, "--simulator", "forebay")
    assert Fake.asked == {"forebay": 8}
    [row] = found["results"]["sack"]["rows"]
    assert row["found"]["forebay"]["queue"]["mean"] == pytest.approx(11.15)
    assert row["found"]["ns-3"]["queue"]["mean"] == pytest.approx(30.15)
    # Another version, or other seeds: nothing is known.
    monkeypatch.setattr(Fake, "versions", Fake.versions | {"ns-2": "2.36"})
    go(monkeypatch, output, "--simulator", "forebay")
    assert Fake.asked == {"forebay": 8, "ns-2": 6}
    go(monkeypatch, output, "--simulator", "forebay", "--seeds", "3")
    assert Fake.asked == {"forebay": 12, "ns-2": 9, "ns-3": 12}


def test_a_missing_peer_is_named(
    monkeypatch: pytest.MonkeyPatch, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Fake, "commands", {"ns-2": ["ns"]})
    monkeypatch.setattr(sys, "argv", ["compare.py", "--output", str(output)])
    assert compare.main() == 2
    assert "apt-get install ns2 libns3-dev g++" in capsys.readouterr().err
    assert not output.exists()


def test_a_row_is_named_by_its_scenario_alone() -> None:
    case = CASES[0]
    row = compare.named(case, None)
    assert compare.key(row) == compare.key(row | {"found": {}, "difference": "pacing"})
    assert compare.key(row) != compare.key(compare.named(CASES[1], None))
    assert compare.key(compare.named(TRIED.case, TRIED)) != compare.key(compare.named(case, None))


def test_a_program_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peers, "KEPT", tmp_path)
    with pytest.raises(RuntimeError, match="exit 3"):
        peers.printed([sys.executable, "-c", "raise SystemExit(3)"], {})
