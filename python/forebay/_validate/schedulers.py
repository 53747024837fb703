"""Weighted schedulers against generalised processor sharing.

Sources with a constant rate, each 30 % above its share, keep every queue full. So only the phases
of the sources are random. The shares are those of the weights, up to what one round sends, which
is below 0.05 % of the total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from forebay import _theory as theory
from forebay._validate.check import Check, Quantity, Summary, Within

FAMILY = "schedulers"

RATE = 10_000_000
"""Rate of the link, bit/s."""
ROUND = Within(0.001, "a scheduler may be up to one round ahead or behind")
"""How near a share must come."""

GPS = "Parekh and Gallager 1993, section II"


KINDS = {
    "drr": (
        "Deficit round robin",
        "shares in bytes",
        f"{GPS}; Shreedhar and Varghese 1995, section 3",
    ),
    "wrr": ("Weighted round robin", "shares in packets", f"{GPS}, in packets"),
}
"""Of each kind its name, what its weights share, and the source."""


def checks() -> list[Check]:
    """All checks of this family."""
    return [
        _check("drr", (1, 1), (1500, 100)),
        _check("drr", (1, 2, 5), (1500, 500, 120)),
        _check("drr", (1, 10, 100), (300, 1500, 700)),
        _check("wrr", (1, 1), (1500, 100)),
        _check("wrr", (1, 2, 5), (1500, 500, 120)),
        _check("drr", (1, 2, 5), (1500, 500, 1000), (math.inf, math.inf, 0.25)),
        _check("drr", (3, 1, 1), (700, 700, 700), (0.1, math.inf, 0.2)),
    ]


def _check(
    kind: str, weights: Sequence[int], sizes: Sequence[int], demands: Sequence[float] = ()
) -> Check:
    """A check of a scheduler.

    `demands` are what classes ask for as shares of the link, infinite for a full queue, which all
    have unless given. What some do not ask for, the others divide.
    """
    words, what, source = KINDS[kind]
    name = f"{kind}-{'content-' if demands else ''}{'-'.join(map(str, weights))}"
    title = f"{words}, weights {':'.join(map(str, weights))}"
    if demands:
        title, source = f"{title}, some classes with less to send than that", GPS
    else:
        title, demands = f"{title}: {what}", [math.inf] * len(sizes)
    shares = theory.weighted_shares(np.array(weights), np.array(demands))
    # What a packet counts in the shares, and the shares in bytes.
    counts = [1] * len(sizes) if kind == "wrr" else list(sizes)
    in_bytes = shares * np.array(sizes) / np.array(counts)
    loads = np.where(np.isinf(demands), 1.3 * in_bytes / in_bytes.sum(), demands)
    quantities = tuple(
        Quantity(
            f"share of weight {weight}, {size} B"
            + ("" if math.isinf(demand) else f", which asks for {demand}"),
            "",
            float(share),
            _share(index, counts),
            ROUND,
        )
        for index, (weight, size, demand, share) in enumerate(
            zip(weights, sizes, demands, shares, strict=True)
        )
    )
    queue = {"limit": "100p", "kind": kind, "weights": list(weights)}
    pipe = {"name": "link", "from": "a", "to": "b", "rate": f"{RATE}bit"}
    scenario = {
        "title": title,
        "duration": "305s",
        "warmup": "5s",
        "link": [pipe | {"queue": queue}],
        "traffic": [
            {
                "name": f"class{number}",
                "kind": "cbr",
                "from": "a",
                "to": "b",
                "q": number,
                "size": f"{size}B",
                "rate": f"{round(load * RATE)}bit",
            }
            for number, (size, load) in enumerate(zip(sizes, loads, strict=True))
        ],
    }
    return Check(name, FAMILY, title, source, scenario, quantities, 3, True)


def _share(index: int, counts: Sequence[int]) -> Callable[[Summary], float]:
    """Share of class `index` in what was delivered; a packet of class i counts `counts[i]`."""

    def measure(summary: Summary) -> float:
        sent = [
            summary["classes"][f"class{number}"]["delivered"] * count
            for number, count in enumerate(counts)
        ]
        return float(sent[index] / sum(sent))

    return measure
