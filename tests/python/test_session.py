"""Runs step by step: equal to plain runs when nothing changes, and changed where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import forebay

ROOT = Path(__file__).parents[2]


def scenario(**more: Any) -> forebay.Scenario:
    """A congested link."""
    document = {
        "duration": "20s",
        "dumbbell": {"rate": "5Mbit", "delay": "10ms", "queue": {"kind": "codel"}},
        "traffic": [{"kind": "bulk", "flows": 4}, {"kind": "voice"}],
    }
    return forebay.Scenario.of(document | more)


@pytest.mark.parametrize("kind", ["codel", "pie", "fq-codel", "codel-in-python"])
def test_a_session_that_changes_nothing_is_a_plain_run(kind: str) -> None:
    here = scenario(plugins=[str(ROOT / "examples" / "plugins" / "codel.py")])
    plain = forebay.run(here, discipline=kind, seed=5)
    session = forebay.open(here, discipline=kind, seed=5)
    for _ in range(7):
        session.advance("1234567ns").advance("0s")
        assert session.queues["bottleneck"].kind == kind and session.flows.height == 5
    session.advance_to("11s")
    assert session.now_s == 11 and not session.complete
    session.set("dumbbell.rate", "5000kbit")  # the same, in other words
    stepped = session.finish()
    assert stepped.fingerprint == plain.fingerprint
    costs = ("cost",)
    assert {key: value for key, value in stepped.summary.items() if key not in costs} == {
        key: value for key, value in plain.summary.items() if key not in costs
    }
    assert stepped.queue.equals(plain.queue)
    with pytest.raises(ValueError, match="has ended"):
        session.advance("1s")


def test_what_is_seen_is_what_the_run_measures() -> None:
    session = forebay.open(scenario()).advance_to("100s")
    assert session.complete and session.now_s == 20
    queue, flows = session.queues["bottleneck"], session.flows
    result = session.finish()
    measured = result.summary["queues"]["bottleneck"]
    link = result.summary["links"]["bottleneck"]
    assert (queue.dropped, queue.marked) == (measured["dropped"], measured["marked"])
    assert queue.sent_packets == link["sent_packets"] and queue.rate_bps == 5_000_000
    assert queue.variables.keys() == measured["variables"].keys()
    assert flows["delivered_bytes"].to_list() == result.flows["delivered_bytes"].to_list()
    assert flows["traffic"].to_list() == ["bulk"] * 4 + ["voice"]
    assert flows["cwnd_bytes"].drop_nulls().len() == 4 and flows["srtt_ms"][0] > 20


def test_rate_delay_loss_and_queue_change_from_an_instant_on() -> None:
    session = forebay.open(scenario(), discipline={"kind": "fifo", "limit": "100p"})
    session.advance_to("10s")
    before = session.queues["bottleneck"]
    assert before.packets > 30
    session.set("dumbbell.rate", "10Mbit").set_queue({"kind": "fifo", "limit": "5p"})
    # What waits in the old queue leaves before what comes.
    assert session.queues["bottleneck"].packets == before.packets
    session.advance("5s")
    after = session.queues["bottleneck"]
    assert after.packets <= 5 and after.rate_bps == 10_000_000
    session.set("dumbbell.delay", "60ms").set("dumbbell.loss", 0.02)
    result = session.finish()
    link = result.summary["links"]["bottleneck"]
    # 10 s at 5 Mbit/s and 10 s at 10 Mbit/s.
    assert link["capacity_bps"] == pytest.approx(7_500_000)
    assert link["wire_lost"] > 20
    assert result.summary["queues"]["bottleneck"]["max_packets"] >= before.packets
    late = result.queue.filter(result.queue["link"] == "bottleneck")["max_packets"][-20:]
    assert late.le(5).all()
    assert session.scenario.document["dumbbell"]["loss"] == 0.02


def test_a_queue_of_the_same_parameters_is_not_exchanged() -> None:
    session = forebay.open(scenario(), discipline="codel").advance_to("8s")
    held = session.queues["bottleneck"].variables
    session.set("dumbbell.rate", "6Mbit")
    assert session.queues["bottleneck"].variables == held
    session.set("dumbbell.queue.target", "20ms").advance_to("20s")
    assert session.scenario.document["dumbbell"]["queue"]["target"] == "20ms"


def test_queues_go_to_the_compared_link() -> None:
    here = forebay.load(ROOT / "examples" / "branch-uplink.toml").with_("duration", "15s")
    session = forebay.open(here).set_queue("gsp").set_queue("pie", "backbone")
    kinds = {name: queue.kind for name, queue in session.queues.items()}
    assert (kinds["uplink"], kinds["backbone"]) == ("gsp", "pie")


def test_other_changes_are_refused_and_change_nothing() -> None:
    here = scenario()
    session = forebay.open(here, seed=3).advance_to("2s")
    for path, value, said in (
        ("duration", "30s", "duration: cannot change during a run"),
        ("traffic[0].flows", 5, "traffic: cannot change during a run"),
        ("dumbbell.overhead", "10B", "dumbbell: cannot change during a run"),
        ("dumbbell.access.delay", "5ms", "link: cannot change during a run"),
        ("dumbbell.queue.target", "1h", "dumbbell.queue.target: must be below interval"),
        ("dumbbell.queue.tagret", "1ms", 'unknown field "tagret"'),
        ("dumbbell.rate", "0Mbit", "dumbbell.rate"),
    ):
        with pytest.raises(forebay.ScenarioError, match=said):
            session.set(path, value)
    with pytest.raises(forebay.ScenarioError, match='"1s" is over: it is 2 s'):
        session.advance_to("1s")
    with pytest.raises(forebay.ScenarioError, match="expected a time"):
        session.advance(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no discipline is given"):
        forebay.open(here, link="bottleneck")
    assert session.finish().fingerprint == forebay.run(here, seed=3).fingerprint


class Breaks(forebay.Discipline):
    """Breaks at the hundredth packet."""

    def setup(self) -> None:
        self.queue = forebay.Queue()
        self.count = 0

    def enqueue(self, packet: forebay.Packet, _now: int) -> None:
        self.count += 1
        assert self.count < 100
        self.queue.append(packet)

    def dequeue(self, _now: int) -> forebay.Packet | None:
        return self.queue.popleft() if self.queue else None


def test_a_class_that_breaks_ends_the_session() -> None:
    with forebay.open(scenario()) as session:
        session.advance_to("1s").set_queue(Breaks)
        with pytest.raises(forebay.ScenarioError, match=r"in enqueue: AssertionError"):
            session.advance("10s")
        assert "breaks" in session.queues["bottleneck"].kind
