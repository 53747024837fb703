from __future__ import annotations

from pathlib import Path

import pytest

import forebay
from charts import charts
from forebay._compared.report import render
from forebay._compared.wireless import maps

SENSORS = Path(__file__).parents[2] / "examples" / "sensors.toml"


@pytest.fixture(scope="module")
def sensors() -> forebay.Comparison:
    scenario = forebay.load(SENSORS).with_("duration", "12s").with_("traffic.ftp.flows", 2)
    return forebay.compare(scenario, disciplines=["fifo", "ncq"], replications=1)


def test_the_map_shows_the_stations_and_the_hops_that_carried_data(
    sensors: forebay.Comparison,
) -> None:
    page = render(sensors)
    drawn = {each["title"]: each["data"] for each in charts(page) if each["kind"] == "map"}
    assert set(drawn) == {"fifo", "ncq"}
    for label, data in drawn.items():
        stations = data["places"]
        assert [each["told "] for each in stations if each["square"]] == ["left"]
        assert [each["name"] for each in stations if each["name"]] == ["left"]
        places = {each["told "]: (each["x"], each["y"]) for each in stations}
        assert len(places) == 26
        assert places["left"] == (-200, 400)
        assert places["field-2-3"] == (400, 200)
        summary = sensors.runs_of(label)[0].result.summary["wireless"]
        counted: dict[tuple[str, str], int] = {}
        for hop in data["segments"]:
            start, end = hop["told "].split(" ↔ ")
            assert (places[start], places[end]) == ((hop["x"], hop["y"]), (hop["x2"], hop["y2"]))
            counted[start, end] = hop["told packets there"]
            counted[end, start] = hop["told packets back"]
        expected = {(hop["from"], hop["to"]): hop["packets"] for hop in summary["hops"]}
        assert {hop: count for hop, count in counted.items() if count} == expected
        received = sum(each["told packets received"] for each in stations)
        assert received == sum(expected.values()) > 0
    busiest = max(hop["step"] for data in drawn.values() for hop in data["segments"])
    assert busiest == 7
    assert "The wireless network" in page


def test_the_map_shows_what_moves(sensors: forebay.Comparison) -> None:
    moving = {"name": "car", "track": [["0s", 0.0, 0.0], ["12s", 60.0, 80.0]]}
    nodes = [*sensors.scenario.document["wireless"]["node"], moving]
    scenario = sensors.scenario.with_("wireless.node", nodes).with_("duration", "6s")
    [shown] = maps(forebay.compare(scenario, disciplines=["fifo"], replications=1))
    car, phenomenon = shown.ways
    assert (car.name, car.x, car.y) == ("station car", [0, 60], [0, 80])
    assert (phenomenon.name, phenomenon.ring) == ("phenomenon reports", 150)
    assert phenomenon.x == [0, 800, 0]
    # Where it is at the end, half way.
    places = shown.places
    at = list(places.told[""]).index("car")
    assert (places.x[at], places.y[at]) == (30, 40)


def test_without_a_wireless_network_there_is_no_map(scenario_file: Path) -> None:
    found = forebay.compare(forebay.load(scenario_file), replications=1)
    assert maps(found) == []
    assert "The wireless network" not in render(found)
