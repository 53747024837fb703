"""One TCP connection against the formulas of its throughput.

Windows are means over time: goodput times the round-trip time divided by the segment size. Losses
happen on the link, independently and at random. They affect data, not acknowledgments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from forebay import _theory as theory
from forebay._validate.check import Check, Quantity, Summary, Within, queue, traffic

FAMILY = "tcp"

MTU = 1500
"""IP packet with a full segment, bytes."""
SEGMENT = MTU - 40
"""Payload of a full segment, bytes."""
ACK = 40
"""IP packet of an acknowledgment, bytes."""

RENO = {
    1e-3: Within(
        0.08,
        "p = 0.001: the law is the limit for small p. Recovery costs a round trip without "
        "growth, and up to one more until a window of data is acknowledged. This is about 1.5 "
        "sqrt(p), 5 % here",
    ),
    1e-4: Within(0.04, "p = 0.0001: likewise, 1.5 % here; the interval takes as much again"),
}
"""How near a mean window of New Reno must come."""
FLUID = Within(
    0.06,
    "the fluid model of CUBIC counts the losses of one round trip as one and has neither "
    "recovery nor timeouts. These matter by about p times the window, 1 to 6 % here",
)
"""How near a mean window of CUBIC must come."""
SAWTOOTH = Within(
    0.02,
    "the model has neither the round trip of recovery nor the queue of up to two packets, which "
    "are each below 1 % of a pipe of 400 packets",
)
"""How near a mean window under tail drop must come."""
ROUNDS = Within(
    0.02,
    "windows are whole segments, and the marked packets of a round trip are in two rounds of "
    "alpha. This is up to one part in a hundred of a cycle of 9 to 19 round trips",
)
"""How near DCTCP's cycle must come."""
EDGE = Within(0.0005, "the window at the ends of the measured time, 1 of 10 000 round trips")
"""How near W / RTT must come."""

MATHIS = "Mathis et al. 1997, equation 3"
OTT = "Ott, Kemperman and Mathis 1996"
CUBIC = "RFC 9438, sections 4 and 5.1"
DCTCP = "RFC 8257, section 3.3"


def checks() -> list[Check]:
    """All checks of this family."""
    return [
        _limited("window-limited", {"max_window": 64, "delayed_ack_count": 1}),
        _limited("window-limited-delayed-ack", {"max_window": 64, "delayed_ack_count": 2}),
        _limited(
            "receiver-limited", {"receive_window": f"{64 * SEGMENT}B", "delayed_ack_count": 1}
        ),
        _tail_drop(),
        _random_loss(1e-3, "sack", 1, 6e6),
        _random_loss(1e-3, "new-reno", 1, 6e6),
        _random_loss(1e-4, "sack", 1, 6e7),
        _random_loss(1e-4, "sack", 2, 6e7),
        _cubic(1e-3, 10, 6e6, "all Reno-friendly"),
        _cubic(1e-3, 100, 1e7, "partly Reno-friendly"),
        _cubic(3e-4, 300, 8e7, "all cubic"),
        _dctcp(100, 50, 1 / 16),
        _dctcp(400, 100, 1 / 16),
        _dctcp(400, 100, 1 / 64),
        _dctcp(1000, 200, 1 / 16),
    ]


def _limited(name: str, tcp: Mapping[str, Any]) -> Check:
    """Throughput of a window of 64 segments that neither loss nor link limits."""
    rate, delay, count = 100_000_000, 0.02, int(tcp["delayed_ack_count"])
    # An acknowledgment is sent when the last of its segments has arrived.
    round_trip = 2 * delay + (count * MTU + ACK) * 8 / rate
    scenario = _scenario(f"{rate}bit", delay, tcp, 405.0, 5.0)
    reference = float(theory.window_rate(64, SEGMENT, round_trip)) / 1e6
    titles = {
        "window-limited": "Congestion window held at 64 segments, every segment acknowledged",
        "window-limited-delayed-ack": "Congestion window held at 64 segments, delayed ACKs",
        "receiver-limited": "Receive window of 64 segments",
    }
    quantity = Quantity(
        "goodput",
        "Mbit/s",
        reference,
        lambda each: traffic("goodput_bps", "flow")(each) / 1e6,
        EDGE,
    )
    source = "W / RTT, transmission of data and ACK included"
    return Check(name, FAMILY, titles[name], source, scenario, (quantity,), 2, True)


def _tail_drop() -> Check:
    """Losses at regular intervals: one flow fills pipe and buffer, loses one segment, halves."""
    rate, delay = 160_000_000, 0.015
    round_trip = 2 * delay + (MTU + ACK) * 8 / rate
    window = _window(round_trip)
    scenario = _scenario(f"{rate}bit", delay, {"delayed_ack_count": 1}, 620.0, 20.0)
    scenario["link"][0]["queue"] = {"kind": "fifo", "limit": "2p"}
    quantity = Quantity(
        "mean window times sqrt(p)",
        "segments",
        float(theory.square_root_window(1.0)),
        lambda each: window(each) * math.sqrt(queue("loss")(each)),
        SAWTOOTH,
    )
    title = "Square-root law: New Reno with SACK, periodic losses (tail drop)"
    return Check("square-root-periodic", FAMILY, title, MATHIS, scenario, (quantity,), 2, True)


def _random_loss(loss: float, recovery: str, count: int, packets: float) -> Check:
    delayed = count == 2
    acks = "delayed ACKs (bytes are counted)" if delayed else "every segment acknowledged"
    kind = {"sack": "New Reno with SACK", "new-reno": "New Reno"}[recovery]
    reference = float(theory.square_root_window_random(loss))
    tcp = {"recovery": recovery, "delayed_ack_count": count}
    name = f"square-root-{loss:g}-{recovery}" + ("-delayed-ack" if delayed else "")
    title = f"Square-root law: {kind}, independent losses, p = {loss:g}, {acks}"
    return _lossy(name, title, OTT, loss, 0.1, tcp, reference, packets, RENO[loss])


def _cubic(loss: float, millis: int, packets: float, region: str) -> Check:
    round_trip = millis / 1000
    reference = theory.cubic_window_random(loss, round_trip)
    tcp = {"congestion": "cubic", "delayed_ack_count": 1}
    title = f"CUBIC response, independent losses, p = {loss:g}, RTT {millis} ms ({region})"
    return _lossy(
        f"cubic-{loss:g}-{millis}ms", title, CUBIC, loss, round_trip, tcp, reference, packets, FLUID
    )


def _dctcp(path: int, threshold: int, gain: float) -> Check:
    """One flow marked above a threshold; `path` and `threshold` in packets."""
    round_trip = 0.03
    rate = round(path * MTU * 8 / round_trip)
    tcp = {"congestion": "dctcp", "ecn": True, "delayed_ack_count": 1, "dctcp": {"gain": gain}}
    scenario = _scenario(f"{rate}bit", round_trip / 2, tcp, 130.0, 30.0)
    scenario["link"][0]["queue"] = {
        "kind": "codel",
        "limit": "10000p",
        # The threshold alone marks.
        "target": "100s",
        "interval": "200s",
        "ce_threshold": _span(threshold * MTU * 8 / rate),
    }
    scenario["link"][0]["reverse"] = {"queue": {"kind": "fifo", "limit": "10000p"}}
    quantity = Quantity(
        "packets a marked one",
        "",
        theory.dctcp_rounds(path + threshold, gain),
        lambda each: 1 / queue("marked")(each) * queue("offered")(each),
        ROUNDS,
    )
    title = f"DCTCP: path of {path} packets, marks above {threshold}, g = 1/{round(1 / gain)}"
    name = f"dctcp-{path}-{threshold}-{round(1 / gain)}"
    return Check(name, FAMILY, title, DCTCP, scenario, (quantity,), 2, True)


def _lossy(
    name: str,
    title: str,
    source: str,
    loss: float,
    round_trip: float,
    tcp: Mapping[str, Any],
    reference: float,
    packets: float,
    test: Within,
) -> Check:
    runs, warmup = 20, 20 * round_trip / math.sqrt(loss)
    seconds = math.ceil(packets / runs * round_trip / reference)
    scenario = _scenario("10Gbit", round_trip / 2, tcp, seconds + warmup, warmup)
    scenario["link"][0] |= {"loss": loss, "reverse": {"loss": 0.0}}
    quantity = Quantity("mean window", "segments", reference, _window(round_trip), test)
    quick = packets <= 1e7
    return Check(name, FAMILY, title, source, scenario, (quantity,), runs, quick)


def _scenario(
    rate: str, delay: float, tcp: Mapping[str, Any], duration: float, warmup: float
) -> dict[str, Any]:
    link = {"name": "link", "from": "a", "to": "b", "rate": rate, "delay": _span(delay)}
    return {
        "duration": _span(duration),
        "warmup": _span(warmup),
        "tcp": {"receive_window": "64MB"} | dict(tcp),
        "link": [link],
        "traffic": [{"name": "flow", "kind": "bulk", "from": "a", "to": "b"}],
    }


def _window(round_trip: float) -> Callable[[Summary], float]:
    """Mean window in segments."""
    goodput = traffic("goodput_bps", "flow")
    return lambda each: goodput(each) * round_trip / (SEGMENT * 8)


def _span(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us"
