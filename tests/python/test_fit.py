from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from forebay import ScenarioError, fit, load, run
from forebay._cli import app
from forebay.fit.candidates import KINDS
from forebay.fit.direct import read_off
from forebay.fit.measurement import Flow
from forebay.fit.readers.packets import _unwrapped
from forebay.fit.trial import Load, Route, document, recorded
from fuzzing import fuzz

ROOT = Path(__file__).parents[2]
HOME = ROOT / "examples" / "home.pcap.gz"
SECONDS = 12.0
RUN = CliRunner().invoke


def bench() -> Any:
    """The bench, whose files are as tools write them."""
    if "fit_bench" not in sys.modules:
        spec = importlib.util.spec_from_file_location("fit_bench", ROOT / "benches" / "fit.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fit_bench"] = module
        spec.loader.exec_module(module)
    return sys.modules["fit_bench"]


def loaded(queue: dict[str, Any], **route: Any) -> dict[str, Any]:
    """Four transfers after 3 s of pings, over 5 Mbit/s and 30 ms."""
    flows = tuple(Flow(3.0 + at / 200, SECONDS) for at in range(4))
    load_ = Load(flows, SECONDS + 0.2, 0.05)
    return document(Route(5e6, 0.03, queue, **route), load_, seed=5)


def captured(folder: Path, whole: dict[str, Any], vantage: str = "sender") -> Path:
    path = folder / "link.pcap"
    path.write_bytes(bench().pcap(recorded(whole, vantage), vantage))
    return path


def reported(folder: Path, whole: dict[str, Any]) -> list[Path]:
    """The files of ping and iperf3."""
    of = bench().link("train", 2)
    object.__setattr__(of, "seconds", SECONDS - 3)
    ping, iperf = bench().reports(recorded(whole), of)
    # Of this the load begins after 3 s, of the bench after 5 s.
    files = [folder / "ping.txt", folder / "iperf3.json"]
    files[0].write_text(ping)
    files[1].write_text(json.dumps(iperf))
    return files


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[fit.Fitted, Path]:
    """The example: 4 Mbit/s, 40 ms, a FIFO of 133 packets of 1500 B."""
    folder = tmp_path_factory.mktemp("home") / "out"
    return fit.fit([HOME], folder), folder


def test_a_modem_with_a_fifo(home: tuple[fit.Fitted, Path]) -> None:
    found, _ = home
    rate, rtt, buffer = (found.estimates[name] for name in ("rate", "rtt", "buffer"))
    assert rate.value == pytest.approx(4e6, rel=0.02)
    assert rtt.value == pytest.approx(0.04, abs=0.001)
    assert buffer.value == pytest.approx(133 * 1500, rel=0.1)
    for each, truth in ((rate, 4e6), (rtt, 0.04), (buffer, 133 * 1500)):
        assert each.low is not None and each.high is not None
        assert each.low <= truth <= each.high
    assert found.discipline.kind == "fifo"
    assert found.measurement.vantage == "sender"
    cross = found.estimates["cross"]
    assert cross.value is not None and cross.value < 0.02 * 4e6


def test_the_scenario_runs_and_is_like_the_link(home: tuple[fit.Fitted, Path]) -> None:
    _, folder = home
    written = load(folder / "scenario.toml")
    summary = run(written).summary
    # 133 packets at 4 Mbit/s are 399 ms.
    assert 330 < summary["queues"]["uplink"]["p99_delay_ms"] < 420
    assert "discipline: FIFO" in (folder / "scenario.toml").read_text()
    kept = json.loads((folder / "results.json").read_text())
    assert kept["discipline"]["kind"] == "fifo"
    assert kept["estimates"]["rate"]["unit"] == "bit/s"
    page = (folder / "report.html").read_text()
    assert "What the load waited" in page and "measured" in page


def test_a_fit_that_was_stopped_goes_on(home: tuple[fit.Fitted, Path]) -> None:
    found, folder = home
    before = (folder / "journal").read_bytes()
    again = fit.fit([HOME], folder)
    assert (folder / "journal").read_bytes() == before
    assert again.estimates == found.estimates and again.discipline == found.discipline


@pytest.mark.parametrize("queue", [{"kind": "fq-codel"}, {"kind": "codel"}, {"kind": "pie"}])
def test_disciplines_are_told_apart(tmp_path: Path, queue: dict[str, Any]) -> None:
    found = fit.fit([captured(tmp_path, loaded(queue))], tmp_path / "out")
    assert found.discipline.kind in (queue["kind"], None)
    assert (
        max(found.discipline.weights, key=lambda each: found.discipline.weights[each])
        == (queue["kind"])
    )
    assert set(found.discipline.weights) == set(KINDS)
    # A queue that is kept short does not show its room.
    assert found.estimates["buffer"].value is None
    assert "room" in found.estimates["buffer"].why or found.discipline.kind is None


def test_the_other_end_tells_the_rate_too(tmp_path: Path) -> None:
    fifo = {"kind": "fifo", "limit": "60p"}
    seen = fit.read([captured(tmp_path, loaded(fifo), "receiver")])
    assert seen.vantage == "receiver"
    direct = read_off(seen)
    assert direct.rate is not None and direct.rate.value == pytest.approx(5e6, rel=0.02)
    assert direct.rtt is not None and direct.rtt.value == pytest.approx(0.03, abs=0.001)
    assert len(seen.losses.at) > 0


def test_reports_tell_less_and_say_so(tmp_path: Path) -> None:
    files = reported(tmp_path, loaded({"kind": "fifo", "limit": "60p"}))
    seen = fit.read(files)
    assert (seen.vantage, seen.exact_losses, len(seen.flows)) == ("summary", False, 4)
    direct = read_off(seen)
    assert direct.rtt is not None and direct.rtt.value == pytest.approx(0.03, abs=0.001)


def test_others_traffic_is_not_taken_for_a_slower_link(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"}, cross=1e6)
    direct = read_off(fit.read([captured(tmp_path, whole)]))
    assert direct.rate is not None and direct.rate.value == pytest.approx(5e6, rel=0.02)
    assert direct.cross is not None
    assert direct.cross.low <= 1e6 * 1.1 and direct.cross.value == pytest.approx(1e6, rel=0.25)
    assert not direct.steady


def test_a_rate_that_changes_is_not_taken_for_one(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    whole["link"][0]["rate"] = {"steps": [["0s", "5Mbit"], ["7s", "2Mbit"]]}
    direct = read_off(fit.read([captured(tmp_path, whole)]))
    assert direct.rate is None and "changes" in direct.why
    assert "from 2 to 5 Mbit/s" in direct.why


def test_a_load_that_does_not_fill_the_link_tells_no_rate(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    whole["tcp"] |= {"receive_window": "1.5KB"}
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    rate = found.estimates["rate"]
    assert rate.value is None and rate.low is not None and rate.low < 5e6
    assert "did not fill" in rate.why and "--measure" in rate.why
    assert found.discipline.kind is None
    assert found.estimates["buffer"].value is None


def test_a_wire_that_loses_is_no_queue(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "2000p"}, loss=0.01)
    whole["link"][0]["rate"] = "12Mbit"
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    loss = found.estimates["loss"]
    assert loss.value is not None and loss.low is not None and loss.high is not None
    assert loss.low <= 0.01 <= loss.high


def test_sequence_numbers_go_around() -> None:
    numbers = np.array([2**32 - 1000, 2**32 - 500, 100, 50, 600])
    assert np.diff(_unwrapped(numbers)).tolist() == [500, 600, -50, 550]
    assert _unwrapped(np.array([5]), first=2**32 - 5).tolist() == [2**32 + 5]


IRTT: dict[str, Any] = {
    "version": {"irtt": "0.9.1"},
    "config": {"params": {"length": 60}, "remote_address": "192.0.2.1:2112"},
    "round_trips": [
        {
            "seqno": at,
            "lost": "false" if at != 3 else "true",
            "timestamps": {"client": {"send": {"wall": 1_600_000_000_000_000_000 + at * 10**7}}},
            "delay": {"rtt": 20_000_000 + at * 1000} if at != 3 else {},
        }
        for at in range(30)
    ],
}
FLENT: dict[str, Any] = {
    "metadata": {"T0": "2020-01-01T00:00:00Z", "TITLE": "home", "HOST": "192.0.2.1"},
    "x_values": [at * 0.2 for at in range(60)],
    "results": {
        "Ping (ms) ICMP": [20.0] * 20 + [90.0] * 40,
        "TCP upload BE": [None] * 20 + [4.8] * 40,
        "TCP upload BK": [None] * 20 + [4.7] * 40,
        "TCP upload avg": [None] * 20 + [4.75] * 40,
    },
    "raw_values": {},
}
IPERF: dict[str, Any] = {
    "start": {
        "timestamp": {"timesecs": 1_600_000_000},
        "tcp_mss_default": 1448,
        "test_start": {"protocol": "TCP", "reverse": 0, "tos": 0},
        "connecting_to": {"host": "192.0.2.1"},
    },
    "intervals": [
        {
            "streams": [
                {"socket": 5, "start": at, "end": at + 1, "bytes": 600_000, "retransmits": 1,
                 "rtt": 50_000}
            ]
        }
        for at in range(10)
    ],
    "end": {"sender_tcp_congestion": "cubic", "sum_received": {"bytes": 5_900_000}},
}  # fmt: skip
PING = b"""PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1600000000.020000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=56 time=20.0 ms
[1600000000.071000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=56 time=21 ms
[1600000000.150000] no answer yet for icmp_seq=3
"""


def put(path: Path, content: Any) -> Path:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(raw)
    return path


def test_each_tool_is_read_in_its_units(tmp_path: Path) -> None:
    irtt = fit.read([put(tmp_path / "a.json", IRTT)])
    assert len(irtt.trips.at) == 29 and irtt.trips.delay[0] == pytest.approx(0.02)
    assert irtt.trips.size[0] == 88
    flent = fit.read([put(tmp_path / "b.flent.gz", gzip.compress(json.dumps(FLENT).encode()))])
    assert [flow.dscp for flow in flent.flows] == [0, 8]
    # 4.8 and 4.7 Mbit/s of payload.
    gone = flent.arrivals.size.sum() * 8 / (39 * 0.2)
    assert gone == pytest.approx(9.5e6 * 1500 / 1448, rel=0.01)
    assert np.median(flent.trips.delay) == pytest.approx(0.09)
    assert flent.said["title"] == "home"
    both = fit.read([put(tmp_path / "c.txt", PING), put(tmp_path / "d.json", IPERF)])
    assert both.trips.at[both.trips.probes].tolist() == pytest.approx([0.0, 0.05], abs=1e-5)
    assert both.arrivals.size.sum() == pytest.approx(5_900_000 * 1500 / 1448)
    assert len(both.losses.at) == 10 and both.congestion == "cubic"


def test_round_trips_alone_tell_the_round_trip(tmp_path: Path) -> None:
    found = fit.fit([put(tmp_path / "a.json", IRTT)], tmp_path / "out")
    assert found.estimates["rtt"].value == pytest.approx(0.02, rel=0.01)
    assert found.scenario is None and not (tmp_path / "out" / "scenario.toml").exists()
    assert "nothing loaded" in found.estimates["rate"].why


def test_loads_of_both_directions_tell_no_queue(tmp_path: Path) -> None:
    down = {"TCP download BE": [None] * 20 + [30.0] * 40}
    both = FLENT | {"results": FLENT["results"] | down}
    found = fit.fit([put(tmp_path / "a.json", both)], tmp_path / "out")
    assert found.measurement.two_way and "download" in found.measurement.source
    rate = found.estimates["rate"]
    assert rate.value is None and rate.low == pytest.approx(30e6 * 1500 / 1448, rel=0.03)
    assert found.discipline.kind is None and "both directions" in found.discipline.why


HEAD = bytes.fromhex("4d3cb2a1020004000000000000000000780000006500")
BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"hello\nworld\n", "no measurement that is understood"),
    "capture cut in its header": (HEAD[:10], "cut off within its header"),
    "json cut": (json.dumps(FLENT).encode()[:200], "no whole JSON"),
    "foreign json": (b'{"a": 1}', "JSON of another program"),
    "list": (b"[1, 2]", "no measurement that is understood"),
    "gzip cut": (gzip.compress(json.dumps(FLENT).encode())[:-9], "cut off or damaged"),
    "deep": (b'{"a":' * 20_000, "no whole JSON"),
    "iperf's error": (json.dumps(IPERF | {"error": "unable to connect"}).encode(), "iperf3 says"),
    "udp": (
        json.dumps(IPERF | {"start": {"test_start": {"protocol": "UDP"}}}).encode(),
        "without -u",
    ),
    "ping without times": (
        b"PING a (192.0.2.1) 56(84) bytes of data.\n"
        b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=60 time=40.1 ms\n",
        "run ping with -D",
    ),
    "nothing": (json.dumps(FLENT | {"results": {}}).encode(), "neither pings nor TCP"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_no_use_end_in_a_line(tmp_path: Path, name: str) -> None:
    content, says = BROKEN[name]
    path = put(tmp_path / "given", content)
    done = RUN(app, ["fit", str(path), "-o", str(tmp_path / "out")])
    assert done.exit_code == 2, done.output
    [line] = done.output.strip().splitlines()
    assert line.startswith("error: ") and says in line and str(path) in line
    assert not (tmp_path / "out").exists()


def test_a_file_that_unpacks_to_more_than_is_read(tmp_path: Path) -> None:
    huge = gzip.compress(b'{"a": "' + b" " * (300 << 20) + b'"}', 1)
    path = put(tmp_path / "huge.flent.gz", huge)
    with pytest.raises(ScenarioError, match="larger than 256 MiB unpacked"):
        fit.read([path])


def test_the_command_line(tmp_path: Path) -> None:
    shown = RUN(app, ["fit", "--measure"])
    assert shown.exit_code == 0 and "iperf3 -c SERVER" in shown.output
    nothing = RUN(app, ["fit"])
    assert nothing.exit_code == 2 and "--measure" in nothing.output
    device = RUN(app, ["fit", "/dev/null"])
    assert device.exit_code == 2 and "give the name of a file" in device.output
    missing = RUN(app, ["fit", str(tmp_path / "no.pcap")])
    assert missing.exit_code == 2 and "no.pcap" in missing.output
    both = RUN(app, ["fit", str(HOME), str(HOME)])
    assert both.exit_code == 2 and "only one capture" in both.output
    path = put(tmp_path / "a.json", IRTT)
    said = RUN(app, ["fit", str(path), "--json", "-o", str(tmp_path / "out")])
    assert json.loads(said.output)["estimates"]["rtt"]["value"] == pytest.approx(0.02, rel=0.01)


def check(path: Path) -> None:
    """The promise: refused in words, or read off without a fault."""
    try:
        seen = fit.read([path])
    except ScenarioError as error:
        assert str(path) in str(error) and "\n" not in str(error)
        return
    assert np.isfinite(seen.trips.delay).all() and (seen.trips.delay > 0).all()
    with np.errstate(all="raise", under="ignore"):
        read_off(seen)


def mutated(whole: bytes) -> st.SearchStrategy[bytes]:
    def act(changes: list[tuple[int, int, bytes]]) -> bytes:
        found = whole
        for at, size, new in changes:
            found = found[:at] + new + found[at + size :]
        return found

    place = st.integers(0, len(whole))
    new = st.one_of(st.binary(max_size=8), st.sampled_from([b"\xff" * 4, b"1e999", b"-1", b"{"]))
    return st.lists(st.tuples(place, st.integers(0, 40), new), max_size=6).map(act)


def test_fuzz_captures(tmp_path: Path) -> None:
    whole = captured(tmp_path, loaded({"kind": "fifo", "limit": "20p"})).read_bytes()[:60_000]
    # As many whole packets as are in it.
    path = tmp_path / "fuzzed.pcap"
    fuzz(lambda raw: check(put(path, raw)), mutated(whole))


@pytest.mark.parametrize("whole", [IRTT, FLENT, IPERF], ids=["irtt", "flent", "iperf3"])
def test_fuzz_reports(tmp_path: Path, whole: dict[str, Any]) -> None:
    odd = st.one_of(
        st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5),
        st.just([]), st.just({}), st.sampled_from([10**400, -1, 1e308, 0]),
    )  # fmt: skip

    def changed(draws: list[tuple[int, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(json.dumps(whole))
        places = list(inner(made))
        for at, value in draws:
            holder, key = places[at % len(places)]
            holder[key] = value
        return made

    changes = st.lists(st.tuples(st.integers(0, 10_000), odd), min_size=1, max_size=5)
    path = tmp_path / "fuzzed.json"
    fuzz(lambda draws: check(put(path, changed(draws))), changes)
    fuzz(lambda raw: check(put(path, raw)), mutated(json.dumps(whole).encode()))


def inner(value: Any) -> Any:
    """Every place of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(items):
        yield value, key
        if isinstance(each, dict | list):
            yield from inner(each)


def test_fuzz_pings(tmp_path: Path) -> None:
    path = tmp_path / "fuzzed.txt"
    fuzz(lambda raw: check(put(path, raw)), mutated(PING))
