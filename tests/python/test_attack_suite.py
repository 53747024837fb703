"""The corpus of worst cases: its files, and a run of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay import ScenarioError
from forebay._cli import app
from forebay._suite import catalogue, worst

CASES = worst.cases("attack")


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.name)
def test_a_case_is_a_scenario_with_those_who_joined(case: worst.Case) -> None:
    names = {entry["name"] for entry in case.run.resolved()["traffic"]}
    assert set(case.joined) < names
    assert case.found in catalogue.header("attack").disciplines
    case.run.with_queue(case.better).effective()


def only(monkeypatch: pytest.MonkeyPatch) -> worst.Case:
    wanted = ("codel", "starvation")
    case = next(each for each in CASES if (each.found, each.measure) == wanted)
    monkeypatch.setattr(worst, "cases", lambda _: [case])
    return case


def test_a_case_still_does_its_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = only(monkeypatch)
    out = tmp_path / "out"
    words = ["suite", "attack", "--disciplines", "codel", "--quick", "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    [found] = json.loads((out / "results.json").read_text())["cases"]
    assert found["harm"]["codel"]["mean"] > 2 * found["better"]["mean"]
    assert case.title in (out / "report.html").read_text()
    assert "The worst known network of each" in (out / "summary.md").read_text()


def test_a_discipline_in_python_meets_the_cases(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only(monkeypatch)
    plugin = Path(__file__).parents[2] / "examples" / "plugins" / "short.py"
    out = tmp_path / "out"
    words = ["--plugin", str(plugin), "suite", "attack", "--disciplines", "short", "--quick"]
    done = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    [found] = json.loads((out / "results.json").read_text())["cases"]
    assert 0 <= found["harm"]["short"]["mean"] <= 1


def test_a_discipline_that_fails_in_a_case_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = only(monkeypatch)
    plugin = tmp_path / "fails.py"
    plugin.write_text(
        "import forebay\n\n\nclass Fails(forebay.Discipline):\n"
        "    def enqueue(self, packet, now):\n        raise KeyError(packet.flow)\n\n"
        "    def dequeue(self, now):\n        return None\n"
    )
    words = ["--plugin", str(plugin), "suite", "attack", "--disciplines", "fails", "--quick"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and f"{case.name}: " in done.output and "KeyError" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--disciplines", "nothing"], "nothing"),
        (["--controls", "cubic"], "--controls"),
        (["--disciplines", ""], "no disciplines"),
    ],
)
def test_wrong_input(tmp_path: Path, words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["suite", "attack", *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and said in done.output


def test_wrong_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "attack").mkdir()
    text = (catalogue.HOME / "attack" / "codel-starvation.toml").read_text()
    (tmp_path / "attack" / "x.toml").write_text(text.replace('"starvation"', '"sadness"'))
    monkeypatch.setattr(catalogue, "HOME", tmp_path)
    with pytest.raises(ScenarioError, match="sadness"):
        worst.cases("attack")
