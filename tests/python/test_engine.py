"""The whole: the installed command on the real engine, and the examples."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import forebay
from forebay import _engine

ROOT = Path(__file__).resolve().parents[2]
COMMAND = str(Path(sys.executable).with_name("forebay"))
SMALL = """\
title = "A short run"
duration = "6s"
warmup = "1s"

[[link]]
name = "uplink"
from = "a"
to = "b"
rate = "10Mbit"
delay = "5ms"
queue = { kind = "fifo", limit = "100p" }

[[traffic]]
name = "bulk"
kind = "bulk"
from = "a"
to = "b"
flows = 2

[[traffic]]
name = "calls"
kind = "voice"
from = "a"
to = "b"
flows = 2

[compare]
link = "uplink"
replications = 3
disciplines = ["fifo", "fq-codel"]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def forebay_command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_compare_from_the_command_line(small: Path, tmp_path: Path) -> None:
    done = forebay_command("compare", "small.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "MOS" in done.stdout
    summary = json.loads((tmp_path / "out/small/summary.json").read_text(encoding="utf-8"))
    _, fifo, fq_codel = (each["classes"]["calls"] for each in summary["disciplines"])
    assert fq_codel["p99_delay_ms"]["high"] < fifo["p99_delay_ms"]["low"]
    assert fq_codel["mos"]["low"] > 4.0
    assert small.exists()


def test_equal_seeds_give_equal_fingerprints(small: Path) -> None:
    scenario = forebay.load(small)
    one = forebay.compare(scenario, jobs=1)
    two = forebay.compare(scenario, jobs=2)
    assert [run.result.fingerprint for run in one.runs] == [
        run.result.fingerprint for run in two.runs
    ]
    assert forebay.run(scenario, seed=2, discipline="fifo").fingerprint == (
        one.runs_of("fifo")[1].result.fingerprint
    )


def test_tables_agree_with_the_summary(small: Path) -> None:
    result = forebay.run(forebay.load(small))
    calls = result.summary["classes"]["calls"]
    counted = result.delay.filter(pl.col("class") == "calls")["count"].sum()
    assert counted == pytest.approx(calls["delivered"], rel=0.01)
    assert result.flows.height == 4
    assert set(result.queue["link"].unique()) == {"uplink", "uplink-reverse"}


def test_the_last_interval_of_the_warm_up_is_whole() -> None:
    ends = {"from": "a", "to": "b"}
    # Twice what the link takes: the queue grows all the time.
    load = {"name": "load", "kind": "cbr", "rate": "2Mbit", "size": "1250B"}
    link = {"name": "link", "rate": "1Mbit", "queue": {"kind": "fifo", "limit": "1000p"}}
    document = {"duration": "4s", "warmup": "2s", "sample": "1s", "link": [link | ends]}
    result = forebay.run(forebay.Scenario.of(document | {"traffic": [load | ends]}))
    queue = result.queue.filter(pl.col("link") == "link")
    assert queue["mean_packets"].to_list() == pytest.approx([50, 150, 250, 350], abs=2)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"duration": "-1s"}, ["duration"]),
        ({"duration": "6 parsecs"}, ["duration"]),
        ({"nonsense": 1}, ["nonsense"]),
        ({"link[0].rate": "0bit"}, ["link[0]"]),
        ({"link[0].queue": {"kind": "codel", "target": "-5ms"}}, ["link[0].queue", "-5ms"]),
        ({"link[0].queue": {"kind": "nope"}}, ["link[0].queue.kind", "one of"]),
        ({"traffic[0].from": "nowhere"}, ["traffic[0]", "nowhere"]),
        ({"traffic[0].kind": "pcap", "traffic[0].file": "absent.pcap"}, ["absent.pcap"]),
    ],
)
def test_bad_input_names_place_and_remedy(
    small: Path, changed: dict[str, object], words: list[str]
) -> None:
    scenario = forebay.load(small)
    for path, value in changed.items():
        scenario = scenario.with_(path, value)
    with pytest.raises(forebay.ScenarioError) as error:
        scenario.effective()
    assert str(error.value).startswith("small.toml: ")
    for word in words:
        assert word in str(error.value)


def test_bad_input_ends_with_two_and_no_traceback(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace("10Mbit", "10Furlong"), encoding="utf-8")
    done = forebay_command("compare", "small.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: small.toml: ") and "Traceback" not in done.stderr
    assert list(tmp_path.glob("out/*")) == []


def processor_time(pid: int) -> float:
    """Of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_control_c_stops_within_a_second(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace('"6s"', '"100000s"'), encoding="utf-8")
    with subprocess.Popen(
        [COMMAND, "compare", "small.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        # Until it computes.
        while process.poll() is None and processor_time(process.pid) < 1.5:
            time.sleep(0.05)
        assert process.poll() is None
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
    # A second, and another for a machine that runs other tests beside this one.
    assert time.monotonic() - start < 2.0
    assert process.returncode == 130
    assert "stopped: 0 of 9 runs" in stderr and "Traceback" not in stderr
    assert list(tmp_path.glob("out/*")) == [] and list(tmp_path.glob("out/.*")) == []


SCENARIOS = [path for path in ROOT.glob("examples/*.toml") if not path.stem.endswith("-study")]


@pytest.mark.parametrize("path", sorted(SCENARIOS), ids=lambda path: path.name)
def test_examples_run(path: Path) -> None:
    short = forebay.load(path).with_("duration", "12s").with_("warmup", "5s")
    assert forebay.run(short).summary["packets"] > 0
    forebay.compare(short, replications=1)


def test_a_filter_of_acknowledgments_pays_where_they_wait() -> None:
    path = ROOT / "examples" / "asymmetric.toml"
    found = {}
    for name in ("none", "conservative"):
        queue = {"kind": "cake", "bandwidth": "1.9Mbit", "ack_filter": name}
        short = forebay.load(path).with_("duration", "15s").with_("warmup", "5s")
        found[name] = forebay.run(short.with_("link.uplink.queue", queue)).summary
    gone = {name: each["queues"]["uplink"]["drops"] for name, each in found.items()}
    assert gone["none"]["redundant_ack"] == 0 < gone["conservative"]["redundant_ack"]
    goodput = {name: each["classes"]["download"]["goodput_bps"] for name, each in found.items()}
    assert goodput["conservative"] > 1.02 * goodput["none"]


def test_stub_holds_what_the_engine_has() -> None:
    stub = (ROOT / "python/forebay/_engine.pyi").read_text(encoding="utf-8")
    for name in vars(_engine):
        if not name.startswith("__") and name != "_engine":
            assert name in stub


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("fifo", "is a FIFO; it must be a regular file"),
        ("device", "is a device; it must be a regular file"),
        ("huge", "is larger than 16 MiB"),
    ],
)
def test_a_scenario_is_a_regular_file_of_a_size(kind: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 30)
    with pytest.raises(_engine.ScenarioError, match=message):
        _engine.load(str(path))


def test_a_run_on_several_threads_is_the_run_on_one(tmp_path: Path) -> None:
    path = tmp_path / "row.toml"
    path.write_text(
        """\
duration = "4s"
tables = ["flow_series"]
[parking_lot]
hops = 8
rate = "20Mbit"
delay = "10ms"
queue = { kind = "fq-codel" }
[[traffic]]
name = "long"
kind = "bulk"
flows = 8
[[traffic]]
name = "web"
kind = "web"
hop = 3
flows = 20
""",
        encoding="utf-8",
    )
    scenario = forebay.load(path)
    one, two = (forebay.run(scenario, threads=threads) for threads in (1, 2))
    assert (one.threads, two.threads) == (1, 2)
    without_cost = [result.summary | {"cost": None} for result in (one, two)]
    assert without_cost[0] == without_cost[1]
    for name, table in one.tables.items():
        assert table.equals(two.tables[name], null_equal=True), name
    with pytest.raises(ValueError, match="at least 1"):
        forebay.run(scenario, threads=0)
    ran = subprocess.run(
        [COMMAND, "run", str(path), "--threads", "2"], capture_output=True, text=True, check=True
    )
    assert "on 2 threads" in " ".join(ran.stdout.split())
    assert one.summary["fingerprint"] in ran.stdout
    for threads in ("1", "2"):
        command = [COMMAND, "run", str(path), "--threads", threads, "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(ran.stdout)["cost"]["threads"] == int(threads)
        assert json.loads(ran.stdout) | {"cost": None} == without_cost[0]
