"""What the paper leaves open, single runs, and the options, with the numbers that bear them out."""

from __future__ import annotations

import math
from collections.abc import Mapping

from forebay import stats
from forebay.papers import Data, Part, Statement, Table
from forebay.papers.judge import verdict_of
from forebay.papers.points import MARKS, Measure, table

from .claims import JUDGED
from .parts import call_change, dearest, gains, more_done, ncq_7
from .points import (
    ARRIVING,
    BUFFERS,
    BULK,
    CALLS,
    FTP,
    LARGE_GOODPUT,
    MANY,
    RATING,
    SENSORS,
    SHORT,
    SMALL_GOODPUT,
    STATED_GAIN,
    TAKEN,
    TAKEN_SENSORS,
    TEXT,
    WORST_TIME,
    SensorView,
    View,
    choices,
    sensor_choices,
)
from .reasons import spread

OURS = "proposed"
DROPS = "a full buffer drops what arrives"
UNITS = {RATING: ("R", "", 1.0), SHORT: ("10 kB", "s", 1.0), BULK: ("bulk", "Mb/s", 1e-6)}


def open_choices(data: Data) -> list[Table]:
    rows = []
    views = [(str(view.choice), view) for view in choices(data)]
    views.append((DROPS, View(data, TAKEN, ARRIVING)))
    views += [(f"a buffer of {name}", View(data, TAKEN, each)) for name, each in BUFFERS.items()]
    for name, view in views:
        rows.append(
            [
                name,
                *(MARKS[verdict_of(judge(view))] for judge in JUDGED.values()),
                view.ratio(SMALL_GOODPUT, "10 %", 80),
                view.change(LARGE_GOODPUT, "10 %", 100),
                view.change(LARGE_GOODPUT, "short", 80),
            ]
        )
    head = ["choice", *JUDGED, "gain, 80 flows", "congestive, 100 flows, %",
            "100 kB flows, %"]  # fmt: skip
    return [Table(head, rows)]


def sensor_table(data: Data) -> list[Table]:
    views = [(str(view.choice), view) for view in sensor_choices(data)]
    views.append((DROPS, SensorView(data, TAKEN_SENSORS, ARRIVING)))
    rows = []
    for name, view in views:
        judged = ncq_7(view)
        good = sum(part.verdict == "reproduced" for part in judged)
        gains = [view.change(SENSORS, n) for n in view.flows[1:]]
        rows.append([name, f"{MARKS[verdict_of(judged)]}, {good} of {len(judged)}", *gains,
                     view.change(FTP, 50)])  # fmt: skip
    head = ["choice", "NCQ-7", *(f"sensors, {n} flows, %" for n in views[0][1].flows[1:]),
            "FTP, 50 flows, %"]  # fmt: skip
    return [Table(head, rows)]


def single_runs(data: Data) -> list[Table]:
    view = View(data)
    rows: list[tuple[str, float, list[float]]] = [
        ("gain of small flows, 80 flows, NCQ 5 %, times", STATED_GAIN,
         view.ratios(SMALL_GOODPUT, "10 %", 80)),
        ("goodput of congestive flows, 100 flows, NCQ 5 %, %", 7.6,
         [100 * (each - 1) for each in view.ratios(LARGE_GOODPUT, "10 %", 100)]),
        ("worst completion, 90 flows, NCQ 3 %, s", -24.8, worst(view)),
        ("tasks at 30.5 s, 50 flows, NCQ 1 %", 3.0, [float(each) for each in more_done(data)]),
    ]  # fmt: skip
    cells = []
    for name, stated, found in rows:
        one = stats.prediction(found)
        assert one is not None and one.low is not None and one.high is not None
        within = "yes" if one.low <= stated <= one.high else "no"
        cells.append([name, stated, f"{one.low:.3g} to {one.high:.3g}", within])
    return [Table(["number", "paper", "one run, 95 %", "paper's lies inside"], cells)]


def worst(view: View) -> list[float]:
    one, other = (
        dict(view.data.runs("ftp", view.at("10 %", 90, label))
             .select("replication", WORST_TIME).iter_rows())
        for label in ("NCQ 3 %", "drop-tail")
    )  # fmt: skip
    return [one[run] - other[run] for run in sorted(one)]


def less(
    data: Data, key: str, one: str, other: str, low: float = -math.inf, high: float = math.inf
) -> Part:
    """One variant less another, run by run."""
    what, unit, scale = UNITS[key]
    first, second = ({"discipline": each, "acks": 1} for each in (one, other))
    found = data.difference("ablation", key, first, second, scale=scale)
    return Part(f"{what}, {one} minus {other}", "", found, low, high, unit)


def fq_codel(data: Data) -> list[Part]:
    best = "FQ-CoDel"
    names = data.study("ablation").runs["discipline"].unique(maintain_order=True).to_list()
    return [
        part
        for name in names
        if name not in (best, "second level by marks")
        for part in (
            less(data, RATING, best, name, 0),
            less(data, SHORT, best, name, high=0),
            less(data, BULK, best, name, -0.27),
        )
    ]


SHIP = (
    Statement(
        "**Push out** matters most: priority in a queue is worth little to a packet that never "
        "joins the queue. Without it, R falls to its value with drop-tail.",
        lambda data: [
            less(data, RATING, OURS, "proposed, no push out", 10, 20),
            less(data, RATING, "proposed, no push out", "drop-tail", -2, 2),
        ],
    ),
    Statement(
        '**Flows** by rate and volume instead of packet size (the paper\'s "few long packets"): '
        "calls lose about three points of R, and short transfers with large packets gain.",
        lambda data: [
            less(data, RATING, OURS, "proposed, by size", -5, -1),
            less(data, SHORT, OURS, "proposed, by size", high=-0.1),
        ],
    ),
    Statement(
        "**A threshold of 0.05** instead of one from an accepted impact of 2 %: both small "
        "classes do better, at less than 1 % of the bulk transfers.",
        lambda data: [
            less(data, RATING, OURS, "proposed, impact 2 %", 0),
            less(data, SHORT, OURS, "proposed, impact 2 %", high=0),
            less(data, BULK, OURS, "proposed, impact 2 %", -0.09),
        ],
    ),
    Statement(
        "**Control packets**, because a lost SYN costs one or three seconds.",
        lambda data: [less(data, SHORT, OURS, "proposed, no control", high=0)],
    ),
    Statement(
        "**A second level by marks** (section 2): marked transfers end earlier than with NCQ "
        "alone.",
        lambda data: [less(data, SHORT, "second level by marks", "NCQ", high=0)],
    ),
    Statement(
        "If you can choose any discipline, FQ-CoDel is better. It is better than all rules of "
        "one level for calls and short transfers, at no more than 3 % of the bulk transfers.",
        fq_codel,
    ),
)
MIX: Mapping[str, Measure] = {
    "R of calls": (RATING, 1.0),
    "10 kB, s": (SHORT, 1.0),
    "bulk, Mb/s": (BULK, 1e-6),
    "back, Mb/s": ("classes.back.goodput_bps", 1e-6),
}


SHOWN = ("drop-tail", "NCQ", "+ push out", "+ flows", "+ ACKs", OURS,
         "second level by marks", "FQ-CoDel")  # fmt: skip


def ablation(data: Data) -> list[Table]:
    rows = [([label], {"discipline": label, "acks": 1}) for label in SHOWN]
    acks = [([f"{label}, delayed acknowledgments"], {"discipline": label, "acks": 2})
            for label in ("NCQ", "+ ACKs")]  # fmt: skip
    return [table(data, "ablation", ["discipline"], [*rows, *acks], MIX)]


def found(data: Data) -> str:
    """The page's beginning."""
    view = View(data)
    return TEXT["found"].format(
        gain=view.ratio(SMALL_GOODPUT, "10 %", 80).mean,
        worst=-dearest(data)[1].mean,
        cost=view.change(LARGE_GOODPUT, "10 %", 80).mean,
        gains=spread(gains(data)),
        sensors=SensorView(data).change(SENSORS, 50).mean,
        arriving=SensorView(data, TAKEN_SENSORS, ARRIVING).change(SENSORS, 50).mean,
        calls=call_change(data, MANY, CALLS, 50).mean,
    )
