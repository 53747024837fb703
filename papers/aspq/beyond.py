"""What lies beyond the paper: readings, options, on/off traffic and when to freeze."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forebay.papers import (
    Data,
    Panel,
    Series,
    Table,
)
from forebay.papers.points import line
from forebay.scenario import quantity

from .points import (
    DELAYS,
    TABLE_ASPQ,
    TABLE_SPQ,
    average_goodput,
    changed,
    measured,
    percent,
    runs,
)


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
                found += [each, percent(each.mean, stated)]
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
                found += [each, percent(each.mean, stated)]
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
    "times) in whose way a high-priority transfer or stream comes after five seconds."
)
PERIODS_NOTE = (
    "One low-priority Linux flow, 10 Mbit/s, 40 ms. The controller cannot tell a pause from the "
    "end: pauses shorter than the idle timeout (1 s by default) leave the low flow frozen for "
    "good."
)
FLOWS_NOTE = "One low-priority flow a freeze may change much; the sum of several it changes little."
