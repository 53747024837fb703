"""`forebay twin`: a gate's subscribers and their day as a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import forebay
from forebay import _twin
from forebay._advice import gate
from forebay._cli import app
from forebay._engine import ScenarioError

TREE = {
    "Hill": {
        "downloadBandwidthMbps": 20,
        "uploadBandwidthMbps": 10,
        "children": {"AP": {"downloadBandwidthMbps": 8, "uploadBandwidthMbps": 4}},
    }
}
HEAD = (
    "Circuit ID,Parent Node,IPv4,Download Min Mbps,Upload Min Mbps,"
    "Download Max Mbps,Upload Max Mbps"
)
GATE = """
[link]
rate = "100Mbit"
reverse = { rate = "200Mbit" }
[subscribers]
network = "network.json"
devices = "devices.csv"
queue = { kind = "fq-codel" }
[io]
inside = "a"
outside = "b"
"""
COLUMNS = "circuit,hour,down_mbps,up_mbps\n"
DAY = f"{COLUMNS}a,3,1,0.5\nb,3,2,0\na,20,6,1\nb,20,9,0\nz,20,1,1\n"


def given(folder: Path, day: str = DAY, name: str = "day.csv") -> tuple[Path, Path]:
    """A gate's configuration with its files, and statistics."""
    (folder / "network.json").write_text(json.dumps(TREE))
    (folder / "devices.csv").write_text(f"{HEAD}\na,AP,10.0.0.1,1,1,6,2\nb,Hill,10.0.0.2,1,1,9,3\n")
    (folder / "gate.toml").write_text(GATE)
    (folder / name).write_text(day)
    return folder / "gate.toml", folder / name


def test_circuits_have_their_leaves_plans_and_the_busiest_hour(tmp_path: Path) -> None:
    scenario, notes = _twin.scenario_of(*given(tmp_path), _twin.Choices(queues=("fifo",)))
    document = scenario.document
    link = document["link"][0]
    assert (link["rate"], link["reverse"]["rate"]) == ("200Mbit", "100Mbit")
    # Leaf 0 is for unknown addresses, then come the circuits of each node, from the top down.
    hill = link["queue"]["classes"][0]["classes"][1]
    assert [hill["ceil"], hill["classes"][0]["ceil"]] == ["20Mbit", "9Mbit"]
    assert hill["classes"][1]["classes"][0]["ceil"] == "6Mbit"
    entries = {
        each["name"]: (each.get("to_host"), each.get("from_host"), each["interval"], each["class"])
        for each in document["traffic"]
    }
    assert entries == {
        "b down": (1, None, "0.888889s", "Hill down"),
        "a down": (2, None, "1.333333s", "AP down"),
        "a up": (None, 2, "8.000000s", "AP up"),
    }
    assert [each["leaf"]["kind"] for each in document["compare"]["disciplines"][1:]] == ["fifo"]
    assert "hour 20 of 3 and 20" in notes
    assert any("1 circuits of the statistics are not" in note for note in notes)


def test_a_circuit_is_held_to_its_plan(tmp_path: Path) -> None:
    day = f"{COLUMNS}a,0,6,0\nb,0,1,0\n"
    scenario, _ = _twin.scenario_of(*given(tmp_path, day), _twin.Choices(by="circuit"))
    scenario = scenario.with_("traffic.a down.interval", "160ms")
    result = forebay.run(scenario.with_("duration", "8s").with_("warmup", "2s"))
    classes = result.summary["classes"]
    # Circuit a asks for 50 Mbit/s, and its plan is 6; b has room.
    assert 5.3e6 < classes["a down"]["goodput_bps"] < 6.0e6
    assert classes["b down"]["goodput_bps"] < 4e6


def test_a_site_is_taken_with_its_capacity(tmp_path: Path) -> None:
    scenario, _ = _twin.scenario_of(*given(tmp_path), _twin.Choices(site="AP", by="plan", hour=3))
    link = scenario.document["link"][0]
    assert (link["rate"], link["reverse"]["rate"]) == ("8Mbit", "4Mbit")
    assert {each["class"] for each in scenario.document["traffic"]} == {
        "6/2 Mbit/s down",
        "6/2 Mbit/s up",
    }


def test_the_gate_s_own_statistics_are_differences(tmp_path: Path) -> None:
    def line(at: float, down: int) -> str:
        ways = {"down": {"sent": {"bytes": down}}, "up": {"sent": {"bytes": 0}}}
        circuits = [{"circuit": None, **ways}, {"circuit": "a", **ways}]
        return json.dumps({"uptime_s": at, "circuits": circuits})

    # After the second line the gate was started again.
    lines = "\n".join([line(10, 1000), line(3610, 451_000), line(1, 0), line(3601, 900_000)])
    config, stats = given(tmp_path, lines, "day.jsonl")
    scenario, notes = _twin.scenario_of(config, stats, _twin.Choices())
    assert scenario.document["traffic"][0]["interval"] == f"{8e6 / 2000:.6f}s"
    assert notes[0] == "hour 1 of 0 and 1"


@pytest.mark.parametrize(
    ("day", "choices", "expected"),
    [
        ("a,b\n", {}, 'has no column "circuit"'),
        (f"{COLUMNS}a,x,1,1\n", {}, 'line 2: hour: expected a number from 0 to 23, got "x"'),
        (f"{COLUMNS}a,24,1,1\n", {}, 'line 2: hour: expected a number from 0 to 23, got "24"'),
        (f"{COLUMNS}a,1,nan,1\n", {}, "line 2: down_mbps: expected Mbit/s, 0 or more, got"),
        (f"{COLUMNS}a,1,1,-1\n", {}, "line 2: up_mbps: expected Mbit/s, 0 or more, got"),
        (f"{COLUMNS}a,1,1,\n", {}, "line 2: up_mbps: is missing"),
        (f"{COLUMNS}a,1,1\n", {}, "line 2: up_mbps: is missing"),
        (f"{COLUMNS},1,1,1\n", {}, "line 2: circuit: is missing"),
        (f"{COLUMNS}a,1,1,1,1\n", {}, "line 2: has 5 fields, and the first line 4"),
        (f"{COLUMNS}a,1,1,1\n\na,01,2,2\n", {}, "line 4: circuit a has hour 1 already"),
        (COLUMNS, {}, "has no hours"),
        (f"{COLUMNS}a,1,1,1\nb,5,9999,1\n", {}, "hour 5: circuit b has 9999 Mbit/s down, more "),
        (f"{COLUMNS}a,1,1,2.5\n", {}, "circuit a has 2.5 Mbit/s up, more than its plan of 2"),
        (DAY, {"hour": 7}, "has no hour 7; it has 3 and 20"),
        (
            DAY,
            {"queues": ("foo",)},
            'discipline "foo": link[0].queue.leaf.kind: unknown kind "foo"',
        ),
        (DAY, {"queues": ("fifo:limit=no",)}, "link[0].queue.leaf.limit: expected a buffer"),
        (DAY, {"queues": ("fifo", "fifo")}, 'two are called "fifo"'),
        (DAY, {"site": "APP"}, '--site: unknown site "APP" (did you mean "AP"?)'),
        (DAY, {"size": "9s"}, "--size: expected a size"),
    ],
)
def test_what_is_wrong_is_named(
    day: str, choices: dict[str, object], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as refused:
        _twin.scenario_of(*given(tmp_path, day), _twin.Choices(**choices))  # type: ignore[arg-type]
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ([4], "4"),
        ([20, 4], "4 and 20"),
        (range(24), "0 to 23"),
        ([*range(6), 9], "0 to 5 and 9"),
    ],
)
def test_hours_are_listed(hours: Sequence[int], said: str) -> None:
    assert _twin._span(hours) == said


def test_a_circuit_that_was_a_little_above_its_plan_is_taken(tmp_path: Path) -> None:
    # Some counters count frames with their headers.
    scenario, _ = _twin.scenario_of(*given(tmp_path, f"{COLUMNS}a,1,6.3,1\n"), _twin.Choices())
    assert scenario.document["traffic"][0]["name"] == "a down"


def test_compare_names_what_to_change_in_the_gate_instead_of_writing_one(tmp_path: Path) -> None:
    # A gate without subscribers has no host numbers for the tree of a twin.
    choices = _twin.Choices(queues=("codel",), hour=20)
    scenario, _ = _twin.scenario_of(*given(tmp_path), choices)
    compared = forebay.compare(
        scenario.with_("duration", "6s"), disciplines=["today", "codel", "fifo"], replications=1
    )
    assert gate.of_circuits(compared, "today") is None
    # This one replaces the whole tree.
    assert gate.of_circuits(compared, "fifo") is None and not gate.fits(compared)
    listed = forebay.compare(scenario.with_("duration", "6s"), replications=1)
    change = gate.of_circuits(listed, "codel")
    assert change is not None
    assert change.startswith('[subscribers]\nqueue = { kind = "codel" }  # ')
    file, written = tmp_path / "twin.toml", tmp_path / "g.toml"
    file.write_text(scenario.to_toml())
    words = ["compare", str(file), "-r", "1", "--out", str(tmp_path / "out")]
    for link in ("down", "*"):
        refused = CliRunner().invoke(app, [*words, "--link", link, "--gate", str(written)])
        assert refused.exit_code == 2 and "a gate with subscribers can; change" in refused.stderr
    # The tree of one direction is not put on the other.
    refused = CliRunner().invoke(app, [*words, "--link", "*"])
    assert refused.exit_code == 2 and "which suits one direction" in refused.stderr
    assert not written.exists() and not (tmp_path / "out").exists()


def test_other_plans_are_another_file_in_the_gate(tmp_path: Path) -> None:
    config, day = given(tmp_path)
    fast = tmp_path / "fast.csv"
    fast.write_text((tmp_path / "devices.csv").read_text().replace("6,2", "8,4"))
    scenario, _ = _twin.scenario_of(config, day, _twin.Choices(plans=(fast,), hour=20))
    compared = forebay.compare(scenario.with_("duration", "6s"), replications=1)
    change = gate.of_circuits(compared, "fast")
    assert change is not None and "devices = " in change and "plans of fast" in change
