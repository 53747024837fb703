"""The lab: real packets through namespaces and gates."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay import Scenario, _engine, _terminal, lab, run
from forebay._cli import app
from forebay._cli.drawn import Terminal
from forebay._engine import ScenarioError
from forebay.lab import topology
from forebay.lab.network import FOLDER, PREFIX

GATE = Path(__file__).parents[2] / "target" / "debug" / "forebay-gate"
"""Built by the gate's own tests."""

SCENARIO = {
    "title": "lab",
    "duration": "5s",
    "warmup": "2s",
    "tcp": {"congestion": "cubic", "timestamps": True},
    "dumbbell": {"rate": "10Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "50p"}},
    "traffic": [
        {"kind": "bulk", "flows": 2},
        {"kind": "files", "size": "30KB", "interval": "300ms", "arrivals": "fixed"},
        {"kind": "cbr", "name": "calls", "rate": "64kbit", "size": "200B", "dscp": "EF", "q": 1},
    ],
}


def why_not() -> str | None:
    """What this machine lacks to run a lab; None if nothing."""
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun is missing"
    if shutil.which("ip") is None:
        return "ip is missing"
    return None if GATE.is_file() else f"{GATE} is missing; cargo build -p forebay-gate"


@pytest.fixture
def gate() -> Path:
    """The gate on a machine that can run a lab; elsewhere the test is skipped, in CI it fails."""
    lacks = why_not()
    if lacks is not None:
        if os.environ.get("FOREBAY_CI"):
            pytest.fail(f"the lab cannot run: {lacks}")
        pytest.skip(f"the lab cannot run: {lacks}")
    return GATE


def changed(**fields: object) -> Scenario:
    return Scenario.of(SCENARIO | fields)


def test_real_packets_give_the_summary_of_a_run(gate: Path) -> None:
    result = lab.run(Scenario.of(SCENARIO), gate=gate)
    summary = result.summary
    # The machine may be busy, so that nothing here depends on how fast it is, but for a little.
    link, queue = summary["links"]["bottleneck"], summary["queues"]["bottleneck"]
    assert 0.5 < link["utilization"] <= 1.0
    assert 5 < queue["mean_packets"] <= 50
    assert queue["max_packets"] <= 50
    assert queue["dropped"] == queue["drops"]["overflow"] > 0
    bulk, files, calls = (summary["classes"][name] for name in ("bulk", "files", "calls"))
    goodput = sum(each["goodput_bps"] for each in (bulk, files, calls))
    assert goodput == pytest.approx(link["utilization"] * 10e6, rel=0.2)
    # Each is counted where it is sent, in the queue, and where it arrives; those under way when the
    # measuring begins and ends are counted at one place only.
    assert calls["offered"] == pytest.approx(120, abs=25)
    assert calls["offered"] == pytest.approx(calls["delivered"] + calls["dropped"], abs=3)
    assert calls["mean_delay_ms"] > 10.2
    assert files["completed"] > 3
    assert files["mean_completion_s"] > 0.02
    sent = sum(each["delivered"] for each in (bulk, files, calls))
    assert sent == pytest.approx(link["sent_packets"], rel=0.05)
    assert bulk["dropped"] + files["dropped"] + calls["dropped"] == pytest.approx(
        queue["dropped"], abs=5
    )
    assert bulk["retransmissions"] > 0
    assert bulk["p99_delay_ms"] is None
    assert result.queue["mean_packets"].len() == 2 * 300
    assert not list(FOLDER.glob(f"{PREFIX}-{os.getpid()}-*"))


def test_the_command_sets_both_sides_side_by_side(gate: Path, tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    traffic = [{"kind": "cbr", "name": "calls", "rate": "640kbit", "size": "200B"}]
    file.write_text(json.dumps(SCENARIO | {"duration": "2s", "warmup": "1s", "traffic": traffic}))
    out = tmp_path / "out"
    options = ["--against-sim", "--out", str(out), "--gate", str(gate)]
    found = CliRunner().invoke(app, ["lab", str(file), *options])
    assert found.exit_code == 0, found.output
    assert "measured" in found.output
    assert "simulated" in found.output
    assert (out / "summary.json").is_file()
    alone = CliRunner().invoke(app, ["lab", str(file), "--gate", str(gate)])
    assert alone.exit_code == 0, alone.output
    assert "calls" in alone.output and "seed 1" in alone.output


def test_the_summary_of_real_packets_can_be_printed() -> None:
    live = _engine.live(Scenario.of(SCENARIO).text, ".")
    summary = json.loads(live.finish().summary)
    console = Terminal(record=True, width=100)
    _terminal.print_run(console, summary)
    assert "calls" in console.export_text()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"dumbbell": {"rate": {"steps": [["0s", "1Mbit"]]}, "delay": "1ms"}},
            "keep their rate and delay",
        ),
        ({"dumbbell": {"rate": "1Mbit", "loss": 0.1}}, "lose nothing on the wire"),
        (
            {"dumbbell": {"rate": "1Mbit", "reorder": {"share": 0.1, "delay": "1ms"}}},
            "reorder: the lab's links change nothing",
        ),
        ({"traffic": [{"kind": "bulk", "tcp": {"mtu": "1KB"}}]}, "tcp.mtu: must be the links'"),
        (
            {"traffic": [{"kind": "bulk"}, {"kind": "web", "tcp": {"timestamps": False}}]},
            "tcp.timestamps: must be that of traffic[0]",
        ),
        ({"traffic": [{"kind": "bulk", "flows": 20_000}]}, "at most 10000 flows"),
    ],
)
def test_what_a_lab_does_not_have_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        topology.check_steady(topology.read(changed(**fields)))
    assert message in str(error.value)


def test_flows_of_a_node_share_its_host() -> None:
    at, cake = {"rate": "100Mbit", "delay": "1ms"}, {"kind": "cake", "isolation": "dual-srchost"}
    scenario = Scenario.of(
        {
            "duration": "5s",
            "warmup": "1s",
            "link": [
                {"name": "a", "from": "many", "to": "router", **at},
                {"name": "b", "from": "one", "to": "router", **at},
                {"name": "c", **at, "from": "router", "to": "far", "rate": "10Mbit", "queue": cake},
            ],
            "traffic": [
                {"name": name, "kind": "bulk", "from": name, "to": "far", "flows": flows}
                for name, flows in (("many", 3), ("one", 1))
            ],
        }
    )

    def share(of: Scenario) -> float:
        classes = run(of).summary["classes"]
        return float(classes["many"]["goodput_bps"] / classes["one"]["goodput_bps"])

    # One to one between the hosts. Otherwise each flow has its own: three to one.
    assert share(topology.read(scenario).simulated) < 1.5
    assert share(scenario) > 2.5


def test_without_root_the_command_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(SCENARIO))
    found = CliRunner().invoke(app, ["lab", str(file)])
    assert found.exit_code == 2
    assert "needs root" in found.output


def test_sources_send_what_they_send_in_a_simulation() -> None:
    traffic = [{"kind": "poisson", "flows": 3, "rate": "800kbit", "size": "500B"}]
    scenario = changed(traffic=traffic, duration="20s", warmup="0s")
    live = _engine.live(scenario.text, scenario.base)
    sizes = []
    for index, (entry, start, _) in enumerate(live.participants()):
        assert entry == 0
        at = start
        while (step := live.next(index, at)) is not None and step[0] < 20e9:
            at = step[0]
            sizes.append(step[1])
            live.datagram(index, step[1] or 0, at, at + 5_000_000)
    summary = json.loads(live.finish().summary)

    simulated = run(scenario).summary["classes"]["poisson"]
    found = summary["classes"]["poisson"]
    assert found["offered"] == simulated["offered"] == len(sizes)
    assert found["mean_delay_ms"] == 5.0
    assert found["goodput_bps"] == pytest.approx(simulated["goodput_bps"], rel=0.01)


def test_the_gate_gets_its_arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called: list[object] = []
    monkeypatch.setattr("forebay.lab.gates.program", lambda: tmp_path / "forebay-gate")
    monkeypatch.setattr(os, "execv", lambda *words: called.extend(words))
    assert CliRunner().invoke(app, ["gate", "check", "--json", "gate.toml"]).exit_code == 0
    assert called == [tmp_path / "forebay-gate", ["forebay-gate", "check", "--json", "gate.toml"]]
