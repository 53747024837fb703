from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay import Scenario, ScenarioError, load, run
from forebay._scenario import load_with

DOCUMENT: dict[str, Any] = {
    "seed": 1,
    "link": [{"name": "a", "rate": "1Mbit"}, {"name": "b", "queue": {"kind": "fifo"}}],
    "traffic": [{"name": "voice", "flows": 2}, {"name": "g.711"}],
}


def changed(assignment: str) -> dict[str, Any]:
    return Scenario.of(DOCUMENT, "s.toml").with_text(assignment).document


def test_set_by_index_and_by_name() -> None:
    assert changed("link[1].queue.kind=codel")["link"][1]["queue"]["kind"] == "codel"
    assert changed("link.b.queue.kind=codel")["link"][1]["queue"]["kind"] == "codel"
    assert changed("traffic.voice.flows=20")["traffic"][0] == {"name": "voice", "flows": 20}
    assert changed('traffic."g.711".flows=3')["traffic"][1]["flows"] == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5Mbit", "5Mbit"),
        ('"5Mbit"', "5Mbit"),
        ("20", 20),
        ("0.5", 0.5),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ('{ kind = "codel", target = "2ms" }', {"kind": "codel", "target": "2ms"}),
        ("10:00:00", "10:00:00"),
        ("nan", "nan"),
        ("a\nb = 2", "a\nb = 2"),
        ("", ""),
        ("x=y", "x=y"),
    ],
)
def test_set_reads_toml_else_text(text: str, value: Any) -> None:
    assert changed(f"link[0].rate={text}")["link"][0]["rate"] == value


def test_set_makes_missing_tables() -> None:
    assert changed("tcp.recovery=sack")["tcp"] == {"recovery": "sack"}
    assert changed("link[0].queue.kind=pie")["link"][0]["queue"] == {"kind": "pie"}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("link[2].rate=1", r"s\.toml: link\[2\]\.rate: .*2 entries"),
        ("link.c.rate=1", r'no entry is called "c"; the entries are "a", "b"'),
        ("seed.x=1", "which is a value"),
        ("seed[0]=1", "which is a value"),
        ("node[0].x=1", 'there is no list "node"'),
        ("[0]=1", "starts with a name"),
        ("link[x]=1", "not a path"),
        ("a..b=1", "not a path"),
        ('seed={kind="hdl",limits=[1,inf]}', r'limits=\[1,inf\]}": limits\[1\]: must be a finite'),
        (f"seed=[{'9' * 400}]", "holds a number that is too large"),
        ("link", "expected PATH=VALUE"),
        ("=1", "expected PATH=VALUE"),
    ],
)
def test_set_refuses_what_leads_nowhere(assignment: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        changed(assignment)


def test_scenario_never_changes() -> None:
    scenario = Scenario.of(DOCUMENT)
    scenario.document["seed"] = 9
    scenario.with_("seed", 9)
    assert scenario.document == DOCUMENT


def test_many_fields_are_changed_as_one_by_one() -> None:
    fields = {"duration": "9s", "dumbbell.rate": "2Mbit", "dumbbell": {"rate": "3Mbit"}}
    changed = Scenario.of(DOCUMENT).with_all(fields)
    one_by_one = Scenario.of(DOCUMENT)
    for path, value in fields.items():
        one_by_one = one_by_one.with_(path, value)
    assert changed == one_by_one
    assert changed.document["dumbbell"] == {"rate": "3Mbit"}
    with pytest.raises(ScenarioError, match=r"^scenario: seed"):
        Scenario.of(DOCUMENT).with_all({"seed": 1, "seed.x": 1})


def test_toml_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(Scenario.of(DOCUMENT).to_toml(), encoding="utf-8")
    assert load(path).document == DOCUMENT


@pytest.mark.parametrize(
    "seed", ["abc", "[1]", "1.5", "-1", "9" * 5000, "0x" + "f" * 9000, "1e999"]
)
def test_a_seed_that_is_none_is_refused_by_a_run(seed: str) -> None:
    small = load_with(Path(__file__).with_name("small.toml"), [f"seed={seed}"])
    with pytest.raises(ScenarioError, match=r"seed: must be|seed: expected"):
        run(small)
