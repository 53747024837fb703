"""Congestion controls and sources that are classes in Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay._plugin import process
from test_plugins import command

RENO = Path(__file__).parents[2] / "examples" / "plugins" / "reno.py"


def scenario(**more: Any) -> forebay.Scenario:
    """A congested link, transfers of all lengths."""
    document = {
        "duration": "10s",
        "dumbbell": {"rate": "5Mbit", "delay": "10ms", "queue": {"kind": "codel"}},
        "traffic": [{"kind": "bulk", "flows": 4}, {"kind": "web", "flows": 10}],
    }
    return forebay.Scenario.of(document | more)


class Steady(forebay.CongestionControl):
    """Sends at one rate, whatever happens."""

    at: forebay.Rate = "200kbit"
    """Rate of segments."""

    def on_ack(self, window: forebay.Window, ack: forebay.Ack) -> None:
        window.cwnd = 100 * self.mss
        assert ack.acked > 0 and ack.srtt is not None and ack.now > ack.srtt

    def on_congestion(self, window: forebay.Window, event: forebay.Congestion) -> None:
        assert event.kind in ("loss", "timeout")
        window.ssthresh = 50 * window.mss

    def pacing_rate(self, _window: forebay.Window, _srtt: int | None) -> int:
        return int(self.at)


class Cbr(forebay.Source):
    """Datagrams at a constant rate, from a random instant on."""

    every: forebay.Time = "8ms"
    """Time between two."""

    def setup(self) -> None:
        self.begun = False

    def next(self, after: int) -> tuple[int, int]:
        wait = int(self.every) if self.begun else int(self.random() * self.every)
        self.begun = True
        return after + wait, 1000


class Even(Cbr):
    """The same under a name of its own."""


def test_reno_in_python_does_to_every_window_what_the_built_in_does() -> None:
    here = scenario(plugins=[str(RENO)])
    built_in, same = (
        forebay.run(here.with_("tcp.congestion", control))
        for control in ("new-reno", "reno-in-python")
    )
    assert built_in.summary["classes"]["bulk"]["retransmissions"] > 20
    assert same.fingerprint == built_in.fingerprint
    own = here.with_("tcp.congestion", "reno-in-python")
    effective = own.with_("tcp.reno-in-python.share", 0.9).effective()
    assert effective["traffic"][0]["tcp"]["reno-in-python"] == {"share": 0.9}
    with pytest.raises(forebay.ScenarioError, match=r"tcp\.reno-in-python\.shard: unknown field"):
        own.with_("tcp.reno-in-python.shard", 1).effective()
    shown = command("--plugin", RENO, "kinds", "reno-in-python").stdout
    assert "RFC 5681" in shown and "Share of the outstanding data" in shown
    checked = command("kinds", "--check", RENO)
    assert checked.returncode == 2 and "contains no discipline" in checked.stderr


def test_a_control_sets_its_rate() -> None:
    here = scenario(traffic=[{"kind": "bulk"}]).with_classes(Steady)
    run = forebay.run(here.with_("tcp.congestion", "steady"))
    # 200 kbit/s on the wire.
    goodput = run.summary["classes"]["bulk"]["goodput_bps"]
    assert 185_000 < goodput < 200_000


def test_a_source_sends_what_it_says() -> None:
    here = scenario(traffic=[{"kind": "even", "flows": 3}]).with_classes(Even)
    with pytest.raises(forebay.ScenarioError, match='there is another source of traffic "cbr"'):
        here.with_classes(Cbr).effective()
    run, again, other = forebay.run(here), forebay.run(here), forebay.run(here, seed=2)
    sent = run.summary["classes"]["even"]
    assert sent["sent_bps"] == pytest.approx(3e6, rel=0.01) and sent["flows"] == 3
    assert run.fingerprint == again.fingerprint != other.fingerprint


class Zero(Steady):
    """Returns a rate that it may not."""

    def pacing_rate(self, _window: forebay.Window, _srtt: int | None) -> int:
        return 0


class Tiny(Steady):
    """Sets a window that it may not."""

    def on_ack(self, window: forebay.Window, ack: forebay.Ack) -> None:
        window.cwnd = ack.acked // 10


class Answers(Steady):
    """Returns what it may not."""

    def on_ack(self, window: forebay.Window, _ack: forebay.Ack) -> None:
        return window.cwnd  # type: ignore[return-value]


class Unmade(Steady):
    """Cannot be made."""

    def setup(self) -> None:
        raise RuntimeError("no")


class Loops(Steady):
    """Does not return."""

    def on_congestion(self, window: forebay.Window, _event: forebay.Congestion) -> None:
        while window.mss:
            pass


class Back(Cbr):
    """Goes back in time."""

    def next(self, after: int) -> tuple[int, int]:
        return max(0, after - 1) if after > 1_000_000_000 else after + 5_000_000, 100


class Long(Cbr):
    """Sends what no packet holds."""

    def next(self, after: int) -> tuple[int, int]:
        return after, 70_000


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (Zero, r'control "zero": .*py:\d+, in pacing_rate: it returned 0; it must return a whole'),
        (Tiny, r'control "tiny": .*py:\d+, in on_ack: ValueError: cwnd must be at least one segm'),
        (Answers, r"in on_ack: it returned \d+; it must return nothing"),
        (Unmade, r'control "unmade": .*py:\d+, in setup: RuntimeError: no'),
        (
            Back,
            r'source "back": .*py:\d+, in next: it returned \(\d+, 100\); it must return \(in',
        ),
        (
            Long,
            r"in next: it returned \(\d+, 70000\); it must return .* 1 to 65535 bytes\) or No",
        ),
    ],
)
def test_who_does_what_it_may_not_is_named(owner: type[Any], said: str) -> None:
    name = owner.__name__.lower()
    is_source = issubclass(owner, forebay.Source)
    here = scenario(traffic=[{"kind": name if is_source else "bulk"}]).with_classes(owner)
    here = here if is_source else here.with_("tcp.congestion", name)
    for _ in range(2):
        with pytest.raises(forebay.ScenarioError) as caught:
            forebay.run(here)
        assert re.search(said, str(caught.value)), caught.value
    with process._here, pytest.raises(forebay.ScenarioError, match=said):
        forebay.run(here)
    # What one run was ended by does not end the next.
    assert forebay.run(scenario(plugins=[str(RENO)])).summary["packets"] > 1000


def test_a_call_that_does_not_return_is_ended() -> None:
    here = scenario(traffic=[{"kind": "bulk"}]).with_classes(Loops)
    here = here.with_("tcp.congestion", "loops").with_("dumbbell.loss", 0.01)
    with pytest.raises(forebay.ScenarioError, match="in on_congestion: it did not return"):
        forebay.run(here)
