"""Files of others, of any content: they are refused in words, or what they give can be used."""

from __future__ import annotations

import contextlib
import json
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import strategies as st

from forebay import _topology as topology
from forebay._engine import ScenarioError
from forebay._runs import Record
from forebay._runs.journal import line_of, read_journal
from forebay._scenario import load, to_toml
from forebay._suite import catalogue, worst
from forebay.attack import bounds
from forebay.attack.bounds import Bounds
from forebay.attack.plan import Space
from fuzzing import fuzz, mutated

NETWORKS = Path(__file__).parents[2] / "examples" / "networks"

names = st.sampled_from(["a", "b", "c", "Ahorn", "a-b", "internet", "", "0", "1", "é\n", "\ud800"])
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -1, 0, 1, 1e308]))
words = st.sampled_from(
    ["10Mbit", "5ms", "1e999Mbit", "OC-48", "STM-0", "G", "M", "true", "None", "-1", "nan", "1_0",
     "cake", "cake/none", "/", "٣", "\x00", "#", '"', "OC-" + "9" * 5000]
)  # fmt: skip
scalars = st.one_of(st.none(), st.booleans(), numbers, names, words)
values = st.recursive(scalars, lambda each: st.lists(each) | st.dictionaries(names, each))
NODE = ("id", "label", "name", "Longitude", "Latitude", "hyperedge", "x")
EDGE = ("source", "target", "rate", "delay", "LinkSpeed", "LinkSpeedUnits", "LinkSpeedRaw",
        "LinkType", "key")  # fmt: skip
TREE = ("downloadBandwidthMbps", "uploadBandwidthMbps", "type", "virtual", "latitude", "longitude")
CIRCUIT = ("Circuit ID", "Parent Node", "Download Max Mbps", "Upload Max Mbps", "sqm")
DEMAND = ("from", "to", "flows", "demand", "kind", "class", "rate", "name")


def some(fields: Sequence[str], odd: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    """An object with some of the fields."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(fields, scalars | odd))


def read(path: Path, **more: Any) -> None:
    """The promise: refused in words, or a scenario that reads back as it was."""
    notes = topology.Notes()
    choices = topology.Choices(flows=5, demands=more.pop("demands", None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networkx' about keys that a file does not declare.
        try:
            made = topology.scenario_of(topology.read(path, notes, **more), choices, notes)
        except ScenarioError as error:
            assert str(error)
            return
    "".join(notes)
    back = path.with_name("made.toml")
    back.write_text(made.to_toml(), encoding="utf-8")
    assert load(back).effective() == made.effective()


def put(path: Path, content: str | bytes) -> Path:
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    path.write_bytes(raw)
    return path


def test_node_link(tmp_path: Path) -> None:
    ends = st.fixed_dictionaries({"source": scalars, "target": scalars}) | some(EDGE)
    document = st.fixed_dictionaries(
        {"nodes": st.lists(some(NODE) | values, max_size=5) | values},
        optional={
            "links": st.lists(ends | values, max_size=6) | values,
            "edges": st.lists(ends, max_size=6),
            "graph": values,
            "directed": values,
            "multigraph": values,
        },
    )
    path = tmp_path / "net.json"
    fuzz(lambda given: read(put(path, json.dumps(given))), document)


def test_networks_that_are_nearly_right(tmp_path: Path) -> None:
    nodes = st.integers(2, 5).map(lambda count: [{"id": each} for each in range(count)])
    link = st.fixed_dictionaries(
        {"source": st.integers(0, 4), "target": st.integers(0, 4)},
        optional=dict.fromkeys(EDGE[2:], words | numbers),
    )
    document = st.fixed_dictionaries(
        {"nodes": nodes, "links": st.lists(link, min_size=1, max_size=5)},
        optional={"directed": st.booleans()},
    )
    path = tmp_path / "net.json"
    fuzz(lambda given: read(put(path, json.dumps(given))), document)


def test_graphml(tmp_path: Path) -> None:
    kinds = st.sampled_from(["int", "double", "string", "boolean", "long", "float", "x", ""])
    text = st.one_of(names, words, numbers.map(repr))
    pairs = st.lists(st.tuples(st.integers(0, 8), text), max_size=3)
    graphs = st.tuples(
        st.lists(st.tuples(st.sampled_from(["node", "edge", "all"]), st.sampled_from(NODE + EDGE),
                           kinds), max_size=9),
        st.lists(st.tuples(names, pairs), max_size=5),
        st.lists(st.tuples(names, names, pairs), max_size=5),
        st.sampled_from(["undirected", "directed", "x"]),
    )  # fmt: skip

    def written(given: Any) -> str:
        keys, nodes, edges, way = given

        def data(pairs: list[tuple[int, str]]) -> str:
            each = (f"<data key='d{key}'>{quoteattr(text)[1:-1]}</data>" for key, text in pairs)
            return "".join(each)

        return "".join(
            [
                '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
                *(
                    f"<key id='d{number}' for='{what}' attr.name='{name}' attr.type='{kind}'/>"
                    for number, (what, name, kind) in enumerate(keys)
                ),
                f"<graph edgedefault='{way}'>",
                *(f"<node id={quoteattr(name)}>{data(each)}</node>" for name, each in nodes),
                *(
                    f"<edge source={quoteattr(one)} target={quoteattr(two)}>{data(each)}</edge>"
                    for one, two, each in edges
                ),
                "</graph></graphml>",
            ]
        )

    path = tmp_path / "net.graphml"
    fuzz(lambda given: read(put(path, written(given))), graphs)


def test_graphml_with_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "towns.graphml"
    whole = (NETWORKS / "towns.graphml").read_bytes()
    fuzz(lambda given: read(put(path, given)), mutated(whole))


def test_a_providers_tree(tmp_path: Path) -> None:
    node = st.recursive(
        some(TREE),
        lambda each: st.tuples(some(TREE), st.dictionaries(names, each, max_size=3)).map(
            lambda both: both[0] | {"children": both[1]}
        ),
        max_leaves=6,
    )
    cell = st.one_of(names, words, st.sampled_from(["5", "0.1"]))
    table = st.tuples(
        st.permutations(CIRCUIT),
        st.lists(st.lists(cell, max_size=6), max_size=5),
        st.binary(max_size=9),
    )

    def check(given: Any) -> None:
        tree, (header, rows, rest) = given
        text = "\n".join(",".join(each) for each in [header, *rows])
        put(tmp_path / "devices.csv", text.encode("utf-8", "surrogatepass") + rest)
        path = put(tmp_path / "tree.json", json.dumps(tree))
        read(path)
        read(path, devices=tmp_path / "devices.csv")

    fuzz(check, st.tuples(st.dictionaries(names, node | values, max_size=4), table))


def test_a_providers_files_with_other_bytes(tmp_path: Path) -> None:
    def check(given: tuple[bytes, bytes]) -> None:
        path = put(tmp_path / "village.json", given[0])
        read(path, devices=put(tmp_path / "devices.csv", given[1]))

    both = [(NETWORKS / name).read_bytes() for name in ("village.json", "village-devices.csv")]
    fuzz(check, st.tuples(*map(mutated, both)))


def test_tables_of_demands(tmp_path: Path) -> None:
    path = NETWORKS / "towns.graphml"
    cell = st.one_of(st.sampled_from(["Ahorn", "Ilmtal", "web", "40", "5Mbit"]), names, words)
    table = st.tuples(
        st.lists(st.sampled_from(DEMAND), max_size=5),
        st.lists(st.lists(cell, max_size=6), max_size=4),
    )

    def check(given: Any) -> None:
        header, rows = given
        text = "\n".join(",".join(each) for each in [["from", "to", *header], *rows])
        demands = put(tmp_path / "demands.csv", text)
        near = tmp_path / path.name
        near.write_bytes(path.read_bytes())
        read(near, demands=demands)

    fuzz(check, table)


def test_journals(tmp_path: Path) -> None:
    def line(fields: Any) -> bytes:
        text = json.dumps(fields).encode()
        return b"%08x %b\n" % (zlib.crc32(text), text)

    known = st.builds(
        Record,
        st.text("abc"),
        st.integers(1, 9),
        st.just("f"),
        st.dictionaries(st.text("ab."), st.floats(allow_nan=False) | st.text("x")),
    ).map(line_of)
    lines = known | values.map(line) | st.tuples(*[scalars] * 4).map(line) | st.binary(max_size=30)

    def check(given: list[bytes]) -> None:
        raw = b"".join(given)
        put(tmp_path / "journal", raw)
        try:
            records, end = read_journal(tmp_path)
        except ScenarioError:
            return
        assert end <= len(raw) and raw[:end].count(b"\n") == len(records)
        put(tmp_path / "journal", raw[:end])
        assert read_journal(tmp_path) == (records, end)
        again = b"".join(map(line_of, records))
        put(tmp_path / "journal", again)
        assert read_journal(tmp_path) == (records, len(again))

    fuzz(check, st.lists(lines, max_size=6))


def test_the_fuzzers_find_a_fault() -> None:
    def check(given: dict[str, Any]) -> None:
        assert "LinkType" not in given

    with pytest.raises(AssertionError):
        fuzz(check, some(EDGE, scalars))


BOUNDS = tuple(Bounds.model_fields)
RANGES = st.sampled_from(
    ["1ms..5ms", "1..16:log", "0..1", "none", "5ms", "64B..1500B", "0.1..1e400", "..", "1..", "a,b",
     "nan..1", "5ms..1ms", "0..0:log", "-1..1", "1ms..2B"]
)  # fmt: skip
HARMS = Path(__file__).parents[2] / "python" / "forebay" / "_suite" / "attack"


def written(table: Any) -> str | None:
    """A table as TOML; none if it has what TOML has not."""
    try:
        return to_toml(table)
    except (TypeError, ValueError):
        return None


def test_bounds_of_an_attack(tmp_path: Path) -> None:
    path = tmp_path / "bounds.toml"
    space = st.fixed_dictionaries({}, optional=dict.fromkeys(BOUNDS, RANGES | values))

    def check(given: Any) -> None:
        if (content := written(given)) is None:
            return
        put(path, content)
        try:
            found = bounds.read(path)
        except ScenarioError as error:
            assert "bounds.toml: " in str(error)
            return
        made = Space(found, 2, 20.0)
        for share in (0.0, 0.5, 1.0 - 1e-9):
            assert made.plan([share] * len(made.names)).load <= bounds.largest(found) + 1e-9

    fuzz(check, space)


def test_bounds_and_cases_with_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = bounds.text(Bounds()).encode()
    case = (HARMS / "codel-starvation.toml").read_bytes()
    (tmp_path / "attack").mkdir()
    monkeypatch.setattr(catalogue, "HOME", tmp_path)

    def check(given: tuple[bytes, bytes]) -> None:
        with contextlib.suppress(ScenarioError):
            bounds.read(put(tmp_path / "bounds.toml", given[0]))
        put(tmp_path / "attack" / "codel-starvation.toml", given[1])
        try:
            [found] = worst.cases("attack")
        except ScenarioError as error:
            assert "codel-starvation.toml: " in str(error)
            return
        with contextlib.suppress(ScenarioError):
            found.run.effective()

    fuzz(check, st.tuples(mutated(limits), mutated(case)))
