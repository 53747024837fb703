"""What skipping steady intervals could save in a twin of a provider, and what it would cost.

.venv/bin/python benches/steady.py

A simulator can skip an interval in which the rates of the flows repeat (Wormhole, SIGCOMM 2025).
Two runs say what that is worth here, where queues are closed loops under an AQM:

- an evening hour of a twin. A circuit can be skipped while the same transfers are under way, once
  it has been watched for some round trips. The bytes that could be skipped bound the gain.
- the best case, flows without end: how often flows pass for steady, and how far the delays in a
  fifth of the time are from those in all of it. A skip that saves four fifths has this error, if it
  knows perfectly when to skip.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from twin import provider

from forebay import Result, Scenario, load, run

ROUND_TRIP = 0.03
"""Of the twin, in s."""
WATCHED = (10, 20, 50)
"""Round trips for which a circuit is watched before it is skipped."""
WINDOW = 10
"""Samples of 100 ms for which a flow's rate must hold."""
SPREADS = (0.05, 0.1, 0.2)
"""Ranges of the rate, relative to its mean, that pass for steady. Wormhole takes 5 %."""


def twin(folder: Path, by: str, size: str = "1MB") -> Scenario:
    """The busiest hour, with files of this mean size."""
    out = folder / "twin.toml"
    out.unlink(missing_ok=True)
    words = ("twin", "isp.toml", "--stats", "day.csv", "--hour", "20", "--by", by, "--size", size)
    command = [sys.executable, "-m", "forebay", *words, "--out", out.name]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return load(out)


def constant(transfers: pl.DataFrame, end: float) -> tuple[float, list[tuple[float, float]]]:
    """Bytes of the transfers, and the intervals without a start or an end: s, bytes/s."""
    starts = transfers["start_s"].to_numpy()
    ends = transfers["end_s"].fill_null(end).to_numpy()
    # Those that have not ended are taken to be half done.
    sizes = transfers["bytes"].to_numpy() * np.where(transfers["end_s"].is_null(), 0.5, 1.0)
    rates = sizes / np.maximum(ends - starts, 1e-9)
    times = np.unique(np.concatenate([starts, ends]))
    found = []
    for first, last in pairwise(times):
        rate = float(rates[(starts <= first) & (ends >= last)].sum())
        if rate > 0:
            found.append((float(last - first), rate))
    return float(sizes.sum()), found


def of_files(folder: Path, seconds: int, size: str) -> None:
    """Prints which part of the bytes of a twin with files of this mean size could be skipped."""
    scenario = twin(folder, "plan", size)
    scenario = scenario.with_all({"duration": f"{seconds}s", "tables": ["transfers"]})
    transfers = run(scenario, seed=1).transfers
    whole, lengths = 0.0, []
    skipped = dict.fromkeys(WATCHED, 0.0)
    for _, own in transfers.group_by("traffic"):
        own_bytes, intervals = constant(own, float(seconds))
        whole += own_bytes
        for length, rate in intervals:
            lengths.append((length, length * rate))
            for rounds in WATCHED:
                skipped[rounds] += rate * max(0.0, length - rounds * ROUND_TRIP)
    lengths.sort()
    below = np.cumsum([size for _, size in lengths]) / sum(size for _, size in lengths)
    median = lengths[int(np.searchsorted(below, 0.5))][0]
    print(
        f"files of {size}: {len(transfers)} transfers; half of the bytes come in intervals without "
        f"a start or an end of less than {median:.2f} s, {median / ROUND_TRIP:.0f} round trips"
    )
    for rounds, saved in skipped.items():
        share = saved / whole
        print(
            f"watched for {rounds} round trips: {100 * share:.0f} % of the bytes could be skipped, "
            f"so at most {1 / (1 - share):.2f} times as fast"
        )


def endless(scenario: Scenario, seconds: int) -> Scenario:
    """The same circuits, with 1, 2 or 4 flows without end in the place of files."""
    told = scenario.document
    down = [entry for entry in told["traffic"] if entry["name"].endswith(" down")]
    keep = ("name", "class", "from", "to", "to_host")
    told["traffic"] = [
        {key: entry[key] for key in keep}
        | {"kind": "bulk", "flows": (1, 2, 4)[place % 3], "start": ["0s", "1s"]}
        for place, entry in enumerate(down)
    ]
    told |= {"duration": f"{seconds}s", "warmup": "5s"}
    return Scenario.of(told)


def quantiles(result: Result) -> dict[str, float]:
    """The 99th percentile of the delay of each class, in ms."""
    return {name: each["p99_delay_ms"] for name, each in result.summary["classes"].items()}


def errors(part: dict[str, float], whole: dict[str, float]) -> Sequence[float]:
    """How far the percentiles of a part are from those of the whole, in %."""
    return sorted(100 * abs(part[name] / value - 1) for name, value in whole.items())


def shown(values: Sequence[float]) -> str:
    """Median, 90th percentile, and the share within 1 %."""
    within = sum(value <= 1 for value in values) / len(values)
    middle, high = np.quantile(values, (0.5, 0.9))
    return f"{middle:.1f} %, nine tenths below {high:.1f} %, {100 * within:.0f} % within 1 %"


def steady(rates: pl.DataFrame) -> dict[float, float]:
    """The share of samples at which a flow's last rates pass for steady, by their range."""
    held: dict[float, list[float]] = {spread: [] for spread in SPREADS}
    for _, own in rates.filter(pl.col("time_s") > 5).group_by("traffic", "flow"):
        series = own.sort("time_s")["throughput_bps"].to_numpy()
        windows = np.lib.stride_tricks.sliding_window_view(series, WINDOW)
        spread = np.ptp(windows, axis=1) / np.maximum(windows.mean(axis=1), 1)
        for most, shares in held.items():
            shares.append(float((spread <= most).mean()))
    return {spread: float(np.mean(shares)) for spread, shares in held.items()}


def of_endless_flows(folder: Path, seconds: int, seeds: Iterable[int]) -> None:
    """Prints how steady flows without end are, and the error of a fifth of the time."""
    for by in ("circuit", "site"):
        scenario = endless(twin(folder, by), seconds + 5)
        wholes: list[dict[str, float]] = []
        parts: list[float] = []
        for seed in seeds:
            wholes.append(quantiles(run(scenario, seed=seed)))
            short = scenario.with_("duration", f"{seconds // 5 + 5}s")
            parts.extend(errors(quantiles(run(short, seed=seed)), wholes[-1]))
        print(f"by {by}: p99 of a fifth of the time is off by {shown(sorted(parts))}")
        others = errors(wholes[1], wholes[0])
        print(f"by {by}: p99 with another seed, all of the time, is off by {shown(others)}")
    told: dict[str, Any] = {"tables": ["flow_series"], "sample": "100ms", "duration": "45s"}
    for spread, share in steady(run(scenario.with_all(told), seed=1).flow_series).items():
        print(
            f"rates of {WINDOW} samples of 100 ms within {100 * spread:.0f} %: "
            f"{100 * share:.1f} % of the time"
        )


def main() -> None:
    """Measure, and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--circuits", type=int, default=10_000, help="of the twin")
    arguments.add_argument("--sizes", default="1MB,10MB", help="of its files")
    arguments.add_argument("--seconds", type=int, default=20, help="of the twin's run")
    arguments.add_argument("--endless", type=int, default=240, help="circuits with endless flows")
    arguments.add_argument("--long", type=int, default=100, help="seconds of their runs")
    arguments.add_argument("--queues", default="cake,fq-codel")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for queue in options.queues.split(","):
            print(f"{queue}:", flush=True)
            provider(folder, options.circuits, queue)
            for size in options.sizes.split(","):
                of_files(folder, options.seconds, size)
            provider(folder, options.endless, queue)
            of_endless_flows(folder, options.long, (1, 2))


if __name__ == "__main__":
    main()
