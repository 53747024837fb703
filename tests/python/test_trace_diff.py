"""The first decision in which two packet traces differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import beside
import differences
import pytest
import trace_diff

from forebay import _engine

HEADER = "time_s,flow,dir,seq,ack,len,flags,wnd,sack,cwnd"
Line = tuple[Any, ...]


def data(time: float, seq: int, *, flow: int = 0, length: int = 1000, flags: str = ".") -> Line:
    return (f"{time:.9f}", flow, "data", seq, 1, length, flags, 65535, "", 10)


def heard(time: float, ack: int, *, flow: int = 0, sack: str = "", flags: str = ".") -> Line:
    return (f"{time:.9f}", flow, "ack", 1, ack, 0, flags, 65535, sack, 10)


PLAIN = [
    (f"{1.0:.9f}", 0, "data", 0, 0, 0, "S", 65535, "", 10),
    (f"{1.02:.9f}", 0, "ack", 0, 1, 0, "S.", 65535, "", 10),
    data(1.02, 1),
    data(1.02, 1001),
    data(1.02, 2001),
    heard(1.04, 1001),
    data(1.04, 3001),
    heard(1.05, 1001, sack="2001-3001"),
    heard(1.06, 4001),
    data(1.06, 4001, length=0, flags="F."),
]
"""Two lines of a handshake, data, an acknowledgment that SACKs, the end."""


def written(folder: Path, name: str, lines: Sequence[Line], header: str = HEADER) -> Path:
    path = folder / f"{name}.csv"
    path.write_text("\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n")
    return path


def asked(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["trace_diff.py", *map(str, words)])
    return trace_diff.main()


def changed(at: int, line: Line) -> list[Line]:
    """The plain trace with another line."""
    return [*PLAIN[:at], line, *PLAIN[at + 1 :]]


def without(at: int) -> list[Line]:
    return [*PLAIN[:at], *PLAIN[at + 1 :]]


@pytest.mark.parametrize(
    ("other", "index", "why"),
    [
        (changed(4, data(1.02, 1)), 2, "another segment is sent"),
        (changed(4, data(1.02, 2001, length=500)), 2, "another segment is sent"),
        (changed(9, data(1.06, 4001, length=0)), 7, "the second trace ends"),
        (without(4), 2, "only the first sends a segment now"),
        ([*PLAIN[:5], data(1.02, 3001), *PLAIN[5:]], 3, "only the second sends a segment now"),
        (changed(5, heard(1.04, 2001)), 3, "the receiver acknowledges otherwise"),
        (changed(7, heard(1.05, 1001)), 5, "the receiver acknowledges otherwise"),
        (changed(5, heard(1.04, 1001, flags="E.")), 3, "the receiver acknowledges otherwise"),
        (changed(6, data(1.0402, 3001)), 4, "the second is 0.200 ms later"),
        (changed(6, data(1.0398, 3001)), 4, "the second is 0.200 ms earlier"),
        (PLAIN[:-1], 7, "the second trace ends"),
        ([*PLAIN, heard(1.08, 4002)], 8, "the first trace ends"),
    ],
)
def test_the_first_decision_that_differs(
    tmp_path: Path, other: list[Line], index: int, why: str
) -> None:
    theirs = trace_diff.read(written(tmp_path, "theirs", PLAIN))
    ours = trace_diff.read(written(tmp_path, "ours", other))
    found = trace_diff.earliest(theirs, ours, [0], 1e-4)
    assert found is not None
    assert (found.index, found.why) == (index, why)


def test_handshakes_starts_and_small_delays_are_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without SYNs, all 3 s later, and one acknowledgment 0.05 ms late.
    late = [(f"{float(line[0]) + 3:.9f}", *line[1:]) for line in PLAIN[2:]]
    late[3] = (f"{float(late[3][0]) + 5e-5:.9f}", *late[3][1:])
    paths = written(tmp_path, "theirs", PLAIN), written(tmp_path, "ours", late)
    assert asked(monkeypatch, *paths) == 0
    assert capsys.readouterr().out == "No difference in 8 packets.\n"
    assert asked(monkeypatch, *paths, "--tolerance", "0.01") == 1
    assert "packet 3, 0.020000 s: the second is 0.050 ms later" in capsys.readouterr().out


def test_of_several_flows_the_earliest_difference_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def of(flow: int, lines: Sequence[Line]) -> list[Line]:
        return [(line[0], flow, *line[2:]) for line in lines]

    theirs = [*of(0, PLAIN), *of(1, PLAIN)]
    ours = [*of(0, changed(6, data(1.04, 5001))), *of(1, changed(3, data(1.02, 9001)))]
    paths = written(tmp_path, "theirs", theirs), written(tmp_path, "ours", ours)
    assert asked(monkeypatch, *paths) == 1
    said = capsys.readouterr().out
    assert said.startswith("Flow 1, packet 1, 0.000000 s: another segment is sent.")
    assert "theirs.csv (line 15):" in said and "ours.csv (line 15):" in said
    assert "  >    0.000000  data 1001:2001  cwnd 10" in said
    assert asked(monkeypatch, *paths, "--flow", "0", "--context", "1") == 1
    said = capsys.readouterr().out
    assert said.startswith("Flow 0, packet 4, 0.020000 s")
    assert len(said.splitlines()) == 1 + 2 * (1 + 3)


def test_the_page_takes_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = written(tmp_path, "a", PLAIN), written(tmp_path, "b", without(4))
    assert asked(monkeypatch, *paths, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["decision"] == "only referee sends a segment now" and found["time_s"] == 0
    assert beside.told(found) == (
        "only referee sends a segment now (time 0.0 s; flow: 0; referee: data 2001:3001 cwnd 10; "
        "forebay: ack 1001 cwnd 10)"
    )
    assert asked(monkeypatch, paths[0], paths[0], "--json") == 0
    assert json.loads(capsys.readouterr().out) is None


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (PLAIN, HEADER.replace("sack", "blocks"), "no column 'sack'"),
        ([(*PLAIN[2][:2], "up", *PLAIN[2][3:])], HEADER, "line 2: dir is 'up', not data or ack"),
        ([(*PLAIN[2][:3], "x", *PLAIN[2][4:])], HEADER, "line 2: invalid literal"),
        ([PLAIN[2][:3]], HEADER, "line 2"),
        (PLAIN[:2], HEADER, "no segment with data"),
    ],
)
def test_what_is_no_trace_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lines: list[Line],
    header: str,
    message: str,
) -> None:
    bad = written(tmp_path, "bad", lines, header)
    assert asked(monkeypatch, written(tmp_path, "good", PLAIN), bad) == 2
    said = capsys.readouterr().err
    assert message in said and "bad.csv" in said
    assert asked(monkeypatch, bad, tmp_path / "none.csv") == 2


def test_a_flow_that_one_trace_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = written(tmp_path, "both", [*PLAIN, data(1.0, 1, flow=1)])
    one = written(tmp_path, "one", PLAIN)
    assert asked(monkeypatch, both, one) == 2
    assert "one.csv: no data of flow 1" in capsys.readouterr().err
    assert asked(monkeypatch, both, one, "--flow", "0") == 0


def traced(path: Path, **tcp: Any) -> dict[int, list[trace_diff.Packet]]:
    """A short run of the engine, traced by itself."""
    link = {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "30p"}}
    tree = {
        "duration": "2s",
        "tcp": {"preset": "linux", **tcp},
        "tcp_trace": path.name,
        "dumbbell": link,
        "traffic": [{"name": "bulk", "kind": "bulk", "flows": 2, "start": ["0s", "0.5s"]}],
    }
    _engine.run(json.dumps(tree), str(path.parent))
    return trace_diff.read(path)


def first(one: Any, other: Any) -> tuple[int, str]:
    found = trace_diff.earliest(one, other, sorted(one), 1e-4)
    assert found is not None
    return found.index, found.why


def test_a_run_traced_twice_is_equal_and_a_changed_constant_is_named(tmp_path: Path) -> None:
    plain, again = traced(tmp_path / "a.csv"), traced(tmp_path / "b.csv")
    assert set(plain) == {0, 1} and sum(map(len, plain.values())) > 1000
    assert trace_diff.earliest(plain, again, [0, 1], 0.0) is None
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    # A tenth segment is not sent, and nothing else has happened before.
    smaller = traced(tmp_path / "c.csv", initial_window=9)
    assert first(plain, smaller) == (9, "only the first sends a segment now")
    # Every segment acknowledged: what the sender hears, not what it sends, is what differs first.
    eager = traced(tmp_path / "d.csv", delayed_ack_count=1)
    assert first(plain, eager)[1] == "the receiver acknowledges otherwise"
    # Segments without the 12 bytes of timestamps are longer.
    longer = traced(tmp_path / "e.csv", timestamps=False)
    assert first(plain, longer) == (0, "another segment is sent")


def test_the_state_of_the_sender_is_in_the_trace(tmp_path: Path) -> None:
    packets = [each for flow in traced(tmp_path / "a.csv").values() for each in flow]
    names = [name for name, _ in packets[0].state]
    assert names == [
        "cwnd", "ssthresh", "state", "out", "in_flight", "srtt_us", "rto_us", "control",
    ]  # fmt: skip
    assert {"Open", "Recovery"} <= {dict(each.state)["state"] for each in packets}
    assert any(each.sack for each in packets)
    probed = traced(tmp_path / "b.csv", preset="rfc", congestion="bbr3")[0][-1]
    told = dict(each.split("=") for each in dict(probed.state)["control"].split(";"))
    assert 5e5 < float(told["max_bw"]) < 1.25e6 and told["full_bw_reached"] == "1"


def test_rows_that_miss_the_goal_are_given_their_decision(
    tmp_path: Path,
) -> None:
    """A kernel that sends nine segments first; only rows outside the goal are asked."""

    def kernel(row: Any, _seed: int, until: int, trace: Path) -> dict[str, Any]:
        traced(trace, initial_window=9)
        link = {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "30p"}}
        seen.append((row["flows"], until))
        bulk = {"name": "bulk", "kind": "bulk", "flows": 2, "start": ["0s", "0.5s"]}
        tcp = {"preset": "linux"}
        return {"duration": "2s", "tcp": tcp, "dumbbell": link, "traffic": [bulk]}

    def case(flows: int, queue: float, **more: Any) -> dict[str, Any]:
        figures = {"utilization": 1.0, "loss": 0.01}
        about = {"version": "2.6.26", "congestion": "reno", "round_trip_ms": 20, "flows": flows}
        distances = {"difference": {"queue": queue / 20 - 1} | more}
        both = {"kernel": {"queue": 20.0, **figures}, "forebay": {"queue": queue, **figures}}
        return about | both | distances

    seen: list[tuple[int, int]] = []
    old = {"decision": "pacing"}
    rows = [case(16, 20.1, **old), case(4, 25.0), case(2, 30.0, **old)]
    document = {"cases": rows}
    path = tmp_path / "linux-2.6.json"
    differences.fill(path, rows, document, kernel, again=False)
    assert seen == [(4, 20)]
    written_rows = json.loads(path.read_text())["cases"]
    # A row that meets the goal has none any more; what one has had is kept.
    assert "decision" not in written_rows[0]["difference"]
    found = written_rows[1]["difference"]
    assert found["decision"] == "only forebay sends a segment now" and found["queue"] == 0.25
    assert written_rows[2]["difference"]["decision"] == "pacing"
    differences.fill(path, rows, document, kernel, again=True)
    assert seen == [(4, 20), (4, 20), (2, 20)]
