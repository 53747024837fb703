"""Sentences about what the paper leaves to others, and the numbers that they rest on."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from forebay.papers import Data, Part, Statement, exactly

from .figures import mean_of
from .points import COMBINATIONS, MOST, NAMES, QUEUE, USED

TCP_FLOWS, UNRESPONSIVE = "16 TCP flows", "15 Mb/s of UDP"
"""The greedy user."""
FAIR = "fair scheduling, a CP-AQM a flow, T_c = 1"


def beside(name: str, greedy: str) -> dict[str, Any]:
    """A point of the study "users"."""
    start = "1000h" if greedy == UNRESPONSIVE else '["0s", "5s"]'
    return {"traffic.many.start": start, "discipline": name}


def modest(
    data: Data, name: str, greedy: str, low: float = -math.inf, high: float = math.inf
) -> Part:
    """The modest user's goodput."""
    key = "classes.modest.goodput_bps"
    found = data.interval("users", key, beside(name, greedy), scale=1e-6)
    return Part(f"{name}, beside {greedy}", "", found, low, high, "Mbit/s")


def a_user(data: Data) -> list[Part]:
    return [
        modest(data, "a policer a user", TCP_FLOWS, 3),
        *(modest(data, name, TCP_FLOWS, high=0.8) for name in ("CP-AQM", "a policer a flow")),
    ]


def unresponsive(data: Data) -> list[Part]:
    own = ("a policer a user", "a policer a flow", FAIR)
    one = ("CP-AQM", "fair scheduling, one policer")
    return [
        *(modest(data, name, UNRESPONSIVE, 4) for name in own),
        *(modest(data, name, UNRESPONSIVE, high=0.1) for name in one),
    ]


def fair(data: Data) -> list[Part]:
    pair = (beside("FQ-CoDel", UNRESPONSIVE), beside(FAIR, UNRESPONSIVE))
    longer = data.difference("users", QUEUE, *pair)
    full = [data.interval("users", QUEUE, beside(name, TCP_FLOWS)) for name in (FAIR, "FQ-CoDel")]
    return [
        Part("queue beside UDP, FQ-CoDel minus CP-AQM", "", longer, 5, unit="packets"),
        *(Part("queue beside 16 flows", "", each, 25, unit="packets") for each in full),
    ]


def mean(data: Data, name: str, delay: str) -> tuple[float, float]:
    """Queue and utilization over the four scenarios of a delay."""
    return mean_of(data, name, [each for each in COMBINATIONS if each[2] == delay])


def below_one(data: Data) -> list[Part]:
    queue, used = mean(data, "T_c = 0, c_max = 10", "5ms")
    return [
        Part("queue", "", exactly(queue), high=1, unit="packets"),
        Part("utilization", "", exactly(used), 90, unit="%"),
    ]


def no_better(data: Data) -> list[Part]:
    queue, used = mean(data, "T_c = 0, c_max = 2", "50ms")
    parts = []
    for name in ("CoDel, 1 ms", "tail drop, 5 packets"):
        other, full = mean(data, name, "50ms")
        parts += [
            Part(f"queue, {name} minus CP-AQM", "", exactly(other - queue), -0.5, 0.5, "packets"),
            Part(f"utilization, {name} minus CP-AQM", "", exactly(full - used), 0, 2, "points"),
        ]
    return parts


def allowance(data: Data) -> list[Part]:
    queue, used = mean(data, "T_c = 0, c_max = 2", "5ms")
    slower, less = mean(data, "T_c = 0, c_max = 1.2, R_CA = 9.5 Mb/s", "5ms")
    return [
        Part("difference of the queues", "", exactly(slower - queue), -0.2, 0.2, "packets"),
        Part("difference of the utilizations", "", exactly(used - less), 2, unit="points"),
    ]


def as_long(data: Data) -> list[Part]:
    parts = []
    for key, scale, unit in ((QUEUE, 1, "packets"), (USED, 100, "%")):
        for congestion, name in NAMES.items():
            for delay, c_max in product(("5ms", "50ms"), (1.0, 1.2)):
                where = {"congestion": congestion, "delay": delay, MOST: c_max}
                longer, brief = (
                    data.interval("length", key, {**where, "length": each}, scale=scale).mean
                    for each in ("1010s", "110s")
                )
                what = f"1 {name}, {delay[:-2]} ms, c_max = {c_max:g}:"
                parts.append(Part(what, "", exactly(longer - brief), -1, 1, unit))
    return parts


LENGTH = (
    Statement("For one flow, runs of 100 s give the same results as runs of 1000 s, which the "
              "paper has. Under tail drop and at T_c = 5, they are within one packet and one "
              "percentage point.",
              as_long),
)  # fmt: skip
USERS = (
    Statement("**A policer for each user** gives the single flow a third of the link beside "
              "sixteen flows. One policer, or one for each flow, gives it a seventeenth.", a_user),
    Statement("**Unresponsive traffic** takes the whole link if there is one policer, whatever "
              "the scheduler. A policer for each user or for each flow leaves half of it.",
              unresponsive),
    Statement("**A CP-AQM for each flow** under fair scheduling needs a shorter queue than "
              "FQ-CoDel beside unresponsive traffic. With seventeen flows, it fills the buffer, "
              "as FQ-CoDel does.",
              fair),
)  # fmt: skip
OBJECTIVE = (
    Statement("On the short path, less than one packet waits with T_c = 0 and c_max = 10. This "
              "costs a tenth of the link at most.", below_one),
    Statement("On the long path, CP-AQM is no better than CoDel with a target of 1 ms, or than a "
              "buffer of 5 packets.", no_better),
    Statement("An allowance below the link's rate gains nothing: a larger c_max has the same "
              "queue with more utilization.", allowance),
)  # fmt: skip
