"""The analysis of NCQ (equations 1 to 21), and measures that are no expression of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from forebay._theory import ncq
from forebay.papers import Number, Panel, Part, Series, Setting, Sources, exactly
from forebay.papers.judge import verdict_of
from forebay.stats import Interval, interval, prediction, proportion

Values = Any
"""An array over utilizations, or one number."""

UTILIZATION = np.round(np.arange(0.02, 0.951, 0.01), 2)
SMALL, LARGE = 0.5e-3, 5e-3
"""Service times of figure 1, seconds."""
KB = 1024
"""Bytes of a "1KB" packet, which takes 5 ms; the paper's FTP figures fit 1024, not 1000."""
TASK = 5 * 1024 * 1024
TAIL, BEST = "drop-tail", "NCQ 5 %"
VARIANTS = (TAIL, "NCQ 1 %", "NCQ 3 %", BEST)
ROUTERS = ("no router", "1 router", "2 routers", "3 routers", "4 routers")
RATINGS = {"bad": -math.inf, "poor": 50.0, "low": 60.0, "medium": 70.0, "high": 80.0, "best": 90.0}
"""Lower ends of the ratings by R (table 2)."""


def figure_1(_: Sources) -> list[Panel]:
    """Delays with and without priority."""
    panels = []
    for share in (0.1, 0.2):
        load = ncq.traffic(UTILIZATION, share, SMALL, LARGE)
        rules = {
            "priority": ncq.with_priority(load),
            "none (as printed)": ncq.without_priority(load),
            "none (exact)": ncq.without_priority(load, exact=True),
        }
        title = f"{share:.0%} of the packets non-congestive"
        classes = (("second", "congestive"), ("first", "non-congestive"))
        series = [
            _curve(f"{name}, {rule}", getattr(found, which))
            for which, name in classes
            for rule, found in rules.items()
        ]
        system = [_curve(rule, found.system) for rule, found in rules.items()]
        panels += [_delays(title, series, 40), _delays(f"{title}: the system", system, 40)]
    return panels


def figure_2(_: Sources) -> list[Panel]:
    """Delays with a threshold."""
    panels = []
    for share in (0.1, 0.2):
        load = ncq.traffic(UTILIZATION, share, SMALL, LARGE)
        rules = {"none": ncq.with_threshold(load, 0.0, exact=True)}
        for threshold in (0.01, 0.03, 0.05):
            found = ncq.with_threshold(load, threshold, reading="algorithm", exact=True)
            rules[f"ncqthresh {threshold}"] = found
        rules["0.05, as printed"] = ncq.with_threshold(load, 0.05)
        for which, word in (("first", "Non-congestive"), ("second", "Congestive")):
            series = [_curve(rule, getattr(found, which)) for rule, found in rules.items()]
            title = f"{word}, {share:.0%} of the packets non-congestive"
            panels.append(_delays(title, series, 40))
    return panels


def task_times(sources: Sources, before: int, highest: int) -> list[Panel]:
    """Time of a task whose packets of `before` bytes are split into 120 B."""
    series = [_curve(name, time, 1) for name, (_, time) in _strategies(before).items()]
    base = float(next(iter(_strategies(before, 0.6).values()))[1])
    for row in sources.rows("splitting", Number(), {}):
        if row["before"] == before:
            name = ("without a threshold", "with 0.05")[row["which"]]
            time = base * (1 + row["stated"] / 100)
            series.append(Series(f"stated, {name}", [0.6], [time], stated=True))
    return [Panel("", "utilization", "time of a 5 MB task, s", series, y_range=(0, highest))]


def figure_5(_: Sources) -> list[Panel]:
    """Delay of packets of 140 B and of 120 B."""
    series = [_curve(name, delay) for name, (delay, _) in _strategies(140).items()]
    return [_delays("", series, 20)]


def _curve(label: str, values: Values, scale: float = 1e3) -> Series:
    return Series(label, UTILIZATION.tolist(), (scale * values).tolist())


def _delays(title: str, series: Sequence[Series], highest: int) -> Panel:
    return Panel(title, "utilization", "queuing delay, ms", series, y_range=(0, highest))


def _strategies(before: int, utilization: Values = UTILIZATION) -> dict[str, tuple[Values, Values]]:
    """Delay and task time of class 1 with packets of `before` bytes, and of 120 bytes."""
    large = LARGE * before / KB if before != KB else LARGE
    load = ncq.traffic(utilization, 0.1, large, LARGE)
    # As the paper: the same packets a second, though each carries less.
    small = ncq.Traffic(load.first, load.second, np.asarray(LARGE * 120 / KB), load.second_service)
    delays = {
        f"{before if before != KB else '1 k'}B packets": (ncq.without_priority(load).first, before),
        "120 B, NCQ without threshold": (ncq.with_priority(small).first, 120),
        "120 B, NCQ, ncqthresh 0.05": (ncq.with_threshold(small, 0.05).first, 120),
    }
    return {
        name: (delay, ncq.task_time(delay, ncq.packets_of_task(TASK, size)))
        for name, (delay, size) in delays.items()
    }


def with_priority(_: Sources, exact: bool, part: float, load: float, which: str) -> Interval:
    """Change of a delay by priority at a utilization, %; "first" is the non-congestive class."""
    traffic = ncq.traffic(load, part, SMALL, LARGE)
    none = ncq.without_priority(traffic, exact=exact)
    return exactly(_change(ncq.with_priority(traffic), none, which))


def with_threshold(
    _: Sources, reading: ncq.Reading, load: float, which: str, threshold: float = 0.05
) -> Interval:
    """Change of a delay by a threshold with 10 % of class 1, %."""
    traffic = ncq.traffic(load, 0.1, SMALL, LARGE)
    found, none = (
        ncq.with_threshold(traffic, each, reading=reading, exact=reading == "algorithm")
        for each in (threshold, 0.0)
    )
    return exactly(_change(found, none, which))


def growing(sources: Sources, reading: ncq.Reading) -> Interval:
    """Whether the gain of class 1 grows over the thresholds, and over the loads: 0 to 2."""
    steps = [with_threshold(sources, reading, 0.8, "first", each) for each in (0.01, 0.03, 0.05)]
    loads = [with_threshold(sources, reading, each, "first") for each in (0.3, 0.6, 0.9)]
    return exactly(
        sum(all(a.mean > b.mean for a, b in pairwise(found)) for found in (steps, loads))
    )


def _change(one: ncq.Delays, other: ncq.Delays, which: str) -> float:
    return 100 * (float(getattr(one, which) / getattr(other, which)) - 1)


def split(_: Sources, before: int, which: int) -> Interval:
    """Change of the task's time at utilization 0.6 by packets of 120 B, %.

    `which` is 0 for NCQ without a threshold and 1 for one of 0.05.
    """
    whole, *others = [float(time) for _, time in _strategies(before, 0.6).values()]
    return exactly(100 * (others[which] / whole - 1))


def pays_from(_: Sources, before: int, which: int) -> Interval:
    """Utilization from which the task's time is shorter in packets of 120 B; 1 if never."""
    large, *small = [time for _, time in _strategies(before).values()]
    shorter = small[which] < large
    return exactly(float(UTILIZATION[np.argmax(shorter)]) if shorter.any() else 1.0)


def split_wait(_: Sources) -> Interval:
    """Delay of class 1 in packets of 120 B at utilization 0.6 by equations 1 and 4, ms."""
    return exactly(1000 * float(_strategies(KB, 0.6)["120 B, NCQ without threshold"][0]))


def wanted_wait(_: Sources, stated: float) -> Interval:
    """The delay with which 1 kB in packets of 120 B would take `stated` % longer, ms."""
    base = float(next(iter(_strategies(KB, 0.6).values()))[1])
    return exactly(1000 * (1 + stated / 100) * base / float(ncq.packets_of_task(TASK, 120)))


def most_by_splitting(_: Sources) -> Interval:
    """Largest change of the time of a task in 1 kB by NCQ without a threshold, at any load, %."""
    whole, small, _ = (time for _, time in _strategies(KB).values())
    return exactly(100 * float((small / whole).max() - 1))


def lies_among(sources: Sources, stated: float) -> Interval:
    """The smaller of the starts and timeouts with surely less gain than stated and surely more."""
    at, times = {"discipline": BEST}, {"discipline": TAIL}
    number = Number(study="starts", of="small", at=at, times=times)
    over = {"rows": ["starts", "loads"], "timeouts": True, "load": "10 %", "n": 80}
    found = [sources.interval(number, row) for row in sources.rows(over, number, {})]
    below = sum(each is not None and each.high is not None and each.high < stated for each in found)
    above = sum(each is not None and each.low is not None and each.low > stated for each in found)
    return exactly(min(below, above))


def _losses(sources: Sources, run: str = "ftp") -> dict[int, Interval]:
    """Change of congestive goodput with 10 % of small flows, by the number of flows, %."""
    at, change = {"title": "10 %", "discipline": BEST}, {"discipline": TAIL}
    number = Number(study=run, of="large", at=at, change=change)
    found = {}
    for row in sources.rows({"traffic.congestive.flows": "all"}, number, {}):
        lost = sources.interval(number, row)
        assert lost is not None
        found[row["traffic.congestive.flows"] * 10 // 9] = lost
    return found


def worst(sources: Sources, run: str = "ftp") -> Interval:
    """Change of congestive goodput at the number of flows that suffers most, %."""
    return min(_losses(sources, run).values(), key=lambda each: each.mean)


def worst_flows(sources: Sources) -> Interval:
    """The number of flows that suffers most."""
    found = _losses(sources)
    return exactly(min(found, key=lambda n: found[n].mean))


def _done(sources: Sources, discipline: str) -> list[int]:
    """Tasks that have ended at 30.5 s with 50 flows, of every run."""
    table = sources.data.table("tasks", "class").filter(
        pl.col("time_s") <= 30.5, pl.col("discipline") == discipline
    )
    done = table.group_by("replication").agg(pl.col("completed").sum()).sort("replication")
    return done["completed"].to_list()


def _ahead(sources: Sources) -> list[int]:
    done, tail = (_done(sources, each) for each in ("NCQ 1 %", TAIL))
    return [one - other for one, other in zip(done, tail, strict=True)]


def done(sources: Sources, discipline: str) -> Interval | None:
    """Tasks that have ended at 30.5 s with 50 flows."""
    return interval(_done(sources, discipline))


def ahead(sources: Sources) -> Interval | None:
    """Tasks that have ended at 30.5 s with NCQ 1 % less those with drop-tail, run by run."""
    return interval(_ahead(sources))


def ahead_over_time(sources: Sources) -> Interval | None:
    """Tasks that have ended with NCQ 1 % less those with drop-tail, mean over the run's first 60 s.

    Of each run: the sum over all tasks of the time that they end sooner, by 60 s.
    """
    table = sources.data.table("tasks", "class").filter(pl.col("time_s") <= 60)
    left = pl.col("completed") * (60 - pl.col("time_s")) / 60
    means = table.group_by("replication", "discipline").agg(left.sum().alias("mean"))
    wide = means.pivot("discipline", index="replication", values="mean")
    return interval((wide["NCQ 1 %"] - wide[TAIL]).to_list())


def often_ahead(sources: Sources) -> Interval:
    """Percent of the runs in which NCQ 1 % is ahead by three tasks or more."""
    return proportion([each >= 3 for each in _ahead(sources)])


def runs_ahead(sources: Sources) -> Interval:
    """Runs in which NCQ 1 % is ahead by three tasks or more."""
    return exactly(sum(each >= 3 for each in _ahead(sources)))


def _limits(sources: Sources) -> list[list[Part]]:
    """The numbers of NCQ-11 under every combination of starts and delays that was run."""
    found = []
    runs = sources.data.study("limit-choices").runs
    for row in runs.select("title", "delay").unique().to_dicts():
        parts = sources.under(Setting({"limit": "limit-choices"}, row)).parts("NCQ-11")
        found.append([each for each in parts if "2 to 5 s" in each.reading])
    return found


def limits_tried(sources: Sources) -> Interval:
    """How many combinations of starts and delays NCQ-11 was judged under."""
    return exactly(len(_limits(sources)))


def limits_held(sources: Sources) -> str:
    """Under how many of them all of its numbers surely lie in range."""
    held = sum(verdict_of(each) == "reproduced" for each in _limits(sources))
    return "one of them" if held == 1 else f"{held or 'none'} of them"


def tasks_over_time(sources: Sources) -> list[Panel]:
    """Tasks that have ended, over time: mean over the runs."""
    table = sources.data.table("tasks", "class").filter(pl.col("time_s") <= 60)
    series = []
    for label in VARIANTS:
        runs = table.filter(discipline=label)
        each = runs.group_by("time_s").agg(pl.col("completed").sum()).sort("time_s")
        ended = each["completed"].cum_sum() / runs["replication"].n_unique()
        series.append(Series(label, each["time_s"].to_list(), ended.to_list(), style="steps"))
    series.append(Series("stated: drop-tail, 7 at 30.5 s", [30.5], [7], stated=True))
    series.append(Series("stated: NCQ 1 %, 10 at 30.5 s", [30.5], [10], stated=True))
    return [Panel("", "s", "completed tasks", series)]


def one_run(sources: Sources, **row: Any) -> Interval | None:
    """Where one more run lies with a probability of 95 %: of a number, or of the tasks."""
    if not row["of"]:
        return prediction([float(each) for each in _ahead(sources)])
    at, compared = {"discipline": row["discipline"]}, {row["against"]: {"discipline": TAIL}}
    number = Number.model_validate({"study": "ftp", "of": row["of"], "at": at, **compared})
    (load,) = sources.rows({"rows": "loads", "load": "10 %", "n": row["n"]}, number, {})
    return prediction(list(sources.samples(number, load).values()))


def inside(sources: Sources, stated: float, **row: Any) -> str:
    """Whether the paper's number is one that one more run may have."""
    one = one_run(sources, **row)
    assert one is not None and one.low is not None and one.high is not None
    return "yes" if one.low <= stated <= one.high else "no"


def _rated(
    sources: Sources, calls: int, discipline: str, title: str = "as many", run: str = "calls"
) -> list[float | None]:
    """R of each call of all runs; none if it said nothing."""
    found: list[float | None] = (
        sources.data.table(run, "flows")
        .filter(
            pl.col("title") == title,
            pl.col("traffic.calls.flows") == calls,
            pl.col("discipline") == discipline,
            pl.col("class") == "calls",
        )["r_factor"]
        .to_list()
    )
    return found


def _level(r: float) -> int:
    """Its rating: 0 is bad, 5 best."""
    return sum(r >= each for each in RATINGS.values()) - 1


def rated(sources: Sources, discipline: str, rating: str) -> Interval:
    """Percent of 50 calls, of all runs, with a rating."""
    found = [_level(each) for each in _rated(sources, 50, discipline) if each is not None]
    return exactly(100 * found.count(list(RATINGS).index(rating)) / len(found))


def rated_better(sources: Sources, run: str, title: str, calls: int, discipline: str) -> Interval:
    """Of the calls of all runs, those rated better than with drop-tail less those rated worse."""
    both = (_rated(sources, calls, each, title, run) for each in (TAIL, discipline))
    pairs = zip(*both, strict=True)
    steps = [_level(b) - _level(a) for a, b in pairs if a is not None and b is not None]
    return exactly(sum(each > 0 for each in steps) - sum(each < 0 for each in steps))


def rated_poor(sources: Sources, title: str, calls: int, discipline: str) -> Interval:
    """Percent of the calls of all runs that are rated poor or worse."""
    found = _rated(sources, calls, discipline, title)
    return proportion([each < RATINGS["low"] for each in found if each is not None])


def bound(sources: Sources, of: str) -> Interval:
    """What a threshold of 1 % can do for 50 calls beside 50 flows.

    Args:
        sources: the results.
        of: "packets", the share of all packets that are the calls'; "favoured", the share of theirs
            that is favoured at most; "loss" with drop-tail; "least", the loss if what is favoured
            is never lost; "rise", by how much R rises if it does not wait either.
    """

    def mean(key: str) -> float:
        at = {"title": "as many", "traffic.calls.flows": 50, "discipline": TAIL}
        return sources.data.interval("calls", f"classes.{key}", at).mean

    part = mean("calls.offered") / (mean("calls.offered") + mean("ftp.offered"))
    favoured = 0.01 / part
    loss, delay = mean("calls.loss"), mean("calls.mean_delay_ms")
    least, sooner = loss * (1 - favoured), delay - favoured * mean("calls.mean_wait_ms")
    rise = float(ncq.r_factor(sooner + 20.0, least) - ncq.r_factor(delay + 20.0, loss))
    found = {"packets": part, "favoured": favoured, "loss": loss, "least": least, "rise": rise}
    return exactly(found[of])


def _enough(sources: Sources, calls: int) -> tuple[str, Interval]:
    """The least threshold with which calls are rated medium, and R with it."""
    labels = sources.data.runs("calls-threshold")["discipline"].unique(maintain_order=True)
    key = "classes.calls.r_factor"
    found = (
        (
            label,
            sources.data.interval(
                "calls-threshold", key, {"discipline": label, "traffic.calls.flows": calls}
            ),
        )
        for label in labels
    )
    return next(each for each in found if each[1].mean >= RATINGS["medium"])


def enough(sources: Sources, calls: int) -> str:
    """The least threshold with which so many calls are rated medium."""
    return _enough(sources, calls)[0]


def enough_rating(sources: Sources, calls: int) -> Interval:
    """R of so many calls with that threshold."""
    return _enough(sources, calls)[1]


def _deployed(sources: Sources, routers: int, key: str, run: str = "deployment") -> list[float]:
    """Change against drop-tail of a measure of the deployment, %, of each run of each load."""
    runs = sources.data.runs(run)
    loads = [name for name in runs.columns if name.startswith("traffic.")]
    both = runs.filter(title=ROUTERS[routers]).join(
        runs.filter(title=ROUTERS[0]), on=[*loads, "replication"], suffix=".base"
    )
    change = 100 * (pl.col(key) / pl.col(f"{key}.base") - 1)
    return both.select(change).to_series().to_list()


def gain(sources: Sources, routers: int, key: str) -> Interval | None:
    """Change of a measure against drop-tail with so many routers, %, mean over the loads."""
    return interval(_deployed(sources, routers, key))


def gainers(
    sources: Sources, run: str, routers: int, key: str, low: float, high: float = math.inf
) -> Interval:
    """Percent of the runs of our 50 loads that gain more than `low` and up to `high`, in percent.

    Without an interval: the range allows for the chance of both samples of 50 loads.
    """
    return exactly(
        proportion([low < g <= high for g in _deployed(sources, routers, key, run)]).mean
    )


def gained(sources: Sources, place: float) -> Interval:
    """Goodput that calls gain with four routers, %: the load at a place, 0.5 the median."""
    return _ranked(_deployed(sources, 4, "classes.calls.goodput_bps"), place)


def lost(sources: Sources, place: float) -> Interval:
    """Packets that calls lose with drop-tail, %: the load at a place, 0.5 the median."""
    runs = sources.data.runs("deployment", {"title": ROUTERS[0]})
    return _ranked((100 * runs["classes.calls.loss"]).to_list(), place)


def _ranked(values: Sequence[float], place: float) -> Interval:
    return exactly(sorted(values)[min(int(place * len(values)), len(values) - 1)])


def flow_goodput(sources: Sources, routers: int) -> Interval | None:
    """Goodput of a congestive flow with so many routers, kb/s, mean over the loads."""
    runs = sources.data.runs("deployment", {"title": ROUTERS[routers]})
    each = pl.col("classes.ftp.goodput_bps") / pl.col("classes.ftp.flows") / 1e3
    return interval(runs.select(each).to_series().to_list())


def histogram(
    sources: Sources,
    title: str,
    change: str,
    routers: int,
    key: str,
    edges: Sequence[float],
    stated: dict[str, float],
) -> list[Panel]:
    """Share of the loads in each interval of a change against drop-tail, in percent."""
    names = [
        f"< {edges[0]:g}",
        *(f"{a:g} to {b:g}" for a, b in pairwise(edges)),
        f"> {edges[-1]:g}",
    ]
    values = _deployed(sources, routers, key)
    counts = np.histogram(values, [-math.inf, *edges, math.inf])[0]
    bars = [Series("runs", names, (100 * counts / len(values)).tolist(), style="bars")]
    if stated:
        bars.append(Series("stated", names, [stated.get(name) for name in names], style="bars"))
    return [Panel(title, change, "runs, %", bars)]
