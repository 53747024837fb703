"""What changes while a scenario runs: live and by `[[change]]` are the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay import _engine

ROOT = Path(__file__).parents[2]


def scenario(**more: Any) -> forebay.Scenario:
    """A congested link with TCP of two sorts and datagrams, and a second link behind it."""
    document = {
        "duration": "8s",
        "warmup": "1s",
        "tables": ["flow_series", "transfers"],
        "tcp": {"congestion": "cubic"},
        "profile": {"edge": {"kind": "token-bucket", "rate": "1Mbit", "burst": "10KB"}},
        "link": [
            {
                "name": "a",
                "from": "x",
                "to": "y",
                "rate": "4Mbit",
                "delay": "8ms",
                "queue": {"kind": "codel"},
            },
            {"name": "b", "from": "y", "to": "z", "rate": "20Mbit", "delay": "2ms"},
        ],
        "traffic": [
            {"name": "bulk", "kind": "bulk", "from": "x", "to": "z", "flows": 3},
            {"name": "calls", "kind": "voice", "from": "x", "to": "z", "flows": 2, "q": 1},
            {"name": "files", "kind": "files", "from": "z", "to": "x", "size": "40KB"},
            {"kind": "cbr", "from": "x", "to": "y", "rate": "300kbit", "profile": "edge"},
        ],
    }
    return forebay.Scenario.of(document | more)


BULK = {"name": "late", "kind": "bulk", "from": "x", "to": "y", "flows": 2}
CBR = {"name": "burst", "kind": "cbr", "from": "x", "to": "z", "rate": "1Gbit", "stop": "3100ms"}
CHANGES: dict[str, list[dict[str, Any]]] = {
    "rate": [{"set": {"link.a.rate": "2Mbit"}}],
    "delay": [{"set": {"link.a.delay": "30ms"}}],
    "loss": [{"set": {"link[0].loss": 0.02}}],
    "buffer": [{"set": {"link.a.queue.limit": "5p"}}],
    "parameter": [{"set": {"link.a.queue.target": "30ms", "link.a.queue.ecn": True}}],
    "discipline": [{"set": {"link.a.queue": {"kind": "fq-codel"}}}],
    "a queue where there was none": [{"set": {"link.b.queue": {"kind": "pie"}}}],
    "tcp joins": [{"join": BULK}],
    "datagrams join": [{"join": CBR | {"profile": "edge"}}],
    "tcp leaves": [{"leave": "bulk"}],
    "transfers leave": [{"leave": "files"}],
    "datagrams leave": [{"leave": "calls"}],
    "several at once": [{"set": {"link.a.rate": "9Mbit"}}, {"join": BULK}, {"leave": "cbr"}],
}


@pytest.mark.parametrize("entries", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", ["codel", "fq-codel"])
def test_a_session_and_its_record_are_one_run(kind: str, entries: list[dict[str, Any]]) -> None:
    session = forebay.open(scenario(), discipline=kind, link="a")
    session.advance_to("3003003003ns").advance("0s")
    for entry in entries:
        apply(session, entry)
    session.advance("0s").advance("77us")
    # At the same instant as something that has been done since.
    session.advance("0s").set("link.b.delay", "3ms").advance("0s").set("link.b.delay", "4ms")
    session.advance_to("6s").set("link.a.rate", "4200kbit")
    recorded = session.recorded
    live = session.finish()
    again = forebay.run(forebay.Scenario.of(recorded.document))
    plain = forebay.run(scenario(), discipline=kind, link="a")
    assert again.fingerprint == live.fingerprint != plain.fingerprint
    drop = {"cost"}
    assert {key: each for key, each in again.summary.items() if key not in drop} == {
        key: each for key, each in live.summary.items() if key not in drop
    }
    for name, table in live.tables.items():
        assert again.tables[name].equals(table)
    assert recorded.identity() == recorded.identity() != scenario().identity()


def apply(session: forebay.Session, entry: dict[str, Any]) -> None:
    if "join" in entry:
        session.join(entry["join"])
    elif "leave" in entry:
        session.leave(entry["leave"])
    else:
        for path, value in entry["set"].items():
            session.set(path, value)


def test_watching_changes_nothing() -> None:
    """Not even under stories, jumps from packet to packet and changes."""
    here = scenario(
        change=[
            {"at": "1s", "join": BULK},
            {"at": "2s", "set": {"link.a.queue": {"kind": "pie", "ecn": True}}},
            {"at": "3s", "leave": "bulk"},
        ]
    )
    run = _engine.open(here.text, ".")
    run.watch("a", 7_000_000)
    until = 0
    while run.times()[0] < 8_000_000_000:
        until += 333_333_333
        while not run.advance(until):
            pass
        run.picture(20)
        while until < 2_000_000_000 and not run.advance_to_packet():
            pass
    assert run.points(0)[0] == 8000 // 7
    watched = _engine.run(here.text, ".")
    assert run.finish().summary.split('"cost"')[0] == (watched.summary.split('"cost"')[0])


def test_who_joins_sends_and_who_leaves_does_not() -> None:
    here = scenario(
        sample="100ms",
        change=[
            {"at": "3s", "join": BULK},
            {"at": "5s", "leave": "late"},
            {"at": "6s", "leave": "cbr"},
        ],
    )
    result = forebay.run(here)
    flows = result.tables["flow_series"]
    assert list(result.summary["classes"]) == ["bulk", "calls", "files", "cbr", "late"]
    late = result.classes.filter(result.classes["class"] == "late")
    rates = dict(zip(late["time_s"], late["throughput_bps"], strict=True))
    assert all(rate == 0 for at, rate in rates.items() if at <= 3)
    assert all(rate > 0 for at, rate in rates.items() if 3.5 < at <= 5)
    assert all(rate == 0 for at, rate in rates.items() if at > 6)
    cbr = result.classes.filter(result.classes["class"] == "cbr")
    assert all(
        (rate > 0) == (at <= 6.1)
        for at, rate in zip(cbr["time_s"], cbr["throughput_bps"], strict=True)
    )
    assert flows["flow"].n_unique() == 9
    assert result.summary["flows"][-1]["traffic"] == "late"


@pytest.mark.parametrize("stack", ["linux-2.6.18", "linux-6.1", "ns-2", "ns-3.18", None])
def test_connections_that_leave_end_under_every_stack(stack: str | None) -> None:
    tcp: dict[str, Any] = {} if stack is None else {"stack": stack}
    if stack == "ns-3.18":
        tcp |= {"recovery": "new-reno", "slow_start_after_idle": False}
    here = scenario(
        tcp=tcp,
        change=[{"at": "2s", "set": {"link.a.loss": 0.05}}, {"at": "4s", "leave": "bulk"}],
    )
    session = forebay.open(here).advance_to("7s")
    flows = session.flows
    assert flows.filter(flows["traffic"] == "bulk")["connections"].sum() == 0
    session.finish()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{"at": "9s", "leave": "bulk"}], r"change\[0\]\.at: must be below the duration of 8s"),
        (
            [{"at": "2s", "leave": "bulk"}, {"at": "1s", "leave": "cbr"}],
            r'change\[1\]\.at: "1s" is before the change above it',
        ),
        ([{"at": "1s"}], r"change\[0\]: must have one of `set`, `join` and `leave`"),
        ([{"at": "1s", "set": {"a": 1}, "leave": "cbr"}], r"change\[0\]: must have one of"),
        ([{"at": "1s", "leave": "x"}], r'change\[0\]\.leave: no traffic entry is called "x"'),
        ([{"at": "1s", "sett": {}}], r'change\[0\]\.?.*unknown field "sett"'),
        (
            [{"at": "1s", "set": {"link.c.rate": "1Mbit"}}],
            r'change\[0\]\.set\.link\.c\.rate: no entry is called "c"; the entries are "a", "b"',
        ),
        (
            [{"at": "1s", "set": {"link.a.queue.target": "1h"}}],
            r"change\[0\]\.set\.link\[0\]\.queue\.target: must be below interval",
        ),
        ([{"at": "1s", "set": {"duration": "9s"}}], r"change\[0\]\.set\.duration: cannot change"),
        ([{"at": "1s", "join": BULK | {"q": -1}}], r"change\[0\]\.join\.q"),
        ([{"at": "1s", "join": BULK | {"to": "w"}}], r"change\[0\]\.join.*\"w\""),
        ([{"at": "1s", "join": BULK | {"name": "cbr"}}], 'two entries are called "cbr"'),
    ],
)
def test_what_cannot_change_says_where(changes: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(forebay.ScenarioError, match=said):
        scenario(change=changes).effective()


def test_comparisons_and_studies_run_changes_too() -> None:
    change = [{"at": "4s", "set": {"link.a.rate": "1Mbit"}}]
    changed, plain = scenario(change=change), scenario()
    compared = forebay.compare(changed, disciplines=["fifo", "codel"], link="a", replications=2)
    for run in compared.runs:
        alone = forebay.run(changed, discipline=run.discipline, link="a", seed=run.seed)
        assert run.result.fingerprint == alone.fingerprint
        assert run.result.summary["links"]["a"]["capacity_bps"] < 3e6
    both = {"link[0].rate": "1Mbit", "link[0].reverse.rate": "1Mbit"}
    assert changed.effective()["change"] == [{"at": "4s", "set": both}]
    assert changed.identity() != plain.identity()
    with pytest.raises(forebay.ScenarioError, match="change: cannot be emulated"):
        _engine.plan(changed.text, ".")
