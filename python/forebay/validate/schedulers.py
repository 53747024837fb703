"""Weighted schedulers against generalised processor sharing.

Constant-rate sources keep every queue full, so that nothing is random but the sources' phases: the
shares are those of the weights up to what one round sends, which is below 0.05 % of the total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forebay import theory
from forebay.validate.check import Check, Quantity, Summary, Within

FAMILY = "schedulers"

RATE = 10_000_000
"""Rate of the link, bit/s."""
ROUND = Within(0.001, "a scheduler may be up to one round ahead or behind")
"""How near a share must come."""

GPS = "Parekh and Gallager 1993, section II"


def checks() -> list[Check]:
    """All checks of this family."""
    return [
        _bytes((1, 1), (1500, 100)),
        _bytes((1, 2, 5), (1500, 500, 120)),
        _bytes((1, 10, 100), (300, 1500, 700)),
        _packets((1, 1), (1500, 100)),
        _packets((1, 2, 5), (1500, 500, 120)),
        _content((1, 2, 5), (1500, 500, 1000), (math.inf, math.inf, 0.25)),
        _content((3, 1, 1), (700, 700, 700), (0.1, math.inf, 0.2)),
    ]


def _bytes(weights: Sequence[int], sizes: Sequence[int]) -> Check:
    shares = theory.weighted_shares(np.array(weights), np.inf)
    names = [f"of weight {weight}, {size} B" for weight, size in zip(weights, sizes, strict=True)]
    return _check(
        "drr-" + ":".join(map(str, weights)),
        f"Deficit round robin, weights {_list(weights)}: shares in bytes",
        f"{GPS}; Shreedhar and Varghese 1995, section 3",
        {"kind": "drr", "weights": list(weights)},
        sizes,
        [2.0] * len(sizes),
        [
            Quantity(f"share {name}", "", float(share), _share(index, sizes), ROUND)
            for index, (name, share) in enumerate(zip(names, shares, strict=True))
        ],
    )


def _packets(weights: Sequence[int], sizes: Sequence[int]) -> Check:
    shares = theory.weighted_shares(np.array(weights), np.inf)
    names = [f"of weight {weight}, {size} B" for weight, size in zip(weights, sizes, strict=True)]
    return _check(
        "wrr-" + ":".join(map(str, weights)),
        f"Weighted round robin, weights {_list(weights)}: shares in packets",
        f"{GPS}, in packets",
        {"kind": "wrr", "weights": list(weights)},
        sizes,
        [2.0] * len(sizes),
        [
            Quantity(f"share {name}", "", float(share), _share(index, [1] * len(sizes)), ROUND)
            for index, (name, share) in enumerate(zip(names, shares, strict=True))
        ],
    )


def _content(weights: Sequence[int], sizes: Sequence[int], demands: Sequence[float]) -> Check:
    """Some classes ask for less than their share; the others divide what is left."""
    shares = theory.weighted_shares(np.array(weights), np.array(demands))
    names = [
        f"of weight {weight}" + ("" if math.isinf(demand) else f", which asks for {demand}")
        for weight, demand in zip(weights, demands, strict=True)
    ]
    return _check(
        "drr-content-" + ":".join(map(str, weights)),
        f"Deficit round robin, weights {_list(weights)}, not all of them always have something",
        GPS,
        {"kind": "drr", "weights": list(weights)},
        sizes,
        [2.0 if math.isinf(demand) else demand for demand in demands],
        [
            Quantity(f"share {name}", "", float(share), _share(index, sizes), ROUND)
            for index, (name, share) in enumerate(zip(names, shares, strict=True))
        ],
    )


def _share(index: int, sizes: Sequence[int]) -> Any:
    """Share of class `index` in what was delivered; a packet of class i counts `sizes[i]`."""

    def measure(summary: Summary) -> float:
        sent = [
            summary["classes"][f"class{number}"]["delivered"] * size
            for number, size in enumerate(sizes)
        ]
        return float(sent[index] / sum(sent))

    return measure


def _check(
    name: str,
    title: str,
    source: str,
    queue: Mapping[str, Any],
    sizes: Sequence[int],
    loads: Sequence[float],
    quantities: Sequence[Quantity],
) -> Check:
    pipe = {"name": "link", "from": "a", "to": "b", "rate": f"{RATE}bit"}
    scenario = {
        "title": title,
        "duration": "305s",
        "warmup": "5s",
        "link": [pipe | {"queue": {"limit": "100p"} | dict(queue)}],
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
    return Check(name, FAMILY, title, source, scenario, tuple(quantities), 3, True)


def _list(weights: Sequence[int]) -> str:
    return ":".join(map(str, weights))
