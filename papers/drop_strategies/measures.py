"""Measures that are more than an expression of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import Number, Panel, Part, Series, Setting, Sources, exactly
from forebay.papers.judge import in_range, verdict_of
from forebay.stats import Interval, interval

ARRIVALS, QUEUE = "drop-arrivals", "drop-from-queue"
STANDARD: dict[str, Any] = {"gentle": "false"}
JUDGED = ("DS-1", "DS-2", "DS-3", "DS-4", "DS-5", "DS-6", "DS-7", "DS-10", "DS-11")
"""Claims that are also judged under every other choice."""
MAX_TH = 45
"""Packets."""
COST = Path(__file__).parent / "cost.json"
METHODS = {
    "arrivals": "drop-arrivals",
    "last": "indexed: last or first",
    "random": "indexed: random",
    "walk-last": "walking: last",
    "walk-first": "walking: first",
}
"""How a packet is found, by the benchmark's names."""


def mean(sources: Sources, of: str, **at: Any) -> float:
    """Mean of a measure at a point of the main study."""
    return sources.mean(Number(study="strategies", of=of, at=at))


def added(of: str, scale: float = 1.0, **at: Any) -> Number:
    """What drop-arrivals adds to a measure."""
    where = {"strategy": ARRIVALS, **at}
    return Number(study="strategies", of=of, at=where, less={"strategy": QUEUE}, scale=scale)


def rates(sources: Sources) -> Sequence[Mapping[str, Any]]:
    """The in-profile rates that were run."""
    return sources.rows("rates", Number(study="strategies"), {})


def of_largest_gap(sources: Sources, of: str, rate: str, run: str, title: str = "") -> Interval:
    """What drop-arrivals adds with Reno, in percent of the largest such difference of means."""
    sources = under(sources, run, title)
    gap = added(of, tcp="reno", **STANDARD)
    largest = max(abs(sources.mean(gap, row)) for row in rates(sources))
    return sources.known(gap.model_copy(update={"scale": 100 / largest}), {"rate": rate})


def growth(sources: Sources) -> Interval | None:
    """Growth of Reno's loss out of profile up to 6.8 Mbit/s less that above, % per Mbit/s."""
    at = {"tcp": "reno", "strategy": ARRIVALS, **STANDARD}
    low, bend, high = (
        sources.samples(Number(study="strategies", of="out", at={**at, "rate": rate}))
        for rate in ("400kbit", "3400kbit", "4600kbit")
    )
    return interval(
        [
            (bend[run] - low[run]) / (6.8 - 0.8) - (high[run] - bend[run]) / (9.2 - 6.8)
            for run in sorted(set(low) & set(bend) & set(high))
        ]
    )


def lowest(sources: Sources) -> tuple[float, float]:
    """In-profile rate of the lowest throughput with Reno and drop-arrivals; both in Mbit/s."""
    at = {"tcp": "reno", "strategy": ARRIVALS, **STANDARD}
    found = {row["mbit"]: mean(sources, "mbits", rate=row["rate"], **at) for row in rates(sources)}
    return min(found.items(), key=lambda pair: pair[1])


def lowest_rate(sources: Sources, run: str, title: str = "") -> Interval:
    """In-profile rate of the lowest throughput with Reno and drop-arrivals, in Mbit/s."""
    return exactly(lowest(under(sources, run, title))[0])


def rises(sources: Sources, tcp: str, gentle: str) -> Interval:
    """How often the average queue rises above max_th with drop-arrivals, from 10 s on."""
    trace = traced(sources, tcp, gentle, ARRIVALS).filter(pl.col("time_s") > 10)
    above = trace["average_queue"] > MAX_TH
    return exactly(int((above & ~above.shift(1, fill_value=False)).sum()))


def traced(sources: Sources, tcp: str, gentle: str, strategy: str) -> pl.DataFrame:
    """The congested queue over time."""
    table = sources.data.table("traces", "queue").filter(pl.col("link") == "congested")
    return table.filter(tcp=tcp, gentle=gentle, strategy=strategy, replication=1)


def _dispersions(sources: Sources, tcp: str, gentle: str, strategy: str) -> list[float]:
    """Variance over mean of the drops in intervals of 100 ms, from 10 s on, of each run."""
    table = sources.data.table("traces", "queue").filter(
        pl.col("link") == "congested", pl.col("time_s") > 10
    )
    runs = table.filter(tcp=tcp, gentle=gentle, strategy=strategy).group_by("replication")
    drops = pl.col("dropped")
    found = runs.agg((drops.var() / drops.mean()).alias("found")).sort("replication")
    return list(found["found"])


def dispersion(sources: Sources, tcp: str, gentle: str, strategy: str) -> Interval | None:
    """Variance over mean of the queue's drops in 100 ms at 5 Mbit/s; 1 if they came at random."""
    return interval(_dispersions(sources, tcp, gentle, strategy))


def dispersion_added(sources: Sources, tcp: str, gentle: str) -> Interval | None:
    """What drop-arrivals adds to it, run by run."""
    both = (_dispersions(sources, tcp, gentle, each) for each in (ARRIVALS, QUEUE))
    return interval([one - other for one, other in zip(*both, strict=True)])


def largest_of_sack(sources: Sources, run: str, title: str = "") -> Interval:
    """The largest loss of SACK less Reno's with drop-from-queue, of either sign; points."""
    sources = under(sources, run, title)
    at = {"strategy": QUEUE, "tcp": "sack", **STANDARD}
    gap = Number(study="strategies", of="loss", at=at, less={"tcp": "reno"})
    found = [sources.known(gap, row) for row in rates(sources)]
    return max(found, key=lambda each: abs(each.mean))


def sack_loses_more(sources: Sources) -> str:
    """At how many rates SACK loses more out of profile than Reno, with longer round trips."""
    there = under(sources, "set-ups", "round trips of 40 to 80 ms")
    at = {"strategy": ARRIVALS, "tcp": "sack", **STANDARD}
    gap = Number(study="strategies", of="out", at=at, less={"tcp": "reno"})
    found = [there.mean(gap, row) > 0 for row in rates(there)]
    return f"{sum(found)} of the {len(found)}"


def costs_more(
    sources: Sources, other: Mapping[str, str], run: str = "strategies", title: str = ""
) -> Interval | None:
    """Throughput that drop-arrivals costs Reno with standard WRED less that of another, Mbit/s."""
    sources = under(sources, run, title)
    here, there = (
        sources.samples(added("mbits", -1, rate="2800kbit", **each))
        for each in ({"tcp": "reno", **STANDARD}, other)
    )
    return interval([here[run] - there[run] for run in sorted(set(here) & set(there))])


def times_from_queue(sources: Sources, tcp: str) -> float:
    """Average queue at 5 Mbit/s with drop-arrivals over that with drop-from-queue, gentle WRED."""
    at = {"tcp": tcp, "rate": "2500kbit", "gentle": "true"}
    return mean(sources, "average", strategy=ARRIVALS, **at) / mean(
        sources, "average", strategy=QUEUE, **at
    )


def factors(sources: Sources) -> str:
    """The least and the greatest such factor at 5 Mbit/s over all set-ups tried."""
    found = [
        times_from_queue(under(sources, **each), tcp)
        for each, tcp in product(tried(sources), ("reno", "sack"))
    ]
    return f"{min(found):.2f} to {max(found):.2f}"


def needed(sources: Sources) -> Interval:
    """Loss out of profile at twice the queue of drop-from-queue, in percent.

    Above max_th, the gentle curve goes from 0.1 to 1; with `wait`, two thirds of it are lost.
    """
    at = {"rate": "2500kbit", "tcp": "reno", "gentle": "true", "strategy": QUEUE}
    twice = 2 * mean(sources, "average", **at)
    return exactly(100 * 2 / 3 * (0.1 + 0.9 * (twice - MAX_TH) / MAX_TH))


def agreement(sources: Sources, conditioner: str) -> Interval:
    """Of the differences between the strategies that TSW shows, percent that point the same way."""
    signs = []
    for rate, row, of in product(
        ("2800kbit", "4000kbit"),
        sources.rows("cases", Number(study="strategies"), {}),
        ("loss", "out", "mbits", "average"),
    ):
        difference = added(of, rate=rate)
        there = sources.known(difference, row)
        if there.low is not None and there.high is not None and there.low * there.high > 0:
            at = {**difference.at, "profile.a.kind": conditioner}
            other = difference.model_copy(update={"study": "conditioners", "at": at})
            signs.append(sources.mean(other, row) * there.mean > 0)
    return exactly(100 * sum(signs) / len(signs))


def under(sources: Sources, run: str, title: str = "") -> Sources:
    """The same with the runs of another study, or of one choice in it."""
    return sources if run == "strategies" else sources.under(chosen(run, title))


def chosen(run: str, title: str = "") -> Setting:
    """The main study, another in its place, or one choice in that."""
    return Setting({"strategies": run}, {"title": title} if title else {})


def tried(sources: Sources) -> list[dict[str, str]]:
    """Every set-up that was tried, with the study that has it."""
    return [
        {"run": run, "title": title}
        for run in ("choices", "set-ups")
        for title in sources.data.study(run).runs["title"].unique(maintain_order=True)
    ]


def tried_count(sources: Sources) -> Interval:
    """How many there are."""
    return exactly(len(tried(sources)))


def numbers(sources: Sources, claim: str, run: str, title: str = "") -> list[Part]:
    """What a claim comes to under one set-up; of DS-4, the four cases at 5 Mbit/s.

    Numbers of the traces are of the page's set-up alone.
    """
    found = sources.under(chosen(run, title)).parts(claim)
    found = [each for each in found if each.reading != "drops of the queue"]
    return found[:4] if claim == "DS-4" else found


def briefly(sources: Sources, claim: str, run: str, title: str = "") -> str:
    """How many numbers of a claim lie in range; with a mark if nothing is decided."""
    found = numbers(sources, claim, run, title)
    return f"{in_range(found)}/{len(found)}" + "?" * (verdict_of(found) == "not testable")


def every(sources: Sources, run: str, title: str = "") -> list[Part]:
    """The numbers of all claims that are judged under other choices."""
    return [part for claim in JUDGED for part in numbers(sources, claim, run, title)]


def together(sources: Sources, run: str, title: str = "") -> str:
    """How many of them lie in range, and of how many."""
    found = every(sources, run, title)
    return f"{in_range(found)}/{len(found)}"


def judged_in_range(sources: Sources, run: str) -> Interval:
    """How many of them lie in range."""
    return exactly(in_range(every(sources, run)))


def judged_numbers(sources: Sources) -> Interval:
    """How many there are."""
    return exactly(len(every(sources, "strategies")))


def holding(sources: Sources, claim: str, which: Sequence[int]) -> str:
    """Under how many set-ups all of some numbers of a claim, from 1 on, surely lie in range."""
    found = [numbers(sources, claim, **each) for each in tried(sources)]
    held = sum(all(each[at - 1].verdict == "reproduced" for at in which) for each in found)
    return f"{held or 'none'} of the {len(found)} set-ups tried"


def lowest_of(sources: Sources, run: str, title: str = "") -> str:
    """The lowest throughput with Reno and drop-arrivals, and where it is."""
    rate, least = lowest(under(sources, run, title))
    return f"{least:.2f} at {rate:g} Mbit/s"


def shape(sources: Sources, run: str, title: str, what: str) -> Any:
    """What drop-arrivals does under a choice: rate and size of the lowest throughput, factor."""
    there = under(sources, run, title)
    if what == "factor":
        return round(times_from_queue(there, "reno"), 2)
    rate, least = lowest(there)
    return rate if what == "rate" else round(least, 2)


def trace(sources: Sources, tcp: str, gentle: str) -> list[Panel]:
    """The average queue in the first minute."""
    lines = []
    for strategy in (ARRIVALS, QUEUE):
        one = traced(sources, tcp, gentle, strategy).filter(pl.col("time_s") <= 60)
        lines.append(Series(strategy, one["time_s"].to_list(), one["average_queue"].to_list()))
    lines.append(Series("max_th", [0.0, 60.0], [MAX_TH, MAX_TH], style="steps"))
    return [Panel("", "time, s", "average queue, packets", lines, y_range=(0, 60))]


def cost(sources: Sources) -> list[Panel]:  # noqa: ARG001 - measured by a benchmark
    """Processor time of dropping a packet, over the backlog."""
    times = pl.DataFrame(json.loads(COST.read_text("utf-8"))["times"])
    panels = []
    for share in (0.05, 0.9):
        lines = []
        for method, label in METHODS.items():
            found = times.filter(method=method, share=share)
            depth, ns, low, high = (
                found[name].to_list() for name in ("depth", "ns", "low", "high")
            )
            lines.append(Series(label, depth, ns, low, high))
        # 1040 bytes.
        budget = "a packet's time at 10 Gbit/s"
        lines.append(Series(budget, [10.0, 1e6], [832.0, 832.0], style="steps"))
        title = f"cost, {share:.0%} of the packets out of profile"
        time = "processor time, ns a packet"
        panels.append(Panel(title, "backlog, packets", time, lines, x_log=True, y_log=True))
    return panels
