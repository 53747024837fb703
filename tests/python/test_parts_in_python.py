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


class Pipe(forebay.Endpoint):
    """Datagrams at a rate that are acknowledged, and sent again when they are not."""

    every: forebay.Time = "2ms"
    """Time between two."""
    patience: forebay.Time = "200ms"
    """Time until one that is not acknowledged is sent again."""

    def setup(self) -> None:
        self.next = 0
        self.number = 0
        self.due: dict[int, int] = {}
        self.queue: list[bytes] = []
        self.seen: set[int] = set()

    def begin(self, now: int) -> None:
        self.next = now + int(self.random() * self.every)

    def handle(self, datagram: bytes, now: int) -> None:
        number = int.from_bytes(datagram[:8], "big")
        if self.sends:
            self.due.pop(number, None)
        else:
            assert len(datagram) == 1000 and now > 0
            self.seen.add(number)
            self.queue.append(datagram[:8])

    def transmit(self, now: int) -> bytes | None:
        if not self.sends:
            return self.queue.pop() if self.queue else None
        late = next((number for number, due in self.due.items() if due <= now), None)
        if late is None:
            if self.next > now:
                return None
            self.next += int(self.every)
            late = self.number
            self.number += 1
        self.due[late] = now + int(self.patience)
        return late.to_bytes(8, "big") + bytes(992)

    def timeout(self) -> int | None:
        return min([self.next, *self.due.values()]) if self.sends else None

    def on_timeout(self, now: int) -> None:
        assert self.sends and now >= min([self.next, *self.due.values()])

    def delivered(self) -> int:
        return 1000 * len(self.seen)


def test_an_endpoint_in_python_sends_until_all_has_arrived() -> None:
    here = scenario(traffic=[{"kind": "pipe"}]).with_classes(Pipe)
    here = here.with_("dumbbell.rate", "20Mbit").with_("dumbbell.loss", 0.05)
    one, two, other = (forebay.run(here.with_("seed", seed)) for seed in (1, 1, 2))
    assert one.fingerprint == two.fingerprint != other.fingerprint
    found = one.summary["classes"]["pipe"]
    # 1000 bytes each 2 ms; what is lost comes 200 ms later, once.
    assert found["goodput_bps"] == pytest.approx(4e6, rel=0.01)
    with process._here:
        assert forebay.run(here.with_("seed", 1)).fingerprint == one.fingerprint
    # Beside TCP, with another parameter.
    both = here.with_("traffic", [{"kind": "pipe", "every": "4ms"}, {"kind": "bulk"}])
    both = both.with_("dumbbell.loss", 0.0)
    classes = forebay.run(both).summary["classes"]
    assert classes["pipe"]["goodput_bps"] < 2.1e6 < classes["bulk"]["goodput_bps"]


class Mute(forebay.Endpoint):
    """Has no end of what it sends."""

    def transmit(self, _now: int) -> bytes | None:
        return b"again" if self.sends else None

    def handle(self, datagram: bytes, now: int) -> None:
        """Take anything."""


class Wrong(Mute):
    """Sends what is no datagram."""

    def transmit(self, _now: int) -> Any:
        return b"" if self.sends else None


class Past(Mute):
    """Wants to be called for ever at an instant that is over."""

    def transmit(self, _now: int) -> bytes | None:
        return None

    def timeout(self) -> int:
        return 0


class Breaks(Mute):
    """Fails when something arrives."""

    def setup(self) -> None:
        self.left = self.sends

    def transmit(self, _now: int) -> bytes | None:
        self.left -= 1
        return b"first" if self.left == 0 else None

    def handle(self, datagram: bytes, _now: int) -> None:
        message = datagram.decode()
        raise ValueError(message)


class Last(Mute):
    """Sends one datagram, when its flow stops."""

    left = 0

    def end(self, _now: int) -> None:
        self.left = 1

    def transmit(self, _now: int) -> bytes | None:
        self.left -= 1
        return b"last" if self.left == 0 else None


def test_the_sending_end_is_told_that_its_flow_stops() -> None:
    here = scenario(traffic=[{"kind": "last", "stop": "2s"}, {"kind": "last", "name": "never"}])
    classes = forebay.run(here.with_classes(Last)).summary["classes"]
    assert (classes["last"]["delivered"], classes["never"]["delivered"]) == (1, 0)


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (Mute, "the sending endpoint of flow 0 at .* does not wait for time to pass"),
        (Past, "endpoint of flow 0 at .* does not wait for time to pass"),
        (Wrong, r'endpoint "wrong": .*py:\d+, in transmit: it returned b.*; it must return bytes'),
        (Breaks, r'endpoint "breaks": .*py:\d+, in handle: ValueError: first'),
    ],
)
def test_an_endpoint_that_does_what_it_may_not_is_named(owner: type[Any], said: str) -> None:
    name = owner.__name__.lower()
    here = scenario(traffic=[{"kind": name}]).with_classes(owner)
    with pytest.raises(forebay.ScenarioError) as caught:
        forebay.run(here)
    assert re.search(said, str(caught.value)), caught.value
