from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from fit_files import (
    ARRIVED,
    FLENT,
    HOME,
    IPERF,
    IRTT,
    PING,
    SENT,
    bench,
    captured,
    check,
    iperf,
    loaded,
    put,
)
from forebay import ScenarioError, fit, load, run
from forebay._cli import app
from forebay.fit.buffer import held_of, often, surely
from forebay.fit.candidates import KINDS
from forebay.fit.direct import read_off
from forebay.fit.fitting import _cross, _estimates
from forebay.fit.found import Discipline
from forebay.fit.measurement import Flow
from forebay.fit.naming import named
from forebay.fit.readers.packets import _unwrapped
from forebay.fit.trial import Load, Route, document, recorded
from fuzzing import fuzz, mutated

RUN = CliRunner().invoke


def reported(folder: Path, queue: dict[str, Any]) -> list[Path]:
    """The files of ping and iperf3: 5 s of pings, then 15 s of four transfers, 5 Mbit/s, 30 ms."""
    flows = tuple(Flow(5.0 + at / 200, 20.0) for at in range(4))
    whole = document(Route(5e6, 0.03, queue), Load(flows, 20.2, 0.05), seed=5)
    ping, iperf = bench().reports(recorded(whole), replace(bench().link("train", 2), seconds=15.0))
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
    files = reported(tmp_path, {"kind": "fifo", "limit": "60p"})
    seen = fit.read(files)
    assert (seen.vantage, seen.exact_losses, len(seen.flows)) == ("summary", False, 4)
    direct = read_off(seen)
    assert direct.rtt is not None and direct.rtt.value == pytest.approx(0.03, abs=0.001)
    found = fit.fit(files, tmp_path / "out")
    assert found.scenario is not None and direct.rate is not None
    # The scenario has the estimate that is said, to 0.1 kbit/s.
    said = float(found.estimates["rate"].why.split("the rate is about ")[1].split(" Mbit/s")[0])
    kept = found.scenario.document["link"][0]["rate"]
    assert float(kept.removesuffix("kbit")) == pytest.approx(1000 * said, abs=0.6)
    assert "a capture tells" in found.estimates["buffer"].why


def rate_of(folder: Path, *report: Any) -> fit.Estimate:
    """The rate of ping's output, 30 ms without and 180 ms under load, beside iperf3's report."""
    lines = [
        f"[{1_599_999_995.03 + at / 20:.3f}] 64 bytes from 192.0.2.1: icmp_seq={at} ttl=56 "
        f"time={30 if at < 100 else 180} ms"
        for at in range(600)
    ]
    files = [put(folder / "ping.txt", "\n".join(lines).encode())]
    files.append(put(folder / "iperf3.json", iperf(*report)))
    seen = fit.read(files)
    return _estimates(seen, read_off(seen), Discipline(None, {}, 0.0), 0.15)["rate"]


def test_a_sender_that_fills_its_socket_does_not_change_the_link(tmp_path: Path) -> None:
    rate = rate_of(tmp_path, SENT, ARRIVED)
    # 15 128 704 B of payload in 25.18 s are 4.979 Mbit/s on the link, which has 5.000.
    assert rate.value is None and rate.low == pytest.approx(4.979e6, rel=1e-4)
    assert "if that was nothing, the rate is about 4.99" in rate.why
    assert "a capture tells" in rate.why and "four transfers" not in rate.why


def test_intervals_that_differ_say_nothing_of_the_link(tmp_path: Path) -> None:
    wild = [10.0, *(1.0 if at % 8 < 4 else 9.0 for at in range(24))]
    rate = rate_of(tmp_path, wild, {"bytes": 15_000_000, "seconds": 25.2})
    assert rate.low == pytest.approx(4.933e6, rel=1e-3)
    assert "to tell whether the rate changed; a capture tells" in rate.why
    single = rate_of(tmp_path, wild, {"bytes": 15_000_000, "seconds": 25.2}, 1)
    assert "four transfers for 25 s" in single.why


def test_a_report_says_its_estimate_not_its_low_end(tmp_path: Path) -> None:
    # Intervals have 4.85 * 1500 / 1448 Mbit/s; the whole, 15 MB * 8 * 1500 / 1448 / 25.2 s.
    steady = [10.0, *(4.8 + at % 2 / 10 for at in range(24))]
    rate = rate_of(tmp_path, steady, {"bytes": 15_000_000, "seconds": 25.2})
    assert rate.low == pytest.approx(4.933e6, rel=1e-3) and "is about 5.02" in rate.why


def test_others_traffic_is_not_taken_for_a_slower_link(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"}, cross=1e6)
    direct = read_off(fit.read([captured(tmp_path, whole)]))
    assert direct.rate is not None and direct.rate.value == pytest.approx(5e6, rel=0.02)
    assert direct.cross is not None
    assert direct.cross.low <= 1e6 * 1.1 and direct.cross.value == pytest.approx(1e6, rel=0.25)
    assert not direct.steady


def test_a_rate_that_changes_has_a_course(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    whole["link"][0]["rate"] = {"steps": [["0s", "5Mbit"], ["7s", "2Mbit"]]}
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    rate = found.estimates["rate"]
    (_, first), *between, (at, second) = rate.course
    assert (
        len(between) < 3
        and first == pytest.approx(5e6, rel=0.02)
        and second == pytest.approx(2e6, rel=0.02)
    )
    assert at == pytest.approx(7.0, abs=0.5)
    # 4 s of the one, 5 s of the other.
    assert rate.value == pytest.approx(30e6 / 9, rel=0.05)
    assert rate.low == second and rate.high is not None and first <= rate.high < 5.5e6
    # All waits change with it, so that a name would be a guess.
    assert found.discipline.kind is None and "rate changes" in found.discipline.why
    least = found.estimates["buffer"].low
    assert least is not None and 45_000 < least <= 60 * 1500
    written = load(tmp_path / "out" / "scenario.toml")
    assert len(written.document["link"][0]["rate"]["steps"]) == len(rate.course)
    assert "changes while the load lasts" in (tmp_path / "out" / "report.html").read_text()


def test_a_rate_that_fades(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    steps = [[f"{3 + at / 2}s", f"{2 + at % 4}Mbit"] for at in range(18)]
    whole["link"][0]["rate"] = {"steps": [["0s", "2Mbit"], *steps]}
    course = read_off(fit.read([captured(tmp_path, whole)])).course
    times = np.linspace(4, 11.5, 200)

    def at(steps: list[tuple[float, float]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        begins, rates = (np.array(each) for each in zip(*steps, strict=True))
        return rates[np.searchsorted(begins, times, side="right") - 1]

    truth = at([(0.0, 2e6)] + [(3 + each / 2, (2 + each % 4) * 1e6) for each in range(18)])
    told = at(list(course))
    assert np.median(np.abs(told / truth - 1)) < 0.05
    assert np.corrcoef(truth, told)[0, 1] > 0.6


def test_a_rate_that_senders_set_has_no_course(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "200p"})
    whole["tcp"] |= {"receive_window": "1.5KB"}
    assert read_off(fit.read([captured(tmp_path, whole)])).course == ()


def test_a_receiver_needs_no_ping(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    whole["traffic"] = [each for each in whole["traffic"] if each["name"] != "probes"]
    record = recorded(whole, "receiver")
    path = tmp_path / "link.pcap"
    path.write_bytes(bench().capture(record, "receiver"))
    seen = fit.read([path])
    assert seen.vantage == "receiver" and not seen.trips.probes.any()
    found = fit.fit([path], tmp_path / "out")
    assert found.estimates["rtt"].value == pytest.approx(0.03, abs=0.001)
    assert found.estimates["rate"].value == pytest.approx(5e6, rel=0.02)
    assert found.discipline.kind == "fifo"
    # 60 packets at 5 Mbit/s, to the tick of a clock of 1 ms.
    waits = seen.trips.delay - 0.03 - 1500 * 8 / 5e6
    assert np.quantile(waits, 0.99) == pytest.approx(60 * 1500 * 8 / 5e6, abs=0.006)


@pytest.mark.parametrize("kind", ["fq-codel", "cake", "codel", "pie", "fifo"])
def test_what_a_buffer_is_at_least_is_true(tmp_path: Path, kind: str) -> None:
    room = {"memory_limit": "30KB"} if kind == "cake" else {"limit": "20p"}
    whole = loaded({"kind": kind, **room})
    if kind == "cake":
        whole["link"][0]["queue"]["bandwidth"] = "5Mbit"
    seen = fit.read([captured(tmp_path, whole)])
    direct = read_off(seen)
    assert direct.rtt is not None
    held = held_of(seen, direct.rtt.value, 5e6)
    assert held is not None
    least = surely(often(held.least), 5e6)
    assert least is not None and 5_000 < least <= 30_000


def test_marks_tell_a_discipline_too(tmp_path: Path) -> None:
    whole = loaded({"kind": "codel", "ecn": True})
    whole["tcp"]["ecn"] = True
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    seen = found.measurement
    assert seen.ecn and len(seen.marks.at) > 5
    assert max(found.discipline.weights, key=lambda each: found.discipline.weights[each]) == "codel"
    assert found.discipline.kind in ("codel", None)
    assert found.scenario is not None and found.scenario.document["tcp"]["ecn"] is True


def test_another_congestion_control_is_found(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "100p"})
    whole["tcp"]["congestion"] = "bbr"
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    assert found.measurement.congestion == "bbr"
    assert found.discipline.kind in ("fifo", None)


def test_a_fit_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    path = captured(tmp_path, loaded({"kind": "fifo", "limit": "60p"}))

    def stop(what: str, done: float) -> None:
        if what == "trying" and done > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.fit([path], tmp_path / "out", jobs=1, progress=stop)
    kept = (tmp_path / "out" / "journal").read_bytes()
    assert kept and not (tmp_path / "out" / "scenario.toml").exists()
    again = fit.fit([path], tmp_path / "out")
    assert (tmp_path / "out" / "journal").read_bytes().startswith(kept)
    whole = fit.fit([path], tmp_path / "whole")
    assert again.estimates == whole.estimates and again.discipline == whole.discipline


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


def test_what_acts_as_a_fifo_is_one(tmp_path: Path) -> None:
    # 7 ms of packets: less than PIE's target, and too little for CoDel to find 5 ms at all times.
    found = fit.fit([captured(tmp_path, loaded({"kind": "pie", "limit": "3p"}))], tmp_path / "out")
    assert found.discipline.kind == "fifo" and "pie" in found.discipline.alike
    assert set(found.discipline.alike) <= {"fifo", "pie", "codel"}
    assert "acts as a FIFO" in found.discipline.why
    shown = (tmp_path / "out" / "scenario.toml").read_text()
    head = next(line for line in shown.splitlines() if line.startswith("# discipline"))
    assert head.startswith("# discipline: FIFO, or ") and head.endswith(" acting as one")
    buffer = found.estimates["buffer"]
    assert buffer.low is not None and buffer.high is not None
    assert buffer.low <= 3 * 1500 <= buffer.high


def test_a_long_buffer_does_not_act_as_a_fifo(tmp_path: Path) -> None:
    # Nothing was lost: a RED with high thresholds does as a FIFO does, but its buffer is not short.
    deep = loaded({"kind": "fifo", "limit": "4000p"})
    found = fit.fit([captured(tmp_path, deep)], tmp_path / "out")
    assert found.discipline.kind in (None, "fifo")
    assert "acts as a FIFO" not in found.discipline.why
    # Nor is what only drops named for it.
    red = next(each for each in found.judged if each.candidate.kind == "red")
    rest = (red, *(each for each in found.judged if each is not red))
    named_ = named(found.measurement, read_off(found.measurement), rest)
    assert named_.kind is None and "nothing was lost" in named_.why
    assert found.discipline.weights["red"] > 0.01
    assert not found.estimates["buffer"].decided


def test_what_a_network_card_cuts_is_read_as_segments(tmp_path: Path) -> None:
    """A capture of super-packets tells what one of segments does."""
    record = recorded(loaded({"kind": "fifo", "limit": "40p"}))
    merged = replace(record, packets=bench().offloaded(record.packets))
    assert len(merged.packets) < 0.8 * len(record.packets)
    seen = []
    for each in (record, merged):
        path = put(tmp_path / "link.pcap", bench().capture(each, "sender"))
        direct = read_off(fit.read([path]))
        assert direct.rate is not None and direct.rtt is not None
        seen.append((direct.rate.value, direct.rtt.value, float(np.median(direct.overflow.waits))))
    assert seen[0] == pytest.approx((5e6, 0.03, seen[1][2]), rel=0.01)
    assert seen[1] == pytest.approx(seen[0], rel=0.02)


def test_a_load_that_pauses_has_no_others(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "40p"})
    [load_, *rest] = whole["traffic"]
    again = load_ | {"name": "later", "start": ["8.5s", "8.6s"]}
    whole["traffic"] = [load_ | {"stop": "6s"}, again, *rest]
    direct = read_off(fit.read([captured(tmp_path, whole)]))
    assert direct.cross is None or direct.cross.low == 0


def test_a_rate_that_dips_is_a_course_and_no_discipline(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "60p"})
    whole["link"][0]["rate"] = {"steps": [["0s", "5Mbit"], ["6s", "2.5Mbit"], ["7.5s", "5Mbit"]]}
    direct = read_off(fit.read([captured(tmp_path, whole)]))
    assert len(direct.course) > 1
    assert min(rate for _, rate in direct.course) == pytest.approx(2.5e6, rel=0.05)


def test_a_policer_is_no_queue(tmp_path: Path) -> None:
    whole = loaded({"kind": "fifo", "limit": "1000p"})
    whole["link"][0] |= {"rate": "20Mbit", "police": {"rate": "5Mbit", "burst": "30KB"}}
    found = fit.fit([captured(tmp_path, whole)], tmp_path / "out")
    assert found.discipline.kind is None and "a policer" in found.discipline.why
    assert found.scenario is not None
    assert all(each["name"] != "others" for each in found.scenario.document["traffic"])
    rtt = found.estimates["rtt"]
    assert rtt.low is not None and rtt.high is not None and rtt.low <= 0.03 <= rtt.high


def test_an_edited_scenario_is_not_written_over(tmp_path: Path) -> None:
    done = RUN(app, ["fit", str(HOME), "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    scenario = tmp_path / "scenario.toml"
    before = scenario.read_text()
    assert RUN(app, ["fit", str(HOME), "--out", str(tmp_path), "--json"]).exit_code == 0
    assert scenario.read_text() == before
    scenario.write_text(f"# mine\n{before}")
    again = RUN(app, ["fit", str(HOME), "--out", str(tmp_path)])
    assert again.exit_code == 2 and "has been edited" in again.output
    assert scenario.read_text().startswith("# mine\n")


def test_a_rest_that_is_hardly_there_is_nobody_s(tmp_path: Path) -> None:
    # A queue that empties between losses, and stretches that are a millionth slower than the link.
    seen = fit.read([captured(tmp_path, loaded({"kind": "fifo", "limit": "6p"}))])
    direct = replace(read_off(seen), cross=None, steady=False, course=())
    assert direct.rate is not None
    rate = direct.rate.value
    assert _cross(replace(direct, most=rate - 0.3), rate) == 0
    assert _cross(replace(direct, most=0.8 * rate), rate) == pytest.approx(0.2 * rate)
