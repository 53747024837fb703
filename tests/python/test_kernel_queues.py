"""Queue disciplines of Linux on the links of a lab, beside forebay's own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay import Comparison, Scenario, lab, run
from forebay._cli import app
from forebay._engine import ScenarioError
from forebay.lab import qdiscs, topology
from forebay.lab.errors import LabError
from forebay.lab.virtual import kernel

SCENARIO = {
    "title": "disciplines of Linux",
    "duration": "6s",
    "warmup": "1s",
    "tcp": {"preset": "linux"},
    "dumbbell": {"rate": "10Mbit", "delay": "10ms"},
    "traffic": [
        {"kind": "bulk", "flows": 4, "start": ["0s", "500ms"]},
        {"kind": "poisson", "name": "calls", "rate": "64kbit", "size": "200B", "dscp": "EF"},
    ],
}
PFIFO = {"kind": "kernel", "qdisc": "pfifo", "options": "limit 50"}


def with_queue(**queue: Any) -> Scenario:
    return Scenario.of(SCENARIO).with_("dumbbell.queue", queue)


def beside(gate: Path, *queues: dict[str, Any], runs: int = 1, **more: Any) -> Comparison:
    scenario = Scenario.of(SCENARIO | more)
    return lab.compare(scenario, queues, replications=runs, gate=gate, kernel=kernel.found())


def queues_of(found: Comparison, label: str) -> list[dict[str, Any]]:
    """What was measured of the queue, seed by seed, but for its name."""
    runs = found.runs_of(label)
    return [dict(run.result.summary["queues"]["bottleneck"], kind="") for run in runs]


@pytest.mark.parametrize(
    ("ours", "linux"),
    [
        ({"kind": "fifo", "limit": "50p"}, PFIFO),
        # It shapes by a clock of its own, beside the link's.
        (
            {"kind": "cake", "bandwidth": "9Mbit"},
            {"kind": "kernel", "qdisc": "cake", "options": "bandwidth 9mbit"},
        ),
    ],
    ids=["fifo", "cake"],
)
def test_linux_does_what_forebay_does_packet_for_packet(
    guest_gate: Path, ours: dict[str, Any], linux: dict[str, Any]
) -> None:
    found = beside(guest_gate, ours | {"label": "ours"}, linux | {"label": "linux"}, runs=2)
    for one, other in zip(queues_of(found, "ours"), queues_of(found, "linux"), strict=True):
        assert one["dropped"] == other["dropped"] > 0
        for key in ("offered", "drops", "loss_events", "max_packets", "drop_precedence"):
            assert one[key] == other[key], key
        # A process that looks at the clock makes it a nanosecond later.
        for key in ("mean_packets", "std_packets", "mean_bytes", "mean_delay_ms", "p99_delay_ms"):
            assert one[key] == pytest.approx(other[key], rel=1e-7), key
    first, second = queues_of(found, "linux")
    assert first != second


def test_drops_and_marks_of_linux_are_told_with_their_reasons(guest_gate: Path) -> None:
    red = {"kind": "kernel", "qdisc": "red"}
    red["options"] = "limit 60000 min 5000 max 30000 avpkt 1000 burst 9 probability 0.1 ecn"
    short = {"kind": "kernel", "qdisc": "codel", "options": "limit 20"}
    found = beside(
        guest_gate,
        red | {"label": "red"},
        red | {"label": "again"},
        short | {"label": "short"},
        tcp={"preset": "linux", "ecn": True},
    )
    # Random numbers of the kernel come from the seed.
    assert queues_of(found, "red") == queues_of(found, "again")
    marked, dropped = queues_of(found, "red")[0], queues_of(found, "short")[0]["drops"]
    # Senders that are marked do not fill it; what cannot be marked is dropped.
    assert marked["marked"] > 20 and marked["drops"]["overflow"] == 0
    assert dropped["overflow"] > 0 and dropped["aqm"] > 0


def test_classes_and_disciplines_below_are_set_up_by_commands(
    guest_gate: Path, tmp_path: Path
) -> None:
    commands = ["class add parent 1: classid 1:1 htb rate 7mbit", "qdisc add parent 1:1 fq_codel"]
    queue = {"kind": "kernel", "qdisc": "htb", "options": "default 1", "commands": commands}
    ends = {"from": "a/b", "to": "c"}
    link = {"name": "up/link", "rate": "10Mbit", "delay": "10ms", "queue": queue}
    scenario = (
        Scenario.of(SCENARIO)
        .without("dumbbell")
        .with_("link", [link | ends])
        .with_("traffic", [{"kind": "bulk", "flows": 4} | ends])
    )
    outage = [("up/link", 2_000_000_000, 2_500_000_000)]
    plain = lab.virtual.run(scenario, gate=guest_gate)
    killed = lab.virtual.run(scenario, gate=guest_gate, outages=outage, captures=tmp_path)
    assert plain.summary["links"]["up/link"]["utilization"] == pytest.approx(0.7, abs=0.01)
    assert plain.summary["queues"]["up/link"]["kind"] == "kernel:htb"
    # What a gate held that was killed is gone; its follower goes on with an empty discipline.
    goodput = [each.summary["classes"]["bulk"]["goodput_bps"] for each in (plain, killed)]
    assert 0.5 * goodput[0] < goodput[1] < 0.97 * goodput[0]
    seen = {each.name for each in (tmp_path / "seed-1").iterdir()}
    assert {"host-a%2Fb.pcap", "host-c.pcap", "link-up%2Flink.pcap"} < seen


def test_one_command_sets_linux_beside_forebay(guest_gate: Path, tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(SCENARIO), encoding="utf-8")
    words = ["lab", str(file), "--virtual", "--disciplines", "cake,kernel:cake"]
    words += ["--gate", str(guest_gate), "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, [*words, "--pcap", str(tmp_path / "pcap")])
    assert found.exit_code == 0, found.output
    assert "kernel:cake" in found.output
    written = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert [each["label"] for each in written["disciplines"]] == ["cake", "kernel:cake"]
    assert "packets of Linux" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert (tmp_path / "pcap" / "kernel:cake" / "seed-1" / "host-left.pcap").is_file()


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (
            {"qdisc": "cake", "options": "bandwith 5mbit"},
            'link "bottleneck": queue.options: tc: What is "bandwith"?',
        ),
        ({"qdisc": "red"}, "queue.qdisc: tc: RED: Required parameter"),
        ({"qdisc": "cake", "options": "rtt '5ms"}, "queue.options: No closing quotation"),
        (
            {"qdisc": "htb", "commands": ["class add parent 1: classid 1:1 htb rat 4mbit"]},
            'queue.commands[0]: tc: What is "rat"?',
        ),
        ({"qdisc": "htb", "commands": ["link delete lo"]}, "must begin with qdisc, class or"),
    ],
)
def test_what_tc_does_not_understand_is_refused_before_anything_runs(
    queue: dict[str, Any], message: str
) -> None:
    if shutil.which("tc", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip("tc is missing (iproute2)")
    with pytest.raises(ScenarioError) as error:
        qdiscs.check(topology.read(with_queue(kind="kernel", **queue)))
    assert message in str(error.value)
    assert "Usage" not in str(error.value)


def test_what_the_kernel_refuses_is_said_with_the_field(guest_gate: Path) -> None:
    commands = ["class add parent 3: classid 1:1 htb rate 4mbit"]
    with pytest.raises(LabError, match=r'link "bottleneck": queue.commands\[0\]: tc: RTNETLINK'):
        queue = with_queue(kind="kernel", qdisc="htb", commands=commands)
        lab.virtual.run(queue, gate=guest_gate)


def test_where_there_is_no_kernel_it_is_refused(tmp_path: Path) -> None:
    scenario = with_queue(**PFIFO)
    with pytest.raises(ScenarioError, match=r'link "bottleneck": queue.kind: "kernel" is a disc'):
        run(scenario)
    with pytest.raises(ScenarioError, match=r"queue.kind: .* needs --virtual"):
        lab.run(scenario)
    with pytest.raises(ScenarioError, match=r"queue.kind: .* cannot be simulated"):
        lab.against_simulation(scenario)
    classes = [{"rate": "5Mbit", "queue": PFIFO}]
    with pytest.raises(ScenarioError, match="must be all of a link's queue"):
        topology.read(with_queue(kind="htb", classes=classes))
    # It can be checked and compared like any other, until it is to run.
    file = tmp_path / "scenario.json"
    file.write_text(scenario.text, encoding="utf-8")
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0
    found = CliRunner().invoke(app, ["compare", str(file), "--disciplines", "fifo,kernel:codel"])
    assert found.exit_code == 2
    assert "forebay lab SCENARIO --virtual" in found.output
