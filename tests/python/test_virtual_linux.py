"""Linux in virtual time: what a scenario becomes there, what is refused, and short runs.

Runs need what `make virtual-linux` builds. Where it is built they must work in CI.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import beside
import differences
import disciplines
import draws
import law
import numpy as np
import preset
import pytest
import qdisc
import records
import referee
import replay
import scenario

from forebay import _engine
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel, machine

LINK = qdisc.Link(10_000_000, 1500, [qdisc.Flow(0, 0, 0), qdisc.Flow(1, 1, 1)])


def tree(**changes: Any) -> dict[str, Any]:
    link = {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "30p"}}
    bulk = {"name": "bulk", "kind": "bulk", "flows": 2, "start": ["0s", "1s"]}
    whole = {
        "duration": "4s",
        "warmup": "1s",
        "tcp": {"preset": "linux"},
        "dumbbell": link | changes.pop("link", {}),
        "traffic": [bulk | changes.pop("traffic", {})],
    }
    return whole | changes


def words(queue: dict[str, Any]) -> list[str]:
    return [" ".join(each) for each in qdisc.commands(disciplines.whole(queue), LINK)]


def built(version: str = kernel.USUAL) -> None:
    try:
        referee.versions(version)
    except referee.Missing as why:
        if os.environ.get("FOREBAY_CI") and any(each.exists() for each in kernel.places(version)):
            raise
        pytest.skip(str(why))


@pytest.mark.parametrize(
    ("queue", "found"),
    [
        ({"kind": "fifo", "limit": "30p"}, "pfifo limit 30"),
        ({"kind": "fifo", "limit": "45KB"}, "bfifo limit 45000"),
        (
            {"kind": "codel", "target": "6ms", "ecn": True},
            "codel limit 1000 target 6000us interval 100000us ecn",
        ),
        (
            {"kind": "fq-codel"},
            "fq_codel limit 10240 flows 1024 quantum 1514 memory_limit 256mb"
            " target 5000us interval 100000us ecn",
        ),
        (
            # Its timer comes a tick of 4 ms later than told.
            {"kind": "pie", "t_update": "16ms"},
            "pie limit 1000 target 15000us tupdate 12000us alpha 2 beta 20"
            " no_dq_rate_estimator nobytemode noecn",
        ),
    ],
)
def test_a_queue_table_is_the_kernels(queue: dict[str, Any], found: str) -> None:
    assert words(queue) == [f"tc qdisc replace dev egress root handle 1: {found}"]


def test_the_burst_of_red_gives_the_weight_in_tc() -> None:
    # tc: the largest W = 2^-n with burst + 1 - min/avpkt <= (1 - (1 - W)^burst) / W.
    for shift in (4, 9):
        burst = qdisc.burst(0.5**shift, 30_000, 1000)
        left = burst + 1 - 30
        fits = [n for n in range(1, 32) if left <= (1 - (1 - 0.5**n) ** burst) / 0.5**n]
        assert fits[0] == shift
    with pytest.raises(qdisc.Refused, match="powers of two"):
        qdisc.burst(0.002, 30_000, 1000)


def test_classes_are_told_by_the_flows_ports() -> None:
    found = words({"kind": "prio", "limit": ["50p", "10p"]})
    # The kernel's first band is our highest class.
    assert found[1].endswith("parent 1:2 pfifo limit 50")
    assert found[2].endswith("parent 1:1 pfifo limit 10")
    assert "sport 10001 0xffff flowid 1:1" in found[4]


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ({"kind": "gsp"}, "no 'gsp'"),
        ({"kind": "red", "weight": 0.5**9}, "gentle: the kernel has False"),
        ({"kind": "pie", "max_burst": "1s"}, "max_burst: the kernel has '150ms'"),
        ({"kind": "pie", "t_update": "16ms", "alpha": 0.1}, "sixteenths"),
        ({"kind": "pie"}, "multiples of 4 ms from 8 ms, got '15ms'"),
        ({"kind": "codel", "limit": "1MB"}, "counts packets"),
    ],
)
def test_what_the_kernel_has_not_is_refused(queue: dict[str, Any], message: str) -> None:
    with pytest.raises(qdisc.Refused, match=message):
        words(queue)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tcp": {"preset": "rfc"}}, "the referee has linux-6.1, linux-6.12"),
        ({"tcp": {"preset": "linux", "min_rto": "1s"}}, 'preset "linux-6.1" has'),
        ({"tcp": {"preset": "linux", "congestion": "ledbat"}}, "no 'ledbat'"),
        ({"tcp": {"preset": "linux", "stack": {"so_sndbuf": "1MB"}}}, "so_sndbuf"),
        ({"tcp": {"preset": "linux", "stack": {"tick": "1ms"}}}, r"tcp\.stack"),
        ({"traffic": {"kind": "web"}}, r"traffic\[0\].kind"),
        ({"traffic": {"stop": "2s"}}, "stop"),
        ({"link": {"loss": {"steps": [["0s", 0.1], ["1s", 0.2]]}}}, "dumbbell.loss"),
        ({"link": {"delay": {"steps": [["0s", "5ms"], ["1s", "9ms"]]}}}, "delays are constant"),
        ({"tcp": {"preset": "linux-2.6.26", "congestion": "cubic"}}, "linux-6.12"),
        ({"traffic": {"kind": "files", "size": "9KB"}}, r"traffic\[0\].arrivals"),
        ({"link": {"reverse": {"queue": {"kind": "fifo"}}}}, "reverse.queue"),
    ],
)
def test_what_the_guest_has_not_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(qdisc.Refused, match=message):
        scenario.dumbbell(tree(**changes))


def test_files_become_transfers_at_their_times() -> None:
    files = {"kind": "files", "size": "50KB", "arrivals": "fixed", "interval": "1500ms"}
    given = scenario.dumbbell(tree(traffic={**files, "flows": 1, "start": "200ms"}))
    # The first one comes at the start, as in forebay, and none after the end.
    assert [(each.start, each.size) for each in given.senders] == [
        (200_000_000, 50_000),
        (1_700_000_000, 50_000),
        (3_200_000_000, 50_000),
    ]
    assert [each.flow.number for each in given.senders] == [0, 1, 2]


def test_what_is_at_the_link_becomes_the_drivers_parameters() -> None:
    steps = {"steps": [["0s", "10Mbit"], ["2s", "4Mbit"], ["3s", "10Mbit"]]}
    link = {"rate": steps, "loss": 0.25, "police": {"rate": "8Mbit", "burst": "30KB"}}
    link["reverse"] = {"rate": "10Mbit"}
    given = scenario.dumbbell(tree(link=link))
    found = [each.removeprefix("forebay_link.") for each in referee.parameters(given, 0)]
    for wanted in (
        "rate=10000000",
        "loss=1073741824",
        "police_rate=8000000",
        "police_burst=30000",
        "step_times=2000000000,3000000000",
        "step_rates=4000000,10000000",
    ):
        assert wanted in found
    plain = referee.parameters(scenario.dumbbell(tree()), 0)
    assert not any("police" in each or "step" in each for each in plain)


def test_a_link_is_used_by_what_it_could_send() -> None:
    # Two packets of 1000 bytes: at 8 Mbit/s 1 ms each, at 4 Mbit/s 2 ms.
    departures = np.zeros(2, records.RECORD)
    departures["size"], departures["time"] = 1000, [0, 1_500_000]
    empty = np.zeros(0, np.int64)
    seen = records.Passage(empty, empty, empty.astype(bool), departures[:0], departures)
    assert records.used(seen, 0, 4_000_000, [(0, 8_000_000)], 0) == pytest.approx(0.5)
    # The link could send 2 kB in the first 2 ms, then 1 kB; the second packet ends at 3 ms.
    steps = [(0, 8_000_000), (2_000_000, 4_000_000)]
    assert records.used(seen, 0, 4_000_000, steps, 0) == pytest.approx(2 / 3)
    assert records.used(seen, 0, 2_000_000, steps, 0) == pytest.approx(1.5 / 2)


@pytest.mark.parametrize("version", kernel.VERSIONS)
def test_the_link_polices_loses_and_changes_its_rate(version: str) -> None:
    built(version)
    steps = {"steps": [["0s", "10Mbit"], ["2s", "5Mbit"]]}
    host = {"tcp": {"preset": f"linux-{version}"}}
    slow, seen = referee.run(tree(link={"rate": steps, "reverse": {"rate": "10Mbit"}}, **host))
    gone = records.passage(seen)
    late = (gone.left > 2_100_000_000).nonzero()[0]
    gaps = np.diff(np.sort(gone.left[late]))
    # 1500 bytes at 5 Mbit/s.
    assert int(np.median(gaps)) == 2_400_000 and slow.utilization > 0.9
    policed, _ = referee.run(tree(link={"police": {"rate": "4Mbit", "burst": "10KB"}}, **host))
    assert 0.2 < policed.utilization < 0.42
    lossy, _ = referee.run(tree(link={"loss": 0.3}, **host))
    # Nothing is dropped at the queue of a sender that hardly gets through.
    assert lossy.utilization < 0.2 and lossy.loss == 0


@pytest.mark.parametrize("version", kernel.VERSIONS)
def test_a_short_transfer_ends(version: str) -> None:
    built(version)
    files = {"kind": "files", "size": "50KB", "arrivals": "fixed", "interval": "2s"}
    whole = tree(tcp={"preset": f"linux-{version}"})
    whole["traffic"].append(files)
    _, seen = referee.run(whole)
    last = seen[(seen["flags"] & 1 == 1) & (seen["point"] == records.QUEUE_OUT)]
    # The third and fourth flows, whose 50 000 bytes end with a part of a segment.
    assert set(last["flow"]) == {2, 3} and set(last["payload"]) == {50_000 % 1448}


def test_the_integral_is_read_between_events() -> None:
    # One packet waits from 10 to 30, two from 30 to 40, one until 70: 20 + 20 + 30.
    rows = [(10, 0, 0), (30, 20, 1), (40, 40, 2), (70, 70, 1)]
    seen = np.zeros(4, records.RECORD)
    seen["time"], seen["area"], seen["length"] = np.array(rows).T
    seen["point"] = [records.QUEUE_IN, records.QUEUE_IN, records.QUEUE_OUT, records.QUEUE_OUT]
    assert records.mean_length(seen, 0, 70) == 1
    assert records.mean_length(seen, 20, 35) == pytest.approx((10 + 10) / 15)
    with pytest.raises(ValueError, match="after the end"):
        records.mean_length(seen, 0, 71)


def test_what_waits_at_the_end_is_not_lost() -> None:
    seen = np.zeros(5, records.RECORD)
    seen["point"] = [records.QUEUE_IN] * 4 + [records.QUEUE_OUT]
    seen["id"], seen["time"] = [1, 2, 3, 4, 1], [1, 2, 3, 4, 5]
    seen["remaining"][4] = 1
    assert records.passage(seen).dropped.tolist() == [False, True, True, False]


def test_the_laws_of_codel_first_drop() -> None:
    # An overloaded link: the delay is above 5 ms from the sixth packet on, and 100 ms later the
    # first is dropped, the second after 100 ms, and the third 100 ms / sqrt(2) after that; Linux's
    # one step of Newton's iteration makes it 100 ms / 2.
    queue = disciplines.whole({"kind": "codel"})
    times = np.arange(600) * 500_000
    given = replay.arrivals(times, 0, 1000, 0)
    for how, root in ((law.Arithmetic(), 2**0.5), (law.Linux(0), 2)):
        left, _ = law.Law(given, queue, 8_000_000, 1500, how).run()
        gone = np.flatnonzero(np.array(left) < 0)
        assert left[gone[0] + 1] == pytest.approx(111e6, abs=1e6)
        assert left[gone[1] + 1] - left[gone[0] + 1] == pytest.approx(100e6, abs=1.1e6)
        assert left[gone[2] + 1] - left[gone[1] + 1] == pytest.approx(100e6 / root, abs=1.1e6)


@pytest.mark.parametrize("version", kernel.VERSIONS)
def test_what_a_build_lacks_is_named_at_once(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "BUILDERS", {"no-such-program": "flex"})
    monkeypatch.setattr(kernel, "archive", lambda _: Path("/no/such/archive"))
    with pytest.raises(LabError, match=rf"apt-get install .* flex linux-source-{version}$"):
        kernel.check_machine(version)


def test_red_draws_the_gaps_of_its_source_and_of_linux() -> None:
    # The queue itself is the average, and stays at 30 kB: p = 0.1, gaps of 1 to 9 or 1 to 10.
    queue = disciplines.whole(disciplines.RED | {"weight": 1.0, "max_p": 0.2})
    for rules, mean in ((draws.SOURCE, 5.0), (draws.LINUX, 5.5)):
        red = draws.Red(replay.arrivals([], [], [], []), queue, 1, 1, rules)
        red.times, red.sizes, red.tos = [0] * 20_000, [1000] * 20_000, [0] * 20_000
        red.marked, red.bytes = [False] * 20_000, 30_000
        gone = [each for each in range(20_000) if not red.admits(each, 0, idle=False)]
        # The deviation of a mean of 4000 gaps is 0.045.
        assert np.diff(gone).mean() == pytest.approx(mean, abs=0.2)


def test_rows_that_miss_what_is_wanted_are_found() -> None:
    figures = {"queue": [20.0], "utilization": [1.0], "loss": [0.1], "marks": [0.1]}
    case = {"queue": "tail drop", "control": "cubic", "round_trip": 5, "offload": False}
    row = {
        "case": case | {"flows": 4},
        "scenario": {"dumbbell": {"rate": "10Mbit"}},
        "linux": figures,
        "forebay": {"queue": [20.5], "utilization": [0.994], "loss": [0.106], "marks": [0.106]},
    }
    assert beside.linux_row(row, "").missed == ["utilization", "loss", "marks"]
    # (4.2 + 20) / 1 segments are more than ten.
    row["case"] = case | {"flows": 1}
    assert beside.linux_row(row, "").missed == ["queue", "utilization", "loss", "marks"]
    # A link of 7 Mbit/s in the mean, and packets of 9000 bytes: (0.5 + 20) / 4.
    row["case"] = case | {"flows": 4, "mtu": 9000}
    row["scenario"] = {"dumbbell": {"rate": preset.LINKS["rate steps"]["rate"]}}
    assert beside.linux_row(row, "").window == pytest.approx((7e6 * 0.005 / 8 / 9000 + 20) / 4)


@pytest.mark.parametrize("queue", [disciplines.DRAWING[0], disciplines.DRAWING[3]])
def test_what_linux_draws_is_what_its_rules_say(queue: dict[str, Any]) -> None:
    built()
    whole = disciplines.whole(queue)
    given = replay.poisson(1, 11e6, 10, 8)
    kernel = replay.kernel(given, whole, 10_000_000, 1)
    rules = disciplines.judged(*draws.run(given, whole, 10_000_000, 1, draws.LINUX))
    lost, expected = (float((each.left < 0).mean()) for each in (kernel, rules))
    assert lost == pytest.approx(expected, rel=0.1)
    trace = disciplines.Trace("", "", given, 10_000_000)
    assert disciplines.wait(trace, kernel) == pytest.approx(disciplines.wait(trace, rules), rel=0.1)


def test_what_is_known_of_linux_is_kept_while_it_is_the_same(tmp_path: Path) -> None:
    case, figures = preset.CASES[0], {"queue": [1.0], "utilization": [1.0], "loss": [0.1]}
    row = {"case": vars(case), "scenario": case.scenario(0), "linux": figures, "forebay": figures}
    document = preset.section({"kernel": "6.1", "linux": "6.1.1", "rows": [row]})
    path = tmp_path / "linux.json"
    path.write_text(json.dumps(document))
    assert preset.rows_of(path, "6.1.1") == {json.dumps(case.scenario(0)): row}
    assert preset.rows_of(path, "6.1.2") == {}
    assert document["tables"][0]["rows"][0][3:] == ["1 / 1", "1 / 1", "10 / 10"]


def test_one_seed_gives_one_run_and_another_another() -> None:
    built()
    found, first = referee.run(tree(seed=3), trace=1.0)
    again, second = referee.run(tree(seed=3), trace=1.0)
    assert first.tobytes() == second.tobytes()
    assert found.end == again.end
    other, _ = referee.run(tree(seed=4))
    assert other.end != found.end
    assert found.utilization > 0.99 and 10 < found.queue < 30 and 0 < found.loss < 0.1
    # Tail drop: the integral of the length is the sum of the waits.
    passed = records.passage(first)
    start, end = 1_000_000_000, 4_000_000_000
    left = np.where(passed.left < 0, passed.arrived, passed.left)
    waits = np.minimum(left, end) - np.maximum(passed.arrived, start)
    assert found.queue == pytest.approx(np.maximum(waits, 0).sum() / (end - start), rel=1e-9)
    # 10 Mbit/s for 3 s in packets of 1500 bytes are 2500.
    assert found.segments == pytest.approx(2500 * found.utilization, abs=2)


def test_what_only_linux_has_is_named_as_there() -> None:
    built()
    paced, _ = referee.run(tree(), control="bbr", own_qdisc="cake besteffort unlimited")
    assert paced.utilization > 0.9 and paced.queue < 30
    # DCTCP asks for ECN by itself, and RED marks above 20 packets.
    red = "red limit 300000 min 30000 max 30001 avpkt 1500 burst 21 probability 1 ecn"
    marked, _ = referee.run(tree(), control="dctcp", own_qdisc=red)
    assert marked.dropped == 0 and marked.marked > 100 and 10 < marked.queue < 30
    with pytest.raises(RuntimeError, match="tc qdisc replace"):
        referee.run(tree(), own_qdisc="pfifo limit many")


def test_traces_have_what_their_description_says(tmp_path: Path) -> None:
    built()
    _, seen = referee.run(tree(duration="2s", warmup="0s"), trace=2.0)
    records.write_traces(seen, tmp_path, 2_000_000_000)
    with (tmp_path / "sender.csv").open() as file:
        rows = list(csv.DictReader(file))
    syn, answer, _, data = [row for row in rows if row["flow"] == "0"][:4]
    assert (syn["flags"], syn["seq"], syn["dir"]) == ("S", "0", "data")
    assert (answer["flags"], answer["ack"], answer["dir"]) == ("S.", "1", "ack")
    assert (data["seq"], data["len"], data["cwnd"], data["state"]) == ("1", "1448", "10", "Open")
    assert any(row["sack"] for row in rows) and any(row["state"] == "Recovery" for row in rows)
    with (tmp_path / "bottleneck.csv").open() as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    assert {"sent", "dropped"} <= set(verdicts)


@pytest.mark.parametrize("kind", ["fifo", "codel", "fq-codel"])
def test_a_law_is_the_kernels_packet_by_packet(kind: str) -> None:
    built()
    limit = {"limit": "20p"} if kind == "fifo" else {}
    queue = disciplines.whole({"kind": kind} | limit)
    given = replay.poisson(1, 11e6, 3, 4)
    kernel = replay.kernel(given, queue, 10_000_000, 1)
    assert (kernel.left < 0).sum() > 50
    if kind == "fifo":
        assert disciplines.apart(kernel, replay.ours(given, queue, 10_000_000, 1)) == 0
        return
    left, marked = law.Law(given, queue, 10_000_000, replay.MTU, law.Linux(machine.EPOCH)).run()
    assert disciplines.apart(kernel, replay.Verdicts(np.array(left), np.array(marked))) == 0
    left, marked = law.Law(given, queue, 10_000_000, replay.MTU, law.Forebay()).run()
    ours = replay.ours(given, queue, 10_000_000, 1)
    assert disciplines.apart(ours, replay.Verdicts(np.array(left), np.array(marked))) == 0


def test_the_first_difference_between_linux_and_forebay_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built()
    real = _engine.run

    def smaller(document: str, folder: str) -> Any:
        scenario = json.loads(document)
        scenario["tcp"]["initial_window"] = 9
        return real(json.dumps(scenario), folder)

    monkeypatch.setattr(_engine, "run", smaller)
    row = {"scenario": preset.CASES[0].scenario(0)}
    found = differences.difference(row, differences.in_linux, "Linux", 1, 6)
    assert found is not None
    assert (found["decision"], found["time_s"]) == ("only Linux sends a segment now", 0.0)
    assert "cwnd 10" in str(found["Linux"]) and "cwnd 9" in str(found["forebay"])


def test_verdicts_are_counted_by_both_sides() -> None:
    kernel = replay.Verdicts(np.array([1, 2, -1, 4, -1]), np.array([0, 1, 0, 0, 0], bool))
    ours = replay.Verdicts(np.array([1, 2, -1, -1, 5]), np.array([0, 0, 0, 0, 0], bool))
    found = disciplines.verdicts(kernel, ours)
    assert found["sent"] == {"sent": 1, "marked": 1, "dropped": 1}
    assert found["dropped"] == {"sent": 1, "marked": 0, "dropped": 1}
    assert sum(found["marked"].values()) == 0
    assert disciplines.differing(kernel, ours) == 3


def test_what_the_rules_leave_open_is_named() -> None:
    def figures(wait: float) -> dict[str, dict[str, float]]:
        exact = {"mean": 0.1, "half_width": 0.0}
        return {"dropped": exact, "marked": exact, "wait_ms": {"mean": wait, "half_width": 0.2}}

    row = {who: figures(18.0) for who in ("forebay", "source", "kernel", "linux")}
    assert disciplines.unexplained(row) == []
    assert disciplines.unexplained(row | {"linux": figures(18.39)}) == []
    assert disciplines.unexplained(row | {"linux": figures(18.41)}) == ["kernel: mean wait"]


def test_the_rules_of_linux_let_pies_probability_rise_above_1() -> None:
    # 32 Mbit/s of two flows onto 10: delays stay above 250 ms.
    class Watched(draws.Pie):
        highest = 0.0

        def update(self, flow: draws.Flow) -> None:
            super().update(flow)
            self.highest = max(self.highest, flow.chance)

    queue = disciplines.whole({"kind": "fq-pie", **disciplines.PIE})
    given = replay.arrivals(np.arange(20_000) * 250_000, np.arange(20_000) % 5 == 0, 1000, 0)
    highest = []
    for rules in (draws.LINUX, draws.ONE_CHANGED[draws.Pie]):
        law = Watched(given, queue, 10_000_000, 1, rules)
        law.run()
        highest.append(law.highest)
    assert highest[0] > 2 and highest[1] == 1


def test_an_arrival_during_the_last_transmission_counts_in_linux() -> None:
    queue = disciplines.whole(disciplines.RED)
    averages = []
    for rules in (draws.SOURCE, draws.LINUX):
        red = draws.Red(replay.arrivals([], [], [], []), queue, 10_000_000, 1, rules)
        red.times, red.sizes, red.tos, red.average = [0], [1000], [0], 8000.0
        # The queue is empty, and the link is busy.
        assert red.admits(0, 0, idle=False)
        averages.append(red.average)
    assert averages == [8000.0, 8000.0 * (1 - queue["weight"])]
