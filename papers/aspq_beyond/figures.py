"""What a freeze comes to over the traffic's period, and over the number of low flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forebay.papers import Data, Panel
from forebay.papers.points import line

from .points import HOME, LOW, VARIANTS, Traffic, traffics

GOODPUT = "goodput of all low flows, Mbit/s"


def panel(
    title: str, x_label: str, chosen: Sequence[Traffic], x: Callable[[Traffic], float]
) -> Panel:
    """Goodput of the low flows under each variant."""
    drawn = [
        line(
            name, [x(each) for each in chosen], [each.interval(LOW, name, 1e-6) for each in chosen]
        )
        for name in VARIANTS
    ]
    return Panel(title, x_label, GOODPUT, drawn, x_log=True)


def periods(data: Data) -> list[Panel]:
    """Goodput of the low flow over the period of the high-priority traffic."""
    groups: dict[str, list[Traffic]] = {}
    for each in traffics(data):
        if each.rate == HOME and each.flows == 1:
            high = each.high
            udp = high["kind"] != "files"
            title = f"UDP, {high['rate']}/s while on" if udp else "TCP transfers"
            groups.setdefault(title, []).append(each)
    return [
        panel(title, "period, s, half of it on", chosen, lambda each: 2 * each.on)
        for title, chosen in groups.items()
    ]


def flows(data: Data) -> list[Panel]:
    """Goodput of all low flows over their number."""
    known = [each for each in traffics(data) if each.rate == HOME]
    several = dict.fromkeys(each.words for each in known if each.flows > 1)
    return [
        panel(words, "low flows", [each for each in known if each.words == words],
              lambda each: each.flows)
        for words in several
    ]  # fmt: skip
