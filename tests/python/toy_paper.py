"""A paper whose studies take milliseconds, written to a folder as papers are."""

from __future__ import annotations

from pathlib import Path

from small_study import BASE

STUDY = """\
title = "Two rates"
scenario = "base.toml"
disciplines = ["fifo", "codel"]
until = { key = "queues.up.mean_packets", half_width = "5%", at_least = 3, at_most = 6 }

[[axis]]
name = "rate"
path = "link.up.rate"
values = ["2Mbit", "5Mbit"]
"""
SERIES = """\
title = "Over time"
scenario = "base.toml"
disciplines = ["fifo"]
replications = 2

[[axis]]
name = "mean_packets" # as a column of the table
path = "traffic.bulk.flows"
values = [1]
"""
PAPER = """\
from forebay.papers import (
    Claim, Conclusion, Figure, NotTestable, Panel, Paper, Part, Quick, Region, Section, Series,
    Statement, StudyFile, Table, exactly,
)

from .keys import KEY


def over_rates(data):
    found = [data.interval("rates", KEY, {"rate": rate, "discipline": "codel"})
             for rate in ("2Mbit", "5Mbit")]
    regions = data.study("rates").regions(KEY, "links.up.utilization").iter_rows(named=True)
    return [
        Panel("Queue", "rate, Mbit/s", "packets", [
            Series("codel", [2, 5], [each.mean for each in found],
                   [each.low for each in found], [each.high for each in found]),
            Series("stated", [2], [3.0], stated=True)]),
        Panel("Trade-off", "packets", "utilization", regions=[
            Region(f"{row['discipline']} {row['rate']}",
                   *(row[name] for name in ("x", "y", "xx", "xy", "yy"))) for row in regions]),
    ]


def over_time(data):
    table = data.table("time", "queue")
    one = table.filter(replication=1)
    return [Panel("One run", "s", "packets", [
        Series("fifo", one["time_s"].to_list(), one["queue.mean_packets"].to_list(),
               style="steps")])]


def shorter(data):
    found = data.difference("rates", KEY, {"rate": "5Mbit", "discipline": "codel"},
                            {"rate": "5Mbit", "discipline": "fifo"})
    return [Part("codel - fifo", "shorter", found, high=0.0, unit="packets")]


def longer(data):
    return [Part(part.what, "longer", part.found, low=0.0) for part in shorter(data)]


PAPER = Paper(
    title="A toy",
    citation="Nobody, *Nothing*.",
    setup="Two flows.",
    statistics="As many as it takes.",
    studies=(
        StudyFile("rates", "rates.toml",
              Quick(2, set={"duration": "2s"}, axes={"rate": ["5Mbit"]}) if QUICK else Quick(3)),
        StudyFile("time", "time.toml", Quick(1), tables=("queue", "flows")),
    ),
    figures=(
        Figure("1", "Over rates", over_rates, ("rates",)),
        Figure("2", "Over time", over_time, ("time",), note="A note."),
        Figure("3", "Calculated", lambda data: [Panel("", "x", "y", [
            Series("line", [1, 2, 3], [1, 4, 9]), Series("bars", ["a"], [2.0], style="bars")])]),
    ),
    claims=(
        Claim("T-1", "shorter", shorter, ("rates",)),
        Claim("T-2", "longer", longer, ("rates",), reason=REASON),
        Claim("T-3", "a sum", lambda data: [
            Part("2 + 2", "4", exactly(4), 3, 5, stated=5.0, referee=4.5),
            Part("3 + 3", "6", exactly(6), 6, 6)]),
        Claim("T-4", "a kernel", lambda data: NotTestable("needs a kernel")),
    ),
    found=lambda data: f"Codel's queue is {over_rates(data)[0].series[0].y[-1]:.1f} packets.",
    conclusions=(
        Conclusion("Codel shortens queues.", shorter, ("rates",)),
        Conclusion("Codel lengthens queues.", longer, ("rates",)),
    ),
    hypotheses=(Claim("H-1", "our own", shorter, ("rates",)),),
    sections=(Section("More", "Words.", lambda data: [Table(["a", "b"], [[1, data.interval(
        "rates", KEY, {"rate": "5Mbit", "discipline": "fifo"})]])], ("rates",), (
            Statement("Codel's queue is shorter.", shorter),
            Statement(lambda data: "Two and two are " + "four.",
                      lambda data: [Part("2 + 2", "", exactly(SUM), 4, 4)]),
        )),),
)
"""


def write(
    library: Path, reason: str = "as codel drops", quick: bool = False, total: int = 4
) -> Path:
    """Write the paper "toy" to a library of papers."""
    home = library / "toy"
    home.mkdir(parents=True, exist_ok=True)
    (home / "base.toml").write_text(BASE)
    (home / "keys.py").write_text('KEY = "queues.up.mean_packets"\n')
    (home / "rates.toml").write_text(STUDY)
    (home / "time.toml").write_text(SERIES)
    head = f"REASON = {reason!r}\nQUICK = {quick}\nSUM = {total}\n"
    (home / "paper.py").write_text(head + PAPER)
    return home
