from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import forebay
from forebay import Comparison, ScenarioError, _files
from forebay._advice import advise
from forebay._measures import GOODPUT, MOS, TAIL_DELAY, text
from forebay._terminal import print_comparison
from forebay.stats import Interval


@pytest.fixture
def comparison(scenario_file: Path) -> Comparison:
    return forebay.compare(forebay.load(scenario_file), jobs=2)


def test_variants_and_common_seeds(comparison: Comparison) -> None:
    assert comparison.labels == ("fifo", "codel", "short codel", "ncq")
    assert comparison.seeds == (5, 6, 7)
    for label in comparison.labels:
        assert [run.seed for run in comparison.runs_of(label)] == [5, 6, 7]
        assert [run.result.summary["seed"] for run in comparison.runs_of(label)] == [5, 6, 7]
    assert comparison.variants[2].queue == {"kind": "codel", "limit": "20p"}


def test_a_comparison_and_its_scenario_are_shown_in_a_line(comparison: Comparison) -> None:
    labels = ", ".join(comparison.labels)
    runs = len(comparison.seeds)
    assert repr(comparison) == f"<Comparison of {labels} on uplink: {runs} replications>"
    assert repr(comparison.scenario).startswith("<Scenario ") and len(repr(comparison)) < 200


def test_jobs_do_not_change_results(comparison: Comparison, scenario_file: Path) -> None:
    again = forebay.compare(forebay.load(scenario_file), jobs=1)
    fingerprints = [run.result.fingerprint for run in comparison.runs]
    assert fingerprints == [run.result.fingerprint for run in again.runs]
    assert len(set(fingerprints)) == 12


def test_chosen_disciplines_may_be_labels_of_the_list(scenario_file: Path) -> None:
    found = forebay.compare(
        forebay.load(scenario_file), disciplines=["short codel", "pie"], replications=1, seed=40
    )
    assert found.labels == ("short codel", "pie")
    assert found.seeds == (40,)
    assert found.variants[0].queue["limit"] == "20p"
    assert found.interval("pie", "voice", "mos") is not None


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"disciplines": ["codel", "codel"]}, 'two are called "codel"'),
        ({}, {"disciplines": []}, "there is none to compare"),
        ({}, {"disciplines": ["fifo", "nonsense"]}, 'discipline "nonsense": link'),
        ({}, {"replications": 0}, "at least 1"),
        ({}, {"link": "uplonk"}, 'no link is called "uplonk"; one of "uplink"'),
        ({"link[0].nonsense": 1}, {}, r"branch\.toml: link\[0\]\.nonsense: unknown field"),
    ],
)
def test_bad_input_is_found_before_the_first_run(
    scenario_file: Path, change: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    scenario = forebay.load(scenario_file)
    for path, value in change.items():
        scenario = scenario.with_(path, value)
    seen: list[forebay.Progress] = []
    with pytest.raises(ScenarioError, match=message):
        forebay.compare(scenario, progress=seen.append, **arguments)
    assert not seen


def test_paired_intervals_are_narrower(comparison: Comparison) -> None:
    # The load differs between replications and is common to the disciplines.
    difference = comparison.difference("ncq", "codel", "backup", "goodput_bps")
    alone = comparison.interval("ncq", "backup", "goodput_bps")
    assert difference is not None and alone is not None
    assert difference.half_width is not None and alone.half_width is not None
    assert difference.half_width < alone.half_width / 2


def test_best_holds_all_that_cannot_be_told_apart(comparison: Comparison) -> None:
    # Short queues cost long transfers some goodput, and calls gain by them.
    assert "fifo" in comparison.best("backup", GOODPUT)
    assert comparison.best("voice", MOS) == ("codel",)
    assert comparison.best("sensors", TAIL_DELAY) == ("short codel",)
    assert comparison.best("web", MOS) == ()


def test_advice_names_pick_price_and_notes(scenario_file: Path) -> None:
    # Three runs in which codel's gain for the web is clear; in others it is lost in the noise.
    advice = advise(forebay.compare(forebay.load(scenario_file), seed=50))
    assert advice.pick in ("codel", "short codel")
    findings = [str(finding) for finding in advice.findings]
    assert any("voice: highest MOS under codel" in finding for finding in findings)
    assert any("open loop" in hint.text for hint in advice.hints)


def test_advice_is_careful_with_one_replication(scenario_file: Path) -> None:
    advice = advise(forebay.compare(forebay.load(scenario_file), replications=1))
    assert "One replication only" in advice.notes[0]


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_table_fits_the_terminal(comparison: Comparison, width: int) -> None:
    out = StringIO()
    print_comparison(Console(file=out, width=width), comparison)
    lines = out.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    heads = [line for line in lines if "sensors" in line or "voice" in line]
    assert " ".join(heads).split().count("sensors") == 1
    assert not any("…" in line for line in lines)
    rows = [line for line in lines if line.startswith(" short codel")]
    assert all("±" in row for row in rows)
    # No column is cut off.
    for class_ in comparison.classes:
        assert text(comparison.interval("short codel", class_, GOODPUT.key), GOODPUT) in " ".join(
            rows
        )


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (8.314e6, 0.1234e6, "8314 ±124"),
        (31.04e3, 0.6e3, "31.0 ±0.6"),
        (1e4, 0.0, "10.0 ±0"),
        (1e4, None, "10.0"),
        (0.0, 0.0, "0 ±0"),
        (7.512e6, 300.0, "7512 ±1"),
    ],
)
def test_intervals_are_shown_to_what_is_known(mean: float, half: float | None, shown: str) -> None:
    assert text(Interval(mean, half, 5), GOODPUT) == shown


def test_written_tables(comparison: Comparison, tmp_path: Path) -> None:
    folder = forebay.write(comparison, tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "delays.parquet",
        "flows.parquet",
        "links.parquet",
        "report.html",
        "runs.parquet",
        "series.parquet",
        "summary.json",
    ]
    runs = pl.read_parquet(folder / "runs.parquet")
    assert runs.height == 12
    assert {"discipline", "seed", "fingerprint", "queues.uplink.loss", "classes.voice.mos"} <= set(
        runs.columns
    )
    flows = pl.read_parquet(folder / "flows.parquet")
    assert flows.filter(pl.col("class") == "web").height == 12 * 20
    delays = pl.read_parquet(folder / "delays.parquet")
    assert set(delays["class"].unique()) == {*comparison.classes, None}
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    mos = summary["disciplines"][0]["classes"]["voice"]["mos"]
    expected = runs.filter(pl.col("discipline") == "fifo")["classes.voice.mos"].mean()
    assert isinstance(expected, float)
    assert mos["mean"] == pytest.approx(expected)
    assert mos["low"] < mos["mean"] < mos["high"]
    assert math.isclose(mos["high"] + mos["low"], 2 * mos["mean"])


def test_a_result_is_replaced_and_nothing_else(comparison: Comparison, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    forebay.write(comparison, folder)
    forebay.write(comparison, folder, report=False)
    assert not (folder / "report.html").exists()
    (folder / "notes.md").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"notes\.md"):
        forebay.write(comparison, folder)
    assert (folder / "summary.json").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "summary.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FileExistsError, match="did not write"):
        forebay.write(comparison, other)
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="is a file"):
        forebay.write(comparison, file)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_failed_write_leaves_the_earlier_result(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = forebay.write(comparison, tmp_path / "out")
    before = (folder / "summary.json").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="no space is left"):
        forebay.write(comparison, folder)
    assert (folder / "summary.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["out"]


def test_interrupt_stops_every_run(scenario_file: Path) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        forebay.compare(forebay.load(scenario_file).with_("duration", "100000s"), jobs=2)
    assert time.monotonic() - start < 10.0
    # A thread that Ctrl-C met as it began is not waited for, but has nothing left to do.
    while running():
        assert time.monotonic() - start < 20.0, "a run goes on"
        time.sleep(0.01)


def running() -> list[threading.Thread]:
    """The threads of runs."""
    return [each for each in threading.enumerate() if each.name.startswith("forebay")]


def test_ctrl_c_while_a_run_is_handed_to_a_thread_stops_it(
    scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread begins within `submit`, where Ctrl-C can come at any instruction."""
    submit = ThreadPoolExecutor.submit

    def interrupted(*words: Any) -> None:
        submit(*words)
        time.sleep(0.3)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    scenario = forebay.load(scenario_file).with_("duration", "100000s")
    with pytest.raises(KeyboardInterrupt):
        forebay.compare(scenario, jobs=1)
    assert not running()


def test_progress_counts_up_to_all(scenario_file: Path) -> None:
    seen: list[forebay.Progress] = []
    forebay.compare(forebay.load(scenario_file), progress=seen.append)
    assert (seen[-1].finished, seen[-1].runs, seen[-1].fraction) == (12, 12, 1.0)


def test_gain_and_efficiency_beside_a_baseline(comparison: Comparison, scenario_file: Path) -> None:
    assert comparison.efficiency("codel") is None
    beside = forebay.compare(forebay.load(scenario_file), baseline="fifo", jobs=2)
    own, base = (beside.samples(label, "web", "goodput_bps") for label in ("ncq", "fifo"))
    ratios = [a / b for a, b in zip(own, base, strict=True) if a is not None and b is not None]
    assert beside.samples("ncq", "web", "gain") == pytest.approx(ratios)
    found = beside.efficiency("fifo")
    assert found is not None and (found.mean, found.half_width) == (1.0, 0.0)
    summary = _files.summary(beside)
    assert summary["baseline"] == "fifo"
    assert summary["disciplines"][3]["classes"]["web"]["gain"]["mean"] == pytest.approx(
        sum(ratios) / 3
    )
    screen = StringIO()
    print_comparison(Console(file=screen, width=120), beside)
    assert "efficiency" in screen.getvalue() and "relative to fifo" in screen.getvalue()
    with pytest.raises(ScenarioError, match=r"compare\.baseline.*one of fifo"):
        forebay.compare(forebay.load(scenario_file), baseline="fio")
