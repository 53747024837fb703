"""Amicable strict priority queuing (ASPQ): figures 5 and 6, table I, and what lies beyond."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from forebay.papers import (
    Claim,
    Data,
    Figure,
    Panel,
    Paper,
    Part,
    Quick,
    Section,
    Series,
    Study,
    Table,
)
from forebay.stats import Interval, interval
from forebay.sweep.axes import quantity

LOW_BITS = 800e6


def average_goodput(run: Mapping[str, Any]) -> float:
    """Average goodput of the low-priority transfer of 100 MB, in kbit/s."""
    return LOW_BITS / 1000 / float(run["classes.low.mean_completion_s"])


Key = str | Callable[[Mapping[str, Any]], float | None]
"""A measure, or what is made of the measures of a run."""


@cache
def runs(data: Data, study: str) -> list[dict[str, Any]]:
    """The runs of a study as plain rows, for there are a thousand small questions to them."""
    return data.study(study).runs.to_dicts()


def samples(data: Data, study: str, key: Key, where: Mapping[str, Any]) -> dict[int, float | None]:
    """A measure of every replication of a point."""
    chosen = [
        run
        for run in runs(data, study)
        if all(run[column] == value for column, value in where.items())
    ]
    if len({run["point"] for run in chosen}) != 1:
        raise KeyError(f"{study}: {dict(where)} is not one point")
    return {run["replication"]: run[key] if isinstance(key, str) else key(run) for run in chosen}


def known(values: Sequence[float | None], scale: float = 1.0) -> Interval:
    """The interval of those that were measured."""
    found = interval([scale * each for each in values if each is not None])
    if found is None:
        raise KeyError("nothing was measured")
    return found


def measured(
    data: Data, study: str, key: Key, where: Mapping[str, Any], scale: float = 1.0
) -> Interval:
    """Mean and interval of a measure at a point."""
    return known(list(samples(data, study, key, where).values()), scale)


def changed(
    data: Data,
    study: str,
    key: Key,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    scale: float = 1.0,
) -> Interval:
    """Mean and interval of `first - second`, paired replication by replication."""
    one, other = samples(data, study, key, first), samples(data, study, key, second)
    pairs = [(one[each], other[each]) for each in one if each in other]
    return known([a - b for a, b in pairs if a is not None and b is not None], scale)


DELAYS = [f"{delay}ms" for delay in range(10, 101, 10)]
RTTS = [30, 50, 70, 90, 110, 130, 150, 170, 190, 210]
"""Round-trip times of table I, as the paper writes them, in ms."""
TABLE_ASPQ = [
    4720.96, 4714.18, 4706.94, 4699.23, 4596.41, 4214.85, 3982.6, 3613.62, 3373.72, 3163.19,
]  # fmt: skip
TABLE_SPQ = [
    4716.42, 4686.63, 4628.15, 4542.95, 4364.91, 3987.26, 3759.93, 3358.5, 3092.56, 2869.17,
]  # fmt: skip

LINK = 10e6 * 1000 / 1054
"""Payload that the bottleneck carries, in bit/s: 1000 bytes in a frame of 1054."""
STEP = 0.05
"""Interval of the time series, in s."""
ROUND_TRIP = 2 * 4 * 5e-3
"""Round-trip time of figure 5's paths, without transmission, in s."""


def goodput(data: Data, delay: str, box: str) -> Interval:
    """Goodput of one row of table I."""
    return measured(data, "table1", average_goodput, {"delay": delay, "box": box})


def gain(data: Data, delay: str) -> Interval:
    """ASPQ's goodput less SPQ's."""
    return changed(
        data,
        "table1",
        average_goodput,
        {"delay": delay, "box": "aspq"},
        {"delay": delay, "box": "none"},
    )


def shown(data: Data) -> list[str]:
    """The delays that were run; a quick run has fewer."""
    ran = {run["delay"] for run in runs(data, "table1")}
    return [delay for delay in DELAYS if delay in ran]


def rtt(delay: str) -> int:
    """The round-trip time that the paper gives a delay of the low sender's link."""
    return RTTS[DELAYS.index(delay)]


def line(label: str, x: Sequence[float], found: Sequence[Interval]) -> Series:
    """A series of intervals."""
    return Series(
        label, x, [each.mean for each in found], [each.low for each in found],
        [each.high for each in found],
    )  # fmt: skip


def figure_6(data: Data) -> list[Panel]:
    """Goodput and its difference over the round-trip time."""
    delays = shown(data)
    x = [rtt(delay) for delay in delays]
    return [
        Panel(
            "Difference", "RTT, ms", "goodput ASPQ - SPQ, kbit/s",
            [line("ours", x, [gain(data, delay) for delay in delays]),
             Series("table I", RTTS,
                    [a - s for a, s in zip(TABLE_ASPQ, TABLE_SPQ, strict=True)], stated=True)],
        ),
        Panel(
            "Average goodput", "RTT, ms", "goodput, kbit/s",
            [line("ASPQ", x, [goodput(data, delay, "aspq") for delay in delays]),
             line("SPQ", x, [goodput(data, delay, "none") for delay in delays]),
             Series("table I", RTTS + RTTS, TABLE_ASPQ + TABLE_SPQ, stated=True)],
        ),
    ]  # fmt: skip


def around_the_end(data: Data, box: str, before: float, after: float) -> list[pl.DataFrame]:
    """Time from the end of the high transfer in s, and the low one's throughput in bit/s, run by
    run. The end is that of the last interval in which high-priority data arrived."""
    runs = []
    table = data.table("figure5", "class").filter(pl.col("box") == box)
    for (_,), run in table.group_by("replication", maintain_order=True):
        high = run.filter((pl.col("class") == "high") & (pl.col("throughput_bps") > 0))
        end = high["time_s"].max()
        low = run.filter(pl.col("class") == "low").with_columns(at=pl.col("time_s") - end)
        runs.append(low.filter(pl.col("at").is_between(before, after)))
    return runs


def figure_5(data: Data) -> list[Panel]:
    """Throughput of the low transfer around the end of the high one."""
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        run = around_the_end(data, box, -1.0, 4.0)[0]
        rate = [each / 1e6 for each in run["throughput_bps"]]
        drawn.append(Series(label, run["at"].to_list(), rate, style="steps"))
    return [
        Panel("", "time from the end of the high-priority transfer, s", "throughput, Mbit/s", drawn)
    ]


def windows(data: Data) -> list[Panel]:
    """Congestion windows over the whole run."""
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        run = data.table("figure5", "class").filter(
            (pl.col("box") == box) & (pl.col("class") == "low") & (pl.col("replication") == 1)
        )
        run = run.filter(pl.col("cwnd_bytes").is_finite())[::4]
        drawn.append(
            Series(label, run["time_s"].to_list(), [each / 1000 for each in run["cwnd_bytes"]])
        )
    return [Panel("", "time, s", "congestion window, segments", drawn)]


def r2_figure(data: Data) -> list[Panel]:
    """How often the low connection survives, over the length of the high transfer."""
    sizes = list(dict.fromkeys(run["traffic.high.size"] for run in runs(data, "r2")))
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        ended = [
            measured(data, "r2", "classes.low.aborted", {"box": box, "traffic.high.size": size})
            for size in sizes
        ]
        length = [
            measured(
                data,
                "r2",
                "classes.high.mean_completion_s",
                {"box": box, "traffic.high.size": size},
            ).mean
            for size in sizes
        ]
        drawn.append(Series(label, length, [100 * (1 - each.mean) for each in ended]))
    return [
        Panel("", "length of the high-priority transfer, s", "low connections that survive, %",
              drawn, y_range=(-5, 105)),
    ]  # fmt: skip


def claim_1(data: Data) -> list[Part]:
    """Every row of table I within 5 %."""
    parts = []
    for delay in shown(data):
        row = RTTS.index(rtt(delay))
        for label, box, stated in (
            ("ASPQ", "aspq", TABLE_ASPQ[row]),
            ("SPQ", "none", TABLE_SPQ[row]),
        ):
            found = goodput(data, delay, box)
            paper = f"{stated} kbit/s, within 5 %"
            parts.append(
                Part(f"{label}, RTT {rtt(delay)} ms", paper, found, 0.95 * stated, 1.05 * stated,
                     "kbit/s")
            )  # fmt: skip
    return parts


def growth(data: Data, first: str, last: str) -> Interval:
    """How much larger the difference is at one delay than at another."""
    gains = []
    for delay in (first, last):
        aspq = samples(data, "table1", average_goodput, {"delay": delay, "box": "aspq"})
        spq = samples(data, "table1", average_goodput, {"delay": delay, "box": "none"})
        gains.append([(aspq[each] or 0.0) - (spq[each] or 0.0) for each in aspq])
    return known([b - a for a, b in zip(*gains, strict=True)])


def claim_2(data: Data) -> list[Part]:
    """The difference is positive, and grows over both halves of the range."""
    delays = shown(data)
    parts = [
        Part(f"ASPQ - SPQ, RTT {rtt(delay)} ms", "positive", gain(data, delay), 0.0,
             unit="kbit/s")
        for delay in delays
    ]  # fmt: skip
    for first, last, stated in (("10ms", "50ms", 227.0), ("50ms", "100ms", 62.5)):
        what = f"growth from RTT {rtt(first)} to {rtt(last)} ms"
        paper = f"it grows ({stated} kbit/s)"
        parts.append(Part(what, paper, growth(data, first, last), 0.0, unit="kbit/s"))
    return parts


def claim_3(data: Data) -> list[Part]:
    """ASPQ is back within two round trips; SPQ bursts, then starts slowly."""

    def over(
        box: str, first: float, last: float, take: Callable[[pl.Series], Any]
    ) -> Interval | None:
        values = []
        for run in around_the_end(data, box, first, last + 1e-9):
            values.append(100 * take(run["throughput_bps"]) / LINK)
        return interval(values)

    # Intervals are 50 ms long and two round trips with transmission and queueing about 90 ms; the
    # end is known to one interval.
    back = 3 * STEP
    return [
        Part("ASPQ, least throughput of any 50 ms, from 150 ms to 5 s after the end",
             "at least 90 % of the link", over("aspq", back, 5.0, lambda rate: rate.min()), 90.0,
             unit="%"),
        Part("SPQ, highest throughput of any 50 ms in the first 300 ms",
             "a short burst that fills the link", over("none", STEP, 0.3, lambda rate: rate.max()),
             90.0, unit="%"),
        Part("SPQ, mean from 0.3 to 0.8 s", "below 90 %: it starts slowly",
             over("none", 0.3, 0.8, lambda rate: rate.mean()), high=90.0, unit="%"),
    ]  # fmt: skip


def unanswered(run: Mapping[str, Any]) -> float:
    """Window probes that the controller did not answer."""
    return float(run["classes.low.probes"] - run["boxes.trunk.probes_answered"])


def claim_4(data: Data) -> list[Part]:
    """A frozen sender only probes."""
    where = {"box": "aspq"}
    low = "classes.low."
    spread = []
    for (_,), run in (
        data.table("figure5", "class")
        .filter((pl.col("box") == "aspq") & (pl.col("class") == "low"))
        .group_by("replication", maintain_order=True)
    ):
        # The high transfer lasts from 2 s to about 87 s.
        frozen = run.filter(pl.col("time_s").is_between(5.0, 80.0))
        spread.append(float(np.ptp(frozen["cwnd_bytes"].to_numpy())))
    return [
        Part("timeouts", "none", measured(data, "figure5", low + "timeouts", where), 0, 0),
        Part("retransmissions", "none",
             measured(data, "figure5", low + "retransmissions", where), 0, 0),
        Part("change of its congestion window from 5 s to 80 s", "none", interval(spread), 0, 0,
             "B"),
        Part("window probes", "the only packets: some", measured(data, "figure5", low + "probes",
             where), 1),
        Part("probes that the controller did not answer", "none",
             measured(data, "figure5", unanswered, where), 0, 0),
    ]  # fmt: skip


def claim_5(data: Data) -> list[Part]:
    """A high transfer longer than R2 ends the low connection under SPQ only."""
    # 1 + 2 + 4 + 8 + 16 + 32 s until the sixth timeout.
    sizes = [
        size
        for size in ("100MB", "150MB")
        if size in {run["traffic.high.size"] for run in runs(data, "r2")}
    ]
    parts = []
    for size in sizes:
        for label, box, count in (("SPQ", "none", 1), ("ASPQ", "aspq", 0)):
            found = measured(
                data, "r2", "classes.low.aborted", {"box": box, "traffic.high.size": size}
            )
            what = f"{label}, low connections given up, {size} of high-priority data"
            parts.append(Part(what, "ended" if count else "alive", found, count, count))
    return parts


def lost(aspq: float, spq: float) -> float:
    """Time in s by which SPQ's transfer is longer, from both goodputs in kbit/s."""
    return LOW_BITS / 1000 * (1 / spq - 1 / aspq)


def why_2(data: Data) -> str:
    """Where the difference stops growing, and how long a slow start from two segments takes."""
    words = []
    for delay, window in (("50ms", 125), ("100ms", 131)):
        row = DELAYS.index(delay)
        aspq, spq = goodput(data, delay, "aspq").mean, goodput(data, delay, "none").mean
        # Half a segment a round trip from nearly nothing to the window, which half is lost of.
        linear = window * (2 * int(delay[:-2]) + 12) / 1000
        words.append(
            f"at {RTTS[row]} ms {lost(aspq, spq):.1f} s here, "
            f"{lost(TABLE_ASPQ[row], TABLE_SPQ[row]):.1f} s in table I, {linear:.1f} s by "
            "calculation"
        )
    peak = max((gain(data, delay).mean, rtt(delay)) for delay in shown(data))
    return (
        "The difference is positive everywhere, but largest in the middle "
        f"({peak[0]:.0f} kbit/s at {peak[1]} ms). What SPQ loses is the time in which the window "
        "grows again from two segments by half a segment a round trip, about the window times the "
        f"round-trip time: {words[0]}; {words[1]}. Beyond about 105 ms the receiver's 128 KiB "
        "limit the window and both transfers become longer, so that the same loss counts for less. "
        "The paper's SPQ loses less than a start from two segments can at round-trip times below "
        "170 ms; its text does not say why. Its own column is not monotonic either (231.5, 227.6 "
        "and 222.7 kbit/s at 110, 130 and 150 ms). A sender after RFC 5681, whose threshold is "
        'held at repeated timeouts, loses far less at any round-trip time (section "What the '
        "readings change\"): the paper's lies between the two."
    )


def table_1(data: Data) -> list[Table]:
    """Table I, row by row."""
    rows = []
    for delay in shown(data):
        row = RTTS.index(rtt(delay))
        aspq, spq = goodput(data, delay, "aspq"), goodput(data, delay, "none")
        rows.append([
            rtt(delay), TABLE_ASPQ[row], aspq, _percent(aspq.mean, TABLE_ASPQ[row]),
            TABLE_SPQ[row], spq, _percent(spq.mean, TABLE_SPQ[row]),
            round(TABLE_ASPQ[row] - TABLE_SPQ[row], 2), gain(data, delay),
        ])  # fmt: skip
    return [
        Table(
            ["RTT, ms", "ASPQ, paper", "ours", "", "SPQ, paper", "ours", "",
             "difference, paper", "ours"],
            rows,
            text="Average goodput of the low-priority transfer in kbit/s.",
        )
    ]  # fmt: skip


def _percent(ours: float, theirs: float) -> str:
    return f"{100 * (ours / theirs - 1):+.1f} %"


def gaps(data: Data) -> list[Table]:
    """What the reading of the topology and of the sender's TCP changes."""
    rows = []
    for exit_delay, title in (("0ms", "three links of 2 ms: RTT 2 d + 8 ms"),
                              ("2ms", "four: 2 d + 12 ms")):  # fmt: skip
        for delay in ("10ms", "50ms", "100ms"):
            row = DELAYS.index(delay)
            found = []
            for box, stated in (("aspq", TABLE_ASPQ[row]), ("none", TABLE_SPQ[row])):
                where = {"link.low-exit.delay": exit_delay, "delay": delay, "box": box}
                each = measured(data, "rtt", average_goodput, where)
                found += [each, _percent(each.mean, stated)]
            rows.append([title, delay, *found])
    heads = ["ASPQ", "", "SPQ", ""]
    places = Table(["Receivers behind", "d", *heads], rows, "Topology")
    rows = []
    for kind in ("rfc2581", "new-reno", "cubic"):
        for delay in ("10ms", "50ms", "100ms"):
            row = DELAYS.index(delay)
            found = []
            for box, stated in (("aspq", TABLE_ASPQ[row]), ("none", TABLE_SPQ[row])):
                where = {"congestion": kind, "delay": delay, "box": box}
                each = measured(data, "tcp", average_goodput, where)
                found += [each, _percent(each.mean, stated)]
            rows.append([kind, delay, *found])
    return [places, Table(["Congestion control", "d", *heads], rows, "TCP")]


PLACES = {
    ("10Mbit", 0.0, "true", "files"): "10 Mbit/s, 40 ms; high: TCP, 20 MB",
    ("100Mbit", 0.0, "true", "files"): "100 Mbit/s, 100 ms; high: TCP, 200 MB",
    ("100Mbit", 0.0, "false", "files"): "The same, without restart after idle times",
    ("100Mbit", 0.2, "true", "files"): "The same with restart, 20 % of ACKs lost before the sender",
    ("10Mbit", 0.0, "true", "cbr"): "10 Mbit/s, 40 ms; high: UDP, 8 Mbit/s for 15 s",
}


def box_label(written: str) -> str:
    """A box in words."""
    block = json.loads(written)
    if block["kind"] == "none":
        return "SPQ"
    options = [f"{name.replace('_', ' ')} {value}" for name, value in block.items()
               if name != "kind"]  # fmt: skip
    return "ASPQ, " + ", ".join(options) if options else "ASPQ, plain"


PLACE = (
    "link.bottleneck.rate", "link.low-access.reverse.loss", "tcp.slow_start_after_idle",
    "traffic.high",
)  # fmt: skip


def ablation(data: Data) -> list[Table]:
    """The options, one by one."""
    ran = runs(data, "options")
    tables = []
    for place in dict.fromkeys(tuple(run[name] for name in PLACE) for run in ran):
        rows = []
        for box in dict.fromkeys(run["box"] for run in ran):
            where = {**dict(zip(PLACE, place, strict=True)), "box": box}
            keys = ("mean_completion_s", "timeouts", "retransmissions", "dropped")
            found = [measured(data, "options", f"classes.low.{key}", where) for key in keys]
            rows.append([box_label(box), *found])
        heads = ["Box", "low transfer takes, s", "timeouts", "sent again", "dropped"]
        *key, high = place
        tables.append(Table(heads, rows, PLACES[(*key, json.loads(high)["kind"])]))
    return tables


VARIANTS = ("SPQ", "ASPQ", "ASPQ, idle timeout 100 ms", "DRR, a tenth for low")


def variant_of(written_queue: str, written_box: str) -> str:
    """Which variant a point of the on/off studies is."""
    queue, box = json.loads(written_queue), json.loads(written_box)
    if queue["kind"] == "drr":
        return VARIANTS[3]
    if box["kind"] == "none":
        return VARIANTS[0]
    return VARIANTS[2] if "idle_timeout" in box else VARIANTS[1]


LOW = "classes.low.goodput_bps"
QUEUE_AND_BOX = ("dumbbell.queue", "dumbbell.box")


def base(written: Any) -> float:
    """A quantity of a study in base units."""
    found = quantity(written)
    assert found is not None, written
    return found[0]


def cells(data: Data, study: str) -> list[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """Every traffic of an on/off study: (its columns, point of each variant)."""
    columns = data.study(study).runs.columns
    axes = [name for name in columns[1 : columns.index("discipline")] if name not in QUEUE_AND_BOX]
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for run in runs(data, study):
        variants = found.setdefault(tuple(run[name] for name in axes), {})
        where = {name: run[name] for name in (*axes, *QUEUE_AND_BOX)}
        variants.setdefault(variant_of(*(run[name] for name in QUEUE_AND_BOX)), where)
    return [(dict(zip(axes, key, strict=True)), variants) for key, variants in found.items()]


def curves(
    data: Data,
    study: str,
    chosen: Sequence[tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]],
    x: Callable[[Mapping[str, Any]], float],
) -> list[Series]:
    """Goodput of the low flows under each variant, over what `x` makes of the traffic."""
    drawn = []
    for variant in VARIANTS:
        found = [measured(data, study, LOW, variants[variant], scale=1e-6)
                 for _, variants in chosen]  # fmt: skip
        drawn.append(line(variant, [x(traffic) for traffic, _ in chosen], found))
    return drawn


GOODPUT_LABEL = "goodput of all low flows, Mbit/s"


def period_panels(data: Data) -> list[Panel]:
    """Goodput of the low flow over the period of the high-priority traffic."""
    panels = []
    everything = cells(data, "periods")
    for load in dict.fromkeys(traffic["load"] for traffic, _ in everything):
        chosen = [cell for cell in everything if cell[0]["load"] == load]
        drawn = curves(data, "periods", chosen, lambda at: 2 * base(at["traffic.high.on"]))
        title = f"UDP, {load}/s while on, half of the time"
        panels.append(Panel(title, "period, s", GOODPUT_LABEL, drawn, x_log=True))
    drawn = curves(
        data, "transfers", cells(data, "transfers"),
        lambda at: 2 * base(json.loads(at["high"])["interval"]),
    )  # fmt: skip
    title = "TCP transfers, with pauses as long as they"
    panels.append(Panel(title, "period, s (about)", GOODPUT_LABEL, drawn, x_log=True))
    return panels


def flow_panels(data: Data) -> list[Panel]:
    """Goodput of all low flows over their number."""
    panels = []
    everything = cells(data, "flows")
    for high in dict.fromkeys(traffic["high"] for traffic, _ in everything):
        chosen = [cell for cell in everything if cell[0]["high"] == high]
        drawn = curves(data, "flows", chosen, lambda at: float(at["flows"]))
        panels.append(Panel(_traffic(json.loads(high)), "low flows", GOODPUT_LABEL, drawn,
                            x_log=True))  # fmt: skip
    return panels


def _traffic(high: Mapping[str, Any]) -> str:
    """High-priority traffic in words."""
    if high["kind"] == "files":
        return f"TCP, {high['size']} each, pauses of {high['interval']}"
    return f"UDP, {high['rate']}/s, {high['on']} on and off"


def described(study: str, traffic: Mapping[str, Any]) -> tuple[str, bool, float, int]:
    """(words, whether it fills the link while on, time on in s, low flows) of a traffic."""
    if study == "periods":
        on = traffic["traffic.high.on"]
        high = {"kind": "on-off", "rate": traffic["load"], "on": on}
    else:
        high = json.loads(traffic["high" if "high" in traffic else "traffic.high"])
    link = traffic.get("dumbbell.rate", "10Mbit")
    words = _traffic(high) if link == "10Mbit" else f"{link}/s link: {_traffic(high)}"
    flows = int(traffic.get("flows", 1))
    if high["kind"] == "files":
        return words, True, base(high["interval"]), flows
    fills = base(high["rate"]) > 0.97 * base(link)
    return words, fills, base(high["on"]), flows


LONG = 10.0
"""Time on from which the rule freezes, in s."""


def effects(data: Data, studies: Sequence[str]) -> tuple[list[list[Any]], int]:
    """Every traffic: what freezing and a guaranteed share change, and what the rule says."""
    rows, right = [], 0
    for study in studies:
        for traffic, variants in cells(data, study):
            words, fills, on, flows = described(study, traffic)
            if study == "flows" and flows == 1:
                continue  # stands among the others
            spq = variants[VARIANTS[0]]
            plain = measured(data, study, LOW, spq, scale=1e-6)
            percent = 100 / (1e6 * plain.mean)
            change = changed(data, study, LOW, variants[VARIANTS[2]], spq, scale=percent)
            share = changed(data, study, LOW, variants[VARIANTS[3]], spq, scale=percent)
            helps = change.low is not None and change.low > 1
            hurts = change.high is not None and change.high < -1
            freeze = fills and on >= LONG
            good = not hurts if freeze else not helps
            right += good
            delays = [
                measured(data, study, "classes.high.p99_delay_ms", variants[name]).mean
                for name in (VARIANTS[0], VARIANTS[3])
            ]
            high = changed(
                data, study, "classes.high.goodput_bps", variants[VARIANTS[3]], spq, scale=1e-6
            )
            rows.append(
                [
                    words,
                    flows,
                    plain,
                    change,
                    "helps" if helps else "hurts" if hurts else "neither",
                    ("freeze" if freeze else "leave") + ("" if good else " (wrong)"),
                    share,
                    high,
                    f"{delays[0]:.0f} / {delays[1]:.0f}",
                ]
            )
    return rows, right


HEADS = [
    "High-priority traffic",
    "low flows",
    "SPQ, Mbit/s",
    "ASPQ, change in %",
    "freezing",
    "rule",
    "DRR, change in %",
    "its price: high, Mbit/s",
    "high p99 delay, SPQ / DRR, ms",
]


def when_tables(data: Data) -> list[Table]:
    """The traffics that the rule was made from, and those that it was then tried on."""
    tables = []
    for heading, studies in (
        ("The traffics that the rule was made from", ("periods", "transfers", "flows")),
        ("Other links, on which it was then tried", ("elsewhere",)),
    ):
        rows, right = effects(data, studies)
        summary = f"It is right, or does no harm, for {right} of {len(rows)} traffics."
        tables.append(Table(HEADS, rows, heading, summary))
    return tables


GAPS = (
    "The first, a middle and the last row of table I under other readings. Growth by "
    "acknowledgments and a threshold of two segments after repeated timeouts (`rfc2581`) are what "
    "SPQ's rows need; ASPQ's hardly depend on any of it, since its sender never times out."
)
OPTIONS = (
    "A Linux sender (CUBIC, SACK, least timeout 200 ms, restart from ten segments after idle "
    "times) in whose way a high-priority transfer or stream comes after five seconds. `trickle` "
    "is for traffic that leaves gaps; where the high-priority traffic fills the link, its segment "
    "starves and brings the timeout that the freeze avoids. `freeze limit` ends in the same. "
    "`staged release` matters to a sender that keeps its window, and `repeat release` where "
    "acknowledgments get lost. At 10 Mbit/s and 40 ms data under way do not drain before the link "
    "is full: the timeouts come in spite of the freeze."
)
PERIODS_NOTE = (
    "One low-priority Linux flow, 10 Mbit/s, 40 ms. The controller cannot tell a pause from the "
    "end: pauses shorter than the idle timeout (1 s by default) leave the low flow frozen for "
    "good."
)
FLOWS_NOTE = "The more low-priority flows there are, the less a freeze changes their sum."


def text(name: str) -> str:
    """A text that lies beside this file."""
    return Path(__file__).with_name(name).read_text("utf-8")


PAPER = Paper(
    title="ASPQ: amicable strict priority queuing",
    citation=(
        "M. Rahimi, V. Pournaghshband, *An Improvement Mechanism for Low Priority Traffic TCP "
        "Performance in Strict Priority Queueing*."
    ),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        Study("table1", "table1.toml", Quick(2, axes={"delay": ["10ms", "50ms", "100ms"]})),
        Study("figure5", "figure5.toml", Quick(2), tables=("class",)),
        Study("r2", "r2.toml", Quick(2)),
        Study("rtt", "rtt.toml", Quick(2)),
        Study("tcp", "tcp.toml", Quick(2)),
        Study("options", "options.toml", Quick(2)),
        Study("periods", "periods.toml", Quick(2)),
        Study("transfers", "transfers.toml", Quick(2)),
        Study("flows", "flows.toml", Quick(2)),
        Study("elsewhere", "elsewhere.toml", Quick(2)),
    ),
    figures=(
        Figure("5", "Comparison of the performance of ASPQ against SPQ.", figure_5, ("figure5",),
               "One run, in intervals of 50 ms, as the low-priority receiver sees it."),
        Figure("6", "Measurement of the difference of goodput against different RTTs.", figure_6,
               ("table1",)),
        Figure("windows", "(not in the paper) The congestion window that the freeze keeps.",
               windows, ("figure5",), "It stands still while the sender is frozen."),
        Figure("R2", "(not in the paper) The connection that strict priority ends.", r2_figure,
               ("r2",), "Five retransmissions of a segment take 1 + 2 + 4 + 8 + 16 + 32 = 63 s."),
        Figure("periods", "(not in the paper) High-priority traffic that comes and goes.",
               period_panels, ("periods", "transfers"), PERIODS_NOTE),
        Figure("flows", "(not in the paper) One to a hundred low-priority flows.", flow_panels,
               ("flows",), FLOWS_NOTE),
    ),
    claims=(
        Claim("ASPQ-1", "Table I: the average goodputs of ASPQ and SPQ at ten round-trip times.",
              claim_1, ("table1",)),
        Claim("ASPQ-2", "The amount of the difference always remained positive; with the increase "
              "of RTT the quality of SPQ's performance deteriorates (table I: from 4.5 to 294 "
              "kb/s).", claim_2, ("table1",), why_2),
        Claim("ASPQ-3", "The low priority sender in Amicable SPQ leaves the persist mode promptly "
              "and reaches approximately the maximum available bandwidth. SPQ saturates the link "
              "for a short period of time, and after that starts slowly.", claim_3, ("figure5",)),
        Claim("ASPQ-4", "By taking the low priority senders into persist mode, we are able to keep "
              "their congestion window intact.", claim_4, ("figure5",)),
        Claim("ASPQ-5", "SPQ can cause termination of low priority connections; ASPQ does not.",
              claim_5, ("r2",)),
    ),
    sections=(
        Section("Table I, row by row", "", table_1, ("table1",)),
        Section("What the readings change", GAPS, gaps, ("rtt", "tcp")),
        Section("The options", OPTIONS, ablation, ("options",)),
        Section("When to freeze", text("when.md"), when_tables,
                ("periods", "transfers", "flows", "elsewhere")),
    ),
)  # fmt: skip
