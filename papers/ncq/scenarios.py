# mypy: allow-untyped-defs, allow-untyped-calls
"""The four scenarios: figures 8 to 20."""

import math
from itertools import pairwise

import numpy as np
import polars as pl

from forebay import stats
from forebay.papers import Panel, Series
from forebay.papers.points import line

FLOWS = tuple(range(10, 101, 10))
TAIL = "drop-tail"
VARIANTS = (TAIL, "NCQ 1 %", "NCQ 3 %", "NCQ 5 %")
ROUTERS = ("no router", "1 router", "2 routers", "3 routers", "4 routers")
LOADS = [f"traffic.{name}.flows" for name in (
    "ftp-along", "ftp-cross-ab", "ftp-cross-bc", "ftp-cross-cd", "ftp-back", "calls-along",
    "calls-back")]  # fmt: skip


def known(samples):
    """The interval of samples of which there are some."""
    found = stats.interval(samples)
    assert found is not None
    return found


def points(data, study, key, label, where, scale=1.0):
    """A series over the flows of a study whose points are told apart by their sum."""
    found = [data.interval(study, key, {**at, "discipline": label}, scale=scale) for at in where]
    return (
        [each.mean for each in found],
        [each.low for each in found],
        [each.high for each in found],
    )


def ftp_at(share):
    return [{"traffic.small.flows": round(n * share),
             "traffic.congestive.flows": n - round(n * share)} for n in FLOWS]  # fmt: skip


def over_flows(data, study, where, key, y, title="", scale=1.0, variants=VARIANTS):
    """A panel over the numbers of flows that there are; `--quick` has fewer."""
    there = data.runs(study)
    held = [all(at[column] in there[column].to_list() for column in at) for at in where]
    series = []
    for label in variants:
        found = [at for at, keep in zip(where, held, strict=True) if keep]
        ys, low, high = points(data, study, key, label, found, scale)
        x = [n for n, keep in zip(FLOWS, held, strict=True) if keep]
        series.append(Series(label, x, ys, low, high))
    return Panel(title, "flows", y, series, ordered=False)


def ftp_panel(study, share, key, y, title="", scale=1.0):
    return lambda data: over_flows(data, study, ftp_at(share), key, y, title, scale)


def all_goodput():
    small, large = (
        pl.col(f"classes.{name}.transfer_goodput_bps") for name in ("small", "congestive")
    )
    few, many = pl.col("traffic.small.flows"), pl.col("traffic.congestive.flows")
    return (small * few + large * many) / (few + many)


def several(*panels):
    return lambda data: [panel(data) for panel in panels]


def completed(data):
    """Tasks that have ended, over time: mean over the runs."""
    table = data.table("tasks", "class")
    series = []
    for label in VARIANTS:
        runs = table.filter(pl.col("discipline") == label)
        total = runs.group_by("time_s").agg(
            pl.col("completed").sum() / runs["replication"].n_unique()
        )
        total = total.sort("time_s").with_columns(pl.col("completed").cum_sum())
        total = total.filter(pl.col("time_s") <= 60)
        series.append((label, total["time_s"].to_list(), total["completed"].to_list()))
    return series


def figure_11(data):
    stated = [
        Series("drop-tail, stated", [30.5], [7], stated=True),
        Series("NCQ 1 %, stated", [30.5], [10], stated=True),
    ]
    return [
        Panel(
            "",
            "s",
            "completed tasks",
            [*(Series(label, x, y, style="steps") for label, x, y in completed(data)), *stated],
        )
    ]


SENSOR_AT = [{"flows": n} for n in FLOWS]
CALLS_AT = [{"traffic.ftp.flows": n, "traffic.calls.flows": n} for n in FLOWS]
FEW_AT = [{"traffic.ftp.flows": n - n // 10, "traffic.calls.flows": n // 10} for n in FLOWS]
CALL_VARIANTS = (TAIL, "NCQ 1 %")


def sensor_panel(key, y, title="", scale=1.0):
    return lambda data: over_flows(data, "sensors", SENSOR_AT, key, y, title, scale)


def call_panel(key, y, scale=1.0, few=False):
    study, where = ("calls-few", FEW_AT) if few else ("calls", CALLS_AT)
    title = "one flow of ten is a call" if few else "as many calls as FTP flows"
    return lambda data: over_flows(data, study, where, key, y, title, scale, CALL_VARIANTS)


def deployed(data):
    """Scenario 4: a row for each load and number of routers, with the change against drop-tail."""
    runs = data.runs("deployment")
    base = runs.filter(pl.col("title") == ROUTERS[0])
    both = runs.join(base, on=LOADS, suffix=".base")
    gain = lambda key: 100 * (pl.col(key) / pl.col(f"{key}.base") - 1)  # noqa: E731
    return both.select(
        pl.col("title").alias("routers"),
        ftp=gain("classes.ftp.goodput_bps"),
        calls=gain("classes.calls.goodput_bps"),
        r=gain("classes.calls.r_factor"),
        asi=gain("classes.calls.asi_by_flow"),
        asi_printed=gain("classes.calls.asi"),
        r_base="classes.calls.r_factor.base",
    )


def frequencies(values, edges):
    """Share of the runs in each interval, in percent, with names of the intervals."""
    names = [
        f"< {edges[0]}",
        *(f"{a} to {b}" for a, b in pairwise(edges)),
        f"> {edges[-1]}",
    ]
    counts = np.histogram(values, [-math.inf, *edges, math.inf])[0]
    return names, (100 * counts / len(values)).tolist()


def share(values, low=-math.inf, high=math.inf):
    """Percent of the values above `low` and up to `high`, with a binomial interval."""
    inside = np.asarray([low < value <= high for value in values])
    p, n = float(inside.mean()), len(inside)
    # Agresti and Coull: two successes and two failures added.
    centre = (inside.sum() + 2) / (n + 4)
    half = 1.96 * math.sqrt(centre * (1 - centre) / (n + 4))
    return stats.Interval(100 * p, 100 * (half + abs(centre - p)), n)


def figure_19(data):
    found = deployed(data)
    means = [known(found.filter(pl.col("routers") == each)["ftp"].to_list()) for each in ROUTERS]
    runs = data.runs("deployment")
    goodput = [
        known(
            (
                runs.filter(pl.col("title") == each)["classes.ftp.goodput_bps"]
                / runs.filter(pl.col("title") == each)["classes.ftp.flows"]
                / 1e3
            ).to_list()
        )
        for each in ROUTERS
    ]
    names, counts = frequencies(
        found.filter(pl.col("routers") == ROUTERS[4])["calls"], [-5, 0, 5, 10, 25, 50, 100]
    )
    x = list(range(5))
    return [
        Panel(
            "Congestive flows",
            "NCQ-enabled routers",
            "goodput of a flow, kb/s",
            [
                line("mean of 50 runs", x, goodput),
            ],
        ),
        Panel(
            "Congestive flows, against drop-tail",
            "NCQ-enabled routers",
            "change of goodput, %",
            [
                line("mean of 50 runs", x, means),
            ],
        ),
        Panel(
            "VoIP, 4 routers",
            "change of goodput, %",
            "runs, %",
            [Series("runs", names, counts, style="bars")],
        ),
    ]


def figure_20(data):
    found = deployed(data).filter(pl.col("routers") == ROUTERS[3])
    panels = []
    for key, title in (
        ("r", "R-factor"),
        ("asi", "ASI, flow by flow"),
        ("asi_printed", "ASI, as printed"),
    ):
        names, counts = frequencies(found[key], [-5, 0, 5, 10, 25, 50])
        panels.append(
            Panel(
                f"{title}, 3 routers",
                "change, %",
                "runs, %",
                [Series("runs", names, counts, style="bars")],
            )
        )
    return panels
