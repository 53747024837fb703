"""The comparison that the authors of CP-AQM ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import (
    Claim,
    Data,
    Figure,
    Panel,
    Paper,
    Part,
    Quick,
    Region,
    Section,
    Series,
    Study,
    Table,
)
from forebay.papers.points import line
from forebay.stats import Interval, interval

DELAY = "queues.bottleneck.mean_delay_ms"
QUEUE = "queues.bottleneck.mean_packets"
USED = "links.bottleneck.utilization"
LOSS = "queues.bottleneck.loss"

OURS = "CP-AQM"
OTHERS = ("tail drop", "RED", "CoDel", "PIE", "GSP", "FQ-CoDel")
FOLLOWING = ("CP-AQM, follows the link", "CP-AQM, follows the drain")
SLOWER = ("1", "10", "100")
RATES = {"1": "1 Mb/s", "10": "10 Mb/s", "100": "100 Mb/s", "1000": "1 Gb/s"}
NAMES = {"new-reno": "New Reno", "cubic": "Cubic"}
COMBINATIONS = [
    {"flows": flows, "congestion": congestion, "delay": delay}
    for congestion in NAMES
    for flows in (1, 16)
    for delay in ("5ms", "50ms")
]
POINT = 0.5
"""Percentage points of utilization that count as a difference."""
SHARE = 0.05
"""Share of the queueing delay that counts as a difference."""


def text(name: str) -> str:
    """A part of the page, from a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


def words(where: Mapping[str, Any]) -> str:
    """A combination in words."""
    said = f"{where['flows']} {NAMES[where['congestion']]}"
    return said + (f", {where['delay'][:-2]} ms" if "delay" in where else "")


def matching(where: Mapping[str, Any]) -> pl.Expr:
    """Rows of a table that belong to a combination."""
    return pl.all_horizontal(pl.col(column) == value for column, value in where.items())


# Figures


def trade_off(data: Data, study: str, where: Mapping[str, Any]) -> Panel:
    """Mean queueing delay against utilization, with the joint confidence regions."""
    found = data.study(study).regions(DELAY, USED).filter(matching(where))
    order = (OURS, *OTHERS, *FOLLOWING)
    regions = [
        Region(row["discipline"], row["x"], 100 * row["y"], row["xx"], _times(row["xy"], 100),
               _times(row["yy"], 1e4))
        for row in sorted(
            found.iter_rows(named=True), key=lambda row: order.index(row["discipline"])
        )
    ]  # fmt: skip
    # Hundredths of a percent are not to look like much.
    near = all(region.y > 98 for region in regions)
    return Panel(words(where), "mean time in the queue, ms", "utilization, %", regions=regions,
                 y_range=(97.9, 100.1) if near else None)  # fmt: skip


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def eight(study: str) -> Any:
    """A panel for each combination."""
    return lambda data: [trade_off(data, study, where) for where in COMBINATIONS]


def cell_phone(data: Data) -> list[Panel]:
    return [
        trade_off(data, "cellular", {"flows": flows, "congestion": congestion})
        for congestion in NAMES
        for flows in (1, 16)
    ]


def unresponsive(data: Data) -> list[Panel]:
    bars = []
    for name in (OURS, *OTHERS):
        found = [data.interval(f"udp-{rate}", DELAY, {"discipline": name}) for rate in RATES]
        bars.append(line(name, list(RATES.values()), found, "bars"))
    return [Panel("", "rate of the link", "mean time in the queue, ms", bars, y_log=True)]


def over_time(
    data: Data, study: str, where: Mapping[str, Any], names: Sequence[str], title: str,
    span: tuple[float, float],
) -> Panel:  # fmt: skip
    """The queue over time, averaged over the replications."""
    table = (
        data.table(study, "queue")
        .filter(matching(where) & (pl.col("link") == "bottleneck"))
        .filter(pl.col("time_s").is_between(*span))
        .group_by("discipline", "time_s")
        .agg(pl.col("mean_packets").mean())
        .sort("time_s")
    )
    series = [
        Series(name, one["time_s"].to_list(), one["mean_packets"].to_list())
        for name in names
        if not (one := table.filter(pl.col("discipline") == name)).is_empty()
    ]
    return Panel(title, "time, s", "queue, packets", series, x_range=span)


def steps(data: Data) -> list[Panel]:
    return [
        over_time(data, "step", {"congestion": congestion}, names,
                  f"16 {NAMES[congestion]}: {title}", (25.0, 70.0))
        for congestion in NAMES
        for names, title in (
            ((OURS, *FOLLOWING), "CP-AQM"),
            ((OURS, *OTHERS, FOLLOWING[1]), "all"),
        )
    ]  # fmt: skip


def bursts(data: Data) -> list[Panel]:
    return [
        over_time(data, "burst", {"flows": flows}, (OURS, *OTHERS), f"{flows} Cubic",
                  (29.8, 31.5))
        for flows in (1, 4, 16)
    ]  # fmt: skip


# Tables


def outcome(data: Data, study: str, where: Mapping[str, Any], other: str) -> str:
    """What CP-AQM is beside another: better, worse, a trade-off, or equal.

    By paired differences: a difference counts if its interval excludes zero and it is large enough
    to matter.
    """

    def sign(key: str, scale: float, least: float) -> int:
        found = data.difference(
            study,
            key,
            {**where, "discipline": OURS},
            {**where, "discipline": other},
            scale=scale,
        )
        if not found.excludes_zero or abs(found.mean) < least:
            return 0
        return 1 if found.mean > 0 else -1

    reference = data.interval(study, DELAY, {**where, "discipline": other}).mean
    shorter, more = -sign(DELAY, 1.0, SHARE * reference), sign(USED, 100.0, POINT)
    if shorter * more < 0:
        return "trade-off"
    return {1: "**better**", 0: "equal", -1: "worse"}[max(-1, min(1, shorter + more))]


def summary(data: Data, studies: Mapping[str, str]) -> list[Table]:
    return [
        Table(
            ["CP-AQM is", *(f"than {other}" for other in OTHERS)],
            [
                [words(where), *(outcome(data, study, where, other) for other in OTHERS)]
                for where in COMBINATIONS
            ],
            word,
        )
        for study, word in studies.items()
    ]


def numbers(data: Data, studies: Mapping[str, str]) -> list[Table]:
    return [
        Table(
            ["flows", OURS, *OTHERS],
            [
                [
                    words(where),
                    *(
                        data.interval(study, key, {**where, "discipline": name}, scale=scale)
                        for name in (OURS, *OTHERS)
                    ),
                ]
                for where in COMBINATIONS
            ],
            f"{word}: {what}",
        )
        for study, word in studies.items()
        for key, scale, what in (
            (DELAY, 1.0, "mean time in the queue, ms"),
            (USED, 100.0, "utilization, %"),
        )
    ]


def cell_numbers(data: Data) -> list[Table]:
    rows = []
    for congestion in NAMES:
        for flows in (1, 16):
            where = {"flows": flows, "congestion": congestion}
            rows += [
                [
                    words(where),
                    name,
                    data.interval("cellular", DELAY, {**where, "discipline": name}),
                    data.interval("cellular", "queues.bottleneck.p99_delay_ms",
                                  {**where, "discipline": name}),
                    data.interval("cellular", USED, {**where, "discipline": name}, scale=100),
                ]
                for name in (OURS, FOLLOWING[1], *OTHERS)
            ]  # fmt: skip
    head = ["flows", "discipline", "mean time in the queue, ms", "99 %, ms", "utilization, %"]
    return [Table(head, rows)]


def absorbed(data: Data) -> list[Table]:
    """What becomes of the burst, and when the queue is as before."""
    rows = []
    table = data.table("burst", "queue").filter(pl.col("link") == "bottleneck")
    for flows in (1, 4, 16):
        for name in (OURS, *OTHERS):
            where = {"flows": flows, "discipline": name}
            mean = (
                table.filter(matching(where))
                .group_by("time_s")
                .agg(pl.col("mean_packets").mean())
                .sort("time_s")
            )
            before = mean.filter(pl.col("time_s").is_between(20.0, 30.0))["mean_packets"].mean()
            after = mean.filter(pl.col("time_s") > 30.02)
            back = after.filter(pl.col("mean_packets") <= before)["time_s"].min()
            rows.append(
                [
                    f"{flows} Cubic",
                    name,
                    data.interval("burst", "classes.burst.loss", where, scale=100),
                    data.interval("burst", "classes.burst.max_delay_ms", where),
                    None if back is None else round(1000 * (float(str(back)) - 30.0)),
                ]
            )
    head = ["flows", "discipline", "of the burst lost, %", "largest delay of the burst, ms",
            "queue as before after, ms"]  # fmt: skip
    return [Table(head, rows)]


def losses(data: Data) -> list[Table]:
    rows = [
        [
            word,
            *(
                data.interval(f"udp-{rate}", QUEUE, {"discipline": name})
                for name in (OURS, *OTHERS)
            ),
        ]
        for rate, word in RATES.items()
    ]
    return [Table(["rate", OURS, *OTHERS], rows, "Average queue, packets")]


# Claims


def phase(data: Data, congestion: str, name: str) -> Interval:
    """Mean queue from 5 s after the step down until the step up, over the replications."""
    table = data.table("step", "queue").filter(
        (pl.col("link") == "bottleneck")
        & (pl.col("congestion") == congestion)
        & (pl.col("discipline") == name)
        & pl.col("time_s").is_between(35.0, 60.0)
    )
    runs = table.group_by("replication").agg(pl.col("mean_packets").mean())
    found = interval(runs["mean_packets"].to_list())
    assert found is not None
    return found


def held(data: Data) -> list[Part]:
    return [
        Part(f"queue at 10 Mb/s, 16 {NAMES[congestion]} and 5 Mb/s of UDP, {name}", said,
             phase(data, congestion, name), low, high, "packets")
        for congestion in NAMES
        for name, said, low, high in (
            (OURS, "R_CA = 100 Mb/s polices nothing: full", 250.0, 300.0),
            (FOLLOWING[0], "held near T_c = 50", 25.0, 75.0),
            (FOLLOWING[1], "held near T_c = 50", 25.0, 75.0),
        )
    ]  # fmt: skip


def intriguing(data: Data) -> list[Part]:
    parts = []
    for rate, word in RATES.items():
        for other in OTHERS:
            found = data.difference(
                f"udp-{rate}", DELAY, {"discipline": other}, {"discipline": OURS}
            )
            parts.append(Part(f"{word}: {other} - CP-AQM", "longer than CP-AQM's", found, 0.0,
                              unit="ms"))  # fmt: skip
    return parts


def unresponsive_why(data: Data) -> str:
    at = {
        threshold: data.interval("threshold", DELAY, {"discipline": threshold}).mean
        for threshold in ("0p", "1p", "2p", "5p")
    }
    said = ", ".join(f"{mean:.3g} ms with T_c = {name[:-1]}" for name, mean in at.items())
    return (
        "At 1 Mb/s the recommended five packets are 60 ms, above the target of the others: "
        f"{said}. The paper's recommendation is one for 10 Mb/s."
    )


def mostly_full_why(data: Data) -> str:
    def used(rate: str, where: Mapping[str, Any], name: str) -> float:
        return data.interval(f"tcp-{rate}", USED, {**where, "discipline": name}, scale=100).mean

    many = [(rate, where) for rate in SLOWER for where in COMBINATIONS if where["flows"] == 16]
    rate, where = min(many, key=lambda each: used(each[0], each[1], OURS))
    said = ", ".join(f"{used(rate, where, name):.3g} % with {name}" for name in (OURS, *OTHERS))
    long = {"flows": 16, "congestion": "new-reno", "delay": "50ms"}
    return (
        "Several flows lose packets at once when the bucket runs empty, and halve together; on a "
        f"long path the short queue does not outlast that. The least is at {RATES[rate]}, "
        f"{words(where)}: {said}. At 10 Mb/s, {words(long)}, it is {used('10', long, OURS):.3g} %, "
        "where the paper states 95 %."
    )


def mostly_full(data: Data, rates: Sequence[str]) -> list[Part]:
    return [
        Part(f"{word}: utilization, {words(where)}", "mostly full",
             data.interval(f"tcp-{rate}", USED, {**where, "discipline": OURS}, scale=100), 95.0,
             unit="%")
        for rate, word in RATES.items()
        if rate in rates
        for where in COMBINATIONS
        if where["flows"] == 16
    ]  # fmt: skip


SHORT = {"duration": "30s"}
TCP = tuple(f"tcp-{rate}" for rate in RATES)
UDP = tuple(f"udp-{rate}" for rate in RATES)
FAST = {"tcp-1000": "1 Gb/s"}
SLOW = {f"tcp-{rate}": RATES[rate] for rate in SLOWER}
SLOW["deep"] = "10 Mb/s, the others with room for 1000 packets"

PAPER = Paper(
    title="CP-AQM beside RED, CoDel, PIE, GSP and FQ-CoDel",
    citation=(
        "The conclusion of the [CP-AQM paper](cp-aqm.md) asks for a comparison with other AQM "
        "mechanisms, at other bandwidths, and for bandwidth that varies. This page is that."
    ),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        *(Study(f"udp-{rate}", f"udp-{rate}.toml", Quick(2, {"duration": "8s"}))
          for rate in RATES),
        Study("threshold", "threshold.toml", Quick(2, {"duration": "8s"})),
        Study("burst", "burst.toml", Quick(2), ("queue",)),
        Study("cellular", "cellular.toml", Quick(2, SHORT)),
        Study("step", "step.toml", Quick(1), ("queue",)),
        *(Study(f"tcp-{rate}", f"tcp-{rate}.toml", Quick(1, SHORT)) for rate in list(RATES)[:3]),
        Study("tcp-1000", "tcp-1000.toml", Quick(1, axes={"length": ["15s"]})),
        Study("deep", "deep.toml", Quick(2, SHORT)),
    ),
    figures=(
        *(Figure(str(number), f"Queue against utilization at {word}, with the 95 % regions of both "
                 "means.", eight(f"tcp-{rate}"), (f"tcp-{rate}",))
          for number, (rate, word) in enumerate(RATES.items(), 1)),
        Figure("5", "Queue against utilization at 10 Mb/s, the others with room for 1000 packets.",
               eight("deep"), ("deep",)),
        Figure("6", "Unresponsive traffic of 1.5 times the link's rate, at exponential intervals.",
               unresponsive, UDP),
        Figure("7", "Capacity of 100 Mb/s, from 30 s on 10 Mb/s, from 60 s on 100 Mb/s; 16 TCP "
               "flows and 5 Mb/s of UDP. Means over the replications.", steps, ("step",)),
        Figure("8", "A fading cell, 5.3 Mb/s on the mean: queue against utilization.", cell_phone,
               ("cellular",)),
        Figure("9", "30 packets at 1 Gb/s join TCP flows on 10 Mb/s at 30 s. Means over the "
               "replications.", bursts, ("burst",)),
    ),
    claims=(
        Claim("V-1", "It is unclear whether CP-AQM can be extended to cope with varying bandwidth. "
              "(With R_CA following the link's rate or the drain, the queue is held through a step "
              "from 100 to 10 Mb/s.)", held, ("step",)),
        Claim("V-2", "The most intriguing feature: queue lengths very short for persistent "
              "non-responsive traffic. (Shorter than any other's.)", intriguing,
              (*UDP, "threshold"), unresponsive_why),
        Claim("V-3", "... while allowing mostly full utilization for TCP traffic. (At least 95 % "
              "with 16 flows, up to 100 Mb/s.)", lambda data: mostly_full(data, SLOWER), TCP[:3],
              mostly_full_why),
        Claim("V-4", "The same at 1 Gb/s.", lambda data: mostly_full(data, ["1000"]), TCP[3:]),
    ),
    sections=(
        Section("Where CP-AQM wins and where it does not", text("wins.md"),
                lambda data: summary(data, SLOW), tuple(SLOW)),
        Section("At 1 Gb/s", "", lambda data: summary(data, FAST) + numbers(data, FAST),
                tuple(FAST)),
        Section("A burst beside traffic", "When the mean over 40 replications is back at the mean "
                "of the ten seconds before. At 10 Mb/s 30 packets take 36 ms.", absorbed,
                ("burst",)),
        Section("A fading cell", "The allowance of CP-AQM is the trace's mean rate, or follows the "
                "drain.", cell_numbers, ("cellular",)),
        Section("Unresponsive traffic", "", losses, UDP),
        Section("All numbers", "", lambda data: numbers(data, SLOW), tuple(SLOW)),
    ),
)  # fmt: skip
