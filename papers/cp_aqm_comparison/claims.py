"""The claims of the comparison, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.papers import Data, Part

from .points import (
    COMBINATIONS,
    DELAY,
    DRAIN,
    LINK,
    NAMES,
    OTHERS,
    OURS,
    RATES,
    TOGETHER,
    USED,
    joined,
    measured,
    queue_in,
    words,
)

SLOWER = ("1", "10", "100")
MANY = [where for where in COMBINATIONS if where["flows"] == 16]


def held(data: Data) -> list[Part]:
    return [
        Part(f"queue at 10 Mb/s, 16 {NAMES[congestion]} and 5 Mb/s of UDP, {name}", said,
             queue_in(data, {"congestion": congestion, "discipline": name}, (35.0, 60.0)),
             low, high, "packets")
        for congestion in NAMES
        for name, said, low, high in (
            (OURS, "R_CA = 100 Mb/s polices nothing: full", 250.0, 300.0),
            (LINK, "held near T_c = 50", 25.0, 75.0),
            (DRAIN, "held near T_c = 50", 25.0, 75.0),
        )
    ]  # fmt: skip


def intriguing(data: Data) -> list[Part]:
    parts = []
    for rate, word in RATES.items():
        found = {
            other: data.difference(
                f"udp-{rate}", DELAY, {"discipline": other}, {"discipline": OURS}
            )
            for other in OTHERS
        }
        closest = min(found, key=lambda other: found[other].mean)
        what = f"{word}: the shortest other's, {closest} minus CP-AQM's"
        parts.append(Part(what, "longer than CP-AQM's", found[closest], 0.0, unit="ms"))
    return parts


def unresponsive_why(data: Data) -> str:
    at = {
        threshold: data.interval("threshold", DELAY, {"discipline": threshold}).mean
        for threshold in ("0p", "1p", "2p", "5p")
    }
    said = ", ".join(f"{mean:.3g} ms with T_c = {name[:-1]}" for name, mean in at.items())
    return (
        "At 1 Mb/s, the recommended five packets are 60 ms, which is above the target of the "
        f"others. CP-AQM's time in the queue is {said}. The paper recommends five packets for 10 "
        "Mb/s."
    )


def mostly_full(data: Data, rates: Sequence[str]) -> list[Part]:
    return [
        Part(f"{RATES[rate]}: utilization, {words(where)}", "mostly full",
             measured(data, rate, where, USED, OURS), 95.0, unit="%")
        for rate in rates
        for where in MANY
    ]  # fmt: skip


def mostly_full_why(data: Data, rates: Sequence[str]) -> str:
    def said(key: str, unit: str, names: Sequence[str]) -> str:
        found = ((measured(data, rate, where, key, name).mean, name) for name in names)
        return joined([f"{mean:.3g}{unit} with {name}" for mean, name in found])

    rate, where = min(
        ((rate, where) for rate in rates for where in MANY),
        key=lambda each: measured(data, each[0], each[1], USED, OURS).mean,
    )
    return (
        "When the bucket is empty, the policer drops packets of whichever flow sends, so many "
        "flows halve their windows together. On a long path, the short queue is empty before "
        f"they recover. The lowest utilization is at {RATES[rate]}, {words(where)}: "
        f"{said(USED, ' %', (OURS, *OTHERS))}. Of the sixteen flows, the number that lose packets "
        f"in one event of loss is {said(TOGETHER, '', (OURS, *OTHERS))}."
    )
