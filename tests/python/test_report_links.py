"""The map of a network of links in a report."""

from __future__ import annotations

import dataclasses
import io
import math
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import forebay
from charts import chosen, options
from forebay import _comparison as comparison
from forebay._compared import report
from forebay._compared.links import network
from forebay._compared.report import render
from forebay._terminal import busiest, print_run
from forebay._topology.layout import laid_out

RING = """
title = "A ring"
duration = "4s"
warmup = "1s"
positions = { a = [0, 0], b = [3, 0], c = [3, 4], d = [0, 4] }

[[link]]
name = "ab"
from = "a"
to = "b"
rate = "2Mbit"
queue = { kind = "codel" }

[[link]]
name = "bc"
from = "b"
to = "c"
rate = "5Mbit"
queue = { kind = "fifo" }
reverse = { rate = "1Mbit", queue = { kind = "fifo" } }

[[link]]
name = "cd"
from = "c"
to = "d"
rate = { steps = [["0s", "5Mbit"]] }

[[link]]
name = "da"
from = "d"
to = "a"
rate = "5Mbit"

[[traffic]]
name = "down"
kind = "bulk"
from = "a"
to = "c"

[compare]
link = "*"
replications = 2
disciplines = ["today", { kind = "fifo", limit = "10p" }]
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> forebay.Comparison:
    path = tmp_path_factory.mktemp("ring") / "ring.toml"
    path.write_text(RING)
    return forebay.compare(forebay.load(path))


def test_every_link_with_a_queue_gets_the_discipline(ring: forebay.Comparison) -> None:
    kinds = {
        label: {
            name: link["queue"] and (link["queue"]["kind"], link["queue"]["limit"])
            for link in variant.scenario.resolved()["links"]
            for name in [link["name"]]
        }
        for label, variant in zip(ring.labels, ring.variants, strict=True)
    }
    written = {"ab": ("codel", "1000p"), "bc": ("fifo", "1000p"), "bc-reverse": ("fifo", "1000p")}
    others = dict.fromkeys(("ab-reverse", "cd", "cd-reverse", "da", "da-reverse"))
    assert kinds["today"] == written | others
    assert kinds["fifo"] == dict.fromkeys(written, ("fifo", "10p")) | others
    # The first hop of the one transfer is full; that is what is shown of a link.
    assert (ring.link, ring.everywhere) == ("ab", True)


def test_the_map_holds_every_direction(ring: forebay.Comparison) -> None:
    page = render(ring)
    found = network(ring)
    assert found is not None
    assert found.nodes == {"a": (0, 0), "b": (3, 0), "c": (3, 4), "d": (0, 4)}
    assert found.titles[:4] == ["a → b", "b → a", "b → c", "c → b"]
    assert found.rates_bps == [2e6, 2e6, 5e6, 1e6, None, None, 5e6, 5e6]
    for label in ring.labels:
        runs = [run.result.summary for run in ring.runs_of(label)]
        values = found.values[label]
        assert {len(each) for each in values.values()} == {8}
        used = sum(run["links"]["ab"]["utilization"] for run in runs) / 2
        assert values["utilization"][0] == pytest.approx(100 * used, rel=1e-3)
        wait = sum(run["queues"]["bc"]["p99_delay_ms"] for run in runs) / 2
        assert values["delay"][2] == pytest.approx(wait, rel=1e-3)
        lost = sum(run["queues"]["ab"]["loss"] for run in runs) / 2
        assert values["loss"][0] == pytest.approx(100 * lost, rel=1e-3)
        # Nothing went over the fourth link.
        assert (values["utilization"][6], values["delay"][6]) == (0, None)
    assert "every link that has a queue" in page
    # What is drawn: each direction from its node to the middle, by the colour of its number.
    assert list(options(page, "map-by")) == ["utilization", "delay", "loss"]
    labels = options(page, "map-of")
    assert list(labels.values()) == list(ring.labels)
    for at, label in labels.items():
        [drawn] = chosen(page, **{"map-by": "utilization", "map-of": at})
        segments = drawn["data"]["segments"]
        assert [each["told Utilization, %"] for each in segments] == pytest.approx(
            found.values[label]["utilization"]
        )
        first = segments[0]
        assert [first[end] for end in ("x", "y", "x2", "y2")] == [0, 0, 1.5, 0]
        assert (first["told "], first["told Capacity"]) == ("a → b", "2 Mbit/s")
        steps = [sum(value > limit for limit in (20, 40, 60, 80, 95)) for value in
                 found.values[label]["utilization"] if value is not None]  # fmt: skip
        assert [each["step"] for each in segments] == steps
    # The worst are listed, worst first.
    table = page[page.index("worst directions by utilization") :]
    assert table.index("a → b") < table.index("d → a")


def test_a_link_or_two_need_no_map(scenario_file: Path) -> None:
    page = render(forebay.compare(forebay.load(scenario_file), replications=1))
    assert "The network" not in page and 'id="map-by"' not in page


def test_without_positions_trees_stand_in_rings_and_others_apart() -> None:
    tree = [("root", f"s{site}") for site in range(3)]
    tree += [(f"s{site}", f"u{site}-{user}") for site in range(3) for user in range(5)]
    places = laid_out(tree)
    far = {node: round(math.hypot(*place), 6) for node, place in places.items()}
    assert far["root"] == 0
    assert {far[node] for node in far if node.startswith("s")} == {0.5}
    assert {far[node] for node in far if node.startswith("u")} == {1}
    # Who is below another is in its part of the circle.
    angle = {node: math.atan2(y, x) for node, (x, y) in places.items()}
    for site in range(3):
        mine = [
            math.remainder(angle[f"u{site}-{user}"] - angle[f"s{site}"], math.tau)
            for user in range(5)
        ]
        assert max(map(abs, mine)) < math.pi / 3
    mesh = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "f"), ("f", "g"), ("g", "e")]
    for links in (tree, mesh, mesh[:4]):
        found = laid_out(links)
        assert found == laid_out(links)
        assert len({(round(x, 3), round(y, 3)) for x, y in found.values()}) == len(found)
    large = [(f"n{node}", f"n{(node + step) % 400}") for node in range(400) for step in (1, 7)]
    assert len(laid_out(large)) == 400


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions.nowhere": [1, 2]}, 'positions.nowhere: no link names a node "nowhere"'),
        ({"positions.a": [1]}, "positions"),
        ({"link[0].cost": 0}, "link\\[0\\].cost: must be 1 or more"),
        ({"compare.link": "?"}, 'compare.link: no link is called "\\?"'),
    ],
)
def test_what_makes_no_sense_is_named(
    ring: forebay.Comparison, changes: dict[str, object], message: str
) -> None:
    scenario = ring.scenario
    for path, value in changes.items():
        scenario = scenario.with_(path, value)
    with pytest.raises(forebay.ScenarioError, match=message):
        scenario.effective()


def test_positions_change_no_run(ring: forebay.Comparison) -> None:
    bare = ring.scenario.without("positions")
    assert bare.identity() == ring.scenario.identity()
    assert bare.with_("link[0].cost", 5).identity() != ring.scenario.identity()
    # The other way round is as long, and cheaper.
    ways = [entry["links"] for entry in bare.with_("link[0].cost", 5).resolved()["traffic"]]
    assert ways == [["da-reverse", "cd-reverse"]]


def test_of_many_links_each_has_a_row_and_one_has_columns(
    ring: forebay.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ring.links
    assert table.height == 8 * len(ring.runs)
    run = ring.runs[-1]
    row = table.filter(
        pl.col("discipline") == run.discipline, pl.col("seed") == run.seed, pl.col("link") == "bc"
    ).to_dicts()
    assert [each["kind"] for each in row] == ["fifo"]
    assert row[0]["sent_packets"] == run.result.summary["links"]["bc"]["sent_packets"]
    assert row[0]["drops.overflow"] == run.result.summary["queues"]["bc"]["drops"]["overflow"]
    few = set(ring.runs_table.columns)
    monkeypatch.setattr(comparison, "MOST_LINKS", 7)
    many = set(dataclasses.replace(ring).runs_table.columns)
    left = {name for name in few - many if not name.startswith(("links.", "queues."))}
    assert not left
    assert {name.split(".")[1] for name in many if name.startswith("queues.")} == {"ab"}


def test_of_many_links_the_most_used_are_printed(ring: forebay.Comparison) -> None:
    summary = ring.runs[0].result.summary
    assert busiest(summary) == list(summary["queues"])
    queue = summary["queues"]["ab"]
    loads = [(0.5, 0), (0.9, 1), (0.9, 7), (0.1, 99)] + [(0.2, 0)] * 30
    links = {f"l{at}": {"utilization": used} for at, (used, _) in enumerate(loads)}
    queues = {f"l{at}": queue | {"dropped": lost} for at, (_, lost) in enumerate(loads)}
    shown = busiest(summary | {"links": links, "queues": queues})
    assert (shown[:4], len(shown)) == (["l2", "l1", "l0", "l4"], 20)
    console = Console(file=io.StringIO(), width=100)
    print_run(console, summary | {"links": links, "queues": queues})
    assert "and 14 more, which are used less" in console.file.getvalue()  # type: ignore[attr-defined]


def test_long_lists_of_the_configuration_are_cut(
    ring: forebay.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the first" not in render(ring)
    monkeypatch.setattr(report, "_ENTRIES", 3)
    page = render(ring)
    assert "# link: the first 3 of 4; forebay check --effective prints all" in page
    assert "# positions: the first 3 of 4; forebay check --effective prints all" in page
