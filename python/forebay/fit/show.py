"""What was found: in lines, a table, plain values, a report and a scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._report.html import render
from forebay._report.page import (
    Block,
    Bullets,
    Cell,
    Facts,
    Figure,
    Legend,
    Page,
    Row,
    Section,
    Table,
    Text,
)
from forebay._report.panel import Panel, Series
from forebay._report.terminal import print_table
from forebay.fit.candidates import NAMES
from forebay.fit.direct import waits_of
from forebay.fit.found import Estimate, Fitted
from forebay.fit.measurement import Measurement, Numbers

TITLES = {
    "rate": "rate",
    "rtt": "round trip",
    "buffer": "buffer",
    "loss": "loss on the wire",
    "cross": "others' traffic",
}
CANNOT = "cannot tell"
_MEASURED, _FITTED = "measured", "fitted"
_POINTS = 240
"""Points of a curve over time."""


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit, as a reader writes it."""
    if value is None:
        return "–"
    if unit == "bit/s":
        scale, name = (1e6, "Mbit/s") if value >= 1e5 else (1e3, "kbit/s")
        return f"{value / scale:.4g} {name}"
    if unit == "s":
        return f"{value * 1e3:.4g} ms"
    if unit == "B":
        return f"{value / 1e3:.4g} KB"
    return f"{value * 100:.3g} %"


def said(estimate: Estimate) -> str:
    """An estimate and its interval, or what bounds it."""
    unit = estimate.unit
    if estimate.value is not None:
        ends = f"{quantity(estimate.low, unit)} to {quantity(estimate.high, unit)}"
        if estimate.course:
            ends = f"the mean; it changes from {ends}, in {len(estimate.course)} steps"
        return f"{quantity(estimate.value, unit)} ({ends})"
    bounds = []
    if estimate.low is not None:
        bounds.append(f"at least {quantity(estimate.low, unit)}")
    if estimate.high is not None:
        bounds.append(f"at most {quantity(estimate.high, unit)}")
    return f"{CANNOT}{': ' if bounds else ''}{' and '.join(bounds)}"


def lines(found: Fitted) -> Iterator[str]:
    """What is known, in lines of a comment."""
    yield f"Fitted by forebay {_engine.version} to {' '.join(found.measurement.name.splitlines())}."
    for name, title in TITLES.items():
        yield f"{title}: {said(found.estimates[name])}"
    yield f"discipline: {_kind(found)}"
    undecided = [name for name, each in found.estimates.items() if not each.decided]
    if undecided or found.discipline.kind is None:
        yield "Where it cannot be told, this has what is most likely, or what was seen."


def print_found(console: Console, found: Fitted) -> None:
    """Print what was found, and what would decide the rest."""
    print_table(console, _table(found))
    for line in _reasons(found):
        console.print(f"{line[0].upper()}{line[1:]}.", highlight=False, markup=False)
    for note in found.measurement.notes:
        console.print(f"Note: {note}.", style="dim", highlight=False, markup=False)


def plain(found: Fitted) -> dict[str, Any]:
    """What was found, as plain values."""
    seen = found.measurement
    return {
        "measurement": seen.name,
        "vantage": seen.vantage,
        "said": seen.said,
        "notes": list(seen.notes),
        "estimates": {
            name: {
                "value": each.value,
                "low": each.low,
                "high": each.high,
                "unit": each.unit,
                "why": each.why,
                "course": [list(step) for step in each.course],
            }
            for name, each in found.estimates.items()
        },
        "discipline": {
            "kind": found.discipline.kind,
            "weights": found.discipline.weights,
            "misfit": found.discipline.misfit,
            "why": found.discipline.why,
            "alike": list(found.discipline.alike),
        },
        "candidates": [
            {
                "kind": each.candidate.kind,
                "queue": dict(each.candidate.queue),
                "likelihood": each.likelihood,
                "misfit": each.misfit,
                "worst": each.worst,
            }
            for each in found.judged
        ],
        "forebay": _engine.version,
    }


def check_unedited(folder: Path) -> None:
    """Refuse to write over a scenario that somebody has changed.

    Raises:
        ScenarioError: it is not as it was written.
    """
    scenario = folder / "scenario.toml"
    if not scenario.exists():
        return
    written = ""
    with suppress(OSError, ValueError, LookupError, TypeError):
        written = json.loads((folder / "results.json").read_text("utf-8"))["scenario"]
    if written != _mark(scenario.read_text("utf-8", "replace")):
        raise ScenarioError(
            f"{scenario}: has been edited since it was written; move it, or choose another folder "
            "with --out"
        )


def _mark(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def write(found: Fitted, folder: Path) -> None:
    """Write `scenario.toml` (if a rate is known), `results.json` and `report.html`."""
    kept = plain(found)
    if found.scenario is not None:
        head = "".join(f"# {line}\n" for line in lines(found))
        scenario = f"{head}\n{found.scenario.to_toml()}"
        kept["scenario"] = _mark(scenario)
        _disk.write(folder / "scenario.toml", scenario)
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    _disk.write(folder / "results.json", f"{text}\n")
    _disk.write(folder / "report.html", render(page(found)))


def page(found: Fitted) -> Page:
    """The report: what was found, measured and fitted over time, and what was tried."""
    blocks: list[Block] = [Section("The link", [_table(found), *_open(found)], card=True)]
    panels = list(_panels(found))
    if panels:
        about = Text(
            "The scenario that was found was run with the measured load, and measured in the same "
            "way. Curves are means over equal times."
        )
        shown = "Waits and throughput over time, measured and fitted"
        figure = Figure(panels, shown, labels=(_MEASURED, _FITTED))
        legend = Legend((_MEASURED, _FITTED))
        blocks.append(Section("Measured and fitted", [about, legend, figure]))
    if found.judged:
        blocks.append(Section("What was tried", [_tried(found)]))
    blocks.append(Section("The measurement", [Facts(list(_facts(found.measurement)))]))
    lede = f"The link behind {found.measurement.name}: {_kind(found)}."
    labels = (_MEASURED, _FITTED)
    return Page("What is the link?", "Fit", lede, blocks, labels)


def _kind(found: Fitted) -> str:
    kind, alike = found.discipline.kind, found.discipline.alike
    if kind is None:
        return " or ".join(NAMES[each] for each in alike) or CANNOT
    others = " or ".join(NAMES[each] for each in alike if each != kind)
    return f"{NAMES[kind]}, or {others} acting as one" if others else NAMES[kind]


def _table(found: Fitted) -> Table:
    rows: list[Row] = []
    for name, title in TITLES.items():
        each = found.estimates[name]
        ends = "–" if each.low is None else quantity(each.low, each.unit)
        high = "–" if each.high is None else quantity(each.high, each.unit)
        value = CANNOT if each.value is None else quantity(each.value, each.unit)
        if each.course:
            title = f"{title}, mean of its course"
        rows.append([title, Cell(value, mark="" if each.decided else "absent"), ends, high])
    known = found.discipline.alike
    weight = sum(found.discipline.weights[each] for each in known)
    share = f"{weight * 100:.0f} %" if known else "–"
    rows.append(["discipline", _kind(found), share, ""])
    return Table(["", "estimate", "from", "to"], rows, "What was found")


def _reasons(found: Fitted) -> Iterator[str]:
    if course := found.estimates["rate"].course:
        yield (
            f"rate: it changes while the load lasts; the scenario has its {len(course)} steps, as "
            "far as the load shows them, and what others sent is missing in them"
        )
    for name, title in TITLES.items():
        if not found.estimates[name].decided:
            yield f"{title}: {found.estimates[name].why}"
    if found.discipline.why:
        yield f"discipline: {found.discipline.why}"


def _open(found: Fitted) -> list[Block]:
    items = [each[0].upper() + each[1:] + "." for each in _reasons(found)]
    shown: list[Block] = [
        Text("Intervals hold 95 %; beside the discipline stands its probability.")
    ]
    return [*shown, Bullets(items)] if items else shown


def _tried(found: Fitted) -> Table:
    rows: list[Row] = []
    for each in found.judged:
        queue = ", ".join(
            f"{key} {value}" for key, value in each.candidate.queue.items() if key != "kind"
        )
        rows.append(
            [
                NAMES[each.candidate.kind],
                queue,
                f"{each.likelihood - found.judged[0].likelihood:.1f}",
                f"{each.misfit:.1f}",
                each.worst,
            ]
        )
    heads = ["discipline", "parameters", "log likelihood", "misfit", "differs most in"]
    return Table(heads, rows, "Candidates", words=2)


def _facts(seen: Measurement) -> Iterator[tuple[str, str]]:
    yield "files", seen.name
    yield "recorded at", seen.vantage
    if seen.source:
        yield "direction", seen.source
    yield "length", f"{seen.end:.1f} s"
    yield "transfers", str(len(seen.flows))
    yield (
        "round trips",
        f"{len(seen.trips.at)}, {int(np.count_nonzero(seen.trips.probes))} of probes",
    )
    yield "lost packets", str(len(seen.losses.at))
    for key, value in seen.said.items():
        yield f"the file's {key}", value
    for note in seen.notes:
        yield "note", note


def _panels(found: Fitted) -> Iterator[Panel]:
    seen, again = found.measurement, found.again
    rate, rtt = found.estimates["rate"], found.estimates["rtt"]
    speed = rate.value or rate.low
    base = rtt.value if rtt.value is not None else rtt.high
    if not speed or base is None:
        return
    both = [(_MEASURED, seen)] + ([(_FITTED, again)] if again is not None else [])
    end = min(each.end for _, each in both)
    edges = np.linspace(0.0, end, _POINTS + 1)

    def waits(of: Measurement, probes: bool) -> tuple[Numbers, Numbers]:
        chosen = of.trips.probes if probes else ~of.trips.probes
        wait = waits_of(of, base, speed) * 1e3
        return of.trips.at[chosen], wait[chosen]

    for title, probes in (("What the load waited", False), ("What probes waited", True)):
        series = [
            Series(label, *_means(*waits(each, probes), edges), style="curve")
            for label, each in both
            if waits(each, probes)[0].size > 1
        ]
        if series:
            yield Panel(title, "time, s", "wait in the queue, ms", series)
    series = [
        Series(label, *_rates(each, np.linspace(0.0, end, 61)), style="curve")
        for label, each in both
        if len(each.arrivals.at)
    ]
    if series:
        yield Panel("What arrived", "time, s", "throughput, Mbit/s", series)


def _means(at: Numbers, value: Numbers, edges: Numbers) -> tuple[list[float], list[float | None]]:
    slot = np.searchsorted(edges, at, side="right") - 1
    inside = (slot >= 0) & (slot < len(edges) - 1)
    count = np.bincount(slot[inside], minlength=len(edges) - 1)
    sums = np.bincount(slot[inside], weights=value[inside], minlength=len(edges) - 1)
    middles = (edges[:-1] + edges[1:]) / 2
    known = count > 0
    return middles[known].tolist(), (sums[known] / count[known]).tolist()


def _rates(of: Measurement, edges: Numbers) -> tuple[list[float], list[float | None]]:
    arrived = of.arrivals
    sums = np.histogram(arrived.at, edges, weights=arrived.size)[0]
    width = float(edges[1] - edges[0])
    return ((edges[:-1] + edges[1:]) / 2).tolist(), (sums * 8 / width / 1e6).tolist()
