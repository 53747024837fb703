"""Points of the studies: what figures, claims and sections ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import mean, samples, texts
from forebay.stats import Interval

HERE = Path(__file__).parent
TEXT = texts(HERE)
ASPQ, SPQ = "aspq", "none"
TAKEN = "ns-3.18's sender, 128 KiB"
"""The choice of studies that have several."""
BOXES = {ASPQ: "ASPQ", SPQ: "SPQ"}
"""What the studies put in front of the device, and what the paper calls it."""
MAIN, CHOICES, WINDOWS, END, R2 = "table1", "choices", "windows", "figure5", "r2"
TABLE = {
    30: (4720.96, 4716.42),
    50: (4714.18, 4686.63),
    70: (4706.94, 4628.15),
    90: (4699.23, 4542.95),
    110: (4596.41, 4364.91),
    130: (4214.85, 3987.26),
    150: (3982.6, 3759.93),
    170: (3613.62, 3358.5),
    190: (3373.72, 3092.56),
    210: (3163.19, 2869.17),
}
"""Table I: round-trip time in ms; average goodput with ASPQ and with SPQ in kbit/s."""
DELAYS = {rtt: f"{rtt // 2 - 5}ms" for rtt in TABLE}
"""Delay of the low sender's link, by the round-trip time that the paper gives for it."""
FEWEST, MOST = min(TABLE), max(TABLE)
GOODPUT = 800e3 / pl.col("classes.low.mean_completion_s")
"""Average goodput of the low-priority transfer of 100 MB, in kbit/s."""
LINK = 10e6 * 1000 / 1054
"""Payload that the bottleneck carries, in bit/s: 1000 bytes in a frame of 1054."""
STEP = 0.05
"""Interval of the time series, in s."""


@dataclass(frozen=True)
class View:
    """Table I as the main study has it, or under one choice of another."""

    data: Data
    study: str = MAIN
    choice: str | None = None

    @property
    def rtts(self) -> list[int]:
        """The round-trip times that were run, in ms; a quick run has fewer."""
        run = set(self.data.study(self.study).runs["delay"].to_list())
        return [rtt for rtt, delay in DELAYS.items() if delay in run]

    def at(self, rtt: int, box: str) -> Where:
        """A point."""
        chosen = {} if self.choice is None else {self.column: self.choice}
        return {**chosen, "delay": DELAYS[rtt], "box": box}

    @property
    def column(self) -> str:
        """The column that names the choice."""
        return "window" if self.study == WINDOWS else "title"

    def goodput(self, rtt: int, box: str) -> Interval:
        """Average goodput in kbit/s."""
        return self.data.interval(self.study, GOODPUT, self.at(rtt, box))

    def less(self, first: tuple[int, str], second: tuple[int, str]) -> Interval:
        """Average goodput of one point less that of another, paired, in kbit/s."""
        return self.data.difference(self.study, GOODPUT, self.at(*first), self.at(*second))

    def gain(self, rtt: int) -> Interval:
        """ASPQ's goodput less SPQ's."""
        return self.less((rtt, ASPQ), (rtt, SPQ))

    def growth(self, first: int, last: int) -> Interval:
        """How much larger the gain is at one round-trip time than at another."""

        def gains(rtt: int) -> dict[int, float]:
            one, other = (
                samples(self.data, self.study, GOODPUT, self.at(rtt, box)) for box in BOXES
            )
            return {run: one[run] - other[run] for run in one if run in other}

        before, after = gains(first), gains(last)
        return mean([after[run] - before[run] for run in before if run in after])


def choices(data: Data, study: str = CHOICES) -> list[View]:
    """Table I under every choice of a study."""
    found = View(data, study)
    known = data.study(study).runs[found.column].unique(maintain_order=True)
    return [View(data, study, each) for each in known]


def stated(rtt: int, box: str) -> float:
    """A number of table I."""
    return TABLE[rtt][list(BOXES).index(box)]


def stated_gain(rtt: int) -> float:
    """The difference in table I."""
    return round(stated(rtt, ASPQ) - stated(rtt, SPQ), 2)


def at_the_end(data: Data, choice: str = TAKEN) -> pl.DataFrame:
    """Time series of figure 5's classes, as taken or under another choice."""
    return data.table(END, "class").filter(title=choice)


def end_choices(data: Data) -> list[str]:
    """The choices under which figure 5 was run."""
    found: list[str] = data.study(END).runs["title"].unique(maintain_order=True).to_list()
    return found


def around_the_end(
    data: Data, box: str, before: float, after: float, choice: str = TAKEN
) -> list[pl.DataFrame]:
    """Time from the end of the high transfer in s, and the low one's throughput in bit/s, run by
    run. The end is that of the last interval in which high-priority data arrived."""
    runs = []
    table = at_the_end(data, choice).filter(box=box)
    for (_,), run in table.group_by("replication", maintain_order=True):
        high = run.filter((pl.col("class") == "high") & (pl.col("throughput_bps") > 0))
        low = run.filter(pl.col("class") == "low")
        low = low.with_columns(at=pl.col("time_s") - high["time_s"].max())
        runs.append(low.filter(pl.col("at").is_between(before, after)))
    return runs


def ns_3_23() -> dict[str, dict[str, float]]:
    """What ns-3.23 itself comes to under strict priority alone, in s."""
    found: dict[str, dict[str, float]] = json.loads((HERE / "ns-3.23.json").read_text("utf-8"))
    return found


def referee(rtt: int, box: str) -> float | None:
    """A goodput in ns-3.23, kbit/s; it has no controller."""
    return 800e3 / ns_3_23()["table1"][DELAYS[rtt]] if box == SPQ else None


def live() -> Sequence[Mapping[str, Any]]:
    """What the bench measured with Linux's senders, a row for each load, sender and box."""
    found: Sequence[Mapping[str, Any]] = json.loads((HERE / "live.json").read_text("utf-8"))["rows"]
    return found
