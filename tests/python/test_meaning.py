"""A scenario means one thing: to the engine, to every command and to whoever keeps its runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import forebay
from forebay import Scenario, sweep
from forebay._cli import app
from forebay._runs import Change
from forebay.tune.runs import Runs

RUN = CliRunner().invoke

GRAPH: dict[str, Any] = {
    "duration": "4s",
    "link": [
        {"name": "up", "from": "a", "to": "b", "rate": "5Mbit", "delay": "5ms"},
        {"name": "on", "from": "b", "to": "c", "rate": "4Mbit", "delay": "5ms"},
    ],
    "traffic": [{"name": "bulk", "kind": "bulk", "from": "a", "to": "c"}],
}
DUMBBELL: dict[str, Any] = {
    "duration": "4s",
    "dumbbell": {"rate": "5Mbit", "delay": "5ms"},
    "traffic": [{"name": "bulk", "kind": "bulk", "flows": 2}],
}
LOT: dict[str, Any] = {
    "duration": "4s",
    "parking_lot": {"rate": "5Mbit", "delay": "5ms", "hops": 3},
    "traffic": [
        {"name": "long", "kind": "bulk"},
        {"name": "cross", "kind": "bulk", "hop": 2},
    ],
}
TOPOLOGIES = {"graph": GRAPH, "dumbbell": DUMBBELL, "lot": LOT}
LINKS = [
    (name, link)
    for name, document in TOPOLOGIES.items()
    for link in forebay.run(Scenario.of(document)).summary["links"]
]


@pytest.mark.parametrize(("topology", "link"), LINKS)
def test_every_link_that_a_run_reports_can_be_given(
    topology: str, link: str, tmp_path: Path
) -> None:
    scenario = Scenario.of(TOPOLOGIES[topology], "s.json", str(tmp_path))
    assert scenario.compared_link(link) == link
    run = forebay.run(scenario, discipline="codel", link=link)
    kinds = {name: queue["kind"] for name, queue in run.summary["queues"].items()}
    assert kinds.pop(link) == "codel"
    assert set(kinds.values()) == {"fifo"}
    found = forebay.compare(scenario, disciplines=["codel", "pie"], replications=1, link=link)
    assert found.link == link
    forebay.write(found, tmp_path / "out")
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    # The report shows each discipline as it was on that link.
    for kind in ("codel", "pie"):
        assert re.search(rf"\[queue\]\s+kind = &#34;{kind}&#34;", text), kind
    study = sweep.read(
        {"scenario": scenario.document, "disciplines": ["codel"], "link": link, "replications": 1}
    )
    sweep.run(study, tmp_path / "sweep")
    [kind] = sweep.results(tmp_path / "sweep").runs[f"queues.{link}.kind"]
    assert kind == "codel"


def test_a_parking_lot_is_compared_swept_and_tuned(tmp_path: Path) -> None:
    lot = Scenario.of(LOT, "lot.json", str(tmp_path))
    found = forebay.compare(lot, disciplines=["fifo", "codel"], replications=1)
    [codel] = found.runs_of("codel")
    hops = {name: queue["kind"] for name, queue in codel.result.summary["queues"].items()}
    assert {hops[f"hop{number}"] for number in (1, 2, 3)} == {"codel"}
    assert found.link == "hop1"
    path = tmp_path / "lot.json"
    path.write_text(json.dumps(LOT))
    arguments = ["--maximize", "classes.long.goodput_bps", "--discipline", "codel"]
    amounts = ["--trials", "1", "-r", "2", "--candidates", "1", "--verify", "2", "--json"]
    parameter = ["--param", "parking_lot.queue.target=1ms,9ms", "-o", str(tmp_path / "tune")]
    tuned = RUN(app, ["tune", str(path), *arguments, *amounts, *parameter])
    assert tuned.exit_code == 0, tuned.output


@pytest.mark.parametrize("kind", ["bulk", "files", "web", "pages", "adaptive-video"])
def test_what_tcp_says_is_part_of_what_runs(kind: str, tmp_path: Path) -> None:
    """Top-level [tcp] holds for every source that transfers, and for its identity."""
    entry = {"name": "users", "kind": kind, "from": "b", "to": "a"}
    small = Scenario.of(GRAPH | {"traffic": [entry], "tcp": {"initial_window": 1}})
    large = small.with_("tcp.initial_window", 40)
    assert small.resolved()["traffic"][0]["transport"] == "tcp"
    for scenario in (small, large):
        whole = Scenario.of(scenario.effective())
        assert forebay.run(whole).fingerprint == forebay.run(scenario).fingerprint
        assert whole.effective() == scenario.effective()
    assert small.identity() != large.identity()
    study = sweep.read(
        {
            "scenario": small.document,
            "axis": [{"path": "tcp.initial_window", "values": [1, 40]}],
            "replications": 1,
        }
    )
    assert len(study.points) == 2
    with Runs(small, tmp_path / "tune") as runs:
        wanted = [(Change(values=(("tcp.initial_window", window),)), 1) for window in (1, 40)]
        first, second = runs.measures(wanted)
    assert first != second


def test_units_are_the_engines() -> None:
    axis = {"path": "link.up.rate", "values": ["1000kbit", "1e3kbit"]}
    study = sweep.read({"scenario": GRAPH, "axis": [axis], "replications": 1})
    assert study.axes[0].numbers is None
    with pytest.raises(forebay.ScenarioError, match='unknown unit "e3kbit"'):
        _ = study.points


def test_identities_tell_apart_what_runs_differently(tmp_path: Path) -> None:
    base = Scenario.of(GRAPH, base=str(tmp_path))
    same = [base, base.with_("title", "else"), base.with_("seed", 9), Scenario.of(base.effective())]
    assert len({each.identity() for each in same}) == 1
    other = [
        base.with_("duration", "5s"),
        base.with_queue("codel", "up"),
        base.with_queue("codel", "up-reverse"),
        base.with_("traffic[0].flows", 2),
    ]
    assert len({each.identity() for each in [base, *other]}) == 5
    (tmp_path / "up.trace").write_text("1\n2\n3\n")
    document = base.document
    document["link"][0] = {"name": "up", "from": "a", "to": "b", "rate": {"trace": "up.trace"}}
    traced = Scenario.of(document, base=str(tmp_path))
    before = traced.identity()
    (tmp_path / "up.trace").write_text("1\n2\n4\n")
    assert traced.identity() != before
