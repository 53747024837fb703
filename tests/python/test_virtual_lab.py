"""The lab in virtual time: equal runs, without root and without anything left behind.

Runs need a kernel (`make virtual-linux`). Where it is built they must work in CI.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from click.testing import CliRunner

from forebay import Result, Scenario, lab, run
from forebay._cli import app
from forebay._scenario import load
from forebay.lab import gates
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel, machine

SCENARIO = {
    "title": "virtual",
    "duration": "6s",
    "warmup": "2s",
    "tcp": {"preset": "linux"},
    "dumbbell": {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fq-codel"}},
    "traffic": [
        {"kind": "bulk", "flows": 2, "start": ["0s", "500ms"]},
        {"kind": "files", "size": "30KB", "interval": "300ms"},
        {"kind": "poisson", "name": "calls", "rate": "64kbit", "size": "200B", "dscp": "EF"},
    ],
}


def guests_of(process: int) -> Iterator[int]:
    """Processes of the guests that a process has started."""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            where = str((each / "cwd").readlink())
        except OSError:
            continue
        if f"/forebay-guest-{process}-" in where:
            yield int(each.name)


def state_of(process: int) -> str:
    """What a process does: "T" if it is stopped, nothing if it is gone."""
    with suppress(OSError):
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(") ")[2][0]
    return ""


def same(one: Result, other: Result) -> bool:
    """Whether two results are equal, tables and all."""
    return one.summary == other.summary and all(
        getattr(one, name).equals(getattr(other, name))
        for name in ("queue", "classes", "delay", "queue_delay", "flows")
    )


def test_equal_seeds_give_equal_results_and_captures(guest_gate: Path, tmp_path: Path) -> None:
    # Beside each other, so that each is the other's load.
    scenario = Scenario.of(SCENARIO)
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(
            lambda name: lab.virtual.run_all(
                scenario, [7, 8], gate=guest_gate, captures=tmp_path / name
            ),
            ("first", "second"),
        )
    assert all(same(one, other) for one, other in zip(first, second, strict=True))
    assert not same(*first)
    wanted = ["host-left.pcap", "host-right.pcap"]
    wanted += ["link-bottleneck-reverse.pcap", "link-bottleneck.pcap", "timeline.json"]
    for seed in ("seed-7", "seed-8"):
        files = sorted((tmp_path / "first" / seed).iterdir())
        assert [each.name for each in files] == wanted
        for each in files:
            assert each.read_bytes() == (tmp_path / "second" / seed / each.name).read_bytes()
    one = first[0]
    events = json.loads((tmp_path / "first" / "seed-7" / "timeline.json").read_text("utf-8"))
    link = [each for each in events["traceEvents"] if (each["ph"], each["pid"]) == ("X", 0)]
    # One packet at a time is on the link, which is never idle while bulk transfers send.
    ends = [each["ts"] + each["dur"] for each in link]
    starts = [each["ts"] for each in link]
    assert all(end < start + 1e-2 for end, start in zip(ends, starts[1:], strict=False))
    assert sum(each["dur"] for each in link) == pytest.approx(6e6, rel=0.1)
    again = [each for each in events["traceEvents"] if each["name"] == "sent again"]
    assert len(again) >= one.summary["classes"]["bulk"]["retransmissions"] > 0
    summary = one.summary
    assert summary["links"]["bottleneck"]["utilization"] > 0.9
    calls = summary["classes"]["calls"]
    assert calls["offered"] == pytest.approx(calls["delivered"] + calls["dropped"], abs=3)
    # Nobody is late in virtual time: the wait in the queue, propagation and transmission.
    assert calls["mean_delay_ms"] < 15
    assert summary["classes"]["files"]["completed"] > 0


def test_the_command_runs_a_lab_in_linux_6_12(guest_gate: Path, tmp_path: Path) -> None:
    if kernel.find(version="6.12") is None:
        pytest.skip("no Linux 6.12; make virtual-linux KERNEL=6.12")
    file = tmp_path / "scenario.json"
    # Two transfers alone: what differs between the kernels decides, not what arrives when.
    bulk = [{"kind": "bulk", "flows": 2, "start": ["0s", "500ms"]}]
    scenario = Scenario.of(SCENARIO).with_("traffic", bulk).with_("duration", "12s")
    file.write_text(scenario.text, encoding="utf-8")
    words = ["lab", str(file), "--virtual", "--gate", str(guest_gate), "--json", "--kernel"]
    new, again, old = (CliRunner().invoke(app, [*words, each]) for each in ("6.12", "6.12", "6.1"))
    assert (new.exit_code, old.exit_code) == (0, 0), new.output + old.output
    assert new.stdout == again.stdout != old.stdout
    linux = json.loads(new.stdout)
    model = run(scenario.with_("tcp.preset", "linux-6.12")).summary
    for section, key, near in (
        ("links", "utilization", 0.02),
        ("queues", "mean_packets", 0.15),
    ):
        found, wanted = (each[section]["bottleneck"][key] for each in (linux, model))
        assert found == pytest.approx(wanted, rel=near), key


def test_the_program_of_the_gate_is_not_its_library(tmp_path: Path) -> None:
    program = tmp_path / "forebay-gate"
    program.touch()
    with pytest.raises(LabError, match=r"forebay-gate: .* as a library, libforebay_gate.so"):
        gates.library(program)


QUEUES = {
    "cp-aqm": {"kind": "cp-aqm", "threshold": "5p", "max_congestion": 1.2},
    "cq-aqm": {
        "kind": "cq-aqm",
        "precedences": 2,
        "thresholds": {"local": 0.6, "non_local": 0.7},
        "queues": [{"limit": "50p"}, {"limit": "20p"}],
    },
    "ncq": {"kind": "ncq", "limit": "50p", "ncqthresh": 0.05},
    "wrt": {"kind": "wrt", "limit": "50p"},
}


@pytest.mark.parametrize("name", QUEUES)
def test_a_discipline_does_to_linux_what_it_does_to_the_model(guest_gate: Path, name: str) -> None:
    calls = {"kind": "cbr", "name": "calls", "rate": "1Mbit", "size": "200B", "q": 1}
    scenario = (
        Scenario.of(SCENARIO)
        .with_("dumbbell.queue", QUEUES[name])
        .with_("duration", "12s")
        .with_("traffic", [{"kind": "bulk", "flows": 4}, calls])
    )
    linux, model = lab.virtual.run(scenario, gate=guest_gate).summary, run(scenario).summary
    for section, key, near in (
        ("links", "utilization", 0.02),
        ("queues", "mean_packets", 0.15),
    ):
        found, wanted = (each[section]["bottleneck"][key] for each in (linux, model))
        assert found == pytest.approx(wanted, rel=near), key
    found, wanted = (each["classes"]["calls"]["mean_delay_ms"] for each in (linux, model))
    assert found == pytest.approx(wanted, rel=0.1)


class Segment(NamedTuple):
    """What a capture has of a TCP segment; the window is as written, not scaled."""

    at: float
    source: bytes
    payload: int
    window: int


def segments(path: Path) -> Iterator[Segment]:
    """The TCP segments of a capture."""
    data = path.read_bytes()
    at = 24
    while at < len(data):
        seconds, nanos, kept, _ = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        if packet[9] == socket.IPPROTO_TCP:
            size = int.from_bytes(packet[2:4], "big")
            payload = size - 20 - 4 * (packet[32] >> 4)
            window = int.from_bytes(packet[34:36], "big")
            yield Segment(seconds + nanos / 1e9, packet[12:16], payload, window)


def low_share(result: Result, start: float, end: float) -> float:
    """What the low-priority transfer gets of the link."""
    rates = result.classes.filter(
        (pl.col("class") == "low") & (pl.col("time_s") > start) & (pl.col("time_s") <= end)
    )
    return float(rates["throughput_bps"].sum()) / rates.height / 10e6


def test_aspq_freezes_linux_and_lets_it_go_on(guest_gate: Path, tmp_path: Path) -> None:
    high = {"kind": "cbr", "name": "high", "rate": "9.5Mbit", "size": "1500B", "q": 1}
    link = {"rate": "10Mbit", "delay": "20ms", "queue": {"kind": "prio", "limit": "100p"}}
    scenario = Scenario.of(
        SCENARIO
        | {
            "duration": "12s",
            "dumbbell": link | {"box": {"kind": "aspq"}},
            "traffic": [{"kind": "bulk", "name": "low"}, high | {"start": "4s", "stop": "7s"}],
        }
    )
    outage = [("bottleneck", 6_500_000_000, 7_500_000_000)]
    with ThreadPoolExecutor() as pool:
        told = partial(lab.virtual.run, scenario, gate=guest_gate)
        plain = pool.submit(told, captures=tmp_path / "plain")
        killed = pool.submit(told, captures=tmp_path / "killed", outages=outage)
        again = pool.submit(told, captures=tmp_path / "again", outages=outage)
        model = run(scenario)
    # Frozen while high priority sends, and back when it has ended, as in the model.
    for start, end in ((2, 4), (4.5, 6.5), (9, 12)):
        found, wanted = (low_share(each, start, end) for each in (plain.result(), model))
        assert found == pytest.approx(wanted, abs=0.05), (start, end)
    assert low_share(plain.result(), 4.5, 6.5) < 0.1
    # The gate closes the window, and answers the probes that Linux sends meanwhile.
    seen = list(segments(tmp_path / "plain" / "seed-1" / "host-left.pcap"))
    sender = next(each.source for each in seen if each.payload > 0)
    closed = [each.at for each in seen if each.source != sender and each.window == 0]
    assert closed and min(closed) > 4
    probes = [each for each in seen if each.source == sender and not each.payload and each.at > 4]
    assert probes
    # Killed while it is frozen, the flow goes on by itself when another gate is there.
    assert low_share(killed.result(), 6.6, 7.5) == 0
    assert low_share(killed.result(), 10.5, 12) > 0.9
    left = "seed-1/host-left.pcap"
    assert same(killed.result(), again.result())
    assert (tmp_path / "killed" / left).read_bytes() == (tmp_path / "again" / left).read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_nothing_is_left_of_a_run_that_is_stopped(
    guest_gate: Path, tmp_path: Path, number: int, code: int
) -> None:
    file = tmp_path / "scenario.json"
    long = Scenario.of(SCENARIO).with_("duration", "1000h")
    file.write_text(long.text, encoding="utf-8")
    words = ["-m", "forebay", "lab", str(file), "--virtual", "--gate", str(guest_gate)]
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    # The kernel, and a process of the guest's.
    while len(list(guests_of(process.pid))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    deadline = time.monotonic() + 60
    while list(guests_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(guests_of(process.pid))
    with machine.folder():
        assert not list(Path(tempfile.gettempdir()).glob(f"forebay-guest-{process.pid}-*"))


FRONT = """
import sys
from pathlib import Path
from forebay.lab.virtual import kernel, machine

with machine.folder() as folder, machine.Guests() as guests:
    machine.boot(guests, kernel.Kernel(Path(sys.argv[1])), folder, [], seed=1)
"""


def test_a_stopped_process_of_a_killed_guest_is_not_left(tmp_path: Path) -> None:
    # As a guest's process is at first, until its kernel has taken hold of it.
    linux = tmp_path / "linux"
    linux.write_text("#!/bin/sh\nsh -c 'kill -STOP $$' &\nwait\n")
    linux.chmod(0o755)
    words = [sys.executable, "-c", FRONT, str(tmp_path)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as front:
        while not any(state_of(each) == "T" for each in guests_of(front.pid)):
            assert front.poll() is None
            time.sleep(0.01)
        front.kill()
    deadline = time.monotonic() + 60
    while (left := list(guests_of(front.pid))) and time.monotonic() < deadline:
        time.sleep(0.01)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert not left
    with machine.folder():
        assert not list(Path(tempfile.gettempdir()).glob(f"forebay-guest-{front.pid}-*"))


def test_what_fails_inside_is_said_outside(guest_gate: Path) -> None:
    with pytest.raises(LabError, match='this kernel has no congestion control "vegas"'):
        lab.virtual.run(Scenario.of(SCENARIO), congestion="vegas", gate=guest_gate)


def test_a_flow_that_stops_before_anything_of_it_came(guest_gate: Path) -> None:
    # It ends with a reset; here one comes before the first data, all of which are lost.
    full = {
        "duration": "3s",
        "warmup": "1s",
        "dumbbell": {"rate": "1Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "2p"}},
        "traffic": [
            {"name": "flood", "kind": "cbr", "rate": "1200kbit", "size": "1000B"},
            {"name": "short", "kind": "bulk", "flows": 40, "start": "1s", "stop": "1.5s"},
        ],
    }
    found = lab.virtual.run(Scenario.of(full), seed=1, gate=guest_gate)
    assert found.summary["classes"]["short"]["goodput_bps"] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [("host-left.pcap", "link"), ("link-bottleneck.pcap", "link"), ("timeline.json", "read by")],
)
def test_captures_that_cannot_be_written_are_refused_before_the_run(
    tmp_path: Path, name: str, words: str
) -> None:
    into = tmp_path / "captures" / "seed-1"
    into.mkdir(parents=True)
    (tmp_path / "precious").write_text("precious")
    if words == "link":
        (into / name).symlink_to(tmp_path / "precious")
        scenario = Scenario.of(SCENARIO)
    else:
        (into / name).write_text(json.dumps(SCENARIO))
        scenario = load(into / name)
    before = (into / name).read_text()
    with pytest.raises(OSError, match=words) as raised:
        lab.virtual.run(scenario, seed=1, captures=tmp_path / "captures")
    assert raised.value.filename == str(into / name) and (into / name).read_text() == before


def test_a_build_says_a_line_a_step_and_at_each_tenth_of_a_long_one() -> None:
    lines: list[str] = []
    told = kernel.by_tenths(lines.append)
    told("configuring Linux", 0.0)
    for part in range(101):
        told("building Linux", part / 300)
    assert lines == ["configuring Linux"] + [
        f"building Linux{part}" for part in ("", ": 10 %", ": 20 %", ": 30 %")
    ]


def test_a_kernel_that_there_is_not_is_refused() -> None:
    words = ["lab", "examples/lab.toml", "--virtual", "--kernel", "6.13"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2 and "there are 6.1 and 6.12" in found.output
    assert "linux-source-6.12" in kernel.intent("6.12")
    with pytest.raises(LabError, match=r"there are 6.1, 6.12"):
        kernel.build(Path("nowhere"), version="6.13")


def test_kernels_are_told_from_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "places", lambda _version="6.1": [tmp_path])
    monkeypatch.setattr(kernel, "RUNNERS", {})
    marks = {"version": "6.12.117-1", **kernel.digests()}
    (tmp_path / "built.json").write_text(json.dumps(marks))
    assert kernel.find(version="6.12") is not None
    assert kernel.find() is None and kernel.find(tmp_path) is not None
    with pytest.raises(LabError, match=r"`make virtual-linux`"):
        kernel.found()
    (tmp_path / "built.json").write_text(json.dumps({**marks, "inputs": ""}))
    with pytest.raises(LabError, match=r"--kernel 6.12` builds one, or `make virtual-linux KERNEL"):
        kernel.found("6.12")


def test_a_machine_without_a_kernel_is_told_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernel, "places", lambda _version: [tmp_path])
    monkeypatch.setattr(kernel, "RUNNERS", {})
    with pytest.raises(LabError, match="make virtual-linux"):
        kernel.found()
