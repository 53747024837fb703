"""Where CP-AQM wins and where it does not: sentences, and the numbers that must bear them out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from forebay.papers import Data, Part, Statement

from .points import (
    BURSTS,
    COMBINATIONS,
    DEEP,
    DELAY,
    DRAIN,
    LONG_RENO,
    LOSS,
    NAMES,
    OTHERS,
    OURS,
    POINT,
    QUEUE,
    RATES,
    SETTINGS,
    TOGETHER,
    TUNED,
    USED,
    Where,
    beside,
    measured,
    queue_beside,
    queue_in,
    share,
    words,
)

FASTER = ("10", "100", "1000")
BUFFERS = {"10": 30, "100": 300, "1000": 3000}
"""Packets that the buffer holds."""
MANY_SHORT = [each for each in COMBINATIONS if each["flows"] == 16 and each["delay"] == "5ms"]
ONE_RENO = {"flows": 1, "congestion": "new-reno", "delay": "5ms"}
ONE_CUBIC = {"flows": 1, "congestion": "cubic", "delay": "5ms"}
CUBIC_SHORT = [each for each in COMBINATIONS
               if each["congestion"] == "cubic" and each["delay"] == "5ms"]  # fmt: skip
CODEL = ("CoDel", "FQ-CoDel")
TENTH = (35.0, 60.0)
"""Seconds at a tenth of the rate, after the first five."""
INF = math.inf
FULL = 99.9
"""Percent at which the link counts as full."""


def udp_shortest(data: Data) -> list[Part]:
    differences = [
        Part(f"{other} minus CP-AQM at {RATES[rate]}", "",
             data.difference(f"udp-{rate}", DELAY, {"discipline": other}, {"discipline": OURS}),
             0.0, unit="ms")
        for rate in FASTER
        for other in OTHERS
    ]  # fmt: skip
    used = [
        Part(f"utilization at {RATES[rate]}", "",
             data.interval(f"udp-{rate}", USED, {"discipline": OURS}, scale=100), FULL, unit="%")
        for rate in FASTER
    ]  # fmt: skip
    return [*differences, *used]


def udp_fills(data: Data) -> list[Part]:
    return [
        Part(f"{name} at {RATES[rate]}", "",
             data.interval(f"udp-{rate}", QUEUE, {"discipline": name},
                           scale=100 / BUFFERS[rate]), 80.0, unit="% of the buffer")
        for rate in FASTER
        for name in ("CoDel", "GSP")
    ]  # fmt: skip


def shorter(
    data: Data, settings: Sequence[str], where: Sequence[Where], names: Sequence[str]
) -> list[Part]:
    """That CP-AQM's queue is shorter than others'."""
    return queues_apart(data, settings, where, [(other, OURS) for other in names])


def longer(
    data: Data, settings: Sequence[str], where: Sequence[Where], names: Sequence[str]
) -> list[Part]:
    """That it is longer."""
    return queues_apart(data, settings, where, [(OURS, other) for other in names])


def queues_apart(
    data: Data, settings: Sequence[str], where: Sequence[Where], pairs: Sequence[tuple[str, str]]
) -> list[Part]:
    """That of each pair the first has the longer queue."""
    return [
        Part(f"{one} minus {other}, {SETTINGS[setting]}, {words(each)}", "",
             beside(data, setting, each, DELAY, one, other), 0.0, unit="ms")
        for setting in settings
        for each in where
        for one, other in pairs
    ]  # fmt: skip


def full(data: Data, settings: Sequence[str], where: Sequence[Where], names: Sequence[str],
         ) -> list[Part]:  # fmt: skip
    return [
        Part(f"utilization with {name}, {SETTINGS[setting]}, {words(each)}", "",
             measured(data, setting, each, USED, name), FULL, unit="%")
        for setting in settings
        for each in where
        for name in names
    ]  # fmt: skip


def more_used(data: Data, settings: Sequence[str], names: Sequence[str]) -> list[Part]:
    """That others leave less of the link idle to 16 New Reno flows on the long path."""
    return [
        Part(f"{other} minus CP-AQM, {SETTINGS[setting]}", "",
             beside(data, setting, LONG_RENO, USED, other, OURS), POINT, unit="points")
        for setting in settings
        for other in names
    ]  # fmt: skip


def together(data: Data) -> list[Part]:
    """That under CP-AQM more of them lose at once."""
    fast = FASTER[1:]
    flows = [
        Part(f"flows with CP-AQM, {RATES[rate]}", "",
             measured(data, rate, LONG_RENO, TOGETHER, OURS), 8.0, unit="flows")
        for rate in fast
    ]  # fmt: skip
    more = [
        Part(f"CP-AQM minus {other}, {RATES[rate]}", "",
             beside(data, rate, LONG_RENO, TOGETHER, OURS, other), 0.0, unit="flows more")
        for rate in fast
        for other in OTHERS
        if other != "RED"
    ]  # fmt: skip
    return [*flows, *more]


def otherwise(data: Data) -> list[Part]:
    """What other parameters of CP-AQM come to there, beside CoDel."""

    def part(setting: str, name: str, key: str, low: float = -INF, high: float = INF) -> Part:
        word, unit = ("utilization", "%") if key == USED else ("queue", "ms")
        found = measured(data, setting, LONG_RENO, key, name)
        return Part(f"{word} with {name}", "", found, low, high, unit=unit)

    return [
        part(TUNED, "CP-AQM, c_max = 1.05", USED, high=93.0),
        part(TUNED, "CP-AQM, c_max = 1.05", DELAY, low=8.0),
        part(TUNED, "CP-AQM, T_c = 150", USED, high=93.0),
        part(TUNED, "CP-AQM, T_c = 150", DELAY, low=8.0),
        part(TUNED, "CP-AQM, bucket = 100 KB", USED, high=93.0),
        part(TUNED, "CP-AQM, c_max = 1.01", USED, high=97.0),
        part(TUNED, "CP-AQM, c_max = 1.01", DELAY, low=15.0),
        part("100", "tail drop", DELAY, low=15.0),
        part("100", "CoDel", USED, low=98.0),
        part("100", "CoDel", DELAY, high=4.0),
    ]


def red_tuned(data: Data) -> list[Part]:
    spaced = "RED, both, drops spaced"
    return [
        Part("utilization", "", measured(data, TUNED, LONG_RENO, USED, spaced), 95.0, unit="%"),
        Part("queue", "", measured(data, TUNED, LONG_RENO, DELAY, spaced), high=2.0, unit="ms"),
    ]


def long_paths(data: Data) -> str:
    used = [f"{measured(data, rate, LONG_RENO, USED, OURS).mean:.1f} %" for rate in FASTER]
    return (
        "**Long paths:** sixteen New Reno flows leave more of the link idle than with any other "
        f"discipline except RED. They use {used[0]} of it at 10 Mb/s, {used[1]} at 100 Mb/s and "
        f"{used[2]} at 1 Gb/s."
    )


def shorter_than_tail_drop(data: Data) -> list[Part]:
    return [
        Part(f"{SETTINGS[setting]}, {words(where)}", "",
             share(data, setting, where, DELAY, OURS, "tail drop"), high=200 / 3, unit="%")
        for setting in SETTINGS
        for where in COMBINATIONS
    ]  # fmt: skip


def one_reno(data: Data) -> list[Part]:
    """That it keeps the link fuller than CoDel and FQ-CoDel, and a shorter queue than others."""
    used = [
        Part(f"CP-AQM minus {other}, {RATES[rate]}", "",
             beside(data, rate, ONE_RENO, USED, OURS, other), 2.0, unit="points")
        for rate in FASTER[1:]
        for other in CODEL
    ]  # fmt: skip
    return [*used, *shorter(data, FASTER[1:], [ONE_RENO], ("tail drop", "PIE"))]


def sooner_full(data: Data) -> list[Part]:
    """That CoDel and FQ-CoDel fill the link to one Cubic flow with far less queue."""
    shares = [
        Part(f"{name}'s queue, {RATES[rate]}", "",
             share(data, rate, ONE_CUBIC, DELAY, name, OURS), high=60.0, unit="% of CP-AQM's")
        for rate in RATES
        for name in CODEL
    ]  # fmt: skip
    return [*shares, *full(data, list(RATES), [ONE_CUBIC], CODEL)]


def most_lost(data: Data) -> list[Part]:
    return [
        Part(f"CP-AQM minus {other}, {words(where)}", "",
             beside(data, "10", where, LOSS, OURS, other), 0.0, unit="points")
        for where in MANY_SHORT
        for other in OTHERS
    ]  # fmt: skip


def burst_lost(data: Data) -> list[Part]:
    return [
        Part(f"CP-AQM minus {other}, {flows} flows", "",
             data.difference("burst", "classes.burst.loss", {"flows": flows, "discipline": OURS},
                             {"flows": flows, "discipline": other}, scale=100), 0.0, unit="points")
        for flows in BURSTS[1:]
        for other in ("RED", "CoDel", "PIE", "GSP")
    ]  # fmt: skip


def full_after_step(data: Data) -> list[Part]:
    return [
        Part(f"{name}, 16 {NAMES[congestion]}", "",
             queue_in(data, {"congestion": congestion, "discipline": name}, TENTH), 250.0,
             unit="of 300 packets")
        for congestion in NAMES
        for name in (OURS, "tail drop")
    ]  # fmt: skip


def held_longer(data: Data) -> list[Part]:
    """That what follows the drain holds the queue, and others hold a shorter one."""
    parts = []
    for congestion in NAMES:
        where, said = {"congestion": congestion}, f"16 {NAMES[congestion]}"
        held = queue_in(data, {**where, "discipline": DRAIN}, TENTH)
        parts.append(Part(f"CP-AQM, {said}", "", held, high=75.0, unit="packets"))
        parts += [
            Part(f"CP-AQM minus {other}, {said}", "", queue_beside(data, where, DRAIN, other,
            TENTH),
                 0.0, unit="packets more")
            for other in ("RED", "CoDel", "PIE")
        ]  # fmt: skip
    return parts


def fading(data: Data) -> list[Part]:
    parts = []
    for congestion in NAMES:
        where = {"flows": 16, "congestion": congestion}
        for other in ("PIE", "GSP"):
            found = data.difference("cellular", DELAY, {**where, "discipline": DRAIN},
                                    {**where, "discipline": other})  # fmt: skip
            parts.append(Part(f"CP-AQM minus {other}, {words(where)}", "", found, 0.0, unit="ms"))
    return parts


WINS = (
    Statement(
        "**Unresponsive traffic, from 10 Mb/s on:** CP-AQM has the shortest queue of all, with a "
        "full link.",
        udp_shortest,
    ),
    Statement(
        "CoDel and GSP let the same traffic fill at least four fifths of the buffer for as long "
        "as it lasts. They drop more and more often, but their drop rate grows too slowly.",
        udp_fills,
    ),
    Statement(
        "**Sixteen flows on a short path at 10 Mb/s,** for which its parameters were chosen: "
        "CP-AQM has the shortest queue of all with a full link, whether or not the others have "
        "deep buffers.",
        lambda data: [
            *shorter(data, ["10", DEEP], MANY_SHORT, OTHERS),
            *full(data, ["10"], MANY_SHORT, [OURS]),
        ],
    ),
    Statement(
        "**Cubic on a short path at 100 Mb/s and 1 Gb/s:** CP-AQM has a full link with a shorter "
        "queue than tail drop, PIE and GSP.",
        lambda data: [
            *shorter(data, FASTER[1:], CUBIC_SHORT, ("tail drop", "PIE", "GSP")),
            *full(data, FASTER[1:], CUBIC_SHORT, [OURS]),
        ],
    ),
    Statement(
        "There, one New Reno flow uses at least two points more of the link than with CoDel and "
        "FQ-CoDel, with a shorter queue than with tail drop and PIE.",
        one_reno,
    ),
    Statement(
        "**Tail drop:** in every combination at every rate, CP-AQM's queue is at most two thirds "
        "of tail drop's.",
        shorter_than_tail_drop,
    ),
)

LOSES = (
    Statement(
        long_paths,
        lambda data: more_used(data, FASTER, [name for name in OTHERS if name != "RED"]),
    ),
    Statement(
        "There, CoDel and FQ-CoDel at 100 Mb/s, and FQ-CoDel at 1 Gb/s, also have a shorter queue.",
        lambda data: [
            *longer(data, ["100"], [LONG_RENO], CODEL),
            *longer(data, ["1000"], [LONG_RENO], CODEL[1:]),
        ],
    ),
    Statement(
        "There, sixteen flows lose packets together. At 100 Mb/s and 1 Gb/s, one event of loss "
        "affects more than eight of them, which is more than with any other discipline except "
        "RED.",
        together,
    ),
    Statement(
        "Other parameters do not help. At 100 Mb/s, a c_max of 1.05 or a T_c of 150 packets uses "
        "at most 93 % of the link with more than 8 ms of queue. A smaller bucket uses no more. A "
        "c_max of 1.01 uses at most 97 % with 15 ms of queue, as much as tail drop. CoDel uses "
        "98 % with at most 4 ms.",
        otherwise,
    ),
    Statement(
        "RED leaves as much idle because of its recommended average, over a second or ten round "
        "trips. With w_q = 0.002, max_p = 0.01 and spaced drops, it uses 95 % of the same link, "
        "with at most 2 ms of queue.",
        red_tuned,
    ),
    Statement(
        "**Short paths, compared with CoDel and FQ-CoDel:** with those, one Cubic flow fills the "
        "link at any rate with at most three fifths of CP-AQM's queue.",
        sooner_full,
    ),
    Statement(
        "From 100 Mb/s on, sixteen flows of either kind fill the link with a shorter queue under "
        "them.",
        lambda data: [
            *longer(data, FASTER[1:], MANY_SHORT, CODEL),
            *full(data, FASTER[1:], MANY_SHORT, CODEL),
        ],
    ),
    Statement(
        "**Slow links:** at 1 Mb/s, where T_c is 60 ms, CoDel, PIE and GSP have a shorter queue "
        "in every combination.",
        lambda data: longer(data, ["1"], COMBINATIONS, ("CoDel", "PIE", "GSP")),
    ),
    Statement(
        "**Losses:** the short queue of sixteen flows on a short path at 10 Mb/s costs more "
        "packets than that of any other discipline.",
        most_lost,
    ),
    Statement(
        "**A burst beside traffic:** four flows or more keep the bucket nearly empty. So a burst "
        "has no allowance, and loses more packets than with RED, CoDel, PIE or GSP. A single "
        "burst may fill the buffer (claim CP-14 of the paper) only if the link is idle.",
        burst_lost,
    ),
    Statement(
        "**Capacity that falls to a tenth:** if R_CA is the nominal rate, CP-AQM acts like tail "
        "drop.",
        full_after_step,
    ),
    Statement(
        'With `follow = "drain"`, it holds the queue. But T_c is a number of bytes, which take '
        "ten times as long, and RED, CoDel and PIE hold a shorter queue.",
        held_longer,
    ),
    Statement(
        "**A fading cell:** even if CP-AQM follows the drain, sixteen flows have a longer queue "
        "than with PIE and GSP.",
        fading,
    ),
)
