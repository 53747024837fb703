"""Networks' files made scenarios: every form, every default that is said, every error."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner

import forebay
from forebay import _topology as topology
from forebay._cli import app
from forebay._engine import ScenarioError
from forebay._topology import traffic
from forebay._topology.network import great_circle_km

command = CliRunner().invoke

CITIES = {
    "Berlin": (52.5, 13.4),
    "Munich": (48.14, 11.58),
    "Frankfurt": (50.11, 8.68),
    "Hamburg": (53.55, 10.0),
}


def zoo(path: Path, graph: nx.Graph | None = None) -> Path:
    """Four cities: a capacity by each of the Zoo's ways to say one, and one without."""
    if graph is None:
        graph = nx.Graph(Network="Cities")
        for number, (city, (latitude, longitude)) in enumerate(CITIES.items()):
            graph.add_node(str(number), label=city, Latitude=latitude, Longitude=longitude)
        graph.add_edge("0", "1", LinkSpeedRaw=10e9)
        graph.add_edge("1", "2", LinkSpeed="2.5", LinkSpeedUnits="G")
        graph.add_edge("0", "2", LinkType="OC-48")
        graph.add_edge("0", "3", LinkLabel="DWDM")
    nx.write_graphml(graph, path, named_key_ids=True)
    return path


TREE = {
    "Site": {
        "downloadBandwidthMbps": 1000,
        "uploadBandwidthMbps": 500,
        "type": "Site",
        "children": {
            "Region": {
                "virtual": True,
                "children": {
                    "AP 1": {
                        "downloadBandwidthMbps": 200.5,
                        "uploadBandwidthMbps": 100,
                        "type": "AP",
                    }
                },
            },
            "AP 2": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 20, "type": "AP"},
        },
    }
}
DEVICES = """# A comment, as in LibreQoS' example
Circuit ID,Circuit Name,Parent Node,Download Max Mbps,Upload Max Mbps,Comment,sqm
1,"4 Oak St., Gurnee",AP 1,25,5,,cake/fq_codel
2,,AP 2,50,10,,
2,,AP 2,50,10,,
3,,Region,10.5,1,,/none
4,,,100,20,,
"""


def read(path: Path, devices: Path | None = None) -> tuple[topology.Network, list[str]]:
    notes = topology.Notes()
    network = topology.read(path, notes, devices)
    return network, list(notes)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def made(path: Path, **choices: Any) -> tuple[forebay.Scenario, list[str]]:
    notes = topology.Notes()
    devices = choices.pop("devices", None)
    network = topology.read(path, notes, devices)
    return topology.scenario_of(network, topology.Choices(**choices), notes), list(notes)


def links_of(scenario: forebay.Scenario) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in scenario.document["link"]}


def test_graphml_of_the_zoo(tmp_path: Path) -> None:
    scenario, notes = made(zoo(tmp_path / "cities.graphml"), flows=12)
    links = links_of(scenario)
    rates = {name: link["rate"] for name, link in links.items()}
    assert rates == {
        "Berlin-Munich": "10Gbit",
        "Berlin-Frankfurt": "2488320kbit",
        "Berlin-Hamburg": "1Gbit",
        "Munich-Frankfurt": "2500Mbit",
    }
    assert notes == ["1 link without a capacity: 1Gbit taken, --rate changes it: Berlin-Hamburg"]
    # A degree of a meridian is 111.19 km; the rest is 1.82 degrees of longitude at 50.3 degrees.
    km = great_circle_km((13.4, 52.5), (11.58, 48.14))
    plane = 111.195 * math.hypot(4.36, 1.82 * math.cos(math.radians(50.32)))
    assert km == pytest.approx(plane, rel=1e-3)
    assert links["Berlin-Munich"]["delay"] == f"{round(km / 199_861.639 * 1e6)}us"
    positions = scenario.document["positions"]
    east, north = (positions["Berlin"][axis] - positions["Munich"][axis] for axis in (0, 1))
    assert math.hypot(east, north) == pytest.approx(km, rel=0.01)
    assert scenario.document["title"] == "Cities"


def test_graphml_may_leave_its_namespace_out(tmp_path: Path) -> None:
    whole = zoo(tmp_path / "cities.graphml")
    bare = tmp_path / "bare.graphml"
    bare.write_text(re.sub("<graphml [^>]*>", "<graphml>", whole.read_text()))
    assert read(bare)[0] == read(whole)[0]


def test_an_unknown_encoding_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cities.graphml"
    path.write_text('<?xml version="1.0" encoding="u-tf-8"?><graphml/>')
    with pytest.raises(ScenarioError, match="is not GraphML: unknown encoding: u-tf-8"):
        read(path)


def test_lines_without_end_are_unknown(tmp_path: Path) -> None:
    links = [{"source": 0, "target": 1, "LinkType": f"OC-{'9' * 5000}"}]
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"nodes": [{"id": 0}, {"id": 1}], "links": links}))
    assert read(path)[0].links


def test_node_link_json_says_what_graphml_says(tmp_path: Path) -> None:
    graphml = zoo(tmp_path / "cities.graphml")
    graph = nx.read_graphml(graphml)
    for edges in ("links", "edges"):
        document = nx.node_link_data(graph, edges=edges)
        path = written(tmp_path / f"{edges}.json", json.dumps(document))
        assert read(path)[0] == read(graphml)[0]
    plain = {"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": 0, "target": 1}]}
    network, _ = read(written(tmp_path / "d3.json", json.dumps(plain)))
    assert [(link.start, link.end) for link in network.links] == [("a", "b")]
    assert network.name == "d3"


def test_loops_parallel_edges_and_lonely_nodes_are_said(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("hub", hyperedge=1)
    graph.add_node("lonely", Country="Nowhere")
    graph.add_edges_from([("a", "b", {"rate": "10Mbit"}), ("b", "a", {"rate": "20Mbit"})])
    graph.add_edges_from([("a", "b", {"rate": "5Mbit"}), ("a", "a", {}), ("b", "hub", {})])
    scenario, notes = made(zoo(tmp_path / "odd.graphml", graph), delay="2ms", rate="3Mbit")
    assert notes == [
        "1 edge from a node to itself left out: a",
        "1 parallel edge joined with another one: their capacities add up: a-b",
        "1 edge that goes one way got a way back of the same rate: b-hub",
        "1 hyperedge taken as a node without traffic of its own: hub",
        "1 field of nodes not used: Country",
        "1 link without a capacity: 3Mbit taken, --rate changes it: b-hub",
        "2 links without a delay or places of both ends: 2ms taken, --delay changes it: a-b, b-hub",
        "1 node without a link left out: lonely",
    ]
    links = links_of(scenario)
    assert (links["a-b"]["rate"], links["a-b"]["reverse"]["rate"]) == ("15Mbit", "20Mbit")
    assert {entry["from"] for entry in scenario.document["traffic"]} == {"a", "b"}
    assert "positions" not in scenario.document


def test_nodes_of_one_label_are_told_apart(tmp_path: Path) -> None:
    graph = nx.Graph()
    for number, label in enumerate(("x", "x", "None")):
        graph.add_node(str(number), label=label)
    graph.add_edges_from([("0", "1"), ("1", "2")])
    network, _ = read(zoo(tmp_path / "twins.graphml", graph))
    assert list(network.nodes) == ["x (0)", "x (1)", "2"]


def test_a_tree_of_sites_and_its_subscribers(tmp_path: Path) -> None:
    tree = written(tmp_path / "network.json", json.dumps(TREE))
    devices = written(tmp_path / "ShapedDevices.csv", DEVICES)
    rules = ("fifo", "ap:codel", 'circuit 2:{ kind = "pie", target = "5ms" }')
    scenario, notes = made(tree, devices=devices, queues=rules, flows=100)
    links = links_of(scenario)
    ends = {name: (link["from"], link["to"]) for name, link in links.items()}
    assert ends == {
        "Site": ("internet", "Site"),
        "AP 1": ("Site", "AP 1"),
        "AP 2": ("Site", "AP 2"),
        "circuit 1": ("AP 1", "circuit 1"),
        "circuit 2": ("AP 2", "circuit 2"),
        "circuit 3": ("Site", "circuit 3"),
        "circuit 4": ("internet", "circuit 4"),
    }
    rates = {name: (link["rate"], link["reverse"]["rate"]) for name, link in links.items()}
    assert rates["Site"] == ("1Gbit", "500Mbit")
    assert rates["AP 1"] == ("200500kbit", "100Mbit")
    assert rates["circuit 3"] == ("10500kbit", "1Mbit")
    queues = {
        name: (link["queue"]["kind"], link["reverse"]["queue"]["kind"])
        for name, link in links.items()
    }
    assert queues == {
        "Site": ("fifo", "fifo"),
        "AP 1": ("codel", "codel"),
        "AP 2": ("codel", "codel"),
        "circuit 1": ("cake", "fq-codel"),
        "circuit 2": ("pie", "pie"),
        "circuit 3": ("fifo", "fifo"),
        "circuit 4": ("fifo", "fifo"),
    }
    assert links["circuit 2"]["queue"]["target"] == "5ms"
    assert [note for note in notes if "delay" not in note] == [
        "1 virtual node taken out, as they shape nothing: Region",
        "1 further device of a circuit share it: 2",
        "1 circuit without a parent put below the internet: 4",
        "2 links with a queue of the file's own (sqm): circuit 1, circuit 3",
    ]
    # Leaves in proportion to their rates: 30, 60, 11.5 and 120 of 221.5 Mbit/s.
    flows = {entry["to"]: entry["flows"] for entry in scenario.document["traffic"]}
    assert flows == {"circuit 1": 14, "circuit 2": 27, "circuit 3": 5, "circuit 4": 54}
    assert {entry["from"] for entry in scenario.document["traffic"]} == {"internet"}


def test_a_flat_network_needs_its_subscribers(tmp_path: Path) -> None:
    flat = written(tmp_path / "network.json", "{}")
    with pytest.raises(ScenarioError, match="flat network needs --devices"):
        read(flat)
    lines = DEVICES.splitlines()
    devices = written(tmp_path / "d.csv", "\n".join([lines[1], lines[-1]]))
    network, _ = read(flat, devices)
    assert [link.name for link in network.links] == ["circuit 4"]


BAD_TREES: dict[str, tuple[Any, str]] = {
    "twice": (
        {"a": {"children": {"b": {}}}, "c": {"children": {"b": {}}}},
        r"c.children.b: the name occurs twice, also at a.children.b; .* rename one",
    ),
    "below itself": ({"a": {"children": {"a": {}}}}, "a.children.a: the name occurs twice"),
    "no object": ({"a": 5}, "a: expected an object with downloadBandwidthMbps"),
    "children": ({"a": {"children": [1]}}, "a.children: expected an object of nodes by name"),
    "rate": ({"a": {"downloadBandwidthMbps": -1}}, "Mbps: expected Mbit/s above 0, got -1"),
    "place": ({"a": {"latitude": 95, "longitude": 0}}, "a.latitude: expected degrees"),
}


@pytest.mark.parametrize("case", BAD_TREES)
def test_bad_trees_are_named(case: str, tmp_path: Path) -> None:
    document, message = BAD_TREES[case]
    path = written(tmp_path / "network.json", json.dumps(document))
    with pytest.raises(ScenarioError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("AP 1,25", "AP 9,25", 'line 3: Parent Node: no node is called "AP 9"; did you mean'),
        ("AP 1,25", "AP 1,fast", 'line 3: Download Max Mbps: expected Mbit/s above 0, got "fast"'),
        ("cake/fq_codel", "sfq", "line 3: sqm: expected cake, fq_codel, none or two"),
        ("Parent Node", "Parents", 'has no column "Parent Node"'),
        ("\n4,,", "\n,,", "line 7: Circuit ID: is missing"),
    ],
)
def test_bad_devices_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    tree = written(tmp_path / "network.json", json.dumps(TREE))
    devices = written(tmp_path / "d.csv", DEVICES.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=message):
        read(tree, devices)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.gml", "graph []", "expected a file that ends in .graphml"),
        ("a.json", "[1]", "expected a JSON object, got list"),
        ("a.json", "{", "is not JSON: "),
        ("a.json", '{"a": {}, "a": {}}', '"a" occurs twice in one object; rename one'),
        ("a.json", '{"nodes": 1, "links": []}', "nodes: expected a list of objects"),
        ("a.json", '{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "1 occurs twice"),
        (
            "a.json",
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
            r"links\[0\].target: no node has the id 2",
        ),
        ("a.graphml", "<graph", "is not GraphML: "),
        ("a.graphml", '<graphml xmlns="http://elsewhere"/>', "is not GraphML: "),
    ],
)
def test_what_is_no_network_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=message):
        read(written(tmp_path / name, text))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"LinkSpeedRaw": 0.0}, "edge a-b: LinkSpeedRaw: expected bit/s above 0"),
        ({"LinkSpeed": "1", "LinkSpeedUnits": "X"}, "LinkSpeedUnits: expected one of K, M, G"),
        ({"rate": "5ms"}, 'rate: expected a rate such as "10Mbit", got "5ms"'),
        ({"delay": "fast"}, 'delay: expected a time such as "5ms", got "fast"'),
    ],
)
def test_bad_edges_are_named(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", **fields)
    with pytest.raises(ScenarioError, match=message):
        read(zoo(tmp_path / "bad.graphml", graph))


def test_a_delay_of_ages_is_refused(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", delay=1.797693134862316e302)
    with pytest.raises(ScenarioError, match="link a-b: its delay must be at most 1e"):
        made(zoo(tmp_path / "bad.graphml", graph))


def test_gravity_adds_up(tmp_path: Path) -> None:
    path = zoo(tmp_path / "cities.graphml")
    for flows in (1, 7, 1000):
        scenario, _ = made(path, flows=flows)
        assert sum(entry["flows"] for entry in scenario.document["traffic"]) == flows
    scenario, _ = made(path, load="1Gbit", scale=0.5)
    entries = scenario.document["traffic"]
    assert len(entries) == 12
    us = [float(entry["interval"].removesuffix("us")) for entry in entries]
    assert sum(8 * traffic.FILE_BYTES / (each * 1e-6) for each in us) == pytest.approx(5e8, 0.01)
    # Two weights are what their links carry; a pair's share is the product of the two.
    network, _ = read(path)
    shares = traffic.gravity(network, {link.name: 2.0 for link in network.links})
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["Berlin", "Munich"] / shares["Munich", "Hamburg"] == pytest.approx(3 / 1)
    assert links_of(scenario)["Berlin-Munich"]["rate"] == "5Gbit"


def test_gravity_stays_within_the_parts_of_a_network(tmp_path: Path) -> None:
    graph = nx.Graph([("a", "b"), ("c", "d")])
    scenario, _ = made(zoo(tmp_path / "parts.graphml", graph))
    pairs = {(entry["from"], entry["to"]) for entry in scenario.document["traffic"]}
    assert pairs == {("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")}


def test_a_table_of_demands(tmp_path: Path) -> None:
    table = """from,to,flows,kind,class,demand
Berlin,Munich,3,,,
Berlin,Munich,2,web,people,

Munich,Hamburg,,,,20Mbit
"""
    demands = written(tmp_path / "demands.csv", table)
    scenario, notes = made(zoo(tmp_path / "cities.graphml"), demands=demands, scale=0.1)
    first, second, third = scenario.document["traffic"]
    assert (first["kind"], first["flows"], first["class"]) == ("bulk", 3, "bulk")
    assert (second["name"], second["class"]) == ("Berlin to Munich 2", "people")
    assert (third["kind"], third["interval"]) == ("files", "4000000us")
    assert not [note for note in notes if "demand" in note]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("from,to\nBerlin,Munch\n", 'line 2: to: no node is called "Munch"; did you mean "Munich"'),
        ("from,flows\nBerlin,1\n", 'has no column "to"'),
        ("from,to\n", "has no demands"),
        ("from,to\nBerlin,Munich,3\n", "line 2: has more cells"),
        ("from,to,demand\nBerlin,Munich,5ms\n", "line 2: demand: expected a rate"),
        ("from,to,demand,kind\nBerlin,Munich,1Mbit,web\n", "line 2: demand: goes with no kind"),
        ("from,to,colour\n\nBerlin,Munich,red\n", 'line 3: colour: unknown field "colour"'),
        ("from,to,kind\nBerlin,Munich,bulk\nBerlin,Munich,b\n", 'line 3: kind: .*"b"'),
        ("from,to\nBerlin,Berlin\n", "line 2: to: must differ from `from`"),
    ],
)
def test_bad_demands_are_named(table: str, message: str, tmp_path: Path) -> None:
    demands = written(tmp_path / "demands.csv", table)
    with pytest.raises(ScenarioError, match=message):
        made(zoo(tmp_path / "cities.graphml"), demands=demands)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"queues": ["site:cake"]}, '--queue "site:cake": no link has a type or name "site"'),
        ({"queues": ["5"]}, '--queue "5": expected a kind'),
        ({"queues": ["nonsense"]}, 'queue.kind: .*"nonsense"'),
        ({"rate": "5ms"}, "--rate: expected a rate"),
        ({"delay": "1Mbit"}, "--delay: expected a time"),
        ({"scale": 0.0}, "--scale: must be above 0"),
        ({"scale": 1e300}, "its capacity times --scale must be 1 to 1e\\+18 bit/s"),
        ({"scale": 1e-300}, "its capacity times --scale must be 1 to 1e\\+18 bit/s"),
        ({"metric": "luck"}, "--metric: expected hops, delay or rate"),
        ({"flows": 10**8}, "flows"),
    ],
)
def test_bad_choices_are_named(choices: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=message):
        made(zoo(tmp_path / "cities.graphml"), **choices)


def costly(rng: random.Random, metric: str, tmp_path: Path) -> forebay.Scenario:
    graph: nx.Graph = nx.connected_watts_strogatz_graph(20, 4, 0.5, seed=rng.randrange(10**6))
    for fields in (graph.edges[edge] for edge in graph.edges):
        fields["rate"] = f"{rng.randrange(1, 20)}Mbit"
        fields["delay"] = f"{rng.randrange(1, 20)}ms"
    return made(zoo(tmp_path / "net.graphml", graph), metric=metric, flows=200)[0]


WEIGHTS: dict[str, Callable[[dict[str, Any]], int]] = {
    "hops": lambda _: 1,
    "delay": lambda link: int(link["delay"].removesuffix("us")),
    "rate": lambda link: round(19e6 / int(float(link["rate"].removesuffix("Mbit")) * 1e6)),
}


@pytest.mark.parametrize("metric", WEIGHTS)
def test_routes_are_the_shortest_paths(metric: str, tmp_path: Path) -> None:
    rng = random.Random(metric)
    for _ in range(5):
        scenario = costly(rng, metric, tmp_path)
        links = links_of(scenario)
        most = max(int(link["rate"].removesuffix("Mbit")) for link in links.values())
        weights = {
            name: max(1, round(most / int(link["rate"].removesuffix("Mbit"))))
            if metric == "rate"
            else WEIGHTS[metric](link)
            for name, link in links.items()
        }
        graph = nx.Graph()
        for name, link in links.items():
            graph.add_edge(link["from"], link["to"], cost=weights[name])
        entries = scenario.resolved()["traffic"]
        assert len(entries) > 100
        for entry in entries:
            way = [name.removesuffix("-reverse") for name in entry["links"]]
            nodes = [end for name in way for end in (links[name]["from"], links[name]["to"])]
            assert {entry["from"], entry["to"]} <= set(nodes)
            least = nx.shortest_path_length(graph, entry["from"], entry["to"], weight="cost")
            assert sum(weights[name] for name in way) == least


def test_an_imported_network_runs_whole(tmp_path: Path) -> None:
    scenario, _ = made(zoo(tmp_path / "cities.graphml"), load="6Gbit", scale=0.01)
    scenario = scenario.with_("duration", "3s").with_("warmup", "1s")
    result = forebay.run(scenario.with_queue("codel", "*"))
    queues = result.summary["queues"]
    assert {name: queue["kind"] for name, queue in queues.items()} == dict.fromkeys(queues, "codel")
    assert len(queues) == 8
    assert result.summary["classes"]["gravity"]["flows"] == 12
    assert sum(link["sent_packets"] for link in result.summary["links"].values()) > 100


def test_the_command_writes_a_scenario_and_says_what_it_assumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zoo(tmp_path / "cities.graphml")
    arguments = ["import", "cities.graphml", "--flows", "20"]
    done = command(app, [*arguments, "--queue", "Berlin*:red"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Wrote cities.toml: 4 nodes, 4 links, 20 flows of 8 entries")
    said = [line.removeprefix("note: cities.graphml: ") for line in done.stderr.splitlines()]
    assert "1 link that no --queue names got a fifo: Munich-Frankfurt" in said
    text = (tmp_path / "cities.toml").read_text()
    assert all(f"# {line}\n" in text for line in said)
    assert forebay.load(tmp_path / "cities.toml").effective()["title"] == "Cities"
    again = command(app, arguments)
    assert again.exit_code == 2
    assert again.stderr == "error: cities.toml: exists already; choose another name with --out\n"
    missing = command(app, ["import", "nowhere.graphml"])
    assert missing.exit_code == 2
    assert missing.stderr == "error: nowhere.graphml: there is no such file or folder\n"
