"""The stage of `forebay explore`: in turn, bounded, and whole whatever fails."""

from __future__ import annotations

import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import forebay
from explore.driven import DECLARED, INTERFACES, SCENARIO, Tab, declared, held, staged
from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._explore import compared, protocol, results
from forebay._explore.inbox import Asked, Inbox
from forebay._explore.stage import Client, Stage
from forebay._scenario import Scenario
from test_endpoints_in_c import WINDOW
from test_plugins import compiled


def test_fewer_lanes_can_be_jumped_in() -> None:
    with staged() as stage:
        tab, other = Tab(stage), Tab(stage)
        for count in (3, 1, 2, 1):
            assert tab.ask("lanes", queues=["fifo", "fq-codel", "codel"][:count]) == []
            for at_ns in (1_000_000_000, 500_000_000):
                assert tab.ask("seek", at_ns=at_ns) == []
                assert tab.ask("pause") == other.said == []
                assert tab.frame["now_ns"] == at_ns
                assert tab.points == [at_ns // 1_000_000] * count == other.points


def test_lanes_with_the_same_label_are_not_compared() -> None:
    lane = ("codel", Scenario.of(SCENARIO))
    with pytest.raises(ScenarioError, match='2 lanes are called "codel"'):
        compared.of_lanes([("today", lane[1]), lane, lane], "bottleneck", 2)


def test_messages_have_the_fields_that_are_declared() -> None:
    with staged() as stage:
        tab = Tab(stage)
        assert tab.ask("lanes", queues=["fifo", "codel"]) == []
        assert tab.ask("change", path="dumbbell.rate", value="2Mbit") == []
        assert tab.ask("seek", at_ns=1_000_000_000) == []
        assert tab.ask("pause") == []
        packet = tab.frame["lanes"][0]["queues"][0]["packets"][0][0]
        assert tab.ask("ask", lane=0, id=packet) == []
        assert tab.ask("leave", traffic=7) != []
        for name in ("Stage", "Frame", "StoryOf", "Said"):
            type_ = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
            least = {"Stage": 30, "Frame": 5, "StoryOf": 3, "Said": 1}[name]
            assert declared(tab.heard[type_], name) >= least


GIVEN: dict[str, Any] = {
    **{"factor": 1.0, "at_ns": 0, "queues": ["fifo"], "link": "uplink", "path": "link[0].rate"},
    **{"value": "1Mbit", "lane": 0, "queue": "fifo", "packets": 1, "size": 64, "like": 0},
    **{"change": 0, "id": 0, "runs": 2, "name": "wred", "step": 0, "number": 1, "loss": True},
}


def understood(message: dict[str, Any]) -> bool:
    """Whether the stage takes a message."""
    try:
        protocol.command(json.dumps(message))
    except ValueError:
        return False
    return True


def test_commands_have_the_fields_that_are_declared() -> None:
    assert len(INTERFACES["Commands"]) == 21
    for type_ in INTERFACES["Commands"]:
        line = re.search(rf"^  {type_}: (.*);$", DECLARED, re.M)
        assert line is not None
        fields = dict(re.findall(r"(\w+)(\??):", line[1]))
        traffic = {"kind": "bulk"} if type_ == "join" else 0
        whole = {each: GIVEN.get(each, traffic) for each in fields} | {"type": type_}
        assert understood(whole), type_
        assert not understood(whole | {"other": 0}), type_
        for field, optional in fields.items():
            left = {each: value for each, value in whole.items() if each != field}
            assert understood(left) == bool(optional), f"{type_}.{field}"


FILES: list[dict[str, Any]] = [
    {"type": "change", "path": "plugins", "value": ["x.py"]},
    {"type": "change", "path": "plugins[0]", "value": "x.py"},
    {"type": "change", "path": "dumbbell.pcap", "value": "x.pcap"},
    {"type": "change", "path": "dumbbell.trace", "value": "x.txt"},
    {"type": "change", "path": "dumbbell", "value": {"trace": "x.txt"}},
    {"type": "change", "path": "dumbbell.queue", "value": {"kind": "fifo", "trace": "x.txt"}},
    {"type": "change", "path": "tcp_trace", "value": "x.csv"},
    {"type": "change", "path": "traffic", "value": [{"kind": "pcap", "file": "x.pcap"}]},
    {"type": "change", "path": "traffic.bulk.file", "value": "x.pcap"},
    {"type": "change", "path": "title", "value": "x"},
    {"type": "change", "path": "compare", "value": {"disciplines": ["fifo"]}},
    {"type": "change", "path": "tune", "value": {}},
    {"type": "change", "path": "agent", "value": {}},
    {"type": "change", "path": "positions", "value": {"a": [0, 0]}},
    {"type": "change", "path": "", "value": {"plugins": ["x.py"]}},
    {"type": "join", "traffic": {"kind": "pcap", "file": "x.pcap"}},
    {"type": "join", "traffic": {"kind": "bulk", "plugins": ["x.py"]}},
    {"type": "lanes", "queues": ["fifo", {"kind": "prio", "queues": [{"plugins": ["x.py"]}]}]},
    {"type": "lanes", "queues": ["kernel:cake"]},
    {"type": "queue", "lane": 0, "queue": {"kind": "kernel", "qdisc": "cake", "commands": ["x"]}},
    {"type": "queue", "lane": 0, "queue": {"kind": "fifo", "tcp_trace": "x.csv"}},
    {"type": "queue", "lane": 0, "queue": {"limit": "5p"}},
]
"""Messages that a page never sends, and that must do nothing."""


def test_no_message_names_a_file_or_changes_what_is_not_shown(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "x.py").write_text(f"open({str(ran)!r}, 'w')")
    for name in ("x.pcap", "x.txt"):
        (tmp_path / name).write_text("CANARY")
    before = sorted(tmp_path.iterdir())
    with staged(folder=str(tmp_path)) as stage:
        tab = Tab(stage)
        assert tab.ask("seek", at_ns=300_000_000) == []
        scenarios = stage.lanes()
        for message in FILES:
            try:
                said = tab.ask(message["type"], **{k: message[k] for k in message if k != "type"})
            except ValueError as refused:
                said = [str(refused)]
            assert said and "CANARY" not in said[0], message
            assert "x." not in said[0], f"{message}: it was looked for"
        assert tab.ask("pause") == []
        assert tab.shown["changes"] == [] and stage.lanes() == scenarios
    assert sorted(tmp_path.iterdir()) == before


def test_every_field_that_names_a_file_is_marked() -> None:
    """What is said to be a file in the reference, and is a text, is a path in the schema."""
    unmarked: list[str] = []

    def look(schema: Any, name: str) -> None:
        if isinstance(schema, dict):
            about = schema.get("description", "")
            text = "string" in str(schema.get("type", "")) and not {"enum", "const"} & schema.keys()
            if text and " file" in f" {about.lower()}" and schema.get("format") != "path":
                unmarked.append(name)
            for key, value in schema.items():
                look(value, f"{name}.{key}")
        elif isinstance(schema, list):
            for place, each in enumerate(schema):
                look(each, f"{name}[{place}]")

    look(json.loads(_engine.schema()), "")
    assert unmarked == []


def test_a_change_in_a_file_may_not_bring_a_plugin() -> None:
    for path, value in (
        ("plugins", ["x.py"]),
        ("title", "y"),
        ("compare", {"disciplines": ["pie"]}),
    ):
        change = [{"at": "1s", "set": {path: value}}]
        with pytest.raises(ScenarioError, match=f"{path}: cannot change"):
            forebay.run(forebay.Scenario.of({**SCENARIO, "change": change}))


@pytest.mark.parametrize("number", [-1, 2**63, 2**64, 2**70, 10**40])
def test_a_number_out_of_range_is_a_clear_error(number: int) -> None:
    for message in (
        {"type": "seek", "at_ns": number},
        {"type": "ask", "lane": 0, "id": number},
        {"type": "ask", "lane": number, "id": 1},
        {"type": "leave", "traffic": number},
        {"type": "forget", "change": number},
        {"type": "ack", "number": number},
        {"type": "burst", "like": number},
        {"type": "story", "name": "wred", "step": number},
    ):
        kind, field = message["type"], next(each for each in message if message[each] == number)
        with pytest.raises(ValueError, match=rf"^{kind}\.{field}: must be "):
            protocol.command(json.dumps(message))


def test_of_sixty_jumps_in_a_row_one_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    jumps: list[int] = []
    whole = Stage._obey

    def counted(self: Stage, client: Client, command: protocol.Command) -> None:
        if command.type == "seek":
            jumps.append(command.fields["at_ns"])
        whole(self, client, command)

    monkeypatch.setattr(Stage, "_obey", counted)
    with staged() as stage:
        tab = Tab(stage)
        with held(stage, tab):
            done = [tab.send("seek", at_ns=10_000_000 * number) for number in range(60)]
            assert all(each.is_set() for each in done[:-1])
            change = tab.send("change", path="dumbbell.rate", value="3Mbit")
            last = [tab.send("seek", at_ns=at_ns) for at_ns in (0, 700_000_000)]
        assert all(each.wait(60) for each in (change, *last))
        # What is changed in between is changed at its own instant.
        assert jumps == [590_000_000, 700_000_000]
        assert [each["at_s"] for each in tab.shown["changes"]] == [0.59]


def test_a_tab_waits_for_one_thing_of_another_and_not_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    with staged() as stage:
        flood, other = Tab(stage), Tab(stage)
        monkeypatch.setattr(
            Stage,
            "_obey",
            lambda _self, client, _command: order.append(
                "flood" if client is flood.client else "other"
            ),
        )
        with held(stage, flood):
            done = [flood.send("ask", lane=0, id=number) for number in range(1000)]
            done += [other.send("ask", lane=0, id=number) for number in range(3)]
        assert all(each.wait(60) for each in done)
    assert order[:6].count("other") == 3 and order.count("flood") == 1000


def test_it_plays_on_however_much_is_asked_for() -> None:
    instants: set[int] = set()
    with staged() as stage:
        tab = Tab(stage)
        left = threading.Semaphore(0)

        def again() -> None:
            # Something is always waiting to be done.
            instants.update(stage.instants())
            if len(instants) < 20:
                stage.call(tab.client, again)
            else:
                left.release()

        assert tab.ask("speed", factor=0.01) == tab.ask("play") == []
        stage.call(tab.client, again)
        assert left.acquire(timeout=60)


def test_an_end_does_not_wait_for_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Semaphore(0)
    whole = Stage._obey

    def told(self: Stage, client: Client, command: protocol.Command) -> None:
        if command.type == "seek":
            begun.release()
        whole(self, client, command)

    monkeypatch.setattr(Stage, "_obey", told)
    # A year, of which a second takes some milliseconds.
    with staged({**SCENARIO, "duration": "31536000s"}) as stage:
        tab = Tab(stage)
        assert tab.ask("pause") == []
        for _ in range(20):
            tab.send("seek", at_ns=31_000_000 * 10**9)
            tab.send("change", path="dumbbell.rate", value="3Mbit")
        assert begun.acquire(timeout=60)
    # `staged` has seen it end.


def test_the_inbox_takes_turns_and_keeps_order() -> None:
    inbox, done = Inbox(), []

    def put(who: str, name: str, kind: str | None = None) -> None:
        inbox.put(who, Asked(lambda: done.append(name), lambda: done.append(f"({name})"), kind))

    for who, name, kind in (
        ("a", "a1", None),
        ("a", "a2", "seek"),
        ("a", "a3", "seek"),
        ("b", "b1", "seek"),
        ("a", "a4", None),
        ("a", "a5", "seek"),
    ):
        put(who, name, kind)
    assert done == ["(a2)"]
    done.clear()
    while (asked := inbox.take(0)) is not None:
        asked.act()
    assert done == ["a1", "b1", "a3", "a4", "a5"]
    inbox.wake()
    assert inbox.take(None) is None
    assert inbox.take(0) is None


def test_a_save_on_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    whole = _disk.write

    def full_at_the_second(path: Path, content: bytes, **options: bool) -> None:
        if not written:
            written.append(path)
            whole(path, content, **options)
            return
        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space")))
            whole(path, content, **options)

    monkeypatch.setattr(_disk, "write", full_at_the_second)
    with staged(folder=str(tmp_path)) as stage:
        kept = results.Results(stage, "")
        told = Tab(stage)
        for _ in range(2):
            written.clear()
            done = threading.Event()
            assert kept.takes(told.client, protocol.command('{"type":"save"}'), done.set)
            assert done.wait(60)
            assert list(tmp_path.iterdir()) == [] and "No space" in told.said[-1]
            assert str(tmp_path / "small-codel.toml") in told.said[-1]
            assert "make room" in told.said[-1]
        monkeypatch.setattr(_disk, "write", whole)
        done = threading.Event()
        kept.takes(told.client, protocol.command('{"type":"save"}'), done.set)
        assert done.wait(60)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "small-codel.toml",
        "small-today.toml",
    ]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_hosts_with_a_protocol_of_their_own_are_watched(tmp_path: Path) -> None:
    library = compiled(WINDOW, tmp_path / "libwindow.so")
    traffic = [{"name": "up", "kind": "window", "flows": 2}, *SCENARIO["traffic"]]
    with staged(SCENARIO | {"plugins": [str(library)], "traffic": traffic}) as stage:
        tab = Tab(stage)
        assert tab.ask("lanes", queues=["fifo", "codel"]) == []
        frames = []
        for at_ns in (1_500_000_000, 500_000_000, 1_500_000_000):
            assert tab.ask("seek", at_ns=at_ns) == tab.ask("pause") == []
            frames.append(tab.frame["lanes"][0]["queues"])
        assert frames[0] == frames[2] != frames[1]
        assert tab.ask("change", path="dumbbell.rate", value="2Mbit") == []
        assert tab.ask("join", traffic={"kind": "window"}) == []
        assert tab.ask("leave", traffic=0) == tab.ask("seek", at_ns=1_900_000_000) == []
        assert tab.ask("pause") == [] and tab.frame["now_ns"] == 1_900_000_000
