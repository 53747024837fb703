"""Studies: what they mean, what they keep, and how they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forebay
from forebay import ScenarioError, _written, stats, sweep
from forebay._runs.journal import line_of, read_journal
from forebay._runs.task import Record
from forebay._scenario import lookup, quantity
from forebay.sweep import Until, control, store
from forebay.sweep.axes import Axis
from forebay.sweep.file import StudyTable
from forebay.sweep.layout import Layout, parts
from forebay.sweep.study import place
from small_study import BASE, FLOWS, RATE, TAIL, study


def axis(**fields: Any) -> Axis:
    document = {"scenario": {}, "replications": 1, "axis": [{"path": "link.up.rate"} | fields]}
    [found] = _written.read(StudyTable, document, "study.toml").axis
    return found.axis()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"from": 1, "to": 7, "step": 3}, [1, 4, 7]),
        ({"from": 0, "to": 1, "count": 5}, [0, 0.25, 0.5, 0.75, 1]),
        ({"from": 0.1, "to": 0.3, "step": 0.1}, [0.1, 0.2, 0.3]),
        ({"from": "1Mbit", "to": "2Mbit", "step": "500Kbit"}, None),
        ({"from": "1Mbit", "to": "2Mbit", "step": "0.5Mbit"}, ["1Mbit", "1.5Mbit", "2Mbit"]),
        (
            {"from": "1Mbit", "to": "100Mbit", "count": 3, "scale": "log"},
            ["1Mbit", "10Mbit", "100Mbit"],
        ),
        ({"from": 1, "to": 1000, "count": 4, "scale": "log"}, [1, 10, 100, 1000]),
        ({"from": "1bit", "to": "20000000bit", "count": 2}, ["1bit", "20000000bit"]),
    ],
)
def test_ranges(table: dict[str, Any], expected: list[Any] | None) -> None:
    if expected is None:
        with pytest.raises(ScenarioError, match=r"axis\[0\].*step"):
            axis(range=table)
        return
    found = [row[0] for row in axis(range=table).rows]
    assert found == expected
    assert [type(value) for value in found if isinstance(value, str)] == [
        str for value in expected if isinstance(value, str)
    ]


def test_settings_reach_a_scenario_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/base.toml").write_text(BASE)
    path = tmp_path / "study.toml"
    path.write_text(
        'scenario = "parts/base.toml"\nreplications = 2\n'
        '[[axis]]\npath = "link.up.rate"\nvalues = ["1Mbit", "2Mbit"]\n'
    )
    changed = sweep.load(path, ["scenario.duration=7s", "replications=3"])
    assert (changed.base.document["duration"], changed.replications) == ("7s", 3)
    assert Path(changed.base.base) == tmp_path / "parts"
    with pytest.raises(ScenarioError, match=r"--set link\.up\.rate: an axis of this study sets it"):
        sweep.load(path, ["scenario.link.up.rate=5Mbit"])
    path.write_text(path.read_text().replace("link.up.rate", "tcp").replace('"1Mbit"', "{}"))
    path.write_text(path.read_text().replace('"2Mbit"', '{ preset = "ns-2" }'))
    # The axis replaces the whole table.
    with pytest.raises(ScenarioError, match=r"--set tcp\.mtu: an axis of this study sets it"):
        sweep.load(path, ["scenario.tcp.mtu=1000B"])


def test_pinned_fields_are_set_last_but_for_those_of_an_axis_within(tmp_path: Path) -> None:
    made = study(tmp_path, axis=[RATE, FLOWS])
    (bulk,) = (each for each in made.base.document["traffic"] if each["name"] == "bulk")
    five = {"link.up.rate": "5Mbit", "traffic.bulk": {**bulk, "start": "1s"}}
    first = {"link.up.delay": "1ms"}
    pinned = made.pin(
        {"fifo": five}, {place({"link.up.rate": "2Mbit", "traffic.bulk.flows": 3}): first}
    )
    assert pinned.hash != made.hash == made.pin({}, {}).hash

    def fields(steps: list[int], label: str) -> tuple[object, ...]:
        found = pinned.change(steps, label).of(pinned.base)
        paths = ("link.up.rate", "link.up.delay", "traffic.bulk.start", "traffic.bulk.flows")
        return tuple(lookup(found.document, path) for path in paths)

    assert fields([0, 2], "fifo") == ("5Mbit", "1ms", "1s", 3)
    assert fields([0, 1], "fifo") == ("5Mbit", "5ms", "1s", 2)
    assert fields([0, 2], "codel") == ("2Mbit", "1ms", None, 3)
    with pytest.raises(ScenarioError, match="are the same scenario"):
        _ = pinned.points


def test_a_study_is_narrowed_to_the_steps_of_some_points(tmp_path: Path) -> None:
    limit = {"path": "link.up.queue.target", "values": ["5ms", "9ms"], "disciplines": ["codel"]}
    made = study(tmp_path, axis=[RATE, limit])
    last = made.points[-1]
    tail = next(each for each in made.points if each.discipline == "fifo" and each.steps[0] == 1)
    narrow = made.narrowed([last.id, tail.id])
    assert [each.rows for each in narrow.axes] == [(("10Mbit",),), (("9ms",),)]
    assert {each.id for each in narrow.points} == {last.id, tail.id}
    assert [label for label, _ in made.narrowed([last.id]).disciplines] == ["codel"]
    fresh = narrow.repeated(2, skip=3)
    assert (fresh.seed, fresh.replications, fresh.until) == (narrow.seed + 3, 2, None)
    assert len({made.hash, narrow.hash, fresh.hash}) == 3


def test_axes_know_their_numbers() -> None:
    assert axis(values=["500kbit", "2Mbit"]).numbers == (5e5, 2e6)
    assert axis(values=["500kbit", "2Mbit"]).unit == "bit/s"
    assert axis(values=["5ms", "2Mbit"]).numbers is None
    assert axis(values=["reno", "cubic"]).numbers is None
    assert quantity(True) is None
    assert quantity("64KiB") == (65536.0, "B", 64.0, "KiB")


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"axis": [{"path": "x", "values": []}]}, r"axis\[0\]\.values"),
        ({"axis": [{"path": "x", "values": [1, 1]}]}, r"axis\[0\]: 1 is there twice"),
        ({"axis": [RATE, RATE]}, r"axis\[1\]"),
        ({"axis": [{"path": "x", "values": [1], "name": "seed"}]}, '"seed" is a column'),
        ({"axis": [{"path": "x", "range": {"from": 1, "to": "2Mbit", "count": 2}}]}, "same unit"),
        ({"axis": [{"paths": ["x", "y"], "rows": [[1]]}]}, r"axis\[0\]: rows\[0\]"),
        ({"replications": 0}, "replications"),
        ({"replications": None}, "give replications"),
        ({"replications": None, "until": {"key": "k", "half_width": "-5%", "at_most": 9}}, "half"),
        ({"replications": None, "until": {"key": "k", "half_width": 1, "at_most": 3}}, "at_most"),
        ({"disciplines": ["fifo", "fifo"]}, r"disciplines\[1\]"),
        ({"disciplines": None, "link": "up"}, "link: says where"),
        ({"scenario": 4}, "scenario: must be"),
        ({"surprise": 1}, 'unknown field "surprise"'),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_study_that_is_not_understood_names_the_place(
    tmp_path: Path, fields: dict[str, Any], place: str
) -> None:
    with pytest.raises(ScenarioError, match=r"^study\.toml: .*" + place):
        study(tmp_path, **fields)


def test_points_are_checked_before_the_first_run(tmp_path: Path) -> None:
    bad = study(tmp_path, axis=[{"path": "link.up.rate", "values": ["1Mbit", "fast"]}])
    with pytest.raises(forebay.ScenarioError, match=r'link\.up\.rate = fast, discipline "fifo".*'):
        sweep.run(bad, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    same = study(tmp_path, axis=[{"path": "link.up.rate", "values": ["1Mbit", "1000kbit"]}])
    with pytest.raises(ScenarioError, match="are the same scenario"):
        sweep.run(same, tmp_path / "out")
    capture = study(tmp_path, axis=[{"path": "link.up.pcap", "values": ["a.pcap"]}])
    with pytest.raises(ScenarioError, match="pcap"):
        sweep.run(capture, tmp_path / "out")


def test_a_sweep_gives_what_single_runs_give(tmp_path: Path) -> None:
    plan = study(tmp_path)
    sweep.run(plan, tmp_path / "out", jobs=2)
    data = sweep.results(tmp_path / "out")
    assert data.complete
    assert data.runs.height == 2 * 2 * 3
    assert data.runs.columns[:7] == [
        "point", "rate", "discipline", "replication", "seed", "version", "fingerprint",
    ]  # fmt: skip
    scenario = forebay.load(tmp_path / "base.toml").with_("link.up.rate", "10Mbit")
    expected = forebay.run(scenario, discipline="codel", seed=13)
    found = data.runs.row(
        by_predicate=(pl.col("rate") == "10Mbit")
        & (pl.col("discipline") == "codel")
        & (pl.col("replication") == 3),
        named=True,
    )
    assert found["seed"] == 13
    assert found["fingerprint"] == expected.fingerprint
    assert found[TAIL] == expected.summary["classes"]["sensors"]["p99_delay_ms"]
    assert found["queues.up.kind"] == "codel"


def test_an_axis_inside_the_queue_changes_every_discipline(tmp_path: Path) -> None:
    plan = study(
        tmp_path,
        axis=[
            {"path": "link.up.queue.limit", "values": ["20p", "40p"]},
            {
                "paths": ["link.up.rate", "link.up.delay"],
                "rows": [["2Mbit", "5ms"], ["4Mbit", "1ms"]],
            },
        ],
    )
    assert len(plan.points) == 2 * 2 * 2
    effective = plan.scenario_of(plan.points[-1]).effective()
    [link] = effective["link"]
    assert (link["rate"], link["delay"], link["queue"]["kind"]) == ("4Mbit", "1ms", "codel")
    assert link["queue"]["limit"] == "40p"


def test_the_same_data_whatever_the_order_and_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study(tmp_path, axis=[RATE, FLOWS])
    sweep.run(plan, tmp_path / "one", jobs=1)
    monkeypatch.setattr(store, "JOURNAL_RUNS", 5)
    sweep.run(plan, tmp_path / "two", jobs=3)
    assert sweep.results(tmp_path / "one").runs.equals(sweep.results(tmp_path / "two").runs)
    [one], [two] = parts(tmp_path / "one"), parts(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    monkeypatch.setattr(store, "COMPACT_UP_TO", 5)
    sweep.run(plan, tmp_path / "three", jobs=3)
    assert len(parts(tmp_path / "three")) > 1
    assert sweep.results(tmp_path / "one").runs.equals(sweep.results(tmp_path / "three").runs)


def test_only_the_asked_measures_are_kept(tmp_path: Path) -> None:
    sweep.run(study(tmp_path, keys=["classes.*.goodput_bps", TAIL]), tmp_path / "out")
    assert sweep.results(tmp_path / "out").measures == (
        "classes.bulk.goodput_bps",
        "classes.sensors.goodput_bps",
        TAIL,
    )
    with pytest.raises(ScenarioError, match=r'keys: no run measures "classes\.bulk\.godput'):
        sweep.run(study(tmp_path, keys=["classes.bulk.godput_bps"]), tmp_path / "other")


def test_a_measure_may_be_missing_at_some_points(tmp_path: Path) -> None:
    average = "queues.up.variables.average_queue.mean"
    kinds = {"path": "link.up.queue.kind", "values": ["fifo", "red"]}
    plan = study(tmp_path, keys=[average], axis=[kinds], disciplines=None)
    sweep.run(plan, tmp_path / "out", jobs=1)
    found = sweep.results(tmp_path / "out").runs[average]
    assert (found.null_count(), len(found)) == (3, 6)


def test_a_changed_study_or_engine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    sweep.run(study(tmp_path), out)
    before = sweep.results(out).runs
    with pytest.raises(ScenarioError, match="differs in: replications, seed"):
        sweep.run(study(tmp_path, replications=4, seed=5), out)
    monkeypatch.setattr(forebay._engine, "version", "0.0.9")
    with pytest.raises(ScenarioError, match=r"begun with forebay .* this is 0\.0\.9"):
        sweep.run(study(tmp_path), out)
    monkeypatch.undo()
    assert sweep.results(out).runs.equals(before)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ScenarioError, match=r"holds thesis\.tex"):
        sweep.run(study(tmp_path), tmp_path / "mine")
    with pytest.raises(ScenarioError, match="is not the folder of a study"):
        sweep.results(tmp_path / "mine")


def test_a_changed_input_file_is_another_study(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\n2\n3\n")
    traced = BASE.replace('rate = "5Mbit"', 'rate = { trace = "up.trace" }')
    (tmp_path / "traced.toml").write_text(traced)
    first = study(tmp_path, scenario="traced.toml", axis=[FLOWS]).hash
    assert study(tmp_path, scenario="traced.toml", axis=[FLOWS]).hash == first
    (tmp_path / "up.trace").write_text("1\n2\n4\n")
    assert study(tmp_path, scenario="traced.toml", axis=[FLOWS]).hash != first


def test_a_second_sweep_is_refused(tmp_path: Path) -> None:
    plan = study(tmp_path)
    refused = pytest.raises(ScenarioError, match=r"another command .*\(process \d+ on ")
    with store.Store(plan, tmp_path / "out"), refused:
        sweep.run(plan, tmp_path / "out")
    sweep.run(plan, tmp_path / "out")


def test_a_torn_journal_loses_only_the_torn_line(tmp_path: Path) -> None:
    records = [Record("p", number, "f", {"a.b": 1.5, "kind": "fifo"}) for number in range(1, 4)]
    whole = b"".join(map(line_of, records))
    for size in range(len(whole) + 1):
        (tmp_path / "journal").write_bytes(whole[:size])
        found, end = read_journal(tmp_path)
        assert found == records[: whole[:size].count(b"\n")]
        assert whole[:end].count(b"\n") == len(found)
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 1
    (tmp_path / "journal").write_bytes(broken)
    assert len(read_journal(tmp_path)[0]) == 1


def test_runs_in_journal_and_part_count_once(tmp_path: Path) -> None:
    plan = study(tmp_path)
    sweep.run(plan, tmp_path / "out")
    expected = sweep.results(tmp_path / "out").runs
    layout = Layout.read(tmp_path / "out")
    row = expected.row(1, named=True)
    measures = {key: row[key] for key in expected.columns[7:] if row[key] is not None}
    line = line_of(Record(row["point"], row["replication"], row["fingerprint"], measures))
    (tmp_path / "out" / "journal").write_bytes(line)
    assert layout.manifest["hash"] == plan.hash
    assert sweep.results(tmp_path / "out").runs.equals(expected)
    sweep.run(plan, tmp_path / "out")
    assert sweep.results(tmp_path / "out").runs.equals(expected)
    assert read_journal(tmp_path / "out") == ([], 0)


FULL = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from small_study import FLOWS, RATE, study
from forebay import sweep
from forebay.sweep import store
store.JOURNAL_RUNS = {runs}
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
folder = Path({folder!r})
try:
    sweep.run(study(folder, axis=[RATE, FLOWS], replications=10), folder / "out")
except OSError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize(("runs", "limit"), [(1000, 60_000), (40, 45_000)], ids=["journal", "part"])
def test_a_full_disk_stops_the_sweep_and_keeps_what_had_ended(
    tmp_path: Path, runs: int, limit: int
) -> None:
    script = FULL.format(
        here=str(Path(__file__).parent), folder=str(tmp_path), runs=runs, limit=limit
    )
    full = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert full.returncode == 7, full.stderr
    assert (
        "is allowed; raise the limit (ulimit -f), or choose another place; the runs that had"
        in full.stdout
    )
    kept = sweep.results(tmp_path / "out")
    assert 0 < kept.runs.height < 120
    assert not kept.complete
    plan = study(tmp_path, axis=[RATE, FLOWS], replications=10)
    sweep.run(plan, tmp_path / "out")
    sweep.run(plan, tmp_path / "whole")
    assert sweep.results(tmp_path / "out").runs.equals(sweep.results(tmp_path / "whole").runs)


def test_replications_follow_the_interval() -> None:
    until = Until("k", 1.0, False, 5, 40)
    # Five samples of standard deviation 1 about 10: t(4, 0.975) / sqrt(5) = 2.776 / 2.236 = 1.2416.
    spread = [10 + x * (5 / 2) ** -0.5 * 1.0 for x in (-2, -1, 0, 1, 2)]
    assert stats.interval(spread).half_width == pytest.approx(1.2416 * 1.0, rel=1e-3)  # type: ignore[union-attr]
    # 5 * 1.2416^2 = 7.71.
    assert control.enough(until, list(spread)) == 8
    assert control.enough(Until("k", 1.25, False, 5, 40), list(spread)) == 5
    # Ten percent of 10 is the same width.
    assert control.enough(Until("k", 0.1, True, 5, 40), list(spread)) == 8
    # Never more than twice as many at once, never more than allowed, even if never measured.
    assert control.enough(Until("k", 0.01, False, 5, 40), list(spread)) == 10
    assert control.enough(Until("k", 0.01, False, 5, 7), list(spread)) == 7
    assert control.enough(until, [None] * 5) == 40


def test_until_stops_where_every_interval_is_narrow_and_no_later(tmp_path: Path) -> None:
    until = {"key": TAIL, "half_width": "8%", "at_least": 4, "at_most": 60}
    plan = study(tmp_path, replications=None, until=until)
    sweep.run(plan, tmp_path / "out")
    data = sweep.results(tmp_path / "out")
    assert data.complete
    table = data.intervals(TAIL)
    narrow = table["half_width"] <= 0.08 * table["mean"]
    assert (narrow | (table["samples"] == 60)).all()
    counts = table.group_by("rate").agg(pl.col("samples").n_unique())
    assert counts["samples"].to_list() == [1, 1], "pairs need equal replications"
    assert table["samples"].min() >= 4  # type: ignore[operator]
    with pytest.raises(ScenarioError, match=r"until\.key: no run measures .*nearest.*p99_delay"):
        bad = until | {"key": "classes.sensors.p98_delay_ms"}
        sweep.run(study(tmp_path, replications=None, until=bad), tmp_path / "bad")


def test_intervals_and_pairs_match_those_of_a_comparison(tmp_path: Path) -> None:
    sweep.run(study(tmp_path, replications=6), tmp_path / "out")
    data = sweep.results(tmp_path / "out")
    scenario = forebay.load(tmp_path / "base.toml").with_("link.up.rate", "10Mbit")
    comparison = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=6)
    at = (pl.col("rate") == "10Mbit") & (pl.col("discipline") == "codel")
    mean = data.intervals(TAIL).row(by_predicate=at, named=True)
    expected = comparison.interval("codel", "sensors", "p99_delay_ms")
    assert expected is not None
    assert mean["mean"] == pytest.approx(expected.mean)
    assert mean["half_width"] == pytest.approx(expected.half_width)
    difference = data.differences(TAIL, "fifo").row(by_predicate=at, named=True)
    paired = comparison.difference("codel", "fifo", "sensors", "p99_delay_ms")
    assert paired is not None
    assert difference["mean"] == pytest.approx(paired.mean)
    assert difference["half_width"] == pytest.approx(paired.half_width)
    assert difference["samples"] == 6
    with pytest.raises(KeyError, match="no measure"):
        data.intervals("classes.sensors.nothing")
    with pytest.raises(KeyError, match="no discipline"):
        data.differences(TAIL, "pie")


def test_regions_are_hotellings(tmp_path: Path) -> None:
    sweep.run(study(tmp_path), tmp_path / "out")
    data = sweep.results(tmp_path / "out")
    points = [(1.0, 2.0), (2.0, 1.0), (3.0, 6.0), (6.0, 7.0), (8.0, 4.0)]
    row = data.runs.row(0, named=True)
    rows = [row | {"replication": n, "a": x, "b": y} for n, (x, y) in enumerate(points)]
    made = type(data)(data.folder, data.layout, pl.from_dicts(rows, infer_schema_length=None))
    [region] = made.regions("a", "b").to_dicts()
    assert (region["x"], region["y"]) == (4.0, 4.0)
    # Covariance by hand: sums of squares 34, 26, products 16, over 4; F(2, 3, 0.95) = 9.5521,
    # times 2 * 4 / (5 * 3).
    factor = 9.5521 * 8 / 15
    assert region["xx"] == pytest.approx(34 / 4 * factor, rel=1e-4)
    assert region["xy"] == pytest.approx(16 / 4 * factor, rel=1e-4)
    assert region["yy"] == pytest.approx(26 / 4 * factor, rel=1e-4)


def test_the_command_sweeps_and_reports(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASE)
    fields = {"scenario": "base.toml", "disciplines": ["fifo"], "axis": [RATE], "replications": 1}
    (tmp_path / "study.json").write_text(json.dumps(fields))
    command = [str(Path(sys.executable).with_name("forebay"))]

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path)

    done = call("sweep", "study.json", "-j", "1")
    assert done.stdout.startswith("2 runs of 2 points: out/study"), done.stderr
    done = call("report", "out/study")
    assert done.stdout == "Report: out/study/report.html\n", done.stderr
    assert "batch means" in (tmp_path / "out/study/report.html").read_text()
    assert call("report", ".").returncode == 2
    assert call("sweep", "nothing.toml").returncode == 2
    nobody = call("sweep", "study.json", "--cluster", "nonsense://x")
    assert nobody.returncode == 2
    assert "no Dask scheduler answers" in nobody.stderr


def test_gain_and_efficiency_beside_a_baseline(tmp_path: Path) -> None:
    sweep.run(study(tmp_path, baseline="fifo", efficiency=["bulk"]), tmp_path / "out")
    runs = sweep.results(tmp_path / "out").runs
    base = runs.filter(discipline="fifo")
    assert set(base["efficiency"].to_list()) == {1.0} == set(base["classes.sensors.gain"].to_list())
    others = runs.filter(pl.col("discipline") != "fifo")
    both = others.join(base, on=["rate", "replication"], suffix=" of fifo")
    ratio = both["classes.bulk.goodput_bps"] / both["classes.bulk.goodput_bps of fifo"]
    assert both["efficiency"].to_list() == ratio.to_list() == both["classes.bulk.gain"].to_list()
    with pytest.raises(ScenarioError, match="one of fifo"):
        study(tmp_path, baseline="none")
    with pytest.raises(ScenarioError, match="baseline"):
        study(tmp_path, efficiency=["bulk"])


def test_disciplines_go_to_every_link_that_is_named(tmp_path: Path) -> None:
    both = study(tmp_path, link=["up", "up-reverse"], disciplines=["codel"], axis=[])
    sweep.run(both, tmp_path / "out")
    runs = sweep.results(tmp_path / "out").runs
    assert runs["queues.up.kind"].unique().to_list() == ["codel"]
    assert runs["queues.up-reverse.kind"].unique().to_list() == ["codel"]
    assert study(tmp_path, link=["up"], axis=[]).hash == study(tmp_path, link="up", axis=[]).hash
    with pytest.raises(ScenarioError, match="link: must be"):
        study(tmp_path, link=3)


def test_steps_may_have_names(tmp_path: Path) -> None:
    named = study(tmp_path, axis=[RATE | {"labels": ["slow", "fast"]}], disciplines=["fifo"])
    [axis] = named.axes
    assert axis.labels == ("slow", "fast")
    assert axis.numbers is None
    assert axis.rows == (("2Mbit",), ("10Mbit",))
    sweep.run(named, tmp_path / "out")
    data = sweep.results(tmp_path / "out")
    assert data.axes == named.axes
    assert data.runs["rate"].unique(maintain_order=True).to_list() == ["2Mbit", "10Mbit"]
    for labels in (["slow"], ["slow", "slow"], "slow"):
        with pytest.raises(ScenarioError, match=r"axis\[0\].*labels.*"):
            study(tmp_path, axis=[RATE | {"labels": labels}])


@pytest.mark.parametrize("inline", [False, True])
def test_fields_of_a_study_and_of_its_scenario_are_set(inline: bool, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(BASE)
    scenario = forebay.load(tmp_path / "base.toml").document if inline else "base.toml"
    fields = {"scenario": scenario, "disciplines": ["fifo"], "axis": [RATE], "replications": 5}
    (tmp_path / "study.json").write_text(json.dumps(fields))
    settings = ["scenario.duration=3s", "replications=2", "scenario.traffic.bulk.flows=1"]
    changed = sweep.load(tmp_path / "study.json", settings)
    document = changed.base.document
    assert (document["duration"], changed.replications) == ("3s", 2)
    assert [entry["flows"] for entry in document["traffic"] if entry["name"] == "bulk"] == [1]
    with pytest.raises(ScenarioError, match="durration"):
        sweep.load(tmp_path / "study.json", ["scenario.durration=3s"])
