from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay._report import render
from forebay._report.wireless import network

SENSORS = Path(__file__).parents[2] / "examples" / "sensors.toml"


def drawn(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


@pytest.fixture(scope="module")
def sensors() -> forebay.Comparison:
    scenario = forebay.load(SENSORS).with_("duration", "12s").with_("traffic.ftp.flows", 2)
    return forebay.compare(scenario, disciplines=["fifo", "ncq"], replications=1)


def test_the_map_shows_the_stations_and_the_hops_that_carried_data(
    sensors: forebay.Comparison,
) -> None:
    page = render(sensors)
    shown = drawn(page)["map"]
    stations = shown["stations"]
    assert [each["name"] for each in stations if each["base"]] == ["left"]
    assert [each["name"] for each in stations if each["single"]] == ["left"]
    places = {each["name"]: (each["x"], each["y"]) for each in stations}
    assert len(places) == 26
    assert places["left"] == (-200, 400)
    assert places["field-2-3"] == (400, 200)
    assert set(shown["routes"]) == {"fifo", "ncq"}
    for label, routes in shown["routes"].items():
        summary = sensors.runs_of(label)[0].result.summary["wireless"]
        counted: dict[tuple[str, str], int] = {}
        for a, b, forward, back in routes["hops"]:
            counted[stations[a]["name"], stations[b]["name"]] = forward
            counted[stations[b]["name"], stations[a]["name"]] = back
        expected = {(hop["from"], hop["to"]): hop["packets"] for hop in summary["hops"]}
        assert {hop: count for hop, count in counted.items() if count} == expected
        assert sum(routes["received"]) == sum(expected.values()) > 0
    assert 'id="map"' in page
    assert "The wireless network" in page


def test_the_map_shows_what_moves(sensors: forebay.Comparison) -> None:
    moving = {"name": "car", "track": [["0s", 0.0, 0.0], ["12s", 60.0, 80.0]]}
    nodes = [*sensors.scenario.document["wireless"]["node"], moving]
    scenario = sensors.scenario.with_("wireless.node", nodes).with_("duration", "6s")
    shown = network(forebay.compare(scenario, disciplines=["fifo"], replications=1))
    assert shown is not None
    car, phenomenon = shown["paths"]
    assert (car["what"], car["name"], car["x"], car["y"]) == ("station", "car", [0, 60], [0, 80])
    assert (phenomenon["what"], phenomenon["range"]) == ("phenomenon", 150)
    assert phenomenon["x"] == [0, 800, 0]
    # Where it is at the end, half way.
    places = {each["name"]: (each["x"], each["y"]) for each in shown["stations"]}
    assert places["car"] == (30, 40)


def test_without_a_wireless_network_there_is_no_map(scenario_file: Path) -> None:
    page = render(forebay.compare(forebay.load(scenario_file), replications=1))
    assert drawn(page)["map"] is None
    assert 'id="map"' not in page
